import * as v from "valibot";

/*
 * OpenAI's vector stores (https://platform.openai.com/docs/api-reference/vector-stores). Requests are forwarded to the
 * provider unchanged: these schemas document them.
 */

const metadata = v.nullish(v.record(v.string(), v.string()));
const whole = (least: number, greatest: number) =>
  v.pipe(v.number(), v.integer(), v.minValue(least), v.maxValue(greatest));
const expiresAfter = v.nullish(v.looseObject({ anchor: v.literal("last_active_at"), days: whole(1, 365) }));
const fileIds = (least: number) => v.pipe(v.array(v.string()), v.minLength(least), v.maxLength(500));
const attributes = v.nullish(v.record(v.string(), v.union([v.string(), v.number(), v.boolean()])));

const chunkingStrategy = v.nullish(
  v.variant("type", [
    v.looseObject({ type: v.literal("auto") }),
    v.looseObject({
      type: v.literal("static"),
      static: v.looseObject({
        max_chunk_size_tokens: whole(100, 4096),
        // at most half of the chunk
        chunk_overlap_tokens: whole(0, 2048),
      }),
    }),
  ]),
);

/** Body of `POST /vector_stores`. */
export const VectorStoreRequest = v.looseObject({
  file_ids: v.nullish(fileIds(0)),
  name: v.nullish(v.string()),
  expires_after: expiresAfter,
  chunking_strategy: chunkingStrategy,
  metadata,
});

/** Body of `POST /vector_stores/{id}`. */
export const VectorStoreChange = v.looseObject({ name: v.nullish(v.string()), expires_after: expiresAfter, metadata });

/** Body of `POST /vector_stores/{id}/files`. */
export const VectorStoreFileRequest = v.looseObject({
  file_id: v.string(),
  chunking_strategy: chunkingStrategy,
  attributes,
});

/** Body of `POST /vector_stores/{id}/files/{id}`. */
export const VectorStoreFileChange = v.looseObject({ attributes });

/** Body of `POST /vector_stores/{id}/file_batches`. */
export const FileBatchRequest = v.looseObject({
  file_ids: v.nullish(fileIds(1)),
  files: v.nullish(v.array(v.looseObject({ file_id: v.string() }))),
  chunking_strategy: chunkingStrategy,
  attributes,
});

/** Body of `POST /vector_stores/{id}/search`. */
export const VectorStoreSearch = v.looseObject({
  query: v.union([v.string(), v.array(v.string())]),
  filters: v.nullish(v.looseObject({})),
  max_num_results: v.nullish(whole(1, 50)),
  ranking_options: v.nullish(v.looseObject({})),
  rewrite_query: v.nullish(v.boolean()),
});

const fileCounts = v.looseObject({
  in_progress: v.number(),
  completed: v.number(),
  failed: v.number(),
  cancelled: v.number(),
  total: v.number(),
});

const fileStatus = v.picklist(["in_progress", "completed", "failed", "cancelled"]);

/** A vector store. */
export const VectorStore = v.looseObject({
  id: v.string(),
  object: v.nullish(v.string()),
  created_at: v.number(),
  name: v.nullish(v.string()),
  usage_bytes: v.nullish(v.number()),
  file_counts: v.nullish(fileCounts),
  status: v.picklist(["expired", "in_progress", "completed"]),
  expires_after: expiresAfter,
  expires_at: v.nullish(v.number()),
  last_active_at: v.nullish(v.number()),
  metadata,
});

/** A file of a vector store. */
export const VectorStoreFile = v.looseObject({
  id: v.string(),
  object: v.nullish(v.string()),
  created_at: v.number(),
  vector_store_id: v.string(),
  usage_bytes: v.nullish(v.number()),
  status: fileStatus,
  last_error: v.nullish(v.looseObject({ code: v.string(), message: v.string() })),
  chunking_strategy: v.nullish(v.looseObject({})),
  attributes,
});

/** Files that are added together. */
export const FileBatch = v.looseObject({
  id: v.string(),
  object: v.nullish(v.string()),
  created_at: v.number(),
  vector_store_id: v.string(),
  status: fileStatus,
  file_counts: fileCounts,
});
