import { type Priority, priorities } from "../../schemas/queues.ts";

/** Of 21 places, high gets 16, normal 4 and low 1, where requests of all classes wait. */
const weights: Readonly<Record<Priority, number>> = { high: 16, normal: 4, low: 1 };

/** Entries of a class, in the order in which they came. */
interface ClassOfLine<Entry> {
  readonly entries: Set<Entry>;
  /** What it was served, divided by its weight. */
  served: number;
}

const newClass = <Entry>(): ClassOfLine<Entry> => ({ entries: new Set<Entry>(), served: 0 });

/**
 * Entries that wait their turn. Within a class the first to come is the first to be served. Classes share the turns by their
 * weights, so that none starves.
 */
export class Line<Entry> {
  readonly #classes: Readonly<Record<Priority, ClassOfLine<Entry>>> = {
    high: newClass(),
    normal: newClass(),
    low: newClass(),
  };

  get size(): number {
    let size = 0;
    for (const name of priorities) size += this.#classes[name].entries.size;
    return size;
  }

  /** Entries of a class that wait. */
  sizeOf(priority: Priority): number {
    return this.#classes[priority].entries.size;
  }

  /** @returns Its place, counted from 1, among the entries of its class and of higher ones. */
  add(entry: Entry, priority: Priority): number {
    const own = this.#classes[priority];
    if (own.entries.size === 0) own.served = Math.max(own.served, this.#leastServed());
    own.entries.add(entry);
    let place = 0;
    for (const name of priorities) {
      place += this.sizeOf(name);
      if (name === priority) break;
    }
    return place;
  }

  /** The entry whose turn it is. */
  head(): Entry | undefined {
    let next: ClassOfLine<Entry> | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const name of priorities) {
      const one = this.#classes[name];
      const after = one.served + 1 / weights[name];
      if (one.entries.size === 0 || after >= least) continue;
      least = after;
      next = one;
    }
    return next?.entries.values().next().value;
  }

  /** The last entry of the lowest class, if that is below another one. */
  lastBelow(priority: Priority): Entry | undefined {
    for (const name of priorities.toReversed()) {
      if (name === priority) return undefined;
      const last = [...this.#classes[name].entries].at(-1);
      if (last) return last;
    }
    return undefined;
  }

  /** @param isServed It had its turn; else it left before. */
  remove(entry: Entry, priority: Priority, isServed: boolean): void {
    const own = this.#classes[priority];
    if (own.entries.delete(entry) && isServed) own.served += 1 / weights[priority];
  }

  /** Those that wait, class by class. */
  *entries(): Generator<Entry> {
    for (const name of priorities) yield* this.#classes[name].entries;
  }

  /** A class that comes anew gets no turns for the time in which it did not wait. */
  #leastServed(): number {
    let least = Number.POSITIVE_INFINITY;
    for (const name of priorities) {
      const { entries, served } = this.#classes[name];
      if (entries.size > 0) least = Math.min(least, served);
    }
    return Number.isFinite(least) ? least : 0;
  }
}
