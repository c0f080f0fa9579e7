import { type Clock, startTimer } from "../lib/clock.ts";
import { giveWay } from "../lib/pace.ts";
import type { HeldLease, LeaseState } from "../schemas/limit-leases.ts";
import type { LimitIncrement } from "../schemas/logs.ts";
import { Buckets } from "./buckets.ts";
import { fullOf, Lease } from "./lease.ts";
import type { LeaseDatabase } from "./lease-database.ts";
import { beatEveryMs, LeaseNode } from "./lease-node.ts";
import { LeaseOutage } from "./lease-outage.ts";
import { addWish, type Round, toExchange } from "./lease-round.ts";
import {
  amountOf,
  type BucketState,
  type Claim,
  type Counted,
  type Limit,
  type LimitStore,
  type LimitUseObserver,
  type Refusal,
  type Reservation,
  reportRefusal,
} from "./limit-store.ts";
import { type Span, spanOf, startOf } from "./windows.ts";

/** How often the store looks whether something is due. */
const tickMs = 1_000;
/** Longest time a request waits for the database. */
const replyWithinMs = 2_000;
/** How long leases with too much unused wait for others, to be given back together. */
const trimAfterMs = 100;
/** Most leases of one transaction, each of asked and swept ones. */
const mostLeases = 256;
/** Most transactions a request waits for. */
const mostRounds = 5;

/** Settings of a store. */
interface LeaseStoreOptions {
  database: LeaseDatabase;
  clock: Clock;
  /** Makes ids that no other process makes. */
  createId(): string;
  warn(message: string, error: unknown): void;
  onUsed?: LimitUseObserver | undefined;
  /** While the database is away, refuses what it has not leased as unavailable, and divides no new windows. */
  isStrict?: boolean | undefined;
  /** Nodes that shared the database when it was last known, where it is away at the start. Absent: it must be there. */
  lastNodes?: number | undefined;
}

/** Limits that several processes share through their database. */
export interface LeaseStore extends LimitStore {
  /** Does what is due: the heartbeat, another attempt while the database is away. The store calls it every second. */
  tick(): Promise<void>;
}

/** A request that waits for more. */
interface Waiter {
  readonly claims: readonly Claim[];
  leases: readonly Lease[];
  rounds: number;
  resolve(outcome: Reservation | Refusal): void;
}

/** One booked claim. */
interface Booking {
  readonly claim: Claim;
  readonly lease: Lease;
  readonly reserved: number;
}

/** Each process leases a part of what is left of a limit, and admits requests from it without asking. */
class LeaseLimitStore implements LeaseStore {
  readonly #options: LeaseStoreOptions;
  readonly #node: LeaseNode;
  readonly #outage: LeaseOutage;
  readonly #leases = new Buckets<Lease>((limit, bucket, span) => this.#open(limit, bucket, span));
  #waiters: Waiter[] = [];
  /** Leases with too much unused, and those the database does not know yet. */
  readonly #trims = new Set<Lease>();
  #cancelTrim: (() => void) | undefined;
  #isTrimDue = false;
  /** Leases still to be looked at since the last heartbeat. */
  #sweep: Lease[] = [];
  /** Leases that have ended here; the database may not know yet. */
  #closing: HeldLease[] = [];
  #lastNumber = 0;
  /** Monotonic time of the last two sweeps. */
  #sweptAt = { now: Number.NEGATIVE_INFINITY, before: Number.NEGATIVE_INFINITY };
  #running: Promise<void> | undefined;
  #interval: ReturnType<typeof setInterval> | undefined;
  #isClosed = false;

