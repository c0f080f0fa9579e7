import type { CallerContext } from "../../context.ts";
import { toBodyError } from "../../endpoint.ts";
import { GatewayError, InvalidRequestError, NotFoundError, UnsupportedMediaError } from "../../errors.ts";
import { countBytes, uploadTimes } from "../../lib/body.ts";
import { readLines } from "../../lib/lines.ts";
import { boundaryOf } from "../../lib/multipart.ts";
import { MultipartError, type MultipartPart, readMultipart } from "../../lib/multipart-stream.ts";
import type { Reply } from "../../lib/reply.ts";
import type { ObjectRules } from "../../providers/records.ts";
import type { BoundProvider } from "../../providers/types.ts";
import { routingHeaders } from "../answer.ts";
import type { Attempt } from "../attempt.ts";
import { isBlank, maxLineBytes, parseLine } from "../batches/lines.ts";
import { flowBack } from "../flow.ts";
import { type RecordTarget, readRecord, recordReply, sendRecord } from "./send.ts";

/** Length of the parts of an upload: S3 takes none below 5 MiB but the last. */
const partBytes = 8 * 1024 * 1024;

/** Objects of a store, and how it is reached. */
export interface ObjectStore {
  rules: ObjectRules;
  store: BoundProvider;
}

/**
 * Where an object lies.
 *
 * @throws {NotFoundError} 404 for what is no id of the bucket that may be reached.
 */
export function requireObject(id: string, { rules }: ObjectStore, { destination }: RecordTarget): string {
  const found = rules.find(id);
  if (destination.managed && rules.bucket === undefined) {
    throw new InvalidRequestError("Cannot reach files with a stored provider: set the bucket on its integration", {
      ...{ code: "bucket_required", param: "file_id" },
    });
  }
  if (found && (rules.bucket === undefined || rules.bucket === found.bucket)) return found.path;
  throw new NotFoundError("Cannot find this file: there is none with this id", {
    code: "file_not_found",
    param: "file_id",
  });
}

function refuse(message: string, param = "file"): never {
  throw new InvalidRequestError(message, { param, code: "invalid_file" });
}

/** Rows of a file as the provider takes them, made while its lines come. */
async function* toRows(
  file: MultipartPart,
  purpose: string,
  rules: ObjectRules,
  log: CallerContext["log"],
): AsyncGenerator<Uint8Array, void> {
  const encoder = new TextEncoder();
  const drop = (member: string) => {
    log.dropped ??= [];
    if (!log.dropped.includes(member)) log.dropped.push(member);
  };
  let number = 0;
  for await (const line of readLines(file.body, { maxBytes: maxLineBytes })) {
    number++;
    if (isBlank(line)) continue;
    if (purpose !== "batch") {
      yield line.bytes;
      yield encoder.encode("\n");
      continue;
    }
    const parsed = parseLine(line, "/v1/chat/completions");
    if ("problem" in parsed) return refuse(`Cannot convert line ${number}: ${parsed.problem.message}`);
    try {
      yield encoder.encode(`${JSON.stringify(rules.toRow(parsed.request, purpose, { drop }))}\n`);
    } catch (cause) {
      if (!(cause instanceof GatewayError)) throw cause;
      throw new InvalidRequestError(`Cannot convert line ${number}: ${cause.message}`, {
        ...{ cause, param: cause.param ?? "file", code: cause.code ?? "invalid_file" },
      });
    }
  }
}

/** Pieces put together to parts; the last one may be shorter. */
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
  if (written === undefined) refuse("Cannot store the file: the store began no upload");
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
    // this one may fail after its status was said
    if (/<Error>/.test(ended.text)) refuse("Cannot store the file: the store did not put its parts together");
    return { upstream: ended.upstream, bytes };
  } catch (error) {
    await readRecord(target, { method: "DELETE", path: `${path}?${upload}`, store }).catch(() => {});
    throw error;
  }
}

