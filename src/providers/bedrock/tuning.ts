import * as v from "valibot";
import { isObject } from "../../lib/json.ts";
import {
  cutPage,
  decodeId,
  hyperparameterOf,
  type RecordAdapters,
  type RecordRequest,
  requireJobText,
  toSeconds,
} from "../core/records.ts";

const text = v.nullish(v.string());
const Data = v.nullish(v.looseObject({ s3Uri: text }));

/** https://docs.aws.amazon.com/bedrock/latest/APIReference/API_GetModelCustomizationJob.html */
const Job = v.looseObject({
  jobArn: v.string(),
  status: text,
  creationTime: text,
  endTime: text,
  failureMessage: text,
  baseModelArn: text,
  outputModelArn: text,
  customModelArn: text,
  hyperParameters: v.nullish(v.record(v.string(), v.string())),
  trainingDataConfig: Data,
  validationDataConfig: v.nullish(v.looseObject({ validators: v.nullish(v.array(v.looseObject({ s3Uri: text }))) })),
});

const states: Readonly<Record<string, string>> = {
  InProgress: "running",
  Completed: "succeeded",
  Failed: "failed",
  Stopping: "cancelled",
  Stopped: "cancelled",
};

/** Bedrock's names of hyperparameters. */
const parameterNames = [
  ["n_epochs", "epochCount"],
  ["batch_size", "batchSize"],
  ["learning_rate_multiplier", "learningRateMultiplier"],
] as const;

function toFile(uri: string | null | undefined): string | null {
  return uri ? encodeURIComponent(uri) : null;
}

function toTuningJob(body: unknown): Record<string, unknown> & { id: string } {
  const job = v.parse(Job, body);
  const { hyperParameters = {} } = job;
  const known = parameterNames.flatMap(([name, theirs]) => {
    const value = Number(hyperParameters?.[theirs]);
    return Number.isNaN(value) ? [] : [[name, value] as const];
  });
  const message = job.failureMessage;
  return {
    id: encodeURIComponent(job.jobArn),
    object: "fine_tuning.job",
    status: states[job.status ?? ""] ?? "running",
    model: job.baseModelArn ?? null,
    created_at: toSeconds(job.creationTime) ?? 0,
    finished_at: toSeconds(job.endTime),
    fine_tuned_model: job.outputModelArn ?? job.customModelArn ?? null,
    error: message ? { code: "failed", message, param: null } : null,
    hyperparameters: { n_epochs: "auto", ...Object.fromEntries(known) },
    training_file: toFile(job.trainingDataConfig?.s3Uri),
    organization_id: "",
    result_files: [],
    seed: 0,
    validation_file: toFile(job.validationDataConfig?.validators?.[0]?.s3Uri),
    trained_tokens: null,
  };
}

/** Hyperparameters under Bedrock's names. */
function hyperParametersOf(body: RecordRequest["body"]): Record<string, string> {
  return Object.fromEntries(
    parameterNames.flatMap(([name, theirs]) => {
      const value = hyperparameterOf(body, name);
      return value === undefined ? [] : [[theirs, String(value)]];
    }),
  );
}

function toJob({ body, name }: RecordRequest): object {
  const options = isObject(body.provider_options) ? body.provider_options : {};
  const training = decodeId(requireJobText(body.training_file, "training_file"));
  const validation = typeof body.validation_file === "string" ? decodeId(body.validation_file) : undefined;
  const output = body.output_file ?? training.slice(0, training.lastIndexOf("/") + 1);
  return {
    baseModelIdentifier: requireJobText(body.model ?? options.model, "model"),
    customModelName: requireJobText(body.suffix ?? `gateway-${name}`, "suffix"),
    jobName: requireJobText(body.job_name ?? options.job_name ?? `gateway-${name}`, "job_name"),
    roleArn: requireJobText(body.role_arn ?? options.role_arn, "role_arn"),
    customizationType: "FINE_TUNING",
    trainingDataConfig: { s3Uri: training },
    ...(validation !== undefined && { validationDataConfig: { validators: [{ s3Uri: validation }] } }),
    outputDataConfig: { s3Uri: decodeId(requireJobText(output, "output_file")) },
    hyperParameters: hyperParametersOf(body),
  };
}

const Created = v.looseObject({ jobArn: v.string() });
const Jobs = v.looseObject({ modelCustomizationJobSummaries: v.nullish(v.array(v.unknown())) });

const jobPath = ({ id }: RecordRequest) => `/model-customization-jobs/${encodeURIComponent(decodeId(id))}`;
const retrieve = { path: jobPath, fromUpstream: toTuningJob };

/** Fine-tuning jobs (https://docs.aws.amazon.com/bedrock/latest/userguide/custom-models.html). */
export const tuningCalls: RecordAdapters["calls"] = {
  createFinetune: {
    method: "POST",
    path: () => "/model-customization-jobs",
    toUpstream: toJob,
    fromUpstream(body, request) {
      const { jobArn } = v.parse(Created, body);
      const { model, training_file, validation_file = null } = request.body;
      return {
        id: encodeURIComponent(jobArn),
        object: "fine_tuning.job",
        status: "queued",
        created_at: request.now,
        model,
        training_file,
        validation_file,
        fine_tuned_model: null,
        finished_at: null,
        error: null,
        seed: 0,
        hyperparameters: { n_epochs: "auto" },
        organization_id: "",
        result_files: [],
        trained_tokens: null,
      };
    },
  },
  retrieveFinetune: retrieve,
  listFinetunes: {
    path: () => "/model-customization-jobs?maxResults=1000&sortBy=CreationTime&sortOrder=Descending",
    fromUpstream: (body, { query }) =>
      cutPage((v.parse(Jobs, body).modelCustomizationJobSummaries ?? []).map(toTuningJob), query),
  },
  cancelFinetune: {
    method: "POST",
    path: (request) => `${jobPath(request)}/stop`,
    fromUpstream: (body) => body,
    followedBy: retrieve,
  },
};
