import { requireAccess } from "../auth/access.ts";
import {
  defaultSecuritySettings,
  type LogSight,
  logSightOf,
  type Role,
  roleAllows,
  type SecuritySettings,
} from "../auth/roles.ts";
import type { CallerContext } from "../context.ts";
import type { WorkspaceView } from "../control/resources.ts";
import { PermissionError, UnavailableError } from "../errors.ts";
import { isObject } from "../lib/json.ts";

/** A user's role in the workspace of a call, and the security settings in effect. */
interface Person {
  /** Owners and admins of the organisation are admins of every workspace. */
  role: Role;
  /** The role comes from the organisation, not from the workspace. */
  isOrganisationAdmin: boolean;
  settings: SecuritySettings;
}

/** Security settings of a workspace: its own where the organisation allows them, else the organisation's. */
export function securitySettingsOf({
  organisation,
  workspace,
}: Pick<WorkspaceView, "organisation" | "workspace">): SecuritySettings {
  const settings = isObject(organisation.settings) ? organisation.settings : {};
  const ofOrganisation = isObject(settings.security_settings) ? settings.security_settings : {};
  const ofWorkspace = isObject(workspace.securitySettings) ? workspace.securitySettings : {};
  const merged = { ...defaultSecuritySettings, ...ofOrganisation, ...ofWorkspace };
  return Object.fromEntries(Object.entries(merged).map(([name, value]) => [name, value === true]));
}

function toPerson(view: WorkspaceView | undefined, userId: string): Person {
  const member = view?.members.get(userId);
  if (!view || !member) {
    throw new PermissionError("Forbidden! This user is not a member of the workspace", { code: "AB03" });
  }
  const isOrganisationAdmin = member.organisationRole !== "member";
  const role = isOrganisationAdmin ? "admin" : (member.role as Role); // only roles are stored in the column
  return { role, isOrganisationAdmin, settings: securitySettingsOf(view) };
}

function refuseUnreadable(cause: unknown): never {
  throw new UnavailableError("Cannot read the workspace of this key: the database does not respond", {
    cause,
    code: "database_unavailable",
    retryAfterSeconds: 1,
  });
}

/**
 * The user of a call; undefined for services, which have no role. Synchronous if the workspace is in memory.
 *
 * @throws {PermissionError} If the user is not a member of the workspace.
 * @throws {UnavailableError} If the workspace cannot be read.
 */
export function readRole({
  principal,
  services: { control },
}: Pick<CallerContext, "principal" | "services">): Person | undefined | Promise<Person> {
  const { organisationId, workspaceId, userId } = principal;
  if (userId === null || workspaceId === null) return undefined;
  const view = control.directory.workspace({ organisationId, workspaceId });
  if (!(view instanceof Promise)) return toPerson(view, userId);
  return view.catch(refuseUnreadable).then((read) => toPerson(read, userId));
}

function requireAllowed(person: Person, scopes: readonly string[]): void {
  if (scopes.some((scope) => roleAllows(person.role, scope, person.settings))) return;
  throw new PermissionError(`Forbidden! The role ${person.role} may not do this: ${scopes.join(" or ")}`, {
    code: "AB03",
  });
}

/**
 * Rejects what a user's role does not allow. Only scopes that the key has are considered.
 *
 * @throws {PermissionError} If the role allows none of the scopes.
 */
export function requireRole(
  context: Pick<CallerContext, "principal" | "services">,
  scopes: readonly string[],
): void | Promise<void> {
  const person = readRole(context);
  if (!person) return;
  const held = scopes.filter((scope) => context.principal.scopes.has(scope));
  if (person instanceof Promise) return person.then((read) => requireAllowed(read, held));
  requireAllowed(person, held);
}

/**
 * Rejects callers with none of the scopes, and users whose role does not allow them. For routes whose required scopes
 * depend on the record.
 *
 * @throws {PermissionError}
 */
export async function requireScopes(context: CallerContext, scopes: readonly string[]): Promise<void> {
  requireAccess(context.principal, { keys: "any", scopes });
  await requireRole(context, scopes);
}

/**
 * Rejects users whose role does not allow a scope, whether their key has it or not. For routes that other scopes also
 * open, and that show what a setting may hide.
 *
 * @throws {PermissionError}
 */
export async function requireSight(
  context: Pick<CallerContext, "principal" | "services">,
  scope: string,
): Promise<void> {
  const person = await readRole(context);
  if (person) requireAllowed(person, [scope]);
}

/** What a caller may see of the log; services see all of it. */
export async function readLogSight(context: Pick<CallerContext, "principal" | "services">): Promise<LogSight> {
  return logSightOf(await readRole(context));
}
