import { RateLimitError } from "../../errors.ts";
import { BoundedMap } from "../../lib/bounded-map.ts";
import type { Clock } from "../../lib/clock.ts";
import { ReplacementBound } from "../../lib/replacement-bound.ts";

/** A token and its expiry. */
export interface FetchedToken {
  token: string;
  /** Unix milliseconds. */
  expiresAt: number;
}

/** A token that a call used. */
interface UsedToken {
  readonly key: readonly string[];
  readonly token: string;
}

/** Tokens until shortly before they expire; parallel requests share one fetch. */
export interface TokenSource {
  /**
   * The cached token for a key, fetched when it is missing or about to expire.
   *
   * @param key Parts that identify tenant, credential and purpose. They are never joined, so two keys cannot collide.
   */
  get(key: readonly string[], load: () => Promise<FetchedToken>): Promise<string>;
  /**
   * Drops a token that its provider refused. One that is refused again and again stays for a while: its provider would
   * refuse the next one too.
   *
   * @returns Whether the next `get` returns another one.
   */
  refuse(used: UsedToken): boolean;
}

/** Caches tokens. */
export interface TokenCache extends TokenSource {
  /**
   * As `get`, for credentials that a request brings: each request could bring others, so a tenant may fetch few at a time.
   *
   * @throws {RateLimitError} If it fetched too many.
   */
  getGiven(key: readonly string[], load: () => Promise<FetchedToken>): Promise<string>;
}

/** Tokens of credentials in requests that a workspace fetches at once, and how often one more. */
const givenAtOnce = 300;
const givenEveryMs = 500;
/** Leading parts of a key that name the workspace. */
const tenantParts = 2;

/** A token this close to its expiry is fetched again. */
const marginMs = 60_000;
const maxTokens = 5_000;

/** Creates an empty cache. A failed fetch is not cached. */
export function createTokenCache(clock: Clock): TokenCache {
  const known = new BoundedMap<string, FetchedToken>(maxTokens);
  const running = new Map<string, Promise<FetchedToken>>();
  const replacements = new ReplacementBound(clock);
  const given = new ReplacementBound(clock, { atOnce: givenAtOnce, everyMs: givenEveryMs });
  const cache: TokenCache = {
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
    refuse({ key: parts, token }) {
      const key = JSON.stringify(parts);
      // another call has replaced it, or is about to
      if (known.peek(key)?.token !== token) return true;
      if (!replacements.take(key)) return false;
      known.delete(key);
      return true;
    },
    getGiven: (key, load) =>
      cache.get(key, async () => {
        if (given.take(JSON.stringify(key.slice(0, tenantParts)))) return load();
        throw new RateLimitError("Cannot get a token: this workspace fetches too many for credentials in requests", {
          code: "too_many_tokens",
          headers: { "retry-after": "1" },
        });
      }),
  };
  return cache;
}

/** The tokens of one call. */
export interface CallTokens extends TokenSource {
  /** Those it used, in the order in which they were asked for. */
  readonly used: readonly UsedToken[];
}

/** Keys of the operator's own identity begin with this: all who may use it share its tokens. */
const ofOperator = "operator";

/**
 * The cache as one call uses it.
 *
 * @param revision Of the stored provider that is called: after each change of it, its tokens are fetched again.
 */
export function tokensOfCall(cache: TokenCache, revision: string | undefined): CallTokens {
  const used: UsedToken[] = [];
  return {
    used,
    async get(parts, load) {
      const isOperators = parts[0] === ofOperator;
      const key = revision === undefined || isOperators ? parts : [...parts, revision];
      const token = await (revision === undefined && !isOperators ? cache.getGiven(key, load) : cache.get(key, load));
      used.push({ key, token });
      return token;
    },
    refuse: (one) => cache.refuse(one),
  };
}
