import { BoundedMap } from "../lib/bounded-map.ts";
import type { BreakerSettings } from "./config.ts";

/** `closed`: calls pass. `open`: calls are rejected. `half-open`: one call passes, to probe the target. */
type BreakerState = "closed" | "open" | "half-open";

/** How an admitted call ended. */
export type CallOutcome = { status: number } | "abandoned";

/** Reports, once, how an admitted call ended. */
export type Admission = (outcome: CallOutcome) => void;

/** Circuit breakers: keep calls away from failing targets. */
export interface Breakers {
  state(key: string, settings: BreakerSettings): BreakerState;
  /** Admits a call; undefined if the circuit is open. While half-open, one call at a time. */
  admit(key: string, settings: BreakerSettings): Admission | undefined;
  /** Number of targets whose circuit opened and has not closed since. */
  countOpen(): number;
}

/** State of one target. */
interface Record {
  failures: number;
  successes: number;
  /** Start of the counts; they are reset after the cooldown. */
  since: number;
  openedAt: number | undefined;
  isProbing: boolean;
}

/** A target without calls for this long is forgotten. */
const maxAgeMs = 24 * 60 * 60 * 1_000;
/** Most targets with a circuit breaker. */
const maxTargets = 20_000;

function isFailure(status: number, { failureStatusCodes }: BreakerSettings): boolean {
  return failureStatusCodes ? failureStatusCodes.includes(status) : status >= 500;
}

function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299;
}

function isReached({ failures, successes }: Record, settings: BreakerSettings): boolean {
  const { failureThreshold, failureThresholdPercentage, minimumRequests } = settings;
  if (failureThreshold !== undefined && failures >= failureThreshold) return true;
  const total = failures + successes;
  if (failureThresholdPercentage === undefined || total < minimumRequests) return false;
  return (100 * failures) / total >= failureThresholdPercentage;
}

/**
 * Creates the circuit breakers of a gateway.
 *
 * @param now Milliseconds of a monotonic clock.
 */
export function createBreakers(now: () => number): Breakers {
  const records = new BoundedMap<string, Record>(maxTargets);

  const find = (key: string, { cooldownMs }: BreakerSettings): Record | undefined => {
    const record = records.get(key);
    if (!record) return undefined;
    const isOver = record.openedAt === undefined && now() - record.since >= cooldownMs;
    if (isOver || now() - (record.openedAt ?? record.since) >= maxAgeMs) {
      records.delete(key);
      return undefined;
    }
    return record;
  };
  const stateOf = (record: Record | undefined, { cooldownMs }: BreakerSettings): BreakerState => {
    if (record?.openedAt === undefined) return "closed";
    if (now() - record.openedAt < cooldownMs) return "open";
    return record.isProbing ? "open" : "half-open";
  };
  const start = (): Record => ({ failures: 0, successes: 0, since: now(), openedAt: undefined, isProbing: false });

  /** The probe decides whether the circuit closes or stays open for another cooldown; an abandoned one leaves it to the next. */
  const settleProbe = (key: string, record: Record, settings: BreakerSettings, outcome: CallOutcome) => {
    record.isProbing = false;
    if (outcome === "abandoned") return;
    if (isFailure(outcome.status, settings)) record.openedAt = now();
    else if (isSuccess(outcome.status) && records.get(key) === record) records.delete(key);
  };
  const settle = (key: string, settings: BreakerSettings, outcome: CallOutcome) => {
    if (outcome === "abandoned") return;
    const { status } = outcome;
    const failed = isFailure(status, settings);
    if (!failed && !isSuccess(status)) return;
    const known = find(key, settings);
    // counts start with the first failure
    if (!known && !failed) return;
    const record = known ?? start();
    if (record.openedAt !== undefined) return; // the call was admitted before the circuit opened
    if (failed) record.failures++;
    else record.successes++;
    if (isReached(record, settings)) record.openedAt = now();
    if (!known) records.set(key, record);
  };
  return {
    state: (key, settings) => stateOf(find(key, settings), settings),
    countOpen() {
      let open = 0;
      for (const [, { openedAt }] of records.entries()) {
        if (openedAt !== undefined && now() - openedAt < maxAgeMs) open++;
      }
      return open;
    },
    admit(key, settings) {
      const record = find(key, settings);
      const state = stateOf(record, settings);
      if (state === "open") return undefined;
      const isProbe = state === "half-open" && record !== undefined;
      if (isProbe) record.isProbing = true;
      let told = false;
      return (outcome) => {
        if (told) return;
        told = true;
        if (isProbe) settleProbe(key, record, settings, outcome);
        else settle(key, settings, outcome);
      };
    },
  };
}
