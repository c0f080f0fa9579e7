import { isObject, objectsIn } from "../../lib/json.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import { isCallPlace, placeCalls } from "../../schemas/content-blocks.ts";
import type { ResponsesRequest } from "../../schemas/responses.ts";
import { dropUnmapped } from "../chat-writer.ts";
import { readSignature } from "./signatures.ts";

type Members = Record<string, unknown>;
type Message = ChatRequest["messages"][number];
type Drop = (member: string) => void;

/** Parts of message content, in either form. */
function partsOf(content: unknown): Members[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  return objectsIn(content);
}

function toInputPart(part: Members, drop: Drop): Members[] {
  const { image_url: image, file, input_audio: audio } = part;
  if (part.type === "text") return [{ type: "input_text", text: part.text }];
  if (isObject(image)) return [{ type: "input_image", image_url: image.url, detail: image.detail ?? "auto" }];
  if (isObject(file)) return [{ type: "input_file", ...file }];
  if (isObject(audio)) return [{ type: "input_audio", input_audio: audio }];
  drop(`messages.${String(part.type)}`);
  return [];
}

/** The reasoning item of a block; none where the provider cannot verify its signature. */
function toReasoningItems({ thinking, signature }: Members, drop: Drop): Members[] {
  const proof = readSignature(signature);
  if (!proof) {
    drop("thinking");
    return [];
  }
  const summary = typeof thinking === "string" && thinking !== "" ? [{ type: "summary_text", text: thinking }] : [];
  return [{ type: "reasoning", id: proof.id, summary, encrypted_content: proof.encrypted }];
}

function toCallItems(call: unknown): Members[] {
  if (!isObject(call)) return [];
  const { name, arguments: given } = isObject(call.function) ? call.function : {};
  return [{ type: "function_call", call_id: call.id, name, arguments: given }];
}

const isReasoning = ({ type }: Members): boolean => type === "thinking" || type === "redacted_thinking";

/** Items of an assistant message in the order of its blocks. */
function toAssistantItems(message: Message, drop: Drop): Members[] {
  const blocks = objectsIn(message.content_blocks);
  const hasText = blocks.some(({ type }) => type === "text");
  const said = hasText ? [] : partsOf(message.content);
  const ordered = [...blocks.filter(isReasoning), ...said];
  const items = (hasText || blocks.some(isCallPlace) ? [...blocks, ...said] : ordered).flatMap((block): Members[] => {
    if (isReasoning(block)) return toReasoningItems(block, drop);
    if (isCallPlace(block)) return [block];
    const content = [{ type: "output_text", text: String(block.text ?? "") }];
    return [{ type: "message", role: "assistant", content }];
  });
  return placeCalls(items, objectsIn(message.tool_calls), toCallItems);
}

function toItems(message: Message, drop: Drop): Members[] {
  const { role, content } = message;
  if (role === "assistant") return toAssistantItems(message, drop);
  if (role === "tool") {
    const output = partsOf(content)
      .map(({ text }) => String(text ?? ""))
      .join("\n");
    return [{ type: "function_call_output", call_id: message.tool_call_id, output }];
  }
  const parts = partsOf(content).flatMap((part) => toInputPart(part, drop));
  return [{ type: "message", role, content: parts }];
}

/** The messages before the first turn, joined into one text. */
function toInstructions(messages: readonly Message[]): string | undefined {
  const strings = messages.flatMap(({ content }) => partsOf(content).map(({ text }) => String(text ?? "")));
  return strings.length === 0 ? undefined : strings.join("\n\n");
}

function toTools({ tools, tool_choice: choice, parallel_tool_calls: parallel }: ChatRequest): Members {
  if (!tools || tools.length === 0) return {};
  const flat = tools.map(({ function: named }) => {
    const { strict = false, ...rest } = isObject(named) ? named : {};
    return { type: "function", ...rest, strict };
  });
  const forced =
    isObject(choice) && isObject(choice.function) ? { type: "function", name: choice.function.name } : choice;
  return {
    tools: flat,
    ...(forced !== undefined && { tool_choice: forced }),
    ...(parallel !== undefined && { parallel_tool_calls: parallel }),
  };
}

function toText({ response_format: format, verbosity }: ChatRequest): Members {
  const schema = isObject(format) && isObject(format.json_schema) ? format.json_schema : {};
  const text = {
    ...(isObject(format) && { format: { type: format.type, ...schema } }),
    ...(typeof verbosity === "string" && { verbosity }),
  };
  return Object.keys(text).length > 0 ? { text } : {};
}

function toReasoning({ thinking, reasoning_effort: effort }: ChatRequest): Members {
  const thinks = isObject(thinking) && thinking.type !== "disabled";
  if (!thinks && typeof effort !== "string") return {};
  return { reasoning: { ...(typeof effort === "string" && { effort }), summary: "auto" } };
}

const same = [
  "model",
  "stream",
  "temperature",
  "top_p",
  "user",
  "metadata",
  "prompt_cache_key",
  "prompt_cache_retention",
  "safety_identifier",
  "service_tier",
];
const mapped = new Set([
  ...same,
  "messages",
  "max_tokens",
  "max_completion_tokens",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "response_format",
  "verbosity",
  // a stream reports its usage without being asked
  "stream_options",
  "thinking",
  "reasoning_effort",
]);

/** A Responses request for a chat, not stored by the provider (https://platform.openai.com/docs/api-reference/responses/create). */
export function toResponsesRequest(request: ChatRequest, drop: Drop): ResponsesRequest {
  dropUnmapped(request, mapped, drop);
  const { messages } = request;
  const first = messages.findIndex(({ role }) => role !== "system" && role !== "developer");
  const start = first < 0 ? messages.length : first;
  const instructions = toInstructions(messages.slice(0, start));
  const limit = request.max_completion_tokens ?? request.max_tokens;
  const plain = same.filter((name) => request[name] !== undefined).map((name) => [name, request[name]]);
  return {
    ...(Object.fromEntries(plain) as { model: string }), // a request has one
    ...(instructions !== undefined && { instructions }),
    input: messages.slice(start).flatMap((message) => toItems(message, drop)),
    ...(typeof limit === "number" && { max_output_tokens: limit }),
    ...toTools(request),
    ...toText(request),
    ...toReasoning(request),
    store: false,
    include: ["reasoning.encrypted_content"],
  };
}
