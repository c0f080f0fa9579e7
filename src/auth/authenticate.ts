import type { ApiKeyStore } from "../db/stores/api-keys.ts";
import type { ApiKeyRow } from "../db/tables/api-keys.ts";
import { AuthenticationError, RateLimitError, UnavailableError } from "../errors.ts";
import { BoundedMap } from "../lib/bounded-map.ts";
import { toSource } from "../lib/client-address.ts";
import type { Clock } from "../lib/clock.ts";
import { type Mac, sha256Hex, verifyMac } from "../lib/hash.ts";
import { isObject } from "../lib/json.ts";
import { AllowedModels } from "./allowed-models.ts";
import { chosenLookupId, isSingleCredential, readLookupId } from "./api-key.ts";
import type { TokenAuthenticator, TokenStanding } from "./jwt.ts";
import { hasTokenForm } from "./jwt-claims.ts";
import { type KeyDefaults, noDefaults, type Principal } from "./principal.ts";
import type { KeyKind } from "./scopes.ts";

/** A cached key is read again after this long. */
const knownForMs = 30_000;
/** A background refresh starts after this long, so that no caller waits for it. */
const refreshAfterMs = 20_000;
/** An unknown public part is not looked up again for this long. */
const unknownForMs = 5_000;
/** Operators choose no shorter key through the API. */
const minChosenLength = 20;
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
  /**
   * What a token of an identity provider is to the organisation that it names.
   *
   * @throws {UnavailableError} If the keys or the database are unavailable.
   */
  standingOf(token: string): Promise<TokenStanding>;
  /** The caller of a stored key that is usable now, by id; undefined for any other. */
  ofKey(keyId: string): Promise<Principal | undefined>;
  /**
   * The caller of a stored key that was verified before, by its id and the digest of the secret that was sent then;
   * undefined if that secret cannot be used now.
   *
   * @throws {UnavailableError} If the key is not cached and the database does not respond.
   */
  ofDigest(keyId: string, digest: string): Promise<Principal | undefined>;
  /** Which secret a key is, as a digest of it: what a sign-in stores of the key. */
  versionOf(key: string): Promise<string>;
  /**
   * The caller of a stored key by the version of the secret that a sign-in was made with; undefined if that secret cannot be
   * used now. From memory, for at most half a minute.
   *
   * @param version Null for sign-ins of which it was not stored.
   * @throws {UnavailableError} If the key is not cached and the database does not respond.
   */
  ofVersion(keyId: string, version: string | null): Promise<Principal | undefined>;
  /**
   * Rejects a wrong credential of another kind, and counts it like a wrong key.
   *
   * @throws {AuthenticationError}
   * @throws {RateLimitError} If the address failed too often.
   */
  refuse(address: () => string, message: string): never;
  /**
   * Drops cached entries: one key by id, which is read again at once if it was in use, all keys and tokens of an organisation or
   * its tokens only, or everything.
   */
  forget(changed: { organisationId?: string; keyId?: string; tokensOnly?: boolean }): void;
  /** Reads a key, or each one, again before its next use. While the database is unavailable, what was read still counts. */
  readAgain(keyId: string | undefined): void;
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

/** A cached key by its id, with the versions of its secrets. */
interface HeldKey {
  row: ApiKeyRow;
  principal: Principal;
  current: string;
  former: string | undefined;
  readAt: number;
}

/** The version of a secret, by its stored digest. */
async function versionOfDigest(digest: string): Promise<string> {
  return (await sha256Hex(digest)).slice(0, 32);
}

/** The caller that a key stands for. */
export function toPrincipal(row: ApiKeyRow): Principal {
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
    ...toLimits(row),
    ...(row.priority !== null && { priority: row.priority }),
    ...(row.allowedModels !== null && { allowedModels: new AllowedModels(row.allowedModels) }),
  };
}

/** Limits of a key's record. */
function toLimits({ usageLimits: usage, rateLimits: rates, lastResetAt }: ApiKeyRow): Pick<Principal, "limits"> {
  if (usage === null && rates === null) return {};
  return { limits: { usageLimits: usage, rateLimits: rates, lastResetAt } };
}

