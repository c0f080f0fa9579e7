import type { Limits, Services } from "../context.ts";
import { createLimitCounterStore, type LimitCounterStore } from "../db/stores/limit-counters.ts";
import type { Clock } from "../lib/clock.ts";
import { deriveKey, webMac } from "../lib/hash.ts";
import { Ledger } from "../policies/ledger.ts";
import type { LimitStore } from "../policies/limit-store.ts";
import { RedisLimitStore } from "../policies/redis/redis-store.ts";
import type { OpenData } from "./data.ts";
import { type GatewayOptions, warnOf } from "./options.ts";

/** What counters of limits are made from. */
interface LimitParts extends Pick<OpenData, "database" | "installation"> {
  readonly clock: Clock;
}

/** Shortest time after which a reservation that nobody settled may expire. */
const leastCallMs = 60 * 60_000;

/** Longest time a request may take. */
function longestCallMs(limits: Limits): number {
  const { requestTimeoutMs, streamTotalTimeoutMs, realtimeTotalTimeoutMs } = limits;
  return Math.max(leastCallMs, requestTimeoutMs + streamTotalTimeoutMs, requestTimeoutMs + realtimeTotalTimeoutMs);
}

/** Counters that all processes of the installation share. */
async function createShared(
  { redis, connectRedis, ...options }: GatewayOptions & { redis: NonNullable<GatewayOptions["redis"]> },
  { clock, installation }: LimitParts,
  { stored, limits }: { stored: LimitCounterStore; limits: Limits },
): Promise<LimitStore> {
  if (!connectRedis)
    throw new TypeError("Cannot count in Redis: this runtime has no sockets, and no connectRedis is set");
  const key = await deriveKey(installation.keys.state, "limits-in-redis");
  return RedisLimitStore.create({
    client: await connectRedis(redis.url),
    stored,
    clock,
    mac: (options.createMac ?? webMac)(key),
    random: options.random ?? Math.random,
    warn: warnOf(options),
    timeoutMs: redis.timeoutMs,
    longestCallMs: longestCallMs(limits),
  });
}

/** Counters of limits, with what earlier processes counted: those of this process, or in Redis those of all processes. */
export async function createLimits(
  options: GatewayOptions,
  parts: LimitParts,
  limits: Limits,
): Promise<Pick<Services, "limitStore" | "limitCounters">> {
  const { clock, database } = parts;
  const limitCounters = createLimitCounterStore(database);
  const { redis } = options;
  if (redis) {
    const limitStore = await createShared({ ...options, redis }, parts, { stored: limitCounters, limits });
    return { limitStore, limitCounters };
  }
  const limitStore = new Ledger({ now: clock.now });
  limitStore.restore(await limitCounters.readLive(clock.now()));
  return { limitStore, limitCounters };
}
