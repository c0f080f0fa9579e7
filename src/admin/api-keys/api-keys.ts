import type { KeyKind } from "../../auth/scopes.ts";
import { holderOfKey } from "../../control/limit-holders.ts";
import type { Statement } from "../../db/client.ts";
import type { ApiKeyRow } from "../../db/tables/api-keys.ts";
import type { OrganisationRow } from "../../db/tables/tenants.ts";
import type { Filter, ListOptions, Tenant } from "../../db/tenant-store.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import { stringOf } from "../../lib/json.ts";
import { type BudgetUse, isUsedUp, usageOf } from "../../policies/applied.ts";
import {
  ApiKey,
  ApiKeyList,
  CreateApiKey,
  CreatedApiKey,
  type KeyDefaults,
  keyKinds,
  RotateApiKey,
  RotatedApiKey,
  type StoredKeyDefaults,
  UpdateApiKey,
} from "../../schemas/api-keys.ts";
import type { RateLimit } from "../../schemas/control.ts";
import { NoContent } from "../../schemas/objects.ts";
import type { StoredDefaults } from "../../schemas/workspaces.ts";
import { type AdminCall, type AnswerOf, defineWrite, type Outcome } from "../core/endpoint.ts";
import { showUsages, toStoredUsage } from "../core/limits.ts";
import { applyMetadataSchema } from "../core/metadata-schema.ts";
import { requireConfig } from "../core/named-records.ts";
import { defineRecord, workspaceQuery } from "../core/record.ts";
import type { Found } from "../core/record-definitions.ts";
import {
  isRecordId,
  readChoice,
  readText,
  refuseField,
  requireFound,
  requireNewName,
  requireWorkspace,
} from "../core/request.ts";
import { families, findKey, mayUseFamily, requireOwn, shownStatuses } from "./api-key-access.ts";
import { toKeyRecord } from "./api-key-record.ts";
import { rotateKey } from "./api-key-rotation.ts";
import {
  decideExpiry,
  readAllowedModels,
  readScopes,
  readUserKeyRules,
  requireGrantable,
  type UserKeyRules,
} from "./api-key-rules.ts";
import { findCreator } from "./key-creator.ts";
import { mintKey } from "./key-minting.ts";

/** The organisation of a key and the rules that apply to it. */
async function readRules(
  { stores }: AdminCall<unknown>,
  key: { kind: KeyKind; organisationId: string; workspaceId: string | null },
): Promise<{ organisation: OrganisationRow; rules: UserKeyRules; defaults: StoredDefaults | null }> {
  const { kind, organisationId, workspaceId } = key;
  const organisation = requireFound(await stores.organisations.get(organisationId), "organisation");
  const workspace =
    workspaceId === null ? undefined : await stores.workspaces.get({ organisationId, workspaceId: null }, workspaceId);
  return {
    organisation,
    rules: readUserKeyRules(kind, organisation, workspace),
    defaults: workspace?.defaults ?? null,
  };
}

/** Records of one organisation's keys. */
async function toRecords({ stores, context }: AdminCall<unknown>, rows: readonly ApiKeyRow[], organisationId: string) {
  const organisation = requireFound(await stores.organisations.get(organisationId), "organisation");
  const ids = new Set(rows.flatMap(({ workspaceId, userId }) => (workspaceId && userId ? [workspaceId] : [])));
  const tenant = { organisationId, workspaceId: null };
  const workspaces = ids.size === 0 ? [] : await stores.workspaces.all(tenant, { where: { id: [...ids] } });
  const workspaceOf = new Map(workspaces.map((workspace) => [workspace.id, workspace]));
  const holders = rows.map((row) => holderOfKey(row, row));
  const usages = await showUsages(holders, context.services);
  return rows.map((row, index) => {
    const rules = readUserKeyRules(row.kind, organisation, workspaceOf.get(row.workspaceId ?? ""));
    return toKeyRecord(row, rules.maxDays !== null, usages[index] ?? null);
  });
}

function readIds(query: URLSearchParams): string[] | undefined {
  const ids = query.get("ids")?.split(",").filter(Boolean) ?? [];
  if (ids.length > 1_000) refuseField("ids", "must have at most 1000 entries");
  if (!ids.every(isRecordId)) refuseField("ids", "must be UUIDs separated by commas");
  return ids.length === 0 ? undefined : ids.map((id) => id.toLowerCase());
}

/** Keys of which it is looked up at a time whether their budget is used up. */
const pageKeys = 1_000;

