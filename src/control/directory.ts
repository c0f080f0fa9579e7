import type { Change } from "../db/stores/audit.ts";
import type { ControlStores } from "../db/stores/control.ts";
import type { ConfigRow } from "../db/tables/configs.ts";
import type {
  IntegrationModelRow,
  IntegrationRow,
  IntegrationWorkspaceRow,
  ProviderRow,
} from "../db/tables/integrations.ts";
import type { SecretReferenceRow, SecretRow } from "../db/tables/secrets.ts";
import type { OrganisationRow, WorkspaceRow } from "../db/tables/tenants.ts";
import type { Tenant } from "../db/tenant-store.ts";
import { BoundedMap } from "../lib/bounded-map.ts";
import { type GuardrailLibrary, readGuardrailLibrary } from "./guardrail-library.ts";
import { type PromptLibrary, readPromptLibrary } from "./prompt-library.ts";
import type { ContentOpener } from "./sealed-contents.ts";
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
interface StoredReference {
  row: SecretReferenceRow;
  secrets: readonly SecretRow[];
}

/** A saved config with its current content. */
export interface StoredConfig {
  row: ConfigRow;
  /** The routing object as JSON text, its secrets in clear; undefined where they cannot be opened. */
  content: string | undefined;
}

/** A person's place in a workspace. */
interface Membership {
  userId: string;
  email: string;
  /** Role in the organisation. */
  organisationRole: string;
  /** Role in the workspace; null for people who are in it only as owners or admins of the organisation. */
  role: string | null;
}

/** All that requests to one workspace ask the control plane for. */
export interface WorkspaceView extends GuardrailLibrary {
  organisation: OrganisationRow;
  workspace: WorkspaceRow;
  /** By slug and by id. */
  providers: ReadonlyMap<string, StoredProvider>;
  /** By slug and by id. */
  configs: ReadonlyMap<string, StoredConfig>;
  /** Saved prompts and partials. */
  library: PromptLibrary;
  /** By user id. */
  members: ReadonlyMap<string, Membership>;
}

/** The control plane as the request path sees it: in memory, read again only after something changed. */
export interface Directory {
  /**
   * The view of a workspace; at once when it is in memory. Undefined when there is no such workspace or it is archived.
   * While the database is away the last view is served.
   */
  workspace(tenant: Tenant & { workspaceId: string }): WorkspaceView | undefined | Promise<WorkspaceView | undefined>;
  /** Lets go of what changed. */
  forget(changes: readonly Change[]): void;
  /** Lets go of everything, when it is not known what changed. */
  forgetAll(): void;
}

/** Most workspaces kept in memory. */
const maxViews = 5_000;

function groupBy<Row>(rows: readonly Row[], keyOf: (row: Row) => string): Map<string, Row[]> {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const group = groups.get(keyOf(row));
    if (group) group.push(row);
    else groups.set(keyOf(row), [row]);
  }
  return groups;
}

/** Records by slug and by id; a slug that looks like another's id loses. */
function byName<Record extends { row: { id: string; slug: string } }>(records: readonly Record[]): Map<string, Record> {
  return new Map([
    ...records.map((record): [string, Record] => [record.row.slug, record]),
    ...records.map((record): [string, Record] => [record.row.id, record]),
  ]);
}

/** References of the organisation that the workspace may use. */
async function readReferences(stores: ControlStores, tenant: Tenant): Promise<StoredReference[]> {
  const organisation = { organisationId: tenant.organisationId, workspaceId: null };
  const [rows, secrets] = await Promise.all([
    stores.secretReferences.all(organisation),
    stores.secrets.all(organisation, { where: { kind: secretKind } }),
  ]);
  const secretsOf = groupBy(secrets, ({ recordId }) => recordId);
  return rows
    .filter((row) => mayUseReference(row, tenant.workspaceId))
    .map((row) => ({ row, secrets: secretsOf.get(row.id) ?? [] }));
}

