import type { InStatement } from "@libsql/client";
import type { Services } from "../../context.ts";
import type { WorkspaceTenant } from "../../db/stores/record-pages.ts";
import type { GatewayBatchRow, NewGatewayBatchRow } from "../../db/tables/batches.ts";
import type { JsonValue } from "../../db/tables/columns.ts";
import type { GatewayFileRow } from "../../db/tables/files.ts";
import { isObject } from "../../lib/json.ts";
import { readLines } from "../../lib/lines.ts";
import type { BatchError } from "../../schemas/batches.ts";
import {
  callLine,
  type HandleRequest,
  type LineResult,
  noTokens,
  type TokenCounts,
  toSkippedResult,
} from "./call-line.ts";
import { isBlank, maxLineBytes, type ParsedLine, parseLine } from "./lines.ts";
import { parseSealedOptions } from "./options.ts";
import { checkInput } from "./validate.ts";

/** Requests of a bucket, and bytes of their lines. */
const bucketLines = 25;
const bucketBytes = 8 * 1024 * 1024;
/** Lines that are told a common reason at once. */
const skippedLines = 1_000;
/** A file whose batch did not end by this long after the batch's own end is given up. */
const abandonedAfterMs = 24 * 60 * 60_000;

/** Kind and field of the sealed headers of a batch. */
export const sealedOptions = { kind: "batches", field: "options" } as const;

/** What a step works with. */
export interface StepParts {
  services: Services;
  handle: HandleRequest;
  /** Whoever holds the batch. */
  owner: string;
  /** Ends calls that are under way. */
  signal: AbortSignal;
  wait(milliseconds: number): Promise<void>;
}

function tenantOf({ organisationId, workspaceId }: GatewayBatchRow): WorkspaceTenant {
  return { organisationId, workspaceId };
}

type Change = Partial<NewGatewayBatchRow>;

/** Writes a step, and what goes with it, in one transaction. */
async function commit(
  row: GatewayBatchRow,
  change: Change,
  { services, owner }: StepParts,
  others: readonly InStatement[] = [],
): Promise<void> {
  const { store } = services.batches;
  await store.write([store.step(row, owner, change), ...others]);
}

/** Ends a batch: its files become visible if they hold something, and its headers go. */
async function end(row: GatewayBatchRow, change: Change, parts: StepParts): Promise<void> {
  const { files, control } = parts.services;
  const tenant = tenantOf(row);
  const expiresAt = row.outputSeconds === null ? null : row.createdAt + row.outputSeconds * 1000;
  const statements: InStatement[] = [
    control.stores.secrets.remove(tenant, { kind: sealedOptions.kind, recordId: row.id }),
  ];
  const kept: Change = {};
  for (const name of ["outputFileId", "errorFileId"] as const) {
    const id = row[name];
    if (id === null) continue;
    const file = await control.stores.gatewayFiles.find(tenant, { id });
    const isUsed = file !== undefined && file.bytes > 0;
    kept[name] = isUsed ? id : null;
    // the upkeep takes what nobody will see
    statements.push(isUsed ? files.finish(tenant, id, expiresAt) : discard(tenant, id, parts));
  }
  await commit(row, { ...kept, ...change, leaseUntil: 0 }, parts, statements);
}

function discard(tenant: WorkspaceTenant, id: string, { services }: StepParts): InStatement {
  return services.control.stores.gatewayFiles.update(tenant, { id, status: "writing" }, { status: "deleted" });
}

function fail(row: GatewayBatchRow, errors: BatchError[], parts: StepParts): Promise<void> {
  const stored = errors.map(({ code, message, param, line }) => ({ code, message, param, line }) as JsonValue);
  return end(row, { status: "failed", failedAt: parts.services.clock.now(), errors: stored }, parts);
}

function failWithoutInput(row: GatewayBatchRow, parts: StepParts): Promise<void> {
  const message = "The input file is gone";
  return fail(row, [{ code: "input_file_gone", message, param: "input_file_id", line: null }], parts);
}

async function validate(row: GatewayBatchRow, input: GatewayFileRow, parts: StepParts): Promise<void> {
  const { files, clock } = parts.services;
  const tenant = tenantOf(row);
  const { requests, problems } = await checkInput(files.read(input), row.endpoint);
  if (problems.length > 0) return fail(row, problems, parts);
  const givenUpAt = row.expiresAt + abandonedAfterMs;
  const name = (kind: string) => ({ filename: `${row.id}_${kind}.jsonl`, purpose: "batch_output" });
  const output = await files.open(tenant, name("output"), givenUpAt);
  const error = await files.open(tenant, name("error"), givenUpAt);
  await commit(
    row,
    {
      ...{ status: "in_progress", total: requests, inProgressAt: clock.now() },
      ...{ outputFileId: output.id, errorFileId: error.id },
    },
    parts,
    [...output.statements, ...error.statements],
  );
}

