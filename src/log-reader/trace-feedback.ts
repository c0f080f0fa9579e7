import type { FeedbackStore, TraceRating } from "../db/stores/feedback.ts";
import type { Tenant } from "../db/tenant-store.ts";
import { giveWay } from "../lib/pace.ts";
import { digestOfId } from "../log-index/fields.ts";
import type { RowBlock, RowTest } from "../log-index/row-block.ts";

/** All feedback of one trace. */
export interface TraceFeedback {
  readonly values: number[];
  /** Sum of value times weight. */
  weighted: number;
}

/** Feedback of a scope. */
export interface FeedbackIndex {
  /** The feedback of each row of a block; undefined without any. Reads the fields `trace` and `workspace`. */
  of(block: RowBlock): (place: number) => TraceFeedback | undefined;
}

/** Feedback that is read at a time. */
const pageRows = 2_048;

/** Feedback of the traces of a scope, by workspace and digest of the trace. */
async function readByWorkspace(store: FeedbackStore, scope: Tenant): Promise<Map<string, Map<number, TraceFeedback>>> {
  // traces of different workspaces may have the same id
  const byWorkspace = new Map<string, Map<number, TraceFeedback>>();
  let last: TraceRating | undefined;
  for (;;) {
    const page = await store.readAfter(scope, last, pageRows);
    for (const rating of page) addRating(byWorkspace, rating);
    last = page.at(-1);
    if (page.length < pageRows) break;
    await giveWay();
  }
  return byWorkspace;
}

/** Reads all feedback of a scope. Statistics and feedback are stored for the same time. */
export async function readFeedback(store: FeedbackStore, scope: Tenant): Promise<FeedbackIndex> {
  const byWorkspace = await readByWorkspace(store, scope);
  return {
    of(block) {
      if (byWorkspace.size === 0) return () => undefined;
      const traces = block.numbers("trace");
      const { codes, values } = block.strings("workspace");
      const maps = Array.from({ length: values.size }, (_, workspace) => byWorkspace.get(values.at(workspace)));
      return (place) => maps[(codes[place] ?? 0) - 1]?.get(traces[place] ?? 0);
    },
  };
}

function addRating(byWorkspace: Map<string, Map<number, TraceFeedback>>, rating: TraceRating): void {
  const { workspaceId, traceId, value, weight } = rating;
  const traces = byWorkspace.get(workspaceId) ?? new Map<number, TraceFeedback>();
  byWorkspace.set(workspaceId, traces);
  const digest = digestOfId(traceId);
  const known = traces.get(digest);
  if (!known) {
    traces.set(digest, { values: [value], weighted: value * weight });
    return;
  }
  known.values.push(value);
  known.weighted += value * weight;
}

/** Rows whose trace has feedback with a mean of value times weight within bounds. */
export function feedbackTest(
  index: FeedbackIndex,
  { least = -10, most = 10 }: { least?: number | undefined; most?: number | undefined },
): RowTest {
  return {
    fields: ["trace", "workspace"],
    of(block) {
      const feedbackOf = index.of(block);
      return (place) => {
        const found = feedbackOf(place);
        if (!found) return false;
        const mean = found.weighted / found.values.length;
        return mean >= least && mean <= most;
      };
    },
  };
}

/** Reads the means of value times weight of all traces of a scope; undefined for a trace without feedback. */
export async function readTraceMeans(
  store: FeedbackStore,
  scope: Tenant,
): Promise<(workspaceId: string | null, traceId: string) => number | undefined> {
  const byWorkspace = await readByWorkspace(store, scope);
  return (workspaceId, traceId) => {
    const found = byWorkspace.get(workspaceId ?? "")?.get(digestOfId(traceId));
    return found && found.weighted / found.values.length;
  };
}
