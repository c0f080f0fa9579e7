import * as oauth from "oauth4webapi";
import * as v from "valibot";
import type { OrganisationRow, UserRow } from "../db/tables/tenants.ts";
import type { AddressGuard } from "../lib/address.ts";
import { randomBase62 } from "../lib/hash.ts";
import { isObject, stringOf } from "../lib/json.ts";
import { withParameters } from "../lib/redirects.ts";
import { requireSecure } from "../mcp/registry/oauth/guarded-fetch.ts";
import type { McpOauth } from "../mcp/registry/oauth/mcp-oauth.ts";
import { sha256Base64Url } from "../mcp/registry/oauth/seal.ts";
import { OidcSettings } from "../schemas/auth-settings.ts";
import type { ControlPlane } from "./control-plane.ts";
import { toRecord } from "./settings.ts";

/**
 * Why a user could not sign in: the organisation has no identity provider, it cannot be reached, its answer is too old or
 * another browser's, it confirms nobody, or the account is no active user.
 */
type SignOnProblem = "not_offered" | "unreachable" | "stale" | "not_confirmed" | "no_user";

/** A sign-in that cannot go on; with its organisation, and what `begin` got, where they are known. */
interface SignOnFailure {
  readonly problem: SignOnProblem;
  readonly organisationId?: string;
  readonly content?: Readonly<Record<string, unknown>>;
}

/** The place of a sign-in. */
interface SignOnPlace {
  /** What it is for: the answer to one kind of sign-in does not count for another. */
  readonly kind: string;
  /** Where the identity provider sends the browser back. */
  readonly callback: string;
  /** Digest of a cookie: another browser cannot finish what one began. */
  readonly browserId: string;
}

/** A user who signed in at the identity provider of the organisation. */
interface SignedOn {
  readonly organisationId: string;
  readonly user: UserRow;
  /** The identity provider's name of the user. */
  readonly subject: string;
  /** As `begin` got it. */
  readonly content: Readonly<Record<string, unknown>>;
}

/** Sign-in at identity providers of organisations: OpenID Connect with authorization code and PKCE. */
export interface SingleSignOn {
  /** Whether pages can offer it, and whether they must ask for the organisation. */
  offer(): Promise<{ isOffered: boolean; asksOrganisation: boolean }>;
  /**
   * The address at the identity provider to which the browser goes.
   *
   * @param request `organisation`: its slug; `content`: what `finish` returns; `lifeMs`: time for the user.
   */
  begin(
    request: SignOnPlace & { organisation: string | undefined; content: object; lifeMs: number },
  ): Promise<{ readonly address: string } | SignOnFailure>;
  /** The user of an identity provider's answer, which works once. `url`: the address with the answer. */
  finish(request: SignOnPlace & { url: URL }): Promise<SignedOn | SignOnFailure>;
}

/** What single sign-on uses. */
interface SignOnParts {
  readonly control: Pick<ControlPlane, "stores">;
  readonly guard: AddressGuard;
  readonly oauth: Pick<McpOauth, "fetch" | "seal" | "openOidcSecret" | "acceptInvite">;
}

/** An identity provider, as its organisation uses it. */
interface Provider {
  readonly organisationId: string;
  readonly settings: OidcSettings;
}

/** The identity provider of an organisation; undefined without one. */
function settingsOf({ authSettings }: OrganisationRow): OidcSettings | undefined {
  const { success, output } = v.safeParse(OidcSettings, toRecord(authSettings).oidc);
  return success ? output : undefined;
}

/** Options of every call to an identity provider: the fetch refuses plain HTTP to untrusted hosts by itself. */
function callOptions({ oauth: { fetch } }: SignOnParts) {
  return { [oauth.customFetch]: fetch, [oauth.allowInsecureRequests]: true } as const;
}

async function discover(parts: SignOnParts, { issuer }: OidcSettings): Promise<oauth.AuthorizationServer> {
  const url = new URL(issuer);
  return oauth.processDiscoveryResponse(
    url,
    await oauth.discoveryRequest(url, { algorithm: "oidc", ...callOptions(parts) }),
  );
}

/** A state as it came back. */
interface SignOnState {
  readonly content: Readonly<Record<string, unknown>>;
  readonly organisationId: string;
  readonly verifier: string;
  readonly nonce: string;
}

async function openState(
  { oauth: { seal } }: SignOnParts,
  { kind, browserId, url }: SignOnPlace & { url: URL },
): Promise<SignOnState | undefined> {
  const sealed = url.searchParams.get("state") ?? "";
  const state = await seal.open(kind, sealed);
  if (!state || !isObject(state.content) || state.browser !== browserId) return undefined;
  if (!(await seal.useOnce(sealed))) return undefined;
  const [organisationId = "", verifier = "", nonce = ""] = [state.organisationId, state.verifier, state.nonce].map(
    String,
  );
  return { content: state.content, organisationId, verifier, nonce };
}

