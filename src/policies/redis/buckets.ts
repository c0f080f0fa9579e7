import { BoundedMap } from "../../lib/bounded-map.ts";
import type { Mac } from "../../lib/hash.ts";
import { dayMs } from "../../lib/periods.ts";
import type { Limit } from "../limit-store.ts";
import { type Span, startOf } from "../windows.ts";

/** Most buckets a process knows. Of further ones it forgets what it heard longest ago. */
const maxKnown = 100_000;
/** Most digests of organisations and limits in memory. */
const maxOwners = 10_000;
/** Letters of a digest in a key: 132 bits. */
const digestLength = 22;

/** What Redis said last about a bucket. */
interface Heard {
  /** Begin of the window. */
  readonly start: number;
  readonly used: number;
  readonly reserved: number;
}

/** One bucket of a limit, as this process knows it. */
export interface SharedBucket {
  limit: Limit;
  readonly name: string;
  /** What its keys begin with. */
  readonly keys: string;
  /** What the keys of its limit begin with. */
  readonly limitKeys: string;
  /** Key of the life of its organisation in Redis: it changes when Redis was emptied. */
  readonly lifeKey: string;
  heard: Heard | undefined;
  /** What this process used by its share since Redis was lost, and the begin of the window. */
  alone: { readonly start: number; readonly used: number } | undefined;
  /** Monotonic milliseconds at which this process used it; undefined once stored and shared counters agreed since then. */
  touchedAt: number | undefined;
  /** What re-priced rows had added to it when it was read last, and the begin of the window. */
  corrected: { readonly start: number; readonly amount: number };
  /** Begin of the window in which its limit has no room for another bucket. */
  overflowsIn: number | undefined;
}

/** The keys of a bucket in one window. */
export interface BucketKeys {
  readonly bucket: string;
  /** What is reserved. */
  readonly open: string;
  /** How many buckets the limit has in the window. */
  readonly count: string;
}

/** The keys of a bucket in a window. */
export function keysOf({ keys, limitKeys }: SharedBucket, span: Span): BucketKeys {
  const start = startOf(span);
  return { bucket: `${keys}:${start}`, open: `${keys}:${start}:open`, count: `${limitKeys}:${start}` };
}

/** Shortest and longest time a bucket without reservations outlives its window. */
const afterWindow = { least: 60_000, most: dayMs };
/** How long a bucket that never resets stays after its last use. */
const keepEverMs = 400 * dayMs;

/**
 * Until when Redis keeps a bucket, in Unix milliseconds.
 *
 * @param openMs How long something may still be reserved of it; 0 where nothing is.
 */
export function keepUntil({ start, end }: Span, now: number, openMs: number): number {
  if (!Number.isFinite(end)) return now + keepEverMs;
  const afterwards = Math.min(Math.max(end - start, afterWindow.least), afterWindow.most);
  return end + Math.max(afterwards, openMs);
}

/** How long the rows of what was used may take until they are stored, in milliseconds. */
const storedAfterMs = 5_000;

/**
 * What a bucket holds at least, by what this process heard a moment ago: Redis may have lost it since, and its log rows may not
 * be stored yet.
 *
 * @param now Monotonic milliseconds.
 * @param withinMs How long ago a moment is, at most.
 */
export function heardLately(
  { heard, touchedAt }: SharedBucket,
  span: Span,
  { now, withinMs }: { now: number; withinMs: number },
): number {
  const isLate = touchedAt === undefined || now - touchedAt > Math.min(withinMs, storedAfterMs);
  return isLate || heard?.start !== startOf(span) ? 0 : heard.used;
}

/** Notes what re-priced rows have added to a bucket. What was heard of it before is too old. */
export function noteCorrected(bucket: SharedBucket, span: Span, amount: number): void {
  const { start, amount: before } = bucket.corrected;
  if (amount === (start === startOf(span) ? before : 0)) return;
  bucket.corrected = { start: startOf(span), amount };
  bucket.heard = undefined;
}

/** The buckets a process knows. */
export class SharedBuckets {
  readonly #known = new BoundedMap<string, SharedBucket>(maxKnown);
  readonly #owners = new BoundedMap<string, string>(maxOwners);
  readonly #mac: Mac;

  /** @param mac Digest of what keys are named after: tenants and values of requests do not stand in Redis. */
  constructor(mac: Mac) {
    this.#mac = mac;
  }

  async #digest(...of: string[]): Promise<string> {
    return (await this.#mac(JSON.stringify(of))).slice(0, digestLength);
  }

  /** As `#digest`, for organisations and limits: many buckets have the same. */
  async #ofOwners(...of: string[]): Promise<string> {
    const place = JSON.stringify(of);
    const known = this.#owners.get(place);
    if (known !== undefined) return known;
    const made = await this.#digest(...of);
    this.#owners.set(place, made);
    return made;
  }

  /** A bucket that is known already. */
  find({ organisationId, id }: Pick<Limit, "organisationId" | "id">, name: string): SharedBucket | undefined {
    return this.#known.get(JSON.stringify([organisationId, id, name]));
  }

  /** A bucket, whose keys are made on first use. */
  async get(limit: Limit, name: string): Promise<SharedBucket> {
    const { organisationId, id } = limit;
    const place = JSON.stringify([organisationId, id, name]);
    const known = this.#known.get(place);
    if (known) {
      known.limit = limit;
      return known;
    }
    // all keys of an organisation lie on one node of a cluster
    const organisation = `gateway:{${await this.#ofOwners(organisationId)}}`;
    const made: SharedBucket = {
      limit,
      name,
      keys: `${organisation}:${await this.#digest(organisationId, id, name)}`,
      limitKeys: `${organisation}:${await this.#ofOwners(organisationId, id)}`,
      lifeKey: `${organisation}:life`,
      heard: undefined,
      alone: undefined,
      touchedAt: undefined,
      corrected: { start: 0, amount: 0 },
      overflowsIn: undefined,
    };
    const raced = this.#known.get(place);
    if (raced) return raced;
    this.#known.set(place, made);
    return made;
  }

  /** All of them. */
  *all(): IterableIterator<SharedBucket> {
    for (const [, bucket] of this.#known.entries()) yield bucket;
  }
}
