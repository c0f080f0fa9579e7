import * as v from "valibot";
import { ChatResponse } from "./chat.ts";
import { Description, Flag, Name, Reference, wholeFrom } from "./control.ts";
import { JsonObject } from "./objects.ts";

/** Longest template, in characters. */
export const maxTemplateLength = 256 * 1024;

/** The template of a prompt or a partial, stored unchanged. */
const TemplateText = v.pipe(
  v.string(),
  v.minLength(1, "must have at least 1 character"),
  v.maxLength(maxTemplateLength, `must have at most ${maxTemplateLength} characters`),
  v.check((text) => !text.includes("\0"), "must not contain the character U+0000"),
  v.transform((text) => text.toWellFormed()),
);

/** An object with any fields. */
const AnyObject = v.pipe(JsonObject, v.record(v.string(), v.unknown()));

/** A list of objects, such as tools. */
const ObjectList = v.nullish(v.pipe(v.array(AnyObject), v.maxLength(1_000, "must have at most 1000 entries")));

/** Slug or id of a stored provider, with or without `@`; empty for no provider. */
const VirtualKey = v.pipe(
  v.string(),
  v.regex(/^@?[A-Za-z0-9_.-]{0,255}$/, "must be the id or slug of a provider, or empty"),
);

const Model = v.pipe(v.string(), v.maxLength(256, "must have at most 256 characters"));

/** Fields of a version besides its template. */
const versionDetails = {
  functions: ObjectList,
  tools: ObjectList,
  tool_choice: v.nullish(v.union([v.string(), AnyObject], "must be a string or an object")),
  version_description: Description,
  is_raw_template: v.optional(Flag),
  template_metadata: v.nullish(AnyObject),
  prompt_metadata: v.nullish(AnyObject),
};

/** Body of `POST /prompts`. */
export const CreatePrompt = v.object({
  name: Name,
  collection_id: Reference,
  string: TemplateText,
  parameters: AnyObject,
  virtual_key: VirtualKey,
  model: v.nullish(Model),
  ...versionDetails,
  workspace_id: v.nullish(Reference),
  organisation_id: v.nullish(v.string()),
});
export type CreatePrompt = v.InferOutput<typeof CreatePrompt>;

/** Body of `PUT /prompts/{id}`. */
export const UpdatePrompt = v.object({
  name: v.optional(Name),
  collection_id: v.optional(Reference),
  patch: v.optional(Flag),
  string: v.optional(TemplateText),
  parameters: v.optional(AnyObject),
  virtual_key: v.optional(VirtualKey),
  model: v.nullish(Model),
  ...versionDetails,
  workspace_id: v.nullish(Reference),
});
export type UpdatePrompt = v.InferOutput<typeof UpdatePrompt>;

/** Body of `PUT /prompts/{id}/makeDefault` and of the same route of partials. */
export const MakeDefault = v.object({ version: wholeFrom(1), workspace_id: v.nullish(Reference) });
export type MakeDefault = v.InferOutput<typeof MakeDefault>;

/** Body of `PUT /prompts/{id}/versions/{versionId}`; null removes every label from the version. */
export const LabelVersion = v.object({ label_id: v.nullable(Reference), workspace_id: v.nullish(Reference) });
export type LabelVersion = v.InferOutput<typeof LabelVersion>;

/** Body of `POST /prompts/partials`. */
export const CreatePartial = v.object({
  name: Name,
  string: TemplateText,
  collection_id: v.nullish(Reference),
  version_description: Description,
  workspace_id: v.nullish(Reference),
  organisation_id: v.nullish(v.string()),
});
export type CreatePartial = v.InferOutput<typeof CreatePartial>;

/** Body of `PUT /prompts/partials/{id}`. */
export const UpdatePartial = v.object({
  name: v.optional(Name),
  string: v.optional(TemplateText),
  description: Description,
  status: v.optional(v.picklist(["active", "archived"], "must be active or archived")),
  workspace_id: v.nullish(Reference),
});
export type UpdatePartial = v.InferOutput<typeof UpdatePartial>;

/** Body of `POST /collections`. */
export const CreateCollection = v.object({
  name: Name,
  parent_collection_id: v.nullish(Reference),
  workspace_id: v.nullish(Reference),
  organisation_id: v.nullish(v.string()),
});
export type CreateCollection = v.InferOutput<typeof CreateCollection>;

/** Body of `PUT /collections/{id}`. */
export const UpdateCollection = v.object({ name: Name, workspace_id: v.nullish(Reference) });
export type UpdateCollection = v.InferOutput<typeof UpdateCollection>;

/** A label that references can use after `@`: neither a number nor a reserved word. */
const LabelName = v.pipe(
  v.string(),
  v.regex(/^[A-Za-z0-9_-]{1,255}$/, "must be 1 to 255 letters, digits, _ or -"),
  v.check((name) => !/^\d+$/.test(name), "must not be a number"),
  v.check((name) => name !== "latest" && name !== "default", "must not be latest or default"),
);

/** A CSS colour, such as `#00aa88`. */
const Color = v.nullish(v.pipe(v.string(), v.regex(/^[#\w(),.% -]{1,64}$/, "must be a colour")));

/** Body of `POST /labels`. */
export const CreateLabel = v.object({
  name: LabelName,
  description: Description,
  color_code: Color,
  workspace_id: v.nullish(Reference),
  organisation_id: v.nullish(v.string()),
});
export type CreateLabel = v.InferOutput<typeof CreateLabel>;

/** Body of `PUT /labels/{labelId}`. */
export const UpdateLabel = v.object({
  name: v.optional(LabelName),
  description: Description,
  color_code: Color,
  workspace_id: v.nullish(Reference),
  organisation_id: v.nullish(v.string()),
});
export type UpdateLabel = v.InferOutput<typeof UpdateLabel>;

/** Body of `POST /prompts/{id}/render` and `/completions`. Other fields override the prompt's parameters. */
export const PromptRequest = v.looseObject({
  variables: JsonObject,
  stream: v.nullish(v.boolean()),
});
export type PromptRequest = v.InferOutput<typeof PromptRequest>;

/** Response of `POST /prompts/{id}/render`: the body of the completion request. */
export const RenderResponse = v.object({
  success: v.literal(true),
  data: v.looseObject({
    model: v.nullish(v.string()),
    messages: v.optional(v.array(v.looseObject({}))),
    prompt: v.optional(v.string()),
  }),
});
export type RenderResponse = v.InferOutput<typeof RenderResponse>;

/** Non-streaming response of `POST /prompts/{id}/completions`: a chat or a text completion. */
export const PromptCompletionResponse = ChatResponse;
