import type { CacheEntry } from "./entry.ts";

/** How a call ended for those who waited for it: with a response, with the provider's error, or so that another has to call. */
export type Landing = { readonly entry: CacheEntry } | { readonly error: Error } | "again";

/** Calls that are running, by key, so that identical ones wait for the first. */
export class Flights {
  readonly #running = new Map<string, Promise<Landing>>();

  /** The running call of a key. */
  find(key: string): Promise<Landing> | undefined {
    return this.#running.get(key);
  }

  /** Notes that a call runs; the result ends it, once. */
  start(key: string): (landing: Landing) => void {
    const { promise, resolve } = Promise.withResolvers<Landing>();
    this.#running.set(key, promise);
    return (landing) => {
      if (this.#running.get(key) === promise) this.#running.delete(key);
      resolve(landing);
    };
  }
}
