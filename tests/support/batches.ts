import assert from "node:assert/strict";
import type { Gateway } from "../../src/gateway.ts";
import type { BatchObject } from "../../src/schemas/batches.ts";
import type { FileObject } from "../../src/schemas/files.ts";
import { readJson, type TestGateway, workspaceKey } from "./gateway.ts";

/** Anything that wraps a gateway. */
interface HasGateway {
  gateway: Gateway;
}

/** Sends a request by the workspace key, or another, that names no provider. */
export function sendOwn(
  { gateway }: HasGateway,
  path: string,
  {
    key = workspaceKey,
    headers = {},
    ...init
  }: Omit<RequestInit, "headers"> & { key?: string; headers?: Record<string, string> } = {},
): Promise<Response> {
  return gateway.fetch(
    new Request(`http://gateway.test${path}`, { ...init, headers: { "x-gateway-api-key": key, ...headers } }),
  );
}

const made = { created_at: 1, status: "validating" };
/** A provider's responses about records, by route. */
export const recordAnswers = {
  file: { id: "file-1", object: "file", bytes: 2, created_at: 1, filename: "a", purpose: "batch", status: "processed" },
  batch: { id: "batch-1", object: "batch", ...made },
  job: { id: "job-1", object: "fine_tuning.job", ...made },
} as const;

/** One line of a batch's input: a chat completion of the echo provider. */
export function chatLine(id: string, text = `text of ${id}`, body: Record<string, unknown> = {}): string {
  const messages = [{ role: "user", content: text }];
  const request = { custom_id: id, method: "POST", url: "/v1/chat/completions" };
  return JSON.stringify({ ...request, body: { model: "echo-1", messages, ...body } });
}

/** Lines with ids `line-0` and on. */
export function chatLines(count: number): string {
  return Array.from({ length: count }, (_, index) => `${chatLine(`line-${index}`)}\n`).join("");
}

/**
 * A form with a file, as text: on Node an unread `FormData` body fails with an unhandled error.
 */
export function writeForm(content: string, name: string, purpose = "batch"): { body: string; type: string } {
  const head = (disposition: string) => `--form\r\ncontent-disposition: form-data; ${disposition}\r\n\r\n`;
  const fields = `${head('name="purpose"')}${purpose}\r\n`;
  const file = `${head(`name="file"; filename="${name}"`)}${content}\r\n`;
  return { body: `${fields}${file}--form--\r\n`, type: "multipart/form-data; boundary=form" };
}

/** Uploads a text as a file. */
export function upload(
  gateway: HasGateway,
  content: string | Uint8Array<ArrayBuffer>,
  fields: { key?: string; purpose?: string; name?: string } & Record<string, string> = {},
): Promise<Response> {
  const { key = workspaceKey, purpose = "batch", name = "input.jsonl", ...others } = fields;
  const body = new FormData();
  body.set("purpose", purpose);
  for (const [field, value] of Object.entries(others)) body.set(field, value);
  body.set("file", new Blob([content]), name);
  return sendOwn(gateway, "/v1/files", { method: "POST", body, key });
}

/** Makes a batch of an uploaded file. */
export function createBatch(
  gateway: HasGateway,
  body: Record<string, unknown>,
  key: string = workspaceKey,
): Promise<Response> {
  const batch = { endpoint: "/v1/chat/completions", completion_window: "immediate", ...body };
  const headers = { "content-type": "application/json" };
  return sendOwn(gateway, "/v1/batches", { method: "POST", body: JSON.stringify(batch), headers, key });
}

/** Uploads lines and makes a batch of them. */
export async function runLines(
  gateway: HasGateway,
  lines: string,
  options: Record<string, unknown> = {},
): Promise<BatchObject> {
  const file = await readJson<FileObject>(await upload(gateway, lines));
  const gatewayOptions = { "x-gateway-provider": "echo" };
  return readJson<BatchObject>(
    await createBatch(gateway, { input_file_id: file.id, gateway_options: gatewayOptions, ...options }),
  );
}

/** The batch as soon as it satisfies the condition, within 10 s. */
export async function waitForBatch(
  gateway: HasGateway,
  id: string,
  fits: (batch: BatchObject) => boolean = ({ status }) =>
    ["completed", "failed", "cancelled", "expired"].includes(status),
): Promise<BatchObject> {
  const until = performance.now() + 10_000;
  for (;;) {
    const batch = await readJson<BatchObject>(await sendOwn(gateway, `/v1/batches/${id}`));
    if (fits(batch)) return batch;
    if (performance.now() > until) throw new Error(`Waited 10 s for a batch that is ${JSON.stringify(batch)}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** One line of an output or error file. */
export interface ResultLine {
  id: string;
  custom_id: string;
  response: { status_code: number; request_id: string; body: Record<string, unknown> } | null;
  error: { code: string; message: string } | null;
}

/** Lines of a file of the gateway. */
export async function readResults(gateway: HasGateway, fileId: string | null | undefined): Promise<ResultLine[]> {
  const response = await sendOwn(gateway, `/v1/files/${fileId}/content`);
  const text = await response.text();
  if (response.status !== 200) throw new Error(`No content: ${text}`);
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}

/** Runs lines as a batch to its end; its answers and errors. */
export async function finishLines(gateway: TestGateway, lines: string, options: Record<string, unknown>) {
  const batch = await waitForBatch(gateway, (await runLines(gateway, lines, options)).id);
  const read = (id: string | null | undefined) => (id ? readResults(gateway, id) : []);
  const [output, errors] = [await read(batch.output_file_id), await read(batch.error_file_id)];
  assert.deepEqual(gateway.warnings, []);
  return { batch, output, errors };
}
