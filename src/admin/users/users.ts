import type { UserRow } from "../../db/tables/tenants.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import { NoContent } from "../../schemas/objects.ts";
import { UpdateUser, UserList, UserRecord } from "../../schemas/users.ts";
import { type AdminCall, type AnswerOf, defineRead, defineWrite, type Outcome } from "../core/endpoint.ts";
import {
  forbid,
  readChoice,
  readPage,
  readText,
  refuseField,
  requireFound,
  requireId,
  toIso,
  toList,
} from "../core/request.ts";
import { cancelInvites } from "./invite-acceptance.ts";
import { joinChanges, leavingStatements } from "./memberships.ts";

/** Slugs of each user's workspaces; owners and admins of the organisation are in all. */
async function readWorkspaceSlugs({ stores, tenant }: AdminCall<unknown>, rows: readonly UserRow[]) {
  const workspaces = await stores.workspaces.all(tenant, { where: { status: "active" } });
  const members = await stores.members.all(tenant, { where: { userId: rows.map(({ id }) => id) } });
  return ({ id, role }: UserRow): string[] => {
    const joined = new Set(members.filter(({ userId }) => userId === id).map(({ workspaceId }) => workspaceId));
    return workspaces.filter((workspace) => role !== "member" || joined.has(workspace.id)).map(({ slug }) => slug);
  };
}

async function toUsers(call: AdminCall<unknown>, rows: readonly UserRow[]): Promise<UserRecord[]> {
  const slugsOf = await readWorkspaceSlugs(call, rows);
  return rows.map((row) => ({
    object: "user",
    id: row.id,
    first_name: row.firstName,
    last_name: row.lastName,
    role: row.role,
    email: row.email,
    created_at: toIso(row.createdAt),
    last_updated_at: toIso(row.lastUpdatedAt || row.createdAt),
    workspace_ids: slugsOf(row),
  }));
}

async function listUsers(call: AdminCall<undefined>): Promise<AnswerOf<typeof UserList>> {
  const role = readChoice(call.query, "role", ["owner", "admin", "member"]);
  const email = readText(call.query, "email")?.toLowerCase();
  const where = { status: "active" as const, ...(role && { role }), ...(email !== undefined && { email }) };
  const { rows, total } = await call.stores.users.list(call.tenant, { where, page: readPage(call.query) });
  return toList(await toUsers(call, rows), total);
}

/** The user a path names. */
async function findUser({ params, stores, tenant }: AdminCall<unknown>): Promise<UserRow> {
  const id = requireId(params, "userId", "user");
  return requireFound(await stores.users.find(tenant, { id, status: "active" }), "user");
}

async function readUser(call: AdminCall<undefined>): Promise<UserRecord> {
  const [user] = await toUsers(call, [await findUser(call)]);
  return requireFound(user, "user");
}

/** @throws {PermissionError} AB03 for the owner, whose role is fixed. */
function requireNoOwner({ role }: UserRow): void {
  if (role === "owner") forbid("The owner of the organisation cannot be changed or deleted");
}

async function updateUser(call: AdminCall<UpdateUser>): Promise<Outcome<AnswerOf<typeof NoContent>>> {
  const row = await findUser(call);
  requireNoOwner(row);
  if (row.role === call.body.role) refuseField("role", `this user has the role ${row.role} already`);
  const changes = { role: call.body.role, lastUpdatedAt: call.now };
  return { answer: {}, recordId: row.id, statements: [call.stores.users.update(call.tenant, { id: row.id }, changes)] };
}

async function deleteUser(call: AdminCall<undefined>): Promise<Outcome<AnswerOf<typeof NoContent>>> {
  const { stores, tenant, now } = call;
  const row = await findUser(call);
  requireNoOwner(row);
  const leaving = joinChanges([
    await leavingStatements(tenant, row.id, call),
    await cancelInvites(call, tenant, row.email),
  ]);
  return {
    answer: {},
    recordId: row.id,
    statements: [
      ...leaving.statements,
      stores.scimGroupMembers.remove(tenant, { userId: row.id }),
      // the row stays: keys, logs and the audit log refer to it
      stores.users.update(tenant, { id: row.id }, { status: "inactive", role: "member", lastUpdatedAt: now }),
    ],
  };
}

const row = { tag: "Users" };
const access = (verb: string) => ({ keys: "admin" as const, scopes: [`organisation_users.${verb}`] });
const audit = (action: string) => ({ resource: "users", action, store: null });
const one = "/v1/admin/users/:userId";

/** Endpoints of the users of an organisation. */
export const userEndpoints: readonly AdminEndpoint[] = [
  defineRead({
    ...row,
    method: "GET",
    path: "/v1/admin/users",
    summary: "List users",
    access: access("list"),
    query: [
      { name: "role", description: "owner, admin or member" },
      { name: "email", description: "Exact e-mail address" },
      { name: "currentPage", description: "Page, counted from 0" },
      { name: "pageSize", description: "Rows per page; default 50, at most 1000" },
    ],
    response: UserList,
    handle: listUsers,
  }),
  defineRead({
    ...row,
    method: "GET",
    path: one,
    summary: "Show a user",
    access: access("read"),
    response: UserRecord,
    handle: readUser,
  }),
  defineWrite({
    ...row,
    method: "PUT",
    path: one,
    summary: "Change a user's role",
    access: access("update"),
    audit: audit("update"),
    body: UpdateUser,
    response: NoContent,
    handle: updateUser,
  }),
  defineWrite({
    ...row,
    method: "DELETE",
    path: one,
    summary: "Remove a user",
    access: access("delete"),
    audit: audit("delete"),
    response: NoContent,
    handle: deleteUser,
  }),
];
