import { passUnknown, type RequestKind } from "./known.ts";
import { isGiven } from "./messages.ts";

/** Members whose absence changes nothing: the gateway itself acts on them, or they are the default. */
const silent: ReadonlySet<string> = new Set(["stream_options", "messages", "model", "stream", "n"]);

/** What a provider takes of a request under its own names. */
export interface MemberMap {
  /** Names by the request's names, or functions that make the value. */
  readonly [name: string]: string | readonly [name: string, convert: (value: never) => unknown];
}

/** What copying members goes by. */
interface MemberRules {
  /** Members the adapter converts itself. */
  handled: readonly string[];
  /** Default: text. */
  kind?: RequestKind;
  drop: (member: string) => void;
}

/** Members under the provider's names, apart from those that belong to the provider and keep their names. */
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
      const converted = rule[1](value as never); // the map names the type of each member
      if (converted !== undefined) taken[rule[0]] = converted;
    }
  }
  return { taken, unknown: passUnknown(request, isTaken, rules) };
}

/**
 * As `splitMembers`, in one object. It stands before what an adapter makes itself: a member of the provider's own replaces
 * nothing of that.
 */
export function copyMembers(
  request: Readonly<Record<string, unknown>>,
  map: MemberMap,
  rules: MemberRules,
): Record<string, unknown> {
  const { taken, unknown } = splitMembers(request, map, rules);
  return { ...unknown, ...taken };
}

/** A conversion that keeps a number within bounds; other values are the provider's business. */
export const clamp = (minimum: number, maximum: number) => (value: unknown) =>
  typeof value === "number" ? Math.min(Math.max(value, minimum), maximum) : value;

/** A list of one where a single text may be given. */
export const toList = (value: unknown) => (Array.isArray(value) ? value : [value]);

/** The most tokens a chat answer may have, under either of its names. */
export function maxTokensOf(request: { max_completion_tokens?: unknown; max_tokens?: unknown }): unknown {
  return request.max_completion_tokens ?? request.max_tokens ?? undefined;
}
