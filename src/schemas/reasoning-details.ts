import { isObject, objectsIn, parseJson } from "../lib/json.ts";

/**
 * Reasoning in OpenRouter's form: text, a summary or encrypted data. Models demand it back unchanged and in its order with the
 * calls that it led to (https://openrouter.ai/docs/use-cases/reasoning-tokens#preserving-reasoning-blocks).
 */
export type ReasoningDetail = Record<string, unknown>;

/** Begins signatures of calls that carry details: no model's own signature begins like this. */
const mark = "details:";

/** Members whose text clients see elsewhere, and whose pieces a stream sends one after the other. */
const pieced = ["text", "summary"] as const;

/**
 * The signature of a call that carries details, for dialects that have no place for them. In place of their text is its length:
 * the text itself is the reasoning that clients see, which guardrails have looked at.
 */
function toDetailSignature(details: readonly ReasoningDetail[]): string {
  const short = details.map((detail) => {
    const made = { ...detail };
    for (const name of pieced) if (typeof made[name] === "string") made[name] = made[name].length;
    return made;
  });
  return mark + JSON.stringify(short);
}

/** Whether a signature carries details, so that it means nothing to other hosts. */
export function isDetailSignature(signature: unknown): signature is string {
  return typeof signature === "string" && signature.startsWith(mark);
}

/**
 * The details that calls carry, in their order. Those whose text is not what the model said are left out.
 *
 * @param signatures Signatures of the calls of one message; those of other kinds are ignored.
 * @param text The reasoning of the message.
 */
export function readDetails(signatures: readonly unknown[], text: string): ReasoningDetail[] {
  const details = signatures
    .filter(isDetailSignature)
    .flatMap((signature) => objectsIn(parseJson(signature.slice(mark.length))));
  const lengthOf = (detail: ReasoningDetail) =>
    pieced.map((name) => detail[name]).find((one) => typeof one === "number");
  const isSaid = details.reduce((sum, detail) => sum + Number(lengthOf(detail) ?? 0), 0) === text.length;
  let place = 0;
  return details.flatMap((detail) => {
    const length = lengthOf(detail);
    if (length === undefined) return [detail];
    const said = text.slice(place, place + Number(length));
    place += Number(length);
    const name = typeof detail.text === "number" ? "text" : "summary";
    return isSaid ? [{ ...detail, [name]: said }] : [];
  });
}

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
