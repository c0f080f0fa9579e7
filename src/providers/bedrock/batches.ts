import * as v from "valibot";
import { type Refuse, refuseWith } from "../../errors.ts";
import { isObject } from "../../lib/json.ts";
import type { BatchObject } from "../../schemas/batches.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import {
  cutPage,
  decodeId,
  type OutputRules,
  optionOf,
  type RecordAdapters,
  type RecordRequest,
  toSeconds,
} from "../core/records.ts";
import { fromConverse } from "./answer.ts";

const text = v.nullish(v.string());
const count = v.nullish(v.number());

/** A batch inference job (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_GetModelInvocationJob.html). */
const Job = v.looseObject({
  jobArn: v.string(),
  jobName: text,
  modelId: text,
  status: text,
  message: text,
  submitTime: text,
  lastModifiedTime: text,
  endTime: text,
  jobExpirationTime: text,
  totalRecordCount: count,
  successRecordCount: count,
  errorRecordCount: count,
  inputDataConfig: v.nullish(v.looseObject({ s3InputDataConfig: v.nullish(v.looseObject({ s3Uri: text })) })),
  outputDataConfig: v.nullish(v.looseObject({ s3OutputDataConfig: v.nullish(v.looseObject({ s3Uri: text })) })),
});
type Job = v.InferOutput<typeof Job>;

const states: Readonly<Record<string, string>> = {
  Submitted: "validating",
  Validating: "validating",
  Scheduled: "validating",
  InProgress: "in_progress",
  Stopping: "cancelling",
  Stopped: "cancelled",
  Completed: "completed",
  PartiallyCompleted: "completed",
  Failed: "failed",
  Expired: "expired",
};

const timeOfState: Readonly<Record<string, string>> = {
  completed: "completed_at",
  failed: "failed_at",
  expired: "expired_at",
  cancelled: "cancelled_at",
};

const inputOf = (job: Job) => job.inputDataConfig?.s3InputDataConfig?.s3Uri ?? undefined;

/** Path of the output: a folder with the job's id that contains a file named after the input. */
function outputOf(job: Job): string | undefined {
  const input = inputOf(job);
  const folder = job.outputDataConfig?.s3OutputDataConfig?.s3Uri;
  if (input === undefined || typeof folder !== "string") return undefined;
  const jobId = job.jobArn.slice(job.jobArn.lastIndexOf("/") + 1);
  return `${folder.replace(/\/*$/, "/")}${jobId}/${input.slice(input.lastIndexOf("/") + 1)}.out`;
}

function toBatch(job: Job): BatchObject {
  const status = states[job.status ?? ""] ?? "in_progress";
  const input = inputOf(job);
  const output = outputOf(job);
  const timeName = timeOfState[status];
  const message = job.message ?? undefined;
  return {
    id: encodeURIComponent(job.jobArn),
    object: "batch",
    endpoint: "/v1/chat/completions",
    completion_window: "24h",
    status,
    model: job.modelId ?? null,
    input_file_id: input === undefined ? null : encodeURIComponent(input),
    output_file_id: status === "completed" && output !== undefined ? encodeURIComponent(output) : null,
    error_file_id: null,
    errors: message ? { object: "list", data: [{ code: "failed", message, param: null, line: null }] } : null,
    created_at: toSeconds(job.submitTime) ?? 0,
    expires_at: toSeconds(job.jobExpirationTime),
    ...(timeName !== undefined && { [timeName]: toSeconds(job.endTime ?? job.lastModifiedTime) }),
    request_counts: {
      total: job.totalRecordCount ?? 0,
      completed: job.successRecordCount ?? 0,
      failed: job.errorRecordCount ?? 0,
    },
    metadata: null,
  };
}

const refuse: Refuse = refuseWith("invalid_body");

function requireS3(id: unknown, param: string): string {
  const uri = typeof id === "string" ? decodeId(id) : "";
  return /^s3:\/\/[^/]+\/./.test(uri)
    ? uri
    : refuse(`Cannot make the batch: ${param} must be the address of an S3 object`, param);
}

function outputConfig(request: RecordRequest, input: string): object {
  const given = optionOf(request, "output_data_config");
  if (isObject(given) && isObject(given.s3OutputDataConfig)) return given;
  const s3Uri = typeof given === "string" ? decodeId(given) : input.slice(0, input.lastIndexOf("/") + 1);
  return { s3OutputDataConfig: { s3Uri } };
}

