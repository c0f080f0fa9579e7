import type { ControlStores } from "../db/stores/control.ts";

/** How often the newest row of each audit log is written to the log. */
export const logHeadsEveryMs = 3_600_000;

/**
 * Makes a function that logs the number and MAC of each organisation's newest audit row, if it changed since the last
 * call. Stored outside the database, these lines reveal rows that were cut off at the end of an audit log.
 */
export function createHeadLog(
  { organisations, audit }: Pick<ControlStores, "organisations" | "audit">,
  log: (line: string) => void,
): () => Promise<void> {
  const logged = new Map<string, number>();
  return async () => {
    for (const { id } of await organisations.listAll()) {
      const { seq, mac } = await audit.head(id);
      if (seq === (logged.get(id) ?? 0)) continue;
      logged.set(id, seq);
      log(`audit head ${id} ${seq} ${mac}`);
    }
  };
}

/** Logs the newest audit rows every hour; call the result to stop. */
export function startAuditHeadLog(
  stores: Pick<ControlStores, "organisations" | "audit">,
  { log, warn }: { log: (line: string) => void; warn: (message: string, error: unknown) => void },
): () => void {
  const logHeads = createHeadLog(stores, log);
  const timer = setInterval(() => {
    logHeads().catch((error) => warn("Cannot log the newest audit rows", error));
  }, logHeadsEveryMs);
  return () => clearInterval(timer);
}
