import * as v from "valibot";
import { Email, MetadataDefaults, Name, Reference, Text, Time } from "./control.ts";
import { closedObject, IsoTime, listOf } from "./objects.ts";
import { OrganisationRole, WorkspaceRole } from "./users.ts";

/** States of an invite, beside `expired`: a pending one whose time is over. */
export const inviteStatuses = ["pending", "accepted", "cancelled"] as const;

/** Settings of an invited user's first key. */
const KeyDetails = closedObject({
  scopes: v.pipe(
    v.array(Text(255)),
    v.minLength(1, "must have at least 1 entry"),
    v.maxLength(200, "must have at most 200 entries"),
  ),
  name: v.nullish(Name),
  expiry: v.nullish(Time),
  metadata: v.nullish(MetadataDefaults),
});

/** A workspace that an invited user joins, and their role there. */
const InvitedPlace = closedObject({ id: Reference, role: WorkspaceRole });
export type InvitedPlace = v.InferOutput<typeof InvitedPlace>;

/** Body of `POST /admin/users/invites`. */
export const CreateInvite = closedObject({
  email: Email,
  role: OrganisationRole,
  workspaces: v.pipe(v.array(InvitedPlace), v.maxLength(100, "must have at most 100 entries")),
  workspace_api_key_details: v.nullish(KeyDetails),
  first_name: v.nullish(Name),
  last_name: v.nullish(Name),
});
export type CreateInvite = v.InferOutput<typeof CreateInvite>;

/** Body of `POST /admin/users/invites/{inviteId}/accept`. */
export const AcceptInvite = closedObject(
  {
    token: Text(512),
    first_name: v.nullish(Name),
    last_name: v.nullish(Name),
  },
  { shown: ["organisation_id"] },
);
export type AcceptInvite = v.InferOutput<typeof AcceptInvite>;

/** An invite; its link is shown only when it is created or sent again. */
export const InviteRecord = v.object({
  object: v.literal("invite"),
  id: v.string(),
  email: v.string(),
  role: OrganisationRole,
  first_name: v.nullable(v.string()),
  last_name: v.nullable(v.string()),
  created_at: IsoTime,
  expires_at: IsoTime,
  accepted_at: v.nullable(IsoTime),
  status: v.picklist([...inviteStatuses, "expired"]),
  /** Id of the user or the key. */
  invited_by: v.string(),
  workspaces: v.array(v.object({ workspace_id: v.string(), role: WorkspaceRole })),
});
export type InviteRecord = v.InferOutput<typeof InviteRecord>;

/** Response of `GET /admin/users/invites`. */
export const InviteList = listOf(InviteRecord);

/** Response of `POST /admin/users/invites`. */
export const CreatedInvite = v.object({ id: v.string(), invite_link: v.string(), object: v.literal("invite") });

/** Response of `POST /admin/users/invites/{inviteId}/resend`. */
export const ResentInvite = v.object({ inviteLink: v.string() });

/** Response of `POST /admin/users/invites/{inviteId}/accept`: the user, and their first keys, whose secrets are shown only here. */
export const AcceptedInvite = v.object({
  /** Of the user. */
  id: v.string(),
  object: v.literal("user"),
  api_keys: v.array(
    v.object({ id: v.string(), key: v.string(), workspace_id: v.string(), object: v.literal("api-key") }),
  ),
});
