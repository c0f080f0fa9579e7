import { BoundedMap } from "../lib/bounded-map.ts";
import type { RetrySettings } from "./config.ts";

/** Longest all waits of a call may take together. */
const maxWaitMs = 60_000;

/** Beginning of the three forms of a date (RFC 9110, section 5.6.7), with its time of day. */
const dateForm = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6},? [^:]{6,12} \d\d:\d\d:\d\d /;

/** Milliseconds a header asks for; undefined for what is negative, past or unreadable. */
function readMilliseconds(text: string | null): number | undefined {
  return text !== null && /^\d+(?:\.\d+)?$/.test(text.trim()) ? Number(text) : undefined;
}

/**
 * How long an answer asks to wait: `retry-after-ms`, `x-ms-retry-after-ms`, then `retry-after` in seconds or as a date
 * (RFC 9110, section 10.2.3). Milliseconds; undefined when it does not say.
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
  // the oldest form of a date names no zone and means UTC
  const time = Date.parse(date.endsWith("GMT") ? date : `${date} GMT`);
  return time > now ? time - now : undefined;
}

/** Pause before the n-th retry: up to 1, 2, 4, 8, 16 seconds, drawn evenly (full jitter). Milliseconds. */
export function backoffMs(retry: number, random: () => number): number {
  return random() * 1_000 * 2 ** Math.min(retry, 4);
}

/** What is decided after a try: to wait and try again, or why not. */
type RetryDecision = { waitMs: number } | "done" | "exhausted" | "too-long";

/** Whether a call is tried again. */
export interface RetryInput {
  settings: RetrySettings | undefined;
  /** What the try ended with. */
  status: number;
  /** Of the answer, where there was one. */
  headers: Headers | undefined;
  /** Retries made so far. */
  retries: number;
  /** Milliseconds waited so far. */
  waitedMs: number;
  random(): number;
  /** Unix milliseconds. */
  now: number;
}

/** Decides after a try. Pure. */
export function decideRetry(input: RetryInput): RetryDecision {
  const { settings, status, headers, retries, waitedMs, random, now } = input;
  if (!settings || settings.attempts === 0 || !settings.onStatusCodes.includes(status)) return "done";
  if (retries >= settings.attempts) return "exhausted";
  const asked = settings.useRetryAfter && status === 429 && headers ? readRetryAfter(headers, now) : undefined;
  const waitMs = asked ?? backoffMs(retries, random);
  return waitedMs + waitMs > maxWaitMs ? "too-long" : { waitMs };
}

/** Keeps retries a small part of all calls to a host. */
export interface RetryBudget {
  /** Notes a first try. */
  noteCall(key: string): void;
  /** Books a retry; false when there were too many lately. */
  book(key: string): boolean;
}

/** Seconds that are looked back at. */
const windowSeconds = 10;
/** Retries in a second that are always allowed. */
const freePerSecond = 3;
const maxShare = 0.2;

interface Counts {
  /** The second the last slot stands for. */
  second: number;
  calls: number[];
  retries: number[];
}

/**
 * Creates the budget: retries are at most a fifth of the calls of the last ten seconds, and at least three a second.
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
