import { importJWK, importPKCS8 } from "jose";
import * as oauth from "oauth4webapi";
import type { Vault } from "../../../control/vault.ts";
import type { Statement } from "../../../db/client.ts";
import { isConflict } from "../../../db/client.ts";
import type { ControlStores } from "../../../db/stores/control.ts";
import type { McpRegistrationRow } from "../../../db/tables/oauth.ts";
import type { Clock } from "../../../lib/clock.ts";
import { sha256Hex } from "../../../lib/hash.ts";
import { isObject, parseJson } from "../../../lib/json.ts";
import { formEncode } from "../../../providers/core/oauth-client.ts";
import type { McpServer } from "../mcp-server.ts";
import type { GuardedFetch } from "./guarded-fetch.ts";
import { DiscoveryError, type UpstreamAuthorization } from "./upstream-discovery.ts";
import type { UpstreamSettings } from "./upstream-settings.ts";

/** The gateway as a client of an authorization server. */
export interface UpstreamClient {
  readonly id: string;
  /** Undefined for a public client, and for one with a private key. */
  readonly secret: string | undefined;
  readonly method: string;
}

/** The gateway as its metadata document describes it. */
interface GatewayClient {
  /** Address of the document. */
  readonly id: string;
  readonly name: string;
  readonly redirectUri: string;
}

/** Tokens of an authorization server. */
export interface UpstreamTokens {
  readonly accessToken: string;
  readonly refreshToken: string | undefined;
  readonly scope: string | undefined;
  /** Unix milliseconds; undefined if unknown. */
  readonly expiresAt: number | undefined;
}

/** An authorization server says that a grant is over: the user has to connect again. */
export class GrantEndedError extends Error {
  override readonly name = "GrantEndedError";
}

/** Kind of the rows in `secrets` with secrets of registrations. */
const secretKind = "mcp_registrations";

/** Options of the client role. */
interface UpstreamClientsOptions {
  readonly stores: Pick<ControlStores, "mcpRegistrations" | "secrets">;
  readonly vault: Vault;
  readonly write: (statements: readonly Statement[]) => Promise<void>;
  readonly fetch: GuardedFetch;
  readonly clock: Clock;
}

/** Where tokens are asked for, and by whom. */
interface TokenPlace {
  readonly tokenEndpoint: string;
  readonly issuer: string;
  readonly client: UpstreamClient;
  readonly settings: UpstreamSettings;
  /** `resource` of the request; undefined to send none. */
  readonly resource: string | undefined;
}

/** The gateway as a client of authorization servers of upstream MCP servers. */
export interface UpstreamClients {
  /**
   * The client for an authorization server: the configured one, else by the metadata document, else registered.
   *
   * @throws {DiscoveryError} If there is no way to become its client.
   */
  identify(
    server: McpServer,
    parts: { settings: UpstreamSettings; authorization: UpstreamAuthorization; gateway: GatewayClient },
  ): Promise<UpstreamClient>;
  /** Exchanges a code. @param answer Parameters of the address the browser came back to. */
  exchange(
    place: TokenPlace,
    code: { answer: URLSearchParams; verifier: string; redirectUri: string; namesIssuer: boolean },
  ): Promise<UpstreamTokens>;
  /** @throws {GrantEndedError} If the refresh token is not valid any more. */
  refresh(place: TokenPlace, refreshToken: string): Promise<UpstreamTokens>;
  /** A token for the gateway itself. */
  clientCredentials(place: TokenPlace): Promise<UpstreamTokens>;
  /** Asks that a token be revoked; failures are the authorization server's. */
  revoke(place: Omit<TokenPlace, "resource">, endpoint: string, token: string): Promise<void>;
}

async function importPrivateKey(text: string): Promise<oauth.PrivateKey> {
  const jwk = text.trimStart().startsWith("{") ? parseJson(text) : undefined;
  if (isObject(jwk)) {
    const key = (await importJWK(jwk, String(jwk.alg ?? "RS256"))) as CryptoKey; // only symmetric keys import as bytes
    return { key, ...(typeof jwk.kid === "string" && { kid: jwk.kid }) };
  }
  return { key: await importPKCS8(text, "RS256").catch(() => importPKCS8(text, "ES256")) };
}

/**
 * Authenticates by a header (RFC 6749, section 2.3.1). The library escapes more letters than forms do, such as hyphens, and
 * many servers do not decode what they need not.
 */
function basicAuth(secret: string): oauth.ClientAuth {
  return (_server, client, _body, headers) => {
    headers.set("authorization", `Basic ${btoa(`${formEncode(client.client_id)}:${formEncode(secret)}`)}`);
  };
}

