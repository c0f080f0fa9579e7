import type { ControlStores } from "../db/stores/control.ts";
import type {
  IntegrationModelRow,
  IntegrationRow,
  IntegrationWorkspaceRow,
  ProviderRow,
} from "../db/tables/integrations.ts";
import type { SecretReferenceRow, SecretRow } from "../db/tables/secrets.ts";
import { readTogether, type Tenant } from "../db/tenant-store.ts";
import { byName, groupBy } from "../lib/records.ts";
import { mayUseReference, secretKind } from "./secret-managers/open.ts";

/** A stored provider with all it needs to be called. */
export interface StoredProvider {
  row: ProviderRow;
  integration: IntegrationRow;
  /** Models of the integration by slug. */
  models: ReadonlyMap<string, IntegrationModelRow>;
  /** The workspace's access to an integration of the organisation; undefined where none was ever given. */
  access: IntegrationWorkspaceRow | undefined;
  /** Sealed secrets of the integration. */
  secrets: readonly SecretRow[];
  /** References its secrets come from, where it has any. */
  references: readonly StoredReference[];
}

/** Where a secret lies in a store outside, and the sealed secrets that open that store. */
export interface StoredReference {
  row: SecretReferenceRow;
  secrets: readonly SecretRow[];
}

/** An integration that a workspace may use without a provider: its own, or one of the organisation. */
export type UsableIntegration = Pick<StoredProvider, "integration" | "secrets" | "references" | "access">;

/** An integration with what belongs to it. */
type StoredIntegration = Pick<StoredProvider, "integration" | "models" | "secrets">;

/** Integrations by id. */
type Integrations = ReadonlyMap<string, StoredIntegration>;

/** Providers of a workspace, and which integrations of the organisation it may use, by their id. */
interface Providers {
  rows: readonly ProviderRow[];
  accesses: ReadonlyMap<string, IntegrationWorkspaceRow>;
}

/** Reads the providers of a workspace. */
export async function readProviders(
  { providers, integrationWorkspaces }: Pick<ControlStores, "providers" | "integrationWorkspaces">,
  tenant: Tenant,
): Promise<Providers> {
  const [rows, accesses] = await readTogether([providers.query(tenant), integrationWorkspaces.query(tenant)]);
  return { rows, accesses: new Map(accesses.map((row) => [row.integrationId, row])) };
}

/** Reads the integrations of one workspace or, without one, those of the organisation itself. */
export async function readIntegrations(
  { integrations, integrationModels, secrets }: Pick<ControlStores, "integrations" | "integrationModels" | "secrets">,
  { organisationId, workspaceId }: Tenant,
): Promise<Integrations> {
  const organisation = { organisationId, workspaceId: null };
  const ids = integrations.values(organisation, "id", { workspaceId });
  const [rows, models, sealed] = await readTogether([
    integrations.query(organisation, { where: { workspaceId } }),
    integrationModels.query(organisation, { where: { integrationId: ids } }),
    secrets.query(organisation, { where: { kind: "integrations", recordId: ids } }),
  ]);
  const modelsOf = groupBy(models, ({ integrationId }) => integrationId);
  const secretsOf = groupBy(sealed, ({ recordId }) => recordId);
  const stored = rows.map((integration): [string, StoredIntegration] => {
    const own = modelsOf.get(integration.id) ?? [];
    const modelBySlug = new Map(own.map((model) => [model.slug, model]));
    return [integration.id, { integration, models: modelBySlug, secrets: secretsOf.get(integration.id) ?? [] }];
  });
  return new Map(stored);
}

/** Reads where the organisation's secrets lie in stores outside. */
export async function readReferences(
  { secretReferences, secrets }: Pick<ControlStores, "secretReferences" | "secrets">,
  tenant: Tenant,
): Promise<StoredReference[]> {
  const [rows, sealed] = await readTogether([
    secretReferences.query(tenant),
    secrets.query(tenant, { where: { kind: secretKind } }),
  ]);
  const secretsOf = groupBy(sealed, ({ recordId }) => recordId);
  return rows.map((row) => ({ row, secrets: secretsOf.get(row.id) ?? [] }));
}

/** Providers with their integrations, by slug and by id; one whose integration is neither of both is left out. */
export function joinProviders(
  { rows, accesses }: Providers,
  { shared, own }: { shared: Integrations; own: Integrations },
  references: readonly StoredReference[],
): ReadonlyMap<string, StoredProvider> {
  const joined = rows.flatMap((row): StoredProvider[] => {
    const stored = own.get(row.integrationId) ?? shared.get(row.integrationId);
    if (!stored) return [];
    const { integration } = stored;
    const mapped = integration.secretMappings === null ? [] : references;
    return [
      {
        row,
        ...stored,
        access: accesses.get(integration.id),
        references: mapped.filter((reference) => mayUseReference(reference.row, row.workspaceId)),
      },
    ];
  });
  return byName(joined);
}

/** All integrations of a workspace and its organisation. */
export function joinIntegrations(
  { accesses }: Providers,
  { shared, own }: { shared: Integrations; own: Integrations },
  references: readonly StoredReference[],
  workspaceId: string,
): readonly UsableIntegration[] {
  return [...own.values(), ...shared.values()].map(({ integration, secrets }) => ({
    integration,
    secrets,
    access: accesses.get(integration.id),
    references:
      integration.secretMappings === null ? [] : references.filter(({ row }) => mayUseReference(row, workspaceId)),
  }));
}
