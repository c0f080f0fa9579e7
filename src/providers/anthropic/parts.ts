import { type Refuse, refuseWith } from "../../errors.ts";
import { fromBase64 } from "../../lib/base64.ts";
import { readDataUrl } from "../../lib/data-url.ts";
import { isObject } from "../../lib/json.ts";
import type { ConversionOptions } from "../core/types.ts";
import { isForeignThinking } from "./repair.ts";

/** A block of content (https://docs.claude.com/en/api/messages). */
export type Block = Record<string, unknown> & { type: string };

const imageTypes = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/** Block types that callers may write in Claude's own shape. */
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

/** The `cache_control` field as the caller sent it: it marks the end of a cached prefix. */
export function cacheControl(holder: Record<string, unknown>): { cache_control?: unknown } {
  const control = holder.cache_control;
  return control === undefined || control === null ? {} : { cache_control: control };
}

/** Rejects content the model cannot receive. */
export const refuse: Refuse = refuseWith("unsupported_value");

/** A base64 data URL; undefined for other URLs. */
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

/** Bytes as an image or document block. */
function toInlineBlock(mediaType: string, data: string): Block {
  const type = mediaType === "image/jpg" ? "image/jpeg" : mediaType;
  if (imageTypes.includes(type)) return { type: "image", source: { type: "base64", media_type: type, data } };
  if (type === "application/pdf") return { type: "document", source: { type: "base64", media_type: type, data } };
  if (type.startsWith("text/")) {
    return { type: "document", source: { type: "text", media_type: "text/plain", data: decodeText(data) } };
  }
  return refuse(`Cannot send "${type}": the provider accepts JPEG, PNG, GIF, WebP, PDF and text`, "messages");
}

/** The content of a URL as an image or document block. */
function toLinkedBlock(url: string, isDocument: boolean): Block {
  if (!/^https?:\/\//i.test(url))
    refuse("Cannot send this URL: it must be a data URL or start with http:// or https://", "messages");
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

/** A file stored at the provider. Files that are neither images nor documents go to the code execution container. */
function toStoredBlock(fileId: string, type: string): Block {
  const source = { type: "file", file_id: fileId };
  if (type.startsWith("image/")) return { type: "image", source };
  if (type === "application/pdf" || type === "text/plain") return { type: "document", source };
  return { type: "container_upload", file_id: fileId };
}

/** Whether Claude takes a text: it refuses blocks of white space alone. */
export const isWritten = (text: unknown): text is string => typeof text === "string" && text.trim() !== "";

/** The block of one content part; undefined for empty parts. */
function toBlock(part: Record<string, unknown>, options: ConversionOptions): Block | undefined {
  switch (part.type) {
    case "text":
    case "input_text":
    case "output_text":
      return isWritten(part.text) ? { type: "text", text: part.text } : undefined;
    case "refusal":
      return isWritten(part.refusal) ? { type: "text", text: part.refusal } : undefined;
    case "image_url":
      return toImageBlock(part, options);
    case "file":
      return toFileBlock(part);
    case "input_audio":
      return refuse("Cannot send input_audio: the provider does not accept audio", "messages");
    default:
      return toNativeBlock(part, options);
  }
}

/**
 * A block in Claude's own shape. Thinking without a signature is dropped: it came from another provider, and Claude
 * rejects it.
 */
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
  if (typeof content === "string") return isWritten(content) ? [{ type: "text", text: content }] : [];
  if (!Array.isArray(content)) return [];
  return content.flatMap((part: unknown): Block[] => {
    if (typeof part === "string") return isWritten(part) ? [{ type: "text", text: part }] : [];
    const block = isObject(part) ? toBlock(part, options) : refuse("Cannot read a content part", "messages");
    return block && isObject(part) ? [{ ...block, ...cacheControl(part) }] : [];
  });
}

/** Blocks of an earlier response, unchanged except that blocks Claude rejects are dropped. */
export function replayBlocks(blocks: readonly unknown[], { drop }: ConversionOptions): Block[] {
  return blocks.filter((block): block is Block => {
    if (!isObject(block) || typeof block.type !== "string") return false;
    if (block.type === "text") return isWritten(block.text);
    const isForeign = isForeignThinking(block);
    if (isForeign) drop("messages.thinking");
    return !isForeign;
  });
}
