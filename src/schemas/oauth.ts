import * as v from "valibot";
import { isRedirectAddress } from "../lib/redirects.ts";
import { tokenAlgorithms } from "./auth-settings.ts";
import { changesOf, closedObject, IsoTime, listOf, pageOf } from "./objects.ts";

/** Scopes of MCP servers: everything, only what reads, and only calls of tools. */
export const mcpScopes = ["mcp", "mcp:read", "mcp:write"] as const;

/** Grants of the authorization server. */
const grantTypes = ["authorization_code", "refresh_token", "client_credentials"] as const;

/** A name as users may see it: without control and invisible characters. */
const name = v.pipe(
  v.string("must be a string"),
  v.maxLength(200, "must have at most 200 characters"),
  v.check((text) => !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(text), "must have visible characters only"),
);

const address = v.pipe(v.string("must be a string"), v.maxLength(2_048, "must have at most 2048 characters"));

/** Addresses of clients, to which codes are sent. */
const RedirectUris = v.pipe(
  v.array(
    v.pipe(
      address,
      v.check(
        isRedirectAddress,
        "must be https, http on a loopback host, or a private scheme with a dot, without a fragment",
      ),
    ),
    "must be a list",
  ),
  v.maxLength(20, "must have at most 20 entries"),
);

/** How clients of the token endpoint authenticate. */
export const clientAuthMethods = ["none", "client_secret_basic", "client_secret_post", "private_key_jwt"] as const;

/** Where clients run. */
export const applicationTypes = ["native", "web"] as const;
/** Who made a client: an administrator, the client itself (RFC 7591), or its metadata document. */
export const oauthClientKinds = ["registered", "dynamic", "document"] as const;
/** What the account of a user at an upstream server can be. */
export const connectionStatuses = ["connected", "not_connected", "needs_reauth"] as const;

