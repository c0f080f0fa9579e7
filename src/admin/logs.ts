import type { CallerContext } from "../context.ts";
import type { LogScope } from "../db/stores/log-scope.ts";
import { detailScopes, listAccess, requireLogAccess, requireSeenFields, scopeOf } from "../endpoint/log-access.ts";
import { defineKeyEndpoint, type Endpoint } from "../endpoint.ts";
import { NotFoundError } from "../errors.ts";
import type { Mac } from "../lib/hash.ts";
import { isId } from "../lib/ids.ts";
import { jsonReply, jsonTextReply, type Reply } from "../lib/reply.ts";
import { maxText } from "../lib/text-order.ts";
import { withoutDenied } from "../logs/denied-fields.ts";
import { toRow, withoutContents } from "../logs/row.ts";
import type { HookResults } from "../schemas/hooks.ts";
import { LogList, ShownLog } from "../schemas/logs.ts";
import { logFilters, readLogFilter, readTime, refuseFilter, rowFilters } from "./core/log-filter.ts";
import { readChoice, readParameter, requireKnownQuery } from "./core/request.ts";
import { readScope } from "./core/row-filters.ts";
import { allHooks, toDetail } from "./log-detail.ts";
import { readSearch, searchFilter, searchLogs } from "./log-search.ts";
import { tailLogs } from "./log-tail.ts";

/** The string a cursor's digest covers: cursors of another tenant do not match. */
function cursorText(scope: LogScope, id: string): string {
  return JSON.stringify(["logs", scope.organisationId, scope.workspaceId, id]);
}

async function readCursor(query: URLSearchParams, scope: LogScope, stateMac: Mac): Promise<string | undefined> {
  const cursor = readParameter(query, "cursor");
  if (cursor === null) return undefined;
  const [id = "", digest = ""] = cursor.split(".");
  if (isId(id) && (await stateMac(cursorText(scope, id))) === digest) return id;
  return refuseFilter("cursor", "the next_cursor of the previous page");
}

const listFilters = [...logFilters, searchFilter];

async function listLogs(context: CallerContext): Promise<Reply> {
  const { logReader, stateMac, control } = context.services;
  const { searchParams } = context.url;
  const access = await requireLogAccess(context);
  const { content, own, denied } = access;
  const search = await readSearch(context, access);
  const call = { tenant: scopeOf(context), query: searchParams, stores: control.stores };
  const { organisationId, workspaceId } = await readScope(call, "organisation");
  const scope = { organisationId, workspaceId };
  const before = await readCursor(searchParams, scope, stateMac);
  const { conditions, ...filter } = readLogFilter(searchParams, before, listFilters);
  requireSeenFields(
    conditions.map(({ field }) => field),
    denied,
  );
  const question = { ...filter, scope, content, denied, conditions: [...conditions, ...own] };
  const { data, next, more } = search
    ? await searchLogs(search, { ...question, lower: maxText(filter.lower, search.least) }, context.services)
    : { ...(await logReader.list(question)), more: {} };
  const next_cursor = next === null ? null : `${next}.${await stateMac(cursorText(scope, next))}`;
  const page = JSON.stringify({ has_more: next !== null, next_cursor, ...more });
  return jsonTextReply(`{"object":"list","data":${data},${page.slice(1)}`);
}

/** Names that are not ids of rows: of a route here, and of one that clients of other gateways request. */
const otherPaths = ["exports", "tail"];

const detailQuery = [
  { name: "type", description: "`hooks`: only the results of guardrails" },
  { name: "path_format", description: "`v1` or `v2`: changes nothing here" },
  { name: "created_at", description: "ISO 8601: changes nothing here, the id holds the time" },
];

/** Whether only the results of guardrails are asked for. */
function readDetailQuery(query: URLSearchParams): { isHooks: boolean } {
  requireKnownQuery(query, detailQuery);
  readTime(query, "created_at");
  readChoice(query, "path_format", ["v1", "v2"]);
  return { isHooks: readChoice(query, "type", ["hooks"]) === "hooks" };
}

async function readLog(context: CallerContext): Promise<Reply> {
  const { services, params, url } = context;
  const { isHooks } = readDetailQuery(url.searchParams);
  const scope = scopeOf(context);
  const { content, userId, denied } = await requireLogAccess(context);
  const stored = await services.logStore.find(scope, params.id ?? "");
  const isSeen = stored !== undefined && (userId === null || stored.details.user_id === userId);
  if (!isSeen) throw new NotFoundError("Cannot find this log row", { code: "log_not_found" });
  const { details } = stored;
  const late = content ? await services.logStore.findHooks(scope, details.id) : [];
  if (isHooks) {
    const showsHooks = content && !denied.has("request") && !denied.has("response");
    const hooks = showsHooks ? allHooks(toRow(details), late) : noHooks;
    return jsonReply({ id: details.id, object: "log_hooks", ...hooks });
  }
  const { workspace_id: workspaceId } = details;
  const view = workspaceId === null ? undefined : await services.control.directory.workspace({ ...scope, workspaceId });
  const parts = { late, redactor: services.redactor, view, prefixes: services.headerPrefixes };
  const detail = await toDetail(content ? stored : { details, content: null }, parts);
  return jsonReply(withoutDenied(content ? detail : withoutContents(detail), denied));
}

const noHooks: HookResults = { before_request_hooks: [], after_request_hooks: [] };

/** Endpoints of the log API. */
export const logEndpoints: readonly Endpoint[] = [
  defineKeyEndpoint({
    method: "GET",
    path: "/v1/logs",
    tag: "Logs",
    summary: "List requests, newest first",
    access: listAccess,
    query: listFilters,
    response: LogList,
    handle: listLogs,
  }),
  defineKeyEndpoint({
    method: "GET",
    path: "/v1/logs/tail",
    tag: "Logs",
    summary: "Follow requests as they end, as server-sent events; Last-Event-ID resumes",
    access: listAccess,
    query: rowFilters,
    handle: tailLogs,
  }),
  defineKeyEndpoint({
    method: "GET",
    path: "/v1/logs/:id",
    reserved: { id: otherPaths },
    tag: "Logs",
    summary: "Show one request with its bodies",
    access: { keys: "any", scopes: detailScopes },
    query: detailQuery,
    response: ShownLog,
    handle: readLog,
  }),
];
