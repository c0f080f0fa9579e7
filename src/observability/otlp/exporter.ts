import { readBeginning } from "../../lib/body.ts";
import { startTimer } from "../../lib/clock.ts";
import { gzip } from "../../lib/gzip.ts";
import type { Outbound } from "../../lib/outbound.ts";
import type { Family } from "../exposition.ts";
import { toSingle } from "../exposition.ts";
import { toJsonRequest } from "./json.ts";
import { toProtobufRequest } from "./protobuf.ts";
import { type PartialSuccess, readPartialSuccess } from "./response.ts";
import type { OtlpSettings } from "./settings.ts";
import type { Attributes, Span } from "./span.ts";
import { type ProviderNames, type Traced, toSpans } from "./spans.ts";

/** Statuses after which a collector takes the same request later (https://opentelemetry.io/docs/specs/otlp/#otlphttp-response). */
const retryable = new Set([429, 502, 503, 504]);
const maxAttempts = 6;
/** Longest pause between two attempts. */
const maxPauseMs = 30_000;
/** Most memory that waiting requests may take, roughly. */
const maxWaitingBytes = 32 * 1024 * 1024;
/** Size of a waiting request without what its contents show, roughly. */
const plainSize = 4_096;
/** Most bytes of a response that are read. */
const maxAnswerBytes = 64 * 1024;
/** Longest time that closing takes. */
const closeMs = 5_000;

/** What sending spans needs. */
export interface ExporterParts {
  providerNames: ProviderNames;
  outbound: Outbound;
  /** Called once for each series of failures. */
  warn(message: string, error: unknown): void;
  /** Unix milliseconds. */
  now(): number;
  /** A number in [0, 1). */
  random(): number;
}

/** The collector will never take the request. */
class RefusedError extends Error {}

/** The collector may take the request later. */
class BusyError extends Error {
  /** What it asks for; undefined if it does not say. */
  readonly pauseMs: number | undefined;

  constructor(message: string, pauseMs: number | undefined) {
    super(message);
    this.pauseMs = pauseMs;
  }
}

/** The pause of a `retry-after` header: seconds, or a date (RFC 9110, section 10.2.3). */
function readPause(value: string | null, now: number): number | undefined {
  if (value === null) return undefined;
  const pauseMs = /^[0-9]{1,9}$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - now;
  return Number.isFinite(pauseMs) ? Math.max(0, pauseMs) : undefined;
}

function sizeOf(traced: Traced): number {
  if ("results" in traced) return plainSize + traced.results.length * 2;
  const { contents } = traced;
  let size = plainSize;
  for (const name in contents) {
    const value = contents[name];
    if (typeof value === "string") size += value.length * 2;
  }
  return size;
}

const counters = {
  exported: { name: "gateway_otlp_spans_exported_total", type: "counter", help: "Spans that the collector took." },
  dropped: {
    name: "gateway_otlp_requests_dropped_total",
    type: "counter",
    help: "Finished requests whose spans were not delivered.",
  },
  rejected: {
    name: "gateway_otlp_spans_rejected_total",
    type: "counter",
    help: "Spans that the collector rejected in requests that it took.",
  },
  failures: { name: "gateway_otlp_failures_total", type: "counter", help: "Failed attempts to send spans." },
  waiting: { name: "gateway_otlp_waiting_requests", type: "gauge", help: "Finished requests whose spans wait." },
} as const satisfies Record<string, Family>;

/** Sends spans of finished requests to a collector, in batches and with retries. Its memory is bounded. */
export class SpanExporter {
  readonly #settings: OtlpSettings;
  readonly #parts: ExporterParts;
  #waiting: { row: Traced; size: number }[] = [];
  #bytes = 0;
  /** Requests of the batch that is sent. */
  #sending = 0;
  #exported = 0;
  #dropped = 0;
  #rejected = 0;
  #failures = 0;
  #isFailing = false;
  /** The collector had something to say about the last request that it took. */
  #isPartial = false;
  readonly #closing = new AbortController();
  #cancelTimer: (() => void) | undefined;
  #running: Promise<void> | undefined;
  /** Ends the pause before a retry. */
  #wake: (() => void) | undefined;

  constructor(settings: OtlpSettings, parts: ExporterParts) {
    this.#settings = settings;
    this.#parts = parts;
  }

