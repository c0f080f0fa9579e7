import { noDefaults, type Principal } from "../../auth/principal.ts";
import { defaultSecuritySettings } from "../../auth/roles.ts";
import { scopesOfKind } from "../../auth/scopes.ts";
import type { OrganisationRow, UserRow } from "../../db/tables/tenants.ts";
import { PermissionError } from "../../errors.ts";
import type { IdentityLookUps } from "../identity-look-ups.ts";
import { toRecord } from "../settings.ts";

/** A user who signed in at the identity provider of an organisation. */
interface SignedInUser {
  readonly organisationId: string;
  readonly userId: string;
  /** The identity provider's name of the user. */
  readonly subject: string;
}

const userScopes: ReadonlySet<string> = new Set(scopesOfKind("workspace-user"));
const adminScopes = scopesOfKind("organisation-service");

/** Scopes of an owner or admin in the organisation: all, except for logs that its settings hide from them. */
function organisationScopes(row: OrganisationRow | undefined): ReadonlySet<string> {
  const given = toRecord(toRecord(row?.settings).security_settings);
  const isOn = (name: string) => (given[name] ?? defaultSecuritySettings[name]) === true;
  if (isOn("organisationAdminsViewLogs") && isOn("organisationAdminsViewLogMetadata")) return new Set(adminScopes);
  return new Set(adminScopes.filter((scope) => !scope.startsWith("logs.")));
}

function toPrincipal(
  { id, organisationId, email }: UserRow,
  place: Pick<Principal, "kind" | "workspaceId" | "scopes">,
): Principal {
  return { ...place, keyId: `user_${id}`, organisationId, userId: id, person: email, defaults: noDefaults };
}

function forbid(message: string, code: string): never {
  throw new PermissionError(`Forbidden! ${message}`, { code });
}

/**
 * Creates the function that finds the caller for a user without a key: in the workspace that the request names; without
 * one, owners and admins in their organisation, and members in their first workspace.
 */
export function createUserPrincipals({ people, organisation, user, checkDeployment }: IdentityLookUps) {
  const findWorkspace = async ({ organisationId, userId }: SignedInUser, named: string | null) => {
    if (named !== null) return named.length <= 255 ? people.workspace(organisationId, named) : undefined;
    return (await people.firstWorkspaceOf(organisationId, userId)) ?? people.defaultWorkspace(organisationId);
  };
  return async (signedIn: SignedInUser, named: string | null): Promise<Principal | undefined> => {
    const { organisationId, userId, subject } = signedIn;
    const row = await user(organisationId, userId);
    if (row?.status !== "active") return undefined;
    if (named === null && row.role !== "member") {
      const scopes = organisationScopes(await organisation(organisationId));
      return toPrincipal(row, { kind: "organisation-service", workspaceId: null, scopes });
    }
    const workspace = await findWorkspace(signedIn, named);
    if (!workspace) return forbid("This workspace cannot be found", "workspace_not_found");
    const verdict = await checkDeployment({ organisationId, subject, workspace });
    if (typeof verdict === "object") return forbid(verdict.refusal, "deployment_restricted");
    if (!(await people.isMember(organisationId, workspace.id, userId))) {
      return forbid("This user is not a member of the workspace", "not_a_member");
    }
    return toPrincipal(row, { kind: "workspace-user", workspaceId: workspace.id, scopes: userScopes });
  };
}
