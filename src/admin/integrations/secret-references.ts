import * as v from "valibot";
import { maskSecret } from "../../auth/api-key.ts";
import { secretKind } from "../../control/secret-managers/open.ts";
import type { Statement } from "../../db/client.ts";
import type { SecretReferenceRow } from "../../db/tables/secrets.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import { InvalidRequestError } from "../../errors.ts";
import { requireBaseUrl } from "../../lib/address.ts";
import { plainIssues } from "../../lib/issues.ts";
import { isObject, parseJson } from "../../lib/json.ts";
import { NoContent } from "../../schemas/objects.ts";
import {
  addressAuthFields,
  authSchemas,
  CreatedSecretReference,
  CreateSecretReference,
  fieldsOfMode,
  managerTypes,
  movingAuthFields,
  type SecretReference,
  SecretReferenceList,
  SecretReference as SecretReferenceSchema,
  secretAuthFields,
  UpdateSecretReference,
} from "../../schemas/secret-references.ts";
import { requireSecureUrl } from "../core/addresses.ts";
import { type AdminCall, type AnswerOf, defineRead, defineWrite, type Outcome } from "../core/endpoint.ts";
import {
  createSlug,
  readChoice,
  readPage,
  readText,
  refuseField,
  requireFound,
  requireReferenced,
  toIso,
  toList,
} from "../core/request.ts";

/** Validated credentials: every field by its name. */
type AuthConfig = Record<string, string>;

/** The fields of an object that are strings. */
function textsOf(value: unknown): AuthConfig {
  const members = isObject(value) ? Object.entries(value) : [];
  return Object.fromEntries(members.filter((member): member is [string, string] => typeof member[1] === "string"));
}

/** Statuses as they are shown. */
const shownStatuses = { active: "ACTIVE" } as const;

function toRecord(row: SecretReferenceRow): SecretReference {
  const masked = Object.entries(row.masked).map(([name, mask]) => [`masked_${name}`, mask]);
  return {
    id: row.id,
    organisation_id: row.organisationId,
    name: row.name,
    slug: row.slug,
    description: row.description,
    manager_type: row.managerType,
    auth_config: { ...row.authConfig, ...Object.fromEntries(masked) },
    secret_path: row.secretPath,
    secret_key: row.secretKey,
    allow_all_workspaces: row.allowAllWorkspaces,
    allowed_workspaces: row.allowedWorkspaces ?? [],
    tags: row.tags,
    status: shownStatuses[row.status],
    created_by: row.createdBy,
    created_at: toIso(row.createdAt),
    last_updated_at: toIso(row.lastUpdatedAt || row.createdAt),
    object: "secret-reference",
  };
}

/** Tags a list is filtered by: a JSON object of strings. */
function readTags(query: URLSearchParams): AuthConfig | undefined {
  const text = readText(query, "tags");
  if (text === undefined) return undefined;
  const value = parseJson(text);
  if (!isObject(value) || Object.values(value).some((tag) => typeof tag !== "string")) {
    return refuseField("tags", "must be a JSON object of strings");
  }
  return textsOf(value);
}

function readSearch(query: URLSearchParams): string | undefined {
  const text = readText(query, "search");
  return text !== undefined && text.length > 255 ? refuseField("search", "must have at most 255 characters") : text;
}

async function listSecretReferences({
  query,
  stores,
  tenant,
}: AdminCall<undefined>): Promise<AnswerOf<typeof SecretReferenceList>> {
  const managerType = readChoice(query, "manager_type", managerTypes);
  const search = readSearch(query);
  const tags = readTags(query);
  const { rows, total } = await stores.secretReferences.list(tenant, {
    where: { ...(managerType && { managerType }) },
    ...(search !== undefined && { search: { columns: ["name", "slug", "description"], text: search } }),
    ...(tags && { members: { column: "tags", values: tags } }),
    page: readPage(query, { size: 20, max: 100 }),
  });
  return toList(rows.map(toRecord), total);
}

async function findReference({ params, stores, tenant }: AdminCall<unknown>): Promise<SecretReferenceRow> {
  return requireFound(await stores.secretReferences.get(tenant, params.id ?? ""), "secret reference");
}

/** Refuses addresses that would be refused when the secret is read. */
function checkAddresses({ context: { services } }: AdminCall<unknown>, config: AuthConfig): void {
  const { addressGuard } = services;
  for (const name of addressAuthFields) {
    const text = config[name];
    if (text === undefined) continue;
    requireSecureUrl(`auth_config.${name}`, addressGuard, () => requireBaseUrl(addressGuard, text));
  }
}

