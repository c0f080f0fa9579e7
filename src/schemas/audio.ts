import * as v from "valibot";
import { FormFile } from "../lib/multipart.ts";

const text = v.nullish(v.string());
const numeric = v.nullish(v.number());
const bounded = (minimum: number, maximum: number) =>
  v.nullish(v.pipe(v.number(), v.minValue(minimum), v.maxValue(maximum)));
const strings = v.nullish(v.array(v.string()));

/** Body of `POST /audio/speech` (https://platform.openai.com/docs/api-reference/audio/createSpeech). Unknown fields are forwarded. */
export const SpeechRequest = v.looseObject({
  model: v.string(),
  input: v.pipe(v.string(), v.minLength(1), v.maxLength(4096)),
  voice: v.union([v.string(), v.looseObject({ id: v.string() })]),
  response_format: text,
  speed: bounded(0.25, 4),
  instructions: v.nullish(v.pipe(v.string(), v.maxLength(4096))),
  stream_format: v.nullish(v.picklist(["audio", "sse"])),
});
export type SpeechRequest = v.InferOutput<typeof SpeechRequest>;

/** Audio input: a file, or where providers accept it, its address or id. */
const AudioInput = v.nullish(v.union([v.instance(FormFile), v.pipe(v.string(), v.minLength(1))]));

const shared = {
  file: AudioInput,
  model: v.string(),
  prompt: text,
  response_format: text,
  temperature: bounded(0, 1),
};

const noAudio = "Invalid file: send the audio as a file named file";

/** Whether a request has audio input: some providers accept an address or an id. */
function hasAudio(request: object): boolean {
  const members = ["file", "url", "file_url", "file_id"].map((name): unknown => Reflect.get(request, name));
  return members.some((one) => one !== undefined && one !== null);
}

/** Form of `POST /audio/transcriptions` (https://platform.openai.com/docs/api-reference/audio/createTranscription). Unknown fields are forwarded. */
export const TranscriptionRequest = v.pipe(
  v.looseObject({
    ...shared,
    language: text,
    languages: strings,
    keywords: strings,
    timestamp_granularities: strings,
    stream: v.nullish(v.boolean()),
    include: strings,
    chunking_strategy: text,
    known_speaker_names: v.nullish(v.pipe(v.array(v.string()), v.maxLength(4))),
    known_speaker_references: v.nullish(v.pipe(v.array(v.string()), v.maxLength(4))),
  }),
  v.check((request) => hasAudio(request), noAudio),
);
export type TranscriptionRequest = v.InferOutput<typeof TranscriptionRequest>;

/** Form of `POST /audio/translations` (https://platform.openai.com/docs/api-reference/audio/createTranslation). */
export const TranslationRequest = v.pipe(
  v.looseObject(shared),
  v.check((request) => hasAudio(request), noAudio),
);
export type TranslationRequest = v.InferOutput<typeof TranslationRequest>;

/** JSON responses of `POST /audio/transcriptions` and `POST /audio/translations`; other formats are plain text. */
export const TranscriptionResponse = v.looseObject({
  text: v.string(),
  language: text,
  // a number in responses, a string in some documentation
  duration: v.nullish(v.union([v.number(), v.string()])),
  words: v.nullish(v.array(v.looseObject({ word: text, start: numeric, end: numeric }))),
  segments: v.nullish(v.array(v.looseObject({ text, start: numeric, end: numeric }))),
  usage: v.nullish(v.looseObject({})),
});
export type TranscriptionResponse = v.InferOutput<typeof TranscriptionResponse>;
