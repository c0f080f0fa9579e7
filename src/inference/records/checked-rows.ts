import { type CallerContext, createHeaderReader } from "../../context.ts";
import { toBodyError } from "../../endpoint/body.ts";
import { GuardrailDeniedError, InvalidRequestError } from "../../errors.ts";
import { runHooks } from "../../guardrails/run.ts";
import type { PhaseOutcome, Subject } from "../../guardrails/subject.ts";
import type { Body, Hook, RequestType } from "../../guardrails/types.ts";
import { closes } from "../../guardrails/visible-hooks.ts";
import { countBytes, uploadTimes } from "../../lib/body.ts";
import { type ExactValue, parseExactBytes } from "../../lib/exact-numbers.ts";
import { HeaderMap } from "../../lib/headers.ts";
import { findJsonExcess, isObject } from "../../lib/json.ts";
import { type Line, readLines } from "../../lib/lines.ts";
import { boundaryOf, writePartHead } from "../../lib/multipart.ts";
import { MultipartError, type MultipartPart, readMultipart } from "../../lib/multipart-stream.ts";
import { batchOperations, isBlank, maxLineBytes } from "../batches/lines.ts";
import { toHookResults } from "../facts/hook-results.ts";
import { kindOf, rowKind } from "../facts/request-types.ts";
import { RequestGuard } from "../guard/request-guard.ts";
import { listLeaves } from "../target/config-target.ts";
import type { RequestConfig } from "../target/saved-config.ts";

const encoder = new TextEncoder();
const lineFeed = encoder.encode("\n");

/** Most bytes of the fields before a file that are held. */
const maxFieldBytes = 1024 * 1024;

/** Files whose lines are requests or examples. */
const rowFile = /\.(?:jsonl|ndjson)$/i;

/** A row of a file, and the part of it that guardrails read. */
interface Row {
  requestType: RequestType;
  body: Body;
  /** Why guardrails cannot change it; absent where they can. */
  fixedBecause?: string;
  /** The row with another body. */
  write(body: Body): string;
}

/** The request in a row of a batch, or the example in a row of training data. */
function toRow(row: Body, write: ExactValue["write"]): Row {
  const { body, url } = row;
  const operation = typeof url === "string" ? batchOperations[url] : undefined;
  if (isObject(body) && operation !== undefined) {
    const { type, fixedBecause } = kindOf(operation);
    const shared = { requestType: type, body, write: (changed: Body) => write({ ...row, body: changed }) };
    return fixedBecause === undefined ? shared : { ...shared, fixedBecause };
  }
  if (Array.isArray(row.messages)) return { requestType: "chatComplete", body: row, write };
  return { requestType: "uploadFile", body: row, write, fixedBecause: "Cannot change rows of this form" };
}

/** Checks the rows of an upload while they are sent on. */
class RowChecks {
  readonly #hooks: readonly Hook[];
  readonly #subject: Subject;
  readonly #context: CallerContext;
  failure: unknown;
  /** The first piece of a file was written. */
  hasBegun = false;
  /** Of the rows in which something was found, the results of the last one. */
  #results: PhaseOutcome["results"] = [];

  constructor(hooks: readonly Hook[], subject: Subject, context: CallerContext) {
    this.#hooks = hooks;
    this.#subject = subject;
    this.#context = context;
  }

  /** The form with the same parts, the rows of its files checked. */
  async *write(parts: AsyncGenerator<MultipartPart, void>, boundary: string): AsyncGenerator<Uint8Array, void> {
    try {
      for await (const part of parts) {
        yield encoder.encode(`--${boundary}\r\n${writePartHead(part)}\r\n\r\n`);
        if (part.filename === undefined) yield* part.body;
        else yield* this.#writeFile(part);
        yield encoder.encode("\r\n");
      }
      yield encoder.encode(`--${boundary}--\r\n`);
    } catch (error) {
      this.failure = this.#toFailure(error);
      throw this.failure;
    }
  }

  #toFailure(error: unknown): unknown {
    if (!(error instanceof MultipartError)) return toBodyError(error, this.#context.services.limits.streamedBodyBytes);
    return new InvalidRequestError(error.message, { param: "file", code: "invalid_file", cause: error });
  }

