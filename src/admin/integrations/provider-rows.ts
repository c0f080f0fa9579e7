import { holderOfProvider } from "../../control/limit-holders.ts";
import type { Statement } from "../../db/client.ts";
import type { IntegrationRow, ProviderRow } from "../../db/tables/integrations.ts";
import type { Tenant } from "../../db/tenant-store.ts";
import type { ProviderObject, ProviderRecord, UpdateProvider } from "../../schemas/integrations.ts";
import type { AdminCall } from "../core/endpoint.ts";
import { showUsages, toLimitList, toStoredUsage } from "../core/limits.ts";
import { createSlug, refuseField, toIso } from "../core/request.ts";
import { showConfigurations, showKey } from "./integration-secrets.ts";

/** A provider belongs to one workspace. */
type WorkspaceTenant = Tenant & { workspaceId: string };

/** A provider with the integration it uses. */
export interface JoinedProvider {
  row: ProviderRow;
  integration: IntegrationRow;
}

/** Providers of one organisation as responses show them, without settings of integrations that the organisation shares. */
export async function showProviders(
  providers: readonly JoinedProvider[],
  object: ProviderObject,
  { now, context }: Pick<AdminCall<unknown>, "context" | "now">,
): Promise<ProviderRecord[]> {
  const holders = providers.map(({ row }) => holderOfProvider(row));
  const usages = await showUsages(holders, context.services);
  return providers.map((provider, index) => showProvider(provider, object, { now, usage: usages[index] ?? null }));
}

function showProvider(
  { row, integration }: JoinedProvider,
  object: ProviderObject,
  { now, usage }: { now: number; usage: Awaited<ReturnType<typeof showUsages>>[number] },
): ProviderRecord {
  const isExpired = row.expiresAt !== null && row.expiresAt <= now;
  return {
    id: row.id,
    name: row.name,
    slug: row.slug,
    organisation_id: row.organisationId,
    workspace_id: row.workspaceId,
    integration_id: integration.isPrivate ? null : integration.slug,
    integration_name: integration.isPrivate ? null : integration.name,
    ai_provider_name: integration.aiProviderId,
    model_config: integration.workspaceId === null ? {} : showConfigurations(integration),
    masked_api_key: showKey(integration),
    key: "",
    secret_mappings: integration.workspaceId === null ? null : integration.secretMappings,
    note: row.note,
    status: isExpired ? "expired" : (usage?.status ?? "active"),
    usage_limits: usage,
    rate_limits: row.rateLimits,
    reset_usage: null,
    last_reset_at: toIso(row.lastResetAt),
    expires_at: toIso(row.expiresAt),
    created_at: toIso(row.createdAt),
    last_updated_at: toIso(row.lastUpdatedAt || row.createdAt),
    object,
  };
}

type ProviderMembers = Omit<UpdateProvider, "name" | "workspace_id">;

/**
 * Values of a provider's columns; absent ones stay, null clears.
 *
 * @param former The stored provider, whose budget continues.
 */
export function toProviderChanges(members: ProviderMembers, now: number, former?: ProviderRow) {
  const { note, usage_limits, expires_at } = members;
  return {
    note,
    expiresAt: expires_at,
    usageLimits: usage_limits ? toStoredUsage(usage_limits, now, former?.usageLimits) : usage_limits,
    rateLimits: toLimitList(members.rate_limits),
    ...(members.reset_usage ? { lastResetAt: now } : {}),
  };
}

/** What a new provider is made from. */
interface NewProvider extends ProviderMembers {
  name: string;
  integrationId: string;
}

/** Columns of a new provider. */
export function toNewProvider({ name, integrationId, ...members }: NewProvider, now: number) {
  const { note = null, expiresAt = null, usageLimits = null, rateLimits = null } = toProviderChanges(members, now);
  return { name, integrationId, status: "active" as const, note, expiresAt, usageLimits, rateLimits };
}

/** The provider that a new or newly shared integration brings along. */
interface DefaultProvider {
  name: string;
  integrationId: string;
  slug: string | null | undefined;
  /** Slug of the integration: the provider gets it too if it is free and the body names none. */
  integrationSlug: string;
  note: string;
}

/**
 * A provider that comes with an integration: its slug, and the statement that writes it.
 *
 * @param param Field of the body that names the slug.
 * @throws {InvalidRequestError} AB01 if the workspace has a provider with the slug.
 */
export async function createDefaultProvider(
  call: AdminCall<unknown>,
  tenant: WorkspaceTenant,
  { param, integrationSlug, slug: named, ...provider }: DefaultProvider & { param: string },
): Promise<{ slug: string; statement: Statement }> {
  const { stores, now } = call;
  const wanted = named ?? integrationSlug;
  const isTaken = (await stores.providers.find(tenant, { slug: wanted })) !== undefined;
  if (named && isTaken) refuseField(param, "is used by another provider of the workspace");
  const slug = isTaken ? createSlug(provider.name, { letters: 24 }) : wanted;
  const row = { id: crypto.randomUUID(), ...tenant, slug, createdAt: now, ...toNewProvider(provider, now) };
  return { slug, statement: stores.providers.insert(tenant, row) };
}
