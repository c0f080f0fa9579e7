import type { Limits, Services } from "../context.ts";
import { createLimitAlerts } from "../control/alerts/alerts.ts";
import { createLimitAlertStore } from "../db/stores/limit-alerts.ts";
import { createLimitCounterStore, type LimitCounterStore } from "../db/stores/limit-counters.ts";
import { createLimitLeaseStore } from "../db/stores/limit-leases.ts";
import type { Clock } from "../lib/clock.ts";
import { createSteadyTime } from "../lib/clock.ts";
import { deriveKey, webMac } from "../lib/hash.ts";
import type { LimitJournal } from "../logs/journal.ts";
import { createLeaseStore } from "../policies/lease-store.ts";
import { Ledger } from "../policies/ledger.ts";
import type { Claim, LimitStore, LimitUseObserver, Refusal } from "../policies/limit-store.ts";
import { RedisLimitStore } from "../policies/redis/redis-store.ts";
import type { OpenData } from "./data.ts";
import { type GatewayOptions, logOf, warnOf } from "./options.ts";

/** Time after which a refused request may be sent again, in milliseconds. */
const againAfterMs = 1_000;

/**
 * A store that admits nothing while what requests use cannot be noted.
 *
 * @param isWritable Whether it can be noted now.
 * @param now Unix milliseconds.
 */
function refuseUnnoted(store: LimitStore, isWritable: () => boolean, now: () => number): LimitStore {
  const refusalOf = (claim: Claim): Refusal => ({ claim, resetsAt: now() + againAfterMs, states: [], isAway: true });
  return {
    reserve(claims) {
      const [first] = claims;
      return first && !isWritable() ? refusalOf(first) : store.reserve(claims);
    },
    read: (limit, bucket) => store.read(limit, bucket),
    list: (limit) => store.list(limit),
    reset: (limit, bucket) => store.reset(limit, bucket),
    add: (limit, bucket, used) => store.add(limit, bucket, used),
    follow: (counters) => store.follow(counters),
    ...(store.outage && { outage: store.outage.bind(store) }),
    close: () => store.close(),
  };
}

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
  { stored, limits, onUsed }: { stored: LimitCounterStore; limits: Limits; onUsed: LimitUseObserver },
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
    onUsed,
    timeoutMs: redis.timeoutMs,
    isStrict: options.strictLimits,
    longestCallMs: longestCallMs(limits),
  });
}

/** Whether other processes may work on the same database. */
function isShared({ workers = 1 }: GatewayOptions, { remote }: Pick<LimitParts["database"], "remote">): boolean {
  return remote || workers > 1;
}

const defaultAlerts = { timeoutMs: 10_000, lookEveryMs: 10_000 };

/** Alerts of what counters reach. */
function createAlerts(
  options: GatewayOptions,
  { clock, database }: LimitParts,
  { control: { stores, committer, vault }, outbound }: Pick<Services, "control" | "outbound">,
): Services["limitAlerts"] {
  return createLimitAlerts({
    ...defaultAlerts,
    ...options.alerts,
    stores,
    committer,
    vault,
    outbound,
    clock,
    store: createLimitAlertStore(database),
    log: logOf(options),
    warn: warnOf(options),
  });
}

/** What every store of limits is made with. */
interface Counted extends Pick<Services, "limitCounters" | "steadyTime"> {
  readonly onUsed: LimitUseObserver;
}

async function createStore(
  options: GatewayOptions,
  parts: LimitParts,
  { limitCounters, limits, steadyTime, onUsed }: Counted & Pick<Services, "limits">,
): Promise<LimitStore> {
  const { clock, database } = parts;
  const { redis } = options;
  if (redis) return createShared({ ...options, redis }, parts, { stored: limitCounters, limits, onUsed });
  if (isShared(options, database)) {
    const leases = createLimitLeaseStore(database);
    const createId = () => crypto.randomUUID();
    const isStrict = options.strictLimits;
    return createLeaseStore({ database: leases, clock, createId, warn: warnOf(options), onUsed, isStrict });
  }
  const ledger = new Ledger({ now: steadyTime, onUsed });
  ledger.restore(await limitCounters.readLive(steadyTime()));
  return ledger;
}

/** Reads the counters that re-priced rows changed, for the store of limits. One reading serves all calls during it. */
function createFollowing({
  limitCounters,
  limitStore,
  steadyTime,
  warn,
}: Pick<Services, "limitCounters" | "limitStore" | "steadyTime"> & { warn: ReturnType<typeof warnOf> }): () => void {
  let [isDue, isRunning] = [false, false];
  const run = async () => {
    isRunning = true;
    while (isDue) {
      isDue = false;
      try {
        limitStore.follow(await limitCounters.readCorrected(steadyTime()));
      } catch (error) {
        warn("Cannot read counters of limits that were priced again: they follow with the next ones", error);
      }
    }
    isRunning = false;
  };
  return () => {
    isDue = true;
    if (!isRunning) void run();
  };
}

/**
 * Counters of limits and the time of their windows, with what earlier processes counted, and alerts of what they reach.
 * With Redis all processes share them there. Without it, processes that share a database lease parts of each limit.
 */
export async function createLimits(
  options: GatewayOptions,
  parts: LimitParts,
  {
    journal,
    ...services
  }: Pick<Services, "control" | "outbound" | "limits"> & {
    journal: Pick<LimitJournal, "isWritable"> | undefined;
  },
): Promise<Pick<Services, "limitAlerts" | "limitStore" | "limitCounters" | "steadyTime" | "followCorrections">> {
  const { clock, database } = parts;
  const limitAlerts = createAlerts(options, parts, services);
  const limitCounters = createLimitCounterStore(database);
  const onUsed = limitAlerts.observe;
  const steadyTime = createSteadyTime(clock);
  const counted = { limitCounters, steadyTime, onUsed };
  const store = await createStore(options, parts, { ...counted, limits: services.limits });
  const limitStore = journal ? refuseUnnoted(store, () => journal.isWritable(), steadyTime) : store;
  const followCorrections = createFollowing({ ...counted, limitStore, warn: warnOf(options) });
  return { limitAlerts, limitStore, limitCounters, steadyTime, followCorrections };
}
