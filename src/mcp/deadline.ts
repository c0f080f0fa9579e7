import type { Timers } from "../lib/timers.ts";

/** Why a call was ended: its time is over, its stream is silent, the caller left, or the gateway stops. */
export type EndReason = "timeout" | "idle" | "client" | "shutdown";

/** Ends a call in time, and when its caller leaves. */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #request: AbortSignal;
  readonly #leave = () => this.end("client");
  readonly #stopTimer: () => void;
  /** Why it was ended; undefined while it runs. */
  reason: EndReason | undefined;

  /** @param timeoutMs Longest duration; undefined without one. */
  constructor(request: Request, timeoutMs: number | undefined, timers: Timers) {
    this.#request = request.signal;
    this.#stopTimer = timeoutMs === undefined ? () => {} : timers.start(timeoutMs, () => this.end("timeout"));
    if (this.#request.aborted) this.#leave();
    else this.#request.addEventListener("abort", this.#leave, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Ends the call; repeated calls have no effect. */
  end(reason: EndReason): void {
    if (this.reason !== undefined) return;
    this.reason = reason;
    this.#controller.abort(new DOMException(`the call ended: ${reason}`, "AbortError"));
  }

  /** The call is over: nothing ends it any more. */
  release(): void {
    this.#stopTimer();
    this.#request.removeEventListener("abort", this.#leave);
  }
}
