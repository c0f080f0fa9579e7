import type { GatewayBatchRow } from "../../db/tables/batches.ts";
import type { JsonValue } from "../../db/tables/columns.ts";
import { isObject } from "../../lib/json.ts";
import type { BatchRules } from "../../providers/core/records.ts";
import { collectAnswers } from "./collect.ts";
import { createFileForm } from "./internal-request.ts";
import {
  abandonedAfterMs,
  advanceBatch,
  type Change,
  commit,
  end,
  fail,
  type OpenBatch,
  openFiles,
  type StepParts,
  toStoredErrors,
} from "./progress.ts";
import {
  errorsOf,
  isFinal,
  type ProviderBatch,
  parseProviderBatch,
  stateOf,
  storedBatchOf,
  toStoredBatch,
} from "./provider-batch.ts";
import { readProviderLines, toInlineCreation } from "./provider-input.ts";
import { askForRecord, isId, ProviderFailure, toSegment, unreadable } from "./provider-request.ts";

/** If the provider's batch does not exist this long after the gateway's was created, it is not created any more. */
const createWithinMs = 60 * 60_000;
/** Metadata sent along when the provider's batch is created. */
const maxFacts = 16;
/** Statuses by which a host says that it does not know the route. */
const unknownRoute: ReadonlySet<number> = new Set([404, 405, 501]);

/** Releases a batch until its provider is asked again. */
function release(row: GatewayBatchRow, change: Change, parts: StepParts): Promise<void> {
  const leaseUntil = parts.services.clock.now() + parts.statusCheckMs;
  return commit(row, { ...change, leaseOwner: null, leaseUntil }, parts);
}

/** Calls the lines one by one, where the provider turns out to be unable to run the batch. */
function callInstead(row: GatewayBatchRow, parts: StepParts): Promise<void> {
  return commit(row, { provider: null, total: 0, providerAskedAt: null, errors: null }, parts);
}

/** Whether a host that speaks a provider's API lacks its batch routes. */
function knowsNoRoute(error: unknown, rules: BatchRules): boolean {
  return error instanceof ProviderFailure && unknownRoute.has(error.status ?? 0) && !rules.hasOptions;
}

async function upload(row: GatewayBatchRow, rules: BatchRules, parts: StepParts): Promise<void> {
  const filename = `${row.id}.jsonl`;
  const form = createFileForm(await readProviderLines(row, parts), { purpose: "batch", filename });
  const what = "upload the input";
  // in an object store, a second upload replaces the first
  const headers = { "content-type": form.contentType, "x-gateway-provider-file-name": filename };
  try {
    const request = { what, path: "/v1/files", method: "POST", headers, body: form.body };
    const { id } = await askForRecord(row, request, parts);
    if (typeof id !== "string" || !isId(id)) throw unreadable(what, row);
    await commit(row, { providerFileId: id }, parts);
  } catch (error) {
    if (!knowsNoRoute(error, rules)) throw error;
    await callInstead(row, parts);
  }
}

/** The request to the provider. */
function toJob(row: GatewayBatchRow, { hasOptions }: BatchRules): object {
  const facts = isObject(row.metadata) ? row.metadata : {};
  const hasRoom = Object.keys(facts).length < maxFacts;
  const options = isObject(row.providerOptions) ? row.providerOptions : {};
  return {
    input_file_id: row.providerFileId,
    endpoint: row.endpoint,
    completion_window: "24h",
    metadata: { ...facts, ...(hasRoom && { gateway_batch_id: row.id }) },
    ...(hasOptions && { provider_options: { ...(row.model !== null && { model: row.model }), ...options } }),
  };
}

/** The provider's batch of the uploaded file, where one was created and its response was lost. */
async function findCreated(row: GatewayBatchRow, parts: StepParts): Promise<ProviderBatch | undefined> {
  const list = { what: "list batches", path: "/v1/batches?limit=100" };
  const { data } = await askForRecord(row, list, parts).catch((error) => {
    if (error instanceof ProviderFailure && !error.isPassing) return { data: [] };
    throw error;
  });
  const madeAfter = Math.floor(row.createdAt / 1000);
  return (Array.isArray(data) ? data : [])
    .map(parseProviderBatch)
    .find((batch) => batch?.input_file_id === row.providerFileId && (batch?.created_at ?? 0) >= madeAfter);
}

/** The request that creates the batch; undefined where its lines cannot be part of one. */
async function toCreation(row: GatewayBatchRow, rules: BatchRules, parts: StepParts) {
  if (!rules.inline) return { body: toJob(row, rules), headers: {} };
  return toInlineCreation(row, rules.inline, parts);
}

async function create(held: OpenBatch, rules: BatchRules, parts: StepParts): Promise<void> {
  const { row } = held;
  if (row.providerAskedAt !== null) {
    const made = rules.inline ? undefined : await findCreated(row, parts);
    if (made) return follow(row, made, parts);
    if (row.status === "cancelling") return endCancelled(row, parts);
  }
  const creation = await toCreation(row, rules, parts);
  if (!creation) return callInstead(row, parts);
  await advanceBatch(held, { providerAskedAt: parts.services.clock.now() }, parts);
  const what = "make the batch";
  const headers = { ...creation.headers, "content-type": "application/json" };
  const body = JSON.stringify(creation.body);
  // its lines name one model, or none
  const models = row.model === null ? [] : [row.model];
  const request = { what, path: "/v1/batches", method: "POST", headers, body, models };
  try {
    const batch = parseProviderBatch(await askForRecord(held.row, request, parts));
    if (!batch) throw unreadable(what, row);
    await follow(held.row, batch, parts);
  } catch (error) {
    if (!rules.inline || !knowsNoRoute(error, rules)) throw error;
    await callInstead(held.row, parts);
  }
}

