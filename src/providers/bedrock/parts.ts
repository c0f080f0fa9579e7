import { InvalidRequestError } from "../../errors.ts";
import { readDataUrl } from "../../lib/data-url.ts";
import { isObject } from "../../lib/json.ts";

/** A block of Converse. */
export type Block = Record<string, unknown>;

/** @throws {InvalidRequestError} Always: what was asked cannot be sent. */
export function refuse(message: string, param = "messages"): never {
  throw new InvalidRequestError(message, { param, code: "unsupported_value" });
}

/** A text that is not empty. */
export function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Formats by media types whose second half does not name them. */
const formats: Readonly<Record<string, string>> = {
  "image/jpg": "jpeg",
  "video/quicktime": "mov",
  "video/x-matroska": "mkv",
  "video/x-ms-wmv": "wmv",
  "video/x-flv": "flv",
  "video/3gpp": "three_gp",
  "text/plain": "txt",
  "text/markdown": "md",
  "application/msword": "doc",
  "application/vnd.ms-excel": "xls",
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
};
const documentFormats = new Set(["pdf", "csv", "doc", "docx", "xls", "xlsx", "html", "txt", "md"]);

/** Media types by the endings of names. */
const typesOfEndings: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  mp4: "video/mp4",
  mov: "video/quicktime",
  mkv: "video/x-matroska",
  webm: "video/webm",
  mpg: "video/mpg",
  mpeg: "video/mpeg",
  flv: "video/x-flv",
  wmv: "video/x-ms-wmv",
  "3gp": "video/3gpp",
  pdf: "application/pdf",
  csv: "text/csv",
  html: "text/html",
  txt: "text/plain",
  md: "text/markdown",
  doc: "application/msword",
  docx: "application/docx",
  xls: "application/vnd.ms-excel",
  xlsx: "application/xlsx",
};

function typeOfEnding(name: string): string | undefined {
  const ending = /\.([a-z0-9]+)(?:\?|$)/i.exec(name)?.[1]?.toLowerCase() ?? "";
  return Object.hasOwn(typesOfEndings, ending) ? typesOfEndings[ending] : undefined;
}

/** A name as Converse takes it for documents: letters, digits, single blanks, hyphens and brackets. */
function documentName(name: string): string {
  const plain = name.replace(/\.[a-z0-9]{1,5}$/i, "").replaceAll(/[^A-Za-z0-9 \-()[\]]+/g, "-");
  return plain.replaceAll(/\s+/g, " ").trim().slice(0, 190) || "document";
}

/** Bytes, or a place in S3, as a block of the kind its media type has. */
function mediaBlock(type: string, source: Block, name: string | undefined): Block {
  const plain = type.toLowerCase().split(";")[0]?.trim() ?? "";
  const format = Object.hasOwn(formats, plain) ? formats[plain] : plain.slice(plain.indexOf("/") + 1);
  if (plain.startsWith("image/")) return { image: { format, source } };
  if (plain.startsWith("video/")) return { video: { format, source } };
  if (plain.startsWith("audio/")) return { audio: { format, source } };
  if (!documentFormats.has(format ?? "")) refuse(`Cannot send a file of type ${plain || "unknown"} to this provider`);
  return { document: { format, name: documentName(name ?? "document"), source } };
}

/** What a file or image says of itself. */
interface MediaFacts {
  type?: string | undefined;
  name?: string | undefined;
}

/**
 * The block of what an address holds or names.
 *
 * @throws {InvalidRequestError} For addresses on the web, which Converse does not read.
 */
function blockOfUrl(url: string, { type, name }: MediaFacts): Block {
  const inline = readDataUrl(url);
  if (inline) {
    if (!inline.isBase64) refuse("Cannot read a data URL: write its data as base64");
    return mediaBlock(inline.type || type || "application/pdf", { bytes: inline.data }, name);
  }
  if (url.startsWith("s3://")) {
    const known = type ?? typeOfEnding(url) ?? "application/pdf";
    return mediaBlock(known, { s3Location: { uri: url } }, name ?? url.slice(url.lastIndexOf("/") + 1));
  }
  refuse("Cannot send an address on the web to this provider: send a data: URL or an s3:// address");
}

function fileBlock(file: Record<string, unknown>): Block {
  const type = textOf(file.mime_type);
  const name = textOf(file.filename) ?? textOf(file.file_name);
  const data = textOf(file.file_data);
  const url = textOf(file.file_url);
  if (data !== undefined && readDataUrl(data)) return blockOfUrl(data, { type, name });
  const ofName = name === undefined ? undefined : typeOfEnding(name);
  if (data !== undefined) return mediaBlock(type ?? ofName ?? "application/pdf", { bytes: data }, name);
  if (url !== undefined) return blockOfUrl(url, { type: type ?? ofName, name });
  refuse("Cannot send a file by its id to this provider: send its data or an s3:// address");
}

/**
 * The block of one part of a message, by its `type`.
 *
 * @throws {InvalidRequestError} If Converse has no block for it.
 */
export function mediaPart(part: Record<string, unknown>): Block {
  switch (part.type) {
    case "image_url": {
      const image = isObject(part.image_url) ? part.image_url : { url: part.image_url };
      const url = textOf(image.url) ?? refuse("Cannot read an image_url part: it has no url");
      return blockOfUrl(url, { type: textOf(image.mime_type) });
    }
    case "file":
      return fileBlock(isObject(part.file) ? part.file : {});
    case "input_audio": {
      const audio = isObject(part.input_audio) ? part.input_audio : {};
      return mediaBlock(`audio/${textOf(audio.format) ?? "wav"}`, { bytes: audio.data }, undefined);
    }
    default:
      refuse(`Cannot send a part of type ${String(part.type)} to this provider`);
  }
}
