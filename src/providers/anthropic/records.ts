import * as v from "valibot";
import { InvalidRequestError } from "../../errors.ts";
import { isObject, objectsIn } from "../../lib/json.ts";
import type { BatchObject } from "../../schemas/batches.ts";
import { type RecordAdapters, type RecordRequest, toSeconds } from "../core/records.ts";
import { encodeSegment } from "../shared/hosts.ts";

const text = v.nullish(v.string());
const count = v.nullish(v.number());

/** https://docs.claude.com/en/api/retrieving-message-batches */
const MessageBatch = v.looseObject({
  id: v.string(),
  processing_status: text,
  created_at: text,
  expires_at: text,
  ended_at: text,
  cancel_initiated_at: text,
  request_counts: v.nullish(
    v.looseObject({ processing: count, succeeded: count, errored: count, canceled: count, expired: count }),
  ),
});

const states: Readonly<Record<string, string>> = {
  in_progress: "in_progress",
  canceling: "cancelling",
  ended: "completed",
};

/** Status of a batch; `cancelled` when every request in it was cancelled. */
function stateOf({ processing_status: status, request_counts: counts }: v.InferOutput<typeof MessageBatch>): string {
  const canceled = counts?.canceled ?? 0;
  const others = (counts?.succeeded ?? 0) + (counts?.errored ?? 0) + (counts?.expired ?? 0);
  if (status === "ended" && canceled > 0 && others === 0) return "cancelled";
  return states[status ?? ""] ?? "in_progress";
}

function toBatch(body: unknown): BatchObject {
  const batch = v.parse(MessageBatch, body);
  const { processing = 0, succeeded = 0, errored = 0, canceled = 0, expired = 0 } = batch.request_counts ?? {};
  const failed = (errored ?? 0) + (canceled ?? 0) + (expired ?? 0);
  const status = stateOf(batch);
  const endedAt = toSeconds(batch.ended_at);
  return {
    id: batch.id,
    object: "batch",
    endpoint: "/v1/messages",
    completion_window: "24h",
    status,
    errors: null,
    input_file_id: null,
    output_file_id: null,
    error_file_id: null,
    metadata: null,
    created_at: toSeconds(batch.created_at) ?? 0,
    expires_at: toSeconds(batch.expires_at),
    cancelling_at: toSeconds(batch.cancel_initiated_at),
    ...(status === "completed" && { completed_at: endedAt }),
    ...(status === "cancelled" && { cancelled_at: endedAt }),
    request_counts: { total: (processing ?? 0) + (succeeded ?? 0) + failed, completed: succeeded ?? 0, failed },
  };
}

const List = v.looseObject({ data: v.array(v.unknown()), has_more: v.nullish(v.boolean()) });

/** A list with its entries converted. */
function toList<Shown extends { id: string }>(body: unknown, convert: (entry: unknown) => Shown): object {
  const { data: entries, has_more } = v.parse(List, body);
  const data = entries.map(convert);
  const ends = { first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null };
  return { object: "list", data, ...ends, has_more: has_more === true };
}

/** Pagination parameters under Anthropic's names. */
function pageOf({ query }: RecordRequest): string {
  const page = new URLSearchParams();
  const [limit, after] = [query.get("limit"), query.get("after")];
  if (limit !== null) page.set("limit", limit);
  if (after !== null) page.set("after_id", after);
  return page.size === 0 ? "" : `?${page}`;
}

const batchPath = ({ id }: RecordRequest) => `/messages/batches/${encodeSegment("batch_id", id)}`;
const filePath = ({ id }: RecordRequest) => `/files/${encodeSegment("file_id", id)}`;

function toMessageBatch({ body }: RecordRequest): object {
  const { requests, ...others } = body;
  if (Array.isArray(requests) && requests.length > 0) {
    const { endpoint: _endpoint, completion_window: _window, metadata: _metadata, ...rest } = others;
    return { ...rest, requests };
  }
  throw new InvalidRequestError("Cannot make the batch: this provider takes requests: [{custom_id, params}]", {
    code: "invalid_body",
    param: "requests",
  });
}

/** https://docs.claude.com/en/api/files-metadata */
const FileMetadata = v.looseObject({ id: v.string(), filename: text, size_bytes: count, created_at: text });

function toFile(body: unknown) {
  const { id, filename, size_bytes, created_at } = v.parse(FileMetadata, body);
  const known = { id, object: "file", bytes: size_bytes ?? 0, filename: filename ?? "" };
  return { ...known, created_at: toSeconds(created_at) ?? 0, purpose: "user_data", status: "processed" };
}

/** The beta header for the Files API (https://docs.claude.com/en/docs/build-with-claude/files). */
const headers = { "anthropic-beta": "files-api-2025-04-14" };

/** Files and batches on hosts that speak Anthropic's API. Batch results keep Anthropic's format. */
export const claudeRecords: RecordAdapters = {
  calls: {
    createBatch: {
      method: "POST",
      path: () => "/messages/batches",
      toUpstream: toMessageBatch,
      modelsOf: ({ body }) =>
        objectsIn(body.requests).map(({ params }) => (isObject(params) ? params.model : undefined)),
      fromUpstream: toBatch,
    },
    retrieveBatch: { path: batchPath, fromUpstream: toBatch },
    listBatches: {
      path: (request) => `/messages/batches${pageOf(request)}`,
      fromUpstream: (body) => toList(body, toBatch),
    },
    cancelBatch: { method: "POST", path: (request) => `${batchPath(request)}/cancel`, fromUpstream: toBatch },
    uploadFile: { method: "POST", path: () => "/files", passesBody: true, headers, fromUpstream: toFile },
    retrieveFile: { path: filePath, headers, fromUpstream: toFile },
    listFiles: {
      path: (request) => `/files${pageOf(request)}`,
      headers,
      fromUpstream: (body) => toList(body, toFile),
    },
    deleteFile: {
      method: "DELETE",
      path: filePath,
      headers,
      fromUpstream: (_, { id }) => ({ id, object: "file", deleted: true }),
    },
    retrieveFileContent: { path: (request) => `${filePath(request)}/content`, headers, passesAnswer: true },
  },
  output: {
    place: "provider",
    find({ id, results_url: url }) {
      if (typeof url !== "string" || typeof id !== "string") return undefined;
      return { path: `/messages/batches/${encodeSegment("batch_id", id)}/results` };
    },
  },
};
