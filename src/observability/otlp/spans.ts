import { timeOfId } from "../../lib/ids.ts";
import type { HookResult, HookResults } from "../../schemas/hooks.ts";
import type { CallLog, LateHooks, LogDetails, TracedRequest } from "../../schemas/logs.ts";
import { fromStoredHooks } from "../../schemas/stored-hooks.ts";
import type { ObservedRow } from "../rows.ts";
import { type SpanIds, spanIdsOf } from "./ids.ts";
import type { Attributes, Span } from "./span.ts";

/** A finished request on its way to a collector. */
export interface TracedRow extends ObservedRow {
  /** What its contents show. */
  readonly contents: Attributes;
}

/** What is on its way to a collector: finished requests, and hooks that ran after their responses. */
export type Traced = TracedRow | LateHooks;

/** Names of operations (https://opentelemetry.io/docs/specs/semconv/registry/attributes/gen-ai/), by names in the log. */
const operationNames: Readonly<Record<string, string>> = {
  chat: "chat",
  messages: "chat",
  responses: "chat",
  complete: "text_completion",
  embed: "embeddings",
  embedContent: "embeddings",
  batchEmbedContents: "embeddings",
  generateContent: "generate_content",
};

/** Names of providers in spans, where they differ from their slugs. */
export type ProviderNames = Readonly<Record<string, string>>;

/** The status of a span: only 2xx is a success, and a WebSocket that was accepted is neither. */
function toStatus(status: number): Span["status"] {
  if (status >= 200 && status <= 299) return { code: "ok", message: String(status) };
  return { code: status === 101 ? "unset" : "error", message: String(status) };
}

function set(attributes: Attributes, name: string, value: string | number | null | undefined): void {
  if (value !== null && value !== undefined && value !== "") attributes[name] = value;
}

/** Who made the request. */
function tenantAttributes({ organisation_id, workspace_id }: TracedRequest): Attributes {
  const attributes: Attributes = { "gateway.organisation.id": organisation_id };
  set(attributes, "gateway.workspace.id", workspace_id);
  return attributes;
}

function rootAttributes(details: LogDetails): Attributes {
  const attributes: Attributes = {
    ...tenantAttributes(details),
    "http.request.method": details.method,
    "url.path": details.path,
    "http.response.status_code": details.status,
    "gateway.request.id": details.id,
    "gateway.operation": details.operation,
    "gateway.stream": details.stream,
    "gateway.upstream_calls": details.upstream_calls,
  };
  set(attributes, "gateway.api_key.id", details.api_key_id);
  set(attributes, "user.id", details.user_id);
  set(attributes, "gateway.config", details.config);
  set(attributes, "gateway.cache_status", details.cache_status);
  set(attributes, "gateway.prompt.id", details.prompt_id);
  set(attributes, "gateway.cost.usd", details.cost === null ? null : Number((details.cost / 100).toPrecision(15)));
  if (details.error) attributes["error.type"] = details.error.code ?? details.error.type;
  for (const [key, value] of Object.entries(details.metadata)) attributes[`metadata.${key}`] = value;
  return attributes;
}

/** Counts of a request (https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/). */
function usageAttributes({ usage }: LogDetails): Attributes {
  if (!usage) return {};
  const attributes: Attributes = {
    "gen_ai.usage.input_tokens": usage.input_tokens,
    "gen_ai.usage.output_tokens": usage.output_tokens,
  };
  if (usage.cached_tokens > 0) attributes["gen_ai.usage.cache_read.input_tokens"] = usage.cached_tokens;
  if (usage.cache_write_tokens > 0) attributes["gen_ai.usage.cache_creation.input_tokens"] = usage.cache_write_tokens;
  if (usage.reasoning_tokens > 0) attributes["gen_ai.usage.reasoning.output_tokens"] = usage.reasoning_tokens;
  return attributes;
}

