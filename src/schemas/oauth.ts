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
