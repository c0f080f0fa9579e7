import { type Role, roleAllows, type SecuritySettings } from "../../auth/roles.ts";
import { scopesOfKind } from "../../auth/scopes.ts";
import { holderOfWorkspace } from "../../control/limit-holders.ts";
import { blocksInlineConfig, settingsOf } from "../../control/settings.ts";
import type { OrganisationRow, UserRow, WorkspaceMemberRow, WorkspaceRow } from "../../db/tables/tenants.ts";
import type { Tenant } from "../../db/tenant-store.ts";
import { securitySettingsOf } from "../../endpoint/role.ts";
import type { ShownBudget } from "../../schemas/control.ts";
import type { MemberRecord } from "../../schemas/members.ts";
import type { StoredDefaults, WorkspaceDefaults, WorkspaceRecord, WorkspaceStatus } from "../../schemas/workspaces.ts";
import type { AdminCall } from "./endpoint.ts";
import { showUsageLists } from "./limits.ts";
import { applyMetadataSchema } from "./metadata-schema.ts";
import { directions, requireConfig, requireGuardrails } from "./named-records.ts";
import { requireFound, toIso } from "./request.ts";

/** The caller's organisation. */
export async function requireOrganisation({ stores, tenant }: AdminCall<unknown>): Promise<OrganisationRow> {
  return requireFound(await stores.organisations.get(tenant.organisationId), "organisation");
}

/** A workspace and the tenant its records belong to. */
export interface FoundWorkspace {
  row: WorkspaceRow;
  tenant: Tenant & { workspaceId: string };
}

/**
 * The workspace a path names by id or slug; keys of a workspace find only their own.
 *
 * @param status Default `active`.
 * @throws {NotFoundError}
 */
export async function findWorkspace(
  call: AdminCall<unknown>,
  status: WorkspaceStatus = "active",
): Promise<FoundWorkspace> {
  const { stores, tenant, params } = call;
  const { organisationId } = tenant;
  const found = await stores.workspaces.get({ organisationId, workspaceId: null }, params.id ?? "");
  const isOwn = tenant.workspaceId === null || found?.id === tenant.workspaceId;
  const row = requireFound(isOwn && found?.status === status ? found : undefined, "workspace");
  call.context.namedWorkspaceId = row.id;
  return { row, tenant: { organisationId, workspaceId: row.id } };
}

/** A workspace as the API shows it. */
function toWorkspace(
  row: WorkspaceRow,
  organisation: OrganisationRow,
  { configSlugs, usage }: { configSlugs: ReadonlyMap<string, string>; usage: ShownBudget[] | null | undefined },
): WorkspaceRecord {
  const view = { organisation, workspace: row };
  const config = row.defaults?.user_api_key_config;
  const shownDefaults =
    config === undefined ? row.defaults : { ...row.defaults, user_api_key_config: configSlugs.get(config) ?? config };
  return {
    id: row.id,
    slug: row.slug,
    name: row.name,
    icon: row.icon,
    description: row.description,
    defaults: shownDefaults,
    is_default: row.isDefault ? 1 : 0,
    usage_limits: usage ?? null,
    rate_limits: row.rateLimits,
    security_settings: securitySettingsOf(view),
    data_plane_security_settings: { block_inline_config: blocksInlineConfig(view) },
    settings: settingsOf(view),
    organisation_id: row.organisationId,
    last_reset_at: toIso(row.lastResetAt),
    created_by: row.createdBy,
    creation_source: "api",
    status: row.status,
    scim_source_id: null,
    created_at: toIso(row.createdAt),
    last_updated_at: toIso(row.lastUpdatedAt || row.createdAt),
    object: "workspace",
  };
}

/** Workspaces as the API shows them, with the slugs of the configs they name. */
export async function toWorkspaces(
  { stores, tenant, context }: AdminCall<unknown>,
  organisation: OrganisationRow,
  rows: readonly WorkspaceRow[],
): Promise<WorkspaceRecord[]> {
  const { organisationId } = tenant;
  const ids = rows.flatMap(({ defaults }) => defaults?.user_api_key_config ?? []);
  const configs = await stores.configs.all({ organisationId, workspaceId: null }, { where: { id: ids } });
  const configSlugs = new Map(configs.map(({ id, slug }) => [id, slug]));
  const usages = await showUsageLists(rows.map(holderOfWorkspace), context.services);
  return rows.map((row, index) => toWorkspace(row, organisation, { configSlugs, usage: usages[index] }));
}

