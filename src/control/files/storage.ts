import type { InStatement } from "@libsql/client";
import type { Database } from "../../db/client.ts";
import type { ControlStores } from "../../db/stores/control.ts";
import { createFileStore, type FileStore } from "../../db/stores/files.ts";
import type { WorkspaceTenant } from "../../db/stores/record-pages.ts";
import type { GatewayFileRow } from "../../db/tables/files.ts";
import { BodyTooLargeError, BudgetError, ConflictError } from "../../errors.ts";
import { fromBase64Url, toBase64Url } from "../../lib/base64.ts";
import { joinBytes } from "../../lib/bytes.ts";
import type { Clock } from "../../lib/clock.ts";
import { randomBytes } from "../../lib/hash.ts";
import { CredentialUnavailableError, importDataKey, type Vault } from "../vault.ts";
import { createDatabasePieces, type PieceStore, refuseContent } from "./pieces.ts";

/** Limits that the operator can set. */
export interface FileLimits {
  /** Largest file, in bytes. */
  fileBytes: number;
  /** Bytes of all files of a workspace. */
  workspaceBytes: number;
}

/** Name and purpose of a new file. */
interface NewFile {
  filename: string;
  purpose: string;
}

/** A file that is being uploaded. */
interface Upload {
  filename: string;
  content: AsyncIterable<Uint8Array>;
  /** Called once the content is complete; if it throws, the upload is undone. Times are Unix milliseconds. */
  complete(createdAt: number): Promise<{ purpose: string; expiresAt: number | null }>;
}

/** Stored files, each sealed with a separate key in the vault. */
export interface FileStorage {
  readonly limits: FileLimits;
  readonly page: FileStore["page"];
  /** A complete, unexpired file of the workspace. */
  find(tenant: WorkspaceTenant, id: string): Promise<GatewayFileRow | undefined>;
  /**
   * Stores a file while it arrives.
   *
   * @throws {BodyTooLargeError} 413 when it is too large.
   * @throws {BudgetError} 412 when the workspace's quota is used up.
   * @throws {ConflictError} 409 when the upload was abandoned meanwhile.
   */
  upload(tenant: WorkspaceTenant, upload: Upload): Promise<GatewayFileRow>;
  /** Decrypted content from an offset. */
  read(row: GatewayFileRow, offset?: number): AsyncGenerator<Uint8Array, void>;
  remove(row: GatewayFileRow): Promise<void>;
  /** Statements that create a file which is written incrementally; it is invisible until it is `processed`. */
  open(tenant: WorkspaceTenant, file: NewFile, givenUpAt: number): Promise<{ id: string; statements: InStatement[] }>;
  /** Statements that append to such a file. */
  append(tenant: WorkspaceTenant, id: string, content: Uint8Array): Promise<InStatement[]>;
  /** Statements that complete such a file. A hidden one is found by `findHidden` alone. */
  finish(tenant: WorkspaceTenant, id: string, expiresAt: number | null, visibility?: "hidden"): InStatement;
  /**
   * Stores a whole file, hidden.
   *
   * @param expiresAt Unix milliseconds. What its record belongs to may change it.
   * @throws {BudgetError} 412 when the workspace's quota is used up.
   */
  store(tenant: WorkspaceTenant, file: NewFile, content: Uint8Array, expiresAt: number): Promise<string>;
  /** A complete, unexpired file that is hidden: it belongs to another record, and is no file of the files API. */
  findHidden(tenant: WorkspaceTenant, id: string): Promise<GatewayFileRow | undefined>;
  /** Removes files that were deleted, abandoned, have expired or belong to a deleted workspace; run it once a minute. */
  cleanUp(): Promise<void>;
}

/** Options of the file storage. */
interface FileStorageOptions {
  database: Database;
  stores: Pick<ControlStores, "gatewayFiles" | "secrets">;
  vault: Vault;
  clock: Clock;
  limits: FileLimits;
  /** Storage for new files; by default the database. */
  pieces?: PieceStore | undefined;
}

