import * as v from "valibot";

const number = v.number();
const time = { timestamp: v.string() };

function graph(summary: v.ObjectEntries, point: v.ObjectEntries) {
  return v.object({
    summary: v.object(summary),
    data_points: v.array(v.object(point)),
    object: v.literal("analytics-graph"),
  });
}

const total = { total: number };
const average = { total: number, avg: number };
const latency = { avg: number, p50: number, p90: number, p99: number };

/** Responses of the graphs, by the end of their paths. Points without a `timestamp` are not over time. */
export const graphResponses = {
  requests: graph(total, { ...time, ...total }),
  cost: graph(average, { ...time, ...average }),
  latency: graph(latency, { ...time, ...latency }),
  tokens: graph(average, { ...time, ...average }),
  users: graph(total, { ...time, ...total }),
  "users/requests": graph({ total: number, unique: number, avg: number }, { ...time, avg: number }),
  errors: graph(total, { ...time, ...total }),
  "errors/rate": graph({ rate: number }, { ...time, rate: number }),
  "errors/stacks": graph(total, {
    ...time,
    stats: v.array(v.object({ response_status_code: number, count: number })),
  }),
  "errors/status-codes": graph(
    { total_errors: number, unique_error_codes: number },
    { status_code: number, count: number },
  ),
  "requests/rescued": graph(
    { retry: number, fallback: number },
    { ...time, retry: v.array(v.object({ retry_success_count: number, count: number })), fallback: number },
  ),
  "cache/hit-rate": graph(
    { total: number, rate: number },
    {
      ...time,
      simple_hits: number,
      semantic_hits: number,
      rate: number,
      cumulative_simple_cache_savings: number,
      cumulative_semantic_cache_savings: number,
    },
  ),
  "cache/latency": graph({}, { ...time, avg: number }),
  "auto/savings": graph(
    { largest_cost: number, saved_cost: number, rate: number },
    { ...time, largest_cost: number, saved_cost: number, rate: number },
  ),
  "cache/prompt": graph(
    { cached_tokens: number, rate: number, saved_cost: number },
    { ...time, cached_tokens: number, rate: number, saved_cost: number },
  ),
  feedbacks: graph(total, { ...time, ...total }),
  "feedbacks/scores": graph(total, { score: number, total: number }),
  "feedbacks/weighted": graph({ avg: number }, { ...time, avg: number }),
  "feedbacks/ai-models": graph({}, { ai_model: v.string(), total: number, avg_weighted_feedback: number }),
} as const;

/** End of the path of a graph. */
export type GraphName = keyof typeof graphResponses;

/** Response of `GET /analytics/summary/cache`. Latencies in milliseconds. */
export const CacheSummary = v.object({
  summary: v.object({ hits: number, avg_latency: number, total_requests: number, cache_speedup: number }),
  object: v.literal("analytics-summary"),
});

/** What a period or a point of it comes to: cost in US cents, latencies in milliseconds. Denied figures are absent. */
const periodFigures = v.partial(
  v.object({
    requests: number,
    error_count: number,
    cost: number,
    total_tokens: number,
    cache_hits: number,
    avg_latency: number,
    p50_latency: number,
    p95_latency: number,
    p99_latency: number,
  }),
);

/** Response of `GET /analytics/summary/requests`. */
export const PeriodSummary = v.object({
  summary: periodFigures,
  /** The period of the same length before. */
  former: periodFigures,
  data_points: v.array(v.object({ ...time, ...periodFigures.entries })),
  object: v.literal("analytics-summary"),
});

const text = v.string();
/** Columns of groups that are asked for with `columns`; null where a group has nothing to compute them from. */
const columns = {
  cost: v.nullable(v.union([number, text])),
  total_tokens: number,
  avg_tokens: number,
  avg_input_tokens: number,
  avg_output_tokens: number,
  avg_latency: number,
  p95_latency: v.nullable(number),
  p99_latency: v.nullable(number),
  p95_first_token: v.nullable(number),
  success_rate: number,
  error_count: number,
  cache_hit_rate: number,
  first_seen: text,
  last_seen: text,
  avg_weighted_feedback: v.nullable(number),
  requests_with_feedback: number,
};

/** Response of a group endpoint. */
export function groupResponse(name: string, value: v.GenericSchema) {
  return v.object({
    object: v.literal("list"),
    /** Groups on all pages; absent with `include_total=false`. */
    total: v.optional(number),
    data: v.array(
      v.object({
        [name]: value,
        requests: v.union([number, text]),
        ...v.partial(v.object(columns)).entries,
        object: v.literal("analytics-group"),
      }),
    ),
  });
}

/** Response of a series endpoint: a figure of the groups with most of it, and of all others together. */
export function seriesResponse(name: string, value: v.GenericSchema) {
  const points = { total: number, former: number, points: v.array(number) };
  return v.object({
    object: v.literal("analytics-series"),
    figure: text,
    /** All requests of the period, and of the period of the same length before. */
    summary: v.object({ total: number, former: number }),
    /** `former`: the point at the same distance from the start of the period before. */
    data_points: v.array(v.object({ ...time, total: number, former: number })),
    /** Those with most first. Their points are those of `data_points`. */
    data: v.array(v.object({ [name]: value, ...points })),
    /** The groups without separate points; null without any. */
    other: v.nullable(v.object({ groups: number, ...points })),
  });
}
