import * as v from "valibot";
import { maskSecret } from "../../auth/api-key.ts";
import { secretKind } from "../../control/secret-managers/open.ts";
import type { Statement } from "../../db/client.ts";
import type { SecretReferenceRow } from "../../db/tables/secrets.ts";
import type { ListOptions } from "../../db/tenant-store.ts";
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
  SecretReference,
  SecretReferenceList,
  secretAuthFields,
  UpdateSecretReference,
} from "../../schemas/secret-references.ts";
import { requireSecureUrl } from "../core/addresses.ts";
import type { AdminCall } from "../core/endpoint.ts";
import { defineRecord } from "../core/record.ts";
import type { Found, NewPlace } from "../core/record-definitions.ts";
import { readText, refuseField, requireReferenced } from "../core/request.ts";
import { shownBy } from "../core/shown-row.ts";

/** Validated credentials: every field by its name. */
type AuthConfig = Record<string, string>;

/** The fields of an object that are strings. */
function stringsOf(value: unknown): AuthConfig {
  const members = isObject(value) ? Object.entries(value) : [];
  return Object.fromEntries(members.filter((member): member is [string, string] => typeof member[1] === "string"));
}

const toRecord = shownBy(SecretReference, (row: SecretReferenceRow) => {
  const masked = Object.entries(row.masked).map(([name, mask]) => [`masked_${name}`, mask]);
  return {
    auth_config: { ...row.authConfig, ...Object.fromEntries(masked) },
    allowed_workspaces: row.allowedWorkspaces ?? [],
  };
});

/** Tags a list is filtered by: a JSON object of strings. */
function readTags(query: URLSearchParams): AuthConfig | undefined {
  const text = readText(query, "tags");
  if (text === undefined) return undefined;
  const value = parseJson(text);
  if (!isObject(value) || Object.values(value).some((tag) => typeof tag !== "string")) {
    return refuseField("tags", "must be a JSON object of strings");
  }
  return stringsOf(value);
}

function readSearch(query: URLSearchParams): string | undefined {
  const text = readText(query, "search");
  return text !== undefined && text.length > 255 ? refuseField("search", "must have at most 255 characters") : text;
}

/** Conditions of a list beside the kind of the external store. */
function selectReferences({ query }: AdminCall<undefined>): ListOptions<SecretReferenceRow> {
  const text = readSearch(query);
  const tags = readTags(query);
  return {
    ...(text !== undefined && { search: { columns: ["name", "slug", "description"], text } }),
    ...(tags && { members: { column: "tags", values: tags } }),
  };
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
  { tenant, id, slug }: NewPlace<"secretReferences">,
) {
  const { body, stores, actor } = call;
  const config = stringsOf(body.auth_config);
  checkAddresses(call, config);
  if (await stores.secretReferences.find(tenant, { slug })) refuseField("slug", "is already in use");
  const allowedWorkspaces = await readWorkspaces(call);
  const { plain, masked, statements } = await sealAuth(call, id, config);
  return {
    answer: { id, slug, object: "secret-reference" as const },
    columns: {
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
    },
    statements,
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
  const config = stringsOf(checked.output);
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

async function updateSecretReference(call: AdminCall<UpdateSecretReference>, { row }: Found<"secretReferences">) {
  const { body, now } = call;
  if (Object.values(body).every((value) => value === undefined)) {
    throw new InvalidRequestError("Invalid request: there is nothing to update", { code: "AB01" });
  }
  const auth = body.auth_config && (await mergeAuth(call, row, body.auth_config));
  const { statements = [], ...authColumns } = auth ?? {};
  return {
    answer: {},
    columns: {
      name: body.name,
      description: body.description,
      secretPath: body.secret_path,
      secretKey: body.secret_key,
      tags: body.tags,
      ...(await mergeAccess(call)),
      ...authColumns,
      // a change in the same millisecond counts too: cached values are invalidated by this time
      lastUpdatedAt: Math.max(now, row.lastUpdatedAt + 1),
    },
    statements,
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

const references = defineRecord({
  tag: "Secret references",
  path: "/v1/secret-references",
  words: { one: "a reference to a secret", many: "references to secrets" },
  noun: "secret reference",
  store: "secretReferences",
  audit: "secret_references",
  access: (verb) => ({ keys: "admin", scopes: [`secret_references.${verb}`] }),
  ofOrganisation: true,
});

/** Endpoints of references to secrets in external stores. */
export const secretReferenceEndpoints: readonly AdminEndpoint[] = [
  references.list({
    response: SecretReferenceList,
    filters: { manager_type: { values: managerTypes } },
    query: [
      { name: "tags", description: "JSON object of tags a reference must have" },
      { name: "search", description: "Part of the name, slug or description" },
    ],
    page: 20,
    maxPage: 100,
    select: selectReferences,
    show: (rows) => rows.map(toRecord),
  }),
  references.create({
    summary: "Create a reference to a secret in an external store",
    body: CreateSecretReference,
    response: CreatedSecretReference,
    slug: {},
    decide: createSecretReference,
  }),
  references.show({ response: SecretReference, show: ({ row }) => toRecord(row) }),
  references.change({ body: UpdateSecretReference, response: NoContent, decide: updateSecretReference }),
  references.remove({
    async before(call, { row }) {
      await refuseInUse(call, row);
      return [call.stores.secrets.remove(call.tenant, { kind: secretKind, recordId: row.id })];
    },
  }),
];
