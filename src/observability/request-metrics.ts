import type { LogDetails } from "../schemas/logs.ts";
import { waitedMs } from "../schemas/queues.ts";
import { Histogram, toFamily, toLabels, toSample, toSingle } from "./exposition.ts";
import { isOfProvider, type ObservedRow } from "./rows.ts";
import type { RequestMetricsSettings } from "./settings.ts";
import { ToolMetrics } from "./tool-metrics.ts";

const noValue = "N/A";
/** Value of every label of the series that counts what exceeds the limit of series. */
const otherValue = "other";
const maxReasons = 100;
/** Longest label value that a caller chooses, in characters. */
const maxValue = 128;

/** Name of a label for a key of metadata. */
function metadataLabel(key: string): string {
  return `metadata_${key.replaceAll(/[^A-Za-z0-9_]/g, "_")}`;
}

const knownMethods = new Set(["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"]);
/** Statuses with a meaning (RFC 9110 and registered ones), and those that gateways and vendors add. */
const knownStatuses = new Set([
  101, 200, 201, 202, 203, 204, 206, 207, 246, 301, 302, 303, 304, 307, 308, 400, 401, 402, 403, 404, 405, 406, 407,
  408, 409, 410, 411, 412, 413, 414, 415, 416, 417, 418, 421, 422, 423, 424, 425, 426, 428, 429, 431, 446, 451, 499,
  500, 501, 502, 503, 504, 505, 507, 508, 511, 520, 521, 522, 523, 524, 529,
]);

/** A provider may respond with any number: unknown ones are reported by their class. */
function codeOf(status: number): string {
  return knownStatuses.has(status) ? String(status) : `${Math.floor(status / 100)}xx`;
}

const megabyte = 1024 * 1024;
/** Upper bounds of sizes, exclusive, with the label of what is below. */
const sizeRanges: readonly (readonly [number, string])[] = [
  [2 * megabyte, "0-2MB"],
  [5 * megabyte, "2-5MB"],
  [10 * megabyte, "5-10MB"],
  [20 * megabyte, "10-20MB"],
];

function sizeRangeOf(bytes: number | null): string {
  if (bytes === null) return "na";
  return sizeRanges.find(([bound]) => bytes < bound)?.[1] ?? ">20MB";
}

const families = {
  count: { name: "request_count", type: "counter", help: "Finished requests." },
  total: {
    name: "http_request_duration_seconds",
    type: "histogram",
    help: "Duration of requests, streams included.",
  },
  upstream: {
    name: "llm_request_duration_milliseconds",
    type: "histogram",
    help: "Time that requests spent at providers, from the first call to the last byte.",
  },
  lastByte: {
    name: "llm_last_byte_diff_duration_milliseconds",
    type: "histogram",
    help: "Time from the first to the last byte of a provider.",
  },
  gateway: {
    name: "gateway_request_duration_milliseconds",
    type: "histogram",
    help: "Duration of requests without the time at providers.",
  },
  processing: {
    name: "gateway_processing_time_excluding_last_byte_ms",
    type: "histogram",
    help: "The same as gateway_request_duration_milliseconds: the time to the last byte is time at the provider.",
  },
  cost: { name: "llm_cost_sum", type: "gauge", help: "Cost of unified requests in US dollars." },
  tokens: { name: "llm_token_sum", type: "gauge", help: "Tokens of unified requests." },
  refusals: {
    name: "gateway_policy_refusals_total",
    type: "counter",
    help: "Requests that limits, or rules about models and prices, refused.",
  },
  denials: { name: "gateway_guardrail_denials_total", type: "counter", help: "Requests that a guardrail denied." },
} as const;

const histogramNames = ["total", "upstream", "lastByte", "gateway", "processing"] as const;
type HistogramName = (typeof histogramNames)[number];

