import { clientAddressOf, type RequestContext } from "../../context.ts";
import { requireOrigin } from "../../endpoint/public-origin.ts";
import { isObject, stringOf } from "../../lib/json.ts";
import { formTargetOf, type Html, hidden, html, pageReply, problemPage } from "../../lib/page.ts";
import { describeRedirect, isLocalRedirect } from "../../lib/redirects.ts";
import type { Reply } from "../../lib/reply.ts";
import { ClientProblem, type OauthClient } from "../registry/oauth/clients.ts";
import { oauthPath, readResource } from "./addresses.ts";
import {
  type Browser,
  browserOf,
  noSessionCookieOf,
  readSession,
  requireOwnForm,
  type Session,
  withCookie,
} from "./browser.ts";
import { clientReply, codeReply } from "./client-reply.ts";
import { type ClientFlow, type Flow, flowMs, openTicket, readFlow, sealFlow } from "./flow.ts";
import { readForm } from "./form.ts";
import { includesScopes, scopeDescriptions } from "./scope.ts";
import { type FoundServer, findUserServer } from "./servers.ts";
import { signInPage } from "./sign-in-page.ts";
import { upstreamHop } from "./upstream-hop.ts";

/** A flow with the client that asks; a user who connects an account has none. */
interface Asking {
  readonly browser: Browser;
  readonly client: OauthClient | undefined;
}

/** A flow of a user who signed in. */
interface SignedIn extends Asking {
  readonly session: Session;
  readonly target: FoundServer;
}

/** The server that a flow is for, if the user may use it. */
export async function findTarget(
  context: RequestContext,
  flow: Flow,
  session: Session,
): Promise<FoundServer | undefined> {
  if (flow.kind === "client") {
    const named = readResource(context, flow.resource);
    return named && findUserServer(context, session, named);
  }
  const isSame = flow.userId === session.userId && flow.organisationId === session.organisationId;
  const isOther = session.workspaceId !== null && session.workspaceId !== flow.workspaceId;
  if (!isSame || isOther) return undefined;
  const found = await findUserServer(
    context,
    { ...session, workspaceId: flow.workspaceId },
    {
      slug: flow.slug,
      workspace: undefined,
    },
  );
  return found?.server.id === flow.serverId ? found : undefined;
}

/** The same for unknown servers and for those that the user may not use. */
async function noAccessPage(context: RequestContext, flow: Flow, browser: Browser): Promise<Reply> {
  const sealed = await sealFlow(flow, browser.id, context);
  const content = html`<p role="alert">There is no such MCP server, or this account may not use it.</p>
<form method="post" action="${oauthPath(context, "consent")}">${hidden("flow", sealed)}
<button class="plain" name="decision" value="switch">Sign in as someone else</button></form>`;
  return pageReply("No access", content, { status: 403 });
}

/** Whether a user consented to all of it before, and to this same client. */
async function isConsented(context: RequestContext, flow: ClientFlow, { session, target, client }: SignedIn) {
  // any program of the user's machine could say that it is this client
  if (!client || (client.kind === "document" && isLocalRedirect(flow.redirectUri))) return false;
  const { organisationId, userId } = session;
  const { oauthConsents } = context.services.control.stores;
  const tenant = { organisationId, workspaceId: target.workspaceId };
  const found = await oauthConsents.find(tenant, { userId, clientId: client.id, serverId: target.server.id });
  return found?.clientDigest === client.digest && includesScopes(found.scope.split(" "), flow.scope.split(" "));
}

async function storeConsent(context: RequestContext, flow: ClientFlow, { session, target, client }: SignedIn) {
  if (!client) return;
  const { oauth, clock, control } = context.services;
  const { organisationId, userId } = session;
  const { workspaceId, server } = target;
  const now = clock.now();
  const row = {
    organisationId,
    workspaceId,
    userId,
    clientId: client.id,
    serverId: server.id,
    scope: flow.scope,
    clientDigest: client.digest,
    createdAt: now,
    lastUpdatedAt: now,
  };
  await oauth.write([control.stores.oauthConsents.put({ organisationId, workspaceId }, row)]);
}

/** Goes on once the user consented: to the upstream if the user has no account there yet, then back to the client. */
export async function proceed(context: RequestContext, flow: Flow, signedIn: SignedIn): Promise<Reply> {
  const { target, session, browser } = signedIn;
  const hop = await upstreamHop(context, flow, { session, target, browser });
  if (hop) return hop;
  if (flow.kind === "client") return codeReply(context, flow, { session, target });
  return pageReply(
    "Connected",
    html`<p>Your account is connected to ${target.server.name}. You can close this page.</p>`,
  );
}

function describeClient(flow: ClientFlow, { client, target }: SignedIn): Html {
  const place = describeRedirect(flow.redirectUri);
  const scopes = flow.scope.split(" ").map((scope) => html`<li>${scopeDescriptions[scope] ?? scope}</li>`);
  const warning = isLocalRedirect(flow.redirectUri)
    ? html`<p class="note">The answer goes to a program on your computer. Only go on if you started this yourself, just now.</p>`
    : undefined;
  return html`<p><strong>${client?.name || "A client without a name"}</strong> asks for access to an MCP server in your name.</p>
<dl><dt>Server</dt><dd>${target.server.name}</dd><dt>Account</dt><dd>${target.email}</dd>
<dt>The client returns to</dt><dd>${place}</dd></dl>
<p>It could:</p><ul>${scopes}</ul>${warning}`;
}

