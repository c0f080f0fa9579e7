import type { ScimGroupRow, ScimMappingRow } from "../../db/tables/scim.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import {
  CreateScimMapping,
  DeletedScimMapping,
  ScimGroupNames,
  ScimMappingList,
  ScimMappingRecord,
} from "../../schemas/scim.ts";
import { type AdminCall, type AnswerOf, defineRead, defineWrite, type Outcome } from "../core/endpoint.ts";
import {
  readChoice,
  readPage,
  readTenant,
  readText,
  refuseField,
  requireFound,
  requireId,
  requireReferenced,
  requireWorkspace,
} from "../core/request.ts";
import { planMemberships, readGroupName, readMembershipFacts } from "./memberships.ts";

const pageRules = { size: 50, max: 100, page: { name: "page", first: 0 } };

function toRecord({ id, workspaceId, groupId, role }: ScimMappingRow, displayName: string): ScimMappingRecord {
  return { id, workspace_id: workspaceId, scim_group: displayName, scim_group_id: groupId, role };
}

async function listMappings(call: AdminCall<undefined>): Promise<AnswerOf<typeof ScimMappingList>> {
  const { stores, tenant, query } = call;
  const { workspaceId } = await readTenant(call);
  const groupId = readText(query, "scim_group_id")?.toLowerCase();
  const role = readChoice(query, "role", ["admin", "member", "manager"]);
  const page = readPage(query, pageRules);
  const where = {
    status: "active" as const,
    ...(groupId !== undefined && { groupId }),
    ...(role !== undefined && { role }),
    ...(workspaceId !== null && { workspaceId }),
  };
  const { rows, total } = await stores.scimMappings.list(tenant, { where, page });
  const groups = await stores.scimGroups.all(tenant, { where: { id: rows.map((row) => row.groupId) } });
  const nameOf = new Map(groups.map(({ id, displayName }) => [id, displayName]));
  return {
    mappings: rows.map((row) => toRecord(row, nameOf.get(row.groupId) ?? "")),
    total_count: total,
    page: page.offset / page.limit,
    page_size: page.limit,
  };
}

/** The group of a mapping, and whether the mapping creates it. */
async function resolveGroup(call: AdminCall<CreateScimMapping>): Promise<{ group: ScimGroupRow; isNew: boolean }> {
  const { body, stores, tenant, now } = call;
  const { scim_group_id: id, scim_group_name: displayName } = body;
  if (id && !displayName) {
    const group = await stores.scimGroups.get(tenant, id);
    return { group: requireReferenced(group, "scim_group_id"), isNew: false };
  }
  if (id || !displayName) throw refuseField("scim_group_id", "must be given, or scim_group_name instead");
  if (readGroupName(displayName)) {
    refuseField("scim_group_name", "must not have the form ws-{workspace}-role-{role}: such groups need no mapping");
  }
  const [present] = await stores.scimGroups.all(tenant, { anyCase: { equals: { displayName } } });
  if (present) return { group: present, isNew: false };
  const { organisationId } = tenant;
  // no time of change: the identity provider that sends a group of this name adopts this one
  const group = { id: crypto.randomUUID(), organisationId, displayName, externalId: null, createdAt: now };
  return { group: { ...group, lastUpdatedAt: 0 }, isNew: true };
}

/** The users of a group, and the state that decides their memberships. */
async function readFacts(call: AdminCall<unknown>, groupId: string) {
  const links = await call.stores.scimGroupMembers.all(call.tenant, { where: { groupId } });
  return readMembershipFacts(
    call,
    links.map(({ userId }) => userId),
    [groupId],
  );
}