/** The next lines of an input, and where the line after them begins. */
async function readBucket(row: GatewayBatchRow, input: GatewayFileRow, most: number, { files }: Services) {
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

function toBytes(results: readonly LineResult[]): Uint8Array {
  return new TextEncoder().encode(results.map(({ text }) => `${text}\n`).join(""));
}

function addTokens(stored: unknown, results: readonly LineResult[]): { [Name in keyof TokenCounts]: number } {
  const sum = { ...noTokens };
  const before = isObject(stored) ? stored : {};
  for (const name of ["input", "cached", "output", "reasoning"] as const) {
    const known = before[name];
    sum[name] = results.reduce((total, { tokens }) => total + tokens[name], typeof known === "number" ? known : 0);
  }
  return sum;
}

/** Nano-dollars of the lines so far; null while none has a cost that is known. */
function addCosts(stored: number | null, results: readonly LineResult[]): number | null {
  const known = [stored, ...results.map(({ cost }) => cost)].filter((cost) => cost !== null);
  if (known.length === 0) return null;
  return Math.min(
    known.reduce((sum, cost) => sum + cost, 0),
    Number.MAX_SAFE_INTEGER,
  );
}

/** Stores what became of a bucket: results and place in one transaction. */
async function storeResults(
  row: GatewayBatchRow,
  { results, position, change: others = {} }: { results: readonly LineResult[]; position: number; change?: Change },
  parts: StepParts,
): Promise<void> {
  const { files } = parts.services;
  const tenant = tenantOf(row);
  const failed = results.filter(({ isFailure }) => isFailure);
  const completed = results.filter(({ isFailure }) => !isFailure);
  const append = (id: string | null, some: readonly LineResult[]) =>
    id === null || some.length === 0 ? [] : files.append(tenant, id, toBytes(some));
  const statements = [...(await append(row.outputFileId, completed)), ...(await append(row.errorFileId, failed))];
  const change: Change = {
    ...others,
    ...{ position, completed: row.completed + completed.length, failed: row.failed + failed.length },
    usage: addTokens(row.usage, results),
    cost: addCosts(row.cost, results),
  };
  await commit(row, change, parts, statements);
}

/** Tells the next lines that they are not called, and why. */
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
  return { code: problem.code ?? "invalid_request_line", message: problem.message ?? "The line cannot be read" };
}

/** Headers of the calls, which were sealed when the batch was made. */
async function openOptions(row: GatewayBatchRow, { control }: Services): Promise<Record<string, string>> {
  const sealed = await control.stores.secrets.find(tenantOf(row), { ...sealedOptions, recordId: row.id });
  return sealed ? parseSealedOptions(await control.vault.open(sealed)) : {};
}

async function callLines(row: GatewayBatchRow, input: GatewayFileRow, parts: StepParts): Promise<void> {
  const { services, handle, signal, wait } = parts;
  const principal = await services.authenticator.ofKey(row.apiKeyId);
  if (!principal || principal.workspaceId !== row.workspaceId) {
    const message = "The API key that made the batch can no longer be used";
    return skipLines(row, input, { error: { code: "invalid_api_key", message } }, parts);
  }
  const options = await openOptions(row, services);
  const headers = { "x-gateway-trace-id": row.id, ...options };
  const { model, id: batchId } = row;
  const calls = { batchId, headers, connection: { actingFor: principal }, model, handle, signal, wait };
  const { lines, position } = await readBucket(row, input, bucketLines, services);
  const results = await Promise.all(
    lines.map((line) =>
      "request" in line ? callLine(line.request, line.url, calls) : toSkippedResult(row.id, "", toError(line)),
    ),
  );
  // what was cut short is called again by whoever goes on
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

/** Takes one step of a batch: each leaves it in a state from which another runner can go on. */
export async function takeStep(row: GatewayBatchRow, parts: StepParts): Promise<void> {
  const now = parts.services.clock.now();
  if (row.status === "cancelling") return end(row, { status: "cancelled", cancelledAt: now }, parts);
  if (row.status === "finalizing") {
    return end(row, { status: "completed", completedAt: now }, parts);
  }
  const input = await parts.services.files.find(tenantOf(row), row.inputFileId);
  if (!input) return failWithoutInput(row, parts);
  return row.status === "validating" ? validate(row, input, parts) : work(row, input, parts);
}