/** Asks the user. */
async function consentPage(context: RequestContext, flow: Flow, signedIn: SignedIn): Promise<Reply> {
  const { session, target, browser } = signedIn;
  const content = { flow, browser: browser.id, userId: session.userId, serverId: target.server.id };
  const grant = await context.services.oauth.seal.seal("consent", content, flowMs);
  const isClient = flow.kind === "client";
  const question = isClient
    ? describeClient(flow, signedIn)
    : html`<p>The MCP server <strong>${target.server.name}</strong> needs your own account there. You sign in at its provider next.</p>
<dl><dt>Account</dt><dd>${target.email}</dd></dl>`;
  const page = html`${question}
<form method="post" action="${oauthPath(context, "consent")}">${hidden("grant", grant)}
<button name="decision" value="allow">${isClient ? "Allow" : "Connect"}</button>
<button class="plain" name="decision" value="deny">${isClient ? "Deny" : "Cancel"}</button>
<button class="plain" name="decision" value="switch">Sign in as someone else</button></form>`;
  const title = isClient ? "Allow access?" : "Connect your account?";
  return pageReply(title, page, { formTargets: isClient ? [formTargetOf(flow.redirectUri)] : [] });
}

/** Goes on with a flow: signs the user in, asks for consent, or answers the client. */
export async function continueFlow(
  context: RequestContext,
  flow: Flow,
  { browser, client, session: given }: Asking & { session?: Session },
): Promise<Reply> {
  const session = given ?? (await readSession(context, browser));
  if (!session) return signInPage(context, flow, { browser });
  const isOthers =
    client !== undefined && client.organisationId !== null && client.organisationId !== session.organisationId;
  const target = isOthers ? undefined : await findTarget(context, flow, session);
  if (!target) return noAccessPage(context, flow, browser);
  const signedIn = { browser, client, session, target };
  if (flow.kind === "client" && (await isConsented(context, flow, signedIn))) return proceed(context, flow, signedIn);
  return consentPage(context, flow, signedIn);
}

/** The client of a flow, as it is now; undefined where it is gone. */
export async function clientOf(context: RequestContext, flow: Flow): Promise<OauthClient | undefined> {
  if (flow.kind !== "client") return undefined;
  try {
    return await context.services.oauth.clients.find(flow.clientId, clientAddressOf(context, context.services));
  } catch (error) {
    if (error instanceof ClientProblem) return undefined;
    throw error;
  }
}

/** The page of a form that cannot be used any more. */
export function stalePage(): Reply {
  return problemPage("This page is too old", "Start again from your client.");
}

/** What a form of ours holds, if this browser got it. */
async function openForm(context: RequestContext, form: ReadonlyMap<string, string>, browser: Browser) {
  const { seal } = context.services.oauth;
  const [grant, sealed] = [form.get("grant"), form.get("flow")];
  const content = await (grant === undefined ? seal.open("flow", sealed ?? "") : seal.open("consent", grant));
  if (!isObject(content) || content.browser !== browser.id) return undefined;
  const flow = readFlow(content.flow);
  return flow && { flow, grant, userId: stringOf(content.userId), serverId: stringOf(content.serverId) };
}

/** Serves the form of the consent page. */
export async function serveConsent(context: RequestContext): Promise<Reply> {
  requireOrigin(context);
  requireOwnForm(context);
  const form = await readForm(context);
  const browser = await browserOf(context);
  const opened = await openForm(context, form, browser);
  if (!opened) return stalePage();
  const { flow, grant, userId, serverId } = opened;
  const decision = form.get("decision");
  if (decision === "switch")
    return withCookie(await signInPage(context, flow, { browser }), noSessionCookieOf(context));
  if (grant === undefined || !(await context.services.oauth.seal.useOnce(grant))) return stalePage();
  if (decision !== "allow") return refusedReply(context, flow);
  const session = await readSession(context, browser);
  const client = await clientOf(context, flow);
  if (!session || session.userId !== userId || (flow.kind === "client" && !client)) return stalePage();
  const target = await findTarget(context, flow, session);
  if (!target || target.server.id !== serverId) return noAccessPage(context, flow, browser);
  const signedIn = { browser, client, session, target };
  if (flow.kind === "client") await storeConsent(context, flow, signedIn);
  return proceed(context, flow, signedIn);
}

/** The user said no. */
function refusedReply(context: RequestContext, flow: Flow): Reply {
  if (flow.kind === "connect")
    return pageReply("Not connected", html`<p>Nothing was changed. You can close this page.</p>`);
  return clientReply(context, flow, { error: "access_denied", error_description: "The user denied the request" });
}

/** Serves the address at which a user of a key connects an account. */
export async function serveConnect(context: RequestContext): Promise<Reply> {
  requireOrigin(context);
  context.services.oauth.limits.requirePage(clientAddressOf(context, context.services));
  const flow = await openTicket(context.url.searchParams.get("ticket") ?? undefined, context);
  if (!flow) return stalePage();
  const browser = await browserOf(context);
  return withCookie(await continueFlow(context, flow, { browser, client: undefined }), browser.cookie);
}
