import { BoundedMap } from "../../lib/bounded-map.ts";
import { randomBase62 } from "../../lib/hash.ts";
import type { CorrectedCounter, LimitIncrement } from "../../schemas/logs.ts";
import type { Ledger } from "../ledger.ts";
import {
  type BucketState,
  type Claim,
  type Counted,
  type Limit,
  type LimitStore,
  overflowBucket,
  type Refusal,
  type Reservation,
  reportRefusal,
} from "../limit-store.ts";
import { createLocalShare } from "../local-share.ts";
import { Outage } from "../outage.ts";
import type { StoredCount } from "../stored-counters.ts";
import { type Span, spanOf, startOf } from "../windows.ts";
import { Agreement } from "./agreement.ts";
import { heardLately, keepUntil, keysOf, noteCorrected, type SharedBucket, SharedBuckets } from "./buckets.ts";
import { Changes } from "./changes.ts";
import { RedisCounters, type SharedClaim, type SharedUse } from "./counters.ts";
import type { RedisLimitStoreOptions } from "./options.ts";
import { type Booking, Settling } from "./settling.ts";
import { StoredCountersError, StoredReader } from "./stored-reader.ts";
import { Views } from "./views.ts";

/** A reservation that is being made. */
interface Request {
  readonly claims: readonly Claim[];
  readonly buckets: SharedBucket[];
  readonly id: string;
  /** Until when it waits for Redis, in monotonic milliseconds. What it waits for the database is added. */
  deadline: number;
  /** What new buckets hold, by claim, and the begin of the window for which that was read. */
  readonly first: Map<number, StoredCount & { start: number }>;
  /** What Redis was asked last. */
  asked: readonly Asked[];
}

/** One claim in the window of now. */
interface Asked {
  readonly claim: Claim;
  readonly bucket: SharedBucket;
  readonly span: Span;
}

/** Questions one reservation may take: a new organisation, new buckets, windows that end meanwhile. */
const maxQuestions = 8;
/** Organisations whose life in Redis is known. */
const maxLives = 10_000;
/** How long a process counts that was not heard of again: after Redis was emptied the others are back only after a while. */
const rememberNodesMs = 30_000;
/** How often a process notes that it lives, in milliseconds: so long the others do not know of a new one. */
const beatEveryMs = 2_000;
/** When a request may come again that was refused because Redis is away, in milliseconds. */
const askAgainMs = 1_000;
/** When counters agree again after Redis was lost or emptied, in milliseconds: the last log rows are stored by then. */
const agreeAgainMs = [400, 1_000];

/** What a bucket holds whose window has just begun. */
const unused: StoredCount = { used: 0, corrected: 0 };

/** Counters that all processes share in Redis. What they stored with their log rows is the truth, Redis its fast copy. */
export class RedisLimitStore implements LimitStore {
  readonly #options: RedisLimitStoreOptions;
  readonly #counters: RedisCounters;
  readonly #buckets: SharedBuckets;
  readonly #reader: StoredReader;
  readonly #settling: Settling;
  readonly #views: Views;
  readonly #changes: Changes;
  readonly #agreement: Agreement;
  readonly #outage: Outage;
  /** By its key: how long an organisation has lived in Redis. A window that began since then needs no stored counter. */
  readonly #lives = new BoundedMap<string, { life: string; since: number }>(maxLives);
  readonly #longestCallMs: number;
  readonly #quietMs: number;
  readonly #node = randomBase62(10);
  #serial = 0;
  /** How many processes shared the counters lately, and when that was heard, in monotonic milliseconds. */
  #nodes: { count: number; at: number }[] = [];
  /** Counts while Redis is away. */
  #share: Ledger;
  /** Requests that it admitted so far. */
  #admittedHere = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** When counters agree next, in monotonic milliseconds, and after which pauses they do then. */
  #agreesAt: number;
  #pausesMs: readonly number[] = [];
  #isClosed = false;

