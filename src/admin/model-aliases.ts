import { holderOfAlias } from "../control/limit-holders.ts";
import { readStoredName } from "../control/stored-name.ts";
import type { ModelAliasRow } from "../db/tables/model-aliases.ts";
import type { Tenant } from "../db/tenant-store.ts";
import type { AdminEndpoint } from "../endpoint.ts";
import { ConflictError } from "../errors.ts";
import { isObject } from "../lib/json.ts";
import {
  type AliasAccess,
  type AliasTarget,
  CreateModelAlias,
  ModelAlias,
  ModelAliasList,
  SavedModelAlias,
  UpdateModelAlias,
} from "../schemas/model-aliases.ts";
import { NoContent } from "../schemas/objects.ts";
import { type AdminCall, type AnswerOf, defineRead, defineWrite, type Outcome } from "./core/endpoint.ts";
import { showUsages, toLimitList, toStoredUsage } from "./core/limits.ts";
import {
  forbid,
  isRecordId,
  readPage,
  readTenant,
  readText,
  refuseField,
  requireFound,
  requireReferenced,
  toIso,
  toList,
} from "./core/request.ts";

/** The tenant a call is about: a workspace, or the organisation where a key of it names none. */
function readPlace(call: AdminCall<unknown>): Promise<Tenant> {
  const named = isObject(call.body) ? call.body.workspace_id : undefined;
  return readTenant(call, named ?? readText(call.query, "workspace_id"));
}

/**
 * The alias a path names by its id or name. Keys of a workspace see the organisation's too.
 *
 * @throws {NotFoundError} AB08
 */
async function findAlias(call: AdminCall<unknown>): Promise<ModelAliasRow> {
  const tenant = await readPlace(call);
  const { id: named = "" } = call.params;
  const byName = { name: named, ...(tenant.workspaceId === null && { workspaceId: null }) };
  const where = isRecordId(named) ? { id: named.toLowerCase() } : byName;
  const row = await call.stores.modelAliases.find(tenant, where, { includeOrganisation: true });
  return requireFound(row, "model alias");
}

/**
 * As `findAlias`, for changes: a workspace changes only its own.
 *
 * @throws {PermissionError} AB03 for one of the organisation.
 */
async function findOwnAlias(call: AdminCall<unknown>): Promise<ModelAliasRow> {
  const row = await findAlias(call);
  const isShared = call.tenant.workspaceId !== null && row.workspaceId === null;
  return isShared ? forbid("Only keys of the organisation change its model aliases") : row;
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

async function listAliases(call: AdminCall<undefined>): Promise<AnswerOf<typeof ModelAliasList>> {
  const tenant = await readPlace(call);
  const name = readText(call.query, "name");
  const options = { ...(name !== undefined && { where: { name } }), includeOrganisation: true };
  const { rows, total } = await call.stores.modelAliases.list(tenant, { ...options, page: readPage(call.query) });
  return toList(await showAliases(call, rows), total);
}

async function readAlias(call: AdminCall<undefined>): Promise<AnswerOf<typeof ModelAlias>> {
  const [shown] = await showAliases(call, [await findAlias(call)]);
  return requireFound(shown, "model alias");
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
  { model, config }: CreateModelAlias["target"],
): Promise<AliasTarget> {
  if (model !== undefined) {
    const provider = await stores.providers.find(tenant, { slug: readStoredName(model)?.slug ?? "" });
    requireReferenced(provider, "target.model");
    return { model };
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

async function createAlias(call: AdminCall<CreateModelAlias>): Promise<Outcome<AnswerOf<typeof SavedModelAlias>>> {
  const { body, stores, now, actor } = call;
  const tenant = await readPlace(call);
  await requireFreeName(call, tenant, body);
  const target = await toTarget(call, tenant, body.target);
  const columns = await toColumns(call, tenant, body);
  const id = crypto.randomUUID();
  const row = {
    id,
    ...tenant,
    name: body.name,
    target,
    ...columns,
    enabled: body.enabled ?? true,
    ownerId: actor,
    createdAt: now,
    lastUpdatedAt: now,
  };
  return {
    answer: { id, name: body.name, object: "model_alias" },
    recordId: id,
    statements: [stores.modelAliases.insert(tenant, row)],
  };
}

async function updateAlias(call: AdminCall<UpdateModelAlias>): Promise<Outcome<AnswerOf<typeof SavedModelAlias>>> {
  const { body, stores, now, actor } = call;
  const row = await findOwnAlias(call);
  const { id, organisationId, workspaceId } = row;
  const tenant = { organisationId, workspaceId };
  const { name = row.name } = body;
  await requireFreeName(call, tenant, { name, own: id });
  const changes = {
    name,
    target: body.target && (await toTarget(call, tenant, body.target)),
    ...(await toColumns(call, tenant, body, row)),
    enabled: body.enabled,
    ...(body.reset_usage && { lastResetAt: now }),
    updatedBy: actor,
    lastUpdatedAt: now,
  };
  return {
    answer: { id, name, object: "model_alias" },
    recordId: id,
    statements: [stores.modelAliases.update(tenant, { id, workspaceId }, changes)],
  };
}

async function deleteAlias(call: AdminCall<undefined>) {
  const { id, organisationId, workspaceId } = await findOwnAlias(call);
  const statement = call.stores.modelAliases.remove({ organisationId, workspaceId }, { id, workspaceId });
  return { answer: {}, recordId: id, statements: [statement] };
}

const row = { tag: "Model aliases" };
const all = "/v1/model-aliases";
const one = `${all}/:id`;
const access = (verb: string) => ({ keys: "any" as const, scopes: [`configs.${verb}`] });
const audit = (action: string) => ({ resource: "model_aliases", action, store: "modelAliases" as const });
const workspace = {
  name: "workspace_id",
  description: "One workspace, for keys of the organisation. Default: the organisation",
};

/** Endpoints of model aliases. Their scopes are those of configs: both decide where requests go. */
export const modelAliasEndpoints: readonly AdminEndpoint[] = [
  defineRead({
    ...row,
    method: "GET",
    path: all,
    summary: "List model aliases",
    access: access("list"),
    query: [
      { name: "workspace_id", description: "Aliases this workspace may have, for keys of the organisation" },
      { name: "name", description: "The alias with this name" },
      { name: "current_page", description: "Counted from 0" },
      { name: "page_size", description: "1 to 1000; default 50" },
    ],
    response: ModelAliasList,
    handle: listAliases,
  }),
  defineWrite({
    ...row,
    method: "POST",
    path: all,
    summary: "Create a model alias",
    access: access("create"),
    audit: audit("create"),
    body: CreateModelAlias,
    response: SavedModelAlias,
    handle: createAlias,
  }),
  defineRead({
    ...row,
    method: "GET",
    path: one,
    summary: "Show a model alias, by its id or name",
    access: access("read"),
    query: [workspace],
    response: ModelAlias,
    handle: readAlias,
  }),
  defineWrite({
    ...row,
    method: "PUT",
    path: one,
    summary: "Change a model alias",
    access: access("update"),
    audit: audit("update"),
    body: UpdateModelAlias,
    response: SavedModelAlias,
    handle: updateAlias,
  }),
  defineWrite({
    ...row,
    method: "DELETE",
    path: one,
    summary: "Delete a model alias",
    access: access("delete"),
    audit: audit("delete"),
    response: NoContent,
    handle: deleteAlias,
  }),
];
