import { RedisTier } from "../cache/redis-tier.ts";
import { ResponseCache } from "../cache/response-cache.ts";
import { EntrySealer } from "../cache/sealer.ts";
import type { SharedTier } from "../cache/shared-tier.ts";
import { VectorIndex } from "../cache/vector-index.ts";
import { createStoredResponses } from "../control/stored-responses.ts";
import type { Change } from "../db/stores/audit.ts";
import { type CacheStore, cacheResource, createCacheStore } from "../db/stores/cache.ts";
import { createStoredResponseStore } from "../db/stores/stored-responses.ts";
import type { Clock } from "../lib/clock.ts";
import { deriveKey, webMac } from "../lib/hash.ts";
import type { OpenData } from "./data.ts";
import { type CacheOptions, type GatewayOptions, warnOf } from "./options.ts";

const megabyte = 1024 * 1024;
const defaults: CacheOptions = {
  memoryBytes: 128 * megabyte,
  databaseBytes: 1024 * megabyte,
  vectorBytes: 256 * megabyte,
};
const defaultTimeoutMs = 100;

/** Where entries outlive the process: Redis if there is one, else the database. */
async function createTier(
  { redis, connectRedis, createMac = webMac }: GatewayOptions,
  { keys }: OpenData["installation"],
  store: CacheStore,
): Promise<SharedTier> {
  if (!redis || !connectRedis) return store;
  const digest = createMac(await deriveKey(keys.cache, "names-in-redis"));
  return new RedisTier({ client: await connectRedis(redis.url), digest, prefix: "gateway-cache" });
}

/** The cache of responses; `now` gives Unix milliseconds. */
async function createCache(
  options: GatewayOptions,
  { installation, database, clock }: OpenData & { clock: Clock },
  now: () => number,
): Promise<ResponseCache> {
  const { memoryBytes, databaseBytes, vectorBytes } = { ...defaults, ...options.cache };
  const { keys } = installation;
  const store = createCacheStore(database, databaseBytes);
  const tier = await createTier(options, installation, store);
  const sealer = new EntrySealer(await deriveKey(keys.cache, "seal"));
  return new ResponseCache({
    mac: (options.createMac ?? webMac)(keys.cache),
    now,
    monotonic: clock.monotonic,
    memoryBytes,
    questions: new VectorIndex({ store, now, bytes: vectorBytes }),
    shared: { tier, sealer, timeoutMs: options.redis?.timeoutMs ?? defaultTimeoutMs },
    warn: warnOf(options),
  });
}

/** Stored responses: those of the Responses API, and those of the cache; `now` gives Unix milliseconds. */
export async function createReused(options: GatewayOptions, parts: OpenData & { clock: Clock }, now: () => number) {
  const { database, installation, clock } = parts;
  const responses = createStoredResponses({
    store: createStoredResponseStore(database),
    key: installation.keys.bodies,
    now: clock.now,
    warn: warnOf(options),
    retentionDays: options.responseRetentionDays ?? 30,
  });
  return { responses, cache: await createCache(options, parts, now), semantic: options.semanticCache ?? {} };
}

/** Follows purges of other processes. Without changes it is not known what they were. */
export function followPurges(cache: ResponseCache, changes: readonly Change[] | undefined): void {
  if (!changes) cache.clear();
  for (const { organisationId, workspaceId, resource, recordId } of changes ?? []) {
    if (resource !== cacheResource) continue;
    const [id = "", namespace = ""] = recordId.split(" ");
    const scope = { organisationId, workspaceId: workspaceId ?? null, namespace: namespace === "" ? null : namespace };
    cache.follow(scope, id);
  }
}
