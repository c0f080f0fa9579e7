import type { Services } from "../../context.ts";
import type { GatewayBatchRow } from "../../db/tables/batches.ts";
import type { GatewayFileRow } from "../../db/tables/files.ts";
import { readLines } from "../../lib/lines.ts";
import { callLine, toSkippedResult } from "./call-line.ts";
import { isBlank, maxLineBytes, type ParsedLine, parseLine } from "./lines.ts";
import { openOptions } from "./options.ts";
import {
  abandonedAfterMs,
  type Change,
  commit,
  end,
  fail,
  openFiles,
  type StepParts,
  storeResults,
  tenantOf,
} from "./progress.ts";
import { takeProviderStep } from "./provider-step.ts";
import { type CheckedInput, checkInput } from "./validate.ts";

/** Most requests of a bucket, and most bytes of their lines. */
const bucketLines = 25;
const bucketBytes = 8 * 1024 * 1024;
/** Lines that get a common failure at once. */
const skippedLines = 1_000;
function failWithoutInput(row: GatewayBatchRow, parts: StepParts): Promise<void> {
  const message = "The input file was deleted";
  return fail(row, [{ code: "input_file_gone", message, param: "input_file_id", line: null }], parts);
}

/** Longest input whose requests are sent in one call. */
const inlineBytes = 8 * 1024 * 1024;

/** Whether a provider's batch can hold these lines: one route, and one model, by the provider's name for it. */
function fitsProvider(
  { endpoint, provider }: GatewayBatchRow,
  { bytes }: GatewayFileRow,
  { models, urls, hasOwnTools }: CheckedInput,
  { services: { providers, limits } }: StepParts,
): boolean {
  if (hasOwnTools) return false;
  const [url] = urls;
  const isInline = providers.get(provider ?? "")?.batches?.inline !== undefined;
  // a converted request may be longer than its line
  if (isInline && bytes > Math.min(inlineBytes, limits.jsonBodyBytes / 2)) return false;
  return urls.size === 1 && url === endpoint && models.size <= 1 && ![...models].some((model) => model.startsWith("@"));
}

async function validate(row: GatewayBatchRow, input: GatewayFileRow, parts: StepParts): Promise<void> {
  const { files, clock } = parts.services;
  const checked = await checkInput(files.read(input), row);
  const { requests: total, problems, models } = checked;
  if (problems.length > 0) return fail(row, problems, parts);
  if (row.provider !== null && fitsProvider(row, input, checked, parts)) {
    const [model = null] = models;
    return commit(row, { total, model: row.model ?? model }, parts);
  }
  const { change, statements } = await openFiles(row, row.expiresAt + abandonedAfterMs, parts);
  const begun = { status: "in_progress", total, inProgressAt: clock.now(), provider: null };
  return commit(row, { ...begun, ...change }, parts, statements);
}

/** The next lines of an input, and where the line after them starts. */
async function readBucket(
  row: GatewayBatchRow,
  input: GatewayFileRow,
  most: number,
  { files }: Pick<Services, "files">,
) {
  const lines: ParsedLine[] = [];
  let position = row.position;
  let bytes = 0;
  const content = files.read(input, row.position);
  for await (const line of readLines(content, { maxBytes: maxLineBytes, offset: row.position })) {
    position = line.end;
    bytes += line.bytes.length;
    if (!isBlank(line)) lines.push(parseLine(line, row.endpoint));
    if (lines.length >= most || bytes >= bucketBytes) break;
  }
  return { lines, position };
}

/** Stores a failure for the next lines, which are not called. */
async function skipLines(
  row: GatewayBatchRow,
  input: GatewayFileRow,
  { error, change = {} }: { error: { code: string; message: string }; change?: Change },
  parts: StepParts,
): Promise<void> {
  const { lines, position } = await readBucket(row, input, skippedLines, parts.services);
  const results = lines.map((line) =>
    toSkippedResult(row.id, "request" in line ? line.request.custom_id : "", "request" in line ? error : toError(line)),
  );
  await storeResults(row, { results, position, change }, parts);
}

function toError({ problem }: Extract<ParsedLine, { problem: unknown }>): { code: string; message: string } {
  return { code: problem.code ?? "invalid_request_line", message: problem.message ?? "The line cannot be parsed" };
}

async function callLines(row: GatewayBatchRow, input: GatewayFileRow, parts: StepParts): Promise<void> {
  const { services, signal, wait } = parts;
  const principal = await services.authenticator.ofKey(row.apiKeyId);
  if (!principal || principal.workspaceId !== row.workspaceId) {
    const message = "The API key that made the batch can no longer be used";
    return skipLines(row, input, { error: { code: "invalid_api_key", message } }, parts);
  }
  const options = await openOptions(row, services);
  const headers = { "x-gateway-trace-id": row.id, ...options };
  const { model, id: batchId } = row;
  const calls = {
    batchId,
    headers,
    connection: { actingFor: principal },
    model,
    handle: services.handle,
    signal,
    wait,
  };
  const { lines, position } = await readBucket(row, input, bucketLines, services);
  const results = await Promise.all(
    lines.map((line) => ("request" in line ? callLine(line, calls) : toSkippedResult(row.id, "", toError(line)))),
  );
  // the next runner repeats calls that were cut short
  if (!signal.aborted) await storeResults(row, { results, position }, parts);
}

async function work(row: GatewayBatchRow, input: GatewayFileRow, parts: StepParts): Promise<void> {
  const { clock } = parts.services;
  const now = clock.now();
  if (row.position < input.bytes) {
    if (now < row.expiresAt) return callLines(row, input, parts);
    const error = { code: "batch_expired", message: "The batch did not end within 24 hours" };
    return skipLines(row, input, { error, change: { expiredAt: now } }, parts);
  }
  if (row.expiredAt !== null) return end(row, { status: "expired" }, parts);
  return commit(row, { status: "finalizing", finalizingAt: now }, parts);
}

/** Takes one step of a batch. Each leaves it in a state from which another runner can continue. */
export async function takeStep(row: GatewayBatchRow, parts: StepParts): Promise<void> {
  // validated, and run by a provider
  if (row.provider !== null && row.total > 0) return takeProviderStep(row, parts);
  const now = parts.services.clock.now();
  if (row.status === "cancelling") return end(row, { status: "cancelled", cancelledAt: now }, parts);
  if (row.status === "finalizing") {
    return end(row, { status: "completed", completedAt: now }, parts);
  }
  const input = await parts.services.files.find(tenantOf(row), row.inputFileId);
  if (!input) return failWithoutInput(row, parts);
  return row.status === "validating" ? validate(row, input, parts) : work(row, input, parts);
}