/** What a client says of itself (RFC 7591, section 2, and client metadata documents). Other members have no effect. */
export const ClientMetadata = v.looseObject({
  client_name: v.optional(name),
  redirect_uris: v.optional(RedirectUris),
  grant_types: v.optional(
    v.pipe(v.array(v.string("must be a string"), "must be a list"), v.maxLength(10, "must have at most 10 entries")),
  ),
  response_types: v.optional(
    v.pipe(v.array(v.string("must be a string"), "must be a list"), v.maxLength(10, "must have at most 10 entries")),
  ),
  token_endpoint_auth_method: v.optional(
    v.picklist(clientAuthMethods, `must be one of ${clientAuthMethods.join(", ")}`),
  ),
  scope: v.optional(v.pipe(v.string("must be a string"), v.maxLength(1_000, "must have at most 1000 characters"))),
  application_type: v.optional(v.picklist(applicationTypes, "must be native or web")),
  jwks: v.optional(
    v.looseObject({ keys: v.pipe(v.array(v.looseObject({})), v.maxLength(20, "must have at most 20 entries")) }),
  ),
  jwks_uri: v.optional(v.pipe(address, v.regex(/^https:\/\//, "must begin with https://"))),
});
export type ClientMetadata = v.InferOutput<typeof ClientMetadata>;

/** Whether the authorization server has a grant. */
export function isGrantType(grant: string): boolean {
  return grantTypes.some((known) => known === grant);
}

/** Body of `POST /mcp-oauth-clients`. */
export const CreateOauthClient = v.pipe(
  closedObject({
    name: v.pipe(name, v.minLength(1, "must have at least 1 character")),
    redirect_uris: v.optional(RedirectUris, []),
    grant_types: v.optional(
      v.pipe(
        v.array(v.picklist(grantTypes, `must be any of ${grantTypes.join(", ")}`)),
        v.minLength(1),
        v.maxLength(3),
      ),
      ["authorization_code", "refresh_token"],
    ),
    token_endpoint_auth_method: v.optional(
      v.picklist(clientAuthMethods, `must be one of ${clientAuthMethods.join(", ")}`),
      "client_secret_basic",
    ),
    scope: v.optional(
      v.pipe(
        v.string("must be a string"),
        v.check(
          (text) => text.split(" ").every((scope) => mcpScopes.some((known) => known === scope)),
          `must be any of ${mcpScopes.join(", ")}, separated by spaces`,
        ),
      ),
      "mcp",
    ),
    jwks: v.nullish(v.looseObject({ keys: v.pipe(v.array(v.looseObject({})), v.minLength(1), v.maxLength(20)) })),
    jwks_uri: v.nullish(v.pipe(address, v.regex(/^https?:\/\//, "must begin with https://"))),
    workspace_id: v.nullish(v.string()),
    organisation_id: v.nullish(v.string()),
  }),
  v.check(
    ({ grant_types: grants, redirect_uris: uris }) => !grants.includes("authorization_code") || uris.length > 0,
    "needs redirect_uris for the grant authorization_code",
  ),
  v.check(
    ({ grant_types: grants, token_endpoint_auth_method: method }) =>
      !grants.includes("client_credentials") || method !== "none",
    "needs a token_endpoint_auth_method other than none for the grant client_credentials",
  ),
  v.check(
    ({ token_endpoint_auth_method: method, jwks, jwks_uri: uri }) => method !== "private_key_jwt" || !!jwks || !!uri,
    "needs jwks or jwks_uri for private_key_jwt",
  ),
);
export type CreateOauthClient = v.InferOutput<typeof CreateOauthClient>;

/** Body of `PUT /mcp-servers/{slug}/tokens`. */
export const UpdateTokens = changesOf({
  access_token: v.pipe(v.string(), v.regex(/^[\x21-\x7e]{1,16384}$/, "must be a token")),
  refresh_token: v.nullish(v.pipe(v.string(), v.regex(/^[\x21-\x7e]{1,16384}$/, "must be a token"))),
  /** Seconds that the access token is valid. */
  expires_in: v.nullish(
    v.pipe(v.number("must be a number"), v.integer("must be a whole number"), v.minValue(1), v.maxValue(31_536_000)),
  ),
  user_id: v.nullish(v.string()),
  workspace_id: v.nullish(v.string()),
});
export type UpdateTokens = v.InferOutput<typeof UpdateTokens>;

const nullableText = v.nullable(v.string());

/** A set of public keys (RFC 7517, section 5). */
export const KeySet = v.looseObject({ keys: v.array(v.looseObject({})) });
export type KeySet = v.InferOutput<typeof KeySet>;

/** An OAuth client that an administrator created. */
export const OauthClientRecord = v.object({
  client_id: v.string(),
  /** In clear where the client is created, else masked; null without one. */
  client_secret: nullableText,
  name: v.string(),
  redirect_uris: v.array(v.string()),
  grant_types: v.array(v.string()),
  token_endpoint_auth_method: v.picklist(clientAuthMethods),
  /** Scopes it may ask for, separated by spaces. */
  scope: v.string(),
  jwks: v.nullable(KeySet),
  jwks_uri: nullableText,
  /** Workspace of a client that acts for itself; null for others. */
  workspace_id: nullableText,
  organisation_id: nullableText,
  /** User or key. */
  created_by: nullableText,
  created_at: IsoTime,
  last_used_at: v.nullable(IsoTime),
  object: v.literal("oauth-client"),
});
export type OauthClientRecord = v.InferOutput<typeof OauthClientRecord>;

/** Response of `GET /mcp-oauth-clients`. */
export const OauthClientList = listOf(OauthClientRecord);

/** The account of a user at an upstream server. */
const McpConnection = v.object({
  /** Empty for the account of the integration itself. */
  user_id: v.string(),
  connected: v.boolean(),
  status: v.picklist(connectionStatuses),
  /** Of the authorization server. */
  issuer: v.string(),
  scope: nullableText,
  /** Of the access token; null if unknown. */
  expires_at: v.nullable(IsoTime),
  created_at: IsoTime,
  last_updated_at: IsoTime,
});
export type McpConnection = v.InferOutput<typeof McpConnection>;

/** Response of `GET /mcp-servers/{slug}/connections`. */
export const McpConnectionList = pageOf(McpConnection);

/** Response of `GET /mcp-servers/{slug}/tokens`, masked. */
export const MaskedTokens = v.object({
  access_token: v.string(),
  refresh_token: nullableText,
  /** Of the access token; null if unknown. */
  expires_at: v.nullable(IsoTime),
});

/** Metadata of the authorization server (RFC 8414, section 2). */
export const ServerMetadata = v.object({
  issuer: v.string(),
  authorization_endpoint: v.string(),
  token_endpoint: v.string(),
  registration_endpoint: v.string(),
  revocation_endpoint: v.string(),
  introspection_endpoint: v.string(),
  jwks_uri: v.string(),
  scopes_supported: v.array(v.picklist(mcpScopes)),
  response_types_supported: v.array(v.literal("code")),
  response_modes_supported: v.array(v.literal("query")),
  grant_types_supported: v.array(v.picklist(grantTypes)),
  code_challenge_methods_supported: v.array(v.literal("S256")),
  token_endpoint_auth_methods_supported: v.array(v.picklist(clientAuthMethods)),
  token_endpoint_auth_signing_alg_values_supported: v.array(v.picklist(tokenAlgorithms)),
  client_id_metadata_document_supported: v.literal(true),
  authorization_response_iss_parameter_supported: v.literal(true),
});
export type ServerMetadata = v.InferOutput<typeof ServerMetadata>;

/** Metadata of an MCP server (RFC 9728, section 2). */
export const ResourceMetadata = v.object({
  resource: v.string(),
  authorization_servers: v.array(v.string()),
  scopes_supported: v.array(v.picklist(mcpScopes)),
  bearer_methods_supported: v.array(v.literal("header")),
  resource_name: v.string(),
});
export type ResourceMetadata = v.InferOutput<typeof ResourceMetadata>;

/** The gateway as a client of upstream authorization servers (RFC 7591, section 2). */
export const ClientDocument = v.object({
  client_id: v.string(),
  client_name: v.string(),
  redirect_uris: v.array(v.string()),
  grant_types: v.array(v.picklist(grantTypes)),
  response_types: v.array(v.literal("code")),
  token_endpoint_auth_method: v.literal("none"),
  application_type: v.picklist(applicationTypes),
});
export type ClientDocument = v.InferOutput<typeof ClientDocument>;

/** A client as it was registered (RFC 7591, section 3.2.1). */
export const RegisteredClient = v.object({
  client_id: v.string(),
  /** Seconds since 1970. */
  client_id_issued_at: v.number(),
  client_secret: v.optional(v.string()),
  /** 0: it does not expire. */
  client_secret_expires_at: v.optional(v.literal(0)),
  client_name: v.string(),
  redirect_uris: v.array(v.string()),
  grant_types: v.array(v.string()),
  response_types: v.array(v.literal("code")),
  token_endpoint_auth_method: v.picklist(clientAuthMethods),
  scope: v.string(),
  application_type: v.picklist(applicationTypes),
});
export type RegisteredClient = v.InferOutput<typeof RegisteredClient>;

/** Tokens as a client gets them (RFC 6749, section 5.1). */
export const IssuedTokens = v.object({
  access_token: v.string(),
  token_type: v.literal("Bearer"),
  /** Seconds. */
  expires_in: v.number(),
  scope: v.string(),
  refresh_token: v.optional(v.string()),
});
export type IssuedTokens = v.InferOutput<typeof IssuedTokens>;

const activeToken = {
  active: v.literal(true),
  /** The user; the client where it acts for itself. */
  sub: v.string(),
  client_id: v.string(),
  scope: v.string(),
  /** Address of the MCP server. */
  aud: v.string(),
  /** Seconds since 1970. */
  exp: v.number(),
};

/** What a token is worth (RFC 7662, section 2.2): an access token, a refresh token, or one that is not valid. */
export const Introspection = v.union([
  v.object({
    ...activeToken,
    token_type: v.literal("Bearer"),
    iss: v.string(),
    /** Seconds since 1970. */
    iat: v.number(),
    jti: v.string(),
  }),
  v.object(activeToken),
  v.object({ active: v.literal(false) }),
]);
export type Introspection = v.InferOutput<typeof Introspection>;
