import type { CallerContext } from "../../context.ts";
import { contentReply } from "../../control/files/content-reply.ts";
import type { GatewayBatchRow, NewGatewayBatchRow } from "../../db/tables/batches.ts";
import type { JsonValue } from "../../db/tables/columns.ts";
import { readJsonBody, requireBody } from "../../endpoint/body.ts";
import { ConflictError, InvalidRequestError, NotFoundError, PermissionError, RateLimitError } from "../../errors.ts";
import { isObject } from "../../lib/json.ts";
import { jsonReply, type Reply } from "../../lib/reply.ts";
import { toCents } from "../../pricing/cost.ts";
import { type BatchError, type BatchObject, BatchRequest } from "../../schemas/batches.ts";
import { requireFile } from "../files/files.ts";
import { readLimit, tenantOf, toPage, toSeconds } from "../files/gateway-store.ts";
import { readGatewayOptions, sealedOptions } from "./options.ts";
import { storedBatchOf } from "./provider-batch.ts";
import { findBatchProvider } from "./provider-choice.ts";

/** A batch ends by itself after this long. */
const batchLifetimeMs = 24 * 60 * 60_000;
/** Most open batches of a workspace. */
const maxOpen = 100;

const finalStates = new Set(["completed", "failed", "expired", "cancelled"]);

function toUsage(stored: unknown): BatchObject["usage"] {
  if (!isObject(stored)) return undefined;
  const count = (name: string) => (typeof stored[name] === "number" ? stored[name] : 0);
  const [input, output] = [count("input"), count("output")];
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: count("cached") },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: count("reasoning") },
    total_tokens: input + output,
  };
}

/** How many lines are done; those of a provider's batch as it reports them, until its results were read. */
function countsOf(row: GatewayBatchRow, isOver: boolean): NonNullable<BatchObject["request_counts"]> {
  const { total, completed, failed } = row;
  const reported = isOver || row.provider === null ? undefined : storedBatchOf(row).request_counts;
  return { total, completed: reported?.completed ?? completed, failed: reported?.failed ?? failed };
}

/** The response's fields for a provider's batch. */
function providerMembers(row: GatewayBatchRow, hasDetails: boolean): Partial<BatchObject> {
  if (row.provider === null) return {};
  const { provider, providerBatchId: provider_batch_id } = row;
  const details = hasDetails && { provider_batch: isObject(row.providerBatch) ? row.providerBatch : null };
  return { provider, provider_batch_id, ...details };
}

function toBatchObject(row: GatewayBatchRow, hasDetails = false): BatchObject {
  const isOver = finalStates.has(row.status);
  const usage = toUsage(row.usage);
  // the column is only written with such a list, and with what the request's schema accepted
  const errors = Array.isArray(row.errors) ? (row.errors as BatchError[]) : undefined;
  return {
    id: row.id,
    object: "batch",
    endpoint: row.endpoint,
    model: row.model,
    errors: errors ? { object: "list", data: errors } : null,
    input_file_id: row.inputFileId,
    completion_window: row.completionWindow,
    status: row.status,
    output_file_id: isOver ? row.outputFileId : null,
    error_file_id: isOver ? row.errorFileId : null,
    created_at: toSeconds(row.createdAt) ?? 0,
    in_progress_at: toSeconds(row.inProgressAt),
    expires_at: toSeconds(row.expiresAt),
    finalizing_at: toSeconds(row.finalizingAt),
    completed_at: toSeconds(row.completedAt),
    failed_at: toSeconds(row.failedAt),
    expired_at: toSeconds(row.expiredAt),
    cancelling_at: toSeconds(row.cancellingAt),
    cancelled_at: toSeconds(row.cancelledAt),
    request_counts: countsOf(row, isOver),
    // written from a request the schema accepted
    metadata: row.metadata as Record<string, string> | null,
    ...providerMembers(row, hasDetails),
    ...(usage && { usage, cost: row.cost === null ? null : toCents(row.cost), cost_currency: "USD" }),
  };
}

async function requireBatch(context: CallerContext, id = context.params.id): Promise<GatewayBatchRow> {
  const row = await context.services.control.stores.gatewayBatches.find(tenantOf(context), { id: id ?? "" });
  if (row) return row;
  throw new NotFoundError("Cannot find this batch: name the provider in x-gateway-provider to find its batches", {
    code: "batch_not_found",
    param: "batch_id",
  });
}

/** The key a batch runs with. It is looked up again while the batch runs, which a token could not be. */
async function requireKey({ principal, services: { authenticator } }: CallerContext): Promise<string> {
  if (await authenticator.ofKey(principal.keyId)) return principal.keyId;
  throw new PermissionError("Forbidden! Creating a gateway batch needs an API key, not a token", {
    code: "AB03",
  });
}

async function requireInput(id: string, context: CallerContext): Promise<void> {
  const { purpose } = await requireFile(id, context, "input_file_id");
  if (purpose === "batch") return;
  throw new InvalidRequestError(`Cannot use this file as input: its purpose is ${purpose}, not batch`, {
    code: "invalid_file_purpose",
    param: "input_file_id",
  });
}

