import type { ConfigRow, ConfigVersionRow } from "../db/tables/configs.ts";
import type { Tenant } from "../db/tenant-store.ts";
import type { AdminEndpoint } from "../endpoint.ts";
import { ConflictError, InvalidRequestError } from "../errors.ts";
import type { AddressGuard } from "../lib/address.ts";
import { AddressRefusedError, requireBaseUrl } from "../lib/address.ts";
import { type ExactNumbers, parseExact } from "../lib/exact-numbers.ts";
import { isObject } from "../lib/json.ts";
import { readPromptReference } from "../prompts/reference.ts";
import type { ConfigNode } from "../routing/config.ts";
import type { ConfigProblem } from "../routing/problem.ts";
import { listNodes, readConfig as readRoutingConfig } from "../routing/read-config.ts";
import { findConfigExcess } from "../routing/state.ts";
import {
  ConfigList,
  ConfigRecord,
  ConfigSummary,
  ConfigVersionList,
  CreateConfig,
  CreatedConfig,
  configStatuses,
  UpdateConfig,
  UpdatedConfig,
} from "../schemas/configs.ts";
import type { AdminCall } from "./core/endpoint.ts";
import { findUnknownGuardrails } from "./core/named-records.ts";
import { defineRecord } from "./core/record.ts";
import type { Found, NewPlace } from "./core/record-definitions.ts";
import { readChoice, refuseField, requireFound, toIso, toList } from "./core/request.ts";
import { openVersion, removeSecrets, requireSecrets, sealVersion } from "./core/sealed-versions.ts";
import { shownBy } from "./core/shown-row.ts";

/** Names of guardrails in a config that the workspace does not have. */
async function findUnknown(config: ConfigNode, call: AdminCall<unknown>, tenant: Tenant): Promise<string[]> {
  const named = listNodes(config).flatMap(({ hooks }) => call.context.services.guardrails.listReferences(hooks));
  return findUnknownGuardrails(call, tenant, [...new Set(named)]);
}

/** Classifiers that call a provider the workspace does not have. */
async function findLostClassifiers(
  config: ConfigNode,
  { stores }: AdminCall<unknown>,
  tenant: Tenant,
): Promise<ConfigProblem[]> {
  const found = listNodes(config).map(async ({ path, strategy }): Promise<ConfigProblem[]> => {
    if (strategy?.mode !== "auto" || !strategy.classifier) return [];
    const { provider: slug } = strategy.classifier;
    if (await stores.providers.find(tenant, { slug })) return [];
    const place = `${path}.strategy.classifier.provider`.replace(/^config\./, "");
    return [{ path: place, message: `names a provider that the workspace does not have: @${slug}` }];
  });
  return (await Promise.all(found)).flat();
}

