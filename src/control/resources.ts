import type { ControlStores } from "../db/stores/control.ts";
import type { OrganisationRow, WorkspaceRow } from "../db/tables/tenants.ts";
import type { Tenant } from "../db/tenant-store.ts";
import { reuseLast } from "../lib/records.ts";
import {
  joinMcpServers,
  readMcpIntegrations,
  readMcpServers,
  type StoredMcpServer,
} from "../mcp/registry/mcp-library.ts";
import { type AppliedLimit, limitsOf } from "../policies/applied.ts";
import type { LabelPolicies } from "../policies/label-policy.ts";
import { type AliasLibrary, joinAliases, readAliases } from "./alias-library.ts";
import { readConfigs, type StoredConfig } from "./config-library.ts";
import {
  type DefaultGuardrails,
  type GuardrailMap,
  joinDefaultGuardrails,
  joinGuardrails,
  readGuardrails,
  readToolGuardrails,
  withoutOthers,
} from "./guardrail-library.ts";
import { holderOfWorkspace } from "./limit-holders.ts";
import { joinMembers, type Members, readRoles, readUsers } from "./members.ts";
import { type PolicyLibrary, readLabelPolicies, readPolicies, readToolPolicies } from "./policy-library.ts";
import { type PartialLibrary, type PromptLibrary, readPartials, readPrompts } from "./prompt-library.ts";
import {
  joinIntegrations,
  joinProviders,
  readIntegrations,
  readProviders,
  readReferences,
  type StoredProvider,
  type UsableIntegration,
} from "./provider-library.ts";
import type { ContentOpener } from "./sealed-contents.ts";
import { blocksInlineConfig, type UnpricedModels, unpricedModelsOf } from "./settings.ts";

/** All that requests to one workspace ask the control plane for. A change makes a new one. */
export interface WorkspaceView {
  organisation: OrganisationRow;
  workspace: WorkspaceRow;
  /** By slug and by id. */
  providers: ReadonlyMap<string, StoredProvider>;
  /** Those of the workspace first, then those of the organisation, shared or not. */
  integrations: readonly UsableIntegration[];
  /** By slug and by id. */
  configs: ReadonlyMap<string, StoredConfig>;
  modelAliases: AliasLibrary;
  prompts: PromptLibrary;
  partials: PartialLibrary;
  /** By slug and by id: the workspace's own and the organisation's. */
  guardrails: GuardrailMap;
  defaultGuardrails: DefaultGuardrails;
  members: Members;
  policies: PolicyLibrary;
  /** Undefined where it has none. */
  labelPolicies: LabelPolicies | undefined;
  /** The workspace allows saved configs only. */
  blocksInlineConfig: boolean;
  /** What its organisation does with models that have no price. */
  unpricedModels: UnpricedModels;
  /** Its own limits, which its keys share. */
  limits: readonly AppliedLimit[];
  /** MCP servers by slug. */
  mcpServers: ReadonlyMap<string, StoredMcpServer>;
  /** Those for calls of MCP tools. */
  toolPolicies: PolicyLibrary;
  /** Guardrails for calls of MCP tools, and the ids of those that run on all of them. */
  toolGuardrails: { guardrails: GuardrailMap; defaultGuardrails: DefaultGuardrails };
}

/** Stores a resource can be read from. */
type StoreName = Exclude<keyof ControlStores, "audit">;

/**
 * Whose rows a resource is read from, which is whose writes make it stale.
 *
 * - `workspace`: those of one workspace. Read once for each.
 * - `shared`: those of the organisation that are no workspace's. Read once for all of its workspaces.
 * - `organisation`: all of the organisation. Read once for all of its workspaces.
 */
type Scope = "workspace" | "shared" | "organisation";

/** A part of the control plane that is read, held in memory and dropped as a whole. */
export interface Resource<Value = unknown> {
  scope: Scope;
  /** Stores it is read from: a write to one of them makes it stale. */
  reads: readonly StoreName[];
  /** @param tenant A workspace, or the organisation where the resource is not read for one. */
  read(stores: ControlStores, tenant: Tenant, opener: ContentOpener): Promise<Value>;
}

/**
 * Declares a resource. Its loader sees the stores in `reads` and no others. Sealed secrets are parts of their records: their
 * writes count as writes of the table that is their kind.
 */
function defineResource<const Name extends StoreName, Value>(
  scope: Scope,
  reads: readonly Name[],
  read: (stores: Pick<ControlStores, Name>, tenant: Tenant, opener: ContentOpener) => Promise<Value>,
): Resource<Value> {
  return { scope, reads, read };
}

