import { type Limit, maxBuckets, overflowBucket } from "./limit-store.ts";
import { type Span, spanOf } from "./windows.ts";

/** Buckets of one limit by name. */
type Named<Bucket> = Map<string, Bucket>;

/** Makes the bucket of a window that has begun. */
type OpenBucket<Bucket> = (limit: Limit, name: string, span: Span) => Bucket;

/** Buckets of all limits, each in its latest window. The number of buckets of a limit is bounded. */
export class Buckets<Bucket extends { readonly span: Span }> {
  /** By organisation and limit. */
  readonly #limits = new Map<string, Map<string, Named<Bucket>>>();
  readonly #open: OpenBucket<Bucket>;

  constructor(open: OpenBucket<Bucket>) {
    this.#open = open;
  }

  #named({ organisationId, id }: Limit): Named<Bucket> | undefined {
    return this.#limits.get(organisationId)?.get(id);
  }

  #nameable({ organisationId, id }: Limit): Named<Bucket> {
    const limits = this.#limits.get(organisationId) ?? new Map<string, Named<Bucket>>();
    this.#limits.set(organisationId, limits);
    const named = limits.get(id) ?? new Map<string, Bucket>();
    limits.set(id, named);
    return named;
  }

  /** The bucket in the window of a time; a new one if the window has just begun. Beyond `maxBuckets` it is a shared one. */
  at(limit: Limit, name: string, time: number): Bucket {
    const named = this.#named(limit) ?? this.#nameable(limit);
    const found = named.get(name);
    if (found && time < found.span.end) return found;
    if (!found && name !== overflowBucket && named.size >= maxBuckets) {
      for (const [other, { span }] of named) if (time >= span.end) named.delete(other);
      if (named.size >= maxBuckets) return this.at(limit, overflowBucket, time);
    }
    const opened = this.#open(limit, name, spanOf(limit.window, time));
    named.set(name, opened);
    return opened;
  }

  /** The bucket in the window of a time, if there is one. */
  find(limit: Limit, name: string, time: number): Bucket | undefined {
    const found = this.#named(limit)?.get(name);
    return found && time < found.span.end ? found : undefined;
  }

  /** Names of the buckets of a limit, in any window. */
  namesOf(limit: Limit): Iterable<string> {
    return this.#named(limit)?.keys() ?? [];
  }

  /** All buckets. */
  *all(): IterableIterator<Bucket> {
    for (const limits of this.#limits.values()) for (const named of limits.values()) yield* named.values();
  }

  /** Forgets a bucket, unless another window has replaced it. */
  delete(limit: Limit, name: string, bucket: Bucket): void {
    const { organisationId, id } = limit;
    const limits = this.#limits.get(organisationId);
    const named = limits?.get(id);
    if (named?.get(name) !== bucket) return;
    named.delete(name);
    if (named.size === 0) limits?.delete(id);
    if (limits?.size === 0) this.#limits.delete(organisationId);
  }
}
