import type { UserRow } from "../../db/tables/tenants.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import { NoContent } from "../../schemas/objects.ts";
import { UpdateUser, UserList, UserRecord } from "../../schemas/users.ts";
import type { AdminCall, AnswerOf } from "../core/endpoint.ts";
import { defineRecord } from "../core/record.ts";
import type { Found } from "../core/record-definitions.ts";
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
import { shownBy } from "../core/shown-row.ts";
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

async function toUsers(call: AdminCall<unknown>, rows: readonly UserRow[]): Promise<AnswerOf<typeof UserRecord>[]> {
  const slugsOf = await readWorkspaceSlugs(call, rows);
  return rows.map(shownBy(UserRecord, (row: UserRow) => ({ workspace_ids: slugsOf(row) })));
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

/** @throws {PermissionError} AB03 for the owner, whose role is fixed. */
function requireNoOwner({ role }: UserRow): void {
  if (role === "owner") forbid("The owner of the organisation cannot be changed or deleted");
}

/** What goes with a user that leaves the organisation. */
async function leave(call: AdminCall<undefined>, { row }: Found<"users">) {
  const { stores, tenant } = call;
  requireNoOwner(row);
  const leaving = joinChanges([
    await leavingStatements(tenant, row.id, call),
    await cancelInvites(call, tenant, row.email),
  ]);
  return [...leaving.statements, stores.scimGroupMembers.remove(tenant, { userId: row.id })];
}

const users = defineRecord({
  tag: "Users",
  path: "/v1/admin/users",
  param: "userId",
  words: { one: "a user", many: "users" },
  store: "users",
  audit: "users",
  access: (verb) => ({ keys: "admin", scopes: [`organisation_users.${verb}`] }),
  ofOrganisation: true,
  find: findUser,
});

/** Endpoints of the users of an organisation. */
export const userEndpoints: readonly AdminEndpoint[] = [
  users.listBy({
    query: [
      { name: "role", description: "owner, admin or member" },
      { name: "email", description: "Exact e-mail address" },
      { name: "currentPage", description: "Page, counted from 0" },
      { name: "pageSize", description: "Rows per page; default 50, at most 1000" },
    ],
    response: UserList,
    handle: listUsers,
  }),
  users.show({
    response: UserRecord,
    async show({ row }, call) {
      const [user] = await toUsers(call, [row]);
      return requireFound(user, "user");
    },
  }),
  users.change({
    summary: "Change a user's role",
    body: UpdateUser,
    response: NoContent,
    async decide({ body: { role } }, { row }) {
      requireNoOwner(row);
      if (row.role === role) refuseField("role", `this user has the role ${row.role} already`);
      return { answer: {}, columns: { role } };
    },
  }),
  // the row stays: keys, logs and the audit log refer to it
  users.remove({ summary: "Remove a user", before: leave, archives: { status: "inactive", role: "member" } }),
];
