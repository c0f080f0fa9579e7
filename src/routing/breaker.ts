import { BoundedMap } from "../lib/bounded-map.ts";
import type { BreakerSettings } from "./config.ts";

/** `closed`: calls pass. `open`: calls are rejected. `half-open`: one call passes, to probe the target. */
type BreakerState = "closed" | "open" | "half-open";

/** How an admitted call ended. */
export type CallOutcome = { status: number } | "abandoned";

/** Reports, once, how an admitted call ended. */
export type Admission = (outcome: CallOutcome) => void;

/** What a process saw of a target, for the others of its gateway. */
export interface BreakerEvent {
  readonly key: string;
  readonly settings: BreakerSettings;
  /** How a call ended. Absent: it has begun, and is the one that probes the target. */
  readonly outcome?: CallOutcome;
  readonly isProbe: boolean;
}

/** What is counted of a target. */
interface CircuitState {
  readonly key: string;
  readonly failures: number;
  readonly successes: number;
  /** Monotonic milliseconds; undefined for a closed circuit. */
  readonly openedAt: number | undefined;
}

/** Circuit breakers: keep calls away from failing targets. */
export interface Breakers {
  /** Applies what another process saw. */
  follow(event: BreakerEvent): void;
  state(key: string, settings: BreakerSettings): BreakerState;
  /** Admits a call; undefined if the circuit is open. While half-open, one call at a time. */
  admit(key: string, settings: BreakerSettings): Admission | undefined;
  /** Targets with a failure that counts, in no particular order. */
  list(): readonly CircuitState[];
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
  /** Until when another process probes it. */
  othersProbeUntil: number;
}

/** Longest time a probe of another process is waited for, in milliseconds: it may have ended without a word. */
const probeMs = 60_000;
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

function stateAt(record: Record | undefined, { cooldownMs }: BreakerSettings, time: number): BreakerState {
  if (record?.openedAt === undefined) return "closed";
  if (time - record.openedAt < cooldownMs) return "open";
  return record.isProbing || time < record.othersProbeUntil ? "open" : "half-open";
}

function countOpenAt(records: BoundedMap<string, Record>, time: number): number {
  let open = 0;
  for (const [, { openedAt }] of records.entries()) {
    if (openedAt !== undefined && time - openedAt < maxAgeMs) open++;
  }
  return open;
}

function listAt(records: BoundedMap<string, Record>, time: number): CircuitState[] {
  return [...records.entries()].flatMap(([key, { failures, successes, openedAt, since }]) =>
    time - (openedAt ?? since) < maxAgeMs ? [{ key, failures, successes, openedAt }] : [],
  );
}

function startAt(since: number): Record {
  const othersProbeUntil = Number.NEGATIVE_INFINITY;
  return { failures: 0, successes: 0, since, openedAt: undefined, isProbing: false, othersProbeUntil };
}

/**
 * Creates the circuit breakers of a gateway.
 *
 * @param now Milliseconds of a monotonic clock.
 * @param publish Receives what the other processes of the gateway should know. Absent: no others run.
 */
export function createBreakers(now: () => number, publish?: (event: BreakerEvent) => void): Breakers {
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
  /** The probe decides whether the circuit closes or stays open for another cooldown; an abandoned one leaves it to the next. */
  const settleProbe = (key: string, record: Record, settings: BreakerSettings, outcome: CallOutcome) => {
    record.isProbing = false;
    record.othersProbeUntil = Number.NEGATIVE_INFINITY;
    if (outcome === "abandoned") return;
    if (isFailure(outcome.status, settings)) record.openedAt = now();
    else if (isSuccess(outcome.status) && records.get(key) === record) records.delete(key);
  };
  /** Counts how a call ended; returns whether it changed anything. */
  const settle = (key: string, settings: BreakerSettings, outcome: CallOutcome): boolean => {
    if (outcome === "abandoned") return false;
    const { status } = outcome;
    const failed = isFailure(status, settings);
    if (!failed && !isSuccess(status)) return false;
    const known = find(key, settings);
    // counts start with the first failure
    if (!known && !failed) return false;
    const record = known ?? startAt(now());
    if (record.openedAt !== undefined) return false; // the call was admitted before the circuit opened
    if (failed) record.failures++;
    else record.successes++;
    if (isReached(record, settings)) record.openedAt = now();
    if (!known) records.set(key, record);
    return true;
  };
  return {
    follow({ key, settings, outcome, isProbe }) {
      if (!isProbe) {
        if (outcome) settle(key, settings, outcome);
        return;
      }
      const record = find(key, settings);
      if (!record) return;
      if (outcome) settleProbe(key, record, settings, outcome);
      else record.othersProbeUntil = now() + probeMs;
    },
    state: (key, settings) => stateAt(find(key, settings), settings, now()),
    list: () => listAt(records, now()),
    countOpen: () => countOpenAt(records, now()),
    admit(key, settings) {
      const record = find(key, settings);
      const state = stateAt(record, settings, now());
      if (state === "open") return undefined;
      const isProbe = state === "half-open" && record !== undefined;
      if (isProbe) {
        record.isProbing = true;
        publish?.({ key, settings, isProbe });
      }
      let told = false;
      return (outcome) => {
        if (told) return;
        told = true;
        if (isProbe) settleProbe(key, record, settings, outcome);
        else if (!settle(key, settings, outcome)) return;
        publish?.({ key, settings, outcome, isProbe });
      };
    },
  };
}
