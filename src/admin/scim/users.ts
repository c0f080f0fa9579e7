import type { UserRow } from "../../db/tables/tenants.ts";
import type { ScimEndpoint } from "../../endpoint.ts";
import { ConflictError, PermissionError } from "../../errors.ts";
import { isObject } from "../../lib/json.ts";
import { ScimPatch, ScimUser, ScimUserList, ScimUserResource } from "../../schemas/scim.ts";
import type { AdminCall, AnswerOf, Outcome } from "../core/endpoint.ts";
import { readText, refuseField, requireFound, requireId } from "../core/request.ts";
import { cancelInvites } from "../users/invite-acceptance.ts";
import { joinChanges, leavingStatements } from "../users/memberships.ts";
import { applyOperations, blankDraft, emailOf, setAttributes, toDraft, type UserDraft } from "./attributes.ts";
import { type FilterTable, textFilter, toListOptions } from "./filter.ts";
import { type MembershipPlan, planMemberships, readMembershipFacts } from "./memberships.ts";
import { type GroupOfUser, readSelection, readWindow, select, toListResponse, toUserResource } from "./resources.ts";
import { defineScimRead, defineScimWrite } from "./serve.ts";

const emailFilter = textFilter<UserRow>((text) => ({ where: { email: text.toLowerCase() } }));

/** Columns users can be filtered by. */
const filters: FilterTable<UserRow> = {
  id: textFilter<UserRow>((text) => ({ where: { id: text.toLowerCase() } })),
  externalid: textFilter<UserRow>((text) => ({ where: { externalId: text } })),
  username: textFilter<UserRow>((text) => ({ anyCase: { equals: { userName: text } } })),
  emails: emailFilter,
  "emails.value": emailFilter,
  'emails[type eq "work"].value': emailFilter,
  active: (value) => ({ where: { status: String(value) === "true" ? "active" : "inactive" } }),
};

/** Users an identity provider knows; it does not see the others. */
const provisioned = ["userName"] as const;

/** Groups by the users in them. */
async function readGroups(
  { stores, tenant }: AdminCall<unknown>,
  users: readonly Pick<UserRow, "id">[],
): Promise<Map<string, GroupOfUser[]>> {
  const links = await stores.scimGroupMembers.all(tenant, { where: { userId: users.map(({ id }) => id) } });
  const ids = [...new Set(links.map(({ groupId }) => groupId))];
  const groups = await stores.scimGroups.all(tenant, { where: { id: ids } });
  const groupOf = new Map(groups.map((group) => [group.id, group]));
  const found = new Map<string, GroupOfUser[]>(users.map(({ id }) => [id, []]));
  for (const { groupId, userId } of links) {
    const group = groupOf.get(groupId);
    if (group) found.get(userId)?.push(group);
  }
  return found;
}

async function toResources(call: AdminCall<unknown>, rows: readonly UserRow[]) {
  const groups = readSelection(call)("groups") ? await readGroups(call, rows) : undefined;
  return rows.map((row) => select(call, toUserResource(call, row, groups?.get(row.id) ?? [])));
}

async function listUsers(call: AdminCall<undefined>): Promise<AnswerOf<typeof ScimUserList>> {
  const { stores, tenant, query } = call;
  const { startIndex, count } = readWindow(call);
  const wanted = toListOptions(readText(query, "filter"), filters);
  if (!wanted) return toListResponse([], 0, startIndex);
  const options = { ...wanted, present: provisioned };
  if (count === 0) return toListResponse([], await stores.users.count(tenant, options), startIndex);
  const page = { offset: startIndex - 1, limit: count };
  const { rows, total } = await stores.users.list(tenant, { ...options, page });
  return toListResponse(await toResources(call, rows), total, startIndex);
}

async function findUser({ stores, tenant, params }: AdminCall<unknown>): Promise<UserRow> {
  const [row] = await stores.users.all(tenant, {
    where: { id: requireId(params, "id", "user") },
    present: provisioned,
  });
  return requireFound(row, "user");
}

async function toAnswer(call: AdminCall<unknown>, row: UserRow): Promise<ScimUserResource> {
  const groups = await readGroups(call, [row]);
  return select(call, toUserResource(call, row, groups.get(row.id) ?? []));
}

