import type { RequestContext } from "../../context.ts";
import { randomBase62 } from "../../lib/hash.ts";
import { hopPage, problemPage } from "../../lib/page.ts";
import { withParameters } from "../../lib/redirects.ts";
import type { Reply } from "../../lib/reply.ts";
import type { McpServer } from "../registry/mcp-server.ts";
import { sha256Base64Url } from "../registry/oauth/seal.ts";
import type { UpstreamClient } from "../registry/oauth/upstream-client.ts";
import { DiscoveryError, type UpstreamAuthorization } from "../registry/oauth/upstream-discovery.ts";
import { readUpstreamSettings, type UpstreamSettings } from "../registry/oauth/upstream-settings.ts";
import type { Browser, Session } from "./browser.ts";
import { type Flow, flowMs } from "./flow.ts";
import { clientDocumentOf } from "./metadata.ts";
import type { FoundServer } from "./servers.ts";

/** Whether each user has an own account at a server. */
export function hasUserAccounts({ authType }: McpServer): boolean {
  return authType === "oauth_auto" || authType === "external";
}

/** The servers at which a user needs an account to use a server: itself, or members of one that joins others. */
export function accountServers(server: McpServer, userId: string): McpServer[] {
  const members = server.aggregate?.members.map((member) => member.server) ?? [];
  return [server, ...members].filter((one) => hasUserAccounts(one) && one.isActive && one.isOpenTo(userId));
}

/** The gateway as upstream authorization servers know it. */
export function gatewayClientOf(context: RequestContext) {
  const { client_id: id, client_name: name, redirect_uris: uris } = clientDocumentOf(context);
  return { id, name, redirectUri: uris[0] ?? "" };
}

/** `resource` of requests to an authorization server. */
export function resourceFor(settings: UpstreamSettings, authorization: UpstreamAuthorization): string | undefined {
  return settings.sendsResource ? (settings.resource ?? authorization.resource) : undefined;
}

/** What the browser is sent to an upstream with. */
interface HopParts {
  readonly session: Session;
  readonly target: FoundServer;
  readonly browser: Browser;
}

/** What came of looking for the authorization server of an upstream. */
interface Found {
  readonly settings: UpstreamSettings;
  readonly authorization: UpstreamAuthorization;
  readonly client: UpstreamClient;
}

/** The address at which the user signs in at the upstream. */
async function addressFor(context: RequestContext, flow: Flow, parts: HopParts & Found): Promise<string> {
  const { session, target, browser, settings, authorization, client } = parts;
  const { oauth } = context.services;
  const { organisationId, userId } = session;
  const { workspaceId, server } = target;
  const verifier = randomBase62(64);
  const redirectUri = gatewayClientOf(context).redirectUri;
  const state = {
    flow,
    browser: browser.id,
    organisationId,
    userId,
    workspaceId,
    serverId: server.id,
    issuer: authorization.issuer,
    clientId: client.id,
    verifier,
  };
  const place = { organisationId, workspaceId, userId, serverId: server.id };
  const wanted = (await oauth.upstream.connections.find(place))?.wantedScope ?? undefined;
  return withParameters(authorization.authorizationEndpoint ?? "", {
    ...settings.authorizationParams,
    response_type: "code",
    client_id: client.id,
    redirect_uri: redirectUri,
    scope: wanted ?? settings.scope ?? authorization.scope,
    state: await oauth.seal.seal("upstream", state, flowMs),
    code_challenge: await sha256Base64Url(verifier),
    code_challenge_method: "S256",
    resource: resourceFor(settings, authorization),
    ...(settings.audience !== undefined && { audience: settings.audience }),
  });
}

/** Sends the browser to the authorization server of one server. */
async function hopTo(context: RequestContext, flow: Flow, parts: HopParts): Promise<Reply> {
  const { server } = parts.target;
  const { discovery, clients } = context.services.oauth.upstream;
  try {
    const settings = await readUpstreamSettings(server);
    const authorization = await discovery.find(server, settings, true);
    if (authorization.authorizationEndpoint === undefined) throw new DiscoveryError("it has no authorization endpoint");
    const client = await clients.identify(server, { settings, authorization, gateway: gatewayClientOf(context) });
    const address = await addressFor(context, flow, { ...parts, settings, authorization, client });
    return hopPage(`Connect your account at ${server.name}`, address);
  } catch (error) {
    const reason = error instanceof DiscoveryError ? error.message : "its authorization server does not answer";
    return problemPage("Cannot connect your account", `${server.name} cannot be connected: ${reason}.`, 502);
  }
}

/**
 * Sends the browser to the authorization server of an upstream, if the user has no account there yet. Called after consent
 * only: otherwise a client could use an account that the user has there already.
 */
export async function upstreamHop(context: RequestContext, flow: Flow, parts: HopParts): Promise<Reply | undefined> {
  const { session, target } = parts;
  const { organisationId, userId } = session;
  const { connections } = context.services.oauth.upstream;
  for (const server of accountServers(target.server, userId)) {
    const place = { organisationId, workspaceId: target.workspaceId, userId, serverId: server.id };
    if (await connections.isConnected(server, place)) continue;
    return hopTo(context, flow, { ...parts, target: { ...target, server } });
  }
  return undefined;
}
