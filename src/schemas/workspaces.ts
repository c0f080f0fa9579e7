import * as v from "valibot";
import {
  Description,
  Flag,
  MetadataDefaults,
  Name,
  RateLimit,
  RateLimitList,
  Reference,
  ShownBudget,
  Slug,
  Text,
  UsageLimitList,
} from "./control.ts";
import { MemberRecord } from "./members.ts";
import { changesOf, closedObject, IsoTime, listOf, ShownFlag } from "./objects.ts";
import {
  DataPlaneSecuritySettings,
  SecuritySettings,
  ShownDataPlaneSettings,
  ShownSecuritySettings,
  ShownSettings,
  sharedSettings,
} from "./settings.ts";
import { WorkspaceRole } from "./users.ts";

/** Guardrails by id or slug; null and an empty list mean no guardrails. */
export const GuardrailNames = v.nullish(v.pipe(v.array(Reference), v.maxLength(100, "must have at most 100 entries")));

const Defaults = closedObject({
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
  settings: v.nullish(closedObject(sharedSettings)),
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
    closedObject({ id: Reference, role: v.optional(WorkspaceRole, "member") }),
  ],
  "must be the id of a user",
);

/** Body of `POST /admin/workspaces`. */
export const CreateWorkspace = closedObject({
  ...members,
  name: Name,
  slug: v.nullish(
    v.pipe(
      Slug,
      v.check((slug) => !/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(slug), "must not look like an id"),
    ),
  ),
  organisation_id: v.nullish(v.string()),
  users: v.nullish(v.pipe(v.array(FirstMember), v.maxLength(100, "must have at most 100 entries"))),
});
export type CreateWorkspace = v.InferOutput<typeof CreateWorkspace>;

/** Body of `PUT /admin/workspaces/{id}`. */
export const UpdateWorkspace = changesOf({ ...members, name: v.optional(Name) });
export type UpdateWorkspace = v.InferOutput<typeof UpdateWorkspace>;

/** Body of `DELETE /admin/workspaces/{id}`. */
export const DeleteWorkspace = changesOf({ name: v.string(), force_delete: v.optional(Flag, false) });
export type DeleteWorkspace = v.InferOutput<typeof DeleteWorkspace>;

export const workspaceStatuses = ["active", "archived"] as const;
export type WorkspaceStatus = (typeof workspaceStatuses)[number];

/** Defaults of a workspace in responses; absent members have none. */
const ShownDefaults = v.object({
  metadata: v.optional(v.record(v.string(), v.string())),
  /** Ids of guardrails. */
  input_guardrails: v.optional(v.array(v.string())),
  output_guardrails: v.optional(v.array(v.string())),
  /** Slug of the config that new keys of users get. */
  user_api_key_config: v.optional(v.string()),
});

/** The same as they are stored, the config by its id. */
export type StoredDefaults = v.InferOutput<typeof ShownDefaults>;

/** A workspace as lists show it. */
export const WorkspaceRecord = v.object({
  id: v.string(),
  slug: v.string(),
  name: v.string(),
  icon: v.nullable(v.string()),
  description: v.nullable(v.string()),
  defaults: v.nullable(ShownDefaults),
  is_default: ShownFlag,
  usage_limits: v.nullable(v.array(ShownBudget)),
  rate_limits: v.nullable(v.array(RateLimit)),
  security_settings: ShownSecuritySettings,
  data_plane_security_settings: ShownDataPlaneSettings,
  settings: ShownSettings,
  organisation_id: v.string(),
  last_reset_at: v.nullable(IsoTime),
  created_by: v.nullable(v.string()),
  creation_source: v.literal("api"),
  status: v.picklist(workspaceStatuses),
  scim_source_id: v.null(),
  created_at: IsoTime,
  last_updated_at: IsoTime,
  object: v.literal("workspace"),
});
export type WorkspaceRecord = v.InferOutput<typeof WorkspaceRecord>;

/** Response of `GET /admin/workspaces`. */
export const WorkspaceList = listOf(WorkspaceRecord);

/** Response of `GET /admin/workspaces/{id}` and of `POST /admin/workspaces`. */
export const WorkspaceDetail = v.object({ ...WorkspaceRecord.entries, users: v.array(MemberRecord) });
