import type { CacheHit, UpstreamCall } from "../../context/call-record.ts";
import { ConcurrencyError } from "../../context/concurrency.ts";
import type { CallerContext, FinishedCall } from "../../context.ts";
import { LogBusyError, toGatewayError } from "../../errors.ts";
import { readNameList } from "../../lib/headers.ts";
import { beginningOf } from "../../logs/body.ts";
import type { LogRecord, RecordContent } from "../../logs/record.ts";
import { endOf, spanOf, startOf } from "../../policies/windows.ts";
import { toCents } from "../../pricing/cost.ts";
import type { CallLog, LimitCounter, LogDetails, RowMeasures } from "../../schemas/logs.ts";
import { addHookResults, hasResults } from "../facts/hook-results.ts";
import { depthOf, type LogDepth } from "../facts/log-privacy.ts";
import { isOperation, operationFacts } from "../facts/operation-facts.ts";
import { labelsOfCall } from "../target/target-labels.ts";
import { addFeedback, runAsyncGuardrails } from "./async-guardrails.ts";
import { savedByAuto, savedByPromptCache } from "./cost.ts";
import { phasesOf } from "./log-phases.ts";

/** Most characters of an error message in a row. */
const maxMessage = 4_096;

function since(start: number | null | undefined, end: number | null | undefined): number | null {
  return typeof start !== "number" || typeof end !== "number" ? null : Math.round((end - start) * 100) / 100;
}

const noCounters: readonly LimitCounter[] = [];

/**
 * Counters of money that a finished request counts in, also those it added nothing to because it has no price: they
 * follow when it gets another one. None for a request that cannot be priced again.
 */
function moneyCountersOf({ log, services }: CallerContext): readonly LimitCounter[] {
  const { moneyLimits, counted, cost, priceSource } = log;
  if (moneyLimits.length === 0 || (cost !== null && priceSource === null)) return noCounters;
  return moneyLimits.map(({ limit, bucket }): LimitCounter => {
    for (let index = counted.length - 1; index >= 0; index--) {
      const added = counted[index];
      if (added?.limitId === limit.id && added.bucket === bucket) return added;
    }
    const span = spanOf(limit.window, services.steadyTime());
    return { limitId: limit.id, bucket, windowStart: startOf(span), windowEnd: endOf(span) };
  });
}

/** What the row of a request says, besides its contents. */
export function toDetails({ context, status, error, endedAt }: FinishedCall): LogDetails {
  const { log, startedAt, principal } = context;
  const { calls } = log;
  const last = calls.at(-1);
  const failure = error === undefined ? null : toGatewayError(error);
  const details: LogDetails = {
    id: context.id,
    organisation_id: principal.organisationId,
    workspace_id: principal.workspaceId,
    api_key_id: principal.keyId,
    status,
    provider: log.provider,
    model: log.model,
    trace_id: context.traceId,
    method: context.method,
    path: context.url.pathname,
    operation: log.operation,
    span_id: context.spanId,
    parent_span_id: context.parentSpanId,
    span_name: context.spanName,
    metadata: log.targetMetadata ? { ...log.targetMetadata, ...context.metadata } : context.metadata,
    stream: log.stream,
    duration_ms: since(startedAt, endedAt) ?? 0,
    first_byte_ms: since(startedAt, last?.firstByteAt),
    upstream_ms: since(log.callsFrom ?? last?.startedAt, last?.endedAt ?? last?.firstByteAt),
    upstream_url: last?.url ?? null,
    upstream_calls: calls.length,
    usage: log.usage,
    cost: log.cost === null ? null : toCents(log.cost),
    cost_currency: "USD",
    priced: log.cost !== null,
    error: failure && { type: failure.type, code: failure.code, message: failure.message.slice(0, maxMessage) },
  };
  if (context.connection.replayOf !== undefined) details.replay_of = context.connection.replayOf;
  if (context.connection.apart) {
    const { shadowOf } = context.connection.apart;
    if (shadowOf === undefined) details.source = "check";
    else details.shadow_of = shadowOf;
  }
  if (context.sessionId !== null) details.session_id = context.sessionId;
  if (principal.userId !== null) details.user_id = principal.userId;
  if (principal.isOfConsole) details.source = "console";
  if (context.connection.isEval) details.source = "eval";
  addPriceDetails(details, log);
  addClientDetails(details, context);
  addRareDetails(details, log);
  if (calls.length > 1) details.calls = calls.map((call) => toLoggedCall(call, startedAt));
  return details;
}

