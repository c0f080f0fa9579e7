import { BoundedMap } from "../../lib/bounded-map.ts";
import type { Clock } from "../../lib/clock.ts";

/** A token and when it ends. */
export interface FetchedToken {
  token: string;
  /** Unix milliseconds. */
  expiresAt: number;
}

/** Keeps tokens until shortly before they end; parallel requests share one fetch. */
export interface TokenCache {
  /**
   * The token of a key; fetched when there is none that lasts.
   *
   * @param key Parts that name tenant, credential and purpose; never joined, so that none can be made to look like another.
   */
  get(key: readonly string[], load: () => Promise<FetchedToken>): Promise<string>;
}

/** A token that ends sooner than this is fetched anew. */
const marginMs = 60_000;
const maxTokens = 5_000;

/** Creates an empty cache. A failed fetch is not remembered. */
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
