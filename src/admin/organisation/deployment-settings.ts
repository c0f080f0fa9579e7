import { readDeploymentAuth } from "../../control/deployments.ts";
import type { ChangedAuth, PlainAuth, StoredAuth } from "../../schemas/deployments.ts";
import type { AdminCall } from "../core/endpoint.ts";
import { refuseField, requireReferenced } from "../core/request.ts";

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

/** A field after a change: an absent one stays, null clears. */
const merge = <Value>(current: Value | undefined, given: Value | null | undefined): Value | undefined =>
  given === undefined ? current : (given ?? undefined);

/** A flag that clients read as 0 or 1. */
const toBit = (flag: boolean | null | undefined) => (typeof flag === "boolean" ? (flag ? 1 : 0) : flag);

/** Plain fields after a change. */
function mergePlain(current: PlainAuth, change: ChangedAuth): Required<PlainAuth> {
  return {
    gateway_base_url: merge(current.gateway_base_url, change.gateway_base_url),
    mcp_gateway_base_url: merge(current.mcp_gateway_base_url, change.mcp_gateway_base_url),
    private_link_endpoint: merge(current.private_link_endpoint, change.private_link_endpoint),
    use_private_link_proxy: merge(current.use_private_link_proxy, change.use_private_link_proxy),
    is_dataservice_hosted: merge(current.is_dataservice_hosted, toBit(change.is_dataservice_hosted)),
    is_playground_proxy_allowed: merge(current.is_playground_proxy_allowed, toBit(change.is_playground_proxy_allowed)),
    disable_ai_gateway: merge(current.disable_ai_gateway, change.disable_ai_gateway),
    disable_mcp_gateway: merge(current.disable_mcp_gateway, change.disable_mcp_gateway),
    disable_agent_gateway: merge(current.disable_agent_gateway, change.disable_agent_gateway),
  };
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
  stored: StoredAuth,
  { change, override }: { change: ChangedAuth; override: boolean },
): Promise<StoredAuth> {
  const before = readDeploymentAuth(stored);
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
  const said = change.allow_all_workspaces ?? (given.workspaces.length > 0 ? false : stored.allow_all_workspaces);
  const all = typeof said === "boolean" ? said : workspaces.length > 0 ? false : undefined;
  return {
    ...mergePlain(stored, change),
    workspaces_allowed: all === true ? [] : workspaces,
    jwt_subs_allowed: subs,
    jwt_sub_workspace_mapping: Object.fromEntries(mapping),
    ...(all !== undefined && { allow_all_workspaces: all }),
  };
}