/** Errors the provider reports, as the column stores them; they replace those of temporary failures. */
function toErrors(batch: ProviderBatch, { provider }: GatewayBatchRow): JsonValue | null {
  const errors = errorsOf(batch, provider ?? "");
  return errors.length > 0 ? toStoredErrors(errors) : null;
}

/** Stores the state the provider reports; the results of a finished batch are read next. */
async function follow(row: GatewayBatchRow, batch: ProviderBatch, parts: StepParts): Promise<void> {
  const now = parts.services.clock.now();
  const status = stateOf(batch);
  const isCancelling = row.status === "cancelling";
  const change: Change = {
    providerBatchId: row.providerBatchId ?? batch.id,
    providerStatus: status,
    providerBatch: toStoredBatch(batch),
    inProgressAt: row.inProgressAt ?? (status === "validating" ? null : now),
    errors: toErrors(batch, row),
  };
  if (!isFinal(status)) {
    return release(row, { ...change, ...(!isCancelling && { status }) }, parts);
  }
  const { change: opened, statements } = await openFiles(row, now + abandonedAfterMs, parts);
  const next = { ...(!isCancelling && { status: "finalizing" }), finalizingAt: row.finalizingAt ?? now };
  return commit(row, { ...change, ...next, ...opened }, parts, statements);
}

/** Reads the batch's progress, or cancels it. */
async function check(row: GatewayBatchRow, parts: StepParts): Promise<void> {
  const path = `/v1/batches/${toSegment(row.providerBatchId ?? "")}`;
  if (row.status === "cancelling" && row.providerStatus !== "cancelling") {
    const cancel = { what: "cancel the batch", path: `${path}/cancel`, method: "POST" };
    const answer = await askForRecord(row, cancel, parts).catch((error) => {
      // a batch that ended meanwhile cannot be cancelled: its state says how it ended
      if (error instanceof ProviderFailure && error.status !== undefined && error.status < 500) return undefined;
      throw error;
    });
    const batch = parseProviderBatch(answer);
    if (batch) return follow(row, batch, parts);
  }
  const what = "read the state of the batch";
  const batch = parseProviderBatch(await askForRecord(row, { what, path }, parts));
  if (!batch) throw unreadable(what, row);
  return follow(row, batch, parts);
}

const timeOfState: Readonly<Record<string, keyof Change>> = {
  completed: "completedAt",
  failed: "failedAt",
  expired: "expiredAt",
  cancelled: "cancelledAt",
};

function endCancelled(row: GatewayBatchRow, parts: StepParts): Promise<void> {
  return end(row, { status: "cancelled", cancelledAt: parts.services.clock.now() }, parts);
}

/** Ends a batch in the state its provider's batch ended in. */
function finish(row: GatewayBatchRow, parts: StepParts): Promise<void> {
  const status = row.providerStatus ?? "completed";
  const errors = toErrors(storedBatchOf(row), row);
  return end(row, { status, errors, [timeOfState[status] ?? "completedAt"]: parts.services.clock.now() }, parts);
}

function advance(held: OpenBatch, parts: StepParts): Promise<void> {
  const { row } = held;
  const rules = parts.services.providers.get(row.provider ?? "")?.batches ?? { endpoints: [] };
  const wasAsked = row.providerAskedAt !== null;
  if (row.providerBatchId === null && row.status === "cancelling" && !wasAsked) return endCancelled(row, parts);
  if (row.providerFileId === null && row.providerBatchId === null && !rules.inline) return upload(row, rules, parts);
  if (row.providerBatchId === null) return create(held, rules, parts);
  if (!isFinal(row.providerStatus)) return check(row, parts);
  if (row.collected === 2) return finish(row, parts);
  return collectAnswers(held, storedBatchOf(row), { ...parts, toLine: rules.inline?.toLine });
}

/** Whether a failure is waited out: a credential may work again before the batch ends. */
function isWaitedOut({ isPassing, status }: ProviderFailure, row: GatewayBatchRow, now: number): boolean {
  if (row.providerBatchId === null) return isPassing && now < row.createdAt + createWithinMs;
  return (isPassing || status === 401 || status === 403) && now < row.expiresAt + abandonedAfterMs;
}

/**
 * Takes one step of a batch its provider runs: uploads the input, creates the batch, reads its progress or its results.
 * Each response is stored before anything else happens, so that no other process repeats the call.
 */
export async function takeProviderStep(row: GatewayBatchRow, parts: StepParts): Promise<void> {
  const held = { row };
  try {
    await advance(held, parts);
  } catch (error) {
    // the next runner repeats a step that was cut short
    if (parts.signal.aborted) return;
    if (!(error instanceof ProviderFailure)) throw error;
    const { code, message } = error;
    const errors = [{ code, message, param: null, line: null }];
    const isWaiting = isWaitedOut(error, held.row, parts.services.clock.now());
    await (isWaiting ? release(held.row, { errors: toStoredErrors(errors) }, parts) : fail(held.row, errors, parts));
  }
}
