import { memoizeText } from "../lib/bounded-map.ts";
import type { Mac } from "../lib/hash.ts";
import { WeightedCache } from "../lib/weighted-cache.ts";

/** Shorter text is searched again: that takes less time than its digest. */
const shortest = 1_024;
/** Most strings that are remembered, at about 250 bytes each. */
const mostStrings = 32 * 1024;
/** Most owners whose digests are remembered. */
const mostOwners = 1_000;

/** Whose strings are searched, and what for. */
export interface CleanOwner {
  /** Organisation and workspace as JSON: tenants cannot find out what others sent. */
  readonly tenant: string;
  /** Names what is looked for in a line: other rules find other values. */
  readonly rules: string;
}

/**
 * Strings of requests in which nothing was found. Agents send their conversation with each turn, so most strings of a request
 * came with the one before. What is remembered of a string is a digest under a key of this process.
 */
export class CleanStrings {
  readonly #mac: Mac;
  readonly #known = new WeightedCache<true>(mostStrings);
  readonly #digestOfOwner: (owner: string) => string | undefined;

  /** @param mac Under a random key. One that returns promises remembers nothing. */
  constructor(mac: Mac) {
    this.#mac = mac;
    this.#digestOfOwner = memoizeText(mostOwners, (owner) => this.#digestOf(owner));
  }

  #digestOf(text: string): string | undefined {
    const digest = this.#mac(text);
    return typeof digest === "string" ? digest : undefined;
  }

  /** Strings that are remembered. */
  get size(): number {
    return this.#known.size;
  }

  /** The name of a string that can be remembered. */
  nameOf(text: string, { tenant, rules }: CleanOwner): string | undefined {
    // strings of which UTF-8 is not exact would share their digests
    if (text.length < shortest || !text.isWellFormed()) return undefined;
    const digest = this.#digestOf(text);
    // a digest of all three would copy the text
    return digest && `${this.#digestOfOwner(`${tenant}\n${rules}`)} ${digest}`;
  }

  /** Whether nothing was found in the string with this name. */
  has(name: string): boolean {
    return this.#known.get(name) === true;
  }

  /** Remembers that nothing was found in the string with this name. */
  add(name: string, { tenant }: CleanOwner): void {
    this.#known.set(name, true, { owner: tenant, weight: 1 });
  }
}
