import { InvalidRequestError } from "../../errors.ts";
import { readDataUrl } from "../../lib/data-url.ts";
import { isObject, nonEmptyString } from "../../lib/json.ts";

/** Media types by file extension. */
const mediaTypes: Readonly<Record<string, string>> = {
  pdf: "application/pdf",
  txt: "text/plain",
  csv: "text/csv",
  html: "text/html",
  md: "text/markdown",
  doc: "application/msword",
  docx: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  xls: "application/vnd.ms-excel",
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  bmp: "image/bmp",
  heic: "image/heic",
  heif: "image/heif",
  mp3: "audio/mp3",
  wav: "audio/wav",
  aac: "audio/aac",
  flac: "audio/flac",
  ogg: "audio/ogg",
  opus: "audio/opus",
  m4a: "audio/m4a",
  aiff: "audio/aiff",
  mp4: "video/mp4",
  mov: "video/quicktime",
  avi: "video/x-msvideo",
  mpeg: "video/mpeg",
  mpg: "video/mpeg",
  webm: "video/webm",
  mkv: "video/x-matroska",
  flv: "video/x-flv",
  wmv: "video/x-ms-wmv",
  "3gp": "video/3gpp",
};

/** Media types of audio formats. */
const audioTypes: Readonly<Record<string, string>> = {
  mp3: "audio/mp3",
  wav: "audio/wav",
  opus: "audio/ogg",
  flac: "audio/flac",
  pcm16: "audio/pcm",
  aac: "audio/x-aac",
  m4a: "audio/x-m4a",
  mpeg: "audio/mpeg",
  mpga: "audio/mpga",
  mp4: "audio/mp4",
  webm: "audio/webm",
};

const base64 = /^[A-Za-z0-9+/_-]+={0,2}$/;
const hostOfVideos = /^https:\/\/(?:www\.|m\.)?(?:youtube\.com|youtu\.be)\//;
const filesOfGemini = "https://generativelanguage.googleapis.com/v1beta/";

/** Media as a content part, inline or by URL (https://ai.google.dev/api/caching#Part). */
export type MediaPart =
  | { inlineData: { mimeType: string; data: string } }
  | { fileData: { mimeType?: string; fileUri: string } };

function refuseMedia(what: string, problem: string): never {
  throw new InvalidRequestError(`Cannot send ${what}: ${problem}`, { param: "messages", code: "invalid_content" });
}

/** The media type for a file name or URL; the query is ignored. */
function typeOfName(name: string | undefined): string | undefined {
  const [, ending] = /\.([A-Za-z0-9]{1,5})$/.exec(name?.replace(/[?#].*$/, "") ?? "") ?? [];
  const key = ending?.toLowerCase();
  return key !== undefined && Object.hasOwn(mediaTypes, key) ? mediaTypes[key] : undefined;
}

function fromDataUrl(url: string, what: string): MediaPart {
  const inline = readDataUrl(url);
  if (!inline?.isBase64) return refuseMedia(what, "its data URL is not base64");
  return { inlineData: { mimeType: inline.type || "text/plain", data: inline.data } };
}

/** Metadata of a medium. */
interface MediumHints {
  /** Name of the content part, for error messages. */
  what: string;
  mediaType: string | undefined;
  /** Media type to use when nothing else states one. */
  fallback: string;
}

function fromAddress(address: string, { mediaType, fallback, what }: MediumHints): MediaPart {
  if (/^data:/i.test(address)) return fromDataUrl(address, what);
  if (/^(?:https?|gs):\/\//.test(address)) {
    const known = mediaType ?? typeOfName(address) ?? (hostOfVideos.test(address) ? "video/mp4" : undefined);
    // the service knows the type of an uploaded file
    if (known === undefined && address.startsWith(filesOfGemini)) return { fileData: { fileUri: address } };
    return { fileData: { mimeType: known ?? fallback, fileUri: address } };
  }
  if (base64.test(address)) return { inlineData: { mimeType: mediaType ?? fallback, data: address } };
  return refuseMedia(what, "it is not a data URL, URL or base64");
}

function fromImage(part: Record<string, unknown>, what: string, fallback: string): MediaPart {
  const given = part[what];
  const { url, mime_type } = isObject(given) ? given : { url: given, mime_type: undefined };
  const address = nonEmptyString(url) ?? refuseMedia(what, "it has no url");
  return fromAddress(address, { what, mediaType: nonEmptyString(mime_type), fallback });
}

function fromFile({ file }: Record<string, unknown>): MediaPart {
  const members = isObject(file) ? file : {};
  const name = nonEmptyString(members.file_name) ?? nonEmptyString(members.filename);
  const mediaType = nonEmptyString(members.mime_type) ?? typeOfName(name);
  const hints = { what: "file", mediaType, fallback: "application/pdf" };
  const bytes = nonEmptyString(members.file_data);
  if (bytes !== undefined) return fromAddress(bytes, hints);
  const address =
    nonEmptyString(members.file_url) ??
    nonEmptyString(members.file_id) ??
    refuseMedia("file", "it has no data, URL or id");
  return fromAddress(address.startsWith("files/") ? `${filesOfGemini}${address}` : address, hints);
}

function fromAudio({ input_audio: input }: Record<string, unknown>): MediaPart {
  const { data, format } = isObject(input) ? input : {};
  const key = nonEmptyString(format) ?? "wav";
  const type = Object.hasOwn(audioTypes, key) ? audioTypes[key] : undefined;
  const bytes = nonEmptyString(data) ?? refuseMedia("input_audio", "it has no data");
  return { inlineData: { mimeType: type ?? `audio/${key.replace(/[^A-Za-z0-9.+-]/g, "")}`, data: bytes } };
}

/**
 * An image, file or audio part of a message; undefined for other parts.
 *
 * @throws {InvalidRequestError} If it has neither bytes nor a URL.
 */
export function toMediaPart(part: Record<string, unknown>): MediaPart | undefined {
  switch (part.type) {
    case "image_url":
      return fromImage(part, "image_url", "image/jpeg");
    case "video_url":
      return fromImage(part, "video_url", "video/mp4");
    case "file":
      return fromFile(part);
    case "input_audio":
      return fromAudio(part);
    default:
      return undefined;
  }
}
