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

const after: QueryParameter = { name: "after", description: "Id of the last record of the previous page" };

function limit(most: number, usual: number): QueryParameter {
  return { name: "limit", description: `Records per page, 1 to ${most}; ${usual} by default` };
}

/** The gateway's own records, and the settings for a provider's. */
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
      { name: "order", description: "asc or desc by creation time; default desc" },
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
    summary: "Create a batch",
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
        description: "true: include the provider's own batch, if there is one",
      },
    ],
    response: BatchObject,
    own: retrieveBatch,
  },
  {
    method: "POST",
    path: "/v1/batches/:id/cancel",
    operation: "cancelBatch",
    summary: "Cancel a batch",
    response: BatchObject,
    own: cancelBatch,
  },
  {
    method: "GET",
    path: "/v1/batches/:id/output",
    operation: "getBatchOutput",
    summary: "Download the results of a batch",
    own: retrieveBatchOutput,
  },
];

const tuning: readonly Row[] = [
  {
    method: "POST",
    path: "/v1/fine_tuning/jobs",
    operation: "createFinetune",
    summary: "Create a fine-tuning job",
    documentedBody: { schema: FineTuningRequest, types: ["application/json"] },
    response: FineTuningJob,
    own: createTuningJobByOptions,
  },
  {
    method: "GET",
    path: "/v1/fine_tuning/jobs",
    operation: "listFinetunes",
    summary: "List fine-tuning jobs",
    query: [after, limit(100, 20)],
    response: FineTuningJobList,
    own: refuseTuning,
  },
  {
    method: "GET",
    path: "/v1/fine_tuning/jobs/:id",
    operation: "retrieveFinetune",
    summary: "Show a fine-tuning job",
    response: FineTuningJob,
    own: refuseTuning,
  },
  {
    method: "POST",
    path: "/v1/fine_tuning/jobs/:id/cancel",
    operation: "cancelFinetune",
    summary: "Cancel a fine-tuning job",
    response: FineTuningJob,
    own: refuseTuning,
  },
  {
    method: "GET",
    path: "/v1/fine_tuning/jobs/:id/events",
    operation: "listFinetuneEvents",
    summary: "List the events of a fine-tuning job",
    query: [after, limit(100, 20)],
    response: FineTuningEventList,
    own: refuseTuning,
  },
  {
    method: "GET",
    path: "/v1/fine_tuning/jobs/:id/checkpoints",
    operation: "listFinetuneCheckpoints",
    summary: "List the checkpoints of a fine-tuning job",
    query: [after, limit(100, 10)],
    response: FineTuningCheckpointList,
    own: refuseTuning,
  },
];

/** Endpoints of files, batches and fine-tuning jobs. */
export const fileEndpoints: readonly Endpoint[] = [
  ...files.map((row) => toEndpoint(row, "Files")),
  ...batches.map((row) => toEndpoint(row, "Batches")),
  ...tuning.map((row) => toEndpoint(row, "Fine-tuning")),
];
