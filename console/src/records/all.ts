import type { Resource } from "@/resources/types.ts";
import { alertRules } from "./alert-rules.ts";
import { guardrails } from "./guardrails.ts";
import { batches, exportJobs, files } from "./jobs.ts";
import { keys } from "./keys.ts";
import { mcpClients, mcpIntegrations, mcpServers } from "./mcp.ts";
import { modelAliases } from "./model-aliases.ts";
import { invites, scimMappings, scimTokens, users, workspaces } from "./people.ts";
import { labelPolicies, rateLimits, usageLimits } from "./policies.ts";
import { promptParts } from "./prompt-parts.ts";
import { integrations, providers } from "./providers.ts";
import { secrets } from "./secrets.ts";

/** Every resource of the console in the order of the navigation. Adding one: its file, and a line here. */
export const resources: readonly Resource[] = [
  alertRules,
  ...promptParts,
  exportJobs,
  files,
  batches,
  providers,
  integrations,
  modelAliases,
  mcpServers,
  mcpIntegrations,
  mcpClients,
  keys,
  guardrails,
  usageLimits,
  rateLimits,
  labelPolicies,
  workspaces,
  users,
  invites,
  scimTokens,
  scimMappings,
  secrets,
];
