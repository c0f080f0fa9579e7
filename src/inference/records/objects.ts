import { InvalidRequestError, NotFoundError } from "../../errors.ts";
import { readChunks } from "../../lib/body.ts";
import type { Reply } from "../../lib/reply.ts";
import type { ObjectRules } from "../../providers/core/records.ts";
import type { BoundProvider } from "../../providers/core/types.ts";
import type { Attempt } from "../../upstream/attempt.ts";
import { routingHeaders } from "../call/provider-response.ts";
import { forwardBody } from "../stream/byte-relay.ts";
import { type RecordTarget, readRecord, recordReply, sendRecord } from "./send.ts";
import { receiveUpload, refuseUpload, sendRows, toRows } from "./upload.ts";

/** Length of the parts of an upload: S3 accepts no part below 5 MiB but the last. */
const partBytes = 8 * 1024 * 1024;

/** A store's objects, and how it is reached. */
interface ObjectStore {
  rules: ObjectRules;
  store: BoundProvider;
}

/**
 * Where an object lies.
 *
 * @throws {NotFoundError} 404 for an id that is not in the bucket that may be reached.
 */
export function requireObject(id: string, { rules }: ObjectStore, { destination }: RecordTarget): string {
  const found = rules.find(id);
  if (destination.managed && rules.bucket === undefined) {
    throw new InvalidRequestError("Cannot reach files with a stored provider: set the bucket on its integration", {
      code: "bucket_required",
      param: "file_id",
    });
  }
  if (found && (rules.bucket === undefined || rules.bucket === found.bucket)) return found.path;
  throw new NotFoundError("Cannot find this file: no file has this id", {
    code: "file_not_found",
    param: "file_id",
  });
}

/** Joins chunks into parts; the last one may be shorter. */
async function* toParts(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  let held: Uint8Array[] = [];
  let length = 0;
  const join = () => {
    const part = new Uint8Array(length);
    let position = 0;
    for (const piece of held) {
      part.set(piece, position);
      position += piece.length;
    }
    held = [];
    length = 0;
    return part;
  };
  for await (const piece of pieces) {
    held.push(piece.slice());
    length += piece.length;
    if (length >= partBytes) yield join();
  }
  yield join();
}

/** Uploads in parts (https://docs.aws.amazon.com/AmazonS3/latest/userguide/mpuoverview.html). */
async function sendParts(
  rows: AsyncIterable<Uint8Array>,
  { path, headers }: { path: string; headers: Readonly<Record<string, string>> },
  { store }: ObjectStore,
  target: RecordTarget,
): Promise<{ upstream: Response; bytes: number }> {
  const begun = await readRecord(target, { method: "POST", path: `${path}?uploads=`, headers, store });
  const [, written] = /<UploadId>([^<]{1,1024})<\/UploadId>/.exec(begun.text) ?? [];
  if (written === undefined) refuseUpload("Cannot store the file: the object store did not start the upload");
  const upload = `uploadId=${encodeURIComponent(written.replaceAll("&amp;", "&"))}`;
  const tags: string[] = [];
  let bytes = 0;
  try {
    for await (const body of toParts(rows)) {
      const number = tags.length + 1;
      const { upstream } = await readRecord(target, {
        method: "PUT",
        path: `${path}?partNumber=${number}&${upload}`,
        body,
        store,
      });
      tags.push(`<Part><PartNumber>${number}</PartNumber><ETag>${upstream.headers.get("etag") ?? ""}</ETag></Part>`);
      bytes += body.length;
    }
    const body = new TextEncoder().encode(`<CompleteMultipartUpload>${tags.join("")}</CompleteMultipartUpload>`);
    const type = { "content-type": "application/xml" };
    const ended = await readRecord(target, { method: "POST", path: `${path}?${upload}`, headers: type, body, store });
    // this call may fail after its status was sent
    if (/<Error>/.test(ended.text)) refuseUpload("Cannot store the file: the object store did not complete the upload");
    return { upstream: ended.upstream, bytes };
  } catch (error) {
    await readRecord(target, { method: "DELETE", path: `${path}?${upload}`, store }).catch(() => {});
    throw error;
  }
}

/** Uploads as one stream. */
async function sendWhole(
  rows: AsyncGenerator<Uint8Array, void>,
  { path, headers }: { path: string; headers: Readonly<Record<string, string>> },
  { store }: ObjectStore,
  target: RecordTarget,
): Promise<{ upstream: Response; bytes: number }> {
  const { upstream, bytes } = await sendRows(rows, { method: "PUT", path, headers, store }, target);
  return { upstream, bytes };
}

/** Stores the file of a form as an object; the purpose comes before the file, or in a header. */
export function uploadObject(target: RecordTarget, objects: ObjectStore): Promise<Reply> {
  const { context } = target;
  const { services } = context;
  const { rules } = objects;
  return receiveUpload(target, async ({ filename, purpose, file }) => {
    const place = rules.place(context.id);
    const rows = toRows({ file, purpose }, { ...rules, endpoint: "/v1/chat/completions" }, context.log);
    const sent = await (rules.upload === "parts" ? sendParts : sendWhole)(rows, place, objects, target);
    const created_at = Math.floor(services.clock.now() / 1000);
    const stored = { id: place.id, object: "file", bytes: sent.bytes, created_at, filename };
    return recordReply({ ...stored, purpose, status: "processed" }, sent.upstream, target);
  });
}

/** What is known of an object without its content. */
export async function showObject(id: string, target: RecordTarget, objects: ObjectStore): Promise<Reply> {
  const path = requireObject(id, objects, target);
  const { upstream, attempt } = await sendRecord(target, { method: "HEAD", path, store: objects.store });
  attempt.release();
  const modified = Date.parse(upstream.headers.get("last-modified") ?? "");
  const created_at = Number.isNaN(modified) ? 0 : Math.floor(modified / 1000);
  const bytes = Number(upstream.headers.get("content-length") ?? 0);
  const filename = decodeURIComponent(path.slice(path.lastIndexOf("/") + 1));
  const file = { id, object: "file", bytes, created_at, filename, purpose: "batch", status: "processed" };
  return recordReply(file, upstream, target);
}

/** A body as it comes; the call ends with it. */
export function streamReply(
  body: AsyncGenerator<Uint8Array, void>,
  attempt: Attempt,
  { context, destination }: RecordTarget,
): Reply {
  const { log } = context;
  const { slug } = destination.provider;
  attempt.stopTimer();
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await body.next();
          if (!done && value) controller.enqueue(value);
          else controller.close();
        } catch (error) {
          controller.error(error);
        }
      },
      async cancel() {
        await body.return();
      },
    },
    { highWaterMark: 0 },
  );
  const headers = {
    "content-type": "application/octet-stream",
    ...routingHeaders(slug, log),
  };
  const flow = { attempt, provider: slug, logsText: false };
  return forwardBody({ status: 200, headers, body: stream }, flow, context);
}

/** Content of an object. */
export async function downloadObject(id: string, target: RecordTarget, objects: ObjectStore): Promise<Reply> {
  const path = requireObject(id, objects, target);
  const { upstream, attempt } = await sendRecord(target, { method: "GET", path, store: objects.store });
  return streamReply(readChunks(upstream), attempt, target);
}
