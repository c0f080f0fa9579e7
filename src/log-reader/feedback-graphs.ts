import { meanOf } from "../log-index/measures.ts";
import type { RowBlock } from "../log-index/row-block.ts";
import { Interned } from "./interned.ts";
import { Sums } from "./sums.ts";
import type { FeedbackIndex, TraceFeedback } from "./trace-feedback.ts";

/** Feedback of the wanted requests: that of a trace counts once, at the time of its first request. */
class FoundFeedback {
  readonly #index: FeedbackIndex | undefined;
  readonly #firstTimes = new Map<TraceFeedback, number>();

  constructor(index: FeedbackIndex | undefined) {
    this.#index = index;
  }

  add(block: RowBlock): void {
    const feedbackOf = this.#index?.of(block);
    if (!feedbackOf) return;
    const times = block.numbers("time");
    for (let row = 0; row < block.length; row++) {
      const found = feedbackOf(row);
      if (!found) continue;
      const time = times[row] ?? 0;
      if (time < (this.#firstTimes.get(found) ?? Number.POSITIVE_INFINITY)) this.#firstTimes.set(found, time);
    }
  }

  [Symbol.iterator](): IterableIterator<[TraceFeedback, number]> {
    return this.#firstTimes[Symbol.iterator]();
  }
}

interface FeedbackTools {
  readonly points: number;
  readonly pointOf: (time: number) => number;
  readonly feedback: FeedbackIndex | undefined;
}

/** Sums over all feedback, by point. */
function sumFeedback(found: FoundFeedback, { points, pointOf }: FeedbackTools) {
  const [counts, weighted] = [new Sums(points), new Sums(points)];
  for (const [{ values, weighted: sum }, time] of found) {
    counts.add(pointOf(time), values.length);
    weighted.add(pointOf(time), sum);
  }
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
      for (const [{ values }] of found) for (const value of values) counts.add(value - lowestScore, 1);
      const rows = Array.from({ length: scores }, (_, at) => ({ score: at + lowestScore, total: counts.at(at) }));
      return { summary: { total: counts.total() }, rows };
    },
  };
}

/** The feedback of a trace counts once for each model that served it. */
function modelsRun({ feedback }: FeedbackTools) {
  const models = new Interned();
  const found: Set<TraceFeedback>[] = [];
  return {
    add(block: RowBlock) {
      const feedbackOf = feedback?.of(block);
      if (!feedbackOf) return;
      const places = models.placesOf(block.strings("model"));
      for (let row = 0; row < block.length; row++) {
        const one = feedbackOf(row);
        if (!one) continue;
        const place = places[row] ?? 0;
        const set = found[place] ?? new Set<TraceFeedback>();
        found[place] = set.add(one);
      }
    },
    finish() {
      const rows = Array.from(found, (set) => [...(set ?? [])]).flatMap((all, place) => {
        const total = all.reduce((sum, { values }) => sum + values.length, 0);
        const weighted = all.reduce((sum, one) => sum + one.weighted, 0);
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
