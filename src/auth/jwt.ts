import * as v from "valibot";
import { AuthenticationError, GatewayError, PermissionError, UnavailableError } from "../errors.ts";
import { BoundedMap } from "../lib/bounded-map.ts";
import type { Clock } from "../lib/clock.ts";
import { sha256Hex } from "../lib/hash.ts";
import { AuthSettings, isSharedKeySource } from "../schemas/auth-settings.ts";
import { createKeySets, type FetchJson, type KeySets, type KeySource } from "./jwks.ts";
import {
  type Claims,
  readClaims,
  readDefaults,
  readEmail,
  readHeader,
  readLimits,
  readScopes,
  readText,
  refuseToken,
} from "./jwt-claims.ts";
import { verifyJwt } from "./jwt-verify.ts";
import { createWorkspaceResolver, type WorkspaceResolverOptions } from "./jwt-workspace.ts";
import type { Principal } from "./principal.ts";

/** A cached token is verified again after this long. */
const knownForMs = 60_000;
/** Most workspaces cached per token. */
const maxWorkspaces = 8;
/** Longest workspace name that is looked up. */
const maxWorkspaceName = 256;
/** Upper limit of the clock tolerance in seconds. */
const maxSkewSeconds = 60;
/** Failures per organisation and minute that are audited, so that a flood cannot fill the log. */
const auditedPerMinute = 60;

/** The parts of a request that affect its token. */
interface TokenRequest {
  /** Workspace named by the request, used only if the token names none. */
  workspace: string | null;
  address: string;
}

/** An organisation that may have an identity provider. */
interface TokenOrganisation {
  id: string;
  /** Stored value of `auth_settings`. */
  authSettings: unknown;
}

/** A rejected token, for the audit log. */
export interface TokenFailure {
  /** First 8 hexadecimal digits of the token's SHA-256. */
  token: string;
  reason: string;
  status: number;
  address: string;
}

/** Options for verifying tokens. */
export interface TokenAuthenticatorOptions extends WorkspaceResolverOptions {
  clock: Clock;
  organisation(id: string): Promise<TokenOrganisation | undefined>;
  /** The organisation of an installation that has exactly one. */
  onlyOrganisation(): Promise<TokenOrganisation | undefined>;
  fetchJson: FetchJson;
  /** Clock tolerance in seconds. */
  clockSkewSeconds: number;
  /** Scopes that every token has in addition. */
  defaultScopes: readonly string[];
  /** Ids of the only organisations whose tokens are accepted; empty: all. */
  organisationsToSync: readonly string[];
  /** Writes a row to an organisation's audit log. */
  auditFailure(organisationId: string, failure: TokenFailure): Promise<void>;
}

/**
 * What a token is to the organisation that it names: accepted by its settings, issued or signed by its identity provider and
 * not accepted, or neither.
 */
export type TokenStanding = "accepted" | "issued" | "foreign";

/** Authenticates tokens of identity providers. */
export interface TokenAuthenticator {
  /**
   * The caller of a token.
   *
   * @throws {AuthenticationError} If the token is not valid.
   * @throws {PermissionError} If it is valid but has no permissions here.
   * @throws {UnavailableError} If the keys or the database are unavailable.
   */
  authenticate(token: string, request: TokenRequest): Promise<Principal>;
  /**
   * What a token is to its organisation, without an audit row.
   *
   * @throws {UnavailableError} If the keys or the database are unavailable.
   */
  standingOf(token: string): Promise<TokenStanding>;
  /** Drops cached tokens of an organisation, or all. */
  forget(organisationId: string | undefined): void;
}

/** A token as sent, unverified. */
interface SentToken {
  text: string;
  /** SHA-256 of the token in hex. */
  digest: string;
}

/** A verified token. */
interface VerifiedToken {
  organisationId: string;
  claims: Claims;
  scopes: ReadonlySet<string>;
  /** Monotonic milliseconds, and Unix milliseconds of `exp`. */
  verifiedAt: number;
  expiresAt: number;
  digest: string;
  /** Callers by the workspace that their request named. */
  principals: BoundedMap<string, Principal>;
}

function forbid(message: string, code: string): never {
  throw new PermissionError(`Forbidden! ${message}`, { code });
}

const uuidForm = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The organisation a token names: until the token is verified, this only selects the keys. */
async function chooseOrganisation(claims: Claims, options: TokenAuthenticatorOptions): Promise<TokenOrganisation> {
  const { organisationsToSync } = options;
  const [single, ...others] = organisationsToSync;
  const named = readText(claims, "gateway_oid", "organisation_id") ?? (others.length === 0 ? single : undefined);
  if (named === undefined) {
    const only = organisationsToSync.length === 0 ? await options.onlyOrganisation() : undefined;
    return only ?? refuseToken("no organisation in the token and no single configured organisation");
  }
  const id = named.toLowerCase();
  if (organisationsToSync.length > 0 && !organisationsToSync.includes(id)) {
    forbid("This gateway does not serve the organisation of the token", "organisation_not_served");
  }
  const found = uuidForm.test(id) ? await options.organisation(id) : undefined;
  return found ?? refuseToken("its organisation is not known");
}

