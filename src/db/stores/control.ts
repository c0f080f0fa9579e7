import { eq, getTableName, sql } from "drizzle-orm";
import { type Database, type Statement, toStatement } from "../client.ts";
import { alertEvents, alertRules } from "../tables/alert-rules.ts";
import { apiKeys } from "../tables/api-keys.ts";
import { gatewayBatches } from "../tables/batches.ts";
import { configs, configVersions } from "../tables/configs.ts";
import { deployments } from "../tables/deployments.ts";
import { evalAnswers, evalRuns, exampleSets, exampleVersions } from "../tables/evals.ts";
import { gatewayFiles } from "../tables/files.ts";
import { guardrails, guardrailVersions } from "../tables/guardrails.ts";
import { integrationModels, integrations, integrationWorkspaces, providers } from "../tables/integrations.ts";
import { logExports } from "../tables/log-exports.ts";
import {
  mcpCapabilities,
  mcpIntegrations,
  mcpIntegrationWorkspaces,
  mcpServerCapabilities,
  mcpServerGuardrails,
  mcpServers,
  mcpServerUsers,
} from "../tables/mcp.ts";
import { modelAliases } from "../tables/model-aliases.ts";
import { mcpConnections, mcpRegistrations, oauthClients, oauthConsents, oauthFamilies } from "../tables/oauth.ts";
import { labelPolicies, rateLimitPolicies, usageLimitPolicies } from "../tables/policies.ts";
import {
  collections,
  labels,
  partials,
  partialVersions,
  promptLabels,
  prompts,
  promptVersions,
} from "../tables/prompts.ts";
import { playgroundRuns, savedViewDefaults, savedViews } from "../tables/saved.ts";
import { scimGroupMembers, scimGroups, scimMappings, scimTokens } from "../tables/scim.ts";
import { secretReferences, secrets } from "../tables/secrets.ts";
import {
  invites,
  type OrganisationRow,
  organisations,
  users,
  workspaceExclusions,
  workspaceMembers,
  workspaces,
} from "../tables/tenants.ts";
import { vectorStoreFiles, vectorStores } from "../tables/vector-stores.ts";
import { createTenantStore, type Tenant } from "../tenant-store.ts";
import { createAuditStore } from "./audit.ts";

/** Organisations: the one table whose rows are tenants themselves. */
function createOrganisationStore(database: Database) {
  const { orm } = database;
  const resource = getTableName(organisations);
  return {
    /** The organisation with this id. */
    async get(id: string): Promise<OrganisationRow | undefined> {
      const [row] = await orm.select().from(organisations).where(eq(organisations.id, id)).limit(1);
      return row;
    },
    /** The organisation with this slug. */
    async bySlug(slug: string): Promise<OrganisationRow | undefined> {
      const [row] = await orm.select().from(organisations).where(eq(organisations.slug, slug)).limit(1);
      return row;
    },
    /** The organisation of an installation that has exactly one. */
    async only(): Promise<OrganisationRow | undefined> {
      const [row, other] = await orm.select().from(organisations).limit(2);
      return other ? undefined : row;
    },
    /** Organisations that keep log rows for a time that they set. */
    async listLogRetention(): Promise<{ organisationId: string; days: number }[]> {
      const days = sql<number | null>`settings ->> 'log_retention_days'`;
      const rows = await orm.select({ organisationId: organisations.id, days }).from(organisations);
      return rows.flatMap(({ organisationId, days }) => (typeof days === "number" ? [{ organisationId, days }] : []));
    },
    /** The oldest organisation. */
    async first(): Promise<OrganisationRow | undefined> {
      const [row] = await orm.select().from(organisations).orderBy(organisations.createdAt, organisations.id).limit(1);
      return row;
    },
    /** For operator commands: every organisation, oldest first. */
    listAll: (): Promise<OrganisationRow[]> => orm.select().from(organisations).orderBy(organisations.createdAt),
    resource,
    insert: (row: typeof organisations.$inferInsert): Statement => ({
      ...toStatement(orm.insert(organisations).values(row)),
      written: { resource, workspaceId: null, recordIds: [row.id] },
    }),
    update: (id: string, changes: Partial<typeof organisations.$inferInsert>): Statement => ({
      ...toStatement(orm.update(organisations).set(changes).where(eq(organisations.id, id))),
      written: { resource, workspaceId: null, recordIds: [id] },
    }),
  };
}

