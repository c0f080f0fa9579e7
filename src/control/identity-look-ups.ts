import type { CheckDeployment, TokenDirectory, TokenPerson, TokenWorkspace } from "../auth/jwt-workspace.ts";
import type { OrganisationRow, UserRow, WorkspaceRow } from "../db/tables/tenants.ts";
import { BoundedMap } from "../lib/bounded-map.ts";
import type { Clock } from "../lib/clock.ts";
import type { ControlPlane } from "./control-plane.ts";
import {
  checkDeployment,
  type DeploymentAuth,
  type DeploymentRefusal,
  findDeploymentWorkspace,
  readDeploymentAuth,
} from "./deployments.ts";

/** A missing record is looked up again after this long. */
const missingForMs = 5_000;
/** Most cached results of one lookup. */
const maxResults = 10_000;

/** A lookup whose results are cached until their organisation changes. */
interface Memory<Value> {
  /** @param name Identifies what is looked up within the organisation. */
  get(organisationId: string, name?: string): Promise<Value | undefined>;
  forget(organisationId: string | undefined): void;
}

/** Caches results of a query. While the database is unavailable, cached results stay in use. */
function remember<Value>(
  clock: Clock,
  query: (organisationId: string, name: string) => Promise<Value | undefined>,
): Memory<Value> {
  const found = new BoundedMap<string, { organisationId: string; value: Value; stale: boolean }>(maxResults);
  const missing = new BoundedMap<string, { organisationId: string; since: number }>(maxResults);
  /** Incremented with every change: what was read earlier is not cached. */
  let generation = 0;
  return {
    async get(organisationId, name = "") {
      const key = JSON.stringify([organisationId, name]);
      const held = found.get(key);
      if (held && !held.stale) return held.value;
      const missed = missing.get(key);
      if (missed && clock.monotonic() - missed.since < missingForMs) return undefined;
      const readIn = generation;
      let value: Value | undefined;
      try {
        value = await query(organisationId, name);
      } catch (error) {
        if (held || missed) return held?.value;
        throw error;
      }
      if (readIn !== generation) return value;
      if (value === undefined) {
        found.delete(key);
        missing.set(key, { organisationId, since: clock.monotonic() });
      } else found.set(key, { organisationId, value, stale: false });
      return value;
    },
    forget(organisationId) {
      generation++;
      for (const [, held] of found.entries()) {
        if (organisationId === undefined || held.organisationId === organisationId) held.stale = true;
      }
      for (const [key, missed] of missing.entries()) {
        if (organisationId === undefined || missed.organisationId === organisationId) missing.delete(key);
      }
    },
  };
}

function toWorkspace(row: WorkspaceRow | undefined): TokenWorkspace | undefined {
  return row?.status === "active" ? { id: row.id, slug: row.slug } : undefined;
}

function toPerson(row: UserRow | undefined): TokenPerson | undefined {
  return row && { userId: row.id, isActive: row.status === "active" };
}

/** Selects rows of the whole organisation. */
function ofOrganisation(organisationId: string) {
  return { organisationId, workspaceId: null };
}

/** What lookups are made from. */
interface LookUpParts {
  control: Pick<ControlPlane, "known" | "directory">;
  clock: Clock;
  /** Digest of the credential that identifies this gateway as an organisation's deployment. */
  clientAuthDigest?: string | Promise<string>;
}

/** Lookups by which callers without a key are found: by the tokens of identity providers, or by sessions of the console. */
export interface IdentityLookUps {
  readonly people: TokenDirectory;
  organisation(organisationId: string): Promise<OrganisationRow | undefined>;
  /** A user by id, whatever its status. */
  user(organisationId: string, userId: string): Promise<UserRow | undefined>;
  readonly checkDeployment: CheckDeployment;
  /** Drops the results of an organisation, or all. */
  forget(organisationId: string | undefined): void;
}