  constructor(options: LeaseStoreOptions) {
    const { database, clock, createId, warn } = options;
    this.#options = options;
    this.#outage = new LeaseOutage({ monotonic: clock.monotonic, warn });
    const removed = () => {
      for (const lease of this.#leases.all()) lease.renounce();
    };
    this.#node = new LeaseNode({ database, clock, createId, removed });
  }

  async start(): Promise<void> {
    const { lastNodes } = this.#options;
    if (lastNodes === undefined) await this.#node.beat();
    else {
      this.#node.suppose(lastNodes);
      this.#outage.begin(this.#node.time(), new Error("The database is away at the start"));
    }
    this.#interval = setInterval(() => void this.tick(), tickMs);
  }

  tick(): Promise<void> {
    if (!this.#running && (this.#outage.isOn || this.#hasWork())) this.#run();
    return this.#running ?? Promise.resolve();
  }

  #open(limit: Limit, bucket: string, span: Span): Lease {
    const lease = new Lease(limit, bucket, {
      span,
      number: ++this.#lastNumber,
      time: this.#options.clock.monotonic(),
    });
    if (this.#options.isStrict || !this.#outage.divides(span)) return lease;
    lease.isLocal = true;
    lease.granted = this.#shareOf(limit);
    // in an outage, `#recover` finds those that still count
    if (!this.#outage.isOn) this.#trim(lease);
    return lease;
  }

  #shareOf({ most }: Limit): number {
    return Math.floor(most / this.#node.count);
  }

  #leaseOf(limit: Limit, bucket: string, time: number): Lease {
    const lease = this.#leases.at(limit, bucket, time);
    if (limit.most < lease.limit.most) {
      // what was leased of the former limit may be more than all of the new one
      lease.granted = Math.min(lease.granted, lease.isLocal ? this.#shareOf(limit) : lease.committed);
      this.#trim(lease);
    }
    if (limit.most !== lease.limit.most) lease.askFrom = Number.NEGATIVE_INFINITY;
    lease.limit = limit;
    return lease;
  }

  /** What requests may use of a lease now. */
  #leftOf(lease: Lease): number {
    return lease.isLocal || this.#node.isTrusted ? Math.min(lease.left, lease.leftOfLimit) : 0;
  }

  #mayAsk(lease: Lease, claim: Claim): boolean {
    return !(lease.isLocal || this.#outage.isOn) && lease.mayGain(claim, this.#options.clock.monotonic());
  }

  reserve(claims: readonly Claim[]): Reservation | Refusal | Promise<Reservation | Refusal> {
    const leases = this.#leasesOf(claims);
    const outcome = this.#decide(claims, leases, !this.#isClosed);
    if (outcome) return outcome;
    return new Promise((resolve) => {
      this.#enlist({ claims, leases, rounds: 0, resolve });
      if (!this.#running) this.#run();
    });
  }

  #leasesOf(claims: readonly Claim[]): Lease[] {
    const time = this.#node.time();
    const claimedAt = this.#options.clock.monotonic();
    return claims.map(({ limit, bucket }) => {
      const lease = this.#leaseOf(limit, bucket, time);
      lease.claimedAt = claimedAt;
      return lease;
    });
  }

  /** Books claims or refuses them. Undefined: they have to wait for the database. */
  #decide(claims: readonly Claim[], leases: readonly Lease[], mayWait: boolean): Reservation | Refusal | undefined {
    let waits = false;
    const bookings: Booking[] = [];
    for (const [index, claim] of claims.entries()) {
      const lease = leases[index] as Lease; // one for each claim
      const left = this.#leftOf(lease);
      if (mayWait && (lease.waiting > 0 || (left < fullOf(claim) && this.#mayAsk(lease, claim)))) waits = true;
      else if (left <= 0 || claim.least > left) return this.#refuse(claim, lease, leases);
      bookings.push({ claim, lease, reserved: amountOf(claim) });
    }
    if (waits) return undefined;
    for (const { lease, reserved } of bookings) lease.reserved += reserved;
    return this.#toReservation(bookings);
  }

  #refuse(claim: Claim, lease: Lease, leases: readonly Lease[]): Refusal {
    const { bucket, span, state } = lease;
    const { end } = span;
    reportRefusal(claim, { bucket, span, used: state.used }, this.#options.onUsed);
    return {
      claim,
      // what others hold and do not use comes back before the window ends
      resetsAt: lease.hasRoomElsewhere(claim) ? Math.min(end, this.#node.time() + beatEveryMs) : end,
      states: leases.map((one) => (one === lease ? one.fullState : one.state)),
      isAway: this.#options.isStrict === true && this.#outage.isOn && lease.hasRoomElsewhere(claim),
    };
  }

  #enlist(waiter: Waiter): void {
    for (const lease of waiter.leases) lease.waiting++;
    this.#waiters.push(waiter);
  }

  /** Decides about requests that waited, in their order. */
  #serve(): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const { leases } of waiters) for (const lease of leases) lease.waiting--;
    for (const waiter of waiters) {
      const mayWait = !(this.#isClosed || this.#outage.isOn || waiter.rounds >= mostRounds);
      waiter.leases = this.#leasesOf(waiter.claims);
      const outcome = this.#decide(waiter.claims, waiter.leases, mayWait);
      if (outcome) waiter.resolve(outcome);
      else this.#enlist(waiter);
    }
  }

  #toReservation(bookings: readonly Booking[]): Reservation {
    let isOpen = true;
    const close = (used: Readonly<Record<Counted, number>> | undefined): LimitIncrement[] => {
      if (!isOpen) return [];
      isOpen = false;
      const time = this.#node.time();
      return bookings.flatMap((booking) => this.#close(booking, used?.[booking.claim.limit.counts] ?? 0, time));
    };
    const states = bookings.map(({ lease }) => lease.state);
    return { states, settle: close, release: () => void close(undefined) };
  }

  #close({ claim: { limit, bucket }, lease, reserved }: Booking, used: number, time: number): LimitIncrement[] {
    const current = time < lease.span.end ? lease : this.#leases.at(limit, bucket, time);
    lease.reserved -= reserved;
    this.#trimExcess(lease);
    // a request belongs to the window it came in, tokens and money to the one in which they are known
    if (used === 0 || (current !== lease && limit.counts === "requests")) return [];
    current.used += used;
    current.claimedAt = this.#options.clock.monotonic();
    this.#report(current);
    return [current.toIncrement(used, this.#node.id)];
  }

  /** Calls the observer where the known use of a bucket grew. */
  #report(lease: Lease): void {
    const { limit, bucket, span, reported } = lease;
    const after = lease.state.used;
    // what others used before the first contact was reported by them
    const before = reported ?? Math.max(0, lease.others);
    lease.reported = after;
    if (after > before) this.#options.onUsed?.({ limit, bucket, span, before, after });
  }

  #trimExcess(lease: Lease): void {
    if (lease.isLocal || this.#outage.isOn) return;
    if (this.#node.count > 1 && lease.left > 2 * lease.keep) this.#trim(lease);
  }

  /** Gives back what a lease has too much of, soon. */
  #trim(lease: Lease): void {
    this.#trims.add(lease);
    this.#cancelTrim ??= startTimer(trimAfterMs, () => {
      this.#cancelTrim = undefined;
      this.#isTrimDue = true;
      if (!this.#outage.isOn) void this.tick();
    });
  }

  #hasWork(): boolean {
    return this.#waiters.length > 0 || this.#isTrimDue || this.#sweep.length > 0 || this.#node.isDue;
  }

  /** Runs transactions, one at a time, until nothing is left to do. */
  #run(): void {
    const run = async () => {
      do await this.#attempt();
      while (!this.#outage.isOn && this.#hasWork());
      // in the same step as the last look: who comes now starts the next run
      this.#running = undefined;
    };
    this.#running = run();
  }

  async #attempt(): Promise<void> {
    const askedAt = this.#node.time();
    const lose = (error: unknown) => {
      this.#outage.begin(askedAt, error);
      this.#serve();
    };
    let isOver = false;
    const cancel = startTimer(replyWithinMs, async () => {
      // the reply may wait behind what blocked the event loop
      await giveWay();
      if (!isOver) lose(new Error("Cannot wait any longer: the database is silent"));
    });
    try {
      await this.#exchange();
      this.#recover();
      this.#serve();
    } catch (error) {
      lose(error);
    } finally {
      isOver = true;
      cancel();
    }
  }

  /** The database is back: it learns of the shares that were used in the meantime. */
  #recover(): void {
    if (!this.#outage.isOn) return;
    this.#outage.end(this.#node.time());
    for (const lease of this.#leases.all()) if (lease.isLocal) this.#trims.add(lease);
    this.#isTrimDue = this.#trims.size > 0;
  }

  async #exchange(): Promise<void> {
    if (this.#outage.isOn || this.#node.isDue) {
      await this.#node.beat();
      this.#recover();
      this.#sweep = [...this.#leases.all()];
      this.#sweptAt = { now: this.#options.clock.monotonic(), before: this.#sweptAt.now };
    }
    this.#isTrimDue = false;
    const round = this.#plan();
    const { asked, held, closed, looked } = round;
    if (asked.size + held.length + closed.length + looked.length === 0) return;
    const states = await this.#options.database.exchange(this.#node.id, toExchange(round));
    if (states) this.#apply(round, states);
    else this.#node.distrust();
  }

  #plan(): Round {
    const round: Round = { asked: new Map(), trimmed: [], looked: [], held: [], closed: [] };
    this.#planRequests(round);
    const time = this.#node.time();
    for (const lease of this.#trims) {
      if (round.trimmed.length >= mostLeases) break;
      if (time >= lease.span.end) {
        this.#trims.delete(lease);
        continue;
      }
      if (!lease.isLocal) lease.granted = Math.min(lease.granted, lease.committed + lease.keep);
      round.trimmed.push(lease);
      round.held.push({ ...lease.key, granted: lease.granted });
    }
    this.#planSweep(round);
    return { ...round, closed: this.#closing };
  }

  #planRequests(round: Round): void {
    for (const waiter of this.#waiters) {
      const asking = waiter.claims.flatMap((claim, index) => {
        const lease = waiter.leases[index];
        return lease && this.#mayAsk(lease, claim) ? [{ claim, lease }] : [];
      });
      if (round.asked.size + asking.length > mostLeases) return;
      waiter.rounds++;
      for (const { claim, lease } of asking) addWish(round, lease, claim);
    }
  }

