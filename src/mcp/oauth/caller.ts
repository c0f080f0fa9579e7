import { readLookupId } from "../../auth/api-key.ts";
import { readClaims } from "../../auth/jwt-claims.ts";
import type { Principal } from "../../auth/principal.ts";
import { type CallerContext, type RequestContext, withCaller } from "../../context.ts";
import { AuthenticationError, UnavailableError } from "../../errors.ts";
import type { VerifiedAccess } from "../registry/oauth/access-tokens.ts";
import { issuerOf, resourceOf } from "./addresses.ts";
import { authenticateExternal, isRefusedToken } from "./external-caller.ts";
import { findSignInKey } from "./sign-in-key.ts";

/** The bearer token of a request; undefined without one. */
function bearerOf({ headers }: RequestContext): string | undefined {
  return /^bearer +([^\s,]+)$/i.exec(headers.get("authorization") ?? "")?.[1];
}

function refuseCaller(message: string): never {
  throw new AuthenticationError(message, { code: "invalid_token" });
}

/** The issuer that a token names, unverified. */
function issuerIn(token: string): unknown {
  try {
    return readClaims(token).iss;
  } catch {
    return undefined;
  }
}

/**
 * The caller of a token that this gateway issued for the address of the request.
 *
 * @returns Undefined for other credentials.
 * @throws {AuthenticationError} If it is not valid, or for another address.
 */
async function authenticateOwn(context: RequestContext, token: string): Promise<CallerContext | undefined> {
  const { oauth } = context.services;
  if (!oauth.accessTokens.takes(token)) return undefined;
  const access = await oauth.accessTokens.verify(token);
  if (!access) {
    // identity providers sign access tokens in the same form
    if (issuerIn(token) !== issuerOf(context)) return undefined;
    return refuseCaller(isOver);
  }
  if (access.issuer !== issuerOf(context) || access.audience !== resourceOf(context)) {
    return refuseCaller("Cannot use this token: it is for another address");
  }
  const principal = await principalOf(context, access);
  return withCaller(context, principal, {
    gatewayKey: token,
    providerCredential: undefined,
    providerAuthorization: undefined,
    authenticateAgain: async () =>
      (await context.services.oauth.accessTokens.verify(token)) ? principalOf(context, access) : refuseCaller(isOver),
  });
}

const isOver = "Cannot use this token: it is not valid, or not any more";

/**
 * The caller of a token. One of a sign-in with a key counts as that key: in its limits and in those by key.
 *
 * @throws {AuthenticationError} If the key, its right or its secret is gone.
 */
async function principalOf(context: RequestContext, access: VerifiedAccess): Promise<Principal> {
  if (access.keyId == null) return access.principal;
  const key = await findSignInKey(context, access);
  if (!key) return refuseCaller("Cannot use this token: the key of its user is not valid any more");
  const known = principals.get(access);
  if (known?.key === key) return known.principal;
  const { keyId, defaults, limits } = key;
  const principal = { ...access.principal, keyId, defaults, ...(limits && { limits }) };
  principals.set(access, { key, principal });
  return principal;
}

/** Callers of tokens with their keys, as these were last read. */
const principals = new WeakMap<VerifiedAccess, { key: Principal; principal: Principal }>();

/** Whether the gateway itself accepts a credential; undefined where that cannot be found out now. */
async function isAccepted(
  { services: { authenticator } }: RequestContext,
  token: string,
): Promise<boolean | undefined> {
  if (await authenticator.isOwnKey(token)) return true;
  try {
    return (await authenticator.standingOf(token)) === "accepted";
  } catch (error) {
    if (error instanceof UnavailableError) return undefined;
    throw error;
  }
}

/**
 * The caller of a request with a token for MCP servers. What the gateway itself accepts is recognised before an identity
 * provider of the server is asked.
 *
 * @returns Undefined where the credential is a key, a token of the organisation's identity provider, or none.
 * @throws {AuthenticationError}
 */
export async function authenticateToken(context: RequestContext): Promise<CallerContext | undefined> {
  if (context.connection.actingFor || context.header("api-key") !== null) return undefined;
  const token = bearerOf(context);
  // a key of the gateway is recognised by its form alone
  if (token === undefined || readLookupId(token, context.services.keyPrefix) !== undefined) return undefined;
  const own = await authenticateOwn(context, token);
  if (own) return own;
  const accepted = await isAccepted(context, token);
  if (accepted) return undefined;
  try {
    return await authenticateExternal(context, token);
  } catch (error) {
    // it may be the organisation's: the answer says that it cannot be checked
    if (accepted === undefined && isRefusedToken(error)) return undefined;
    throw error;
  }
}
