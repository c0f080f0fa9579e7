import type { AdminCall } from "../../admin/core/endpoint.ts";
import { isSecretName } from "../../admin/core/hide-secrets.ts";
import { namedWorkspace, readTenant, refuseField, requireFound } from "../../admin/core/request.ts";
import { type Level, levelOf, mappedFields, readMappings } from "../../admin/integrations/integration-records.ts";
import {
  type CredentialRules,
  type Credentials,
  changeCredentials,
  requireSecretsWithAddress,
  sealSecrets,
} from "../../admin/integrations/integration-secrets.ts";
import type { Statement } from "../../db/client.ts";
import type { McpIntegrationRow } from "../../db/tables/mcp.ts";
import type { Tenant } from "../../db/tenant-store.ts";
import { requireScopes } from "../../endpoint/role.ts";
import { AddressRefusedError } from "../../lib/address.ts";
import { isObject } from "../../lib/json.ts";
import { maskAddress } from "../../lib/secret-values.ts";
import type { CreateMcpIntegration, UpdateMcpIntegration } from "../../schemas/mcp.ts";
import { mcpIntegrationForm } from "../../schemas/mcp-integration-members.ts";
import { findUnknownTemplate, templateNames } from "../registry/header-templates.ts";
import { mcpAddressField, mcpSecretKind } from "../registry/mcp-library.ts";
import { changesIdentity, parkAccounts, requireIdentityChange } from "./mcp-identity.ts";

/** Groups of `configurations` whose members are headers. */
const headerGroups: ReadonlySet<string> = new Set(["custom_headers", "passthrough_headers"]);

/** The scope for a verb on MCP integrations of a level. */
export function mcpScopeOf(level: Level, verb: string): string {
  return `${level}_mcp_integrations.${verb}`;
}

/** The tenant of an integration's rows. */
function tenantOf({ organisationId, workspaceId }: Tenant): Tenant {
  return { organisationId, workspaceId };
}

/** The organisation that a row belongs to. */
export function organisationOf({ organisationId }: { organisationId: string }): Tenant {
  return { organisationId, workspaceId: null };
}

/** Whether a workspace may use an MCP integration: its own, or one the organisation shares with it. */
export async function mayUseMcp(
  { stores }: AdminCall<unknown>,
  tenant: Tenant,
  row: McpIntegrationRow,
): Promise<boolean> {
  if (row.workspaceId !== null) return row.workspaceId === tenant.workspaceId;
  const access = await stores.mcpIntegrationWorkspaces.find(tenant, { integrationId: row.id, enabled: true });
  return access !== undefined;
}

/**
 * The MCP integration a path names.
 *
 * @throws {NotFoundError} AB08 for an unknown or foreign one, or one not shared with the caller's workspace.
 * @throws {PermissionError} AB03 if the key lacks the scope for its level.
 */
export async function findMcpIntegration(call: AdminCall<unknown>, verb: string): Promise<McpIntegrationRow> {
  const tenant = await readTenant(call, namedWorkspace(call));
  const found = await call.stores.mcpIntegrations.get(tenant, call.params.slug ?? "", { includeOrganisation: true });
  const isSeen = found !== undefined && (tenant.workspaceId === null || (await mayUseMcp(call, tenant, found)));
  const row = requireFound(isSeen ? found : undefined, "MCP integration");
  await requireScopes(call.context, [mcpScopeOf(levelOf(row), verb)]);
  return row;
}

/** What settings of an MCP integration are validated against. */
function toRules({ context: { services } }: AdminCall<unknown>): CredentialRules {
  return { services, form: mcpIntegrationForm, owner: "MCP integrations", common: {}, headerGroups };
}

/** @throws {InvalidRequestError} AB01 for an address that may not be called, or that holds a secret. */
function checkUrl(url: string, { context: { services } }: AdminCall<unknown>): void {
  try {
    services.addressGuard.checkUrl(url);
  } catch (error) {
    if (!(error instanceof AddressRefusedError)) throw error;
    refuseField("url", error.reason);
  }
  if (url.includes("*****")) refuseField("url", "is masked: send the whole address, or leave the field out");
  const names = [...new URL(url).searchParams.keys()];
  const holdsSecret =
    services.redactor.text(url) !== url ||
    names.some((name) => isSecretName(name, services.contentRules.secretSettings));
  if (holdsSecret) refuseField("url", "must not hold a secret: use configurations.custom_headers");
}

