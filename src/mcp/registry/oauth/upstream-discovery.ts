import type { AddressGuard } from "../../../lib/address.ts";
import { BoundedMap } from "../../../lib/bounded-map.ts";
import type { Clock } from "../../../lib/clock.ts";
import { isObject, parseJson, stringOf } from "../../../lib/json.ts";
import type { McpServer } from "../mcp-server.ts";
import { type Challenge, readChallenge } from "./challenges.ts";
import { type GuardedFetch, requireSecure } from "./guarded-fetch.ts";
import type { UpstreamSettings } from "./upstream-settings.ts";

/** The authorization server of an upstream, and what it protects. */
export interface UpstreamAuthorization {
  readonly issuer: string;
  readonly authorizationEndpoint: string | undefined;
  readonly tokenEndpoint: string;
  readonly registrationEndpoint: string | undefined;
  readonly revocationEndpoint: string | undefined;
  readonly authMethods: readonly string[];
  readonly takesDocuments: boolean;
  /** It says that its answers name the issuer (RFC 9207). */
  readonly namesIssuer: boolean;
  /** `resource` of requests; undefined where the upstream has no metadata. */
  readonly resource: string | undefined;
  /** Scopes to ask for, unless settings name others. */
  readonly scope: string | undefined;
}

/** The authorization server of an upstream cannot be used. The message says why. */
export class DiscoveryError extends Error {
  override readonly name = "DiscoveryError";
}

type Document = Readonly<Record<string, unknown>>;

/** Documents are read again after this long. */
const freshMs = 10 * 60_000;

/** Options of the discovery. */
interface DiscoveryOptions {
  readonly fetch: GuardedFetch;
  readonly guard: AddressGuard;
  readonly clock: Clock;
}

/** Finds the authorization server of an upstream. */
export interface UpstreamDiscovery {
  /**
   * @param isFresh Documents are read again: they may name another authorization server by now.
   * @throws {DiscoveryError}
   */
  find(server: McpServer, settings: UpstreamSettings, isFresh?: boolean): Promise<UpstreamAuthorization>;
}

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}

/** An address below `/.well-known/` with the path of another one behind it. */
function wellKnown(name: string, address: URL): string {
  const path = address.pathname.replace(/\/+$/, "");
  return `${address.origin}/.well-known/${name}${path}`;
}

/** Whether a resource is a server's address, or covers it: the beginning of its path, at a slash. */
function covers(resource: string, url: string): boolean {
  const [outer, inner] = [URL.parse(resource), URL.parse(url)];
  if (!outer || !inner || outer.origin !== inner.origin || outer.search !== "" || outer.hash !== "") return false;
  const path = outer.pathname.replace(/\/+$/, "");
  return inner.pathname === path || inner.pathname.startsWith(`${path}/`);
}

class CachedDiscovery implements UpstreamDiscovery {
  readonly #options: DiscoveryOptions;
  readonly #known = new BoundedMap<string, { value: Promise<UpstreamAuthorization>; at: number }>(1_000);

  constructor(options: DiscoveryOptions) {
    this.#options = options;
  }

  find(server: McpServer, settings: UpstreamSettings, isFresh = false): Promise<UpstreamAuthorization> {
    const { clientSecret: _secret, privateKey: _key, ...plain } = settings;
    const key = JSON.stringify([server.organisationId, server.integrationId, server.url, plain]);
    const now = this.#options.clock.monotonic();
    const known = this.#known.get(key);
    if (known && !isFresh && now - known.at < freshMs) return known.value;
    const entry = { value: this.#discover(server, settings), at: now };
    this.#known.set(key, entry);
    entry.value.catch(() => {
      if (this.#known.peek(key) === entry) this.#known.delete(key);
    });
    return entry.value;
  }

  async #discover(server: McpServer, settings: UpstreamSettings): Promise<UpstreamAuthorization> {
    const found = await this.#findServer(server, settings);
    const merged = {
      ...found,
      authorizationEndpoint: settings.authorizationEndpoint ?? found.authorizationEndpoint,
      tokenEndpoint: settings.tokenEndpoint ?? found.tokenEndpoint,
      registrationEndpoint: settings.registrationEndpoint ?? found.registrationEndpoint,
      revocationEndpoint: settings.revocationEndpoint ?? found.revocationEndpoint,
    };
    const addresses = [merged.authorizationEndpoint, merged.tokenEndpoint, merged.registrationEndpoint];
    for (const address of [...addresses, merged.revocationEndpoint]) {
      if (address !== undefined) this.#requireSecure(address);
    }
    return merged;
  }

  #requireSecure(address: string): void {
    try {
      requireSecure(address, this.#options.guard);
    } catch (cause) {
      throw new DiscoveryError("an address of its authorization server is not allowed", { cause });
    }
  }

  async #findServer(server: McpServer, settings: UpstreamSettings): Promise<UpstreamAuthorization> {
    const { issuer, tokenEndpoint } = settings;
    const isGiven =
      tokenEndpoint !== undefined && (issuer !== undefined || settings.authorizationEndpoint !== undefined);
    if (isGiven || (server.authType === "oauth_client_credentials" && tokenEndpoint !== undefined)) {
      return toAuthorization({ issuer: issuer ?? new URL(tokenEndpoint).origin, token_endpoint: tokenEndpoint });
    }
    if (issuer !== undefined) return toAuthorization(await this.#readServer(issuer));
    const challenge = server.authType === "external" ? undefined : await this.#probe(server);
    const resource = await this.#findResource(server, challenge);
    if (!resource) return this.#findOldServer(server);
    const [named] = strings(resource.authorization_servers);
    if (named === undefined) throw new DiscoveryError("its metadata names no authorization server");
    const scope = challenge?.scope ?? (strings(resource.scopes_supported).join(" ") || undefined);
    return { ...toAuthorization(await this.#readServer(named)), resource: stringOf(resource.resource), scope };
  }

  /** What the upstream answers to who has no credential. */
  async #probe({ url }: McpServer): Promise<Challenge | undefined> {
    const message = { jsonrpc: "2.0", id: 1, method: "ping" };
    try {
      const response = await this.#options.fetch(url, {
        method: "POST",
        headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
        body: JSON.stringify(message),
      });
      return response.status === 401 ? readChallenge(response.headers.get("www-authenticate")) : undefined;
    } catch (cause) {
      throw new DiscoveryError("it cannot be reached", { cause });
    }
  }

