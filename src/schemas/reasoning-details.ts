import { isObject, objectsIn, parseJson } from "../lib/json.ts";

/**
 * Reasoning in OpenRouter's form: text, a summary or encrypted data. Models demand it back unchanged and in its order with the
 * calls that it led to (https://openrouter.ai/docs/use-cases/reasoning-tokens#preserving-reasoning-blocks).
 */
export type ReasoningDetail = Record<string, unknown>;

/** Begins signatures of calls that carry details: no model's own signature begins like this. */
const mark = "details:";

/** The signature of a call that carries details, for dialects that have no place for them. */
function toDetailSignature(details: readonly ReasoningDetail[]): string {
  return mark + JSON.stringify(details);
}

/** Whether a signature carries details, so that it means nothing to other hosts. */
export function isDetailSignature(signature: unknown): signature is string {
  return typeof signature === "string" && signature.startsWith(mark);
}

/** The details of a signature; undefined for other signatures. */
export function readDetailSignature(signature: unknown): ReasoningDetail[] | undefined {
  return isDetailSignature(signature) ? objectsIn(parseJson(signature.slice(mark.length))) : undefined;
}

/** Members whose pieces a stream sends one after the other. */
const pieced = ["text", "summary"] as const;

/** Details of a stream, with the pieces of one text put together. */
export function joinDetails(pieces: readonly ReasoningDetail[]): ReasoningDetail[] {
  const joined: ReasoningDetail[] = [];
  for (const piece of pieces) {
    const last = joined.at(-1);
    const isMore = last?.type === piece.type && last?.index === piece.index && piece.type !== "reasoning.encrypted";
    if (!last || !isMore) {
      joined.push({ ...piece });
      continue;
    }
    for (const [name, value] of Object.entries(piece)) {
      if (value === null || value === undefined) continue;
      const isPiece = pieced.some((one) => one === name) && typeof value === "string";
      last[name] = isPiece && typeof last[name] === "string" ? last[name] + value : value;
    }
  }
  return joined;
}

/** Calls of which the first carries details; the same calls without any. */
export function carryDetails(calls: unknown, details: readonly ReasoningDetail[]): unknown {
  if (!Array.isArray(calls) || details.length === 0) return calls;
  const [first, ...rest]: readonly unknown[] = calls;
  return isObject(first) ? [{ ...first, thought_signature: toDetailSignature(details) }, ...rest] : calls;
}
