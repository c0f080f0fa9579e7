import { UnavailableError } from "../../errors.ts";
import type { Timers } from "../../lib/timers.ts";
import type { Priority } from "../../schemas/queues.ts";
import type { AppliedLimit } from "../applied.ts";
import type { Claim, LimitStore, Refusal, Reservation } from "../limit-store.ts";
import { Line } from "./line.ts";
import { type QueueState, WaitCounts } from "./wait-counts.ts";

/** Bounds of all requests of a process that wait. An organisation has at most half of each. */
export interface WaitingBounds {
  readonly requests: number;
  /** Of their bodies. */
  readonly bytes: number;
}

/** A request that a limit may let wait. */
interface QueuedRequest {
  /** The limits that apply, with what it asks of each. */
  readonly applied: readonly AppliedLimit[];
  readonly claims: readonly Claim[];
  readonly priority: Priority;
  /** Size of what it holds in memory while it waits. */
  readonly bytes: number;
  /** Ends its wait: its caller left, its time is over, or the gateway stops. */
  readonly signal: AbortSignal;
  /** Its waits are added here. */
  readonly waits: Wait[];
}

/** One wait of a request. */
export interface Wait {
  readonly limit: AppliedLimit;
  /** Its place when it came, counted from 1: those of its class and of higher ones. */
  readonly position: number;
  readonly priority: Priority;
  ms: number;
  outcome: "admitted" | "refused" | "left";
}

/** What a request booked, or the claim without room. */
export type QueueOutcome = Reservation | Refusal;

/** What queues are made of. */
interface QueueParts {
  /** Counters of limits. */
  readonly store: Pick<LimitStore, "reserve" | "read">;
  /** Unix milliseconds, as windows of limits count. */
  readonly now: () => number;
  /** Milliseconds that only grow. */
  readonly monotonic: () => number;
  readonly timers: Pick<Timers, "start">;
  readonly bounds: WaitingBounds;
}

/** A request that waits. */
interface Waiter {
  readonly request: QueuedRequest;
  claims: Claim[];
  /** The queue it is in. */
  queue: LimitQueue;
  /** Monotonic milliseconds. */
  readonly since: number;
  enteredAt: number;
  endsAt: number;
  stopTimer: () => void;
  /** It was answered, or it left. */
  isOver: boolean;
  resolve(outcome: QueueOutcome): void;
  reject(error: unknown): void;
  readonly leave: () => void;
}

/** Requests that wait for one counter of a limit. */
interface LimitQueue {
  readonly key: string;
  readonly line: Line<Waiter>;
  /** Unix milliseconds at which its limit may have room again. */
  resetsAt: number;
  /** Other processes count in the limit too: it may have room at any time. */
  isShared: boolean;
  isServing: boolean;
  /** There may be room since the serving began. */
  isAsked: boolean;
  stopTimer: () => void;
}

/** Longest time between two looks, in milliseconds; the second where other processes may make room. */
const lookAfterMs = { own: 60_000, shared: 1_000 };
/** Shortest time until the next look: windows of two clocks may end a moment apart. */
const leastMs = 5;

const keyOf = ({ limit, bucket }: Pick<AppliedLimit, "limit" | "bucket">): string => `${limit.id} ${bucket}`;
const isRefusal = (outcome: QueueOutcome): outcome is Refusal => "claim" in outcome;
const nothing = () => {};

/**
 * Requests that wait for room in a rate limit with a queue. The order is that of `Line`, in each process. A request that meets
 * several limits waits for one of them at a time, and takes nothing of the others meanwhile.
 */
export class LimitQueues {
  readonly #parts: QueueParts;
  readonly #queues = new Map<string, LimitQueue>();
  readonly #counts = new WaitCounts();
  /** What requests of each organisation hold. */
  readonly #held = new Map<string, { requests: number; bytes: number }>();
  #requests = 0;
  #bytes = 0;
  #stopLook: (() => void) | undefined;
  /** Monotonic milliseconds at which the gateway stops. */
  #stopsAt = Number.POSITIVE_INFINITY;

  constructor(parts: QueueParts) {
    this.#parts = parts;
  }

