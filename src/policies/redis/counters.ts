import type { Clock } from "../../lib/clock.ts";
import type { RedisClient } from "../../lib/redis.ts";
import { maxBuckets } from "../limit-store.ts";
import type { StoredCount } from "../stored-counters.ts";
import type { BucketKeys } from "./buckets.ts";
import {
  addScript,
  agreeScript,
  beatScript,
  leaveScript,
  readScript,
  reserveScript,
  resetScript,
  settleScript,
} from "./scripts.ts";
import { SharedTime } from "./shared-time.ts";
import { within } from "./within.ts";

/** One claim as Redis books it. Times are Unix milliseconds. */
export interface SharedClaim {
  readonly keys: BucketKeys;
  /** Begin and end of the window; an end of 0: it never ends. */
  readonly start: number;
  readonly end: number;
  readonly least: number;
  readonly beyond: number;
  readonly most: number;
  /** What a new bucket holds; undefined where it must be read first. */
  readonly first: StoredCount | undefined;
  readonly isOverflow: boolean;
  readonly keepUntil: number;
}

/** What a bucket holds. */
export interface SharedUse {
  readonly used: number;
  readonly reserved: number;
}

/** What Redis makes of claims. The indexes are those of the claims. */
type ReserveReply =
  | { readonly kind: "booked"; readonly booked: readonly (SharedUse & { readonly amount: string })[] }
  | { readonly kind: "refused"; readonly index: number; readonly uses: readonly SharedUse[] }
  /** Buckets that Redis does not have must be read from the stored counters. */
  | { readonly kind: "missing"; readonly indexes: readonly number[] }
  /** Limits have no room for another bucket. */
  | { readonly kind: "full"; readonly indexes: readonly number[] }
  /** Redis was emptied, or this process meets the organisation for the first time. */
  | { readonly kind: "life"; readonly life: string; readonly at: number }
  /** The windows were not those of now. */
  | { readonly kind: "time" };

/** Settles one booking. */
export interface SharedSettlement {
  readonly keys: BucketKeys;
  /** `<id>:<amount>`, or `<id>:` where the amount was not learnt. */
  readonly member: string;
  /** Key of the bucket that counts what was used. */
  readonly counting: string;
  readonly used: number;
  readonly keepUntil: number;
  readonly keepCounting: number;
}

/** A bucket and what is stored of it. */
export interface StoredUse extends StoredCount {
  readonly keys: BucketKeys;
  readonly keepUntil: number;
}

/** Time by which replies to commands other than reservations must be there, at least. */
const patienceMs = 1_000;
/**
 * How many replies to reservations a process waits for longer, and how long, in milliseconds: its code and its connection are
 * new, and its share would be that of a process that has heard of no use.
 */
const firstReplies = { count: 32, withinMs: 2_000 };
/** How much later than this process stops waiting a script still works: the clocks differ a little. */
const slackMs = 50;
/** How long stored counters may hold what a reset took away: its transaction is under way. */
const resetMs = 30_000;
/** Time without a sign after which a process counts as gone. */
const goneAfterMs = 15_000;

/** The members of a reply that is a list. Text is all the scripts return, but for indexes. */
function toList(reply: unknown): string[] {
  if (!Array.isArray(reply)) throw new TypeError("Redis failed: the reply of a script is not a list");
  return reply.map(String);
}

/** A list in groups of so many. */
function groupsOf(list: readonly string[], size: number): string[][] {
  return Array.from({ length: Math.floor(list.length / size) }, (_, index) =>
    list.slice(index * size, (index + 1) * size),
  );
}

/** Settings of counters in Redis. */
interface RedisCountersOptions {
  readonly client: RedisClient;
  readonly clock: Clock;
  /** Key of the processes that count here. */
  readonly nodesKey: string;
  /** Longest time to wait for a reservation, in milliseconds. */
  readonly timeoutMs: number;
  /** Time after which a reservation that was not settled expires, in milliseconds. */
  readonly longestCallMs: number;
}

/** The counters in Redis: each function runs one script. All reject if Redis does not reply in time. */
export class RedisCounters {
  readonly time: SharedTime;
  readonly #options: RedisCountersOptions;
  /** Replies to reservations so far. */
  #replies = 0;

  constructor(options: RedisCountersOptions) {
    this.#options = options;
    this.time = new SharedTime(options.clock);
  }

