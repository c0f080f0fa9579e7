import { isGiven } from "./messages.ts";

/** Members whose absence changes nothing: the gateway itself acts on them, or they are the default. */
const silent: ReadonlySet<string> = new Set(["stream_options", "messages", "model", "stream", "n"]);

/** What a provider takes of a request under its own names. */
export interface MemberMap {
  /** Names by the request's names, or functions that make the value. */
  readonly [name: string]: string | readonly [name: string, convert: (value: never) => unknown];
}

/**
 * Copies members under the provider's names. Members that are absent or null are left out; those nobody knows are told.
 *
 * @param handled Members the adapter converts itself.
 */
export function copyMembers(
  request: Readonly<Record<string, unknown>>,
  map: MemberMap,
  { handled, drop }: { handled: readonly string[]; drop: (member: string) => void },
): Record<string, unknown> {
  const copied: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(request)) {
    if (!isGiven(value) || handled.includes(name)) continue;
    const rule = Object.hasOwn(map, name) ? map[name] : undefined;
    if (rule === undefined) {
      if (!silent.has(name)) drop(name);
    } else if (typeof rule === "string") copied[rule] = value;
    else {
      const converted = rule[1](value as never); // the map names the type of each member
      if (converted !== undefined) copied[rule[0]] = converted;
    }
  }
  return copied;
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
