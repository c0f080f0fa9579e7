import assert from "node:assert/strict";
import type { IncomingHttpHeaders } from "node:http";
import { createRequire } from "node:module";
import { gunzipSync } from "node:zlib";
import { startServer, type Upstream } from "./upstream.ts";

// the official definitions of OTLP, as the SDK of OpenTelemetry has them
const { opentelemetry } = createRequire(import.meta.url)(
  "@opentelemetry/otlp-transformer/build/src/generated/root.js",
) as {
  opentelemetry: {
    proto: {
      collector: {
        trace: {
          v1: {
            ExportTraceServiceRequest: {
              decode(bytes: Uint8Array): unknown;
              verify(message: unknown): string | null;
              toObject(message: unknown, options: object): ExportRequest;
            };
          };
        };
      };
    };
  };
};
const { ExportTraceServiceRequest } = opentelemetry.proto.collector.trace.v1;

interface WireAttribute {
  key: string;
  value: {
    stringValue?: string;
    intValue?: string;
    doubleValue?: number;
    boolValue?: boolean;
    arrayValue?: { values: WireAttribute["value"][] };
  };
}

interface WireSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: WireAttribute[];
  events: { timeUnixNano: string; name: string; attributes: WireAttribute[] }[];
  status: { code: number; message?: string };
}

interface ExportRequest {
  resourceSpans: {
    resource: { attributes: WireAttribute[] };
    scopeSpans: { scope: { name: string }; spans: WireSpan[] }[];
  }[];
}

/** A span as a collector reads it. Integers of attributes are bigints. */
export interface CollectedSpan extends Omit<WireSpan, "attributes" | "events"> {
  attributes: Readonly<Record<string, unknown>>;
  events: { name: string; attributes: Readonly<Record<string, unknown>> }[];
  resource: Readonly<Record<string, unknown>>;
}

function toValue({ stringValue, intValue, doubleValue, boolValue, arrayValue }: WireAttribute["value"]): unknown {
  if (intValue !== undefined) return BigInt(intValue);
  return stringValue ?? doubleValue ?? boolValue ?? arrayValue?.values.map(toValue);
}

function toRecord(attributes: readonly WireAttribute[]): Record<string, unknown> {
  const names = attributes.map(({ key }) => key);
  assert.equal(new Set(names).size, names.length, "an attribute stands twice");
  return Object.fromEntries(attributes.map(({ key, value }) => [key, toValue(value)]));
}

const toHex = (text: string): string => Buffer.from(text, "base64").toString("hex");

/** A binary request in the form of a JSON one, whose ids are hexadecimal. */
function decodeBinary(bytes: Uint8Array): ExportRequest {
  const message = ExportTraceServiceRequest.decode(bytes);
  assert.equal(ExportTraceServiceRequest.verify(message), null);
  const read = ExportTraceServiceRequest.toObject(message, { longs: String, bytes: String, arrays: true });
  for (const { scopeSpans } of read.resourceSpans) {
    for (const span of scopeSpans.flatMap(({ spans }) => spans)) {
      span.traceId = toHex(span.traceId);
      span.spanId = toHex(span.spanId);
      if (span.parentSpanId) span.parentSpanId = toHex(span.parentSpanId);
    }
  }
  return read;
}

function toSpans({ resourceSpans }: ExportRequest): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        ...span,
        attributes: toRecord(span.attributes),
        events: span.events.map(({ name, attributes }) => ({ name, attributes: toRecord(attributes) })),
        resource: toRecord(resource.attributes),
      })),
    ),
  );
}

/** How a collector responds. */
export interface CollectorAnswer {
  status: number;
  headers?: Record<string, string>;
  /** Body of the response; without it an empty one in JSON. */
  body?: string | Uint8Array;
  /** It never responds. */
  hangs?: boolean;
}

/** A collector on loopback. */
export interface Collector {
  url: string;
  /** Requests in the order of arrival. */
  readonly requests: { path: string; headers: IncomingHttpHeaders; spans: CollectedSpan[]; text: string }[];
  /** Spans of accepted requests. */
  readonly spans: CollectedSpan[];
  close: Upstream["close"];
}

/** Starts a collector that takes JSON and the binary encoding. */
export async function startCollector(
  answer: (attempt: number) => CollectorAnswer = () => ({ status: 200 }),
): Promise<Collector> {
  const requests: Collector["requests"] = [];
  const accepted: CollectedSpan[] = [];
  const server = await startServer((request, response) => {
    const pieces: Uint8Array[] = [];
    request.on("data", (piece) => pieces.push(piece));
    request.on("end", () => {
      const body = Buffer.concat(pieces);
      const bytes = request.headers["content-encoding"] === "gzip" ? gunzipSync(body) : body;
      const isJson = request.headers["content-type"] === "application/json";
      const spans = toSpans(isJson ? JSON.parse(bytes.toString()) : decodeBinary(bytes));
      requests.push({ path: request.url ?? "", headers: request.headers, spans, text: bytes.toString("latin1") });
      const { status, headers, hangs, body: text = "{}" } = answer(requests.length);
      if (hangs) return;
      if (status === 200) accepted.push(...spans);
      response.writeHead(status, { "content-type": "application/json", ...headers }).end(text);
    });
  });
  return { url: server.url, requests, spans: accepted, close: server.close };
}
