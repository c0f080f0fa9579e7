import * as v from "valibot";
import type { FetchDocument } from "../../../control/fetch-document.ts";
import type { OauthStore } from "../../../db/stores/oauth.ts";
import type { OauthClientRow } from "../../../db/tables/oauth.ts";
import { BoundedMap } from "../../../lib/bounded-map.ts";
import type { Clock } from "../../../lib/clock.ts";
import { randomBase62, sha256Hex } from "../../../lib/hash.ts";
import { firstPlainIssue } from "../../../lib/issues.ts";
import { isObject } from "../../../lib/json.ts";
import { dayMs } from "../../../lib/periods.ts";
import { ClientMetadata } from "../../../schemas/oauth.ts";
import type { OauthLimits } from "./limits.ts";

/** A client of the authorization server. */
export interface OauthClient {
  readonly id: string;
  readonly kind: "registered" | "dynamic" | "document";
  /** Null for clients of no tenant. */
  readonly organisationId: string | null;
  readonly workspaceId: string | null;
  readonly name: string;
  readonly redirectUris: readonly string[];
  readonly grantTypes: readonly string[];
  readonly authMethod: ClientAuthMethod;
  readonly secretDigest: string | null;
  readonly jwks: unknown;
  readonly jwksUri: string | null;
  readonly scope: string;
  /** Changes with what users consent to. */
  readonly digest: string;
}

type ClientAuthMethod = "none" | "client_secret_basic" | "client_secret_post" | "private_key_jwt";

/** What a client that registers itself gets. */
interface RegisteredClient {
  readonly client: OauthClient;
  /** Shown once. */
  readonly secret: string | undefined;
}

/** The clients of the authorization server. */
export interface OauthClients {
  /**
   * A client by its id. A metadata document is fetched if it is not at hand.
   *
   * @param address Who asks: documents are fetched from addresses that anyone names.
   * @throws {ClientProblem} If the metadata document of a client cannot be used.
   * @throws {RateLimitError} If too many documents were fetched for the address, or for all.
   */
  find(id: string, address: string): Promise<OauthClient | undefined>;
  register(metadata: ClientMetadata): Promise<RegisteredClient>;
  /** Stores a client that a user consented to, if it is one with a metadata document. */
  keep(id: string): Promise<void>;
  /** Notes that a client was used. */
  touch(client: OauthClient): Promise<void>;
}

/** A client cannot be used. The message says why. */
export class ClientProblem extends Error {
  override readonly name = "ClientProblem";
}

/** Options of the clients. */
interface OauthClientsOptions {
  readonly store: OauthStore;
  readonly fetchDocument: FetchDocument;
  readonly limits: Pick<OauthLimits, "requireDocument">;
  readonly digest: (text: string) => string | Promise<string>;
  readonly clock: Clock;
}

/** Limits of a metadata document. */
const bounds = { maxBytes: 64 * 1024, timeoutMs: 5_000 };
/** A document is fetched again after at least, and at most, this long. */
const freshMs = { min: 60_000, max: dayMs };
/** Most stored clients that no administrator created. */
const maxStored = 10_000;
/** Clients beyond it are removed at most this often. */
const trimEveryMs = 60_000;
/** Most documents in memory that nobody consented to. */
const maxDocuments = 500;
/** A stored document serves for this long beyond its end while no other can be fetched. */
const staleMs = dayMs;
/** A client's use is written at most this often. */
const touchEveryMs = 60 * 60_000;

/** A client id that is the address of a metadata document; undefined for others. */
function toDocumentUrl(id: string): URL | undefined {
  if (!/^https?:\/\//.test(id) || id.length > 2_048) return undefined;
  const url = URL.parse(id);
  const isPlain = url && url.href === id && url.hash === "" && url.username === "" && url.password === "";
  return isPlain && url.pathname !== "/" && !id.includes("#") ? url : undefined;
}

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}

