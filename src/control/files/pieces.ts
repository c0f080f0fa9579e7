import type { InStatement } from "@libsql/client";
import type { FilePlace, FileStore } from "../../db/stores/files.ts";
import { UnavailableError } from "../../errors.ts";
import { readBytes } from "../../lib/body.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Outbound } from "../../lib/outbound.ts";
import { signAwsRequest } from "../../providers/auth/aws.ts";

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

/** An S3-compatible store. */
export interface S3Settings {
  /** Base address, such as `https://s3.eu-central-1.amazonaws.com`; the bucket is the first segment of the path. */
  endpoint: string;
  region: string;
  bucket: string;
  /** Prefix of object names; default none. */
  prefix?: string;
  accessKeyId: string;
  secretAccessKey: string;
}

const answerTimeoutMs = 60_000;
const s3PieceBytes = 8 * 1024 * 1024;
/** Limits of a sealed piece. */
const answerBounds = { bytes: s3PieceBytes + 64, totalMs: answerTimeoutMs, silenceMs: answerTimeoutMs };

/** Stores pieces as objects of an S3-compatible store (https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutObject.html). */
export function createS3Pieces(settings: S3Settings, tools: { outbound: Outbound; clock: Clock }): PieceStore {
  const { bucket, region, accessKeyId, secretAccessKey, prefix = "" } = settings;
  const base = `${settings.endpoint.replace(/\/+$/, "")}/${encodeURIComponent(bucket)}`;
  const urlOf = ({ organisationId, workspaceId, id }: FilePlace, seq: number) =>
    [base, ...`${prefix}${organisationId}/${workspaceId}/${id}/${seq}`.split("/").map(encodeURIComponent)].join("/");
  const send = async (method: string, url: string, body?: Uint8Array): Promise<Response> => {
    const type = body && { "content-type": "application/octet-stream" };
    const headers = { "x-amz-content-sha256": "", ...type };
    const request = { method, url, headers, body };
    const signed = await signAwsRequest(
      request,
      { accessKeyId, secretAccessKey },
      { service: "s3", region, now: tools.clock.now() },
    );
    try {
      return await tools.outbound(url, {
        method,
        origin: "fixed",
        signal: AbortSignal.timeout(answerTimeoutMs),
        headers: { ...headers, ...signed },
        ...(body && { body }),
      });
    } catch (cause) {
      return refuseContent(cause);
    }
  };
  const discard = (response: Response) => response.body?.cancel().catch(() => {});
  return {
    name: "s3",
    pieceBytes: s3PieceBytes,
    async put(place, seq, content) {
      const response = await send("PUT", urlOf(place, seq), content);
      discard(response);
      if (response.status === 200) return [];
      throw new UnavailableError("Cannot store the file: the store rejected it", {
        cause: new Error(`the S3 store returned ${response.status}`),
        code: "file_store_unavailable",
        retryAfterSeconds: 5,
      });
    },
    async get(place, seq) {
      const response = await send("GET", urlOf(place, seq));
      if (response.status === 200) return readBytes(response, answerBounds).catch(refuseContent);
      discard(response);
      return refuseContent(new Error(`the S3 store returned ${response.status}`));
    },
    async remove(place, pieces) {
      for (let seq = 0; seq < pieces; seq++) {
        const response = await send("DELETE", urlOf(place, seq));
        discard(response);
        if (response.status >= 300 && response.status !== 404) {
          refuseContent(new Error(`the S3 store returned ${response.status}`));
        }
      }
      return [];
    },
  };
}
