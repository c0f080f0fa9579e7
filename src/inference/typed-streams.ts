import { toErrorEvent } from "../dialects/messages/events.ts";
import { toErrorCode } from "../dialects/responses/response.ts";
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
  toFailures: ({ message, type }) => [toErrorEvent({ message: textOf(message), type: textOf(type), code: null })],
};

/** The error in an event of the Responses API (https://platform.openai.com/docs/api-reference/responses-streaming). */
export function typedFailureOf({ type, code, message, param, response }: Record<string, unknown>): unknown {
  if (type === "error") return { code, message, param };
  return type === "response.failed" && isObject(response) ? response.error : undefined;
}

/** Number of the last event in a text; -1 where there is none. */
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
  usageOf: ({ response }) => (isObject(response) ? response.usage : undefined),
  toFailures({ message, type }, { begun, lastText }) {
    const next = lastNumberIn(lastText()) + 1;
    const error = { code: toErrorCode({ type: textOf(type) }), message: textOf(message) };
    const told = { type: "error", sequence_number: next, ...error, param: null };
    if (!isObject(begun?.response)) return [told];
    const response = { ...begun.response, status: "failed", error };
    return [told, { type: "response.failed", sequence_number: next + 1, response }];
  },
};

/** Operations whose streams tell the type of each event. */
export const typedStreams: { readonly [Name in OperationName]?: TypedStream } = { messages, responses };
