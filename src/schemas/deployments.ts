import * as v from "valibot";
import { Flag, Name, Reference, Text } from "./control.ts";
import { changesOf, closedObject, IsoTime, JsonObject, listOf, ShownFlag } from "./objects.ts";

const maxEntries = 1_000;
const tooMany = `must have at most ${maxEntries} entries`;

const Workspaces = v.pipe(v.array(Reference), v.maxLength(maxEntries, tooMany));
const Subject = Text(255);
const Subjects = v.pipe(v.array(Subject), v.maxLength(maxEntries, tooMany));

/** An address to which paths are appended. Whether it may be called is decided at the time of the call. */
const BaseUrl = v.pipe(
  Text(2048),
  v.regex(/^https?:\/\/[!-"$->@-~]+$/, "must be an address that begins with http:// or https://, without a query"),
);

/** Fields of `auth_settings` that are neither lists nor the mapping. */
const plainAuthMembers = {
  gateway_base_url: v.nullish(BaseUrl),
  mcp_gateway_base_url: v.nullish(BaseUrl),
  private_link_endpoint: v.nullish(Text(2048)),
  use_private_link_proxy: v.nullish(Flag),
  is_dataservice_hosted: v.nullish(Flag),
  is_playground_proxy_allowed: v.nullish(Flag),
  disable_ai_gateway: v.nullish(Flag),
  disable_mcp_gateway: v.nullish(Flag),
  disable_agent_gateway: v.nullish(Flag),
};

const authMembers = {
  ...plainAuthMembers,
  workspaces_allowed: v.nullish(Workspaces),
  jwt_subs_allowed: v.nullish(Subjects),
  jwt_sub_workspace_mapping: v.nullish(
    v.pipe(
      JsonObject,
      v.record(Subject, Reference),
      v.check((mapping) => Object.keys(mapping).length <= maxEntries, tooMany),
    ),
  ),
  allow_all_workspaces: v.nullish(Flag),
};

const Tags = v.union(
  [
    v.pipe(v.array(Text(128)), v.maxLength(50, "must have at most 50 entries")),
    v.pipe(
      JsonObject,
      v.record(Text(128), Text(256, 0)),
      v.check((tags) => Object.keys(tags).length <= 50, "must have at most 50 entries"),
    ),
  ],
  "must be a list of strings or an object of strings, with at most 50 entries",
);

export const deploymentTypes = ["production", "non_production"] as const;
export const deploymentStatuses = ["active", "archived"] as const;
export const connectionStatuses = ["healthy", "unhealthy", "unknown"] as const;

const members = {
  type: v.optional(v.picklist(deploymentTypes, "must be production or non_production")),
  is_default: v.optional(Flag),
  deployment_config: v.nullish(JsonObject),
  tags: v.nullish(Tags),
  organisation_id: v.nullish(v.string()),
};

/** Body of `POST /deployments`. */
export const CreateDeployment = closedObject({
  ...members,
  name: Name,
  slug: v.optional(v.pipe(v.string(), v.regex(/^[A-Za-z0-9_-]{1,50}$/, "must be 1 to 50 letters, digits, _ or -"))),
  auth_settings: v.nullish(closedObject(authMembers)),
});
export type CreateDeployment = v.InferOutput<typeof CreateDeployment>;

/** `auth_settings` of an update: lists are merged with the stored ones, unless `override` is set. */
const ChangedAuth = changesOf({
  ...authMembers,
  remove_workspaces_allowed: v.nullish(Workspaces),
  remove_subs_allowed: v.nullish(Subjects),
});
export type ChangedAuth = v.InferOutput<typeof ChangedAuth>;

/** Body of `PUT /deployments/{id}`. */
export const UpdateDeployment = changesOf({
  ...members,
  name: v.optional(Name),
  status: v.optional(v.picklist(deploymentStatuses, "must be active or archived")),
  rotate_auth: v.optional(Flag),
  override_existing: v.optional(Flag),
  auth_settings: v.optional(ChangedAuth),
});
export type UpdateDeployment = v.InferOutput<typeof UpdateDeployment>;

/** Settings that are neither lists nor the mapping. Two flags are 0 or 1, as clients read them. */
const plainAuth = {
  gateway_base_url: v.optional(v.string()),
  mcp_gateway_base_url: v.optional(v.string()),
  private_link_endpoint: v.optional(v.string()),
  use_private_link_proxy: v.optional(v.boolean()),
  is_dataservice_hosted: v.optional(ShownFlag),
  is_playground_proxy_allowed: v.optional(ShownFlag),
  disable_ai_gateway: v.optional(v.boolean()),
  disable_mcp_gateway: v.optional(v.boolean()),
  disable_agent_gateway: v.optional(v.boolean()),
};
export type PlainAuth = v.InferOutput<v.ObjectSchema<typeof plainAuth, undefined>>;

/** Whom a deployment serves, and how it is reached. Settings that were never made are absent. */
const ShownAuth = v.object({
  ...plainAuth,
  /** Slugs of workspaces. */
  workspaces_allowed: v.optional(v.array(v.string())),
  jwt_subs_allowed: v.optional(v.array(v.string())),
  /** Slug of each subject's workspace. */
  jwt_sub_workspace_mapping: v.optional(v.record(v.string(), v.string())),
  allow_all_workspaces: v.boolean(),
});

/** Settings of a deployment as they are stored. */
export type StoredAuth = Partial<v.InferOutput<typeof ShownAuth>>;

/** Tags in responses. */
const ShownTags = v.union([v.array(v.string()), v.record(v.string(), v.string())]);
export type ShownTags = v.InferOutput<typeof ShownTags>;

/** A gateway installation as lists show it. */
export const DeploymentSummary = v.object({
  id: v.string(),
  organisation_id: v.string(),
  name: v.string(),
  slug: v.string(),
  type: v.picklist(deploymentTypes),
  status: v.picklist(deploymentStatuses),
  is_default: ShownFlag,
  connection_status: v.picklist(connectionStatuses),
  tags: v.nullable(ShownTags),
  created_by: v.string(),
  created_at: IsoTime,
  last_updated_at: IsoTime,
  last_synced_at: v.nullable(IsoTime),
  last_resynced_at: v.nullable(IsoTime),
  object: v.literal("deployment"),
});

/** Response of `GET /deployments`. */
export const DeploymentList = listOf(DeploymentSummary);

const Credentials = v.object({ username: v.string(), password: v.string() });

/** Response of `GET /deployments/{id}`; its credentials are masked. */
export const DeploymentRecord = v.object({
  ...DeploymentSummary.entries,
  client_auth: v.string(),
  credentials: Credentials,
  deployment_config: v.record(v.string(), v.unknown()),
  auth_settings: ShownAuth,
  /** The workspaces that `auth_settings` lists. */
  workspaces: v.array(v.object({ id: v.string(), slug: v.string() })),
});

const receipt = {
  id: v.string(),
  slug: v.string(),
  organisation_id: v.string(),
  object: v.literal("deployment"),
};

/** Response of `POST /deployments`: its credentials, which no other response shows. */
export const CreatedDeployment = v.object({ ...receipt, client_auth: v.string(), credentials: Credentials });

/** Response of `PUT /deployments/{id}`, with the new credentials where they were rotated. */
export const UpdatedDeployment = v.object({
  ...receipt,
  client_auth: v.optional(v.string()),
  credentials: v.optional(Credentials),
});

/** What a deployment said to a call of this gateway. */
const PingResult = v.object({
  status: v.picklist(connectionStatuses),
  status_code: v.nullable(v.number()),
  version: v.nullable(v.string()),
  error: v.nullable(v.string()),
});
export type PingResult = v.InferOutput<typeof PingResult>;

/** Response of `GET /deployments/{id}/ping`. */
export const DeploymentPing = v.object({
  status: v.picklist(connectionStatuses),
  gateway_base_url: v.nullable(v.string()),
  outbound: PingResult,
  /** Unknown, because deployments do not call this gateway. */
  inbound: v.object({ status: v.literal("unknown"), error: v.null() }),
  object: v.literal("deployment"),
});
