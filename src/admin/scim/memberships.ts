import type { Statement } from "../../db/client.ts";
import type { ScimGroupRow, ScimMappingRow } from "../../db/tables/scim.ts";
import type { WorkspaceMemberRow, WorkspaceRow } from "../../db/tables/tenants.ts";
import { type WorkspaceRole, workspaceRoles } from "../../schemas/users.ts";
import type { AdminCall } from "../core/endpoint.ts";
import { removeUpstreamAccounts } from "../core/upstream-accounts.ts";
import { type Leaving, narrowInvites } from "../users/invite-acceptance.ts";

const ranks: Readonly<Record<WorkspaceRole, number>> = { member: 1, manager: 2, admin: 3 };

/** 0 for no role. */
const rankOf = (role: WorkspaceRole | undefined): number => (role === undefined ? 0 : ranks[role]);

/** Form of the names of groups that need no mapping. */
const automaticName = /^ws-(.+)-role-(admin|manager|member)$/i;

/** The workspace and role in a group's name. */
export function readGroupName(displayName: string): { workspace: string; role: WorkspaceRole } | undefined {
  const [, workspace, named] = automaticName.exec(displayName) ?? [];
  const role = workspaceRoles.find((one) => one === named?.toLowerCase());
  return workspace === undefined || role === undefined ? undefined : { workspace, role };
}

/** The workspace with this slug, else name; a name of several workspaces matches none. */
function findWorkspace(workspaces: readonly WorkspaceRow[], named: string): WorkspaceRow | undefined {
  const wanted = named.toLowerCase();
  const bySlug = workspaces.filter(({ slug }) => slug.toLowerCase() === wanted);
  const found = bySlug.length > 0 ? bySlug : workspaces.filter(({ name }) => name.toLowerCase() === wanted);
  return found.length === 1 ? found[0] : undefined;
}

/**
 * The state that decides memberships of some users. Handlers change it to the future state before memberships are
 * planned.
 */
interface MembershipFacts {
  /** Users whose memberships are decided. */
  userIds: readonly string[];
  /** The active ones among them. */
  active: Set<string>;
  /** Groups by id. */
  groups: Map<string, Pick<ScimGroupRow, "id" | "displayName">>;
  /** Ids of users by the id of their group. */
  members: Map<string, ReadonlySet<string>>;
  /** Active mappings. */
  mappings: Pick<ScimMappingRow, "groupId" | "workspaceId" | "role">[];
  workspaces: readonly WorkspaceRow[];
  /** Current memberships. */
  current: readonly WorkspaceMemberRow[];
}

/** Most ids of one statement. */
const chunkSize = 5_000;

/** A list in batches that one statement can bind. */
export function inChunks<Item>(items: readonly Item[]): Item[][] {
  return Array.from({ length: Math.ceil(items.length / chunkSize) }, (_, index) =>
    items.slice(index * chunkSize, (index + 1) * chunkSize),
  );
}

async function readChunks<Item, Row>(items: readonly Item[], readRows: (chunk: Item[]) => Promise<Row[]>) {
  return (await Promise.all(inChunks(items).map(readRows))).flat();
}

/**
 * Reads the state that decides users' memberships.
 *
 * @param groupIds Groups besides those the users are in.
 */
export async function readMembershipFacts(
  { stores, tenant }: AdminCall<unknown>,
  userIds: readonly string[],
  groupIds: readonly string[] = [],
): Promise<MembershipFacts> {
  const [links, users, current, workspaces] = await Promise.all([
    readChunks(userIds, (userId) => stores.scimGroupMembers.all(tenant, { where: { userId } })),
    readChunks(userIds, (id) => stores.users.all(tenant, { where: { id, status: "active" } })),
    readChunks(userIds, (userId) => stores.members.all(tenant, { where: { userId } })),
    stores.workspaces.all(tenant, { where: { status: "active" } }),
  ]);
  const named = [...new Set([...groupIds, ...links.map(({ groupId }) => groupId)])];
  const [groups, mappings] = await Promise.all([
    readChunks(named, (id) => stores.scimGroups.all(tenant, { where: { id } })),
    readChunks(named, (groupId) => stores.scimMappings.all(tenant, { where: { groupId, status: "active" } })),
  ]);
  const members = new Map<string, Set<string>>(named.map((id) => [id, new Set()]));
  for (const { groupId, userId } of links) members.get(groupId)?.add(userId);
  return {
    userIds,
    members,
    mappings,
    workspaces,
    current,
    active: new Set(users.map(({ id }) => id)),
    groups: new Map(groups.map((group) => [group.id, group])),
  };
}

