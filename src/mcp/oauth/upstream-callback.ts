import type { RequestContext } from "../../context.ts";
import { requireOrigin } from "../../endpoint/public-origin.ts";
import { problemPage } from "../../lib/page.ts";
import type { Reply } from "../../lib/reply.ts";
import { readUpstreamSettings } from "../registry/oauth/upstream-settings.ts";
import { type Browser, browserOf, readSession, type Session } from "./browser.ts";
import { clientReply } from "./client-reply.ts";
import { clientOf, findTarget, proceed, stalePage } from "./consent.ts";
import { type Flow, readFlow } from "./flow.ts";
import type { FoundServer } from "./servers.ts";
import { accountServers, gatewayClientOf, resourceFor } from "./upstream-hop.ts";

/** A state that this browser got, used once. */
interface HopState {
  readonly flow: Flow;
  readonly userId: string;
  readonly serverId: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly verifier: string;
}

async function openState(context: RequestContext, browser: Browser): Promise<HopState | undefined> {
  const { seal } = context.services.oauth;
  const sealed = context.url.searchParams.get("state") ?? "";
  const content = await seal.open("upstream", sealed);
  const flow = readFlow(content?.flow);
  if (!content || !flow || content.browser !== browser.id || !(await seal.useOnce(sealed))) return undefined;
  const { userId, serverId, issuer, clientId, verifier } = content;
  return {
    flow,
    userId: String(userId),
    serverId: String(serverId),
    issuer: String(issuer),
    clientId: String(clientId),
    verifier: String(verifier),
  };
}

/** Exchanges the code of the upstream, and stores the account. @throws If anything of the answer is wrong. */
async function connect(
  context: RequestContext,
  state: HopState,
  { session, target }: { session: Session; target: FoundServer },
): Promise<void> {
  const { discovery, clients, connections } = context.services.oauth.upstream;
  const { server, workspaceId } = target;
  const settings = await readUpstreamSettings(server);
  const known = await discovery.find(server, settings);
  // another process may have sent the browser, after the upstream changed its authorization server
  const authorization = known.issuer === state.issuer ? known : await discovery.find(server, settings, true);
  const gateway = gatewayClientOf(context);
  const client = await clients.identify(server, { settings, authorization, gateway });
  // a code for another issuer or client must not reach this one
  if (authorization.issuer !== state.issuer || client.id !== state.clientId) {
    throw new TypeError("Cannot connect: the authorization server changed meanwhile");
  }
  const { tokenEndpoint, issuer, namesIssuer, revocationEndpoint } = authorization;
  const resource = resourceFor(settings, authorization);
  const tokens = await clients.exchange(
    { tokenEndpoint, issuer, client, settings, resource },
    { answer: context.url.searchParams, verifier: state.verifier, redirectUri: gateway.redirectUri, namesIssuer },
  );
  const place = { organisationId: session.organisationId, workspaceId, userId: session.userId, serverId: server.id };
  const common = { url: server.url, issuer, tokenEndpoint, revocationEndpoint, client, resource };
  await connections.store(place, { ...tokens, ...common });
}

/** What a client or a user hears of an account that was not connected. */
function failedReply(context: RequestContext, flow: Flow, message: string): Reply {
  if (flow.kind === "connect") return problemPage("Not connected", message, 403);
  return clientReply(context, flow, { error: "access_denied", error_description: message });
}

/** Serves the address to which upstream authorization servers send browsers back. */
export async function serveUpstreamCallback(context: RequestContext): Promise<Reply> {
  requireOrigin(context);
  const browser = await browserOf(context);
  const state = await openState(context, browser);
  const session = state && (await readSession(context, browser));
  // the account belongs to the user who consented, and to no other one of this browser
  if (!state || !session || session.userId !== state.userId) return stalePage();
  const { flow } = state;
  const client = await clientOf(context, flow);
  const target = await findTarget(context, flow, session);
  const server = target && accountServers(target.server, session.userId).find(({ id }) => id === state.serverId);
  if (!server || (flow.kind === "client" && !client)) return stalePage();
  try {
    await connect(context, state, { session, target: { ...target, server } });
  } catch {
    return failedReply(
      context,
      flow,
      "The account was not connected: its provider refused, or its answer is not valid.",
    );
  }
  return proceed(context, flow, { browser, client, session, target });
}
