import { mayHoldScope, normaliseScope } from "../../auth/scopes.ts";
import type { InviteRow } from "../../db/tables/tenants.ts";
import { baseOf } from "../../endpoint/public-origin.ts";
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
import { assignedRoles, type WorkspaceRole } from "../../schemas/users.ts";
import type { AdminCall } from "../core/endpoint.ts";
import { toJson } from "../core/json-column.ts";
import { applyMetadataSchema } from "../core/metadata-schema.ts";
import { defineRecord } from "../core/record.ts";
import type { Found, NewPlace } from "../core/record-definitions.ts";
import { forbid, readChoice, readTenant, readText, refuseField } from "../core/request.ts";
import { shownBy } from "../core/shown-row.ts";
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

const toStored = shownBy(InviteRecord, ({ status, workspaces }: InviteRow) => ({
  status,
  workspaces: workspaces.map(({ id, role }) => ({ workspace_id: id, role })),
}));

const toInvite = (row: InviteRow, now: number) => ({ ...toStored(row), status: inviteStatus(row, now) });

/** Rows with this status now: an expired invite is a pending one whose time is over. */
function whereStatus(status: (typeof statuses)[number] | undefined, now: number) {
  if (status === undefined) return {};
  if (status === "expired") {
    return { where: { status: "pending" as const }, between: { column: "expiresAt" as const, to: now + 1 } };
  }
  if (status === "pending") return { where: { status }, between: { column: "expiresAt" as const, from: now + 1 } };
  return { where: { status } };
}

/** Conditions of a list beside the role. */
function selectInvites({ query, now }: AdminCall<undefined>) {
  const email = readText(query, "email")?.toLowerCase();
  const { where, between } = whereStatus(readChoice(query, "status", statuses), now);
  return { where: { ...where, ...(email !== undefined && { email }) }, between };
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
    link: `${baseOf(context)}/invites/${id}?token=${token}`,
    stored: { tokenDigest: await digestInviteToken(id, token, context.services), expiresAt: now + inviteLifetimeMs },
  };
}

async function createInvite(call: AdminCall<CreateInvite>, { id }: NewPlace<"invites">) {
  const { body, actor } = call;
  const { email, role } = body;
  await refuseKnown(call, email);
  const workspaces = new Map<string, WorkspaceRole>();
  for (const { id: named, role } of body.workspaces) {
    const { workspaceId } = await readTenant(call, named);
    workspaces.set(String(workspaceId), role);
  }
  const { link, stored } = await createToken(call, id);
  return {
    answer: { id, invite_link: link, object: "invite" as const },
    columns: {
      email,
      role,
      ...stored,
      status: "pending" as const,
      invitedBy: actor,
      firstName: body.first_name ?? null,
      lastName: body.last_name ?? null,
      workspaces: [...workspaces].map(([id, role]) => ({ id, role })),
      keyDetails: toJson(await readFirstKey(call)),
    },
  };
}

async function resendInvite(call: AdminCall<undefined>, found: Found<"invites">) {
  const { row } = found;
  if (row.status !== "pending") {
    throw new ConflictError(`Cannot send this invite again: it is ${row.status}`, { code: "AB07" });
  }
  await refuseKnown(call, row.email, row.id);
  const { link, stored } = await createToken(call, row.id);
  return { answer: { inviteLink: link }, statements: [invites.updating(call, found, stored)] };
}

const invites = defineRecord({
  tag: "Invites",
  path: "/v1/admin/users/invites",
  param: "inviteId",
  words: { one: "an invite", many: "invites" },
  store: "invites",
  audit: "invites",
  access: (verb) => ({
    keys: "admin",
    scopes: (verb === "resend" ? ["create", "update"] : [verb]).map((one) => `organisation_users.${one}`),
  }),
  ofOrganisation: true,
  hasIdsOnly: true,
});

/** Endpoints of invites, except their acceptance. */
export const inviteEndpoints: readonly AdminEndpoint[] = [
  invites.list({
    response: InviteList,
    filters: { role: { values: assignedRoles } },
    query: [
      { name: "email", description: "Exact e-mail address" },
      { name: "status", description: statuses.join(", ") },
    ],
    select: selectInvites,
    show: (rows, { now }) => rows.map((row) => toInvite(row, now)),
  }),
  invites.create({ summary: "Invite a user", body: CreateInvite, response: CreatedInvite, decide: createInvite }),
  invites.show({ response: InviteRecord, show: ({ row }, { now }) => toInvite(row, now) }),
  invites.remove({
    summary: "Cancel an invite",
    archives: { status: "cancelled" },
    async before(_, { row }) {
      if (row.status !== "accepted") return [];
      throw new ConflictError("Cannot cancel this invite: it is accepted", { code: "AB07" });
    },
  }),
  invites.write({
    method: "POST",
    at: "/resend",
    verb: "resend",
    summary: "Create a new link for an invite",
    response: ResentInvite,
    handle: resendInvite,
  }),
];