  /** @param withinMs Longest wait for the reply. */
  #run(
    script: string,
    { keys, args }: { keys: readonly string[]; args: readonly (string | number)[] },
    withinMs: number,
  ): Promise<unknown> {
    return within(withinMs, this.#options.client.run(script, keys, args), "Redis failed: no reply");
  }

  /** Longest wait for what no request waits for. */
  get #patienceMs(): number {
    return Math.max(patienceMs, this.#options.timeoutMs);
  }

  /** Longest time a reservation waits for Redis. */
  get reserveWithinMs(): number {
    const { timeoutMs } = this.#options;
    return this.#replies < firstReplies.count ? Math.max(firstReplies.withinMs, timeoutMs) : timeoutMs;
  }

  /** @param request `life`: that of the organisation as known; `deadline`: monotonic milliseconds. */
  async reserve(
    claims: readonly SharedClaim[],
    request: { id: string; lifeKey: string; life: string; deadline: number },
  ): Promise<ReserveReply> {
    const { id, lifeKey, life, deadline } = request;
    const sentAt = this.#options.clock.monotonic();
    const withinMs = Math.max(0, deadline - sentAt);
    const keys = [lifeKey, ...claims.flatMap(({ keys: { bucket, open, count } }) => [bucket, open, count])];
    const notAfter = this.time.now() + Math.ceil(withinMs) + slackMs;
    const args = [life, id, id, notAfter, this.#options.longestCallMs, maxBuckets, ...claims.flatMap(toArguments)];
    const [kind, at, ...rest] = toList(await this.#run(reserveScript, { keys, args }, withinMs));
    this.#replies++;
    switch (kind) {
      case "booked":
        return {
          kind,
          booked: groupsOf(rest, 3).map(([used, reserved, amount = ""]) => ({
            used: Number(used),
            reserved: Number(reserved),
            amount,
          })),
        };
      case "refused":
        return {
          kind,
          index: Number(rest[0]) - 1,
          uses: groupsOf(rest.slice(1), 2).map(([used, reserved]) => ({
            used: Number(used),
            reserved: Number(reserved),
          })),
        };
      case "missing":
      case "full":
        return { kind, indexes: rest.map((index) => Number(index) - 1) };
      case "life":
        this.time.learn(Number(at), sentAt);
        return { kind, life: rest[0] ?? "", at: Number(at) };
      default:
        this.time.learn(Number(at), sentAt);
        return { kind: "time" };
    }
  }

  /** @returns Use before and after of each; undefined where nothing was counted. */
  async settle(settlements: readonly SharedSettlement[]): Promise<({ before: number; after: number } | undefined)[]> {
    const withinMs = this.#patienceMs;
    const keys = settlements.flatMap(({ keys: { bucket, open }, counting }) => [bucket, open, counting]);
    const notAfter = this.time.now() + this.#options.timeoutMs + slackMs;
    const args = settlements.flatMap(({ member, used, keepUntil, keepCounting }) => [
      member,
      used,
      keepUntil,
      keepCounting,
    ]);
    const reply = toList(await this.#run(settleScript, { keys, args: [notAfter, ...args] }, withinMs));
    return groupsOf(reply, 2).map(([before, after]) =>
      after === "" ? undefined : { before: Number(before), after: Number(after) },
    );
  }

  /**
   * Agrees with stored counters.
   *
   * @param readAt When they were read, in Unix milliseconds of Redis.
   * @param quietMs How long a bucket that is lowered was not used.
   */
  async agree(
    stored: readonly StoredUse[],
    { readAt, quietMs }: { readAt: number; quietMs: number },
  ): Promise<{ before: number; after: number; reserved: number }[]> {
    const keys = stored.flatMap(({ keys: { bucket, count } }) => [bucket, count]);
    const args = [readAt, quietMs, ...stored.flatMap(({ used, corrected, keepUntil }) => [used, corrected, keepUntil])];
    const reply = toList(await this.#run(agreeScript, { keys, args }, this.#patienceMs));
    return groupsOf(reply, 3).map(([before, after, reserved]) => ({
      before: Number(before),
      after: Number(after),
      reserved: Number(reserved),
    }));
  }

  /** @returns State of each; undefined where Redis has none. */
  async read(buckets: readonly BucketKeys[], withinMs: number): Promise<(SharedUse | undefined)[]> {
    const keys = buckets.flatMap(({ bucket, open }) => [bucket, open]);
    const reply = toList(await this.#run(readScript, { keys, args: [] }, withinMs));
    return groupsOf(reply, 2).map(([used, reserved]) =>
      used === "" ? undefined : { used: Number(used), reserved: Number(reserved) },
    );
  }

  /**
   * @param amount What is taken away; undefined: all that was used.
   * @returns What was taken away.
   */
  async reset({ keys, used, corrected, keepUntil }: StoredUse, amount: number | undefined): Promise<number> {
    const args = [amount ?? "", used, corrected, keepUntil, resetMs];
    return Number(await this.#run(resetScript, { keys: [keys.bucket, keys.count], args }, this.#patienceMs));
  }

  /** @returns Use before and after; undefined where Redis does not have the bucket. */
  async add({ bucket }: BucketKeys, amount: number): Promise<{ before: number; after: number } | undefined> {
    const reply = toList(await this.#run(addScript, { keys: [bucket], args: [amount] }, this.#patienceMs));
    const [before, after] = reply.map(Number);
    return before === undefined || after === undefined ? undefined : { before, after };
  }

  /**
   * Notes that a process lives, and learns the time.
   *
   * @returns How many processes live.
   */
  async beat(node: string): Promise<number> {
    const sentAt = this.#options.clock.monotonic();
    const { nodesKey } = this.#options;
    const reply = await this.#run(beatScript, { keys: [nodesKey], args: [node, goneAfterMs] }, this.#patienceMs);
    const [now, nodes] = toList(reply);
    this.time.learn(Number(now), sentAt);
    return Number(nodes);
  }

  /** Notes that a process ended. */
  async leave(node: string): Promise<void> {
    await this.#run(leaveScript, { keys: [this.#options.nodesKey], args: [node] }, this.#patienceMs);
  }
}

function toArguments(claim: SharedClaim): (string | number)[] {
  const { start, end, least, beyond, most, first, isOverflow, keepUntil } = claim;
  return [start, end, least, beyond, most, first?.used ?? "", isOverflow ? 1 : 0, keepUntil, first?.corrected ?? 0];
}