/** A client as its row holds it. */
function toClient(row: OauthClientRow): OauthClient {
  return {
    id: row.id,
    kind: row.kind,
    organisationId: row.organisationId,
    workspaceId: row.workspaceId,
    name: row.name,
    redirectUris: strings(row.redirectUris),
    grantTypes: strings(row.grantTypes),
    authMethod: row.authMethod,
    secretDigest: row.secretDigest,
    jwks: row.jwks,
    jwksUri: row.jwksUri,
    scope: row.scope,
    digest: row.digest,
  };
}

/** Digest of what users see and consent to. */
export function digestOfClient(name: string, redirectUris: readonly string[]): Promise<string> {
  return sha256Hex(JSON.stringify([name, redirectUris]));
}

/** How long a document is fresh, by its headers (RFC 9111, section 5.2.2.1). */
function freshnessOf(headers: Headers): number {
  const [, seconds] = /(?:^|[\s,])max-age="?([0-9]{1,9})/i.exec(headers.get("cache-control") ?? "") ?? [];
  const given = seconds === undefined ? 60 * 60_000 : Number(seconds) * 1_000;
  return Math.min(Math.max(given, freshMs.min), freshMs.max);
}

/** The row of a client from what it says of itself. */
async function toRow(id: string, metadata: ClientMetadata, now: number): Promise<Omit<OauthClientRow, "kind">> {
  const { redirect_uris: redirectUris = [], client_name: name = "", grant_types: grantTypes } = metadata;
  const given = metadata.jwks;
  return {
    id,
    organisationId: null,
    workspaceId: null,
    name,
    redirectUris: [...redirectUris],
    grantTypes: grantTypes ? [...grantTypes] : ["authorization_code", "refresh_token"],
    authMethod: metadata.token_endpoint_auth_method ?? "none",
    secretDigest: null,
    masked: null,
    jwks: given ?? null,
    jwksUri: metadata.jwks_uri ?? null,
    scope: metadata.scope ?? "",
    applicationType: metadata.application_type ?? "native",
    digest: await digestOfClient(name, redirectUris),
    freshUntil: null,
    lastUsedAt: now,
    createdBy: null,
    createdAt: now,
  };
}

class StoredClients implements OauthClients {
  readonly #options: OauthClientsOptions;
  /** Addresses whose documents could not be used, with the reason, for a minute. */
  readonly #failed = new BoundedMap<string, { problem: ClientProblem; at: number }>(1_000);
  readonly #fetching = new Map<string, Promise<OauthClient>>();
  /** Documents that were fetched: they are stored when a user consents. */
  readonly #documents = new BoundedMap<string, OauthClientRow>(maxDocuments);
  #trimmedAt = Number.NEGATIVE_INFINITY;
  readonly #touched = new BoundedMap<string, number>(10_000);

  constructor(options: OauthClientsOptions) {
    this.#options = options;
  }

  async find(id: string, address: string): Promise<OauthClient | undefined> {
    const { store, clock } = this.#options;
    const url = toDocumentUrl(id);
    if (!url && !/^[A-Za-z0-9_-]{1,128}$/.test(id)) return undefined;
    const stored = await store.findClient(id);
    if (!url) return stored && toClient(stored);
    const isFresh = (row: OauthClientRow | undefined) => row?.freshUntil != null && row.freshUntil > clock.now();
    const known = [this.#documents.get(id), stored].find(isFresh);
    return known ? toClient(known) : this.#fetchLimited(id, stored, address);
  }

  /** Fetches a document, within the limits; beyond them one that was stored serves for a while. */
  #fetchLimited(id: string, stored: OauthClientRow | undefined, address: string): Promise<OauthClient> {
    const { limits, clock } = this.#options;
    const failed = this.#failed.get(id);
    if (failed && clock.monotonic() - failed.at < freshMs.min) return Promise.reject(failed.problem);
    const running = this.#fetching.get(id);
    if (running) return running;
    try {
      limits.requireDocument(address);
    } catch (error) {
      const isUsable = stored?.freshUntil != null && stored.freshUntil + staleMs > clock.now();
      return stored && isUsable ? Promise.resolve(toClient(stored)) : Promise.reject(error);
    }
    return this.#fetch(id, stored);
  }

