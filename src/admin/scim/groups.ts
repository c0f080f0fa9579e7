import type { ScimGroupRow } from "../../db/tables/scim.ts";
import type { ScimEndpoint } from "../../endpoint.ts";
import { ConflictError } from "../../errors.ts";
import { ScimGroup, ScimGroupList, ScimGroupResource, ScimPatch } from "../../schemas/scim.ts";
import type { AdminCall, AnswerOf, Outcome } from "../core/endpoint.ts";
import { readText, refuseField, requireFound, requireId } from "../core/request.ts";
import { type FilterTable, textFilter, toListOptions } from "./filter.ts";
import { applyGroupOperations, type GroupDraft } from "./group-operations.ts";
import { inChunks, planMemberships, readGroupName, readMembershipFacts } from "./memberships.ts";
import { readSelection, readWindow, select, toGroupResource, toListResponse } from "./resources.ts";
import { defineScimRead, defineScimWrite } from "./serve.ts";

/** Columns groups can be filtered by. */
const filters: FilterTable<ScimGroupRow> = {
  id: textFilter<ScimGroupRow>((text) => ({ where: { id: text.toLowerCase() } })),
  externalid: textFilter<ScimGroupRow>((text) => ({ where: { externalId: text } })),
  displayname: textFilter<ScimGroupRow>((text) => ({ anyCase: { equals: { displayName: text } } })),
};

/** Ids of the users in groups, by group. */
async function readMembers({ stores, tenant }: AdminCall<unknown>, groupIds: readonly string[]) {
  const members = new Map<string, Set<string>>(groupIds.map((id) => [id, new Set()]));
  const links = await stores.scimGroupMembers.all(tenant, { where: { groupId: groupIds } });
  for (const { groupId, userId } of links) members.get(groupId)?.add(userId);
  return members;
}

async function listGroups(call: AdminCall<undefined>): Promise<AnswerOf<typeof ScimGroupList>> {
  const { stores, tenant, query } = call;
  const { startIndex, count } = readWindow(call);
  const options = toListOptions(readText(query, "filter"), filters);
  if (!options) return toListResponse([], 0, startIndex);
  if (count === 0) return toListResponse([], await stores.scimGroups.count(tenant, options), startIndex);
  const page = { offset: startIndex - 1, limit: count };
  const { rows, total } = await stores.scimGroups.list(tenant, { ...options, page });
  const ids = rows.map(({ id }) => id);
  const members = readSelection(call)("members") ? await readMembers(call, ids) : undefined;
  const resources = rows.map((row) => select(call, toGroupResource(call, row, members?.get(row.id))));
  return toListResponse(resources, total, startIndex);
}

async function findGroup(call: AdminCall<unknown>) {
  const id = requireId(call.params, "id", "group");
  return requireFound(await call.stores.scimGroups.get(call.tenant, id), "group");
}

async function readGroup(call: AdminCall<undefined>): Promise<ScimGroupResource> {
  const row = await findGroup(call);
  const members = readSelection(call)("members") ? await readMembers(call, [row.id]) : undefined;
  return select(call, toGroupResource(call, row, members?.get(row.id)));
}

/** Refuses members who are not provisioned users of the organisation. */
async function requireUsers({ stores, tenant }: AdminCall<unknown>, ids: readonly string[]): Promise<void> {
  const counts = await Promise.all(
    inChunks(ids).map((id) => stores.users.count(tenant, { where: { id }, present: ["userName"] })),
  );
  if (counts.reduce((sum, found) => sum + found, 0) < ids.length) refuseField("members", "must be existing users");
}

/** Whether only a mapping has named the group so far: identity providers set the time of change. */
function isUnclaimed({ externalId, lastUpdatedAt }: ScimGroupRow): boolean {
  return externalId === null && lastUpdatedAt === 0;
}

async function refuseDuplicates({ stores, tenant }: AdminCall<unknown>, draft: GroupDraft, own: string | undefined) {
  const { displayName, externalId } = draft;
  const twins = [
    ...(await stores.scimGroups.all(tenant, { anyCase: { equals: { displayName } } })),
    ...(externalId === null ? [] : await stores.scimGroups.all(tenant, { where: { externalId } })),
  ];
  if (twins.every(({ id }) => id === own)) return;
  throw new ConflictError("Cannot save this group: another group has its displayName or externalId", {
    code: "uniqueness",
  });
}

/** Refuses a name that gives another role than the group's mappings. */
async function refuseOtherRole({ stores, tenant }: AdminCall<unknown>, groupId: string, displayName: string) {
  const named = readGroupName(displayName);
  if (!named) return;
  const mappings = await stores.scimMappings.all(tenant, { where: { groupId, status: "active" } });
  if (mappings.some(({ role }) => role !== named.role)) {
    refuseField("displayName", "must not name another role than the workspaces the group is mapped to");
  }
}

