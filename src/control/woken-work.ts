/** Rows that are worked on in the background, and a way to wake their runner. */
export interface WokenWork<Store> {
  readonly store: Store;
  /** Wakes this node's runner because there is work, or rows may have ended or been deleted. */
  wake(): void;
  /** Sets the listener that is woken. */
  onWake(listener: () => void): void;
}

/** Connects those who make such rows with the runner. */
export function createWokenWork<Store>(store: Store): WokenWork<Store> {
  let listener = () => {};
  return {
    store,
    wake: () => listener(),
    onWake(next) {
      listener = next;
    },
  };
}
