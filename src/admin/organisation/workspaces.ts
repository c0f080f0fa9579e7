import { toRecord } from "../../control/settings.ts";
import type { Statement } from "../../db/client.ts";
import type { WorkspaceRow } from "../../db/tables/tenants.ts";
import type { Tenant } from "../../db/tenant-store.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import { ConflictError } from "../../errors.ts";
import { NoContent } from "../../schemas/objects.ts";
import type { WorkspaceRole } from "../../schemas/users.ts";
import {
  CreateWorkspace,
  DeleteWorkspace,
  UpdateWorkspace,
  WorkspaceDetail,
  WorkspaceList,
  type WorkspaceStatus,
  workspaceStatuses,
} from "../../schemas/workspaces.ts";
import type { AdminCall, AnswerOf } from "../core/endpoint.ts";
import { toLimitList, toStoredUsageList } from "../core/limits.ts";
import { defineRecord } from "../core/record.ts";
import type { Found, NewPlace } from "../core/record-definitions.ts";
import { createSlug, forbid, readChoice, readText, refuseField, requireFound } from "../core/request.ts";
import {
  applyDefaults,
  findWorkspace,
  requireOrganisation,
  toMember,
  toMembers,
  toWorkspaces,
} from "../core/workspace-records.ts";
import { joinByGroups } from "../scim/memberships.ts";
import { joinChanges, joiningStatements, revokingStatements } from "../users/memberships.ts";
import { applySettings } from "./workspace-settings.ts";

/** Comma-separated statuses a list is filtered by; keys of a workspace see active ones only. */
function readStatuses({ query, tenant }: AdminCall<unknown>): WorkspaceStatus[] {
  const named = (readText(query, "status") ?? "active").split(",").map((status) => status.trim().toLowerCase());
  const wanted = named.map(
    (name) =>
      workspaceStatuses.find((status) => status === name) ?? refuseField("status", "must be active, archived or both"),
  );
  if (tenant.workspaceId !== null && wanted.includes("archived")) {
    forbid("Only keys of the organisation see archived workspaces", "status");
  }
  return wanted;
}

function selectWorkspaces(call: AdminCall<undefined>) {
  const { query, tenant } = call;
  const name = readText(query, "name");
  if (name !== undefined && name.length < 2) refuseField("name", "must have at least 2 characters");
  const exact = readText(query, "exact_name");
  return {
    where: {
      status: readStatuses(call),
      ...(exact !== undefined && { name: exact.normalize("NFC") }),
      ...(tenant.workspaceId !== null && { id: tenant.workspaceId }),
    },
    contains: { name: name?.normalize("NFC") },
  };
}

/** A workspace as a path names it; those that are archived are only shown. */
async function findNamed(call: AdminCall<unknown>, verb: string): Promise<WorkspaceRow> {
  if (verb !== "read") return (await findWorkspace(call)).row;
  readChoice(call.query, "name_format", ["plain", "display"]);
  return (await findWorkspace(call, readChoice(call.query, "status", workspaceStatuses))).row;
}

/** The tenant of the records of a workspace. */
const insideOf = ({ organisationId, id }: WorkspaceRow) => ({ organisationId, workspaceId: id });

async function showWorkspace(call: AdminCall<undefined>, row: WorkspaceRow): Promise<AnswerOf<typeof WorkspaceDetail>> {
  const organisation = await requireOrganisation(call);
  const [record] = await toWorkspaces(call, organisation, [row]);
  const members = await call.stores.members.all(insideOf(row));
  const users = await toMembers(call, members, { organisation, workspace: row });
  return { ...requireFound(record, "workspace"), users };
}

/** Access of a new workspace to the integrations the organisation shares with all. */
async function shareIntegrations(
  { stores, now }: AdminCall<unknown>,
  { organisationId, workspaceId }: Tenant & { workspaceId: string },
): Promise<Statement[]> {
  const organisation = { organisationId, workspaceId: null };
  const where = { workspaceId: null, status: "active" as const };
  const mcp = await stores.mcpIntegrations.all(organisation, { where });
  const ofMcp = mcp.flatMap(({ id, globalWorkspaceAccess }) => {
    if (toRecord(globalWorkspaceAccess).enabled !== true) return [];
    const row = { organisationId, workspaceId, integrationId: id, enabled: true, createdAt: now };
    return [stores.mcpIntegrationWorkspaces.insert(organisation, row)];
  });
  const rows = await stores.integrations.all(organisation, { where });
  const ofModels = rows.flatMap(({ id, globalWorkspaceAccess }) => {
    if (!globalWorkspaceAccess?.enabled) return [];
    const { usage_limits: usageLimits, rate_limits: rateLimits } = globalWorkspaceAccess;
    const limits = { usageLimits, rateLimits };
    const row = { organisationId, workspaceId, integrationId: id, enabled: true, ...limits };
    return [stores.integrationWorkspaces.insert(organisation, { ...row, createdAt: now, lastUpdatedAt: now })];
  });
  return [...ofModels, ...ofMcp];
}

