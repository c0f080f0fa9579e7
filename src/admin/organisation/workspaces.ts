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
import { type AdminCall, type AnswerOf, defineRead, defineWrite, type Outcome } from "../core/endpoint.ts";
import { toLimitList, toStoredUsageList } from "../core/limits.ts";
import {
  createSlug,
  forbid,
  readChoice,
  readPage,
  readText,
  refuseField,
  requireFound,
  toList,
} from "../core/request.ts";
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

async function listWorkspaces(call: AdminCall<undefined>): Promise<AnswerOf<typeof WorkspaceList>> {
  const { query, stores, tenant } = call;
  const name = readText(query, "name");
  if (name !== undefined && name.length < 2) refuseField("name", "must have at least 2 characters");
  const exact = readText(query, "exact_name");
  const where = {
    status: readStatuses(call),
    ...(exact !== undefined && { name: exact.normalize("NFC") }),
    ...(tenant.workspaceId !== null && { id: tenant.workspaceId }),
  };
  const contains = { name: name?.normalize("NFC") };
  const { rows, total } = await stores.workspaces.list(tenant, { where, contains, page: readPage(query) });
  return toList(await toWorkspaces(call, await requireOrganisation(call), rows), total);
}

async function readWorkspace(call: AdminCall<undefined>): Promise<AnswerOf<typeof WorkspaceDetail>> {
  readChoice(call.query, "name_format", ["plain", "display"]);
  const status = readChoice(call.query, "status", workspaceStatuses);
  const { row, tenant } = await findWorkspace(call, status);
  const organisation = await requireOrganisation(call);
  const [record] = await toWorkspaces(call, organisation, [row]);
  const members = await call.stores.members.all(tenant);
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
function toNewRow(call: AdminCall<CreateWorkspace>, organisationId: string): WorkspaceRow {
  const { body, actor, now } = call;
  return {
    id: crypto.randomUUID(),
    organisationId,
    name: body.name,
    slug: body.slug ?? createSlug(body.name, { prefix: "ws" }),
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

async function createWorkspace(call: AdminCall<CreateWorkspace>): Promise<Outcome<AnswerOf<typeof WorkspaceDetail>>> {
  const { body, stores, now } = call;
  const organisation = await requireOrganisation(call);
  const fresh = toNewRow(call, organisation.id);
  const tenant = { organisationId: organisation.id, workspaceId: fresh.id };
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
    recordId: row.id,
    statements: [
      ...(await freeSlug(call)),
      stores.workspaces.insert(call.tenant, row),
      ...statements,
      ...byGroups.statements,
      ...(await shareIntegrations(call, tenant)),
    ],
  };
}

async function updateWorkspace(call: AdminCall<UpdateWorkspace>) {
  const { body, stores, now } = call;
  const { row, tenant } = await findWorkspace(call);
  const organisation = await requireOrganisation(call);
  const defaults =
    body.defaults === undefined
      ? undefined
      : await applyDefaults(call, { organisation, tenant, stored: row.defaults }, body.defaults);
  const changes = {
    name: body.name,
    description: body.description,
    icon: body.icon,
    defaults,
    usageLimits: toStoredUsageList(body.usage_limits, now, row.usageLimits),
    rateLimits: toLimitList(body.rate_limits),
    ...applySettings(call, organisation, row),
    lastUpdatedAt: now,
  };
  const statement = stores.workspaces.update({ ...tenant, workspaceId: null }, { id: row.id }, changes);
  return { answer: {}, recordId: row.id, statements: [statement] };
}

/** Kinds of record that prevent deleting a workspace, in the order they can be removed in. */
const dependents = [
  ...(["mcpServers", "mcpIntegrations", "providers", "integrations", "configs"] as const),
  ...(["guardrails", "prompts", "partials"] as const),
];
/** Kinds of record that are deleted with their workspace. */
const companions = [
  ...(["collections", "labels", "modelAliases"] as const),
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

async function deleteWorkspace(call: AdminCall<DeleteWorkspace>) {
  const { body } = call;
  const { row, tenant } = await findWorkspace(call);
  if (row.isDefault) forbid("The default workspace of an organisation cannot be deleted");
  if (body.name.normalize("NFC") !== row.name) refuseField("name", "must be the name of the workspace");
  if (!body.force_delete) await refuseDependents(call, tenant);
  const revoking = await revokingStatements(tenant, {}, call);
  return {
    answer: {},
    recordId: row.id,
    statements: [...revoking.statements, ...(await clearWorkspace(call, tenant))],
  };
}

const row = { tag: "Workspaces" };
const access = (verb: string) => ({ keys: "any" as const, scopes: [`workspaces.${verb}`] });
const adminAccess = (verb: string) => ({ keys: "admin" as const, scopes: [`workspaces.${verb}`] });
const audit = (action: string) => ({ resource: "workspaces", action, store: "workspaces" as const });
const all = "/v1/admin/workspaces";
const one = `${all}/:id`;

/** Endpoints of workspaces. */
export const workspaceEndpoints: readonly AdminEndpoint[] = [
  defineRead({
    ...row,
    method: "GET",
    path: all,
    summary: "List workspaces",
    access: access("list"),
    query: [
      { name: "name", description: "Part of the name, case-sensitive, at least 2 characters" },
      { name: "exact_name", description: "Exact name" },
      { name: "status", description: "Comma-separated: active (default), archived" },
      { name: "current_page", description: "Page, counted from 0" },
      { name: "page_size", description: "Rows per page; default 50, at most 1000" },
    ],
    response: WorkspaceList,
    handle: listWorkspaces,
  }),
  defineWrite({
    ...row,
    method: "POST",
    path: all,
    summary: "Create a workspace",
    access: adminAccess("create"),
    audit: audit("create"),
    body: CreateWorkspace,
    response: WorkspaceDetail,
    handle: createWorkspace,
  }),
  defineRead({
    ...row,
    method: "GET",
    path: one,
    summary: "Show a workspace and its members",
    access: access("read"),
    query: [{ name: "status", description: "active (default) or archived" }],
    response: WorkspaceDetail,
    handle: readWorkspace,
  }),
  defineWrite({
    ...row,
    method: "PUT",
    path: one,
    summary: "Change a workspace",
    access: access("update"),
    audit: audit("update"),
    body: UpdateWorkspace,
    response: NoContent,
    handle: updateWorkspace,
  }),
  defineWrite({
    ...row,
    method: "DELETE",
    path: one,
    summary: "Delete a workspace",
    access: adminAccess("delete"),
    audit: audit("delete"),
    body: DeleteWorkspace,
    response: NoContent,
    handle: deleteWorkspace,
  }),
];