async function readProviders(stores: ControlStores, tenant: Tenant): Promise<Map<string, StoredProvider>> {
  const organisation = { organisationId: tenant.organisationId, workspaceId: null };
  const rows = await stores.providers.all(tenant);
  const ids = [...new Set(rows.map(({ integrationId }) => integrationId))];
  const [integrations, models, accesses, secrets] = await Promise.all([
    stores.integrations.all(organisation, { where: { id: ids } }),
    stores.integrationModels.all(organisation, { where: { integrationId: ids } }),
    stores.integrationWorkspaces.all(tenant, { where: { integrationId: ids } }),
    stores.secrets.all(organisation, { where: { kind: "integrations", recordId: ids } }),
  ]);
  const isMapped = integrations.some(({ secretMappings }) => secretMappings !== null);
  const references = isMapped ? await readReferences(stores, tenant) : [];
  const integrationOf = new Map(integrations.map((row) => [row.id, row]));
  const modelsOf = groupBy(models, ({ integrationId }) => integrationId);
  const secretsOf = groupBy(secrets, ({ recordId }) => recordId);
  const accessOf = new Map(accesses.map((row) => [row.integrationId, row]));
  const records = rows.flatMap((row): StoredProvider[] => {
    const integration = integrationOf.get(row.integrationId);
    if (!integration) return [];
    const own = modelsOf.get(integration.id) ?? [];
    return [
      {
        row,
        integration,
        access: accessOf.get(integration.id),
        models: new Map(own.map((model) => [model.slug, model])),
        secrets: secretsOf.get(integration.id) ?? [],
        references: integration.secretMappings === null ? [] : references,
      },
    ];
  });
  return byName(records);
}

async function readConfigs(
  stores: ControlStores,
  opener: ContentOpener,
  tenant: Tenant,
): Promise<Map<string, StoredConfig>> {
  const rows = await stores.configs.all(tenant, { where: { status: "active" } });
  const versions = await stores.configVersions.all(tenant, { where: { id: rows.map(({ versionId }) => versionId) } });
  const contentOf = await opener.open("configs", versions);
  return byName(rows.map((row) => ({ row, content: contentOf.get(row.versionId) })));
}

async function readMembers(stores: ControlStores, tenant: Tenant): Promise<Map<string, Membership>> {
  const organisation = { organisationId: tenant.organisationId, workspaceId: null };
  const [members, users] = await Promise.all([
    stores.members.all(tenant),
    stores.users.all(organisation, { where: { status: "active" } }),
  ]);
  const roleOf = new Map(members.map(({ userId, role }) => [userId, role]));
  const present = users.filter(({ id, role }) => role !== "member" || roleOf.has(id));
  return new Map(
    present.map(({ id, email, role }) => [
      id,
      { userId: id, email, organisationRole: role, role: roleOf.get(id) ?? null },
    ]),
  );
}

async function readView(
  stores: ControlStores,
  opener: ContentOpener,
  tenant: Tenant & { workspaceId: string },
): Promise<WorkspaceView | undefined> {
  const { organisationId, workspaceId } = tenant;
  const [organisation, workspace] = await Promise.all([
    stores.organisations.get(organisationId),
    stores.workspaces.get({ organisationId, workspaceId: null }, workspaceId),
  ]);
  if (!organisation || workspace?.status !== "active") return undefined;
  const [providers, configs, library, members, guardrailLibrary] = await Promise.all([
    readProviders(stores, tenant),
    readConfigs(stores, opener, tenant),
    readPromptLibrary(stores, tenant),
    readMembers(stores, tenant),
    readGuardrailLibrary(stores, tenant, { organisation, workspace, opener }),
  ]);
  return { organisation, workspace, providers, configs, library, members, ...guardrailLibrary };
}

/** A view in memory. */
interface Held {
  organisationId: string;
  view: WorkspaceView | undefined;
  /** Something changed: it is read again before it is used. */
  stale: boolean;
}

/** Creates the directory over the stores; `opener` opens what is sealed in contents. */
export function createDirectory(stores: ControlStores, opener: ContentOpener): Directory {
  // keyed by the workspace's id, a random UUID that no tenant chooses
  const views = new BoundedMap<string, Held>(maxViews);
  let reading = new Map<string, Promise<WorkspaceView | undefined>>();
  /** Grows with every change: what was read before is not kept. */
  let generation = 0;

  const read = async (tenant: Tenant & { workspaceId: string }, held: Held | undefined) => {
    const readIn = generation;
    const own = reading;
    try {
      const view = await readView(stores, opener, tenant);
      const { organisationId } = tenant;
      if (readIn === generation) views.set(tenant.workspaceId, { organisationId, view, stale: false });
      return view;
    } catch (error) {
      if (held) return held.view;
      throw error;
    } finally {
      own.delete(tenant.workspaceId);
    }
  };
  return {
    workspace(tenant) {
      const held = views.get(tenant.workspaceId);
      if (held && held.organisationId !== tenant.organisationId) return undefined;
      if (held && !held.stale) return held.view;
      const running = reading.get(tenant.workspaceId) ?? read(tenant, held);
      reading.set(tenant.workspaceId, running);
      return running;
    },
    forget(changes) {
      generation++;
      reading = new Map();
      const changed = new Set(changes.map(({ organisationId }) => organisationId));
      for (const [, held] of views.entries()) if (changed.has(held.organisationId)) held.stale = true;
    },
    forgetAll() {
      generation++;
      reading = new Map();
      for (const [, held] of views.entries()) held.stale = true;
    },
  };
}
