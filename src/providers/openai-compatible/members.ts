import { isObject } from "../../lib/json.ts";
import type { ConversionOptions } from "../core/types.ts";
import { normaliseUsage, type UsageRules } from "./usage.ts";

/** How a provider's responses differ from OpenAI's. */
export interface AnswerRules extends UsageRules {
  /** OpenAI's terms for finish reasons that only this provider has. */
  finishReasons?: Readonly<Record<string, string>>;
  /**
   * Members of messages that the host demands back with the tool calls they came with. They stay on such messages, in strict
   * responses too: a client that sends messages back as they came would be refused otherwise.
   */
  demandsBack?: readonly string[];
  /** Throws when a body with status 200 reports a failure. */
  check?(body: Record<string, unknown>): void;
}

/** Whose responses are read, and how. */
export interface AnswerReader extends AnswerRules {
  slug: string;
  /** Chat responses contain messages, completions contain text. */
  kind: "chat" | "complete";
  /** Members of messages with tool calls in strict responses. */
  calledMembers: ReadonlySet<string>;
}

/** A JSON object of a response. */
export type Members = Record<string, unknown>;

/** Fields of OpenAI's responses and chunks (https://platform.openai.com/docs/api-reference/chat). */
export const plainAnswer: ReadonlySet<string> = new Set([
  "id",
  "object",
  "created",
  "model",
  "choices",
  "usage",
  "system_fingerprint",
  "service_tier",
  "obfuscation",
]);

/** Fields of choices. */
export const plainChoice: Readonly<Record<AnswerReader["kind"], ReadonlySet<string>>> = {
  chat: new Set(["index", "message", "delta", "logprobs", "finish_reason"]),
  complete: new Set(["index", "text", "logprobs", "finish_reason"]),
};

/** Fields of messages; images count as content, although OpenAI has no such field. */
export const plainMessage: ReadonlySet<string> = new Set([
  "role",
  "content",
  "refusal",
  "tool_calls",
  "function_call",
  "annotations",
  "audio",
  "images",
]);

/** Members of messages with tool calls in strict responses: those the host demands back stay. */
export function calledMembers({ demandsBack = [] }: AnswerRules): ReadonlySet<string> {
  return demandsBack.length > 0 ? new Set([...plainMessage, ...demandsBack]) : plainMessage;
}

/** Whether a host demands back reasoning in the form that OpenRouter gives it. */
export const demandsDetails = ({ demandsBack = [] }: AnswerRules): boolean => demandsBack.includes("reasoning_details");

/** Members of a message in strict responses. */
export function membersOf(message: Members, reader: AnswerReader): ReadonlySet<string> {
  const { tool_calls: calls } = message;
  return Array.isArray(calls) && calls.length > 0 ? reader.calledMembers : plainMessage;
}

const commonReasons: Readonly<Record<string, string>> = {
  stop: "stop",
  length: "length",
  tool_calls: "tool_calls",
  function_call: "function_call",
  content_filter: "content_filter",
  model_length: "length",
  max_tokens: "length",
};

/** An object with only these fields; the object itself when it has no others. */
export function pick(value: Members, names: ReadonlySet<string>): Members {
  const found = Object.entries(value);
  const picked = found.filter(([name]) => names.has(name));
  return picked.length === found.length ? value : Object.fromEntries(picked);
}

/** Whether a delta is empty for a client. */
export const isSilent = (delta: Members): boolean =>
  Object.values(delta).every((value) => value === null || value === "");

/** The finish reason; strict responses use OpenAI's terms. */
export function toFinishReason(
  reason: string | null | undefined,
  { finishReasons }: AnswerRules,
  { strict }: Pick<ConversionOptions, "strict">,
): string | null {
  if (reason === null || reason === undefined || !strict) return reason ?? null;
  const own = finishReasons && Object.hasOwn(finishReasons, reason) ? finishReasons[reason] : undefined;
  return own ?? (Object.hasOwn(commonReasons, reason) ? commonReasons[reason] : undefined) ?? "stop";
}

/** The usage in the gateway's shape; the same object when it needs no change. */
export function settleUsage(given: unknown, rules: UsageRules, strict: boolean): unknown {
  const made = normaliseUsage(given, rules, strict);
  if (made === undefined || !isObject(given)) return made;
  return JSON.stringify(made) === JSON.stringify(given) ? given : made;
}
