import { joinAverages, MovingAverage, type SharedAverage } from "./moving-average.ts";
import type { EjectionSettings } from "./settings.ts";

/** What other processes measure of a target, added up. */
export interface SharedMeasure {
  readonly pending: number;
  readonly firstMs: SharedAverage;
  readonly tokenMs: SharedAverage;
  readonly wholeMs: SharedAverage;
  readonly failures: SharedAverage;
  /** Monotonic milliseconds of this process. */
  readonly ejectedUntil: number;
  /** When it was read. */
  readonly at: number;
}

/** Age at which what other processes said no longer counts, in milliseconds. */
const sharedForMs = 5_000;
/** Longest ejection, in times of the first one. */
const mostRepeats = 3;
/** An ejection this long after the last one is a first one again, in milliseconds. */
const forgivenAfterMs = 120_000;
/** Least share that a target has when it is back. */
const leastShare = 0.1;

/** How a call of a target ended. `unknown`: it says nothing about the target. */
export type Verdict = "success" | "failure" | "unknown";

/** Times of a call, in monotonic milliseconds. */
interface CallTimes {
  startedAt: number;
  /** When its response was there, of a stream its first words; undefined without one. */
  answeredAt: number | undefined;
  endedAt: number;
  isStreamed: boolean;
  outputTokens: number | undefined;
}

/** What is measured of one target. Times are monotonic milliseconds. */
export class TargetMeasure {
  readonly key: string;
  /** Calls that run in this process. */
  pending = 0;
  /** To the first words of a stream. */
  readonly firstMs = new MovingAverage();
  /** Between two tokens of a stream. */
  readonly tokenMs = new MovingAverage();
  /** Of responses that are not streamed. */
  readonly wholeMs = new MovingAverage();
  /** 1 for a failure, 0 for a success. */
  readonly failures = new MovingAverage();
  /** Tokens of a stream. */
  readonly tokens = new MovingAverage();
  shared: SharedMeasure | undefined;
  /** When it was last called or looked at. */
  usedAt = Number.NEGATIVE_INFINITY;
  #streak = 0;
  #ejections = 0;
  #ejectedUntil = Number.NEGATIVE_INFINITY;
  #isAway = false;
  #backAt = Number.NEGATIVE_INFINITY;

  constructor(key: string) {
    this.key = key;
  }

  /** What other processes said, as long as it counts. */
  #sharedAt(now: number): SharedMeasure | undefined {
    return this.shared && now - this.shared.at < sharedForMs ? this.shared : undefined;
  }

  /** Calls that run in all processes. */
  pendingAt(now: number): number {
    return this.pending + (this.#sharedAt(now)?.pending ?? 0);
  }

  /** Share of failures, from 0 to 1. Few samples, and old ones, count less. */
  failureAt(now: number): number {
    const other = this.#sharedAt(now)?.failures;
    const samples = this.failures.samplesAt(now) + (other?.samples ?? 0);
    return ((joinAverages(this.failures, other, now) ?? 0) * samples) / (samples + 1);
  }

  /**
   * Milliseconds that a call is expected to take; undefined where nothing was measured.
   *
   * @param tokens Tokens that a stream is expected to have.
   */
  latencyAt(now: number, { isStreamed, tokens }: { isStreamed: boolean; tokens: number }): number | undefined {
    const other = this.#sharedAt(now);
    const first = joinAverages(this.firstMs, other?.firstMs, now);
    const token = joinAverages(this.tokenMs, other?.tokenMs, now) ?? 0;
    const streamed = first === undefined ? undefined : first + token * tokens;
    const whole = joinAverages(this.wholeMs, other?.wholeMs, now);
    return isStreamed ? (streamed ?? whole) : (whole ?? streamed);
  }

  /** Whether no call ended that says anything about it. */
  isUntriedAt(now: number): boolean {
    return this.failures.value === undefined && !this.#sharedAt(now)?.failures.samples;
  }

  /** When a time was last measured here. */
  get measuredAt(): number {
    return Math.max(this.firstMs.at, this.wholeMs.at);
  }

  /** When it may be called again; in the past for a target that is not ejected. */
  ejectedUntil(now: number): number {
    return Math.max(this.#ejectedUntil, this.#sharedAt(now)?.ejectedUntil ?? Number.NEGATIVE_INFINITY);
  }

  /** The part of `ejectedUntil` that this process decided. */
  get ownEjectionUntil(): number {
    return this.#ejectedUntil;
  }

  /** Notes whether it can be called, so that it starts slowly when it is back. */
  look(isAway: boolean, now: number): void {
    this.usedAt = now;
    if (this.#isAway && !isAway) this.#backAt = now;
    this.#isAway = isAway;
  }

  /** The part of its share that it gets: below 1 while it starts slowly. */
  shareAt(now: number, slowStartMs: number): number {
    const since = now - this.#backAt;
    return since >= slowStartMs ? 1 : Math.max(leastShare, since / slowStartMs);
  }

  /** Notes how a call ended. */
  settle(verdict: Verdict, times: CallTimes, ejection: EjectionSettings | undefined): void {
    const { endedAt } = times;
    this.usedAt = endedAt;
    this.#noteTimes(verdict, times);
    if (verdict === "unknown") return;
    this.failures.add(verdict === "failure" ? 1 : 0, endedAt);
    this.#streak = verdict === "failure" ? this.#streak + 1 : 0;
    if (ejection && this.#streak >= ejection.consecutiveFailures && endedAt >= this.#ejectedUntil) {
      this.#eject(ejection, endedAt);
    }
  }

  #eject({ ejectionMs }: EjectionSettings, now: number): void {
    if (now - this.#ejectedUntil > forgivenAfterMs) this.#ejections = 0;
    this.#ejections = Math.min(this.#ejections + 1, mostRepeats);
    this.#ejectedUntil = now + ejectionMs * this.#ejections;
    this.#streak = 0;
  }

  #noteTimes(verdict: Verdict, { startedAt, answeredAt, endedAt, isStreamed, outputTokens }: CallTimes): void {
    const main = isStreamed ? this.firstMs : this.wholeMs;
    if (answeredAt === undefined) {
      // a quick failure is no speed, but who waited in vain shows how slow it is at least
      const waited = endedAt - startedAt;
      if (main.value !== undefined && waited > main.value) main.add(waited, endedAt);
      return;
    }
    if (verdict === "failure") return;
    main.add(answeredAt - startedAt, endedAt);
    if (!isStreamed || verdict !== "success" || outputTokens === undefined || outputTokens < 2) return;
    this.tokenMs.add((endedAt - answeredAt) / (outputTokens - 1), endedAt);
    this.tokens.add(outputTokens, endedAt);
  }
}