/** Incomplete uploads count as abandoned after this long. */
const givenUpAfterMs = 60 * 60_000;
/** Longest piece that is appended: a row stays below 1 MiB. */
const appendedBytes = 1024 * 1024 - 64;
const goneAtOnce = 100;

const secretKind = "files";
const secretField = "key";
const encoder = new TextEncoder();

function boundData(row: Pick<GatewayFileRow, "id">, seq: number): Uint8Array<ArrayBuffer> {
  return encoder.encode(`file-piece|v1|${row.id}|${seq}`);
}

/** The same bytes in the type WebCrypto requires: memory here is never shared with other threads. */
function unshared(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return bytes as Uint8Array<ArrayBuffer>;
}

async function sealPiece(key: CryptoKey, bound: Uint8Array<ArrayBuffer>, content: Uint8Array): Promise<Uint8Array> {
  const iv = randomBytes(12);
  const parameters = { name: "AES-GCM", iv, additionalData: bound };
  const sealed = new Uint8Array(await crypto.subtle.encrypt(parameters, key, unshared(content)));
  return joinBytes([iv, sealed]);
}

async function openPiece(key: CryptoKey, bound: Uint8Array<ArrayBuffer>, piece: Uint8Array): Promise<Uint8Array> {
  const bytes = unshared(piece);
  const parameters = { name: "AES-GCM", iv: bytes.subarray(0, 12), additionalData: bound };
  try {
    return new Uint8Array(await crypto.subtle.decrypt(parameters, key, bytes.subarray(12)));
  } catch (cause) {
    return refuseContent(cause);
  }
}

/** Regroups chunks into pieces of equal length; the last one may be shorter. */
async function* cutPieces(content: AsyncIterable<Uint8Array>, length: number): AsyncGenerator<Uint8Array, void> {
  let piece = new Uint8Array(length);
  let used = 0;
  for await (const bytes of content) {
    for (let start = 0; start < bytes.length; ) {
      const taken = Math.min(length - used, bytes.length - start);
      piece.set(bytes.subarray(start, start + taken), used);
      used += taken;
      start += taken;
      if (used < length) continue;
      yield piece;
      piece = new Uint8Array(length);
      used = 0;
    }
  }
  if (used > 0) yield piece.subarray(0, used);
}

function tenantOf({ organisationId, workspaceId }: GatewayFileRow): WorkspaceTenant {
  return { organisationId, workspaceId };
}

function refuseRoom(): never {
  throw new BudgetError("Cannot store the file: the workspace's file quota is used up", {
    code: "file_storage_full",
  });
}

/** A file that is being written. */
interface Draft {
  row: GatewayFileRow;
  key: CryptoKey;
  statements: InStatement[];
}

class Storage implements FileStorage {
  readonly limits: FileLimits;
  readonly page: FileStore["page"];
  readonly #options: FileStorageOptions;
  readonly #store: FileStore;
  readonly #inDatabase: PieceStore;
  /** Storage for new files. */
  readonly #target: PieceStore;

  constructor(options: FileStorageOptions) {
    this.#options = options;
    this.limits = options.limits;
    this.#store = createFileStore(options.database);
    this.page = this.#store.page;
    this.#inDatabase = createDatabasePieces(this.#store);
    this.#target = options.pieces ?? this.#inDatabase;
  }

  find(tenant: WorkspaceTenant, id: string): Promise<GatewayFileRow | undefined> {
    return this.#find(tenant, id, "processed");
  }

  findHidden(tenant: WorkspaceTenant, id: string): Promise<GatewayFileRow | undefined> {
    return this.#find(tenant, id, "hidden");
  }

  async #find(tenant: WorkspaceTenant, id: string, status: string): Promise<GatewayFileRow | undefined> {
    const { organisationId, workspaceId } = tenant;
    const row = await this.#options.stores.gatewayFiles.find({ organisationId, workspaceId }, { id, status });
    return row && (row.expiresAt === null || row.expiresAt > this.#options.clock.now()) ? row : undefined;
  }