async function createMapping(call: AdminCall<CreateScimMapping>): Promise<Outcome<ScimMappingRecord>> {
  const { body, stores, tenant, now } = call;
  const { role } = body;
  const { workspaceId } = await requireWorkspace(call, body.workspace_id);
  const { group, isNew } = await resolveGroup(call);
  const others = await stores.scimMappings.all(tenant, { where: { groupId: group.id, status: "active" } });
  const roles = [...others.map((other) => other.role), readGroupName(group.displayName)?.role ?? role];
  if (roles.some((other) => other !== role)) {
    refuseField("role", "must be the role the group has in its other workspaces");
  }
  const same = others.find((other) => other.workspaceId === workspaceId);
  if (same) return { answer: toRecord(same, group.displayName), recordId: same.id, statements: [] };
  const { organisationId } = tenant;
  const times = { createdAt: now, lastUpdatedAt: now };
  const status = "active" as const;
  const mapping = { id: crypto.randomUUID(), organisationId, workspaceId, groupId: group.id, role, status };
  const facts = await readFacts(call, group.id);
  facts.mappings.push(mapping);
  const plan = await planMemberships(call, facts);
  return {
    answer: toRecord({ ...mapping, ...times }, group.displayName),
    recordId: mapping.id,
    statements: [
      ...(isNew ? [stores.scimGroups.insert(tenant, group)] : []),
      stores.scimMappings.insert(tenant, { ...mapping, ...times }),
      ...plan.statements,
    ],
  };
}

async function deleteMapping(call: AdminCall<undefined>): Promise<Outcome<AnswerOf<typeof DeletedScimMapping>>> {
  const { stores, tenant, params, now } = call;
  const row = await stores.scimMappings.find(tenant, { id: requireId(params, "id", "mapping"), status: "active" });
  const { id, groupId, workspaceId } = requireFound(row, "mapping");
  const facts = await readFacts(call, groupId);
  facts.mappings = facts.mappings.filter((other) => other.groupId !== groupId || other.workspaceId !== workspaceId);
  const plan = await planMemberships(call, facts);
  return {
    answer: { success: true },
    recordId: id,
    statements: [
      stores.scimMappings.update(tenant, { id }, { status: "archived", lastUpdatedAt: now }),
      ...plan.statements,
    ],
  };
}

async function listGroups(call: AdminCall<undefined>): Promise<AnswerOf<typeof ScimGroupNames>> {
  const { stores, tenant, query } = call;
  const search = readText(query, "search");
  if (search !== undefined && search.length < 2) refuseField("search", "must have at least 2 characters");
  const options = { anyCase: { contains: { displayName: search } }, page: readPage(query, pageRules) };
  const { rows, total } = await stores.scimGroups.list(tenant, options);
  return { groups: rows.map(({ id, displayName }) => ({ id, name: displayName })), total_count: total };
}

const path = "/v1/scim/workspaces";
const audit = (action: string) => ({ resource: "scim_mappings", action, store: null });
const row = (verb: string) => ({
  tag: "SCIM",
  acceptsScim: true,
  access: { keys: "admin" as const, scopes: [`organisation_users.${verb}`] },
});
const paging = [
  { name: "page", description: "Page, counted from 0" },
  { name: "page_size", description: "At most 100; default 50" },
];

/** Endpoints that map groups of identity providers to workspaces. */
export const scimMappingEndpoints: readonly AdminEndpoint[] = [
  defineRead({
    ...row("list"),
    method: "GET",
    path,
    summary: "List group mappings",
    response: ScimMappingList,
    handle: listMappings,
    query: [
      { name: "workspace_id", description: "Id or slug of a workspace" },
      { name: "scim_group_id", description: "Id of a group" },
      { name: "role", description: "admin, manager or member" },
      ...paging,
    ],
  }),
  defineWrite({
    ...row("create"),
    method: "POST",
    path,
    summary: "Map a group to a workspace",
    audit: audit("create"),
    body: CreateScimMapping,
    response: ScimMappingRecord,
    handle: createMapping,
  }),
  defineWrite({
    ...row("delete"),
    method: "DELETE",
    path: `${path}/:id`,
    summary: "Delete a group mapping",
    audit: audit("delete"),
    response: DeletedScimMapping,
    handle: deleteMapping,
  }),
  defineRead({
    ...row("list"),
    method: "GET",
    path: "/v1/scim/groups",
    summary: "List groups of identity providers",
    query: [{ name: "search", description: "Part of the name, at least 2 characters" }, ...paging],
    response: ScimGroupNames,
    handle: listGroups,
  }),
];
