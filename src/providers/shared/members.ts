import { passUnknown, type RequestKind } from "./known.ts";
import { isGiven } from "./messages.ts";

/** Fields that may be omitted without a report: the gateway handles them, or they have their default value. */
const silent: ReadonlySet<string> = new Set(["stream_options", "messages", "model", "stream", "n"]);

/** Request fields a provider supports, under its own names. */
export interface MemberMap {
  /** The provider's name of each field, or its name and a function that converts the value. */
  readonly [name: string]: string | readonly [name: string, convert: (value: never) => unknown];
}

/** How fields are copied. */
interface MemberRules {
  /** Fields the adapter converts itself. */
  handled: readonly string[];
  /** Default: text. */
  kind?: RequestKind;
  drop: (member: string) => void;
}

/** Fields under the provider's names, separate from unknown fields, which keep their names. */
export function splitMembers(
  request: Readonly<Record<string, unknown>>,
  map: MemberMap,
  { handled, ...rules }: MemberRules,
): { taken: Record<string, unknown>; unknown: Record<string, unknown> } {
  const taken: Record<string, unknown> = {};
  const isTaken = (name: string) => handled.includes(name) || silent.has(name) || Object.hasOwn(map, name);
  for (const [name, value] of Object.entries(request)) {
    if (!isGiven(value) || handled.includes(name)) continue;
    const rule = Object.hasOwn(map, name) ? map[name] : undefined;
    if (rule === undefined) continue;
    if (typeof rule === "string") taken[rule] = value;
    else {
      const converted = rule[1](value as never); // the map fits the type of each field
      if (converted !== undefined) taken[rule[0]] = converted;
    }
  }
  return { taken, unknown: passUnknown(request, isTaken, rules) };
}

/**
 * As `splitMembers`, in one object. Spread it before the fields an adapter sets itself, so that a provider-specific
 * field cannot replace them.
 */
export function copyMembers(
  request: Readonly<Record<string, unknown>>,
  map: MemberMap,
  rules: MemberRules,
): Record<string, unknown> {
  const { taken, unknown } = splitMembers(request, map, rules);
  return { ...unknown, ...taken };
}

/** A conversion that keeps a number within bounds; other values are left to the provider. */
export const clamp = (minimum: number, maximum: number) => (value: unknown) =>
  typeof value === "number" ? Math.min(Math.max(value, minimum), maximum) : value;

/** A single value as a list. */
export const toList = (value: unknown) => (Array.isArray(value) ? value : [value]);

/** Maximum output tokens of a chat, under either of its names. */
export function maxTokensOf(request: { max_completion_tokens?: unknown; max_tokens?: unknown }): unknown {
  return request.max_completion_tokens ?? request.max_tokens ?? undefined;
}