  async *#writeFile({ filename = "", body }: MultipartPart): AsyncGenerator<Uint8Array, void> {
    if (!rowFile.test(filename)) {
      this.#refuseUnread("the file is not one of JSON Lines");
      this.hasBegun = true;
      yield* body;
      return;
    }
    let number = 0;
    for await (const line of readLines(body, { maxBytes: maxLineBytes })) {
      number++;
      const checked = await this.#check(line, number);
      this.hasBegun = true;
      yield checked;
      yield lineFeed;
    }
  }

  /** @throws {GuardrailDeniedError} If a guardrail denies what it cannot inspect. */
  #refuseUnread(why: string): void {
    const closing = this.#hooks.find(closes);
    if (!closing) return;
    const name = `the guardrail ${closing.id} denies uninspected requests`;
    throw new GuardrailDeniedError(`Cannot upload the file: ${why}, and ${name}`, { isSoft: false });
  }

  async #check(line: Line, number: number): Promise<Uint8Array> {
    if (isBlank(line)) return line.bytes;
    if (line.isTooLong) {
      const message = `Cannot check line ${number}: it is longer than ${maxLineBytes / 2 ** 20} MiB`;
      throw new InvalidRequestError(message, { param: "file", code: "invalid_file" });
    }
    const row = this.#read(line);
    if (!row) {
      this.#refuseUnread(`line ${number} is not a JSON object`);
      return line.bytes;
    }
    const { requestType, body, fixedBecause } = row;
    const subject: Subject = {
      ...this.#subject,
      requestType,
      request: { ...this.#subject.request, body },
      ...(fixedBecause !== undefined && { fixedBecause }),
    };
    const outcome = await runHooks(this.#hooks, subject, this.#context.services.clock);
    if (outcome.results.some(({ verdict, transformed }) => !verdict || transformed)) this.#results = outcome.results;
    // written again: repeated fields mean different things to different readers
    if (!outcome.isDenied) return encoder.encode(row.write(outcome.body));
    throw new GuardrailDeniedError(`Cannot upload the file: a guardrail denied line ${number}; hook_results names it`, {
      hookResults: toHookResults({ before: outcome.results, after: [] }),
      isSoft: false,
    });
  }

  /** Adds the results to the row of the request. */
  note(): void {
    const { log } = this.#context;
    if (this.#results.length === 0) return;
    const { before = [], after = [], later = [] } = log.hooks ?? {};
    log.hooks = { before: [...before, ...this.#results], after, later };
  }

  #read({ bytes }: Line): Row | undefined {
    if (findJsonExcess(bytes) !== undefined) return undefined;
    try {
      const { value, write } = parseExactBytes(bytes);
      return isObject(value) ? toRow(value, write) : undefined;
    } catch {
      return undefined;
    }
  }
}

/** A stream of pieces, the first of which are there already. */
function toStream(begun: readonly Uint8Array[], pieces: AsyncGenerator<Uint8Array, void>): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        for (const piece of begun) controller.enqueue(piece);
      },
      async pull(controller) {
        const { done, value } = await pieces.next();
        if (!done && value) controller.enqueue(value);
        else controller.close();
      },
      async cancel() {
        await pieces.return();
      },
    },
    { highWaterMark: 0 },
  );
}

/** The request with another form. */
function withForm(context: CallerContext, body: ReadableStream<Uint8Array>, boundary: string): CallerContext {
  const { request, services } = context;
  const headers = new Headers(request.headers);
  headers.delete("content-length");
  headers.set("content-type", `multipart/form-data; boundary=${boundary}`);
  const known = new HeaderMap(headers);
  // `duplex` is required for streamed bodies and missing in the DOM types
  const init = { method: request.method, headers, body, signal: request.signal, duplex: "half" };
  return {
    ...context,
    headers: known,
    header: createHeaderReader(known, services.headerPrefixes),
    request: new Request(request.url, init as RequestInit), // the DOM types do not know `duplex`
    checkedFiles: "rows",
  };
}

/** An upload whose rows are checked. */
interface CheckedUpload {
  /** The request with the checked form. */
  context: CallerContext;
  /** What was wrong with the form, or why it was denied. */
  failure(): unknown;
  /** Adds the results to the row of the request. */
  note(): void;
}

/**
 * An upload whose rows are checked by the guardrails of its target while they are sent on; undefined where none reads
 * them, or where the body is no form that can be read.
 *
 * @throws {GuardrailDeniedError} If one denies the file, or its first row.
 */
export async function checkRows(
  { node, view }: RequestConfig,
  context: CallerContext,
): Promise<CheckedUpload | undefined> {
  const [leaf, ...others] = listLeaves(node);
  const boundary = boundaryOf(context.headers.get("content-type"));
  const { body } = context.request;
  if (!leaf || others.length > 0 || boundary === undefined || body === null) return undefined;
  if (context.headers.get("content-encoding") !== undefined) return undefined;
  const listening = new RequestGuard(rowKind, view, context).listenTo({ node: leaf, settings: leaf.merged }, {});
  if (!listening || listening.hooks.before.length === 0) return undefined;
  const checks = new RowChecks(listening.hooks.before, listening.subject, context);
  const bytes = context.services.limits.streamedBodyBytes;
  const parts = readMultipart(countBytes(body, { bytes, ...uploadTimes }), boundary);
  const own = `gateway-${context.id}`;
  const pieces = checks.write(parts, own);
  const begun: Uint8Array[] = [];
  let length = 0;
  try {
    // what the first row decides needs no call
    while (!checks.hasBegun && length < maxFieldBytes) {
      const { done, value } = await pieces.next();
      if (done || !value) break;
      begun.push(value);
      length += value.length;
    }
  } catch (error) {
    context.log.provider ??= listening.subject.provider || null;
    checks.note();
    throw error;
  }
  const checked = withForm(context, toStream(begun, pieces), own);
  return { context: checked, failure: () => checks.failure, note: () => checks.note() };
}
