import type { KeyAccess } from "../auth/access.ts";
import type { CallerContext } from "../context.ts";
import { deniedFieldsOf } from "../control/log-visibility.ts";
import type { LogScope } from "../db/stores/log-scope.ts";
import { PermissionError } from "../errors.ts";
import { type DeniedFields, deniedFilter } from "../logs/denied-fields.ts";
import type { Condition } from "../logs/index/conditions.ts";
import type { FieldName } from "../logs/index/fields.ts";
import { readLogSight } from "./role.ts";

/** Who may list and follow rows. */
export const listAccess: KeyAccess = { keys: "any", scopes: ["logs.list", "logs.view"] };

/** Scopes that open a row with its contents. */
export const detailScopes = ["logs.view", "logs.read", "logs.write", "completions.write"] as const;

/** Whose rows a caller sees. */
export function scopeOf({ principal: { organisationId, workspaceId } }: Pick<CallerContext, "principal">): LogScope {
  return { organisationId, workspaceId };
}

/** What a caller may see of the log. */
interface LogAccess {
  /** Headers, bodies and guardrail results. */
  readonly content: boolean;
  /** Conditions on the rows the caller may see: those of its user, or none. */
  readonly own: readonly Condition[];
  /** Null for callers who see the rows of others. */
  readonly userId: string | null;
  /** Fields that nobody in the organisation sees. */
  readonly denied: DeniedFields;
}

/** Conditions on the rows that a caller may see. Rows of services have no user. */
function ownRows(userId: string | null): Condition[] {
  return userId === null ? [] : [{ field: "user", oneOf: new Set([userId]) }];
}

/** What a caller may see in figures: with `*ViewAllData` off, rows of its user. */
export async function readFigureAccess(context: CallerContext): Promise<Pick<LogAccess, "own" | "denied">> {
  const { others } = await readLogSight(context);
  return { own: ownRows(others ? null : context.principal.userId), denied: await readDenied(context) };
}

/** The fields that the caller's organisation denies. */
export async function readDenied({
  principal: { organisationId },
  services: { control },
}: CallerContext): Promise<DeniedFields> {
  const row = await control.stores.organisations.get(organisationId);
  return row ? deniedFieldsOf(row) : new Set();
}

/**
 * What a caller may see of the log.
 *
 * @throws {PermissionError} AB03 if the caller's role may see none.
 */
export async function requireLogAccess(context: CallerContext): Promise<LogAccess> {
  const { metadata, content, others } = await readLogSight(context);
  if (!metadata) throw new PermissionError("Forbidden! This role may not see logs", { code: "AB03" });
  const userId = others ? null : context.principal.userId;
  return { content, userId, own: ownRows(userId), denied: await readDenied(context) };
}

/**
 * Refuses filters and figures that would reveal a denied field.
 *
 * @param fields Fields of the index.
 * @throws {PermissionError} AB03, naming the field.
 */
export function requireSeenFields(fields: readonly FieldName[], denied: DeniedFields): void {
  if (denied.size === 0) return;
  const name = fields.map((field) => deniedFilter(field, denied)).find((found) => found !== undefined);
  if (name === undefined) return;
  throw new PermissionError(`Forbidden! Your organisation does not show ${name} in logs`, {
    code: "AB03",
    param: name,
  });
}
