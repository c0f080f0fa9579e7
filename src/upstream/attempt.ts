import type { CallRecord, UpstreamCall } from "../context/call-record.ts";
import type { RunningCall, Services } from "../context.ts";
import { AbortReason } from "../providers/core/call.ts";

/** Time limits of a call, in milliseconds. */
export interface AttemptTimes {
  /** To the first byte, or to the end of a response that is read whole; absent without a limit. */
  readonly timeoutMs?: number | undefined;
  /** Left for the whole request, its stream included; absent without a limit. */
  readonly wholeMs?: number | undefined;
  /** The call goes on when the caller leaves: others wait for it. */
  readonly isShared?: boolean | undefined;
}

/** What a call is recorded with. */
type CallAddress = Pick<UpstreamCall, "provider" | "model" | "url">;

type AttemptServices = Pick<Services, "timers" | "calls" | "clock">;

/** One call to an upstream while it runs: its timers, the link to its caller's connection, and its place in the record. */
export class Attempt implements RunningCall {
  /** The call goes on when its caller leaves: others wait for its response. */
  readonly isShared: boolean;
  /** The call in the request's record; undefined until it is sent. Of a repeated call, the last one. */
  call: UpstreamCall | undefined;
  /** Ends what waits for the call. */
  readonly signal: AbortSignal;
  readonly #controller = new AbortController();
  readonly #caller: AbortSignal;
  readonly #services: AttemptServices;
  readonly #timeoutMs: number | undefined;
  readonly #leave = (): void => this.abort(new AbortReason("client", "the caller disconnected"));
  readonly #stopWhole: (() => void) | undefined;
  #stopTimer: (() => void) | undefined;

  /** Starts the timers, and ends the call when its caller leaves. */
  constructor({ signal }: Request, { timeoutMs, wholeMs, isShared = false }: AttemptTimes, services: AttemptServices) {
    this.isShared = isShared;
    this.signal = this.#controller.signal;
    this.#caller = signal;
    this.#services = services;
    this.#timeoutMs = timeoutMs;
    this.restartTimer();
    if (wholeMs !== undefined) {
      const reason = "Request exceeded the timeout of the whole request";
      this.#stopWhole = services.timers.start(wholeMs, () => this.abort(new AbortReason("timeout", reason)));
    }
    if (signal.aborted) this.#leave();
    else if (!isShared) signal.addEventListener("abort", this.#leave, { once: true });
    services.calls.add(this);
  }

  /** Why it was ended; undefined while nothing has ended it. */
  get endedBy(): AbortReason["kind"] | undefined {
    const reason: unknown = this.signal.reason;
    return reason instanceof AbortReason ? reason.kind : undefined;
  }

  /** Ends the call; repeated calls have no effect. */
  abort(reason: AbortReason): void {
    this.#controller.abort(reason);
  }

  /** Ends the wait for the first byte. */
  stopTimer(): void {
    this.#stopTimer?.();
  }

  /** Begins the wait for the first byte anew: the request waited for its turn. */
  restartTimer(): void {
    const timeoutMs = this.#timeoutMs;
    if (timeoutMs === undefined) return;
    this.#stopTimer?.();
    this.#stopTimer = this.#services.timers.start(timeoutMs, () => {
      const reason = `Request exceeded the timeout sent in the request: ${timeoutMs}ms`;
      this.abort(new AbortReason("timeout", reason));
    });
  }

  /** Unlinks the call from the caller: it is over, and nothing ends it any more. */
  release(): void {
    this.#stopTimer?.();
    this.#stopWhole?.();
    this.#caller.removeEventListener("abort", this.#leave);
    this.#services.calls.delete(this);
  }

  /** Adds the call to the record of its request: it is being sent. */
  begin({ calls }: Pick<CallRecord, "calls">, address: CallAddress): void {
    this.call = {
      ...address,
      startedAt: this.#services.clock.monotonic(),
      firstByteAt: null,
      endedAt: null,
      status: null,
      error: null,
    };
    calls.push(this.call);
  }

  /** Records that the response began. */
  receive(status: number): void {
    if (!this.call) return;
    this.call.firstByteAt = this.#services.clock.monotonic();
    this.call.status = status;
  }

  /** Records that the call is over: its response was read, or broke off. */
  end(): void {
    if (this.call) this.call.endedAt = this.#services.clock.monotonic();
  }

  /** Records the code of the error that ended it, unless one is there. */
  fail(code: string): void {
    if (this.call) this.call.error ??= code;
  }
}
