import type { AnswerOf } from "@/api/client.ts";
import { defineResource, optionsOf } from "@/resources/define.ts";
import { changedFact, choices, isOwn } from "@/resources/options.ts";
import type { Condition, Field } from "@/resources/types.ts";
import { text } from "@/text/text.ts";

const { partials: partialWords, collections: collectionWords, labels: labelWords } = text.resources;

const firstPage = { current_page: 0, page_size: 100 };
const paging = { page: "current_page", size: "page_size", first: 0 };

/** Collections of the workspace, to choose from. */
const collectionSource = optionsOf("/v1/collections", ({ id, name }) => ({ value: id, label: name }), {
  query: firstPage,
});

const template: Field<"string"> = {
  name: "string",
  label: partialWords.template,
  help: partialWords.templateHelp,
  kind: "template",
  required: true,
};

const statuses = choices("active", "archived");

/** Parts of templates that prompts include by name: `/v1/prompts/partials`. */
export const partials = defineResource({
  name: "partials",
  text: { ...partialWords, emptyHint: partialWords.empty },
  workspace: "required",
  list: {
    path: "/v1/prompts/partials",
    paging,
    filters: [{ name: "status", label: text.common.status, options: statuses }],
  },
  id: ({ slug }) => slug,
  title: ({ name }) => name,
  columns: [
    { label: text.common.name, of: ({ name }) => name, track: "minmax(10rem, 2fr)" },
    { label: partialWords.slug, of: ({ slug }) => slug, kind: "id", track: "minmax(9rem, 1fr)", wide: true },
    { label: text.common.status, of: ({ status }) => status, kind: "status", track: "6rem" },
    {
      label: text.common.changed,
      of: ({ last_updated_at }) => last_updated_at,
      kind: "ago",
      track: "7rem",
      wide: true,
    },
  ],
  facts: [
    { label: text.common.name, of: ({ name }) => name },
    { label: partialWords.include, of: ({ slug }) => slug, kind: "id" },
    { label: text.common.status, of: ({ status }) => status, kind: "status" },
    { label: partialWords.version, of: ({ version }) => version, kind: "number" },
    changedFact,
  ],
  read: "/v1/prompts/partials/{id}",
  create: {
    rows: ["POST /v1/prompts/partials"],
    made: ({ slug }) => slug,
    fields: [
      { name: "name", label: text.common.name, kind: "text", required: true },
      { name: "collection_id", label: partialWords.collection, kind: "select", options: collectionSource },
      template,
    ],
  },
  update: {
    rows: ["PUT /v1/prompts/partials/{id}"],
    fields: [
      { name: "name", label: text.common.name, kind: "text", required: true },
      template,
      {
        name: "description",
        from: () => undefined,
        label: partialWords.description,
        help: partialWords.descriptionHelp,
        kind: "text",
      },
      { name: "status", label: text.common.status, kind: "select", options: statuses },
    ],
  },
  remove: { row: "DELETE /v1/prompts/partials/{id}" },
  sections: [
    {
      title: partialWords.versions,
      row: "GET /v1/prompts/partials/{id}/versions",
      load: () => import("@/resources/sections/partial-versions.tsx"),
    },
  ],
});

const isNoDefault: Condition<{ readonly is_default: 0 | 1 }> = ({ is_default }) => is_default !== 1;

/** Folders of prompts and partials: `/v1/collections`. */
export const collections = defineResource({
  name: "collections",
  text: { ...collectionWords, emptyHint: collectionWords.empty },
  workspace: "required",
  list: { path: "/v1/collections", paging },
  id: ({ id }) => id,
  title: ({ name }) => name,
  columns: [
    { label: text.common.name, of: ({ name }) => name, track: "minmax(10rem, 2fr)" },
    { label: collectionWords.slug, of: ({ slug }) => slug, kind: "id", track: "minmax(9rem, 1fr)", wide: true },
    { label: collectionWords.isDefault, of: ({ is_default }) => is_default, kind: "boolean", track: "6rem" },
    {
      label: text.common.changed,
      of: ({ last_updated_at }) => last_updated_at,
      kind: "ago",
      track: "7rem",
      wide: true,
    },
  ],
  facts: [
    { label: text.common.name, of: ({ name }) => name },
    { label: collectionWords.slug, of: ({ slug }) => slug, kind: "id" },
    { label: collectionWords.isDefault, of: ({ is_default }) => is_default, kind: "boolean" },
    {
      label: collectionWords.prompts,
      of: ({ collection_details }) => collection_details?.prompts_count,
      kind: "number",
    },
    {
      label: collectionWords.inside,
      of: ({ collection_details }) => collection_details?.child_collections_count,
      kind: "number",
    },
    { label: text.resources.fields.created, of: ({ created_at }) => created_at, kind: "time" },
    changedFact,
  ],
  read: "/v1/collections/{id}",
  create: {
    rows: ["POST /v1/collections"],
    made: ({ id }) => id,
    fields: [
      { name: "name", label: text.common.name, kind: "text", required: true },
      { name: "parent_collection_id", label: collectionWords.parent, kind: "select", options: collectionSource },
    ],
  },
  update: {
    rows: ["PUT /v1/collections/{id}"],
    fields: [{ name: "name", label: text.common.name, kind: "text", required: true }],
    when: isNoDefault,
  },
  remove: { row: "DELETE /v1/collections/{id}", when: isNoDefault },
  sections: [
    {
      title: collectionWords.contents,
      row: "GET /v1/prompts",
      load: () => import("@/resources/sections/collection-contents.tsx"),
    },
  ],
});

const labelFields = [
  { name: "name", label: text.common.name, help: labelWords.nameHelp, kind: "text", required: true },
  { name: "description", label: labelWords.description, kind: "long" },
] as const satisfies readonly Field[];

/** Built-in labels have no time of creation. */
const isChangeable: Condition<AnswerOf<"GET /v1/labels/{labelId}">> = (label, viewer) =>
  label.created_at !== null && isOwn(label, viewer);

/** Names for versions of prompts: `/v1/labels`. */
export const labels = defineResource({
  name: "labels",
  text: { ...labelWords, emptyHint: labelWords.empty },
  workspace: "required",
  list: { path: "/v1/labels", paging },
  id: ({ id }) => id,
  title: ({ name }) => name,
  columns: [
    { label: text.common.name, of: ({ name }) => name, track: "minmax(10rem, 1fr)" },
    { label: labelWords.description, of: ({ description }) => description, track: "minmax(8rem, 2fr)", wide: true },
    { label: labelWords.builtIn, of: ({ is_universal }) => is_universal, kind: "boolean", track: "9rem" },
    { label: labelWords.created, of: ({ created_at }) => created_at, kind: "ago", track: "7rem", wide: true },
  ],
  read: "/v1/labels/{labelId}",
  create: { rows: ["POST /v1/labels"], made: ({ id }) => id, fields: labelFields },
  update: { rows: ["PUT /v1/labels/{labelId}"], fields: labelFields, when: isChangeable },
  remove: { row: "DELETE /v1/labels/{labelId}", when: isChangeable },
});