/** Ids of the workspaces a body names by id or slug; null when it names none. */
async function readWorkspaces({
  body,
  stores,
  tenant,
}: AdminCall<Pick<UpdateSecretReference, "allow_all_workspaces" | "allowed_workspaces">>): Promise<string[] | null> {
  const names = body.allowed_workspaces;
  if (names == null) return null;
  if (body.allow_all_workspaces) {
    refuseField("allowed_workspaces", "cannot be given together with allow_all_workspaces");
  }
  const ids = new Set<string>();
  for (const [index, name] of names.entries()) {
    const row = await stores.workspaces.get(tenant, name);
    ids.add(requireReferenced(row?.status === "active" ? row : undefined, `allowed_workspaces[${index}]`).id);
  }
  return [...ids];
}

/** The stored part of credentials, and the statements that store their secrets. */
async function sealAuth(call: AdminCall<unknown>, recordId: string, given: AuthConfig) {
  const {
    context: { services },
    stores,
    tenant,
    now,
  } = call;
  const { organisationId } = tenant;
  const secrets = Object.entries(given).filter(([name]) => secretAuthFields.has(name));
  const statements: Statement[] = [];
  for (const [name, secret] of secrets) {
    const field = `auth_config.${name}`;
    const place = { organisationId, workspaceId: null, kind: secretKind, recordId, field };
    const sealed = await services.control.vault.seal(place, secret, now);
    statements.push(stores.secrets.remove(tenant, { kind: secretKind, recordId, field }));
    statements.push(stores.secrets.insert(tenant, sealed));
  }
  return {
    plain: Object.fromEntries(Object.entries(given).filter(([name]) => !secretAuthFields.has(name))),
    masked: Object.fromEntries(secrets.map(([name, secret]) => [name, maskSecret(secret)])),
    statements,
  };
}

async function createSecretReference(
  call: AdminCall<CreateSecretReference>,
): Promise<Outcome<AnswerOf<typeof CreatedSecretReference>>> {
  const { body, stores, tenant, now, actor } = call;
  const config = textsOf(body.auth_config);
  checkAddresses(call, config);
  const id = crypto.randomUUID();
  const slug = body.slug ?? createSlug(body.name);
  if (await stores.secretReferences.find(tenant, { slug })) refuseField("slug", "is already in use");
  const allowedWorkspaces = await readWorkspaces(call);
  const { plain, masked, statements } = await sealAuth(call, id, config);
  const row = {
    id,
    organisationId: tenant.organisationId,
    slug,
    name: body.name,
    description: body.description ?? null,
    managerType: body.manager_type,
    authConfig: plain,
    masked,
    secretPath: body.secret_path,
    secretKey: body.secret_key ?? null,
    tags: body.tags ?? null,
    allowedWorkspaces,
    allowAllWorkspaces: allowedWorkspaces === null && (body.allow_all_workspaces ?? true),
    status: "active" as const,
    createdBy: actor,
    createdAt: now,
    lastUpdatedAt: now,
  };
  return {
    answer: { id, slug, object: "secret-reference" },
    recordId: id,
    statements: [stores.secretReferences.insert(tenant, row), ...statements],
  };
}

/** Credentials after a change: absent fields stay, null clears, fields of another mode are removed. */
async function mergeAuth(call: AdminCall<unknown>, row: SecretReferenceRow, given: Record<string, string | null>) {
  const { masked, authConfig: before } = row;
  const merged = Object.entries({ ...before, ...masked, ...given }).filter(([, value]) => value !== null);
  const schema = authSchemas[row.managerType];
  const checked = v.safeParse(schema, fieldsOfMode(schema, Object.fromEntries(merged)), plainIssues);
  if (!checked.success) {
    const [issue] = checked.issues;
    return refuseField(`auth_config.${v.getDotPath(issue) ?? ""}`, issue.message);
  }
  const config = textsOf(checked.output);
  checkAddresses(call, config);
  const isPreserved = (name: string) => Object.hasOwn(masked, name) && !Object.hasOwn(given, name);
  const entries = Object.entries(config);
  const sealed = await sealAuth(call, row.id, Object.fromEntries(entries.filter(([name]) => !isPreserved(name))));
  const obsolete = Object.keys(masked).filter((name) => !Object.hasOwn(config, name));
  const moved = movingAuthFields.find((name) => before[name] !== config[name]);
  const preserved = entries.map(([name]) => name).filter(isPreserved);
  if (moved !== undefined && preserved.length > 0) {
    refuseField(`auth_config.${moved}`, `cannot change alone: send the secrets again with it: ${preserved.join(", ")}`);
  }
  return {
    authConfig: sealed.plain,
    masked: { ...Object.fromEntries(entries.filter(([name]) => isPreserved(name))), ...sealed.masked },
    statements: [...obsolete.map((name) => removeSecret(call, row.id, name)), ...sealed.statements],
  };
}

