import type { ApiKeyStore } from "../db/stores/api-keys.ts";
import type { ApiKeyRow } from "../db/tables/api-keys.ts";
import { AuthenticationError, RateLimitError, UnavailableError } from "../errors.ts";
import { BoundedMap } from "../lib/bounded-map.ts";
import { toSource } from "../lib/client-address.ts";
import type { Clock } from "../lib/clock.ts";
import { type Mac, verifyMac } from "../lib/hash.ts";
import { isObject } from "../lib/json.ts";
import { isSingleCredential, readLookupId } from "./api-key.ts";
import type { TokenAuthenticator } from "./jwt.ts";
import { type KeyDefaults, noDefaults, type Principal } from "./principal.ts";
import type { KeyKind } from "./scopes.ts";

/** A cached key is read again after this long. */
const knownForMs = 30_000;
/** A background refresh starts after this long, so that no caller waits for it. */
const refreshAfterMs = 20_000;
/** An unknown public part is not looked up again for this long. */
const unknownForMs = 5_000;
/** A digest that no key has: comparing with it takes as long as with a real one. */
const noDigest = "A".repeat(43);

const invalidKey = "Invalid API Key: send a valid gateway key in x-gateway-api-key";

/** Options of an authenticator. */
interface AuthenticatorOptions {
  store: ApiKeyStore;
  clock: Clock;
  /** Digest of keys, keyed with the pepper. */
  mac: Mac;
  /** The pepper, for comparisons in constant time. */
  pepper: Uint8Array<ArrayBuffer>;
  keyPrefix: string;
  /** Failures of one address per minute after which further ones get 429. */
  failuresPerMinute: number;
  /** Authenticates tokens of identity providers; absent: tokens count as wrong keys. */
  tokens?: TokenAuthenticator;
}

/** Authenticates keys. */
export interface Authenticator {
  /**
   * The caller of a key. Synchronous for cached keys if the host's digest is.
   *
   * @param address Called only for tokens, and when the key is wrong.
   * @param workspace The workspace that the request names; used for tokens only.
   * @throws {AuthenticationError} If the key is malformed, unknown, revoked or expired.
   * @throws {PermissionError} If a token is valid but has no permissions here.
   * @throws {RateLimitError} If the key is wrong and the address failed too often.
   * @throws {UnavailableError} If the key is not cached and the database does not respond.
   */
  authenticate(key: string, address: () => string, workspace?: () => string | null): Principal | Promise<Principal>;
  /**
   * Whether a string is a key of this installation, whatever its status.
   *
   * @throws {UnavailableError} If the key is not cached and the database does not respond.
   */
  isOwnKey(key: string): Promise<boolean>;
  /** The caller of a stored key that is usable now, by id; undefined for any other. */
  ofKey(keyId: string): Promise<Principal | undefined>;
  /**
   * Rejects a wrong credential of another kind, and counts it like a wrong key.
   *
   * @throws {AuthenticationError}
   * @throws {RateLimitError} If the address failed too often.
   */
  refuse(address: () => string, message: string): never;
  /** Drops cached entries: one key by id, all keys and tokens of an organisation or its tokens only, or everything. */
  forget(changed: { organisationId?: string; keyId?: string; tokensOnly?: boolean }): void;
}

/** A cached key. */
interface KnownKey {
  /** Digest of the verified credential: the current secret or the former one. */
  digest: string;
  row: ApiKeyRow;
  principal: Principal;
  readAt: number;
  refreshing: boolean;
}

function toPrincipal(row: ApiKeyRow): Principal {
  const scopes: unknown = JSON.parse(row.scopes);
  return {
    keyId: row.id,
    // only these values are ever written to the column
    kind: row.kind as KeyKind,
    organisationId: row.organisationId,
    workspaceId: row.workspaceId,
    userId: row.userId,
    scopes: new Set(Array.isArray(scopes) ? scopes.map(String) : []),
    defaults: toDefaults(row.defaults),
  };
}

function toDefaults(stored: unknown): KeyDefaults {
  if (!isObject(stored)) return noDefaults;
  const { metadata, config_id: configId, allow_config_override: allow } = stored;
  const texts = isObject(metadata) ? Object.entries(metadata).map(([name, value]) => [name, String(value)]) : undefined;
  return {
    metadata: texts ? Object.fromEntries(texts) : null,
    configId: typeof configId === "string" ? configId : null,
    allowConfigOverride: allow !== false,
  };
}

/** Whether a digest matches a key's secret, or its former one while that still works. */
function hasDigest(row: ApiKeyRow, digest: string, now: number): boolean {
  if (row.digest === digest) return true;
  return row.formerDigest === digest && row.transitionEndsAt !== null && now < row.transitionEndsAt;
}

/** Whether a key has expired. */
function hasExpired({ status, expiresAt }: ApiKeyRow, now: number): boolean {
  return status === "expired" || (expiresAt !== null && expiresAt <= now);
}

/** Counts wrong keys by source address in windows of a minute. */
function createFailureCounter(clock: Clock, limit: number) {
  const counts = new BoundedMap<string, { since: number; failures: number }>(10_000);
  return (address: string): boolean => {
    const source = toSource(address);
    const now = clock.monotonic();
    const counted = counts.get(source);
    if (!counted || now - counted.since >= 60_000) {
      counts.set(source, { since: now, failures: 1 });
      return limit < 1;
    }
    return ++counted.failures > limit;
  };
}

