import * as v from "valibot";

/** Role in an organisation that can be assigned; owners are created with the organisation. */
export const OrganisationRole = v.picklist(["admin", "member"], "must be admin or member");

/** Role in a workspace. */
export const WorkspaceRole = v.picklist(["admin", "manager", "member"], "must be admin, manager or member");
export type WorkspaceRole = v.InferOutput<typeof WorkspaceRole>;

/** Body of `PUT /admin/users/{userId}`. */
export const UpdateUser = v.object({ role: OrganisationRole });
export type UpdateUser = v.InferOutput<typeof UpdateUser>;
