import * as v from "valibot";
import { isRedirectAddress } from "../lib/redirects.ts";

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
  application_type: v.optional(v.picklist(["native", "web"], "must be native or web")),
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
  v.object({
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
export const UpdateTokens = v.object({
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