const readUser = async (call: AdminCall<undefined>) => toAnswer(call, await findUser(call));

function refuseDuplicate(what: string): never {
  throw new ConflictError(`Cannot save this user: another user has this ${what}`, { code: "uniqueness" });
}

function refuseOwner(action: string): never {
  throw new PermissionError(`Forbidden! An identity provider cannot ${action} an owner of the organisation`, {
    code: "AB03",
  });
}

/** Refuses addresses outside the domains the organisation allows. */
async function requireAllowedDomain({ stores, tenant }: AdminCall<unknown>, email: string): Promise<void> {
  const organisation = await stores.organisations.get(tenant.organisationId);
  const settings = isObject(organisation?.settings) ? organisation.settings : {};
  const { allowed_domains: domains, allow_subdomains: withSubdomains } = settings;
  if (!Array.isArray(domains) || domains.length === 0) return;
  const domain = email.slice(email.lastIndexOf("@") + 1);
  const allowed = domains.map((entry) => String(entry).toLowerCase().replace(/^@/, ""));
  const isAllowed = (entry: string) => domain === entry || (withSubdomains === true && domain.endsWith(`.${entry}`));
  if (!allowed.some(isAllowed)) refuseField("emails", "must be of a domain the organisation allows");
}

/** Refuses names of other users. */
async function refuseDuplicates({ stores, tenant }: AdminCall<unknown>, draft: UserDraft, own: string | undefined) {
  const isOther = ({ id }: UserRow) => id !== own;
  const named = await stores.users.all(tenant, { anyCase: { equals: { userName: draft.userName } } });
  if (named.some(isOther)) refuseDuplicate("userName");
  if (draft.externalId === null) return;
  const known = await stores.users.all(tenant, { where: { externalId: draft.externalId } });
  if (known.some(isOther)) refuseDuplicate("externalId");
}

/** Ends all access of a user: memberships, keys, and invites to their addresses. */
async function endAccess(
  call: AdminCall<unknown>,
  { id, emails }: { id: string; emails: readonly string[] },
): Promise<MembershipPlan> {
  const { tenant } = call;
  const invites = [...new Set(emails)].map((email) => cancelInvites(call, tenant, email));
  return joinChanges([await leavingStatements(tenant, id, call), ...(await Promise.all(invites))]);
}

/** Restores the memberships a returning user has through their groups. */
async function restoreAccess(call: AdminCall<unknown>, userId: string): Promise<MembershipPlan> {
  const facts = await readMembershipFacts(call, [userId]);
  facts.active.add(userId);
  return planMemberships(call, facts);
}

/** Saves an existing user as the identity provider describes them. */
async function saveUser(call: AdminCall<unknown>, row: UserRow, draft: UserDraft): Promise<Outcome<ScimUserResource>> {
  const { stores, tenant, now } = call;
  const email = emailOf(draft, row.email);
  const wasActive = row.status === "active";
  if (row.role === "owner" && !draft.active) refuseOwner("deactivate");
  if (row.role === "owner" && email !== row.email) refuseOwner("change the address of");
  if (email !== row.email && (await stores.users.find(tenant, { email }))) refuseDuplicate("e-mail address");
  if (email !== row.email || (draft.active && !wasActive)) await requireAllowedDomain(call, email);
  await refuseDuplicates(call, draft, row.id);
  const { userName, externalId, firstName, lastName } = draft;
  const status: UserRow["status"] = draft.active ? "active" : "inactive";
  const changes = { email, userName, externalId, firstName, lastName, status, lastUpdatedAt: now };
  const nothing: MembershipPlan = { statements: [] };
  // a user with a new address must not join again by a link to the former one
  const moved = email === row.email ? nothing : await cancelInvites(call, tenant, row.email);
  const ended = draft.active ? moved : await endAccess(call, { id: row.id, emails: [row.email, email] });
  const restored = !wasActive && draft.active ? await restoreAccess(call, row.id) : nothing;
  return {
    answer: await toAnswer(call, { ...row, ...changes }),
    recordId: row.id,
    statements: [stores.users.update(tenant, { id: row.id }, changes), ...ended.statements, ...restored.statements],
  };
}