function toDefaults(stored: unknown): KeyDefaults {
  if (!isObject(stored)) return noDefaults;
  const { metadata, config_id: configId, allow_config_override: allow } = stored;
  const strings = isObject(metadata)
    ? Object.entries(metadata).map(([name, value]) => [name, String(value)])
    : undefined;
  return {
    metadata: strings ? Object.fromEntries(strings) : null,
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

/** Authenticates keys from its cache, else from the store. */
class KeyAuthenticator implements Authenticator {
  readonly #options: AuthenticatorOptions;
  readonly #known = new BoundedMap<string, KnownKey>(10_000);
  readonly #unknown = new BoundedMap<string, number>(10_000);
  readonly #held = new BoundedMap<string, HeldKey>(10_000);
  readonly #failsTooOften: (address: string) => boolean;
  /** Incremented when something is dropped: what was read earlier is used once and not cached. */
  #generation = 0;
  #anyForm: { rows: readonly ApiKeyRow[]; readAt: number } | undefined;

  constructor(options: AuthenticatorOptions) {
    this.#options = options;
    this.#failsTooOften = createFailureCounter(options.clock, options.failuresPerMinute);
  }

  authenticate(
    key: string,
    address: () => string,
    workspace: () => string | null = () => null,
  ): Principal | Promise<Principal> {
    const { mac, tokens } = this.#options;
    if (tokens && hasTokenForm(key)) return this.#authenticateToken(tokens, key, { workspace, address });
    if (key.length > 512) return this.refuse(address);
    const digest = mac(key);
    return typeof digest === "string"
      ? this.#decide(key, digest, address)
      : digest.then((late) => this.#decide(key, late, address));
  }

  async isOwnKey(key: string): Promise<boolean> {
    return this.#known.get(await this.#options.mac(key)) !== undefined || (await this.#findStored(key)) !== undefined;
  }

  async standingOf(token: string): Promise<TokenStanding> {
    const { tokens } = this.#options;
    return tokens && hasTokenForm(token) ? tokens.standingOf(token) : "foreign";
  }

  async ofKey(keyId: string): Promise<Principal | undefined> {
    const { store, clock } = this.#options;
    const row = await store.findById(keyId);
    return row && row.status !== "revoked" && !hasExpired(row, clock.now()) ? toPrincipal(row) : undefined;
  }

  async ofDigest(keyId: string, digest: string): Promise<Principal | undefined> {
    const held = this.#known.get(digest);
    const age = held ? this.#options.clock.monotonic() - held.readAt : 0;
    const entry = held && age < knownForMs ? held : await this.#findDigest(keyId, digest, held);
    return entry?.row.id === keyId && this.#isUsable(entry) ? entry.principal : undefined;
  }

  /** A key from the store, cached; undefined if it has no such digest. */
  async #findDigest(keyId: string, digest: string, held: KnownKey | undefined): Promise<KnownKey | undefined> {
    if (held) return this.#refresh(digest, held);
    const readIn = this.#generation;
    const row = await this.#readStore(({ findById }) => findById(keyId));
    return row && hasDigest(row, digest, this.#options.clock.now()) ? this.#remember(digest, row, readIn) : undefined;
  }

  #isUsable({ row, digest }: KnownKey): boolean {
    const now = this.#options.clock.now();
    return row.status !== "revoked" && hasDigest(row, digest, now) && !hasExpired(row, now);
  }

  async versionOf(key: string): Promise<string> {
    return versionOfDigest(await this.#options.mac(key));
  }

  async ofVersion(keyId: string, version: string | null): Promise<Principal | undefined> {
    const { clock } = this.#options;
    const held = this.#held.get(keyId);
    const isFresh = held && clock.monotonic() - held.readAt < knownForMs;
    const key = isFresh ? held : await this.#holdKey(keyId, held);
    if (!key) return undefined;
    const { row, principal, current, former } = key;
    const now = clock.now();
    if (row.status === "revoked" || hasExpired(row, now)) return undefined;
    if (version === null || version === current) return principal;
    const isInTransition = row.transitionEndsAt !== null && now < row.transitionEndsAt;
    return isInTransition && version === former ? principal : undefined;
  }

  /** Reads a key by its id; one that was read before keeps working while the database is unavailable. */
  async #holdKey(keyId: string, before: HeldKey | undefined): Promise<HeldKey | undefined> {
    const readIn = this.#generation;
    const readAt = this.#options.clock.monotonic();
    try {
      const row = await this.#readStore(({ findById }) => findById(keyId));
      if (!row) return undefined;
      const { digest, formerDigest } = row;
      const former = formerDigest === null ? undefined : await versionOfDigest(formerDigest);
      const held = { row, principal: toPrincipal(row), current: await versionOfDigest(digest), former, readAt };
      if (readIn === this.#generation) this.#held.set(keyId, held);
      return held;
    } catch (error) {
      if (!before || !(error instanceof UnavailableError)) throw error;
      before.readAt = readAt;
      return before;
    }
  }

  refuse(address: () => string, message: string = invalidKey): never {
    if (this.#failsTooOften(address())) {
      throw new RateLimitError("Cannot check this API key: too many wrong keys came from this address", {
        code: "too_many_failures",
        headers: { "retry-after": "60" },
      });
    }
    throw new AuthenticationError(message, { code: "invalid_api_key" });
  }

  forget({ organisationId, keyId, tokensOnly }: Parameters<Authenticator["forget"]>[0]): void {
    if (keyId === undefined) this.#options.tokens?.forget(organisationId);
    if (tokensOnly) return;
    this.#generation++;
    this.#anyForm = undefined;
    for (const [digest, { row }] of this.#known.entries()) {
      const isOther = organisationId !== undefined && row.organisationId !== organisationId;
      if (isOther || (keyId !== undefined && row.id !== keyId)) continue;
      this.#known.delete(digest);
      if (keyId !== undefined) void this.#restore(digest, keyId);
    }
    for (const [id, { row }] of this.#held.entries()) {
      const isOther = organisationId !== undefined && row.organisationId !== organisationId;
      if (!isOther && (keyId === undefined || id === keyId)) this.#held.delete(id);
    }
    this.#unknown.clear(); // a key that was asked for before it was made
  }

  /** Reads a key that is in use again at once: the database that has just shown the change may soon be away. */
  async #restore(digest: string, keyId: string): Promise<void> {
    // behind all that is dropped together
    await Promise.resolve();
    const readIn = this.#generation;
    try {
      const row = await this.#options.store.findById(keyId);
      if (row && hasDigest(row, digest, this.#options.clock.now())) this.#remember(digest, row, readIn);
    } catch {
      // its next use asks again
    }
  }

  readAgain(keyId: string | undefined): void {
    if (keyId === undefined) this.#anyForm = undefined;
    for (const [, entry] of this.#known.entries()) {
      if (keyId === undefined || entry.row.id === keyId) entry.readAt = Number.NEGATIVE_INFINITY;
    }
    for (const [id, held] of this.#held.entries()) {
      if (keyId === undefined || id === keyId) held.readAt = Number.NEGATIVE_INFINITY;
    }
  }

  async #authenticateToken(
    tokens: TokenAuthenticator,
    token: string,
    { workspace, address }: { workspace: () => string | null; address: () => string },
  ): Promise<Principal> {
    try {
      return await tokens.authenticate(token, { workspace: workspace(), address: address() });
    } catch (error) {
      if (error instanceof AuthenticationError && this.#failsTooOften(address())) return this.refuse(address);
      throw error;
    }
  }

  #decide(key: string, digest: string, address: () => string): Principal | Promise<Principal> {
    const entry = this.#known.get(digest);
    if (!entry) return this.#lookUp(key, digest, address);
    const age = this.#options.clock.monotonic() - entry.readAt;
    if (age >= knownForMs) return this.#readAgain(digest, entry, address);
    if (age >= refreshAfterMs && !entry.refreshing) void this.#refresh(digest, entry);
    return this.#requireUsable(entry, address);
  }

  #requireUsable(entry: KnownKey, address: () => string): Principal {
    const { row } = entry;
    const now = this.#options.clock.now();
    if (row.status === "revoked" || !hasDigest(row, entry.digest, now)) return this.refuse(address);
    if (hasExpired(row, now)) {
      throw new AuthenticationError("Cannot use this API key: it has expired", { code: "api_key_expired" });
    }
    return entry.principal;
  }

  #remember(digest: string, row: ApiKeyRow, readIn: number): KnownKey {
    const readAt = this.#options.clock.monotonic();
    const entry = { digest, row, principal: toPrincipal(row), readAt, refreshing: false };
    if (readIn === this.#generation) this.#known.set(digest, entry);
    return entry;
  }

  async #lookUp(key: string, digest: string, address: () => string): Promise<Principal> {
    if (!isSingleCredential(key)) return this.refuse(address);
    const readIn = this.#generation;
    const row = await this.#findStored(key);
    return row ? this.#requireUsable(this.#remember(digest, row, readIn), address) : this.refuse(address);
  }

  async #readAgain(digest: string, entry: KnownKey, address: () => string): Promise<Principal> {
    const fresh = await this.#refresh(digest, entry);
    return fresh ? this.#requireUsable(fresh, address) : this.refuse(address);
  }

  /** Refreshes a cached key; it keeps working while the database is unavailable. */
  async #refresh(digest: string, entry: KnownKey): Promise<KnownKey | undefined> {
    const { store, clock } = this.#options;
    entry.refreshing = true;
    const readIn = this.#generation;
    try {
      const row = await store.findById(entry.row.id);
      if (row && hasDigest(row, digest, clock.now())) return this.#remember(digest, row, readIn);
      this.#known.delete(digest);
      return undefined;
    } catch {
      entry.readAt = clock.monotonic();
      entry.refreshing = false;
      return entry;
    }
  }

  /** The few bootstrap keys in another format are cached, so that malformed keys cause no queries. */
  async #readKeysOfAnyForm(): Promise<readonly ApiKeyRow[]> {
    const { store, clock } = this.#options;
    if (!this.#anyForm || clock.monotonic() - this.#anyForm.readAt >= knownForMs) {
      this.#anyForm = { rows: await store.listOfAnyForm(), readAt: clock.monotonic() };
    }
    return this.#anyForm.rows;
  }

  async #findOfAnyForm(key: string): Promise<ApiKeyRow | undefined> {
    const { pepper } = this.#options;
    for (const row of await this.#readKeysOfAnyForm()) {
      if (await verifyMac(pepper, row.digest, key)) return row;
      if (await verifyMac(pepper, row.formerDigest ?? noDigest, key)) return row;
    }
    return undefined;
  }

  async #findRow(key: string): Promise<ApiKeyRow | undefined> {
    const lookupId = readLookupId(key, this.#options.keyPrefix);
    if (lookupId !== undefined) return this.#findByLookupId(key, lookupId);
    const found = await this.#findOfAnyForm(key);
    const mayBeChosen = key.length >= minChosenLength && !key.startsWith(`${this.#options.keyPrefix}_`);
    if (found || !mayBeChosen) return found;
    return this.#findByLookupId(key, chosenLookupId(await this.#options.mac(key)));
  }

  async #findByLookupId(key: string, lookupId: string): Promise<ApiKeyRow | undefined> {
    const { store, clock, pepper } = this.#options;
    const unknownSince = this.#unknown.get(lookupId);
    if (unknownSince !== undefined && clock.monotonic() - unknownSince < unknownForMs) return undefined;
    const row = await store.findByLookupId(lookupId);
    const matches = await verifyMac(pepper, row?.digest ?? noDigest, key);
    const matchesFormer = await verifyMac(pepper, row?.formerDigest ?? noDigest, key);
    if (!row) this.#unknown.set(lookupId, clock.monotonic());
    return matches || matchesFormer ? row : undefined;
  }

  #findStored(key: string): Promise<ApiKeyRow | undefined> {
    return this.#readStore(() => this.#findRow(key));
  }

  async #readStore(read: (store: ApiKeyStore) => Promise<ApiKeyRow | undefined>): Promise<ApiKeyRow | undefined> {
    try {
      return await read(this.#options.store);
    } catch (cause) {
      throw new UnavailableError("Cannot check this API key: the database does not respond", {
        cause,
        code: "database_unavailable",
        retryAfterSeconds: 1,
      });
    }
  }
}

/** Creates the authenticator of a gateway. */
export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  return new KeyAuthenticator(options);
}
