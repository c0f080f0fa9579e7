import { InvalidRequestError } from "../../errors.ts";
import { fromBase64, toBase64 } from "../../lib/base64.ts";
import { joinBytes } from "../../lib/bytes.ts";
import { isObject } from "../../lib/json.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import { toWav } from "../shared/speech.ts";
import type { Part } from "./wire.ts";

/** Samples a second where the answer does not tell. */
const usualRate = 24_000;

/** Samples a second of a media type such as `audio/L16;codec=pcm;rate=24000`. */
export function rateOf(mimeType: string | null | undefined): number {
  return Number(/rate=(\d{4,6})/.exec(mimeType ?? "")?.[1] ?? usualRate);
}

/** Whether a media type is that of samples without a head. */
function isRaw(mimeType: string): boolean {
  return /^audio\/(?:l16|pcm|raw)\b/i.test(mimeType);
}

/**
 * Whether a chat asks for its sound as a WAV file; else it comes as the samples the models make.
 *
 * @throws {InvalidRequestError} For forms these models do not speak in, and for a file in a stream, whose length is not known.
 */
export function wantsWav({ audio, stream }: Pick<ChatRequest, "stream"> & { audio?: unknown }): boolean {
  const format = isObject(audio) ? (audio.format ?? undefined) : undefined;
  if (format === undefined || format === "pcm16") return false;
  if (format === "wav" && stream !== true) return true;
  const forms = stream === true ? "in streams as pcm16" : "as wav or pcm16";
  throw new InvalidRequestError(`Cannot send audio.format: models of Google speak ${forms}`, {
    param: "audio.format",
    code: "unsupported_parameter",
  });
}

/** The sound of an answer, in base64; undefined when there is none. */
export function soundOf(parts: readonly Part[], { asWav }: { asWav: boolean }): string | undefined {
  const sounds = parts.flatMap(({ inlineData }) => (inlineData?.mimeType?.startsWith("audio/") ? inlineData : []));
  const [first, ...more] = sounds;
  if (!first) return undefined;
  const isFile = asWav && isRaw(first.mimeType ?? "");
  if (!isFile && more.length === 0) return first.data;
  const bytes = joinBytes(sounds.map(({ data }) => fromBase64(data)));
  return toBase64(isFile ? toWav(bytes, rateOf(first.mimeType)) : bytes);
}