/** What spans say of a message to an MCP server (https://opentelemetry.io/docs/specs/semconv/gen-ai/mcp/). */
function mcpAttributes({ mcp }: LogDetails): Attributes {
  if (!mcp) return {};
  const attributes: Attributes = { "mcp.method.name": mcp.method, "gateway.mcp.server": mcp.server };
  const isCall = mcp.method === "tools/call";
  if (isCall) attributes["gen_ai.operation.name"] = "execute_tool";
  set(attributes, isCall ? "gen_ai.tool.name" : "gateway.mcp.name", mcp.name);
  set(attributes, "mcp.protocol.version", mcp.protocol_version);
  set(attributes, "mcp.session.id", mcp.session);
  set(attributes, "jsonrpc.request.id", mcp.request_id === undefined ? undefined : String(mcp.request_id));
  set(attributes, "rpc.response.status_code", mcp.rpc_code === undefined ? undefined : String(mcp.rpc_code));
  if (mcp.is_error) attributes["error.type"] = "tool_error";
  return attributes;
}

/** Name of the spans of a message to an MCP server: its method and what it is for. */
function mcpName({ mcp }: LogDetails): string | undefined {
  if (!mcp) return undefined;
  return mcp.name === undefined ? mcp.method : `${mcp.method} ${mcp.name}`;
}

/** The calls of a row: a single one is described by the row itself. */
function callsOf({ details, measures }: ObservedRow): CallLog[] {
  if (details.calls) return details.calls;
  const provider = details.provider ?? details.mcp?.server;
  if (details.upstream_calls === 0 || provider === undefined) return [];
  const call = {
    provider,
    model: details.model,
    url: details.upstream_url ?? "",
    status: measures?.[3] ?? null,
    error: details.error && (details.error.code ?? details.error.type),
    started_ms: measures?.[1] ?? 0,
    first_byte_ms: details.first_byte_ms,
    duration_ms: details.upstream_ms,
  };
  return [call];
}

function callAttributes(call: CallLog, details: LogDetails, names: ProviderNames): Attributes {
  const operation = operationNames[details.operation] ?? details.operation;
  const provider = names[call.provider] ?? call.provider;
  const ofModel: Attributes = {
    "gen_ai.operation.name": operation,
    "gen_ai.provider.name": provider,
    // the name before version 1.37 of the conventions, which many backends still read
    "gen_ai.system": provider,
  };
  const attributes: Attributes = {
    ...tenantAttributes(details),
    ...(details.mcp ? mcpAttributes(details) : ofModel),
  };
  set(attributes, "gen_ai.request.model", call.model);
  set(attributes, "http.response.status_code", call.status);
  const url = URL.parse(call.url);
  if (url) {
    attributes["server.address"] = url.hostname;
    attributes["server.port"] = url.port === "" ? (url.protocol === "http:" ? 80 : 443) : Number(url.port);
  }
  const isFailed = call.status === null || call.status >= 400;
  if (isFailed || call.error !== null) attributes["error.type"] = call.error ?? String(call.status ?? "no_response");
  return attributes;
}

function toCallSpan(
  call: CallLog,
  row: TracedRow,
  at: { ids: SpanIds; index: number; isLast: boolean; names: ProviderNames },
): Span {
  const { details, contents } = row;
  const { ids, index, isLast, names } = at;
  const start = timeOfId(details.id) + call.started_ms;
  const attributes = callAttributes(call, details, names);
  // counts and contents are those of the response, which the last call made
  if (isLast) Object.assign(attributes, usageAttributes(details), contents);
  const operation = String(attributes["gen_ai.operation.name"]);
  return {
    traceId: ids.traceId,
    spanId: ids.child(index),
    parentSpanId: ids.root,
    name: mcpName(details) ?? (call.model === null ? operation : `${operation} ${call.model}`),
    kind: "client",
    start,
    end: start + (call.duration_ms ?? 0),
    attributes,
    events: [],
    status: call.status === null ? { code: "error" } : toStatus(call.status),
  };
}

