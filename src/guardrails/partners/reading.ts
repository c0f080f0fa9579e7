import { isObject } from "../../lib/json.ts";
import { CheckError } from "../types.ts";
import type { PartnerCall, Question } from "./types.ts";

/**
 * Reports a response that cannot be used.
 *
 * @throws {CheckError} Always.
 */
function refuseResponse(wanted: string): never {
  throw new CheckError(`Cannot use the response of the service: ${wanted} is missing`, { name: "PartnerError" });
}

type Place = readonly (string | number)[];

function readAt(value: unknown, path: Place): unknown {
  return path.reduce<unknown>((held, name) => {
    if (Array.isArray(held)) return typeof name === "number" ? held[name] : undefined;
    return isObject(held) && Object.hasOwn(held, name) ? held[name] : undefined;
  }, value);
}

/** Readers of responses; each throws a `CheckError` where the value is missing or of another type. */
export const needed = {
  object(value: unknown, ...path: Place): Record<string, unknown> {
    const found = readAt(value, path);
    return isObject(found) ? found : refuseResponse(path.join(".") || "an object");
  },
  list(value: unknown, ...path: Place): readonly unknown[] {
    const found = readAt(value, path);
    return Array.isArray(found) ? found : refuseResponse(path.join(".") || "a list");
  },
  text(value: unknown, ...path: Place): string {
    const found = readAt(value, path);
    return typeof found === "string" ? found : refuseResponse(path.join("."));
  },
  boolean(value: unknown, ...path: Place): boolean {
    const found = readAt(value, path);
    return typeof found === "boolean" ? found : refuseResponse(path.join("."));
  },
  number(value: unknown, ...path: Place): number {
    const found = readAt(value, path);
    return typeof found === "number" ? found : refuseResponse(path.join("."));
  },
};

/** A value that may be missing. */
export function optional(value: unknown, ...path: Place): unknown {
  return readAt(value, path) ?? undefined;
}

/** A string that may be missing. */
export function optionalText(value: unknown, ...path: Place): string | undefined {
  const found = readAt(value, path);
  return typeof found === "string" ? found : undefined;
}

/** A list that may be missing. */
export function optionalList(value: unknown, ...path: Place): readonly unknown[] {
  const found = readAt(value, path);
  return Array.isArray(found) ? found : [];
}

/** Indexes of the parts that have text: what per-part calls are about, in their order. */
function filledParts({ parts }: Question): number[] {
  return parts.flatMap((part, index) => (part.trim() === "" ? [] : [index]));
}

/** One call for each part with text. */
export function callsByPart(question: Question, make: (part: string) => PartnerCall): PartnerCall[] {
  return filledParts(question).map((index) => make(question.parts[index] ?? ""));
}

/** Replacements in the order of per-part calls, as replacements of all parts. */
export function spreadOver(question: Question, replaced: readonly (string | undefined)[]): (string | undefined)[] {
  const indexes = filledParts(question);
  return question.parts.map((part, index) => {
    const change = replaced[indexes.indexOf(index)];
    return change === part ? undefined : change;
  });
}

/** A text with spans masked by asterisks; overlapping spans are masked once. */
export function maskSpans(text: string, spans: readonly (readonly [start: number, end: number])[]): string {
  const isMasked = new Uint8Array(text.length);
  for (const [start, end] of spans) isMasked.fill(1, Math.max(0, start), Math.max(0, end));
  return Array.from({ length: text.length }, (_, index) => (isMasked[index] ? "*" : text.charAt(index))).join("");
}
