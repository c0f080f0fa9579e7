import { InvalidRequestError } from "../../errors.ts";
import { fromBase64 } from "../../lib/base64.ts";
import { readDataUrl } from "../../lib/data-url.ts";
import { isObject } from "../../lib/json.ts";
import type { ConversionOptions } from "../core/types.ts";

/** A block of content (https://docs.claude.com/en/api/messages). */
export type Block = Record<string, unknown> & { type: string };

const imageTypes = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/** Types of blocks that callers write in Claude's own shape. */
const nativeTypes = new Set([
  "image",
  "document",
  "search_result",
  "container_upload",
  "tool_reference",
  "tool_result",
  "tool_use",
  "thinking",
  "redacted_thinking",
  "server_tool_use",
  "web_search_tool_result",
  "web_fetch_tool_result",
]);

/** Member that marks the end of a cached prefix, whole as the caller wrote it. */
export function cacheControl(holder: Record<string, unknown>): { cache_control?: unknown } {
  const control = holder.cache_control;
  return control === undefined || control === null ? {} : { cache_control: control };
}

/** Refuses what the model cannot be sent. */
export function refuse(message: string, param: string): never {
  throw new InvalidRequestError(message, { param, code: "unsupported_value" });
}

/** A data URL whose data is base64; undefined for other addresses. */
function readInline(url: string): { type: string; data: string } | undefined {
  const inline = readDataUrl(url);
  if (inline && !inline.isBase64) refuse("Cannot send a data URL that is not base64", "messages");
  return inline;
}

function decodeText(data: string): string {
  try {
    return new TextDecoder().decode(fromBase64(data));
  } catch {
    return refuse("Cannot read file_data: it is not base64", "messages");
  }
}

/** Bytes as an image or a document. */
function toInlineBlock(mediaType: string, data: string): Block {
  const type = mediaType === "image/jpg" ? "image/jpeg" : mediaType;
  if (imageTypes.includes(type)) return { type: "image", source: { type: "base64", media_type: type, data } };
  if (type === "application/pdf") return { type: "document", source: { type: "base64", media_type: type, data } };
  if (type.startsWith("text/")) {
    return { type: "document", source: { type: "text", media_type: "text/plain", data: decodeText(data) } };
  }
  return refuse(`Cannot send "${type}": the provider reads JPEG, PNG, GIF, WebP, PDF and text`, "messages");
}

/** What is at an address, as an image or a document. */
function toLinkedBlock(url: string, isDocument: boolean): Block {
  if (!/^https?:\/\//i.test(url)) refuse("Cannot send this address: write a data URL or http(s)", "messages");
  return { type: isDocument ? "document" : "image", source: { type: "url", url } };
}

function toImageBlock(part: Record<string, unknown>, { drop }: ConversionOptions): Block {
  const given = part.image_url;
  const image = isObject(given) ? given : { url: given };
  if (typeof image.url !== "string") refuse("Cannot read image_url: url is missing", "messages");
  const { url, mime_type: type, detail } = image;
  if (typeof detail === "string" && detail !== "auto") drop("image_url.detail");
  const inline = readInline(url);
  if (inline) return toInlineBlock(inline.type, inline.data);
  const isDocument = type === "application/pdf" || /\.pdf$/i.test(url.replace(/[?#].*$/s, ""));
  return toLinkedBlock(url, isDocument);
}

function toFileBlock(part: Record<string, unknown>): Block {
  const file = isObject(part.file) ? part.file : {};
  const type = typeof file.mime_type === "string" ? file.mime_type.toLowerCase() : "application/pdf";
  if (typeof file.file_id === "string") return toStoredBlock(file.file_id, type);
  if (typeof file.file_url === "string") {
    const inline = readInline(file.file_url);
    return inline ? toInlineBlock(inline.type, inline.data) : toLinkedBlock(file.file_url, !type.startsWith("image/"));
  }
  if (typeof file.file_data !== "string")
    refuse("Cannot read file: file_id, file_data and file_url are missing", "messages");
  const inline = readInline(file.file_data) ?? { type, data: file.file_data };
  return toInlineBlock(inline.type || type, inline.data);
}

/** A file kept by the provider; what is neither image nor document goes to the container of tools. */
function toStoredBlock(fileId: string, type: string): Block {
  const source = { type: "file", file_id: fileId };
  if (type.startsWith("image/")) return { type: "image", source };
  if (type === "application/pdf" || type === "text/plain") return { type: "document", source };
  return { type: "container_upload", file_id: fileId };
}

/** One part; undefined for those that say nothing. */
function toBlock(part: Record<string, unknown>, options: ConversionOptions): Block | undefined {
  switch (part.type) {
    case "text":
    case "input_text":
    case "output_text":
      return typeof part.text === "string" && part.text !== "" ? { type: "text", text: part.text } : undefined;
    case "refusal":
      return typeof part.refusal === "string" && part.refusal !== "" ? { type: "text", text: part.refusal } : undefined;
    case "image_url":
      return toImageBlock(part, options);
    case "file":
      return toFileBlock(part);
    case "input_audio":
      return refuse("Cannot send input_audio: the provider does not hear", "messages");
    default:
      return toNativeBlock(part, options);
  }
}

/** A block in Claude's own shape; thinking without a signature came from elsewhere and is refused upstream. */
function toNativeBlock(part: Record<string, unknown>, { drop }: ConversionOptions): Block | undefined {
  const { type } = part;
  if (typeof type !== "string" || !nativeTypes.has(type)) {
    refuse(`Cannot send a content part of type ${JSON.stringify(type)}`, "messages");
  }
  if (type === "thinking" && !part.signature) {
    drop("messages.thinking");
    return undefined;
  }
  return { ...part, type };
}

/** Blocks of a message's content. */
export function toBlocks(content: unknown, options: ConversionOptions): Block[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  if (!Array.isArray(content)) return [];
  return content.flatMap((part: unknown): Block[] => {
    if (typeof part === "string") return part === "" ? [] : [{ type: "text", text: part }];
    const block = isObject(part) ? toBlock(part, options) : refuse("Cannot read a content part", "messages");
    return block && isObject(part) ? [{ ...block, ...cacheControl(part) }] : [];
  });
}

/** Blocks of an earlier answer, as they are: only what the provider refuses is left out. */
export function replayBlocks(blocks: readonly unknown[], { drop }: ConversionOptions): Block[] {
  return blocks.filter((block): block is Block => {
    if (!isObject(block) || typeof block.type !== "string") return false;
    if (block.type === "text") return block.text !== "";
    const isUnsigned = block.type === "thinking" && !block.signature;
    if (isUnsigned) drop("messages.thinking");
    return !isUnsigned;
  });
}
