import * as v from "valibot";
import { type Refuse, refuseWith } from "../../errors.ts";
import { plainIssues } from "../../lib/issues.ts";
import { isObject, stringOf } from "../../lib/json.ts";
import type { BatchLine, BatchObject } from "../../schemas/batches.ts";
import { ChatRequest } from "../../schemas/chat.ts";
import {
  cutPage,
  decodeId,
  type ObjectRules,
  type OutputRules,
  optionOf,
  type RecordAdapters,
  type RecordRequest,
  type RowOptions,
  toSeconds,
} from "../core/records.ts";
import { encodeSegment } from "../shared/hosts.ts";
import { createChat } from "./chat.ts";
import { readModel } from "./publishers.ts";
import { locationPath, type VertexSettings } from "./settings.ts";
import { createTuningCalls } from "./tuning.ts";

const text = v.nullish(v.string());
/** Counts are strings in this API (int64). */
const count = v.nullish(v.union([v.string(), v.number()]));

/** https://cloud.google.com/vertex-ai/docs/reference/rest/v1/projects.locations.batchPredictionJobs */
const Job = v.looseObject({
  name: v.string(),
  state: text,
  model: text,
  createTime: text,
  startTime: text,
  endTime: text,
  error: v.nullish(v.looseObject({ code: v.nullish(v.number()), message: text })),
  inputConfig: v.nullish(v.looseObject({ gcsSource: v.nullish(v.looseObject({ uris: v.nullish(v.unknown()) })) })),
  outputConfig: v.nullish(v.looseObject({ gcsDestination: v.nullish(v.looseObject({ outputUriPrefix: text })) })),
  outputInfo: v.nullish(v.looseObject({ gcsOutputDirectory: text })),
  completionStats: v.nullish(v.looseObject({ successfulCount: count, failedCount: count, incompleteCount: count })),
});
type Job = v.InferOutput<typeof Job>;

const states: Readonly<Record<string, string>> = {
  CANCELLING: "cancelling",
  CANCELLED: "cancelled",
  EXPIRED: "expired",
  FAILED: "failed",
  SUCCEEDED: "completed",
  PARTIALLY_SUCCEEDED: "completed",
  RUNNING: "in_progress",
  UPDATING: "in_progress",
};

const timeOfState: Readonly<Record<string, string>> = {
  completed: "completed_at",
  failed: "failed_at",
  expired: "expired_at",
  cancelled: "cancelled_at",
};

function stateOf({ state }: Job): string {
  return states[(state ?? "").replace(/^JOB_STATE_/, "")] ?? "validating";
}

/** The path of an object below the store's base URL. */
function objectPath(uri: string): { bucket: string; path: string } | undefined {
  const [, bucket, key] = /^gs:\/\/([a-z0-9][a-z0-9._-]{1,220}[a-z0-9])\/(.+)$/.exec(uri) ?? [];
  if (bucket === undefined || key === undefined || !isSafeKey(key)) return undefined;
  return { bucket, path: `/${[bucket, ...key.split("/")].map(encodeURIComponent).join("/")}` };
}

function isSafeKey(key: string): boolean {
  return key.isWellFormed() && key.length <= 1024 && key.split("/").every((part) => !["", ".", ".."].includes(part));
}

function inputOf({ inputConfig }: Job): string | undefined {
  const uris = inputConfig?.gcsSource?.uris;
  const first = Array.isArray(uris) ? uris[0] : uris;
  return stringOf(first);
}

/** Whether the records of a job are embedding records. */
function isEmbedding({ model }: Job): boolean {
  return /embedding/.test(model ?? "");
}

function outputOf(job: Job): string | undefined {
  const folder = job.outputInfo?.gcsOutputDirectory;
  if (!folder) return undefined;
  return `${folder.replace(/\/+$/, "")}/${isEmbedding(job) ? "000000000000.jsonl" : "predictions.jsonl"}`;
}

