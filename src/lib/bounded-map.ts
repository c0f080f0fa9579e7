/** A map that forgets its oldest entry when it is full, so that what callers send cannot grow memory. */
export class BoundedMap<Key, Value> {
  readonly #entries = new Map<Key, Value>();
  readonly #limit: number;

  /** @param limit Most entries kept; at least 1. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key);
  }

  set(key: Key, value: Value): void {
    if (this.#entries.size >= this.#limit && !this.#entries.has(key)) {
      const oldest = this.#entries.keys().next();
      if (!oldest.done) this.#entries.delete(oldest.value);
    }
    this.#entries.set(key, value);
  }

  delete(key: Key): void {
    this.#entries.delete(key);
  }

  /** Entries, oldest first. */
  entries(): IterableIterator<[Key, Value]> {
    return this.#entries.entries();
  }

  clear(): void {
    this.#entries.clear();
  }
}

/**
 * Remembers what `parse` made of a text, bounded.
 *
 * @param limit Most results kept.
 * @param parse Pure; what it throws is not remembered.
 * @param maxLength Longer texts are parsed each time.
 */
export function memoizeText<Value>(
  limit: number,
  parse: (text: string) => Value,
  maxLength = 4096,
): (text: string) => Value {
  const known = new BoundedMap<string, { value: Value }>(limit);
  return (text) => {
    const hit = known.get(text);
    if (hit) return hit.value;
    const value = parse(text);
    if (text.length <= maxLength) known.set(text, { value });
    return value;
  };
}
