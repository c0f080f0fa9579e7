import type { Database } from "../../src/db/client.ts";
import { createLogSealingStore } from "../../src/db/stores/log-sealing.ts";
import { createLogStore } from "../../src/db/stores/logs.ts";
import { createIdFactory, timeOfId } from "../../src/lib/ids.ts";
import { LogSealer } from "../../src/logs/index/sealer.ts";
import { CacheStatus, type LogDetails } from "../../src/schemas/logs.ts";

/** A tenant of log rows. */
export interface RowTenant {
  organisationId: string;
  workspaceId: string;
}

/** A feedback of a trace. */
export interface Rating {
  trace_id: string;
  value: number;
  weight: number;
}

export const pick = <Item>(random: () => number, items: readonly Item[]): Item =>
  items[Math.floor(random() * items.length)] as Item; // the lists are not empty

/** Random rows of one workspace from a time on, in the order of their ids. */
export function randomRows(
  random: () => number,
  tenant: RowTenant,
  { count, start, stepMs }: { count: number; start: number; stepMs: number },
): LogDetails[] {
  let at = start;
  const createId = createIdFactory(() => at);
  const whole = (most: number) => Math.floor(random() * (most + 1));
  return Array.from({ length: count }, () => {
    at += whole(stepMs);
    const [input, output] = [whole(5_000), whole(800)];
    const status = pick(random, [200, 200, 200, 200, 101, 246, 400, 429, 446, 499, 503]);
    const [used, priced] = [random() < 0.9, random() < 0.9];
    const user = pick(random, [undefined, "ann", "bob", "cleo", "", 'd"e,f']);
    const attempts = pick(random, [undefined, 1, 1, 2, 3]);
    const counts = { cached_tokens: 0, reasoning_tokens: 0, cache_write_tokens: 0, audio_input_tokens: 0 };
    return {
      id: createId(),
      organisation_id: tenant.organisationId,
      workspace_id: tenant.workspaceId,
      api_key_id: pick(random, ["key-1", "key-2", "key-3"]),
      method: "POST",
      path: "/v1/chat/completions",
      operation: "chatComplete",
      status,
      provider: pick(random, [null, "openai", "anthropic"]),
      model: pick(random, [null, "m-1", "m-2", "m__3"]),
      ...(random() < 0.5 && { virtual_key: pick(random, ["main", "spare"]) }),
      ...(random() < 0.4 && { integration_id: pick(random, ["integration-1", "integration-2"]) }),
      config: pick(random, [null, "pc-a", "pc-b"]),
      ...(random() < 0.3 && { prompt_slug: pick(random, ["pp-a", "pp-b"]) }),
      trace_id: `trace-${whole(count / 3)}`,
      span_id: pick(random, [null, `span-${whole(20)}`]),
      parent_span_id: null,
      span_name: null,
      metadata: {
        ...(user !== undefined && { _user: user }),
        ...(random() < 0.7 && { team: pick(random, ["red", "blue"]) }),
        ...(random() < 0.2 && { 'odd "key"': pick(random, ["x", "y"]) }),
        // no label, whatever a caller names its key
        ...(random() < 0.2 && { "\0tier": "gold" }),
      },
      stream: input % 2 === 0,
      ...(output % 4 === 0 && {
        mcp: { server_id: "s", server: output % 8 === 0 ? "files" : "tickets", method: "tools/call" },
      }),
      duration_ms: pick(random, [random() * 3_000, whole(40), 12.5]),
      first_byte_ms: output % 5 === 0 ? null : output,
      upstream_ms: null,
      upstream_url: null,
      upstream_calls: 1,
      ...(attempts !== undefined && {
        attempts: Array.from({ length: attempts }, (_, index) => ({
          label: `config.targets[${index}]`,
          ...pick(random, [{}, { name: "current" }, { name: "candidate" }]),
          provider: "openai",
          model: "m-1",
          status,
          duration_ms: 1,
          retries: pick(random, [-1, 0, 0, 1, 2]),
        })),
      }),
      usage: used
        ? {
            input_tokens: input,
            output_tokens: output,
            total_tokens: input + output,
            audio_output_tokens: 0,
            ...counts,
          }
        : null,
      cost: priced ? whole(1e7) / 1e7 : null,
      cost_currency: "USD" as const,
      ...pick(random, [
        {},
        { labels: { region: "eu", zero_retention: true } },
        { labels: { region: "us", tier: "gold" } },
        { labels: { tier: "tin", fast: true } },
      ]),
      priced,
      ...(random() < 0.05 && { part_of: "session" }),
      ...(random() < 0.3 && { session_id: `session-${whole(20)}` }),
      ...(random() < 0.1 && { shadow_of: pick(random, ["row-1", "row-2"]) }),
      ...(random() < 0.6 && cached(random)),
      ...(random() < 0.2 && { source: pick(random, ["console", "otel"] as const) }),
      error: null,
      ...(random() < 0.3 && { requested_model: pick(random, ["fast", "smart"]) }),
    };
  });
}