  private constructor(options: RedisLimitStoreOptions, nodesKey: string) {
    const { client, stored, clock, onUsed, timeoutMs = 100, longestCallMs = 3_600_000, quietMs = 15_000 } = options;
    this.#options = options;
    this.#longestCallMs = longestCallMs;
    this.#quietMs = quietMs;
    const counters = new RedisCounters({ client, clock, nodesKey, timeoutMs, longestCallMs });
    const buckets = new SharedBuckets(options.mac);
    const { storedTimeoutMs = 5_000 } = options;
    const reader = new StoredReader({ ...options, storedTimeoutMs });
    const watch = { isAway: () => this.#outage.isAway, lose: (error: unknown) => this.#lose(error) };
    this.#counters = counters;
    this.#buckets = buckets;
    this.#reader = reader;
    this.#settling = new Settling({ counters, clock, onUsed, ...watch });
    const isComplete = (bucket: SharedBucket, span: Span) => this.#isComplete(bucket, span);
    this.#views = new Views({ buckets, counters, stored, reader, timeoutMs, isComplete, ...watch });
    const { unsent } = this.#settling;
    this.#changes = new Changes({
      buckets,
      counters,
      reader,
      unsent,
      clock,
      onUsed,
      share: () => this.#share,
      ...watch,
    });
    this.#agreement = new Agreement({ counters, stored, clock, quietMs, storedTimeoutMs, onUsed });
    this.#outage = new Outage({
      recover: () => this.#recover(),
      message: options.isStrict
        ? "Cannot count in Redis: requests with limits are refused until Redis is back"
        : "Cannot count in Redis: this process counts by its share of each limit until Redis is back",
      warn: options.warn,
      clock,
      random: options.random,
    });
    this.#agreesAt = clock.monotonic() + this.#agreeEveryMs;
    this.#share = this.#createShare();
  }

  /** Creates the store. If Redis is away, it counts by the share of this process. */
  static async create(options: RedisLimitStoreOptions): Promise<RedisLimitStore> {
    const store = new RedisLimitStore(options, `gateway:{${await options.mac("nodes")}}:nodes`);
    try {
      await store.#beat();
    } catch (error) {
      store.#lose(error);
    }
    store.#tickAfter(0);
    return store;
  }

  get #agreeEveryMs(): number {
    const { agreeEveryMs = 10_000, random } = this.#options;
    return agreeEveryMs * (0.9 + 0.2 * random());
  }

  #createShare(): Ledger {
    return createLocalShare({
      now: () => this.#counters.time.now(),
      onUsed: this.#options.onUsed,
      nodes: () => Math.max(1, ...this.#nodes.map(({ count }) => count)),
      lastKnown: (limit, name, span) => {
        const heard = this.#buckets.find(limit, name)?.heard;
        return heard?.start === startOf(span) ? heard.used + heard.reserved : 0;
      },
    });
  }

  /** Counts without Redis from now on, until it is back. */
  #lose(error: unknown): void {
    if (this.#outage.begin(error)) this.#share = this.#createShare();
  }

  /** Notes in Redis that this process lives, and how many do. */
  async #beat(): Promise<void> {
    const count = await this.#counters.beat(this.#node);
    const at = this.#options.clock.monotonic();
    this.#nodes = [...this.#nodes.filter((heard) => at - heard.at < rememberNodesMs), { count, at }];
  }

  /** Reaches Redis again, sends what waits, and agrees with what was stored meanwhile, if the database says that. */
  async #recover(): Promise<void> {
    try {
      await this.#beat();
    } catch (error) {
      this.#options.client.reconnect();
      throw error;
    }
    await this.#settling.unsent.send(this.#counters);
    // windows that began meanwhile may have been counted elsewhere only
    this.#lives.clear();
    await this.#agreement.agreeAfterOutage(this.#buckets);
    this.#agreeSoon();
  }

  #tickAfter(delayMs: number): void {
    clearTimeout(this.#timer);
    if (!this.#isClosed) this.#timer = setTimeout(() => void this.#tick(), delayMs);
  }

  /** Plans the next agreement. */
  #agreeNext(): void {
    const [pauseMs = this.#agreeEveryMs, ...others] = this.#pausesMs;
    this.#pausesMs = others;
    this.#agreesAt = this.#options.clock.monotonic() + pauseMs;
  }

  /** Plans agreements soon, first after so many milliseconds: Redis was lost or emptied, and the last log rows are not stored. */
  #agreeSoon(...firstMs: number[]): void {
    this.#pausesMs = [...firstMs, ...agreeAgainMs];
    this.#agreeNext();
    this.#tickAfter(0);
  }

  /** What happens every few seconds. */
  async #tick(): Promise<void> {
    this.#timer = undefined;
    const { monotonic } = this.#options.clock;
    if (!this.#outage.isAway) {
      try {
        await this.#beat();
        if (monotonic() >= this.#agreesAt) {
          this.#agreeNext();
          await this.#agreement.agree(this.#buckets.all()).catch(() => {
            // stored counters are away: the next time is soon enough. Of Redis the next request will know
          });
        }
      } catch (error) {
        this.#lose(error);
      }
    }
    // unless somebody wants it sooner
    if (this.#timer === undefined) this.#tickAfter(Math.min(beatEveryMs, Math.max(0, this.#agreesAt - monotonic())));
  }

  #touch(bucket: SharedBucket): void {
    bucket.touchedAt = this.#options.clock.monotonic();
  }

  async reserve(claims: readonly Claim[]): Promise<Reservation | Refusal> {
    const buckets: SharedBucket[] = [];
    for (const claim of claims) buckets.push(await this.#bucketOf(claim));
    if (this.#outage.isAway) return this.#reserveHere(claims, buckets);
    const id = `${this.#node}${(this.#serial++).toString(36)}`;
    const deadline = this.#options.clock.monotonic() + this.#counters.reserveWithinMs;
    const request: Request = { claims, buckets, id, deadline, first: new Map(), asked: [] };
    try {
      return await this.#reserveShared(request);
    } catch (error) {
      // Redis is there, and has booked nothing yet: only this request is refused
      if (error instanceof StoredCountersError) return this.#reserveHere(claims, buckets);
      // Redis may have booked it nevertheless
      this.#settling.giveBack(
        request.asked.map((asked, index) => ({ ...asked, member: `${id}.${index + 1}:`, amount: 0 })),
      );
      this.#lose(error);
      return this.#reserveHere(claims, buckets);
    }
  }

  /** The bucket a claim counts in: its own, or the one that values beyond the bound share. */
  async #bucketOf({ limit, bucket: name }: Pick<Claim, "limit" | "bucket">): Promise<SharedBucket> {
    const bucket = await this.#buckets.get(limit, name);
    if (bucket.overflowsIn === undefined) return bucket;
    const { start } = spanOf(limit.window, this.#counters.time.now());
    return bucket.overflowsIn === start ? this.#buckets.get(limit, overflowBucket) : bucket;
  }

  async #reserveShared(request: Request): Promise<Reservation | Refusal> {
    const { claims, buckets, id } = request;
    const lifeKey = buckets[0]?.lifeKey ?? "";
    for (let question = 0; question < maxQuestions; question++) {
      const now = this.#counters.time.now();
      request.asked = claims.map((claim, index) => ({
        claim,
        bucket: buckets[index] as SharedBucket, // there is one for each claim
        span: spanOf(claim.limit.window, now),
      }));
      const life = this.#lives.get(lifeKey);
      const asked = request.asked.map((one, index) => this.#toSharedClaim(one, request.first.get(index), now));
      const reply = await this.#counters.reserve(asked, {
        id,
        lifeKey,
        life: life?.life ?? "",
        deadline: request.deadline,
      });
      if (reply.kind === "booked") return this.#toReservation(request, reply.booked);
      if (reply.kind === "refused") return this.#toRefusal(request, reply.index, reply.uses);
      if (reply.kind === "missing") await this.#readFirst(request, reply.indexes);
      if (reply.kind === "full") await this.#shareOverflow(request, reply.indexes);
      if (reply.kind === "life") {
        this.#lives.set(lifeKey, { life: reply.life, since: reply.at });
        if (life) this.#agreeSoon(0);
      }
    }
    throw new Error("Redis failed: it found no window for a reservation");
  }

  #toSharedClaim(
    { claim, bucket, span }: Asked,
    first: (StoredCount & { start: number }) | undefined,
    now: number,
  ): SharedClaim {
    const { least, beyond, limit } = claim;
    const start = startOf(span);
    return {
      keys: keysOf(bucket, span),
      start,
      end: Number.isFinite(span.end) ? span.end : 0,
      least,
      beyond,
      most: limit.most,
      first: first?.start === start ? first : this.#isComplete(bucket, span) ? unused : undefined,
      isOverflow: bucket.name === overflowBucket,
      keepUntil: keepUntil(span, now, this.#longestCallMs),
    };
  }

  /** Whether a window began since this process counts in Redis: a bucket that Redis does not have then holds nothing. */
  #isComplete(bucket: SharedBucket, span: Span): boolean {
    const since = this.#lives.get(bucket.lifeKey)?.since;
    return since !== undefined && startOf(span) >= since;
  }

  /** Reads what is stored of buckets that Redis does not have. */
  async #readFirst(request: Request, indexes: readonly number[]): Promise<void> {
    const { asked, first } = request;
    const startedAt = this.#options.clock.monotonic();
    const read = indexes.map(async (index) => {
      const one = asked[index];
      if (!one) return;
      const { bucket, span } = one;
      const { used, corrected } = await this.#reader.first(bucket, span);
      noteCorrected(bucket, span, corrected);
      const heard = heardLately(bucket, span, { now: this.#options.clock.monotonic(), withinMs: this.#quietMs });
      first.set(index, { start: startOf(span), used: Math.max(used, heard), corrected });
    });
    await Promise.all(read);
    request.deadline += this.#options.clock.monotonic() - startedAt;
  }

  /** Lets claims count in the bucket that values beyond the bound share. */
  async #shareOverflow({ claims, buckets, asked }: Request, indexes: readonly number[]): Promise<void> {
    for (const index of indexes) {
      const [claim, one] = [claims[index], asked[index]];
      if (!claim || !one) continue;
      one.bucket.overflowsIn = one.span.start;
      buckets[index] = await this.#buckets.get(claim.limit, overflowBucket);
    }
  }

  #toRefusal({ asked }: Request, index: number, uses: readonly SharedUse[]): Refusal {
    const states = asked.map(({ bucket, span }, place): BucketState => {
      const { used = 0, reserved = 0 } = uses[place] ?? {};
      bucket.heard = { start: startOf(span), used, reserved };
      return { used, reserved, span };
    });
    const [one, state] = [asked[index], states[index]];
    if (!one || !state) throw new TypeError("Redis failed: it refused a claim that was not made");
    const { claim, bucket, span } = one;
    reportRefusal(claim, { bucket: bucket.name, span, used: state.used }, this.#options.onUsed);
    return { claim, resetsAt: span.end, states };
  }

  #toReservation({ asked, id }: Request, booked: readonly (SharedUse & { amount: string })[]): Reservation {
    const states: BucketState[] = [];
    const bookings = asked.map((one, index): Booking => {
      const { used = 0, reserved = 0, amount = "0" } = booked[index] ?? {};
      one.bucket.heard = { start: startOf(one.span), used, reserved };
      this.#touch(one.bucket);
      states.push({ used, reserved, span: one.span });
      return { ...one, member: `${id}.${index + 1}:${amount}`, amount: Number(amount) };
    });
    let isOpen = true;
    const close = (used: Readonly<Record<Counted, number>> | undefined): LimitIncrement[] => {
      if (!isOpen) return [];
      isOpen = false;
      return this.#settling.settle(bookings, used);
    };
    return { states, settle: close, release: () => void close(undefined) };
  }

  /** Books by the share of this process, or refuses if it may not. */
  async #reserveHere(claims: readonly Claim[], buckets: readonly SharedBucket[]): Promise<Reservation | Refusal> {
    const [first] = claims;
    if (this.#options.isStrict && first) {
      return { claim: first, resetsAt: this.#counters.time.now() + askAgainMs, isAway: true };
    }
    await this.#hear(claims, buckets);
    const booked = this.#share.reserve(claims);
    if ("claim" in booked) return booked;
    this.#admittedHere++;
    for (const bucket of buckets) this.#touch(bucket);
    const settle: Reservation["settle"] = (used) => {
      const increments = booked.settle(used);
      this.#addHeard(buckets, increments);
      return increments;
    };
    return { states: booked.states, settle, release: () => booked.release() };
  }

  /** Notes what was used by the share of this process. */
  #addHeard(buckets: readonly SharedBucket[], increments: readonly LimitIncrement[]): void {
    for (const bucket of buckets) {
      this.#touch(bucket);
      const { heard, limit } = bucket;
      const own = increments.find((one) => one.limitId === limit.id && one.bucket === bucket.name);
      if (!own) continue;
      const { windowStart: start, used } = own;
      if (heard?.start === start) bucket.heard = { ...heard, used: heard.used + used };
      bucket.alone = { start, used: used + (bucket.alone?.start === start ? bucket.alone.used : 0) };
    }
  }

  /** Reads what is stored of buckets of which nothing was heard in this window; 0 is assumed of what cannot be read. */
  async #hear(claims: readonly Claim[], buckets: readonly SharedBucket[]): Promise<void> {
    const now = this.#counters.time.now();
    const unknown = buckets.flatMap((bucket, index) => {
      const limit = claims[index]?.limit ?? bucket.limit;
      const span = spanOf(limit.window, now);
      return bucket.heard?.start === startOf(span) ? [] : [{ bucket, span }];
    });
    if (unknown.length === 0) return;
    const read = unknown.map(async ({ bucket, span }) => {
      const { used } = await this.#reader.read(bucket, span);
      if (bucket.heard?.start !== startOf(span)) bucket.heard = { start: startOf(span), used, reserved: 0 };
    });
    await Promise.allSettled(read);
    for (const { bucket, span } of unknown) {
      if (bucket.heard?.start !== startOf(span)) bucket.heard = { start: startOf(span), used: 0, reserved: 0 };
    }
  }

  read(limit: Limit, name: string): Promise<BucketState> {
    return this.#views.read(limit, name);
  }

  list(limit: Limit): Promise<[bucket: string, state: BucketState][]> {
    return this.#views.list(limit);
  }

  reset(limit: Limit, name: string): Promise<LimitIncrement | undefined> {
    return this.#changes.reset(limit, name);
  }

  follow(counters: readonly CorrectedCounter[]): void {
    // those that no process has used lately agree with what is stored once one does
    for (const { organisationId, limitId, bucket: name, windowStart } of counters) {
      const bucket = this.#buckets.find({ organisationId, id: limitId }, name);
      if (bucket?.heard?.start === windowStart) this.#touch(bucket);
    }
    this.#agreeSoon(0);
  }

  add(limit: Limit, name: string, used: number): Promise<LimitIncrement | undefined> {
    return this.#changes.add(limit, name, used);
  }

  outage(): { of: "redis"; isAway: boolean; admitted: number } {
    return { of: "redis", isAway: this.#outage.isAway, admitted: this.#admittedHere };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#outage.close();
    await this.#settling.finish();
    if (!this.#outage.isAway) await this.#counters.leave(this.#node).catch(() => {});
    this.#options.client.close();
  }
}
