import * as v from "valibot";
import { HookResults } from "./hooks.ts";
import { ShownLabels } from "./labels.ts";
import { WaitLog } from "./queues.ts";
import { ErrorCode } from "./routing-choice.ts";
import type { StoredHookResults } from "./stored-hooks.ts";

/** Token counts in the log; 0 where the provider reported none. */
const LoggedUsage = v.object({
  /** All input tokens, including those read from or written to a cache. */
  input_tokens: v.number(),
  /** All output tokens, reasoning included. */
  output_tokens: v.number(),
  total_tokens: v.number(),
  /** Part of the input: read from a cache. */
  cached_tokens: v.number(),
  /** Part of the output. */
  reasoning_tokens: v.number(),
  /** Part of the input: written to a cache. */
  cache_write_tokens: v.number(),
  /** Part of the input. */
  audio_input_tokens: v.number(),
  /** Part of the output. */
  audio_output_tokens: v.number(),
  /** Further counts by name, if any: `pages`, `seconds`, `search_units`, `images`, `characters` and others. */
  units: v.optional(v.record(v.string(), v.number())),
  /** The service tier that answered, where it is not the standard one. */
  service_tier: v.optional(v.string()),
  /** Generated images, where their price depends on quality or size. */
  image: v.optional(v.object({ quality: v.optional(v.string()), size: v.optional(v.string()) })),
});

/**
 * Where a price comes from: the price list, a model's own price in an integration, the organisation's fallback, or the
 * provider, which reported the cost itself.
 */
const PriceSource = v.picklist(["list", "integration", "fallback", "provider"]);
export type PriceSource = v.InferOutput<typeof PriceSource>;

const otherSources = ["console", "custom", "otel", "check", "eval"] as const;

/**
 * Where a request comes from, if a program did not send it to the gateway: `console` for a session of the console, `custom`
 * for reports to `POST /logs`, `otel` for spans of OpenTelemetry, `check` for checks of targets, `eval` for runs of example sets.
 */
const OtherSource = v.picklist(otherSources);

/** The same, and `gateway` for all others. */
export const RowSource = v.picklist(["gateway", ...otherSources]);

/** One target that was called. */
const AttemptLog = v.object({
  /** Path of the target in the config. */
  label: v.string(),
  /** Its name there. */
  name: v.optional(v.string()),
  provider: v.nullable(v.string()),
  model: v.nullable(v.string()),
  status: v.number(),
  duration_ms: v.number(),
  retries: v.number(),
  /** Why it failed. */
  error_code: v.optional(ErrorCode),
});
export type AttemptLog = v.InferOutput<typeof AttemptLog>;

/** A target that was skipped because its model lacks what the request needs. */
const UnfitLog = v.object({ label: v.string(), reason: v.string() });
export type UnfitLog = v.InferOutput<typeof UnfitLog>;

/** What a group decided that goes by what is in the request. */
export const AutoLog = v.object({
  label: v.string(),
  target: v.string(),
  by: v.picklist(["rule", "classifier", "score"]),
  reason: v.string(),
});
export type AutoLog = v.InferOutput<typeof AutoLog>;

/** One call to a provider, for requests with several calls. Times in milliseconds. */
const CallLog = v.object({
  provider: v.string(),
  model: v.nullable(v.string()),
  url: v.string(),
  /** Null without a response. */
  status: v.nullable(v.number()),
  /** Code of the failure. */
  error: v.nullable(v.string()),
  /** Since the request began. */
  started_ms: v.number(),
  /** Since the request began. */
  first_byte_ms: v.nullable(v.number()),
  duration_ms: v.nullable(v.number()),
});
export type CallLog = v.InferOutput<typeof CallLog>;

/** Operation of the row of a batch that its provider ran. Its cost is a sum at prices of batches. */
export const collectBatch = "collectBatch";

/** How the cache served a request. */
export const CacheStatus = v.picklist(["HIT", "SEMANTIC HIT", "MISS", "SEMANTIC MISS", "DISABLED", "REFRESH"]);
export type CacheStatus = v.InferOutput<typeof CacheStatus>;

/** The part of the cache in a request. */
const CacheLog = v.object({
  /** What the stored response cost, in US cents; null where unknown. Only for responses from the cache. */
  saved_cost: v.optional(v.nullable(v.number())),
  /** Tokens of the stored response. Only for responses from the cache. */
  saved_tokens: v.optional(v.number()),
  /** Age of the stored response in seconds. Only for responses from the cache. */
  age: v.optional(v.number()),
  /** Why the cache that was asked for was not used. */
  problem: v.optional(v.string()),
});

