import { scopesOfKind } from "../../auth/scopes.ts";
import type { Services } from "../../context.ts";
import { settingsOf, toRecord } from "../../control/settings.ts";
import type { Statement } from "../../db/client.ts";
import type { ControlStores } from "../../db/stores/control.ts";
import type { OrganisationRow, WorkspaceRow } from "../../db/tables/tenants.ts";
import type { Filter, Tenant } from "../../db/tenant-store.ts";
import { InvalidRequestError } from "../../errors.ts";
import { stringOf } from "../../lib/json.ts";
import { dayMs } from "../../lib/periods.ts";
import type { WorkspaceSettings } from "../../schemas/settings.ts";
import type { WorkspaceRole } from "../../schemas/users.ts";
import { mintKey } from "../api-keys/key-minting.ts";
import { applyMetadataSchema, type RecordMetadata } from "../core/metadata-schema.ts";
import { removeUpstreamAccounts } from "../core/upstream-accounts.ts";

/** What writing memberships needs. */
export interface MembershipParts {
  stores: ControlStores;
  context: { readonly services: Pick<Services, "keyMac" | "keyPrefix"> };
  /** Unix milliseconds. */
  now: number;
}

/** Fields of a user's first key in a workspace. */
export interface FirstKey {
  name: string | null;
  scopes: readonly string[];
  /** Unix milliseconds. */
  expiresAt: number | null;
  metadata: RecordMetadata | null;
}

/** A user who joins a workspace. */
interface Joining {
  organisation: OrganisationRow;
  workspace: WorkspaceRow;
  userId: string;
  role: WorkspaceRole;
  /** Where the membership comes from. Default `manual`. */
  source?: "manual" | "scim";
  /** A requested key; without it one is created where the settings say so. */
  firstKey?: FirstKey | null;
}

/** A key created for a user; its secret is shown once or never. */
export interface MadeKey {
  id: string;
  key: string;
  workspaceId: string;
}

/** What a change of memberships writes. */
export interface MembershipChange {
  statements: Statement[];
  keys: MadeKey[];
}

/**
 * When a new user key expires: at the requested time or after the default lifetime, within the maximum lifetime. Null
 * is never.
 */
function userKeyExpiry(settings: WorkspaceSettings, asked: number | null, now: number): number | null {
  const { user_api_key_ttl: ttl, user_api_key_max_ttl: longest } = settings;
  const wanted = asked ?? (ttl > 0 ? now + ttl * dayMs : null);
  if (longest <= 0) return wanted;
  return Math.min(wanted ?? Number.POSITIVE_INFINITY, now + longest * dayMs);
}

/** The key every joining user gets; undefined where no key is wanted or possible. */
function autoKey({ organisation }: Joining, settings: WorkspaceSettings): FirstKey | undefined {
  if (!settings.user_api_key_auto_create) return undefined;
  try {
    const metadata = applyMetadataSchema(organisation, "apiKey", null);
    return { name: null, scopes: scopesOfKind("workspace-user"), expiresAt: null, metadata };
  } catch (error) {
    // the schema requires more than its defaults supply: somebody has to fill it in
    if (error instanceof InvalidRequestError) return undefined;
    throw error;
  }
}

/** The key a joining user gets: its secret, and the statement that stores it. */
async function createFirstKey(joining: Joining, parts: MembershipParts) {
  const { organisation, workspace, userId, firstKey } = joining;
  const {
    stores,
    context: { services },
    now,
  } = parts;
  const settings = settingsOf({ organisation, workspace });
  const wanted = firstKey ?? autoKey(joining, settings);
  if (!wanted) return undefined;
  const tenant = { organisationId: organisation.id, workspaceId: workspace.id };
  const held = await stores.apiKeys.count(tenant, { where: { userId, status: ["active", "exhausted"] } });
  const most = settings.user_api_key_count;
  if (most >= 0 && held >= most) return undefined;
  if (!firstKey && held > 0) return undefined;
  const config = toRecord(workspace.defaults).user_api_key_config;
  const { key, row } = await mintKey(
    {
      ...tenant,
      userId,
      kind: "workspace-user",
      creationMode: "auto",
      name: wanted.name ?? "User key",
      scopes: wanted.scopes,
      expiresAt: userKeyExpiry(settings, wanted.expiresAt, now),
      defaults: {
        metadata: wanted.metadata,
        config_id: stringOf(config) ?? null,
        allow_config_override: true,
      },
    },
    services,
    now,
  );
  const made: MadeKey = { id: row.id, key, workspaceId: workspace.id };
  return { made, statement: stores.apiKeys.insert(tenant, row) };
}

/** What is written when a user who is not in a workspace joins it. */
export async function joiningStatements(joining: Joining, parts: MembershipParts): Promise<MembershipChange> {
  const { organisation, workspace, userId, role, source = "manual" } = joining;
  const { stores, now } = parts;
  const tenant = { organisationId: organisation.id, workspaceId: workspace.id };
  const times = { createdAt: now, lastUpdatedAt: now };
  const first = await createFirstKey(joining, parts);
  return {
    statements: [
      stores.members.put(tenant, { ...tenant, userId, role, source, ...times }),
      ...(first ? [first.statement] : []),
    ],
    keys: first ? [first.made] : [],
  };
}

/** Several changes as one. */
export function joinChanges(changes: readonly MembershipChange[]): MembershipChange {
  return {
    statements: changes.flatMap(({ statements }) => statements),
    keys: changes.flatMap(({ keys }) => keys),
  };
}

/** Keys that are active or may become active again. */
const livingKeys = ["active", "exhausted", "expired"] as const;

/** Statements that end keys for good. */
export async function revokingStatements(
  tenant: Tenant,
  where: Filter<{ userId: string | null }>,
  { stores, now }: Pick<MembershipParts, "stores" | "now">,
): Promise<MembershipChange> {
  const keys = await stores.apiKeys.all(tenant, { where: { ...where, status: livingKeys } });
  const ended = { id: keys.map(({ id }) => id), status: livingKeys };
  return {
    statements: [stores.apiKeys.update(tenant, ended, { status: "revoked", lastUpdatedAt: now })],
    keys: [],
  };
}

/**
 * What is written when a user leaves one workspace or, where the tenant is the organisation, all of them: the
 * memberships end, the user's keys there stop working, and accounts at upstream servers and private views and runs are forgotten.
 */
export async function leavingStatements(
  tenant: Tenant,
  userId: string,
  parts: Pick<MembershipParts, "stores" | "now">,
): Promise<MembershipChange> {
  const { statements } = await revokingStatements(tenant, { userId }, parts);
  return {
    statements: [
      ...statements,
      ...(await removeUpstreamAccounts(parts, tenant, { userId })),
      parts.stores.gatewayFiles.update(
        tenant,
        { id: parts.stores.playgroundRuns.values(tenant, "fileId", { audience: userId }) },
        { status: "deleted" },
      ),
      parts.stores.playgroundRuns.remove(tenant, { audience: userId }),
      parts.stores.savedViews.remove(tenant, { audience: userId }),
      parts.stores.savedViewDefaults.remove(tenant, { person: userId }),
      parts.stores.members.remove(tenant, { userId }),
    ],
    keys: [],
  };
}