/** Stores of saved views and playground runs. */
const createSavedStores = (database: Database) => ({
  playgroundRuns: createTenantStore(database, playgroundRuns),
  savedViews: createTenantStore(database, savedViews),
  savedViewDefaults: createTenantStore(database, savedViewDefaults),
});

/** Every store of the control plane. */
export function createControlStores(database: Database) {
  return {
    organisations: createOrganisationStore(database),
    workspaces: createTenantStore(database, workspaces, { workspace: "id" }),
    users: createTenantStore(database, users),
    members: createTenantStore(database, workspaceMembers),
    invites: createTenantStore(database, invites),
    exclusions: createTenantStore(database, workspaceExclusions),
    apiKeys: createTenantStore(database, apiKeys),
    configs: createTenantStore(database, configs),
    configVersions: createTenantStore(database, configVersions),
    modelAliases: createTenantStore(database, modelAliases),
    ...createSavedStores(database),
    alertRules: createTenantStore(database, alertRules),
    alertEvents: createTenantStore(database, alertEvents),
    guardrails: createTenantStore(database, guardrails),
    guardrailVersions: createTenantStore(database, guardrailVersions),
    usageLimitPolicies: createTenantStore(database, usageLimitPolicies),
    rateLimitPolicies: createTenantStore(database, rateLimitPolicies),
    labelPolicies: createTenantStore(database, labelPolicies),
    collections: createTenantStore(database, collections),
    labels: createTenantStore(database, labels),
    prompts: createTenantStore(database, prompts),
    promptVersions: createTenantStore(database, promptVersions),
    promptLabels: createTenantStore(database, promptLabels),
    partials: createTenantStore(database, partials),
    partialVersions: createTenantStore(database, partialVersions),
    integrations: createTenantStore(database, integrations),
    integrationModels: createTenantStore(database, integrationModels),
    integrationWorkspaces: createTenantStore(database, integrationWorkspaces),
    providers: createTenantStore(database, providers),
    mcpIntegrations: createTenantStore(database, mcpIntegrations),
    mcpIntegrationWorkspaces: createTenantStore(database, mcpIntegrationWorkspaces),
    mcpCapabilities: createTenantStore(database, mcpCapabilities),
    mcpServers: createTenantStore(database, mcpServers),
    mcpServerCapabilities: createTenantStore(database, mcpServerCapabilities),
    mcpServerUsers: createTenantStore(database, mcpServerUsers),
    mcpServerGuardrails: createTenantStore(database, mcpServerGuardrails),
    mcpConnections: createTenantStore(database, mcpConnections),
    mcpRegistrations: createTenantStore(database, mcpRegistrations),
    oauthClients: createTenantStore(database, oauthClients),
    oauthConsents: createTenantStore(database, oauthConsents),
    oauthFamilies: createTenantStore(database, oauthFamilies),
    secrets: createTenantStore(database, secrets, { kind: "kind" }),
    secretReferences: createTenantStore(database, secretReferences),
    deployments: createTenantStore(database, deployments),
    scimTokens: createTenantStore(database, scimTokens),
    scimGroups: createTenantStore(database, scimGroups),
    scimGroupMembers: createTenantStore(database, scimGroupMembers),
    scimMappings: createTenantStore(database, scimMappings),
    gatewayFiles: createTenantStore(database, gatewayFiles),
    gatewayBatches: createTenantStore(database, gatewayBatches),
    vectorStores: createTenantStore(database, vectorStores),
    vectorStoreFiles: createTenantStore(database, vectorStoreFiles),
    logExports: createTenantStore(database, logExports),
    exampleSets: createTenantStore(database, exampleSets),
    exampleVersions: createTenantStore(database, exampleVersions),
    evalRuns: createTenantStore(database, evalRuns),
    evalAnswers: createTenantStore(database, evalAnswers),
    audit: createAuditStore(database),
  };
}
export type ControlStores = ReturnType<typeof createControlStores>;

/** Stores by the rows they hold. */
type StoreOf<Row> = { get(tenant: Tenant, idOrSlug: string): Promise<Row | undefined> };

/** Names of the stores whose rows are records: they have an id. */
export type RecordStoreName = {
  [Name in keyof ControlStores]: ControlStores[Name] extends StoreOf<{ id: string; organisationId: string | null }>
    ? Name
    : never;
}[keyof ControlStores];
