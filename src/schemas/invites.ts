import * as v from "valibot";
import { Email, MetadataDefaults, Name, Reference, Text, Time } from "./control.ts";
import { OrganisationRole, WorkspaceRole } from "./users.ts";

/** Settings of an invited user's first key. */
const KeyDetails = v.object({
  scopes: v.pipe(
    v.array(Text(255)),
    v.minLength(1, "must have at least 1 entry"),
    v.maxLength(200, "must have at most 200 entries"),
  ),
  name: v.nullish(Name),
  expiry: v.nullish(Time),
  metadata: v.nullish(MetadataDefaults),
});

/** Body of `POST /admin/users/invites`. */
export const CreateInvite = v.object({
  email: Email,
  role: OrganisationRole,
  workspaces: v.pipe(
    v.array(v.object({ id: Reference, role: WorkspaceRole })),
    v.maxLength(100, "must have at most 100 entries"),
  ),
  workspace_api_key_details: v.nullish(KeyDetails),
  first_name: v.nullish(Name),
  last_name: v.nullish(Name),
});
export type CreateInvite = v.InferOutput<typeof CreateInvite>;

/** Body of `POST /admin/users/invites/{inviteId}/accept`. */
export const AcceptInvite = v.object({
  token: Text(512),
  first_name: v.nullish(Name),
  last_name: v.nullish(Name),
});
export type AcceptInvite = v.InferOutput<typeof AcceptInvite>;
