import type { KeyAccess } from "../../auth/access.ts";
import { defineKeyEndpoint, type Endpoint, type KeyEndpoint, type QueryParameter } from "../../endpoint.ts";
import { InvalidRequestError } from "../../errors.ts";
import type { RecordRoute } from "../../providers/core/records.ts";
import { AnyBatchRequest, BatchList, BatchObject } from "../../schemas/batches.ts";
import { FileDeletion, FileForm, FileList, FileObject } from "../../schemas/files.ts";
import {
  FineTuningCheckpointList,
  FineTuningEventList,
  FineTuningJob,
  FineTuningJobList,
  FineTuningRequest,
} from "../../schemas/fine-tuning.ts";
import { cancelBatch, createBatch, listBatches, retrieveBatch, retrieveBatchOutput } from "../batches/batches.ts";
import { deleteFile, listFiles, retrieveFile, retrieveFileContent, uploadFile } from "../files/files.ts";
import { isForOwnStore, type KeyHandler } from "../files/gateway-store.ts";
import { runRecord } from "../records/run-record.ts";
import { createTuningJob, createTuningJobByOptions } from "../records/tuning-files.ts";

const access: KeyAccess = { keys: "workspace", scopes: ["completions.write"] };

const after: QueryParameter = { name: "after", description: "Id of the record the page before ended with" };

function limit(most: number, usual: number): QueryParameter {
  return { name: "limit", description: `Records of a page, 1 to ${most}; ${usual} when absent` };
}

/** What the gateway answers itself, and what a provider's own records are asked with. */
function ownOr(own: KeyHandler, route: RecordRoute): KeyHandler {
  const ask: KeyHandler = route === "createFinetune" ? createTuningJob : (context) => runRecord(route, context);
  return async (context) => ((await isForOwnStore(context)) ? own : ask)(context);
}

/** Jobs live at providers: the gateway tunes no models. */
function refuseTuning(): never {
  throw new InvalidRequestError("Cannot tune a model here: name a provider in x-gateway-provider", {
    code: "provider_required",
    param: "x-gateway-provider",
  });
}

type Row = Pick<KeyEndpoint, "method" | "path" | "summary" | "response" | "documentedBody" | "query"> & {
  operation: RecordRoute;
  own: KeyHandler;
};

function toEndpoint({ own, ...row }: Row, tag: string): Endpoint {
  const { operation: record } = row;
  return defineKeyEndpoint({ ...row, record, tag, access, takesEncodedSlash: true, handle: ownOr(own, record) });
}

const files: readonly Row[] = [
  {
    method: "POST",
    path: "/v1/files",
    operation: "uploadFile",
    summary: "Upload a file",
    documentedBody: { schema: FileForm, types: ["multipart/form-data"] },
    response: FileObject,
    own: uploadFile,
  },
  {
    method: "GET",
    path: "/v1/files",
    operation: "listFiles",
    summary: "List files",
    query: [
      { name: "purpose", description: "Only files of this purpose" },
      limit(10_000, 100),
      { name: "order", description: "asc or desc, by the time they were made; desc when absent" },
      after,
    ],
    response: FileList,
    own: listFiles,
  },
  {
    method: "GET",
    path: "/v1/files/:id",
    operation: "retrieveFile",
    summary: "Show a file",
    response: FileObject,
    own: retrieveFile,
  },
  {
    method: "DELETE",
    path: "/v1/files/:id",
    operation: "deleteFile",
    summary: "Delete a file",
    response: FileDeletion,
    own: deleteFile,
  },
  {
    method: "GET",
    path: "/v1/files/:id/content",
    operation: "retrieveFileContent",
    summary: "Download a file",
    own: retrieveFileContent,
  },
];

const batches: readonly Row[] = [
  {
    method: "POST",
    path: "/v1/batches",
    operation: "createBatch",
    summary: "Run the requests of a file",
    documentedBody: { schema: AnyBatchRequest, types: ["application/json"] },
    response: BatchObject,
    own: createBatch,
  },
  {
    method: "GET",
    path: "/v1/batches",
    operation: "listBatches",
    summary: "List batches",
    query: [after, limit(100, 20)],
    response: BatchList,
    own: listBatches,
  },
  {
    method: "GET",
    path: "/v1/batches/:id",
    operation: "retrieveBatch",
    summary: "Show a batch",
    query: [
      {
        name: "include_provider_details",
        description: "true: with the provider's own batch, where the gateway made one of it",
      },
    ],
    response: BatchObject,
    own: retrieveBatch,
  },
  {
    method: "POST",
    path: "/v1/batches/:id/cancel",
    operation: "cancelBatch",
    summary: "End a batch early",
    response: BatchObject,
    own: cancelBatch,
  },
  {
    method: "GET",
    path: "/v1/batches/:id/output",
    operation: "getBatchOutput",
    summary: "Download the answers of a batch",
    own: retrieveBatchOutput,
  },
];

const tuning: readonly Row[] = [
  {
    method: "POST",
    path: "/v1/fine_tuning/jobs",
    operation: "createFinetune",
    summary: "Tune a model",
    documentedBody: { schema: FineTuningRequest, types: ["application/json"] },
    response: FineTuningJob,
    own: createTuningJobByOptions,
  },
  {
    method: "GET",
    path: "/v1/fine_tuning/jobs",
    operation: "listFinetunes",
    summary: "List tuning jobs",
    query: [after, limit(100, 20)],
    response: FineTuningJobList,
    own: refuseTuning,
  },
  {
    method: "GET",
    path: "/v1/fine_tuning/jobs/:id",
    operation: "retrieveFinetune",
    summary: "Show a tuning job",
    response: FineTuningJob,
    own: refuseTuning,
  },
  {
    method: "POST",
    path: "/v1/fine_tuning/jobs/:id/cancel",
    operation: "cancelFinetune",
    summary: "End a tuning job early",
    response: FineTuningJob,
    own: refuseTuning,
  },
  {
    method: "GET",
    path: "/v1/fine_tuning/jobs/:id/events",
    operation: "listFinetuneEvents",
    summary: "List what happened to a tuning job",
    query: [after, limit(100, 20)],
    response: FineTuningEventList,
    own: refuseTuning,
  },
  {
    method: "GET",
    path: "/v1/fine_tuning/jobs/:id/checkpoints",
    operation: "listFinetuneCheckpoints",
    summary: "List the checkpoints of a tuning job",
    query: [after, limit(100, 10)],
    response: FineTuningCheckpointList,
    own: refuseTuning,
  },
];

/** Rows of files, batches and tuning jobs. */
export const fileEndpoints: readonly Endpoint[] = [
  ...files.map((row) => toEndpoint(row, "Files")),
  ...batches.map((row) => toEndpoint(row, "Batches")),
  ...tuning.map((row) => toEndpoint(row, "Fine-tuning")),
];
