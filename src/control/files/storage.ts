import type { InStatement } from "@libsql/client";
import type { Database } from "../../db/client.ts";
import type { ControlStores } from "../../db/stores/control.ts";
import { createFileStore, type FileStore } from "../../db/stores/files.ts";
import type { WorkspaceTenant } from "../../db/stores/record-pages.ts";
import type { GatewayFileRow } from "../../db/tables/files.ts";
import { BodyTooLargeError, BudgetError, UnavailableError } from "../../errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { fromBase64Url, randomBytes, toBase64Url } from "../../lib/hash.ts";
import { CredentialUnavailableError, type Vault } from "../vault.ts";
import { createDatabasePieces, type PieceStore } from "./pieces.ts";

/** Bounds an operator can move. */
export interface FileLimits {
  /** Largest file, in bytes. */
  fileBytes: number;
  /** Bytes of all files of a workspace. */
  workspaceBytes: number;
}

/** What a new file is called and for. */
export interface NewFile {
  filename: string;
  purpose: string;
}

/** A file that comes. */
export interface Upload {
  filename: string;
  content: AsyncIterable<Uint8Array>;
  /** What is known once the content is there; what it throws undoes the upload. Times are Unix milliseconds. */
  complete(createdAt: number): Promise<{ purpose: string; expiresAt: number | null }>;
}

/** Files the gateway keeps, sealed at rest: each under a key of its own, which the vault keeps. */
export interface FileStorage {
  readonly limits: FileLimits;
  readonly page: FileStore["page"];
  /** A whole file of the workspace that is not past its end. */
  find(tenant: WorkspaceTenant, id: string): Promise<GatewayFileRow | undefined>;
  /**
   * Stores a file while it comes.
   *
   * @throws {BodyTooLargeError} 413 when it is too large.
   * @throws {BudgetError} 412 when the workspace has no room.
   */
  upload(tenant: WorkspaceTenant, upload: Upload): Promise<GatewayFileRow>;
  /** Content in clear from a byte on. */
  read(row: GatewayFileRow, offset?: number): AsyncGenerator<Uint8Array, void>;
  remove(row: GatewayFileRow): Promise<void>;
  /** Statements that make a file that is written bit by bit; nobody sees it before it is `processed`. */
  open(tenant: WorkspaceTenant, file: NewFile, givenUpAt: number): Promise<{ id: string; statements: InStatement[] }>;
  /** Statements that add to such a file. */
  append(tenant: WorkspaceTenant, id: string, content: Uint8Array): Promise<InStatement[]>;
  /** Statements that end such a file. */
  finish(tenant: WorkspaceTenant, id: string, expiresAt: number | null): InStatement;
  /** Removes what was deleted, given up or is past its end; to be called about once a minute. */
  upkeep(): Promise<void>;
}

/** What the storage is made from. */
export interface FileStorageOptions {
  database: Database;
  stores: Pick<ControlStores, "gatewayFiles" | "secrets">;
  vault: Vault;
  clock: Clock;
  limits: FileLimits;
  /** Where new files go; by default the database. */
  pieces?: PieceStore | undefined;
}

/** An upload that is not whole after this long was given up. */
const givenUpAfterMs = 60 * 60_000;
/** Longest piece that is appended, so that a row stays below 1 MiB. */
const appendedBytes = 1024 * 1024 - 64;
const goneAtOnce = 100;

const secretKind = "files";
const secretField = "key";
const encoder = new TextEncoder();

function boundData(row: Pick<GatewayFileRow, "id">, seq: number): Uint8Array<ArrayBuffer> {
  return encoder.encode(`file-piece|v1|${row.id}|${seq}`);
}

async function sealPiece(key: CryptoKey, bound: Uint8Array<ArrayBuffer>, content: Uint8Array): Promise<Uint8Array> {
  const iv = randomBytes(12);
  const parameters = { name: "AES-GCM", iv, additionalData: bound };
  const sealed = new Uint8Array(await crypto.subtle.encrypt(parameters, key, content.slice()));
  const piece = new Uint8Array(iv.length + sealed.length);
  piece.set(iv);
  piece.set(sealed, iv.length);
  return piece;
}

