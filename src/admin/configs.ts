import type { ConfigRow, ConfigVersionRow } from "../db/tables/configs.ts";
import type { Tenant } from "../db/tenant-store.ts";
import type { AdminEndpoint } from "../endpoint.ts";
import { ConflictError, InvalidRequestError } from "../errors.ts";
import type { AddressGuard } from "../lib/address.ts";
import { AddressRefusedError, requireBaseUrl } from "../lib/address.ts";
import { type ExactNumbers, parseExact } from "../lib/exact-numbers.ts";
import { isObject } from "../lib/json.ts";
import type { ConfigNode } from "../routing/config.ts";
import { readConfig as readRoutingConfig } from "../routing/read-config.ts";
import { findConfigExcess } from "../routing/state.ts";
import {
  ConfigList,
  ConfigRecord,
  type ConfigSummary,
  ConfigVersionList,
  CreateConfig,
  CreatedConfig,
  UpdateConfig,
  UpdatedConfig,
} from "../schemas/configs.ts";
import { NoContent } from "../schemas/objects.ts";
import { type AdminCall, type AnswerOf, defineRead, defineWrite, type Outcome } from "./core/endpoint.ts";
import { findUnknownGuardrails } from "./core/named-records.ts";
import {
  createSlug,
  readChoice,
  readPage,
  readTenant,
  readText,
  refuseField,
  requireFound,
  requireWorkspace,
  toIso,
} from "./core/request.ts";
import { openVersion, requireSecrets, sealVersion } from "./core/sealed-versions.ts";

/** Names of guardrails in a config that the workspace does not have. */
async function findUnknown(config: ConfigNode, call: AdminCall<unknown>, tenant: Tenant): Promise<string[]> {
  const named = listNodes(config).flatMap(({ hooks }) => call.context.services.guardrails.listReferences(hooks));
  return findUnknownGuardrails(call, tenant, [...new Set(named)]);
}

function listNodes(node: ConfigNode): ConfigNode[] {
  return [node, ...node.targets.flatMap(listNodes)];
}

/** A config in a body. */
interface ConfigInput {
  value: unknown;
  /** Its stand-ins for numbers that JavaScript cannot represent. */
  numbers: ExactNumbers | undefined;
}

/** A config, or the JSON text of one; numbers are preserved as written. */
function readConfigInput(config: Record<string, unknown> | string, { context }: AdminCall<unknown>): ConfigInput {
  if (typeof config !== "string") return { value: config, numbers: context.numbers };
  try {
    const { value, numbers } = parseExact(config);
    return { value, numbers };
  } catch {
    return { value: undefined, numbers: undefined };
  }
}

/**
 * A config as its author wrote it, with its secrets in clear.
 *
 * @param former The config before: its secrets replace their masks.
 * @throws {InvalidRequestError} AB01, naming everything that is wrong with it.
 */
async function toContent(
  config: Record<string, unknown> | string,
  call: AdminCall<unknown>,
  { tenant, former }: { tenant: Tenant; former?: unknown },
): Promise<ConfigInput> {
  const { services } = call.context;
  const { value: given, numbers } = readConfigInput(config, call);
  const value = requireSecrets(call, given, former, "config");
  if (!isObject(value)) throw refuseField("config", "must be an object, or its JSON text");
  const excess = findConfigExcess(JSON.stringify(value));
  if (excess !== undefined) refuseField("config", `has ${excess}`);
  const read = readRoutingConfig(value, services.routing.strictOptions);
  const unknown = read.config ? await findUnknown(read.config, call, tenant) : [];
  const ofGuardrails = unknown.map((name) => ({ path: "", message: `Following guardrails are not valid: ${name}` }));
  const problems = read.problems ?? ofGuardrails;
  if (read.config) checkHosts(read.config, services.addressGuard);
  if (problems.length === 0) return { value, numbers };
  const errors = problems.map(({ path, message }) => `path: ${path || "config"}, message: ${message}`);
  const [first] = problems;
  throw new InvalidRequestError(`Invalid request: config: ${errors.slice(0, 3).join("; ")}`, {
    code: "AB01",
    param: first?.path ? `config.${first.path}` : "config",
    errors: errors.slice(0, 50),
  });
}

/** Refuses hosts that would be refused when a request is sent there. */
function checkHosts(node: ConfigNode, addressGuard: AddressGuard): void {
  if (node.customHost !== undefined) {
    try {
      requireBaseUrl(addressGuard, node.customHost);
    } catch (error) {
      if (!(error instanceof AddressRefusedError)) throw error;
      refuseField(`${node.path}.custom_host`, error.reason);
    }
  }
  for (const target of node.targets) checkHosts(target, addressGuard);
}