/** Settings of an organisation that accepts tokens. */
function requireSettings({ authSettings }: TokenOrganisation): AuthSettings {
  const { success, output } = v.safeParse(AuthSettings, authSettings ?? {});
  if (!success) return forbid("The organisation's settings for tokens cannot be used", "jwt_misconfigured");
  const urls = output.jwks_url ?? [];
  if (output.jwt_enabled === false || (urls.length === 0 && !output.jwks)) {
    return forbid("The organisation accepts no tokens: it has no key set", "jwt_not_configured");
  }
  const isChecked = (output.issuer ?? []).length > 0 && (output.audience ?? []).length > 0;
  if (!isChecked && urls.some(isSharedKeySource)) {
    return forbid(
      "The organisation's key set serves other customers too: issuer and audience must be set",
      "jwt_misconfigured",
    );
  }
  return output;
}

/** Verifies a token with the keys of one organisation only. */
function verify(
  { text }: Pick<SentToken, "text">,
  { organisationId, settings }: { organisationId: string; settings: AuthSettings },
  { keySets, options }: { keySets: KeySets; options: TokenAuthenticatorOptions },
): Promise<Claims> {
  const { algorithms, issuer, audience, max_token_age: maxTokenAge } = settings;
  const rules = {
    source: { organisationId, urls: settings.jwks_url ?? [], inline: settings.jwks },
    algorithms,
    issuer,
    audience,
    maxTokenAge,
    clockSkewSeconds: settings.clock_tolerance ?? options.clockSkewSeconds,
  };
  return verifyJwt(text, rules, { keySets, now: options.clock.now() });
}

/** An id for the subject of a token, the same for each of its tokens. */
async function keyIdOf({ organisationId, claims, digest }: VerifiedToken, email: string | null): Promise<string> {
  const subject = readText(claims, "sub", "uid") ?? email;
  const about = subject === null ? digest : await sha256Hex(JSON.stringify([organisationId, claims.iss, subject]));
  return `jwt_${about.slice(0, 16)}`;
}

/** Audits failures, up to a limit per organisation and minute. */
function createFailureAudit({ clock, auditFailure }: TokenAuthenticatorOptions) {
  const counts = new BoundedMap<string, { since: number; count: number }>(1_000);
  return async (organisationId: string, failure: TokenFailure): Promise<void> => {
    const now = clock.monotonic();
    let counted = counts.get(organisationId);
    if (!counted || now - counted.since >= 60_000) {
      counted = { since: now, count: 0 };
      counts.set(organisationId, counted);
    }
    if (++counted.count > auditedPerMinute) return;
    await auditFailure(organisationId, failure).catch(() => {}); // the token is rejected, even if this cannot be written
  };
}

/** The settings that name an organisation's identity providers. */
const IssuerSettings = v.object({
  ...v.pick(AuthSettings, ["issuer", "jwks_url", "jwks"]).entries,
  oidc: v.nullish(v.object({ issuer: v.string() })),
});

/** Whether a key set has the key that a token names. */
async function isKeyKnown(token: string, source: KeySource, keySets: KeySets): Promise<boolean> {
  try {
    await keySets.find(source, readHeader(token).kid);
    return true;
  } catch (error) {
    if (isVerdict(error)) return false;
    throw error;
  }
}

/** Whether an error says something of the token, and not that it could not be checked. */
function isVerdict(error: unknown): error is AuthenticationError | PermissionError {
  return error instanceof AuthenticationError || error instanceof PermissionError;
}

/** An error for callers: a database error says nothing about the token. */
function toTokenError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  return new UnavailableError("Cannot check this token: the database does not respond", {
    cause: error,
    code: "database_unavailable",
    retryAfterSeconds: 1,
  });
}

/** Verifies tokens, and caches verified ones. */
class JwtAuthenticator implements TokenAuthenticator {
  readonly #options: TokenAuthenticatorOptions;
  /** By a digest of the whole token, which no two tenants share. */
  readonly #verified = new BoundedMap<string, VerifiedToken>(10_000);
  readonly #keySets: KeySets;
  readonly #resolve: ReturnType<typeof createWorkspaceResolver>;
  readonly #audit: ReturnType<typeof createFailureAudit>;
  /** Incremented when something is dropped: earlier results are used once and not cached. */
  #generation = 0;

  constructor(options: TokenAuthenticatorOptions) {
    this.#options = options;
    this.#keySets = createKeySets(options);
    this.#resolve = createWorkspaceResolver(options);
    this.#audit = createFailureAudit(options);
  }

  async authenticate(token: string, request: TokenRequest): Promise<Principal> {
    const digest = await sha256Hex(token);
    const wanted = (request.workspace ?? "").slice(0, maxWorkspaceName);
    const entry = this.#verified.get(digest);
    const fresh = entry && this.#isFresh(entry) ? entry : undefined;
    return fresh?.principals.get(wanted) ?? this.#findOut({ text: token, digest }, { ...request, wanted }, fresh);
  }

