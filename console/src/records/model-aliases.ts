import { defineResource, optionsOf } from "@/resources/define.ts";
import { showWorkspace } from "@/resources/names.tsx";
import { changedFact, isOwn, nameField, numbered, rateLimitsField, usageLimitsField } from "@/resources/options.ts";
import type { Field } from "@/resources/types.ts";
import { text } from "@/text/text.ts";

const words = text.resources.modelAliases;
const fields = text.resources.fields;

const members = [
  { ...nameField, help: words.nameHelp },
  { name: "target.model", label: words.model, help: words.modelHelp, kind: "text" },
  {
    name: "target.config",
    label: words.config,
    kind: "select",
    placeholder: words.noConfig,
    options: optionsOf("/v1/configs", ({ name, slug }) => ({ value: slug, label: name })),
  },
  { name: "target.pool", label: words.pool, help: words.poolHelp, kind: "json" },
  { name: "enabled", label: words.enabled, kind: "switch", initial: true },
  { name: "tags", label: words.tags, kind: "tags" },
  { name: "metadata", label: words.metadata, kind: "pairs" },
  { name: "access", label: words.access, help: words.accessHelp, kind: "json" },
  usageLimitsField,
  rateLimitsField,
] as const satisfies readonly Field[];

/** Names that requests use as a model: `/v1/model-aliases`. */
export const modelAliases = defineResource({
  name: "model-aliases",
  text: { ...words, emptyHint: words.empty },
  workspace: "optional",
  list: { path: "/v1/model-aliases", paging: numbered },
  id: ({ id }) => id,
  title: ({ name }) => name,
  columns: [
    { label: fields.name, of: ({ name }) => name, track: "minmax(10rem, 2fr)" },
    {
      label: words.target,
      of: ({ target }) => target.model ?? target.config ?? target.pool?.models.map(({ model }) => model).join(", "),
      kind: "id",
      track: "minmax(10rem, 2fr)",
    },
    { label: words.enabled, of: ({ enabled }) => enabled, kind: "boolean", track: "6rem" },
    { label: words.tags, of: ({ tags }) => tags, kind: "tags", wide: true, track: "minmax(8rem, 1fr)" },
    {
      label: text.common.changed,
      of: ({ last_updated_at }) => last_updated_at,
      kind: "ago",
      track: "7rem",
      wide: true,
    },
  ],
  facts: [
    { label: fields.name, of: ({ name }) => name, kind: "id" },
    {
      label: words.model,
      of: ({ target }) => target.model,
      kind: "id",
      when: ({ target }) => target.model !== undefined,
    },
    {
      label: words.config,
      of: ({ target }) => target.config,
      kind: "id",
      when: ({ target }) => target.config !== undefined,
    },
    {
      label: words.pool,
      of: ({ target }) => target.pool,
      kind: "json",
      when: ({ target }) => target.pool !== undefined,
    },
    { label: words.enabled, of: ({ enabled }) => enabled, kind: "boolean" },
    { label: words.workspace, of: ({ workspace_id }) => workspace_id, render: showWorkspace },
    { label: words.tags, of: ({ tags }) => tags, kind: "tags", empty: fields.none },
    { label: words.metadata, of: ({ metadata }) => metadata, kind: "json", empty: fields.none },
    { label: words.access, of: ({ access }) => access, kind: "json", empty: words.everyone },
    { label: fields.usageLimits, of: ({ usage_limits }) => usage_limits, kind: "settings", empty: fields.noLimit },
    { label: fields.rateLimits, of: ({ rate_limits }) => rate_limits, kind: "settings", empty: fields.noLimit },
    { label: fields.created, of: ({ created_at }) => created_at, kind: "time" },
    changedFact,
  ],
  read: "/v1/model-aliases/{id}",
  create: { rows: ["POST /v1/model-aliases"], made: ({ id }) => id, fields: members },
  update: { rows: ["PUT /v1/model-aliases/{id}"], when: isOwn, fields: members },
  remove: { row: "DELETE /v1/model-aliases/{id}", when: isOwn },
});
