import { isRefusedStatement } from "../../db/client.ts";
import type { LimitAlertKey } from "../../db/stores/limit-alerts.ts";
import { giveWay } from "../../lib/pace.ts";
import type { BudgetUse } from "../../policies/applied.ts";
import type { LimitUseObserver } from "../../policies/limit-store.ts";
import { type AlertKind, LimitWatch } from "../../policies/limit-watch.ts";
import { startOf } from "../../policies/windows.ts";
import { Deliverer } from "./delivery.ts";
import { toAlertBody } from "./messages.ts";
import type { AlertParts } from "./parts.ts";
import { recordEvent } from "./record.ts";

/** Which alerts there were in the current window of a bucket. */
export interface AlertFlags {
  readonly isThresholdSent: boolean;
  readonly isExhaustedSent: boolean;
}

/** Alerts of budgets. */
export interface LimitAlerts {
  /** To be called for each use of a limit. It only queues what reached a bound. */
  readonly observe: LimitUseObserver;
  /** Begins to record and to deliver. */
  start(): void;
  /** Which alerts there were, in the order of the uses. All are of one organisation. */
  readFlags(uses: readonly BudgetUse[]): Promise<AlertFlags[]>;
  /** Records what is queued, gives running deliveries so many milliseconds, and leaves the others to the next process. */
  close(timeoutMs: number): Promise<void>;
  /** Removes alerts whose window ended before `time` (Unix milliseconds). */
  purge(time: number): Promise<void>;
}

/** Runs work one at a time. Asked for while it runs, it runs once more. */
class SerialWork {
  readonly #work: () => Promise<void>;
  #running: Promise<void> | undefined;
  #isAskedAgain = false;

  /** @param work It must not reject. */
  constructor(work: () => Promise<void>) {
    this.#work = work;
  }

  wake(): void {
    this.#isAskedAgain = this.#running !== undefined;
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    do {
      this.#isAskedAgain = false;
      // requests wake it: what it does is not done during one
      await giveWay();
      await this.#work();
    } while (this.#isAskedAgain);
    this.#running = undefined;
  }

  /** Resolves when it does nothing. */
  async settle(): Promise<void> {
    while (this.#running) await this.#running;
  }
}

const keyText = ({ limitId, bucket, windowStart, kind, bound }: Omit<LimitAlertKey, "organisationId">) =>
  JSON.stringify([limitId, bucket, windowStart, kind, bound]);

class DatabaseAlerts implements LimitAlerts {
  readonly #parts: AlertParts;
  readonly #watch: LimitWatch;
  readonly #recorder = new SerialWork(() => this.#record());
  readonly #starter = new SerialWork(() => this.#deliver());
  readonly #aborter = new AbortController();
  readonly #deliverer: Deliverer;
  #timer: ReturnType<typeof setInterval> | undefined;
  /** The database was unavailable the last time: the operator is warned once. */
  #isAway = false;

  constructor(parts: AlertParts) {
    this.#parts = parts;
    this.#watch = new LimitWatch({ now: parts.clock.now, wake: () => this.#recorder.wake() });
    this.#deliverer = new Deliverer(parts, this.#aborter.signal);
  }

  get observe(): LimitUseObserver {
    return this.#watch.observe;
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#recorder.wake();
      this.#starter.wake();
    }, this.#parts.lookEveryMs);
    this.#starter.wake();
  }

  /** Records what is queued, in order. While the database is away, the queue stays as it is. */
  async #record(): Promise<void> {
    const { warn, log } = this.#parts;
    for (let event = this.#watch.peek(); event; event = this.#watch.peek()) {
      // what is left is noticed again by the next process
      if (this.#aborter.signal.aborted) return;
      try {
        const row = await recordEvent(event, this.#parts);
        if (row) {
          log(`limit alert ${JSON.stringify(toAlertBody(row))}`);
          this.#starter.wake();
        }
        this.#isAway = false;
      } catch (error) {
        if (!isRefusedStatement(error)) return this.#noteAbsence(error);
        warn(`Cannot record an alert of limit ${event.limit.id}`, error);
      }
      this.#watch.shift();
      await giveWay();
    }
  }

  async #deliver(): Promise<void> {
    try {
      await this.#deliverer.deliverDue(() => this.#starter.wake());
    } catch (error) {
      this.#noteAbsence(error);
    }
  }

  #noteAbsence(error: unknown): void {
    if (!this.#isAway) this.#parts.warn("Cannot read or write alerts of budgets now", error);
    this.#isAway = true;
  }

  async readFlags(uses: readonly BudgetUse[]): Promise<AlertFlags[]> {
    const organisationId = uses[0]?.limit.organisationId;
    if (organisationId === undefined) return [];
    if (uses.some(({ limit }) => limit.organisationId !== organisationId)) {
      throw new TypeError("Cannot read alerts of two organisations together");
    }
    const limitIds = new Set(uses.map(({ limit }) => limit.id));
    const known = new Set((await this.#parts.store.list(organisationId, [...limitIds])).map(keyText));
    return uses.map(({ limit, bucket, state }) => {
      const isSent = (kind: AlertKind, bound: number | null) =>
        bound !== null &&
        known.has(keyText({ limitId: limit.id, bucket, windowStart: startOf(state.span), kind, bound }));
      return {
        isThresholdSent: isSent("threshold", limit.alertAt),
        isExhaustedSent: isSent("exhausted", limit.most),
      };
    });
  }

  async close(timeoutMs: number): Promise<void> {
    clearInterval(this.#timer);
    const timer = setTimeout(() => this.#aborter.abort(new Error("the gateway closes")), timeoutMs);
    await this.#recorder.settle();
    for (;;) {
      await this.#starter.settle();
      if (this.#deliverer.isIdle) break;
      await this.#deliverer.settle();
    }
    clearTimeout(timer);
  }

  purge(time: number): Promise<void> {
    return this.#parts.store.purge(time);
  }
}

/** Creates the alerts of a gateway. */
export function createLimitAlerts(parts: AlertParts): LimitAlerts {
  return new DatabaseAlerts(parts);
}