async function openPiece(key: CryptoKey, bound: Uint8Array<ArrayBuffer>, piece: Uint8Array): Promise<Uint8Array> {
  const parameters = { name: "AES-GCM", iv: piece.slice(0, 12), additionalData: bound };
  try {
    return new Uint8Array(await crypto.subtle.decrypt(parameters, key, piece.slice(12)));
  } catch (cause) {
    return refuseContent(cause);
  }
}

function refuseContent(cause: unknown): never {
  throw new UnavailableError("Cannot read the file: its content is not available", {
    ...{ cause, code: "file_unavailable", retryAfterSeconds: 5 },
  });
}

function importKey(bytes: Uint8Array<ArrayBuffer>): Promise<CryptoKey> {
  return crypto.subtle.importKey("raw", bytes, "AES-GCM", false, ["encrypt", "decrypt"]);
}

/** Puts pieces of any length together to pieces of one length; the last one may be shorter. */
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

/** Creates the storage of a gateway. */
export function createFileStorage(options: FileStorageOptions): FileStorage {
  const { database, stores, vault, clock, limits } = options;
  const store = createFileStore(database);
  const inDatabase = createDatabasePieces(store);
  const target = options.pieces ?? inDatabase;
  const piecesOf = ({ storage }: Pick<GatewayFileRow, "storage">): PieceStore =>
    storage === target.name ? target : inDatabase;

  const keyOf = async (tenant: WorkspaceTenant, recordId: string): Promise<CryptoKey> => {
    const row = await stores.secrets.find(tenant, { kind: secretKind, recordId, field: secretField });
    if (!row) return refuseContent(new Error("the key of the file is gone"));
    try {
      return await importKey(fromBase64Url(await vault.open(row)));
    } catch (cause) {
      if (cause instanceof CredentialUnavailableError) return refuseContent(cause);
      throw cause;
    }
  };
  /** The row of a file that is being written, and its key. */
  const make = async (tenant: WorkspaceTenant, file: NewFile, draft: { pieceBytes: number; givenUpAt: number }) => {
    const id = `gw_file_${crypto.randomUUID()}`;
    const now = clock.now();
    const key = randomBytes(32);
    const place = { ...tenant, kind: secretKind, recordId: id, field: secretField };
    const row: GatewayFileRow = {
      ...{ id, ...tenant, filename: file.filename, purpose: file.purpose, status: "writing", bytes: 0, pieces: 0 },
      ...{ storage: target.name, pieceBytes: draft.pieceBytes, createdAt: now, expiresAt: draft.givenUpAt },
    };
    const statements: InStatement[] = [
      stores.gatewayFiles.insert(tenant, row),
      stores.secrets.insert(tenant, await vault.seal(place, toBase64Url(key), now)),
    ];
    return { row, key: await importKey(key), statements };
  };
  const grow = (row: GatewayFileRow, length: number) => {
    row.bytes += length;
    row.pieces += 1;
    const { bytes, pieces } = row;
    return stores.gatewayFiles.update(tenantOf(row), { id: row.id }, { bytes, pieces });
  };
  const purge = async (row: GatewayFileRow) => {
    const tenant = tenantOf(row);
    // one more: a piece may have been stored right before the process ended
    const removed = await piecesOf(row).remove(row, row.pieces + (row.status === "writing" ? 1 : 0));
    await database.write([
      ...removed,
      stores.secrets.remove(tenant, { kind: secretKind, recordId: row.id }),
      stores.gatewayFiles.remove(tenant, { id: row.id }),
    ]);
  };
  const requireRoom = async (tenant: WorkspaceTenant): Promise<number> => {
    const room = limits.workspaceBytes - (await store.totalBytes(tenant));
    return room > 0 ? room : refuseRoom();
  };
  const receive = async (row: GatewayFileRow, key: CryptoKey, content: AsyncIterable<Uint8Array>, room: number) => {
    for await (const piece of cutPieces(content, row.pieceBytes)) {
      if (row.bytes + piece.length > limits.fileBytes) {
        const megabytes = Math.floor(limits.fileBytes / 2 ** 20);
        throw new BodyTooLargeError(`Cannot store the file: it is larger than ${megabytes} MiB`, {
          ...{ code: "file_too_large", param: "file" },
        });
      }
      if (row.bytes + piece.length > room) refuseRoom();
      const sealed = await sealPiece(key, boundData(row, row.pieces), piece);
      const put = await target.put(row, row.pieces, sealed);
      await database.write([...put, grow(row, piece.length)]);
    }
  };

  return {
    limits,
    page: store.page,
    async find(tenant, id) {
      const row = await stores.gatewayFiles.find(tenant, { id, status: "processed" });
      return row && (row.expiresAt === null || row.expiresAt > clock.now()) ? row : undefined;
    },
    async upload(tenant, { filename, content, complete }) {
      const room = await requireRoom(tenant);
      const draft = { pieceBytes: target.pieceBytes, givenUpAt: clock.now() + givenUpAfterMs };
      const { row, key, statements } = await make(tenant, { filename, purpose: "" }, draft);
      await database.write(statements);
      try {
        await receive(row, key, content, room);
        const known = { ...(await complete(row.createdAt)), status: "processed" };
        await database.write([stores.gatewayFiles.update(tenant, { id: row.id }, known)]);
        return { ...row, ...known };
      } catch (error) {
        await purge(row).catch(() => {}); // else the upkeep does it
        throw error;
      }
    },
    async *read(row, offset = 0) {
      const key = await keyOf(tenantOf(row), row.id);
      const first = row.pieceBytes === 0 ? 0 : Math.floor(offset / row.pieceBytes);
      let skipped = offset - first * row.pieceBytes;
      for (let seq = first; seq < row.pieces; seq++) {
        const piece = await openPiece(key, boundData(row, seq), await piecesOf(row).get(row, seq));
        if (skipped < piece.length) yield piece.subarray(skipped);
        skipped = Math.max(0, skipped - piece.length);
      }
    },
    async remove(row) {
      await database.write([stores.gatewayFiles.update(tenantOf(row), { id: row.id }, { status: "deleted" })]);
      await purge({ ...row, status: "deleted" }).catch(() => {}); // else the upkeep does it
    },
    async open(tenant, file, givenUpAt) {
      const { row, statements } = await make(tenant, file, { pieceBytes: 0, givenUpAt });
      return { id: row.id, statements };
    },
    async append(tenant, id, content) {
      const row = await stores.gatewayFiles.find(tenant, { id, status: "writing" });
      if (!row) return refuseContent(new Error("the file that is written is gone"));
      const key = await keyOf(tenant, id);
      const statements: InStatement[] = [];
      for (let start = 0; start < content.length; start += appendedBytes) {
        const piece = content.subarray(start, start + appendedBytes);
        const sealed = await sealPiece(key, boundData(row, row.pieces), piece);
        statements.push(...(await target.put(row, row.pieces, sealed)), grow(row, piece.length));
      }
      return statements;
    },
    finish: (tenant, id, expiresAt) =>
      stores.gatewayFiles.update(tenant, { id, status: "writing" }, { status: "processed", expiresAt }),
    async upkeep() {
      const gone = await store.listGone(clock.now(), goneAtOnce);
      const failures: unknown[] = [];
      for (const row of gone) await purge(row).catch((error) => failures.push(error));
      if (failures.length > 0) throw failures[0];
    },
  };
}

function refuseRoom(): never {
  throw new BudgetError("Cannot store the file: the files of this workspace take all the room they may", {
    code: "file_storage_full",
  });
}
