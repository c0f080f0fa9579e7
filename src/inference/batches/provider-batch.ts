import * as v from "valibot";
import type { GatewayBatchRow } from "../../db/tables/batches.ts";
import type { JsonValue } from "../../db/tables/columns.ts";
import { BatchError } from "../../schemas/batches.ts";
import { isId } from "./provider-request.ts";

const id = v.pipe(v.string(), v.check(isId));
const count = v.nullish(v.number());

/** The fields read of a provider's batch, in the shape of `GET /v1/batches/{id}`. */
const ProviderBatch = v.looseObject({
  id,
  status: v.nullish(v.string()),
  input_file_id: v.nullish(v.string()),
  output_file_id: v.nullish(id),
  error_file_id: v.nullish(id),
  created_at: count,
  errors: v.nullish(v.looseObject({ data: v.nullish(v.array(BatchError)) })),
  request_counts: v.nullish(v.looseObject({ completed: count, failed: count })),
});
export type ProviderBatch = v.InferOutput<typeof ProviderBatch>;

/** Most characters of a batch that is stored unchanged. */
const maxStoredLength = 64 * 1024;
/** Most errors of a batch that are stored. */
const maxErrors = 100;

const states = new Set(["validating", "in_progress", "finalizing", "completed", "failed", "expired", "cancelled"]);
states.add("cancelling");

const finalStates = new Set(["completed", "failed", "expired", "cancelled"]);

/** A provider's batch from its response; undefined where it cannot be parsed. */
export function parseProviderBatch(value: unknown): ProviderBatch | undefined {
  const parsed = v.safeParse(ProviderBatch, value);
  return parsed.success ? parsed.output : undefined;
}

/** Its state, as the gateway names it. */
export function stateOf({ status }: ProviderBatch): string {
  return status && states.has(status) ? status : "in_progress";
}

/** Whether a state is final. */
export function isFinal(status: string | null): boolean {
  return status !== null && finalStates.has(status);
}

/** The batch as the column stores it: complete unless it is too long. */
export function toStoredBatch(batch: ProviderBatch): JsonValue {
  const { id, status, output_file_id, error_file_id, created_at, request_counts } = batch;
  const text = JSON.stringify(batch);
  const short = { id, status, output_file_id, error_file_id, created_at, request_counts };
  // serialised and parsed again, so that it holds JSON values only
  return JSON.parse(text.length <= maxStoredLength ? text : JSON.stringify(short));
}

/** The batch a row holds. */
export function storedBatchOf({ providerBatch, providerBatchId }: GatewayBatchRow): ProviderBatch {
  return parseProviderBatch(providerBatch) ?? { id: providerBatchId ?? "" };
}

/** The errors a provider reports; a batch that failed without a reason gets one that says so. */
export function errorsOf(batch: ProviderBatch, provider: string): BatchError[] {
  const reported = (batch.errors?.data ?? []).slice(0, maxErrors);
  if (reported.length > 0 || stateOf(batch) !== "failed") return reported;
  return [{ code: "provider_batch_failed", message: `The batch failed at ${provider}`, param: null, line: null }];
}
