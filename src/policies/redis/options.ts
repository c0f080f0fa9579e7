import type { Clock } from "../../lib/clock.ts";
import type { Mac } from "../../lib/hash.ts";
import type { RedisClient } from "../../lib/redis.ts";
import type { LimitUseObserver } from "../limit-store.ts";
import type { StoredCounters } from "../stored-counters.ts";

/** Settings of counters that processes share in Redis. */
export interface RedisLimitStoreOptions {
  readonly client: RedisClient;
  readonly stored: StoredCounters;
  readonly clock: Clock;
  /** Digest of what keys are named after; the same in all processes of an installation, another one in others. */
  readonly mac: Mac;
  /** Numbers in [0, 1). */
  readonly random: () => number;
  readonly warn: (message: string, error?: unknown) => void;
  readonly onUsed?: LimitUseObserver | undefined;
  /** While Redis is away, refuses instead of counting by the share of this process. */
  readonly isStrict?: boolean | undefined;
  /** Longest time a request waits for Redis, in milliseconds; the first ones of a process wait for 2,000. Default 100. */
  readonly timeoutMs?: number | undefined;
  /** Longest time a request waits for stored counters when it is the first to use a counter, in milliseconds. Default 5,000. */
  readonly storedTimeoutMs?: number | undefined;
  /** Longest time a request may take, in milliseconds: what it reserved then expires. Default one hour. */
  readonly longestCallMs?: number | undefined;
  /** How often counters agree with the stored ones, in milliseconds. Default 10,000. */
  readonly agreeEveryMs?: number | undefined;
  /** How long a bucket was not used before it is lowered to what is stored, in milliseconds. Default 15,000. */
  readonly quietMs?: number | undefined;
}
