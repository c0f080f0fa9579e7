import type { EjectionSettings } from "./settings.ts";
import type { TargetMeasure, Verdict } from "./target-measure.ts";

/** A target that calls are measured for, and when their failures eject it. */
export interface MeasuredTarget {
  readonly measure: TargetMeasure;
  readonly ejection: EjectionSettings | undefined;
}

/** How a measured call ended. */
interface MeasuredEnd {
  readonly verdict: Verdict;
  /** Monotonic milliseconds. */
  readonly endedAt: number;
  readonly isStreamed: boolean;
  readonly outputTokens: number | undefined;
}

/** One call while it runs. All times are monotonic milliseconds. */
export class MeasuredCall {
  readonly #targets: readonly MeasuredTarget[];
  #startedAt: number;
  #answeredAt: number | undefined;
  #isEnded = false;

  constructor(targets: readonly MeasuredTarget[], now: number) {
    this.#targets = targets;
    this.#startedAt = now;
    for (const { measure } of targets) measure.pending++;
  }

  /** Notes when it was sent: what the gateway did before is not the target's time. */
  sent(at: number): void {
    this.#startedAt = at;
  }

  /** Notes that its response is there, or of a stream its first words. */
  answered(now: number): void {
    this.#answeredAt = now;
  }

  /** Measures it, once. */
  end({ verdict, endedAt, isStreamed, outputTokens }: MeasuredEnd): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    const [startedAt, answeredAt] = [this.#startedAt, this.#answeredAt];
    for (const { measure, ejection } of this.#targets) {
      measure.pending--;
      measure.settle(verdict, { startedAt, answeredAt, endedAt, isStreamed, outputTokens }, ejection);
    }
  }
}

/** Statuses below 500 that say something about the target: its credential, its credit, its load. */
const failures: ReadonlySet<number> = new Set([401, 402, 403, 408, 429]);

/** What a status says about the target. Other errors of the request are not its fault. */
export function verdictOf(status: number): Verdict {
  if (status >= 200 && status <= 299) return "success";
  return status >= 500 || failures.has(status) ? "failure" : "unknown";
}
