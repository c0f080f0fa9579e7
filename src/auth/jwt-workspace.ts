import { PermissionError } from "../errors.ts";
import { type Claims, readText } from "./jwt-claims.ts";

/** A workspace that is there and not archived. */
export interface TokenWorkspace {
  id: string;
  slug: string;
}

/** A person of an organisation. */
export interface TokenPerson {
  userId: string;
  /** False for people an identity provider took away. */
  isActive: boolean;
}

/** What a deployment's restrictions go by. */
interface DeploymentFacts {
  organisationId: string;
  /** Claim `sub`. */
  subject: string | null;
  /** Null as long as neither token nor request named one. */
  workspace: TokenWorkspace | null;
}

/**
 * What a deployment says about a verified token: why it is refused, the slug or id of the workspace it is to have, or
 * nothing. Asked without a workspace where neither token nor request names one, and again with the one that was found;
 * a workspace named then is not looked at.
 */
export type CheckDeployment = (
  facts: DeploymentFacts,
) => { refusal: string } | string | undefined | Promise<{ refusal: string } | string | undefined>;

/** Look-ups among an organisation's workspaces and people. */
export interface TokenDirectory {
  /** An active workspace by its slug or id. */
  workspace(organisationId: string, slugOrId: string): Promise<TokenWorkspace | undefined>;
  /** The organisation's default workspace. */
  defaultWorkspace(organisationId: string): Promise<TokenWorkspace | undefined>;
  /** The first active workspace a person was made a member of. */
  firstWorkspaceOf(organisationId: string, userId: string): Promise<TokenWorkspace | undefined>;
  /** A person by their e-mail address in lower case. */
  personByEmail(organisationId: string, email: string): Promise<TokenPerson | undefined>;
  /** A person by their record's id or the name an identity provider knows them by. */
  personById(organisationId: string, id: string): Promise<TokenPerson | undefined>;
  /** Whether a person is in a workspace, as a member or as an owner or admin of the organisation. */
  isMember(organisationId: string, workspaceId: string, userId: string): Promise<boolean>;
}

/** What resolving needs. */
export interface WorkspaceResolverOptions {
  directory: TokenDirectory;
  /** Restrictions of the deployment this gateway is; absent: none. */
  checkDeployment?: CheckDeployment;
  /** Makes a person of a pending invitation to a verified address; true when it did. */
  acceptInvite?(organisationId: string, email: string): Promise<boolean>;
}

/** What is known of a verified token. */
interface TokenFacts {
  organisationId: string;
  claims: Claims;
  /** The verified e-mail address. */
  email: string | null;
  /** The workspace the request names. */
  wanted: string | null;
}

/** Where a token acts, and as whom; a null `userId` is a service. */
interface TokenPlace {
  workspaceId: string;
  userId: string | null;
}

function forbid(message: string, code: string): never {
  throw new PermissionError(`Forbidden! ${message}`, { code });
}

/** A workspace with whether only a member of it may be there. */
interface Found {
  workspace: TokenWorkspace;
  membersOnly: boolean;
}

/** Creates what finds the workspace and the person of a verified token. */
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
    // without this, taking a person away would leave their tokens the rights of a service
    if (person && !person.isActive) forbid("This person is no longer active in the organisation", "person_inactive");
    const found = await findWorkspace(facts, person);
    if (!found) return forbid("No workspace could be resolved for this token", "no_workspace");
    const { workspace, membersOnly } = found;
    await askDeployment(facts, workspace);
    const isMember = person ? await directory.isMember(organisationId, workspace.id, person.userId) : false;
    // a person who was taken out of a workspace must not come back with the rights of a service
    if ((membersOnly || person) && !isMember) forbid("This person is not a member of the workspace", "not_a_member");
    return { workspaceId: workspace.id, userId: person && isMember ? person.userId : null };
  };
}