  /** The metadata of a server (RFC 9728), by the challenge or where it must stand; undefined where it has none. */
  async #findResource({ url }: McpServer, challenge: Challenge | undefined): Promise<Document | undefined> {
    const address = new URL(url);
    const name = "oauth-protected-resource";
    const root = `${address.origin}/.well-known/${name}`;
    const places = challenge?.metadata === undefined ? [wellKnown(name, address), root] : [challenge.metadata];
    for (const place of new Set(places)) {
      const document = await this.#read(place);
      if (!document) continue;
      // a server could otherwise let tokens be made for another one
      if (covers(stringOf(document.resource) ?? "", url)) return document;
      throw new DiscoveryError("its metadata is for another address");
    }
    if (challenge?.metadata !== undefined) throw new DiscoveryError("its metadata cannot be read");
    return undefined;
  }

  /** The metadata of an issuer, at the first of its three places that has any. */
  async #readServer(issuer: string): Promise<Document> {
    const url = URL.parse(issuer);
    if (url?.search !== "" || url.hash !== "") throw new DiscoveryError("its issuer is not an address");
    const path = url.pathname.replace(/\/+$/, "");
    const places = [
      wellKnown("oauth-authorization-server", url),
      wellKnown("openid-configuration", url),
      `${url.origin}${path}/.well-known/openid-configuration`,
    ];
    for (const place of new Set(places)) {
      const document = await this.#read(place);
      if (document) return requireServer(document, issuer);
    }
    throw new DiscoveryError("the metadata of its authorization server cannot be read");
  }

  /** The authorization server of the revision 2025-03-26: at the origin of the upstream, with or without metadata. */
  async #findOldServer({ url }: McpServer): Promise<UpstreamAuthorization> {
    const { origin } = new URL(url);
    const document = await this.#read(`${origin}/.well-known/oauth-authorization-server`);
    if (document) return toAuthorization(requireServer(document, stringOf(document.issuer) ?? origin));
    return toAuthorization({
      issuer: origin,
      authorization_endpoint: `${origin}/authorize`,
      token_endpoint: `${origin}/token`,
      registration_endpoint: `${origin}/register`,
    });
  }

  /** A JSON object; undefined where there is no such document. */
  async #read(address: string): Promise<Document | undefined> {
    try {
      const response = await this.#options.fetch(address, { headers: { accept: "application/json" } });
      if (response.status !== 200) return undefined;
      const document = parseJson(await response.text());
      return isObject(document) ? document : undefined;
    } catch (cause) {
      throw new DiscoveryError("a document of its authorization server cannot be read", { cause });
    }
  }
}

/** Checks the metadata of an authorization server (RFC 8414, section 3.3). */
function requireServer(document: Document, issuer: string): Document {
  if (document.issuer !== issuer)
    throw new DiscoveryError("the metadata of its authorization server has another issuer");
  if (document.authorization_endpoint === undefined) return document;
  if (strings(document.code_challenge_methods_supported).includes("S256")) return document;
  throw new DiscoveryError("its authorization server does not support PKCE with S256");
}

function toAuthorization(document: Document): UpstreamAuthorization {
  const tokenEndpoint = stringOf(document.token_endpoint);
  if (tokenEndpoint === undefined) throw new DiscoveryError("its authorization server has no token endpoint");
  return {
    issuer: String(document.issuer),
    authorizationEndpoint: stringOf(document.authorization_endpoint),
    tokenEndpoint,
    registrationEndpoint: stringOf(document.registration_endpoint),
    revocationEndpoint: stringOf(document.revocation_endpoint),
    authMethods: strings(document.token_endpoint_auth_methods_supported),
    takesDocuments: document.client_id_metadata_document_supported === true,
    namesIssuer: document.authorization_response_iss_parameter_supported === true,
    resource: undefined,
    scope: undefined,
  };
}

/** Creates the discovery of a gateway. */
export function createUpstreamDiscovery(options: DiscoveryOptions): UpstreamDiscovery {
  return new CachedDiscovery(options);
}
