import type { RequestContext } from "../../context.ts";
import { type Asked, baseOf, requireOrigin } from "../../endpoint/public-origin.ts";
import { jsonReply, type Reply } from "../../lib/reply.ts";
import { tokenAlgorithms } from "../../schemas/auth-settings.ts";
import {
  type ClientDocument,
  clientAuthMethods,
  type KeySet,
  mcpScopes,
  type ResourceMetadata,
  type ServerMetadata,
} from "../../schemas/oauth.ts";
import { issuerOf, oauthAddress } from "./addresses.ts";

/** Metadata of the authorization server (RFC 8414, section 2). */
export function serveServerMetadata(context: RequestContext): Reply {
  requireOrigin(context);
  const issuer = issuerOf(context);
  return jsonReply({
    issuer,
    authorization_endpoint: oauthAddress(context, "authorize"),
    token_endpoint: oauthAddress(context, "token"),
    registration_endpoint: oauthAddress(context, "register"),
    revocation_endpoint: oauthAddress(context, "revoke"),
    introspection_endpoint: oauthAddress(context, "introspect"),
    jwks_uri: `${issuer}/.well-known/jwks.json`,
    scopes_supported: [...mcpScopes],
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: ["authorization_code", "refresh_token", "client_credentials"],
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: [...clientAuthMethods],
    token_endpoint_auth_signing_alg_values_supported: [...tokenAlgorithms],
    client_id_metadata_document_supported: true,
    authorization_response_iss_parameter_supported: true,
  } satisfies ServerMetadata);
}

/**
 * Metadata of an MCP server (RFC 9728, section 2). The same for each well-formed address, whether there is a server or not:
 * who did not sign in must not learn which servers exist.
 */
export function serveResourceMetadata(context: RequestContext): Reply {
  requireOrigin(context);
  const path = context.url.pathname.replace(/^\/\.well-known\/oauth-protected-resource/, "").replace(/\/+$/, "");
  return jsonReply({
    resource: baseOf(context) + path,
    authorization_servers: [issuerOf(context)],
    scopes_supported: [...mcpScopes],
    bearer_methods_supported: ["header"],
    resource_name: context.params.slug ?? "",
  } satisfies ResourceMetadata);
}

/** Public keys of the gateway (RFC 7517, section 5). */
export async function serveKeySet(context: RequestContext): Promise<Reply> {
  const reply = jsonReply((await context.services.oauth.keys.keySet()) satisfies KeySet);
  reply.headers["cache-control"] = "public, max-age=300";
  return reply;
}

/** Metadata of the gateway as a client of upstream authorization servers. Its address is its client id. */
export function serveClientDocument(context: RequestContext): Reply {
  requireOrigin(context);
  return jsonReply(clientDocumentOf(context));
}

/** What the gateway says of itself to upstream authorization servers. */
export function clientDocumentOf(context: Asked): ClientDocument {
  return {
    client_id: oauthAddress(context, "client.json"),
    client_name: "AI gateway",
    redirect_uris: [oauthAddress(context, "upstream-callback")],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
    application_type: "web",
  };
}
