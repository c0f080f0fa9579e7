import type { Declared } from "./document.ts";

/** What files declare, as the audit log names it. */
const configuration: readonly string[] = [
  "workspaces",
  "secret_references",
  "integrations",
  "providers",
  "virtual_keys",
  "guardrails",
  "collections",
  "prompt_partials",
  "prompts",
  "mcp_integrations",
  "mcp_servers",
  "configs",
  "model_aliases",
  "usage_limit_policies",
  "rate_limit_policies",
  "alert_rules",
];

/** Kinds of record that a gateway does not change by itself once a file declares its state. Keys are, if the file has some. */
export function resourcesOf({ workspaces }: Declared): ReadonlySet<string> {
  const hasKeys = Object.values(workspaces).some(({ keys }) => keys !== undefined);
  return new Set([...configuration, ...(hasKeys ? ["api_keys"] : [])]);
}