/** The first users of a new workspace; its creator is its admin. */
async function readFirstMembers(call: AdminCall<CreateWorkspace>) {
  const { body, stores, tenant, context } = call;
  const creator = context.principal.userId;
  const roles = new Map<string, WorkspaceRole>((body.users ?? []).map(({ id, role }) => [id, role]));
  if (creator !== null) roles.set(creator, "admin");
  const users = await stores.users.all(tenant, { where: { id: [...roles.keys()], status: "active" } });
  for (const [index, { id }] of (body.users ?? []).entries()) {
    if (!users.some((user) => user.id === id)) refuseField(`users.${index}`, "is not a member of the organisation");
  }
  return users.map((user) => ({ user, role: roles.get(user.id) ?? "member" }));
}

/** The row of a new workspace with default settings. */
function toNewRow(
  { body, actor, now }: AdminCall<CreateWorkspace>,
  { tenant: { organisationId }, id, slug }: NewPlace<"workspaces">,
): WorkspaceRow {
  return {
    id,
    organisationId,
    name: body.name,
    slug,
    icon: body.icon ?? null,
    description: body.description ?? null,
    isDefault: false,
    status: "active",
    defaults: null,
    settings: {},
    securitySettings: {},
    dataPlaneSecuritySettings: {},
    usageLimits: toStoredUsageList(body.usage_limits, now) ?? null,
    rateLimits: toLimitList(body.rate_limits) ?? null,
    createdBy: actor,
    lastResetAt: null,
    createdAt: now,
    lastUpdatedAt: now,
  };
}

/** An archived workspace makes way for a new one that takes its slug: it is named by its id only. */
async function freeSlug({ body, stores, tenant, now }: AdminCall<CreateWorkspace>): Promise<Statement[]> {
  const { slug } = body;
  const former = slug == null ? undefined : await stores.workspaces.find(tenant, { slug, status: "archived" });
  if (!former) return [];
  const changes = { slug: createSlug(former.name, { prefix: "ws" }), lastUpdatedAt: now };
  return [stores.workspaces.update(tenant, { id: former.id }, changes)];
}

async function createWorkspace(call: AdminCall<CreateWorkspace>, place: NewPlace<"workspaces">) {
  const { body, now } = call;
  const organisation = await requireOrganisation(call);
  const fresh = toNewRow(call, place);
  const tenant = insideOf(fresh);
  const defaults = await applyDefaults(call, { organisation, tenant, stored: undefined }, body.defaults ?? null);
  const row: WorkspaceRow = { ...fresh, defaults, ...applySettings(call, organisation, fresh) };
  const members = await readFirstMembers(call);
  const joinings = await Promise.all(
    members.map(({ user, role }) => joiningStatements({ organisation, workspace: row, userId: user.id, role }, call)),
  );
  const { statements } = joinChanges(joinings);
  const times = { createdAt: now, lastUpdatedAt: now };
  const memberRow = ({ user, role }: (typeof members)[number]) => ({
    ...tenant,
    userId: user.id,
    role,
    source: "manual" as const,
    ...times,
  });
  const users = members.map((member) => toMember(memberRow(member), member.user, { organisation, workspace: row }));
  const byGroups = await joinByGroups(call, row, members.map(memberRow));
  const [record] = await toWorkspaces(call, organisation, [row]);
  return {
    answer: { ...requireFound(record, "workspace"), users },
    before: await freeSlug(call),
    columns: row,
    statements: [...statements, ...byGroups.statements, ...(await shareIntegrations(call, tenant))],
  };
}

async function updateWorkspace(call: AdminCall<UpdateWorkspace>, { row }: Found<"workspaces">) {
  const { body, now } = call;
  const organisation = await requireOrganisation(call);
  const defaults =
    body.defaults === undefined
      ? undefined
      : await applyDefaults(call, { organisation, tenant: insideOf(row), stored: row.defaults }, body.defaults);
  return {
    answer: {},
    columns: {
      name: body.name,
      description: body.description,
      icon: body.icon,
      defaults,
      usageLimits: toStoredUsageList(body.usage_limits, now, row.usageLimits),
      rateLimits: toLimitList(body.rate_limits),
      ...applySettings(call, organisation, row),
    },
  };
}

/** Kinds of record that prevent deleting a workspace, in the order they can be removed in. */
const dependents = [
  ...(["mcpServers", "mcpIntegrations", "providers", "integrations", "configs"] as const),
  ...(["guardrails", "prompts", "partials"] as const),
];
/** Kinds of record that are deleted with their workspace. */
const companions = [
  ...(["collections", "labels", "modelAliases", "alertRules", "alertEvents"] as const),
  ...(["exampleSets", "exampleVersions", "evalRuns", "evalAnswers", "savedViews", "savedViewDefaults"] as const),
  "playgroundRuns" as const,
  ...(["usageLimitPolicies", "rateLimitPolicies", "labelPolicies", "mcpConnections"] as const),
];

