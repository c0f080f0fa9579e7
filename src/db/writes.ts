/** Longest time a write waits for another process's lock. */
const busyDeadlineMs = 5_000;

/** Whether another process holds the lock. */
export function isBusy(error: unknown): boolean {
  return (
    error instanceof Error && /SQLITE_BUSY|database is locked/i.test(`${Reflect.get(error, "code")} ${error.message}`)
  );
}

/** Retries `action` with exponential backoff and jitter while another process holds the lock. */
export async function untilUnlocked<Value>(
  action: () => Promise<Value>,
  recover?: () => Promise<void>,
): Promise<Value> {
  const deadline = performance.now() + busyDeadlineMs;
  for (let pauseMs = 5; ; pauseMs = Math.min(pauseMs * 2, 200)) {
    try {
      return await action();
    } catch (error) {
      if (!isBusy(error) || performance.now() + pauseMs > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, pauseMs * (0.5 + Math.random())));
      await recover?.();
    }
  }
}

/** Runs one write after the other, in the order in which they come. */
export class OneByOne {
  #last: Promise<unknown> = Promise.resolve();

  add<Value>(write: () => Promise<Value>): Promise<Value> {
    const result = this.#last.then(write);
    this.#last = result.catch(() => {});
    return result;
  }

  /** Resolves when all writes have ended. */
  async idle(): Promise<void> {
    await this.#last;
  }
}

/** Writes to a local database, which wait while another process holds the lock. */
export class LocalWrites {
  readonly #queue = new OneByOne();
  readonly #reopen: () => Promise<void>;

  /** @param reopen Replaces the connection after a lock was met. */
  constructor(reopen: () => Promise<void>) {
    this.#reopen = reopen;
  }

  add<Value>(write: () => Promise<Value>): Promise<Value> {
    return this.#queue.add(() => untilUnlocked(write, this.#reopen));
  }

  idle(): Promise<void> {
    return this.#queue.idle();
  }
}
