import type { Kind } from "../kind.ts";
import { alertRules } from "./alerts.ts";
import { integrations, mcpIntegrations, mcpServers, providers, secretReferences } from "./credentials.ts";
import { collections, partials, prompts } from "./prompts.ts";
import { configs, guardrails, keys, modelAliases, rateLimitPolicies, usageLimitPolicies } from "./routing.ts";

/** Kinds of the organisation, in the order in which they are made: each after what it names. */
export const organisationKinds: readonly Kind[] = [
  secretReferences,
  integrations,
  guardrails,
  mcpIntegrations,
  modelAliases,
];

/** Kinds of workspaces, in the same order. */
export const workspaceKinds: readonly Kind[] = [
  integrations,
  providers,
  guardrails,
  collections,
  partials,
  prompts,
  mcpIntegrations,
  mcpServers,
  configs,
  keys,
  modelAliases,
  usageLimitPolicies,
  rateLimitPolicies,
  alertRules,
];

/** Kinds that nothing else names by a slug: they go first, so that their names and secrets are free. */
export const leafKinds: ReadonlySet<Kind> = new Set([
  modelAliases,
  keys,
  usageLimitPolicies,
  rateLimitPolicies,
  alertRules,
]);

/** Kinds that name what workspaces have, although they may be the organisation's: they are made last. */
export const lastKinds: ReadonlySet<Kind> = new Set([modelAliases]);
