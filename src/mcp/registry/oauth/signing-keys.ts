import {
  calculateJwkThumbprint,
  decodeProtectedHeader,
  exportJWK,
  generateKeyPair,
  importJWK,
  importPKCS8,
  type JWK,
  type JWTPayload,
  SignJWT,
} from "jose";
import { decryptText, encryptText, importDataKey } from "../../../control/vault.ts";
import type { OauthStore } from "../../../db/stores/oauth.ts";
import type { JsonValue } from "../../../db/tables/columns.ts";
import type { SigningKeyRow } from "../../../db/tables/oauth.ts";
import type { Clock } from "../../../lib/clock.ts";

/** What a key signs: access tokens for MCP servers, or statements about users for upstream servers. */
type KeyPurpose = "access" | "identity";

const algorithms = { access: "ES256", identity: "RS256" } as const;

/** A key that signs, and its public half. */
interface SigningKey {
  readonly id: string;
  readonly algorithm: string;
  readonly jwk: JWK;
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
}

/** Keys of the installation that sign tokens, the same in all processes. */
export interface SigningKeys {
  /** A signed token with `kid` and this `typ`. */
  sign(purpose: KeyPurpose, payload: JWTPayload, type: string): Promise<string>;
  /** The public key of a purpose if it has this id; undefined for any other. */
  find(purpose: KeyPurpose, id: string): Promise<CryptoKey | undefined>;
  /** Whether a token names one of these keys as the one that signed it. */
  isSigner(token: string): Promise<boolean>;
  /** The public keys (RFC 7517, section 5). */
  keySet(): Promise<{ keys: JWK[] }>;
}

/** Options of the signing keys. */
interface SigningKeysOptions {
  readonly store: OauthStore;
  /** A key for nothing else; seals private keys. */
  readonly sealingKey: Uint8Array<ArrayBuffer>;
  readonly clock: Clock;
  /** The operator's key for statements about users: PKCS #8 in PEM form. */
  readonly identityKey: string | undefined;
}

/** An unknown key id makes the database be read again at most once in this time. */
const readAgainMs = 5_000;

/** The key id in the header of a token, unverified. */
function kidIn(token: string): string | undefined {
  try {
    return decodeProtectedHeader(token).kid;
  } catch {
    return undefined;
  }
}

const placeOf = ({ id, purpose }: Pick<SigningKeyRow, "id" | "purpose">) => `v1|signing-key|${purpose}|${id}`;

/** The members of a public key. */
function toPublicJwk({ kty, crv, x, y, n, e }: JWK): JWK {
  const given = Object.entries({ kty, crv, x, y, n, e }).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as JWK; // members of a JWK, with their values
}

function importKey(jwk: JWK, algorithm: string): Promise<CryptoKey> {
  // only symmetric keys import as bytes
  return importJWK(jwk, algorithm) as Promise<CryptoKey>;
}

class InstallationKeys implements SigningKeys {
  readonly #options: SigningKeysOptions;
  readonly #keys = new Map<KeyPurpose, SigningKey>();
  #readAt = Number.NEGATIVE_INFINITY;
  #making = new Map<KeyPurpose, Promise<SigningKey>>();

  constructor(options: SigningKeysOptions) {
    this.#options = options;
  }

  async sign(purpose: KeyPurpose, payload: JWTPayload, type: string): Promise<string> {
    const { id, algorithm, privateKey } = await this.#require(purpose);
    return new SignJWT(payload).setProtectedHeader({ alg: algorithm, kid: id, typ: type }).sign(privateKey);
  }

  async find(purpose: KeyPurpose, id: string): Promise<CryptoKey | undefined> {
    if (this.#keys.get(purpose)?.id !== id && this.#isOld()) await this.#read();
    const key = this.#keys.get(purpose);
    return key?.id === id ? key.publicKey : undefined;
  }

  async isSigner(token: string): Promise<boolean> {
    const kid = kidIn(token);
    if (kid === undefined) return false;
    return (await this.find("access", kid)) !== undefined || (await this.find("identity", kid)) !== undefined;
  }

  async keySet(): Promise<{ keys: JWK[] }> {
    const keys = await Promise.all([this.#require("access"), this.#require("identity")]);
    return { keys: keys.map(({ id, algorithm, jwk }) => ({ ...jwk, kid: id, alg: algorithm, use: "sig" })) };
  }

  #isOld(): boolean {
    return this.#options.clock.monotonic() - this.#readAt >= readAgainMs;
  }

  /** The key of a purpose; made when it is first needed, by one process only. */
  #require(purpose: KeyPurpose): Promise<SigningKey> {
    const known = this.#keys.get(purpose);
    if (known) return Promise.resolve(known);
    const making = this.#making.get(purpose) ?? this.#make(purpose).finally(() => this.#making.delete(purpose));
    this.#making.set(purpose, making);
    return making;
  }

  async #make(purpose: KeyPurpose): Promise<SigningKey> {
    await this.#read();
    const { store, clock, sealingKey } = this.#options;
    if (!this.#keys.has(purpose)) {
      const pair = await generateKeyPair(algorithms[purpose], { extractable: true });
      const jwk = toPublicJwk(await exportJWK(pair.publicKey));
      const place = { id: await calculateJwkThumbprint(jwk), purpose };
      const text = JSON.stringify(await exportJWK(pair.privateKey));
      const sealed = await encryptText(await importDataKey(sealingKey), placeOf(place), text);
      const publicJwk = jwk as JsonValue; // a JWK is a JSON object
      const createdAt = clock.now();
      await store.addSigningKey({ ...place, algorithm: algorithms[purpose], publicJwk, sealed, createdAt });
      await this.#read();
    }
    const key = this.#keys.get(purpose);
    if (!key) throw new TypeError("Cannot sign tokens: the key was not stored");
    return key;
  }

  async #read(): Promise<void> {
    this.#readAt = this.#options.clock.monotonic();
    const rows = await this.#options.store.signingKeys();
    for (const row of rows) {
      const purpose = row.purpose as KeyPurpose; // only these are stored
      if (this.#keys.get(purpose)?.id !== row.id) this.#keys.set(purpose, await this.#open(row));
    }
    if (this.#options.identityKey !== undefined) await this.#readOwn(this.#options.identityKey);
  }

  async #open(row: SigningKeyRow): Promise<SigningKey> {
    const text = await decryptText(await importDataKey(this.#options.sealingKey), placeOf(row), row.sealed);
    const jwk = row.publicJwk as JWK; // stored by `make`
    return {
      id: row.id,
      algorithm: row.algorithm,
      jwk,
      privateKey: await importKey(JSON.parse(text), row.algorithm),
      publicKey: await importKey(jwk, row.algorithm),
    };
  }

  async #readOwn(pem: string): Promise<void> {
    const algorithm = algorithms.identity;
    const extractable = await importPKCS8(pem, algorithm, { extractable: true });
    const jwk = toPublicJwk(await exportJWK(extractable));
    const id = await calculateJwkThumbprint(jwk);
    this.#keys.set("identity", {
      id,
      algorithm,
      jwk,
      privateKey: await importPKCS8(pem, algorithm),
      publicKey: await importKey(jwk, algorithm),
    });
  }
}

/** Creates the signing keys of an installation. Nothing is read before the first use. */
export function createSigningKeys(options: SigningKeysOptions): SigningKeys {
  return new InstallationKeys(options);
}
