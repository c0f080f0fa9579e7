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

/** A person's role in the workspace of a call, and the switches that hold there. */
interface Person {
  /** Owners and admins of the organisation are admins in each workspace. */
  role: Role;
  /** The role comes from the organisation, not from the workspace. */
  isOrganisationAdmin: boolean;
  settings: SecuritySettings;
}

/** Switches that hold in a workspace: its own where the organisation opened them, else the organisation's. */
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
    throw new PermissionError("Forbidden! This person is not a member of the workspace", { code: "AB03" });
  }
  const isOrganisationAdmin = member.organisationRole !== "member";
  const role = isOrganisationAdmin ? "admin" : (member.role as Role); // stored roles are roles
  return { role, isOrganisationAdmin, settings: securitySettingsOf(view) };
}

function refuseUnreadable(cause: unknown): never {
  throw new UnavailableError("Cannot read the workspace of this key: the database does not answer", {
    cause,
    code: "database_unavailable",
    retryAfterSeconds: 1,
  });
}

/**
 * The person behind a call; undefined for services, which no role binds. At once when the workspace is in memory.
 *
 * @throws {PermissionError} If the person is not a member of the workspace.
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
 * Refuses what a person's role does not allow. Of the scopes only those count that the key holds.
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
 * Refuses callers without any of the scopes, and people whose role does not allow it whatever their key says. For routes
 * on which it depends on the record which scopes count.
 *
 * @throws {PermissionError}
 */
export async function requireScopes(context: CallerContext, scopes: readonly string[]): Promise<void> {
  requireAccess(context.principal, { keys: "any", scopes });
  await requireRole(context, scopes);
}

/**
 * Refuses people whose role does not allow a scope, whether their key holds it or not. For routes that other scopes open
 * too and that show what a switch may close.
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

/** What of the log a caller may see; services see all of it. */
export async function readLogSight(context: Pick<CallerContext, "principal" | "services">): Promise<LogSight> {
  return logSightOf(await readRole(context));
}
