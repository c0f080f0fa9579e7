import type { Endpoint } from "../endpoint.ts";
import { apiKeyEndpoints } from "./api-keys.ts";
import { auditLogEndpoints } from "./audit-logs.ts";
import { authSettingsEndpoints } from "./auth-settings.ts";
import { collectionEndpoints } from "./collections.ts";
import { configEndpoints } from "./configs.ts";
import { deploymentEndpoints } from "./deployments.ts";
import { exclusionEndpoints } from "./exclusions.ts";
import { guardrailEndpoints } from "./guardrails.ts";
import { integrationEndpoints } from "./integrations.ts";
import { acceptEndpoints } from "./invite-acceptance.ts";
import { inviteEndpoints } from "./invites.ts";
import { labelEndpoints } from "./labels.ts";
import { logEndpoints } from "./logs.ts";
import { memberEndpoints } from "./members.ts";
import { organisationEndpoints } from "./organisation.ts";
import { pricingEndpoints } from "./pricing.ts";
import { partialEndpoints } from "./prompt-partials.ts";
import { promptVersionEndpoints } from "./prompt-versions.ts";
import { promptEndpoints } from "./prompts.ts";
import { providerEndpoints } from "./providers.ts";
import { scimEndpoints } from "./scim/endpoints.ts";
import { secretReferenceEndpoints } from "./secret-references.ts";
import { systemEndpoints } from "./system.ts";
import { userEndpoints } from "./users.ts";
import { virtualKeyEndpoints } from "./virtual-keys.ts";
import { workspaceEndpoints } from "./workspaces.ts";

/** Rows of the control plane and of the process itself. */
export const adminEndpoints: readonly Endpoint[] = [
  ...systemEndpoints,
  ...logEndpoints,
  ...configEndpoints,
  ...guardrailEndpoints,
  ...collectionEndpoints,
  ...labelEndpoints,
  ...partialEndpoints,
  ...promptEndpoints,
  ...promptVersionEndpoints,
  ...apiKeyEndpoints,
  ...pricingEndpoints,
  ...auditLogEndpoints,
  ...secretReferenceEndpoints,
  ...deploymentEndpoints,
  ...integrationEndpoints,
  ...providerEndpoints,
  ...virtualKeyEndpoints,
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
