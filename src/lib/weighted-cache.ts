interface Entry<Value> {
  readonly value: Value;
  readonly weight: number;
  /** It was read since it was stored or last spared. */
  isUsed: boolean;
}

/** Cached values of one owner. */
interface Share<Value> {
  readonly entries: Map<string, Entry<Value>>;
  weight: number;
}

/**
 * Values by text, limited by their total memory. When full, the owner with the most memory loses values it has not
 * used recently, so an owner cannot evict the values of owners with less.
 */
export class WeightedCache<Value> {
  readonly #shares = new Map<string, Share<Value>>();
  readonly #owners = new Map<string, string>();
  readonly #limit: number;
  readonly #largest: number;
  #weight = 0;

  /**
   * @param limit Most bytes, roughly.
   * @param largest Most bytes of one value. Default a quarter of all.
   */
  constructor(limit: number, largest = limit / 4) {
    this.#limit = limit;
    this.#largest = largest;
  }

  /** Bytes of all values, roughly. */
  get weight(): number {
    return this.#weight;
  }

  get size(): number {
    return this.#owners.size;
  }

  /** The value of a text, whoever stored it. */
  get(text: string): Value | undefined {
    const owner = this.#owners.get(text);
    const entry = owner === undefined ? undefined : this.#shares.get(owner)?.entries.get(text);
    if (entry) entry.isUsed = true;
    return entry?.value;
  }

  /** Caches a value, unless it is too large. */
  set(text: string, value: Value, { owner, weight }: { owner: string; weight: number }): void {
    this.delete(text);
    if (weight > this.#largest) return;
    const share = this.#shares.get(owner) ?? { entries: new Map(), weight: 0 };
    this.#shares.set(owner, share);
    share.entries.set(text, { value, weight, isUsed: false });
    share.weight += weight;
    this.#owners.set(text, owner);
    this.#weight += weight;
    while (this.#weight > this.#limit) this.#forgetOne();
  }

  delete(text: string): void {
    const owner = this.#owners.get(text);
    const share = owner === undefined ? undefined : this.#shares.get(owner);
    const entry = share?.entries.get(text);
    if (owner === undefined || !share || !entry) return;
    share.entries.delete(text);
    share.weight -= entry.weight;
    this.#weight -= entry.weight;
    this.#owners.delete(text);
    if (share.entries.size === 0) this.#shares.delete(owner);
  }

  /** Evicts the heaviest owner's oldest unused value; used ones are spared once. */
  #forgetOne(): void {
    let heaviest: Share<Value> | undefined;
    for (const share of this.#shares.values()) if (share.weight > (heaviest?.weight ?? -1)) heaviest = share;
    for (const [text, entry] of heaviest?.entries ?? []) {
      if (!entry.isUsed) {
        this.delete(text);
        return;
      }
      entry.isUsed = false;
      heaviest?.entries.delete(text);
      heaviest?.entries.set(text, entry);
    }
  }
}
