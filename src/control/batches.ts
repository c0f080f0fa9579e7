import type { BatchStore } from "../db/stores/batches.ts";

/** Batches the gateway runs, and the way to wake what runs them. */
export interface BatchWork {
  readonly store: BatchStore;
  /** Tells this node's runner that there is something to do, or that batches may be gone. */
  wake(): void;
  /** Sets who is woken. */
  onWake(listener: () => void): void;
}

/** Creates the meeting point of those who make batches and the one who runs them. */
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