/** How the cache served a request, and what that saved. */
function cached(random: () => number): Pick<LogDetails, "cache_status" | "cache"> {
  const cache_status = pick(random, [...CacheStatus.options, "HIT", "SEMANTIC HIT"] as const);
  if (!cache_status.endsWith("HIT")) return { cache_status };
  return { cache_status, cache: { saved_cost: pick(random, [null, Math.floor(random() * 1e7) / 1e7]), age: 1 } };
}

/** Stores rows in batches of random sizes; those that come before the last `tail` batches are indexed by segments. */
export async function storeRows(
  database: Database,
  random: () => number,
  { tenant, rows, tail }: { tenant: RowTenant; rows: readonly LogDetails[]; tail: number },
): Promise<void> {
  const batches: LogDetails[][] = [];
  for (let at = 0; at < rows.length; ) {
    const size = 1 + Math.floor(random() * 64);
    batches.push(rows.slice(at, at + size));
    at += size;
  }
  const logs = createLogStore(database);
  const sealer = new LogSealer(createLogSealingStore(database), () => 0);
  const sealed = Math.max(0, batches.length - tail);
  for (const [number, batch] of batches.entries()) {
    const ids = batch.map(({ id }) => id);
    await logs.append([
      {
        ...tenant,
        firstId: ids[0] ?? "",
        lastId: ids.at(-1) ?? "",
        details: JSON.stringify(batch),
        counted: "",
        charged: "",
        content: "[]\n[]\n",
      },
    ]);
    if (number < sealed && (number % 7 === 6 || number === sealed - 1)) await sealer.run(1);
  }
}

/** A filter of requests: query parameters, and the same as a test of a row. */
export interface RowFilter {
  readonly query: Readonly<Record<string, string>>;
  readonly test: (row: LogDetails) => boolean;
}

const minute = 60_000;
const day = 24 * 60 * minute;

