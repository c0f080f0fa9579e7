import { isObject, stringOf } from "../../lib/json.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import { withoutPlaces } from "../../schemas/content-blocks.ts";
import { withoutPrefixes } from "../core/model-names.ts";
import type { ConversionOptions } from "../core/types.ts";
import { clamp, copyMembers, type MemberMap, maxTokensOf } from "../shared/members.ts";
import { imageOf, isGiven, type Message, type Part, readMessages, refuseMember } from "../shared/messages.ts";
import { withPrefix } from "./prefix.ts";

/** Fields of both chat and fill-in-the-middle. */
export const sharedMembers = {
  top_p: "top_p",
  stop: "stop",
  stream: "stream",
  seed: "random_seed",
  random_seed: "random_seed",
  metadata: "metadata",
  min_tokens: "min_tokens",
  temperature: ["temperature", clamp(0, 1)],
} satisfies MemberMap;

const members = {
  ...sharedMembers,
  n: "n",
  tool_choice: "tool_choice",
  parallel_tool_calls: "parallel_tool_calls",
  prediction: "prediction",
  response_format: "response_format",
  prompt_cache_key: "prompt_cache_key",
  prompt_mode: "prompt_mode",
  reasoning_effort: "reasoning_effort",
  safe_prompt: "safe_prompt",
  safe_mode: "safe_prompt",
  presence_penalty: ["presence_penalty", clamp(-2, 2)],
  frequency_penalty: ["frequency_penalty", clamp(-2, 2)],
} satisfies MemberMap;

const handled = ["model", "messages", "max_tokens", "max_completion_tokens", "tools"];

/** The model's name without a prefix. */
export function modelName(model: string): string {
  return withoutPrefixes(model, /^mistralai\./);
}

function toThinking({ thinking, signature }: Part): object {
  const text = typeof thinking === "string" ? thinking : "";
  const given = typeof signature === "string" && { signature };
  return { type: "thinking", thinking: [{ type: "text", text }], ...given, closed: true };
}

function toDocument({ file }: Part): object | undefined {
  if (!isObject(file)) return undefined;
  if (typeof file.file_id === "string") return { type: "file", file_id: file.file_id };
  const data = stringOf(file.file_data);
  const mime = typeof file.mime_type === "string" ? file.mime_type : "application/pdf";
  const inline = data === undefined || data.startsWith("data:") ? data : `data:${mime};base64,${data}`;
  const url = file.file_url ?? inline;
  if (typeof url !== "string") return undefined;
  const name = file.file_name ?? file.filename;
  return { type: "document_url", document_url: url, ...(typeof name === "string" && { document_name: name }) };
}

/** Parts in Mistral's own form stay unchanged. */
const native: ReadonlySet<string> = new Set(["document_url", "reference"]);

function toPart(part: Part, { drop }: ConversionOptions): object[] {
  if (part.type === "text") return [{ type: "text", text: part.text ?? "" }];
  if (part.type === "thinking") return [toThinking(part)];
  if (part.type === "redacted_thinking") {
    drop("messages.content.redacted_thinking");
    return [];
  }
  if (native.has(part.type)) return [part];
  const image = part.type === "image_url" ? imageOf(part) : undefined;
  if (image) return [{ type: "image_url", image_url: image }];
  const audio = isObject(part.input_audio) ? part.input_audio.data : undefined;
  if (part.type === "input_audio" && isGiven(audio)) return [{ type: "input_audio", input_audio: audio }];
  const document = part.type === "file" ? toDocument(part) : undefined;
  return document
    ? [document]
    : refuseMember("mistral-ai", "messages", `it does not accept parts of type ${part.type}`);
}

/** Content of an earlier response, with the reasoning that stands beside it. */
function contentOf({ role, content, content_blocks: blocks, reasoning_content: text }: Message): Message["content"] {
  if (role !== "assistant") return content;
  if (blocks) return withoutPlaces(blocks);
  if (typeof text !== "string" || text === "") return content;
  const said = typeof content === "string" ? (content === "" ? [] : [{ type: "text", text: content }]) : content;
  return [{ type: "thinking", thinking: text }, ...(said ?? [])];
}

function toMessage(message: Message, options: ConversionOptions): object {
  const { role, tool_calls: calls, tool_call_id, name, prefix } = message;
  const source = contentOf(message);
  return {
    role: role === "developer" ? "system" : role,
    ...(isGiven(source) && {
      content: Array.isArray(source) ? source.flatMap((part) => toPart(part, options)) : source,
    }),
    ...(calls && {
      tool_calls: calls.map(({ id, function: { name: called, arguments: text } }) => ({
        id,
        type: "function",
        function: { name: called, arguments: text ?? "{}" },
      })),
    }),
    ...(isGiven(tool_call_id) && { tool_call_id }),
    ...(role === "tool" && isGiven(name) && { name }),
    ...(prefix === true && { prefix }),
  };
}

function toTools({ tools, functions }: ChatRequest): object[] | undefined {
  if (isGiven(functions)) refuseMember("mistral-ai", "functions", "use tools instead of functions");
  return tools?.map(({ type, function: declared }) => {
    if (type !== "function" || !isObject(declared)) {
      return refuseMember("mistral-ai", "tools", `it does not support tools of type ${type}`);
    }
    const { name, description, parameters, strict } = declared;
    return {
      type,
      function: {
        name,
        ...(isGiven(description) && { description }),
        // required, unlike at OpenAI
        parameters: parameters ?? { type: "object", properties: {} },
        ...(isGiven(strict) && { strict }),
      },
    };
  });
}

/** The upstream's request (https://docs.mistral.ai/api/#tag/chat). */
export function toUpstream(request: ChatRequest, options: ConversionOptions): object {
  const maxTokens = maxTokensOf(request);
  const tools = toTools(request);
  const messages = readMessages(request).map((message) => toMessage(message, options));
  return {
    ...copyMembers(request, members, { handled, drop: options.drop }),
    model: modelName(request.model),
    messages: withPrefix(messages, request),
    ...(tools && { tools }),
    ...(maxTokens !== undefined && { max_tokens: maxTokens }),
  };
}
