import type { ControlStores } from "../../db/stores/control.ts";
import type { BlockPlace, SealedBlock, VectorStorePlace } from "../../db/stores/vector-stores.ts";
import type { SecretRow } from "../../db/tables/secrets.ts";
import { UnavailableError } from "../../errors.ts";
import { fromBase64Url, toBase64Url } from "../../lib/base64.ts";
import { joinBytes } from "../../lib/bytes.ts";
import { randomBytes } from "../../lib/hash.ts";
import { CredentialUnavailableError, importDataKey, type Vault } from "../vault.ts";

const secretKind = "vector_stores";
const secretField = "key";
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** What seals keys of stores. */
interface KeyParts {
  readonly stores: Pick<ControlStores, "secrets">;
  readonly vault: Vault;
}

/** The key of a new store, sealed for the table of secrets. */
export function createStoreKey(store: VectorStorePlace, { vault }: KeyParts, now: number): Promise<SecretRow> {
  const { organisationId, workspaceId, id: recordId } = store;
  const place = { organisationId, workspaceId, kind: secretKind, recordId, field: secretField };
  return vault.seal(place, toBase64Url(randomBytes(32)), now);
}

/** Which secrets belong to a store. */
export function secretsOf({ id }: VectorStorePlace): { kind: string; recordId: string } {
  return { kind: secretKind, recordId: id };
}

function refuseContent(cause: unknown): never {
  throw new UnavailableError("Cannot read the vector store: its content is not available", {
    cause,
    code: "vector_store_unavailable",
    retryAfterSeconds: 5,
  });
}

/** Seals and opens the blocks of one store. */
export class BlockSeal {
  readonly #key: CryptoKey;
  readonly #storeId: string;

  constructor(storeId: string, key: CryptoKey) {
    this.#storeId = storeId;
    this.#key = key;
  }

  /** The seal of a store. @throws {UnavailableError} If its key is not available. */
  static async of(store: VectorStorePlace, { stores, vault }: KeyParts): Promise<BlockSeal> {
    const row = await stores.secrets.find(store, { ...secretsOf(store), field: secretField });
    if (!row) return refuseContent(new Error("the key of the vector store was deleted"));
    try {
      return new BlockSeal(store.id, await importDataKey(fromBase64Url(await vault.open(row))));
    } catch (cause) {
      if (cause instanceof CredentialUnavailableError) return refuseContent(cause);
      throw cause;
    }
  }

  async seal(place: BlockPlace, vectors: Float32Array<ArrayBuffer>, contents: readonly string[]): Promise<SealedBlock> {
    const bytes = new Uint8Array(vectors.buffer, vectors.byteOffset, vectors.byteLength);
    return {
      ...place,
      vectors: await this.#encrypt(bytes, place, "vectors"),
      contents: await this.#encrypt(encoder.encode(JSON.stringify(contents)), place, "contents"),
    };
  }

  /** The vectors of a block, one after the other. */
  async openVectors(place: BlockPlace, sealed: Uint8Array): Promise<Float32Array> {
    return new Float32Array(await this.#decrypt(sealed, place, "vectors"));
  }

  async openContents(place: BlockPlace, sealed: Uint8Array): Promise<readonly string[]> {
    // `seal` wrote this list
    return JSON.parse(decoder.decode(await this.#decrypt(sealed, place, "contents"))) as string[];
  }

  /** What a sealed part is bound to: moved to another place, it does not open. */
  #bound({ fileId, seq }: BlockPlace, part: string): Uint8Array<ArrayBuffer> {
    return encoder.encode(`vector-block|v1|${this.#storeId}|${fileId}|${seq}|${part}`);
  }

  async #encrypt(bytes: Uint8Array<ArrayBuffer>, place: BlockPlace, part: string): Promise<Uint8Array> {
    const iv = randomBytes(12);
    const parameters = { name: "AES-GCM", iv, additionalData: this.#bound(place, part) };
    return joinBytes([iv, new Uint8Array(await crypto.subtle.encrypt(parameters, this.#key, bytes))]);
  }

  async #decrypt(sealed: Uint8Array, place: BlockPlace, part: string): Promise<ArrayBuffer> {
    const bytes = sealed as Uint8Array<ArrayBuffer>; // memory here is never shared with other threads
    const parameters = { name: "AES-GCM", iv: bytes.subarray(0, 12), additionalData: this.#bound(place, part) };
    try {
      return await crypto.subtle.decrypt(parameters, this.#key, bytes.subarray(12));
    } catch (cause) {
      return refuseContent(cause);
    }
  }
}
