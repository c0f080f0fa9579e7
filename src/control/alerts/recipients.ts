import type { ControlStores } from "../../db/stores/control.ts";
import type { LimitAlertRow } from "../../db/tables/limits.ts";
import type { UserRow } from "../../db/tables/tenants.ts";

type Stores = Pick<
  ControlStores,
  "apiKeys" | "integrations" | "members" | "modelAliases" | "providers" | "usageLimitPolicies" | "users" | "workspaces"
>;

/** What is known of the record that has a budget. */
interface Holder {
  /** Null where the record has no name, or is gone. */
  name: string | null;
  /** Addresses of those who are alerted besides the administrators of the organisation. */
  addresses: readonly string[];
}

/** Reads whom alerts of an organisation concern, each thing once. */
export interface HolderReader {
  readonly organisationId: string;
  holderOf(row: LimitAlertRow): Promise<Holder>;
  /** Addresses of everybody who gets the alert by mail, in alphabetical order. */
  recipientsOf(row: LimitAlertRow): Promise<string[]>;
}

/**
 * An address on the internet that can stand in an SMTP command: nothing in it can begin another one. The first owner of an
 * installation may have none.
 */
const addressForm = /^[^\s@,;<>"\\]{1,64}@[^\s@,;<>"\\[\]()]{1,255}\.[^\s@,;<>"\\[\]()]{1,63}$/;

/** The addresses that can be used, each once. */
function toAddresses(given: readonly unknown[]): string[] {
  const usable = given.filter((address): address is string => typeof address === "string" && addressForm.test(address));
  return [...new Set(usable.map((address) => address.toLowerCase()))].sort();
}

/** Reads addresses of active users. */
async function addressesOf(
  stores: Stores,
  organisationId: string,
  filter: { id?: string[]; role?: UserRow["role"][] },
) {
  if (filter.id?.length === 0) return [];
  const tenant = { organisationId, workspaceId: null };
  const users = await stores.users.all(tenant, { where: { ...filter, status: "active" } });
  return users.map(({ email }) => email);
}

/** The key of a budget: its owner, and the addresses it names. */
async function readKey(stores: Stores, organisationId: string, id: string): Promise<Holder> {
  const row = await stores.apiKeys.find({ organisationId, workspaceId: null }, { id });
  if (!row) return { name: null, addresses: [] };
  const owners = await addressesOf(stores, organisationId, { id: row.userId === null ? [] : [row.userId] });
  const named = Array.isArray(row.alertEmails) ? row.alertEmails.map(String) : [];
  return { name: row.name, addresses: [...owners, ...named] };
}

/** The workspace of a budget: its admins and managers. */
async function readWorkspace(stores: Stores, organisationId: string, id: string): Promise<Holder> {
  const row = await stores.workspaces.find({ organisationId, workspaceId: null }, { id });
  const tenant = { organisationId, workspaceId: id };
  const members = await stores.members.all(tenant, { where: { role: ["admin", "manager"] } });
  const ids = members.map(({ userId }) => userId);
  return { name: row?.name ?? null, addresses: await addressesOf(stores, organisationId, { id: ids }) };
}

async function readHolder(
  stores: Stores,
  { organisationId, holderKind, holderId: id }: LimitAlertRow,
): Promise<Holder> {
  if (holderKind === "api_key") return readKey(stores, organisationId, id);
  if (holderKind === "workspace") return readWorkspace(stores, organisationId, id);
  const tenant = { organisationId, workspaceId: null };
  const { providers, integrations, modelAliases, usageLimitPolicies } = stores;
  const others = {
    provider: providers,
    integration: integrations,
    model_alias: modelAliases,
    policy: usageLimitPolicies,
  };
  // rows are only written with one of these kinds
  const row = await others[holderKind as keyof typeof others].find(tenant, { id });
  return { name: row?.name ?? null, addresses: [] };
}

/** Creates a reader for one round of deliveries: what it has read may change afterwards. */
export function createHolderReader(stores: Stores, organisationId: string): HolderReader {
  const holders = new Map<string, Promise<Holder>>();
  let administrators: Promise<string[]> | undefined;
  const holderOf = (row: LimitAlertRow): Promise<Holder> => {
    if (row.organisationId !== organisationId) throw new TypeError("Cannot read a record of another tenant");
    const key = `${row.holderKind}:${row.holderId}`;
    const found = holders.get(key) ?? readHolder(stores, row);
    holders.set(key, found);
    return found;
  };
  return {
    organisationId,
    holderOf,
    async recipientsOf(row) {
      administrators ??= addressesOf(stores, organisationId, { role: ["owner", "admin"] });
      const { addresses } = await holderOf(row);
      return toAddresses([...(await administrators), ...addresses]);
    },
  };
}
