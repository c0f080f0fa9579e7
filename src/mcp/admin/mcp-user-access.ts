import { type AdminCall, type AnswerOf, defineRead, defineWrite, type Outcome } from "../../admin/core/endpoint.ts";
import { forbid, readPage, readSearch, readText, requireReferenced } from "../../admin/core/request.ts";
import type { McpServerRow } from "../../db/tables/mcp.ts";
import type { UserRow } from "../../db/tables/tenants.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import { McpSuccess, UpdateUserAccess, UserAccessCheck, UserAccessList } from "../../schemas/mcp.ts";
import { organisationOf } from "./mcp-integration-records.ts";
import { findMcpServer, ofServer } from "./mcp-server-records.ts";

/** Users of the workspace of a server: its members, and owners and admins of the organisation. By e-mail. */
async function usersOf({ stores }: AdminCall<unknown>, server: McpServerRow): Promise<UserRow[]> {
  const [users, members] = await Promise.all([
    stores.users.all(organisationOf(server), { where: { status: "active" } }),
    stores.members.all(ofServer(server)),
  ]);
  const ids = new Set(members.map(({ userId }) => userId));
  return users
    .filter(({ id, role }) => role !== "member" || ids.has(id))
    .toSorted((a, b) => (a.email < b.email ? -1 : 1));
}

/** Users with an entry, and whether it lets them in. */
async function entriesOf({ stores }: AdminCall<unknown>, server: McpServerRow): Promise<ReadonlyMap<string, boolean>> {
  const rows = await stores.mcpServerUsers.all(ofServer(server), { where: { serverId: server.id } });
  return new Map(rows.map(({ userId, enabled }) => [userId, enabled]));
}

async function listUserAccess(call: AdminCall<undefined>): Promise<AnswerOf<typeof UserAccessList>> {
  const server = await findMcpServer(call);
  const page = readPage(call.query, { size: 100, max: 500, page: { name: "page", first: 1 } });
  const text = readSearch(call.query)?.toLowerCase() ?? "";
  const entries = await entriesOf(call, server);
  const found = (await usersOf(call, server)).filter(({ email, firstName, lastName }) =>
    [email, firstName ?? "", lastName ?? "", `${firstName} ${lastName}`].some((one) =>
      one.toLowerCase().includes(text),
    ),
  );
  const connections = await call.stores.mcpConnections.all(ofServer(server), {
    where: { serverId: server.id, status: "connected" },
  });
  const connected = new Set(connections.map(({ userId }) => userId));
  const shown = found.slice(page.offset, page.offset + page.limit);
  const data = shown.map(({ id, firstName, lastName, email }) => ({
    user_id: id,
    first_name: firstName,
    last_name: lastName,
    email,
    enabled: entries.get(id) ?? server.defaultUserAccess === "allow",
    has_override: entries.has(id),
    connection_status: connected.has(id) ? ("connected" as const) : ("not_connected" as const),
  }));
  const has_more = page.offset + shown.length < found.length;
  return { data, default_user_access: server.defaultUserAccess, total: found.length, has_more };
}

async function updateUserAccess(call: AdminCall<UpdateUserAccess>): Promise<Outcome<AnswerOf<typeof McpSuccess>>> {
  const { body, stores, now } = call;
  const server = await findMcpServer(call);
  const tenant = ofServer(server);
  const serverId = server.id;
  const entries = await entriesOf(call, server);
  const known = new Set((await usersOf(call, server)).map(({ id }) => id));
  const written = (body.user_access ?? []).map(({ user_id: userId, enabled }, index) => {
    // the entry of someone who left can be removed
    const isKnown = known.has(userId) || (enabled === null && entries.has(userId));
    requireReferenced(isKnown ? userId : undefined, `user_access.${index}.user_id`);
    if (enabled === null) return stores.mcpServerUsers.remove(tenant, { serverId, userId });
    return entries.has(userId)
      ? stores.mcpServerUsers.update(tenant, { serverId, userId }, { enabled, lastUpdatedAt: now })
      : stores.mcpServerUsers.insert(tenant, { ...tenant, serverId, userId, enabled, createdAt: now });
  });
  const changes = { defaultUserAccess: body.default_user_access, lastUpdatedAt: now };
  const row = stores.mcpServers.update(tenant, { id: serverId }, changes);
  return { answer: { success: true }, recordId: serverId, statements: [...written, row] };
}

/** Whether a user may use a server: the one of the key, or one that a key of a service names. */
async function checkUserAccess(call: AdminCall<undefined>): Promise<AnswerOf<typeof UserAccessCheck>> {
  const server = await findMcpServer(call);
  const own = call.context.principal.userId;
  const named = readText(call.query, "user_id");
  if (own !== null && named !== undefined && named !== own) forbid("This key checks the access of its user", "user_id");
  const userId = own ?? named;
  if (userId === undefined) return { has_access: server.status === "active" };
  const isUser = (await usersOf(call, server)).some(({ id }) => id === userId);
  const isLetIn = (await entriesOf(call, server)).get(userId) ?? server.defaultUserAccess === "allow";
  return { has_access: server.status === "active" && isUser && isLetIn };
}

const row = { tag: "MCP servers", path: "/v1/mcp-servers/:slug/user-access" };
const access = (verb: string) => ({ keys: "any" as const, scopes: [`mcp_servers.${verb}`] });

/** Endpoints of the users who may use an MCP server. */
export const mcpUserAccessEndpoints: readonly AdminEndpoint[] = [
  defineRead({
    ...row,
    method: "GET",
    summary: "List who may use an MCP server",
    access: access("read"),
    query: [
      { name: "search", description: "Text in the name or e-mail address, at least 2 characters" },
      { name: "page", description: "Counted from 1" },
      { name: "page_size", description: "1 to 500; default 100" },
    ],
    response: UserAccessList,
    handle: listUserAccess,
  }),
  defineWrite({
    ...row,
    method: "PUT",
    summary: "Change who may use an MCP server",
    access: access("update"),
    audit: { resource: "mcp_servers", action: "update", store: "mcpServers" as const },
    body: UpdateUserAccess,
    response: McpSuccess,
    handle: updateUserAccess,
  }),
  defineRead({
    ...row,
    method: "GET",
    path: "/v1/mcp-servers/:slug/user-access/check",
    summary: "Check whether a user may use an MCP server",
    access: access("read"),
    query: [{ name: "user_id", description: "The user, for keys of services; default: the user of the key" }],
    response: UserAccessCheck,
    handle: checkUserAccess,
  }),
];
