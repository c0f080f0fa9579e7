import * as v from "valibot";
import { Reference } from "./control.ts";
import { WorkspaceRole } from "./users.ts";

/** A user and a role. */
const Member = v.object({ id: Reference, role: WorkspaceRole });

/** Body of `POST /admin/workspaces/{id}/users`. */
export const AddMembers = v.object({
  users: v.pipe(
    v.array(Member),
    v.minLength(1, "must have at least 1 entry"),
    v.maxLength(100, "must have at most 100 entries"),
    v.check((users) => new Set(users.map(({ id }) => id)).size === users.length, "must name each user once"),
  ),
});
export type AddMembers = v.InferOutput<typeof AddMembers>;

/** Body of `PUT /admin/workspaces/{id}/users/{userId}`. */
export const UpdateMember = v.object({ role: WorkspaceRole });
export type UpdateMember = v.InferOutput<typeof UpdateMember>;