/** Creates lookups over the stores, whose results are cached until their organisation changes. */
export function createIdentityLookUps({ control, clock, clientAuthDigest }: LookUpParts): IdentityLookUps {
  const { known: stores, directory } = control;
  const organisations = remember<OrganisationRow>(clock, (id) => stores.organisations.get(id));
  const workspaces = remember(clock, async (organisationId, name) =>
    toWorkspace(await stores.workspaces.get(ofOrganisation(organisationId), name)),
  );
  const defaults = remember(clock, async (organisationId) =>
    toWorkspace(await stores.workspaces.find(ofOrganisation(organisationId), { isDefault: true, status: "active" })),
  );
  const firsts = remember(clock, async (organisationId, userId) => {
    const tenant = ofOrganisation(organisationId);
    const memberships = await stores.members.all(tenant, { where: { userId } });
    const active = await stores.workspaces.all(tenant, {
      where: { status: "active", id: memberships.map(({ workspaceId }) => workspaceId) },
    });
    const activeById = new Map(active.map((row) => [row.id, row]));
    // newest first, so the last one is the oldest membership
    return toWorkspace(memberships.flatMap(({ workspaceId }) => activeById.get(workspaceId) ?? []).at(-1));
  });
  const byEmail = remember(clock, async (organisationId, email) =>
    toPerson(await stores.users.find(ofOrganisation(organisationId), { email })),
  );
  const users = remember(clock, (organisationId, id) => stores.users.find(ofOrganisation(organisationId), { id }));
  const byId = remember(clock, async (organisationId, id) => {
    const tenant = ofOrganisation(organisationId);
    return toPerson((await stores.users.find(tenant, { id })) ?? (await stores.users.find(tenant, { externalId: id })));
  });
  const deployments = remember(clock, async (organisationId, digest) => {
    const tenant = ofOrganisation(organisationId);
    const own = digest === "" ? undefined : await stores.deployments.find(tenant, { clientAuthDigest: digest });
    const row = own ?? (await stores.deployments.find(tenant, { isDefault: true, status: "active" }));
    return row?.status === "active" ? readDeploymentAuth(row.authSettings) : undefined;
  });
  const people: TokenDirectory = {
    workspace: workspaces.get,
    defaultWorkspace: defaults.get,
    firstWorkspaceOf: firsts.get,
    personByEmail: byEmail.get,
    personById: byId.get,
    async isMember(organisationId, workspaceId, userId) {
      const view = await directory.workspace({ organisationId, workspaceId });
      return view?.members.has(userId) ?? false;
    },
  };
  return {
    people,
    organisation: organisations.get,
    user: users.get,
    checkDeployment: createDeploymentCheck(deployments.get, clientAuthDigest),
    forget(organisationId: string | undefined) {
      const memories = [organisations, workspaces, defaults, firsts, byEmail, byId, users, deployments];
      for (const memory of memories) memory.forget(organisationId);
    },
  };
}

/** Why a deployment refuses a token, as a message. */
const refusals: Readonly<Record<DeploymentRefusal, string>> = {
  no_workspace_configured: "This deployment is restricted to workspaces, and none is configured",
  workspace_not_allowed: "This deployment does not serve the workspace",
  subject_not_allowed: "This deployment does not serve the subject of the token",
};

/** The restrictions of this gateway's deployment: the one of its credential, else the organisation's default. */
function createDeploymentCheck(
  read: (organisationId: string, digest: string) => Promise<DeploymentAuth | undefined>,
  clientAuthDigest: LookUpParts["clientAuthDigest"],
): CheckDeployment {
  return async ({ organisationId, subject, workspace }) => {
    const auth = await read(organisationId, (await clientAuthDigest) ?? "");
    if (!auth) return undefined;
    const sub = subject ?? undefined;
    if (!workspace) return findDeploymentWorkspace(auth, sub);
    const refusal = checkDeployment(auth, { workspace, sub });
    return refusal && { refusal: refusals[refusal] };
  };
}
