import type { UserRow, WorkspaceMemberRow } from "../../db/tables/tenants.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import { AddMembers, type Member, MemberList, MemberRecord, UpdateMember } from "../../schemas/members.ts";
import { NoContent } from "../../schemas/objects.ts";
import type { WorkspaceRole } from "../../schemas/users.ts";
import { type AdminCall, type AnswerOf, defineRead, defineWrite, type Outcome } from "../core/endpoint.ts";
import { pageQuery } from "../core/record.ts";
import {
  forbid,
  readChoice,
  readPage,
  readText,
  refuseField,
  requireFound,
  requireId,
  toList,
} from "../core/request.ts";
import { type FoundWorkspace, findWorkspace, requireOrganisation, toMembers } from "../core/workspace-records.ts";
import { narrowInvites } from "./invite-acceptance.ts";
import { joinChanges, joiningStatements, leavingStatements, type MembershipChange } from "./memberships.ts";

async function listMembers(call: AdminCall<undefined>): Promise<AnswerOf<typeof MemberList>> {
  const { query, stores } = call;
  const { row, tenant } = await findWorkspace(call);
  const organisation = await requireOrganisation(call);
  const role = readChoice(query, "role", ["admin", "manager", "member"]);
  const email = readText(query, "email")?.toLowerCase();
  const users = await stores.users.all(tenant, { where: { status: "active", ...(email !== undefined && { email }) } });
  const present = new Set(users.map(({ id }) => id));
  const members = await stores.members.all(tenant, { where: { ...(role && { role }) } });
  const matching = members.filter(({ userId }) => present.has(userId));
  const { offset, limit } = readPage(query);
  const page = matching.slice(offset, offset + limit);
  return toList(await toMembers(call, page, { organisation, workspace: row }), matching.length);
}

/** The membership a path names. */
async function findMember(call: AdminCall<unknown>) {
  const workspace = await findWorkspace(call);
  const userId = requireId(call.params, "userId", "member");
  const member = requireFound(await call.stores.members.find(workspace.tenant, { userId }), "member");
  return { workspace, member };
}

async function readMember(call: AdminCall<undefined>): Promise<MemberRecord> {
  const { workspace, member } = await findMember(call);
  const view = { organisation: await requireOrganisation(call), workspace: workspace.row };
  const [shown] = await toMembers(call, [member], view);
  return requireFound(shown, "member");
}

/**
 * Lets users give and take only roles up to their own. Services are not limited by roles.
 *
 * @param roles Roles that are given, and roles of the users who lose theirs.
 * @throws {PermissionError} AB03.
 */
async function requireRolesWithin(
  { context }: AdminCall<unknown>,
  { tenant }: FoundWorkspace,
  roles: readonly string[],
): Promise<void> {
  const { userId } = context.principal;
  if (userId === null || !roles.includes("admin")) return;
  const view = await context.services.control.directory.workspace(tenant);
  const own = view?.members.get(userId);
  if (own?.role === "admin" || (own !== undefined && own.organisationRole !== "member")) return;
  forbid("Only admins of the workspace may add, change or remove admins");
}

/** What is written for one user of a `POST`: a new membership, or the role of the existing one. */
async function toMembership(
  call: AdminCall<AddMembers>,
  place: FoundWorkspace & { current: WorkspaceMemberRow | undefined },
  { user, role }: { user: UserRow; role: WorkspaceRole },
): Promise<MembershipChange> {
  const { stores, now } = call;
  const { row: workspace, tenant, current } = place;
  if (!current) {
    const organisation = await requireOrganisation(call);
    return joiningStatements({ organisation, workspace, userId: user.id, role }, call);
  }
  const changes = { role, source: "manual" as const, lastUpdatedAt: now };
  return {
    statements: [stores.members.update(tenant, { userId: user.id }, changes)],
    keys: [],
  };
}

