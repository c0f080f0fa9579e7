import type { Principal } from "../auth/principal.ts";
import { type CallerContext, type RequestContext, withCaller } from "../context.ts";
import { type ConsoleSession, sessionMs } from "../control/console/sessions.ts";
import { cookieNameOf } from "../endpoint/public-origin.ts";
import { AuthenticationError, NotFoundError } from "../errors.ts";
import { cookieOf, readCookie } from "../lib/cookies.ts";
import { isSameText } from "../lib/hash.ts";
import { isSecure, requireSameOrigin } from "./origin.ts";

/** The header in which requests repeat the token of their session, without prefix. */
const csrfHeader = "csrf";

/** Name of the session's cookie. Over TLS it is one that no other host of the domain can set. */
function cookieName(context: RequestContext): string {
  return cookieNameOf(isSecure(context) ? "__Host-gateway-console" : "gateway-console", context);
}

/** The cookie that carries a session, or, with an empty text, ends it in the browser. */
export function sessionCookie(context: RequestContext, sealed: string): string {
  const maxAgeSeconds = sealed === "" ? 0 : sessionMs / 1_000;
  return cookieOf(cookieName(context), sealed, { maxAgeSeconds, isSecure: isSecure(context), sameSite: "Strict" });
}

/** The state of the console. @throws {NotFoundError} If the gateway has none. */
export function requireConsole({ services }: Pick<RequestContext, "services">) {
  if (services.console) return services.console;
  throw new NotFoundError("Not Found: this gateway has no console", { code: "not_found" });
}

function refuseEnded(): never {
  throw new AuthenticationError("Cannot use this session: it has ended; sign in again", { code: "session_ended" });
}

/** A session that stands, and the cookie it came in. */
interface OpenSession {
  readonly session: ConsoleSession;
  readonly sealed: string;
  readonly principal: Principal;
}

/**
 * The session of a request's cookie.
 *
 * @param token The token that the request repeats; undefined where it needs none.
 * @returns Undefined without a cookie.
 * @throws {AuthenticationError} If it was signed out, is too old or another one than the token's, or its key or user may no
 *   longer be used.
 */
async function openSession(context: RequestContext, token?: string | null): Promise<OpenSession | undefined> {
  const sealed = readCookie(context.headers.get("cookie"), cookieName(context));
  if (sealed === undefined) return undefined;
  const { sessions } = requireConsole(context);
  const session = (await sessions.open(sealed)) ?? refuseEnded();
  // a later sign-in replaced the cookie: for the page with the former token its session is over
  if (token !== undefined && !isSameText(token ?? "", session.csrfToken)) refuseEnded();
  const principal = (await sessions.principalOf(session, context.header("workspace"))) ?? refuseEnded();
  return { session, sealed, principal: { ...principal, isOfConsole: true } };
}

/**
 * The session by which a page of the console asks who signed in.
 *
 * @throws {AuthenticationError} If there is no session.
 * @throws {PermissionError} If a page of another site asks.
 */
export async function requireSession(context: RequestContext): Promise<OpenSession> {
  requireSameOrigin(context);
  const opened = await openSession(context);
  if (opened) return opened;
  throw new AuthenticationError("Nobody signed in with this browser", { code: "no_session" });
}

/**
 * The session of a call of the API: with the token that only pages of the console can know.
 *
 * @throws {AuthenticationError} If there is no session, or the token is another session's.
 * @throws {PermissionError} If a page of another site calls.
 */
export async function requireCallingSession(context: RequestContext): Promise<OpenSession> {
  requireSameOrigin(context);
  return (await openSession(context, context.header(csrfHeader))) ?? refuseEnded();
}

/** Whether a request without any other credential wants to use its session. */
export function hasSessionToken(context: RequestContext): boolean {
  return context.services.console !== undefined && context.header(csrfHeader) !== null;
}

/** The caller of a request by its session. */
export async function authenticateSession(context: RequestContext): Promise<CallerContext> {
  const { principal, sealed } = await requireCallingSession(context);
  return withCaller(context, principal, {
    gatewayKey: sealed,
    providerCredential: undefined,
    providerAuthorization: undefined,
    authenticateAgain: async () => (await requireCallingSession(context)).principal,
  });
}
