interface Entry<Value> {
  value: Value;
  /** It was read since it was stored or last spared. */
  isUsed: boolean;
}

/**
 * A map of limited size, so that callers cannot grow memory: when full, it evicts an entry that was not read
 * recently (the second-chance algorithm: nearly as good as least recently used, and reads move nothing).
 */
export class BoundedMap<Key, Value> {
  readonly #entries = new Map<Key, Entry<Value>>();
  readonly #limit: number;

  /** @param limit Most entries; at least 1. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: Key): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    entry.isUsed = true;
    return entry.value;
  }

  /** As `get`, which does not count as use. */
  peek(key: Key): Value | undefined {
    return this.#entries.get(key)?.value;
  }

  set(key: Key, value: Value): void {
    const isKnown = this.#entries.delete(key);
    if (!isKnown && this.#entries.size >= this.#limit) this.#forgetOne();
    this.#entries.set(key, { value, isUsed: false });
  }

  /** Evicts the oldest entry that was not used; used ones are spared once and become the newest. */
  #forgetOne(): void {
    for (const [key, entry] of this.#entries) {
      this.#entries.delete(key);
      if (!entry.isUsed) return;
      entry.isUsed = false;
      this.#entries.set(key, entry);
    }
  }

  delete(key: Key): void {
    this.#entries.delete(key);
  }

  /** Entries in the order of eviction, unless they are used. */
  *entries(): IterableIterator<[Key, Value]> {
    for (const [key, { value }] of this.#entries) yield [key, value];
  }

  clear(): void {
    this.#entries.clear();
  }
}

/**
 * Caches the results of `parse` by text, bounded.
 *
 * @param limit Most results.
 * @param parse Pure; if it throws, nothing is cached.
 * @param maxLength Longer text is parsed every time.
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