/** What metrics and spans show of a request besides its row. */
function toMeasures({ headers, log, startedAt }: CallerContext): RowMeasures {
  const last = log.calls.at(-1);
  const length = headers.get("content-length");
  return [
    length === undefined || !/^[0-9]{1,15}$/.test(length) ? null : Number(length),
    since(startedAt, last?.startedAt),
    since(last?.firstByteAt, last?.endedAt),
    last?.status ?? null,
  ];
}

/** What the price was found by, so that the request can be priced again. */
function addPriceDetails(details: LogDetails, log: CallerContext["log"]): void {
  const { priceSource, answeredModel, stored, spent } = log;
  if (priceSource !== null) details.price_source = priceSource;
  if (log.isAnswerNeeded && answeredModel !== null) details.answered_model = answeredModel;
  if (stored) details.integration_id = stored.integrationId;
  if (spent > 0) details.discarded_cost = toCents(spent);
  const { usage } = log;
  const isCached = usage !== null && usage.cached_tokens + usage.cache_write_tokens > 0;
  const saved = isCached ? savedByPromptCache({ log }) : undefined;
  if (saved !== undefined) details.prompt_cache_saved_cost = toCents(saved);
  const savedBySize = log.auto ? savedByAuto({ log }) : undefined;
  if (savedBySize !== undefined) details.auto_saved_cost = toCents(savedBySize);
}

/** Longest value of a client's facts about itself. */
const maxClientFact = 128;

/** What the client's library says of itself. */
function addClientDetails(details: LogDetails, { headers, header }: CallerContext): void {
  const runtime = headers.get("x-stainless-runtime") ?? header("runtime");
  if (runtime === undefined || runtime === null) return;
  details.runtime = runtime.slice(0, maxClientFact);
  const runtimeVersion = headers.get("x-stainless-runtime-version") ?? header("runtime-version");
  const sdkVersion = headers.get("x-stainless-package-version") ?? header("package-version");
  if (runtimeVersion) details.runtime_version = runtimeVersion.slice(0, maxClientFact);
  if (sdkVersion) details.sdk_version = sdkVersion.slice(0, maxClientFact);
}

/** One of several calls of a request. */
function toLoggedCall({ provider, model, url, status, error, ...times }: UpstreamCall, startedAt: number): CallLog {
  return {
    provider,
    model,
    url,
    status,
    error,
    started_ms: since(startedAt, times.startedAt) ?? 0,
    first_byte_ms: since(startedAt, times.firstByteAt),
    duration_ms: since(times.startedAt, times.endedAt ?? times.firstByteAt),
  };
}

/** Fields only some requests have. Spreading them into the others would slow all of them. */
function addRareDetails(details: LogDetails, log: CallerContext["log"]): void {
  const { attempts, configSlug, skipped, unfit, prompt, stored, dropped, isEstimated } = log;
  const { savedConfig, mode, cacheStatus, cacheProblem, cacheHit, source, mcp } = log;
  if (mcp !== null) details.mcp = mcp;
  if (log.isCopied) details.shadowed = true;
  if (source !== null) details.source = source;
  if (isEstimated) details.estimated = true;
  if (log.named) details.requested_model = log.named.name;
  if (savedConfig) Object.assign(details, { config_id: savedConfig.id, config_version_id: savedConfig.versionId });
  if (mode !== "single") details.mode = mode;
  if (cacheStatus !== null) details.cache_status = cacheStatus;
  if (cacheHit) details.cache = toCacheLog(cacheHit);
  else if (cacheProblem !== null) details.cache = { problem: cacheProblem };
  if (attempts.length > 0) Object.assign(details, { config: configSlug, attempts, skipped: [...skipped] });
  if (unfit.length > 0) details.unfit = [...unfit];
  if (log.waits) details.waits = [...log.waits];
  if (log.auto) {
    const { label, target, by, reason } = log.auto;
    details.auto = { label, target, by, reason };
  }
  if (prompt) {
    const { id, slug, versionId } = prompt;
    Object.assign(details, { prompt_id: id, prompt_slug: slug, prompt_version_id: versionId });
  }
  if (stored) details.virtual_key = stored.slug;
  if (dropped) details.dropped_params = dropped;
  const labels = stored?.labels || log.targetLabels ? labelsOfCall(log) : undefined;
  if (labels) details.labels = labels;
}