/** Ids of the keys whose budget is used up. Their rows are active: what was used is not in them. */
async function listExhausted(call: AdminCall<unknown>, tenant: Tenant, where: Filter<ApiKeyRow>): Promise<string[]> {
  const { limitStore } = call.context.services;
  const found: string[] = [];
  for (let offset = 0; ; offset += pageKeys) {
    const options = { where: { ...where, status: "active" as const }, present: ["usageLimits"] as const };
    const { rows } = await call.stores.apiKeys.list(tenant, { ...options, page: { offset, limit: pageKeys } });
    const uses = await Promise.all(rows.map((row) => usageOf(holderOfKey(row, row), limitStore)));
    const isExhausted = (use: BudgetUse | undefined) => use !== undefined && isUsedUp(use);
    found.push(...rows.flatMap(({ id }, index) => (isExhausted(uses[index]) ? [id] : [])));
    if (rows.length < pageKeys) return found;
  }
}

/** Selects keys that are shown with a status; without one, all that are listed. */
async function withStatus(
  call: AdminCall<unknown>,
  tenant: Tenant,
  where: Filter<ApiKeyRow>,
  status: (typeof shownStatuses)[number] | undefined,
): Promise<ListOptions<ApiKeyRow>> {
  if (status === undefined) return { where: { ...where, status: shownStatuses } };
  if (status === "expired") return { where: { ...where, status } };
  const exhausted = await listExhausted(call, tenant, where);
  if (status === "exhausted") return { where: { ...where, status: "active", id: exhausted } };
  return { where: { ...where, status }, except: { id: exhausted } };
}

async function selectKeys(call: AdminCall<undefined>, tenant: Tenant): Promise<ListOptions<ApiKeyRow>> {
  const { query } = call;
  const type = readChoice(query, "type", keyKinds);
  const status = readChoice(query, "status", shownStatuses);
  const id = readIds(query);
  const allowed = await Promise.all(keyKinds.map((kind) => mayUseFamily(call, kind, "list")));
  const kind = keyKinds.filter((one, index) => allowed[index] && (type === undefined || type === one));
  return withStatus(call, tenant, { ...(id && { id }), kind }, status);
}

/** The user a new key belongs to: a member of its workspace. */
async function readUser(call: AdminCall<CreateApiKey>, tenant: Tenant): Promise<string> {
  const { body, stores, context } = call;
  const id = body.user_id ?? context.principal.userId ?? (await findCreator(call, context.principal.keyId));
  if (id === null) return refuseField("user_id", "must be given for a user key");
  const user = await stores.users.find({ ...tenant, workspaceId: null }, { id, status: "active" });
  const isMember =
    user && (user.role !== "member" || (await stores.members.find(tenant, { userId: id })) !== undefined);
  if (!isMember) return refuseField("user_id", "must be a member of the workspace");
  await requireOwn(call, id);
  return id;
}

async function requireFewer(call: AdminCall<unknown>, tenant: Tenant, key: { userId: string; most: number | null }) {
  if (key.most === null) return;
  const where = { kind: "workspace-user", userId: key.userId, status: ["active", "exhausted"] } as const;
  if ((await call.stores.apiKeys.count(tenant, { where })) < key.most) return;
  refuseField("user_id", `has the maximum number of keys per user: ${key.most}`);
}

/** Defaults of a key as they are stored; fields that are absent stay unchanged. */
async function readDefaults(
  call: AdminCall<unknown>,
  key: Tenant & { organisation: OrganisationRow },
  values: { given: KeyDefaults | null | undefined; former: StoredKeyDefaults | null; config?: unknown },
): Promise<StoredKeyDefaults | null> {
  const { given } = values;
  const former: Partial<StoredKeyDefaults> = (given !== null && values.former) || {};
  const named = given?.config_id === undefined ? given?.config_slug : given.config_id;
  if (named) {
    const { organisationId, workspaceId } = key;
    const param = given?.config_id === undefined ? "defaults.config_slug" : "defaults.config_id";
    if (workspaceId === null) refuseField(param, "cannot be given for a key of the organisation");
    else await requireConfig(call, { organisationId, workspaceId }, { name: named, param });
  }
  const metadata = applyMetadataSchema(
    key.organisation,
    "apiKey",
    given?.metadata === undefined ? former.metadata : given.metadata,
  );
  const byWorkspace = stringOf(values.config) ?? null;
  const config = named === undefined ? (former.config_id ?? byWorkspace) : named;
  const allow = given?.allow_config_override === undefined ? former.allow_config_override : given.allow_config_override;
  if (!given && metadata === null && config === null && allow === undefined) return null;
  return { metadata, config_id: config, allow_config_override: allow ?? true };
}

