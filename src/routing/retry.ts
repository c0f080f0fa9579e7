import { BoundedMap } from "../lib/bounded-map.ts";
import type { RetrySettings } from "./config.ts";

/** Longest total wait between the attempts of a call. */
const maxWaitMs = 60_000;

/** Start of the three date formats (RFC 9110, section 5.6.7), with the time of day. */
const dateForm = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6},? [^:]{6,12} \d\d:\d\d:\d\d /;

/** Milliseconds that a header asks to wait; undefined for negative, past or unreadable values. */
function readMilliseconds(text: string | null): number | undefined {
  return text !== null && /^\d+(?:\.\d+)?$/.test(text.trim()) ? Number(text) : undefined;
}

/**
 * How long a response asks to wait: `retry-after-ms`, `x-ms-retry-after-ms`, then `retry-after` in seconds or as a date
 * (RFC 9110, section 10.2.3). Milliseconds; undefined without such a header.
 *
 * @param now Unix milliseconds.
 */
export function readRetryAfter(headers: Headers, now: number): number | undefined {
  const exact = readMilliseconds(headers.get("retry-after-ms")) ?? readMilliseconds(headers.get("x-ms-retry-after-ms"));
  if (exact !== undefined) return exact;
  const text = headers.get("retry-after");
  const seconds = readMilliseconds(text);
  if (seconds !== undefined) return seconds * 1_000;
  const date = text !== null && dateForm.test(text) ? text : "";
  // the oldest date format has no time zone and means UTC
  const time = Date.parse(date.endsWith("GMT") ? date : `${date} GMT`);
  return time > now ? time - now : undefined;
}

/** Milliseconds before the n-th retry: random, up to 1, 2, 4, 8, 16 seconds (exponential backoff with full jitter). */
export function backoffMs(retry: number, random: () => number): number {
  return random() * 1_000 * 2 ** Math.min(retry, 4);
}

/** Decision after an attempt: the delay before the next one, or why no retry follows. */
type RetryDecision = { waitMs: number } | "done" | "exhausted" | "too-long";

/** Input for the decision whether a call is retried. */
export interface RetryInput {
  settings: RetrySettings | undefined;
  /** Status of the attempt. */
  status: number;
  /** Headers of the response, if there was one. */
  headers: Headers | undefined;
  /** Retries so far. */
  retries: number;
  /** Milliseconds waited so far. */
  waitedMs: number;
  random(): number;
  /** Unix milliseconds. */
  now: number;
}

/** Decides after an attempt whether to retry. Pure. */
export function decideRetry(input: RetryInput): RetryDecision {
  const { settings, status, headers, retries, waitedMs, random, now } = input;
  if (!settings || settings.attempts === 0 || !settings.onStatusCodes.includes(status)) return "done";
  if (retries >= settings.attempts) return "exhausted";
  const asked = settings.useRetryAfter && status === 429 && headers ? readRetryAfter(headers, now) : undefined;
  const waitMs = asked ?? backoffMs(retries, random);
  return waitedMs + waitMs > maxWaitMs ? "too-long" : { waitMs };
}

/** Limits retries to a small share of the calls to a host. */
export interface RetryBudget {
  /** Counts a first attempt. */
  noteCall(key: string): void;
  /** Counts a retry; false when there were too many recently. */
  book(key: string): boolean;
}

/** Length of the sliding window. */
const windowSeconds = 10;
/** Retries per second that are always allowed. */
const freePerSecond = 3;
const maxShare = 0.2;

interface Counts {
  /** The second of the newest slot. */
  second: number;
  calls: number[];
  retries: number[];
}

/**
 * Creates the budget: at most one retry per five calls of the last ten seconds, and at least three per second.
 *
 * @param now Milliseconds of a monotonic clock.
 */
export function createRetryBudget(now: () => number): RetryBudget {
  const hosts = new BoundedMap<string, Counts>(10_000);
  const empty = () => new Array<number>(windowSeconds).fill(0);
  const countsOf = (key: string): Counts => {
    const second = Math.floor(now() / 1_000);
    const counts = hosts.get(key) ?? { second, calls: empty(), retries: empty() };
    if (!hosts.get(key)) hosts.set(key, counts);
    const passed = Math.min(second - counts.second, windowSeconds);
    for (let step = 0; step < passed; step++) {
      counts.calls.shift();
      counts.retries.shift();
      counts.calls.push(0);
      counts.retries.push(0);
    }
    counts.second = second;
    return counts;
  };
  const add = (slots: number[]) => {
    slots[windowSeconds - 1] = (slots[windowSeconds - 1] ?? 0) + 1;
  };
  const sum = (slots: readonly number[]) => slots.reduce((total, count) => total + count, 0);
  return {
    noteCall: (key) => add(countsOf(key).calls),
    book(key) {
      const counts = countsOf(key);
      const lately = counts.retries.at(-1) ?? 0;
      const isFree = lately < freePerSecond;
      if (!isFree && sum(counts.retries) + 1 > maxShare * sum(counts.calls)) return false;
      add(counts.retries);
      return true;
    },
  };
}