/** The active users of the organisation that the entries name, each once. */
async function findUsers({ stores }: AdminCall<unknown>, { tenant }: FoundWorkspace, entries: readonly Member[]) {
  const ids = entries.flatMap(({ id }) => id?.toLowerCase() ?? []);
  const emails = entries.flatMap(({ email }) => email ?? []);
  const byId = ids.length > 0 ? await stores.users.all(tenant, { where: { id: ids, status: "active" } }) : [];
  const byEmail =
    emails.length > 0 ? await stores.users.all(tenant, { where: { email: emails, status: "active" } }) : [];
  const found = entries.map(({ id, email, role }, index) => {
    const user =
      id === undefined ? byEmail.find((one) => one.email === email) : byId.find((one) => one.id === id.toLowerCase());
    const member = id === undefined ? "email" : "id";
    return user ? { user, role } : refuseField(`users.${index}.${member}`, "is not a member of the organisation");
  });
  if (new Set(found.map(({ user }) => user.id)).size < found.length) refuseField("users", "must name each user once");
  return found;
}

async function addMembers(call: AdminCall<AddMembers>): Promise<Outcome<AnswerOf<typeof NoContent>>> {
  const { body, stores } = call;
  const found = await findWorkspace(call);
  const wanted = await findUsers(call, found, body.users);
  const members = await stores.members.all(found.tenant, { where: { userId: wanted.map(({ user }) => user.id) } });
  await requireRolesWithin(call, found, [...wanted.map(({ role }) => role), ...members.map(({ role }) => role)]);
  const currentOf = new Map(members.map((member) => [member.userId, member]));
  const changes = await Promise.all(
    wanted.map((one) => toMembership(call, { ...found, current: currentOf.get(one.user.id) }, one)),
  );
  const { statements } = joinChanges(changes);
  return { answer: {}, recordId: found.row.id, statements };
}

async function updateMember(call: AdminCall<UpdateMember>): Promise<Outcome<AnswerOf<typeof NoContent>>> {
  const { body, stores, now } = call;
  const { workspace, member } = await findMember(call);
  await requireRolesWithin(call, workspace, [body.role, member.role]);
  const { userId } = member;
  const changes = { role: body.role, source: "manual" as const, lastUpdatedAt: now };
  return {
    answer: {},
    recordId: userId,
    statements: [stores.members.update(workspace.tenant, { userId }, changes)],
  };
}

async function removeMember(call: AdminCall<undefined>): Promise<Outcome<AnswerOf<typeof NoContent>>> {
  const { workspace, member } = await findMember(call);
  await requireRolesWithin(call, workspace, [member.role]);
  const { userId } = member;
  const { statements } = joinChanges([
    await leavingStatements(workspace.tenant, userId, call),
    await narrowInvites(call, workspace.tenant, [{ workspaceId: workspace.tenant.workspaceId, userId }]),
  ]);
  return { answer: {}, recordId: userId, statements };
}

const row = { tag: "Workspace members" };
const access = (verb: string) => ({ keys: "any" as const, scopes: [`workspace_users.${verb}`] });
const audit = (action: string) => ({ resource: "workspace_users", action, store: null });
const all = "/v1/admin/workspaces/:id/users";
const one = `${all}/:userId`;

/** Endpoints of the members of a workspace. */
export const memberEndpoints: readonly AdminEndpoint[] = [
  defineRead({
    ...row,
    method: "GET",
    path: all,
    summary: "List the members of a workspace",
    access: access("list"),
    query: [
      { name: "role", description: "admin, manager or member" },
      { name: "email", description: "Exact e-mail address" },
      ...pageQuery(),
    ],
    response: MemberList,
    handle: listMembers,
  }),
  defineWrite({
    ...row,
    method: "POST",
    path: all,
    summary: "Add members to a workspace",
    access: access("create"),
    audit: audit("create"),
    body: AddMembers,
    response: NoContent,
    handle: addMembers,
  }),
  defineRead({
    ...row,
    method: "GET",
    path: one,
    summary: "Show a member of a workspace",
    access: access("read"),
    response: MemberRecord,
    handle: readMember,
  }),
  defineWrite({
    ...row,
    method: "PUT",
    path: one,
    summary: "Change a member's role in a workspace",
    access: access("update"),
    audit: audit("update"),
    body: UpdateMember,
    response: NoContent,
    handle: updateMember,
  }),
  defineWrite({
    ...row,
    method: "DELETE",
    path: one,
    summary: "Remove a member from a workspace",
    access: access("delete"),
    audit: audit("delete"),
    response: NoContent,
    handle: removeMember,
  }),
];
