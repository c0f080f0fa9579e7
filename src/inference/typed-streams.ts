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

/** Operations whose streams tell the type of each event. */
export const typedStreams: { readonly [Name in OperationName]?: TypedStream } = { messages };
