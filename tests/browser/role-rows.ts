// What an admin, a manager and a member may write on each page of records, and how they do it there.

import type { FormValues } from "./support.ts";

export const viewers = ["admin", "manager", "member"] as const;
export type Viewer = (typeof viewers)[number];

export type Verb = "create" | "edit" | "delete";

/** A button beside or below a record. */
interface Control {
  readonly name: string;
  /** The call it makes: `{id}` is the record's. */
  readonly row: string;
  readonly may: readonly Viewer[];
}

/** A page of records, with what each viewer may do there. */
export interface RoleRow {
  readonly page: string;
  /** Route of the list; `POST` to it makes a record unless `makes` names another. */
  readonly api: string;
  readonly makes?: string;
  /** Whose key sees the records. */
  readonly owner: "adminKey" | "workspaceKey";
  /** Member that addresses a record. Default: `id`. */
  readonly address?: string;
  /** What the list says of a record that everyone sees who sees the page; left out where users see only their own. */
  readonly existing?: string;
  /** What the API says of it. Default: the same. */
  readonly stored?: string;
  /** What each may do to records; the page of who is left out is hidden. */
  readonly may: Partial<Readonly<Record<Viewer, readonly Verb[]>>>;
  /** Fields of a new record. */
  readonly form?: (name: string) => FormValues;
  /** What the list and the record are called. Default: the name. */
  readonly called?: (name: string) => string;
  /** Fields that are changed. */
  readonly change?: FormValues;
  /** What the record then holds. */
  readonly changed?: string;
  /** A secret is shown once after the record was made. */
  readonly secret?: boolean;
  /** A deleted record stays in the list with another status. */
  readonly lingers?: boolean;
  readonly controls?: readonly Control[];
}

const all = ["create", "edit", "delete"] as const;
const conditions = { lines: [{ "Is one of": ["gpt-*"] }] };
/** A name that requests can write as their model. */
const aliasOf = (name: string): string => name.replaceAll(/[^A-Za-z0-9._-]/g, "-");
const labelConditions = { lines: [{ "Is one of": ["*"] }] };
const vault = { "URL of the vault": "https://vault.example", Token: "not-a-real-token" };
const described = { change: { Description: "Changed by hand" }, changed: "Changed by hand" } as const;
const everyone = { admin: all, manager: all, member: all } as const;
const notMembers = { admin: all, manager: all, member: [] } as const;

const buildRows: readonly RoleRow[] = [
  {
    page: "/partials",
    api: "/v1/prompts/partials",
    owner: "workspaceKey",
    existing: "Example",
    address: "slug",
    may: everyone,
    form: (name) => ({ Name: name, Template: "Kind regards" }),
    change: { Name: "renamed-partial" },
    changed: "renamed-partial",
  },
  {
    page: "/collections",
    api: "/v1/collections",
    owner: "workspaceKey",
    existing: "Example",
    may: everyone,
    form: (name) => ({ Name: name }),
    change: { Name: "renamed-collection" },
    changed: "renamed-collection",
  },
  {
    page: "/labels",
    api: "/v1/labels",
    owner: "workspaceKey",
    existing: "reviewed",
    may: everyone,
    form: (name) => ({ Name: name }),
    ...described,
  },
  {
    page: "/example-sets",
    api: "/v1/example-sets",
    owner: "workspaceKey",
    existing: "Example",
    may: everyone,
    form: (name) => ({ Name: name, "Examples from": "JSON", Examples: '[{"variables": {}}]' }),
    change: { Name: "renamed-set" },
    changed: "renamed-set",
  },
  {
    page: "/eval-runs",
    api: "/v1/eval-runs",
    owner: "workspaceKey",
    existing: "Example",
    may: { admin: ["delete"], manager: ["create", "delete"], member: ["create", "delete"] },
    form: (name) => ({ Name: name, "Example set": "Example", Variants: { lines: [{ Model: "@echo/echo-1" }] } }),
  },
  {
    page: "/alert-rules",
    api: "/v1/alert-rules",
    owner: "workspaceKey",
    existing: "Example",
    may: notMembers,
    form: (name) => ({ Name: name, Threshold: "50" }),
    change: { Threshold: "60" },
    changed: '"threshold":60',
    controls: [{ name: "Send a test", row: "POST /v1/alert-rules/{id}/test", may: ["admin", "manager"] }],
  },
  {
    page: "/exports",
    api: "/v1/logs/exports",
    owner: "workspaceKey",
    may: { admin: ["create", "edit"], manager: ["create", "edit"], member: ["create", "edit"] },
    form: (name) => ({ Description: name }),
    ...described,
    controls: [{ name: "Start", row: "POST /v1/logs/exports/{id}/start", may: viewers }],
  },
  {
    page: "/files",
    api: "/v1/files",
    owner: "workspaceKey",
    existing: "kept.jsonl",
    may: { manager: ["create", "delete"], member: ["create", "delete"] },
    form: (name) => ({ File: { name: `${name}.jsonl`, content: "{}" } }),
    called: (name) => `${name}.jsonl`,
  },
  {
    page: "/batches",
    api: "/v1/batches",
    owner: "workspaceKey",
    existing: "Batch of",
    stored: "batch_",
    may: { manager: ["create"], member: ["create"] },
    form: () => ({ "Input file": "kept.jsonl" }),
  },
];

