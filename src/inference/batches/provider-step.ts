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
  type HeldBatch,
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

/** A batch that is not made by this long after the gateway's is not made any more. */
const madeWithinMs = 60 * 60_000;
/** Facts a provider takes with a batch. */
const maxFacts = 16;
/** Statuses by which a host says that it does not know the route. */
const unknownRoute: ReadonlySet<number> = new Set([404, 405, 501]);

/** Lets a batch go until its provider is asked again. */
function rest(row: GatewayBatchRow, change: Change, parts: StepParts): Promise<void> {
  const leaseUntil = parts.services.clock.now() + parts.statusCheckMs;
  return commit(row, { ...change, leaseOwner: null, leaseUntil }, parts);
}

/** Calls the lines one by one, where the provider turns out to be none that could run them. */
function callInstead(row: GatewayBatchRow, parts: StepParts): Promise<void> {
  return commit(row, { provider: null, total: 0, providerAskedAt: null, errors: null }, parts);
}

/** Whether a host that speaks like the provider does not know its routes. */
function knowsNoRoute(error: unknown, rules: BatchRules): boolean {
  return error instanceof ProviderFailure && unknownRoute.has(error.status ?? 0) && !rules.hasOptions;
}

async function upload(row: GatewayBatchRow, rules: BatchRules, parts: StepParts): Promise<void> {
  const filename = `${row.id}.jsonl`;
  const form = createFileForm(await readProviderLines(row, parts), { purpose: "batch", filename });
  const what = "upload the input";
  // where files are objects, a second upload takes the place of the first one
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

/** What the provider is asked for. */
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

/** The provider's batch of the uploaded file, where one was made and its answer got lost. */
async function findMade(row: GatewayBatchRow, parts: StepParts): Promise<ProviderBatch | undefined> {
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

/** What makes the batch; undefined where the lines cannot stand in it. */
async function toCreation(row: GatewayBatchRow, rules: BatchRules, parts: StepParts) {
  if (!rules.inline) return { body: toJob(row, rules), headers: {} };
  return toInlineCreation(row, rules.inline, parts);
}

async function create(held: HeldBatch, rules: BatchRules, parts: StepParts): Promise<void> {
  const { row } = held;
  if (row.providerAskedAt !== null) {
    const made = rules.inline ? undefined : await findMade(row, parts);
    if (made) return follow(row, made, parts);
    if (row.status === "cancelling") return endCancelled(row, parts);
  }
  const creation = await toCreation(row, rules, parts);
  if (!creation) return callInstead(row, parts);
  await advanceBatch(held, { providerAskedAt: parts.services.clock.now() }, parts);
  const what = "make the batch";
  const headers = { ...creation.headers, "content-type": "application/json" };
  const request = { what, path: "/v1/batches", method: "POST", headers, body: JSON.stringify(creation.body) };
  try {
    const batch = parseProviderBatch(await askForRecord(held.row, request, parts));
    if (!batch) throw unreadable(what, row);
    await follow(held.row, batch, parts);
  } catch (error) {
    if (!rules.inline || !knowsNoRoute(error, rules)) throw error;
    await callInstead(held.row, parts);
  }
}

/** What the provider says is wrong, as rows hold it; it takes the place of failures that passed. */
function toErrors(batch: ProviderBatch, { provider }: GatewayBatchRow): JsonValue | null {
  const errors = errorsOf(batch, provider ?? "");
  return errors.length > 0 ? toStoredErrors(errors) : null;
}

/** Writes down what the provider says of its batch; one that is over is read next. */
async function follow(row: GatewayBatchRow, batch: ProviderBatch, parts: StepParts): Promise<void> {
  const now = parts.services.clock.now();
  const status = stateOf(batch);
  const isWished = row.status === "cancelling";
  const change: Change = {
    providerBatchId: row.providerBatchId ?? batch.id,
    providerStatus: status,
    providerBatch: toStoredBatch(batch),
    inProgressAt: row.inProgressAt ?? (status === "validating" ? null : now),
    errors: toErrors(batch, row),
  };
  if (!isFinal(status)) {
    return rest(row, { ...change, ...(!isWished && { status }) }, parts);
  }
  const { change: opened, statements } = await openFiles(row, now + abandonedAfterMs, parts);
  const next = { ...(!isWished && { status: "finalizing" }), finalizingAt: row.finalizingAt ?? now };
  return commit(row, { ...change, ...next, ...opened }, parts, statements);
}

/** Asks how far the provider is, or for the end of its batch. */
async function check(row: GatewayBatchRow, parts: StepParts): Promise<void> {
  const path = `/v1/batches/${toSegment(row.providerBatchId ?? "")}`;
  if (row.status === "cancelling" && row.providerStatus !== "cancelling") {
    const cancel = { what: "cancel the batch", path: `${path}/cancel`, method: "POST" };
    const answer = await askForRecord(row, cancel, parts).catch((error) => {
      // one that is over by now cannot be cancelled: its state tells what became of it
      if (error instanceof ProviderFailure && error.status !== undefined && error.status < 500) return undefined;
      throw error;
    });
    const batch = parseProviderBatch(answer);
    if (batch) return follow(row, batch, parts);
  }
  const what = "ask for the state of the batch";
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

/** Ends a batch as its provider's ended. */
function finish(row: GatewayBatchRow, parts: StepParts): Promise<void> {
  const status = row.providerStatus ?? "completed";
  const errors = toErrors(storedBatchOf(row), row);
  return end(row, { status, errors, [timeOfState[status] ?? "completedAt"]: parts.services.clock.now() }, parts);
}

function advance(held: HeldBatch, parts: StepParts): Promise<void> {
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

/** Whether a failure is waited out: credentials may come back for a batch that was made. */
function isWaitedOut({ isPassing, status }: ProviderFailure, row: GatewayBatchRow, now: number): boolean {
  if (row.providerBatchId === null) return isPassing && now < row.createdAt + madeWithinMs;
  return (isPassing || status === 401 || status === 403) && now < row.expiresAt + abandonedAfterMs;
}

/**
 * Takes one step of a batch its provider runs: uploads the input, makes the batch, asks how far it is, reads the answers. What
 * the provider answered is written down before anything else, so that no other process asks for it again.
 */
export async function takeProviderStep(row: GatewayBatchRow, parts: StepParts): Promise<void> {
  const held = { row };
  try {
    await advance(held, parts);
  } catch (error) {
    // what was cut short is done again by whoever goes on
    if (parts.signal.aborted) return;
    if (!(error instanceof ProviderFailure)) throw error;
    const { code, message } = error;
    const errors = [{ code, message, param: null, line: null }];
    const isWaiting = isWaitedOut(error, held.row, parts.services.clock.now());
    await (isWaiting ? rest(held.row, { errors: toStoredErrors(errors) }, parts) : fail(held.row, errors, parts));
  }
}
