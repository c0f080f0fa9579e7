import * as v from "valibot";
import {
  cutPage,
  decodeId,
  hyperparameterOf,
  type RecordAdapters,
  type RecordRequest,
  requireJobText,
  toSeconds,
} from "../core/records.ts";
import { encodeSegment } from "../shared/hosts.ts";
import { readModel } from "./publishers.ts";
import { locationPath, type VertexSettings } from "./settings.ts";

const text = v.nullish(v.string());

/** https://cloud.google.com/vertex-ai/generative-ai/docs/reference/rest/v1/projects.locations.tuningJobs */
const Job = v.looseObject({
  name: v.string(),
  state: text,
  baseModel: text,
  createTime: text,
  endTime: text,
  error: v.nullish(v.looseObject({ code: v.nullish(v.number()), message: text })),
  tunedModel: v.nullish(v.looseObject({ model: text, endpoint: text })),
  supervisedTuningSpec: v.nullish(v.looseObject({ trainingDatasetUri: text, validationDatasetUri: text })),
});

const states: Readonly<Record<string, string>> = {
  RUNNING: "running",
  UPDATING: "running",
  SUCCEEDED: "succeeded",
  PARTIALLY_SUCCEEDED: "succeeded",
  FAILED: "failed",
  CANCELLED: "cancelled",
  CANCELLING: "cancelled",
  EXPIRED: "cancelled",
};

function toTuningJob(body: unknown): Record<string, unknown> & { id: string } {
  const {
    name,
    state,
    baseModel,
    tunedModel,
    error,
    createTime,
    endTime,
    supervisedTuningSpec: spec,
  } = v.parse(Job, body);
  const toFile = (uri: string | null | undefined) => (uri ? encodeURIComponent(uri) : null);
  return {
    id: name.slice(name.lastIndexOf("/") + 1),
    object: "fine_tuning.job",
    status: states[(state ?? "").replace(/^JOB_STATE_/, "")] ?? "queued",
    model: baseModel ?? null,
    fine_tuned_model: tunedModel?.endpoint ?? tunedModel?.model ?? null,
    created_at: toSeconds(createTime) ?? 0,
    finished_at: toSeconds(endTime),
    error: error ? { code: String(error.code ?? "failed"), message: error.message ?? "", param: null } : null,
    training_file: toFile(spec?.trainingDatasetUri),
    validation_file: toFile(spec?.validationDatasetUri),
    hyperparameters: { n_epochs: "auto" },
    organization_id: "",
    result_files: [],
    seed: 0,
    trained_tokens: null,
  };
}

const parameterNames = [
  ["n_epochs", "epochCount"],
  ["learning_rate_multiplier", "learningRateMultiplier"],
  ["batch_size", "adapterSize"],
] as const;

function hyperParametersOf(body: RecordRequest["body"]): object {
  const known = parameterNames.flatMap(([name, theirs]) => {
    const value = hyperparameterOf(body, name);
    return value === undefined ? [] : [[theirs, value] as const];
  });
  return known.length === 0 ? {} : { hyperParameters: Object.fromEntries(known) };
}

function toJob({ body }: RecordRequest): object {
  const validation = typeof body.validation_file === "string" ? decodeId(body.validation_file) : undefined;
  return {
    baseModel: readModel(requireJobText(body.model, "model")).name,
    ...(typeof body.suffix === "string" && { tunedModelDisplayName: body.suffix }),
    supervisedTuningSpec: {
      trainingDatasetUri: decodeId(requireJobText(body.training_file, "training_file")),
      ...(validation !== undefined && { validationDatasetUri: validation }),
      ...hyperParametersOf(body),
    },
  };
}

const Jobs = v.looseObject({ tuningJobs: v.nullish(v.array(v.unknown())) });

/** Tuning of Gemini models. */
export function createTuningCalls(settings: VertexSettings): RecordAdapters["calls"] {
  const jobs = () => `${locationPath(settings)}/tuningJobs`;
  const jobPath = ({ id }: RecordRequest) => `${jobs()}/${encodeSegment("fine_tuning_job_id", id)}`;
  const retrieve = { path: jobPath, fromUpstream: toTuningJob };
  return {
    createFinetune: { method: "POST", path: jobs, toUpstream: toJob, fromUpstream: toTuningJob },
    retrieveFinetune: retrieve,
    listFinetunes: {
      path: () => `${jobs()}?pageSize=100`,
      fromUpstream: (body, { query }) => cutPage((v.parse(Jobs, body).tuningJobs ?? []).map(toTuningJob), query),
    },
    cancelFinetune: { method: "POST", path: (request) => `${jobPath(request)}:cancel`, followedBy: retrieve },
  };
}