/** The owner of a new key. */
async function readNewTenant(call: AdminCall<CreateApiKey>, kind: KeyKind): Promise<Tenant> {
  const { body } = call;
  if (body.type !== undefined && !kind.startsWith(body.type)) refuseField("type", "must match the path");
  if (kind !== "workspace-user" && body.user_id != null) refuseField("user_id", "can be given for user keys only");
  if (kind !== "organisation-service") {
    return requireWorkspace(call, body.workspace_id ?? readText(call.query, "workspace_id"));
  }
  if (body.workspace_id != null) refuseField("workspace_id", "cannot be given for a key of the organisation");
  return call.tenant;
}

/** A key of the tenant with the name that a body gives to a new one. */
function findNamed({ body, stores }: AdminCall<CreateApiKey>, tenant: Tenant, kind: KeyKind) {
  const { workspaceId } = tenant;
  return stores.apiKeys.find(tenant, {
    name: body.name,
    kind,
    workspaceId,
    status: ["active", "exhausted", "expired"],
  });
}

/** The secret that a body chooses, if it does. @throws {InvalidRequestError} AB01 for keys of users and the gateway's form. */
function readChosen({ body, context }: AdminCall<CreateApiKey>, kind: KeyKind): string | null | undefined {
  const { key } = body;
  if (key == null) return key;
  if (kind === "workspace-user") refuseField("key", "can be given for keys of services only");
  const { keyPrefix } = context.services;
  if (key.startsWith(`${keyPrefix}_`))
    refuseField("key", `must not begin with ${keyPrefix}_, as keys of the gateway do`);
  return key;
}

async function createKey(
  call: AdminCall<CreateApiKey>,
  kind: KeyKind,
): Promise<Outcome<AnswerOf<typeof CreatedApiKey>>> {
  const { body, context, now, stores } = call;
  const { services } = context;
  const tenant = await readNewTenant(call, kind);
  const userId = kind === "workspace-user" ? await readUser(call, tenant) : null;
  const scopes = readScopes(kind, body.scopes);
  requireGrantable(context.principal, kind, scopes);
  const { organisation, rules, defaults } = await readRules(call, { kind, ...tenant });
  if (userId !== null) await requireFewer(call, tenant, { userId, most: rules.count });
  await requireNewName(call, () => findNamed(call, tenant, kind));
  if (body.expires_at != null && body.expires_at <= now) refuseField("expires_at", "must be in the future");
  const config = kind === "workspace-user" ? defaults?.user_api_key_config : null;
  const { key, row } = await mintKey(
    {
      ...tenant,
      kind,
      userId,
      scopes,
      name: body.name,
      description: body.description ?? null,
      rateLimits: toRateLimits(body.rate_limits),
      usageLimits: body.usage_limits ? toStoredUsage(body.usage_limits, now) : null,
      defaults: await readDefaults(call, { ...tenant, organisation }, { given: body.defaults, former: null, config }),
      alertEmails: body.alert_emails ?? null,
      priority: body.priority ?? null,
      allowedModels: readAllowedModels(context.principal, kind, body.allowed_models) ?? null,
      expiresAt: decideExpiry(body.expires_at, rules, now),
    },
    services,
    now,
    readChosen(call, kind),
  );
  return {
    answer: { id: row.id, key, object: "api-key" },
    recordId: row.id,
    statements: [stores.apiKeys.insert(tenant, row)],
  };
}

/** Rate limits as they are stored: an empty list is null. */
function toRateLimits(limits: UpdateApiKey["rate_limits"]): RateLimit[] | null {
  return limits == null || limits.length === 0 ? null : limits;
}

/** Refuses to change the owner of a key. */
function requireSameOwner({ type, user_id: userId }: UpdateApiKey, row: ApiKeyRow): void {
  if (type !== undefined && type !== row.kind) refuseField("type", "cannot be changed");
  if (userId !== undefined && userId !== row.userId) refuseField("user_id", "cannot be changed");
}

/** The status of a changed key. Whether its budget is used up follows from what was counted. */
function nextStatus(row: ApiKeyRow, expiresAt: number | null | undefined, now: number): ApiKeyRow["status"] {
  const end = expiresAt === undefined ? row.expiresAt : expiresAt;
  return end !== null && end <= now ? "expired" : "active";
}

