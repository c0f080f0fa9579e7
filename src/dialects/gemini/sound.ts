import { isObject } from "../../lib/json.ts";
import type { DialectOptions } from "../types.ts";
import { type Members, membersOf, textOf, textsOf } from "./members.ts";

/** Samples, as Gemini's models speak them: the only format that chats stream too. */
const askedFormat = "pcm16";

/** Speaks where none is named: chats need a voice. */
const usualVoice = "alloy";

/** Media types of formats of chats; samples have 24,000 a second. */
const mediaTypes: Readonly<Record<string, string>> = {
  pcm16: "audio/L16;codec=pcm;rate=24000",
  wav: "audio/wav",
  mp3: "audio/mpeg",
  flac: "audio/flac",
  opus: "audio/ogg",
  aac: "audio/aac",
};

function modalitiesOf({ responseModalities }: Members): string[] {
  return textsOf(responseModalities).map((one) => one.toLowerCase());
}

/** The voice of an answer (https://ai.google.dev/api/generate-content#SpeechConfig). */
function readVoice({ speechConfig }: Members, { drop }: DialectOptions): string {
  const { voiceConfig, ...others } = membersOf(speechConfig);
  for (const name of Object.keys(others)) drop(`generationConfig.speechConfig.${name}`);
  return textOf(membersOf(membersOf(voiceConfig).prebuiltVoiceConfig).voiceName) ?? usualVoice;
}

/**
 * Kinds of answers besides text, and how sound is made (https://platform.openai.com/docs/api-reference/chat/create#chat-create-audio):
 * chats that speak write down what they say, so both are asked for.
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

/** Whether what is said is to be written too. */
function wantsText(request: object): boolean {
  const asked = modalitiesOf(membersOf(membersOf(request).generationConfig));
  return asked.length === 0 || asked.includes("text");
}

/** Sound a choice holds, whole or in a chunk, as a part; its words too where text was asked for and there is none beside it. */
export function readSound({ message, delta }: Members, request: object): Members[] {
  const holder = isObject(message) ? message : isObject(delta) ? delta : {};
  if (!isObject(holder.audio)) return [];
  const { data, format, transcript } = holder.audio;
  const words = textOf(holder.content) === undefined && wantsText(request) ? textOf(transcript) : undefined;
  const sound = textOf(data);
  const mimeType = mediaTypes[textOf(format) ?? askedFormat] ?? mediaTypes[askedFormat];
  return [
    ...(words === undefined ? [] : [{ text: words }]),
    ...(sound === undefined ? [] : [{ inlineData: { mimeType, data: sound } }]),
  ];
}
