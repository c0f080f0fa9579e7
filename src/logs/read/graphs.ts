import type { GraphName } from "../../schemas/analytics.ts";
import type { FieldName, StringFieldName } from "../index/fields.ts";
import { GroupedNumbers, meanOf, type Pause, percentilesOf } from "../index/measures.ts";
import type { RowBlock } from "../index/row-block.ts";
import { cacheGraphs } from "./cache-graphs.ts";
import { feedbackGraphs } from "./feedback-graphs.ts";
import { Interned } from "./interned.ts";
import type { Ratings } from "./ratings.ts";
import { CountsByNumber, failuresOf, NumberSets, type Places, rateOf, Sums, toCents } from "./sums.ts";
import type { Vocabulary } from "./vocabulary.ts";

/** What a graph is computed with. */
interface GraphTools {
  /** Points over time. */
  readonly points: number;
  /** The point of a time. */
  readonly pointOf: (time: number) => number;
  /** Feedback, if the graph says it reads it. */
  readonly feedback: Ratings | undefined;
  /** Strings of a field. */
  readonly vocabularyOf: (field: StringFieldName) => Vocabulary;
  readonly pause: Pause;
}

/** A figure by its name in the response. */
type Figures = Readonly<Record<string, unknown>>;

/** A computed graph: its points are over time unless there are rows. */
interface GraphResult {
  readonly summary: Figures;
  readonly point?: (point: number) => Figures;
  readonly rows?: readonly Figures[];
}

/** A graph: how it is computed. */
interface Graph {
  readonly summary: string;
  readonly fields: readonly FieldName[];
  readonly readsFeedback?: boolean;
  start(tools: GraphTools): GraphRun;
}

/** One computation of a graph. */
interface GraphRun {
  /**
   * Adds rows.
   *
   * @param places For each row its point.
   */
  add(block: RowBlock, places: Places): void;
  /** As `add`, for rows that are parts of others. Absent: they do not count. */
  addParts?(block: RowBlock, places: Places): void;
  finish(): GraphResult | Promise<GraphResult>;
}

function requestsRun({ points }: GraphTools): GraphRun {
  const requests = new Sums(points);
  return {
    add: (_, places) => requests.countRows(places),
    finish: () => ({ summary: { total: requests.total() }, point: (at) => ({ total: requests.at(at) }) }),
  };
}

/** A sum and its mean over all requests. */
function sumRun({ points }: GraphTools, valuesOf: (block: RowBlock) => Float64Array, round = (sum: number) => sum) {
  const [requests, sums] = [new Sums(points), new Sums(points)];
  const show = (sum: number, count: number) => ({ total: round(sum), avg: meanOf(round(sum), count) });
  return {
    add(block: RowBlock, places: Places) {
      requests.countRows(places);
      sums.addRows(places, valuesOf(block));
    },
    addParts: (block: RowBlock, places: Places) => sums.addRows(places, valuesOf(block)),
    finish: () => ({
      summary: show(sums.total(), requests.total()),
      point: (at: number) => show(sums.at(at), requests.at(at)),
    }),
  };
}

async function latencyOf(durations: Float64Array, sum: number, pause: Pause): Promise<Figures> {
  const [p50, p90, p99] = await percentilesOf(durations, [0.5, 0.9, 0.99], pause);
  return { avg: meanOf(sum, durations.length), p50: p50 ?? 0, p90: p90 ?? 0, p99: p99 ?? 0 };
}

function latencyRun({ points, pause }: GraphTools): GraphRun {
  const [durations, sums] = [new GroupedNumbers(), new Sums(points)];
  return {
    add(block, places) {
      const values = block.numbers("duration");
      durations.add(places, values);
      sums.addRows(places, values);
    },
    async finish() {
      const durationsOf = await durations.collect(points, pause);
      const shown: Figures[] = [];
      for (let at = 0; at < points; at++) shown.push(await latencyOf(durationsOf.of(at), sums.at(at), pause));
      const summary = await latencyOf(durationsOf.all, sums.total(), pause);
      return { summary, point: (at) => shown[at] ?? {} };
    },
  };
}

/** Distinct users of the points; those of all points together stand behind them. */
function usersRun(
  { points, vocabularyOf }: GraphTools,
  show: (counts: { requests: Sums; users: NumberSets }) => GraphResult,
): GraphRun {
  const [requests, users, names] = [new Sums(points), new NumberSets(), new Interned(vocabularyOf("endUser"))];
  return {
    add(block, places) {
      requests.countRows(places);
      const strings = block.strings("endUser");
      const members = names.placesOf(strings);
      for (let row = 0; row < places.length; row++) {
        // 0: the request names nobody
        if (strings.codes[row] === 0) continue;
        users.add(places[row] ?? 0, members[row] ?? 0);
        users.add(points, members[row] ?? 0);
      }
    },
    finish: () => show({ requests, users }),
  };
}

