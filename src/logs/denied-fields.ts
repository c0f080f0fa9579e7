import { isObject } from "../lib/json.ts";

/**
 * Fields of a log row that an organisation can deny, by their names in exports, and the members that show them. What
 * shows one of several denied fields is left out as a whole.
 */
const membersOf: Readonly<Record<string, readonly string[]>> = {
  trace_id: ["trace_id", "internal_trace_id"],
  created_at: ["created_at"],
  request: ["request", "finalUntransformedRequest", "transformedRequest", "hook_results"],
  response: ["response", "originalResponse", "hook_results"],
  is_success: ["is_success"],
  ai_org: ["ai_org", "provider", "virtual_key", "integration_id", "labels", "attempts", "calls", "upstream_url"],
  ai_model: ["ai_model", "model", "requested_model", "answered_model", "attempts", "calls"],
  req_units: ["req_units", "usage"],
  res_units: ["res_units", "usage"],
  total_units: ["total_units", "usage", "cache"],
  request_url: ["request_url", "path", "url", "upstream_url", "calls"],
  cost: ["cost", "discarded_cost", "former_cost", "prompt_cache_saved_cost", "auto_saved_cost", "cache"],
  cost_currency: ["cost_currency"],
  response_time: [
    "response_time",
    "responseTime",
    "duration_ms",
    "first_byte_ms",
    "upstream_ms",
    "ttlt",
    "upstream_response_time",
    "gateway_processing_time",
    "attempts",
    "calls",
  ],
  response_status_code: ["response_status_code", "status", "attempts", "calls"],
  mode: ["mode"],
  config: ["config", "config_id", "config_version_id"],
  prompt_slug: ["prompt_slug", "prompt_id", "prompt_version_id"],
  // a session may be named by a key of the metadata
  metadata: ["metadata", "metadata.key", "metadata.value", "session_id"],
};

/** Fields of the index over the log, by the field that each is a part of. */
const fieldOfIndex: Readonly<Record<string, string>> = {
  trace: "trace_id",
  model: "ai_model",
  alias: "ai_model",
  provider: "ai_org",
  virtualKey: "ai_org",
  integration: "ai_org",
  region: "ai_org",
  zeroRetention: "ai_org",
  variant: "ai_org",
  inputTokens: "req_units",
  outputTokens: "res_units",
  totalTokens: "total_units",
  cost: "cost",
  savedCost: "cost",
  promptCacheSaved: "cost",
  autoSaved: "cost",
  autoLargest: "cost",
  cachedTokens: "req_units",
  duration: "response_time",
  firstByte: "response_time",
  upstream: "response_time",
  status: "response_status_code",
  config: "config",
  prompt: "prompt_slug",
  endUser: "metadata",
  session: "metadata",
};

/** Fields that nobody in an organisation may read from its log: `export_settings.deniedFields`. */
export type DeniedFields = ReadonlySet<string>;

/** The denied field that a filter or a figure of a field of the index would reveal; undefined for other fields. */
export function deniedFilter(field: string, denied: DeniedFields): string | undefined {
  const name = field.startsWith("metadata.\0")
    ? fieldOfIndex.region
    : field.startsWith("metadata.")
      ? "metadata"
      : fieldOfIndex[field];
  return name !== undefined && denied.has(name) ? name : undefined;
}

/** A row, or a row with its contents, without the members that show denied fields. */
export function withoutDenied<Row extends object>(row: Row, denied: DeniedFields): Partial<Row> {
  if (denied.size === 0) return row;
  const hidden = new Set([...denied].flatMap((name) => membersOf[name] ?? []));
  const strip = (value: object, depth: number): object =>
    Object.fromEntries(
      Object.entries(value)
        .filter(([name]) => !hidden.has(name))
        // contents and metrics have such members too; bodies and headers are the caller's
        .map(([name, member]) => [
          name,
          depth === 0 && parts.has(name) && isObject(member) ? strip(member, 1) : member,
        ]),
    );
  return strip(row, 0) as Partial<Row>; // only members are removed
}

/** Members of a row that have members which may be denied. */
const parts = new Set([
  "request",
  "response",
  "finalUntransformedRequest",
  "transformedRequest",
  "originalResponse",
  "metrics",
]);