/** A call of an MCP server. */
const McpLog = v.object({
  server_id: v.string(),
  /** Slug of the server. */
  server: v.string(),
  /** Slug of the server that joins this one, or whose tools were searched, where the caller named that. */
  through: v.optional(v.string()),
  /** JSON-RPC method; `response` for an answer to a request of the server. */
  method: v.string(),
  /** The tool, the prompt or the URI of the resource. */
  name: v.optional(v.string()),
  /** Id of the JSON-RPC request. */
  request_id: v.optional(v.union([v.string(), v.number()])),
  /** `legacy` for revisions with a handshake, `modern` for those without. */
  era: v.optional(v.picklist(["legacy", "modern"])),
  protocol_version: v.optional(v.string()),
  /** The era of the server, where the gateway translated between the two. */
  bridged_to: v.optional(v.picklist(["legacy", "modern"])),
  /** Code of the JSON-RPC error, if there was one. */
  rpc_code: v.optional(v.number()),
  /** The tool reported an error in its result. */
  is_error: v.optional(v.literal(true)),
  /** Name of the client, as it says itself. */
  client_name: v.optional(v.string()),
  /** How the caller authenticated. */
  auth_type: v.optional(v.picklist(["api_key", "oauth", "jwt"])),
  /** How the upstream server is reached. */
  transport: v.optional(v.picklist(["http", "sse", "openapi"])),
  /** Tokens of the arguments and the result, estimated. */
  tokens: v.optional(v.number()),
  /** Bytes of the answer of the server. */
  result_bytes: v.optional(v.number()),
  /** Id of the rate limit that refused the call. */
  refused_by: v.optional(v.string()),
  /** The circuit breaker of the server refused the call. */
  circuit_open: v.optional(v.literal(true)),
  /** Digest of the session's id. */
  session: v.optional(v.string()),
  /** Tools that were left out of a list because no client can call them. */
  unusable_tools: v.optional(v.array(v.string())),
  /** Id of the OAuth client. */
  client_id: v.optional(v.string()),
  /** The upstream refused a token, and the call was sent again with another one. */
  token_refreshed: v.optional(v.literal(true)),
  /** Tools and prompts of a list whose definitions nobody approved. */
  unapproved: v.optional(v.array(v.string())),
  /** Arguments were not checked: the tool has no schema that can be used. */
  unchecked_arguments: v.optional(v.literal(true)),
});
export type McpLog = v.InferOutput<typeof McpLog>;

