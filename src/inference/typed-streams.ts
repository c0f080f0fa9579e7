import { toErrorEvent } from "../dialects/messages/events.ts";
import { isObject } from "../lib/json.ts";
import type { OperationName } from "../providers/types.ts";
import type { TypedStream } from "./typed-observer.ts";

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** Anthropic's Messages API (https://docs.claude.com/en/docs/build-with-claude/streaming). */
const messages: TypedStream = {
  last: new Set(["message_stop"]),
  failures: new Set(["error"]),
  mark: /"(?:message_(?:start|delta|stop)|error)"/,
  usageOf: ({ message, usage }) => (isObject(message) ? message.usage : usage),
  toFailure: ({ message, type }) => toErrorEvent({ message: textOf(message), type: textOf(type), code: null }),
};

/** A stream of OpenAI's whose last event holds the usage, and whose failures are as in its other answers. */
function createMediaStream(last: string, more: Partial<TypedStream> = {}): TypedStream {
  return {
    last: new Set([last]),
    failures: new Set(["error"]),
    mark: new RegExp(`"(?:${last.replaceAll(".", "\\.")}|error)"`),
    usageOf: ({ usage }) => usage,
    toFailure: (error) => ({ type: "error", error }),
    ...more,
  };
}

/** Events hold whole pictures, and each picture has a last one of its own. */
const pictures = { hasSeveralLast: true, maxEventBytes: 64 * 1024 * 1024 };

/** Operations whose streams tell the type of each event. */
export const typedStreams: { readonly [Name in OperationName]?: TypedStream } = {
  messages,
  // https://platform.openai.com/docs/api-reference/images-streaming
  generateImage: createMediaStream("image_generation.completed", pictures),
  editImage: createMediaStream("image_edit.completed", pictures),
  // https://platform.openai.com/docs/api-reference/audio/speech-audio-done-event
  speak: createMediaStream("speech.audio.done"),
  // https://platform.openai.com/docs/api-reference/audio/transcript-text-done-event
  transcribe: createMediaStream("transcript.text.done"),
};
