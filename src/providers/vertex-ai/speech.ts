import * as v from "valibot";
import { fromBase64 } from "../../lib/base64.ts";
import { BinaryAnswer } from "../core/operations.ts";
import type { OperationAdapter } from "../core/types.ts";
import { refuseSpeechEvents } from "../openai-compatible/media.ts";
import { isKnownMember, passUnknown } from "../shared/known.ts";
import { formatOf, speechTypes, voiceOf } from "../shared/speech.ts";

/** Encodings by speech format (https://cloud.google.com/text-to-speech/docs/reference/rest/v1/AudioEncoding). */
const encodings = { mp3: "MP3", opus: "OGG_OPUS", wav: "LINEAR16", pcm: "PCM" } as const;
const formats = ["mp3", "opus", "wav", "pcm"] as const;

const Answer = v.looseObject({ audioContent: v.string() });

/** The language of a voice such as `de-DE-Chirp3-HD-Kore`. */
function languageOf(voice: string, asked: unknown): string {
  if (typeof asked === "string" && asked !== "") return asked;
  return /^([a-z]{2,3}-[A-Z]{2})-/.exec(voice)?.[1] ?? "en-US";
}

/** Speech of Google Cloud (https://cloud.google.com/text-to-speech/docs/reference/rest/v1/text/synthesize). */
export const speak: OperationAdapter<"speak"> = {
  path: () => "/v1/text:synthesize",
  toUpstream(request, { drop }) {
    refuseSpeechEvents("vertex-ai", request);
    const { model, input, instructions, speed, language, language_code: code } = request;
    const isTaken = (name: string) => name === "language" || name === "language_code" || isKnownMember(name, "speech");
    const isGemini = model.startsWith("gemini-");
    if (instructions && !isGemini) drop("instructions");
    const voice = voiceOf(request);
    return {
      ...passUnknown(request, isTaken, { kind: "speech", drop }),
      input: { text: input, ...(instructions && isGemini && { prompt: instructions }) },
      voice: { languageCode: languageOf(voice, code ?? language), name: voice, ...(isGemini && { modelName: model }) },
      audioConfig: {
        audioEncoding: encodings[formatOf("vertex-ai", request, formats, "mp3")],
        ...(typeof speed === "number" && { speakingRate: speed }),
      },
    };
  },
  fromUpstream(body, request) {
    const format = formatOf("vertex-ai", request, formats, "mp3");
    return new BinaryAnswer(fromBase64(v.parse(Answer, body).audioContent), speechTypes[format] ?? "");
  },
};
