import { requireSecureUrl } from "../../admin/core/addresses.ts";
import type { AdminCall } from "../../admin/core/endpoint.ts";
import { defineRecord } from "../../admin/core/record.ts";
import type { Found, NewPlace } from "../../admin/core/record-definitions.ts";
import { readTenant, refuseField, requireFound, requireWorkspace, toIso } from "../../admin/core/request.ts";
import { shownBy } from "../../admin/core/shown-row.ts";
import { maskSecret } from "../../auth/api-key.ts";
import { readKeySet } from "../../auth/jwks.ts";
import type { OauthClientRow } from "../../db/tables/oauth.ts";
import type { Tenant } from "../../db/tenant-store.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import { randomBase62 } from "../../lib/hash.ts";
import { CreateOauthClient, OauthClientList, OauthClientRecord } from "../../schemas/oauth.ts";
import { digestOfClient } from "../registry/oauth/clients.ts";
import { revocationMs } from "../registry/oauth/revocations.ts";

/** A client as the API shows it. */
const toRecord = shownBy(OauthClientRecord, (row: OauthClientRow) => ({
  client_id: row.id,
  client_secret: row.masked,
  token_endpoint_auth_method: row.authMethod,
  last_used_at: row.lastUsedAt === row.createdAt ? null : toIso(row.lastUsedAt),
}));

/** Refuses keys that cannot verify an assertion. */
function requireKeys({ body: { jwks, jwks_uri: uri }, context: { services } }: AdminCall<CreateOauthClient>): void {
  if (uri) requireSecureUrl("jwks_uri", services.addressGuard, () => services.addressGuard.checkTarget(uri));
  if (!jwks) return;
  const read = readKeySet(jwks);
  if (!read || typeof read === "string" || read.size === 0)
    refuseField("jwks", "must be a set of public keys, each with a kid");
}

/** Where a new client belongs: one that acts for itself has one workspace, others have those of their users. */
function readOwner(call: AdminCall<CreateOauthClient>): Promise<Tenant> {
  const { grant_types: grants, workspace_id: named } = call.body;
  return grants.includes("client_credentials") ? requireWorkspace(call, named) : readTenant(call, named);
}

async function createClient(call: AdminCall<CreateOauthClient>, { tenant }: NewPlace<"oauthClients">) {
  const { body, now, actor, context } = call;
  requireKeys(call);
  const hasSecret = body.token_endpoint_auth_method.startsWith("client_secret");
  const secret = hasSecret ? randomBase62(48) : undefined;
  const columns = {
    id: `mcp_${randomBase62(32)}`,
    kind: "registered" as const,
    name: body.name,
    redirectUris: body.redirect_uris,
    grantTypes: body.grant_types,
    authMethod: body.token_endpoint_auth_method,
    secretDigest: secret === undefined ? null : await context.services.keyMac(secret),
    masked: secret === undefined ? null : maskSecret(secret),
    jwks: body.jwks ?? null,
    jwksUri: body.jwks_uri ?? null,
    scope: body.scope,
    applicationType: "web" as const,
    digest: await digestOfClient(body.name, body.redirect_uris),
    freshUntil: null,
    lastUsedAt: now,
    createdBy: actor,
  };
  const record = toRecord({ ...tenant, ...columns, createdAt: now });
  return { answer: secret === undefined ? record : { ...record, client_secret: secret }, columns };
}

/** @throws {NotFoundError} For unknown and foreign ones alike. */
async function findClient(call: AdminCall<unknown>): Promise<OauthClientRow> {
  const found = await call.stores.oauthClients.find(await readTenant(call), { id: call.params.id ?? "" });
  return requireFound(found, "OAuth client");
}

/** Ends all tokens of a client that goes. */
async function revokeTokens({ now, tenant, context }: AdminCall<undefined>, { row: { id } }: Found<"oauthClients">) {
  const { store } = context.services.oauth;
  const families = await store.familiesOf(id, now);
  const { organisationId } = tenant;
  return [
    store.revoke({ id, organisationId, expiresAt: now + revocationMs }),
    ...families.map((family) => store.revokeFamily(family.id, now)),
  ];
}

const clients = defineRecord({
  tag: "MCP OAuth",
  path: "/v1/mcp-oauth-clients",
  words: { one: "an OAuth client", many: "OAuth clients" },
  store: "oauthClients",
  audit: "oauth_clients",
  access: "mcp_servers",
  find: findClient,
});

/** Endpoints of OAuth clients that administrators create. */
export const mcpOauthClientEndpoints: readonly AdminEndpoint[] = [
  clients.create({
    summary: "Create an OAuth client for MCP servers; its secret is shown once",
    body: CreateOauthClient,
    response: OauthClientRecord,
    tenant: readOwner,
    decide: createClient,
  }),
  clients.list({
    response: OauthClientList,
    maxPage: 100,
    select: () => ({ where: { kind: "registered" } }),
    show: (rows) => rows.map(toRecord),
  }),
  clients.show({ response: OauthClientRecord, show: ({ row }) => toRecord(row) }),
  clients.remove({ summary: "Remove an OAuth client and revoke its tokens", after: revokeTokens }),
];