function clientAuthOf(
  { token_endpoint_auth_method: method }: OidcSettings,
  secret: string | undefined,
): oauth.ClientAuth {
  if (secret === undefined) return oauth.None();
  return method === "client_secret_post" ? oauth.ClientSecretPost(secret) : oauth.ClientSecretBasic(secret);
}

/** The claims of the user who signed in. @throws If anything of the answer is wrong. */
async function readClaims(
  parts: SignOnParts,
  { verifier, nonce, callback, url }: SignOnState & { callback: string; url: URL },
  { settings, organisationId }: Provider,
): Promise<oauth.IDToken> {
  const options = callOptions(parts);
  const server = await discover(parts, settings);
  const client = { client_id: settings.client_id };
  const answer = oauth.validateAuthResponse(server, client, url, oauth.skipStateCheck);
  const secret = await parts.oauth.openOidcSecret(organisationId);
  const auth = clientAuthOf(settings, secret);
  const grant = await oauth.authorizationCodeGrantRequest(server, client, auth, answer, callback, verifier, options);
  const tokens = await oauth.processAuthorizationCodeResponse(server, client, grant, {
    expectedNonce: nonce,
    requireIdToken: true,
  });
  await oauth.validateApplicationLevelSignature(server, grant, options);
  const claims = oauth.getValidatedIdTokenClaims(tokens);
  if (!claims) throw new TypeError("Cannot sign in: the answer has no id token");
  return claims;
}

/** The active user that claims name: by a verified e-mail address, else by the id that the provider has for the user. */
async function findUser(
  { control, oauth: { acceptInvite } }: SignOnParts,
  organisationId: string,
  claims: oauth.IDToken,
): Promise<UserRow | undefined> {
  const tenant = { organisationId, workspaceId: null };
  const given = claims.email_verified === false ? undefined : stringOf(claims.email);
  const email = given?.toLowerCase();
  const byEmail = async () => (email === undefined ? undefined : control.stores.users.find(tenant, { email }));
  let user = await byEmail();
  if (!user && email !== undefined && (await acceptInvite(organisationId, email))) user = await byEmail();
  user ??= await control.stores.users.find(tenant, { externalId: claims.sub });
  return user?.status === "active" ? user : undefined;
}

/** The identity provider of the organisation with a slug, or of the only one. */
async function findProvider({ control }: SignOnParts, slug: string | undefined): Promise<Provider | undefined> {
  const { organisations } = control.stores;
  const row = (await organisations.only()) ?? (slug === undefined ? undefined : await organisations.bySlug(slug));
  const settings = row && settingsOf(row);
  return settings && { organisationId: row.id, settings };
}

/** The address at which an identity provider asks users; undefined if it cannot be reached. */
async function findEndpoint(parts: SignOnParts, settings: OidcSettings): Promise<string | undefined> {
  try {
    const endpoint = (await discover(parts, settings)).authorization_endpoint ?? "";
    requireSecure(endpoint, parts.guard);
    return endpoint;
  } catch {
    return undefined;
  }
}

/** Creates the sign-in at identity providers. */
export function createSingleSignOn(parts: SignOnParts): SingleSignOn {
  const { control, oauth: state } = parts;
  return {
    async offer() {
      const only = await control.stores.organisations.only();
      return { isOffered: only === undefined || settingsOf(only) !== undefined, asksOrganisation: only === undefined };
    },
    async begin({ kind, callback, browserId, organisation, content, lifeMs }) {
      const provider = await findProvider(parts, organisation);
      // the same for organisations that do not exist
      if (!provider) return { problem: "not_offered" };
      const { settings, organisationId } = provider;
      const endpoint = await findEndpoint(parts, settings);
      if (endpoint === undefined) return { problem: "unreachable", organisationId };
      const [verifier, nonce] = [randomBase62(64), randomBase62(32)];
      const sealed = { content, browser: browserId, organisationId, verifier, nonce };
      const address = withParameters(endpoint, {
        client_id: settings.client_id,
        redirect_uri: callback,
        response_type: "code",
        scope: settings.scope ?? "openid email",
        state: await state.seal.seal(kind, sealed, lifeMs),
        nonce,
        code_challenge: await sha256Base64Url(verifier),
        code_challenge_method: "S256",
      });
      return { address };
    },
    async finish(request) {
      const opened = await openState(parts, request);
      if (!opened) return { problem: "stale" };
      const { organisationId, content } = opened;
      const row = await control.stores.organisations.get(organisationId);
      const settings = row && settingsOf(row);
      if (!settings) return { problem: "not_offered", organisationId, content };
      let claims: oauth.IDToken;
      try {
        const { callback, url } = request;
        claims = await readClaims(parts, { ...opened, callback, url }, { organisationId, settings });
      } catch {
        return { problem: "not_confirmed", organisationId, content };
      }
      const user = await findUser(parts, organisationId, claims);
      if (!user) return { problem: "no_user", organisationId, content };
      return { organisationId, user, subject: claims.sub, content };
    },
  };
}
