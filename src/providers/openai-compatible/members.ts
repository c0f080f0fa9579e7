import { isObject } from "../../lib/json.ts";
import type { ConversionOptions } from "../core/types.ts";
import { normaliseUsage, type UsageRules } from "./usage.ts";

/** How answers of a provider differ from OpenAI's. */
export interface AnswerRules extends UsageRules {
  /** OpenAI's words for reasons to finish that only this provider has. */
  finishReasons?: Readonly<Record<string, string>>;
  /** Throws where a body that came with status 200 tells of a failure. */
  check?(body: Record<string, unknown>): void;
}

/** Whose answers are read, and how. */
export interface AnswerReader extends AnswerRules {
  slug: string;
  /** Chat answers hold messages, completions texts. */
  kind: "chat" | "complete";
}

/** An object of an answer. */
export type Members = Record<string, unknown>;

/** Members of OpenAI's answers and chunks (https://platform.openai.com/docs/api-reference/chat). */
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

/** Members of choices. */
export const plainChoice: Readonly<Record<AnswerReader["kind"], ReadonlySet<string>>> = {
  chat: new Set(["index", "message", "delta", "logprobs", "finish_reason"]),
  complete: new Set(["index", "text", "logprobs", "finish_reason"]),
};

/** Members of messages; images are content, though OpenAI has no such member. */
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

const commonReasons: Readonly<Record<string, string>> = {
  stop: "stop",
  length: "length",
  tool_calls: "tool_calls",
  function_call: "function_call",
  content_filter: "content_filter",
  model_length: "length",
  max_tokens: "length",
};

/** The members of these names; the value itself where it has no others. */
export function pick(value: Members, names: ReadonlySet<string>): Members {
  const found = Object.entries(value);
  const kept = found.filter(([name]) => names.has(name));
  return kept.length === found.length ? value : Object.fromEntries(kept);
}

/** Whether a part of a message says nothing a client would notice. */
export const isSilent = (delta: Members): boolean =>
  Object.values(delta).every((value) => value === null || value === "");

/** Why an answer ended; in plain answers by OpenAI's words. */
export function toFinishReason(
  reason: string | null | undefined,
  { finishReasons }: AnswerRules,
  { strict }: Pick<ConversionOptions, "strict">,
): string | null {
  if (reason === null || reason === undefined || !strict) return reason ?? null;
  const own = finishReasons && Object.hasOwn(finishReasons, reason) ? finishReasons[reason] : undefined;
  return own ?? (Object.hasOwn(commonReasons, reason) ? commonReasons[reason] : undefined) ?? "stop";
}

/** The usage itself where it is as it should be. */
export function settleUsage(given: unknown, rules: UsageRules, strict: boolean): unknown {
  const made = normaliseUsage(given, rules, strict);
  if (made === undefined || !isObject(given)) return made;
  return JSON.stringify(made) === JSON.stringify(given) ? given : made;
}
