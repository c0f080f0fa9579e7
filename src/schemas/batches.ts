import * as v from "valibot";
import { ExpiresAfter } from "./files.ts";
import { plainObject } from "./objects.ts";

/** Metadata of a record: at most 16 pairs. */
export const RecordMetadata = v.pipe(
  v.record(v.pipe(v.string(), v.maxLength(64)), v.pipe(v.string(), v.maxLength(512))),
  v.check((value) => Object.keys(value).length <= 16, "Invalid metadata: it has more than 16 members"),
);

const OutputData = plainObject({ s3OutputDataConfig: v.optional(plainObject({})) });

/** Settings for the provider, under the provider's names. */
export const ProviderOptions = plainObject({
  model: v.optional(v.string()),
  role_arn: v.optional(v.string()),
  job_name: v.optional(v.string()),
  output_data_config: v.optional(v.union([v.string(), OutputData])),
});

/** Request headers for the calls of a batch, by name; objects are sent as JSON. */
export const GatewayOptionHeaders = v.record(
  v.string(),
  v.union([v.string(), v.number(), v.boolean(), v.record(v.string(), v.unknown()), v.array(v.unknown())]),
);
export type GatewayOptionHeaders = v.InferOutput<typeof GatewayOptionHeaders>;

/** Body of `POST /batches` for batches that the gateway runs. */
export const BatchRequest = v.looseObject({
  input_file_id: v.pipe(v.string(), v.minLength(1)),
  endpoint: v.string(),
  completion_window: v.picklist(["immediate", "24h"]),
  metadata: v.nullish(RecordMetadata),
  model: v.nullish(v.string()),
  gateway_options: v.nullish(GatewayOptionHeaders),
  provider_options: v.nullish(ProviderOptions),
  output_expires_after: v.nullish(ExpiresAfter),
});
export type BatchRequest = v.InferOutput<typeof BatchRequest>;

/** As `BatchRequest`, with further fields that providers accept; for documentation. */
export const AnyBatchRequest = v.looseObject({
  ...BatchRequest.entries,
  input_file_id: v.optional(v.pipe(v.string(), v.description("Needed unless `requests` or `input_blob` is given"))),
  requests: v.optional(
    v.pipe(
      v.array(v.looseObject({ custom_id: v.string(), params: v.looseObject({}) })),
      v.description("Inline requests, for Anthropic"),
    ),
  ),
  role_arn: v.optional(v.string()),
  job_name: v.optional(v.string()),
  output_data_config: v.optional(v.union([v.string(), OutputData])),
  input_blob: v.optional(v.string()),
  output_folder: v.optional(v.looseObject({ url: v.string() })),
});

/** A problem with one line of a batch's input, or with the whole input. */
export const BatchError = v.looseObject({
  code: v.nullish(v.string()),
  message: v.nullish(v.string()),
  param: v.nullish(v.string()),
  /** From 1. */
  line: v.nullish(v.number()),
});
export type BatchError = v.InferOutput<typeof BatchError>;

const time = v.nullish(v.number());

/** A batch. Times are Unix seconds. */
export const BatchObject = v.looseObject({
  id: v.string(),
  object: v.literal("batch"),
  endpoint: v.nullish(v.string()),
  errors: v.nullish(v.looseObject({ object: v.literal("list"), data: v.array(BatchError) })),
  input_file_id: v.nullish(v.string()),
  completion_window: v.nullish(v.string()),
  /** `validating`, `failed`, `in_progress`, `finalizing`, `completed`, `expired`, `cancelling` or `cancelled`. */
  status: v.string(),
  output_file_id: v.nullish(v.string()),
  error_file_id: v.nullish(v.string()),
  created_at: v.number(),
  in_progress_at: time,
  expires_at: time,
  finalizing_at: time,
  completed_at: time,
  failed_at: time,
  expired_at: time,
  cancelling_at: time,
  cancelled_at: time,
  request_counts: v.nullish(v.looseObject({ total: v.number(), completed: v.number(), failed: v.number() })),
  metadata: v.nullish(v.record(v.string(), v.string())),
  model: v.nullish(v.string()),
  /** Name of the provider that runs the batch, if it has batches. */
  provider: v.optional(v.string()),
  /** Id of the provider's batch, once created. */
  provider_batch_id: v.nullish(v.string()),
  /** The provider's last response about its batch, if `include_provider_details` is set. */
  provider_batch: v.nullish(v.looseObject({})),
  usage: v.nullish(
    v.looseObject({
      input_tokens: v.number(),
      input_tokens_details: v.looseObject({ cached_tokens: v.number() }),
      output_tokens: v.number(),
      output_tokens_details: v.looseObject({ reasoning_tokens: v.number() }),
      total_tokens: v.number(),
    }),
  ),
  /** US cents of all responses of a batch that the gateway runs; null where no price is known. */
  cost: v.nullish(v.number()),
  cost_currency: v.nullish(v.string()),
});
export type BatchObject = v.InferOutput<typeof BatchObject>;

/** Response of `GET /batches`. */
export const BatchList = v.looseObject({
  object: v.literal("list"),
  data: v.array(BatchObject),
  first_id: v.nullish(v.string()),
  last_id: v.nullish(v.string()),
  has_more: v.optional(v.boolean()),
});
export type BatchList = v.InferOutput<typeof BatchList>;

/** One line of a batch's input. */
export const BatchLine = plainObject({
  custom_id: v.pipe(v.string(), v.minLength(1), v.maxLength(512)),
  method: v.optional(v.literal("POST")),
  url: v.optional(v.string()),
  body: v.pipe(
    plainObject({}),
    v.check((body) => !Array.isArray(body), "Invalid body: it must be an object"),
  ),
});
export type BatchLine = v.InferOutput<typeof BatchLine>;
