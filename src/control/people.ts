import type { ControlStores } from "../db/stores/control.ts";
import type { UserRow } from "../db/tables/tenants.ts";
import type { Tenant } from "../db/tenant-store.ts";

/** A person's place in a workspace. */
interface Membership {
  userId: string;
  email: string;
  /** Role in the organisation. */
  organisationRole: string;
  /** Role in the workspace; null for people who are in it only as owners or admins of the organisation. */
  role: string | null;
}

/** The people of a workspace, by user id. */
export interface Members {
  get(userId: string): Membership | undefined;
  has(userId: string): boolean;
}

/** Active people of an organisation by id. */
type People = ReadonlyMap<string, Pick<UserRow, "email" | "role">>;

/** Reads the people of an organisation. */
export async function readPeople({ users }: Pick<ControlStores, "users">, tenant: Tenant): Promise<People> {
  const rows = await users.all(tenant, { where: { status: "active" } });
  return new Map(rows.map(({ id, email, role }) => [id, { email, role }]));
}

/** Reads the roles of people in a workspace, by user id. */
export async function readRoles(
  { members }: Pick<ControlStores, "members">,
  tenant: Tenant,
): Promise<ReadonlyMap<string, string>> {
  const rows = await members.all(tenant);
  return new Map(rows.map(({ userId, role }) => [userId, role]));
}

/** The people who are in a workspace: those who have a role there, and those who have one in the whole organisation. */
export function joinMembers(people: People, roles: ReadonlyMap<string, string>): Members {
  const get = (userId: string): Membership | undefined => {
    const person = people.get(userId);
    const role = roles.get(userId);
    if (!person || (person.role === "member" && role === undefined)) return undefined;
    return { userId, email: person.email, organisationRole: person.role, role: role ?? null };
  };
  return { get, has: (userId) => get(userId) !== undefined };
}
