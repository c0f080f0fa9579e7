import { holderOfAccess } from "../../control/limit-holders.ts";
import type { Statement } from "../../db/client.ts";
import type { IntegrationRow, IntegrationWorkspaceRow } from "../../db/tables/integrations.ts";
import type { WorkspaceRow } from "../../db/tables/tenants.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import type { ShownBudget, StoredAccess, StoredBudget } from "../../schemas/control.ts";
import {
  type IntegrationWorkspace,
  IntegrationWorkspaceList,
  type ShownAccess,
  UpdateWorkspaceAccess,
} from "../../schemas/integrations.ts";
import { NoContent } from "../../schemas/objects.ts";
import { type AdminCall, type AnswerOf, defineRead, defineWrite } from "../core/endpoint.ts";
import { showNewUsageList, showUsageLists, toLimitList, toStoredUsageList } from "../core/limits.ts";
import { forbid, refuseField, toIso } from "../core/request.ts";
import { findIntegration, isPartnerOnly, ownOf, scopeOf, tenantOf } from "./integration-records.ts";
import { createDefaultProvider } from "./provider-rows.ts";

type GivenAccess = NonNullable<UpdateWorkspaceAccess["workspaces"]>[number];
type GlobalAccess = NonNullable<UpdateWorkspaceAccess["global_workspace_access"]>;

/** Access of workspaces created later, as responses show it. */
export function showGlobalAccess(stored: StoredAccess | null): AnswerOf<typeof ShownAccess> {
  const { enabled = false, usage_limits = null, rate_limits = null } = stored ?? {};
  return { enabled, usage_limits: showNewUsageList(usage_limits), rate_limits };
}

function organisationOf({ organisationId }: IntegrationRow) {
  return { organisationId, workspaceId: null };
}

/** A workspace with its access; `access` is undefined for the workspace that has the integration. */
function showAccess(
  workspace: WorkspaceRow,
  access: IntegrationWorkspaceRow | undefined,
  usage: ShownBudget[] | null | undefined,
): IntegrationWorkspace {
  return {
    id: workspace.id,
    name: workspace.name,
    slug: workspace.slug,
    enabled: access?.enabled ?? true,
    usage_limits: usage ?? null,
    rate_limits: access?.rateLimits ?? null,
    last_reset_at: toIso(access?.lastResetAt),
  };
}

async function listWorkspaces(call: AdminCall<undefined>): Promise<AnswerOf<typeof IntegrationWorkspaceList>> {
  const { stores, context } = call;
  const integration = await findIntegration(call, "read");
  const tenant = organisationOf(integration);
  const workspaces = await stores.workspaces.all(tenant, { where: { status: "active" } });
  const accesses = await stores.integrationWorkspaces.all(tenant, { where: { integrationId: integration.id } });
  const usages = await showUsageLists(accesses.map(holderOfAccess), context.services);
  const accessOf = new Map(accesses.map((access, index) => [access.workspaceId, { access, usage: usages[index] }]));
  const shown = workspaces.flatMap((workspace) => {
    if (integration.workspaceId === workspace.id) return [showAccess(workspace, undefined, null)];
    const own = accessOf.get(workspace.id);
    return own ? [showAccess(workspace, own.access, own.usage)] : [];
  });
  return { total: shown.length, workspaces: shown };
}

/**
 * Fields of access as they are stored; absent ones stay.
 *
 * @param former The stored budgets, which continue.
 */
function toAccess(given: GlobalAccess, now: number, former: readonly StoredBudget[] | null | undefined) {
  return {
    enabled: given.enabled,
    usageLimits: toStoredUsageList(given.usage_limits, now, former),
    rateLimits: toLimitList(given.rate_limits),
  };
}

type AccessChanges = ReturnType<typeof toAccess>;

/** One workspace whose access changes. */
interface Grant {
  workspaceId: string;
  changes: AccessChanges & { lastResetAt?: number };
  stored: IntegrationWorkspaceRow | undefined;
  /** What the body says of this workspace, and where. */
  named: { given: GivenAccess; param: string } | undefined;
}

/** Access of all workspaces as it is stored: absent fields are null. */
function toGlobalAccess(given: GlobalAccess, now: number, { globalWorkspaceAccess }: IntegrationRow) {
  const { enabled, usageLimits = null, rateLimits = null } = toAccess(given, now, globalWorkspaceAccess?.usage_limits);
  return { enabled, usageLimits, rateLimits };
}

/** The access every workspace gets; undefined when it does not change. */
function readOverride(
  { body, now }: AdminCall<UpdateWorkspaceAccess>,
  integration: IntegrationRow,
): AccessChanges | undefined {
  const { global_workspace_access: given } = body;
  const isAsked = body.override_existing_workspace_access ?? body.override_existing_workspaces_access;
  if (!isAsked) return undefined;
  if (given) return toGlobalAccess(given, now, integration);
  const stored = integration.globalWorkspaceAccess;
  if (given === null || stored === null) {
    return refuseField("override_existing_workspace_access", "needs global_workspace_access");
  }
  const { enabled, usage_limits: usageLimits, rate_limits: rateLimits } = stored;
  return { enabled, usageLimits, rateLimits };
}

