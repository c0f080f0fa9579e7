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

/** A verified key is read again after this long. */
const knownForMs = 30_000;
/** A reading in the background starts after this long, so that no caller waits for it. */
const refreshAfterMs = 20_000;
/** An unknown public part is not looked up again for this long. */
const unknownForMs = 5_000;
/** Digest that no key has: comparing with it costs what comparing with a real one does. */
const noDigest = "A".repeat(43);

const invalidKey = "Invalid API Key: send a valid gateway key in x-gateway-api-key";

/** What authentication needs. */
interface AuthenticatorOptions {
  store: ApiKeyStore;
  clock: Clock;
  /** Digest of keys under the pepper. */
  mac: Mac;
  /** The pepper, for comparisons in constant time. */
  pepper: Uint8Array<ArrayBuffer>;
  keyPrefix: string;
  /** Failures of one address in a minute before further ones are answered 429. */
  failuresPerMinute: number;
  /** Tells who a token of an identity provider belongs to; absent: tokens are wrong keys. */
  tokens?: TokenAuthenticator;
}

/** Tells who a key belongs to. */
export interface Authenticator {
  /**
   * The caller behind a key. Answers at once for keys used lately where the host digests synchronously.
   *
   * @param address Called only for tokens and when the key is wrong.
   * @param workspace The workspace the request names: read for tokens alone.
   * @throws {AuthenticationError} If the key is malformed, unknown, revoked or expired.
   * @throws {PermissionError} If a token verifies and gives no right to anything here.
   * @throws {RateLimitError} If the key is wrong and the address failed too often.
   * @throws {UnavailableError} If the key is not known here and the database does not answer.
   */
  authenticate(key: string, address: () => string, workspace?: () => string | null): Principal | Promise<Principal>;
  /**
   * Whether a text of our form is a key of this installation, whatever its state.
   *
   * @throws {UnavailableError} If the key is not known here and the database does not answer.
   */
  isOwnKey(key: string): Promise<boolean>;
  /** The caller behind a key that is stored and can be used now, by its id; undefined for any other. */
  ofKey(keyId: string): Promise<Principal | undefined>;
  /**
   * Refuses a wrong credential of another kind, and counts it like a wrong key.
   *
   * @throws {AuthenticationError}
   * @throws {RateLimitError} If the address failed too often.
   */
  refuse(address: () => string, message: string): never;
  /** Forgets what changed: one key by its id, all keys and tokens of an organisation or its tokens alone, or all. */
  forget(changed: { organisationId?: string; keyId?: string; tokensOnly?: boolean }): void;
}

/** A verified key in memory. */
interface KnownKey {
  /** Digest of the credential that was verified: the current secret's or the former one's. */
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
    // the column is only ever written with one of these
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

/** Whether a digest is that of a key's secret, or of its former one while that still works. */
function hasDigest(row: ApiKeyRow, digest: string, now: number): boolean {
  if (row.digest === digest) return true;
  return row.formerDigest === digest && row.transitionEndsAt !== null && now < row.transitionEndsAt;
}

/** Whether a key's time is over. */
function hasExpired({ status, expiresAt }: ApiKeyRow, now: number): boolean {
  return status === "expired" || (expiresAt !== null && expiresAt <= now);
}

/** Counts wrong keys by where they come from in windows of a minute. */
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
  /** Grows when something is forgotten: what was read before is used once and not kept. */
  let generation = 0;
  const remember = (digest: string, row: ApiKeyRow, readIn: number): KnownKey => {
    const entry = { digest, row, principal: toPrincipal(row), readAt: clock.monotonic(), refreshing: false };
    if (readIn === generation) known.set(digest, entry);
    return entry;
  };
  /** Reads a known key again; when the database is away the key goes on working. */
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
      throw new UnavailableError("Cannot check this API key: the database does not answer", {
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
      unknown.clear(); // a key that was asked for before it was made
    },
  };
}