function removeSecret({ stores, tenant }: AdminCall<unknown>, recordId: string, name: string): Statement {
  return stores.secrets.remove(tenant, { kind: secretKind, recordId, field: `auth_config.${name}` });
}

/** Workspaces that may use the reference after a change; naming some excludes all others. */
async function mergeAccess(call: AdminCall<UpdateSecretReference>) {
  const { allow_all_workspaces: all, allowed_workspaces: names } = call.body;
  const allowedWorkspaces = await readWorkspaces(call);
  if (allowedWorkspaces !== null) return { allowAllWorkspaces: false, allowedWorkspaces };
  if (all === true) return { allowAllWorkspaces: true, allowedWorkspaces: null };
  return { allowAllWorkspaces: all, ...(names === null && { allowedWorkspaces: null }) };
}

async function updateSecretReference(call: AdminCall<UpdateSecretReference>) {
  const { body, stores, tenant, now } = call;
  const row = await findReference(call);
  if (Object.values(body).every((value) => value === undefined)) {
    throw new InvalidRequestError("Invalid request: there is nothing to update", { code: "AB01" });
  }
  const auth = body.auth_config && (await mergeAuth(call, row, body.auth_config));
  const { statements = [], ...authColumns } = auth ?? {};
  const changes = {
    name: body.name,
    description: body.description,
    secretPath: body.secret_path,
    secretKey: body.secret_key,
    tags: body.tags,
    ...(await mergeAccess(call)),
    ...authColumns,
    // a change in the same millisecond counts too: cached values are invalidated by this time
    lastUpdatedAt: Math.max(now, row.lastUpdatedAt + 1),
  };
  return {
    answer: {},
    recordId: row.id,
    statements: [stores.secretReferences.update(tenant, { id: row.id }, changes), ...statements],
  };
}

/** @throws {InvalidRequestError} AB01, if an integration takes a secret from the reference. */
async function refuseInUse({ stores, tenant }: AdminCall<unknown>, row: SecretReferenceRow): Promise<void> {
  for (const name of [row.id, row.slug]) {
    const candidates = await stores.integrations.all(tenant, { contains: { secretMappings: JSON.stringify(name) } });
    const user = candidates.find(({ secretMappings }) =>
      secretMappings?.some(({ secret_reference_id }) => secret_reference_id === name),
    );
    if (user) {
      throw new InvalidRequestError(`Cannot delete this secret reference: ${user.name} takes a secret from it`, {
        code: "AB01",
      });
    }
  }
}

async function deleteSecretReference(call: AdminCall<undefined>) {
  const { stores, tenant } = call;
  const row = await findReference(call);
  await refuseInUse(call, row);
  return {
    answer: {},
    recordId: row.id,
    statements: [
      stores.secretReferences.remove(tenant, { id: row.id }),
      stores.secrets.remove(tenant, { kind: secretKind, recordId: row.id }),
    ],
  };
}

const audit = (action: string) => ({ resource: "secret_references", action, store: null });
const access = (verb: string) => ({ keys: "admin" as const, scopes: [`secret_references.${verb}`] });
const all = { tag: "Secret references", path: "/v1/secret-references" };
const one = { tag: "Secret references", path: "/v1/secret-references/:id" };

/** Endpoints of references to secrets in external stores. */
export const secretReferenceEndpoints: readonly AdminEndpoint[] = [
  defineRead({
    ...all,
    method: "GET",
    summary: "List references to secrets",
    access: access("list"),
    query: [
      { name: "manager_type", description: managerTypes.join(", ") },
      { name: "tags", description: "JSON object of tags a reference must have" },
      { name: "search", description: "Part of the name, slug or description" },
      { name: "current_page", description: "From 0" },
      { name: "page_size", description: "At most 100, default 20" },
    ],
    response: SecretReferenceList,
    handle: listSecretReferences,
  }),
  defineWrite({
    ...all,
    method: "POST",
    summary: "Create a reference to a secret in an external store",
    access: access("create"),
    audit: audit("create"),
    body: CreateSecretReference,
    response: CreatedSecretReference,
    handle: createSecretReference,
  }),
  defineRead({
    ...one,
    method: "GET",
    summary: "Show a reference to a secret",
    access: access("read"),
    response: SecretReferenceSchema,
    handle: async (call) => toRecord(await findReference(call)),
  }),
  defineWrite({
    ...one,
    method: "PUT",
    summary: "Change a reference to a secret",
    access: access("update"),
    audit: audit("update"),
    body: UpdateSecretReference,
    response: NoContent,
    handle: updateSecretReference,
  }),
  defineWrite({
    ...one,
    method: "DELETE",
    summary: "Delete a reference to a secret",
    access: access("delete"),
    audit: audit("delete"),
    response: NoContent,
    handle: deleteSecretReference,
  }),
];
