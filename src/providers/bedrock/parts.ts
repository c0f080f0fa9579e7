import { InvalidRequestError } from "../../errors.ts";
import { readDataUrl } from "../../lib/data-url.ts";
import { isObject, nonEmptyString } from "../../lib/json.ts";

/** A block of Converse. */
export type Block = Record<string, unknown>;

/** @throws {InvalidRequestError} Always: the content cannot be sent. */
export function refuseValue(message: string, param = "messages"): never {
  throw new InvalidRequestError(message, { param, code: "unsupported_value" });
}

/** Formats of media types whose subtype is not the format's name. */
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

/** Media types by file extension. */
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

/** A document name as Converse accepts it: letters, digits, single spaces, hyphens and brackets. */
function documentName(name: string): string {
  const plain = name.replace(/\.[a-z0-9]{1,5}$/i, "").replaceAll(/[^A-Za-z0-9 \-()[\]]+/g, "-");
  return plain.replaceAll(/\s+/g, " ").trim().slice(0, 190) || "document";
}

/** Bytes or an S3 location as a block of the kind that fits the media type. */
function mediaBlock(type: string, source: Block, name: string | undefined): Block {
  const plain = type.toLowerCase().split(";")[0]?.trim() ?? "";
  const format = Object.hasOwn(formats, plain) ? formats[plain] : plain.slice(plain.indexOf("/") + 1);
  if (plain.startsWith("image/")) return { image: { format, source } };
  if (plain.startsWith("video/")) return { video: { format, source } };
  if (plain.startsWith("audio/")) return { audio: { format, source } };
  if (!documentFormats.has(format ?? ""))
    refuseValue(`Cannot send a file of type ${plain || "unknown"} to this provider`);
  return { document: { format, name: documentName(name ?? "document"), source } };
}

/** Metadata of a file or image. */
interface MediaFacts {
  type?: string | undefined;
  name?: string | undefined;
}

/**
 * The block for a data URL or S3 address.
 *
 * @throws {InvalidRequestError} For web URLs, which Converse does not fetch.
 */
function blockOfUrl(url: string, { type, name }: MediaFacts): Block {
  const inline = readDataUrl(url);
  if (inline) {
    if (!inline.isBase64) refuseValue("Cannot read this data URL: it is not base64");
    return mediaBlock(inline.type || type || "application/pdf", { bytes: inline.data }, name);
  }
  if (url.startsWith("s3://")) {
    const known = type ?? typeOfEnding(url) ?? "application/pdf";
    return mediaBlock(known, { s3Location: { uri: url } }, name ?? url.slice(url.lastIndexOf("/") + 1));
  }
  refuseValue("Cannot send a web URL to this provider: send a data: URL or an s3:// address");
}

function fileBlock(file: Record<string, unknown>): Block {
  const type = nonEmptyString(file.mime_type);
  const name = nonEmptyString(file.filename) ?? nonEmptyString(file.file_name);
  const data = nonEmptyString(file.file_data);
  const url = nonEmptyString(file.file_url);
  if (data !== undefined && readDataUrl(data)) return blockOfUrl(data, { type, name });
  const ofName = name === undefined ? undefined : typeOfEnding(name);
  if (data !== undefined) return mediaBlock(type ?? ofName ?? "application/pdf", { bytes: data }, name);
  if (url !== undefined) return blockOfUrl(url, { type: type ?? ofName, name });
  refuseValue("Cannot send a file by its id to this provider: send its data or an s3:// address");
}

/**
 * The block of a content part, chosen by its `type`.
 *
 * @throws {InvalidRequestError} If Converse has no such block.
 */
export function mediaPart(part: Record<string, unknown>): Block {
  switch (part.type) {
    case "image_url": {
      const image = isObject(part.image_url) ? part.image_url : { url: part.image_url };
      const url = nonEmptyString(image.url) ?? refuseValue("Cannot read an image_url part: it has no url");
      return blockOfUrl(url, { type: nonEmptyString(image.mime_type) });
    }
    case "file":
      return fileBlock(isObject(part.file) ? part.file : {});
    case "input_audio": {
      const audio = isObject(part.input_audio) ? part.input_audio : {};
      return mediaBlock(`audio/${nonEmptyString(audio.format) ?? "wav"}`, { bytes: audio.data }, undefined);
    }
    default:
      refuseValue(`Cannot send a part of type ${String(part.type)} to this provider`);
  }
}
