import { text } from "@/text/text.ts";
import { choices, descriptionField, nameField, numbered, slugField } from "./options.ts";
import type { Field, Resource } from "./types.ts";

const fields = text.resources.fields;
const words = text.resources.secrets;

const managers = choices("aws_sm", "azure_kv", "hashicorp_vault");

const shared: readonly Field[] = [
  { name: "secret_path", label: words.path, kind: "text", required: true },
  { name: "secret_key", label: words.key, kind: "text" },
  descriptionField,
  { name: "auth_config", label: words.auth, help: words.authHelp, kind: "json", required: true },
  { name: "allow_all_workspaces", label: words.everywhere, kind: "switch", initial: true },
];

/** Credentials in vaults of the organisation: `/v1/secret-references`. */
export const secrets: Resource = {
  name: "secret-references",
  group: "organisation",
  icon: "secrets",
  text: { ...words, emptyHint: words.empty },
  workspace: "none",
  list: {
    path: "/v1/secret-references",
    paging: numbered,
    filters: [{ name: "manager_type", label: words.manager, options: managers }],
  },
  id: "id",
  title: "name",
  columns: [
    { label: fields.name, path: "name", track: "minmax(10rem, 2fr)" },
    { label: fields.slug, path: "slug", kind: "code", wide: true },
    { label: words.manager, path: "manager_type", kind: "word", track: "12rem", narrowTrack: "8rem" },
    { label: words.path, path: "secret_path", kind: "code", wide: true },
    { label: text.common.status, path: "status", kind: "status", track: "6rem" },
  ],
  read: "/v1/secret-references/{id}",
  create: {
    rows: ["POST /v1/secret-references"],
    fields: [
      nameField,
      slugField,
      {
        name: "manager_type",
        label: words.manager,
        kind: "select",
        required: true,
        initial: "hashicorp_vault",
        options: managers,
      },
      ...shared,
    ],
  },
  update: { rows: ["PUT /v1/secret-references/{id}"], fields: [nameField, ...shared] },
  remove: { row: "DELETE /v1/secret-references/{id}" },
};
