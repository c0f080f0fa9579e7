import type { Endpoint, ScimEndpoint } from "../../endpoint.ts";
import { scimDiscoveryEndpoints } from "./discovery.ts";
import { scimGroupEndpoints } from "./groups.ts";
import { scimMappingEndpoints } from "./mappings.ts";
import { scimTokenEndpoints } from "./tokens.ts";
import { scimUserEndpoints } from "./users.ts";

const protocol: readonly ScimEndpoint[] = [...scimDiscoveryEndpoints, ...scimUserEndpoints, ...scimGroupEndpoints];

/**
 * Endpoints of provisioning: the protocol itself, under its own path and below `/v1`, its tokens, and group mappings.
 */
export const scimEndpoints: readonly Endpoint[] = [
  ...scimTokenEndpoints,
  ...scimMappingEndpoints,
  ...protocol,
  ...protocol.map((row) => ({ ...row, path: `/v1${row.path}`, errorsBelow: "/v1/scim/v2" })),
];