/** Starts of the points of a period, as the documentation says. */
function pointsOf(from: number, to: number): number[] {
  const span = to - from;
  const width = span <= 60 * minute ? minute : span <= day ? 60 * minute : span <= 90 * day ? day : 7 * day;
  const starts: number[] = [];
  // 5 January 1970 was a Monday
  let start = 4 * day - width;
  start += Math.floor((from - start) / width) * width;
  for (; start <= to; start += width) starts.push(start);
  return starts;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
const mean = (total: number, count: number): number => (count === 0 ? 0 : total / count);
/** Rows that are requests, and not parts of others. */
export const whole = (rows: readonly LogDetails[]): LogDetails[] => rows.filter((row) => row.part_of === undefined);
const requestsIn = (rows: readonly LogDetails[]): number => whole(rows).length;
const isError = ({ status }: LogDetails): boolean => status !== 101 && (status < 200 || status > 299);
const costOf = (rows: readonly LogDetails[]): number => sum(rows.map(({ cost }) => cost ?? 0));
const tokensOf = (rows: readonly LogDetails[]): number => sum(rows.map(({ usage }) => usage?.total_tokens ?? 0));

function countBy<Key>(keys: readonly Key[]): [Key, number][] {
  return [...new Set(keys)]
    .sort((a, b) => Number(a) - Number(b))
    .map((key) => [key, keys.filter((one) => one === key).length]);
}

/** The smallest number that at least this part of all numbers does not exceed. */
export function percentile(numbers: readonly number[], part: number): number | undefined {
  return [...numbers]
    .sort((a, b) => a - b)
    .find((number) => numbers.filter((one) => one <= number).length >= part * numbers.length);
}

function latency(rows: readonly LogDetails[]) {
  const all = rows.map(({ duration_ms }) => duration_ms);
  const [p50, p90, p99] = [0.5, 0.9, 0.99].map((part) => percentile(all, part) ?? 0);
  return { avg: mean(sum(all), all.length), p50, p90, p99 };
}

const usersOf = (rows: readonly LogDetails[]) => new Set(rows.flatMap(({ metadata }) => metadata._user ?? [])).size;
const retriesOf = (rows: readonly LogDetails[]) =>
  rows
    .filter((row) => !isError(row) && (row.attempts?.at(-1)?.retries ?? 0) >= 1)
    .map((row) => row.attempts?.at(-1)?.retries ?? 0);
const fallbacksOf = (rows: readonly LogDetails[]) =>
  rows.filter((row) => !isError(row) && (row.attempts?.length ?? 1) > 1).length;

/** Feedback of the traces of some rows, each once. */
const ratingsOf = (rows: readonly LogDetails[], ratings: readonly Rating[]): Rating[] => {
  const traces = new Set(rows.map(({ trace_id }) => trace_id));
  return ratings.filter(({ trace_id }) => traces.has(trace_id));
};
const weightedMean = (ratings: readonly Rating[]): number =>
  mean(sum(ratings.map(({ value, weight }) => value * weight)), ratings.length);

type Figures = Record<string, unknown>;

/** Summary, and a point for the rows of each, of the graphs over time. */
const overTime: Readonly<
  Record<string, { summary: (rows: LogDetails[]) => Figures; point: (rows: LogDetails[]) => Figures }>
> = {
  requests: same((rows) => ({ total: rows.length })),
  cost: same((rows) => ({ total: costOf(rows), avg: mean(costOf(rows), requestsIn(rows)) })),
  latency: same(latency),
  tokens: same((rows) => ({ total: tokensOf(rows), avg: mean(tokensOf(rows), requestsIn(rows)) })),
  users: same((rows) => ({ total: usersOf(rows) })),
  "users/requests": {
    summary: (rows) => ({ total: rows.length, unique: usersOf(rows), avg: mean(rows.length, usersOf(rows)) }),
    point: (rows) => ({ avg: mean(rows.length, usersOf(rows)) }),
  },
  errors: same((rows) => ({ total: rows.filter(isError).length })),
  "errors/rate": same((rows) => ({ rate: 100 * mean(rows.filter(isError).length, rows.length) })),
  "errors/stacks": {
    summary: (rows) => ({ total: rows.filter(isError).length }),
    point: (rows) => ({
      stats: countBy(rows.filter(isError).map(({ status }) => status)).map(([response_status_code, count]) => ({
        response_status_code,
        count,
      })),
    }),
  },
  "requests/rescued": {
    summary: (rows) => ({ retry: retriesOf(rows).length, fallback: fallbacksOf(rows) }),
    point: (rows) => ({
      retry: countBy(retriesOf(rows)).map(([retry_success_count, count]) => ({ retry_success_count, count })),
      fallback: fallbacksOf(rows),
    }),
  },
  "cache/hit-rate": {
    summary: (rows) => ({ total: hitsOf(rows).length, rate: 100 * mean(hitsOf(rows).length, rows.length) }),
    // savings are added up over the points
    point: (rows) => ({
      simple_hits: hitsOf(rows, "HIT").length,
      semantic_hits: hitsOf(rows, "SEMANTIC HIT").length,
      rate: 100 * mean(hitsOf(rows).length, rows.length),
      cumulative_simple_cache_savings: savedBy(hitsOf(rows, "HIT")),
      cumulative_semantic_cache_savings: savedBy(hitsOf(rows, "SEMANTIC HIT")),
    }),
  },
  "cache/latency": { summary: () => ({}), point: (rows) => ({ avg: meanDuration(hitsOf(rows)) }) },
  "cache/prompt": { summary: promptCacheOf, point: promptCacheOf },
  "auto/savings": { summary: autoSavingsOf, point: autoSavingsOf },
};

/** Responses from the cache. */
function hitsOf(rows: readonly LogDetails[], ...statuses: readonly CacheStatus[]): LogDetails[] {
  const wanted: readonly unknown[] = statuses.length === 0 ? ["HIT", "SEMANTIC HIT"] : statuses;
  return rows.filter((row) => wanted.includes(row.cache_status));
}

const savedBy = (rows: readonly LogDetails[]): number => sum(rows.map(({ cache }) => cache?.saved_cost ?? 0));
const meanDuration = (rows: readonly LogDetails[]): number =>
  mean(sum(rows.map(({ duration_ms }) => duration_ms)), rows.length);

/** What the providers' prompt caches served. */
function promptCacheOf(rows: readonly LogDetails[]): Record<string, number> {
  const cached = sum(rows.map(({ usage }) => usage?.cached_tokens ?? 0));
  const input = sum(rows.map(({ usage }) => usage?.input_tokens ?? 0));
  const saved = sum(rows.map(({ prompt_cache_saved_cost: cents }) => cents ?? 0));
  return { cached_tokens: cached, rate: 100 * mean(cached, input), saved_cost: saved };
}

/** What the largest target of `auto` would have cost. */
function autoSavingsOf(all: readonly LogDetails[]): Record<string, number> {
  const rows = all.filter((row) => row.auto_saved_cost !== undefined);
  const saved = sum(rows.map(({ auto_saved_cost: cents }) => cents ?? 0));
  const largest = saved + sum(rows.map(({ cost }) => cost ?? 0));
  return { largest_cost: largest, saved_cost: saved, rate: 100 * mean(saved, largest) };
}

/** The figures of `summary/cache`. */
export function recomputeCacheSummary(all: readonly LogDetails[]): Figures {
  const rows = whole(all);
  const hits = hitsOf(rows);
  const others = meanDuration(rows.filter((row) => !hits.includes(row)));
  return {
    hits: hits.length,
    avg_latency: meanDuration(hits),
    total_requests: rows.length,
    cache_speedup: hits.length === 0 ? 0 : 100 * mean(others - meanDuration(hits), others),
  };
}

/** Adds figures up from point to point. */
function addUp(points: Figures[]): Figures[] {
  const names = ["cumulative_simple_cache_savings", "cumulative_semantic_cache_savings"];
  for (const name of names) {
    let total = 0;
    for (const point of points) if (name in point) point[name] = total += Number(point[name]);
  }
  return points;
}

function same(of: (rows: LogDetails[]) => Figures) {
  return { summary: of, point: of };
}

/** Names of all graphs that are recomputed. */
export const graphNames: readonly string[] = [
  ...Object.keys(overTime),
  "errors/status-codes",
  "feedbacks",
  "feedbacks/scores",
  "feedbacks/weighted",
  "feedbacks/ai-models",
];

/** A graph computed slowly from the rows themselves. */
export function recomputeGraph(
  name: string,
  { all, from, to, ratings }: { all: LogDetails[]; from: number; to: number; ratings: readonly Rating[] },
): Figures {
  // parts of requests add to sums, and are no requests
  const rows = ["cost", "tokens"].includes(name) ? all : whole(all);
  const starts = pointsOf(from, to);
  const at = (start: number, index: number, some: LogDetails[]) =>
    some.filter(({ id }) => timeOfId(id) >= start && timeOfId(id) < (starts[index + 1] ?? Number.POSITIVE_INFINITY));
  const timed = (point: (rows: LogDetails[]) => Figures, some = rows) =>
    starts.map((start, index) => ({ timestamp: new Date(start).toISOString(), ...point(at(start, index, some)) }));
  const shape = (summary: Figures, data_points: Figures[]) => ({ summary, data_points, object: "analytics-graph" });
  const graph = overTime[name];
  if (graph) return shape(graph.summary(rows), addUp(timed(graph.point)));
  const errors = rows.filter(isError).map(({ status }) => status);
  // a trace's feedback belongs to its first row
  const firsts = rows.filter(({ trace_id }, index) => rows.findIndex((row) => row.trace_id === trace_id) === index);
  const found = ratingsOf(rows, ratings);
  switch (name) {
    case "errors/status-codes":
      return shape(
        { total_errors: errors.length, unique_error_codes: new Set(errors).size },
        countBy(errors).map(([status_code, count]) => ({ status_code, count })),
      );
    case "feedbacks":
      return shape(
        { total: found.length },
        timed((some) => ({ total: ratingsOf(some, ratings).length }), firsts),
      );
    case "feedbacks/weighted":
      return shape(
        { avg: weightedMean(found) },
        timed((some) => ({ avg: weightedMean(ratingsOf(some, ratings)) }), firsts),
      );
    case "feedbacks/scores":
      return shape(
        { total: found.length },
        Array.from({ length: 21 }, (_, index) => ({
          score: index - 10,
          total: found.filter(({ value }) => value === index - 10).length,
        })),
      );
    default: {
      const models = [...new Set(rows.map(({ model }) => model ?? ""))].map((ai_model) => {
        const own = ratingsOf(
          rows.filter(({ model }) => (model ?? "") === ai_model),
          ratings,
        );
        return { ai_model, total: own.length, avg_weighted_feedback: weightedMean(own) };
      });
      const shown = models.filter(({ total }) => total > 0);
      return shape(
        {},
        shown.sort((a, b) => b.total - a.total || (a.ai_model < b.ai_model ? -1 : 1)),
      );
    }
  }
}

/** All columns of a group, computed slowly from its rows. */
export function recomputeGroup(all: LogDetails[], ratings: readonly Rating[]): Figures {
  const rows = whole(all);
  const durations = rows.map(({ duration_ms }) => duration_ms);
  const firstTokens = rows.flatMap(({ stream, first_byte_ms: first }) => (stream ? (first ?? []) : []));
  const times = all.map(({ id }) => timeOfId(id));
  const usage = (name: "input_tokens" | "output_tokens") => sum(all.map((row) => row.usage?.[name] ?? 0));
  const own = ratingsOf(rows, ratings);
  const traces = new Set(ratings.map(({ trace_id }) => trace_id));
  return {
    requests: rows.length,
    cost: costOf(all),
    total_tokens: tokensOf(all),
    avg_tokens: mean(tokensOf(all), rows.length),
    avg_input_tokens: mean(usage("input_tokens"), rows.length),
    avg_output_tokens: mean(usage("output_tokens"), rows.length),
    avg_latency: mean(sum(durations), rows.length),
    p95_latency: percentile(durations, 0.95) ?? null,
    p99_latency: percentile(durations, 0.99) ?? null,
    p95_first_token: percentile(firstTokens, 0.95) ?? null,
    success_rate: 100 * mean(rows.filter((row) => !isError(row)).length, rows.length),
    error_count: rows.filter(isError).length,
    cache_hit_rate: 100 * mean(hitsOf(rows).length, rows.length),
    first_seen: new Date(Math.min(...times)).toISOString(),
    last_seen: new Date(Math.max(...times)).toISOString(),
    avg_weighted_feedback: own.length === 0 ? null : weightedMean(own),
    requests_with_feedback: rows.filter(({ trace_id }) => traces.has(trace_id)).length,
  };
}
