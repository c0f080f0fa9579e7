import * as v from "valibot";
import { Flag, Name, Reference } from "./control.ts";
import { ConfigObject } from "./routing.ts";

/** A config object, or its JSON text. */
const ConfigContent = v.union(
  [ConfigObject, v.pipe(v.string(), v.maxLength(1024 * 1024))],
  "must be an object, or its JSON text",
);

/** Body of `POST /configs`. */
export const CreateConfig = v.object({
  name: Name,
  config: ConfigContent,
  isDefault: v.optional(Flag),
  is_default: v.optional(Flag),
  workspace_id: v.nullish(Reference),
  organisation_id: v.nullish(v.string()),
});
export type CreateConfig = v.InferOutput<typeof CreateConfig>;

/** Body of `PUT /configs/{slug}`. */
export const UpdateConfig = v.object({
  name: v.optional(Name),
  config: v.optional(ConfigContent),
  isDefault: v.optional(Flag),
  is_default: v.optional(Flag),
  status: v.optional(v.picklist(["active", "archived"], "must be active or archived")),
  workspace_id: v.nullish(Reference),
});
export type UpdateConfig = v.InferOutput<typeof UpdateConfig>;
