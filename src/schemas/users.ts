import * as v from "valibot";
import { changesOf, IsoTime, listOf } from "./objects.ts";

/** Roles in an organisation. */
export const organisationRoles = ["owner", "admin", "member"] as const;
/** States of a user: `inactive` for those that were removed. */
export const userStatuses = ["active", "inactive"] as const;
/** Roles in a workspace. */
export const workspaceRoles = ["admin", "manager", "member"] as const;

/** Roles in an organisation that can be assigned; owners are created with the organisation. */
export const assignedRoles = ["admin", "member"] as const;

/** Role in an organisation that can be assigned. */
export const OrganisationRole = v.picklist(assignedRoles, "must be admin or member");

/** Role in a workspace. */
export const WorkspaceRole = v.picklist(workspaceRoles, "must be admin, manager or member");
export type WorkspaceRole = v.InferOutput<typeof WorkspaceRole>;

/** Body of `PUT /admin/users/{userId}`. */
export const UpdateUser = changesOf({ role: OrganisationRole });
export type UpdateUser = v.InferOutput<typeof UpdateUser>;

/** A user of an organisation. */
export const UserRecord = v.object({
  object: v.literal("user"),
  id: v.string(),
  first_name: v.nullable(v.string()),
  last_name: v.nullable(v.string()),
  role: v.picklist(organisationRoles),
  email: v.string(),
  created_at: IsoTime,
  last_updated_at: IsoTime,
  /** Slugs. Owners and admins of the organisation are in all workspaces. */
  workspace_ids: v.array(v.string()),
});

/** Response of `GET /admin/users`. */
export const UserList = listOf(UserRecord);