const connectRows: readonly RoleRow[] = [
  {
    page: "/providers",
    api: "/v1/providers",
    owner: "workspaceKey",
    existing: "Example",
    address: "slug",
    may: everyone,
    form: (name) => ({ Name: name, Integration: "Example" }),
    change: { Description: "Changed by hand" },
    changed: "Changed by hand",
    controls: [{ name: "Test credential", row: "POST /v1/providers/{id}/test", may: viewers }],
  },
  {
    page: "/model-aliases",
    api: "/v1/model-aliases",
    owner: "workspaceKey",
    existing: "example-alias",
    may: notMembers,
    form: (name) => ({ Name: aliasOf(name), Model: "@echo/echo-1" }),
    called: aliasOf,
    change: { Model: "@echo/echo-2" },
    changed: "@echo/echo-2",
  },
  {
    page: "/integrations",
    api: "/v1/integrations",
    owner: "workspaceKey",
    existing: "Example",
    address: "slug",
    may: notMembers,
    form: (name) => ({ Name: name, Provider: "echo", "Create a provider in the workspaces": "off" }),
    ...described,
    controls: [
      { name: "Test credential", row: "POST /v1/integrations/{id}/test", may: viewers },
      { name: "Add model", row: "PUT /v1/integrations/{id}/models", may: ["admin", "manager"] },
      { name: "Allow", row: "PUT /v1/integrations/{id}/workspaces", may: ["admin"] },
    ],
  },
  {
    page: "/mcp-servers",
    api: "/v1/mcp-servers",
    owner: "workspaceKey",
    existing: "Example",
    address: "slug",
    may: notMembers,
    form: (name) => ({ Name: name, Integration: "Example" }),
    ...described,
    controls: [{ name: "Test connection", row: "POST /v1/mcp-servers/{id}/test", may: viewers }],
  },
  {
    page: "/mcp-integrations",
    api: "/v1/mcp-integrations",
    owner: "workspaceKey",
    existing: "Example",
    address: "slug",
    may: notMembers,
    form: (name) => ({ Name: name, Address: "https://tools.example/mcp" }),
    ...described,
    controls: [
      { name: "Test connection", row: "POST /v1/mcp-integrations/{id}/test", may: viewers },
      { name: "Read capabilities", row: "POST /v1/mcp-integrations/{id}/sync", may: ["admin", "manager"] },
    ],
  },
  {
    page: "/mcp-oauth-clients",
    api: "/v1/mcp-oauth-clients",
    owner: "workspaceKey",
    existing: "Example",
    address: "client_id",
    may: { admin: ["create", "delete"], manager: ["create", "delete"], member: [] },
    form: (name) => ({ Name: name, "Redirect URLs": ["https://client.example/back"] }),
    secret: true,
  },
];

