import * as v from "valibot";
import { defineKeyEndpoint, type Endpoint } from "../../endpoint.ts";
import { CreateLogs } from "../../schemas/custom-logs.ts";
import { CustomLogReceipt, writeCustomLogs } from "./custom-logs.ts";
import { takeTraces } from "./otlp-traces.ts";

const row = {
  method: "POST",
  tag: "Logs",
  access: { keys: "workspace", scopes: ["logs.write", "completions.write"] },
} as const;

/** An export request of OTLP, and what became of it. */
const ExportRequest = v.looseObject({ resourceSpans: v.optional(v.array(v.unknown())) });
const ExportResponse = v.object({
  partialSuccess: v.optional(v.object({ rejectedSpans: v.string(), errorMessage: v.string() })),
});

/** Endpoints that take reports of requests the gateway did not make. */
export const ingestEndpoints: readonly Endpoint[] = [
  defineKeyEndpoint({
    ...row,
    path: "/v1/logs",
    summary: "Log requests that did not go through the gateway",
    documentedBody: { schema: CreateLogs, types: ["application/json"] },
    response: CustomLogReceipt,
    handle: writeCustomLogs,
  }),
  defineKeyEndpoint({
    ...row,
    path: "/v1/otel/v1/traces",
    summary: "Take traces over OTLP: a row for each span",
    documentedBody: { schema: ExportRequest, types: ["application/json", "application/x-protobuf"] },
    response: ExportResponse,
    handle: takeTraces,
  }),
];
