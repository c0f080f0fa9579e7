import { readDeploymentAuth } from "../../control/deployments.ts";
import type { JsonValue } from "../../db/tables/columns.ts";
import { isObject } from "../../lib/json.ts";
import { type ChangedAuth, plainAuthMembers } from "../../schemas/deployments.ts";
import type { AdminCall } from "../core/endpoint.ts";
import { refuseField, requireReferenced } from "../core/request.ts";

/** Settings of a deployment as they are stored. */
type StoredAuth = { [name: string]: JsonValue };

/** Flags that clients read as 0 or 1. */
const numberFlags = new Set(["is_dataservice_hosted", "is_playground_proxy_allowed"]);

/** Slugs of workspaces a body names by id or slug. */
async function readSlugs(
  { stores, tenant }: AdminCall<unknown>,
  names: readonly string[],
  param: (index: number) => string,
): Promise<string[]> {
  const slugs: string[] = [];
  for (const [index, name] of names.entries()) {
    const row = await stores.workspaces.get(tenant, name);
    slugs.push(requireReferenced(row?.status === "active" ? row : undefined, param(index)).slug);
  }
  return slugs;
}

/** The workspaces and subjects a change names, workspaces by their slugs. */
async function readChange(call: AdminCall<unknown>, change: ChangedAuth) {
  const mapping = Object.entries(change.jwt_sub_workspace_mapping ?? {});
  const workspaces = await readSlugs(
    call,
    change.workspaces_allowed ?? [],
    (index) => `auth_settings.workspaces_allowed[${index}]`,
  );
  const mapped = await readSlugs(
    call,
    mapping.map(([, name]) => name),
    (index) => `auth_settings.jwt_sub_workspace_mapping.${mapping[index]?.[0]}`,
  );
  return { workspaces, mapping: mapping.map(([sub], index) => [sub, mapped[index] ?? ""] as const) };
}

/** Names to remove; workspaces may be deleted ones, and are matched by slug, as the lists store them. */
async function readRemovals({ stores, tenant }: AdminCall<unknown>, change: ChangedAuth) {
  const workspaces = new Set<string>();
  for (const name of change.remove_workspaces_allowed ?? []) {
    workspaces.add((await stores.workspaces.get(tenant, name))?.slug ?? name);
  }
  return { workspaces, subs: new Set(change.remove_subs_allowed ?? []) };
}

/** Plain fields after a change: absent ones stay, null clears. */
function mergePlain(current: Record<string, unknown>, change: ChangedAuth): StoredAuth {
  const given: Record<string, unknown> = change;
  const names = Object.keys(plainAuthMembers).filter((name) => (given[name] ?? current[name]) != null);
  return Object.fromEntries(
    names.flatMap((name): [string, JsonValue][] => {
      const value = given[name] === undefined ? current[name] : given[name];
      if (typeof value === "boolean") return [[name, numberFlags.has(name) ? Number(value) : value]];
      return typeof value === "string" || typeof value === "number" ? [[name, value]] : [];
    }),
  );
}

/**
 * Settings after a change. Lists gain the names it adds and lose those it removes; the mapping's fields are added to
 * both lists. Once workspaces are listed, the others are not allowed any more, even when the list becomes empty again.
 *
 * @param options.override Lists and mapping replace the stored ones.
 * @throws {InvalidRequestError} AB01, if workspaces are listed and all allowed at once.
 */
export async function mergeAuthSettings(
  call: AdminCall<unknown>,
  stored: unknown,
  { change, override }: { change: ChangedAuth; override: boolean },
): Promise<StoredAuth> {
  const current = isObject(stored) ? stored : {};
  const before = readDeploymentAuth(current);
  const given = await readChange(call, change);
  if (change.allow_all_workspaces && given.workspaces.length > 0) {
    refuseField("auth_settings.workspaces_allowed", "cannot be given together with allow_all_workspaces");
  }
  const gone = await readRemovals(call, change);
  /** Lists and mapping that are absent stay, null clears. */
  const keeps = (value: unknown) => value === undefined || (value !== null && !override);
  const mapping = [...(keeps(change.jwt_sub_workspace_mapping) ? before.subWorkspaces : []), ...given.mapping].filter(
    ([sub, slug]) => !gone.subs.has(sub) && !gone.workspaces.has(slug),
  );
  const join = (kept: readonly string[], added: readonly string[], removed: ReadonlySet<string>) =>
    [...new Set([...kept, ...added])].filter((name) => !removed.has(name));
  const subs = join(
    keeps(change.jwt_subs_allowed) ? before.subsAllowed : [],
    [...(change.jwt_subs_allowed ?? []), ...mapping.map(([sub]) => sub)],
    gone.subs,
  );
  const workspaces = join(
    keeps(change.workspaces_allowed) ? before.workspacesAllowed : [],
    [...given.workspaces, ...mapping.map(([, slug]) => slug)],
    gone.workspaces,
  );
  const said = change.allow_all_workspaces ?? (given.workspaces.length > 0 ? false : current.allow_all_workspaces);
  const all = typeof said === "boolean" ? said : workspaces.length > 0 ? false : undefined;
  return {
    ...mergePlain(current, change),
    workspaces_allowed: all === true ? [] : workspaces,
    jwt_subs_allowed: subs,
    jwt_sub_workspace_mapping: Object.fromEntries(mapping),
    ...(all !== undefined && { allow_all_workspaces: all }),
  };
}
