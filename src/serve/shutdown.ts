import process from "node:process";
import { isatty } from "node:tty";
import type { Gateway } from "../gateway.ts";
import type { Settings } from "../settings.ts";
import { databasePath } from "./environment.ts";
import { forgetUnused } from "./forget.ts";
import { exists } from "./keys-file.ts";
import type { Listener } from "./listener.ts";
import type { ProcessLog } from "./process-log.ts";

/** Time between "not ready" and "no new connections", so that load balancers notice. */
const defaultNoticeMs = 1_000;
/** Interrupts that come sooner after the first are the same one: a terminal and a parent process may both send it. */
const sameInterruptMs = 500;

const wait = (delayMs: number) => new Promise<void>((resolve) => setTimeout(resolve, delayMs));

/** What ends a process in order. */
export interface Shutdown {
  /** Begins to end it. Again it changes nothing, except that the first exit code other than 0 counts. */
  begin(exitCode: number): void;
  /** Running requests get no more time. Their rows are written. */
  hurry(): void;
}

/** How a process is shut down. */
interface ShutdownSettings extends Pick<Settings, "drainSeconds" | "database"> {
  log: ProcessLog;
  /** Time between "not ready" and "no new connections". Default: one second. */
  noticeMs?: number;
}

/** Shuts down gracefully: not ready, no new connections, running requests finish, rows are written. */
export function createShutdown(gateway: Gateway, listeners: readonly Listener[], settings: ShutdownSettings): Shutdown {
  const { drainSeconds, database, log, noticeMs = defaultNoticeMs } = settings;
  const path = databasePath(database);
  const isAlone = () => path === undefined || !exists(`${path}-wal`);
  const { promise: hurried, resolve: hurry } = Promise.withResolvers<void>();
  let hasBegun = false;
  let code = 0;
  const end = async (): Promise<void> => {
    try {
      const deadline = performance.now() + drainSeconds * 1_000;
      const drain = () => {
        const leftMs = Math.max(0, deadline - performance.now());
        return Promise.race([gateway.drain(leftMs), hurried.then(() => gateway.drain(0))]);
      };
      const drained = drain();
      await Promise.race([wait(noticeMs), hurried]);
      for (const listener of listeners) listener.stop();
      await drained;
      // once more: what came before the listeners stopped may have found the gateway idle
      await drain();
      await Promise.all(listeners.map((listener) => listener.close()));
      await gateway.close();
      await forgetUnused(isAlone);
    } catch (error) {
      log.error("Cannot shut down gracefully", error);
      process.exit(1);
    }
    process.exit(code);
  };
  return {
    begin(exitCode) {
      code ||= exitCode;
      if (hasBegun) return;
      hasBegun = true;
      void end();
    },
    hurry,
  };
}

/** Whether a person at a terminal sends the interrupts. */
const hasTerminal = () => isatty(0);

/**
 * Shuts down on signals and uncaught errors. A signal that is repeated changes nothing, as service managers send it to each
 * process of a group, and a parent process passes it on. Only who presses Ctrl-C twice does not want to wait.
 */
export function handleProcessEvents(shutdown: Shutdown, log: ProcessLog): void {
  let interruptedAt: number | undefined;
  process.on("SIGTERM", () => shutdown.begin(0));
  process.on("SIGINT", () => {
    const now = performance.now();
    interruptedAt ??= now;
    shutdown.begin(0);
    if (hasTerminal() && now - interruptedAt > sameInterruptMs) shutdown.hurry();
  });
  // the terminal was closed; without one, the signal means whatever the parent process has set
  if (hasTerminal()) process.on("SIGHUP", () => shutdown.begin(0));
  const fail = (error: unknown) => {
    log.error("Uncaught error: the process stops", error);
    shutdown.begin(1);
  };
  process.on("uncaughtException", fail);
  process.on("unhandledRejection", fail);
}
