import { isObject, nonEmptyString } from "../../lib/json.ts";
import type { DialectOptions } from "../types.ts";
import { type Members, membersOf, stringsOf } from "./members.ts";

/** Raw samples, the format of Gemini's models and the only one that chats can stream. */
const askedFormat = "pcm16";

/** Default voice: chats require one. */
const usualVoice = "alloy";

/** Media types of a chat's audio formats; samples are at 24 kHz. */
const mediaTypes: Readonly<Record<string, string>> = {
  pcm16: "audio/L16;codec=pcm;rate=24000",
  wav: "audio/wav",
  mp3: "audio/mpeg",
  flac: "audio/flac",
  opus: "audio/ogg",
  aac: "audio/aac",
};

function modalitiesOf({ responseModalities }: Members): string[] {
  return stringsOf(responseModalities).map((one) => one.toLowerCase());
}

/** The voice of a response (https://ai.google.dev/api/generate-content#SpeechConfig). */
function readVoice({ speechConfig }: Members, { drop }: DialectOptions): string {
  const { voiceConfig, ...others } = membersOf(speechConfig);
  for (const name of Object.keys(others)) drop(`generationConfig.speechConfig.${name}`);
  return nonEmptyString(membersOf(membersOf(voiceConfig).prebuiltVoiceConfig).voiceName) ?? usualVoice;
}

/**
 * Modalities besides text, and audio settings (https://platform.openai.com/docs/api-reference/chat/create#chat-create-audio):
 * chats with audio output also return a transcript, so both modalities are requested.
 */
export function toModalities(config: Members, options: DialectOptions): Members {
  const asked = modalitiesOf(config);
  if (!asked.includes("audio")) {
    if (config.speechConfig !== undefined && config.speechConfig !== null)
      options.drop("generationConfig.speechConfig");
    return asked.every((one) => one === "text") ? {} : { modalities: asked };
  }
  const modalities = asked.includes("text") ? asked : ["text", ...asked];
  return { modalities, audio: { voice: readVoice(config, options), format: askedFormat } };
}

/** Whether a transcript is requested, too. */
function wantsText(request: object): boolean {
  const asked = modalitiesOf(membersOf(membersOf(request).generationConfig));
  return asked.length === 0 || asked.includes("text");
}

/** Audio of a choice, in its message or delta, as a part; with its transcript where text was requested but is absent. */
export function readAudio({ message, delta }: Members, request: object): Members[] {
  const holder = isObject(message) ? message : isObject(delta) ? delta : {};
  if (!isObject(holder.audio)) return [];
  const { data, format, transcript } = holder.audio;
  const words =
    nonEmptyString(holder.content) === undefined && wantsText(request) ? nonEmptyString(transcript) : undefined;
  const audio = nonEmptyString(data);
  const mimeType = mediaTypes[nonEmptyString(format) ?? askedFormat] ?? mediaTypes[askedFormat];
  return [
    ...(words === undefined ? [] : [{ text: words }]),
    ...(audio === undefined ? [] : [{ inlineData: { mimeType, data: audio } }]),
  ];
}