/** @throws {InvalidRequestError} AB01 for a document without the transport that needs it, and the other way round. */
function checkDocument({ transport, url, openapi }: { transport: string; url: string; openapi: string | null }): void {
  if (transport !== "openapi") {
    if (openapi !== null) refuseField("openapi", "needs the transport openapi");
    return;
  }
  if (openapi === null) refuseField("openapi", "must be given with the transport openapi");
  if (url.includes("?")) refuseField("url", "must have no query: paths of the document are put behind it");
}

/** @throws {InvalidRequestError} AB01 for headers of the protocol, which the gateway writes itself. */
function refuseProtocolHeaders({ configurations, masked }: Credentials): void {
  const fields = [...headerGroups].flatMap((group) => {
    const value = Object.entries(Object(configurations)).find(([name]) => name === group)?.[1];
    return Object.keys(Object(value)).map((name) => `configurations.${group}.${name}`);
  });
  for (const field of [...fields, ...Object.keys(masked)]) {
    if (/^configurations\.(?:custom|passthrough)_headers\.mcp-/.test(field)) {
      refuseField(field, "is a header of the protocol, which the gateway sends itself");
    }
  }
}

/** @throws {InvalidRequestError} AB01 for a header value with a template that stands for nothing. */
function refuseUnknownTemplates(configurations: unknown): void {
  for (const group of headerGroups) {
    const headers = isObject(configurations) ? configurations[group] : undefined;
    for (const [name, value] of Object.entries(isObject(headers) ? headers : {})) {
      const unknown = typeof value === "string" ? findUnknownTemplate(value) : undefined;
      if (unknown === undefined) continue;
      const known = [...templateNames].join(", ");
      refuseField(`configurations.${group}.${name}`, `has the unknown template "${unknown}": use one of ${known}`);
    }
  }
}

/** @throws {InvalidRequestError} AB01 for a mapping to a field that integrations do not have. */
function checkMappings(mappings: unknown): void {
  for (const field of mappedFields(mappings)) {
    const path = field.replace(/^configurations\./, "");
    const [group = ""] = path.split(".");
    const members = Object.keys(mcpIntegrationForm.members);
    const isKnown =
      path !== field &&
      (headerGroups.has(group) || members.includes(path) || members.some((one) => one.startsWith(`${path}.`)));
    if (!isKnown) refuseField("secret_mappings", `${field} is not a field of MCP integrations`);
  }
}

/** The address of an integration as readers see it: that of a hosted server may be its credential. */
export function showAddress({ url }: Pick<McpIntegrationRow, "url">): string {
  return maskAddress(url);
}

/** An address as it is stored: masked, and sealed as a whole, if it holds what may be a secret. */
function storeAddress(url: string): { url: string } & Pick<Credentials, "secrets" | "removed"> {
  const shown = maskAddress(url);
  if (shown === url) return { url, secrets: new Map(), removed: new Set([mcpAddressField]) };
  return { url: shown, secrets: new Map([[mcpAddressField, url]]), removed: new Set() };
}

/** A new MCP integration and the statements that write it. */
export async function createMcpIntegrationRows(
  call: AdminCall<CreateMcpIntegration>,
  tenant: Tenant,
  slug: string,
): Promise<{ id: string; statements: Statement[] }> {
  const { body, stores, now, actor } = call;
  checkUrl(body.url, call);
  checkDocument({ transport: body.transport, url: body.url, openapi: body.openapi ?? null });
  const mappings = (await readMappings(call, tenant, body.secret_mappings)) ?? null;
  checkMappings(mappings);
  refuseUnknownTemplates(body.configurations);
  const credentials = changeCredentials(undefined, { configurations: body.configurations }, toRules(call));
  refuseProtocolHeaders(credentials);
  if (changesIdentity(undefined, credentials, mappings)) await requireIdentityChange(call, credentials);
  const id = crypto.randomUUID();
  const address = storeAddress(body.url);
  const row = {
    id,
    ...tenantOf(tenant),
    slug,
    name: body.name,
    description: body.description ?? null,
    ownerId: actor,
    status: "active" as const,
    url: address.url,
    transport: body.transport,
    authType: body.auth_type,
    openapi: body.openapi ?? null,
    configurations: credentials.configurations,
    masked: credentials.masked,
    secretMappings: mappings,
    createdAt: now,
  };
  const place = { ...tenantOf(tenant), recordId: id, kind: mcpSecretKind };
  const sealed = await sealSecrets(call, place, [credentials, address]);
  return { id, statements: [stores.mcpIntegrations.insert(tenantOf(tenant), row), ...sealed] };
}

