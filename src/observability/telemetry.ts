import type { LateHooks, LogBatch, LogContent } from "../schemas/logs.ts";
import { contentAttributes } from "./otlp/contents.ts";
import { type ExporterParts, SpanExporter } from "./otlp/exporter.ts";
import type { OtlpSettings } from "./otlp/settings.ts";
import type { Attributes } from "./otlp/span.ts";
import { RequestMetrics } from "./request-metrics.ts";
import { readRows } from "./rows.ts";
import type { RequestMetricsSettings } from "./settings.ts";

/** What is made from stored log rows. Plain data: threads are started with it. */
export interface TelemetrySettings {
  /** Null: no metrics. */
  metrics: RequestMetricsSettings | null;
  /** Null: no spans. */
  otlp: OtlpSettings | null;
}

/** Makes metrics and spans from log rows, where these are written: requests do not wait for it. */
export interface Telemetry {
  /** Takes rows that were stored. Never throws. */
  observe(batches: readonly LogBatch[]): void;
  /** Takes results of hooks that ran after responses. Never throws. */
  observeHooks(hooks: readonly LateHooks[]): void;
  /** Metrics in the text format. */
  toText(): string;
  /** Sends what waits. */
  close(): Promise<void>;
}

/** What telemetry needs from its surroundings. */
interface TelemetryParts extends ExporterParts {
  /** Request type of an operation. */
  endpointOf(operation: string): string;
  /** Reads the contents of a batch by the index of a row. */
  openContents(content: string): (index: number) => LogContent | null;
  /** The response that a stream adds up to; undefined if the text is not a stream. */
  assemble(text: string): object | undefined;
}

const noContents: Attributes = {};

/** Creates telemetry. */
export function createTelemetry(settings: TelemetrySettings, parts: TelemetryParts): Telemetry {
  const { endpointOf, openContents, assemble, warn } = parts;
  const metrics = settings.metrics && new RequestMetrics(settings.metrics, endpointOf);
  const exporter = settings.otlp && new SpanExporter(settings.otlp, parts);
  let isCounting = settings.metrics?.startsWhenRead === false;
  const rules = { captures: settings.otlp?.capturesContent ?? false, assemble };
  const take = (batch: LogBatch) => {
    const rows = readRows(batch);
    if (isCounting) metrics?.add(rows);
    if (!exporter) return;
    const contentOf = openContents(batch.content);
    const traced = rows.map((row) => {
      const content = contentOf(row.index);
      return { ...row, contents: content ? contentAttributes(content, rules) : noContents };
    });
    exporter.add(traced);
  };
  return {
    observe(batches) {
      if (!isCounting && !exporter) return;
      try {
        for (const batch of batches) take(batch);
      } catch (error) {
        // the rows are stored: nothing here may look like a failed write
        warn("Cannot make metrics or spans of log rows", error);
      }
    },
    observeHooks: (hooks) => exporter?.add(hooks),
    toText() {
      isCounting = metrics !== null;
      return (metrics?.toText() ?? "") + (exporter?.toText() ?? "");
    },
    close: async () => exporter?.close(),
  };
}