/** Creates the authenticator of a gateway. */
export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { store, clock, mac, pepper, keyPrefix, tokens } = options;
  const known = new BoundedMap<string, KnownKey>(10_000);
  const unknown = new BoundedMap<string, number>(10_000);
  const failsTooOften = createFailureCounter(clock, options.failuresPerMinute);

  const refuse = (address: () => string, message = invalidKey): never => {
    if (failsTooOften(address())) {
      throw new RateLimitError("Cannot check this API key: too many wrong keys came from this address", {
        code: "too_many_failures",
        headers: { "retry-after": "60" },
      });
    }
    throw new AuthenticationError(message, { code: "invalid_api_key" });
  };
  const requireUsable = (entry: KnownKey, address: () => string): Principal => {
    const { row } = entry;
    const now = clock.now();
    if (row.status === "revoked" || !hasDigest(row, entry.digest, now)) return refuse(address);
    if (hasExpired(row, now)) {
      throw new AuthenticationError("Cannot use this API key: it has expired", { code: "api_key_expired" });
    }
    return entry.principal;
  };
  /** Incremented when something is dropped: what was read earlier is used once and not cached. */
  let generation = 0;
  const remember = (digest: string, row: ApiKeyRow, readIn: number): KnownKey => {
    const entry = { digest, row, principal: toPrincipal(row), readAt: clock.monotonic(), refreshing: false };
    if (readIn === generation) known.set(digest, entry);
    return entry;
  };
  /** Refreshes a cached key; it keeps working while the database is unavailable. */
  const refresh = async (digest: string, entry: KnownKey): Promise<KnownKey | undefined> => {
    entry.refreshing = true;
    const readIn = generation;
    try {
      const row = await store.findById(entry.row.id);
      if (row && hasDigest(row, digest, clock.now())) return remember(digest, row, readIn);
      known.delete(digest);
      return undefined;
    } catch {
      entry.readAt = clock.monotonic();
      entry.refreshing = false;
      return entry;
    }
  };
  let anyForm: { rows: readonly ApiKeyRow[]; readAt: number } | undefined;
  /** The few bootstrap keys in another format are cached, so that malformed keys cause no queries. */
  const readKeysOfAnyForm = async (): Promise<readonly ApiKeyRow[]> => {
    if (!anyForm || clock.monotonic() - anyForm.readAt >= knownForMs) {
      anyForm = { rows: await store.listOfAnyForm(), readAt: clock.monotonic() };
    }
    return anyForm.rows;
  };
  const findRow = async (key: string): Promise<ApiKeyRow | undefined> => {
    const lookupId = readLookupId(key, keyPrefix);
    if (lookupId === undefined) {
      for (const row of await readKeysOfAnyForm()) {
        if (await verifyMac(pepper, row.digest, key)) return row;
        if (await verifyMac(pepper, row.formerDigest ?? noDigest, key)) return row;
      }
      return undefined;
    }
    const unknownSince = unknown.get(lookupId);
    if (unknownSince !== undefined && clock.monotonic() - unknownSince < unknownForMs) return undefined;
    const row = await store.findByLookupId(lookupId);
    const matches = await verifyMac(pepper, row?.digest ?? noDigest, key);
    const matchesFormer = await verifyMac(pepper, row?.formerDigest ?? noDigest, key);
    if (!row) unknown.set(lookupId, clock.monotonic());
    return matches || matchesFormer ? row : undefined;
  };
  const findStored = async (key: string): Promise<ApiKeyRow | undefined> => {
    try {
      return await findRow(key);
    } catch (cause) {
      throw new UnavailableError("Cannot check this API key: the database does not respond", {
        cause,
        code: "database_unavailable",
        retryAfterSeconds: 1,
      });
    }
  };
  const lookUp = async (key: string, digest: string, address: () => string): Promise<Principal> => {
    const readIn = generation;
    const row = await findStored(key);
    return row ? requireUsable(remember(digest, row, readIn), address) : refuse(address);
  };
  const decide = (key: string, digest: string, address: () => string): Principal | Promise<Principal> => {
    const entry = known.get(digest);
    if (!entry) return lookUp(key, digest, address);
    const age = clock.monotonic() - entry.readAt;
    if (age >= knownForMs) {
      return refresh(digest, entry).then((fresh) => (fresh ? requireUsable(fresh, address) : refuse(address)));
    }
    if (age >= refreshAfterMs && !entry.refreshing) void refresh(digest, entry);
    return requireUsable(entry, address);
  };

  return {
    authenticate(key, address, workspace = () => null) {
      if (tokens?.takes(key)) {
        return tokens.authenticate(key, { workspace: workspace(), address: address() }).catch((error) => {
          if (error instanceof AuthenticationError && failsTooOften(address())) return refuse(address);
          throw error;
        });
      }
      if (key.length > 512 || !isSingleCredential(key)) return refuse(address);
      const digest = mac(key);
      return typeof digest === "string"
        ? decide(key, digest, address)
        : digest.then((late) => decide(key, late, address));
    },
    async isOwnKey(key) {
      return known.get(await mac(key)) !== undefined || (await findStored(key)) !== undefined;
    },
    async ofKey(keyId) {
      const row = await store.findById(keyId);
      return row && row.status !== "revoked" && !hasExpired(row, clock.now()) ? toPrincipal(row) : undefined;
    },
    refuse,
    forget({ organisationId, keyId, tokensOnly }) {
      if (keyId === undefined) tokens?.forget(organisationId);
      if (tokensOnly) return;
      generation++;
      anyForm = undefined;
      for (const [digest, { row }] of known.entries()) {
        const isOther = organisationId !== undefined && row.organisationId !== organisationId;
        if (!isOther && (keyId === undefined || row.id === keyId)) known.delete(digest);
      }
      unknown.clear(); // a key that was looked up before it was created
    },
  };
}
