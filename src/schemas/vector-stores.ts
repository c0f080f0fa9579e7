import * as v from "valibot";

/*
 * Vector stores, as OpenAI has them (https://platform.openai.com/docs/api-reference/vector-stores). Requests for stores of a
 * provider are forwarded unchanged: for those, the schemas document them. Stores of the gateway use them.
 */

const metadata = v.nullish(
  v.pipe(
    v.record(v.pipe(v.string(), v.maxLength(64)), v.pipe(v.string(), v.maxLength(512))),
    v.maxEntries(16, "has more than 16 keys"),
  ),
);
const whole = (least: number, greatest: number) =>
  v.pipe(v.number(), v.integer(), v.minValue(least), v.maxValue(greatest));
const expiresAfter = v.nullish(v.looseObject({ anchor: v.literal("last_active_at"), days: whole(1, 365) }));
const fileIds = (least: number) => v.pipe(v.array(v.string()), v.minLength(least), v.maxLength(500));
const attributes = v.nullish(
  v.pipe(
    v.record(
      v.pipe(v.string(), v.maxLength(64)),
      v.union([v.pipe(v.string(), v.maxLength(512)), v.number(), v.boolean()]),
    ),
    v.maxEntries(16, "has more than 16 keys"),
  ),
);

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
  /** Of stores of the gateway: what makes their vectors, as `@provider/model`, an alias or the slug of a config. */
  embedding_model: v.nullish(v.pipe(v.string(), v.minLength(1), v.maxLength(256))),
});

/** Body of `POST /vector_stores/{id}`. */
export const VectorStoreChange = v.looseObject({ name: v.nullish(v.string()), expires_after: expiresAfter, metadata });

/** Body of `POST /vector_stores/{id}/files`. */
export const VectorStoreFileRequest = v.looseObject({
  file_id: v.string(),
  chunking_strategy: chunkingStrategy,
  attributes,
});
export type VectorStoreFileRequest = v.InferOutput<typeof VectorStoreFileRequest>;

/** Body of `POST /vector_stores/{id}/files/{id}`. */
export const VectorStoreFileChange = v.looseObject({ attributes });

/** Body of `POST /vector_stores/{id}/file_batches`. */
export const FileBatchRequest = v.looseObject({
  file_ids: v.nullish(fileIds(1)),
  files: v.nullish(
    v.pipe(
      v.array(v.looseObject({ file_id: v.string(), attributes, chunking_strategy: chunkingStrategy })),
      v.minLength(1),
      v.maxLength(500),
    ),
  ),
  chunking_strategy: chunkingStrategy,
  attributes,
});

/** Body of `POST /vector_stores/{id}/search`. */
export const VectorStoreSearch = v.looseObject({
  query: v.union([v.string(), v.pipe(v.array(v.string()), v.minLength(1))]),
  filters: v.nullish(v.looseObject({})),
  max_num_results: v.nullish(whole(1, 50)),
  ranking_options: v.nullish(v.looseObject({})),
  rewrite_query: v.nullish(v.boolean()),
});
export type VectorStoreSearch = v.InferOutput<typeof VectorStoreSearch>;

/** Results of a search, best first. */
export const VectorStoreResults = v.looseObject({
  object: v.nullish(v.string()),
  search_query: v.union([v.string(), v.array(v.string())]),
  data: v.array(
    v.looseObject({
      file_id: v.string(),
      filename: v.string(),
      /** From 0 to 1. */
      score: v.number(),
      attributes,
      content: v.array(v.looseObject({ type: v.string(), text: v.nullish(v.string()) })),
    }),
  ),
  has_more: v.nullish(v.boolean()),
  next_page: v.nullish(v.string()),
});
export type VectorStoreResults = v.InferOutput<typeof VectorStoreResults>;

/** The parsed content of a file. */
export const VectorStoreContent = v.looseObject({
  object: v.nullish(v.string()),
  data: v.array(v.looseObject({ type: v.string(), text: v.nullish(v.string()) })),
  has_more: v.nullish(v.boolean()),
  next_page: v.nullish(v.string()),
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
export type VectorStore = v.InferOutput<typeof VectorStore>;

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
export type VectorStoreFile = v.InferOutput<typeof VectorStoreFile>;

/** Files that are added together. */
export const FileBatch = v.looseObject({
  id: v.string(),
  object: v.nullish(v.string()),
  created_at: v.number(),
  vector_store_id: v.string(),
  status: fileStatus,
  file_counts: fileCounts,
});
export type FileBatch = v.InferOutput<typeof FileBatch>;