/** Saves a group and updates the memberships that follow from it. */
async function saveGroup(
  call: AdminCall<unknown>,
  row: ScimGroupRow,
  draft: GroupDraft,
  isNew: boolean,
): Promise<Outcome<ScimGroupResource>> {
  const { stores, tenant, now } = call;
  const { organisationId } = tenant;
  const { displayName, externalId, members } = draft;
  await refuseDuplicates(call, draft, row.id);
  await refuseOtherRole(call, row.id, displayName);
  const former = (isNew ? undefined : (await readMembers(call, [row.id])).get(row.id)) ?? new Set<string>();
  const added = [...members].filter((id) => !former.has(id));
  const removed = [...former].filter((id) => !members.has(id));
  await requireUsers(call, added);
  const isRenamed = displayName !== row.displayName;
  const remaining = [...former].filter((id) => members.has(id));
  const facts = await readMembershipFacts(call, [...added, ...removed, ...(isRenamed ? remaining : [])], [row.id]);
  facts.groups.set(row.id, { id: row.id, displayName });
  facts.members.set(row.id, members);
  const plan = await planMemberships(call, facts);
  const changes = { displayName, externalId, lastUpdatedAt: now };
  const answered = readSelection(call)("members") ? members : undefined;
  return {
    answer: select(call, toGroupResource(call, { ...row, ...changes }, answered)),
    recordId: row.id,
    statements: [
      isNew
        ? stores.scimGroups.insert(tenant, { ...row, ...changes })
        : stores.scimGroups.update(tenant, { id: row.id }, changes),
      ...inChunks(removed).map((userId) => stores.scimGroupMembers.remove(tenant, { groupId: row.id, userId })),
      ...added.map((userId) => stores.scimGroupMembers.insert(tenant, { organisationId, groupId: row.id, userId })),
      ...plan.statements,
    ],
  };
}

async function createGroup(call: AdminCall<ScimGroup>) {
  const { body, stores, tenant, now } = call;
  const { displayName, externalId = null, members } = body;
  const draft = { displayName, externalId, members: new Set(members) };
  const [present] = await stores.scimGroups.all(tenant, { anyCase: { equals: { displayName } } });
  // a mapping created the group before the identity provider did
  if (present && isUnclaimed(present)) return saveGroup(call, present, draft, false);
  const { organisationId } = tenant;
  const row = { id: crypto.randomUUID(), organisationId, displayName, externalId, createdAt: now, lastUpdatedAt: now };
  return saveGroup(call, row, draft, true);
}

/** `PUT`: members that are left out are cleared. */
async function replaceGroup(call: AdminCall<ScimGroup>) {
  const row = await findGroup(call);
  const { displayName, externalId = row.externalId, members } = call.body;
  return saveGroup(call, row, { displayName, externalId, members: new Set(members) }, false);
}

async function changeGroup(call: AdminCall<ScimPatch>) {
  const row = await findGroup(call);
  const { displayName, externalId } = row;
  const members = (await readMembers(call, [row.id])).get(row.id) ?? new Set<string>();
  const draft = applyGroupOperations({ displayName, externalId, members }, call.body.Operations);
  return saveGroup(call, row, draft, false);
}

async function deleteGroup(call: AdminCall<undefined>) {
  const { stores, tenant } = call;
  const { id } = await findGroup(call);
  const members = (await readMembers(call, [id])).get(id) ?? [];
  const facts = await readMembershipFacts(call, [...members], [id]);
  facts.groups.delete(id);
  const plan = await planMemberships(call, facts);
  return {
    answer: undefined,
    recordId: id,
    statements: [
      ...plan.statements,
      stores.scimGroupMembers.remove(tenant, { groupId: id }),
      stores.scimMappings.remove(tenant, { groupId: id }),
      stores.scimGroups.remove(tenant, { id }),
    ],
  };
}

const one = "/scim/v2/Groups/:id";
const audit = (action: string) => ({ resource: "scim_groups", action, store: null });
const excluded = { name: "excludedAttributes", description: "`members` leaves the members out" };

/** Endpoints of groups. */
export const scimGroupEndpoints: readonly ScimEndpoint[] = [
  defineScimRead({
    method: "GET",
    path: "/scim/v2/Groups",
    summary: "List groups",
    response: ScimGroupList,
    handle: listGroups,
    query: [
      { name: "filter", description: "displayName, externalId or id, eq and a value; several joined by and" },
      { name: "startIndex", description: "Index of the first resource, counted from 1" },
      { name: "count", description: "Maximum number of resources, at most 100" },
      excluded,
    ],
  }),
  defineScimWrite({
    method: "POST",
    path: "/scim/v2/Groups",
    summary: "Create a group",
    success: 201,
    audit: audit("create"),
    body: ScimGroup,
    response: ScimGroupResource,
    handle: createGroup,
  }),
  defineScimRead({
    method: "GET",
    path: one,
    summary: "Show a group",
    query: [excluded],
    response: ScimGroupResource,
    handle: readGroup,
  }),
  defineScimWrite({
    method: "PUT",
    path: one,
    summary: "Replace a group's attributes and members",
    success: 200,
    audit: audit("update"),
    body: ScimGroup,
    response: ScimGroupResource,
    handle: replaceGroup,
  }),
  defineScimWrite({
    method: "PATCH",
    path: one,
    summary: "Change a group's attributes or members",
    success: 200,
    audit: audit("update"),
    body: ScimPatch,
    response: ScimGroupResource,
    handle: changeGroup,
  }),
  defineScimWrite({
    method: "DELETE",
    path: one,
    summary: "Delete a group",
    success: 204,
    audit: audit("delete"),
    handle: deleteGroup,
  }),
];
