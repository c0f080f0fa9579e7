import { requireAccess } from "../auth/access.ts";
import { findCallerNow } from "../context/caller-now.ts";
import { type CallerContext, withCaller } from "../context.ts";
import type { LogScope } from "../db/stores/log-scope.ts";
import { listAccess, requireLogAccess, requireSeenFields, scopeOf } from "../endpoint/log-access.ts";
import { requireRole } from "../endpoint/role.ts";
import { PermissionError } from "../errors.ts";
import type { Reply } from "../lib/reply.ts";
import { readCursor } from "../logs/follow/cursor.ts";
import type { TailFilter, TailPosition } from "../logs/follow/page.ts";
import type { RowFilter } from "../logs/index/row-test.ts";
import { readRowFilter, refuseFilter } from "./core/log-filter.ts";
import { readScope } from "./core/row-filters.ts";

/** What a query chooses, and of whose rows. */
type Chosen = RowFilter & LogScope;

/** What a caller follows: what the query chooses, of what the caller may see now. */
async function toTailFilter(filter: Chosen, context: CallerContext): Promise<TailFilter> {
  const { content, own, denied } = await requireLogAccess(context);
  requireSeenFields(
    filter.conditions.map(({ field }) => field),
    denied,
  );
  return {
    ...filter,
    content,
    denied: [...denied].sort(),
    conditions: [...filter.conditions, ...own],
  };
}

/** Authenticates the caller again, as its key, its scopes and its role are now. */
async function checkAgain(filter: Chosen, context: CallerContext): Promise<TailFilter> {
  const { organisationId, workspaceId } = context.principal;
  if (!context.connection.actingFor) {
    const principal = await findCallerNow(context);
    if (principal.organisationId !== organisationId || principal.workspaceId !== workspaceId) {
      throw new PermissionError("Forbidden! This credential is one of another workspace now", { code: "AB03" });
    }
    withCaller(context, principal, context);
  }
  requireAccess(context.principal, listAccess);
  await requireRole(context, listAccess.scopes);
  return toTailFilter(filter, context);
}

async function readPosition(context: CallerContext, scope: LogScope): Promise<TailPosition | undefined> {
  const id = context.headers.get("last-event-id");
  if (id === undefined || id === "") return undefined;
  return (
    (await readCursor(id, scope, context.services.stateMac)) ?? refuseFilter("last-event-id", "an id of this tail")
  );
}

/** `GET /v1/logs/tail` */
export async function tailLogs(context: CallerContext): Promise<Reply> {
  const { searchParams: query } = context.url;
  const filtered = readRowFilter(query);
  const { stores } = context.services.control;
  const scope = await readScope({ tenant: scopeOf(context), query, stores }, "organisation");
  const { organisationId, workspaceId } = scope;
  const chosen = { ...filtered, organisationId, workspaceId };
  const filter = await toTailFilter(chosen, context);
  const after = await readPosition(context, scope);
  const check = () => checkAgain(chosen, context);
  const body = await context.services.logTail.follow({ filter, after, check });
  return { status: 200, headers: { "content-type": "text/event-stream; charset=utf-8" }, body };
}
