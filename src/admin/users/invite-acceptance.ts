import { noDefaults, type Principal } from "../../auth/principal.ts";
import { type CallerContext, noMetadata, type RequestContext, type Services } from "../../context.ts";
import type { AuditDraft } from "../../control/audit-chain.ts";
import type { Statement } from "../../db/client.ts";
import type { ControlStores } from "../../db/stores/control.ts";
import type { InviteRow, UserRow } from "../../db/tables/tenants.ts";
import type { Tenant } from "../../db/tenant-store.ts";
import { definePublicEndpoint, type Endpoint } from "../../endpoint.ts";
import { ConflictError, toGatewayError } from "../../errors.ts";
import { randomBase62 } from "../../lib/hash.ts";
import { dayMs } from "../../lib/periods.ts";
import { jsonReply } from "../../lib/reply.ts";
import { AcceptedInvite, AcceptInvite, type InviteRecord } from "../../schemas/invites.ts";
import { auditRefusal, commitAudited } from "../core/audit-values.ts";
import type { AnswerOf } from "../core/endpoint.ts";
import { isRecordId, requireFound } from "../core/request.ts";
import { checkBody, readAdminBody } from "../core/serve.ts";
import {
  type FirstKey,
  joinChanges,
  joiningStatements,
  type MadeKey,
  type MembershipChange,
  type MembershipParts,
} from "./memberships.ts";

/** How long an invite can be accepted. */
export const inviteLifetimeMs = 7 * dayMs;

/** The current status of an invite's row. */
export function inviteStatus({ status, expiresAt }: InviteRow, now: number): InviteRecord["status"] {
  return status === "pending" && expiresAt <= now ? "expired" : status;
}

/** A new token for an invite's link. It names the organisation, because its bearer has no other credential. */
export function createInviteToken(organisationId: string): string {
  return organisationId.replaceAll("-", "") + randomBase62(43);
}

