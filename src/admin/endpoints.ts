import type { Endpoint } from "../endpoint.ts";
import { configEndpoints } from "./configs.ts";
import { logEndpoints } from "./logs.ts";
import { scimEndpoints } from "./scim/endpoints.ts";
import { systemEndpoints } from "./system.ts";

/** Rows of the control plane and of the process itself. */
export const adminEndpoints: readonly Endpoint[] = [
  ...systemEndpoints,
  ...logEndpoints,
  ...configEndpoints,
  ...scimEndpoints,
];
