import type { WorkspaceView } from "../control/resources.ts";
import type { StoredLog } from "../db/stores/logs.ts";
import type { Redactor } from "../logs/redact.ts";
import { toRow, verdictOf } from "../logs/row.ts";
import { showSide } from "../logs/shown-body.ts";
import type { HookResults } from "../schemas/hooks.ts";
import type { LogDetail, LogMetrics, LogRow, LogSide } from "../schemas/logs.ts";
import { waitedMs } from "../schemas/queues.ts";

/** Guardrail results of a row, those of async guardrails after the others. */
export function allHooks(
  { hook_results: own }: Pick<LogRow, "hook_results">,
  late: readonly HookResults[],
): HookResults {
  const said = [own ?? [], late].flat();
  return {
    before_request_hooks: said.flatMap(({ before_request_hooks: before }) => before),
    after_request_hooks: said.flatMap(({ after_request_hooks: after }) => after),
  };
}

function withHooks(row: LogRow, late: readonly HookResults[]): LogRow {
  const hook_results = allHooks(row, late);
  const hook_verdict = verdictOf(hook_results);
  return hook_verdict === undefined ? row : { ...row, hook_results, hook_verdict };
}

/** A side that was not stored. */
const emptySide: LogSide = { headers: {}, body: null, truncated: false };

const isSuccess = (status: number): boolean => status >= 200 && status <= 299;

/** Milliseconds until the caller had the response, or its first byte. */
const responseTimeOf = ({ stream, first_byte_ms, duration_ms }: LogRow): number =>
  stream ? (first_byte_ms ?? duration_ms) : duration_ms;

/** The target that responded, as its path in the config. */
const lastTargetOf = ({ attempts }: LogRow): string => attempts?.at(-1)?.label ?? "config";

function timesOf(row: LogRow) {
  const { duration_ms, upstream_ms, stream } = row;
  return {
    response_time: responseTimeOf(row),
    upstream_response_time: upstream_ms,
    gateway_processing_time: Math.max(0, Math.round((duration_ms - (upstream_ms ?? 0) - waitedMs(row)) * 100) / 100),
    ...(stream && { ttlt: duration_ms }),
  };
}

/** The row under the names of other gateways' logs. What is not measured has no member. */
function toMetrics(row: LogRow, view: WorkspaceView | undefined): LogMetrics {
  const { usage, metadata } = row;
  return {
    id: row.id,
    organisation_id: row.organisation_id,
    organisation_name: view?.organisation.name ?? null,
    workspace_slug: view?.workspace.slug ?? null,
    user_id: row.user_id ?? null,
    api_key_id: row.api_key_id,
    created_at: row.created_at,
    ...timesOf(row),
    request_url: row.path,
    request_method: row.method,
    is_proxy_call: row.operation === "proxy",
    mode: row.mode ?? "single",
    source: row.source ?? "gateway",
    stream_mode: row.stream ? 1 : 0,
    runtime: row.runtime ?? null,
    runtime_version: row.runtime_version ?? null,
    sdk_version: row.sdk_version ?? null,
    ai_org: row.provider,
    ai_model: row.model,
    virtual_key: row.virtual_key ?? null,
    config: row.config ?? null,
    config_id: row.config_id ?? null,
    config_version_id: row.config_version_id ?? null,
    prompt_id: row.prompt_id ?? null,
    prompt_slug: row.prompt_slug ?? null,
    prompt_version_id: row.prompt_version_id ?? null,
    last_used_option_index: lastTargetOf(row),
    retry_success_count: isSuccess(row.status) ? (row.attempts?.at(-1)?.retries ?? 0) : 0,
    cache_status: row.cache_status ?? "DISABLED",
    is_success: isSuccess(row.status),
    response_status_code: row.status,
    req_units: usage?.input_tokens ?? 0,
    res_units: usage?.output_tokens ?? 0,
    total_units: usage?.total_tokens ?? 0,
    cost: row.cost,
    cost_currency: row.cost_currency,
    trace_id: row.trace_id,
    internal_trace_id: row.part_of ?? row.id,
    span_id: row.span_id ?? row.id,
    parent_span_id: row.parent_span_id,
    span_name: row.span_name ?? "llm",
    "metadata.key": Object.keys(metadata),
    "metadata.value": Object.values(metadata),
  };
}

/** What a row with its contents is made from. */
interface DetailParts {
  /** Results of async guardrails. */
  late: readonly HookResults[];
  redactor: Redactor;
  /** The workspace of the row; undefined if it no longer exists. */
  view: WorkspaceView | undefined;
  /** Prefixes of the gateway's headers. */
  prefixes: readonly string[];
}

/** Headers for the gateway by their names without prefix. */
function gatewayHeaders(
  headers: Readonly<Record<string, string>>,
  prefixes: readonly string[],
): Record<string, string> {
  const pairs = Object.entries(headers).flatMap(([name, value]): [string, string][] => {
    const prefix = prefixes.find((one) => name.startsWith(one));
    return prefix === undefined ? [] : [[name.slice(prefix.length), value]];
  });
  return Object.fromEntries(pairs);
}

/** A stored row with its contents, and once more under the names of other gateways' logs. */
export async function toDetail(stored: StoredLog, { late, redactor, view, prefixes }: DetailParts): Promise<LogDetail> {
  const { content } = stored;
  const { request = emptySide, response = emptySide, final, sent, original } = content ?? {};
  const row = withHooks(toRow(stored.details), late);
  const target = { url: row.upstream_url, method: sent?.method ?? row.method };
  const detail: LogDetail = {
    ...row,
    _id: row.id,
    request: {
      url: row.path,
      method: row.method,
      ...(await showSide(request, redactor)),
      gatewayHeaders: gatewayHeaders(request.headers, prefixes),
    },
    response: {
      status: row.status,
      ...(await showSide(response, redactor)),
      responseTime: responseTimeOf(row),
      lastUsedOptionJsonPath: lastTargetOf(row),
    },
    metrics: toMetrics(row, view),
    log_format: "v1",
  };
  if (stored.isAway) detail.contents_unavailable = true;
  if (final)
    detail.finalUntransformedRequest = { url: row.path, method: row.method, ...(await showSide(final, redactor)) };
  if (sent) detail.transformedRequest = { ...target, ...(await showSide(sent, redactor)) };
  if (original) detail.originalResponse = { ...target, ...(await showSide(original, redactor)) };
  return detail;
}
