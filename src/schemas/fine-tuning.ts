import * as v from "valibot";
import { GatewayOptionHeaders, ProviderOptions, RecordMetadata } from "./batches.ts";

const auto = v.literal("auto");
const positive = v.pipe(v.number(), v.integer(), v.minValue(1));

const Hyperparameters = v.looseObject({
  n_epochs: v.optional(v.union([auto, v.pipe(positive, v.maxValue(50))])),
  batch_size: v.optional(v.union([auto, positive])),
  learning_rate_multiplier: v.optional(v.union([auto, v.pipe(v.number(), v.gtValue(0))])),
  beta: v.optional(v.union([auto, v.number()])),
});

const OneMethod = v.optional(v.looseObject({ hyperparameters: v.optional(Hyperparameters) }));

const Method = v.looseObject({
  type: v.picklist(["supervised", "dpo", "reinforcement"]),
  supervised: OneMethod,
  dpo: OneMethod,
  reinforcement: OneMethod,
});

const Integration = v.looseObject({ type: v.string(), wandb: v.optional(v.looseObject({})) });

/** Body of `POST /fine_tuning/jobs`. Unknown fields are forwarded. */
export const FineTuningRequest = v.looseObject({
  model: v.string(),
  training_file: v.string(),
  suffix: v.nullish(v.string()),
  method: v.nullish(Method),
  validation_file: v.nullish(v.string()),
  seed: v.nullish(v.pipe(v.number(), v.integer())),
  integrations: v.nullish(v.array(Integration)),
  metadata: v.nullish(RecordMetadata),
  /** The older form of `method`. */
  hyperparameters: v.nullish(Hyperparameters),
  job_name: v.optional(v.string()),
  role_arn: v.optional(v.string()),
  output_file: v.optional(v.string()),
  gateway_options: v.nullish(GatewayOptionHeaders),
  provider_options: v.nullish(ProviderOptions),
});
export type FineTuningRequest = v.InferOutput<typeof FineTuningRequest>;

const JobError = v.looseObject({
  code: v.nullish(v.string()),
  message: v.nullish(v.string()),
  param: v.nullish(v.string()),
});

/** A fine-tuning job. Times are Unix seconds. */
export const FineTuningJob = v.looseObject({
  id: v.string(),
  object: v.literal("fine_tuning.job"),
  created_at: v.number(),
  error: v.nullish(JobError),
  fine_tuned_model: v.nullish(v.string()),
  finished_at: v.nullish(v.number()),
  hyperparameters: v.nullish(Hyperparameters),
  model: v.nullish(v.string()),
  organization_id: v.nullish(v.string()),
  result_files: v.nullish(v.array(v.string())),
  /** `validating_files`, `queued`, `running`, `succeeded`, `failed` or `cancelled`. */
  status: v.string(),
  trained_tokens: v.nullish(v.number()),
  training_file: v.nullish(v.string()),
  validation_file: v.nullish(v.string()),
  integrations: v.nullish(v.pipe(v.array(Integration), v.maxLength(5))),
  seed: v.nullish(v.number()),
  estimated_finish: v.nullish(v.number()),
  method: v.nullish(Method),
  metadata: v.nullish(v.record(v.string(), v.string())),
});
export type FineTuningJob = v.InferOutput<typeof FineTuningJob>;

/** Response of `GET /fine_tuning/jobs`. */
export const FineTuningJobList = v.looseObject({
  object: v.literal("list"),
  data: v.array(FineTuningJob),
  has_more: v.optional(v.boolean()),
});

/** Response of `GET /fine_tuning/jobs/{id}/events`. */
export const FineTuningEventList = v.looseObject({
  object: v.literal("list"),
  data: v.array(
    v.looseObject({
      id: v.string(),
      object: v.literal("fine_tuning.job.event"),
      created_at: v.number(),
      /** `info`, `warn` or `error`. */
      level: v.string(),
      message: v.string(),
      type: v.nullish(v.string()),
      data: v.optional(v.unknown()),
    }),
  ),
  has_more: v.optional(v.boolean()),
});

const metric = v.nullish(v.number());

/** Response of `GET /fine_tuning/jobs/{id}/checkpoints`. */
export const FineTuningCheckpointList = v.looseObject({
  object: v.literal("list"),
  data: v.array(
    v.looseObject({
      id: v.string(),
      object: v.literal("fine_tuning.job.checkpoint"),
      created_at: v.number(),
      fine_tuned_model_checkpoint: v.string(),
      fine_tuning_job_id: v.string(),
      step_number: v.number(),
      metrics: v.looseObject({
        step: metric,
        train_loss: metric,
        train_mean_token_accuracy: metric,
        valid_loss: metric,
        valid_mean_token_accuracy: metric,
        full_valid_loss: metric,
        full_valid_mean_token_accuracy: metric,
      }),
    }),
  ),
  first_id: v.nullish(v.string()),
  last_id: v.nullish(v.string()),
  has_more: v.optional(v.boolean()),
});
