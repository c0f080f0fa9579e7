import type { MetRates } from "../../context/call-record.ts";
import { secondsUntil } from "../../context/met-rates.ts";
import type { Services } from "../../context.ts";

/** A time in seconds as OpenAI writes it in these headers: `1s`, `6m0s` (https://platform.openai.com/docs/guides/rate-limits). */
function toDuration(seconds: number): string {
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  const rest = `${seconds % 60}s`;
  if (hours > 0) return `${hours}h${minutes % 60}m${rest}`;
  return minutes > 0 ? `${minutes}m${rest}` : rest;
}

/** Whole numbers of limits as text: most responses show the same. */
const textOf = memoizeNumber((value) => String(Math.floor(value)));
const durationOf = memoizeNumber(toDuration);

/** Remembers the text of the last number. */
function memoizeNumber(write: (value: number) => string): (value: number) => string {
  let [last, text] = [Number.NaN, ""];
  return (value) => {
    if (value !== last) [last, text] = [value, write(value)];
    return text;
  };
}

/** What is left of the nearest rate limit. */
interface Nearest {
  most: number;
  left: number;
  /** Unix milliseconds. */
  end: number;
}

/** The rate limit of which the least is left; of several, the one that resets last. */
function findNearest(counts: "requests" | "tokens", { applied, states }: MetRates): Nearest | undefined {
  let nearest: Nearest | undefined;
  for (let index = 0; index < applied.length; index++) {
    const [one, state] = [applied[index], states[index]];
    if (one?.kind !== "rate" || one.limit.counts !== counts || !state) continue;
    const { most } = one.limit;
    const left = Math.max(0, most - state.used - state.reserved);
    const { end } = state.span;
    const isNearer = !nearest || left < nearest.left || (left === nearest.left && end > nearest.end);
    if (isNearer) nearest = { most, left, end };
  }
  return nearest;
}

/**
 * Adds the state of the rate limits that a request met to the headers of its response, each kind in the place of what
 * the provider says about its own.
 */
export function addRateHeaders(
  headers: Record<string, string>,
  rates: MetRates,
  services: Pick<Services, "steadyTime">,
): void {
  const requests = findNearest("requests", rates);
  const tokens = findNearest("tokens", rates);
  if (!requests && !tokens) return;
  const now = services.steadyTime();
  // names that are written out are found faster than computed ones
  if (requests) {
    headers["x-ratelimit-limit-requests"] = textOf(requests.most);
    headers["x-ratelimit-remaining-requests"] = String(Math.floor(requests.left));
    headers["x-ratelimit-reset-requests"] = durationOf(secondsUntil(requests.end, now));
  }
  if (tokens) {
    headers["x-ratelimit-limit-tokens"] = textOf(tokens.most);
    headers["x-ratelimit-remaining-tokens"] = String(Math.floor(tokens.left));
    headers["x-ratelimit-reset-tokens"] = durationOf(secondsUntil(tokens.end, now));
  }
}
