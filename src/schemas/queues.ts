import * as v from "valibot";
import { closedObject } from "./objects.ts";
import { wholeFrom } from "./whole-number.ts";

/** Classes of requests that wait, the first to be served first. */
export const priorities = ["high", "normal", "low"] as const;
export type Priority = (typeof priorities)[number];

/** Most requests that may wait for one counter of a limit, and the longest wait in milliseconds. */
const queueBounds = { waiting: 10_000, waitMs: 600_000 };

/** Lets requests wait for room in a rate limit. */
export const Queue = closedObject({
  /** Most requests that wait for one counter. */
  max_waiting: wholeFrom(1, queueBounds.waiting),
  /** Longest wait of a request, in milliseconds. */
  max_wait_ms: wholeFrom(1, queueBounds.waitMs),
});
export type Queue = v.InferOutput<typeof Queue>;

/** Class of a key. */
export const PriorityName = v.picklist(priorities, `must be one of ${priorities.join(", ")}`);

/** One wait of a request, in its row. */
export const WaitLog = v.object({
  /** Whose limit it waited for. */
  limit: v.string(),
  /** Its place when it came, counted from 1: requests of its class and of higher ones. */
  position: v.number(),
  priority: v.picklist(priorities),
  /** Milliseconds. */
  wait_ms: v.number(),
  /** `refused` where its wait grew too long or it met another limit, `left` where the caller went away or its time was over. */
  outcome: v.picklist(["admitted", "refused", "left"]),
});
export type WaitLog = v.InferOutput<typeof WaitLog>;

/** Milliseconds that a request waited in all. */
export function waitedMs({ waits }: { readonly waits?: readonly WaitLog[] | undefined }): number {
  return waits ? waits.reduce((sum, { wait_ms }) => sum + wait_ms, 0) : 0;
}
