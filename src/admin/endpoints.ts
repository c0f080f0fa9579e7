import type { Endpoint } from "../endpoint.ts";
import { authSettingsEndpoints } from "./auth-settings.ts";
import { configEndpoints } from "./configs.ts";
import { exclusionEndpoints } from "./exclusions.ts";
import { acceptEndpoints } from "./invite-acceptance.ts";
import { inviteEndpoints } from "./invites.ts";
import { logEndpoints } from "./logs.ts";
import { memberEndpoints } from "./members.ts";
import { organisationEndpoints } from "./organisation.ts";
import { systemEndpoints } from "./system.ts";
import { userEndpoints } from "./users.ts";
import { workspaceEndpoints } from "./workspaces.ts";

/** Rows of the control plane and of the process itself. */
export const adminEndpoints: readonly Endpoint[] = [
  ...systemEndpoints,
  ...logEndpoints,
  ...configEndpoints,
  ...inviteEndpoints,
  ...acceptEndpoints,
  ...userEndpoints,
  ...workspaceEndpoints,
  ...memberEndpoints,
  ...organisationEndpoints,
  ...authSettingsEndpoints,
  ...exclusionEndpoints,
];
