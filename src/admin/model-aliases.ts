import { holderOfAlias } from "../control/limit-holders.ts";
import { readStoredName } from "../control/stored-name.ts";
import type { ModelAliasRow } from "../db/tables/model-aliases.ts";
import type { Tenant } from "../db/tenant-store.ts";
import type { AdminEndpoint } from "../endpoint.ts";
import { ConflictError } from "../errors.ts";
import {
  type AliasAccess,
  type AliasTarget,
  CreateModelAlias,
  ModelAlias,
  ModelAliasList,
  SavedModelAlias,
  UpdateModelAlias,
} from "../schemas/model-aliases.ts";
import type { AdminCall, AnswerOf } from "./core/endpoint.ts";
import { showUsages, toLimitList, toStoredUsage } from "./core/limits.ts";
import { defineRecord, workspaceQuery } from "./core/record.ts";
import {
  forbid,
  isRecordId,
  namedWorkspace,
  readTenant,
  readText,
  refuseField,
  requireFound,
  requireReferenced,
  toIso,
} from "./core/request.ts";

/** The tenant a call is about: a workspace, or the organisation where a key of it names none. */
const readPlace = (call: AdminCall<unknown>): Promise<Tenant> => readTenant(call, namedWorkspace(call));

/**
 * The alias a path names by its id or name. Keys of a workspace see the organisation's too, and change only their own.
 *
 * @throws {NotFoundError} AB08
 * @throws {PermissionError} AB03 for a change of the organisation's.
 */
async function findAlias(call: AdminCall<unknown>, verb: string): Promise<ModelAliasRow> {
  const tenant = await readPlace(call);
  const { id: named = "" } = call.params;
  const byName = { name: named, ...(tenant.workspaceId === null && { workspaceId: null }) };
  const where = isRecordId(named) ? { id: named.toLowerCase() } : byName;
  const found = await call.stores.modelAliases.find(tenant, where, { includeOrganisation: true });
  const row = requireFound(found, "model alias");
  const isShared = call.tenant.workspaceId !== null && row.workspaceId === null;
  return isShared && verb !== "read" ? forbid("Only keys of the organisation change its model aliases") : row;
}

/** Access as a caller sees it: a workspace does not see whom else the organisation names. */
function showAccess({ tenant }: AdminCall<unknown>, { access, workspaceId }: ModelAliasRow): ModelAlias["access"] {
  if (access === null) return null;
  const { api_keys, roles, workspaces } = access;
  const isForeign = tenant.workspaceId !== null && workspaceId === null;
  return {
    ...(api_keys && !isForeign && { api_keys: [...api_keys] }),
    ...(roles && { roles: [...roles] }),
    ...(workspaces && !isForeign && { workspaces: [...workspaces] }),
  };
}

async function showAliases(
  call: AdminCall<unknown>,
  rows: readonly ModelAliasRow[],
): Promise<AnswerOf<typeof ModelAlias>[]> {
  const usages = await showUsages(rows.map(holderOfAlias), call.context.services);
  return rows.map((row, index) => ({
    id: row.id,
    name: row.name,
    target: row.target,
    organisation_id: row.organisationId,
    workspace_id: row.workspaceId,
    metadata: row.metadata ?? {},
    tags: row.tags ?? [],
    access: showAccess(call, row),
    usage_limits: usages[index] ?? null,
    rate_limits: row.rateLimits,
    last_reset_at: toIso(row.lastResetAt),
    enabled: row.enabled,
    owner_id: row.ownerId,
    updated_by: row.updatedBy,
    created_at: toIso(row.createdAt),
    last_updated_at: toIso(row.lastUpdatedAt || row.createdAt),
    object: "model_alias" as const,
  }));
}

/**
 * A target as it is stored. What it names must exist: in the workspace of the alias or, for an alias of the organisation,
 * in one of its workspaces.
 *
 * @throws {NotFoundError} AB02, naming the field.
 */
async function toTarget(
  { stores }: AdminCall<unknown>,
  tenant: Tenant,
  { model, config, pool }: CreateModelAlias["target"],
): Promise<AliasTarget> {
  const requireProvider = async (name: string, param: string) =>
    requireReferenced(await stores.providers.find(tenant, { slug: readStoredName(name)?.slug ?? "" }), param);
  if (model !== undefined) {
    await requireProvider(model, "target.model");
    return { model };
  }
  if (pool) {
    await Promise.all(pool.models.map((one, index) => requireProvider(one.model, `target.pool.models.${index}.model`)));
    return { pool };
  }
  const row = await stores.configs.get(tenant, config ?? "");
  const { slug } = requireReferenced(row?.status === "active" ? row : undefined, "target.config");
  return { config: slug };
}

/** Ids of the records a list names, by id or slug. @throws {NotFoundError} AB02, naming the entry. */
function toIds(
  names: readonly string[],
  param: string,
  find: (name: string) => Promise<{ id: string } | undefined>,
): Promise<string[]> {
  const found = names.map(async (name, index) => requireReferenced(await find(name), `${param}.${index}`).id);
  return Promise.all(found);
}

