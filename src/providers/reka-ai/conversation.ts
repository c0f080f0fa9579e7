import * as v from "valibot";
import type { ChatRequest } from "../../schemas/chat.ts";
import type { ConversionOptions, OperationAdapter } from "../core/types.ts";
import { toChatAnswer, toChoice, toHead, toUsage } from "../shared/answers.ts";
import { copyMembers, type MemberMap, maxTokensOf, toList } from "../shared/members.ts";
import {
  imageOf,
  isGiven,
  type Message,
  readMessages,
  refuseMember,
  refuseResponseFormat,
  refuseStream,
  refuseTools,
  requireOneChoice,
} from "../shared/messages.ts";
import { tokenCount } from "../shared/token-count.ts";

const Reply = v.looseObject({
  text: v.nullish(v.string()),
  finish_reason: v.nullish(v.string()),
  metadata: v.nullish(v.looseObject({ input_tokens: tokenCount, generated_tokens: tokenCount })),
});

const members = {
  temperature: "temperature",
  top_p: "runtime_top_p",
  top_k: "runtime_top_k",
  seed: "random_seed",
  frequency_penalty: "frequency_penalty",
  presence_penalty: "presence_penalty",
  length_penalty: "length_penalty",
  retrieval_dataset: "retrieval_dataset",
  use_search_engine: "use_search_engine",
  assistant_start_text: "assistant_start_text",
  stop: ["stop_words", toList],
} satisfies MemberMap;
const handled = [
  "model",
  "messages",
  "max_tokens",
  "max_completion_tokens",
  "tools",
  "functions",
  "tool_choice",
  "response_format",
];

interface Turn {
  type: "human" | "model";
  text: string;
  media_url?: string;
}

/** Placeholder between two turns of one role: roles must alternate. */
const filler = "Placeholder for alternation";

/** The text of a message and the URLs of its images. */
function readContent({ content }: Message): { text: string; images: string[] } {
  const images: string[] = [];
  if (!Array.isArray(content)) return { text: content ?? "", images };
  let text = "";
  for (const part of content) {
    const image = part.type === "image_url" ? imageOf(part) : undefined;
    if (image) images.push(image.url);
    else if (part.type === "text") text += part.text ?? "";
    else refuseMember("reka-ai", "messages", `it does not accept parts of type ${part.type}`);
  }
  return { text, images };
}

/** Alternating turns; the system text goes before the first turn, and so does the image. */
function toHistory(request: ChatRequest): Turn[] {
  const turns: Turn[] = [];
  const instructions: string[] = [];
  const images: string[] = [];
  for (const message of readMessages(request)) {
    const { role } = message;
    const { text, images: own } = readContent(message);
    images.push(...own);
    if (role === "system" || role === "developer") {
      instructions.push(text);
      continue;
    }
    if (role !== "user" && role !== "assistant")
      refuseMember("reka-ai", "messages", `it does not support the role ${role}`);
    const type = role === "user" ? "human" : "model";
    if (turns.at(-1)?.type === type) turns.push({ type: type === "human" ? "model" : "human", text: filler });
    turns.push({ type, text });
  }
  if (turns[0]?.type !== "human") turns.unshift({ type: "human", text: instructions.length > 0 ? "" : filler });
  if (images.length > 1) refuseMember("reka-ai", "messages", "it accepts one image per conversation");
  const [first] = turns;
  const [image] = images;
  if (first) first.text = [...instructions, ...(first.text === "" ? [] : [first.text])].join("\n");
  if (first && image !== undefined) first.media_url = image;
  return turns;
}

function toUpstream(request: ChatRequest, { drop }: ConversionOptions): object {
  requireOneChoice("reka-ai", request);
  refuseStream("reka-ai", request);
  refuseTools("reka-ai", request);
  refuseResponseFormat("reka-ai", request);
  const most = maxTokensOf(request);
  return {
    ...copyMembers(request, members, { handled, drop }),
    model_name: request.model,
    conversation_history: toHistory(request),
    ...(isGiven(most) && { request_output_len: most }),
  };
}

/** Whether a request needs a feature only the legacy API has. */
export function needsConversation({ retrieval_dataset: dataset }: ChatRequest): boolean {
  return isGiven(dataset);
}

/** Path of the legacy API, which has no version. */
export const conversationPath = "/chat";

/** The legacy API (https://docs.reka.ai/legacy), with turns of a human and a model. */
export const conversation: OperationAdapter<"chat"> = {
  path: () => conversationPath,
  toUpstream,
  fromUpstream(body, { model }, options) {
    const { text, finish_reason: reason, metadata } = v.parse(Reply, body);
    const choice = toChoice({ content: text ?? "" }, reason === "length" || reason === "context" ? "length" : "stop");
    const usage = toUsage({ prompt: metadata?.input_tokens, completion: metadata?.generated_tokens });
    return toChatAnswer({ ...toHead("reka-ai", {}, options), model, choices: [choice], usage });
  },
};
