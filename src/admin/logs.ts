import type { CallerContext } from "../context.ts";
import type { LogScope } from "../db/stores/log-scope.ts";
import type { StoredLog } from "../db/stores/logs.ts";
import { readLogSight } from "../endpoint/role.ts";
import { defineKeyEndpoint, type Endpoint } from "../endpoint.ts";
import { NotFoundError, PermissionError } from "../errors.ts";
import type { Mac } from "../lib/hash.ts";
import { isId, timeOfId } from "../lib/ids.ts";
import { parseJson } from "../lib/json.ts";
import { runPaced } from "../lib/pace.ts";
import { jsonReply, type Reply } from "../lib/reply.ts";
import type { Condition } from "../log-index/conditions.ts";
import { findRows } from "../log-index/find-rows.ts";
import { assembleStream } from "../logs/assemble.ts";
import type { Redactor } from "../logs/redact.ts";
import { withAllCounts } from "../logs/usage.ts";
import type { HookResults } from "../schemas/hooks.ts";
import { LogDetail, type LogDetails, LogList, type LogRow, type LogSide } from "../schemas/logs.ts";
import { ownKeys } from "./core/own-keys.ts";
import { readParameter } from "./core/request.ts";
import { logFilters, readLogFilter, refuse } from "./log-filter.ts";

function scopeOf(context: CallerContext): LogScope {
  return { organisationId: context.principal.organisationId, workspaceId: context.principal.workspaceId };
}

/** The string a cursor's digest covers: cursors of another tenant do not match. */
function cursorText(scope: LogScope, id: string): string {
  return JSON.stringify(["logs", scope.organisationId, scope.workspaceId, id]);
}

async function readCursor(query: URLSearchParams, scope: LogScope, stateMac: Mac): Promise<string | undefined> {
  const cursor = readParameter(query, "cursor");
  if (cursor === null) return undefined;
  const [id = "", digest = ""] = cursor.split(".");
  if (isId(id) && (await stateMac(cursorText(scope, id))) === digest) return id;
  return refuse("cursor", "the next_cursor of the previous page");
}

/** A stored row as the API shows it. */
function toRow(details: LogDetails): LogRow {
  // rows of earlier versions do not say whether they are priced, or have no cost
  const { id, usage, cost = null, priced = cost !== null, ...others } = details;
  const created_at = new Date(timeOfId(id)).toISOString();
  return { id, object: "log", created_at, ...others, usage: withAllCounts(usage), cost, cost_currency: "USD", priced };
}

/** A side that was not stored. */
const emptySide: LogSide = { headers: {}, body: null, truncated: false };

/** A body as a value where it is JSON or a stream of it, else as text. */
async function toSide({ headers, body, truncated }: LogSide, redactor: Redactor) {
  const value = body === null || truncated ? body : ((await assembled(body, redactor)) ?? parseJson(body) ?? body);
  return { headers, body: value, truncated };
}

/** The response a stored stream adds up to: a credential may be split over its chunks. */
async function assembled(body: string, redactor: Redactor): Promise<unknown> {
  const answer = assembleStream(body);
  if (answer === undefined) return undefined;
  const text = JSON.stringify(answer);
  return redactor.mayHoldSecret(text) ? parseJson(await runPaced(redactor.textSteps(text))) : answer;
}

/** Guardrail results, those of async guardrails after the others. */
function withHooks(row: LogRow, late: readonly HookResults[]): LogRow {
  const said = [row.hook_results ?? [], late].flat();
  if (said.length === 0) return row;
  const hook_results: HookResults = {
    before_request_hooks: said.flatMap(({ before_request_hooks: before }) => before),
    after_request_hooks: said.flatMap(({ after_request_hooks: after }) => after),
  };
  return { ...row, hook_results };
}

async function toDetail(stored: StoredLog, late: readonly HookResults[], redactor: Redactor): Promise<LogDetail> {
  const { request, response } = stored.content ?? { request: emptySide, response: emptySide };
  return {
    ...withHooks(toRow(stored.details), late),
    request: await toSide(request, redactor),
    response: await toSide(response, redactor),
  };
}

/**
 * Filter of the log rows a caller may see: undefined for all.
 *
 * @throws {PermissionError} If the caller's role may see none.
 */
async function requireLogAccess(context: CallerContext) {
  const { metadata, content, others } = await readLogSight(context);
  if (!metadata) throw new PermissionError("Forbidden! This role may not see logs", { code: "AB03" });
  return { content, ofKeys: others ? undefined : await ownKeys(context) };
}

/** A row without fields that show contents: guardrail results may quote them. */
function withoutContents(row: LogRow): LogRow {
  const { hook_results: _, ...figures } = row;
  return figures;
}

async function listLogs(context: CallerContext): Promise<Reply> {
  const { logIndex, logSegments, stateMac } = context.services;
  const { searchParams } = context.url;
  const scope = scopeOf(context);
  const { content, ofKeys } = await requireLogAccess(context);
  const before = await readCursor(searchParams, scope, stateMac);
  const { traceId, limit, conditions, ...range } = readLogFilter(searchParams, before);
  const ownConditions: Condition[] = ofKeys ? [{ field: "apiKey", oneOf: ofKeys }] : [];
  const query = { ...range, conditions: [...conditions, ...ownConditions] };
  const found = await findRows(logIndex, scope, { ...query, limit: limit + 1 });
  const page = found.slice(0, limit);
  const next = found.length > limit ? (page.at(-1)?.id ?? null) : null;
  const stored = await logSegments.readRows(scope, page);
  const data = page
    // a row that was removed meanwhile is left out, and one whose trace has the same digest
    .flatMap(({ id }) => stored.get(id) ?? [])
    .filter((row) => traceId === null || row.trace_id === traceId)
    .map(toRow)
    .map((row) => (content ? row : withoutContents(row)));
  const next_cursor = next === null ? null : `${next}.${await stateMac(cursorText(scope, next))}`;
  return jsonReply({ object: "list", data, has_more: next !== null, next_cursor });
}

/** Paths that clients of other gateways request here: not found, and not the id of a row. */
const otherPaths = ["exports", "tail"];

async function readLog(context: CallerContext): Promise<Reply> {
  const scope = scopeOf(context);
  const id = context.params.id ?? "";
  const { content, ofKeys } = await requireLogAccess(context);
  const stored = await context.services.logStore.find(scope, id);
  const isSeen = stored !== undefined && (ofKeys === undefined || ofKeys.has(stored.details.api_key_id));
  if (!isSeen) throw new NotFoundError("Cannot find this log row", { code: "log_not_found" });
  const { redactor } = context.services;
  if (!content) return jsonReply(withoutContents(await toDetail({ ...stored, content: null }, [], redactor)));
  const late = await context.services.logStore.findHooks(scope, stored.details.id);
  return jsonReply(await toDetail(stored, late, redactor));
}

/** Endpoints of the log API. */
export const logEndpoints: readonly Endpoint[] = [
  defineKeyEndpoint({
    method: "GET",
    path: "/v1/logs",
    tag: "Logs",
    summary: "List requests, newest first",
    access: { keys: "any", scopes: ["logs.list", "logs.view"] },
    query: logFilters,
    response: LogList,
    handle: listLogs,
  }),
  defineKeyEndpoint({
    method: "GET",
    path: "/v1/logs/:id",
    reserved: { id: otherPaths },
    tag: "Logs",
    summary: "Show one request with its bodies",
    access: { keys: "any", scopes: ["logs.view", "logs.read", "logs.write", "completions.write"] },
    response: LogDetail,
    handle: readLog,
  }),
];
