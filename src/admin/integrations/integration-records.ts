import { configurationPrefix, integrationSecretKind } from "../../control/integration-fields.ts";
import type { Statement } from "../../db/client.ts";
import type { IntegrationRow } from "../../db/tables/integrations.ts";
import type { Tenant } from "../../db/tenant-store.ts";
import { requireScopes } from "../../endpoint/role.ts";
import { partnerForm } from "../../guardrails/partners/forms.ts";
import { isObject } from "../../lib/json.ts";
import { describeUnknownProvider } from "../../providers/registry.ts";
import type { SecretMappings } from "../../schemas/control.ts";
import type { integrationLevels, ShownAdjustments } from "../../schemas/integrations.ts";
import type { Labels } from "../../schemas/labels.ts";
import type { AdminCall } from "../core/endpoint.ts";
import {
  forbid,
  namedWorkspace,
  readChoice,
  readTenant,
  refuseField,
  requireFound,
  requireReferenced,
} from "../core/request.ts";
import {
  type CredentialChanges,
  type CredentialRules,
  changeCredentials,
  formOf,
  keepAddresses,
  requireComplete,
  requireSecretsWithAddress,
  sealSecrets,
} from "./integration-secrets.ts";

/** The owner of an integration: a workspace, or the organisation, which shares it. */
export type Level = (typeof integrationLevels)[number];

/** The level of a tenant, or of a record. */
export function levelOf({ workspaceId }: { workspaceId: string | null }): Level {
  return workspaceId === null ? "organisation" : "workspace";
}

/** The scope for a verb on integrations of a level. */
export function scopeOf(level: Level, verb: string): string {
  return `${level}_integrations.${verb}`;
}

/** The scopes of a kind of integration. */
type ScopeOf = (level: Level, verb: string) => string;

/** The tenant of an integration's rows. */
export function tenantOf({ organisationId, workspaceId }: Tenant): Tenant {
  return { organisationId, workspaceId };
}

/** The row of an integration and its owner, which a tenant without a workspace does not say. */
export function ownOf({ id, workspaceId }: IntegrationRow) {
  return { id, workspaceId };
}

/** A statement on parts of an integration, marked as a write in its workspace, which the rows of parts do not name. */
export function asOwn(statement: Required<Statement>, { workspaceId }: { workspaceId: string | null }): Statement {
  return { ...statement, written: { ...statement.written, workspaceId } };
}

/** Whether a workspace may use an integration: its own, or one the organisation shares with it. */
export async function mayUse({ stores }: AdminCall<unknown>, tenant: Tenant, row: IntegrationRow): Promise<boolean> {
  if (row.workspaceId !== null) return row.workspaceId === tenant.workspaceId;
  const access = await stores.integrationWorkspaces.find(tenant, { integrationId: row.id, enabled: true });
  return access !== undefined;
}

/**
 * The integration a path names.
 *
 * @throws {NotFoundError} AB08 for an unknown, private or foreign one, or one not shared with the caller's workspace.
 * @throws {PermissionError} AB03 if the key lacks the scope for its level.
 */
export async function findIntegration(call: AdminCall<unknown>, verb: string): Promise<IntegrationRow> {
  const tenant = await readTenant(call, namedWorkspace(call));
  const found = await call.stores.integrations.get(tenant, call.params.slug ?? "", { includeOrganisation: true });
  const isSeen =
    found !== undefined && !found.isPrivate && (tenant.workspaceId === null || (await mayUse(call, tenant, found)));
  const row = requireFound(isSeen ? found : undefined, "integration");
  await requireScopes(call.context, [scopeOf(levelOf(row), verb)]);
  return row;
}

/** The owner of a new integration. @throws {PermissionError} AB03 if the caller may not create one there. */
export async function readNewOwner(call: AdminCall<unknown>, scopeOf: ScopeOf): Promise<Tenant> {
  const tenant = await readTenant(call, namedWorkspace(call));
  await requireScopes(call.context, [scopeOf(levelOf(tenant), "create")]);
  return tenant;
}

/** Levels a list shows: the requested ones, as far as the key may list them. */
export function readLevels({ query, context }: AdminCall<undefined>, scopeOf: ScopeOf): Level[] {
  const type = readChoice(query, "type", ["workspace", "organisation", "all"]) ?? "all";
  const asked: Level[] = type === "all" ? ["workspace", "organisation"] : [type];
  const held = asked.filter((level) => context.principal.scopes.has(scopeOf(level, "list")));
  return held.length > 0 ? held : forbid(`This key needs the scope ${scopeOf(asked[0] ?? "workspace", "list")}`);
}

/** What lists of integrations say of their levels. */
export const levelQuery = { name: "type", description: "workspace, organisation or all (default)" };

/** Whether integrations of a service are for guardrails alone: it has no models. */
export function isPartnerOnly({ context: { services } }: AdminCall<unknown>, id: string): boolean {
  const slug = services.providerRules.aliases.get(id) ?? id;
  return !services.providers.has(slug) && partnerForm(slug) !== undefined;
}

/**
 * The slug of a provider or, for integrations, of a partner of guardrails.
 *
 * @throws {InvalidRequestError} AB01 for an unknown one.
 */
export function requireKnownService(call: AdminCall<unknown>, id: string, param: string): string {
  const { aliases } = call.context.services.providerRules;
  return partnerForm(id) !== undefined && !aliases.has(id) ? id : requireKnownProvider(call, id, param);
}

/** @throws {InvalidRequestError} AB01 for an unknown provider. */
export function requireKnownProvider({ context: { services } }: AdminCall<unknown>, id: string, param: string): string {
  const slug = services.providerRules.aliases.get(id) ?? id;
  if (!services.providers.has(slug)) refuseField(param, describeUnknownProvider(id, services.providers.keys()));
  return slug;
}