  async upload(tenant: WorkspaceTenant, { filename, content, complete }: Upload): Promise<GatewayFileRow> {
    const { database, stores, clock } = this.#options;
    const room = await this.#requireRoom(tenant);
    const pieces = { pieceBytes: this.#target.pieceBytes, givenUpAt: clock.now() + givenUpAfterMs };
    const draft = await this.#make(tenant, { filename, purpose: "" }, pieces);
    const { row } = draft;
    await database.write(draft.statements);
    try {
      await this.#receive(draft, content, room);
      const known = { ...(await complete(row.createdAt)), status: "processed" };
      await this.#writeDraft([stores.gatewayFiles.update(tenant, { id: row.id, status: "writing" }, known)]);
      return { ...row, ...known };
    } catch (error) {
      await this.#purge(row).catch(() => {}); // otherwise the cleanup does it
      throw error;
    }
  }

  async *read(row: GatewayFileRow, offset = 0): AsyncGenerator<Uint8Array, void> {
    const key = await this.#keyOf(tenantOf(row), row.id);
    const first = row.pieceBytes === 0 ? 0 : Math.floor(offset / row.pieceBytes);
    let skipped = offset - first * row.pieceBytes;
    for (let seq = first; seq < row.pieces; seq++) {
      const piece = await openPiece(key, boundData(row, seq), await this.#piecesOf(row).get(row, seq));
      if (skipped < piece.length) yield piece.subarray(skipped);
      skipped = Math.max(0, skipped - piece.length);
    }
  }

  async remove(row: GatewayFileRow): Promise<void> {
    const { database, stores } = this.#options;
    await database.write([stores.gatewayFiles.update(tenantOf(row), { id: row.id }, { status: "deleted" })]);
    await this.#purge({ ...row, status: "deleted" }).catch(() => {}); // otherwise the cleanup does it
  }

  async open(tenant: WorkspaceTenant, file: NewFile, givenUpAt: number) {
    const { row, statements } = await this.#make(tenant, file, { pieceBytes: 0, givenUpAt });
    return { id: row.id, statements };
  }

  async append(tenant: WorkspaceTenant, id: string, content: Uint8Array): Promise<InStatement[]> {
    const row = await this.#options.stores.gatewayFiles.find(tenant, { id, status: "writing" });
    if (!row) return refuseContent(new Error("the file being written was deleted"));
    const key = await this.#keyOf(tenant, id);
    const statements: InStatement[] = [];
    for (let start = 0; start < content.length; start += appendedBytes) {
      const piece = content.subarray(start, start + appendedBytes);
      statements.push(...(await this.#add(row, key, piece)));
    }
    return statements;
  }

  finish(tenant: WorkspaceTenant, id: string, expiresAt: number | null, visibility?: "hidden"): InStatement {
    const { gatewayFiles } = this.#options.stores;
    const status = visibility ?? "processed";
    return gatewayFiles.update(tenant, { id, status: "writing" }, { status, expiresAt });
  }

  async store(tenant: WorkspaceTenant, file: NewFile, content: Uint8Array, expiresAt: number): Promise<string> {
    const { database, clock } = this.#options;
    if (content.length > (await this.#requireRoom(tenant))) refuseRoom();
    const { id, statements } = await this.open(tenant, file, clock.now() + givenUpAfterMs);
    await database.write(statements);
    const pieces = await this.append(tenant, id, content);
    await database.write([...pieces, this.finish(tenant, id, expiresAt, "hidden")]);
    return id;
  }

  async cleanUp(): Promise<void> {
    const failures: unknown[] = [];
    let gone: GatewayFileRow[];
    do {
      gone = await this.#store.listGone(this.#options.clock.now(), goneAtOnce);
      for (const row of gone) await this.#purge(row).catch((error) => failures.push(error));
      if (failures.length > 0) throw failures[0];
    } while (gone.length === goneAtOnce);
  }

  /** Writes to an incomplete file; the last statement is the one on its row. */
  async #writeDraft(statements: readonly InStatement[]): Promise<void> {
    const results = await this.#options.database.write(statements);
    if (results.at(-1)?.rowsAffected === 1) return;
    throw new ConflictError("Cannot store the file: the upload was abandoned", { code: "file_given_up" });
  }

  #piecesOf({ storage }: GatewayFileRow): PieceStore {
    return storage === this.#target.name ? this.#target : this.#inDatabase;
  }

  async #keyOf(tenant: WorkspaceTenant, recordId: string): Promise<CryptoKey> {
    const { stores, vault } = this.#options;
    const row = await stores.secrets.find(tenant, { kind: secretKind, recordId, field: secretField });
    if (!row) return refuseContent(new Error("the key of the file was deleted"));
    try {
      return await importDataKey(fromBase64Url(await vault.open(row)));
    } catch (cause) {
      if (cause instanceof CredentialUnavailableError) return refuseContent(cause);
      throw cause;
    }
  }

  /** The row and key of a new file, and the statements that store both. */
  async #make(
    tenant: WorkspaceTenant,
    { filename, purpose }: NewFile,
    { pieceBytes, givenUpAt }: { pieceBytes: number; givenUpAt: number },
  ): Promise<Draft> {
    const { stores, vault, clock } = this.#options;
    const id = `gw_file_${crypto.randomUUID()}`;
    const now = clock.now();
    const key = randomBytes(32);
    const place = { ...tenant, kind: secretKind, recordId: id, field: secretField };
    const row: GatewayFileRow = {
      id,
      ...tenant,
      filename,
      purpose,
      status: "writing",
      bytes: 0,
      pieces: 0,
      storage: this.#target.name,
      pieceBytes,
      createdAt: now,
      expiresAt: givenUpAt,
    };
    const statements: InStatement[] = [
      stores.gatewayFiles.insert(tenant, row),
      stores.secrets.insert(tenant, await vault.seal(place, toBase64Url(key), now)),
    ];
    return { row, key: await importDataKey(key), statements };
  }

  /** Appends a piece and updates the row's count. */
  async #add(row: GatewayFileRow, key: CryptoKey, piece: Uint8Array): Promise<InStatement[]> {
    const sealed = await sealPiece(key, boundData(row, row.pieces), piece);
    const put = await this.#piecesOf(row).put(row, row.pieces, sealed);
    row.bytes += piece.length;
    row.pieces += 1;
    const { bytes, pieces } = row;
    const draft = { id: row.id, status: "writing" };
    return [...put, this.#options.stores.gatewayFiles.update(tenantOf(row), draft, { bytes, pieces })];
  }

  async #receive({ row, key }: Draft, content: AsyncIterable<Uint8Array>, room: number): Promise<void> {
    const { fileBytes } = this.limits;
    for await (const piece of cutPieces(content, row.pieceBytes)) {
      if (row.bytes + piece.length > fileBytes) {
        const megabytes = Math.floor(fileBytes / 2 ** 20);
        throw new BodyTooLargeError(`Cannot store the file: it is larger than ${megabytes} MiB`, {
          code: "file_too_large",
          param: "file",
        });
      }
      if (row.bytes + piece.length > room) refuseRoom();
      await this.#writeDraft(await this.#add(row, key, piece));
    }
  }

  /** Bytes that the workspace may still store. */
  async #requireRoom(tenant: WorkspaceTenant): Promise<number> {
    const room = this.limits.workspaceBytes - (await this.#store.totalBytes(tenant));
    return room > 0 ? room : refuseRoom();
  }

  async #purge(row: GatewayFileRow): Promise<void> {
    const { database, stores } = this.#options;
    const tenant = tenantOf(row);
    // one more than counted: a piece may have been stored right before the process ended
    const removed = await this.#piecesOf(row).remove(row, row.pieces + (row.status === "writing" ? 1 : 0));
    await database.write([
      ...removed,
      stores.secrets.remove(tenant, { kind: secretKind, recordId: row.id }),
      stores.gatewayFiles.remove(tenant, { id: row.id }),
    ]);
  }
}

/** Creates the file storage of a gateway. */
export function createFileStorage(options: FileStorageOptions): FileStorage {
  return new Storage(options);
}
