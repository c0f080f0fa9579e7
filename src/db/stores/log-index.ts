import type { Database } from "../client.ts";
import { createLogRetentionStore, type LogRetentionStore } from "./log-retention.ts";
import { createLogSealingStore, type LogSealingStore } from "./log-sealing.ts";

/** What maintains the log: its index, and the removal of old rows. */
export interface IndexStores {
  readonly sealing: LogSealingStore;
  readonly retention: LogRetentionStore;
}

/** Creates both stores. */
export function createIndexStores(database: Database): IndexStores {
  return { sealing: createLogSealingStore(database), retention: createLogRetentionStore(database) };
}