async function createUser(call: AdminCall<ScimUser>): Promise<Outcome<ScimUserResource>> {
  const { body, stores, tenant, now } = call;
  const draft = setAttributes(blankDraft, body);
  const email = emailOf(draft);
  await requireAllowedDomain(call, email);
  const present = await stores.users.find(tenant, { email });
  if (present) {
    const isOther = present.externalId !== null && present.externalId !== draft.externalId;
    if (present.userName !== null || isOther) refuseDuplicate("e-mail address");
    return saveUser(call, present, {
      ...draft,
      firstName: draft.firstName ?? present.firstName,
      lastName: draft.lastName ?? present.lastName,
    });
  }
  await refuseDuplicates(call, draft, undefined);
  const { userName, externalId, firstName, lastName } = draft;
  const { organisationId } = tenant;
  const status: UserRow["status"] = draft.active ? "active" : "inactive";
  // a deactivated user must not join by a link either
  const ended = draft.active ? undefined : await cancelInvites(call, tenant, email);
  const row: UserRow = {
    id: crypto.randomUUID(),
    organisationId,
    email,
    role: "member",
    status,
    userName,
    externalId,
    firstName,
    lastName,
    createdAt: now,
    lastUpdatedAt: now,
  };
  return {
    answer: select(call, toUserResource(call, row, [])),
    recordId: row.id,
    statements: [stores.users.insert(tenant, row), ...(ended?.statements ?? [])],
  };
}

/** `PUT`: absent attributes are cleared, except those that identify the user or activate them. */
async function replaceUser(call: AdminCall<ScimUser>) {
  const row = await findUser(call);
  const { externalId, active } = toDraft(row);
  return saveUser(call, row, setAttributes({ ...blankDraft, externalId, active }, call.body));
}

async function changeUser(call: AdminCall<ScimPatch>) {
  const row = await findUser(call);
  return saveUser(call, row, applyOperations(toDraft(row), call.body.Operations));
}

/** The row stays, since keys and logs refer to it; the identity provider does not see the user any more. */
async function deleteUser(call: AdminCall<undefined>) {
  const { stores, tenant, now } = call;
  const { id, role, email } = await findUser(call);
  if (role === "owner") refuseOwner("delete");
  const ended = await endAccess(call, { id, emails: [email] });
  const forgotten = { userName: null, externalId: null, lastUpdatedAt: now };
  return {
    answer: undefined,
    recordId: id,
    statements: [
      ...ended.statements,
      stores.scimGroupMembers.remove(tenant, { userId: id }),
      stores.users.update(tenant, { id }, { ...forgotten, status: "inactive", role: "member" }),
    ],
  };
}

const one = "/scim/v2/Users/:id";
const audit = (action: string) => ({ resource: "users", action, store: null });

/** Endpoints of users. */
export const scimUserEndpoints: readonly ScimEndpoint[] = [
  defineScimRead({
    method: "GET",
    path: "/scim/v2/Users",
    summary: "List provisioned users",
    response: ScimUserList,
    handle: listUsers,
    query: [
      {
        name: "filter",
        description: "userName, externalId, id or emails.value, eq and a value; several joined by and",
      },
      { name: "startIndex", description: "Index of the first resource, counted from 1" },
      { name: "count", description: "Maximum number of resources, at most 100" },
    ],
  }),
  defineScimWrite({
    method: "POST",
    path: "/scim/v2/Users",
    summary: "Provision a user",
    success: 201,
    audit: audit("create"),
    body: ScimUser,
    response: ScimUserResource,
    handle: createUser,
  }),
  defineScimRead({ method: "GET", path: one, summary: "Show a user", response: ScimUserResource, handle: readUser }),
  defineScimWrite({
    method: "PUT",
    path: one,
    summary: "Replace a user's attributes",
    success: 200,
    audit: audit("update"),
    body: ScimUser,
    response: ScimUserResource,
    handle: replaceUser,
  }),
  defineScimWrite({
    method: "PATCH",
    path: one,
    summary: "Change a user's attributes",
    success: 200,
    audit: audit("update"),
    body: ScimPatch,
    response: ScimUserResource,
    handle: changeUser,
  }),
  defineScimWrite({
    method: "DELETE",
    path: one,
    summary: "Remove a user",
    success: 204,
    audit: audit("delete"),
    handle: deleteUser,
  }),
];
