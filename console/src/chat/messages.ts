import { asObject, isJsonObject, type JsonObject, textOf } from "@/lib/json.ts";

export type MessageRole = "system" | "developer" | "user" | "assistant" | "tool";

export const messageRoles: readonly MessageRole[] = ["system", "developer", "user", "assistant", "tool"];

/** A tool the model wants to be called. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON as the model wrote it. */
  readonly arguments: string;
}

/** A file of a message. */
export interface AttachedFile {
  readonly name: string;
  /** As a data URL, or another address where a request named one. */
  readonly data: string;
}

/** A message as it is edited. */
export interface Message {
  /** For the page only. */
  readonly key: string;
  readonly role: MessageRole;
  readonly text: string;
  /** Data URLs of images. */
  readonly images: readonly string[];
  readonly files: readonly AttachedFile[];
  readonly toolCalls: readonly ToolCall[];
  /** Of a tool's result: the call it belongs to. */
  readonly toolCallId: string;
}

export function createMessage(role: MessageRole, text = "", changes: Partial<Message> = {}): Message {
  return { key: crypto.randomUUID(), role, text, images: [], files: [], toolCalls: [], toolCallId: "", ...changes };
}

/** Images that may be shown: what a file became, never an address elsewhere. */
export function isShowable(url: string): boolean {
  return /^data:image\/(png|jpeg|gif|webp|avif);base64,/.test(url) || url.startsWith("blob:");
}

/** A message as `/v1/chat/completions` takes it. */
export function toWire({ role, text, images, files, toolCalls, toolCallId }: Message): JsonObject {
  if (role === "tool") return { role, tool_call_id: toolCallId, content: text };
  const parts = [
    ...(text === "" ? [] : [{ type: "text", text }]),
    ...images.map((url) => ({ type: "image_url", image_url: { url } })),
    ...files.map(({ name, data }) => ({ type: "file", file: { filename: name, file_data: data } })),
  ];
  const content = images.length + files.length > 0 ? parts : text;
  if (toolCalls.length === 0) return { role, content };
  const calls = toolCalls.map(({ id, name, arguments: written }) => ({
    id,
    type: "function",
    function: { name, arguments: written },
  }));
  return { role, content: text === "" ? null : content, tool_calls: calls };
}

function isRole(value: unknown): value is MessageRole {
  return messageRoles.some((role) => role === value);
}

function readToolCalls(calls: unknown): readonly ToolCall[] {
  if (!Array.isArray(calls)) return [];
  return calls.filter(isJsonObject).map((call) => ({
    id: textOf(call.id),
    name: textOf(asObject(call.function).name),
    arguments: textOf(asObject(call.function).arguments),
  }));
}

function readParts(content: unknown): Pick<Message, "text" | "images" | "files"> {
  if (!Array.isArray(content)) return { text: typeof content === "string" ? content : "", images: [], files: [] };
  const parts = content.filter(isJsonObject);
  const text = parts.map((part) => textOf(part.text)).join("");
  const images = parts
    .map((part) => textOf(asObject(part.image_url).url) || (typeof part.image_url === "string" ? part.image_url : ""))
    .filter((url) => url !== "");
  const files = parts
    .map((part) => asObject(part.file))
    .filter((file) => typeof file.file_data === "string")
    .map((file) => ({ name: textOf(file.filename), data: textOf(file.file_data) }));
  return { text, images, files };
}

/** A message of a request or of a prompt, for editing. */
export function fromWire(value: unknown): Message | undefined {
  if (!isJsonObject(value)) return undefined;
  const role = isRole(value.role) ? value.role : "user";
  const { text, images, files } = readParts(value.content);
  const toolCalls = readToolCalls(value.tool_calls);
  return createMessage(role, text, { images, files, toolCalls, toolCallId: textOf(value.tool_call_id) });
}

/** The messages of a request's body or of a prompt's text. */
export function readMessages(list: unknown): readonly Message[] {
  if (!Array.isArray(list)) return [];
  return list.map(fromWire).filter((message) => message !== undefined);
}