  /**
   * Books all claims of a request, or none. Where a limit with a queue has no room, the request waits for it.
   *
   * @returns A promise where it waits, or where processes share the counters.
   * @throws The reason of its signal, if that ends the wait.
   * @throws {UnavailableError} If the gateway stops first.
   */
  reserve(request: QueuedRequest): QueueOutcome | Promise<QueueOutcome> {
    const { applied, claims } = request;
    // who came before goes first
    const busy = this.#queues.size === 0 ? undefined : applied.find((one) => one.queue && this.#queues.has(keyOf(one)));
    if (busy) {
      const index = applied.indexOf(busy);
      const claim = claims[index];
      const { resetsAt = 0 } = this.#queues.get(keyOf(busy)) ?? {};
      if (claim) return this.#enter(request, { claim, resetsAt });
    }
    const outcome = this.#parts.store.reserve(claims);
    if (outcome instanceof Promise) return outcome.then((settled) => this.#begin(request, settled, true));
    return this.#begin(request, outcome, false);
  }

  /** Requests that wait for a counter. */
  waitingFor(limit: Pick<AppliedLimit, "limit" | "bucket">): number {
    return this.#queues.get(keyOf(limit))?.line.size ?? 0;
  }

  /** What requests gave back may be enough for one that waits. */
  noteRoom(): void {
    if (this.#queues.size === 0 || this.#stopLook) return;
    this.#stopLook = this.#parts.timers.start(leastMs, () => {
      this.#stopLook = undefined;
      for (const queue of this.#queues.values()) this.#look(queue);
    });
  }

  /** Figures for metrics. */
  state(): QueueState {
    return this.#counts.state([...this.#queues.values()].map(({ line }) => line));
  }

  /** Ends waits that would last longer than the gateway does. The others go on. */
  drain(timeoutMs: number): void {
    const { monotonic, now } = this.#parts;
    this.#stopsAt = Math.min(this.#stopsAt, monotonic() + timeoutMs);
    const end = now() + timeoutMs;
    for (const { line, resetsAt } of [...this.#queues.values()]) {
      if (resetsAt < end) continue;
      for (const waiter of [...line.entries()]) this.#end(waiter, "refused", () => waiter.reject(stopping()));
    }
  }

  #begin(request: QueuedRequest, outcome: QueueOutcome, isShared: boolean): QueueOutcome | Promise<QueueOutcome> {
    if (!isRefusal(outcome) || outcome.isAway) return outcome;
    const limit = request.applied[request.claims.indexOf(outcome.claim)];
    if (!limit?.queue) return outcome;
    return this.#enter(request, outcome, isShared);
  }

  /** Lets a request wait, if there is room for it and it may be served in time. */
  #enter(request: QueuedRequest, refusal: Refusal, isShared = false): QueueOutcome | Promise<QueueOutcome> {
    const limit = request.applied[request.claims.indexOf(refusal.claim)];
    if (!limit?.queue || !this.#mayWait(request, refusal, limit.queue.max_wait_ms) || !this.#hasPlace(request, limit)) {
      if (limit?.queue) this.#counts.count(request.priority, "full", 0);
      return refusal;
    }
    if (request.signal.aborted) return Promise.reject(request.signal.reason);
    const { promise, resolve, reject } = Promise.withResolvers<QueueOutcome>();
    const queue = this.#queueOf(limit, refusal, isShared);
    const now = this.#parts.monotonic();
    const leave = () => this.#end(waiter, "left", () => reject(request.signal.reason));
    const times = { since: now, enteredAt: now, endsAt: Number.POSITIVE_INFINITY };
    const claims = [...request.claims];
    const ways = { resolve, reject, leave, stopTimer: nothing };
    const waiter: Waiter = { request, claims, queue, ...times, isOver: false, ...ways };
    request.signal.addEventListener("abort", leave, { once: true });
    this.#hold(request, 1);
    this.#join(waiter, queue, limit);
    return promise;
  }

