import { isObject } from "../lib/json.ts";

/** A part of a chat's message, or members of one. */
export type Part = Record<string, unknown>;

/** A mark of what to cache, where there is one. */
export function cacheControl({ cache_control: control }: Part): Part {
  return isObject(control) ? { cache_control: control } : {};
}

/** Parts as short as they can be written. */
export function toContent(parts: readonly Part[]): string | Part[] {
  const [first] = parts;
  const isPlain = parts.length === 1 && first?.type === "text" && first.cache_control === undefined;
  return isPlain && typeof first?.text === "string" ? first.text : [...parts];
}

/** Texts that may end a chat's answer. */
const maxStops = 4;

/** The texts that end an answer as a member of a chat; `tell` is called where some are left out. */
export function toStop(stops: readonly string[], tell: () => void): Part {
  if (stops.length > maxStops) tell();
  return stops.length === 0 ? {} : { stop: stops.slice(0, maxStops) };
}

/** How much to think, in the words of chats that take no budget. @param budget In tokens. */
export function toEffort(budget: number): string {
  if (budget < 4_096) return "low";
  return budget < 16_384 ? "medium" : "high";
}

/** Tells the members a dialect has no counterpart for; what is switched off is not missed. */
export function tellUnmapped(given: object, mapped: ReadonlySet<string>, tell: (member: string) => void): void {
  for (const [name, value] of Object.entries(given)) {
    if (!mapped.has(name) && value !== null && value !== undefined && value !== false) tell(name);
  }
}
