import type { RequestContext } from "../../context.ts";
import type { WorkspaceView } from "../../control/resources.ts";
import type { McpServer } from "../registry/mcp-server.ts";
import type { NamedServer } from "./addresses.ts";

/** A workspace, where something is looked up. */
interface Place {
  readonly organisationId: string;
  readonly workspaceId: string;
}

/** A user, in one workspace or in all that the user is a member of. */
interface UserPlace {
  readonly organisationId: string;
  readonly workspaceId: string | null;
  readonly userId: string;
}

/** A server and the workspace it is of. */
export interface FoundServer {
  readonly server: McpServer;
  readonly workspaceId: string;
  /** The user's e-mail address. */
  readonly email: string;
}

type Asked = Pick<RequestContext, "services">;

function isNamed({ workspace }: WorkspaceView, named: NamedServer): boolean {
  return named.workspace === undefined || named.workspace === workspace.slug || named.workspace === workspace.id;
}

/** A server of a workspace that is switched on; undefined for any other. */
export async function findWorkspaceServer(
  { services }: Asked,
  place: Place,
  named: NamedServer,
): Promise<McpServer | undefined> {
  const view = await services.control.directory.workspace(place);
  if (!view || !isNamed(view, named)) return undefined;
  const server = await services.mcpServers.find(place, named.slug);
  return server?.isActive ? server : undefined;
}

async function workspacesOf(
  { services }: Asked,
  { organisationId, workspaceId, userId }: UserPlace,
): Promise<string[]> {
  if (workspaceId !== null) return [workspaceId];
  const { members, workspaces, users } = services.control.stores;
  const tenant = { organisationId, workspaceId: null };
  const user = await users.find(tenant, { id: userId, status: "active" });
  if (!user) return [];
  if (user.role !== "member")
    return (await workspaces.all(tenant, { where: { status: "active" } })).map(({ id }) => id);
  return (await members.all(tenant, { where: { userId } })).map((row) => row.workspaceId);
}

/** The server that a user means by an address, and may use; undefined without exactly one such server. */
export async function findUserServer(
  context: Asked,
  place: UserPlace,
  named: NamedServer,
): Promise<FoundServer | undefined> {
  const { organisationId, userId } = place;
  const found: FoundServer[] = [];
  for (const workspaceId of await workspacesOf(context, place)) {
    const view = await context.services.control.directory.workspace({ organisationId, workspaceId });
    const email = view?.members.get(userId)?.email;
    if (email === undefined) continue;
    const server = await findWorkspaceServer(context, { organisationId, workspaceId }, named);
    if (server?.isOpenTo(userId)) found.push({ server, workspaceId, email });
  }
  return found.length === 1 ? found[0] : undefined;
}
