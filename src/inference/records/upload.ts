import type { CallerContext } from "../../context.ts";
import { toBodyError } from "../../endpoint/body.ts";
import { GatewayError, InvalidRequestError, UnsupportedMediaError } from "../../errors.ts";
import { countBytes, uploadTimes } from "../../lib/body.ts";
import { readLines } from "../../lib/lines.ts";
import { boundaryOf } from "../../lib/multipart.ts";
import { MultipartError, type MultipartPart, readMultipart } from "../../lib/multipart-stream.ts";
import type { Reply } from "../../lib/reply.ts";
import type { FormRules, ToRow } from "../../providers/core/records.ts";
import { isBlank, maxLineBytes, parseLine } from "../batches/lines.ts";
import { noteDropped } from "../call/provider-response.ts";
import { convertRecord, parseRecord, type RecordSend, type RecordTarget, readRecord, recordReply } from "./send.ts";

/** Most bytes of a field other than the file. */
const maxFieldBytes = 1_000;

/** A file of a form that is still arriving. */
interface ReceivedFile {
  filename: string;
  purpose: string;
  file: MultipartPart;
}

/** @throws {InvalidRequestError} 400 for a file that cannot be stored. */
export function refuseUpload(message: string, param = "file"): never {
  throw new InvalidRequestError(message, { param, code: "invalid_file" });
}

/**
 * Lines of a file in the provider's shape, converted while they arrive. Lines that name no route are for `endpoint`.
 */
export async function* toRows(
  { file, purpose }: Pick<ReceivedFile, "file" | "purpose">,
  { toRow, endpoint }: { toRow: ToRow; endpoint: string },
  log: CallerContext["log"],
): AsyncGenerator<Uint8Array, void> {
  const encoder = new TextEncoder();
  const drop = (member: string) => noteDropped(log, member);
  let number = 0;
  for await (const line of readLines(file.body, { maxBytes: maxLineBytes })) {
    number++;
    if (isBlank(line)) continue;
    if (purpose !== "batch") {
      yield line.bytes;
      yield encoder.encode("\n");
      continue;
    }
    const parsed = parseLine(line, endpoint);
    if ("problem" in parsed) return refuseUpload(`Cannot convert line ${number}: ${parsed.problem.message}`);
    try {
      yield encoder.encode(`${parsed.write(toRow(parsed.request, purpose, { drop }))}\n`);
    } catch (cause) {
      if (!(cause instanceof GatewayError)) throw cause;
      throw new InvalidRequestError(`Cannot convert line ${number}: ${cause.message}`, {
        cause,
        param: cause.param ?? "file",
        code: cause.code ?? "invalid_file",
      });
    }
  }
}

/** Sends lines as they are converted; `wrap` puts further bytes around them. */
export async function sendRows(
  rows: AsyncGenerator<Uint8Array, void>,
  call: Omit<RecordSend, "body">,
  target: RecordTarget,
  wrap: { head?: Uint8Array; tail?: Uint8Array } = {},
): Promise<{ upstream: Response; text: string; bytes: number }> {
  let bytes = 0;
  let failure: unknown;
  async function* pieces(): AsyncGenerator<Uint8Array, void> {
    if (wrap.head) yield wrap.head;
    for await (const row of rows) {
      bytes += row.length;
      yield row;
    }
    if (wrap.tail) yield wrap.tail;
  }
  const source = pieces();
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await source.next();
          if (done || !value) return controller.close();
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
    return { ...(await readRecord(target, { ...call, body })), bytes };
  } catch (error) {
    // what was wrong with the file says more than the aborted call
    throw failure ?? error;
  }
}

/**
 * Reads a form up to its file, which `store` reads. The purpose comes before the file, or in a header.
 *
 * @throws {GatewayError} 400 for a form without file or purpose, 415 for another body.
 */
export async function receiveUpload(
  { context }: RecordTarget,
  store: (received: ReceivedFile) => Promise<Reply>,
): Promise<Reply> {
  const boundary = boundaryOf(context.headers.get("content-type"));
  const { body } = context.request;
  if (boundary === undefined || body === null) {
    throw new UnsupportedMediaError("Cannot store the file: send multipart/form-data", {
      param: "content-type",
      code: "invalid_content_type",
    });
  }
  const bytes = context.services.limits.streamedBodyBytes;
  const parts = readMultipart(countBytes(body, { bytes, ...uploadTimes }), boundary);
  try {
    return await store(await findFile(parts, context.header("file-purpose")));
  } catch (error) {
    if (error instanceof MultipartError) refuseUpload(error.message);
    throw toBodyError(error, bytes);
  } finally {
    parts.return().catch(() => {});
  }
}

async function findFile(parts: AsyncGenerator<MultipartPart, void>, named: string | null): Promise<ReceivedFile> {
  let purpose = named;
  for (;;) {
    // a loop over the parts would end them when it is left
    const { done, value: part } = await parts.next();
    if (done || !part) return refuseUpload("Cannot store the file: the form has no file");
    if (part.name === "purpose") purpose = await readShort(part);
    if (part.name !== "file") continue;
    if (purpose === null) {
      refuseUpload("Cannot store the file: name its purpose before it, or in x-gateway-file-purpose", "purpose");
    }
    if (!/\.jsonl$/i.test(part.filename ?? "")) refuseUpload("Cannot store the file: its name must end in .jsonl");
    return { filename: part.filename ?? "", purpose, file: part };
  }
}

/** Text of a field; chunks may split a character. */
async function readShort({ body }: MultipartPart): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const piece of body) {
    bytes += piece.length;
    if (bytes > maxFieldBytes) refuseUpload("Cannot read the form: its purpose is too long", "purpose");
    text += decoder.decode(piece, { stream: true });
  }
  return text + decoder.decode();
}

/** Sends the file of a form in the provider's shape, line by line. */
export function uploadForm(target: RecordTarget, rules: FormRules): Promise<Reply> {
  const { context } = target;
  const { services } = context;
  const encoder = new TextEncoder();
  return receiveUpload(target, async ({ filename, purpose, file }) => {
    if (purpose !== "batch")
      refuseUpload("Cannot store the file: this provider accepts the purpose batch only", "purpose");
    const boundary = `gateway-${context.id}`;
    const disposition = `form-data; name="${rules.field}"; filename="input.jsonl"`;
    const head = `--${boundary}\r\ncontent-disposition: ${disposition}\r\ncontent-type: application/jsonl\r\n\r\n`;
    const wrap = { head: encoder.encode(head), tail: encoder.encode(`\r\n--${boundary}--\r\n`) };
    const headers = { "content-type": `multipart/form-data; boundary=${boundary}` };
    const call = { method: "POST", path: rules.path(filename), headers };
    const sent = await sendRows(toRows({ file, purpose }, rules, context.log), call, target, wrap);
    const answer = parseRecord(sent.text, target);
    const facts = { bytes: sent.bytes, filename, purpose, created_at: Math.floor(services.clock.now() / 1000) };
    return recordReply({ ...facts, ...convertRecord(() => rules.fromUpstream(answer), target) }, sent.upstream, target);
  });
}