/** @throws {ConflictError} AB07, naming the kinds of record that are left. */
async function refuseDependents({ stores }: AdminCall<unknown>, tenant: Tenant): Promise<void> {
  const counted = await Promise.all(
    dependents.map(async (name) => ({ name, count: await stores[name].count(tenant) })),
  );
  const left = counted.filter(({ count }) => count > 0).map(({ name, count }) => `${name} (${count})`);
  if (left.length === 0) return;
  throw new ConflictError(
    `Cannot delete this workspace: it still has ${left.join(", ")}; remove them, or set force_delete`,
    { code: "AB07" },
  );
}

/**
 * Statements that remove all records of a workspace; the cleanup removes its files and stored responses, which no key
 * opens any more.
 */
async function clearWorkspace({ stores, now }: AdminCall<unknown>, tenant: Tenant & { workspaceId: string }) {
  const integrations = await stores.integrations.all(tenant);
  const mcpIntegrations = await stores.mcpIntegrations.all(tenant);
  const { workspaceId } = tenant;
  return [
    ...[...dependents, ...companions].map((name) => stores[name].remove(tenant, {})),
    stores.secrets.remove(
      { ...tenant, workspaceId: null },
      { kind: "integrations", recordId: integrations.map(({ id }) => id) },
    ),
    stores.secrets.remove(
      { ...tenant, workspaceId: null },
      { kind: "mcp_integrations", recordId: mcpIntegrations.map(({ id }) => id) },
    ),
    // file keys and batch headers among them
    stores.secrets.remove(tenant, {}),
    stores.gatewayBatches.remove(tenant, {}),
    stores.logExports.remove(tenant, {}),
    stores.integrationWorkspaces.remove(tenant, {}),
    stores.mcpIntegrationWorkspaces.remove(tenant, {}),
    stores.members.remove(tenant, {}),
    stores.exclusions.remove(tenant, {}),
    stores.scimMappings.update(tenant, {}, { status: "archived", lastUpdatedAt: now }),
    // the row stays: analytics refer to it, and the cleanup uses it to find what to remove
    stores.workspaces.update(
      { ...tenant, workspaceId: null },
      { id: workspaceId },
      { status: "archived" as const, lastUpdatedAt: now },
    ),
  ];
}

async function deleteWorkspace(call: AdminCall<DeleteWorkspace>, { row }: Found<"workspaces">) {
  const { body } = call;
  const tenant = insideOf(row);
  if (row.isDefault) forbid("The default workspace of an organisation cannot be deleted");
  if (body.name.normalize("NFC") !== row.name) refuseField("name", "must be the name of the workspace");
  if (!body.force_delete) await refuseDependents(call, tenant);
  const revoking = await revokingStatements(tenant, {}, call);
  return { answer: {}, statements: [...revoking.statements, ...(await clearWorkspace(call, tenant))] };
}

const workspaces = defineRecord({
  tag: "Workspaces",
  path: "/v1/admin/workspaces",
  words: { one: "a workspace", many: "workspaces" },
  store: "workspaces",
  audit: "workspaces",
  access: (verb) => ({
    keys: verb === "create" || verb === "delete" ? "admin" : "any",
    scopes: [`workspaces.${verb}`],
  }),
  ofOrganisation: true,
  find: findNamed,
});

/** Endpoints of workspaces. */
export const workspaceEndpoints: readonly AdminEndpoint[] = [
  workspaces.list({
    response: WorkspaceList,
    query: [
      { name: "name", description: "Part of the name, case-sensitive, at least 2 characters" },
      { name: "exact_name", description: "Exact name" },
      { name: "status", description: "Comma-separated: active (default), archived" },
    ],
    select: selectWorkspaces,
    show: async (rows, call) => toWorkspaces(call, await requireOrganisation(call), rows),
  }),
  workspaces.create({
    body: CreateWorkspace,
    response: WorkspaceDetail,
    slug: { prefix: "ws" },
    decide: createWorkspace,
  }),
  workspaces.show({
    summary: "Show a workspace and its members",
    query: [{ name: "status", description: "active (default) or archived" }],
    response: WorkspaceDetail,
    show: ({ row }, call) => showWorkspace(call, row),
  }),
  workspaces.change({ body: UpdateWorkspace, response: NoContent, decide: updateWorkspace }),
  workspaces.write({
    method: "DELETE",
    at: "",
    verb: "delete",
    summary: "Delete a workspace",
    body: DeleteWorkspace,
    response: NoContent,
    handle: deleteWorkspace,
  }),
];
