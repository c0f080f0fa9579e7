import { systemClock } from "../../src/lib/clock.ts";
import type { LimitUseObserver } from "../../src/policies/limit-store.ts";
import type { RedisLimitStoreOptions } from "../../src/policies/redis/options.ts";
import { RedisLimitStore } from "../../src/policies/redis/redis-store.ts";
import { nodeMac } from "../../src/serve/environment.ts";
import { connectRedis } from "../../src/serve/redis.ts";
import { eventually } from "./eventually.ts";
import type { RedisServer } from "./redis.ts";
import { createTestCounters, type TestCounters } from "./stored-counters.ts";

/** One process of an installation that counts in Redis. */
export interface RedisNode {
  readonly store: RedisLimitStore;
  readonly stored: TestCounters;
  /** Warnings with their errors. */
  readonly warnings: string[];
}

/** What processes of one installation have in common. */
export interface Installation {
  readonly key: Uint8Array<ArrayBuffer>;
  readonly stored: TestCounters;
}

/** An installation that no other test has. */
export function createInstallation(): Installation {
  return { key: crypto.getRandomValues(new Uint8Array(32)), stored: createTestCounters() };
}

/** Starts a process of an installation, inside the process of the test. */
export async function startNode(
  { url }: Pick<RedisServer, "url">,
  { key, stored }: Installation,
  changes: Partial<RedisLimitStoreOptions> & { onUsed?: LimitUseObserver | undefined } = {},
): Promise<RedisNode> {
  const warnings: string[] = [];
  const store = await RedisLimitStore.create({
    client: await connectRedis(url),
    stored,
    clock: systemClock,
    mac: nodeMac(key),
    random: Math.random,
    warn: (message, error) => warnings.push(`${message} ${error}`),
    // a busy machine is not a lost server
    timeoutMs: 20_000,
    ...changes,
  });
  return { store, stored, warnings };
}

/** Key of the processes of an installation. */
export const nodesKeyOf = ({ key }: Installation): string => `gateway:{${nodeMac(key)("nodes")}}:nodes`;

/** Waits until so many processes know of each other: each has noted twice that it lives since all of them did. */
export async function untilKnown(server: RedisServer, nodesKey: string, count: number): Promise<void> {
  for (let round = 0; round < 2; round++) {
    const since = await server.now();
    await eventually(`${count} processes that know of each other`, async () => {
      const listed = (await server.send("ZRANGE", nodesKey, 0, -1, "WITHSCORES")) as unknown[]; // as the command says
      const beats = listed.flat().filter((_, index) => index % 2 === 1); // names and scores in turn
      return beats.filter((at) => Number(at) > since).length === count;
    });
  }
}