/** Scopes a user with a role can use in a workspace. */
function scopesOfRole(role: Role, settings: SecuritySettings): string[] {
  return scopesOfKind("workspace-user").filter((scope) => roleAllows(role, scope, settings));
}

/** A member of a workspace as the API shows it. */
export function toMember(
  member: WorkspaceMemberRow,
  user: UserRow,
  view: { organisation: OrganisationRow; workspace: WorkspaceRow },
): MemberRecord {
  const role = user.role === "member" ? member.role : "admin";
  return {
    object: "workspace-user",
    id: user.id,
    first_name: user.firstName,
    last_name: user.lastName,
    org_role: user.role,
    role: member.role,
    status: user.status,
    workspace_id: member.workspaceId,
    email: user.email,
    scopes: scopesOfRole(role, securitySettingsOf(view)),
    settings: null,
    created_at: toIso(member.createdAt),
    last_updated_at: toIso(member.lastUpdatedAt || member.createdAt),
  };
}

/** Most users a statement names individually. */
const maxNamed = 1_000;

/** Members as the API shows them; memberships of removed users are left out. */
export async function toMembers(
  { stores, tenant }: AdminCall<unknown>,
  rows: readonly WorkspaceMemberRow[],
  view: { organisation: OrganisationRow; workspace: WorkspaceRow },
): Promise<MemberRecord[]> {
  const { organisationId } = tenant;
  // a few by their ids, many by reading all: a statement binds only so many values
  const ids = rows.length <= maxNamed ? { id: rows.map(({ userId }) => userId) } : {};
  const where = { ...ids, status: "active" as const };
  const users = await stores.users.all({ organisationId, workspaceId: null }, { where });
  const userOf = new Map(users.map((user) => [user.id, user]));
  return rows.flatMap((row) => {
    const user = userOf.get(row.userId);
    return user ? [toMember(row, user, view)] : [];
  });
}

/** Whose defaults change. */
interface DefaultsOwner {
  organisation: OrganisationRow;
  tenant: Tenant & { workspaceId: string };
  /** Undefined for a new workspace. */
  stored: StoredDefaults | null | undefined;
}

/** Ids of the default guardrails a body names, by the fields of defaults; null clears a field. */
export async function readDefaultGuardrails(
  call: AdminCall<unknown>,
  tenant: Tenant,
  { body, prefix }: { body: Pick<WorkspaceDefaults, "input_guardrails" | "output_guardrails">; prefix: string },
): Promise<Record<string, string[] | null>> {
  const found: Record<string, string[] | null> = {};
  for (const direction of directions) {
    const member = `${direction}_guardrails` as const;
    const names = body[member];
    if (names === undefined) continue;
    const param = `${prefix}${member}`;
    found[member] = names?.length ? await requireGuardrails(call, tenant, { names, direction, param }) : null;
  }
  return found;
}

/** The defaults of a workspace after a change: absent fields stay, null clears. */
export async function applyDefaults(
  call: AdminCall<unknown>,
  place: DefaultsOwner,
  body: WorkspaceDefaults | null,
): Promise<StoredDefaults | null> {
  const { organisation, tenant } = place;
  const stored: StoredDefaults = body === null ? {} : (place.stored ?? {});
  const given = body ?? {};
  const guardrails = await readDefaultGuardrails(call, tenant, { body: given, prefix: "defaults." });
  const config = given.user_api_key_config;
  const param = "defaults.user_api_key_config";
  const configId = config ? (await requireConfig(call, tenant, { name: config, param })).id : config;
  // existing values are not checked again when other fields change
  const isChecked = body === null || given.metadata !== undefined || place.stored === undefined;
  const kept = isChecked ? given.metadata : stored.metadata;
  const metadata = isChecked ? applyMetadataSchema(organisation, "workspace", kept) : kept;
  const defaults = {
    ...stored,
    ...guardrails,
    metadata,
    ...(configId !== undefined && { user_api_key_config: configId }),
  };
  const left = Object.entries(defaults).filter(([, value]) => value !== null && value !== undefined);
  return left.length === 0 ? null : (Object.fromEntries(left) as StoredDefaults); // without those that are null
}