/** A new job. Its records use the shape of Converse, so no model needs a separate one. */
function toJob(request: RecordRequest, statedModel: string | undefined): object {
  const modelId = optionOf(request, "model") ?? statedModel;
  const roleArn = optionOf(request, "role_arn");
  if (typeof modelId !== "string") return refuse("Cannot make the batch: model is missing", "model");
  if (typeof roleArn !== "string")
    return refuse("Cannot make the batch: role_arn is missing; it needs read and write access to S3", "role_arn");
  const s3Uri = requireS3(request.body.input_file_id, "input_file_id");
  const jobName = optionOf(request, "job_name");
  return {
    modelId,
    roleArn,
    jobName: typeof jobName === "string" ? jobName : `gateway-${request.name}`,
    modelInvocationType: "Converse",
    inputDataConfig: { s3InputDataConfig: { s3Uri, s3InputFormat: "JSONL" } },
    outputDataConfig: outputConfig(request, s3Uri),
  };
}

const jobPath = ({ id }: RecordRequest) => `/model-invocation-job/${encodeURIComponent(decodeId(id))}`;

const Created = v.looseObject({ jobArn: v.string() });
const Jobs = v.looseObject({ invocationJobSummaries: v.nullish(v.array(Job)) });

const retrieve = { path: jobPath, fromUpstream: (body: unknown) => toBatch(v.parse(Job, body)) };

/** The response for a new job; the service returns only the job's ARN. */
function fromCreated(body: unknown, request: RecordRequest): object {
  const { jobArn } = v.parse(Created, body);
  return {
    id: encodeURIComponent(jobArn),
    object: "batch",
    endpoint: request.body.endpoint ?? "/v1/chat/completions",
    completion_window: "24h",
    status: "validating",
    input_file_id: request.body.input_file_id,
    output_file_id: null,
    error_file_id: null,
    errors: null,
    created_at: request.now,
    metadata: null,
    request_counts: { total: 0, completed: 0, failed: 0 },
  };
}

/** Batches (https://docs.aws.amazon.com/bedrock/latest/userguide/batch-inference.html). */
export function createBatchCalls(statedModel: string | undefined): RecordAdapters["calls"] {
  return {
    createBatch: {
      method: "POST",
      path: () => "/model-invocation-job",
      toUpstream: (request) => toJob(request, statedModel),
      modelsOf: (request) => [optionOf(request, "model") ?? statedModel],
      fromUpstream: fromCreated,
    },
    retrieveBatch: retrieve,
    listBatches: {
      path: () => "/model-invocation-jobs?maxResults=1000&sortBy=CreationTime&sortOrder=Descending",
      fromUpstream: (body, { query }) =>
        cutPage((v.parse(Jobs, body).invocationJobSummaries ?? []).map(toBatch), query),
    },
    cancelBatch: {
      method: "POST",
      path: (request) => `${jobPath(request)}/stop`,
      fromUpstream: (body) => body,
      followedBy: retrieve,
    },
  };
}

const Row = v.looseObject({ recordId: v.nullish(v.string()), modelOutput: v.nullish(v.looseObject({})) });
const RowError = v.looseObject({
  errorCode: v.nullish(v.union([v.string(), v.number()])),
  errorMessage: v.nullish(v.string()),
});

/** The path of an object below the address of S3. */
export function objectPath(uri: string): { bucket: string; path: string } | undefined {
  const [, bucket, key] = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])\/(.+)$/.exec(uri) ?? [];
  if (bucket === undefined || key === undefined || !isSafeKey(key)) return undefined;
  return { bucket, path: `/${[bucket, ...key.split("/")].map(encodeURIComponent).join("/")}` };
}

/** Whether a name stays inside its folder. */
export function isSafeKey(key: string): boolean {
  return key.isWellFormed() && key.length <= 1024 && key.split("/").every((part) => !["", ".", ".."].includes(part));
}

/** The response in a record: Converse's, or the model's own when the job was not made by the gateway. */
function answerOf(output: Record<string, unknown>, model: string, drop: (member: string) => void): unknown {
  const request: ChatRequest = { model, messages: [] };
  return isObject(output.output) ? fromConverse(output, request, { strict: true, drop }) : output;
}

/** Responses of a batch. */
export const batchOutput: OutputRules = {
  place: "store",
  find(batch) {
    const uri = outputOf(v.parse(Job, batch));
    return uri === undefined ? undefined : objectPath(uri);
  },
  toLine(row, batch, { drop }) {
    const job = v.parse(Job, batch);
    const { recordId, modelOutput } = v.parse(Row, row);
    const id = `batch_req_${recordId ?? ""}`;
    if (!modelOutput) {
      const { errorCode, errorMessage } = v.parse(RowError, isObject(row.error) ? row.error : {});
      const error = { code: String(errorCode ?? "failed"), message: errorMessage ?? "The request failed" };
      return { id, custom_id: recordId ?? "", response: null, error };
    }
    const body = answerOf(modelOutput, job.modelId ?? "", drop);
    return {
      id,
      custom_id: recordId ?? "",
      response: { status_code: 200, request_id: recordId ?? "", body },
      error: null,
    };
  },
};