function toHookSpan(
  hook: HookResult,
  request: TracedRequest,
  { phase, ids, index }: { phase: "input" | "output"; ids: SpanIds; index: number },
): Span {
  const at = Date.parse(hook.created_at);
  const start = Number.isFinite(at) ? at : timeOfId(request.id);
  return {
    traceId: ids.traceId,
    spanId: ids.child(index),
    parentSpanId: ids.root,
    name: `gateway.guardrail ${hook.id}`,
    kind: "internal",
    start,
    end: start + hook.execution_time,
    attributes: {
      ...tenantAttributes(request),
      "gateway.guardrail.id": hook.id,
      "gateway.guardrail.phase": phase,
      "gateway.guardrail.type": hook.type,
      "gateway.guardrail.verdict": hook.verdict,
      "gateway.guardrail.action": hook.deny ? "deny" : hook.transformed ? "transform" : "allow",
      "gateway.guardrail.deny": hook.deny,
      "gateway.guardrail.async": hook.async,
    },
    events: hook.checks.map(({ id, verdict, transformed, execution_time, error }) => {
      const attributes: Attributes = {
        "gateway.guardrail.check.id": id,
        "gateway.guardrail.check.verdict": verdict,
        "gateway.guardrail.check.transformed": transformed,
        "gateway.guardrail.execution_time_ms": execution_time,
      };
      set(attributes, "error.type", error?.name);
      return { name: "gateway.guardrail.check", at: start, attributes };
    }),
    status: { code: "unset" },
  };
}

/** Spans of hooks that ran after the response to a request. */
async function toLateSpans({ request, results }: LateHooks): Promise<Span[]> {
  const ids = await spanIdsOf(request);
  // the queue of the log takes no other text
  const { before_request_hooks: before, after_request_hooks: after }: HookResults = JSON.parse(results);
  const all = [
    ...before.map((hook) => ({ hook, phase: "input" as const })),
    ...after.map((hook) => ({ hook, phase: "output" as const })),
  ];
  // counted down: the spans of the row count up
  return all.map(({ hook, phase }, index) => toHookSpan(hook, request, { phase, ids, index: -1 - index }));
}

/** Spans of a finished request: the request itself, then its calls, then its guardrails. Spans of late hooks. */
export async function toSpans(traced: Traced, names: ProviderNames): Promise<Span[]> {
  return "results" in traced ? toLateSpans(traced) : toRowSpans(traced, names);
}

async function toRowSpans(row: TracedRow, names: ProviderNames): Promise<Span[]> {
  const { details } = row;
  const ids = await spanIdsOf(details);
  const start = timeOfId(details.id);
  const isPart = details.part_of !== undefined;
  const root: Span = {
    traceId: ids.traceId,
    spanId: ids.root,
    parentSpanId: ids.parent,
    name: details.span_name ?? mcpName(details) ?? `${details.method} ${details.path}`,
    kind: isPart ? "internal" : "server",
    start,
    end: start + details.duration_ms,
    attributes: { ...rootAttributes(details), ...mcpAttributes(details) },
    events: [],
    status: toStatus(details.status),
  };
  // a part of a session: its call belongs to the session, which has a separate row
  if (isPart) return [{ ...root, attributes: { ...root.attributes, ...usageAttributes(details) } }];
  const calls = callsOf(row);
  const results = details.hook_results && fromStoredHooks(details.hook_results);
  const { before_request_hooks: before = [], after_request_hooks: after = [] } = results ?? {};
  return [
    root,
    ...calls.map((call, index) => toCallSpan(call, row, { ids, index, isLast: index === calls.length - 1, names })),
    ...before.map((hook, index) => toHookSpan(hook, details, { phase: "input", ids, index: calls.length + index })),
    ...after.map((hook, index) =>
      toHookSpan(hook, details, { phase: "output", ids, index: calls.length + before.length + index }),
    ),
  ];
}