/** What is counted under one list of labels. */
class Series {
  readonly labels: string;
  count = 0;
  /** US cents. */
  cost = 0;
  tokens = 0;
  readonly histograms: Readonly<Record<HistogramName, Histogram>>;

  constructor(labels: string, { secondsBuckets, millisecondsBuckets }: RequestMetricsSettings) {
    this.labels = labels;
    const inMilliseconds = () => new Histogram(millisecondsBuckets);
    this.histograms = {
      total: new Histogram(secondsBuckets),
      upstream: inMilliseconds(),
      lastByte: inMilliseconds(),
      gateway: inMilliseconds(),
      processing: inMilliseconds(),
    };
  }

  /** Adds a finished request. Its parts were added before: only its duration counts. */
  addTimes({ details, measures }: ObservedRow): void {
    const { duration_ms, upstream_ms } = details;
    const { histograms } = this;
    const own = Math.max(0, duration_ms - (upstream_ms ?? 0) - waitedMs(details));
    this.count++;
    histograms.total.observe(duration_ms / 1_000);
    histograms.gateway.observe(own);
    histograms.processing.observe(own);
    if (upstream_ms !== null) histograms.upstream.observe(upstream_ms);
    const lastByte = measures?.[2] ?? null;
    if (lastByte !== null) histograms.lastByte.observe(lastByte);
  }

  addAmounts({ cost, usage }: LogDetails): void {
    this.cost += cost ?? 0;
    this.tokens += usage?.total_tokens ?? 0;
  }
}

/** Metrics of finished requests, from their log rows. */
export class RequestMetrics {
  readonly #settings: RequestMetricsSettings;
  readonly #endpointOf: (operation: string) => string;
  readonly #series = new Map<string, Series>();
  /** Series of each organisation. */
  readonly #ofOrganisation = new Map<string, number>();
  readonly #fixed: string;
  readonly #namesTenants: boolean;
  readonly #refusals = new Map<string, number>();
  readonly #tools: ToolMetrics;
  #denials = 0;
  /** Requests that counted in the series for what exceeds the limit. */
  #exceeding = 0;

  /** @param endpointOf Request type of an operation. */
  constructor(settings: RequestMetricsSettings, endpointOf: (operation: string) => string) {
    this.#settings = settings;
    this.#endpointOf = endpointOf;
    this.#fixed = toLabels(settings.fixedLabels);
    this.#tools = new ToolMetrics(settings);
    const { hasModel, hasConfigName, hasApiKeyName, metadataKeys } = settings;
    this.#namesTenants = hasModel || hasConfigName || hasApiKeyName || metadataKeys.length > 0;
  }

  /** Adds stored rows. */
  add(rows: readonly ObservedRow[]): void {
    for (const row of rows) {
      if (row.details.mcp) this.#tools.add(row.details);
      const endpoint = this.#endpointOf(row.details.operation);
      const series = this.#find(row, endpoint);
      // a part of a session: the session is counted at its end
      if (row.details.part_of === undefined) {
        series.addTimes(row);
        this.#addRefusal(row);
      }
      if (endpoint !== "proxy") series.addAmounts(row.details);
    }
  }

