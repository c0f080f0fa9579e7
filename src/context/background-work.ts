import type { LogExportWork } from "../control/log-exports.ts";
import type { VectorStores } from "../control/vector-stores/vector-stores.ts";
import type { WokenWork } from "../control/woken-work.ts";
import type { BatchStore } from "../db/stores/batches.ts";
import type { EvalRunStore } from "../db/stores/eval-runs.ts";

/** What goes on in the background, with what wakes its runners. */
export interface BackgroundWork {
  readonly batches: WokenWork<BatchStore>;
  readonly vectorStores: VectorStores;
  readonly logExports: LogExportWork;
  readonly evalRuns: WokenWork<EvalRunStore>;
}
