// What the life cycle of a request knows of each unified operation. An operation without an entry does not compile.

import type { RequestType, Visibility } from "../../guardrails/types.ts";
import { allVisible } from "../../guardrails/visible-hooks.ts";
import { isObject, stringOf } from "../../lib/json.ts";
import type { OperationName } from "../../providers/core/operations.ts";

/** Form of the events of a streamed response: chunks of OpenAI's completions, or the events of one API. */
export type StreamEvents =
  | "chunks"
  | "contents"
  | "messages"
  | "responses"
  | "generatedImages"
  | "editedImages"
  | "speech"
  | "transcript";

/** Media in the bodies of an operation. A transcription request contains an audio file. */
export type Media = "none" | "images" | "speech" | "transcript";

/** What providers charge for besides tokens. */
export type CountedUnit =
  | "none"
  | "pages"
  | "search_units"
  | "seconds"
  | "images"
  | "characters"
  | "tools"
  | "searches"
  | "web_searches";

/** Facts of one operation. */
interface OperationFacts {
  /** Name of the operation in guardrails. */
  readonly requestType: RequestType;
  /** What guardrails see of it. */
  readonly visibility: Visibility;
  readonly events: StreamEvents;
  /** A non-streaming response is sent as events where the client asked for a stream. */
  readonly replays: boolean;
  readonly media: Media;
  readonly counted: CountedUnit;
  /** Tokens that are estimated where the provider does not report them: those of its request, or of its response too. */
  readonly estimates: "all" | "input" | "none";
  /** Providers charge nothing for it. */
  readonly isFree: boolean;
  /** Its responses can be stored and used again. */
  readonly isCached: boolean;
}

/** The text of requests is checked. Responses hold none. */
const unanswered: Visibility = { request: "text", answer: "empty" };
/** The text of requests is checked, and the text that a model reads out of what they hold, or makes of it. */
const readOut: Visibility = { request: "text", answer: "seen" };
/** Checks see which model a session is for when it is opened, and its text once it is open. */
const sessionStart: Visibility = { request: "model", answer: "seen", part: "start" };
export const sessionEvents: Visibility = { request: "text", answer: "seen", part: "events" };

