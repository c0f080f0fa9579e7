import { RateLimitError } from "../../../errors.ts";
import { BoundedMap } from "../../../lib/bounded-map.ts";
import { toSource } from "../../../lib/client-address.ts";
import type { Clock } from "../../../lib/clock.ts";

/** Requests of one address per minute, by what they do. */
const perMinute = { registration: 20, document: 30, page: 300, signIn: 30 } as const;

type Counted = keyof typeof perMinute;

/** Limits of what anyone may ask for without a credential. */
export interface OauthLimits {
  /** @throws {RateLimitError} If an address registered too many clients. */
  requireRegistration(address: string): void;
  /** @throws {RateLimitError} If an address made too many documents be fetched. */
  requireDocument(address: string): void;
  /** @throws {RateLimitError} If an address asked for too many pages and tokens. */
  requirePage(address: string): void;
  /** @throws {RateLimitError} If an address signed in to the console, or failed to, too often. */
  requireSignIn(address: string): void;
}

/** Creates the limits, counted in windows of a minute. */
export function createOauthLimits(clock: Clock): OauthLimits {
  const counts = new BoundedMap<string, { since: number; count: number }>(20_000);
  const count = (kind: Counted, address: string) => {
    const key = JSON.stringify([kind, toSource(address)]);
    const now = clock.monotonic();
    let counted = counts.get(key);
    if (!counted || now - counted.since >= 60_000) {
      counted = { since: now, count: 0 };
      counts.set(key, counted);
    }
    if (++counted.count <= perMinute[kind]) return;
    throw new RateLimitError("Cannot serve this now: too many requests came from this address", {
      code: "too_many_requests",
      headers: { "retry-after": "60" },
    });
  };
  return {
    requireRegistration: (address) => count("registration", address),
    requireDocument: (address) => count("document", address),
    requirePage: (address) => count("page", address),
    requireSignIn: (address) => count("signIn", address),
  };
}