/** One log row without bodies. */
export const LogRow = v.object({
  id: v.string(),
  /** Id of the row that this row is a part of: limits settle a realtime session each minute. */
  part_of: v.optional(v.string()),
  /** Id of the row whose request was replayed. */
  replay_of: v.optional(v.string()),
  /** Id of the row whose request was copied here for comparison. */
  shadow_of: v.optional(v.string()),
  /** The request is copied: the row of the copy has its id in `shadow_of`. */
  shadowed: v.optional(v.literal(true)),
  object: v.literal("log"),
  created_at: v.string(),
  organisation_id: v.string(),
  workspace_id: v.nullable(v.string()),
  api_key_id: v.string(),
  /** The user of the key or token; absent for services. */
  user_id: v.optional(v.string()),
  method: v.string(),
  path: v.string(),
  operation: v.string(),
  status: v.number(),
  provider: v.nullable(v.string()),
  model: v.nullable(v.string()),
  /** Slug of the stored provider; absent where the request names a provider itself. */
  virtual_key: v.optional(v.string()),
  trace_id: v.string(),
  span_id: v.nullable(v.string()),
  parent_span_id: v.nullable(v.string()),
  span_name: v.nullable(v.string()),
  /** The session that the request belongs to; absent without one. */
  session_id: v.optional(v.string()),
  metadata: v.record(v.string(), v.string()),
  stream: v.boolean(),
  duration_ms: v.number(),
  first_byte_ms: v.nullable(v.number()),
  upstream_ms: v.nullable(v.number()),
  upstream_url: v.nullable(v.string()),
  upstream_calls: v.number(),
  /** Every call, in order; absent for a single call, which the fields above describe. */
  calls: v.optional(v.array(CallLog)),
  config: v.optional(v.nullable(v.string())),
  /** Ids of the saved config and its version. */
  config_id: v.optional(v.string()),
  config_version_id: v.optional(v.string()),
  /** How the root of the config chooses among its targets; `single` without targets. */
  mode: v.optional(v.string()),
  cache_status: v.optional(CacheStatus),
  /** What a response from the cache saved, or why the cache was not used. */
  cache: v.optional(CacheLog),
  attempts: v.optional(v.array(AttemptLog)),
  skipped: v.optional(v.array(v.string())),
  unfit: v.optional(v.array(UnfitLog)),
  auto: v.optional(AutoLog),
  /** Waits for room in limits with a queue, in order. */
  waits: v.optional(v.array(WaitLog)),
  prompt_id: v.optional(v.string()),
  prompt_slug: v.optional(v.string()),
  prompt_version_id: v.optional(v.string()),
  dropped_params: v.optional(v.array(v.string())),
  /** Labels of the target that was called: those of its integration, and of its target in a saved config. */
  labels: v.optional(ShownLabels),
  /** Results of hooks; those that ran after the response are only included when a single row is read. */
  hook_results: v.optional(HookResults),
  /** Whether every check passed; absent where none ran before the response was sent. */
  hook_verdict: v.optional(v.boolean()),
  /** The call of an MCP server; absent for other requests. */
  mcp: v.optional(McpLog),
  /** What the client's library says of itself. */
  runtime: v.optional(v.string()),
  runtime_version: v.optional(v.string()),
  sdk_version: v.optional(v.string()),
  /** Where the request comes from, if it is no call of the gateway by a program. */
  source: v.optional(OtherSource),
  usage: v.nullable(LoggedUsage),
  /** Some counts are estimates, because a stream broke off before the provider reported them. */
  estimated: v.optional(v.literal(true)),
  /** US cents, to the nano-dollar; null if what was counted has no price. */
  cost: v.nullable(v.number()),
  cost_currency: v.literal("USD"),
  /** False if something was counted that has no price. */
  priced: v.boolean(),
  /** Absent where no price applied, as for requests that cost nothing. */
  price_source: v.optional(PriceSource),
  /** The alias or the slug of a config that the request named as its model; absent for models of providers. */
  requested_model: v.optional(v.string()),
  /** The model named in the response, where the requested one has no price. */
  answered_model: v.optional(v.string()),
  /** The integration of the stored provider, whose prices apply. */
  integration_id: v.optional(v.string()),
  /** The part of the cost for responses that were discarded, in US cents. */
  discarded_cost: v.optional(v.number()),
  /**
   * What the provider's prompt cache saved, in US cents: below zero where more was written than read. Absent where it was
   * not used.
   */
  prompt_cache_saved_cost: v.optional(v.number()),
  /** What the largest target of `auto` would have cost more, in US cents. Absent where its price is not known. */
  auto_saved_cost: v.optional(v.number()),
  /** The cost before the request was priced again, in US cents. */
  former_cost: v.optional(v.nullable(v.number())),
  error: v.nullable(v.object({ type: v.string(), code: v.nullable(v.string()), message: v.string() })),
});
export type LogRow = v.InferOutput<typeof LogRow>;

const sideMembers = {
  headers: v.record(v.string(), v.string()),
  body: v.unknown(),
  /** The stored body was cut; `body` is then a string. */
  truncated: v.boolean(),
};

/** What became of a request or a response on its way. */
const Phase = v.object({
  /** Without the query; null without a call. */
  url: v.nullable(v.string()),
  method: v.string(),
  ...sideMembers,
});

