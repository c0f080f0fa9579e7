import type { Resource } from "@/resources/types.ts";
import { alertRules } from "./alert-rules.ts";
import type { RecordName } from "./entries.ts";
import { evalRuns, exampleSets } from "./evals.ts";
import { guardrails } from "./guardrails.ts";
import { batches, exportJobs, files } from "./jobs.ts";
import { keys } from "./keys.ts";
import { mcpClients, mcpIntegrations, mcpServers } from "./mcp.ts";
import { modelAliases } from "./model-aliases.ts";
import { invites, scimMappings, scimTokens, users, workspaces } from "./people.ts";
import { labelPolicies, rateLimits, usageLimits } from "./policies.ts";
import { collections, labels, partials } from "./prompt-parts.ts";
import { integrations, providers } from "./providers.ts";
import { secrets } from "./secrets.ts";

/** The declaration of each kind of record. */
export const resources: Readonly<Record<RecordName, Resource>> = {
  "alert-rules": alertRules,
  partials: partials,
  collections: collections,
  labels: labels,
  "example-sets": exampleSets,
  "eval-runs": evalRuns,
  exports: exportJobs,
  files: files,
  batches: batches,
  providers: providers,
  integrations: integrations,
  "model-aliases": modelAliases,
  "mcp-servers": mcpServers,
  "mcp-integrations": mcpIntegrations,
  "mcp-oauth-clients": mcpClients,
  "api-keys": keys,
  guardrails: guardrails,
  "usage-limits": usageLimits,
  "rate-limits": rateLimits,
  "label-policies": labelPolicies,
  workspaces: workspaces,
  users: users,
  invites: invites,
  "scim-tokens": scimTokens,
  "scim-groups": scimMappings,
  "secret-references": secrets,
};
