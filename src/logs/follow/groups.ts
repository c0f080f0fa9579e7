import type { LogRecord } from "../record.ts";
import type { Foreseen } from "../writer.ts";
import type { Follower } from "./follower.ts";
import type { TailFilter } from "./page.ts";
import { type NumberedFilter, Sieve } from "./sieve.ts";

/** Followers that want the same rows. Its number is never used again. */
export interface Group extends NumberedFilter {
  readonly followers: Set<Follower>;
}

const filterKey = (filter: TailFilter): string =>
  JSON.stringify(filter, (_, value: unknown) => (value instanceof Set ? [...value].sort() : value));

/** Followers by what they want. */
export class Groups {
  readonly #byKey = new Map<string, Group>();
  readonly #ofFollower = new Map<Follower, Group>();
  #newest = 0;
  #sieve: Sieve | undefined;

  [Symbol.iterator](): IterableIterator<Group> {
    return this.#byKey.values();
  }

  /** The group of a follower; undefined once it has left. */
  of(follower: Follower): Group | undefined {
    return this.#ofFollower.get(follower);
  }

  /** Adds a follower to the group of its filter; one that is in another group leaves it. */
  join(follower: Follower): void {
    const key = filterKey(follower.filter);
    const known = this.#byKey.get(key);
    if (known !== undefined && known === this.#ofFollower.get(follower)) return;
    this.leave(follower);
    const group = known ?? { number: ++this.#newest, filter: follower.filter, followers: new Set() };
    if (group !== known) this.#sieve = undefined;
    this.#byKey.set(key, group);
    group.followers.add(follower);
    this.#ofFollower.set(follower, group);
  }

  leave(follower: Follower): void {
    const group = this.#ofFollower.get(follower);
    if (!group) return;
    this.#ofFollower.delete(follower);
    group.followers.delete(follower);
    if (group.followers.size > 0) return;
    this.#byKey.delete(filterKey(group.filter));
    this.#sieve = undefined;
  }

  /** Which groups may want the rows of records that are about to be written; undefined without groups. */
  foresee(records: readonly Pick<LogRecord, "details">[]): Foreseen | undefined {
    if (this.#byKey.size === 0) return undefined;
    this.#sieve ??= new Sieve([...this.#byKey.values()]);
    return { upTo: this.#newest, filters: this.#sieve.find(records) };
  }

  /** Whether a group may want rows that were written. */
  mayWant({ upTo, filters }: Foreseen): boolean {
    return filters.length > 0 || this.#newest > upTo;
  }
}