function toCacheLog({ cost, tokens, ageMs }: CacheHit): NonNullable<LogDetails["cache"]> {
  return { saved_cost: cost === null ? null : toCents(cost), saved_tokens: tokens, age: Math.floor(ageMs / 1000) };
}

const noNames: readonly string[] = [];

/** The request's headers; hidden values are already replaced. */
function shownHeaders({ headers, log: { hidden } }: CallerContext): Readonly<Record<string, string>> {
  const values = headers.values();
  if (!hidden) return values;
  const shown = { ...values };
  for (const name in shown) if (shown[name] === hidden.text) shown[name] = hidden.shown;
  return shown;
}

/** Credentials the request came with and was sent with, each once. */
function secretsOf(context: CallerContext): readonly string[] {
  const { gatewayKey, headers, log } = context;
  const all = [gatewayKey, ...log.secrets];
  // values of headers the caller wants hidden may come back in the response
  for (const name of sensitiveNames(context) ?? noNames) {
    const value = headers.get(name);
    if (value !== undefined) all.push(value);
  }
  if (all.length > fewSecrets) return [...new Set(all)];
  const secrets: string[] = [];
  for (const one of all) if (!secrets.includes(one)) secrets.push(one);
  return secrets;
}

/** So many strings are compared with each other faster than a set of them is made. */
const fewSecrets = 8;

/**
 * Writes a row for a part of a session that goes on, without contents: the last row has those of the whole session.
 *
 * @param context The session, with a call record of the part alone.
 */
export function logSessionPart(context: CallerContext): void {
  const { services, log } = context;
  const endedAt = services.clock.monotonic();
  const details = toDetails({ context, status: 101, responseHeaders: {}, endedAt });
  const row = { ...details, id: services.createId(), part_of: details.id };
  addHookResults(row, log.hooks, false);
  const counts = { counted: log.counted, charged: moneyCountersOf(context) };
  if (log.counted.length > 0) noteUse(row, context);
  services.record({ details: row, secrets: secretsOf(context), content: null, ...counts });
}

/** Notes what a request used of limits, where that must survive the end of the process before its row is stored. */
function noteUse(details: LogDetails, context: CallerContext): void {
  const { services, log } = context;
  if (!services.limitJournal) return;
  const counts = { counted: log.counted, charged: moneyCountersOf(context) };
  services.limitJournal.append({ details, secrets: secretsOf(context), content: null, ...counts });
}

/**
 * Whether a request was refused before it did anything, and its row would take the room of others: those that are refused
 * for their number come again at once, faster than rows can be stored.
 */
function leavesNoRow({ error, context: { log, services } }: FinishedCall): boolean {
  if (log.calls.length > 0) return false;
  return error instanceof LogBusyError || (error instanceof ConcurrencyError && services.logRoom.load() !== "none");
}

/** Seconds after which a refused request may be sent again. */
const againAfterSeconds = 5;

/**
 * Refuses a request whose log row might be lost, because rows come faster than they can be stored. Those that count in
 * limits are refused first: what they use is stored with their rows.
 *
 * @throws {LogBusyError} 503.
 */
export function requireLogRoom({ services, log }: CallerContext, isLimited: boolean): void {
  const load = services.logRoom.load();
  // what a provider was called for already has a row in any case
  const isFull = load === "all" || (load === "limited" && isLimited);
  if (!isFull || log.calls.length > 0) return;
  throw new LogBusyError("Cannot serve this request now: too many log rows wait to be stored; repeat it later", {
    code: "log_rows_waiting",
    retryAfterSeconds: againAfterSeconds,
  });
}