function toBatch(body: unknown): BatchObject {
  const job = v.parse(Job, body);
  const status = stateOf(job);
  const timeName = timeOfState[status];
  const input = inputOf(job);
  const output = outputOf(job) ?? job.outputConfig?.gcsDestination?.outputUriPrefix;
  const [done, failed, rest] = [
    job.completionStats?.successfulCount,
    job.completionStats?.failedCount,
    job.completionStats?.incompleteCount,
  ].map((value) => Math.max(0, Number(value ?? 0) || 0));
  const { error } = job;
  return {
    id: job.name.slice(job.name.lastIndexOf("/") + 1),
    object: "batch",
    endpoint: isEmbedding(job) ? "/v1/embeddings" : "/v1/chat/completions",
    completion_window: "24h",
    status,
    model: job.model ?? null,
    metadata: null,
    error_file_id: null,
    input_file_id: input === undefined ? null : encodeURIComponent(input),
    output_file_id: output ? encodeURIComponent(output) : null,
    errors: error
      ? {
          object: "list",
          data: [{ code: String(error.code ?? "failed"), message: error.message ?? null, param: null, line: null }],
        }
      : null,
    created_at: toSeconds(job.createTime) ?? 0,
    in_progress_at: toSeconds(job.startTime),
    ...(timeName !== undefined && { [timeName]: toSeconds(job.endTime) }),
    request_counts: { total: (done ?? 0) + (failed ?? 0) + (rest ?? 0), completed: done ?? 0, failed: failed ?? 0 },
  };
}

const refuse: Refuse = refuseWith("invalid_body");

/** A new job (https://cloud.google.com/vertex-ai/generative-ai/docs/multimodal/batch-prediction-gemini). */
function toJob(request: RecordRequest, stated: string | undefined): object {
  const asked = optionOf(request, "model") ?? stated;
  if (typeof asked !== "string") return refuse("Cannot make the batch: model is missing", "model");
  const input = typeof request.body.input_file_id === "string" ? decodeId(request.body.input_file_id) : "";
  if (!objectPath(input))
    return refuse("Cannot make the batch: input_file_id must be the id of an object", "input_file_id");
  const { publisher, name } = readModel(asked);
  const given = optionOf(request, "output_data_config");
  const outputUriPrefix = typeof given === "string" ? decodeId(given) : input.slice(0, input.lastIndexOf("/"));
  const displayName = optionOf(request, "job_name");
  return {
    displayName: typeof displayName === "string" ? displayName : `gateway-${request.name}`,
    model: `publishers/${publisher}/models/${name}`,
    inputConfig: { instancesFormat: "jsonl", gcsSource: { uris: [input] } },
    outputConfig: { predictionsFormat: "jsonl", gcsDestination: { outputUriPrefix } },
    instanceConfig: { excludedFields: ["requestId"], includedFields: [], instanceType: "object" },
  };
}

const Jobs = v.looseObject({ batchPredictionJobs: v.nullish(v.array(v.unknown())) });

function createBatchCalls(settings: VertexSettings): RecordAdapters["calls"] {
  const jobs = () => `${locationPath(settings)}/batchPredictionJobs`;
  const jobPath = ({ id }: RecordRequest) => `${jobs()}/${encodeSegment("batch_id", id)}`;
  const retrieve = { path: jobPath, fromUpstream: toBatch };
  return {
    createBatch: {
      method: "POST",
      path: jobs,
      toUpstream: (request) => toJob(request, settings.provider_model),
      modelsOf: (request) => [optionOf(request, "model") ?? settings.provider_model],
      fromUpstream: toBatch,
    },
    retrieveBatch: retrieve,
    listBatches: {
      path: () => `${jobs()}?pageSize=100`,
      fromUpstream: (body, { query }) => cutPage((v.parse(Jobs, body).batchPredictionJobs ?? []).map(toBatch), query),
    },
    cancelBatch: { method: "POST", path: (request) => `${jobPath(request)}:cancel`, followedBy: retrieve },
  };
}

/** The batch record of a line: the request without its model, with the line's id. */
function toRow({ custom_id: requestId, url, body }: BatchLine, settings: VertexSettings, options: RowOptions): object {
  const endpoint = settings.provider_batch_endpoint ?? url;
  if (endpoint === "/v1/embeddings") {
    const { input, dimensions } = body;
    const content = Array.isArray(input) && input.length === 1 ? input[0] : input;
    if (typeof content !== "string")
      return refuse("Cannot convert the row: its input must be a single string", "input");
    return { content, ...(dimensions !== undefined && { outputDimensionality: dimensions }), requestId };
  }
  const model = settings.provider_model ?? body.model;
  const checked = v.safeParse(ChatRequest, { ...body, model }, plainIssues);
  if (!checked.success) return refuse(`Invalid body: ${checked.issues[0].message}`, "file");
  const request = createChat(settings).toUpstream?.(checked.output, { strict: true, ...options });
  if (!isObject(request)) return refuse("Cannot convert the row: the model does not support batches", "file");
  const { model: _model, ...others } = request;
  return { request: others, requestId };
}

