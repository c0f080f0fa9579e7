import * as v from "valibot";
import { InvalidRequestError } from "../../errors.ts";
import { isObject } from "../../lib/json.ts";
import type { BatchLine, BatchObject } from "../../schemas/batches.ts";
import { cutPage, type FormRules, type RecordAdapters, type RecordRequest, toSeconds } from "../core/records.ts";
import { encodeSegment } from "../shared/hosts.ts";

const text = v.nullish(v.string());

/** https://docs.cohere.com/reference/get-embed-job */
const Job = v.looseObject({
  job_id: v.string(),
  status: text,
  created_at: text,
  input_dataset_id: text,
  output_dataset_id: text,
  model: text,
});

const states: Readonly<Record<string, string>> = {
  processing: "in_progress",
  complete: "completed",
  cancelling: "cancelling",
  cancelled: "cancelled",
  failed: "failed",
};

function toBatch(body: unknown): BatchObject {
  const { job_id, status, created_at, input_dataset_id, output_dataset_id, model } = v.parse(Job, body);
  return {
    id: job_id,
    object: "batch",
    endpoint: "/v1/embeddings",
    completion_window: "24h",
    errors: null,
    status: states[status ?? ""] ?? "in_progress",
    model: model ?? null,
    metadata: null,
    error_file_id: null,
    input_file_id: input_dataset_id ?? null,
    output_file_id: output_dataset_id ?? null,
    created_at: toSeconds(created_at) ?? 0,
  };
}

/** https://docs.cohere.com/reference/get-dataset */
const Dataset = v.looseObject({ id: v.string(), name: text, created_at: text, validation_status: text });

function toFile(body: unknown) {
  const { id, name, created_at, validation_status: status } = v.parse(Dataset, body);
  return {
    id,
    object: "file",
    bytes: 0,
    created_at: toSeconds(created_at) ?? 0,
    filename: name ?? id,
    purpose: "batch",
    status: status === "validated" ? "processed" : status === "failed" ? "error" : "uploaded",
  };
}

/** The embed job of a new batch; its input is a dataset. */
function toJob({ body, name }: RecordRequest): object {
  const options = isObject(body.provider_options) ? body.provider_options : {};
  const { model = options.model, input_file_id: dataset_id } = body;
  for (const [param, value] of [
    ["model", model],
    ["input_file_id", dataset_id],
  ] as const) {
    if (typeof value !== "string") {
      throw new InvalidRequestError(`Cannot make the batch: ${param} is missing`, { param, code: "invalid_body" });
    }
  }
  return {
    model,
    dataset_id,
    input_type: body.input_type ?? "search_document",
    name: body.job_name ?? options.job_name ?? `gateway-${name}`,
    embedding_types: body.embedding_types,
    truncate: body.truncate,
  };
}

/** The text of a line; each row of a dataset contains one text. */
function toRow({ custom_id, body, url }: BatchLine): object {
  const { input } = body;
  const text: unknown = Array.isArray(input) && input.length === 1 ? input[0] : input;
  if (url !== undefined && url !== "/v1/embeddings") {
    throw new InvalidRequestError("Cannot use this url: embed jobs accept only lines for /v1/embeddings", {
      param: "url",
    });
  }
  if (typeof text === "string") return { text, custom_id };
  throw new InvalidRequestError("Cannot use this input: a row of a dataset contains one string", { param: "input" });
}

/** https://docs.cohere.com/reference/create-dataset */
const upload: FormRules = {
  path: (filename) => `/v1/datasets?name=${encodeURIComponent(filename)}&type=embed-input&keep_fields=custom_id`,
  field: "data",
  endpoint: "/v1/embeddings",
  toRow,
  fromUpstream: (body) => ({ id: v.parse(NewDataset, body).id, object: "file", status: "uploaded" }),
};

const NewDataset = v.looseObject({ id: v.string() });
const Created = v.looseObject({ job_id: v.string() });
const Jobs = v.looseObject({ embed_jobs: v.nullish(v.array(v.unknown())) });
const One = v.looseObject({ dataset: v.unknown() });
const Datasets = v.looseObject({ datasets: v.nullish(v.array(v.unknown())) });
const jobPath = ({ id }: RecordRequest) => `/v1/embed-jobs/${encodeSegment("batch_id", id)}`;
const datasetPath = ({ id }: RecordRequest) => `/v1/datasets/${encodeSegment("file_id", id)}`;
const retrieve = { path: jobPath, fromUpstream: toBatch };

/** Datasets and embed jobs (https://docs.cohere.com/reference/create-embed-job). */
export const cohereRecords: RecordAdapters = {
  upload,
  calls: {
    createBatch: {
      method: "POST",
      path: () => "/v1/embed-jobs",
      toUpstream: toJob,
      fromUpstream: (body, { body: { input_file_id, model }, now }) => ({
        ...toBatch({ job_id: v.parse(Created, body).job_id, input_dataset_id: input_file_id, model }),
        status: "validating",
        created_at: now,
      }),
    },
    retrieveBatch: retrieve,
    listBatches: {
      path: () => "/v1/embed-jobs",
      fromUpstream: (body, { query }) => cutPage((v.parse(Jobs, body).embed_jobs ?? []).map(toBatch), query),
    },
    cancelBatch: { method: "POST", path: (request) => `${jobPath(request)}/cancel`, followedBy: retrieve },
    listFiles: {
      path: () => "/v1/datasets?limit=100",
      fromUpstream: (body, { query }) => cutPage((v.parse(Datasets, body).datasets ?? []).map(toFile), query),
    },
    retrieveFile: { path: datasetPath, fromUpstream: (body) => toFile(v.parse(One, body).dataset) },
    deleteFile: {
      method: "DELETE",
      path: datasetPath,
      fromUpstream: (_, { id }) => ({ id, object: "file", deleted: true }),
    },
  },
};
