import type { ApiKeyStore } from "../db/stores/api-keys.ts";
import type { ApiKeyRow } from "../db/tables/api-keys.ts";
import { AuthenticationError, RateLimitError, UnavailableError } from "../errors.ts";
import { BoundedMap } from "../lib/bounded-map.ts";
import type { Clock } from "../lib/clock.ts";
import { type Mac, verifyMac } from "../lib/hash.ts";
import { isSingleCredential, readLookupId } from "./api-key.ts";
import type { Principal } from "./principal.ts";
import type { KeyKind } from "./scopes.ts";

/** A verified key is read again after this long. */
const knownForMs = 30_000;
/** A reading in the background starts after this long, so that no caller waits for it. */
const refreshAfterMs = 20_000;
/** An unknown public part is not looked up again for this long. */
const unknownForMs = 5_000;
/** Digest that no key has: comparing with it costs what comparing with a real one does. */
const noDigest = "A".repeat(43);

/** What authentication needs. */
export interface AuthenticatorOptions {
  store: ApiKeyStore;
  clock: Clock;
  /** Digest of keys under the pepper. */
  mac: Mac;
  /** The pepper, for comparisons in constant time. */
  pepper: Uint8Array<ArrayBuffer>;
  keyPrefix: string;
  /** Failures of one address in a minute before further ones are answered 429. */
  failuresPerMinute: number;
}

/** Tells who a key belongs to. */
export interface Authenticator {
  /**
   * The caller behind a key. Answers at once for keys used lately where the host digests synchronously.
   *
   * @param address Called only when the key is wrong.
   * @throws {AuthenticationError} If the key is malformed, unknown, revoked or expired.
   * @throws {RateLimitError} If the key is wrong and the address failed too often.
   * @throws {UnavailableError} If the key is not known here and the database does not answer.
   */
  authenticate(key: string, address: () => string): Principal | Promise<Principal>;
}

/** A verified key in memory. */
interface KnownKey {
  row: ApiKeyRow;
  principal: Principal;
  readAt: number;
  refreshing: boolean;
}

function toPrincipal(row: ApiKeyRow): Principal {
  const scopes: unknown = JSON.parse(row.scopes);
  return {
    keyId: row.id,
    // the column is only ever written with one of these
    kind: row.kind as KeyKind,
    organisationId: row.organisationId,
    workspaceId: row.workspaceId,
    scopes: new Set(Array.isArray(scopes) ? scopes.map(String) : []),
  };
}

/** Counts wrong keys by address in windows of a minute. */
function createFailureCounter(clock: Clock, limit: number) {
  const counts = new BoundedMap<string, { since: number; failures: number }>(10_000);
  return (address: string): boolean => {
    const now = clock.monotonic();
    const counted = counts.get(address);
    if (!counted || now - counted.since >= 60_000) {
      counts.set(address, { since: now, failures: 1 });
      return limit < 1;
    }
    return ++counted.failures > limit;
  };
}

/** Creates the authenticator of a gateway. */
export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { store, clock, mac, pepper, keyPrefix } = options;
  const known = new BoundedMap<string, KnownKey>(10_000);
  const unknown = new BoundedMap<string, number>(10_000);
  const failsTooOften = createFailureCounter(clock, options.failuresPerMinute);

  const refuse = (address: () => string): never => {
    if (failsTooOften(address())) {
      throw new RateLimitError("Cannot check this API key: too many wrong keys came from this address", {
        code: "too_many_failures",
        headers: { "retry-after": "60" },
      });
    }
    throw new AuthenticationError("Invalid API Key: send a valid gateway key in x-gateway-api-key", {
      code: "invalid_api_key",
    });
  };
  const requireUsable = (entry: KnownKey, address: () => string): Principal => {
    const { status, expiresAt } = entry.row;
    if (status !== "active") return refuse(address);
    if (expiresAt !== null && expiresAt <= clock.now()) {
      throw new AuthenticationError("Cannot use this API key: it has expired", { code: "api_key_expired" });
    }
    return entry.principal;
  };
  const remember = (digest: string, row: ApiKeyRow): KnownKey => {
    const entry = { row, principal: toPrincipal(row), readAt: clock.monotonic(), refreshing: false };
    known.set(digest, entry);
    return entry;
  };
  /** Reads a known key again; when the database is away the key goes on working. */
  const refresh = async (digest: string, entry: KnownKey): Promise<KnownKey | undefined> => {
    entry.refreshing = true;
    try {
      const row = await store.findById(entry.row.id);
      if (row && row.digest === entry.row.digest) return remember(digest, row);
      known.delete(digest);
      return undefined;
    } catch {
      entry.readAt = clock.monotonic();
      entry.refreshing = false;
      return entry;
    }
  };
  let anyForm: { rows: readonly ApiKeyRow[]; readAt: number } | undefined;
  /** The few keys of no particular form live in memory, so that malformed keys cannot make the database work. */
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
      }
      return undefined;
    }
    const unknownSince = unknown.get(lookupId);
    if (unknownSince !== undefined && clock.monotonic() - unknownSince < unknownForMs) return undefined;
    const row = await store.findByLookupId(lookupId);
    const matches = await verifyMac(pepper, row?.digest ?? noDigest, key);
    if (!row) unknown.set(lookupId, clock.monotonic());
    return matches ? row : undefined;
  };
  const lookUp = async (key: string, digest: string, address: () => string): Promise<Principal> => {
    let row: ApiKeyRow | undefined;
    try {
      row = await findRow(key);
    } catch (cause) {
      throw new UnavailableError("Cannot check this API key: the database does not answer", {
        cause,
        code: "database_unavailable",
        retryAfterSeconds: 1,
      });
    }
    return row ? requireUsable(remember(digest, row), address) : refuse(address);
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
    authenticate(key, address) {
      if (key.length > 512 || !isSingleCredential(key)) return refuse(address);
      const digest = mac(key);
      return typeof digest === "string"
        ? decide(key, digest, address)
        : digest.then((late) => decide(key, late, address));
    },
  };
}