  /** Leases nobody claimed for a while are given back; of the others the database says how much is left. */
  #planSweep(round: Round): void {
    const time = this.#node.time();
    for (const lease of this.#sweep.splice(0, mostLeases)) {
      if (round.asked.has(lease) || lease.waiting > 0) continue;
      const { limit, bucket, committed, reserved } = lease;
      const isOver = time >= lease.span.end;
      const isQuiet = lease.claimedAt < this.#sweptAt.before && !lease.isLocal;
      if (isQuiet && !isOver) {
        lease.granted = committed;
        if (reserved > 0) round.held.push({ ...lease.key, granted: committed });
        else this.#closing.push({ ...lease.key, granted: committed });
      }
      if (!isOver) round.looked.push(lease);
      if (!isOver && !(isQuiet && reserved === 0)) continue;
      // who claims it from now on gets another lease
      this.#trims.delete(lease);
      this.#leases.delete(limit, bucket, lease);
    }
  }

  #apply({ asked, looked, trimmed }: Round, states: readonly LeaseState[]): void {
    const nodes = this.#node.count;
    const time = this.#options.clock.monotonic();
    const leases = [...asked.keys(), ...looked];
    this.#closing = [];
    for (const lease of trimmed) {
      this.#trims.delete(lease);
      if (lease.isLocal) lease.join(this.#outage.dividedUntil);
    }
    if (this.#trims.size > 0) this.#isTrimDue = true;
    for (const [index, lease] of leases.entries()) {
      const state = states[index];
      if (!state) continue;
      const request = asked.get(lease);
      if (request) lease.grant(state, { wanted: request.wanted, nodes, time });
      lease.refresh(state, nodes);
      this.#report(lease);
      this.#trimExcess(lease);
    }
  }

  async read(limit: Limit, bucket: string): Promise<BucketState> {
    const [found] = await this.#count(limit, bucket).catch(() => this.#known(limit, bucket));
    return found?.[1] ?? { used: 0, reserved: 0, span: spanOf(limit.window, this.#node.time()) };
  }

  list(limit: Limit): Promise<[bucket: string, state: BucketState][]> {
    return this.#count(limit).catch(() => this.#known(limit));
  }

  #found(limit: Limit, bucket: string | undefined): Map<string, Lease> {
    const time = this.#node.time();
    const names = bucket === undefined ? [...this.#leases.namesOf(limit)] : [bucket];
    const leases = names.flatMap((name) => this.#leases.find(limit, name, time) ?? []);
    return new Map(leases.map((lease) => [lease.bucket, lease]));
  }

  /** What this node knows of buckets. */
  #known(limit: Limit, bucket?: string): [bucket: string, state: BucketState][] {
    return [...this.#found(limit, bucket)].map(([name, { state }]) => [name, state]);
  }

  /** What the database counted of buckets, and what this node has not written yet. */
  async #count(limit: Limit, bucket?: string): Promise<[bucket: string, state: BucketState][]> {
    const { organisationId, id: limitId } = limit;
    const span = spanOf(limit.window, this.#node.time());
    const where = { organisationId, limitId, windowStart: startOf(span), ...(bucket !== undefined && { bucket }) };
    const rows = await this.#options.database.count(this.#node.id, where);
    const leases = this.#found(limit, bucket);
    const states = new Map<string, BucketState>();
    for (const [name, { used, reserved }] of leases) states.set(name, { used, reserved, span });
    for (const { bucket: name, counted, written, held } of rows) {
      const { used = 0, reserved = 0 } = leases.get(name) ?? {};
      states.set(name, { used: counted + Math.max(0, used - written), reserved: reserved + held, span });
    }
    return [...states];
  }

  /** @throws If the database is away. */
  async reset(limit: Limit, bucket: string): Promise<LimitIncrement | undefined> {
    const [found] = await this.#count(limit, bucket);
    const [name, { used, span }] = found ?? [bucket, { used: 0, span: undefined }];
    if (!span || used === 0) return undefined;
    const lease = this.#leaseOf(limit, name, this.#node.time());
    lease.add(-used);
    return lease.toIncrement(-used);
  }

  /** The database has the counters: leases are looked at again. */
  follow(): void {
    this.#sweep = [...this.#leases.all()];
    void this.tick();
  }

  add(limit: Limit, bucket: string, used: number): LimitIncrement | undefined {
    if (used === 0) return undefined;
    const lease = this.#leaseOf(limit, bucket, this.#node.time());
    const before = lease.state.used;
    lease.add(used);
    const { used: after, span } = lease.state;
    if (after !== before) this.#options.onUsed?.({ limit, bucket: lease.bucket, span, before, after });
    return lease.toIncrement(used);
  }

  outage(): { of: "database"; isAway: boolean } {
    return { of: "database", isAway: this.#outage.isOn };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#interval);
    this.#cancelTrim?.();
    await this.#running;
    try {
      await this.#node.leave();
    } catch (error) {
      this.#options.warn("Cannot give back leases of limits: other processes take them over in half a minute", error);
    }
  }
}

/**
 * Creates the store, with this process as one more node.
 *
 * @throws If the database is away, and it is not known how many nodes share it.
 */
export async function createLeaseStore(options: LeaseStoreOptions): Promise<LeaseStore> {
  const store = new LeaseLimitStore(options);
  await store.start();
  return store;
}
