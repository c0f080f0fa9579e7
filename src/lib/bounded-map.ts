interface Entry<Value> {
  value: Value;
  /** It was asked for since it was stored, or since it was spared last. */
  isUsed: boolean;
}

/**
 * A map that forgets an entry when it is full, so that what callers send cannot grow memory: one that was not asked for
 * lately (the second-chance algorithm: nearly as good as least recently used, and asking moves nothing).
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

  /** Forgets the oldest entry that was not used; those that were are spared once, and are the youngest then. */
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

  /** Entries, those first that are forgotten first unless they are used. */
  *entries(): IterableIterator<[Key, Value]> {
    for (const [key, { value }] of this.#entries) yield [key, value];
  }

  clear(): void {
    this.#entries.clear();
  }
}

/**
 * Remembers what `parse` made of a text, bounded.
 *
 * @param limit Most results.
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
