import * as oauth from "oauth4webapi";
import * as v from "valibot";
import type { RequestContext } from "../../context.ts";
import { requireSecure } from "../../control/mcp/oauth/guarded-fetch.ts";
import { sha256Base64Url } from "../../control/mcp/oauth/seal.ts";
import { toRecord } from "../../control/settings.ts";
import type { OrganisationRow } from "../../db/tables/tenants.ts";
import { randomBase62 } from "../../lib/hash.ts";
import { stringOf } from "../../lib/json.ts";
import { withParameters } from "../../lib/redirects.ts";
import type { Reply } from "../../lib/reply.ts";
import { OidcSettings } from "../../schemas/auth-settings.ts";
import { oauthAddress } from "./addresses.ts";
import type { Browser, Session } from "./browser.ts";
import { type Flow, flowMs, readFlow } from "./flow.ts";
import { hopPage, problemPage } from "./page.ts";

const problemTitle = "Cannot sign in";

/** Where the identity provider sends the browser back. */
const callbackOf = (context: RequestContext) => oauthAddress(context, "sign-in-callback");

/** The identity provider of an organisation; undefined without one. */
function settingsOf({ authSettings }: OrganisationRow): OidcSettings | undefined {
  const { success, output } = v.safeParse(OidcSettings, toRecord(authSettings).oidc);
  return success ? output : undefined;
}

/** Whether the page offers single sign-on, and whether it must ask for the organisation. */
export async function offersSingleSignOn({ services }: RequestContext) {
  const only = await services.control.stores.organisations.only();
  return { isOffered: only === undefined || settingsOf(only) !== undefined, asksOrganisation: only === undefined };
}

/** An identity provider, as its organisation uses it. */
interface Provider {
  readonly organisationId: string;
  readonly settings: OidcSettings;
}

/** The identity provider of the organisation with a slug, or of the only one. */
async function findProvider({ services }: RequestContext, slug: string | undefined): Promise<Provider | undefined> {
  const { organisations } = services.control.stores;
  const row = (await organisations.only()) ?? (slug === undefined ? undefined : await organisations.bySlug(slug));
  const settings = row && settingsOf(row);
  return settings && { organisationId: row.id, settings };
}

/** Options of every call to an identity provider: the fetch refuses plain HTTP to untrusted hosts by itself. */
function callOptions({ services }: RequestContext) {
  return { [oauth.customFetch]: services.oauth.fetch, [oauth.allowInsecureRequests]: true } as const;
}

async function discover(context: RequestContext, { issuer }: OidcSettings): Promise<oauth.AuthorizationServer> {
  const url = new URL(issuer);
  return oauth.processDiscoveryResponse(
    url,
    await oauth.discoveryRequest(url, { algorithm: "oidc", ...callOptions(context) }),
  );
}

/** Sends the browser to the identity provider of an organisation. */
export async function startSingleSignOn(
  context: RequestContext,
  flow: Flow,
  { browser, organisation }: { browser: Browser; organisation: string | undefined },
): Promise<Reply> {
  const provider = await findProvider(context, organisation);
  // the same for organisations that do not exist
  if (!provider) return problemPage(problemTitle, "This organisation has no single sign-on. Sign in with a key.");
  const { settings, organisationId } = provider;
  let endpoint: string;
  try {
    endpoint = (await discover(context, settings)).authorization_endpoint ?? "";
    requireSecure(endpoint, context.services.addressGuard);
  } catch {
    return problemPage(problemTitle, "The identity provider cannot be reached.", 502);
  }
  const [verifier, nonce] = [randomBase62(64), randomBase62(32)];
  const content = { flow, browser: browser.id, organisationId, verifier, nonce };
  const address = withParameters(endpoint, {
    client_id: settings.client_id,
    redirect_uri: callbackOf(context),
    response_type: "code",
    scope: settings.scope ?? "openid email",
    state: await context.services.oauth.seal.seal("sign-in", content, flowMs),
    nonce,
    code_challenge: await sha256Base64Url(verifier),
    code_challenge_method: "S256",
  });
  return hopPage("Continue to your identity provider", address);
}