export const operationFacts: Readonly<Record<OperationName, OperationFacts>> = {
  chat: {
    requestType: "chatComplete",
    visibility: allVisible,
    events: "chunks",
    replays: true,
    media: "none",
    counted: "searches",
    estimates: "all",
    isFree: false,
    isCached: true,
  },
  complete: {
    requestType: "complete",
    visibility: allVisible,
    events: "chunks",
    replays: true,
    media: "none",
    counted: "none",
    estimates: "all",
    isFree: false,
    isCached: true,
  },
  messages: {
    requestType: "messages",
    visibility: allVisible,
    events: "messages",
    replays: true,
    media: "none",
    counted: "none",
    estimates: "all",
    isFree: false,
    isCached: true,
  },
  responses: {
    requestType: "createModelResponse",
    visibility: allVisible,
    events: "responses",
    replays: true,
    media: "none",
    counted: "tools",
    estimates: "all",
    isFree: false,
    isCached: true,
  },
  generateContent: {
    requestType: "generateContent",
    visibility: allVisible,
    events: "contents",
    replays: false,
    media: "none",
    counted: "none",
    estimates: "all",
    isFree: false,
    isCached: true,
  },
  embed: {
    requestType: "embed",
    visibility: unanswered,
    events: "chunks",
    replays: true,
    media: "none",
    counted: "none",
    estimates: "input",
    isFree: false,
    isCached: true,
  },
  embedContent: {
    requestType: "embed",
    visibility: unanswered,
    events: "chunks",
    replays: true,
    media: "none",
    counted: "none",
    estimates: "input",
    isFree: false,
    isCached: true,
  },
  batchEmbedContents: {
    requestType: "embed",
    visibility: unanswered,
    events: "chunks",
    replays: true,
    media: "none",
    counted: "none",
    estimates: "input",
    isFree: false,
    isCached: true,
  },
  countTokens: {
    requestType: "messagesCountTokens",
    visibility: unanswered,
    events: "chunks",
    replays: false,
    media: "none",
    counted: "none",
    estimates: "none",
    isFree: true,
    isCached: false,
  },
  countChat: {
    requestType: "messagesCountTokens",
    visibility: unanswered,
    events: "chunks",
    replays: false,
    media: "none",
    counted: "none",
    estimates: "none",
    isFree: false,
    isCached: false,
  },
  countContents: {
    requestType: "countTokens",
    visibility: unanswered,
    events: "chunks",
    replays: false,
    media: "none",
    counted: "none",
    estimates: "none",
    isFree: true,
    isCached: false,
  },
  rerank: {
    requestType: "rerank",
    visibility: unanswered,
    events: "chunks",
    replays: false,
    media: "none",
    counted: "search_units",
    estimates: "none",
    isFree: false,
    isCached: true,
  },
  moderate: {
    requestType: "moderate",
    visibility: unanswered,
    events: "chunks",
    replays: false,
    media: "none",
    counted: "none",
    estimates: "input",
    isFree: false,
    isCached: true,
  },
  decide: {
    requestType: "decisions",
    visibility: unanswered,
    events: "chunks",
    replays: false,
    media: "none",
    counted: "none",
    estimates: "input",
    isFree: false,
    isCached: true,
  },
  models: {
    requestType: "listModels",
    visibility: unanswered,
    events: "chunks",
    replays: false,
    media: "none",
    counted: "none",
    estimates: "none",
    isFree: false,
    isCached: false,
  },
  generateImage: {
    requestType: "imageGenerate",
    visibility: readOut,
    events: "generatedImages",
    replays: false,
    media: "images",
    counted: "images",
    estimates: "none",
    isFree: false,
    isCached: true,
  },
  editImage: {
    requestType: "imageEdit",
    visibility: readOut,
    events: "editedImages",
    replays: false,
    media: "images",
    counted: "images",
    estimates: "none",
    isFree: false,
    isCached: false,
  },
  speak: {
    requestType: "createSpeech",
    visibility: unanswered,
    events: "speech",
    replays: false,
    media: "speech",
    counted: "characters",
    estimates: "none",
    isFree: false,
    isCached: false,
  },
  ocr: {
    requestType: "ocr",
    visibility: readOut,
    events: "chunks",
    replays: false,
    media: "none",
    counted: "pages",
    estimates: "none",
    isFree: false,
    isCached: true,
  },
  search: {
    requestType: "search",
    visibility: readOut,
    events: "chunks",
    replays: false,
    media: "none",
    counted: "web_searches",
    estimates: "none",
    isFree: false,
    isCached: true,
  },
  transcribe: {
    requestType: "createTranscription",
    visibility: readOut,
    events: "transcript",
    replays: false,
    media: "transcript",
    counted: "seconds",
    estimates: "none",
    isFree: false,
    isCached: false,
  },
  translate: {
    requestType: "createTranslation",
    visibility: readOut,
    events: "chunks",
    replays: false,
    media: "transcript",
    counted: "seconds",
    estimates: "none",
    isFree: false,
    isCached: false,
  },
  realtime: {
    requestType: "realtime",
    visibility: sessionStart,
    events: "chunks",
    replays: false,
    media: "none",
    counted: "none",
    estimates: "none",
    isFree: false,
    isCached: false,
  },
};

/** Whether a route of this name asks a provider for a unified operation. */
export function isOperation(name: string): name is OperationName {
  return Object.hasOwn(operationFacts, name);
}

/** The model a request names. */
export function modelOf(request: object): string | undefined {
  return stringOf(Reflect.get(request, "model"));
}

/** Whether a request asks for a streamed response. */
export function isStreamed(name: OperationName, request: object): boolean {
  // https://platform.openai.com/docs/api-reference/audio/createSpeech
  if (operationFacts[name].events === "speech") return Reflect.get(request, "stream_format") === "sse";
  return Reflect.get(request, "stream") === true;
}

/** Whether a request asks for the usage of a stream on routes that report it only when asked. */
export function asksForUsage(request: object): boolean {
  const asked: unknown = Reflect.get(request, "stream_options");
  return isObject(asked) && asked.include_usage === true;
}