/**
 * Access as it is stored: by ids.
 *
 * @throws {InvalidRequestError} AB01 for workspaces where the alias belongs to one.
 * @throws {NotFoundError} AB02, naming a key or workspace that does not exist.
 */
async function toAccess(
  { stores }: AdminCall<unknown>,
  tenant: Tenant,
  access: UpdateModelAlias["access"],
): Promise<AliasAccess | null | undefined> {
  if (!access) return access;
  const { api_keys: keys, roles, workspaces } = access;
  if (workspaces && tenant.workspaceId !== null) {
    refuseField("access.workspaces", "cannot be given: the alias belongs to one workspace");
  }
  const all = { ...tenant, workspaceId: null };
  const api_keys = keys && (await toIds(keys, "access.api_keys", (id) => stores.apiKeys.find(tenant, { id })));
  const places =
    workspaces && (await toIds(workspaces, "access.workspaces", (name) => stores.workspaces.get(all, name)));
  if (!api_keys && !roles && !places) return null;
  return { ...(api_keys && { api_keys }), ...(roles && { roles }), ...(places && { workspaces: places }) };
}

/**
 * Refuses a name that is taken: no alias stands in the way of another one.
 *
 * @throws {ConflictError} AB07
 */
async function requireFreeName(
  { stores }: AdminCall<unknown>,
  { organisationId, workspaceId }: Tenant,
  { name, own }: { name: string; own?: string },
): Promise<void> {
  const named = await stores.modelAliases.all({ organisationId, workspaceId: null }, { where: { name } });
  const others = named.filter(({ id }) => id !== own);
  const refuse = (whose: string): never => {
    throw new ConflictError(`Cannot save this alias: ${whose} has a model alias named ${name}`, {
      code: "AB07",
      param: "name",
    });
  };
  if (others.some((other) => other.workspaceId === workspaceId)) {
    refuse(workspaceId === null ? "the organisation" : "the workspace");
  }
  if (workspaceId === null && others.length > 0) refuse("one of the workspaces");
  if (others.some((other) => other.workspaceId === null)) refuse("the organisation");
}

/** Values of columns; absent ones stay, null clears. */
async function toColumns(
  call: AdminCall<UpdateModelAlias>,
  tenant: Tenant,
  { access, tags, metadata, usage_limits, rate_limits }: Omit<UpdateModelAlias, "name">,
  former?: ModelAliasRow,
) {
  return {
    metadata,
    tags: tags && [...new Set(tags)],
    access: await toAccess(call, tenant, access),
    usageLimits: usage_limits ? toStoredUsage(usage_limits, call.now, former?.usageLimits) : usage_limits,
    rateLimits: toLimitList(rate_limits),
  };
}

const kind = defineRecord({
  tag: "Model aliases",
  path: "/v1/model-aliases",
  words: { one: "a model alias", many: "model aliases" },
  store: "modelAliases",
  audit: "model_aliases",
  // both decide where requests go
  access: "configs",
  find: findAlias,
});

/** Endpoints of model aliases. */
export const modelAliasEndpoints: readonly AdminEndpoint[] = [
  kind.list({
    response: ModelAliasList,
    ofWorkspaces: "Aliases this workspace may have, for keys of the organisation",
    query: [{ name: "name", description: "The alias with this name" }],
    select({ query }) {
      const name = readText(query, "name");
      return { ...(name !== undefined && { where: { name } }), includeOrganisation: true };
    },
    show: (rows, call) => showAliases(call, rows),
  }),
  kind.create({
    body: CreateModelAlias,
    response: SavedModelAlias,
    tenant: readPlace,
    async decide(call, { tenant, id }) {
      const { name, target, enabled = true } = call.body;
      await requireFreeName(call, tenant, { name });
      const columns = { ...(await toColumns(call, tenant, call.body)), target: await toTarget(call, tenant, target) };
      return {
        answer: { id, name, object: "model_alias" as const },
        columns: { ...columns, name, enabled, ownerId: call.actor },
      };
    },
  }),
  kind.show({
    summary: "Show a model alias, by its id or name",
    response: ModelAlias,
    query: [{ ...workspaceQuery, description: `${workspaceQuery.description}. Default: the organisation` }],
    async show({ row }, call) {
      const [shown] = await showAliases(call, [row]);
      return requireFound(shown, "model alias");
    },
  }),
  kind.change({
    body: UpdateModelAlias,
    response: SavedModelAlias,
    async decide(call, { row, tenant }) {
      const { name = row.name, target, enabled, reset_usage } = call.body;
      await requireFreeName(call, tenant, { name, own: row.id });
      const columns = {
        ...(await toColumns(call, tenant, call.body, row)),
        name,
        target: target && (await toTarget(call, tenant, target)),
        enabled,
        ...(reset_usage && { lastResetAt: call.now }),
        updatedBy: call.actor,
      };
      return { answer: { id: row.id, name, object: "model_alias" as const }, columns };
    },
  }),
  kind.remove(),
];