function toSummary(row: ConfigRow): ConfigSummary {
  return {
    id: row.id,
    name: row.name,
    slug: row.slug,
    organisation_id: row.organisationId,
    workspace_id: row.workspaceId,
    is_default: row.isDefault ? 1 : 0,
    status: row.status,
    owner_id: row.ownerId,
    updated_by: row.updatedBy,
    created_at: toIso(row.createdAt),
    last_updated_at: toIso(row.lastUpdatedAt || row.createdAt),
    object: "config",
  };
}

function toRecord(row: ConfigRow, version: ConfigVersionRow): ConfigRecord {
  return {
    ...toSummary(row),
    config: version.content,
    format: "json",
    type: "ORG_CONFIG",
    version_id: version.id,
  };
}

async function listConfigs(call: AdminCall<undefined>): Promise<AnswerOf<typeof ConfigList>> {
  const tenant = await readTenant(call);
  const status = readChoice(call.query, "status", ["active", "archived"]) ?? "active";
  const paged = ["current_page", "page_size"].some((name) => readText(call.query, name) !== undefined);
  const page = paged ? readPage(call.query) : undefined;
  const { rows, total } = await call.stores.configs.list(tenant, { where: { status }, page });
  return { object: "list", total, data: rows.map(toSummary), success: true };
}

/** The config a path names, and the tenant it belongs to. */
async function findConfig(call: AdminCall<unknown>) {
  const tenant = await readTenant(call);
  const row = requireFound(await call.stores.configs.get(tenant, call.params.slug ?? ""), "config");
  return { row, tenant: { organisationId: row.organisationId, workspaceId: row.workspaceId } };
}

async function readConfig(call: AdminCall<undefined>): Promise<ConfigRecord> {
  const { row, tenant } = await findConfig(call);
  const status = readChoice(call.query, "status", ["active", "archived"]) ?? "active";
  if (row.status !== status) requireFound(undefined, "config");
  const version = await call.stores.configVersions.get(tenant, row.versionId);
  return toRecord(row, requireFound(version, "config"));
}

async function listVersions(call: AdminCall<undefined>): Promise<AnswerOf<typeof ConfigVersionList>> {
  const { row, tenant } = await findConfig(call);
  const { rows, total } = await call.stores.configVersions.list(tenant, { where: { configId: row.id } });
  const data = rows.map((version) => ({
    ...toRecord(row, version),
    version_created_at: toIso(version.createdAt),
    version_owner_id: version.ownerId,
  }));
  return { object: "list", total, data };
}

/** Statements after which no other config of the workspace is its default. */
function clearDefault(call: AdminCall<unknown>, tenant: Tenant) {
  return call.stores.configs.update(tenant, { isDefault: true }, { isDefault: false, lastUpdatedAt: call.now });
}

async function createConfig(call: AdminCall<CreateConfig>): Promise<Outcome<AnswerOf<typeof CreatedConfig>>> {
  const { body, stores, now, actor } = call;
  const tenant = await requireWorkspace(call, body.workspace_id ?? readText(call.query, "workspace_id"));
  const config = await toContent(body.config, call, { tenant });
  const isDefault = body.isDefault ?? body.is_default ?? false;
  const id = crypto.randomUUID();
  const versionId = crypto.randomUUID();
  const slug = createSlug(body.name, { prefix: "pc" });
  const { text, sealed } = await sealVersion(call, { ...tenant, kind: "configs", recordId: versionId }, config.value);
  const row = {
    id,
    ...tenant,
    slug,
    name: body.name,
    isDefault,
    status: "active" as const,
    versionId,
    ownerId: actor,
    createdAt: now,
    lastUpdatedAt: now,
  };
  const content = config.numbers?.restore(text) ?? text;
  const version = { id: versionId, ...tenant, configId: id, content, ownerId: actor, createdAt: now };
  return {
    answer: {
      id,
      version_id: versionId,
      slug,
      object: "config",
      success: true,
      data: { id, version_id: versionId, slug },
    },
    recordId: id,
    statements: [
      ...(isDefault ? [clearDefault(call, tenant)] : []),
      stores.configs.insert(tenant, row),
      stores.configVersions.insert(tenant, version),
      ...sealed,
    ],
  };
}

