import type { Endpoint } from "../endpoint.ts";
import { mcpCapabilityEndpoints } from "../mcp/admin/mcp-capabilities.ts";
import { mcpConnectionEndpoints } from "../mcp/admin/mcp-connections.ts";
import { mcpIntegrationWorkspaceEndpoints } from "../mcp/admin/mcp-integration-workspaces.ts";
import { mcpIntegrationEndpoints } from "../mcp/admin/mcp-integrations.ts";
import { mcpOauthClientEndpoints } from "../mcp/admin/mcp-oauth-clients.ts";
import { mcpPushEndpoints } from "../mcp/admin/mcp-pushes.ts";
import { mcpServerEndpoints } from "../mcp/admin/mcp-servers.ts";
import { mcpSyncEndpoints } from "../mcp/admin/mcp-sync.ts";
import { mcpUserAccessEndpoints } from "../mcp/admin/mcp-user-access.ts";
import { alertRuleEndpoints } from "./alert-rules/alert-rules.ts";
import { analyticsEndpoints } from "./analytics/endpoints.ts";
import { apiKeyEndpoints } from "./api-keys/api-keys.ts";
import { auditLogEndpoints } from "./audit-logs.ts";
import { cacheEndpoints } from "./cache.ts";
import { configEndpoints } from "./configs.ts";
import { evalRunEndpoints } from "./evals/eval-runs.ts";
import { exampleSetEndpoints } from "./evals/example-sets.ts";
import { feedbackEndpoints } from "./feedback.ts";
import { checkCatalogEndpoint } from "./guardrails/catalog.ts";
import { exclusionEndpoints } from "./guardrails/exclusions.ts";
import { guardrailServerEndpoints } from "./guardrails/guardrail-servers.ts";
import { guardrailEndpoints } from "./guardrails/guardrails.ts";
import { testGuardrailEndpoint } from "./guardrails/test-guardrail.ts";
import { healthSummaryEndpoints } from "./health-summary.ts";
import { integrationEndpoints } from "./integrations/integrations.ts";
import { pricingEndpoints } from "./integrations/pricing.ts";
import { providerEndpoints } from "./integrations/providers.ts";
import { secretReferenceEndpoints } from "./integrations/secret-references.ts";
import { providerTestEndpoints } from "./integrations/test-provider.ts";
import { virtualKeyEndpoints } from "./integrations/virtual-keys.ts";
import { logExportEndpoints } from "./log-exports/endpoints.ts";
import { logEndpoints } from "./logs.ts";
import { metricsEndpoints } from "./metrics.ts";
import { modelAliasEndpoints } from "./model-aliases.ts";
import { authSettingsEndpoints } from "./organisation/auth-settings.ts";
import { deploymentEndpoints } from "./organisation/deployments.ts";
import { organisationEndpoints } from "./organisation/organisation.ts";
import { workspaceEndpoints } from "./organisation/workspaces.ts";
import { explainPolicyEndpoints } from "./policies/explain.ts";
import { labelPolicyEndpoints } from "./policies/label-policies.ts";
import { rateLimitPolicyEndpoints } from "./policies/rate-limits.ts";
import { usageLimitPolicyEndpoints } from "./policies/usage-limits.ts";
import { collectionEndpoints } from "./prompts/collections.ts";
import { labelEndpoints } from "./prompts/labels.ts";
import { partialEndpoints } from "./prompts/prompt-partials.ts";
import { promptVersionEndpoints } from "./prompts/prompt-versions.ts";
import { promptEndpoints } from "./prompts/prompts.ts";
import { playgroundRunEndpoints } from "./saved/runs.ts";
import { savedViewEndpoints } from "./saved/views.ts";
import { scimEndpoints } from "./scim/endpoints.ts";
import { sessionEndpoints } from "./sessions.ts";
import { systemEndpoints } from "./system.ts";
import { targetHealthEndpoints } from "./target-health.ts";
import { acceptEndpoints } from "./users/invite-acceptance.ts";
import { inviteEndpoints } from "./users/invites.ts";
import { memberEndpoints } from "./users/members.ts";
import { userEndpoints } from "./users/users.ts";

/** Endpoints of the control plane and of the process itself. */
export const adminEndpoints: readonly Endpoint[] = [
  ...systemEndpoints,
  ...metricsEndpoints,
  // before the rows by id, which match their paths too
  ...logExportEndpoints,
  ...logEndpoints,
  ...sessionEndpoints,
  ...analyticsEndpoints,
  ...healthSummaryEndpoints,
  ...targetHealthEndpoints,
  ...savedViewEndpoints,
  ...playgroundRunEndpoints,
  ...alertRuleEndpoints,
  ...exampleSetEndpoints,
  ...evalRunEndpoints,
  ...feedbackEndpoints,
  ...cacheEndpoints,
  ...configEndpoints,
  ...modelAliasEndpoints,
  checkCatalogEndpoint,
  ...guardrailEndpoints,
  testGuardrailEndpoint,
  ...guardrailServerEndpoints,
  ...collectionEndpoints,
  ...labelEndpoints,
  ...partialEndpoints,
  ...promptEndpoints,
  ...promptVersionEndpoints,
  ...usageLimitPolicyEndpoints,
  ...rateLimitPolicyEndpoints,
  ...labelPolicyEndpoints,
  ...explainPolicyEndpoints,
  ...apiKeyEndpoints,
  ...pricingEndpoints,
  ...auditLogEndpoints,
  ...secretReferenceEndpoints,
  ...deploymentEndpoints,
  ...integrationEndpoints,
  ...providerEndpoints,
  ...providerTestEndpoints,
  ...virtualKeyEndpoints,
  ...mcpIntegrationEndpoints,
  ...mcpIntegrationWorkspaceEndpoints,
  ...mcpCapabilityEndpoints,
  ...mcpSyncEndpoints,
  ...mcpServerEndpoints,
  ...mcpUserAccessEndpoints,
  ...mcpConnectionEndpoints,
  ...mcpPushEndpoints,
  ...mcpOauthClientEndpoints,
  ...inviteEndpoints,
  ...acceptEndpoints,
  ...userEndpoints,
  ...workspaceEndpoints,
  ...memberEndpoints,
  ...organisationEndpoints,
  ...authSettingsEndpoints,
  ...exclusionEndpoints,
  ...scimEndpoints,
];
