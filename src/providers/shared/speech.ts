import type { SpeechRequest } from "../../schemas/audio.ts";
import { refuseMember } from "./messages.ts";

/** Content types by speech format (https://platform.openai.com/docs/api-reference/audio/createSpeech). */
export const speechTypes: Readonly<Record<string, string>> = {
  mp3: "audio/mpeg",
  opus: "audio/opus",
  aac: "audio/aac",
  flac: "audio/flac",
  wav: "audio/wav",
  pcm: "audio/pcm",
};

/** The name or id of the voice. */
export function voiceOf({ voice }: SpeechRequest): string {
  return typeof voice === "string" ? voice : voice.id;
}

/**
 * The speech format.
 *
 * @param fallback Used when the request names none.
 * @throws {InvalidRequestError} If the provider does not support it.
 */
export function formatOf<Format extends string>(
  provider: string,
  { response_format: asked }: SpeechRequest,
  formats: readonly Format[],
  fallback: Format,
): Format {
  const wanted = asked ?? fallback;
  return (
    formats.find((format) => format === wanted) ??
    refuseMember(provider, "response_format", `it returns speech as ${formats.join(", ")}`)
  );
}

/** A WAV file from 16-bit little-endian mono samples (http://soundfile.sapp.org/doc/WaveFormat/). */
export function toWav(samples: Uint8Array, rate: number): Uint8Array {
  const file = new Uint8Array(44 + samples.length);
  const view = new DataView(file.buffer);
  const write = (offset: number, text: string) => {
    for (let index = 0; index < text.length; index++) view.setUint8(offset + index, text.charCodeAt(index));
  };
  write(0, "RIFF");
  view.setUint32(4, 36 + samples.length, true);
  write(8, "WAVEfmt ");
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, rate, true);
  view.setUint32(28, rate * 2, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  write(36, "data");
  view.setUint32(40, samples.length, true);
  file.set(samples, 44);
  return file;
}
