import { join } from "node:path";
import { type Database, openDatabase } from "../../src/db/client.ts";
import { migrate } from "../../src/db/migrate.ts";
import { createLimitLeaseStore } from "../../src/db/stores/limit-leases.ts";
import { createLogStore } from "../../src/db/stores/logs.ts";
import type { Clock } from "../../src/lib/clock.ts";
import type { LeaseDatabase } from "../../src/policies/lease-database.ts";
import { createLeaseStore, type LeaseStore } from "../../src/policies/lease-store.ts";
import type { Claim, Limit, LimitUse, LimitUseObserver, Reservation } from "../../src/policies/limit-store.ts";
import type { LimitIncrement } from "../../src/schemas/logs.ts";
import { createRandom, createTestClock, type TestClock } from "./gateway.ts";
import { createFolder } from "./process.ts";

/** A clock whose wall time can jump. */
interface JumpingClock extends TestClock {
  jump(milliseconds: number): void;
}

function createJumpingClock(): JumpingClock {
  const clock = createTestClock();
  let jumped = 0;
  return {
    ...clock,
    now: () => clock.now() + jumped,
    jump: (milliseconds) => {
      jumped += milliseconds;
    },
  };
}

/** One of several processes that share a database, as far as limits are concerned. */
export interface LeaseNode {
  readonly store: LeaseStore;
  readonly url: string;
  readonly clock: JumpingClock;
  readonly database: Database;
  readonly warnings: string[];
  readonly uses: LimitUse[];
  /** Calls of the database: names of functions. */
  readonly calls: string[];
  /** Stores increments as the log does. */
  write(increments: readonly LimitIncrement[], organisationId?: string): Promise<void>;
  close(): Promise<void>;
}

/** Organisation of the limits. */
const organisationId = "organisation-1";

/** How a node differs from others. */
interface NodeOptions {
  /** Stands between the store and its database. */
  wrap?: (leases: LeaseDatabase) => LeaseDatabase;
  /** Instead of the clock of the node, which stands still. */
  storeClock?: Clock;
  onUsed?: LimitUseObserver | undefined;
  isStrict?: boolean;
}

/** Opens the database at an address and adds a node to it. */
export async function openNode(
  url: string,
  { wrap = (leases) => leases, storeClock, onUsed, isStrict }: NodeOptions = {},
): Promise<LeaseNode> {
  const database = await openDatabase({ url });
  await migrate(database);
  const [warnings, uses, calls]: [string[], LimitUse[], string[]] = [[], [], []];
  const clock = createJumpingClock();
  const noted = new Proxy(createLimitLeaseStore(database), {
    get(leases, name, receiver) {
      calls.push(String(name));
      return Reflect.get(leases, name, receiver);
    },
  });
  const store = await createLeaseStore({
    database: wrap(noted),
    clock: storeClock ?? clock,
    createId: () => crypto.randomUUID(),
    warn: (message) => void warnings.push(message),
    onUsed: onUsed ?? ((use) => void uses.push(use)),
    isStrict,
  });
  const logs = createLogStore(database);
  return {
    store,
    url,
    clock,
    database,
    warnings,
    uses,
    calls,
    async write(increments, organisation = organisationId) {
      // a batch with the ids of a stored one counts as stored
      const id = crypto.randomUUID();
      const batch = {
        organisationId: organisation,
        workspaceId: null,
        firstId: id,
        lastId: id,
        details: "[]",
        charged: "",
        content: "",
      };
      if (increments.length > 0) await logs.append([{ ...batch, counted: JSON.stringify(increments) }]);
    },
    async close() {
      await store.close();
      await database.close();
    },
  };
}

/** The address of a database file that does not exist yet. */
export const newFile = (): string => `file:${join(createFolder(), "shared.db")}`;

/** Runs a test with some nodes on one database. */
export async function withNodes(
  count: number,
  run: (nodes: LeaseNode[]) => Promise<void>,
  url = newFile(),
): Promise<void> {
  const nodes: LeaseNode[] = [];
  for (let index = 0; index < count; index++) nodes.push(await openNode(url));
  try {
    await run(nodes);
  } finally {
    for (const node of nodes) await node.close();
  }
}

/** A limit that no other test has: on requests, without windows. */
export const limitOf = (most: number, changes: Partial<Limit> = {}): Limit => ({
  id: crypto.randomUUID(),
  organisationId,
  counts: "requests",
  most,
  window: "ever",
  alertAt: null,
  ...changes,
});

/** What a request asks of a limit. */
export const claimOf = (limit: Limit, least = 1, beyond = 0, bucket = "b"): Claim => ({ limit, bucket, least, beyond });

/** What a request used that counts in no other limit than one on requests. */
export const requestUse = { requests: 1, tokens: 0, cost: 0 };

/** Books claims; undefined if they are refused. */
export async function reserve({ store }: LeaseNode, ...claims: Claim[]): Promise<Reservation | undefined> {
  const outcome = await store.reserve(claims);
  return "claim" in outcome ? undefined : outcome;
}

/** Lets time pass on a node, in steps of at most ten seconds, and does what is due after each. */
export async function pass({ clock, store }: LeaseNode, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 10_000) {
    clock.advance(Math.min(left, 10_000));
    await store.tick();
  }
}

/** How many of some requests, one after the other, a node admits. */
export async function countAdmitted(node: LeaseNode, limit: Limit, requests: number): Promise<number> {
  let admitted = 0;
  for (let index = 0; index < requests; index++) if (await reserve(node, claimOf(limit))) admitted++;
  return admitted;
}

/** How many of 1,000 requests some nodes admit within a limit of 100, with half of them sent at random moments. */
export async function race(nodes: readonly LeaseNode[], seed: number): Promise<number> {
  const random = createRandom(seed);
  const limit = limitOf(100);
  const outcomes = await Promise.all(
    Array.from({ length: 1_000 }, async () => {
      const node = nodes[Math.floor(random() * nodes.length)] as LeaseNode;
      if (random() < 0.5) await new Promise((resolve) => setTimeout(resolve, random() * 20));
      const booked = await reserve(node, claimOf(limit));
      if (random() < 0.5) await node.write(booked?.settle(requestUse) ?? []);
      return booked !== undefined;
    }),
  );
  return outcomes.filter(Boolean).length;
}