  /** Counts what limits and guardrails refused. */
  #addRefusal(row: ObservedRow): void {
    const { status, error } = row.details;
    if (status === 446 || row.details.mcp?.rpc_code === 446) this.#denials++;
    if ((status !== 412 && status !== 429) || isOfProvider(row)) return;
    const reason = error?.code ?? error?.type ?? noValue;
    // codes of the gateway are few; this bounds them whatever they are
    const name = this.#refusals.has(reason) || this.#refusals.size < maxReasons ? reason : otherValue;
    this.#refusals.set(name, (this.#refusals.get(name) ?? 0) + 1);
  }

  #find(row: ObservedRow, endpoint: string): Series {
    const own = toLabels(this.#labelsOf(row, endpoint));
    const known = this.#series.get(own);
    if (known) return known;
    const { organisation_id } = row.details;
    const { maxSeries } = this.#settings;
    const ofOrganisation = this.#ofOrganisation.get(organisation_id) ?? 0;
    if (this.#series.size >= maxSeries || ofOrganisation >= Math.ceil(maxSeries / 2)) {
      this.#exceeding++;
      return this.#other(row, endpoint);
    }
    this.#ofOrganisation.set(organisation_id, ofOrganisation + 1);
    return this.#create(own);
  }

  /** The one series beyond the limit: every label is `other`. */
  #other(row: ObservedRow, endpoint: string): Series {
    const names = Object.keys(this.#labelsOf(row, endpoint));
    const labels = toLabels(Object.fromEntries(names.map((name) => [name, otherValue])));
    return this.#series.get(labels) ?? this.#create(labels);
  }

  #create(own: string): Series {
    const series = new Series(this.#fixed === "" ? own : `${own},${this.#fixed}`, this.#settings);
    this.#series.set(own, series);
    return series;
  }

  #labelsOf(row: ObservedRow, endpoint: string): Record<string, string> {
    const { details, measures } = row;
    const labels: Record<string, string> = {
      method: knownMethods.has(details.method) ? details.method : otherValue,
      endpoint,
      code: codeOf(details.status),
      provider: details.provider ?? noValue,
      source: isOfProvider(row) ? "provider" : "gateway",
      stream: details.stream ? "1" : "0",
      cacheStatus: details.cache_status ?? "DISABLED",
      payloadSizeRange: sizeRangeOf(measures?.[0] ?? null),
    };
    if (this.#namesTenants) this.#addChosen(labels, details);
    return labels;
  }

  /** Labels whose values tenants choose: equal values of two tenants are two series. */
  #addChosen(labels: Record<string, string>, details: LogDetails): void {
    const { hasModel, hasConfigName, hasApiKeyName, metadataKeys } = this.#settings;
    labels.organisation_id = details.organisation_id;
    labels.workspace_id = details.workspace_id ?? noValue;
    if (hasModel) labels.model = (details.model ?? noValue).slice(0, maxValue);
    if (hasConfigName) labels.config_name = (details.config ?? noValue).slice(0, maxValue);
    if (hasApiKeyName) labels.api_key_name = details.api_key_id === "" ? noValue : details.api_key_id;
    for (const key of metadataKeys) {
      const value = Object.hasOwn(details.metadata, key) ? details.metadata[key] : undefined;
      labels[metadataLabel(key)] = value ?? noValue;
    }
  }

  #refusalsToText(): string {
    const { refusals, denials } = families;
    const samples = [...this.#refusals].map(([reason, count]) => toSample(refusals.name, toLabels({ reason }), count));
    return toFamily(refusals, samples.join("")) + toSingle(denials, this.#denials);
  }

  /** All metrics in the text format. */
  toText(): string {
    const all = [...this.#series.values()];
    const samples = (name: string, amountOf: (one: Series) => number) =>
      all.map((one) => toSample(name, one.labels, amountOf(one))).join("");
    const { count, cost, tokens } = families;
    return [
      toFamily(
        count,
        samples(count.name, (one) => one.count),
      ),
      ...histogramNames.map((kind) => {
        const family = families[kind];
        return toFamily(family, all.map((one) => one.histograms[kind].toSamples(family.name, one.labels)).join(""));
      }),
      // cents to dollars, without the digits that binary fractions add
      toFamily(
        cost,
        samples(cost.name, (one) => Number((one.cost / 100).toPrecision(15))),
      ),
      toFamily(
        tokens,
        samples(tokens.name, (one) => one.tokens),
      ),
      this.#refusalsToText(),
      this.#tools.toText(),
      toSingle(
        {
          name: "gateway_metric_series_exceeded_total",
          type: "counter",
          help: "Log rows that count in the series other, because there are too many series.",
        },
        this.#exceeding,
      ),
    ].join("");
  }
}
