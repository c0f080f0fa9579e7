import * as v from "valibot";
import type { Principal } from "../auth/principal.ts";
import { roleAllows } from "../auth/roles.ts";
import type { RequestContext } from "../context.ts";
import type { ConsoleSession } from "../control/console/sessions.ts";
import type { UserRow, WorkspaceRow } from "../db/tables/tenants.ts";
import type { Tenant } from "../db/tenant-store.ts";
import { readRole } from "../endpoint/role.ts";

const Role = v.nullable(v.picklist(["owner", "admin", "manager", "member"]));

/** A workspace that the console can show. */
const SessionWorkspace = v.object({
  id: v.string(),
  slug: v.string(),
  name: v.string(),
  /** Role of the user there; null for keys of services. */
  role: Role,
});

/** Who signed in, and what the console may show. */
const SessionPrincipal = v.object({
  /** `user` signed in at an identity provider; the others with a key of that kind. */
  type: v.picklist(["admin_key", "workspace_key", "user_key", "user"]),
  organisation_id: v.string(),
  organisation: v.object({ id: v.string(), slug: v.string(), name: v.string() }),
  /** Null for callers of the whole organisation. */
  workspace_id: v.nullable(v.string()),
  user: v.nullable(
    v.object({
      id: v.string(),
      email: v.string(),
      first_name: v.nullable(v.string()),
      last_name: v.nullable(v.string()),
      /** Role in the organisation. */
      role: Role,
    }),
  ),
  key: v.nullable(v.object({ id: v.string(), name: v.string() })),
  /** Role in the workspace, or in the organisation without one; null for keys of services. */
  role: Role,
  /** What the API allows: scopes of the credential that the role allows, too. */
  scopes: v.array(v.string()),
  /** Workspaces that the session can work in. */
  workspaces: v.array(SessionWorkspace),
});

/** A session of the console. */
export const SessionReply = v.object({
  object: v.literal("session"),
  csrf_token: v.string(),
  expires_at: v.string(),
  principal: SessionPrincipal,
});
type SessionReply = v.InferOutput<typeof SessionReply>;

const types = {
  "organisation-service": "admin_key",
  "workspace-service": "workspace_key",
  "workspace-user": "user_key",
} as const;

type Asked = Pick<RequestContext, "services">;

function roleOf(text: string | null | undefined): v.InferOutput<typeof Role> {
  const { success, output } = v.safeParse(Role, text ?? null);
  return success ? output : null;
}

/** The workspaces a caller can work in, with the user's role there. */
async function listWorkspaces(principal: Principal, user: UserRow | undefined, { services }: Asked) {
  const { workspaces, members } = services.control.stores;
  const tenant: Tenant = { organisationId: principal.organisationId, workspaceId: null };
  const joined = user && (await members.all(tenant, { where: { userId: user.id } }));
  const roles = new Map(joined?.map(({ workspaceId, role }) => [workspaceId, role]));
  const isWhole = principal.workspaceId === null || principal.person !== undefined;
  const seesAll = isWhole && user?.role !== "member";
  const ids = isWhole ? [...roles.keys()] : [principal.workspaceId ?? ""];
  const where = { status: "active" as const, ...(!seesAll && { id: ids }) };
  const rows = await workspaces.all(tenant, { where });
  const roleIn = ({ id }: WorkspaceRow) => (user && user.role !== "member" ? "admin" : roleOf(roles.get(id)));
  return rows.map((row) => ({ id: row.id, slug: row.slug, name: row.name, role: user ? roleIn(row) : null }));
}

/** The role of a caller, and the scopes that it allows. */
async function readRights(principal: Principal, user: UserRow | undefined, { services }: Asked) {
  const person = await readRole({ principal, services });
  const scopes = [...principal.scopes].filter((scope) => !person || roleAllows(person.role, scope, person.settings));
  return { role: person ? person.role : roleOf(user?.role), scopes: scopes.sort() };
}

function toUser(row: UserRow) {
  const { id, email, firstName, lastName, role } = row;
  return { id, email, first_name: firstName, last_name: lastName, role: roleOf(role) };
}

/** A session as the console reads it. */
export async function describeSession(
  { csrfToken, expiresAt, holder }: ConsoleSession,
  principal: Principal,
  context: Asked,
): Promise<SessionReply> {
  const { stores } = context.services.control;
  const { organisationId, workspaceId, userId, keyId, kind } = principal;
  const tenant = { organisationId, workspaceId: null };
  const isKey = holder.kind === "key";
  const [organisation, key, user] = await Promise.all([
    stores.organisations.get(organisationId),
    isKey ? stores.apiKeys.find(tenant, { id: keyId }) : undefined,
    userId === null ? undefined : stores.users.find(tenant, { id: userId }),
  ]);
  const rights = await readRights(principal, user, context);
  const shown: SessionReply["principal"] = {
    type: isKey ? types[kind] : "user",
    organisation_id: organisationId,
    organisation: { id: organisationId, slug: organisation?.slug ?? "", name: organisation?.name ?? "" },
    workspace_id: workspaceId,
    user: user ? toUser(user) : null,
    key: key ? { id: key.id, name: key.name } : null,
    ...rights,
    workspaces: await listWorkspaces(principal, user, context),
  };
  return { object: "session", csrf_token: csrfToken, expires_at: new Date(expiresAt).toISOString(), principal: shown };
}