/** The row under the names of other gateways' logs. Times in milliseconds, the cost in US cents. */
const LogMetrics = v.object({
  id: v.string(),
  organisation_id: v.string(),
  organisation_name: v.nullable(v.string()),
  workspace_slug: v.nullable(v.string()),
  user_id: v.nullable(v.string()),
  api_key_id: v.string(),
  created_at: v.string(),
  /** Until the caller had the response, or the first byte of a stream. */
  response_time: v.number(),
  upstream_response_time: v.nullable(v.number()),
  /** What the provider did not take. */
  gateway_processing_time: v.number(),
  /** Until the last byte of a stream. */
  ttlt: v.optional(v.number()),
  request_url: v.string(),
  request_method: v.string(),
  is_proxy_call: v.boolean(),
  mode: v.string(),
  source: RowSource,
  stream_mode: v.picklist([0, 1]),
  runtime: v.nullable(v.string()),
  runtime_version: v.nullable(v.string()),
  sdk_version: v.nullable(v.string()),
  ai_org: v.nullable(v.string()),
  ai_model: v.nullable(v.string()),
  virtual_key: v.nullable(v.string()),
  config: v.nullable(v.string()),
  config_id: v.nullable(v.string()),
  config_version_id: v.nullable(v.string()),
  prompt_id: v.nullable(v.string()),
  prompt_slug: v.nullable(v.string()),
  prompt_version_id: v.nullable(v.string()),
  last_used_option_index: v.string(),
  retry_success_count: v.number(),
  cache_status: CacheStatus,
  is_success: v.boolean(),
  response_status_code: v.number(),
  req_units: v.number(),
  res_units: v.number(),
  total_units: v.number(),
  cost: v.nullable(v.number()),
  cost_currency: v.literal("USD"),
  trace_id: v.string(),
  /** The same for all calls of a request. */
  internal_trace_id: v.string(),
  span_id: v.string(),
  parent_span_id: v.nullable(v.string()),
  span_name: v.string(),
  "metadata.key": v.array(v.string()),
  "metadata.value": v.array(v.string()),
});
export type LogMetrics = v.InferOutput<typeof LogMetrics>;

/** One log row with its contents. */
const LogDetail = v.object({
  ...LogRow.entries,
  _id: v.string(),
  request: v.object({
    url: v.string(),
    method: v.string(),
    ...sideMembers,
    /** Headers for the gateway, by their names without prefix. */
    gatewayHeaders: v.record(v.string(), v.string()),
  }),
  response: v.object({
    status: v.number(),
    ...sideMembers,
    /** Milliseconds. */
    responseTime: v.number(),
    lastUsedOptionJsonPath: v.string(),
  }),
  /** The request with the parameters of its config, as its guardrails left it; absent where nothing changed it. */
  finalUntransformedRequest: v.optional(Phase),
  /** The request as the provider received it; absent where that is the caller's. */
  transformedRequest: v.optional(Phase),
  /** The response as the provider sent it; absent where the caller got it as it came. */
  originalResponse: v.optional(Phase),
  /** Headers and bodies are in an object store that does not respond now. */
  contents_unavailable: v.optional(v.literal(true)),
  metrics: LogMetrics,
  log_format: v.literal("v1"),
});
export type LogDetail = v.InferOutput<typeof LogDetail>;

/** Guardrail results of one log row, those of async guardrails last. */
const LogHooks = v.object({ id: v.string(), object: v.literal("log_hooks"), ...HookResults.entries });

/** A row as it is shown: without members that the organisation denies. */
const ShownRow = v.partial(LogRow);

const phase = v.optional(v.partial(Phase));
const { request, response } = LogDetail.entries;

/** Response of `GET /logs/{id}`. */
export const ShownLog = v.union([
  v.object({
    ...v.partial(LogDetail).entries,
    object: v.literal("log"),
    request: v.optional(v.partial(request)),
    response: v.optional(v.partial(response)),
    finalUntransformedRequest: phase,
    transformedRequest: phase,
    originalResponse: phase,
    metrics: v.partial(LogMetrics),
  }),
  LogHooks,
]);

/** Response of `GET /logs`. */
export const LogList = v.object({
  object: v.literal("list"),
  data: v.array(ShownRow),
  has_more: v.boolean(),
  next_cursor: v.nullable(v.string()),
  /** What a search looked at for this page. */
  search: v.optional(
    v.object({
      from: v.nullable(v.string()),
      to: v.nullable(v.string()),
      rows_scanned: v.number(),
      /** Characters of bodies that were read. */
      characters_scanned: v.number(),
      /** Rows whose contents are in an object store that does not respond. */
      rows_unavailable: v.number(),
    }),
  ),
});

/** Response of `GET /sessions`. A session lacks the figures that the organisation denies. */
export const SessionList = v.object({
  object: v.literal("list"),
  /** Sessions on all pages. */
  total: v.number(),
  has_more: v.boolean(),
  data: v.array(
    v.object({
      object: v.literal("session"),
      id: v.string(),
      requests: v.number(),
      /** Requests that failed. */
      errors: v.optional(v.number()),
      total_tokens: v.optional(v.number()),
      /** US cents. */
      cost: v.optional(v.number()),
      /** When its first and its last request began, of those that the filters choose. */
      first_at: v.optional(v.string()),
      last_at: v.optional(v.string()),
    }),
  ),
});

