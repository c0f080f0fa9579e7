import * as v from "valibot";
import { ChatResponse } from "./chat.ts";
import { chosenSlug, Description, Flag, Name, Reference } from "./control.ts";
import { changesOf, closedObject, IsoTime, JsonObject, listOf, NoContent, plainListOf, ShownFlag } from "./objects.ts";
import { wholeFrom } from "./whole-number.ts";

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
export const CreatePrompt = closedObject({
  name: Name,
  slug: chosenSlug("pp"),
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
export const UpdatePrompt = changesOf({
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
export const MakeDefault = changesOf({ version: wholeFrom(1), workspace_id: v.nullish(Reference) });
export type MakeDefault = v.InferOutput<typeof MakeDefault>;

/** Body of `PUT /prompts/{id}/versions/{versionId}`; null removes every label from the version. */
export const LabelVersion = changesOf({ label_id: v.nullable(Reference), workspace_id: v.nullish(Reference) });
export type LabelVersion = v.InferOutput<typeof LabelVersion>;

export const partialStatuses = ["active", "archived"] as const;

/** Body of `POST /prompts/partials`. */
export const CreatePartial = closedObject({
  name: Name,
  slug: chosenSlug("pl"),
  string: TemplateText,
  collection_id: v.nullish(Reference),
  version_description: Description,
  workspace_id: v.nullish(Reference),
  organisation_id: v.nullish(v.string()),
});
export type CreatePartial = v.InferOutput<typeof CreatePartial>;

/** Body of `PUT /prompts/partials/{id}`. */
export const UpdatePartial = changesOf({
  name: v.optional(Name),
  string: v.optional(TemplateText),
  description: Description,
  status: v.optional(v.picklist(partialStatuses, "must be active or archived")),
  workspace_id: v.nullish(Reference),
});
export type UpdatePartial = v.InferOutput<typeof UpdatePartial>;

/** Body of `POST /collections`. */
export const CreateCollection = closedObject({
  name: Name,
  slug: chosenSlug("co"),
  parent_collection_id: v.nullish(Reference),
  workspace_id: v.nullish(Reference),
  organisation_id: v.nullish(v.string()),
});
export type CreateCollection = v.InferOutput<typeof CreateCollection>;

/** Body of `PUT /collections/{id}`. */
export const UpdateCollection = changesOf({ name: Name, workspace_id: v.nullish(Reference) });
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
export const CreateLabel = closedObject({
  name: LabelName,
  description: Description,
  color_code: Color,
  workspace_id: v.nullish(Reference),
  organisation_id: v.nullish(v.string()),
});
export type CreateLabel = v.InferOutput<typeof CreateLabel>;

/** Body of `PUT /labels/{labelId}`. */
export const UpdateLabel = changesOf({
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

/** A collection as a collection above it shows it. */
export const Collection = v.object({
  id: v.string(),
  name: v.string(),
  workspace_id: v.string(),
  slug: v.string(),
  /** Null at the top. */
  parent_collection_id: v.nullable(v.string()),
  is_default: ShownFlag,
  status: v.literal("active"),
  created_at: IsoTime,
  last_updated_at: IsoTime,
});

/** A collection with a summary of its contents. */
export const ListedCollection = v.object({
  ...Collection.entries,
  collection_details: v.object({
    child_collections_count: v.number(),
    prompts_count: v.number(),
    /** Null where it has none, as is the next. */
    child_collections_last_updated_at: v.nullable(IsoTime),
    prompts_last_updated_at: v.nullable(IsoTime),
  }),
});
export type ListedCollection = v.InferOutput<typeof ListedCollection>;

/** Response of `GET /collections`. */
export const CollectionList = plainListOf(ListedCollection);

/** Response of `GET /collections/{id}`. */
export const ShownCollection = v.object({ ...ListedCollection.entries, child_collections: v.array(Collection) });

/** Response of `POST /collections`. */
export const CreatedCollection = v.object({ id: v.string(), slug: v.string() });

/** A label in responses. */
export const Label = v.object({
  id: v.string(),
  name: v.string(),
  description: v.nullable(v.string()),
  color_code: v.nullable(v.string()),
  organisation_id: v.string(),
  /** Null for labels of the organisation and built-in ones. */
  workspace_id: v.nullable(v.string()),
  is_universal: v.boolean(),
  status: v.literal("active"),
  /** Null for built-in labels, as is the next. */
  created_at: v.nullable(IsoTime),
  last_updated_at: v.nullable(IsoTime),
});

/** Response of `GET /labels`. */
export const LabelList = plainListOf(Label);

/** Response of `POST /labels`. */
export const CreatedLabel = v.object({ id: v.string() });

/** A label as versions of prompts name it. */
export const AssignedLabel = v.object({ id: v.string(), name: v.string() });
export type AssignedLabel = v.InferOutput<typeof AssignedLabel>;

/** A label of a prompt, with the version that has it. */
export const VersionLabel = v.object({ ...AssignedLabel.entries, prompt_version_id: v.string() });
export type VersionLabel = v.InferOutput<typeof VersionLabel>;

/** A prompt with its default version. */
export const PromptSummary = v.object({
  id: v.string(),
  slug: v.string(),
  name: v.string(),
  collection_id: v.string(),
  model: v.nullable(v.string()),
  status: v.literal("active"),
  prompt_version: v.number(),
  prompt_version_id: v.string(),
  prompt_owning_workspace_id: v.string(),
  allow_all_workspaces: v.literal(0),
  created_at: IsoTime,
  last_updated_at: IsoTime,
  object: v.literal("prompt"),
});

/** Response of `GET /prompts`. */
export const PromptList = plainListOf(
  v.object({
    ...PromptSummary.entries,
    /** Of all its versions, the newest assignment first. */
    prompt_labels: v.array(VersionLabel),
  }),
);

/** An object whose fields are the author's. */
const ShownObject = v.record(v.string(), v.unknown());

/** A prompt with one of its versions. */
export const PromptRecord = v.object({
  ...PromptSummary.entries,
  /** The template: messages as JSON text, or a plain text. */
  string: v.string(),
  parameters: ShownObject,
  /** Slug or id of a stored provider; empty without one. */
  virtual_key: v.string(),
  functions: v.nullable(v.array(ShownObject)),
  tools: v.nullable(v.array(ShownObject)),
  tool_choice: v.nullable(v.union([v.string(), ShownObject])),
  template_metadata: v.nullable(ShownObject),
  is_raw_template: ShownFlag,
  /** Whether it is the default version. */
  is_default: ShownFlag,
  prompt_version_status: v.literal("active"),
  prompt_version_description: v.nullable(v.string()),
  /** The newest of its labels, as is the next. */
  prompt_version_label_id: v.nullable(v.string()),
  prompt_version_label_name: v.nullable(v.string()),
  prompt_version_labels: v.array(AssignedLabel),
  /** Names in its template; absent for one that cannot be parsed. */
  variable_components: v.optional(
    v.object({
      /** Outside of sections. */
      variables: v.array(v.string()),
      sections: v.array(v.string()),
      partials: v.array(v.string()),
      /** Inside of sections. */
      sectionVariables: v.array(v.string()),
      variablePartials: v.array(v.string()),
    }),
  ),
});
export type PromptRecord = v.InferOutput<typeof PromptRecord>;

/** Response of `POST /prompts`. */
export const CreatedPrompt = v.object({
  id: v.string(),
  slug: v.string(),
  version_id: v.string(),
  object: v.literal("prompt"),
});

/** Response of `PUT /prompts/{id}`: empty where no version was created. */
export const UpdatedPrompt = v.union([
  NoContent,
  v.object({ id: v.string(), slug: v.string(), prompt_version_id: v.string() }),
]);

/** Response of `GET /prompts/{id}/versions`; the total is over all pages. */
export const PromptVersionList = listOf(
  v.object({
    id: v.string(),
    prompt_id: v.string(),
    prompt_template: v.string(),
    prompt_version: v.number(),
    prompt_description: v.nullable(v.string()),
    /** The newest of its labels. */
    label_id: v.nullable(v.string()),
    labels: v.array(AssignedLabel),
    created_at: IsoTime,
    status: v.literal("active"),
    object: v.literal("prompt"),
  }),
);

/** A partial with its default version. */
export const PartialSummary = v.object({
  id: v.string(),
  slug: v.string(),
  name: v.string(),
  collection_id: v.string(),
  status: v.picklist(partialStatuses),
  version: v.number(),
  prompt_partial_version_id: v.string(),
  created_at: IsoTime,
  last_updated_at: IsoTime,
  object: v.literal("partial"),
});

/** Response of `GET /prompts/partials`. */
export const PartialList = listOf(PartialSummary);

/** A partial with one of its versions. */
export const PartialRecord = v.object({
  ...PartialSummary.entries,
  /** The template. */
  string: v.string(),
  version_description: v.nullable(v.string()),
});
export type PartialRecord = v.InferOutput<typeof PartialRecord>;

/** Response of `GET /prompts/partials/{id}/versions`; the total is over all pages. */
export const PartialVersionList = listOf(
  v.object({
    prompt_partial_id: v.string(),
    prompt_partial_version_id: v.string(),
    slug: v.string(),
    version: v.number(),
    /** The template. */
    string: v.string(),
    description: v.nullable(v.string()),
    created_at: IsoTime,
    prompt_version_status: v.literal("active"),
    object: v.literal("partial"),
  }),
);

/** Response of `POST /prompts/partials`. */
export const CreatedPartial = v.object({ id: v.string(), slug: v.string(), version_id: v.string() });

/** Response of `PUT /prompts/partials/{id}`: the new version, or the latest one where none was created. */
export const UpdatedPartial = v.object({ prompt_partial_version_id: v.string() });