/**
 * Validated sources of an integration's secrets.
 *
 * @returns Undefined if absent, null for an empty list.
 * @throws {NotFoundError} AB02 for an unknown reference, or one the workspace may not use.
 */
export async function readMappings(
  { stores }: AdminCall<unknown>,
  { organisationId, workspaceId }: Tenant,
  mappings: SecretMappings | null | undefined,
): Promise<SecretMappings | null | undefined> {
  if (!mappings) return mappings;
  const normal = mappings.map((mapping) => ({
    ...mapping,
    target_field: mapping.target_field.replace(/^model_config\./, configurationPrefix),
  }));
  if (new Set(normal.map(({ target_field }) => target_field)).size < normal.length) {
    refuseField("secret_mappings", "must name each target_field once");
  }
  for (const [index, { secret_reference_id }] of normal.entries()) {
    const row = await stores.secretReferences.get({ organisationId, workspaceId: null }, secret_reference_id);
    const mayUseIt = row?.allowAllWorkspaces || workspaceId === null || row?.allowedWorkspaces?.includes(workspaceId);
    requireReferenced(mayUseIt ? row : undefined, `secret_mappings.${index}.secret_reference_id`);
  }
  return normal.length === 0 ? null : normal;
}

/** Fields that are mapped from external secrets. */
export function mappedFields(mappings: unknown): ReadonlySet<string> {
  const list = Array.isArray(mappings) ? mappings : [];
  return new Set(list.flatMap((mapping) => (isObject(mapping) ? [String(mapping.target_field)] : [])));
}

/** What a new integration is made from. */
interface NewIntegration extends CredentialChanges {
  name: string;
  slug: string;
  aiProviderId: string;
  description?: string | null | undefined;
  isPrivate?: boolean;
  secretMappings?: SecretMappings | null | undefined;
  pricingAdjustments?: ShownAdjustments | null | undefined;
  labels?: Labels | null | undefined;
  paramOf?: CredentialRules["paramOf"];
}

/** A new integration and the statements that write it. */
export async function createIntegrationRows(
  call: AdminCall<unknown>,
  tenant: Tenant,
  given: NewIntegration,
): Promise<{ id: string; statements: Statement[] }> {
  const { stores, now } = call;
  const rules = toRules(call, given.aiProviderId, given.paramOf);
  const mappings = (await readMappings(call, tenant, given.secretMappings)) ?? null;
  const credentials = changeCredentials(undefined, given, rules);
  requireComplete(credentials, mappedFields(mappings), rules);
  const id = crypto.randomUUID();
  const row = {
    id,
    ...tenantOf(tenant),
    slug: given.slug,
    name: given.name,
    description: given.description ?? null,
    aiProviderId: given.aiProviderId,
    status: "active" as const,
    isPrivate: given.isPrivate ?? false,
    configurations: credentials.configurations,
    masked: credentials.masked,
    secretMappings: mappings,
    pricingAdjustments: given.pricingAdjustments ?? null,
    labels: given.labels ?? null,
    createdAt: now,
  };
  const sealed = await sealSecrets(call, { ...tenantOf(tenant), recordId: id }, [credentials]);
  return { id, statements: [stores.integrations.insert(tenantOf(tenant), row), ...sealed] };
}

/** What settings of an integration are validated against. */
export function toRules(
  { context: { services } }: AdminCall<unknown>,
  aiProviderId: string,
  paramOf?: CredentialRules["paramOf"],
): CredentialRules {
  return { services, form: formOf(aiProviderId, services), owner: aiProviderId, ...(paramOf && { paramOf }) };
}

/** Changes of an integration; absent ones stay, null clears. */
interface IntegrationChanges extends CredentialChanges {
  name?: string | undefined;
  description?: string | null | undefined;
  secretMappings?: SecretMappings | null | undefined;
  pricingAdjustments?: ShownAdjustments | null | undefined;
  labels?: Labels | null | undefined;
  paramOf?: CredentialRules["paramOf"];
}

/** Statements that change an integration. */
export async function updateIntegrationRows(
  call: AdminCall<unknown>,
  row: IntegrationRow,
  given: IntegrationChanges,
): Promise<Statement[]> {
  const { stores, now } = call;
  const rules = toRules(call, row.aiProviderId, given.paramOf);
  const mappings = await readMappings(call, row, given.secretMappings);
  const place = { ...tenantOf(row), recordId: row.id };
  const credentials = changeCredentials(row, await keepAddresses(call, given, { masked: row.masked, place }), rules);
  requireComplete(credentials, mappedFields(mappings === undefined ? row.secretMappings : mappings), rules);
  requireSecretsWithAddress([credentials], mappings === undefined ? mappedFields(row.secretMappings) : undefined);
  const changes = {
    name: given.name,
    description: given.description,
    secretMappings: mappings,
    configurations: credentials.configurations,
    masked: credentials.masked,
    pricingAdjustments: given.pricingAdjustments,
    labels: given.labels,
    lastUpdatedAt: now,
  };
  const sealed = await sealSecrets(call, place, [credentials]);
  return [stores.integrations.update(tenantOf(row), ownOf(row), changes), ...sealed];
}

/** The statement that removes the secrets of an integration. Its other records are removed with its row. */
export function removeSecrets({ stores }: AdminCall<unknown>, row: IntegrationRow): Statement {
  const { workspaceId, id } = row;
  return stores.secrets.remove(tenantOf(row), { workspaceId, kind: integrationSecretKind, recordId: id });
}
