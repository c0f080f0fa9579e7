import { clientAddressOf, type RequestContext } from "../../context.ts";
import { requireOrigin } from "../../endpoint/public-origin.ts";
import { AuthenticationError, PermissionError, RateLimitError } from "../../errors.ts";
import type { Reply } from "../../lib/reply.ts";
import { type Browser, browserOf, requireOwnForm, type Session, sessionCookieOf, withCookie } from "./browser.ts";
import { clientOf, continueFlow, stalePage } from "./consent.ts";
import { type Flow, openFlow } from "./flow.ts";
import { readForm } from "./form.ts";
import { signInPage } from "./sign-in-page.ts";
import { finishSingleSignOn, startSingleSignOn } from "./single-sign-on.ts";

const wrongKey = "This is not a personal API key that may use MCP servers.";

/** The user of a personal key; undefined for keys of services, and for keys that may not call MCP servers. */
async function readKey(context: RequestContext, key: string): Promise<Session | undefined> {
  const { authenticator } = context.services;
  const principal = await authenticator.authenticate(key.trim(), () => clientAddressOf(context, context.services));
  const { organisationId, workspaceId, userId, keyId, scopes } = principal;
  // tokens of identity providers are no keys: they are not pasted, and end sooner than a session
  if (userId === null || workspaceId === null || principal.person !== undefined || !scopes.has("mcp.invoke")) {
    return undefined;
  }
  return { organisationId, workspaceId, userId, keyId, keyVersion: await authenticator.versionOf(key.trim()) };
}

/** Signs in with a key. */
async function signInByKey(context: RequestContext, flow: Flow, { browser, key }: { browser: Browser; key: string }) {
  let session: Session | undefined;
  try {
    session = await readKey(context, key);
  } catch (error) {
    const isRefused =
      error instanceof AuthenticationError || error instanceof PermissionError || error instanceof RateLimitError;
    if (!isRefused) throw error;
    const problem =
      error instanceof RateLimitError ? "Too many wrong keys came from your address. Wait a minute." : wrongKey;
    return signInPage(context, flow, { browser, problem });
  }
  if (!session) return signInPage(context, flow, { browser, problem: wrongKey });
  return signedInReply(context, flow, { browser, session });
}

/** Goes on as a user who just signed in. */
async function signedInReply(
  context: RequestContext,
  flow: Flow,
  { browser, session }: { browser: Browser; session: Session },
): Promise<Reply> {
  const client = await clientOf(context, flow);
  if (flow.kind === "client" && !client) return stalePage();
  const reply = await continueFlow(context, flow, { browser, client, session });
  return withCookie(reply, await sessionCookieOf(session, browser, context));
}

/** Serves the forms of the sign-in page. */
export async function serveSignIn(context: RequestContext): Promise<Reply> {
  requireOrigin(context);
  requireOwnForm(context);
  const form = await readForm(context);
  const browser = await browserOf(context);
  const flow = await openFlow(form.get("flow"), browser.id, context);
  if (!flow) return stalePage();
  if (form.get("method") === "sso") {
    return startSingleSignOn(context, flow, { browser, organisation: form.get("organisation") });
  }
  return signInByKey(context, flow, { browser, key: form.get("key") ?? "" });
}

/** Serves the address to which identity providers send browsers back. */
export async function serveSignInCallback(context: RequestContext): Promise<Reply> {
  requireOrigin(context);
  const browser = await browserOf(context);
  const result = await finishSingleSignOn(context, browser);
  if ("page" in result) return result.page;
  return signedInReply(context, result.flow, { browser, session: result.session });
}
