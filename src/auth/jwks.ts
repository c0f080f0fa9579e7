import { importJWK, type JWK } from "jose";
import { AuthenticationError, UnavailableError } from "../errors.ts";
import { BoundedMap } from "../lib/bounded-map.ts";
import type { Clock } from "../lib/clock.ts";
import { isObject, stringOf } from "../lib/json.ts";
import { isSharedKeySource, type TokenAlgorithm } from "../schemas/auth-settings.ts";

/** A key set is fetched again after this long. */
const freshMs = 10 * 60_000;
/** A background refresh starts after this long, so that no caller waits for it. */
const refreshAfterMs = 8 * 60_000;
/** Cached keys keep working for this long while their source is unavailable. */
const keptMs = 24 * 3_600_000;
/** Least time between two fetches of one address. */
const retryMs = 30_000;
/** Limits of one fetch. */
const fetchBounds = { maxBytes: 256 * 1024, timeoutMs: 5_000 };
const maxKeys = 100;
const minRsaBits = 2_048;
const maxRsaBits = 8_192;
/** Most addresses whose keys are cached. */
const maxSources = 1_000;

/** Fetches a JSON document from an address that an organisation chose. */
export type FetchJson = (url: string, bounds: { maxBytes: number; timeoutMs: number }) => Promise<unknown>;

/** Sources of an organisation's keys. */
export interface KeySource {
  organisationId: string;
  urls: readonly string[];
  /** A key set in the settings themselves. */
  inline: unknown;
}

/** A public key for verifying signatures. */
export interface VerificationKey {
  /** Key type with its curve: `RSA`, `P-256`, `P-384`, `P-521` or `Ed25519`. */
  readonly form: string;
  /** The algorithm that the key itself specifies. */
  readonly alg: string | undefined;
  /** The key for an algorithm that fits its type. */
  import(algorithm: TokenAlgorithm): Promise<CryptoKey>;
}

/** Key sets of organisations. */
export interface KeySets {
  /**
   * The key that a token names.
   *
   * @throws {AuthenticationError} If there is no such key, or it must not be used.
   * @throws {UnavailableError} If the key is not cached and a source cannot be fetched.
   */
  find(source: KeySource, kid: string): Promise<VerificationKey>;
}

/** A key of a set, or why the key with that id must not be used. */
type Entry = { key: VerificationKey; identity: string } | { problem: string };
/** Keys of one set by id; a string if the set is rejected as a whole. */
type KeySet = ReadonlyMap<string, Entry> | string;

/** Fields of private and symmetric keys (RFC 7518, section 6). */
const secretMembers = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

function refuseToken(reason: string): never {
  throw new AuthenticationError(`JWT verification failed: ${reason}`, { code: "invalid_token" });
}

/** Length of a base64url number in bits. */
function bitsOf(text: unknown): number {
  if (typeof text !== "string") return 0;
  return Math.floor((text.replace(/^A+/, "").length * 6) / 8) * 8;
}

/** Why a key must not verify signatures; undefined when it may. */
function findProblem(jwk: Record<string, unknown>): string | undefined {
  const { kty, crv, use, key_ops: operations } = jwk;
  if (use !== undefined && use !== "sig") return "its key is not for signatures";
  if (Array.isArray(operations) && !operations.includes("verify")) return "its key is not for verifying";
  const bits = bitsOf(jwk.n);
  if (kty === "RSA" && (bits < minRsaBits || bits > maxRsaBits)) return "its RSA key is too short or too long";
  if (kty === "EC" && !["P-256", "P-384", "P-521"].includes(String(crv))) return "its key has an unsupported curve";
  if (kty === "OKP" && crv !== "Ed25519") return "its key has an unsupported curve";
  return kty === "RSA" || kty === "EC" || kty === "OKP" ? undefined : "its key has an unsupported type";
}

function toEntry(jwk: Record<string, unknown>): Entry {
  const problem = findProblem(jwk);
  if (problem !== undefined) return { problem };
  const alg = stringOf(jwk.alg);
  const { kty, crv, n, e, x, y } = jwk;
  const imported = new Map<string, Promise<CryptoKey>>();
  const importOnce = (algorithm: TokenAlgorithm): Promise<CryptoKey> => {
    const known = imported.get(algorithm);
    if (known) return known;
    // only the fields that define the key; the others have no effect here
    const plain = Object.fromEntries(
      Object.entries({ kty, crv, n, e, x, y }).filter(([, value]) => value !== undefined),
    );
    const key = importJWK(plain as JWK, algorithm) as Promise<CryptoKey>; // only symmetric keys import as bytes, and those are rejected
    imported.set(algorithm, key);
    return key;
  };
  return {
    key: { form: kty === "RSA" ? "RSA" : String(crv), alg, import: importOnce },
    identity: JSON.stringify([kty, crv, n, e, x, y, alg]),
  };
}

/** Merges two keys with one id: equal keys count as one, different ones make the id unusable. */
function merge(known: Entry | undefined, entry: Entry): Entry {
  if (!known || "problem" in entry) return entry;
  if ("problem" in known) return known;
  return known.identity === entry.identity ? known : { problem: "its key id names different keys" };
}

/**
 * Reads a key set (RFC 7517, section 5).
 *
 * @returns Its keys; undefined when the document is not a key set.
 */
