import type { Services } from "../../context.ts";
import { isConflict } from "../../db/client.ts";
import { openStates } from "../../db/stores/batches.ts";
import type { GatewayBatchRow } from "../../db/tables/batches.ts";
import type { HandleRequest } from "./call-line.ts";
import { takeStep } from "./step.ts";

/** How batches are run. */
export interface BatchRunnerSettings {
  /** Milliseconds between the beginnings of two buckets of a batch. */
  pauseMs: number;
  /** Batches this process runs at once; those of one organisation take at most half. */
  atOnce: number;
  /** Milliseconds between two looks for batches that nobody runs. */
  lookEveryMs: number;
}

/** What the runner is made from. */
export interface BatchRunnerOptions extends BatchRunnerSettings {
  services: Services;
  /** Answers the requests of lines. */
  handle: HandleRequest;
  warn(message: string, error: unknown): void;
}

/** Runs batches in the background. */
export interface BatchRunner {
  /** Begins nothing more, waits for what runs, then ends it. Milliseconds. May be called again. */
  stop(timeoutMs: number): Promise<void>;
}

/** A runner that says nothing for this long has lost its batches. */
const leaseMs = 60_000;
const renewEveryMs = 15_000;
/** Batches that are looked at to find some to run. */
const lookedAt = 50;
/** A batch that fails for reasons of ours is tried again after this long. */
const troubleMs = 10_000;

/** Waits that can all be ended early. */
function createSleep() {
  const ends = new Set<() => void>();
  return {
    for(milliseconds: number): Promise<void> {
      if (milliseconds <= 0) return Promise.resolve();
      return new Promise((resolve) => {
        const finish = () => {
          clearTimeout(timer);
          ends.delete(finish);
          resolve();
        };
        const timer = setTimeout(finish, milliseconds);
        ends.add(finish);
      });
    },
    wake(): void {
      for (const finish of [...ends]) finish();
    },
  };
}

/** Creates the runner of a process and starts it. */
export function createBatchRunner(options: BatchRunnerOptions): BatchRunner {
  const { services, handle, pauseMs, atOnce, warn } = options;
  const { store } = services.batches;
  const { clock } = services;
  const owner = crypto.randomUUID();
  const running = new Map<string, { row: GatewayBatchRow; done: Promise<void> }>();
  const pauses = createSleep();
  const retries = createSleep();
  const aborter = new AbortController();
  let isStopping = false;
  const lease = () => ({ owner, until: clock.now() + leaseMs });
  const wait = (milliseconds: number) => retries.for(isStopping ? 0 : Math.min(milliseconds, pauseMs));

  const reload = async ({ organisationId, workspaceId, id }: GatewayBatchRow) => {
    const row = await services.control.stores.gatewayBatches.find({ organisationId, workspaceId }, { id });
    const isOpen = openStates.some((state) => state === row?.status);
    return row && isOpen && row.leaseOwner === owner ? row : undefined;
  };
  /** Steps until the batch is over, somebody else has it, or the process stops. */
  const runSteps = async (first: GatewayBatchRow) => {
    let notBefore = 0;
    for (;;) {
      const row = await reload(first);
      if (!row || isStopping) return;
      const waitMs = row.status === "in_progress" ? notBefore - performance.now() : 0;
      if (waitMs > 0) {
        await pauses.for(waitMs);
        continue;
      }
      const startedAt = performance.now();
      await takeStep(row, { services, handle, owner, signal: aborter.signal, wait });
      const next = await reload(first);
      const hasCalled = next !== undefined && next.position > row.position;
      if (hasCalled && (await hasMore(next))) notBefore = startedAt + pauseMs;
    }
  };
  /** Whether there are lines left: the end waits for no pause. */
  const hasMore = async (row: GatewayBatchRow) => {
    const { organisationId, workspaceId, inputFileId } = row;
    const input = await services.files.find({ organisationId, workspaceId }, inputFileId);
    return input !== undefined && row.position < input.bytes;
  };
  const run = async (row: GatewayBatchRow) => {
    const renewal = setInterval(() => {
      store.renew(row, lease()).catch((error) => warn("Cannot hold a batch", error));
    }, renewEveryMs);
    try {
      await runSteps(row);
      await store.release(row, owner);
    } catch (error) {
      // a conflict says that another node has it
      if (!isConflict(error)) {
        warn(`Cannot go on with the batch ${row.id} now`, error);
        await store.renew(row, { owner, until: clock.now() + troubleMs }).catch(() => {});
      }
    } finally {
      clearInterval(renewal);
    }
  };
  const hasRoomFor = ({ organisationId }: GatewayBatchRow) => {
    const own = [...running.values()].filter(({ row }) => row.organisationId === organisationId).length;
    return running.size < atOnce && own < Math.max(1, Math.floor(atOnce / 2));
  };
  const takeFree = async () => {
    for (const row of await store.listFree(clock.now(), lookedAt)) {
      if (isStopping) return;
      if (running.has(row.id) || !hasRoomFor(row) || !(await store.claim(row, lease(), clock.now()))) continue;
      const done = run(row).finally(() => {
        running.delete(row.id);
        look();
      });
      running.set(row.id, { row, done });
    }
  };
  let looking: Promise<void> | undefined;
  let lookAgain = false;
  const look = () => {
    if (isStopping) return;
    lookAgain = looking !== undefined;
    looking ??= takeFree()
      .catch((error) => warn("Cannot look for batches", error))
      .finally(() => {
        looking = undefined;
        if (lookAgain) look();
      });
  };
  services.batches.onWake(() => {
    pauses.wake();
    look();
  });
  const timer = setInterval(look, options.lookEveryMs);
  look();

  return {
    async stop(timeoutMs) {
      isStopping = true;
      clearInterval(timer);
      pauses.wake();
      retries.wake();
      await looking;
      const done = Promise.all([...running.values()].map((one) => one.done));
      let expired: ReturnType<typeof setTimeout> | undefined;
      const deadline = new Promise<void>((resolve) => {
        expired = setTimeout(resolve, timeoutMs);
      });
      await Promise.race([done, deadline]);
      clearTimeout(expired);
      aborter.abort();
      await done;
    },
  };
}
