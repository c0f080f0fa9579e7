import type { Endpoint } from "../endpoint.ts";
import { apiKeyEndpoints } from "./api-keys.ts";
import { auditLogEndpoints } from "./audit-logs.ts";
import { configEndpoints } from "./configs.ts";
import { deploymentEndpoints } from "./deployments.ts";
import { integrationEndpoints } from "./integrations.ts";
import { logEndpoints } from "./logs.ts";
import { pricingEndpoints } from "./pricing.ts";
import { providerEndpoints } from "./providers.ts";
import { secretReferenceEndpoints } from "./secret-references.ts";
import { systemEndpoints } from "./system.ts";
import { virtualKeyEndpoints } from "./virtual-keys.ts";

/** Rows of the control plane and of the process itself. */
export const adminEndpoints: readonly Endpoint[] = [
  ...systemEndpoints,
  ...logEndpoints,
  ...configEndpoints,
  ...apiKeyEndpoints,
  ...pricingEndpoints,
  ...auditLogEndpoints,
  ...secretReferenceEndpoints,
  ...deploymentEndpoints,
  ...integrationEndpoints,
  ...providerEndpoints,
  ...virtualKeyEndpoints,
];