  /** Whether there is memory for one more request, and its limit may have room in time. */
  #mayWait(request: QueuedRequest, refusal: Refusal, longestMs: number): boolean {
    const { bounds, now, monotonic } = this.#parts;
    const { claim, resetsAt } = refusal;
    if (claim.least > claim.limit.most) return false;
    const own = this.#held.get(claim.limit.organisationId) ?? { requests: 0, bytes: 0 };
    if (this.#requests >= bounds.requests || own.requests >= bounds.requests / 2) return false;
    if (this.#bytes + request.bytes > bounds.bytes || own.bytes + request.bytes > bounds.bytes / 2) return false;
    const untilMs = resetsAt - now();
    if (monotonic() + untilMs >= this.#stopsAt) return false;
    return untilMs <= longestMs || this.#isGivenBack(claim, request, refusal);
  }

  /** Whether a queue has a place. A full one refuses the last of a lower class instead. */
  #hasPlace({ priority }: QueuedRequest, limit: AppliedLimit): boolean {
    const line = this.#queues.get(keyOf(limit))?.line;
    if (!line || line.size < (limit.queue?.max_waiting ?? 0)) return true;
    const last = line.lastBelow(priority);
    if (last) this.#giveUp(last);
    return last !== undefined;
  }

  /** Whether requests that run may give back what another one needs, before the window of its limit ends. */
  #isGivenBack(claim: Claim, { claims }: QueuedRequest, { states }: Refusal): boolean {
    if (claim.limit.counts === "requests") return false;
    const state = states?.[claims.indexOf(claim)] ?? this.#parts.store.read(claim.limit, claim.bucket);
    return state instanceof Promise || state.reserved > 0;
  }

