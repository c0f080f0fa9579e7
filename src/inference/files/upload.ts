import * as v from "valibot";
import type { CallerContext } from "../../context.ts";
import type { GatewayFileRow } from "../../db/tables/files.ts";
import { toBodyError } from "../../endpoint/body.ts";
import { InvalidRequestError, UnsupportedMediaError } from "../../errors.ts";
import { countBytes, uploadTimes } from "../../lib/body.ts";
import { isObject, parseJson } from "../../lib/json.ts";
import { boundaryOf } from "../../lib/multipart.ts";
import { MultipartError, type MultipartPart, readMultipart } from "../../lib/multipart-stream.ts";
import { hasControlCharacter } from "../../lib/path.ts";
import { ExpiresAfter, filePurposes } from "../../schemas/files.ts";
import { tenantOf } from "./gateway-store.ts";

/** Most bytes of a form besides the file. */
export const formBytes = 1024 * 1024;
/** Longest field other than the file. */
const maxFieldBytes = 64 * 1024;
/** How much of a line is examined for an object. */
const maxProbe = 1024 * 1024;

function refuseUpload(message: string, param: string, code = "invalid_body"): never {
  throw new InvalidRequestError(message, { param, code });
}

async function readField({ name, body }: MultipartPart): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const piece of body) {
    text += decoder.decode(piece, { stream: true });
    if (text.length > maxFieldBytes) refuseUpload(`Cannot read the form: ${name} is too long`, name);
  }
  return text + decoder.decode();
}

/** Checks streamed content: it must be text with at least one line that is a JSON object. */
class JsonLinesProbe {
  readonly #decoder = new TextDecoder("utf-8", { fatal: true });
  #line = "";
  isText = true;
  hasObject = false;
  bytes = 0;

  async *watch(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
    for await (const piece of content) {
      this.bytes += piece.length;
      this.#look(piece, true);
      yield piece;
    }
    this.#look(new Uint8Array(0), false);
    if (!this.hasObject) this.hasObject = isObject(parseJson(this.#line));
  }

  #look(piece: Uint8Array, isMore: boolean): void {
    if (!this.isText) return;
    try {
      const text = this.#decoder.decode(piece, { stream: isMore });
      if (!this.hasObject) this.#find(text);
    } catch {
      this.isText = false;
    }
  }

  #find(text: string): void {
    const lines = (this.#line + text).split("\n");
    this.#line = lines.pop() ?? "";
    // validating a batch reports what is wrong with each line; this only checks that there are lines of JSON
    this.hasObject = lines.some((line) => isObject(parseJson(line))) || this.#line.length > maxProbe;
  }
}

/** Purposes whose files are lines of JSON. */
const linePurposes: readonly string[] = ["batch", "fine-tune"];

function requirePurpose(purpose: string | undefined): string {
  if (purpose === undefined) return refuseUpload("Cannot store the file: the form has no purpose", "purpose");
  if (filePurposes.some((known) => known === purpose)) return purpose;
  return refuseUpload(`Cannot store the file: purpose is one of ${filePurposes.join(", ")}`, "purpose");
}

function requireContent(probe: JsonLinesProbe, purpose: string): void {
  if (probe.bytes === 0) refuseUpload("Cannot store the file: it is empty", "file", "invalid_file");
  if (!linePurposes.includes(purpose)) return;
  if (!probe.isText) refuseUpload("Cannot store the file: it is not UTF-8", "file", "invalid_file");
  if (probe.hasObject) return;
  refuseUpload("Cannot store the file: no line of it is a JSON object; send JSON Lines", "file", "invalid_file");
}

/** When the file expires, from `expires_after[anchor]` and `expires_after[seconds]`, or from one JSON field. */
function readExpiry(fields: ReadonlyMap<string, string>, createdAt: number): number | null {
  const whole = fields.get("expires_after");
  const anchor = fields.get("expires_after[anchor]");
  const seconds = fields.get("expires_after[seconds]");
  if (whole === undefined && anchor === undefined && seconds === undefined) return null;
  const given = whole === undefined ? { anchor: anchor ?? "created_at", seconds: Number(seconds) } : parseJson(whole);
  const checked = v.safeParse(ExpiresAfter, given);
  if (checked.success) return createdAt + checked.output.seconds * 1000;
  return refuseUpload(
    "Cannot use expires_after: anchor must be created_at, and seconds from 3600 to 2592000",
    "expires_after",
    "invalid_body",
  );
}

function requireName(name: string | undefined): string {
  const text = (name ?? "").toWellFormed();
  if (text === "" || text.length > 255)
    return refuseUpload("Cannot store the file: its name must have 1 to 255 characters", "file");
  if (hasControlCharacter(text)) refuseUpload("Cannot store the file: its name holds control characters", "file");
  return text;
}

/** The form of an upload, read once and in order: fields before the file, the file, fields after it. */
class UploadForm {
  readonly #parts: AsyncGenerator<MultipartPart, void>;
  readonly #fields = new Map<string, string>();

  constructor(parts: AsyncGenerator<MultipartPart, void>, purpose: string | null) {
    this.#parts = parts;
    if (purpose !== null) this.#fields.set("purpose", purpose);
  }

  /** Reads fields up to the next file; undefined when there is no file left. */
  async nextFile(): Promise<MultipartPart | undefined> {
    for (;;) {
      const { done, value } = await this.#parts.next();
      if (done || !value) return undefined;
      if (value.name === "file" && value.filename !== undefined) return value;
      this.#fields.set(value.name, await readField(value));
    }
  }

  async store(context: CallerContext): Promise<GatewayFileRow> {
    const file = await this.nextFile();
    if (!file) return refuseUpload("Cannot store the file: the form has no file", "file");
    const filename = requireName(file.filename);
    const early = this.#fields.get("purpose");
    if (early !== undefined) requirePurpose(early);
    const probe = new JsonLinesProbe();
    return context.services.files.upload(tenantOf(context), {
      filename,
      content: probe.watch(file.body),
      complete: async (createdAt) => {
        if (await this.nextFile()) refuseUpload("Cannot store the file: the form has more than one file", "file");
        const purpose = requirePurpose(this.#fields.get("purpose"));
        requireContent(probe, purpose);
        return { purpose, expiresAt: readExpiry(this.#fields, createdAt) };
      },
    });
  }
}

/**
 * Stores the file of a form while it arrives; its parts may come in any order.
 *
 * @throws {GatewayError} 400 for a form without file or purpose, 413 for one that is too large, 415 for another body.
 */
export async function receiveFile(context: CallerContext): Promise<GatewayFileRow> {
  const boundary = boundaryOf(context.headers.get("content-type"));
  const { body } = context.request;
  if (boundary === undefined || body === null) {
    throw new UnsupportedMediaError("Cannot store the file: send multipart/form-data", {
      param: "content-type",
      code: "invalid_content_type",
    });
  }
  const bytes = context.services.files.limits.fileBytes + formBytes;
  const parts = readMultipart(countBytes(body, { bytes, ...uploadTimes }), boundary);
  try {
    return await new UploadForm(parts, context.header("file-purpose")).store(context);
  } catch (error) {
    if (error instanceof MultipartError) refuseUpload(error.message, "file");
    throw toBodyError(error, bytes);
  } finally {
    // does not wait for the rest of the body
    parts.return().catch(() => {});
  }
}
