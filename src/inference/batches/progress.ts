import type { InStatement } from "@libsql/client";
import type { Services } from "../../context.ts";
import type { WorkspaceTenant } from "../../db/stores/record-pages.ts";
import type { GatewayBatchRow } from "../../db/tables/batches.ts";
import type { JsonValue } from "../../db/tables/columns.ts";
import { isObject } from "../../lib/json.ts";
import type { BatchError } from "../../schemas/batches.ts";
import { type LineResult, noTokens, type TokenCounts } from "./call-line.ts";
import { sealedOptions } from "./options.ts";
import { settleCollected } from "./settlement.ts";

/** A batch still open this long after its deadline is given up, with its files. */
export const abandonedAfterMs: number = 24 * 60 * 60_000;

/** What a step needs. */
export interface StepParts {
  services: Services;
  /** Name of the runner that holds the batch. */
  owner: string;
  /** Ends running calls. */
  signal: AbortSignal;
  wait(milliseconds: number): Promise<void>;
  /** Milliseconds between two requests for a provider batch's state. */
  statusCheckMs: number;
}

/** The tenant of a batch. */
export function tenantOf({ organisationId, workspaceId }: GatewayBatchRow): WorkspaceTenant {
  return { organisationId, workspaceId };
}

/** What a step changes. */
export type Change = Partial<GatewayBatchRow>;

/** Writes a step and its further statements in one transaction. */
export async function commit(
  row: GatewayBatchRow,
  change: Change,
  { services, owner }: StepParts,
  others: readonly InStatement[] = [],
): Promise<void> {
  const { store } = services.batches;
  await store.write([store.step(row, owner, change), ...others]);
}

/** A batch in a step that writes more than once: the row as last written. */
export interface OpenBatch {
  row: GatewayBatchRow;
}

/** As `commit`, and continues with the written row; it does not change states. */
export async function advanceBatch(held: OpenBatch, change: Change, parts: StepParts): Promise<void> {
  await commit(held.row, change, parts);
  held.row = { ...held.row, ...change, turn: held.row.turn + 1 };
}

/**
 * Ends a batch: files that hold something become visible, its headers are deleted, and what its provider ran counts
 * toward limits.
 */
export async function end(row: GatewayBatchRow, change: Change, parts: StepParts): Promise<void> {
  const { files, control } = parts.services;
  const tenant = tenantOf(row);
  const expiresAt = row.outputSeconds === null ? null : row.createdAt + row.outputSeconds * 1000;
  const statements: InStatement[] = [
    control.stores.secrets.remove(tenant, { kind: sealedOptions.kind, recordId: row.id }),
  ];
  const shownFiles: Change = {};
  for (const name of ["outputFileId", "errorFileId"] as const) {
    const id = row[name];
    if (id === null) continue;
    const file = await control.stores.gatewayFiles.find(tenant, { id });
    const isUsed = file !== undefined && file.bytes > 0;
    shownFiles[name] = isUsed ? id : null;
    // the cleanup removes files nobody will see
    statements.push(isUsed ? files.finish(tenant, id, expiresAt) : discard(tenant, id, parts));
  }
  const settlement = await settleCollected(row, parts);
  try {
    const last = { ...shownFiles, ...change, leaseUntil: 0 };
    await commit(row, last, parts, [...statements, ...settlement.statements]);
  } catch (error) {
    // another runner ended it, or this one repeats the step
    await settlement.undo();
    throw error;
  }
}

function discard(tenant: WorkspaceTenant, id: string, { services }: StepParts): InStatement {
  return services.control.stores.gatewayFiles.update(tenant, { id, status: "writing" }, { status: "deleted" });
}

/** Fails a batch that cannot be run. */
export function fail(row: GatewayBatchRow, errors: BatchError[], parts: StepParts): Promise<void> {
  return end(row, { status: "failed", failedAt: parts.services.clock.now(), errors: toStoredErrors(errors) }, parts);
}

/** Errors as the column stores them. */
export function toStoredErrors(errors: readonly BatchError[]): JsonValue {
  return errors.map(({ code = null, message = null, param = null, line = null }) => ({ code, message, param, line }));
}

/** Statements that create the result files and put their names in the row. */
export async function openFiles(row: GatewayBatchRow, givenUpAt: number, { services: { files } }: StepParts) {
  const tenant = tenantOf(row);
  const name = (kind: string) => ({ filename: `${row.id}_${kind}.jsonl`, purpose: "batch_output" });
  const output = await files.open(tenant, name("output"), givenUpAt);
  const error = await files.open(tenant, name("error"), givenUpAt);
  const statements = [...output.statements, ...error.statements];
  return { change: { outputFileId: output.id, errorFileId: error.id } satisfies Change, statements };
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

/** Nano-dollars of the lines so far; null while none has a known cost. */
function addCosts(stored: number | null, results: readonly LineResult[]): number | null {
  const known = [stored, ...results.map(({ cost }) => cost)].filter((cost) => cost !== null);
  if (known.length === 0) return null;
  return Math.min(
    known.reduce((sum, cost) => sum + cost, 0),
    Number.MAX_SAFE_INTEGER,
  );
}

/** Stores the outcome of a bucket, results and position, in one transaction, and returns what changed. */
export async function storeResults(
  row: GatewayBatchRow,
  { results, position, change: others = {} }: { results: readonly LineResult[]; position: number; change?: Change },
  parts: StepParts,
): Promise<Change> {
  const { files } = parts.services;
  const tenant = tenantOf(row);
  const failed = results.filter(({ isFailure }) => isFailure);
  const completed = results.filter(({ isFailure }) => !isFailure);
  const append = (id: string | null, some: readonly LineResult[]) =>
    id === null || some.length === 0 ? [] : files.append(tenant, id, toBytes(some));
  const statements = [...(await append(row.outputFileId, completed)), ...(await append(row.errorFileId, failed))];
  const change: Change = {
    ...others,
    position,
    completed: row.completed + completed.length,
    failed: row.failed + failed.length,
    usage: addTokens(row.usage, results),
    cost: addCosts(row.cost, results),
  };
  await commit(row, change, parts, statements);
  return change;
}
