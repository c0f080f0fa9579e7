import type { FeedbackStore, RatingPlace, TraceRating } from "../db/stores/feedback.ts";
import { giveWay } from "../lib/pace.ts";
import { WeightedCache } from "../lib/weighted-cache.ts";
import { digestOfId, type FieldName } from "../log-index/fields.ts";
import type { RowBlock, RowTest } from "../log-index/row-block.ts";

/** All feedback of one trace. */
export interface TraceFeedback {
  readonly values: number[];
  /** Sum of value times weight. */
  weighted: number;
}

/** Feedback of a scope. */
export interface FeedbackIndex {
  readonly isEmpty: boolean;
  /** The feedback of each row of a block; undefined without any. Reads `feedbackFields`. */
  of(block: RowBlock): (place: number) => TraceFeedback | undefined;
}

/** Fields by which rows find their feedback. */
export const feedbackFields = ["trace", "workspace"] as const satisfies readonly FieldName[];

/** Feedback that is read at a time. */
const pageRows = 2_048;
/** Bytes of a rating in memory, roughly. */
const ratingBytes = 160;

/** The feedback of a trace with what changes of it need. */
interface RatedTrace extends TraceFeedback {
  readonly rowIds: number[];
  readonly weights: number[];
  readonly createdAt: number[];
}

/** Marks of traces that may have feedback, by the lowest bits of their digests: a power of two. */
const markCount = 2 ** 18;

/** Feedback of an organisation, in memory. */
class Ratings implements FeedbackIndex {
  /** By workspace and digest of the trace: traces of different workspaces may have the same id. */
  readonly #byWorkspace = new Map<string, Map<number, RatedTrace>>();
  /** 1 where a trace has feedback, or had some: most rows are asked for nothing else. */
  readonly #marks = new Uint8Array(markCount);
  #size = 0;
  #last: RatingPlace | undefined;
  #lastRowId = 0;
  #oldest = Number.POSITIVE_INFINITY;

  get isEmpty(): boolean {
    return this.#size === 0;
  }

  get bytes(): number {
    return this.#size * ratingBytes + markCount;
  }

  /** The feedback of a trace. */
  find(workspaceId: string, traceId: string): TraceFeedback | undefined {
    return this.#byWorkspace.get(workspaceId)?.get(digestOfId(traceId));
  }

  of(block: RowBlock): (place: number) => TraceFeedback | undefined {
    if (this.isEmpty) return () => undefined;
    const traces = block.numbers("trace");
    const { codes, values } = block.strings("workspace");
    const maps = Array.from({ length: values.size }, (_, workspace) => this.#byWorkspace.get(values.at(workspace)));
    const marks = this.#marks;
    return (place) => {
      const trace = traces[place] ?? 0;
      return marks[trace & (markCount - 1)] === 1 ? maps[(codes[place] ?? 0) - 1]?.get(trace) : undefined;
    };
  }

  /** Reads what was added, changed and removed since the last time. */
  async update(store: FeedbackStore, organisationId: string): Promise<void> {
    for (;;) {
      const page = await store.readAfter(organisationId, this.#last, pageRows);
      for (const rating of page) this.#set(rating);
      this.#last = page.at(-1) ?? this.#last;
      if (page.length < pageRows) break;
      await giveWay();
    }
    const oldest = await store.readOldest();
    if (oldest > this.#oldest) this.#removeBefore(oldest);
  }

  #set({ workspaceId, traceId, rowId, value, weight, createdAt }: TraceRating): void {
    const traces = this.#byWorkspace.get(workspaceId) ?? new Map<number, RatedTrace>();
    this.#byWorkspace.set(workspaceId, traces);
    const digest = digestOfId(traceId);
    const trace = traces.get(digest) ?? { values: [], weights: [], rowIds: [], createdAt: [], weighted: 0 };
    traces.set(digest, trace);
    this.#marks[digest & (markCount - 1)] = 1;
    // rows behind the last are new: a trace may have very many
    let at = rowId > this.#lastRowId ? -1 : trace.rowIds.indexOf(rowId);
    this.#lastRowId = Math.max(rowId, this.#lastRowId);
    if (at < 0) {
      at = trace.rowIds.push(rowId) - 1;
      this.#size++;
    }
    trace.weighted += value * weight - (trace.values[at] ?? 0) * (trace.weights[at] ?? 0);
    [trace.values[at], trace.weights[at], trace.createdAt[at]] = [value, weight, createdAt];
    this.#oldest = Math.min(createdAt, this.#oldest);
  }

  #removeBefore(oldest: number): void {
    this.#oldest = oldest;
    this.#size = 0;
    for (const traces of this.#byWorkspace.values()) {
      for (const [digest, trace] of traces) {
        const left = removeBefore(trace, oldest);
        this.#size += left;
        if (left === 0) traces.delete(digest);
      }
    }
  }
}

/** Removes the ratings of a trace that were created before a time; returns how many are left. */
function removeBefore(trace: RatedTrace, oldest: number): number {
  const { values, weights, rowIds, createdAt } = trace;
  if (createdAt.every((time) => time >= oldest)) return createdAt.length;
  const left = Array.from(createdAt.keys()).filter((at) => (createdAt[at] ?? 0) >= oldest);
  for (const list of [values, weights, rowIds, createdAt]) {
    // each stands at or behind its new place
    for (const [place, at] of left.entries()) list[place] = list[at] ?? 0;
    list.length = left.length;
  }
  trace.weighted = values.reduce((sum, value, at) => sum + value * (weights[at] ?? 0), 0);
  return left.length;
}

/** Reads the feedback of organisations: whole at first, then only what has changed. */
export class FeedbackReader {
  readonly #store: FeedbackStore;
  readonly #known: WeightedCache<Ratings>;
  /** The last reading of each organisation whose feedback is being read. */
  readonly #running = new Map<string, Promise<unknown>>();

  /** @param maxBytes Most bytes that stay in memory; an organisation with more than a quarter is read each time. */
  constructor(store: FeedbackStore, maxBytes: number) {
    this.#store = store;
    this.#known = new WeightedCache(maxBytes);
  }

  /** All feedback of an organisation. Statistics and feedback are stored for the same time. */
  async read(organisationId: string): Promise<Ratings> {
    // one after the other, as each changes what is known
    const before = this.#running.get(organisationId);
    const reading = Promise.resolve(before).then(() => this.#update(organisationId));
    const settled = reading.catch(() => {});
    this.#running.set(organisationId, settled);
    try {
      return await reading;
    } finally {
      if (this.#running.get(organisationId) === settled) this.#running.delete(organisationId);
    }
  }

  async #update(organisationId: string): Promise<Ratings> {
    const ratings = this.#known.get(organisationId) ?? new Ratings();
    await ratings.update(this.#store, organisationId);
    this.#known.set(organisationId, ratings, { owner: organisationId, weight: ratings.bytes });
    return ratings;
  }
}

/** Rows whose trace has feedback with a mean of value times weight within bounds. */
export function feedbackTest(
  index: FeedbackIndex,
  { least = -10, most = 10 }: { least?: number | undefined; most?: number | undefined },
): RowTest {
  return {
    fields: feedbackFields,
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

/** Reads the means of value times weight of all traces of an organisation; undefined for a trace without feedback. */
export async function readTraceMeans(
  store: FeedbackStore,
  organisationId: string,
): Promise<(workspaceId: string | null, traceId: string) => number | undefined> {
  const ratings = await new FeedbackReader(store, 0).read(organisationId);
  return (workspaceId, traceId) => {
    const found = ratings.find(workspaceId ?? "", traceId);
    return found && found.weighted / found.values.length;
  };
}
