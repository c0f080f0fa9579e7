import { clientAddressOf, type RequestContext } from "../../context.ts";
import { requireOrigin } from "../../endpoint/public-origin.ts";
import { GatewayError, OauthError } from "../../errors.ts";
import { problemPage } from "../../lib/page.ts";
import { isRegisteredRedirect } from "../../lib/redirects.ts";
import type { Reply } from "../../lib/reply.ts";
import { ClientProblem, type OauthClient } from "../registry/oauth/clients.ts";
import { readResource } from "./addresses.ts";
import { browserOf, withCookie } from "./browser.ts";
import { clientReply } from "./client-reply.ts";
import { continueFlow } from "./consent.ts";
import type { ClientFlow } from "./flow.ts";
import { type Parameters, readParameters } from "./form.ts";
import { requireScope } from "./scope.ts";

const unusable = "Cannot authorize this client";

/** The client of a request, or a page that says why there is no such client: nothing is redirected to an unchecked address. */
async function findClient(context: RequestContext, id: string | undefined): Promise<OauthClient | Reply> {
  if (id === undefined) return problemPage(unusable, "The request does not name a client.");
  const { oauth } = context.services;
  try {
    const client = await oauth.clients.find(id, clientAddressOf(context, context.services));
    return client ?? problemPage(unusable, "The client is not known: it has to register again.");
  } catch (error) {
    if (error instanceof ClientProblem) return problemPage(unusable, error.message);
    throw error;
  }
}

/** What a client asks for. @throws {OauthError} For the client. */
function readFlow(
  context: RequestContext,
  client: OauthClient,
  parameters: Parameters,
): Omit<ClientFlow, "redirectUri"> {
  const refuse = (error: string, message: string): never => {
    throw new OauthError(error, message);
  };
  if (parameters.get("response_type") !== "code") refuse("unsupported_response_type", "response_type must be code");
  if ((parameters.get("response_mode") ?? "query") !== "query")
    refuse("invalid_request", "response_mode must be query");
  if (!client.grantTypes.includes("authorization_code")) {
    refuse("unauthorized_client", "the client was not made for authorization codes");
  }
  const codeChallenge = parameters.get("code_challenge") ?? "";
  if (parameters.get("code_challenge_method") !== "S256" || !/^[A-Za-z0-9_-]{43}$/.test(codeChallenge)) {
    refuse("invalid_request", "code_challenge with code_challenge_method S256 is required");
  }
  const resource = parameters.get("resource") ?? "";
  if (!readResource(context, resource)) {
    refuse("invalid_target", "resource must be the address of an MCP server of this gateway");
  }
  const scope = requireScope(parameters.get("scope") ?? (client.scope || undefined)).join(" ");
  return {
    kind: "client",
    clientId: client.id,
    state: parameters.get("state") ?? null,
    codeChallenge,
    resource,
    scope,
  };
}

/** Serves the authorization endpoint (RFC 6749, section 3.1). */
export async function serveAuthorize(context: RequestContext): Promise<Reply> {
  requireOrigin(context);
  context.services.oauth.limits.requirePage(clientAddressOf(context, context.services));
  let parameters: Parameters;
  try {
    parameters = readParameters(context.url.searchParams);
  } catch (error) {
    if (error instanceof OauthError) return problemPage(unusable, error.message);
    throw error;
  }
  const client = await findClient(context, parameters.get("client_id"));
  if ("status" in client) return client;
  const redirectUri = parameters.get("redirect_uri");
  if (redirectUri === undefined || !isRegisteredRedirect(client.redirectUris, redirectUri)) {
    return problemPage(unusable, "The address to return to is not one that the client registered.");
  }
  const state = parameters.get("state") ?? null;
  try {
    const flow = { ...readFlow(context, client, parameters), redirectUri };
    const browser = await browserOf(context);
    return withCookie(await continueFlow(context, flow, { browser, client }), browser.cookie);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const name = error instanceof OauthError ? error.error : "server_error";
    return clientReply(context, { redirectUri, state }, { error: name, error_description: error.message });
  }
}
