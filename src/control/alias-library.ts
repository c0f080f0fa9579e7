import type { Principal } from "../auth/principal.ts";
import type { ControlStores } from "../db/stores/control.ts";
import type { ModelAliasRow } from "../db/tables/model-aliases.ts";
import type { Tenant } from "../db/tenant-store.ts";
import { type AppliedLimit, limitsOf } from "../policies/applied.ts";
import type { AliasTarget } from "../schemas/model-aliases.ts";
import { holderOfAlias } from "./limit-holders.ts";
import type { Members } from "./members.ts";

/** A model alias as requests use it. */
export interface StoredAlias {
  readonly row: ModelAliasRow;
  readonly limits: readonly AppliedLimit[];
}

/** The aliases of a workspace and its organisation by name. Undefined without one, so that requests need not look. */
export type AliasLibrary = ReadonlyMap<string, StoredAlias> | undefined;

/** Reads the aliases of a workspace; without one, those of the organisation. */
export async function readAliases(
  { modelAliases }: Pick<ControlStores, "modelAliases">,
  tenant: Tenant,
): Promise<readonly StoredAlias[]> {
  const rows = await modelAliases.all(tenant, tenant.workspaceId === null ? { where: { workspaceId: null } } : {});
  return rows.map((row) => ({ row, limits: limitsOf(holderOfAlias(row)) }));
}

/** What requests of a workspace may name. No name is in both lists: saving refuses it. */
export function joinAliases(shared: readonly StoredAlias[], own: readonly StoredAlias[]): AliasLibrary {
  const all = [...shared, ...own];
  return all.length === 0 ? undefined : new Map(all.map((alias) => [alias.row.name, alias]));
}

/** The role of a key's user in a workspace; undefined for services. */
function roleOf({ userId }: Pick<Principal, "userId">, members: Members): string | undefined {
  const member = userId === null ? undefined : members.get(userId);
  if (!member) return undefined;
  return member.organisationRole === "member" ? (member.role ?? undefined) : "admin";
}

/** Whether a caller may use an alias: its workspace may, and it is one of the keys or has one of the roles. */
export function mayUseAlias(
  { row: { access } }: StoredAlias,
  caller: Pick<Principal, "keyId" | "userId" | "workspaceId">,
  members: Members,
): boolean {
  const { workspaces, api_keys: keys, roles } = access ?? {};
  if (workspaces && !workspaces.includes(caller.workspaceId ?? "")) return false;
  if (!keys && !roles) return true;
  return keys?.includes(caller.keyId) === true || roles?.includes(roleOf(caller, members) ?? "") === true;
}

/** The models of stored providers that an alias names itself; none where it leads to a config. */
export function modelsOfTarget(target: AliasTarget): readonly string[] {
  if ("model" in target) return [target.model];
  return "pool" in target ? target.pool.models.map(({ model }) => model) : [];
}
