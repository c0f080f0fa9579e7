import type { RequestContext } from "../../context.ts";
import { cookieNameOf, originOf } from "../../endpoint/public-origin.ts";
import { PermissionError } from "../../errors.ts";
import { hostCookie, readCookie } from "../../lib/cookies.ts";
import { randomBase62, sha256Hex } from "../../lib/hash.ts";
import { stringOf } from "../../lib/json.ts";
import type { Reply } from "../../lib/reply.ts";
import { findSignInKey } from "./sign-in-key.ts";

/** Ties forms and states to the browser that got them. */
const browserCookie = "__Host-gateway-mcp-browser";
/** Who signed in. */
const sessionCookie = "__Host-gateway-mcp-session";

const browserSeconds = 24 * 60 * 60;
const sessionSeconds = 8 * 60 * 60;

/** A user who signed in. */
export interface Session {
  readonly organisationId: string;
  readonly userId: string;
  /** The only workspace that the sign-in is for; null for all of the user's. */
  readonly workspaceId: string | null;
  /** The key by which the user signed in; null for single sign-on. */
  readonly keyId: string | null;
  /** Which secret of the key it was; null for single sign-on. */
  readonly keyVersion: string | null;
}

/** A browser, recognised by its cookie. */
export interface Browser {
  /** Digest of the cookie. */
  readonly id: string;
  /** Sets the cookie where it is new. */
  readonly cookie: string | undefined;
}

/** The browser of a request; a new one gets a cookie with `withCookies`. */
export async function browserOf(context: RequestContext): Promise<Browser> {
  const name = cookieNameOf(browserCookie, context);
  const known = readCookie(context.headers.get("cookie"), name);
  const isKnown = known !== undefined && /^[0-9A-Za-z]{32}$/.test(known);
  const value = isKnown ? known : randomBase62(32);
  const id = await sha256Hex(value);
  return { id, cookie: isKnown ? undefined : hostCookie(name, value, browserSeconds) };
}

/** Adds cookies to a reply: the platform joins those of one header by a comma, so that there is at most one. */
export function withCookie(reply: Reply, cookie: string | undefined): Reply {
  if (cookie !== undefined) reply.headers["set-cookie"] = cookie;
  return reply;
}

/**
 * Refuses a form that another site sent.
 *
 * @throws {PermissionError}
 */
export function requireOwnForm(context: RequestContext): void {
  const origin = context.headers.get("origin");
  const site = context.headers.get("sec-fetch-site");
  const isOwn = origin === undefined || origin === originOf(context);
  if (isOwn && (site === undefined || site === "same-origin")) return;
  throw new PermissionError("Cannot use this form: it was sent by another site", { code: "foreign_form" });
}

/** The cookie of a session. */
export async function sessionCookieOf(session: Session, browser: Browser, context: RequestContext): Promise<string> {
  const { seal } = context.services.oauth;
  const sealed = await seal.seal("session", { ...session, browser: browser.id }, sessionSeconds * 1_000);
  return hostCookie(cookieNameOf(sessionCookie, context), sealed, sessionSeconds);
}

/** The cookie that ends a session. */
export const noSessionCookieOf = (context: RequestContext): string =>
  hostCookie(cookieNameOf(sessionCookie, context), "", 0);

/** Whether the key of a session still works, or the user is still there. */
async function isStanding(session: Session, context: RequestContext): Promise<boolean> {
  const { organisationId, userId, keyId } = session;
  const { services } = context;
  if (keyId !== null && !(await findSignInKey(context, session))) return false;
  const tenant = { organisationId, workspaceId: null };
  return (await services.control.stores.users.find(tenant, { id: userId, status: "active" })) !== undefined;
}

/** Who signed in with this browser; undefined if nobody did, or may no longer. */
export async function readSession(context: RequestContext, browser: Browser): Promise<Session | undefined> {
  const sealed = readCookie(context.headers.get("cookie"), cookieNameOf(sessionCookie, context));
  const content = sealed === undefined ? undefined : await context.services.oauth.seal.open("session", sealed);
  if (!content || content.browser !== browser.id) return undefined;
  const session = {
    organisationId: String(content.organisationId),
    userId: String(content.userId),
    workspaceId: stringOf(content.workspaceId) ?? null,
    keyId: stringOf(content.keyId) ?? null,
    keyVersion: stringOf(content.keyVersion) ?? null,
  };
  return (await isStanding(session, context)) ? session : undefined;
}