const governRows: readonly RoleRow[] = [
  {
    page: "/api-keys",
    api: "/v1/api-keys",
    makes: "/v1/api-keys/workspace/service",
    owner: "adminKey",
    existing: "First workspace key",
    may: { admin: all },
    form: (name) => ({ Name: name, Scopes: ["completions.write"] }),
    ...described,
    secret: true,
    controls: [{ name: "Rotate", row: "POST /v1/api-keys/{id}/rotate", may: ["admin"] }],
  },
  {
    page: "/guardrails",
    api: "/v1/guardrails",
    owner: "workspaceKey",
    existing: "Example",
    address: "slug",
    may: notMembers,
    form: (name) => ({ Name: name, "Add check": "Contains", Words: ["card"], "Passes with": "None of them" }),
    change: { "Deny what fails": "on" },
    changed: '"deny":true',
    controls: [{ name: "Run", row: "POST /v1/guardrails/{id}/test", may: viewers }],
  },
  {
    page: "/usage-limits",
    api: "/v1/policies/usage-limits",
    owner: "workspaceKey",
    existing: "Example",
    may: notMembers,
    form: (name) => ({ Name: name, Limit: "25", Conditions: conditions }),
    change: { "Alert at": "20" },
    changed: '"alert_threshold":20',
  },
  {
    page: "/rate-limits",
    api: "/v1/policies/rate-limits",
    owner: "workspaceKey",
    existing: "Example",
    may: notMembers,
    form: (name) => ({ Name: name, Limit: "60", Conditions: conditions }),
    change: { Limit: "90" },
    changed: '"value":90',
  },
  {
    page: "/label-policies",
    api: "/v1/policies/labels",
    owner: "workspaceKey",
    existing: "Example",
    may: notMembers,
    form: (name) => ({ Name: name, "Required labels": '{"region":"eu"}', Conditions: labelConditions }),
    change: { "Required labels": '{"region":"ch"}' },
    changed: '"region":"ch"',
  },
];

const organisationRows: readonly RoleRow[] = [
  {
    page: "/workspaces",
    api: "/v1/admin/workspaces",
    owner: "adminKey",
    existing: "default",
    may: { admin: all, manager: ["edit"], member: [] },
    form: (name) => ({ Name: name }),
    ...described,
    controls: [{ name: "Add member", row: "POST /v1/admin/workspaces/{id}/users", may: ["admin", "manager"] }],
  },
  {
    page: "/users",
    api: "/v1/admin/users",
    owner: "adminKey",
    existing: "leaving@example.com",
    may: { admin: ["edit", "delete"] },
    change: { Role: "Admin" },
    changed: '"role":"admin"',
  },
  {
    page: "/invites",
    api: "/v1/admin/users/invites",
    owner: "adminKey",
    existing: "invited@example.com",
    may: { admin: ["create", "delete"] },
    form: (name) => ({ "E-mail": `${name}@example.com` }),
    called: (name) => `${name}@example.com`,
    secret: true,
    lingers: true,
    controls: [{ name: "Send again", row: "POST /v1/admin/users/invites/{id}/resend", may: ["admin"] }],
  },
  {
    page: "/scim-tokens",
    api: "/v1/admin/scim/tokens",
    owner: "adminKey",
    existing: "Example",
    may: { admin: ["create", "delete"] },
    form: (name) => ({ Name: name }),
    secret: true,
  },
  {
    page: "/scim-groups",
    api: "/v1/scim/workspaces",
    owner: "adminKey",
    existing: "kept-group",
    may: { admin: ["create", "delete"] },
    form: (name) => ({ Workspace: "default", Group: name }),
  },
  {
    page: "/secret-references",
    api: "/v1/secret-references",
    owner: "adminKey",
    existing: "Kept secret",
    may: { admin: all },
    form: (name) => ({ Name: name, Path: "team/key", ...vault }),
    ...described,
  },
];

/** Every page of records. A new one needs a row here. */
export const roleRows: readonly RoleRow[] = [...buildRows, ...connectRows, ...governRows, ...organisationRows];