  async register(metadata: ClientMetadata): Promise<RegisteredClient> {
    const { store, clock, digest } = this.#options;
    const id = `mcp_${randomBase62(32)}`;
    const row = await toRow(id, metadata, clock.now());
    const hasSecret = row.authMethod.startsWith("client_secret");
    const secret = hasSecret ? randomBase62(48) : undefined;
    const stored = {
      ...row,
      kind: "dynamic" as const,
      ...(secret !== undefined && { secretDigest: await digest(secret) }),
    };
    await store.putClient(stored);
    await this.#trim();
    return { client: toClient(stored), secret };
  }

  async touch({ id }: OauthClient): Promise<void> {
    const { store, clock } = this.#options;
    const now = clock.now();
    if (now - (this.#touched.get(id) ?? 0) < touchEveryMs) return;
    this.#touched.set(id, now);
    await store.touchClient(id, now);
  }

  async keep(id: string): Promise<void> {
    const row = this.#documents.get(id);
    if (!row) return;
    await this.#options.store.putClient(row);
    this.#documents.delete(id);
    await this.#trim();
  }

  async #trim(): Promise<void> {
    const { store, clock } = this.#options;
    const now = clock.monotonic();
    if (now - this.#trimmedAt < trimEveryMs) return;
    this.#trimmedAt = now;
    await store.trimClients(maxStored, clock.now());
  }

  /** Reads a document; callers share one fetch. */
  #fetch(id: string, row: OauthClientRow | undefined): Promise<OauthClient> {
    const fetching = this.#read(id, row).finally(() => this.#fetching.delete(id));
    this.#fetching.set(id, fetching);
    return fetching;
  }

  async #read(id: string, row: OauthClientRow | undefined): Promise<OauthClient> {
    const { store, clock, fetchDocument } = this.#options;
    try {
      const { document, headers } = await fetchDocument(id, bounds);
      const metadata = readDocument(id, document);
      const now = clock.now();
      const fresh = {
        ...(await toRow(id, metadata, now)),
        kind: "document" as const,
        freshUntil: now + freshnessOf(headers),
      };
      const read = row ? { ...fresh, createdAt: row.createdAt, lastUsedAt: row.lastUsedAt } : fresh;
      if (row) await store.putClient(read);
      else this.#documents.set(id, read);
      return toClient(read);
    } catch (cause) {
      const reason = cause instanceof ClientProblem ? cause.message : "it cannot be read";
      const problem = new ClientProblem(`Cannot use the client's metadata document: ${reason}`, { cause });
      this.#failed.set(id, { problem, at: clock.monotonic() });
      throw problem;
    }
  }
}

/** What a document says of its client. @throws {ClientProblem} */
function readDocument(id: string, document: unknown): ClientMetadata {
  if (!isObject(document) || document.client_id !== id) throw new ClientProblem("its client_id is not its address");
  const { success, output, issues } = v.safeParse(ClientMetadata, document, firstPlainIssue);
  if (!success) throw new ClientProblem(`${v.getDotPath(issues[0]) ?? "it"} ${issues[0].message}`);
  if (!output.client_name || !output.redirect_uris?.length) {
    throw new ClientProblem("it needs client_name and redirect_uris");
  }
  const method = output.token_endpoint_auth_method ?? "none";
  if (method !== "none" && method !== "private_key_jwt") throw new ClientProblem("it must not name a shared secret");
  return output;
}

/** Creates the clients of an installation. */
export function createOauthClients(options: OauthClientsOptions): OauthClients {
  return new StoredClients(options);
}
