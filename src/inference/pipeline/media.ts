import type { CallerContext } from "../../context.ts";
import { type HeldForm, toBodyError } from "../../endpoint.ts";
import { BodyError, countBytes, uploadTimes } from "../../lib/body.ts";
import { toParts } from "../../lib/form.ts";
import { FieldWatcher } from "../../lib/form-watcher.ts";
import { boundaryOf, FormFile, writeForm } from "../../lib/multipart.ts";
import type { Reply } from "../../lib/reply.ts";
import { FormRequest } from "../../providers/core/operations.ts";
import type { ServedOperation } from "../adapt/operation.ts";
import type { Attempt } from "../call/attempt.ts";
import { unifiedHeaders } from "../call/provider-response.ts";
import { flowBack, isText } from "../stream/byte-relay.ts";

/** A form on its way through: nothing of it is known before it is sent. */
interface FlowingForm {
  /** With its boundary. */
  contentType: string;
  /** Its length in bytes, where the client told it. */
  length: string | undefined;
  stream: ReadableStream<Uint8Array>;
  /** Why it could not be read, once it could not. */
  failure(): unknown;
}

/** A form as it came. */
export type SentForm = HeldForm | FlowingForm;

/** Whether a form flows through. */
export function isFlow(form: SentForm | undefined): form is FlowingForm {
  return form !== undefined && "stream" in form;
}

/**
 * The form of a request as a stream that can be sent once.
 *
 * @throws {BodyTooLargeError} 413, here or as the `failure` of the stream.
 */
export function takeFlow({ request, headers, log, services: { limits } }: CallerContext): FlowingForm {
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

/** Whether a body can only travel as a form. */
function holdsFiles(body: unknown): boolean {
  return Object.values(Object(body)).some((value) =>
    Array.isArray(value) ? value.some((item) => item instanceof FormFile) : value instanceof FormFile,
  );
}

/** The body of an upstream's request with the headers that belong to it: the client's form as it came where nothing of it changed. */
export function encodeBody(
  operation: ServedOperation,
  form: SentForm | undefined,
): { body: string | Uint8Array | ReadableStream<Uint8Array>; headers: Record<string, string> } {
  if (isFlow(form)) {
    const { contentType, length, stream } = form;
    const headers = { "content-type": contentType, ...(length !== undefined && { "content-length": length }) };
    return { body: stream, headers };
  }
  const made = operation.body();
  if (form && made === form.fields) return { body: form.bytes, headers: { "content-type": form.contentType } };
  const isForm = made instanceof FormRequest || operation.media.isForm || holdsFiles(made);
  if (!isForm) return { body: JSON.stringify(made), headers: { "content-type": "application/json" } };
  const boundary = `form-${crypto.randomUUID()}`;
  const members = made instanceof FormRequest ? made.members : Object(made);
  return {
    body: writeForm(toParts(members, form?.listNames), boundary),
    headers: { "content-type": `multipart/form-data; boundary=${boundary}` },
  };
}

/** An upstream's answer that goes to the client as it comes. */
export function answerFlow(
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
  // its coding was undone
  const keepText = isText(headers["content-type"], null);
  const reply = { status, headers, body: upstream.body };
  return flowBack(reply, { attempt, provider, keepText }, context);
}

/** Longest text of an answer's members that a log keeps where they hold media. */
const maxShown = 4_096;

/** An answer as text for the log, without the pictures or sound in it. */
export function withoutMedia(answer: object): string {
  return JSON.stringify(answer, (_name, value: unknown) =>
    typeof value === "string" && value.length > maxShown ? `(${value.length} characters)` : value,
  );
}
