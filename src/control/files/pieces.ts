import type { InStatement } from "@libsql/client";
import type { FilePlace, FileStore } from "../../db/stores/files.ts";
import { UnavailableError } from "../../errors.ts";
import type { ObjectStore } from "../object-store.ts";

/** Storage for sealed pieces of files. */
export interface PieceStore {
  /** Name of the storage in file rows. */
  readonly name: "database" | "s3";
  /** Length of the pieces of an upload. */
  readonly pieceBytes: number;
  /** Stores a piece, or returns the statement that stores it along with others. */
  put(place: FilePlace, seq: number, content: Uint8Array): Promise<InStatement[]>;
  /** @throws {UnavailableError} If it is missing, or the store does not respond. */
  get(place: FilePlace, seq: number): Promise<Uint8Array>;
  /** Deletes the pieces of a file, or returns the statements that delete them along with its row. */
  remove(place: FilePlace, pieces: number): Promise<InStatement[]>;
}

/**
 * Throws because a file cannot be read.
 *
 * @throws {UnavailableError} Always.
 */
export function refuseContent(cause?: unknown): never {
  throw new UnavailableError("Cannot read the file: its content is not available", {
    cause,
    code: "file_unavailable",
    retryAfterSeconds: 5,
  });
}

/** Stores pieces in the database. */
export function createDatabasePieces(store: FileStore): PieceStore {
  return {
    name: "database",
    // a sealed piece stays below 1 MiB
    pieceBytes: 1024 * 1024 - 64,
    put: async (place, seq, content) => [store.insertPiece(place, seq, content)],
    get: async (place, seq) => (await store.readPiece(place, seq)) ?? refuseContent(),
    remove: async (place) => [store.removePieces(place)],
  };
}

const s3PieceBytes = 8 * 1024 * 1024;
/** Length of a sealed piece, at most. */
const maxSealedBytes = s3PieceBytes + 64;

/** Stores pieces as objects of an S3-compatible store. */
export function createS3Pieces(objects: ObjectStore): PieceStore {
  const nameOf = ({ organisationId, workspaceId, id }: FilePlace, seq: number) =>
    `${organisationId}/${workspaceId}/${id}/${seq}`;
  return {
    name: "s3",
    pieceBytes: s3PieceBytes,
    async put(place, seq, content) {
      try {
        await objects.put(nameOf(place, seq), content);
        return [];
      } catch (cause) {
        throw new UnavailableError("Cannot store the file: the store rejected it, or does not respond", {
          cause,
          code: "file_store_unavailable",
          retryAfterSeconds: 5,
        });
      }
    },
    get: (place, seq) => objects.get(nameOf(place, seq), { maxBytes: maxSealedBytes }).catch(refuseContent),
    async remove(place, pieces) {
      for (let seq = 0; seq < pieces; seq++) await objects.remove(nameOf(place, seq)).catch(refuseContent);
      return [];
    },
  };
}