/** The stored fields of a row; others follow from them. */
export type LogDetails = Omit<LogRow, "object" | "created_at" | "hook_results" | "hook_verdict"> & {
  /** Rows of earlier versions hold them as they are shown. */
  hook_results?: StoredHookResults | HookResults;
};

/** What names a request in the log and in spans. */
export type TracedRequest = Pick<
  LogDetails,
  "id" | "organisation_id" | "workspace_id" | "trace_id" | "span_id" | "parent_span_id"
>;

/** Results of the hooks that ran after the response to a request. */
export interface LateHooks {
  readonly request: TracedRequest;
  /** JSON of `HookResults`, without secrets. */
  readonly results: string;
}

/** The counter of a limit in one window. */
export interface LimitCounter {
  readonly limitId: string;
  readonly bucket: string;
  /** Unix milliseconds; 0 for limits that never reset. */
  readonly windowStart: number;
  /** Unix milliseconds; null for limits that never reset. */
  readonly windowEnd: number | null;
}

/** A counter that re-priced rows changed. */
export interface CorrectedCounter extends LimitCounter {
  readonly organisationId: string;
  /** What they have added to it so far, in all. */
  readonly corrected: number;
}

/** What a request added to a counter. */
export interface LimitIncrement extends LimitCounter {
  /** Requests, tokens or nano-dollars. */
  readonly used: number;
  /** Under which lease it was used; absent where processes share no limits. */
  readonly lease?: { readonly nodeId: string; readonly number: number };
}

/**
 * What was measured for a row and is not stored: bytes of the request body, milliseconds from the start of the request
 * to the last call, milliseconds from its first to its last byte, and its status. Null where unknown.
 */
export type RowMeasures = readonly [
  requestBytes: number | null,
  calledMs: number | null,
  lastByteMs: number | null,
  upstreamStatus: number | null,
];

/** Log rows of one tenant that are stored together. */
export interface LogBatch {
  organisationId: string;
  workspaceId: string | null;
  /** ULIDs, whose time is that of the request. */
  firstId: string;
  lastId: string;
  /** JSON array of `LogDetails`. */
  details: string;
  /** JSON array of `LimitIncrement`, one for each counter; empty where the rows count in no limit. */
  counted: string;
  /** The `LimitCounter`s of money of each row, `logs/charged.ts` has the format. Empty without any. */
  charged: string;
  /** JSON array with the `RowMeasures` of each row, or null; they are not stored. Empty or absent without any. */
  measures?: string;
  /** Headers and bodies of all rows as one text, `db/stores/log-content.ts` reads the format. */
  content: string;
  /** The same in parts, where some bodies are long. `content` is put together when it is read. */
  late?: LateContent;
}

/** Contents of which long bodies are masked only as far as the log does not have them yet. */
export interface LateContent {
  /** JSON array with the headers of each row. */
  readonly heads: string;
  /** The bodies of each row. Null: they are not stored. */
  readonly rows: readonly (readonly (string | LateBody | null)[] | null)[];
}

/** A long body that is not masked yet. */
export interface LateBody {
  readonly bytes: Uint8Array;
  /** Where its spans end: what is masked of one does not depend on what stands beyond. */
  readonly ends: readonly number[];
  /** What is masked is decided by the bytes of a span and by this. */
  readonly rules: string;
  /** The text of a span as it is stored. */
  seal(span: Uint8Array): string;
}

/** Whether a value is a list of `LogBatch`, as far as its text was not written by anybody else. */
export function isLogBatches(value: unknown): value is LogBatch[] {
  const names = ["organisationId", "firstId", "lastId", "details", "counted", "charged", "content"];
  return Array.isArray(value) && value.every((batch) => names.every((name) => typeof batch?.[name] === "string"));
}

/** Redacted headers and bodies of both sides. */
export interface LogContent {
  request: LogSide;
  response: LogSide;
  /** The request before its conversion, where its config or guardrails changed it. */
  final?: LogPhase;
  /** The request as its provider received it, where it was converted. */
  sent?: LogPhase & { method: string };
  /** The response as its provider sent it, where it was converted. */
  original?: LogPhase;
}

/** What became of a side on its way. */
export type LogPhase = LogSide;

/** One side of a logged request. */
export interface LogSide {
  headers: Record<string, string>;
  /** Null without a body, or if it is not text. */
  body: string | null;
  truncated: boolean;
}

/** Token counts in the log. */
export type LoggedUsage = v.InferOutput<typeof LoggedUsage>;