/** How a client authenticates. */
async function clientAuth({ client, settings }: Pick<TokenPlace, "client" | "settings">): Promise<oauth.ClientAuth> {
  if (client.method === "private_key_jwt" && settings.privateKey !== undefined) {
    return oauth.PrivateKeyJwt(await importPrivateKey(settings.privateKey));
  }
  const secret = settings.clientId === client.id ? (settings.clientSecret ?? client.secret) : client.secret;
  if (secret === undefined || client.method === "none") return oauth.None();
  return client.method === "client_secret_post" ? oauth.ClientSecretPost(secret) : basicAuth(secret);
}

/** How a client with a secret sends it, where nothing says so. */
function secretMethod(methods: readonly string[]): string {
  return methods.includes("client_secret_basic") || !methods.includes("client_secret_post")
    ? "client_secret_basic"
    : "client_secret_post";
}

function toTokens(answer: oauth.TokenEndpointResponse, now: number): UpstreamTokens {
  const { access_token: accessToken, refresh_token: refreshToken, scope, expires_in: seconds } = answer;
  return {
    accessToken,
    refreshToken,
    scope,
    expiresAt: seconds === undefined ? undefined : now + seconds * 1_000,
  };
}

class GatewayAsClient implements UpstreamClients {
  readonly #options: UpstreamClientsOptions;
  readonly #registering = new Map<string, Promise<UpstreamClient>>();

  constructor(options: UpstreamClientsOptions) {
    this.#options = options;
  }

  async identify(
    server: McpServer,
    parts: { settings: UpstreamSettings; authorization: UpstreamAuthorization; gateway: GatewayClient },
  ): Promise<UpstreamClient> {
    const { settings, authorization, gateway } = parts;
    const { clientId, clientSecret, privateKey, authMethod } = settings;
    if (clientId !== undefined) {
      const proven = clientSecret === undefined ? "none" : secretMethod(authorization.authMethods);
      return {
        id: clientId,
        secret: undefined,
        method: authMethod ?? (privateKey === undefined ? proven : "private_key_jwt"),
      };
    }
    // others can read the document only at an address that all can reach
    const isPublic = gateway.id.startsWith("https://") || new URL(authorization.issuer).protocol === "http:";
    if (authorization.takesDocuments && isPublic) return { id: gateway.id, secret: undefined, method: "none" };
    if (authorization.registrationEndpoint === undefined) {
      throw new DiscoveryError("its authorization server registers no clients: set oauth_metadata.client_id");
    }
    return this.#registered(server, authorization, gateway);
  }

  async exchange(
    place: TokenPlace,
    code: { answer: URLSearchParams; verifier: string; redirectUri: string; namesIssuer: boolean },
  ): Promise<UpstreamTokens> {
    const server = { ...this.#server(place), authorization_response_iss_parameter_supported: code.namesIssuer };
    const client = { client_id: place.client.id };
    const answer = oauth.validateAuthResponse(server, client, code.answer, oauth.skipStateCheck);
    const auth = await clientAuth(place);
    const options = this.#callOptions(place);
    const { redirectUri, verifier } = code;
    const sent = oauth.authorizationCodeGrantRequest(server, client, auth, answer, redirectUri, verifier, options);
    return toTokens(
      await oauth.processAuthorizationCodeResponse(server, client, await sent),
      this.#options.clock.now(),
    );
  }

  async refresh(place: TokenPlace, refreshToken: string): Promise<UpstreamTokens> {
    const server = this.#server(place);
    const client = { client_id: place.client.id };
    const auth = await clientAuth(place);
    const response = await oauth.refreshTokenGrantRequest(server, client, auth, refreshToken, this.#callOptions(place));
    try {
      const answer = await oauth.processRefreshTokenResponse(server, client, response);
      return toTokens(answer, this.#options.clock.now());
    } catch (cause) {
      const isEnded = cause instanceof oauth.ResponseBodyError && cause.error === "invalid_grant";
      throw isEnded ? new GrantEndedError("The grant is over", { cause }) : cause;
    }
  }

  async clientCredentials(place: TokenPlace): Promise<UpstreamTokens> {
    const { settings } = place;
    const server = this.#server(place);
    const client = { client_id: place.client.id };
    const parameters = new URLSearchParams();
    if (settings.scope !== undefined) parameters.set("scope", settings.scope);
    if (settings.audience !== undefined) parameters.set("audience", settings.audience);
    if (place.resource !== undefined) parameters.set("resource", place.resource);
    const { additionalParameters: _, ...options } = this.#callOptions(place);
    const auth = await clientAuth(place);
    const response = await oauth.clientCredentialsGrantRequest(server, client, auth, parameters, options);
    return toTokens(await oauth.processClientCredentialsResponse(server, client, response), this.#options.clock.now());
  }

  async revoke(place: Omit<TokenPlace, "resource">, endpoint: string, token: string): Promise<void> {
    const server = { ...this.#server(place), revocation_endpoint: endpoint };
    const { additionalParameters: _, ...options } = this.#callOptions({ ...place, resource: undefined });
    const auth = await clientAuth(place);
    const response = await oauth.revocationRequest(server, { client_id: place.client.id }, auth, token, options);
    await oauth.processRevocationResponse(response);
  }

  #server({ issuer, tokenEndpoint }: Pick<TokenPlace, "issuer" | "tokenEndpoint">): oauth.AuthorizationServer {
    return { issuer, token_endpoint: tokenEndpoint };
  }

  /** The fetch refuses plain HTTP to untrusted hosts by itself. */
  #callOptions({ resource }: Pick<TokenPlace, "resource">) {
    return {
      [oauth.customFetch]: this.#options.fetch,
      [oauth.allowInsecureRequests]: true,
      additionalParameters: new URLSearchParams(resource === undefined ? {} : { resource }),
    } as const;
  }

  /** The registration at an issuer: a new issuer means a new one. */
  async #registered(server: McpServer, authorization: UpstreamAuthorization, gateway: GatewayClient) {
    const { organisationId, integrationId } = server;
    const id = await sha256Hex(
      JSON.stringify([organisationId, integrationId, authorization.issuer, gateway.redirectUri]),
    );
    const known = await this.#read(id, organisationId);
    if (known) return known;
    const running = this.#registering.get(id);
    if (running) return running;
    const registering = this.#register(id, server, { authorization, gateway }).finally(() =>
      this.#registering.delete(id),
    );
    this.#registering.set(id, registering);
    return registering;
  }

  /** Registers (RFC 7591, section 3). The library refuses answers without members that many servers leave out. */
  async #post(endpoint: string, metadata: object): Promise<Readonly<Record<string, unknown>>> {
    const headers = { "content-type": "application/json", accept: "application/json" };
    const response = await this.#options.fetch(endpoint, { method: "POST", headers, body: JSON.stringify(metadata) });
    const given = response.status === 200 || response.status === 201 ? parseJson(await response.text()) : undefined;
    if (isObject(given) && typeof given.client_id === "string" && given.client_id !== "") return given;
    throw new DiscoveryError("its authorization server does not register the gateway");
  }

