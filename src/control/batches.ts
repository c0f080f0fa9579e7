import type { BatchStore } from "../db/stores/batches.ts";

/** Batches that the gateway runs, and a way to wake their runner. */
export interface BatchWork {
  readonly store: BatchStore;
  /** Wakes this node's runner because there is work, or batches may have been deleted. */
  wake(): void;
  /** Sets the listener that is woken. */
  onWake(listener: () => void): void;
}

/** Connects those who create batches with the runner. */
export function createBatchWork(store: BatchStore): BatchWork {
  let listener = () => {};
  return {
    store,
    wake: () => listener(),
    onWake(next) {
      listener = next;
    },
  };
}
