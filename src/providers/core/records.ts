import { InvalidRequestError } from "../../errors.ts";
import { isObject } from "../../lib/json.ts";
import type { BatchLine } from "../../schemas/batches.ts";

/** Routes of files, batches and fine-tuning jobs. */
export type RecordRoute =
  | "uploadFile"
  | "listFiles"
  | "retrieveFile"
  | "deleteFile"
  | "retrieveFileContent"
  | "createBatch"
  | "listBatches"
  | "retrieveBatch"
  | "cancelBatch"
  | "getBatchOutput"
  | "createFinetune"
  | "listFinetunes"
  | "retrieveFinetune"
  | "cancelFinetune"
  | "listFinetuneEvents"
  | "listFinetuneCheckpoints";

/** A request about records, as clients send it. */
export interface RecordRequest {
  /** The decoded id from the path; empty when the route has no id. */
  id: string;
  query: URLSearchParams;
  /** Fields of the JSON body; empty without a body. */
  body: Readonly<Record<string, unknown>>;
  /** Seconds of Unix time. */
  now: number;
  /** A unique string of letters and digits, for names that must be new. */
  name: string;
}

/** Rules for batches whose requests are part of the call that creates the batch. */
export interface InlineRules {
  /** The batch entry of a line, and list headers the call needs for it. May throw when the line is invalid. */
  toEntry(
    line: BatchLine,
    options: RowOptions,
  ): { entry: object; headers?: Readonly<Record<string, readonly string[]>> };
  /** A result line in the gateway's form, without an id. May throw when the row cannot be read. */
  toLine(row: Record<string, unknown>, model: string): object;
}

/** Batches a provider creates from an input file. */
export interface BatchRules {
  /** Gateway routes the lines may call. */
  endpoints: readonly string[];
  /** Batch jobs take extra options: `model`, `role_arn`, `job_name`, `output_data_config`. Default: no. */
  hasOptions?: boolean;
  /** The lines are part of the call that creates the batch. Absent: they are uploaded as a file first. */
  inline?: InlineRules;
}

/** How a provider serves a route with its native API. Conversions are pure. */
export interface RecordCall {
  /** Default GET. */
  method?: "GET" | "POST" | "DELETE";
  /** Path below the provider's base URL. */
  path(request: RecordRequest): string;
  /** The upstream's JSON body. Absent: the request has no body. */
  toUpstream?(request: RecordRequest): unknown;
  /** Values that name the models of a batch or job, unchecked. Default: `model`, also among the provider's options. */
  modelsOf?(request: RecordRequest): readonly unknown[];
  headers?: Readonly<Record<string, string>>;
  /** Sent to the service that stores the provider's files, instead of the provider. */
  at?: "store";
  /** The client's body is forwarded unchanged, with its content type. */
  passesBody?: true;
  /** The upstream's bytes are returned unchanged. */
  passesAnswer?: true;
  /** The gateway's response from the upstream's, which is `{}` without a body. Default: the upstream's response. */
  fromUpstream?(body: Record<string, unknown>, request: RecordRequest): object;
  /** A second call, whose response is returned to the client. */
  followedBy?: RecordCall;
}

/** Callbacks for the conversion of a line. */
export interface RowOptions {
  /** Records a field that was dropped. */
  drop(member: string): void;
}

/** The provider's record for a line. May throw when the line is invalid. */
export type ToRow = (line: BatchLine, purpose: string, options: RowOptions) => unknown;

/** Files that are stored as objects in a bucket. */
export interface ObjectRules {
  /** How an upload is sent: as an S3 multipart upload, or as one stream. */
  upload: "parts" | "stream";
  /** The only bucket whose objects are accessible; undefined when none is set. */
  bucket: string | undefined;
  /** Path below the store's base URL, id and headers of a new object. May throw when settings are missing. */
  place(name: string): { path: string; id: string; headers: Readonly<Record<string, string>> };
  /** Bucket and path of an id; undefined when the id has another form. */
  find(id: string): { bucket: string; path: string } | undefined;
  toRow: ToRow;
}

/** Files that the provider takes in a different multipart form. */
export interface FormRules {
  /** Path below the provider's base URL, with its query. */
  path(filename: string): string;
  /** Name of the form's file field. */
  field: string;
  /** Route for lines that name none. */
  endpoint: string;
  toRow: ToRow;
  /** Fields of the gateway's response that come from the upstream's. */
  fromUpstream(body: Record<string, unknown>): object;
}

/** Location and format of a batch's results. */
export interface OutputRules {
  /** `store`: below the base URL of the object store; `provider`: below that of the provider. */
  place: "store" | "provider";
  /** Path and bucket, from the upstream's response to `retrieveBatch`; undefined until the output exists. */
  find(batch: Record<string, unknown>): { path: string; bucket?: string } | undefined;
  /** A result line in the gateway's form. Absent: lines are forwarded unchanged. */
  toLine?(row: Record<string, unknown>, batch: Record<string, unknown>, options: RowOptions): object;
}

/** Record routes that differ from OpenAI's. A missing route is not supported. */
export interface RecordAdapters {
  calls: { readonly [Route in RecordRoute]?: RecordCall };
  objects?: ObjectRules;
  upload?: FormRules;
  output?: OutputRules;
}

/** The intended id: clients may encode an id that is already encoded. */
export function decodeId(id: string): string {
  try {
    return id.includes("%") ? decodeURIComponent(id) : id;
  } catch {
    return id;
  }
}

/** A field at the top level or among the provider's options. */
export function optionOf({ body }: RecordRequest, name: string): unknown {
  const { provider_options: options } = body;
  return body[name] ?? (isObject(options) ? options[name] : undefined);
}

/** Unix seconds of an ISO time; null for invalid times. */
export function toSeconds(time: unknown): number | null {
  const milliseconds = typeof time === "string" ? Date.parse(time) : Number.NaN;
  return Number.isNaN(milliseconds) ? null : Math.floor(milliseconds / 1000);
}

/** The page of a complete list that `after` and `limit` select. */
export function cutPage<Shown extends { id: string }>(all: readonly Shown[], query: URLSearchParams): object {
  const after = query.get("after");
  const limit = Math.min(100, Math.max(1, Number(query.get("limit") ?? 20) || 20));
  const start = after === null ? 0 : all.findIndex(({ id }) => id === after || decodeId(id) === decodeId(after)) + 1;
  const data = all.slice(start, start + limit);
  const ends = { first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null };
  return { object: "list", data, ...ends, has_more: all.length > start + limit };
}

/**
 * A required string of a new fine-tuning job.
 *
 * @throws {InvalidRequestError} If it is missing.
 */
export function requireJobText(value: unknown, param: string): string {
  if (typeof value === "string" && value !== "") return value;
  throw new InvalidRequestError(`Cannot make the job: ${param} is missing`, { param, code: "invalid_body" });
}

/**
 * A hyperparameter of a new fine-tuning job, beside or inside its method; undefined when the provider should choose.
 */
export function hyperparameterOf({ method, hyperparameters }: RecordRequest["body"], name: string): unknown {
  const ofMethod = isObject(method) ? method[String(method.type)] : undefined;
  const given = isObject(ofMethod) && isObject(ofMethod.hyperparameters) ? ofMethod.hyperparameters : hyperparameters;
  const value = isObject(given) ? given[name] : undefined;
  return value === "auto" ? undefined : value;
}