/** Errors with their sum over all requests. */
function errorsRun({ points }: GraphTools, show: (counts: { requests: Sums; errors: Sums }) => GraphResult): GraphRun {
  const [requests, errors] = [new Sums(points), new Sums(points)];
  return {
    add(block, places) {
      requests.countRows(places);
      errors.countRows(places, failuresOf(block));
    },
    finish: () => show({ requests, errors }),
  };
}

/** Errors by status. */
function statusesRun(show: (counts: CountsByNumber, total: number) => GraphResult): GraphRun {
  const counts = new CountsByNumber();
  return {
    add(block, places) {
      const [failed, statuses] = [failuresOf(block), block.numbers("status")];
      for (let row = 0; row < places.length; row++) {
        if (failed[row] === 1) counts.add(places[row] ?? 0, statuses[row] ?? 0);
      }
    },
    finish: () =>
      show(
        counts,
        [...counts.total.values()].reduce((sum, count) => sum + count, 0),
      ),
  };
}

/** Requests that succeeded after retries, or at another target than the first. */
function rescuedRun({ points }: GraphTools): GraphRun {
  const [retried, fallbacks] = [new CountsByNumber(), new Sums(points)];
  return {
    add(block, places) {
      const failed = failuresOf(block);
      const [retries, targets] = [block.numbers("retries"), block.numbers("targets")];
      for (let row = 0; row < places.length; row++) {
        if (failed[row] === 1) continue;
        const count = retries[row] ?? 0;
        if (count >= 1) retried.add(places[row] ?? 0, count);
        if ((targets[row] ?? 0) > 1) fallbacks.add(places[row] ?? 0, 1);
      }
    },
    finish: () => ({
      summary: {
        retry: [...retried.total.values()].reduce((sum, count) => sum + count, 0),
        fallback: fallbacks.total(),
      },
      point: (at) => ({
        retry: retried.at(at).map(([retry_success_count, count]) => ({ retry_success_count, count })),
        fallback: fallbacks.at(at),
      }),
    }),
  };
}

/** Every graph. */
export const graphs: Readonly<Record<GraphName, Graph>> = {
  requests: { summary: "Requests over time", fields: [], start: requestsRun },
  cost: {
    summary: "Cost over time, in US cents",
    fields: ["cost"],
    start: (tools) => sumRun(tools, (block) => block.numbers("cost"), toCents),
  },
  latency: { summary: "Duration of requests over time, in milliseconds", fields: ["duration"], start: latencyRun },
  tokens: {
    summary: "Tokens over time",
    fields: ["totalTokens"],
    start: (tools) => sumRun(tools, (block) => block.numbers("totalTokens")),
  },
  users: {
    summary: "Distinct users over time",
    fields: ["endUser"],
    start: (tools) =>
      usersRun(tools, ({ users }) => ({
        summary: { total: users.sizeOf(tools.points) },
        point: (at) => ({ total: users.sizeOf(at) }),
      })),
  },
  "users/requests": {
    summary: "Requests for each user over time",
    fields: ["endUser"],
    start: (tools) =>
      usersRun(tools, ({ requests, users }) => {
        const [total, unique] = [requests.total(), users.sizeOf(tools.points)];
        return {
          summary: { total, unique, avg: meanOf(total, unique) },
          point: (at) => ({ avg: meanOf(requests.at(at), users.sizeOf(at)) }),
        };
      }),
  },
  errors: {
    summary: "Failed requests over time",
    fields: ["status"],
    start: (tools) =>
      errorsRun(tools, ({ errors }) => ({
        summary: { total: errors.total() },
        point: (at) => ({ total: errors.at(at) }),
      })),
  },
  "errors/rate": {
    summary: "Percentage of failed requests over time",
    fields: ["status"],
    start: (tools) =>
      errorsRun(tools, ({ requests, errors }) => ({
        summary: { rate: rateOf(errors.total(), requests.total()) },
        point: (at) => ({ rate: rateOf(errors.at(at), requests.at(at)) }),
      })),
  },
  "errors/stacks": {
    summary: "Failed requests over time by status",
    fields: ["status"],
    start: () =>
      statusesRun((counts, total) => ({
        summary: { total },
        point: (at) => ({
          stats: counts.at(at).map(([response_status_code, count]) => ({ response_status_code, count })),
        }),
      })),
  },
  "errors/status-codes": {
    summary: "Failed requests by status",
    fields: ["status"],
    start: () =>
      statusesRun(({ total }, total_errors) => ({
        summary: { total_errors, unique_error_codes: total.size },
        rows: [...total].sort(([a], [b]) => a - b).map(([status_code, count]) => ({ status_code, count })),
      })),
  },
  "requests/rescued": {
    summary: "Requests over time that a retry or another target saved",
    fields: ["status", "retries", "targets"],
    start: rescuedRun,
  },
  ...cacheGraphs,
  ...feedbackGraphs,
};