/** Workspaces and role of one group. */
function workspacesOf(group: Pick<ScimGroupRow, "id" | "displayName">, { mappings, workspaces }: MembershipFacts) {
  const named = readGroupName(group.displayName);
  const automatic = named && findWorkspace(workspaces, named.workspace);
  const open = new Set(workspaces.map(({ id }) => id));
  return [
    ...(named && automatic ? [{ workspaceId: automatic.id, role: named.role }] : []),
    ...mappings.filter(({ groupId, workspaceId }) => groupId === group.id && open.has(workspaceId)),
  ];
}

/** Roles by workspace and user, from the groups; the highest counts. */
function wantedRoles(facts: MembershipFacts): Map<string, Map<string, WorkspaceRole>> {
  const wanted = new Map(facts.userIds.map((id) => [id, new Map<string, WorkspaceRole>()]));
  for (const group of facts.groups.values()) {
    const places = workspacesOf(group, facts);
    for (const userId of facts.members.get(group.id) ?? []) {
      const roles = facts.active.has(userId) ? wanted.get(userId) : undefined;
      for (const { workspaceId, role } of roles ? places : []) {
        if (rankOf(role) > rankOf(roles?.get(workspaceId))) roles?.set(workspaceId, role);
      }
    }
  }
  return wanted;
}

/** Statements that update memberships. */
export interface MembershipPlan {
  statements: Statement[];
}

/**
 * Gives the users of groups their memberships in a new workspace: the groups may be older than it.
 *
 * @param members Users added by hand when it was created.
 */
export async function joinByGroups(
  call: AdminCall<unknown>,
  workspace: WorkspaceRow,
  members: readonly WorkspaceMemberRow[],
): Promise<MembershipPlan> {
  const { stores, tenant } = call;
  const groups = await stores.scimGroups.all(tenant);
  const named = groups.filter(({ displayName }) => {
    const place = readGroupName(displayName);
    return place !== undefined && findWorkspace([workspace], place.workspace) !== undefined;
  });
  if (named.length === 0) return { statements: [] };
  const groupIds = named.map(({ id }) => id);
  const links = await readChunks(groupIds, (groupId) => stores.scimGroupMembers.all(tenant, { where: { groupId } }));
  const facts = await readMembershipFacts(call, [...new Set(links.map(({ userId }) => userId))], groupIds);
  facts.workspaces = [...facts.workspaces, workspace];
  facts.current = [...facts.current, ...members];
  return planMemberships(call, facts);
}

/**
 * Updates memberships to match the groups. Those that were given by hand stay unchanged. Nobody returns to a workspace
 * by an invite that is older than their removal from it.
 */
export async function planMemberships(call: AdminCall<unknown>, facts: MembershipFacts): Promise<MembershipPlan> {
  const { stores, tenant, now } = call;
  const wanted = wantedRoles(facts);
  const statements: Statement[] = [];
  const leaving: Leaving[] = [];
  for (const { workspaceId, userId, role, source } of facts.current) {
    const roles = wanted.get(userId);
    const next = roles?.get(workspaceId);
    roles?.delete(workspaceId);
    if (source !== "scim" || next === role) continue;
    const own = { workspaceId, userId, source: "scim" as const };
    if (next === undefined) leaving.push({ workspaceId, userId });
    statements.push(
      next === undefined
        ? stores.members.remove(tenant, own)
        : stores.members.update(tenant, own, { role: next, lastUpdatedAt: now }),
    );
  }
  for (const [userId, roles] of wanted) {
    for (const [workspaceId, role] of roles) {
      const times = { createdAt: now, lastUpdatedAt: now };
      const { organisationId } = tenant;
      statements.push(
        stores.members.insert(tenant, { organisationId, workspaceId, userId, role, source: "scim", ...times }),
      );
    }
  }
  const { organisationId } = tenant;
  const accounts = await Promise.all(
    leaving.map(({ workspaceId, userId }) => removeUpstreamAccounts(call, { organisationId, workspaceId }, { userId })),
  );
  const narrowed = await narrowInvites(call, tenant, leaving);
  return { statements: [...statements, ...accounts.flat(), ...narrowed.statements] };
}