async function updateKey(call: AdminCall<UpdateApiKey>, { row, tenant }: Found<"apiKeys">) {
  const { body, context, now } = call;
  requireSameOwner(body, row);
  const kind = row.kind;
  const scopes = body.scopes && readScopes(kind, body.scopes);
  if (scopes) requireGrantable(context.principal, kind, scopes);
  const { organisation, rules } = await readRules(call, { kind, ...tenant });
  const expiresAt = body.expires_at === undefined ? undefined : decideExpiry(body.expires_at, rules, row.createdAt);
  const usageLimits = body.usage_limits && toStoredUsage(body.usage_limits, now, row.usageLimits);
  const defaults = await readDefaults(
    call,
    { ...tenant, organisation },
    { given: body.defaults, former: row.defaults },
  );
  return {
    answer: {},
    columns: {
      name: body.name,
      description: body.description,
      alertEmails: body.alert_emails,
      priority: body.priority,
      allowedModels:
        body.allowed_models === undefined ? undefined : readAllowedModels(context.principal, kind, body.allowed_models),
      scopes: scopes && JSON.stringify(scopes),
      defaults,
      expiresAt,
      usageLimits,
      rateLimits: body.rate_limits === undefined ? undefined : toRateLimits(body.rate_limits),
      status: nextStatus(row, expiresAt, now),
      lastResetAt: body.reset_usage === true ? now : undefined,
    },
    // what was granted by a sign-in with the key ends with the right, also if the key gets it again
    statements: scopes && !scopes.includes("mcp.invoke") ? endSignIns(call, row) : [],
  };
}

/** Ends what was granted by sign-ins with a key. */
function endSignIns({ context, now }: AdminCall<unknown>, { id }: ApiKeyRow): Statement[] {
  return [context.services.oauth.store.revokeFamiliesOfKey(id, now)];
}

const access = (verb: string) => ({
  keys: "any" as const,
  scopes: keyKinds.map((kind) => `${families[kind]}.${verb}`),
});

const keys = defineRecord({
  tag: "API keys",
  path: "/v1/api-keys",
  words: { one: "an API key", many: "API keys" },
  store: "apiKeys",
  audit: "api_keys",
  access,
  find: findKey,
});

/** What endpoints say that create a key, whose kind their path names. */
const creating = {
  tag: "API keys",
  method: "POST",
  audit: { resource: "api_keys", action: "create", store: "apiKeys" },
} as const;

/** Endpoints of API keys. */
export const apiKeyEndpoints: readonly AdminEndpoint[] = [
  keys.list({
    summary: "List API keys, masked",
    response: ApiKeyList,
    query: [
      { name: "ids", description: "Ids, separated by commas" },
      { name: "type", description: keyKinds.join(", ") },
      { name: "status", description: shownStatuses.join(", ") },
    ],
    select: selectKeys,
    show: (rows, call, { organisationId }) => toRecords(call, rows, organisationId),
  }),
  keys.show({
    summary: "Show an API key, masked",
    query: [workspaceQuery],
    response: ApiKey,
    async show({ row }, call) {
      const [record] = await toRecords(call, [row], row.organisationId);
      return requireFound(record, "API key");
    },
  }),
  keys.change({ body: UpdateApiKey, response: NoContent, decide: updateKey }),
  keys.remove({
    summary: "Revoke an API key, with immediate effect",
    query: [workspaceQuery],
    archives: { status: "revoked", formerDigest: null, formerOfAnyForm: false, transitionEndsAt: null },
    before: async (call, { row }) => endSignIns(call, row),
  }),
  // before the endpoint that creates keys, whose path matches this one too
  keys.write({
    method: "POST",
    at: "/rotate",
    verb: "rotate",
    summary: "Rotate the secret of an API key",
    bodyOptional: true,
    body: RotateApiKey,
    response: RotatedApiKey,
    handle: rotateKey,
  }),
  ...keyKinds.map((kind) =>
    defineWrite({
      ...creating,
      path: `/v1/api-keys/${kind.replace("-", "/")}`,
      summary: `Create a key: ${kind}`,
      access: { keys: kind === "organisation-service" ? "admin" : "any", scopes: [`${families[kind]}.create`] },
      body: CreateApiKey,
      response: CreatedApiKey,
      handle: (call) => createKey(call, kind),
    }),
  ),
  defineWrite({
    ...creating,
    path: "/v1/api-keys/:type/:subtype",
    access: access("create"),
    summary: "Refuses unknown kinds of key",
    handle: async () => refuseField("type", "must be organisation/service, workspace/service or workspace/user"),
  }),
];
