import { RateLimitError } from "../../../errors.ts";
import { BoundedMap } from "../../../lib/bounded-map.ts";
import { toSource } from "../../../lib/client-address.ts";
import type { Clock } from "../../../lib/clock.ts";

/** Requests of one address per minute, by what they do. */
const perMinute = { registration: 20, document: 30, page: 300, signIn: 30 } as const;

type Counted = keyof typeof perMinute;

/** Requests of all addresses per minute, where each costs something that is shared. */
const ofAllPerMinute: Partial<Record<Counted, number>> = { registration: 200, document: 200 };

/** Limits of what anyone may ask for without a credential. */
export interface OauthLimits {
  /** @throws {RateLimitError} If an address, or all together, registered too many clients. */
  requireRegistration(address: string): void;
  /** @throws {RateLimitError} If an address, or all together, made too many documents be fetched. */
  requireDocument(address: string): void;
  /** @throws {RateLimitError} If an address asked for too many pages and tokens. */
  requirePage(address: string): void;
  /** @throws {RateLimitError} If an address signed in to the console, or failed to, too often. */
  requireSignIn(address: string): void;
}

/** Requests in one minute. */
interface Minute {
  /** Monotonic milliseconds. */
  readonly since: number;
  count: number;
}

/** The current minute of each key. */
interface Minutes<Key> {
  get(key: Key): Minute | undefined;
  set(key: Key, minute: Minute): unknown;
}

/** Counts a request in the minute of a key. */
function countIn<Key>(minutes: Minutes<Key>, key: Key, now: number): number {
  const known = minutes.get(key);
  if (known && now - known.since < 60_000) return ++known.count;
  minutes.set(key, { since: now, count: 1 });
  return 1;
}

function refuseForNow(message: string): never {
  throw new RateLimitError(message, { code: "too_many_requests", headers: { "retry-after": "60" } });
}

/** Creates the limits, counted in windows of a minute. */
export function createOauthLimits(clock: Clock): OauthLimits {
  const counts = new BoundedMap<string, Minute>(20_000);
  /** Apart from the addresses: many of them push each other out. */
  const ofAll = new Map<Counted, Minute>();
  const count = (kind: Counted, address: string) => {
    const now = clock.monotonic();
    const isOver = countIn(counts, JSON.stringify([kind, toSource(address)]), now) > perMinute[kind];
    if (isOver) refuseForNow("Cannot serve this now: too many requests came from this address");
    const most = ofAllPerMinute[kind];
    if (most !== undefined && countIn(ofAll, kind, now) > most) {
      refuseForNow("Cannot serve this now: too many requests came from all addresses together");
    }
  };
  return {
    requireRegistration: (address) => count("registration", address),
    requireDocument: (address) => count("document", address),
    requirePage: (address) => count("page", address),
    requireSignIn: (address) => count("signIn", address),
  };
}
