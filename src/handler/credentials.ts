import type { Principal } from "../auth/principal.ts";
import { authenticateSession, hasSessionToken } from "../console/session.ts";
import { type CallerContext, clientAddressOf, type RequestContext, withCaller } from "../context.ts";
import type { KeyEndpoint } from "../endpoint.ts";
import { AuthenticationError } from "../errors.ts";
import { bareKeyHeaders, callerKeyHeaders } from "../lib/secret-names.ts";
import { isSocketHandshake, readProtocolKey } from "../lib/websocket.ts";

/** What a request carries as credentials. */
type Credentials = Pick<CallerContext, "gatewayKey" | "providerCredential" | "providerAuthorization">;

/** Where else than in headers a route looks for a key. */
type Rules = KeyEndpoint["credentials"];

const [xApiKey, googleKey] = bareKeyHeaders;

/** An `authorization` of a scheme that is no bearer's (RFC 9110, section 11.4). */
const otherScheme = /^(?!bearer\s)[a-z][\w!#$%&'*+.^`|~-]* +\S/i;

/** The token of an `authorization` header; one with white space or a comma is two headers joined. */
function readBearer(authorization: string): string {
  // as nearly all write it; the pattern is for the others
  const bare = authorization.startsWith("Bearer ") ? authorization.slice(7) : authorization.replace(/^bearer\s+/i, "");
  const token = bare.trim();
  if (token !== "" && !/[\s,]/.test(token)) return token;
  throw new AuthenticationError("Cannot authenticate: authorization must hold one bearer token", {
    code: "invalid_authorization",
    param: "authorization",
  });
}

/** Proxies and clients log addresses: a key in one is no secret any more. */
function refuseKeyInQuery({ search, searchParams }: URL): void {
  const found = search === "" ? undefined : ["key", "access_token"].find((name) => searchParams.has(name));
  if (found === undefined) return;
  throw new AuthenticationError(`Cannot authenticate by ${found} in the address: send the key in x-goog-api-key`, {
    code: "credential_in_url",
    param: found,
  });
}

/** The key among the subprotocols of a WebSocket handshake. */
function readSubprotocolKey({ method, headers }: RequestContext): string | undefined {
  if (!isSocketHandshake(method, headers)) return undefined;
  return readProtocolKey(headers.get("sec-websocket-protocol"));
}

/** The key a request carries, if there is one; what else `authorization` holds is for the provider. */
function readCredentials(context: RequestContext, rules: Rules): Credentials | undefined {
  const own = context.header("api-key");
  const { headers } = context;
  const authorization = headers.get("authorization");
  // beside our own key it is for the provider, whose scheme may be another
  const isForeign = own !== null && authorization !== undefined && otherScheme.test(authorization);
  const token = authorization === undefined || isForeign ? undefined : readBearer(authorization);
  const inSubprotocol = () => (rules?.inSubprotocol ? readSubprotocolKey(context) : undefined);
  const key = token ?? headers.get(xApiKey) ?? headers.get(googleKey) ?? inSubprotocol();
  if (rules?.refusedInQuery) refuseKeyInQuery(context.url);
  // the same key twice is the gateway's twice
  const providerAuthorization = isForeign ? authorization : undefined;
  if (own !== null) {
    return { gatewayKey: own, providerCredential: key === own ? undefined : key, providerAuthorization };
  }
  return key === undefined ? undefined : { gatewayKey: key, providerCredential: undefined, providerAuthorization };
}

function refuseMissing(): never {
  throw new AuthenticationError("Cannot authenticate: send your gateway key in x-gateway-api-key", {
    code: "missing_api_key",
  });
}

/** A request of the gateway's own work: no header of it is a credential for the gateway. */
function actAs(principal: Principal, context: RequestContext): CallerContext {
  const authorization = context.headers.get("authorization");
  const providerCredential = authorization === undefined ? undefined : readBearer(authorization);
  // no key that could leak: a text nobody sends stands for it
  const gatewayKey = `acting-for-${crypto.randomUUID()}`;
  return withCaller(context, principal, { gatewayKey, providerCredential, providerAuthorization: undefined });
}

/** Whether a page of the console calls with its session, which checks where the page is from, and with no key. */
export function hasOnlySession(context: RequestContext): boolean {
  const isNamed = callerKeyHeaders.some((name) => context.headers.get(name) !== undefined);
  return !isNamed && context.header("api-key") === null && hasSessionToken(context);
}

/** The caller behind a request. Nothing it sends besides the credential has a say in it. */
export function authenticateKey(context: RequestContext, rules: Rules): CallerContext | Promise<CallerContext> {
  const { actingFor } = context.connection;
  if (actingFor) return actAs(actingFor, context);
  const credentials = readCredentials(context, rules);
  if (!credentials) return hasSessionToken(context) ? authenticateSession(context) : refuseMissing();
  const address = () => clientAddressOf(context, context.services);
  const found = context.services.authenticator.authenticate(credentials.gatewayKey, address, () =>
    context.header("workspace"),
  );
  const attach = (principal: Principal) => withCaller(context, principal, credentials);
  return found instanceof Promise ? found.then(attach) : attach(found);
}

/** The identity provider behind a request; nothing but its token says who it is. */
export async function authenticateScim(context: RequestContext): Promise<CallerContext> {
  const authorization = context.headers.get("authorization");
  const address = () => clientAddressOf(context, context.services);
  const principal = await context.services.scimAuthenticator.authenticate(authorization, address);
  const credentials = { gatewayKey: authorization ?? "", providerCredential: undefined };
  return withCaller(context, principal, { ...credentials, providerAuthorization: undefined });
}