/** Uploads as one stream. */
async function sendStream(
  rows: AsyncGenerator<Uint8Array, void>,
  { path, headers }: { path: string; headers: Readonly<Record<string, string>> },
  { store }: ObjectStore,
  target: RecordTarget,
): Promise<{ upstream: Response; bytes: number }> {
  let bytes = 0;
  let failure: unknown;
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await rows.next();
          if (done || !value) return controller.close();
          bytes += value.length;
          controller.enqueue(value);
        } catch (error) {
          failure = error;
          controller.error(error);
        }
      },
    },
    { highWaterMark: 0 },
  );
  try {
    const { upstream } = await readRecord(target, { method: "PUT", path, headers, body, store });
    return { upstream, bytes };
  } catch (error) {
    // what was wrong with the file says more than the call that broke off
    throw failure ?? error;
  }
}

/** Stores the file of a form as an object; its purpose comes before it, or in a header. */
export async function uploadObject(target: RecordTarget, objects: ObjectStore): Promise<Reply> {
  const { context, services } = target;
  const boundary = boundaryOf(context.headers.get("content-type"));
  const { body } = context.request;
  if (boundary === undefined || body === null) {
    throw new UnsupportedMediaError("Cannot store the file: send multipart/form-data", {
      ...{ param: "content-type", code: "invalid_content_type" },
    });
  }
  const bytes = services.limits.streamedBodyBytes;
  const parts = readMultipart(countBytes(body, { bytes, ...uploadTimes }), boundary);
  try {
    return await storeForm(parts, target, objects);
  } catch (error) {
    if (error instanceof MultipartError) refuse(error.message);
    throw toBodyError(error, bytes);
  } finally {
    parts.return().catch(() => {});
  }
}

async function storeForm(
  parts: AsyncGenerator<MultipartPart, void>,
  target: RecordTarget,
  objects: ObjectStore,
): Promise<Reply> {
  const { context, services } = target;
  let purpose = context.header("file-purpose");
  for await (const part of parts) {
    if (part.name === "purpose") purpose = await readShort(part);
    if (part.name !== "file") continue;
    if (purpose === null)
      refuse("Cannot store the file: name its purpose before it, or in x-gateway-file-purpose", "purpose");
    if (!/\.jsonl$/i.test(part.filename ?? "")) refuse("Cannot store the file: its name must end in .jsonl");
    const place = objects.rules.place(context.id);
    const rows = toRows(part, purpose, objects.rules, context.log);
    const sent = await (objects.rules.upload === "parts" ? sendParts : sendStream)(rows, place, objects, target);
    const created_at = Math.floor(services.clock.now() / 1000);
    const file = { id: place.id, object: "file", bytes: sent.bytes, created_at, filename: part.filename ?? "" };
    return recordReply({ ...file, purpose, status: "processed" }, sent.upstream, target);
  }
  return refuse("Cannot store the file: the form has none");
}

async function readShort({ body }: MultipartPart): Promise<string> {
  let text = "";
  for await (const piece of body) {
    text += new TextDecoder().decode(piece);
    if (text.length > 1_000) refuse("Cannot read the form: its purpose is too long", "purpose");
  }
  return text;
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
  { context, services, destination }: RecordTarget,
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
  const flow = { attempt, provider: slug, keepText: false };
  return flowBack({ status: 200, headers, body: stream }, flow, context, services);
}

/** Pieces of an answer. */
export async function* readPieces({ body }: Response): AsyncGenerator<Uint8Array, void> {
  const reader = body?.getReader();
  if (!reader) return;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** Content of an object. */
export async function downloadObject(id: string, target: RecordTarget, objects: ObjectStore): Promise<Reply> {
  const path = requireObject(id, objects, target);
  const { upstream, attempt } = await sendRecord(target, { method: "GET", path, store: objects.store });
  return streamReply(readPieces(upstream), attempt, target);
}
