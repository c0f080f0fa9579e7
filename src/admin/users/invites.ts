import { mayHoldScope, normaliseScope } from "../../auth/scopes.ts";
import type { InviteRow } from "../../db/tables/tenants.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import { ConflictError } from "../../errors.ts";
import {
  CreatedInvite,
  CreateInvite,
  InviteList,
  InviteRecord,
  inviteStatuses,
  ResentInvite,
} from "../../schemas/invites.ts";
import { NoContent } from "../../schemas/objects.ts";
import { assignedRoles, type WorkspaceRole } from "../../schemas/users.ts";
import { type AdminCall, type AnswerOf, defineRead, defineWrite, type Outcome } from "../core/endpoint.ts";
import { toJson } from "../core/json-column.ts";
import { applyMetadataSchema } from "../core/metadata-schema.ts";
import {
  forbid,
  readChoice,
  readPage,
  readTenant,
  readText,
  refuseField,
  requireFound,
  requireId,
  toIso,
  toList,
} from "../core/request.ts";
import { requireOrganisation } from "../core/workspace-records.ts";
import {
  createInviteToken,
  digestInviteToken,
  findPendingInvite,
  inviteLifetimeMs,
  inviteStatus,
} from "./invite-acceptance.ts";
import type { FirstKey } from "./memberships.ts";

const statuses = [...inviteStatuses, "expired"] as const;

function toInvite(row: InviteRow, now: number): InviteRecord {
  return {
    object: "invite",
    id: row.id,
    email: row.email,
    role: row.role,
    first_name: row.firstName,
    last_name: row.lastName,
    created_at: toIso(row.createdAt),
    expires_at: toIso(row.expiresAt),
    accepted_at: toIso(row.acceptedAt),
    status: inviteStatus(row, now),
    invited_by: row.invitedBy,
    workspaces: row.workspaces.map(({ id, role }) => ({ workspace_id: id, role })),
  };
}

/** Rows with this status now: an expired invite is a pending one whose time is over. */
function whereStatus(status: (typeof statuses)[number] | undefined, now: number) {
  if (status === undefined) return {};
  if (status === "expired") {
    return { where: { status: "pending" as const }, between: { column: "expiresAt" as const, to: now + 1 } };
  }
  if (status === "pending") return { where: { status }, between: { column: "expiresAt" as const, from: now + 1 } };
  return { where: { status } };
}

async function listInvites({ query, stores, tenant, now }: AdminCall<undefined>): Promise<AnswerOf<typeof InviteList>> {
  const role = readChoice(query, "role", assignedRoles);
  const email = readText(query, "email")?.toLowerCase();
  const { where, between } = whereStatus(readChoice(query, "status", statuses), now);
  const { rows, total } = await stores.invites.list(tenant, {
    where: { ...where, ...(role && { role }), ...(email !== undefined && { email }) },
    between,
    page: readPage(query),
  });
  return toList(
    rows.map((row) => toInvite(row, now)),
    total,
  );
}

/** The invite a path names. */
async function findInvite({ params, stores, tenant }: AdminCall<unknown>): Promise<InviteRow> {
  const id = requireId(params, "inviteId", "invite");
  return requireFound(await stores.invites.find(tenant, { id }), "invite");
}

/**
 * Fields of an invited user's first key. The inviting key may give only scopes it has, or that no key of an
 * organisation can have.
 */
async function readFirstKey(call: AdminCall<CreateInvite>): Promise<FirstKey | null> {
  const details = call.body.workspace_api_key_details;
  if (!details) return null;
  const member = "workspace_api_key_details";
  const { scopes: held } = call.context.principal;
  const scopes = details.scopes.map((text, index) => {
    const scope = normaliseScope(text);
    const param = `${member}.scopes.${index}`;
    if (!mayHoldScope("workspace-user", scope)) refuseField(param, `user keys cannot hold ${text}`);
    if (mayHoldScope("organisation-service", scope) && !held.has(scope)) forbid(`This key lacks ${text} itself`, param);
    return scope;
  });
  const expiresAt = details.expiry ?? null;
  if (expiresAt !== null && expiresAt <= call.now) refuseField(`${member}.expiry`, "must be in the future");
  const metadata = applyMetadataSchema(await requireOrganisation(call), "apiKey", details.metadata);
  return { name: details.name ?? null, scopes: [...new Set(scopes)], expiresAt, metadata };
}

/** @throws {ConflictError} AB07 if the user is in the organisation already, or has a pending invite. */
async function refuseKnown({ stores, tenant, now }: AdminCall<unknown>, email: string, own?: string): Promise<void> {
  if (await stores.users.find(tenant, { email, status: "active" })) {
    throw new ConflictError("Cannot invite this user: they are in the organisation already", { code: "AB07" });
  }
  const pending = await findPendingInvite(stores, tenant, email, now);
  if (pending && pending.id !== own) {
    throw new ConflictError("Cannot invite this user: an invite is pending", { code: "AB07" });
  }
}

