import type { LogExportStore } from "../db/stores/log-exports.ts";
import type { Mac } from "../lib/hash.ts";

/** Exports of log rows, and a way to wake what writes their files. */
export interface LogExportWork {
  readonly store: LogExportStore;
  /** Signs links to files. */
  readonly linkMac: Mac;
  /** Wakes this node's runner because an export was started. */
  wake(): void;
  /** Sets the listener that is woken. */
  onWake(listener: () => void): void;
}

/** Connects those who start exports with the runner. */
export function createLogExportWork(store: LogExportStore, linkMac: Mac): LogExportWork {
  let listener = () => {};
  return {
    store,
    linkMac,
    wake: () => listener(),
    onWake(next) {
      listener = next;
    },
  };
}
