import * as v from "valibot";
import type { RequestContext } from "../../context.ts";
import { definePublicEndpoint, type Endpoint, type Method } from "../../endpoint.ts";
import { GatewayError } from "../../errors.ts";
import type { Reply } from "../../lib/reply.ts";
import {
  ClientDocument,
  ClientMetadata,
  Introspection,
  IssuedTokens,
  KeySet,
  RegisteredClient,
  ResourceMetadata,
  ServerMetadata,
} from "../../schemas/oauth.ts";
import { isKnownOrigin, pageHeaders } from "../origins.ts";
import { serveAuthorize } from "./authorize.ts";
import { serveConnect, serveConsent } from "./consent.ts";
import { serveClientDocument, serveKeySet, serveResourceMetadata, serveServerMetadata } from "./metadata.ts";
import { serveRegistration } from "./register.ts";
import { serveIntrospection, serveRevocation } from "./revoke.ts";
import { serveSignIn, serveSignInCallback } from "./sign-in.ts";
import { serveToken } from "./token.ts";
import { serveUpstreamCallback } from "./upstream-callback.ts";

type Serve = (context: RequestContext) => Reply | Promise<Reply>;

const form = (entries: Record<string, v.GenericSchema>) => ({
  schema: v.looseObject(entries),
  types: ["application/x-www-form-urlencoded"],
});
const text = v.optional(v.string());
/** How a client authenticates, besides by a header. */
const clientFields = { client_id: text, client_secret: text, client_assertion: text, client_assertion_type: text };

/** Serves what clients in web pages of known origins may read. */
const openToPages =
  (serve: Serve): Serve =>
  async (context) => {
    const origin = context.headers.get("origin");
    const headers = origin !== undefined && isKnownOrigin(origin, context) ? pageHeaders(context) : {};
    try {
      const reply = await serve(context);
      Object.assign(reply.headers, headers);
      return reply;
    } catch (error) {
      if (error instanceof GatewayError) Object.assign(error.headers, headers);
      throw error;
    }
  };

function row(method: Method, path: string, summary: string, handle: Serve): Parameters<typeof definePublicEndpoint>[0] {
  return { method, path, summary, handle, tag: "MCP OAuth", access: "public", errorForm: "oauth" };
}

/** A document of metadata, and how it is served. */
interface Served {
  readonly response: v.GenericSchema;
  readonly serve: Serve;
}
const ofResource: Served = { response: ResourceMetadata, serve: serveResourceMetadata };
const ofServer: Served = { response: ServerMetadata, serve: serveServerMetadata };
const keySet: Served = { response: KeySet, serve: serveKeySet };
const ofClient: Served = { response: ClientDocument, serve: serveClientDocument };

const documents: readonly (readonly [path: string, summary: string, served: Served])[] = [
  ["/.well-known/oauth-protected-resource/m/:slug/mcp", "Metadata of an MCP server (RFC 9728)", ofResource],
  [
    "/.well-known/oauth-protected-resource/m/:workspace/:slug/mcp",
    "Metadata of an MCP server, named with its workspace",
    ofResource,
  ],
  ["/.well-known/oauth-authorization-server/m", "Metadata of the authorization server (RFC 8414)", ofServer],
  ["/.well-known/oauth-authorization-server", "The same, for clients of the revision 2025-03-26", ofServer],
  ["/.well-known/openid-configuration/m", "The same, where some clients look", ofServer],
  ["/m/.well-known/openid-configuration", "The same, where other clients look", ofServer],
  ["/m/.well-known/jwks.json", "Public keys of the gateway", keySet],
  ["/.well-known/jwks.json", "Public keys of the gateway", keySet],
  ["/m/oauth/client.json", "The gateway as a client of upstream authorization servers", ofClient],
];

/** The endpoints of the authorization server. */
export const mcpOauthEndpoints: readonly Endpoint[] = [
  ...documents.map(([path, summary, { response, serve }]) =>
    definePublicEndpoint({ ...row("GET", path, summary, openToPages(serve)), response }),
  ),
  definePublicEndpoint({
    ...row("POST", "/m/oauth/register", "Register a client (RFC 7591)", openToPages(serveRegistration)),
    body: ClientMetadata,
    success: 201,
    response: RegisteredClient,
  }),
  definePublicEndpoint({
    ...row("GET", "/m/oauth/authorize", "Ask a user for access to an MCP server; opened by a browser", serveAuthorize),
    query: [
      { name: "client_id", description: "Id of the client, or the address of its metadata document" },
      { name: "redirect_uri", description: "Where the answer goes: a registered address" },
      { name: "response_type", description: "code" },
      { name: "code_challenge", description: "Challenge of PKCE" },
      { name: "code_challenge_method", description: "S256" },
      { name: "resource", description: "Address of the MCP server" },
      { name: "scope", description: "mcp, mcp:read or mcp:write" },
      { name: "state", description: "Returned unchanged" },
    ],
  }),
  definePublicEndpoint({
    ...row("POST", "/m/oauth/token", "Get tokens for a code, a refresh token, or a client", openToPages(serveToken)),
    documentedBody: form({
      grant_type: v.picklist(["authorization_code", "refresh_token", "client_credentials"]),
      ...clientFields,
      code: text,
      redirect_uri: text,
      code_verifier: text,
      refresh_token: text,
      resource: text,
      scope: text,
    }),
    response: IssuedTokens,
  }),
  definePublicEndpoint({
    ...row("POST", "/m/oauth/revoke", "Revoke a token (RFC 7009)", openToPages(serveRevocation)),
    documentedBody: form({ token: v.string(), token_type_hint: text, ...clientFields }),
  }),
  definePublicEndpoint({
    ...row(
      "POST",
      "/m/oauth/introspect",
      "What a token of the client is worth (RFC 7662)",
      openToPages(serveIntrospection),
    ),
    documentedBody: form({ token: v.string(), token_type_hint: text, ...clientFields }),
    response: Introspection,
  }),
  definePublicEndpoint({
    ...row("POST", "/m/oauth/sign-in", "The form of the sign-in page", serveSignIn),
    documentedBody: form({ flow: v.string(), method: v.picklist(["key", "sso"]), key: text, organisation: text }),
  }),
  definePublicEndpoint(
    row(
      "GET",
      "/m/oauth/sign-in-callback",
      "Where identity providers return to; opened by a browser",
      serveSignInCallback,
    ),
  ),
  definePublicEndpoint({
    ...row("POST", "/m/oauth/consent", "The form of the consent page", serveConsent),
    documentedBody: form({ grant: text, flow: text, decision: v.picklist(["allow", "deny", "switch"]) }),
  }),
  definePublicEndpoint(
    row(
      "GET",
      "/m/oauth/upstream-callback",
      "Where authorization servers of upstreams return to; opened by a browser",
      serveUpstreamCallback,
    ),
  ),
  definePublicEndpoint({
    ...row("GET", "/m/oauth/connect", "Connect an account to an MCP server; opened by a browser", serveConnect),
    query: [{ name: "ticket", description: "From the answer to a call that needs an account" }],
  }),
];
