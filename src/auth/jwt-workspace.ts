import { PermissionError } from "../errors.ts";
import { type Claims, readText } from "./jwt-claims.ts";

/** A workspace that exists and is not archived. */
export interface TokenWorkspace {
  id: string;
  slug: string;
}

/** A user of an organisation. */
export interface TokenPerson {
  userId: string;
  /** False for users that an identity provider removed. */
  isActive: boolean;
}

/** Input for a deployment's restrictions. */
interface DeploymentFacts {
  organisationId: string;
  /** Claim `sub`. */
  subject: string | null;
  /** Null as long as neither token nor request names one. */
  workspace: TokenWorkspace | null;
}

/**
 * A deployment's decision on a verified token: why it is refused, the slug or id of its workspace, or nothing. Called
 * without a workspace if neither token nor request names one, and again with the workspace that was found; a
 * workspace returned then is ignored.
 */
export type CheckDeployment = (
  facts: DeploymentFacts,
) => { refusal: string } | string | undefined | Promise<{ refusal: string } | string | undefined>;

/** Lookups of an organisation's workspaces and users. */
export interface TokenDirectory {
  /** An active workspace by its slug or id. */
  workspace(organisationId: string, slugOrId: string): Promise<TokenWorkspace | undefined>;
  /** The organisation's default workspace. */
  defaultWorkspace(organisationId: string): Promise<TokenWorkspace | undefined>;
  /** The first active workspace of which a user became a member. */
  firstWorkspaceOf(organisationId: string, userId: string): Promise<TokenWorkspace | undefined>;
  /** A user by e-mail address in lower case. */
  personByEmail(organisationId: string, email: string): Promise<TokenPerson | undefined>;
  /** A user by id, or by the identity provider's id. */
  personById(organisationId: string, id: string): Promise<TokenPerson | undefined>;
  /** Whether a user may enter a workspace, as its member or as an owner or admin of the organisation. */
  isMember(organisationId: string, workspaceId: string, userId: string): Promise<boolean>;
}

/** Options of the resolver. */
export interface WorkspaceResolverOptions {
  directory: TokenDirectory;
  /** Restrictions of this gateway's deployment; absent: no restrictions. */
  checkDeployment?: CheckDeployment;
  /** Accepts a pending invitation for a verified address; true if there was one. */
  acceptInvite?(organisationId: string, email: string): Promise<boolean>;
}

/** Facts of a verified token. */
interface TokenFacts {
  organisationId: string;
  claims: Claims;
  /** The verified e-mail address. */
  email: string | null;
  /** The workspace named by the request. */
  wanted: string | null;
}

/** Workspace and user of a token; a null `userId` is a service. */
interface TokenPlace {
  workspaceId: string;
  userId: string | null;
}

function forbid(message: string, code: string): never {
  throw new PermissionError(`Forbidden! ${message}`, { code });
}

/** A workspace, and whether it is open to its members only. */
interface Found {
  workspace: TokenWorkspace;
  membersOnly: boolean;
}

/** Creates the function that finds the workspace and user of a verified token. */
export function createWorkspaceResolver(options: WorkspaceResolverOptions): (facts: TokenFacts) => Promise<TokenPlace> {
  const { directory } = options;

  const byEmail = async (organisationId: string, email: string): Promise<TokenPerson | undefined> => {
    const person = await directory.personByEmail(organisationId, email);
    if (person || !options.acceptInvite) return person;
    const isAccepted = await options.acceptInvite(organisationId, email);
    return isAccepted ? directory.personByEmail(organisationId, email) : undefined;
  };
  const findPerson = async ({ organisationId, claims, email }: TokenFacts): Promise<TokenPerson | undefined> => {
    const found = email === null ? undefined : await byEmail(organisationId, email);
    if (found) return found;
    for (const name of ["sub", "uid"]) {
      const id = readText(claims, name);
      const person = id === null ? undefined : await directory.personById(organisationId, id);
      if (person) return person;
    }
    return undefined;
  };
  const requireWorkspace = async (organisationId: string, name: string): Promise<TokenWorkspace> => {
    const found = name.length <= 255 ? await directory.workspace(organisationId, name) : undefined;
    return found ?? forbid("The workspace of the token cannot be found", "workspace_not_found");
  };
  const askDeployment = async ({ organisationId, claims }: TokenFacts, workspace: TokenWorkspace | null) => {
    const verdict = await options.checkDeployment?.({ organisationId, subject: readText(claims, "sub"), workspace });
    if (typeof verdict === "object") return forbid(verdict.refusal, "deployment_restricted");
    return verdict;
  };
  const findWorkspace = async (facts: TokenFacts, person: TokenPerson | undefined): Promise<Found | undefined> => {
    const { organisationId, claims, email, wanted } = facts;
    const claimed = readText(claims, "gateway_workspace", "workspace_slug");
    if (claimed !== null) return { workspace: await requireWorkspace(organisationId, claimed), membersOnly: false };
    if (wanted !== null && email !== null) {
      return { workspace: await requireWorkspace(organisationId, wanted), membersOnly: true };
    }
    const given = await askDeployment(facts, null);
    if (given !== undefined) return { workspace: await requireWorkspace(organisationId, given), membersOnly: false };
    const own = person && (await directory.firstWorkspaceOf(organisationId, person.userId));
    if (own) return { workspace: own, membersOnly: true };
    const workspace = await directory.defaultWorkspace(organisationId);
    return workspace && { workspace, membersOnly: false };
  };

  return async (facts) => {
    const { organisationId } = facts;
    const person = await findPerson(facts);
    // without this, removing a user would leave their tokens the permissions of a service
    if (person && !person.isActive) forbid("This user is no longer active in the organisation", "person_inactive");
    const found = await findWorkspace(facts, person);
    if (!found) return forbid("No workspace could be resolved for this token", "no_workspace");
    const { workspace, membersOnly } = found;
    await askDeployment(facts, workspace);
    const isMember = person ? await directory.isMember(organisationId, workspace.id, person.userId) : false;
    // a user who was removed from a workspace must not return with the permissions of a service
    if ((membersOnly || person) && !isMember) forbid("This user is not a member of the workspace", "not_a_member");
    return { workspaceId: workspace.id, userId: person && isMember ? person.userId : null };
  };
}
