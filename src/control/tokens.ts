import {
  createTokenAuthenticator,
  type TokenAuthenticator,
  type TokenAuthenticatorOptions,
  type TokenFailure,
} from "../auth/jwt.ts";
import type { CheckDeployment, TokenDirectory, TokenPerson, TokenWorkspace } from "../auth/jwt-workspace.ts";
import type { OrganisationRow, UserRow, WorkspaceRow } from "../db/tables/tenants.ts";
import type { AddressGuard } from "../lib/address.ts";
import { BoundedMap } from "../lib/bounded-map.ts";
import type { Clock } from "../lib/clock.ts";
import type { Outbound } from "../lib/outbound.ts";
import type { ControlPlane } from "./control-plane.ts";
import {
  checkDeployment,
  type DeploymentAuth,
  type DeploymentRefusal,
  findDeploymentWorkspace,
  readDeploymentAuth,
} from "./deployments.ts";
import { createDocumentFetcher } from "./fetch-document.ts";

/** A missing record is looked up again after this long. */
const missingForMs = 5_000;
/** Most cached results of one lookup. */
const maxResults = 10_000;

/** The operator's settings for tokens. */
export interface TokenSettings {
  /** False: tokens count as wrong keys. Default true. */
  enabled?: boolean;
  /** Clock tolerance in seconds. Default 5. */
  clockSkewSeconds?: number;
  /** Ids of the only organisations whose tokens are accepted; by default all. */
  organisations?: readonly string[];
  /** Scopes that every token has in addition. */
  defaultScopes?: readonly string[];
}

/** Dependencies for verifying tokens. */
interface TokenParts {
  control: ControlPlane;
  outbound: Outbound;
  guard: AddressGuard;
  clock: Clock;
  settings: TokenSettings;
  /** Digest of the credential that identifies this gateway as an organisation's deployment. */
  clientAuthDigest?: string | Promise<string>;
  /** Accepts a pending invitation for a verified address; true if there was one. */
  acceptInvite?: (organisationId: string, email: string) => Promise<boolean>;
}

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

/** Cached lookups over the stores, and a function that drops their results. */
function createLookUps({ control, clock }: Pick<TokenParts, "control" | "clock">) {
  const { stores, directory } = control;
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
    deployment: deployments.get,
    forget(organisationId: string | undefined) {
      const memories = [organisations, workspaces, defaults, firsts, byEmail, byId, deployments];
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
  clientAuthDigest: TokenParts["clientAuthDigest"],
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

/** Caches which organisation is the only one; another one created elsewhere is noticed within seconds. */
function createOnlyOrganisation(clock: Clock, read: () => Promise<OrganisationRow | undefined>) {
  let held: { id: string | undefined; readAt: number } | undefined;
  return {
    async get(): Promise<string | undefined> {
      if (held && clock.monotonic() - held.readAt < missingForMs) return held.id;
      try {
        held = { id: (await read())?.id, readAt: clock.monotonic() };
      } catch (error) {
        if (!held) throw error;
      }
      return held?.id;
    },
    forget() {
      if (held) held.readAt = Number.NEGATIVE_INFINITY;
    },
  };
}

/** Writes the audit row for a rejected token, without the token. */
function auditFailure({ control, clock }: Pick<TokenParts, "control" | "clock">) {
  return async (organisationId: string, { token, reason, status, address }: TokenFailure): Promise<void> => {
    const audit = {
      time: clock.now(),
      requestId: "",
      method: "",
      uri: "",
      queryParams: "{}",
      requestHeaders: "{}",
      requestBody: JSON.stringify({ token_sha256: token, reason }),
      userId: `jwt_${token}`,
      userType: "api_key",
      workspaceId: null,
      resourceType: "jwt",
      resourceId: token,
      action: "authenticate",
      responseStatusCode: status,
      clientIp: address,
      country: null,
    };
    await control.committer.run(organisationId, async () => ({ statements: [], audit }));
  };
}

/** Creates the authenticator for tokens of the organisations' identity providers; undefined if tokens are disabled. */
export function createTokens(parts: TokenParts): TokenAuthenticator | undefined {
  const { clock, control, settings, acceptInvite } = parts;
  if (settings.enabled === false) return undefined;
  const lookUps = createLookUps(parts);
  const only = createOnlyOrganisation(clock, control.stores.organisations.only);
  const fetchDocument = createDocumentFetcher(parts);
  const options: TokenAuthenticatorOptions = {
    clock,
    organisation: lookUps.organisation,
    directory: lookUps.people,
    async onlyOrganisation() {
      const id = await only.get();
      return id === undefined ? undefined : lookUps.organisation(id);
    },
    fetchJson: async (url, bounds) => (await fetchDocument(url, bounds)).document,
    clockSkewSeconds: settings.clockSkewSeconds ?? 5,
    defaultScopes: settings.defaultScopes ?? [],
    organisationsToSync: (settings.organisations ?? []).map((id) => id.toLowerCase()),
    auditFailure: auditFailure(parts),
    checkDeployment: createDeploymentCheck(lookUps.deployment, parts.clientAuthDigest),
    ...(acceptInvite && { acceptInvite }),
  };
  const tokens = createTokenAuthenticator(options);
  return {
    takes: (credential) => tokens.takes(credential),
    authenticate: (token, request) => tokens.authenticate(token, request),
    forget(organisationId) {
      only.forget();
      lookUps.forget(organisationId);
      tokens.forget(organisationId);
    },
  };
}
