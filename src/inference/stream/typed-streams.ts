import { toErrorEvent } from "../../dialects/messages/events.ts";
import { toErrorCode } from "../../dialects/responses/response.ts";
import { isObject } from "../../lib/json.ts";
import type { StreamEvents } from "../facts/operation-facts.ts";
import { messageEventSays, responseEventSays } from "./says.ts";
import type { TypedStream } from "./typed-observer.ts";

/** Anthropic's Messages API (https://docs.claude.com/en/docs/build-with-claude/streaming). */
const messages: TypedStream = {
  last: new Set(["message_stop"]),
  failures: new Set(["error"]),
  mark: /"(?:message_(?:start|delta|stop)|error)"/,
  says: messageEventSays,
  usageOf: ({ message, usage }) => (isObject(message) ? message.usage : usage),
  toFailures: (error) => [toErrorEvent(error)],
};

/** Number of the last event in a text; -1 if it has no number. */
function lastNumberIn(text: string): number {
  const numbers = [...text.matchAll(/"sequence_number"\s*:\s*([0-9]{1,9})/g)];
  return Number(numbers.at(-1)?.[1] ?? -1);
}

/** OpenAI's Responses API (https://platform.openai.com/docs/api-reference/responses-streaming). */
const responses: TypedStream = {
  last: new Set(["response.completed", "response.incomplete"]),
  failures: new Set(["response.failed", "error"]),
  warnings: new Set(["error"]),
  mark: /"(?:response\.(?:created|completed|incomplete|failed)|error)"/,
  says: responseEventSays,
  usageOf: ({ response }) => (isObject(response) ? response.usage : undefined),
  toFailures({ message, type }, { begun, lastText }) {
    const next = lastNumberIn(lastText()) + 1;
    const error = { code: toErrorCode({ type }), message };
    const errorEvent = { type: "error", sequence_number: next, ...error, param: null };
    if (!isObject(begun?.response)) return [errorEvent];
    const response = { ...begun.response, status: "failed", error };
    return [errorEvent, { type: "response.failed", sequence_number: next + 1, response }];
  },
};

/** A stream of OpenAI's whose last event holds the usage, and whose failures have the shape of its other errors. */
function createMediaStream(last: string, more: Partial<TypedStream> = {}): TypedStream {
  return {
    last: new Set([last]),
    failures: new Set(["error"]),
    mark: new RegExp(`"(?:${last.replaceAll(".", "\\.")}|error)"`),
    usageOf: ({ usage }) => usage,
    toFailures: ({ message, type, code, param }) => [{ type: "error", error: { message, type, code, param } }],
    ...more,
  };
}

/** Events hold whole images, and each image has a last event. */
const imageEvents = { hasSeveralLast: true, maxEventBytes: 64 * 1024 * 1024 };

/** Streams whose events name their type. Chunks and contents have no types. */
export const typedStreams: Readonly<Record<StreamEvents, TypedStream | undefined>> = {
  chunks: undefined,
  contents: undefined,
  messages,
  responses,
  // https://platform.openai.com/docs/api-reference/images-streaming
  generatedImages: createMediaStream("image_generation.completed", imageEvents),
  editedImages: createMediaStream("image_edit.completed", imageEvents),
  // https://platform.openai.com/docs/api-reference/audio/speech-audio-done-event
  speech: createMediaStream("speech.audio.done"),
  // https://platform.openai.com/docs/api-reference/audio/transcript-text-done-event
  transcript: createMediaStream("transcript.text.done"),
};
