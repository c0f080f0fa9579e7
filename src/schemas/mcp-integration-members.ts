import * as v from "valibot";
import { type ConfigurationMember, type IntegrationForm, PlainText } from "./integration-members.ts";

const text = (maximum: number) => v.pipe(PlainText, v.maxLength(maximum, `must have at most ${maximum} characters`));
const flag = v.boolean("must be true or false");

const plain: ConfigurationMember = { schema: text(1_024) };
const secret: ConfigurationMember = { schema: text(16_384), secret: true };
const address: ConfigurationMember = { schema: text(2_048), address: "url" };
const seconds: ConfigurationMember = {
  schema: v.pipe(
    v.number("must be a number"),
    v.integer("must be a whole number"),
    v.minValue(0),
    v.maxValue(31_536_000),
  ),
};
const names: ConfigurationMember = {
  schema: v.union([text(4_096), v.pipe(v.array(text(256)), v.maxLength(100))], "must be a string or a list of strings"),
};
const strings: ConfigurationMember = {
  schema: v.record(text(128), v.string("must be a string"), "must be an object of strings"),
};

const headerName = v.pipe(
  v.string("must be a header name"),
  v.regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,255}$/, "must be a header name"),
);

/** A list of names, or of pairs of a name and the one upstream. */
const HeaderList = v.pipe(
  v.array(
    v.union([headerName, v.strictObject({ from: headerName, to: headerName }, "has no such field")]),
    "must be a list of header names",
  ),
  v.maxLength(100, "must have at most 100 entries"),
);

/** Headers of callers that are forwarded: a list, or a mode with its list. */
export const ForwardHeaders = v.union(
  [
    HeaderList,
    v.strictObject(
      { mode: v.picklist(["allowlist", "all-except"], "must be allowlist or all-except"), headers: HeaderList },
      "has no such field",
    ),
  ],
  "must be a list of header names, or {mode, headers}",
);

/** How callers are named to the upstream server. */
const IdentityForwarding = v.strictObject(
  {
    method: v.picklist(["claims_header", "jwt_header", "bearer"], "must be claims_header, jwt_header or bearer"),
    include_claims: v.optional(v.pipe(v.array(text(64)), v.maxLength(50))),
    header_name: v.optional(headerName),
    jwt_expiry_seconds: v.optional(v.pipe(v.number(), v.integer(), v.minValue(30), v.maxValue(86_400))),
  },
  "has no such field",
);

const algorithm = v.picklist(
  ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"],
  "must name asymmetric algorithms",
);

/** What a claim must have. */
const ClaimValues = v.record(
  text(128),
  v.strictObject({
    values: v.pipe(v.array(text(1_024)), v.maxLength(100)),
    matchType: v.optional(v.picklist(["exact", "contains", "containsAll", "regex"])),
  }),
  "must be an object",
);

/** Members of an OAuth client, its authorization server among them, below a group. */
function clientMembers(group: string): Record<string, ConfigurationMember> {
  return {
    [`${group}.issuer`]: address,
    [`${group}.authorization_endpoint`]: address,
    [`${group}.token_endpoint`]: address,
    [`${group}.registration_endpoint`]: address,
    [`${group}.revocation_endpoint`]: address,
    [`${group}.jwks_uri`]: address,
    [`${group}.client_id`]: plain,
    [`${group}.client_secret`]: secret,
    [`${group}.private_key`]: secret,
    [`${group}.token_endpoint_auth_method`]: plain,
    [`${group}.scope`]: names,
    [`${group}.scopes`]: names,
    [`${group}.audience`]: plain,
    [`${group}.resource`]: plain,
    [`${group}.send_resource`]: { schema: flag },
    [`${group}.authorization_params`]: strings,
  };
}

/** Fields of `configurations` of MCP integrations. Header values are validated separately. */
export const mcpIntegrationForm: IntegrationForm = {
  members: {
    forward_headers: { schema: ForwardHeaders },
    user_identity_forwarding: { schema: IdentityForwarding },
    send_resource: { schema: flag },
    ...clientMembers("oauth_metadata"),
    ...clientMembers("external_auth_config"),
    "jwt_validation.jwksUri": address,
    "jwt_validation.jwks": { schema: v.looseObject({ keys: v.array(v.looseObject({})) }, "must be a key set") },
    "jwt_validation.introspectEndpoint": address,
    "jwt_validation.introspectContentType": plain,
    "jwt_validation.introspectClientId": plain,
    "jwt_validation.introspectClientSecret": secret,
    "jwt_validation.introspectCacheMaxAge": seconds,
    "jwt_validation.headerKey": { schema: headerName },
    "jwt_validation.algorithms": { schema: v.pipe(v.array(algorithm), v.minLength(1), v.maxLength(10)) },
    "jwt_validation.issuer": plain,
    "jwt_validation.audience": names,
    "jwt_validation.clockTolerance": seconds,
    "jwt_validation.cacheMaxAge": seconds,
    "jwt_validation.maxTokenAge": { schema: v.union([text(32), seconds.schema], "must be a number or a duration") },
    "jwt_validation.requiredClaims": { schema: v.pipe(v.array(text(128)), v.maxLength(50)) },
    "jwt_validation.claimValues": { schema: ClaimValues },
    "jwt_validation.headerPayloadMatch": strings,
  },
  required: [],
};
