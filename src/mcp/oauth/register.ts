import * as v from "valibot";
import { clientAddressOf, type RequestContext } from "../../context.ts";
import { readJsonBody } from "../../endpoint/body.ts";
import { requireOrigin } from "../../endpoint/public-origin.ts";
import { OauthError } from "../../errors.ts";
import { firstPlainIssue } from "../../lib/issues.ts";
import { jsonReply, type Reply } from "../../lib/reply.ts";
import { ClientMetadata, isGrantType, type RegisteredClient } from "../../schemas/oauth.ts";
import { readScope } from "./scope.ts";

/** Largest registration, in bytes. */
const maxBytes = 64 * 1024;

function readMetadata(value: unknown): ClientMetadata {
  const { success, output, issues } = v.safeParse(ClientMetadata, value, firstPlainIssue);
  if (!success) {
    const path = v.getDotPath(issues[0]) ?? "the body";
    const error = path.startsWith("redirect_uris") ? "invalid_redirect_uri" : "invalid_client_metadata";
    throw new OauthError(error, `Cannot register this client: ${path} ${issues[0].message}`, { param: path });
  }
  if (!output.redirect_uris?.length) {
    throw new OauthError("invalid_redirect_uri", "Cannot register this client: redirect_uris must name an address");
  }
  return output;
}

function refuseClient(member: string, problem: string): never {
  throw new OauthError("invalid_client_metadata", `Cannot register this client: ${member} ${problem}`, {
    param: member,
  });
}

/** What is registered of what was sent: unknown grants and scopes are left out (RFC 7591, section 2). */
function toRegistered(metadata: ClientMetadata): ClientMetadata {
  const { jwks: _jwks, jwks_uri: _uri, ...others } = metadata;
  const method = metadata.token_endpoint_auth_method ?? "none";
  if (method === "private_key_jwt") {
    refuseClient("token_endpoint_auth_method", "private_key_jwt needs a client metadata document or an administrator");
  }
  const grants = metadata.grant_types?.filter(isGrantType) ?? ["authorization_code", "refresh_token"];
  // clients that act for themselves are made by administrators
  const grantTypes = grants.filter((grant) => grant !== "client_credentials");
  if (!grantTypes.includes("authorization_code")) refuseClient("grant_types", "must have authorization_code");
  if (metadata.response_types?.length && !metadata.response_types.includes("code")) {
    refuseClient("response_types", "must have code");
  }
  return { ...others, grant_types: grantTypes, scope: readScope(metadata.scope).join(" ") };
}

/** Registers a client (RFC 7591). */
export async function serveRegistration(context: RequestContext): Promise<Reply> {
  const { services } = context;
  requireOrigin(context);
  services.oauth.limits.requireRegistration(clientAddressOf(context, services));
  const { value } = await readJsonBody(context, maxBytes, services);
  const metadata = toRegistered(readMetadata(value));
  const { client, secret } = await services.oauth.clients.register(metadata);
  const now = Math.floor(services.clock.now() / 1_000);
  return jsonReply(
    {
      client_id: client.id,
      client_id_issued_at: now,
      ...(secret !== undefined && { client_secret: secret, client_secret_expires_at: 0 }),
      client_name: client.name,
      redirect_uris: [...client.redirectUris],
      grant_types: [...client.grantTypes],
      response_types: ["code"],
      token_endpoint_auth_method: client.authMethod,
      scope: client.scope,
      application_type: metadata.application_type ?? "native",
    } satisfies RegisteredClient,
    201,
  );
}
