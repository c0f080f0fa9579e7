import type { CallerContext } from "../../context.ts";
import { toBodyError } from "../../endpoint/body.ts";
import type { HeldForm } from "../../endpoint.ts";
import { BodyError, countBytes, uploadTimes } from "../../lib/body.ts";
import { toParts } from "../../lib/form.ts";
import { FieldWatcher } from "../../lib/form-watcher.ts";
import { isObject } from "../../lib/json.ts";
import { boundaryOf, FormFile, writeForm } from "../../lib/multipart.ts";
import type { ReceivedJson } from "../../lib/received-json.ts";
import type { Reply } from "../../lib/reply.ts";
import { FormRequest } from "../../providers/core/operations.ts";
import type { Attempt } from "../../upstream/attempt.ts";
import type { ServedOperation } from "../adapt/operation.ts";
import { unifiedHeaders } from "../call/provider-response.ts";
import { forwardBody, isText } from "../stream/byte-relay.ts";

/** A streamed form: none of its fields are known before it is sent. */
interface StreamedForm {
  /** With the form's boundary. */
  contentType: string;
  /** Its length in bytes, if the client sent it. */
  length: string | undefined;
  stream: ReadableStream<Uint8Array>;
  /** The error that ended reading it. */
  failure(): unknown;
}

/** A form as it came. */
export type SentForm = HeldForm | StreamedForm;

/** Whether a form is streamed. */
export function isStreamedForm(form: SentForm | undefined): form is StreamedForm {
  return form !== undefined && "stream" in form;
}

/**
 * The form of a request as a stream that can be sent once.
 *
 * @throws {BodyTooLargeError} 413, here or as the `failure` of the stream.
 */
export function streamForm({ request, headers, log, services: { limits } }: CallerContext): StreamedForm {
  const maxBytes = limits.formBodyBytes;
  const length = headers.get("content-length");
  if (Number(length) > maxBytes) throw toBodyError(new BodyError("too_large"), maxBytes);
  const body = request.body ?? new ReadableStream<Uint8Array>({ start: (controller) => controller.close() });
  const reader = countBytes(body, { bytes: maxBytes, ...uploadTimes }).getReader();
  const contentType = headers.get("content-type") ?? "";
  const watcher = new FieldWatcher(boundaryOf(contentType) ?? "", (name, text) => {
    if (name === "model") log.model = text;
    if (name === "stream") log.stream = text === "true";
  });
  let failure: unknown;
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (done) return controller.close();
          watcher.push(value);
          controller.enqueue(value);
        } catch (error) {
          failure = toBodyError(error, maxBytes);
          throw error;
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
  return { contentType, length, stream, failure: () => failure };
}

/** Whether a body can only be sent as a form. */
function holdsFiles(body: unknown): boolean {
  for (const value of Object.values(Object(body))) {
    if (value instanceof FormFile) return true;
    if (Array.isArray(value)) for (const item of value) if (item instanceof FormFile) return true;
  }
  return false;
}

const encoder = new TextEncoder();

/**
 * The body of an upstream's request with its headers: the bytes of the client where nothing changed. `made` is the
 * value of a JSON body.
 *
 * @param received The client's JSON, if its numbers can be sent as they were parsed.
 */
export function encodeBody(
  operation: ServedOperation,
  form: SentForm | undefined,
  received: ReceivedJson | undefined,
): { body: string | Uint8Array | ReadableStream<Uint8Array>; headers: Record<string, string>; made?: unknown } {
  if (isStreamedForm(form)) {
    const { contentType, length, stream } = form;
    const headers = { "content-type": contentType, ...(length !== undefined && { "content-length": length }) };
    return { body: stream, headers };
  }
  const made = operation.body();
  if (form && made === form.fields) return { body: form.bytes, headers: { "content-type": form.contentType } };
  const isForm = made instanceof FormRequest || operation.media.isForm || holdsFiles(made);
  if (!isForm) {
    const headers = { "content-type": "application/json" };
    if (!received || !isObject(made)) return { body: JSON.stringify(made), headers, made };
    // it is long: the call and the log use the same bytes
    return { body: received.write(made) ?? encoder.encode(JSON.stringify(made)), headers, made };
  }
  const boundary = `form-${crypto.randomUUID()}`;
  const members = made instanceof FormRequest ? made.members : Object(made);
  return {
    body: writeForm(toParts(members, form?.listNames), boundary),
    headers: { "content-type": `multipart/form-data; boundary=${boundary}` },
  };
}

/** An upstream's response that is forwarded unchanged. */
export function forwardResponse(
  upstream: Response,
  { attempt, provider }: { attempt: Attempt; provider: string },
  context: CallerContext,
): Reply {
  const { status } = upstream;
  const headers = unifiedHeaders(upstream, provider, context);
  headers["content-type"] ??= "application/octet-stream";
  const coding = upstream.headers.get("content-encoding");
  const length = upstream.headers.get("content-length");
  if (length !== null && coding === null) headers["content-length"] = length;
  attempt.stopTimer();
  if (upstream.body === null) return { status, headers, body: null };
  // the body is already decompressed
  const logsText = isText(headers["content-type"], null);
  const reply = { status, headers, body: upstream.body };
  return forwardBody(reply, { attempt, provider, logsText }, context);
}