  #queueOf(limit: AppliedLimit, { resetsAt }: Refusal, isShared: boolean): LimitQueue {
    const key = keyOf(limit);
    const known = this.#queues.get(key);
    if (known) return known;
    const states = { resetsAt, isShared, isServing: false, isAsked: false, stopTimer: nothing };
    const queue: LimitQueue = { key, line: new Line(), ...states };
    this.#queues.set(key, queue);
    this.#schedule(queue);
    return queue;
  }

  /** Puts a request at the end of its class in a queue. */
  #join(waiter: Waiter, queue: LimitQueue, limit: AppliedLimit): void {
    const { timers, monotonic } = this.#parts;
    const { priority } = waiter.request;
    const { max_wait_ms: longestMs = 0 } = limit.queue ?? {};
    const now = monotonic();
    waiter.queue = queue;
    waiter.enteredAt = now;
    waiter.endsAt = Math.min(waiter.endsAt, waiter.since + longestMs);
    const position = queue.line.add(waiter, priority);
    waiter.request.waits.push({ limit, position, priority, ms: 0, outcome: "refused" });
    waiter.stopTimer();
    waiter.stopTimer = timers.start(Math.max(0, waiter.endsAt - now), () => this.#giveUp(waiter));
    this.#adopt(queue, waiter, limit);
  }

  /** A limit that was raised meanwhile is raised for those who wait, too. */
  #adopt(queue: LimitQueue, newest: Waiter, { limit }: AppliedLimit): void {
    const head = queue.line.head();
    const former = head?.claims.find((claim) => keyOf(claim) === queue.key)?.limit;
    if (!former || head === newest || former.most === limit.most) return;
    for (const waiter of queue.line.entries()) {
      waiter.claims = waiter.claims.map((claim) => (keyOf(claim) === queue.key ? { ...claim, limit } : claim));
    }
    this.#look(queue);
  }

  #hold({ bytes, claims }: QueuedRequest, sign: 1 | -1): void {
    const organisation = claims[0]?.limit.organisationId ?? "";
    const own = this.#held.get(organisation) ?? { requests: 0, bytes: 0 };
    own.requests += sign;
    own.bytes += sign * bytes;
    this.#requests += sign;
    this.#bytes += sign * bytes;
    if (own.requests === 0) this.#held.delete(organisation);
    else this.#held.set(organisation, own);
  }

  /** Refuses a request that waited as long as it may. */
  #giveUp(waiter: Waiter): void {
    const { queue, claims } = waiter;
    const claim = claims.find((one) => keyOf(one) === queue.key);
    if (!claim) return;
    const outcome = { claim, resetsAt: Math.max(queue.resetsAt, this.#parts.now()) };
    this.#finish(waiter, outcome, "refused");
  }

  #finish(waiter: Waiter, outcome: QueueOutcome, how: Wait["outcome"]): void {
    const { request, claims, resolve } = waiter;
    // the caller knows the claims that it gave
    const known = isRefusal(outcome) ? request.claims[claims.indexOf(outcome.claim)] : undefined;
    this.#end(waiter, how, () => resolve(known ? { ...outcome, claim: known } : outcome));
  }

  /** Takes a request out of its queue for good. */
  #end(waiter: Waiter, how: Wait["outcome"], answer: () => void): void {
    if (waiter.isOver) return;
    waiter.isOver = true;
    waiter.stopTimer();
    waiter.request.signal.removeEventListener("abort", waiter.leave);
    this.#leave(waiter, how);
    this.#hold(waiter.request, -1);
    this.#counts.count(waiter.request.priority, how, this.#parts.monotonic() - waiter.since);
    answer();
  }

  /** Takes a request out of the queue it is in. */
  #leave(waiter: Waiter, how: Wait["outcome"]): void {
    const { queue, request, enteredAt } = waiter;
    const wait = request.waits.at(-1);
    if (wait) {
      wait.ms = Math.round(this.#parts.monotonic() - enteredAt);
      wait.outcome = how;
    }
    queue.line.remove(waiter, request.priority, how === "admitted");
    if (queue.line.size === 0) this.#close(queue);
  }

  #close(queue: LimitQueue): void {
    queue.stopTimer();
    if (this.#queues.get(queue.key) === queue) this.#queues.delete(queue.key);
  }

  #schedule(queue: LimitQueue): void {
    const longestMs = queue.isShared ? lookAfterMs.shared : lookAfterMs.own;
    const untilMs = Math.min(longestMs, Math.max(leastMs, queue.resetsAt - this.#parts.now()));
    queue.stopTimer();
    queue.stopTimer = this.#parts.timers.start(untilMs, () => this.#look(queue));
  }

  #look(queue: LimitQueue): void {
    queue.isAsked = true;
    if (!queue.isServing) void this.#serve(queue);
  }

  /** Serves a queue until its limit has no room. */
  async #serve(queue: LimitQueue): Promise<void> {
    queue.isServing = true;
    while (queue.isAsked) {
      queue.isAsked = false;
      let head = queue.line.head();
      while (head && (await this.#serveHead(queue, head))) head = queue.line.head();
    }
    queue.isServing = false;
    if (queue.line.size === 0) this.#close(queue);
    else this.#schedule(queue);
  }

  /** @returns False where the limit has no room for the next one. */
  async #serveHead(queue: LimitQueue, head: Waiter): Promise<boolean> {
    const outcome = await this.#parts.store.reserve(head.claims);
    if (head.isOver) {
      if (!isRefusal(outcome)) outcome.release();
      return true;
    }
    if (!isRefusal(outcome)) {
      this.#finish(head, outcome, "admitted");
      return true;
    }
    if (outcome.isAway || keyOf(outcome.claim) !== queue.key) {
      this.#move(head, outcome);
      return true;
    }
    queue.resetsAt = outcome.resetsAt;
    return false;
  }

  /** Another limit has no room for a request whose turn it is: it waits for that one, or is refused. */
  #move(waiter: Waiter, refusal: Refusal): void {
    const { request, claims } = waiter;
    const limit = request.applied[claims.indexOf(refusal.claim)];
    const leftMs = waiter.endsAt - this.#parts.monotonic();
    if (
      !limit?.queue ||
      refusal.isAway ||
      !this.#mayWait(request, refusal, leftMs) ||
      !this.#hasPlace(request, limit)
    ) {
      this.#finish(waiter, refusal, "refused");
      return;
    }
    this.#leave(waiter, "admitted");
    this.#join(waiter, this.#queueOf(limit, refusal, waiter.queue.isShared), limit);
  }
}

function stopping(): UnavailableError {
  return new UnavailableError("Cannot serve this request: it would wait longer than the gateway runs", {
    code: "not_ready",
    retryAfterSeconds: 1,
  });
}
