import type { Endpoint } from "../endpoint.ts";
import { configEndpoints } from "./configs.ts";
import { integrationEndpoints } from "./integrations.ts";
import { logEndpoints } from "./logs.ts";
import { providerEndpoints } from "./providers.ts";
import { systemEndpoints } from "./system.ts";
import { virtualKeyEndpoints } from "./virtual-keys.ts";

/** Rows of the control plane and of the process itself. */
export const adminEndpoints: readonly Endpoint[] = [
  ...systemEndpoints,
  ...logEndpoints,
  ...configEndpoints,
  ...integrationEndpoints,
  ...providerEndpoints,
  ...virtualKeyEndpoints,
];