/** What the body says of individual workspaces, by their id. */
function readNamed({ body }: AdminCall<UpdateWorkspaceAccess>, workspaces: readonly WorkspaceRow[]) {
  const named = new Map<string, NonNullable<Grant["named"]>>();
  for (const [index, given] of (body.workspaces ?? []).entries()) {
    const param = `workspaces.${index}`;
    const found = workspaces.find(({ id, slug }) => given.id === id || given.id === slug);
    const workspace = found ?? forbid("This key has no access to this workspace", `${param}.id`);
    if (named.has(workspace.id)) refuseField(`${param}.id`, "is listed twice");
    named.set(workspace.id, { given, param });
  }
  return named;
}

/** Every workspace whose access changes. Values for an individual workspace win over those for all. */
async function readGrants(call: AdminCall<UpdateWorkspaceAccess>, integration: IntegrationRow): Promise<Grant[]> {
  const { stores, now } = call;
  const tenant = organisationOf(integration);
  const workspaces = await stores.workspaces.all(tenant, { where: { status: "active" } });
  const accesses = await stores.integrationWorkspaces.all(tenant, { where: { integrationId: integration.id } });
  const override = readOverride(call, integration);
  const named = readNamed(call, workspaces);
  return workspaces.flatMap(({ id }): Grant[] => {
    const own = named.get(id);
    if (!own && !override) return [];
    const stored = accesses.find(({ workspaceId }) => workspaceId === id);
    const {
      enabled = false,
      usageLimits,
      rateLimits,
    } = { ...override, ...(own && definedOnly(toAccess(own.given, now, stored?.usageLimits))) };
    const changes = { enabled, usageLimits, rateLimits, ...(own?.given.reset_usage ? { lastResetAt: now } : {}) };
    return [{ workspaceId: id, changes, stored, named: own }];
  });
}

/** The fields that are present. */
function definedOnly(changes: AccessChanges): Partial<AccessChanges> {
  return Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
}

/** Providers for workspaces that get access now and have none for the integration. */
async function defaultProviders(
  call: AdminCall<UpdateWorkspaceAccess>,
  integration: IntegrationRow,
  grants: readonly Grant[],
): Promise<Statement[]> {
  const { body, stores } = call;
  if (isPartnerOnly(call, integration.aiProviderId)) return [];
  const { id: integrationId, name, slug: integrationSlug, organisationId } = integration;
  const existing = await stores.providers.all(organisationOf(integration), { where: { integrationId } });
  const served = new Set(existing.map(({ workspaceId }) => workspaceId));
  const statements: Statement[] = [];
  for (const { workspaceId, changes, stored, named } of grants) {
    const isNew = changes.enabled && !stored?.enabled && !served.has(workspaceId);
    const { given, param } = named ?? {};
    if (!isNew || !(given?.create_default_provider ?? body.create_default_provider ?? true)) continue;
    const slug = given?.default_provider_slug ?? body.default_provider_slug;
    const place = given?.default_provider_slug ? `${param}.` : "";
    const provider = {
      name,
      integrationId,
      slug,
      integrationSlug,
      note: "Created when access was granted",
      param: `${place}default_provider_slug`,
    };
    const { statement } = await createDefaultProvider(call, { organisationId, workspaceId }, provider);
    statements.push(statement);
  }
  return statements;
}

async function updateWorkspaces(call: AdminCall<UpdateWorkspaceAccess>) {
  const { body, stores, now } = call;
  const integration = await findIntegration(call, "update");
  if (integration.workspaceId !== null)
    refuseField("workspaces", "cannot be set: the integration belongs to one workspace");
  const grants = await readGrants(call, integration);
  const providers = await defaultProviders(call, integration, grants);
  const { organisationId, id: integrationId } = integration;
  const written = grants.map(({ workspaceId, changes, stored }) => {
    const tenant = { organisationId, workspaceId };
    const store = stores.integrationWorkspaces;
    return stored
      ? store.update(tenant, { integrationId }, { ...changes, lastUpdatedAt: now })
      : store.insert(tenant, { ...changes, ...tenant, integrationId, createdAt: now });
  });
  const { global_workspace_access: given } = body;
  const globalAccess = given && toGlobalAccess(given, now, integration);
  const stored = globalAccess && {
    enabled: globalAccess.enabled,
    usage_limits: globalAccess.usageLimits,
    rate_limits: globalAccess.rateLimits,
  };
  const changes = { globalWorkspaceAccess: stored, lastUpdatedAt: now };
  return {
    answer: {},
    recordId: integrationId,
    statements: [
      ...written,
      ...providers,
      stores.integrations.update(tenantOf(integration), ownOf(integration), changes),
    ],
  };
}

const row = { tag: "Integrations", path: "/v1/integrations/:slug/workspaces" };
const access = (verb: string) => ({
  keys: "admin" as const,
  scopes: [scopeOf("organisation", verb), scopeOf("workspace", verb)],
});

/** Endpoints of the workspaces an integration is shared with. */
export const integrationWorkspaceEndpoints: readonly AdminEndpoint[] = [
  defineRead({
    ...row,
    method: "GET",
    summary: "List the workspaces that may use an integration",
    access: access("read"),
    response: IntegrationWorkspaceList,
    handle: listWorkspaces,
  }),
  defineWrite({
    ...row,
    method: "PUT",
    summary: "Change which workspaces may use an integration",
    access: access("update"),
    audit: { resource: "integrations", action: "update", store: "integrations" as const },
    body: UpdateWorkspaceAccess,
    response: NoContent,
    handle: updateWorkspaces,
  }),
];
