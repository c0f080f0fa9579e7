// What rows of the audit log name: the kinds of records that changed, and what happened to them.

import { nameOf } from "../../lib/words.ts";

export const auditedResources: readonly string[] = [
  "alert_rules",
  "api_keys",
  "cache",
  "collections",
  "configs",
  "console_sessions",
  "deployments",
  "eval_runs",
  "example_sets",
  "guardrails",
  "integrations",
  "invites",
  "label_policies",
  "labels",
  "log_exports",
  "mcp_connections",
  "mcp_integrations",
  "mcp_servers",
  "model_aliases",
  "oauth_clients",
  "organisations",
  "playground_runs",
  "prompt_partials",
  "prompts",
  "providers",
  "rate_limit_policies",
  "saved_views",
  "scim_groups",
  "scim_mappings",
  "scim_tokens",
  "secret_references",
  "usage_limit_policies",
  "users",
  "virtual_keys",
  "workspace_exclusions",
  "workspace_users",
  "workspaces",
];

export const auditedActions: readonly string[] = [
  "accept",
  "approve",
  "cancel",
  "create",
  "delete",
  "promote",
  "publish",
  "purge",
  "rate",
  "resend",
  "reset",
  "rotate",
  "save",
  "sign_in",
  "sign_out",
  "start",
  "sync",
  "test",
  "update",
  "update_auth_settings",
  "update_defaults",
];

/** Choices of a filter in words, with the chosen one, which an address may hold. */
export function choicesOf(values: readonly string[], chosen: string | undefined) {
  const all = chosen === undefined || chosen === "" ? values : [...new Set([...values, chosen])];
  return all
    .map((value) => ({ value, label: nameOf(value) }))
    .toSorted((one, other) => one.label.localeCompare(other.label));
}
