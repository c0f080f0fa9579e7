import type { CallerContext } from "../context.ts";
import type { LogFilter, LogScope, StoredLog } from "../db/stores/logs.ts";
import { readLogSight } from "../endpoint/role.ts";
import { defineKeyEndpoint, type Endpoint } from "../endpoint.ts";
import { InvalidRequestError, NotFoundError, PermissionError } from "../errors.ts";
import type { Mac } from "../lib/hash.ts";
import { isId, timeOfId } from "../lib/ids.ts";
import { parseJson } from "../lib/json.ts";
import { runPaced } from "../lib/pace.ts";
import { jsonReply, type Reply } from "../lib/reply.ts";
import { assembleStream } from "../logs/assemble.ts";
import type { Redactor } from "../logs/redact.ts";
import { withAllCounts } from "../logs/usage.ts";
import type { HookResults } from "../schemas/hooks.ts";
import { LogDetail, LogList, type LogRow, type LogSide } from "../schemas/logs.ts";
import { readParameter, requireKnownQuery } from "./core/request.ts";

const defaultLimit = 50;
const maxLimit = 100;

function refuse(name: string, wanted: string): never {
  throw new InvalidRequestError(`Cannot use ${name}: it must be ${wanted}`, { param: name, code: "AB01" });
}

function readInteger(query: URLSearchParams, name: string, bounds: { min: number; max: number }): number | undefined {
  const text = readParameter(query, name);
  if (text === null) return undefined;
  const value = /^[0-9]{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= bounds.min && value <= bounds.max)) refuse(name, `a whole number from ${bounds.min} to ${bounds.max}`);
  return value;
}

const timeForm = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/;

function readTime(query: URLSearchParams, name: string): number | undefined {
  const text = readParameter(query, name);
  if (text === null) return undefined;
  const time = timeForm.test(text) ? Date.parse(text) : Number.NaN;
  if (!(time >= 0)) refuse(name, "a time as ISO 8601, for example 2026-01-31T12:00:00Z");
  return time;
}

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

async function readFilter(context: CallerContext): Promise<LogFilter> {
  const query = context.url.searchParams;
  const before = await readCursor(query, scopeOf(context), context.services.stateMac);
  const from = readTime(query, "from");
  const to = readTime(query, "to");
  if (from !== undefined && to !== undefined && to <= from) refuse("to", "a time after from");
  const status = readInteger(query, "status", { min: 0, max: 999 });
  const model = readParameter(query, "model");
  const provider = readParameter(query, "provider");
  const traceId = readParameter(query, "trace_id");
  const apiKeyId = readParameter(query, "api_key_id");
  return {
    limit: readInteger(query, "limit", { min: 1, max: maxLimit }) ?? defaultLimit,
    ...(before !== undefined && { before }),
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
    ...(status !== undefined && { status }),
    ...(model !== null && { model }),
    ...(provider !== null && { provider }),
    ...(traceId !== null && { traceId }),
    ...(apiKeyId !== null && { apiKeyId }),
  };
}

/** A stored row as the API shows it. */
function toRow({ details }: StoredLog): LogRow {
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
    ...withHooks(toRow(stored), late),
    request: await toSide(request, redactor),
    response: await toSide(response, redactor),
  };
}

/** Keys of the user behind a call, revoked ones included, and the entry for their tokens. */
async function ownKeys({ principal, services: { control } }: CallerContext): Promise<ReadonlySet<string>> {
  const { organisationId, workspaceId, userId, keyId } = principal;
  const rows = await control.stores.apiKeys.all({ organisationId, workspaceId }, { where: { userId } });
  return new Set([keyId, ...rows.map(({ id }) => id)]);
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
  requireKnownQuery(context.url.searchParams, filters);
  const scope = scopeOf(context);
  const { content, ofKeys } = await requireLogAccess(context);
  const filter = { ...(await readFilter(context)), ...(ofKeys && { ofKeys }) };
  const { rows, stoppedAt } = await context.services.logStore.list(scope, { ...filter, limit: filter.limit + 1 });
  const page = rows.slice(0, filter.limit);
  // a search that stopped continues where it did; one that found more than a page continues after the page
  const next = rows.length > filter.limit ? (page.at(-1)?.details.id ?? null) : stoppedAt;
  const next_cursor = next === null ? null : `${next}.${await context.services.stateMac(cursorText(scope, next))}`;
  const shown = page.map(toRow);
  const data = content ? shown : shown.map(withoutContents);
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

/** Query parameters of the list. */
const filters = [
  { name: "limit", description: `Rows per page, at most ${maxLimit}, default ${defaultLimit}` },
  { name: "cursor", description: "next_cursor of the previous page" },
  { name: "from", description: "Start time, ISO 8601, inclusive" },
  { name: "to", description: "End time, ISO 8601, exclusive; after `from`" },
  { name: "status", description: "Status of the response" },
  { name: "model", description: "Requested model" },
  { name: "provider", description: "Called provider" },
  { name: "trace_id", description: "Trace of the request" },
  { name: "api_key_id", description: "Key of the request" },
];

/** Endpoints of the log API. */
export const logEndpoints: readonly Endpoint[] = [
  defineKeyEndpoint({
    method: "GET",
    path: "/v1/logs",
    tag: "Logs",
    summary: "List requests, newest first",
    access: { keys: "any", scopes: ["logs.list", "logs.view"] },
    query: filters,
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
