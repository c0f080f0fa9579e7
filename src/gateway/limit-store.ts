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
import type { Claim, LimitStore, LimitUseObserver } from "../policies/limit-store.ts";
import { OwnedLimitStore } from "../policies/owned/owned-limit-store.ts";
import { LimitQueues } from "../policies/queue/limit-queues.ts";
import { RedisLimitStore } from "../policies/redis/redis-store.ts";
import type { OpenData } from "./data.ts";
import { type GatewayOptions, logOf, warnOf } from "./options.ts";

/** Time after which a refused request may be sent again, in milliseconds. */
const againAfterMs = 1_000;

/** A store that admits nothing while what requests use cannot be noted. */
class NotedLimitStore implements LimitStore {
  readonly counted: LimitStore;
  readonly outage?: NonNullable<LimitStore["outage"]>;
  readonly #journal: Pick<LimitJournal, "isWritable">;
  /** Unix milliseconds. */
  readonly #now: () => number;

  constructor(counted: LimitStore, journal: Pick<LimitJournal, "isWritable">, now: () => number) {
    this.counted = counted;
    if (counted.outage) this.outage = counted.outage.bind(counted);
    this.#journal = journal;
    this.#now = now;
  }

  reserve(claims: readonly Claim[]): ReturnType<LimitStore["reserve"]> {
    const [first] = claims;
    if (!first || this.#journal.isWritable()) return this.counted.reserve(claims);
    return { claim: first, resetsAt: this.#now() + againAfterMs, states: [], isAway: true };
  }

  read: LimitStore["read"] = (limit, bucket) => this.counted.read(limit, bucket);
  list: LimitStore["list"] = (limit) => this.counted.list(limit);
  reset: LimitStore["reset"] = (limit, bucket) => this.counted.reset(limit, bucket);
  add: LimitStore["add"] = (limit, bucket, used) => this.counted.add(limit, bucket, used);
  follow: LimitStore["follow"] = (counters) => this.counted.follow(counters);
  close: LimitStore["close"] = () => this.counted.close();
}

/** The ledger behind a store; undefined where the counters are elsewhere. */
export function ledgerOf(store: LimitStore): Ledger | undefined {
  if (store instanceof NotedLimitStore) return ledgerOf(store.counted);
  return store instanceof Ledger ? store : undefined;
}

/** What counters of limits are made from. */
interface LimitParts extends Pick<OpenData, "database" | "installation" | "begunFrom"> {
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

/** Whether gateways that do not know of each other may work on the same database. */
function isShared({ workers = 1, crew }: GatewayOptions, { remote }: Pick<LimitParts["database"], "remote">): boolean {
  return remote || (workers > 1 && !crew);
}

/** How alerts are delivered, unless options say otherwise. */
export const defaultAlerts = { timeoutMs: 10_000, lookEveryMs: 10_000 };

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

/** Bounds of requests that wait for room in limits. */
const defaultWaiting = { requests: 1_000, bytes: 64 * 1024 * 1024 };

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
  const { owner, workers = 1, strictLimits: isStrict = false } = options;
  if (owner && !database.remote) return new OwnedLimitStore({ link: owner, now: steadyTime, workers, isStrict });
  if (isShared(options, database)) {
    const leases = createLimitLeaseStore(database);
    const createId = () => crypto.randomUUID();
    const lastNodes = parts.begunFrom?.nodes;
    return createLeaseStore({ database: leases, clock, createId, warn: warnOf(options), onUsed, isStrict, lastNodes });
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
    limitJournal: journal,
    ...services
  }: Pick<Services, "control" | "outbound" | "limits" | "timers"> & {
    limitJournal: Pick<LimitJournal, "isWritable"> | undefined;
  },
): Promise<
  Pick<Services, "limitAlerts" | "limitStore" | "limitQueues" | "limitCounters" | "steadyTime" | "followCorrections">
> {
  const { clock, database } = parts;
  const limitAlerts = createAlerts(options, parts, services);
  const limitCounters = createLimitCounterStore(database);
  const onUsed = limitAlerts.observe;
  const steadyTime = createSteadyTime(clock);
  const counted = { limitCounters, steadyTime, onUsed };
  const store = await createStore(options, parts, { ...counted, limits: services.limits });
  const limitStore = journal ? new NotedLimitStore(store, journal, steadyTime) : store;
  const limitQueues = new LimitQueues({
    store: limitStore,
    now: steadyTime,
    monotonic: clock.monotonic,
    timers: services.timers,
    bounds: { ...defaultWaiting, ...options.waiting },
  });
  const followCorrections = createFollowing({ ...counted, limitStore, warn: warnOf(options) });
  return { limitAlerts, limitStore, limitQueues, limitCounters, steadyTime, followCorrections };
}
