import * as v from "valibot";
import { InvalidRequestError } from "../../errors.ts";
import { plainIssues } from "../../lib/issues.ts";
import type { ChatRequest } from "../../schemas/chat.ts";

const Image = v.union([v.string(), v.looseObject({ url: v.string(), detail: v.nullish(v.string()) })]);

const Part = v.looseObject({ type: v.string(), text: v.nullish(v.string()), image_url: v.nullish(Image) });
/** One part of a message's content. */
export type Part = v.InferOutput<typeof Part>;

const ToolCall = v.looseObject({
  id: v.nullish(v.string()),
  function: v.looseObject({ name: v.string(), arguments: v.nullish(v.string()) }),
});

const Message = v.looseObject({
  role: v.string(),
  content: v.nullish(v.union([v.string(), v.array(Part)])),
  content_blocks: v.nullish(v.array(Part)),
  tool_calls: v.nullish(v.array(ToolCall)),
  tool_call_id: v.nullish(v.string()),
  name: v.nullish(v.string()),
});
/** One message of a chat request, with typed parts. */
export type Message = v.InferOutput<typeof Message>;

/** Rejects a field the provider does not support. */
export function refuseMember(provider: string, param: string, problem: string): never {
  throw new InvalidRequestError(`Cannot call ${provider}: ${problem}`, { param, code: "unsupported_parameter" });
}

const isTextOrAbsent = (value: unknown): boolean => !isGiven(value) || typeof value === "string";

/** Whether a message is a role and a text, as most are: a schema makes nothing else of it, and takes much longer. */
export function isTextMessage(message: ChatRequest["messages"][number]): message is Message & { content: string } {
  const { role, content, content_blocks, tool_calls, tool_call_id, name } = message;
  return (
    typeof role === "string" &&
    typeof content === "string" &&
    !isGiven(content_blocks) &&
    !isGiven(tool_calls) &&
    isTextOrAbsent(tool_call_id) &&
    isTextOrAbsent(name)
  );
}

/**
 * Messages of a request with their parts.
 *
 * @throws {InvalidRequestError} If one is not in OpenAI's form.
 */
export function readMessages({ messages }: ChatRequest): Message[] {
  return messages.map((message, index) => {
    if (isTextMessage(message)) return message;
    const result = v.safeParse(Message, message, plainIssues);
    if (result.success) return result.output;
    const [issue] = result.issues;
    const param = ["messages", index, ...(issue.path ?? []).map(({ key }) => String(key))].join(".");
    throw new InvalidRequestError(`Invalid ${param}: ${issue.message}`, { param, code: "invalid_message" });
  });
}

/** Text of a content, joined; undefined when it contains anything else. */
function readPlainText(content: Message["content"]): string | undefined {
  if (typeof content === "string") return content;
  if (!content) return "";
  let text = "";
  for (const part of content) {
    if (part.type !== "text" || typeof part.text !== "string") return undefined;
    text += part.text;
  }
  return text;
}

/**
 * Text of a content, for providers that accept only text.
 *
 * @throws {InvalidRequestError} If it contains anything else.
 */
export function requireText(provider: string, content: Message["content"]): string {
  return readPlainText(content) ?? refuseMember(provider, "messages", "it accepts only text");
}

/** The image of a part. */
export function imageOf({ image_url }: Part): { url: string; detail?: string } | undefined {
  if (typeof image_url === "string") return { url: image_url };
  if (!image_url) return undefined;
  return { url: image_url.url, ...(typeof image_url.detail === "string" && { detail: image_url.detail }) };
}

/** Whether a value is present: neither undefined nor null. */
export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/**
 * Rejects more than one choice, for providers that return one.
 *
 * @throws {InvalidRequestError}
 */
export function requireOneChoice(provider: string, { n }: { n?: number | null | undefined }): void {
  if (typeof n === "number" && n > 1) refuseMember(provider, "n", "it returns one choice per request; leave n out");
}

/**
 * Rejects tools, for providers without tool calls. Tools with `tool_choice: "none"` are accepted.
 *
 * @throws {InvalidRequestError}
 */
export function refuseTools(provider: string, request: ChatRequest): void {
  const { tools, functions, tool_choice } = request;
  const has = [tools, functions].some((list) => Array.isArray(list) && list.length > 0);
  if (has && tool_choice !== "none") refuseMember(provider, "tools", "it does not support tools");
}

/**
 * Rejects response formats other than text, for providers without them.
 *
 * @throws {InvalidRequestError}
 */
export function refuseResponseFormat(provider: string, { response_format: format }: ChatRequest): void {
  if (!isGiven(format) || Reflect.get(Object(format), "type") === "text") return;
  refuseMember(provider, "response_format", "it does not support response formats");
}

/**
 * Rejects streams, for providers without streaming.
 *
 * @throws {InvalidRequestError}
 */
export function refuseStream(provider: string, { stream }: { stream?: boolean | null | undefined }): void {
  if (stream === true) refuseMember(provider, "stream", "it does not support streaming; leave stream out");
}