  /** Takes finished requests, and results of their late hooks; those that exceed the limits are dropped. */
  add(rows: readonly Traced[]): void {
    const { maxWaiting, maxBatch, delayMs } = this.#settings;
    for (const row of rows) {
      const size = sizeOf(row);
      const isFull = this.#waiting.length + this.#sending >= maxWaiting || this.#bytes + size > maxWaitingBytes;
      if (isFull || this.#closing.signal.aborted) {
        this.#dropped++;
        continue;
      }
      this.#waiting.push({ row, size });
      this.#bytes += size;
    }
    if (this.#waiting.length >= maxBatch) this.#start();
    else if (this.#waiting.length > 0) this.#cancelTimer ??= startTimer(delayMs, () => this.#start());
  }

  /** Its own metrics in the text format. */
  toText(): string {
    return [
      toSingle(counters.exported, this.#exported),
      toSingle(counters.dropped, this.#dropped),
      toSingle(counters.rejected, this.#rejected),
      toSingle(counters.failures, this.#failures),
      toSingle(counters.waiting, this.#waiting.length + this.#sending),
    ].join("");
  }

  /** Sends what waits, for a few seconds; the rest is dropped. */
  async close(): Promise<void> {
    const late = startTimer(closeMs, () => {
      this.#closing.abort(new Error("the gateway stopped"));
      this.#wake?.();
    });
    this.#start();
    await this.#running;
    late();
    this.#closing.abort();
    if (this.#waiting.length > 0) {
      this.#parts.warn(`Cannot send the spans of ${this.#waiting.length} requests: the gateway stopped`, undefined);
    }
    this.#dropped += this.#waiting.length;
    this.#waiting = [];
    this.#bytes = 0;
  }

  #start(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      // what came in the meantime
      this.add([]);
    });
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0 && !this.#closing.signal.aborted) {
      const taken = this.#waiting.splice(0, this.#settings.maxBatch);
      for (const { size } of taken) this.#bytes -= size;
      this.#sending = taken.length;
      try {
        await this.#export(taken.map(({ row }) => row));
        this.#isFailing = false;
      } catch (error) {
        this.#dropped += taken.length;
        this.#report(error);
      }
      this.#sending = 0;
    }
  }

  #report(error: unknown): void {
    if (!this.#isFailing) this.#parts.warn("Cannot send spans to the collector", error);
    this.#isFailing = true;
  }

  async #export(rows: readonly Traced[]): Promise<void> {
    const spans = (await Promise.all(rows.map((row) => toSpans(row, this.#parts.providerNames)))).flat();
    const body = await this.#encode(spans);
    for (let attempt = 1; ; attempt++) {
      try {
        this.#note(await this.#send(body), spans.length);
        return;
      } catch (error) {
        this.#failures++;
        if (error instanceof RefusedError || attempt === maxAttempts || this.#closing.signal.aborted) throw error;
        this.#report(error);
        await this.#pause(error, attempt);
      }
    }
  }

  /** Counts what the collector took. A series of requests that it took in part is reported once. */
  #note({ rejected, message }: PartialSuccess, sent: number): void {
    const left = Math.min(rejected, sent);
    this.#rejected += left;
    this.#exported += sent - left;
    const isPartial = left > 0 || message !== "";
    if (isPartial && !this.#isPartial) {
      this.#parts.warn(
        `The collector rejected ${left} of ${sent} spans: ${message || "it does not say why"}`,
        undefined,
      );
    }
    this.#isPartial = isPartial;
  }

  async #encode(spans: readonly Span[]): Promise<Uint8Array<ArrayBuffer>> {
    const { encoding, compression, resource } = this.#settings;
    const described: Attributes = { ...resource };
    const body = encoding === "json" ? toJsonRequest(spans, described) : toProtobufRequest(spans, described);
    return compression === "gzip" ? gzip(body) : body;
  }

  /** Waits as long as the collector asks for, else longer after each attempt, with full jitter. */
  #pause(error: unknown, attempt: number): Promise<void> {
    const growing = this.#parts.random() * this.#settings.retryMs * 2 ** attempt;
    const asked = error instanceof BusyError ? error.pauseMs : undefined;
    return new Promise((resolve) => {
      const cancel = startTimer(Math.min(asked ?? growing, maxPauseMs), resolve);
      this.#wake = () => {
        cancel();
        resolve();
      };
    });
  }

  async #send(body: Uint8Array<ArrayBuffer>): Promise<PartialSuccess> {
    const { url, headers, encoding, compression, timeoutMs } = this.#settings;
    const late = new AbortController();
    const cancel = startTimer(timeoutMs, () => late.abort(new Error("the collector did not respond in time")));
    try {
      const response = await this.#parts.outbound(url, {
        method: "POST",
        // the operator named the address
        origin: "fixed",
        headers: {
          ...headers,
          "content-type": encoding === "json" ? "application/json" : "application/x-protobuf",
          ...(compression === "gzip" && { "content-encoding": "gzip" }),
        },
        body,
        signal: AbortSignal.any([late.signal, this.#closing.signal]),
      });
      if (response.ok) {
        // what is cut is no reason to send the spans again
        const answer = await readBeginning(response, maxAnswerBytes).catch(() => new Uint8Array());
        return readPartialSuccess(answer, response.headers.get("content-type"));
      }
      response.body?.cancel().catch(() => {});
      const message = `the collector responded with ${response.status}`;
      if (!retryable.has(response.status)) throw new RefusedError(message);
      throw new BusyError(message, readPause(response.headers.get("retry-after"), this.#parts.now()));
    } catch (error) {
      throw late.signal.aborted ? late.signal.reason : error;
    } finally {
      cancel();
    }
  }
}
