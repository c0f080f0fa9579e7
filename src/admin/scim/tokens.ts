import { maskSecret, mintApiKey } from "../../auth/api-key.ts";
import { scimTokenPrefix } from "../../auth/scim-token.ts";
import type { ScimTokenRow } from "../../db/tables/scim.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import { NoContent } from "../../schemas/objects.ts";
import { CreateScimToken, ScimTokenList, ScimTokenRecord } from "../../schemas/scim.ts";
import { type AdminCall, type AnswerOf, defineRead, defineWrite, type Outcome } from "../core/endpoint.ts";
import { readPage, refuseField, requireFound, requireId, toIso, toList } from "../core/request.ts";

function toRecord(row: ScimTokenRow, token: string = row.masked): ScimTokenRecord {
  const { id, name, organisationId, expiresAt, createdAt } = row;
  return {
    id,
    token,
    name,
    organisation_id: organisationId,
    expires_at: toIso(expiresAt),
    created_at: toIso(createdAt),
    object: "scim-token",
  };
}

async function createToken(call: AdminCall<CreateScimToken>): Promise<Outcome<ScimTokenRecord>> {
  const { body, stores, tenant, now, context } = call;
  const { name, expires_at: expiresAt = null } = body;
  if (expiresAt !== null && expiresAt <= now) refuseField("expires_at", "must be in the future");
  const { key: token, lookupId } = mintApiKey(scimTokenPrefix);
  const { organisationId } = tenant;
  const row: ScimTokenRow = {
    id: crypto.randomUUID(),
    organisationId,
    name,
    lookupId,
    expiresAt,
    createdAt: now,
    digest: await context.services.keyMac(token),
    masked: maskSecret(token),
  };
  return { answer: toRecord(row, token), recordId: row.id, statements: [stores.scimTokens.insert(tenant, row)] };
}

async function listTokens(call: AdminCall<undefined>): Promise<AnswerOf<typeof ScimTokenList>> {
  const { stores, tenant, query } = call;
  const { rows, total } = await stores.scimTokens.list(tenant, { page: readPage(query, { size: 50, max: 100 }) });
  return toList(
    rows.map((row) => toRecord(row)),
    total,
  );
}

async function deleteToken(call: AdminCall<undefined>): Promise<Outcome<AnswerOf<typeof NoContent>>> {
  const { stores, tenant, params } = call;
  const { id } = requireFound(await stores.scimTokens.get(tenant, requireId(params, "id", "token")), "token");
  return { answer: {}, recordId: id, statements: [stores.scimTokens.remove(tenant, { id })] };
}

const path = "/v1/admin/scim/tokens";
const audit = (action: string) => ({ resource: "scim_tokens", action, store: null });
const row = (verb: string) => ({
  tag: "SCIM",
  access: { keys: "admin" as const, scopes: [`organisation_users.${verb}`] },
});

/** Endpoints of the tokens identity providers call with. */
export const scimTokenEndpoints: readonly AdminEndpoint[] = [
  defineWrite({
    ...row("create"),
    method: "POST",
    path,
    summary: "Create a token for an identity provider; shown once",
    audit: audit("create"),
    body: CreateScimToken,
    bodyOptional: true,
    response: ScimTokenRecord,
    handle: createToken,
  }),
  defineRead({
    ...row("list"),
    method: "GET",
    path,
    summary: "List tokens of identity providers",
    response: ScimTokenList,
    handle: listTokens,
  }),
  defineWrite({
    ...row("delete"),
    method: "DELETE",
    path: `${path}/:id`,
    summary: "Revoke a token",
    audit: audit("delete"),
    response: NoContent,
    handle: deleteToken,
  }),
];
