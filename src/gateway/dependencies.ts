import type { Dependencies } from "../context/dependencies.ts";
import type { Database } from "../db/client.ts";
import type { LogQueue } from "../logs/queue.ts";
import type { LimitStore } from "../policies/limit-store.ts";
import type { Snapshot } from "./snapshot/snapshot.ts";

/** Time between two looks at a remote database, and time for its answer. */
const probeEveryMs = 2_000;
const probeWithinMs = 2_000;

/** Where dependencies are looked at. */
export interface DependencyParts {
  database: Pick<Database, "read" | "remote">;
  limitStore: () => Pick<LimitStore, "outage">;
  queue: Pick<LogQueue, "load">;
  snapshot: Pick<Snapshot, "startedFrom"> | undefined;
}

/** What the gateway needs besides itself, and whether it is there. The result of `start` stops the looks. */
export function createDependencies({ database, limitStore, queue, snapshot }: DependencyParts): Dependencies & {
  start(): () => void;
} {
  let isAway = snapshot?.startedFrom !== undefined;
  let isRunning = false;
  const look = async () => {
    if (isRunning) return; // one at a time, also while it does not answer
    isRunning = true;
    const late = setTimeout(() => {
      isAway = true;
    }, probeWithinMs);
    try {
      await database.read("SELECT 1");
      isAway = false;
    } catch {
      isAway = true;
    } finally {
      clearTimeout(late);
      isRunning = false;
    }
  };
  return {
    start() {
      if (!database.remote) return () => {};
      const timer = setInterval(look, probeEveryMs);
      return () => clearInterval(timer);
    },
    admittedByShares: () => limitStore().outage?.().admitted ?? 0,
    state() {
      const outage = limitStore().outage?.();
      const startedFrom = snapshot?.startedFrom;
      const load = queue.load();
      return {
        database: isAway ? "away" : "ok",
        ...(startedFrom !== undefined && { snapshot: new Date(startedFrom).toISOString() }),
        ...(outage?.of === "redis" && { redis: outage.isAway ? "away" : "ok" }),
        limits: outage?.isAway ? "shares" : "exact",
        log: load === "none" ? "ok" : load === "some" ? "waiting" : "refusing",
      };
    },
  };
}