/** Writes the log row of a finished request. One that was refused for lack of room for it is only counted. */
export function logCall(call: FinishedCall): void {
  const { context } = call;
  if (call.error !== undefined && leavesNoRow(call)) {
    const { organisationId: organisation_id, workspaceId: workspace_id } = context.principal;
    context.services.logRoom.noteRefused({ organisation_id, workspace_id });
    return;
  }
  const details = toDetails(call);
  if (context.log.counted.length > 0) noteUse(details, context);
  const depth = depthOf(context);
  if (depth instanceof Promise) {
    const waiting = depth.then((known) => write(details, known, call));
    context.connection.waitUntil?.(waiting);
  } else write(details, depth, call);
}

/** Headers and bodies of a request with all of its contents. */
function contentOf({ context, status, responseHeaders }: FinishedCall): RecordContent {
  const { log } = context;
  // embeddings are long, and nobody reads them
  if (status < 400 && isOperation(log.operation) && operationFacts[log.operation].requestType === "embed") {
    log.responseBody = null;
    if (log.phases) log.phases.original = null;
  }
  if (log.hasChangedRounds) {
    log.requestBody = null;
    log.responseBody = null;
  }
  const content: RecordContent = {
    sensitiveHeaders: sensitiveNames(context),
    requestHeaders: shownHeaders(context),
    responseHeaders,
    requestBody: beginningOf(log.requestBody),
    responseBody: beginningOf(log.responseBody),
  };
  const phases = log.phases ? phasesOf(log, context) : undefined;
  if (phases) content.phases = phases;
  return content;
}

/** Lower-case names of headers the caller wants hidden; null when the list is unreadable. */
function sensitiveNames(context: CallerContext): readonly string[] | null {
  const sensitive = context.header("sensitive-headers");
  return sensitive === null ? noNames : (readNameList(sensitive) ?? null);
}

/** What is left of the contents of a request without them: its headers for the gateway, and the error it ended with. */
function figuresOf(call: FinishedCall, details: LogDetails): RecordContent {
  const { context, responseHeaders } = call;
  const { log, services } = context;
  const headers = Object.entries(shownHeaders(context)).filter(([name]) =>
    services.headerPrefixes.some((prefix) => name.startsWith(prefix)),
  );
  // a stream that broke off holds what the model wrote, and guardrails quote what they refuse
  const isError =
    details.status >= 400 &&
    details.status !== clientClosed &&
    !hasResults(log.hooks) &&
    !responseHeaders["content-type"]?.startsWith("text/event-stream");
  const originalBody = isError ? (log.phases?.original ?? null) : null;
  return {
    sensitiveHeaders: sensitiveNames(context),
    requestHeaders: Object.fromEntries(headers),
    responseHeaders: isError ? responseHeaders : {},
    requestBody: null,
    responseBody: isError && !log.hasChangedRounds ? beginningOf(log.responseBody) : null,
    ...(originalBody && { phases: { finalBody: null, sent: null, originalBody } }),
  };
}

/** Status of a request whose caller left. */
const clientClosed = 499;

/** Writes the row, and starts the guardrails nobody waits for. */
function write(details: LogDetails, depth: LogDepth, call: FinishedCall): void {
  const { context } = call;
  const { log } = context;
  const storesContents = depth === "all";
  const content = storesContents ? contentOf(call) : depth === "figures" ? figuresOf(call, details) : null;
  if (log.hooks) addHookResults(details, log.hooks, storesContents);
  const row: LogRecord = { details, secrets: secretsOf(context), content, measures: toMeasures(context) };
  const charged = log.moneyLimits.length > 0 ? moneyCountersOf(context) : noCounters;
  if (log.counted.length > 0 || charged.length > 0) {
    row.counted = log.counted;
    row.charged = charged;
  }
  context.services.record(row);
  context.connection.onLogged?.(row);
  // what guardrails say of a copy is no opinion of the response that its trace gave
  if (log.hooks && !context.connection.apart) addFeedback([...log.hooks.before, ...log.hooks.after], context);
  if (log.hooks && log.hooks.later.length > 0) runAsyncGuardrails(log.hooks.later, storesContents, context);
}