async function updateConfig(call: AdminCall<UpdateConfig>): Promise<Outcome<AnswerOf<typeof UpdatedConfig>>> {
  const { body, stores, now, actor } = call;
  const { row, tenant } = await findConfig(call);
  const current = await stores.configVersions.get(tenant, row.versionId);
  const former = body.config === undefined || !current ? undefined : await openVersion(call, "configs", current);
  const config = body.config === undefined ? undefined : await toContent(body.config, call, { tenant, former });
  // unchanged content does not make a new version
  const isNew = config !== undefined && JSON.stringify(config.value) !== JSON.stringify(former);
  const versionId = isNew ? crypto.randomUUID() : row.versionId;
  const isDefault = body.isDefault ?? body.is_default;
  const changes = { name: body.name, status: body.status, isDefault };
  if (body.status === "archived") await refuseInUse(call, row);
  const place = { ...tenant, kind: "configs", recordId: versionId } as const;
  const { text, sealed } = await sealVersion(call, place, isNew ? config.value : {});
  const version = {
    id: versionId,
    ...tenant,
    configId: row.id,
    content: config?.numbers?.restore(text) ?? text,
    ownerId: actor,
    createdAt: now,
  };
  return {
    answer: { success: true, data: { version_id: versionId } },
    recordId: row.id,
    statements: [
      ...(isDefault ? [clearDefault(call, tenant)] : []),
      ...(isNew ? [stores.configVersions.insert(tenant, version), ...sealed] : []),
      stores.configs.update(tenant, { id: row.id }, { ...changes, versionId, updatedBy: actor, lastUpdatedAt: now }),
    ],
  };
}

/** @throws {ConflictError} If a workspace or a key has the config as its default. */
async function refuseInUse({ stores }: AdminCall<unknown>, row: ConfigRow): Promise<void> {
  const tenant = { organisationId: row.organisationId, workspaceId: row.workspaceId };
  const names = (defaults: unknown, member: string) =>
    isObject(defaults) && [row.id, row.slug].some((name) => defaults[member] === name);
  const workspace = await stores.workspaces.get({ ...tenant, workspaceId: null }, row.workspaceId);
  if (names(workspace?.defaults, "user_api_key_config")) {
    throw new ConflictError("Cannot remove this config: it is the default config of its workspace", { code: "AB07" });
  }
  const keys = await stores.apiKeys.all(tenant, { where: { status: ["active", "exhausted"] } });
  const pinned = keys.find(({ defaults }) => names(defaults, "config_id"));
  if (pinned) {
    throw new ConflictError(`Cannot remove this config: it is the default of the key ${pinned.name}`, { code: "AB07" });
  }
}

async function deleteConfig(call: AdminCall<undefined>) {
  const { row, tenant } = await findConfig(call);
  await refuseInUse(call, row);
  const versions = await call.stores.configVersions.all(tenant, { where: { configId: row.id } });
  const ids = versions.map(({ id }) => id);
  return {
    answer: {},
    recordId: row.id,
    statements: [
      ...(ids.length > 0 ? [call.stores.secrets.remove(tenant, { kind: "configs", recordId: ids })] : []),
      call.stores.configs.remove(tenant, { id: row.id }),
    ],
  };
}

const audit = (action: string) => ({ resource: "configs", action, store: "configs" as const });
const access = (verb: string) => ({ keys: "any" as const, scopes: [`configs.${verb}`] });
const row = { tag: "Configs" };

/** Endpoints of saved routing configs. */
export const configEndpoints: readonly AdminEndpoint[] = [
  defineRead({
    ...row,
    method: "GET",
    path: "/v1/configs",
    summary: "List saved configs",
    access: access("list"),
    query: [
      { name: "workspace_id", description: "One workspace, for keys of the organisation" },
      { name: "status", description: "active (default) or archived" },
    ],
    response: ConfigList,
    handle: listConfigs,
  }),
  defineWrite({
    ...row,
    method: "POST",
    path: "/v1/configs",
    summary: "Create a config",
    access: access("create"),
    audit: audit("create"),
    body: CreateConfig,
    response: CreatedConfig,
    handle: createConfig,
  }),
  defineRead({
    ...row,
    method: "GET",
    path: "/v1/configs/:slug",
    summary: "Show a config",
    access: access("read"),
    response: ConfigRecord,
    handle: readConfig,
  }),
  defineWrite({
    ...row,
    method: "PUT",
    path: "/v1/configs/:slug",
    summary: "Change a config",
    access: access("update"),
    audit: audit("update"),
    body: UpdateConfig,
    response: UpdatedConfig,
    handle: updateConfig,
  }),
  defineWrite({
    ...row,
    method: "DELETE",
    path: "/v1/configs/:slug",
    summary: "Delete a config",
    access: access("delete"),
    audit: audit("delete"),
    response: NoContent,
    handle: deleteConfig,
  }),
  defineRead({
    ...row,
    method: "GET",
    path: "/v1/configs/:slug/versions",
    summary: "List the versions of a config",
    access: access("read"),
    response: ConfigVersionList,
    handle: listVersions,
  }),
];
