import * as v from "valibot";
import type { ChatRequest } from "../../schemas/chat.ts";
import { defineProvider } from "../core/define.ts";
import { keyHeader } from "../core/headers.ts";
import type { ConversionOptions, OperationAdapter } from "../core/types.ts";
import { toChatAnswer, toChoice, toHead } from "../shared/answers.ts";
import { modelPath } from "../shared/hosts.ts";
import { copyMembers, maxTokensOf } from "../shared/members.ts";
import { refuseResponseFormat, refuseStream, refuseTools, requireOneChoice } from "../shared/messages.ts";
import { toPlainMessages } from "../shared/plain.ts";

const text = v.nullish(v.string());
const Content = v.nullish(v.union([v.string(), v.array(v.looseObject({ text }))]));
const Reply = v.looseObject({ output: v.union([v.string(), v.looseObject({ content: Content })]) });

const members = { temperature: "temperature", top_p: "top_p", top_k: "top_k", seed: "seed" };
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

function toUpstream(request: ChatRequest, options: ConversionOptions): object {
  requireOneChoice("bytez", request);
  refuseStream("bytez", request);
  refuseTools("bytez", request);
  refuseResponseFormat("bytez", request);
  const maxTokens = maxTokensOf(request);
  const params = {
    ...copyMembers(request, members, { handled, drop: options.drop }),
    ...(maxTokens !== undefined && { max_new_tokens: maxTokens }),
  };
  return { messages: toPlainMessages(request, options), ...(Object.keys(params).length > 0 && { params }) };
}

function toText(output: v.InferOutput<typeof Reply>["output"]): string {
  const content = typeof output === "string" ? output : output.content;
  return Array.isArray(content) ? content.map((part) => part.text ?? "").join("") : (content ?? "");
}

const chat: OperationAdapter<"chat"> = {
  path: ({ model }) => modelPath(model),
  toUpstream,
  fromUpstream(body, { model }, options) {
    const content = toText(v.parse(Reply, body).output);
    const head = toHead("bytez", {}, options);
    return toChatAnswer({ ...head, model, choices: [toChoice({ content }, "stop")], usage: undefined });
  },
};

/** Bytez (https://docs.bytez.com/model-api/docs/http). Streams are plain text without an end marker. */
export const bytez = defineProvider({
  slug: "bytez",
  settings: { prefix: "bytez", schema: v.object({}) },
  baseUrl: "https://api.bytez.com/models/v2",
  authenticate: keyHeader("authorization", "Key "),
  // the whole path is the model's name
  models: { inPath: (path) => path.replace(/^\//, "") },
  operations: { chat },
});