  async standingOf(token: string): Promise<TokenStanding> {
    const entry = this.#verified.get(await sha256Hex(token));
    if (entry && this.#isFresh(entry)) return "accepted";
    try {
      const claims = readClaims(token);
      return await this.#weigh(token, claims, await chooseOrganisation(claims, this.#options));
    } catch (error) {
      if (isVerdict(error)) return "foreign"; // no organisation that it could be of
      throw toTokenError(error);
    }
  }

  async #weigh(token: string, claims: Claims, { id, authSettings }: TokenOrganisation): Promise<TokenStanding> {
    const parts = { keySets: this.#keySets, options: this.#options };
    try {
      const settings = requireSettings({ id, authSettings });
      await verify({ text: token }, { organisationId: id, settings }, parts);
      return "accepted";
    } catch (error) {
      if (!isVerdict(error)) throw error;
    }
    const { success, output } = v.safeParse(IssuerSettings, authSettings ?? {});
    if (!success) return "issued"; // what cannot be read may name any issuer
    const { issuer, oidc, jwks_url: urls, jwks: inline } = output;
    if ([...(issuer ?? []), oidc?.issuer].some((one) => one !== undefined && one === claims.iss)) return "issued";
    const source = { organisationId: id, urls: urls ?? [], inline };
    const isSigned = await isKeyKnown(token, source, this.#keySets);
    return isSigned ? "issued" : "foreign";
  }

  forget(organisationId?: string): void {
    this.#generation++;
    for (const [digest, entry] of this.#verified.entries()) {
      if (organisationId === undefined || entry.organisationId === organisationId) this.#verified.delete(digest);
    }
  }

  #isFresh({ verifiedAt, expiresAt }: VerifiedToken): boolean {
    const { clock } = this.#options;
    return clock.monotonic() - verifiedAt < knownForMs && clock.now() < expiresAt;
  }

  /** Verifies a token unless cached, and finds the caller in the requested workspace. */
  async #findOut(
    token: SentToken,
    request: TokenRequest & { wanted: string },
    known: VerifiedToken | undefined,
  ): Promise<Principal> {
    const startedIn = this.#generation;
    let entry = known;
    let organisation: TokenOrganisation | undefined;
    try {
      if (!entry) {
        organisation = await chooseOrganisation(readClaims(token.text), this.#options);
        entry = await this.#check(token, organisation);
        if (startedIn === this.#generation) this.#verified.set(token.digest, entry);
      }
      const principal = await this.#toPrincipal(entry, request.wanted);
      if (startedIn === this.#generation) entry.principals.set(request.wanted, principal);
      return principal;
    } catch (thrown) {
      const error = toTokenError(thrown);
      const organisationId = entry?.organisationId ?? organisation?.id;
      if (isVerdict(error) && organisationId !== undefined && error.code !== "jwt_not_configured") {
        const { message: reason, status } = error;
        const failure = { token: token.digest.slice(0, 8), reason, status, address: request.address };
        await this.#audit(organisationId, failure);
      }
      throw error;
    }
  }

  async #check(token: SentToken, organisation: TokenOrganisation): Promise<VerifiedToken> {
    const settings = requireSettings(organisation);
    const { id: organisationId } = organisation;
    const parts = { keySets: this.#keySets, options: this.#options };
    const claims = await verify(token, { organisationId, settings }, parts);
    const scopes = readScopes(claims, [...this.#options.defaultScopes, ...(settings.default_scopes ?? [])]);
    if (scopes.size === 0) forbid("The token has no scope of this gateway", "no_scope");
    return {
      organisationId,
      claims,
      scopes,
      digest: token.digest,
      principals: new BoundedMap(maxWorkspaces),
      verifiedAt: this.#options.clock.monotonic(),
      expiresAt: Number(claims.exp) * 1_000,
    };
  }

  async #toPrincipal(token: VerifiedToken, wanted: string): Promise<Principal> {
    const { organisationId, claims, scopes } = token;
    const email = readEmail(claims);
    const { workspaceId, userId } = await this.#resolve({ organisationId, claims, email, wanted: wanted || null });
    const limits = readLimits(claims);
    return {
      keyId: await keyIdOf(token, email),
      kind: userId === null ? "workspace-service" : "workspace-user",
      organisationId,
      workspaceId,
      userId,
      scopes,
      person: email ?? readText(claims, "sub", "uid"),
      defaults: readDefaults(claims),
      ...(limits && { limits }),
    };
  }
}

/** Creates the authenticator for tokens of identity providers. */
export function createTokenAuthenticator(given: TokenAuthenticatorOptions): TokenAuthenticator {
  return new JwtAuthenticator({ ...given, clockSkewSeconds: Math.min(given.clockSkewSeconds, maxSkewSeconds) });
}