function createObjects(settings: VertexSettings): ObjectRules {
  const { storage_bucket_name: bucket, provider_file_name: name } = settings;
  return {
    upload: "stream",
    bucket,
    place(unique) {
      const param = "x-gateway-vertex-storage-bucket-name";
      if (bucket === undefined) return refuse("Cannot store the file: the bucket is missing", param);
      const uri = `gs://${bucket}/${name ?? `${unique}.jsonl`}`;
      const place = objectPath(uri);
      if (!place) return refuse("Cannot store the file: its name is not valid", "x-gateway-provider-file-name");
      return { path: place.path, id: encodeURIComponent(uri), headers: { "content-type": "application/jsonl" } };
    },
    find: (id) => objectPath(decodeId(id)),
    toRow: (line, _purpose, options) => toRow(line, settings, options),
  };
}

const Row = v.looseObject({
  requestId: text,
  instance: v.nullish(v.looseObject({ requestId: text })),
  status: v.nullish(v.unknown()),
  response: v.nullish(v.looseObject({})),
  predictions: v.nullish(
    v.array(
      v.looseObject({
        embeddings: v.looseObject({
          values: v.array(v.number()),
          statistics: v.nullish(v.looseObject({ token_count: v.nullish(v.number()) })),
        }),
      }),
    ),
  ),
});

function toEmbeddings(predictions: NonNullable<v.InferOutput<typeof Row>["predictions"]>, model: string): object {
  const data = predictions.map(({ embeddings: { values } }, index) => ({
    object: "embedding",
    embedding: values,
    index,
  }));
  const tokens = predictions.reduce((sum, { embeddings }) => sum + (embeddings.statistics?.token_count ?? 0), 0);
  return { object: "list", data, model, usage: { prompt_tokens: tokens, total_tokens: tokens } };
}

/** Why a record failed; the status of successful records is empty. */
function errorOf(status: unknown): { code: string; message: string } {
  const parsed = isObject(status) ? status : {};
  const message = typeof status === "string" && status !== "" ? status : parsed.message;
  return {
    code: String(parsed.code ?? "failed"),
    message: typeof message === "string" ? message : "The request failed",
  };
}

function createOutput(settings: VertexSettings): OutputRules {
  const chat = createChat(settings);
  return {
    place: "store",
    find(batch) {
      const uri = outputOf(v.parse(Job, batch));
      return uri === undefined ? undefined : objectPath(uri);
    },
    toLine(row, batch, { drop }) {
      const job = v.parse(Job, batch);
      const { requestId, instance, status, response, predictions } = v.parse(Row, row);
      const custom_id = requestId ?? instance?.requestId ?? "";
      const model = (job.model ?? "").replace(/^.*\/models\//, "");
      const request: ChatRequest = { model, messages: [] };
      const options = { strict: true, drop, created: toSeconds(job.endTime) ?? 0 };
      const body = predictions
        ? toEmbeddings(predictions, model)
        : response && (chat.fromUpstream?.(response, request, options) ?? response);
      const name = job.name.slice(job.name.lastIndexOf("/") + 1);
      const id = `batch-${name}--${typeof response?.responseId === "string" ? response.responseId : custom_id}`;
      if (!body) return { id, custom_id, response: null, error: errorOf(status) };
      return { id, custom_id, response: { status_code: 200, request_id: custom_id, body }, error: null };
    },
  };
}

/** Files in Cloud Storage, batch predictions and tuning jobs. */
export function createRecords(settings: VertexSettings): RecordAdapters {
  return {
    calls: { ...createBatchCalls(settings), ...createTuningCalls(settings) },
    objects: createObjects(settings),
    output: createOutput(settings),
  };
}
