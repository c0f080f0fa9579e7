import type { ApiRow } from "@/api/client.ts";
import type { IconName } from "@/components/icons.tsx";
import type { NavGroup } from "@/layout/nav-groups.ts";

/** What the navigation needs of a kind of record. Its declaration is loaded with the first page of a record. */
interface RecordEntry {
  /** Address: `/console/<name>`. */
  readonly name: string;
  readonly group: NavGroup;
  readonly icon: IconName;
  /** Lists the records: the page is shown where the viewer may call it. */
  readonly row: ApiRow;
}

/** Every kind of record in the order of the navigation. Adding one: its file, a line here, and one in `all.ts`. */
export const recordEntries = [
  { name: "alert-rules", group: "observe", icon: "bell", row: "GET /v1/alert-rules" },
  { name: "partials", group: "build", icon: "partials", row: "GET /v1/prompts/partials" },
  { name: "collections", group: "build", icon: "folder", row: "GET /v1/collections" },
  { name: "labels", group: "build", icon: "label", row: "GET /v1/labels" },
  { name: "example-sets", group: "build", icon: "examples", row: "GET /v1/example-sets" },
  { name: "eval-runs", group: "build", icon: "evals", row: "GET /v1/eval-runs" },
  { name: "exports", group: "observe", icon: "exports", row: "GET /v1/logs/exports" },
  { name: "files", group: "build", icon: "files", row: "GET /v1/files" },
  { name: "batches", group: "build", icon: "batches", row: "GET /v1/batches" },
  { name: "providers", group: "connect", icon: "providers", row: "GET /v1/providers" },
  { name: "integrations", group: "connect", icon: "integrations", row: "GET /v1/integrations" },
  { name: "model-aliases", group: "connect", icon: "aliases", row: "GET /v1/model-aliases" },
  { name: "mcp-servers", group: "connect", icon: "mcp", row: "GET /v1/mcp-servers" },
  { name: "mcp-integrations", group: "connect", icon: "plug", row: "GET /v1/mcp-integrations" },
  { name: "mcp-oauth-clients", group: "connect", icon: "clients", row: "GET /v1/mcp-oauth-clients" },
  { name: "api-keys", group: "govern", icon: "keys", row: "GET /v1/api-keys" },
  { name: "guardrails", group: "govern", icon: "guardrails", row: "GET /v1/guardrails" },
  { name: "usage-limits", group: "govern", icon: "policies", row: "GET /v1/policies/usage-limits" },
  { name: "rate-limits", group: "govern", icon: "clock", row: "GET /v1/policies/rate-limits" },
  { name: "label-policies", group: "govern", icon: "policies", row: "GET /v1/policies/labels" },
  { name: "workspaces", group: "organisation", icon: "workspaces", row: "GET /v1/admin/workspaces" },
  { name: "users", group: "organisation", icon: "users", row: "GET /v1/admin/users" },
  { name: "invites", group: "organisation", icon: "invites", row: "GET /v1/admin/users/invites" },
  { name: "scim-tokens", group: "organisation", icon: "sync", row: "GET /v1/admin/scim/tokens" },
  { name: "scim-groups", group: "organisation", icon: "groups", row: "GET /v1/scim/workspaces" },
  { name: "secret-references", group: "organisation", icon: "secrets", row: "GET /v1/secret-references" },
] as const satisfies readonly RecordEntry[];

export type RecordName = (typeof recordEntries)[number]["name"];
