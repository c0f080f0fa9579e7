import * as v from "valibot";
import { plainObject } from "./objects.ts";

/** Purposes of stored files. */
export const filePurposes = ["assistants", "batch", "fine-tune", "vision", "user_data", "evals"] as const;

/** When a record expires. */
export const ExpiresAfter = plainObject({
  anchor: v.picklist(["created_at"]),
  seconds: v.pipe(v.number(), v.integer(), v.minValue(3600), v.maxValue(2_592_000)),
});
export type ExpiresAfter = v.InferOutput<typeof ExpiresAfter>;

/** Fields of the form of `POST /files`. */
export const FileForm = v.looseObject({
  file: v.pipe(v.string(), v.description("The file; for batches JSON Lines, one request on each line")),
  purpose: v.pipe(v.string(), v.description(`One of ${filePurposes.join(", ")}`)),
  expires_after: v.optional(ExpiresAfter),
});

/** A file. Times are Unix seconds. */
export const FileObject = v.looseObject({
  id: v.string(),
  object: v.literal("file"),
  bytes: v.number(),
  created_at: v.number(),
  filename: v.string(),
  /** Besides those of uploads: `assistants_output`, `batch_output` and `fine-tune-results`. */
  purpose: v.string(),
  /** `uploaded`, `processed` or `error`. */
  status: v.string(),
  status_details: v.nullish(v.string()),
  expires_at: v.nullish(v.number()),
});
export type FileObject = v.InferOutput<typeof FileObject>;

/** Response of `GET /files`. */
export const FileList = v.looseObject({
  object: v.literal("list"),
  data: v.array(FileObject),
  first_id: v.nullish(v.string()),
  last_id: v.nullish(v.string()),
  has_more: v.optional(v.boolean()),
});
export type FileList = v.InferOutput<typeof FileList>;

/** Response of `DELETE /files/{id}`. */
export const FileDeletion = v.looseObject({ id: v.string(), object: v.literal("file"), deleted: v.boolean() });