/** A new token of an invite and its stored form. */
async function createToken({ context, tenant, now }: AdminCall<unknown>, id: string) {
  const token = createInviteToken(tenant.organisationId);
  return {
    link: `${context.url.origin}/invites/${id}?token=${token}`,
    stored: { tokenDigest: await digestInviteToken(id, token, context.services), expiresAt: now + inviteLifetimeMs },
  };
}

async function createInvite(call: AdminCall<CreateInvite>): Promise<Outcome<AnswerOf<typeof CreatedInvite>>> {
  const { body, stores, tenant, now, actor } = call;
  const { email, role } = body;
  await refuseKnown(call, email);
  const workspaces = new Map<string, WorkspaceRole>();
  for (const { id: named, role } of body.workspaces) {
    const { workspaceId } = await readTenant(call, named);
    workspaces.set(String(workspaceId), role);
  }
  const id = crypto.randomUUID();
  const { link, stored } = await createToken(call, id);
  const row = {
    id,
    organisationId: tenant.organisationId,
    email,
    role,
    ...stored,
    status: "pending" as const,
    invitedBy: actor,
    firstName: body.first_name ?? null,
    lastName: body.last_name ?? null,
    workspaces: [...workspaces].map(([id, role]) => ({ id, role })),
    keyDetails: toJson(await readFirstKey(call)),
    createdAt: now,
    lastUpdatedAt: now,
  };
  return {
    answer: { id, invite_link: link, object: "invite" },
    recordId: id,
    statements: [stores.invites.insert(tenant, row)],
  };
}

async function cancelInvite(call: AdminCall<undefined>): Promise<Outcome<AnswerOf<typeof NoContent>>> {
  const { stores, tenant, now } = call;
  const row = await findInvite(call);
  if (row.status === "accepted") {
    throw new ConflictError("Cannot cancel this invite: it is accepted", { code: "AB07" });
  }
  const changes = { status: "cancelled" as const, lastUpdatedAt: now };
  return { answer: {}, recordId: row.id, statements: [stores.invites.update(tenant, { id: row.id }, changes)] };
}

async function resendInvite(call: AdminCall<undefined>): Promise<Outcome<AnswerOf<typeof ResentInvite>>> {
  const { stores, tenant, now } = call;
  const row = await findInvite(call);
  if (row.status !== "pending") {
    throw new ConflictError(`Cannot send this invite again: it is ${row.status}`, { code: "AB07" });
  }
  await refuseKnown(call, row.email, row.id);
  const { link, stored } = await createToken(call, row.id);
  return {
    answer: { inviteLink: link },
    recordId: row.id,
    statements: [stores.invites.update(tenant, { id: row.id }, { ...stored, lastUpdatedAt: now })],
  };
}

const row = { tag: "Invites" };
const access = (verb: string) => ({ keys: "admin" as const, scopes: [`organisation_users.${verb}`] });
const audit = (action: string) => ({ resource: "invites", action, store: null });
const all = "/v1/admin/users/invites";
const one = `${all}/:inviteId`;

/** Endpoints of invites, except their acceptance. */
export const inviteEndpoints: readonly AdminEndpoint[] = [
  defineRead({
    ...row,
    method: "GET",
    path: all,
    summary: "List invites",
    access: access("list"),
    query: [
      { name: "role", description: "admin or member" },
      { name: "email", description: "Exact e-mail address" },
      { name: "status", description: statuses.join(", ") },
      { name: "currentPage", description: "Page, counted from 0" },
      { name: "pageSize", description: "Rows per page; default 50, at most 1000" },
    ],
    response: InviteList,
    handle: listInvites,
  }),
  defineWrite({
    ...row,
    method: "POST",
    path: all,
    summary: "Invite a user",
    access: access("create"),
    audit: audit("create"),
    body: CreateInvite,
    response: CreatedInvite,
    handle: createInvite,
  }),
  defineRead({
    ...row,
    method: "GET",
    path: one,
    summary: "Show an invite",
    access: access("read"),
    response: InviteRecord,
    handle: async (call) => toInvite(await findInvite(call), call.now),
  }),
  defineWrite({
    ...row,
    method: "DELETE",
    path: one,
    summary: "Cancel an invite",
    access: access("delete"),
    audit: audit("delete"),
    response: NoContent,
    handle: cancelInvite,
  }),
  defineWrite({
    ...row,
    method: "POST",
    path: `${one}/resend`,
    summary: "Create a new link for an invite",
    access: { keys: "admin", scopes: ["organisation_users.create", "organisation_users.update"] },
    audit: audit("resend"),
    response: ResentInvite,
    handle: resendInvite,
  }),
];
