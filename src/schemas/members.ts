import * as v from "valibot";
import { Email, Reference } from "./control.ts";
import { changesOf, closedObject, IsoTime, listOf } from "./objects.ts";
import { organisationRoles, userStatuses, WorkspaceRole } from "./users.ts";

/** A user, by id or by e-mail address, and a role. */
const Member = v.pipe(
  closedObject({ id: v.optional(Reference), email: v.optional(Email), role: WorkspaceRole }),
  v.check(({ id, email }) => (id === undefined) !== (email === undefined), "must have either id or email"),
);
export type Member = v.InferOutput<typeof Member>;

/** Body of `POST /admin/workspaces/{id}/users`. */
export const AddMembers = closedObject({
  users: v.pipe(
    v.array(Member),
    v.minLength(1, "must have at least 1 entry"),
    v.maxLength(100, "must have at most 100 entries"),
  ),
});
export type AddMembers = v.InferOutput<typeof AddMembers>;

/** Body of `PUT /admin/workspaces/{id}/users/{userId}`. */
export const UpdateMember = changesOf({ role: WorkspaceRole });
export type UpdateMember = v.InferOutput<typeof UpdateMember>;

/** A member of a workspace. */
export const MemberRecord = v.object({
  object: v.literal("workspace-user"),
  /** Of the user. */
  id: v.string(),
  first_name: v.nullable(v.string()),
  last_name: v.nullable(v.string()),
  org_role: v.picklist(organisationRoles),
  role: WorkspaceRole,
  status: v.picklist(userStatuses),
  workspace_id: v.string(),
  email: v.string(),
  /** Scopes that the role allows to the user's keys. */
  scopes: v.array(v.string()),
  settings: v.null(),
  created_at: IsoTime,
  last_updated_at: IsoTime,
});
export type MemberRecord = v.InferOutput<typeof MemberRecord>;

/** Response of `GET /admin/workspaces/{id}/users`. */
export const MemberList = listOf(MemberRecord);