/** Options of a provider's job, which may also be given at the top level. */
const jobOptions = ["role_arn", "job_name", "output_data_config", "model"] as const;

function readJobOptions(body: BatchRequest): JsonValue {
  const { provider_options: given } = body;
  const entries = jobOptions.map((name) => [name, given?.[name] ?? body[name]] as const);
  const options = Object.fromEntries(entries.filter(([, value]) => value !== undefined && value !== null));
  // parsed from JSON
  return options as JsonValue;
}

/** The columns for the provider whose own batch this may become: only batches with that completion window. */
async function ofProvider(
  body: BatchRequest,
  options: Readonly<Record<string, string>>,
  context: CallerContext,
): Promise<Partial<NewGatewayBatchRow>> {
  if (body.completion_window !== "24h") return {};
  const provider = await findBatchProvider(body.endpoint, options, context);
  return provider === undefined ? {} : { provider, providerOptions: readJobOptions(body) };
}

/** `POST /batches` */
export async function createBatch(context: CallerContext): Promise<Reply> {
  const { clock, control, batches, limits } = context.services;
  const { value } = await readJsonBody(context, limits.jsonBodyBytes, context.services);
  const body = requireBody(BatchRequest, value);
  const tenant = tenantOf(context);
  const apiKeyId = await requireKey(context);
  const options = readGatewayOptions(body.gateway_options ?? {}, context.services);
  await requireInput(body.input_file_id, context);
  if ((await batches.store.countOpen(tenant)) >= maxOpen) {
    throw new RateLimitError(`Cannot make a batch: ${maxOpen} batches of this workspace are still open`, {
      code: "too_many_batches",
      headers: { "retry-after": "60" },
    });
  }
  const id = `gw_batch_${crypto.randomUUID()}`;
  const now = clock.now();
  const row: NewGatewayBatchRow = {
    id,
    ...tenant,
    apiKeyId,
    status: "validating",
    endpoint: body.endpoint,
    inputFileId: body.input_file_id,
    completionWindow: body.completion_window,
    model: body.model ?? body.provider_options?.model ?? null,
    // parsed from JSON
    metadata: (body.metadata ?? null) as JsonValue,
    createdAt: now,
    expiresAt: now + batchLifetimeMs,
    outputSeconds: body.output_expires_after?.seconds ?? null,
    ...(await ofProvider(body, options, context)),
  };
  const place = { ...tenant, ...sealedOptions, recordId: id };
  await batches.store.write([
    control.stores.gatewayBatches.insert(tenant, row),
    control.stores.secrets.insert(tenant, await control.vault.seal(place, JSON.stringify(options), now)),
  ]);
  batches.wake();
  return jsonReply(toBatchObject(await requireBatch(context, id)));
}

/** `GET /batches` */
export async function listBatches(context: CallerContext): Promise<Reply> {
  const limit = readLimit(context, { most: 100, usual: 20 });
  const cursor = context.url.searchParams.get("after");
  const after = cursor === null ? undefined : await requireBatch(context, cursor);
  const rows = await context.services.batches.store.page(tenantOf(context), { limit: limit + 1, after });
  return jsonReply(toPage(rows, limit, (row) => toBatchObject(row)));
}

/** `GET /batches/{id}` */
export async function retrieveBatch(context: CallerContext): Promise<Reply> {
  const hasDetails = context.url.searchParams.get("include_provider_details") === "true";
  return jsonReply(toBatchObject(await requireBatch(context), hasDetails));
}

/** `POST /batches/{id}/cancel` */
export async function cancelBatch(context: CallerContext): Promise<Reply> {
  const row = await requireBatch(context);
  const isCancelled = await context.services.batches.store.cancel(row, context.services.clock.now());
  context.services.batches.wake();
  const now = await requireBatch(context);
  if (!isCancelled && !["cancelling", "cancelled"].includes(now.status)) {
    throw new ConflictError(`Cannot cancel this batch: it is ${now.status}`, { code: "batch_over" });
  }
  return jsonReply(toBatchObject(now));
}

/** `GET /batches/{id}/output`: the successful lines; without any, the failed lines or what is wrong with the input. */
export async function retrieveBatchOutput(context: CallerContext): Promise<Reply> {
  const row = await requireBatch(context);
  if (!finalStates.has(row.status)) {
    throw new ConflictError(`Cannot return the output yet: the batch is ${row.status}`, {
      code: "batch_not_ready",
      headers: { "retry-after": "5" },
    });
  }
  const fileId = row.outputFileId ?? row.errorFileId;
  if (fileId !== null) return contentReply(await requireFile(fileId, context), context.services.files);
  const { errors } = toBatchObject(row);
  if (errors) return jsonReply(errors);
  return { status: 200, headers: { "content-type": "application/octet-stream" }, body: null };
}