export function readKeySet(document: unknown): KeySet | undefined {
  const keys = isObject(document) ? document.keys : undefined;
  if (!Array.isArray(keys) || keys.length > maxKeys || !keys.every(isObject)) return undefined;
  if (keys.some((jwk) => jwk.kty === "oct" || secretMembers.some((name) => jwk[name] !== undefined))) {
    return "the key set has private or symmetric keys";
  }
  const entries = new Map<string, Entry>();
  for (const jwk of keys) {
    const { kid } = jwk;
    if (typeof kid === "string" && kid !== "") entries.set(kid, merge(entries.get(kid), toEntry(jwk)));
  }
  return entries;
}

/** Ends of the addresses of discovery documents (OpenID Connect Discovery 1.0, section 4; RFC 8414, section 3.1). */
const discoveryPath = /\/\.well-known\/(?:openid-configuration|oauth-authorization-server)(?=\/|$)/;

/**
 * The address of the key set in a discovery document, which must be that of the issuer it names. A key set of several customers is
 * not reached by the document of another host.
 */
function keySetAddressIn(url: string, document: unknown): string | undefined {
  if (!isObject(document)) return undefined;
  const { issuer, jwks_uri: address } = document;
  if (typeof issuer !== "string" || typeof address !== "string" || !discoveryPath.test(url)) return undefined;
  const isOwn = url.replace(discoveryPath, "").replace(/\/$/, "") === issuer.replace(/\/$/, "");
  return isOwn && (!isSharedKeySource(address) || isSharedKeySource(url)) ? address : undefined;
}

/** The key set at one address. */
interface Source {
  set: KeySet | undefined;
  /** Milliseconds of the monotonic clock. */
  readAt: number;
  triedAt: number;
  running: Promise<void> | undefined;
}

/** The entry of a key in some sets. */
function pick(sets: readonly (KeySet | undefined)[], kid: string): Entry | undefined {
  let found: Entry | undefined;
  for (const set of sets) {
    const entry = set instanceof Map ? set.get(kid) : undefined;
    if (entry) found = merge(found, entry);
  }
  return found;
}

/** Fetches key sets from their addresses, and caches them. */
class CachedKeySets implements KeySets {
  readonly #clock: Clock;
  readonly #fetchJson: FetchJson;
  readonly #sources = new BoundedMap<string, Source>(maxSources);
  readonly #inlineSets = new WeakMap<object, KeySet | undefined>();

  constructor({ clock, fetchJson }: { clock: Clock; fetchJson: FetchJson }) {
    this.#clock = clock;
    this.#fetchJson = fetchJson;
  }

  async find({ organisationId, urls, inline }: KeySource, kid: string): Promise<VerificationKey> {
    const own = urls.map((url) => ({ url, source: this.#sourceOf(organisationId, url) }));
    const readAll = async () => [
      this.#inlineSet(inline),
      ...(await Promise.all(own.map(({ source, url }) => this.#read(source, url)))),
    ];
    let sets = await readAll();
    let entry = pick(sets, kid);
    if (!entry) {
      await Promise.all(own.map(({ source, url }) => this.#refresh(source, url)));
      sets = await readAll();
      entry = pick(sets, kid);
    }
    if (entry && "key" in entry) return entry.key;
    if (entry) return refuseToken(entry.problem);
    if (sets.includes(undefined)) {
      throw new UnavailableError("Cannot check this token: the keys of its identity provider cannot be fetched", {
        code: "jwks_unavailable",
        retryAfterSeconds: 30,
      });
    }
    return refuseToken(sets.find((set) => typeof set === "string") ?? "its key is not known");
  }

  #sourceOf(organisationId: string, url: string): Source {
    const name = JSON.stringify([organisationId, url]);
    const known = this.#sources.get(name);
    if (known) return known;
    const source = { set: undefined, readAt: 0, triedAt: Number.NEGATIVE_INFINITY, running: undefined };
    this.#sources.set(name, source);
    return source;
  }

  async #fetchSet(source: Source, url: string): Promise<void> {
    source.triedAt = this.#clock.monotonic();
    try {
      const document = await this.#fetchJson(url, fetchBounds);
      const followed = readKeySet(document) === undefined ? keySetAddressIn(url, document) : undefined;
      const set = readKeySet(followed === undefined ? document : await this.#fetchJson(followed, fetchBounds));
      if (set === undefined) return;
      source.set = set;
      source.readAt = this.#clock.monotonic();
    } catch {
      // cached keys stay in use until they are too old
    } finally {
      source.running = undefined;
    }
  }

  /** Fetches an address unless it was just attempted; callers share one fetch. */
  #refresh(source: Source, url: string): Promise<void> {
    if (source.running) return source.running;
    if (this.#clock.monotonic() - source.triedAt < retryMs) return Promise.resolve();
    source.running = this.#fetchSet(source, url);
    return source.running;
  }

  async #read(source: Source, url: string): Promise<KeySet | undefined> {
    const ageOf = () => (source.set === undefined ? Number.POSITIVE_INFINITY : this.#clock.monotonic() - source.readAt);
    // only the first caller waits for an unavailable source
    const isAway = source.triedAt > source.readAt && source.set !== undefined && ageOf() < keptMs;
    if (ageOf() >= freshMs && !isAway) await this.#refresh(source, url);
    else if (ageOf() >= refreshAfterMs) void this.#refresh(source, url);
    return ageOf() < keptMs ? source.set : undefined;
  }

  #inlineSet(inline: unknown): KeySet | undefined {
    if (!isObject(inline)) return new Map();
    if (!this.#inlineSets.has(inline)) this.#inlineSets.set(inline, readKeySet(inline));
    return this.#inlineSets.get(inline);
  }
}

/** Creates the key sets of a gateway. */
export function createKeySets(options: { clock: Clock; fetchJson: FetchJson }): KeySets {
  return new CachedKeySets(options);
}
