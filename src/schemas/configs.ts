import * as v from "valibot";
import { chosenSlug, Flag, Name, Reference } from "./control.ts";
import { changesOf, closedObject, IsoTime, listOf, ShownFlag } from "./objects.ts";
import { ConfigObject } from "./routing.ts";

export const configStatuses = ["active", "archived"] as const;

/** A config object, or its JSON text. */
const ConfigContent = v.union(
  [ConfigObject, v.pipe(v.string(), v.maxLength(1024 * 1024))],
  "must be an object, or its JSON text",
);

/** Body of `POST /configs`. */
export const CreateConfig = closedObject({
  name: Name,
  slug: chosenSlug("pc"),
  config: ConfigContent,
  isDefault: v.optional(Flag),
  is_default: v.optional(Flag),
  workspace_id: v.nullish(Reference),
  organisation_id: v.nullish(v.string()),
});
export type CreateConfig = v.InferOutput<typeof CreateConfig>;

/** Body of `PUT /configs/{slug}`. */
export const UpdateConfig = changesOf({
  name: v.optional(Name),
  config: v.optional(ConfigContent),
  isDefault: v.optional(Flag),
  is_default: v.optional(Flag),
  status: v.optional(v.picklist(configStatuses, "must be active or archived")),
  workspace_id: v.nullish(Reference),
});
export type UpdateConfig = v.InferOutput<typeof UpdateConfig>;

/** A config as lists show it. */
export const ConfigSummary = v.object({
  id: v.string(),
  name: v.string(),
  slug: v.string(),
  organisation_id: v.string(),
  workspace_id: v.string(),
  is_default: ShownFlag,
  status: v.picklist(configStatuses),
  owner_id: v.string(),
  updated_by: v.nullable(v.string()),
  created_at: IsoTime,
  last_updated_at: IsoTime,
  object: v.literal("config"),
});

/** A config with its content, secrets masked. */
export const ConfigRecord = v.object({
  ...ConfigSummary.entries,
  /** JSON text. */
  config: v.string(),
  format: v.literal("json"),
  type: v.literal("ORG_CONFIG"),
  version_id: v.string(),
});
export type ConfigRecord = v.InferOutput<typeof ConfigRecord>;

/** Response of `GET /configs`. */
export const ConfigList = v.object({ ...listOf(ConfigSummary).entries, success: v.literal(true) });

/** Response of `GET /configs/{slug}/versions`. */
export const ConfigVersionList = listOf(
  v.object({ ...ConfigRecord.entries, version_created_at: IsoTime, version_owner_id: v.string() }),
);

/** Response of `POST /configs`. */
export const CreatedConfig = v.object({
  id: v.string(),
  version_id: v.string(),
  slug: v.string(),
  object: v.literal("config"),
  success: v.literal(true),
  data: v.object({ id: v.string(), version_id: v.string(), slug: v.string() }),
});

/** Response of `PUT /configs/{slug}`. */
export const UpdatedConfig = v.object({ success: v.literal(true), data: v.object({ version_id: v.string() }) });
