import { readBytes } from "../../lib/body.ts";
import { isObject, parseJson } from "../../lib/json.ts";

/** A form with a file, written while its content arrives. */
interface FileForm {
  body: ReadableStream<Uint8Array>;
  /** With the form's boundary. */
  contentType: string;
}

/** Largest response that is read. */
const maxAnswerBytes = 1024 * 1024;

/** Chunks of a form. The purpose comes first: object stores need it before the file. */
async function* writeForm(
  content: AsyncGenerator<Uint8Array, void>,
  { purpose, filename, boundary }: { purpose: string; filename: string; boundary: string },
): AsyncGenerator<Uint8Array, void> {
  const encoder = new TextEncoder();
  const head = (disposition: string, more = "") =>
    `--${boundary}\r\ncontent-disposition: form-data; ${disposition}\r\n${more}\r\n`;
  const type = "content-type: application/jsonl\r\n";
  yield encoder.encode(`${head('name="purpose"')}${purpose}\r\n`);
  yield encoder.encode(head(`name="file"; filename="${filename}"`, type));
  yield* content;
  yield encoder.encode(`\r\n--${boundary}--\r\n`);
}

/** Writes the form of an upload. The name must hold no quotation marks. */
export function createFileForm(
  content: AsyncGenerator<Uint8Array, void>,
  { purpose, filename }: { purpose: string; filename: string },
): FileForm {
  const boundary = `gateway-${crypto.randomUUID()}`;
  const pieces = writeForm(content, { purpose, filename, boundary });
  const body = new ReadableStream<Uint8Array>(
    {
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
  return { body, contentType: `multipart/form-data; boundary=${boundary}` };
}

/** The fields of a JSON response, which is read to its end; empty where it is not an object. */
export async function readOwnAnswer(response: Response): Promise<Record<string, unknown>> {
  const bounds = { bytes: maxAnswerBytes, totalMs: Number.POSITIVE_INFINITY, silenceMs: Number.POSITIVE_INFINITY };
  const value = parseJson(new TextDecoder().decode(await readBytes(response, bounds)));
  return isObject(value) ? value : {};
}
