import { requireSecureUrl } from "../../admin/core/addresses.ts";
import { type AdminCall, type AnswerOf, defineRead, defineWrite, type Outcome } from "../../admin/core/endpoint.ts";
import {
  readPage,
  readTenant,
  refuseField,
  requireFound,
  requireWorkspace,
  toIso,
  toList,
} from "../../admin/core/request.ts";
import { maskSecret } from "../../auth/api-key.ts";
import { readKeySet } from "../../auth/jwks.ts";
import type { OauthClientRow } from "../../db/tables/oauth.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import { randomBase62 } from "../../lib/hash.ts";
import { CreateOauthClient, OauthClientList, OauthClientRecord } from "../../schemas/oauth.ts";
import { NoContent } from "../../schemas/objects.ts";
import { digestOfClient } from "../registry/oauth/clients.ts";
import { revocationMs } from "../registry/oauth/revocations.ts";

/** A client as the API shows it. */
function toRecord(row: OauthClientRow, secret?: string): OauthClientRecord {
  return {
    client_id: row.id,
    client_secret: secret ?? row.masked,
    name: row.name,
    redirect_uris: row.redirectUris,
    grant_types: row.grantTypes,
    token_endpoint_auth_method: row.authMethod,
    scope: row.scope,
    jwks: row.jwks,
    jwks_uri: row.jwksUri,
    workspace_id: row.workspaceId,
    organisation_id: row.organisationId,
    created_by: row.createdBy,
    created_at: toIso(row.createdAt),
    last_used_at: row.lastUsedAt === row.createdAt ? null : toIso(row.lastUsedAt),
    object: "oauth-client",
  };
}

/** Refuses keys that cannot verify an assertion. */
function requireKeys({ body: { jwks, jwks_uri: uri }, context: { services } }: AdminCall<CreateOauthClient>): void {
  if (uri) requireSecureUrl("jwks_uri", services.addressGuard, () => services.addressGuard.checkTarget(uri));
  if (!jwks) return;
  const read = readKeySet(jwks);
  if (!read || typeof read === "string" || read.size === 0)
    refuseField("jwks", "must be a set of public keys, each with a kid");
}

async function createClient(call: AdminCall<CreateOauthClient>): Promise<Outcome<AnswerOf<typeof OauthClientRecord>>> {
  const { body, stores, now, actor, context } = call;
  requireKeys(call);
  // a client that acts for itself has one workspace; others have those of their users
  const isMachine = body.grant_types.includes("client_credentials");
  const tenant = isMachine
    ? await requireWorkspace(call, body.workspace_id)
    : await readTenant(call, body.workspace_id);
  const hasSecret = body.token_endpoint_auth_method.startsWith("client_secret");
  const secret = hasSecret ? randomBase62(48) : undefined;
  const row: OauthClientRow = {
    id: `mcp_${randomBase62(32)}`,
    organisationId: tenant.organisationId,
    workspaceId: tenant.workspaceId,
    kind: "registered",
    name: body.name,
    redirectUris: body.redirect_uris,
    grantTypes: body.grant_types,
    authMethod: body.token_endpoint_auth_method,
    secretDigest: secret === undefined ? null : await context.services.keyMac(secret),
    masked: secret === undefined ? null : maskSecret(secret),
    jwks: body.jwks ?? null,
    jwksUri: body.jwks_uri ?? null,
    scope: body.scope,
    applicationType: "web",
    digest: await digestOfClient(body.name, body.redirect_uris),
    freshUntil: null,
    lastUsedAt: now,
    createdBy: actor,
    createdAt: now,
  };
  return { answer: toRecord(row, secret), recordId: row.id, statements: [stores.oauthClients.insert(tenant, row)] };
}

async function listClients(call: AdminCall<undefined>): Promise<AnswerOf<typeof OauthClientList>> {
  const { rows, total } = await call.stores.oauthClients.list(await readTenant(call), {
    page: readPage(call.query, { size: 50, max: 100 }),
    where: { kind: "registered" },
  });
  return toList(
    rows.map((row) => toRecord(row)),
    total,
  );
}

/** @throws {NotFoundError} For unknown and foreign ones alike. */
async function findClient(call: AdminCall<unknown>): Promise<OauthClientRow> {
  const found = await call.stores.oauthClients.find(await readTenant(call), { id: call.params.id ?? "" });
  return requireFound(found, "OAuth client");
}

/** Removes a client, and with it all of its tokens. */
async function deleteClient(call: AdminCall<undefined>) {
  const { stores, now, tenant, context } = call;
  const { id } = await findClient(call);
  const { organisationId } = tenant;
  const { store } = context.services.oauth;
  const families = await store.familiesOf(id, now);
  const revocation = { id, organisationId, expiresAt: now + revocationMs };
  return {
    answer: {},
    recordId: id,
    statements: [
      stores.oauthClients.remove(tenant, { id }),
      store.revoke(revocation),
      ...families.map((family) => store.revokeFamily(family.id, now)),
    ],
  };
}

const path = "/v1/mcp-oauth-clients";
const audit = (action: string) => ({ resource: "oauth_clients", action, store: null });
const row = (verb: string) => ({ tag: "MCP OAuth", access: { keys: "any" as const, scopes: [`mcp_servers.${verb}`] } });

/** Endpoints of OAuth clients that administrators create. */
export const mcpOauthClientEndpoints: readonly AdminEndpoint[] = [
  defineWrite({
    ...row("create"),
    method: "POST",
    path,
    summary: "Create an OAuth client for MCP servers; its secret is shown once",
    audit: audit("create"),
    body: CreateOauthClient,
    response: OauthClientRecord,
    handle: createClient,
  }),
  defineRead({
    ...row("list"),
    method: "GET",
    path,
    summary: "List OAuth clients",
    response: OauthClientList,
    handle: listClients,
  }),
  defineRead({
    ...row("read"),
    method: "GET",
    path: `${path}/:id`,
    summary: "Read an OAuth client",
    response: OauthClientRecord,
    handle: async (call) => toRecord(await findClient(call)),
  }),
  defineWrite({
    ...row("delete"),
    method: "DELETE",
    path: `${path}/:id`,
    summary: "Remove an OAuth client and revoke its tokens",
    audit: audit("delete"),
    response: NoContent,
    handle: deleteClient,
  }),
];