/** Every resource of the directory. One entry makes a further one: `assembleView` finds its value under its name. */
export const resources = {
  organisation: defineResource("organisation", ["organisations"], ({ organisations }, { organisationId }) =>
    organisations.get(organisationId),
  ),
  users: defineResource("organisation", ["users"], readUsers),
  references: defineResource("organisation", ["secretReferences", "secrets"], readReferences),
  sharedIntegrations: defineResource("shared", ["integrations", "integrationModels", "secrets"], readIntegrations),
  sharedModelAliases: defineResource("shared", ["modelAliases"], readAliases),
  sharedGuardrails: defineResource("shared", ["guardrails", "guardrailVersions", "secrets"], readGuardrails),
  sharedMcpIntegrations: defineResource(
    "shared",
    ["mcpIntegrations", "mcpCapabilities", "secrets"],
    readMcpIntegrations,
  ),
  workspace: defineResource("workspace", ["workspaces"], ({ workspaces }, { organisationId, workspaceId }) =>
    workspaces.find({ organisationId, workspaceId: null }, { id: workspaceId ?? "" }),
  ),
  roles: defineResource("workspace", ["members"], readRoles),
  providers: defineResource("workspace", ["providers", "integrationWorkspaces"], readProviders),
  integrations: defineResource("workspace", ["integrations", "integrationModels", "secrets"], readIntegrations),
  mcpIntegrations: defineResource("workspace", ["mcpIntegrations", "mcpCapabilities", "secrets"], readMcpIntegrations),
  mcpServers: defineResource(
    "workspace",
    ["mcpServers", "mcpServerCapabilities", "mcpServerUsers", "mcpServerGuardrails", "mcpIntegrationWorkspaces"],
    readMcpServers,
  ),
  configs: defineResource("workspace", ["configs", "configVersions", "secrets"], readConfigs),
  modelAliases: defineResource("workspace", ["modelAliases"], readAliases),
  prompts: defineResource("workspace", ["prompts", "promptVersions", "promptLabels", "labels"], readPrompts),
  partials: defineResource("workspace", ["partials", "partialVersions"], readPartials),
  guardrails: defineResource("workspace", ["guardrails", "guardrailVersions", "secrets"], readGuardrails),
  labelPolicies: defineResource("workspace", ["labelPolicies"], readLabelPolicies),
  policies: defineResource("workspace", ["usageLimitPolicies", "rateLimitPolicies"], readPolicies),
  toolPolicies: defineResource("workspace", ["rateLimitPolicies"], readToolPolicies),
  sharedToolGuardrails: defineResource("shared", ["guardrails", "guardrailVersions", "secrets"], readToolGuardrails),
  toolGuardrails: defineResource("workspace", ["guardrails", "guardrailVersions", "secrets"], readToolGuardrails),
  exclusions: defineResource("workspace", ["exclusions"], ({ exclusions }, tenant) => exclusions.all(tenant)),
};
export type ResourceName = keyof typeof resources;

/** What was read of each resource. */
export type Slices = { [Name in ResourceName]: Awaited<ReturnType<(typeof resources)[Name]["read"]>> };

/** Makes the views of one workspace; what did not change is the same object in the next view. */
export function createAssembler(): (slices: Slices) => WorkspaceView | undefined {
  const providersOf = reuseLast(
    (
      providers: Slices["providers"],
      shared: Slices["sharedIntegrations"],
      own: Slices["integrations"],
      references: Slices["references"],
    ) => joinProviders(providers, { shared, own }, references),
  );
  const mcpServersOf = reuseLast(joinMcpServers);
  let workspaceId = "";
  const integrationsOf = reuseLast(
    (
      providers: Slices["providers"],
      shared: Slices["sharedIntegrations"],
      own: Slices["integrations"],
      references: Slices["references"],
    ) => joinIntegrations(providers, { shared, own }, references, workspaceId),
  );
  const modelAliasesOf = reuseLast(joinAliases);
  const guardrailsOf = reuseLast(joinGuardrails);
  const toolGuardrailsOf = reuseLast(joinGuardrails);
  const unpricedOf = reuseLast(unpricedModelsOf);
  const ownLimitsOf = reuseLast((workspace: WorkspaceRow) => limitsOf(holderOfWorkspace(workspace)));
  return (slices) => {
    const { organisation, workspace, configs, prompts, partials, policies, toolPolicies } = slices;
    if (!organisation || workspace?.status !== "active") return undefined;
    workspaceId = workspace.id;
    const guardrails = guardrailsOf(slices.sharedGuardrails, slices.guardrails);
    const toolGuardrails = toolGuardrailsOf(slices.sharedToolGuardrails, slices.toolGuardrails);
    const defaults = joinDefaultGuardrails(organisation, workspace, slices.exclusions);
    return {
      organisation,
      workspace,
      configs,
      modelAliases: modelAliasesOf(slices.sharedModelAliases, slices.modelAliases),
      prompts,
      partials,
      policies,
      labelPolicies: slices.labelPolicies,
      blocksInlineConfig: blocksInlineConfig({ organisation, workspace }),
      unpricedModels: unpricedOf(organisation),
      limits: ownLimitsOf(workspace),
      toolPolicies,
      toolGuardrails: { guardrails: toolGuardrails, defaultGuardrails: withoutOthers(defaults, guardrails) },
      providers: providersOf(slices.providers, slices.sharedIntegrations, slices.integrations, slices.references),
      integrations: integrationsOf(slices.providers, slices.sharedIntegrations, slices.integrations, slices.references),
      mcpServers: mcpServersOf(
        slices.mcpServers,
        slices.sharedMcpIntegrations,
        slices.mcpIntegrations,
        slices.references,
      ),
      guardrails,
      defaultGuardrails: withoutOthers(defaults, toolGuardrails),
      members: joinMembers(slices.users, slices.roles),
    };
  };
}
