import { meanOf } from "../index/measures.ts";
import type { RowBlock } from "../index/row-block.ts";
import { Interned } from "./interned.ts";
import { noTrace, type Ratings } from "./ratings.ts";
import { Sums } from "./sums.ts";

/** Feedback of the wanted requests: that of a trace counts once, at the time of its first request. */
class FoundFeedback {
  readonly #ratings: Ratings | undefined;
  /** By trace; 0 for those that were not found. */
  readonly #firstTimes = new Sums();

  constructor(ratings: Ratings | undefined) {
    this.#ratings = ratings;
  }

  add(block: RowBlock): void {
    const ratings = this.#ratings;
    if (!ratings) return;
    this.#firstTimes.reserve(ratings.traces);
    const traceOf = ratings.of(block);
    const times = block.numbers("time");
    const [foundTraces, foundTimes] = [new Uint32Array(block.length), new Float64Array(block.length)];
    let count = 0;
    for (let row = 0; row < block.length; row++) {
      const trace = traceOf(row);
      if (trace === noTrace) continue;
      foundTraces[count] = trace;
      foundTimes[count++] = times[row] ?? 0;
    }
    this.#firstTimes.keepLeast(foundTraces.subarray(0, count), foundTimes.subarray(0, count));
  }

  /** Calls for each trace that was found, with the time of its first request. */
  visit(visit: (trace: number, time: number, ratings: Ratings) => void): void {
    const { traces } = this.#ratings ?? { traces: 0 };
    for (let trace = 0; trace < traces; trace++) {
      const time = this.#firstTimes.at(trace);
      if (this.#ratings && time > 0) visit(trace, time, this.#ratings);
    }
  }
}

interface FeedbackTools {
  readonly points: number;
  readonly pointOf: (time: number) => number;
  readonly feedback: Ratings | undefined;
}

/** Sums over all feedback, by point. */
function sumFeedback(found: FoundFeedback, { points, pointOf }: FeedbackTools) {
  const [counts, weighted] = [new Sums(points), new Sums(points)];
  found.visit((trace, time, ratings) => {
    counts.add(pointOf(time), ratings.countOf(trace));
    weighted.add(pointOf(time), ratings.weightedOf(trace));
  });
  return { counts, weighted };
}

function totalRun(tools: FeedbackTools) {
  const found = new FoundFeedback(tools.feedback);
  return {
    add: (block: RowBlock) => found.add(block),
    finish() {
      const { counts } = sumFeedback(found, tools);
      return { summary: { total: counts.total() }, point: (at: number) => ({ total: counts.at(at) }) };
    },
  };
}

function weightedRun(tools: FeedbackTools) {
  const found = new FoundFeedback(tools.feedback);
  return {
    add: (block: RowBlock) => found.add(block),
    finish() {
      const { counts, weighted } = sumFeedback(found, tools);
      return {
        summary: { avg: meanOf(weighted.total(), counts.total()) },
        point: (at: number) => ({ avg: meanOf(weighted.at(at), counts.at(at)) }),
      };
    },
  };
}

const lowestScore = -10;
const scores = 21;

function scoresRun(tools: FeedbackTools) {
  const found = new FoundFeedback(tools.feedback);
  return {
    add: (block: RowBlock) => found.add(block),
    finish() {
      const counts = new Sums(scores);
      found.visit((trace, _, ratings) => ratings.visitValues(trace, (value) => counts.add(value - lowestScore, 1)));
      const rows = Array.from({ length: scores }, (_, at) => ({ score: at + lowestScore, total: counts.at(at) }));
      return { summary: { total: counts.total() }, rows };
    },
  };
}

/** The feedback of a trace counts once for each model that served it. */
function modelsRun({ feedback }: FeedbackTools) {
  const models = new Interned();
  const found: Set<number>[] = [];
  return {
    add(block: RowBlock) {
      const traceOf = feedback?.of(block);
      if (!traceOf) return;
      const places = models.placesOf(block.strings("model"));
      for (let row = 0; row < block.length; row++) {
        const trace = traceOf(row);
        if (trace === noTrace) continue;
        const place = places[row] ?? 0;
        const set = found[place] ?? new Set<number>();
        found[place] = set.add(trace);
      }
    },
    finish() {
      const rows = Array.from(found, (set) => [...(set ?? [])]).flatMap((all, place) => {
        const total = all.reduce((sum, trace) => sum + (feedback?.countOf(trace) ?? 0), 0);
        const weighted = all.reduce((sum, trace) => sum + (feedback?.weightedOf(trace) ?? 0), 0);
        return total === 0 ? [] : [{ ai_model: models.at(place), total, avg_weighted_feedback: weighted / total }];
      });
      rows.sort((a, b) => b.total - a.total || (a.ai_model < b.ai_model ? -1 : 1));
      return { summary: {}, rows };
    },
  };
}

const base = { fields: ["trace", "workspace"], readsFeedback: true } as const;

/** Graphs of feedback. */
export const feedbackGraphs = {
  feedbacks: { ...base, summary: "Feedback over time", start: totalRun },
  "feedbacks/scores": { ...base, summary: "Feedback by value", start: scoresRun },
  "feedbacks/weighted": { ...base, summary: "Mean of value times weight over time", start: weightedRun },
  "feedbacks/ai-models": {
    ...base,
    fields: [...base.fields, "model"],
    summary: "Feedback by model",
    start: modelsRun,
  },
} as const;