  async #read(id: string, organisationId: string): Promise<UpstreamClient | undefined> {
    const { stores, vault, clock } = this.#options;
    const tenant = { organisationId, workspaceId: null };
    const row = await stores.mcpRegistrations.find(tenant, { id });
    if (!row || (row.expiresAt !== null && row.expiresAt <= clock.now())) return undefined;
    const secret = await stores.secrets.find(tenant, { kind: secretKind, recordId: id, field: "secret" });
    return { id: row.clientId, secret: secret && (await vault.open(secret)), method: row.authMethod };
  }

  async #register(
    id: string,
    { organisationId, integrationId }: McpServer,
    { authorization, gateway }: { authorization: UpstreamAuthorization; gateway: GatewayClient },
  ): Promise<UpstreamClient> {
    const { clock, stores, vault, write } = this.#options;
    const methods = authorization.authMethods;
    const isPublic = methods.length === 0 || methods.includes("none");
    const metadata = {
      client_name: gateway.name,
      redirect_uris: [gateway.redirectUri],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      // only those may return to a machine of the user
      application_type: gateway.redirectUri.startsWith("https:") ? "web" : "native",
      token_endpoint_auth_method: isPublic ? "none" : secretMethod(methods),
    };
    const given = await this.#post(authorization.registrationEndpoint ?? "", metadata);
    const secret = typeof given.client_secret === "string" ? given.client_secret : undefined;
    const wanted = secret === undefined ? "none" : secretMethod(methods);
    const ends = Number(given.client_secret_expires_at ?? 0);
    const now = clock.now();
    const row: McpRegistrationRow = {
      id,
      organisationId,
      integrationId,
      issuer: authorization.issuer,
      clientId: String(given.client_id),
      authMethod: String(given.token_endpoint_auth_method ?? wanted),
      expiresAt: ends > 0 ? ends * 1_000 : null,
      createdAt: now,
    };
    const tenant = { organisationId, workspaceId: null };
    const place = { ...tenant, kind: secretKind, recordId: id, field: "secret" };
    const sealed = secret === undefined ? [] : [stores.secrets.put(tenant, await vault.seal(place, secret, now))];
    const former = await stores.mcpRegistrations.find(tenant, { id });
    const isOver = former !== undefined && former.expiresAt !== null && former.expiresAt <= now;
    const old = isOver ? [stores.mcpRegistrations.remove(tenant, { id, expiresAt: former.expiresAt })] : [];
    try {
      await write([...old, stores.mcpRegistrations.insert(tenant, row), ...sealed]);
    } catch (error) {
      if (!isConflict(error)) throw error;
      // another process was first: both use its registration
      const first = await this.#read(id, organisationId);
      if (first) return first;
      throw error;
    }
    return { id: row.clientId, secret, method: row.authMethod };
  }
}

/** Creates the client role of a gateway. */
export function createUpstreamClients(options: UpstreamClientsOptions): UpstreamClients {
  return new GatewayAsClient(options);
}
