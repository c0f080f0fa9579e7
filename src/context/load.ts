import type { Concurrency } from "./concurrency.ts";
import type { Dependencies, Requirable } from "./dependencies.ts";
import type { Pressure } from "./pressure.ts";

/** What decides whether requests may begin, and whether the process is ready. */
export interface LoadServices {
  /** Counts the requests that run. */
  readonly concurrency: Concurrency;
  /** How much the process has to do. */
  readonly pressure: Pressure;
  /** Whether what the gateway needs besides itself is there. */
  readonly dependencies: Dependencies;
  /** What must be there for the process to be ready. */
  readonly readyRequires: readonly Requirable[];
}
