import { isObject } from "../lib/json.ts";

/** A part of a chat message, or fields of one. */
export type Part = Record<string, unknown>;

/** The `cache_control` field of a part, if it has one. */
export function cacheControl({ cache_control: control }: Part): Part {
  return isObject(control) ? { cache_control: control } : {};
}

/** Parts in their shortest form. */
export function toContent(parts: readonly Part[]): string | Part[] {
  const [first] = parts;
  const isPlain = parts.length === 1 && first?.type === "text" && first.cache_control === undefined;
  return isPlain && typeof first?.text === "string" ? first.text : [...parts];
}

/** Most stop sequences of a chat request. */
const maxStops = 4;

/** The `stop` field of a chat; `drop` is called where sequences are left out. */
export function toStop(stops: readonly string[], drop: () => void): Part {
  if (stops.length > maxStops) drop();
  return stops.length === 0 ? {} : { stop: stops.slice(0, maxStops) };
}

/** Reasoning effort for models that take no token budget. @param budget In tokens. */
export function toEffort(budget: number): string {
  if (budget < 4_096) return "low";
  return budget < 16_384 ? "medium" : "high";
}

/** Reports the fields a dialect has no counterpart for, except those that are switched off. */
export function dropUnmapped(given: object, mapped: ReadonlySet<string>, drop: (member: string) => void): void {
  for (const [name, value] of Object.entries(given)) {
    if (!mapped.has(name) && value !== null && value !== undefined && value !== false) drop(name);
  }
}
