import * as v from "valibot";
import {
  cutPage,
  hyperparameterOf,
  type RecordAdapters,
  type RecordRequest,
  requireJobText,
  toSeconds,
} from "../core/records.ts";
import { encodeSegment } from "../shared/hosts.ts";

const text = v.nullish(v.string());

/** https://docs.fireworks.ai/api-reference/get-dataset */
const Dataset = v.looseObject({ name: v.string(), displayName: text, createTime: text, state: text });

function lastPart(name: string): string {
  return name.slice(name.lastIndexOf("/") + 1);
}

function toFile(body: unknown): Record<string, unknown> & { id: string } {
  const { name, displayName, createTime, state } = v.parse(Dataset, body);
  return {
    id: lastPart(name),
    object: "file",
    bytes: 0,
    created_at: toSeconds(createTime) ?? 0,
    filename: displayName || lastPart(name),
    purpose: "fine-tune",
    status: state === "READY" ? "processed" : "uploaded",
  };
}

/** https://docs.fireworks.ai/api-reference/get-supervised-fine-tuning-job */
const Job = v.looseObject({
  name: v.string(),
  state: text,
  createTime: text,
  completedTime: text,
  baseModel: text,
  outputModel: text,
  dataset: text,
  evaluationDataset: text,
  status: v.nullish(v.looseObject({ code: text, message: text })),
  epochs: v.nullish(v.number()),
  learningRate: v.nullish(v.number()),
});

const states: Readonly<Record<string, string>> = {
  CREATING: "running",
  RUNNING: "running",
  EVALUATION: "running",
  WRITING_RESULTS: "running",
  VALIDATING: "queued",
  COMPLETED: "succeeded",
  FAILED: "failed",
  CANCELLED: "cancelled",
  DELETING: "cancelled",
};

function toTuningJob(body: unknown): Record<string, unknown> & { id: string } {
  const job = v.parse(Job, body);
  const status = states[(job.state ?? "").replace(/^JOB_STATE_/, "")] ?? "queued";
  const message = status === "failed" ? job.status?.message : undefined;
  return {
    id: lastPart(job.name),
    object: "fine_tuning.job",
    status,
    model: job.baseModel ?? null,
    created_at: toSeconds(job.createTime) ?? 0,
    finished_at: toSeconds(job.completedTime),
    fine_tuned_model: status === "succeeded" ? (job.outputModel ?? null) : null,
    error: message ? { code: job.status?.code ?? "failed", message, param: null } : null,
    training_file: job.dataset ? lastPart(job.dataset) : null,
    validation_file: job.evaluationDataset ? lastPart(job.evaluationDataset) : null,
    hyperparameters: { n_epochs: job.epochs ?? "auto", learning_rate_multiplier: job.learningRate ?? "auto" },
    organization_id: "",
    result_files: [],
    seed: 0,
    trained_tokens: null,
  };
}

function toJob({ body }: RecordRequest, account: string): object {
  const model = requireJobText(body.model, "model");
  const named = (id: string) => (id.includes("/") ? id : `accounts/${account}/datasets/${id}`);
  const { suffix, validation_file: validation } = body;
  return {
    dataset: named(requireJobText(body.training_file, "training_file")),
    baseModel: model.includes("/") ? model : `accounts/fireworks/models/${model}`,
    ...(typeof validation === "string" && { evaluationDataset: named(validation) }),
    ...(typeof suffix === "string" && { displayName: suffix, outputModel: `accounts/${account}/models/${suffix}` }),
    epochs: hyperparameterOf(body, "n_epochs"),
    learningRate: hyperparameterOf(body, "learning_rate_multiplier"),
  };
}

const Datasets = v.looseObject({ datasets: v.nullish(v.array(v.unknown())) });
const Jobs = v.looseObject({ supervisedFineTuningJobs: v.nullish(v.array(v.unknown())) });
const datasetPath = ({ id }: RecordRequest) => `/datasets/${encodeSegment("file_id", id)}`;
const jobPath = ({ id }: RecordRequest) => `/supervisedFineTuningJobs/${encodeSegment("fine_tuning_job_id", id)}`;
const at = "store";

/** Files as datasets, and fine-tuning jobs (https://docs.fireworks.ai/api-reference/create-dataset). */
export function createRecords(account: string): RecordAdapters {
  return {
    calls: {
      uploadFile: {
        at,
        method: "POST",
        path: () => "/datasets",
        toUpstream: ({ name }) => ({ datasetId: `gateway-${name}`, dataset: { userUploaded: {} } }),
        followedBy: {
          at,
          method: "POST",
          path: ({ name }) => `/datasets/gateway-${name}:upload`,
          passesBody: true,
          fromUpstream: (body, { name, now }) => ({
            filename: "",
            bytes: 0,
            created_at: now,
            purpose: "fine-tune",
            ...body,
            id: `gateway-${name}`,
            object: "file",
            status: "uploaded",
          }),
        },
      },
      listFiles: {
        at,
        path: () => "/datasets?pageSize=200",
        fromUpstream: (body, { query }) => cutPage((v.parse(Datasets, body).datasets ?? []).map(toFile), query),
      },
      retrieveFile: { at, path: datasetPath, fromUpstream: toFile },
      deleteFile: {
        at,
        method: "DELETE",
        path: datasetPath,
        fromUpstream: (_, { id }) => ({ id, object: "file", deleted: true }),
      },
      createFinetune: {
        at,
        method: "POST",
        path: () => "/supervisedFineTuningJobs",
        toUpstream: (request) => toJob(request, account),
        fromUpstream: toTuningJob,
      },
      listFinetunes: {
        at,
        path: () => "/supervisedFineTuningJobs?pageSize=200",
        fromUpstream: (body, { query }) =>
          cutPage((v.parse(Jobs, body).supervisedFineTuningJobs ?? []).map(toTuningJob), query),
      },
      retrieveFinetune: { at, path: jobPath, fromUpstream: toTuningJob },
      cancelFinetune: {
        at,
        method: "DELETE",
        path: jobPath,
        // a deleted job can no longer be read
        fromUpstream: (_, { id, now }) => ({
          id,
          object: "fine_tuning.job",
          status: "cancelled",
          created_at: now,
          finished_at: now,
          error: null,
        }),
      },
    },
  };
}
