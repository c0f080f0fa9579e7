import { BoundedMap } from "../../lib/bounded-map.ts";
import type { Clock } from "../../lib/clock.ts";

/** A token and its expiry. */
export interface FetchedToken {
  token: string;
  /** Unix milliseconds. */
  expiresAt: number;
}

/** Caches tokens until shortly before they expire; parallel requests share one fetch. */
export interface TokenCache {
  /**
   * The cached token for a key, fetched when it is missing or about to expire.
   *
   * @param key Parts that identify tenant, credential and purpose. They are never joined, so two keys cannot collide.
   */
  get(key: readonly string[], load: () => Promise<FetchedToken>): Promise<string>;
}

/** A token this close to its expiry is fetched again. */
const marginMs = 60_000;
const maxTokens = 5_000;

/** Creates an empty cache. A failed fetch is not cached. */
export function createTokenCache(clock: Clock): TokenCache {
  const known = new BoundedMap<string, FetchedToken>(maxTokens);
  const running = new Map<string, Promise<FetchedToken>>();
  return {
    async get(parts, load) {
      const key = JSON.stringify(parts);
      const hit = known.get(key);
      if (hit && hit.expiresAt - marginMs > clock.now()) return hit.token;
      let fetching = running.get(key);
      if (!fetching) {
        fetching = load().finally(() => running.delete(key));
        running.set(key, fetching);
      }
      const fetched = await fetching;
      known.set(key, fetched);
      return fetched.token;
    },
  };
}
