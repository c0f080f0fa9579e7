import { createElement, type ReactNode } from "react";
import type { AnswerOf } from "@/api/client.ts";
import { nameOf } from "@/lib/words.ts";
import { defineResource } from "@/resources/define.ts";
import { Labelled } from "@/resources/labelled.tsx";
import { WithNames } from "@/resources/names.tsx";
import { changedFact, choices, descriptionField, nameField, numbered, slugField } from "@/resources/options.ts";
import type { Field, Values } from "@/resources/types.ts";
import { text } from "@/text/text.ts";

type SecretReference = AnswerOf<"GET /v1/secret-references/{id}">;

const fields = text.resources.fields;
const words = text.resources.secrets;

const accessLabels: Readonly<Record<string, string>> = { ...words.ways, ...words.members };

/** How the gateway signs in to a vault, secrets as masks. */
function showAccess({ auth_config: config }: SecretReference): ReactNode {
  return createElement(Labelled, { value: config, labelOf: (name) => accessLabels[name] ?? nameOf(name) });
}

/** Workspaces that may use a reference. */
function showWorkspaces({ allow_all_workspaces: allowsAll, allowed_workspaces: allowed }: SecretReference): ReactNode {
  if (allowsAll) return words.allWorkspaces;
  return allowed.length === 0 ? text.common.none : createElement(WithNames, { value: allowed.join(", ") });
}

const managers = choices("aws_sm", "azure_kv", "hashicorp_vault");

const place = [
  { name: "secret_path", label: words.path, kind: "text", required: true },
  { name: "secret_key", label: words.key, kind: "text" },
  descriptionField,
] as const satisfies readonly Field[];
const everywhere: Field<"allow_all_workspaces"> = {
  name: "allow_all_workspaces",
  label: words.everywhere,
  kind: "switch",
  initial: true,
};

type AccessMember = keyof typeof words.members | "aws_auth_type" | "azure_auth_mode" | "vault_auth_type";

/** The ways to sign in to a vault, and the members each of them has. */
const waysToSignIn: readonly {
  readonly manager: string;
  readonly by: AccessMember;
  readonly ways: Readonly<Record<string, readonly (keyof typeof words.members)[]>>;
}[] = [
  {
    manager: "aws_sm",
    by: "aws_auth_type",
    ways: {
      accessKey: ["aws_region", "aws_access_key_id", "aws_secret_access_key"],
      assumedRole: ["aws_region", "aws_role_arn", "aws_external_id"],
      serviceRole: ["aws_region"],
    },
  },
  {
    manager: "azure_kv",
    by: "azure_auth_mode",
    ways: {
      entra: ["azure_vault_url", "azure_entra_tenant_id", "azure_entra_client_id", "azure_entra_client_secret"],
      managed: ["azure_vault_url", "azure_managed_client_id"],
      default: ["azure_vault_url"],
    },
  },
  {
    manager: "hashicorp_vault",
    by: "vault_auth_type",
    ways: {
      token: ["vault_addr", "vault_token", "vault_namespace"],
      approle: ["vault_addr", "vault_role_id", "vault_secret_id", "vault_namespace"],
      kubernetes: ["vault_addr", "vault_role", "vault_namespace"],
    },
  },
];
const sealed = new Set(["aws_secret_access_key", "azure_entra_client_secret", "vault_token", "vault_secret_id"]);
const optional = new Set(["aws_external_id", "azure_managed_client_id", "vault_namespace"]);

/** The members that give access to a vault, each where its vault and its way to sign in are chosen. */
const accessFields = (isNew: boolean): readonly Field<`auth_config.${AccessMember}`>[] =>
  waysToSignIn.flatMap(({ manager, by, ways }) => {
    const names = Object.keys(ways);
    const way = `auth_config.${by}` as const;
    const isChosen = (values: Values, wanted: readonly string[]) =>
      values.manager_type === manager && wanted.includes(String(values[way] ?? names[0]));
    const members = [...new Set(Object.values(ways).flat())];
    return [
      {
        name: way,
        label: words.way,
        kind: "select",
        required: true,
        initial: names[0],
        options: choices(...names),
        when: ({ manager_type: chosen }) => chosen === manager,
      },
      ...members.map((member): Field<`auth_config.${AccessMember}`> => {
        const wanted = names.filter((name) => ways[name]?.includes(member));
        return {
          name: `auth_config.${member}`,
          label: words.members[member],
          kind: sealed.has(member) ? "secret" : "text",
          required: !optional.has(member) && (isNew || !sealed.has(member)),
          ...(!isNew && sealed.has(member) && { placeholder: fields.keepSecret }),
          when: (values) => isChosen(values, wanted),
        };
      }),
    ];
  });

const managerField: Field<"manager_type"> = {
  name: "manager_type",
  label: words.manager,
  kind: "select",
  required: true,
  initial: "hashicorp_vault",
  options: managers,
};

/** Credentials in vaults of the organisation: `/v1/secret-references`. */
export const secrets = defineResource({
  name: "secret-references",
  text: { ...words, emptyHint: words.empty },
  workspace: "none",
  list: {
    path: "/v1/secret-references",
    paging: numbered,
    filters: [{ name: "manager_type", label: words.manager, options: managers }],
  },
  id: ({ id }) => id,
  title: ({ name }) => name,
  columns: [
    { label: fields.name, of: ({ name }) => name, track: "minmax(10rem, 2fr)" },
    { label: fields.slug, of: ({ slug }) => slug, kind: "id", wide: true },
    { label: words.manager, of: ({ manager_type }) => manager_type, kind: "word", track: "12rem", narrowTrack: "8rem" },
    { label: words.path, of: ({ secret_path }) => secret_path, kind: "code", wide: true },
    { label: text.common.status, of: ({ status }) => status, kind: "status", track: "6rem" },
  ],
  facts: [
    { label: fields.name, of: ({ name }) => name },
    { label: text.common.status, of: ({ status }) => status, kind: "status" },
    { label: fields.description, of: ({ description }) => description },
    { label: fields.slug, of: ({ slug }) => slug, kind: "id" },
    { label: words.manager, of: ({ manager_type }) => manager_type, kind: "word" },
    { label: words.path, of: ({ secret_path }) => secret_path, kind: "code" },
    { label: words.key, of: ({ secret_key }) => secret_key, kind: "code", empty: words.whole },
    { label: words.auth, of: ({ auth_config }) => auth_config, render: showAccess },
    { label: words.workspaces, of: ({ allow_all_workspaces }) => allow_all_workspaces, render: showWorkspaces },
    { label: fields.created, of: ({ created_at }) => created_at, kind: "time" },
    changedFact,
  ],
  read: "/v1/secret-references/{id}",
  create: {
    rows: ["POST /v1/secret-references"],
    made: ({ id }) => id,
    fields: [nameField, slugField, managerField, ...accessFields(true), ...place, everywhere],
  },
  update: {
    rows: ["PUT /v1/secret-references/{id}"],
    others: ["manager_type"],
    fields: [nameField, { ...managerField, isFixed: true }, ...accessFields(false), ...place, everywhere],
  },
  remove: { row: "DELETE /v1/secret-references/{id}" },
});
