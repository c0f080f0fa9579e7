import type { Database } from "../client.ts";
import { createLogObjectStore, type LogObjectStore } from "./log-objects.ts";
import { createLogRetentionStore, type LogRetentionStore } from "./log-retention.ts";
import { createLogSealingStore, type LogSealingStore } from "./log-sealing.ts";

/** What maintains the log: its index, the removal of old rows, and contents in an object store. */
export interface IndexStores {
  readonly sealing: LogSealingStore;
  readonly retention: LogRetentionStore;
  readonly objects: LogObjectStore;
}

/** Creates these stores. */
export function createIndexStores(database: Database): IndexStores {
  return {
    sealing: createLogSealingStore(database),
    retention: createLogRetentionStore(database),
    objects: createLogObjectStore(database),
  };
}
