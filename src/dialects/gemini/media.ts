import { InvalidRequestError } from "../../errors.ts";
import { nonEmptyString } from "../../lib/json.ts";
import type { Part } from "../chat-writer.ts";
import { type Members, membersOf } from "./members.ts";

/** Audio formats by media type. */
const audioFormats: Readonly<Record<string, string>> = {
  "audio/mpeg": "mp3",
  "audio/mpga": "mp3",
  "audio/x-wav": "wav",
  "audio/wave": "wav",
  "audio/x-m4a": "m4a",
  "audio/l16": "pcm16",
  "audio/pcm": "pcm16",
};

/** Base64 in the standard alphabet, which every provider reads. */
function toPlainBase64(data: string): string {
  if (!/[-_]/.test(data)) return data;
  const plain = data.replaceAll("-", "+").replaceAll("_", "/");
  return plain.padEnd(Math.ceil(plain.length / 4) * 4, "=");
}

function fromBytes(blob: Members): Part[] {
  const data = toPlainBase64(nonEmptyString(blob.data) ?? "");
  const type = nonEmptyString(blob.mimeType) ?? "image/png";
  const url = `data:${type};base64,${data}`;
  if (type.startsWith("image/")) return [{ type: "image_url", image_url: { url } }];
  if (type.startsWith("video/")) return [{ type: "video_url", video_url: { url } }];
  if (type.startsWith("audio/")) {
    const [plain = ""] = type.toLowerCase().split(";");
    const format = audioFormats[plain] ?? plain.slice("audio/".length);
    return [{ type: "input_audio", input_audio: { data, format } }];
  }
  return [{ type: "file", file: { file_data: url, filename: nonEmptyString(blob.displayName) ?? "document.pdf" } }];
}

function fromAddress(file: Members): Part[] {
  const url = nonEmptyString(file.fileUri) ?? "";
  const type = nonEmptyString(file.mimeType) ?? "";
  if (!/^https?:\/\//.test(url) || url.startsWith("https://generativelanguage.googleapis.com/")) {
    throw new InvalidRequestError("Cannot send this file: the provider of this model cannot fetch it from there", {
      param: "contents.fileData",
      code: "unsupported_parameter",
    });
  }
  if (type.startsWith("video/")) return [{ type: "video_url", video_url: { url } }];
  if (type === "" || type.startsWith("image/")) return [{ type: "image_url", image_url: { url } }];
  return [{ type: "file", file: { file_url: url, filename: nonEmptyString(file.displayName) ?? "document.pdf" } }];
}

/**
 * An image, video, audio or file part as parts of a chat; undefined for other parts.
 *
 * @throws {InvalidRequestError} If only Google can read the file.
 */
export function toMedia(part: Members): Part[] | undefined {
  if (part.inlineData) return fromBytes(membersOf(part.inlineData));
  return part.fileData ? fromAddress(membersOf(part.fileData)) : undefined;
}