/** The organisation a token names; a string of the same length as an id where it names none. */
function readOrganisationId(token: string): string {
  const digits = /^([0-9a-f]{32})[0-9A-Za-z]{43}$/.exec(token)?.[1] ?? "0".repeat(32);
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** The stored form of a token. */
export async function digestInviteToken(
  id: string,
  token: string,
  { stateMac }: Pick<Services, "stateMac">,
): Promise<string> {
  return stateMac(`invite\n${id}\n${token}`);
}

/** The newest invite of an address that can be accepted now. */
export async function findPendingInvite(
  stores: ControlStores,
  { organisationId }: Tenant,
  email: string,
  now: number,
): Promise<InviteRow | undefined> {
  const [invite] = await stores.invites.all(
    { organisationId, workspaceId: null },
    {
      where: { email: email.toLowerCase(), status: "pending" },
      between: { column: "expiresAt", from: now + 1 },
    },
  );
  return invite;
}

/** Statements that cancel the pending invites of an address: removed users must not return by an earlier link. */
export async function cancelInvites(
  { stores, now }: Pick<MembershipParts, "stores" | "now">,
  { organisationId }: Tenant,
  email: string,
): Promise<MembershipChange> {
  const tenant = { organisationId, workspaceId: null };
  const pending = await stores.invites.all(tenant, { where: { email, status: "pending" } });
  const changes = { status: "cancelled" as const, lastUpdatedAt: now };
  return {
    statements: pending.map(({ id }) => stores.invites.update(tenant, { id, status: "pending" }, changes)),
    keys: [],
  };
}

const noChange: MembershipChange = { statements: [], keys: [] };

/** Most values of one statement. */
const maxNamed = 5_000;

/** A user who leaves a workspace. */
export interface Leaving {
  workspaceId: string | null;
  userId: string;
}

/** Statements that remove workspaces from the pending invites of users who leave them. */
export async function narrowInvites(
  { stores }: Pick<MembershipParts, "stores">,
  { organisationId }: Tenant,
  leaving: readonly Leaving[],
): Promise<MembershipChange> {
  if (leaving.length === 0) return noChange;
  const tenant = { organisationId, workspaceId: null };
  const pending = await stores.invites.all(tenant, { where: { status: "pending" } });
  const emails = [...new Set(pending.map(({ email }) => email))];
  const users: UserRow[] = [];
  for (let from = 0; from < emails.length; from += maxNamed) {
    users.push(...(await stores.users.all(tenant, { where: { email: emails.slice(from, from + maxNamed) } })));
  }
  const idOf = new Map(users.map(({ id, email }) => [email, id]));
  const left = new Set(leaving.map(({ workspaceId, userId }) => `${userId} ${workspaceId}`));
  const narrowed = pending.flatMap((invite) => {
    const workspaces = invite.workspaces.filter(({ id }) => !left.has(`${idOf.get(invite.email)} ${id}`));
    return workspaces.length < invite.workspaces.length ? [{ id: invite.id, workspaces }] : [];
  });
  return {
    statements: narrowed.map(({ id, workspaces }) => stores.invites.update(tenant, { id }, { workspaces })),
    keys: [],
  };
}

/** When an invite was last decided on: when it was created or resent. */
function decidedAt({ createdAt, lastUpdatedAt }: InviteRow): number {
  return Math.max(createdAt, lastUpdatedAt);
}

/** What the acceptance of an invite writes. */
interface Acceptance {
  userId: string;
  statements: Statement[];
  /** Keys that were created; their secrets are available here only. */
  keys: MadeKey[];
}

/** Who accepts. */
interface AcceptingUser {
  firstName?: string | null | undefined;
  lastName?: string | null | undefined;
  /** Id for a user who is not in the organisation yet. Default a new one. */
  newId?: string;
}

/** The user after accepting: a new one, one who returns, or an existing one. */
function userStatements(
  invite: InviteRow,
  { user, id, person }: { user: UserRow | undefined; id: string; person: AcceptingUser },
  { stores, now }: MembershipParts,
): Statement[] {
  const tenant = { organisationId: invite.organisationId, workspaceId: null };
  if (user?.status === "active") return [];
  const { email, role } = invite;
  const names = {
    firstName: person.firstName ?? invite.firstName ?? user?.firstName ?? null,
    lastName: person.lastName ?? invite.lastName ?? user?.lastName ?? null,
  };
  const member = { ...names, role, status: "active" as const, lastUpdatedAt: now };
  if (user) return [stores.users.update(tenant, { id: user.id }, member)];
  const { organisationId } = invite;
  return [stores.users.insert(tenant, { id, organisationId, email, ...member, createdAt: now })];
}

/** Adds the user to the workspaces of an invite. */
async function joinWorkspaces(invite: InviteRow, userId: string, parts: MembershipParts) {
  const { stores, now } = parts;
  const tenant = { organisationId: invite.organisationId, workspaceId: null };
  const roles = new Map(invite.workspaces.map(({ id, role }) => [id, role]));
  const where = { id: [...roles.keys()], status: "active" as const };
  const workspaces = await stores.workspaces.all(tenant, { where });
  const organisation = requireFound(await stores.organisations.get(invite.organisationId), "invite");
  const members = await stores.members.all(tenant, { where: { userId } });
  // written by `createInvite` in this shape
  const firstKey = invite.keyDetails as FirstKey | null;
  const changes = workspaces.map(async (workspace) => {
    const role = roles.get(workspace.id) ?? "member";
    const member = members.find(({ workspaceId }) => workspaceId === workspace.id);
    if (!member) return joiningStatements({ organisation, workspace, userId, role, firstKey }, parts);
    // a role that was decided on later stays
    if (Math.max(member.createdAt, member.lastUpdatedAt) > decidedAt(invite)) return noChange;
    const own = { ...tenant, workspaceId: workspace.id };
    const statements = [stores.members.update(own, { userId }, { role, lastUpdatedAt: now })];
    return { statements, keys: [] };
  });
  return joinChanges(await Promise.all(changes));
}

/**
 * What is written when a user accepts a pending invite. Runs inside `commitAudited`, which reads the invite and calls
 * this again when another node wrote first.
 */
async function acceptanceStatements(
  invite: InviteRow,
  person: AcceptingUser,
  parts: MembershipParts,
): Promise<Acceptance> {
  const { stores, now } = parts;
  const tenant = { organisationId: invite.organisationId, workspaceId: null };
  const user = await stores.users.find(tenant, { email: invite.email });
  if (user && user.status !== "active" && user.lastUpdatedAt > decidedAt(invite)) {
    throw new ConflictError("Cannot accept this invite: this user was removed after it was created", { code: "AB07" });
  }
  const id = user?.id ?? person.newId ?? crypto.randomUUID();
  const joined = await joinWorkspaces(invite, id, parts);
  const accepted = { status: "accepted" as const, acceptedAt: now, lastUpdatedAt: now };
  return {
    userId: id,
    statements: [
      ...userStatements(invite, { user, id, person }, parts),
      ...joined.statements,
      stores.invites.update(tenant, { id: invite.id }, accepted),
    ],
    keys: joined.keys,
  };
}

/** The caller of an accepted invite: the user, whose key is the invite itself. */
function asUser(context: RequestContext, { id, organisationId }: InviteRow, userId: string): CallerContext {
  const principal: Principal = {
    keyId: id,
    kind: "workspace-user",
    organisationId,
    workspaceId: null,
    userId,
    scopes: new Set<string>(),
    defaults: noDefaults,
  };
  return Object.assign(context, {
    principal,
    gatewayKey: "",
    providerCredential: undefined,
    providerAuthorization: undefined,
    metadata: noMetadata,
    isCounted: false,
  });
}

/** The invite a path and a token name; unknown invites, wrong tokens and malformed ones get the same response. */
async function findInvite(context: RequestContext, token: string): Promise<InviteRow> {
  const { stores } = context.services.control;
  const id = (context.params.inviteId ?? "").toLowerCase();
  const tenant = { organisationId: readOrganisationId(token), workspaceId: null };
  const [invite, digest] = await Promise.all([
    isRecordId(id) ? stores.invites.find(tenant, { id }) : undefined,
    digestInviteToken(id, token, context.services),
  ]);
  return requireFound(invite?.tokenDigest === digest ? invite : undefined, "invite");
}

const audit = { resource: "invites", action: "accept", store: null };
const acceptRoute = { method: "POST", path: "/v1/admin/users/invites/:inviteId/accept" } as const;

async function accept(context: RequestContext) {
  const body = checkBody(AcceptInvite, await readAdminBody(context));
  const found = await findInvite(context, body.token);
  const { stores } = context.services.control;
  const tenant = { organisationId: found.organisationId, workspaceId: null };
  const user = await stores.users.find(tenant, { email: found.email });
  const newId = crypto.randomUUID();
  const caller = asUser(context, found, user?.id ?? newId);
  const work = async () => {
    const now = context.services.clock.now();
    const invite = await findInvite(context, body.token);
    const status = inviteStatus(invite, now);
    if (status !== "pending") throw new ConflictError(`Cannot accept this invite: it is ${status}`, { code: "AB07" });
    const person = { firstName: body.first_name, lastName: body.last_name, newId };
    const acceptance = await acceptanceStatements(invite, person, { stores, context, now });
    return { ...acceptance, recordId: invite.id };
  };
  try {
    return await commitAudited(audit, caller, work);
  } catch (error) {
    const { status } = toGatewayError(error);
    if (status !== 503) await auditRefusal({ ...acceptRoute, audit }, caller, status);
    throw error;
  }
}

/**
 * Accepts the pending invite of an address that an identity provider confirms. No key is created for it: nobody would
 * see its secret.
 *
 * @returns Whether there was one.
 */
export async function acceptByEmail(
  organisationId: string,
  email: string,
  services: Pick<Services, "clock" | "control" | "keyMac" | "keyPrefix">,
): Promise<boolean> {
  const { control, clock } = services;
  const tenant = { organisationId, workspaceId: null };
  const now = clock.now();
  if (!(await findPendingInvite(control.stores, tenant, email, now))) return false;
  let isAccepted = false;
  await control.committer.run(organisationId, async () => {
    const invite = await findPendingInvite(control.stores, tenant, email, now);
    const parts = { stores: control.stores, context: { services }, now };
    const acceptance = invite && (await acceptanceStatements({ ...invite, keyDetails: null }, {}, parts));
    isAccepted = acceptance !== undefined;
    const audited: AuditDraft = {
      time: now,
      requestId: "",
      method: "",
      uri: "",
      queryParams: "{}",
      requestBody: "",
      requestHeaders: "{}",
      userId: acceptance?.userId ?? "",
      userType: "user",
      workspaceId: null,
      responseStatusCode: 200,
      resourceType: audit.resource,
      resourceId: invite?.id ?? null,
      action: audit.action,
      clientIp: "",
      country: null,
    };
    return { statements: acceptance?.statements ?? [], audit: audited };
  });
  return isAccepted;
}

function toAccepted(userId: string, keys: readonly MadeKey[]): AnswerOf<typeof AcceptedInvite> {
  const shown = keys.map(({ id, key, workspaceId }) => {
    return { id, key, workspace_id: workspaceId, object: "api-key" as const };
  });
  return { id: userId, object: "user", api_keys: shown };
}

/** The endpoint by which an invited person becomes a user: the link's token is their only credential. */
export const acceptEndpoints: readonly Endpoint[] = [
  definePublicEndpoint({
    ...acceptRoute,
    access: "public",
    errorForm: "admin",
    tag: "Invites",
    summary: "Accept an invite with the token of its link",
    body: AcceptInvite,
    response: AcceptedInvite,
    async handle(context) {
      try {
        const { userId, keys } = await accept(context);
        return jsonReply(toAccepted(userId, keys));
      } catch (error) {
        throw toGatewayError(error);
      }
    },
  }),
];
