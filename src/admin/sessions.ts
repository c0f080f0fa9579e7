import type { CallerContext } from "../context.ts";
import { listAccess, requireLogAccess, requireSeenFields, scopeOf } from "../endpoint/log-access.ts";
import { defineKeyEndpoint, type Endpoint } from "../endpoint.ts";
import { firstIdOf } from "../lib/ids.ts";
import { isObject, objectsIn, parseJson } from "../lib/json.ts";
import { jsonReply, type Reply } from "../lib/reply.ts";
import { maxText } from "../lib/text-order.ts";
import type { DeniedFields } from "../logs/denied-fields.ts";
import type { Condition } from "../logs/index/conditions.ts";
import type { GroupColumnName } from "../logs/read/group-columns.ts";
import { SessionList } from "../schemas/logs.ts";
import { isShownColumn } from "./analytics/group-query.ts";
import { readRowFilter, readTime, rowFilters } from "./core/log-filter.ts";
import { pageQuery } from "./core/record.ts";
import { readPage } from "./core/request.ts";
import { readScope } from "./core/row-filters.ts";

/** Days before now from which on sessions are listed, where the query names no start. */
const defaultDays = 30;

const sessionFilters = [
  ...rowFilters.map((filter) =>
    filter.name === "from"
      ? { ...filter, description: `${filter.description}; default ${defaultDays} days ago` }
      : filter,
  ),
  ...pageQuery(50, 100),
];

/** Members of a session, and the columns of groups that they are. */
const members = {
  requests: "requests",
  errors: "error_count",
  total_tokens: "total_tokens",
  cost: "cost",
  first_at: "first_seen",
  last_at: "last_seen",
} as const satisfies Record<string, GroupColumnName | "requests">;

/** Columns of the figures that the organisation does not deny. */
function shownColumns(denied: DeniedFields): GroupColumnName[] {
  const hidden = new Set(denied.has("created_at") ? ["first_seen", "last_seen"] : []);
  return Object.values(members).filter(
    (name): name is Exclude<typeof name, "requests"> =>
      name !== "requests" && !hidden.has(name) && isShownColumn(name, denied),
  );
}

const isInSession: Condition = { field: "session", isGiven: true };

/** Sessions with the figures of their requests that filters choose; the one with the newest request comes first. */
async function listSessions(context: CallerContext): Promise<Reply> {
  const { services, url } = context;
  const { searchParams: query } = url;
  const { own, denied } = await requireLogAccess(context);
  const page = readPage(query, { max: 100 });
  const tenant = scopeOf(context);
  const { organisationId, workspaceId } = await readScope(
    { tenant, query, stores: services.control.stores },
    "organisation",
  );
  const { conditions, ...filter } = readRowFilter(query, sessionFilters);
  const asked = [...conditions, isInSession];
  requireSeenFields(
    asked.map(({ field }) => field),
    denied,
  );
  const isOpen = readTime(query, "from") === undefined && !query.has("time_of_generation_min");
  const least = isOpen ? firstIdOf(Math.max(0, services.clock.now() - defaultDays * 86_400_000)) : "";
  const groups = await services.logReader.groups({
    ...filter,
    lower: maxText(filter.lower, least),
    scope: { organisationId, workspaceId },
    conditions: [...asked, ...own],
    grouping: "session",
    field: "session",
    query: {
      columns: shownColumns(denied),
      orderBy: "last_seen",
      isAscending: false,
      hasTotal: true,
      page,
      readsFeedback: false,
    },
  });
  return jsonReply(toSessions(groups, page.offset));
}

/** Groups of requests, in JSON, as the sessions they are. */
function toSessions(groups: string, offset: number) {
  const found = parseJson(groups);
  const { total, data } = isObject(found) ? found : {};
  const rows = objectsIn(data);
  const sessions = rows.map((row) => {
    const shown = Object.entries(members).flatMap(([name, column]) =>
      Object.hasOwn(row, column) ? [[name, row[column]]] : [],
    );
    return { object: "session", id: String(row.session_id), ...Object.fromEntries(shown) };
  });
  return { object: "list", total: Number(total), has_more: offset + rows.length < Number(total), data: sessions };
}

/** Endpoints of sessions. */
export const sessionEndpoints: readonly Endpoint[] = [
  defineKeyEndpoint({
    method: "GET",
    path: "/v1/sessions",
    tag: "Logs",
    summary: "List sessions with their totals, the one with the newest request first",
    access: listAccess,
    query: sessionFilters,
    response: SessionList,
    handle: listSessions,
  }),
];
