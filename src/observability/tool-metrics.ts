import type { LogDetails } from "../schemas/logs.ts";
import { type Family, Histogram, toFamily, toLabels, toSample } from "./exposition.ts";
import type { RequestMetricsSettings } from "./settings.ts";

const otherValue = "other";
/** Longest label value that a caller chooses, in characters. */
const maxValue = 128;

const calls: Family = { name: "gateway_mcp_calls_total", type: "counter", help: "Finished messages to MCP servers." };
const durations: Family = {
  name: "gateway_mcp_call_duration_milliseconds",
  type: "histogram",
  help: "Duration of messages to MCP servers, streams included.",
};

/** How a message ended. */
function outcomeOf({ status, mcp }: LogDetails): string {
  const code = mcp?.rpc_code;
  if (code === 446) return "denied";
  if (mcp?.refused_by !== undefined || code === 429 || status === 429) return "rate_limited";
  if (mcp?.circuit_open) return "circuit_open";
  if (status === 499) return "cancelled";
  if (code !== undefined || status >= 400) return "error";
  return mcp?.is_error ? "tool_error" : "ok";
}

interface Series {
  readonly labels: string;
  count: number;
  readonly duration: Histogram;
}

/** Metrics of messages to MCP servers, from their log rows. */
export class ToolMetrics {
  readonly #settings: RequestMetricsSettings;
  readonly #fixed: string;
  readonly #series = new Map<string, Series>();
  readonly #ofOrganisation = new Map<string, number>();

  constructor(settings: RequestMetricsSettings) {
    this.#settings = settings;
    this.#fixed = toLabels(settings.fixedLabels);
  }

  /** Adds the row of a message. */
  add(details: LogDetails): void {
    const series = this.#find(details);
    series.count++;
    series.duration.observe(details.duration_ms);
  }

  #labelsOf(details: LogDetails): Record<string, string> {
    const { organisation_id, workspace_id, mcp } = details;
    const isCall = mcp?.method === "tools/call";
    return {
      organisation_id,
      workspace_id: workspace_id ?? "",
      server: mcp?.server ?? "",
      method: (mcp?.method ?? "").slice(0, maxValue),
      tool: isCall ? (mcp?.name ?? "").slice(0, maxValue) : "",
      outcome: outcomeOf(details),
    };
  }

  /** The series of a row; beyond the limits a series whose every label is `other`. */
  #find(details: LogDetails): Series {
    const labels = this.#labelsOf(details);
    const own = toLabels(labels);
    const known = this.#series.get(own);
    if (known) return known;
    const { maxSeries } = this.#settings;
    const { organisation_id } = details;
    const ofOrganisation = this.#ofOrganisation.get(organisation_id) ?? 0;
    if (this.#series.size < maxSeries && ofOrganisation < Math.ceil(maxSeries / 2)) {
      this.#ofOrganisation.set(organisation_id, ofOrganisation + 1);
      return this.#create(own);
    }
    const other = toLabels(Object.fromEntries(Object.keys(labels).map((name) => [name, otherValue])));
    return this.#series.get(other) ?? this.#create(other);
  }

  #create(own: string): Series {
    const labels = this.#fixed === "" ? own : `${own},${this.#fixed}`;
    const series = { labels, count: 0, duration: new Histogram(this.#settings.millisecondsBuckets) };
    this.#series.set(own, series);
    return series;
  }

  /** The metrics in the text format; empty before the first message. */
  toText(): string {
    const all = [...this.#series.values()];
    const counted = all.map(({ labels, count }) => toSample(calls.name, labels, count)).join("");
    const timed = all.map(({ labels, duration }) => duration.toSamples(durations.name, labels)).join("");
    return toFamily(calls, counted) + toFamily(durations, timed);
  }
}
