import * as v from "valibot";
import { Flag, Name, Reference, Text } from "./control.ts";
import { JsonObject } from "./objects.ts";

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

/** Fields of `auth_settings` that are stored unchanged. */
export const plainAuthMembers = {
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

const members = {
  type: v.optional(v.picklist(["production", "non_production"], "must be production or non_production")),
  is_default: v.optional(Flag),
  deployment_config: v.nullish(JsonObject),
  tags: v.nullish(Tags),
  organisation_id: v.nullish(v.string()),
};

/** Body of `POST /deployments`. */
export const CreateDeployment = v.object({
  ...members,
  name: Name,
  slug: v.optional(v.pipe(v.string(), v.regex(/^[A-Za-z0-9_-]{1,50}$/, "must be 1 to 50 letters, digits, _ or -"))),
  auth_settings: v.nullish(v.object(authMembers)),
});
export type CreateDeployment = v.InferOutput<typeof CreateDeployment>;

/** `auth_settings` of an update: lists are merged with the stored ones, unless `override` is set. */
const ChangedAuth = v.object({
  ...authMembers,
  remove_workspaces_allowed: v.nullish(Workspaces),
  remove_subs_allowed: v.nullish(Subjects),
});
export type ChangedAuth = v.InferOutput<typeof ChangedAuth>;

/** Body of `PUT /deployments/{id}`. */
export const UpdateDeployment = v.object({
  ...members,
  name: v.optional(Name),
  status: v.optional(v.picklist(["active", "archived"], "must be active or archived")),
  rotate_auth: v.optional(Flag),
  override_existing: v.optional(Flag),
  auth_settings: v.optional(ChangedAuth),
});
export type UpdateDeployment = v.InferOutput<typeof UpdateDeployment>;
