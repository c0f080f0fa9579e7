import { isObject, stringOf } from "../../../lib/json.ts";
import type { McpServer } from "../mcp-server.ts";

/** How the gateway acts as a client of the authorization server of an upstream. Undefined members are discovered. */
export interface UpstreamSettings {
  readonly issuer: string | undefined;
  readonly authorizationEndpoint: string | undefined;
  readonly tokenEndpoint: string | undefined;
  readonly registrationEndpoint: string | undefined;
  readonly revocationEndpoint: string | undefined;
  readonly clientId: string | undefined;
  readonly clientSecret: string | undefined;
  /** PKCS #8 in PEM form, or a JWK as JSON. */
  readonly privateKey: string | undefined;
  readonly authMethod: string | undefined;
  readonly scope: string | undefined;
  readonly audience: string | undefined;
  /** `resource` of requests; undefined: the one that was discovered. */
  readonly resource: string | undefined;
  /** Some authorization servers refuse `resource`. */
  readonly sendsResource: boolean;
  readonly authorizationParams: Readonly<Record<string, string>>;
}

/** Parameters of an authorization request that settings cannot change. */
const reserved = new Set([
  "response_type",
  "response_mode",
  "client_id",
  "client_secret",
  "redirect_uri",
  "state",
  "scope",
  "resource",
  "code_challenge",
  "code_challenge_method",
  "request",
  "request_uri",
]);

function toScope(...values: readonly unknown[]): string | undefined {
  for (const value of values) {
    if (typeof value === "string" && value.trim() !== "") return value.trim();
    if (Array.isArray(value) && value.length > 0) return value.map(String).join(" ");
  }
  return undefined;
}

function readParams(value: unknown): Record<string, string> {
  const entries = Object.entries(isObject(value) ? value : {});
  return Object.fromEntries(
    entries.filter((entry): entry is [string, string] => typeof entry[1] === "string" && !reserved.has(entry[0])),
  );
}

/** The settings of a server, with their secrets. */
export async function readUpstreamSettings(server: McpServer): Promise<UpstreamSettings> {
  const configurations = await server.openConfigurations();
  const group = configurations[server.authType === "external" ? "external_auth_config" : "oauth_metadata"];
  const given = isObject(group) ? group : {};
  return {
    issuer: stringOf(given.issuer),
    authorizationEndpoint: stringOf(given.authorization_endpoint),
    tokenEndpoint: stringOf(given.token_endpoint),
    registrationEndpoint: stringOf(given.registration_endpoint),
    revocationEndpoint: stringOf(given.revocation_endpoint),
    clientId: stringOf(given.client_id),
    clientSecret: stringOf(given.client_secret),
    privateKey: stringOf(given.private_key),
    authMethod: stringOf(given.token_endpoint_auth_method),
    scope: toScope(given.scope, given.scopes),
    audience: stringOf(given.audience),
    resource: stringOf(given.resource),
    sendsResource: given.send_resource !== false && configurations.send_resource !== false,
    authorizationParams: readParams(given.authorization_params),
  };
}
