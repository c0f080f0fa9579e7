import type { ControlStores } from "../db/stores/control.ts";

/** How often the newest row of each audit log is told. */
export const tellHeadsEveryMs = 3_600_000;

/**
 * Makes a function that tells, for every organisation, number and mac of its newest audit row when there is a newer one
 * than it told before. Kept apart from the database these lines show that rows were cut off at the end of a log.
 */
export function createHeadTeller(
  { organisations, audit }: Pick<ControlStores, "organisations" | "audit">,
  tell: (line: string) => void,
): () => Promise<void> {
  const told = new Map<string, number>();
  return async () => {
    for (const { id } of await organisations.listAll()) {
      const { seq, mac } = await audit.head(id);
      if (seq === (told.get(id) ?? 0)) continue;
      told.set(id, seq);
      tell(`audit head ${id} ${seq} ${mac}`);
    }
  };
}

/** Tells the newest audit rows every hour; the result stops it. */
export function startHeadTeller(
  stores: Pick<ControlStores, "organisations" | "audit">,
  { tell, warn }: { tell: (line: string) => void; warn: (message: string, error: unknown) => void },
): () => void {
  const tellHeads = createHeadTeller(stores, tell);
  const timer = setInterval(() => {
    tellHeads().catch((error) => warn("Cannot tell the newest audit rows", error));
  }, tellHeadsEveryMs);
  return () => clearInterval(timer);
}