/** A state as it came back. */
interface SignInState {
  readonly flow: Flow;
  readonly organisationId: string;
  readonly verifier: string;
  readonly nonce: string;
}

async function openState(context: RequestContext, browser: Browser): Promise<SignInState | undefined> {
  const { seal } = context.services.oauth;
  const sealed = context.url.searchParams.get("state") ?? "";
  const content = await seal.open("sign-in", sealed);
  const flow = readFlow(content?.flow);
  if (!content || !flow || content.browser !== browser.id || !(await seal.useOnce(sealed))) return undefined;
  const [organisationId, verifier, nonce] = [content.organisationId, content.verifier, content.nonce].map(String);
  return { flow, organisationId: organisationId ?? "", verifier: verifier ?? "", nonce: nonce ?? "" };
}

function clientAuthOf(
  { token_endpoint_auth_method: method }: OidcSettings,
  secret: string | undefined,
): oauth.ClientAuth {
  if (secret === undefined) return oauth.None();
  return method === "client_secret_post" ? oauth.ClientSecretPost(secret) : oauth.ClientSecretBasic(secret);
}

/** The claims of the user who signed in. @throws If anything of the answer is wrong. */
async function readClaims(context: RequestContext, state: SignInState, provider: Provider): Promise<oauth.IDToken> {
  const { settings, organisationId } = provider;
  const options = callOptions(context);
  const server = await discover(context, settings);
  const client = { client_id: settings.client_id };
  const answer = oauth.validateAuthResponse(server, client, context.url, oauth.skipStateCheck);
  const secret = await context.services.oauth.openOidcSecret(organisationId);
  const auth = clientAuthOf(settings, secret);
  const callback = callbackOf(context);
  const grant = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    auth,
    answer,
    callback,
    state.verifier,
    options,
  );
  const tokens = await oauth.processAuthorizationCodeResponse(server, client, grant, {
    expectedNonce: state.nonce,
    requireIdToken: true,
  });
  await oauth.validateApplicationLevelSignature(server, grant, options);
  const claims = oauth.getValidatedIdTokenClaims(tokens);
  if (!claims) throw new TypeError("Cannot sign in: the answer has no id token");
  return claims;
}

/** The active user that claims name: by a verified e-mail address, else by the id that the provider has for the user. */
async function findUser(context: RequestContext, organisationId: string, claims: oauth.IDToken) {
  const { control, oauth: state } = context.services;
  const tenant = { organisationId, workspaceId: null };
  const given = claims.email_verified === false ? undefined : stringOf(claims.email);
  const email = given?.toLowerCase();
  const byEmail = async () => (email === undefined ? undefined : control.stores.users.find(tenant, { email }));
  let user = await byEmail();
  if (!user && email !== undefined && (await state.acceptInvite(organisationId, email))) user = await byEmail();
  user ??= await control.stores.users.find(tenant, { externalId: claims.sub });
  return user?.status === "active" ? user : undefined;
}

/** What came of a sign-in: a session and the flow to go on with, or a page that says why not. */
type SignInResult = { readonly session: Session; readonly flow: Flow } | { readonly page: Reply };

/** Reads the answer of an identity provider. */
export async function finishSingleSignOn(context: RequestContext, browser: Browser): Promise<SignInResult> {
  const state = await openState(context, browser);
  if (!state) return { page: problemPage("This page is too old", "Start again from your client.") };
  const { organisationId } = state;
  const row = await context.services.control.stores.organisations.get(organisationId);
  const settings = row && settingsOf(row);
  if (!settings) return { page: problemPage(problemTitle, "This organisation has no single sign-on.") };
  let claims: oauth.IDToken;
  try {
    claims = await readClaims(context, state, { organisationId, settings });
  } catch {
    return { page: problemPage(problemTitle, "The identity provider did not confirm who you are.", 403) };
  }
  const user = await findUser(context, organisationId, claims);
  if (!user) return { page: problemPage(problemTitle, "This account is no user of the gateway.", 403) };
  return { flow: state.flow, session: { organisationId, userId: user.id, workspaceId: null, keyId: null } };
}