/** The new address of an integration; undefined where it stays: the mask that readers see changes nothing. */
async function readNewUrl(
  { body, stores, context }: AdminCall<UpdateMcpIntegration>,
  row: McpIntegrationRow,
): Promise<string | undefined> {
  const { url } = body;
  if (url === undefined || url === row.url || url === showAddress(row)) return undefined;
  const where = { kind: mcpSecretKind, recordId: row.id, field: mcpAddressField };
  const sealed = await stores.secrets.find(organisationOf(row), where);
  // where it cannot be opened any more, it is given again
  const stored = sealed && (await context.services.control.vault.open(sealed).catch(() => undefined));
  return url === stored ? undefined : url;
}

/** Statements that change an MCP integration, and whether its address changes. */
export async function updateMcpIntegrationRows(
  call: AdminCall<UpdateMcpIntegration>,
  row: McpIntegrationRow,
): Promise<{ statements: Statement[]; isMoved: boolean }> {
  const { body, stores, now } = call;
  const mappings = await readMappings(call, row, body.secret_mappings);
  if (mappings) checkMappings(mappings);
  refuseUnknownTemplates(body.configurations);
  const credentials = changeCredentials(row, { configurations: body.configurations }, toRules(call));
  refuseProtocolHeaders(credentials);
  const parked = changesIdentity(row, credentials, mappings) ? await changeIdentity(call, row, credentials) : [];
  const { transport = row.transport } = body;
  const newUrl = await readNewUrl(call, row);
  const url = newUrl ?? row.url;
  const openapi = transport === "openapi" ? (body.openapi ?? row.openapi) : (body.openapi ?? null);
  checkDocument({ transport, url, openapi });
  const isMoved = newUrl !== undefined;
  if (isMoved) checkUrl(url, call);
  const address = isMoved ? storeAddress(url) : undefined;
  const moved = isMoved ? [{ ...credentials, moved: [{ param: "url", fields: "" }] }] : [];
  const mapped = mappings === undefined ? mappedFields(row.secretMappings) : undefined;
  requireSecretsWithAddress([...moved, credentials], mapped);
  const changes = {
    name: body.name,
    description: body.description,
    url: address?.url,
    transport: body.transport,
    authType: body.auth_type,
    openapi: openapi === row.openapi ? undefined : openapi,
    secretMappings: mappings,
    configurations: credentials.configurations,
    masked: credentials.masked,
    lastUpdatedAt: now,
  };
  const place = { ...tenantOf(row), recordId: row.id, kind: mcpSecretKind };
  const sealed = await sealSecrets(call, place, address ? [credentials, address] : [credentials]);
  const { id, workspaceId } = row;
  const update = stores.mcpIntegrations.update(tenantOf(row), { id, workspaceId }, changes);
  return { statements: [update, ...sealed, ...parked], isMoved };
}

/** Statements for a change of who the callers of an integration are. @throws {GatewayError} */
async function changeIdentity(
  call: AdminCall<unknown>,
  row: McpIntegrationRow,
  credentials: Credentials,
): Promise<Statement[]> {
  await requireIdentityChange(call, credentials);
  return parkAccounts(call, row);
}

/**
 * Statements that remove the secrets of an MCP integration, and the gateway's registrations for it. Its other records are
 * removed with its row.
 */
export async function removeMcpParts({ stores }: AdminCall<unknown>, row: McpIntegrationRow): Promise<Statement[]> {
  const { id, workspaceId } = row;
  const organisation = organisationOf(row);
  const registrations = await stores.mcpRegistrations.all(organisation, { where: { integrationId: id } });
  const recordId = registrations.map((one) => one.id);
  const registered =
    recordId.length === 0
      ? []
      : [
          stores.secrets.remove(organisation, { kind: "mcp_registrations", recordId }),
          stores.mcpRegistrations.remove(organisation, { id: recordId }),
        ];
  return [...registered, stores.secrets.remove(tenantOf(row), { workspaceId, kind: mcpSecretKind, recordId: id })];
}