/** Names of prompts in a config that the workspace does not have. */
async function findLostPrompts(config: ConfigNode, { stores }: AdminCall<unknown>, tenant: Tenant): Promise<string[]> {
  const named = [...new Set(listNodes(config).flatMap(({ promptId }) => promptId ?? []))];
  const found = await Promise.all(named.map((name) => stores.prompts.get(tenant, readPromptReference(name).name)));
  return named.filter((_, index) => found[index]?.status !== "active");
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
  const ofClassifiers = read.config ? await findLostClassifiers(read.config, call, tenant) : [];
  const lost = read.config ? await findLostPrompts(read.config, call, tenant) : [];
  const ofPrompts = lost.map((name) => ({ path: "", message: `Following prompt_id are not valid: ${name}` }));
  const problems = read.problems ?? [...ofGuardrails, ...ofClassifiers, ...ofPrompts];
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
function checkHosts(config: ConfigNode, addressGuard: AddressGuard): void {
  for (const { customHost, path } of listNodes(config)) {
    if (customHost === undefined) continue;
    try {
      requireBaseUrl(addressGuard, customHost);
    } catch (error) {
      if (!(error instanceof AddressRefusedError)) throw error;
      refuseField(`${path}.custom_host`, error.reason);
    }
  }
}

const toSummary = shownBy(ConfigSummary, (_row: ConfigRow) => ({}));

function toRecord(row: ConfigRow, version: ConfigVersionRow): ConfigRecord {
  return {
    ...toSummary(row),
    config: version.content,
    format: "json",
    type: "ORG_CONFIG",
    version_id: version.id,
  };
}

type FoundConfig = Found<"configs">;

async function readConfig({ row, tenant }: FoundConfig, call: AdminCall<undefined>): Promise<ConfigRecord> {
  const status = readChoice(call.query, "status", configStatuses) ?? "active";
  if (row.status !== status) requireFound(undefined, "config");
  const version = await call.stores.configVersions.get(tenant, row.versionId);
  return toRecord(row, requireFound(version, "config"));
}

async function listVersions({ stores }: AdminCall<undefined>, { row, tenant }: FoundConfig) {
  const { rows, total } = await stores.configVersions.list(tenant, { where: { configId: row.id } });
  const data = rows.map((version) => ({
    ...toRecord(row, version),
    version_created_at: toIso(version.createdAt),
    version_owner_id: version.ownerId,
  }));
  return toList(data, total);
}

/** Statements after which no other config of the workspace is its default. */
function clearDefault(call: AdminCall<unknown>, tenant: Tenant) {
  return call.stores.configs.update(tenant, { isDefault: true }, { isDefault: false, lastUpdatedAt: call.now });
}

/** A config of a body as a new version of its record, and the statements that write it. */
async function toVersion(
  call: AdminCall<unknown>,
  tenant: FoundConfig["tenant"],
  { configId, input }: { configId: string; input: ConfigInput },
) {
  const { id, content, sealed } = await sealVersion(call, { ...tenant, kind: "configs" }, input.value);
  const restored = input.numbers?.restore(content) ?? content;
  const row = { id, configId, content: restored, ownerId: call.actor, createdAt: call.now };
  return { id, statements: [call.stores.configVersions.insert(tenant, { ...tenant, ...row }), ...sealed] };
}

async function createConfig(call: AdminCall<CreateConfig>, { tenant, id, slug }: NewPlace<"configs">) {
  const { body, actor } = call;
  const input = await toContent(body.config, call, { tenant });
  const version = await toVersion(call, tenant, { configId: id, input });
  const isDefault = body.isDefault ?? body.is_default ?? false;
  const names = { id, version_id: version.id, slug };
  return {
    answer: { ...names, object: "config", success: true, data: names } as const,
    before: isDefault ? [clearDefault(call, tenant)] : [],
    columns: { name: body.name, isDefault, status: "active" as const, versionId: version.id, ownerId: actor },
    statements: version.statements,
  };
}

async function updateConfig(call: AdminCall<UpdateConfig>, { row, tenant }: FoundConfig) {
  const { body, stores, actor } = call;
  const current = await stores.configVersions.get(tenant, row.versionId);
  const former = body.config === undefined || !current ? undefined : await openVersion(call, "configs", current);
  const input = body.config === undefined ? undefined : await toContent(body.config, call, { tenant, former });
  if (body.status === "archived") await refuseInUse(call, row);
  // unchanged content does not make a new version
  const isNew = input !== undefined && JSON.stringify(input.value) !== JSON.stringify(former);
  const version = isNew ? await toVersion(call, tenant, { configId: row.id, input }) : undefined;
  const versionId = version?.id ?? row.versionId;
  const isDefault = body.isDefault ?? body.is_default;
  return {
    answer: { success: true, data: { version_id: versionId } } as const,
    columns: { name: body.name, status: body.status, isDefault, versionId, updatedBy: actor },
    statements: [...(isDefault ? [clearDefault(call, tenant)] : []), ...(version?.statements ?? [])],
  };
}

/** @throws {ConflictError} If a workspace or a key has the config as its default, or a model alias leads to it. */
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
  const aliases = await stores.modelAliases.all(tenant, { includeOrganisation: true });
  const leading = aliases.find(({ target }) => "config" in target && target.config === row.slug);
  if (leading) {
    throw new ConflictError(`Cannot remove this config: the model alias ${leading.name} leads to it`, { code: "AB07" });
  }
}

const configs = defineRecord({
  tag: "Configs",
  path: "/v1/configs",
  param: "slug",
  words: { one: "a config", many: "saved configs" },
  store: "configs",
  audit: "configs",
  access: "configs",
});

/** Endpoints of saved routing configs. */
export const configEndpoints: readonly AdminEndpoint[] = [
  configs.list({
    response: ConfigList,
    filters: { status: { values: configStatuses, otherwise: "active" } },
    page: "all",
    show: (rows) => rows.map(toSummary),
  }),
  configs.create({ body: CreateConfig, response: CreatedConfig, slug: { prefix: "pc" }, decide: createConfig }),
  configs.show({ response: ConfigRecord, show: readConfig }),
  configs.change({ body: UpdateConfig, response: UpdatedConfig, decide: updateConfig }),
  configs.remove({
    async before(call, { row, tenant }) {
      await refuseInUse(call, row);
      const versions = await call.stores.configVersions.all(tenant, { where: { configId: row.id } });
      return removeSecrets(call, { ...tenant, kind: "configs" }, versions);
    },
  }),
  configs.read({
    at: "/versions",
    verb: "read",
    summary: "List the versions of a config",
    response: ConfigVersionList,
    handle: listVersions,
  }),
];
