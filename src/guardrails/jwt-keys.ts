import { createLocalJWKSet, type JWK } from "jose";
import { BoundedMap } from "../lib/bounded-map.ts";
import { decodeUtf8, findJsonExcess, isObject, parseJson } from "../lib/json.ts";
import type { TokenAlgorithm } from "../schemas/auth-settings.ts";
import { fetchBytes } from "./call.ts";
import { TokenProblem } from "./jwt-claims.ts";
import type { CheckTools } from "./types.ts";

/** Least time between two fetches of a key set because of an unknown key id. */
const unknownKeyMs = 30_000;
/** Least time between two fetches of an address that returned no key set. */
const retryMs = 1_000;
const fetchBounds = { timeoutMs: 5_000, maxBytes: 256 * 1024 };
const jsonLimits = { depth: 16, values: 10_000, keys: 500 };
const maxKeys = 100;
/** Most addresses whose keys are cached. */
const maxSources = 1_000;
/** Most key selections that one set caches. */
const maxResolvers = 200;

/** Fields of private and symmetric keys (RFC 7518, section 6). */
const secretMembers = ["d", "p", "q", "dp", "dq", "qi", "oth", "k", "priv"];

/** Finds the key for a token's header, for `jwtVerify`. */
export type KeyResolver = ReturnType<typeof createLocalJWKSet>;

/** Public keys of one source. */
export class VerificationKeys {
  readonly #keys: readonly JWK[];
  readonly #resolvers = new BoundedMap<string, KeyResolver>(maxResolvers);

  constructor(keys: readonly JWK[]) {
    this.#keys = keys;
  }

  /**
   * The keys with an id, each for one algorithm: its own, or the first allowed one that fits the key's type. A token
   * without an id uses the only key of a set, if that has no id either. Undefined where there is no key.
   */
  find(kid: string | undefined, algorithms: readonly TokenAlgorithm[]): KeyResolver | undefined {
    const found = this.#keys.filter((key) => key.kid === kid);
    if (found.length === 0 || (kid === undefined && this.#keys.length > 1)) return undefined;
    const name = JSON.stringify([kid, algorithms]);
    const known = this.#resolvers.get(name);
    if (known) return known;
    const keys = found.flatMap((key) => {
      const alg = key.alg ?? algorithms.find((algorithm) => fits(key, algorithm));
      return alg === undefined ? [] : [{ ...key, alg }];
    });
    const resolver = createLocalJWKSet({ keys });
    this.#resolvers.set(name, resolver);
    return resolver;
  }
}

const curves: Readonly<Record<string, string>> = {
  ES256: "P-256",
  ES384: "P-384",
  ES512: "P-521",
  EdDSA: "Ed25519",
};

/** Whether a key's type fits an algorithm. */
function fits({ kty, crv }: JWK, algorithm: TokenAlgorithm): boolean {
  return kty === "RSA" ? curves[algorithm] === undefined : curves[algorithm] === crv;
}

/**
 * Reads a key set (RFC 7517, section 5).
 *
 * @returns Its keys, or what is wrong with it: a set with private or symmetric keys is rejected as a whole.
 */
export function readKeys(document: unknown): VerificationKeys | string {
  const keys = isObject(document) ? document.keys : undefined;
  if (!Array.isArray(keys) || !keys.every(isObject)) return "must be a key set: an object with a list of keys";
  if (keys.length > maxKeys) return `must have at most ${maxKeys} keys`;
  if (keys.some((key) => key.kty === "oct" || secretMembers.some((name) => key[name] !== undefined))) {
    return "must have public keys only";
  }
  if (keys.some(({ kid }) => kid !== undefined && typeof kid !== "string"))
    return "must have keys whose ids are strings";
  return new VerificationKeys(keys);
}

/** The key set of one address. */
interface Source {
  keys: VerificationKeys | undefined;
  /** Monotonic milliseconds of the last successful fetch and of the last attempt. */
  readAt: number;
  triedAt: number;
  running: Promise<void> | undefined;
}

/** Key sets by tenant and address: one tenant's fetches do not use up another's. */
export interface KeySources {
  /**
   * The keys with an id. An unknown id fetches the address again, at most once in 30 seconds.
   *
   * @param maxAgeMs How long a fetched set is valid.
   * @throws {TokenProblem} If the set cannot be read.
   */
  find(
    source: { tenant: string; url: string; maxAgeMs: number },
    kid: string | undefined,
    algorithms: readonly TokenAlgorithm[],
  ): Promise<KeyResolver | undefined>;
}

/** Creates the cache of key sets; concurrent callers for the same set share one fetch. */
export function createKeySources(tools: CheckTools): KeySources {
  const { clock } = tools;
  const sources = new BoundedMap<string, Source>(maxSources);

  const fetchKeys = async (url: string): Promise<VerificationKeys | undefined> => {
    const headers = { accept: "application/json, application/jwk-set+json" };
    const { status, bytes } = await fetchBytes(tools, { url, method: "GET", headers, ...fetchBounds });
    if (status !== 200 || findJsonExcess(bytes, jsonLimits) !== undefined) return undefined;
    const keys = readKeys(parseJson(decodeUtf8(bytes)));
    return typeof keys === "string" ? undefined : keys;
  };
  const load = async (source: Source, url: string): Promise<void> => {
    source.triedAt = clock.monotonic();
    // any failure means that there is no new set
    const keys = await fetchKeys(url).catch(() => undefined);
    source.running = undefined;
    if (keys === undefined) return;
    source.keys = keys;
    source.readAt = clock.monotonic();
  };
  /** Fetches an address unless the last attempt is more recent than the pause. */
  const refresh = (source: Source, url: string, pauseMs: number): Promise<void> => {
    if (source.running) return source.running;
    if (clock.monotonic() - source.triedAt < pauseMs) return Promise.resolve();
    source.running = load(source, url);
    return source.running;
  };
  const sourceOf = (tenant: string, url: string): Source => {
    const name = JSON.stringify([tenant, url]);
    const known = sources.get(name);
    if (known) return known;
    const never = Number.NEGATIVE_INFINITY;
    const source: Source = { keys: undefined, readAt: never, triedAt: never, running: undefined };
    sources.set(name, source);
    return source;
  };

  return {
    async find({ tenant, url, maxAgeMs }, kid, algorithms) {
      const source = sourceOf(tenant, url);
      const startedAt = clock.monotonic();
      const hasFailed = source.triedAt > source.readAt;
      if (startedAt - source.readAt >= maxAgeMs) await refresh(source, url, hasFailed ? retryMs : 0);
      // a set fetched for this call is used, however short its lifetime
      const isUsable = source.readAt >= startedAt || startedAt - source.readAt < maxAgeMs;
      if (!source.keys || !isUsable) throw new TokenProblem("The keys of the token's issuer cannot be fetched");
      const found = source.keys.find(kid, algorithms);
      if (found) return found;
      await refresh(source, url, unknownKeyMs);
      return source.keys.find(kid, algorithms);
    },
  };
}
