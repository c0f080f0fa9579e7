import { InvalidRequestError } from "../../errors.ts";
import { fromBase64, toBase64 } from "../../lib/base64.ts";
import { joinBytes } from "../../lib/bytes.ts";
import { isObject } from "../../lib/json.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import { toWav } from "../shared/speech.ts";
import type { Part } from "./wire.ts";

/** Sample rate to use when the response states none. */
const usualRate = 24_000;

/** Sample rate in a media type such as `audio/L16;codec=pcm;rate=24000`. */
export function rateOf(mimeType: string | null | undefined): number {
  return Number(/rate=(\d{4,6})/.exec(mimeType ?? "")?.[1] ?? usualRate);
}

/** Whether a media type is raw PCM audio without a header. */
function isRaw(mimeType: string): boolean {
  return /^audio\/(?:l16|pcm|raw)\b/i.test(mimeType);
}

/**
 * Whether a chat asks for audio as a WAV file; otherwise it gets raw PCM.
 *
 * @throws {InvalidRequestError} For formats these models do not produce, and for WAV in a stream, whose length is
 * unknown.
 */
export function wantsWav({ audio, stream }: Pick<ChatRequest, "stream"> & { audio?: unknown }): boolean {
  const format = isObject(audio) ? (audio.format ?? undefined) : undefined;
  if (format === undefined || format === "pcm16") return false;
  if (format === "wav" && stream !== true) return true;
  const forms = stream === true ? "in streams as pcm16" : "as wav or pcm16";
  throw new InvalidRequestError(`Cannot use this audio.format: models of Google return audio ${forms}`, {
    param: "audio.format",
    code: "unsupported_parameter",
  });
}

/** The audio of a response, in base64; undefined without audio. */
export function audioOf(parts: readonly Part[], { asWav }: { asWav: boolean }): string | undefined {
  const audioParts = parts.flatMap(({ inlineData }) => (inlineData?.mimeType?.startsWith("audio/") ? inlineData : []));
  const [first, ...more] = audioParts;
  if (!first) return undefined;
  const isFile = asWav && isRaw(first.mimeType ?? "");
  if (!isFile && more.length === 0) return first.data;
  const bytes = joinBytes(audioParts.map(({ data }) => fromBase64(data)));
  return toBase64(isFile ? toWav(bytes, rateOf(first.mimeType)) : bytes);
}
