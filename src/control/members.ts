import type { ControlStores } from "../db/stores/control.ts";
import type { UserRow } from "../db/tables/tenants.ts";
import type { Tenant } from "../db/tenant-store.ts";

/** A user's place in a workspace. */
interface Membership {
  userId: string;
  email: string;
  /** Role in the organisation. */
  organisationRole: string;
  /** Role in the workspace; null for owners and admins of the organisation who have none. */
  role: string | null;
}

/** The users of a workspace by id. */
export interface Members {
  get(userId: string): Membership | undefined;
  has(userId: string): boolean;
}

/** Active users of an organisation by id. */
type Users = ReadonlyMap<string, Pick<UserRow, "email" | "role">>;

/** Reads the users of an organisation. */
export async function readUsers({ users }: Pick<ControlStores, "users">, tenant: Tenant): Promise<Users> {
  const rows = await users.all(tenant, { where: { status: "active" } });
  return new Map(rows.map(({ id, email, role }) => [id, { email, role }]));
}

/** Reads the roles of users in a workspace, by user id. */
export async function readRoles(
  { members }: Pick<ControlStores, "members">,
  tenant: Tenant,
): Promise<ReadonlyMap<string, string>> {
  const rows = await members.all(tenant);
  return new Map(rows.map(({ userId, role }) => [userId, role]));
}

/** Joins users and their roles: a workspace has the users with a role in it, and owners and admins of the organisation. */
export function joinMembers(users: Users, roles: ReadonlyMap<string, string>): Members {
  const get = (userId: string): Membership | undefined => {
    const user = users.get(userId);
    const role = roles.get(userId);
    if (!user || (user.role === "member" && role === undefined)) return undefined;
    return { userId, email: user.email, organisationRole: user.role, role: role ?? null };
  };
  return { get, has: (userId) => get(userId) !== undefined };
}
