import * as v from "valibot";
import {
  Description,
  Flag,
  MetadataDefaults,
  Name,
  RateLimitList,
  Reference,
  Text,
  UsageLimitList,
} from "./control.ts";
import { DataPlaneSecuritySettings, SecuritySettings, sharedSettings } from "./settings.ts";
import { WorkspaceRole } from "./users.ts";

/** Guardrails by id or slug; null and an empty list mean no guardrails. */
export const GuardrailNames = v.nullish(v.pipe(v.array(Reference), v.maxLength(100, "must have at most 100 entries")));

const Defaults = v.object({
  metadata: v.nullish(MetadataDefaults),
  input_guardrails: GuardrailNames,
  output_guardrails: GuardrailNames,
  user_api_key_config: v.nullish(Reference),
});
export type WorkspaceDefaults = v.InferOutput<typeof Defaults>;

const members = {
  description: Description,
  icon: v.nullish(Text(255, 0)),
  defaults: v.nullish(Defaults),
  usage_limits: v.nullish(UsageLimitList),
  rate_limits: v.nullish(RateLimitList),
  settings: v.nullish(v.object(sharedSettings)),
  security_settings: v.nullish(SecuritySettings),
  data_plane_security_settings: v.nullish(DataPlaneSecuritySettings),
};

/** A user who is a member of a new workspace from the start. */
const FirstMember = v.union(
  [
    v.pipe(
      Reference,
      v.transform((id) => ({ id, role: "member" as const })),
    ),
    v.object({ id: Reference, role: v.optional(WorkspaceRole, "member") }),
  ],
  "must be the id of a user",
);

/** Body of `POST /admin/workspaces`. */
export const CreateWorkspace = v.object({
  ...members,
  name: Name,
  organisation_id: v.nullish(v.string()),
  users: v.nullish(v.pipe(v.array(FirstMember), v.maxLength(100, "must have at most 100 entries"))),
});
export type CreateWorkspace = v.InferOutput<typeof CreateWorkspace>;

/** Body of `PUT /admin/workspaces/{id}`. */
export const UpdateWorkspace = v.object({ ...members, name: v.optional(Name) });
export type UpdateWorkspace = v.InferOutput<typeof UpdateWorkspace>;

/** Body of `DELETE /admin/workspaces/{id}`. */
export const DeleteWorkspace = v.object({ name: v.string(), force_delete: v.optional(Flag, false) });
export type DeleteWorkspace = v.InferOutput<typeof DeleteWorkspace>;
