import { InvalidRequestError } from "../../errors.ts";
import { isObject } from "../../lib/json.ts";
import type { BatchLine } from "../../schemas/batches.ts";

/** Routes of files, batches and tuning jobs. */
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
  /** The id in the path, decoded; empty where the route has none. */
  id: string;
  query: URLSearchParams;
  /** Members of the JSON body; none where there is no body. */
  body: Readonly<Record<string, unknown>>;
  /** Seconds of Unix time. */
  now: number;
  /** A text nobody else has, of letters and digits: for names that must be new. */
  name: string;
}

/** How a batch is made whose requests stand in the call that makes it. */
export interface InlineRules {
  /** The entry of a line, and members of list headers the call needs for it. May throw what is wrong with the line. */
  toEntry(
    line: BatchLine,
    options: RowOptions,
  ): { entry: object; headers?: Readonly<Record<string, readonly string[]>> };
  /** A line of our form from one of theirs, without an id of its own. May throw where it cannot be read. */
  toLine(row: Record<string, unknown>, model: string): object;
}

/** Batches a provider makes of the file of a batch. */
export interface BatchRules {
  /** Routes of the gateway the lines of one may call. */
  endpoints: readonly string[];
  /** Its jobs take options of their own: `model`, `role_arn`, `job_name`, `output_data_config`. Default: no. */
  hasOptions?: boolean;
  /** The lines are sent in the call that makes the batch. Absent: as a file that is uploaded before. */
  inline?: InlineRules;
}

/** How a provider answers one route that it has in words of its own. Conversions are pure. */
export interface RecordCall {
  /** Default GET. */
  method?: "GET" | "POST" | "DELETE";
  /** Path below the provider's base address. */
  path(request: RecordRequest): string;
  /** The upstream's JSON body; absent: it gets none. */
  toUpstream?(request: RecordRequest): unknown;
  /** What a batch or job names as its models, whatever it is. Default: `model`, or that of the options for the provider. */
  modelsOf?(request: RecordRequest): readonly unknown[];
  headers?: Readonly<Record<string, string>>;
  /** Sent to the service that keeps the provider's files, instead of the provider. */
  at?: "store";
  /** The client's body goes on as it comes, with its content type. */
  passesBody?: true;
  /** The upstream's bytes come back as they are. */
  passesAnswer?: true;
  /** The gateway's answer from the upstream's, which is an empty object where it has no body. Default: as it came. */
  fromUpstream?(body: Record<string, unknown>, request: RecordRequest): object;
  /** The call whose answer is the client's, made after this one. */
  followedBy?: RecordCall;
}

/** What a conversion of a line may do besides converting. */
export interface RowOptions {
  /** Notes a member that was left out. */
  drop(member: string): void;
}

/** The row a provider takes for a line. May throw what is wrong with it. */
export type ToRow = (line: BatchLine, purpose: string, options: RowOptions) => unknown;

/** Files that are objects of a store. */
export interface ObjectRules {
  /** How an upload is sent: in parts by S3's rules, or as one stream. */
  upload: "parts" | "stream";
  /** The one bucket whose objects are reached; undefined where none is set. */
  bucket: string | undefined;
  /** Path below the address of the store, id and headers of a new object. May throw where settings are missing. */
  place(name: string): { path: string; id: string; headers: Readonly<Record<string, string>> };
  /** Bucket and path of an id; undefined for what is no such id. */
  find(id: string): { bucket: string; path: string } | undefined;
  toRow: ToRow;
}

/** Files that are sent to the provider in a form of its own. */
export interface FormRules {
  /** Path below the provider's base address, with its query. */
  path(filename: string): string;
  /** Name of the form's file. */
  field: string;
  /** Route of lines that name none. */
  endpoint: string;
  toRow: ToRow;
  /** Members of the gateway's answer that the upstream's tells. */
  fromUpstream(body: Record<string, unknown>): object;
}

/** Where the answers of a batch lie and what they look like. */
export interface OutputRules {
  /** `store`: below the address of the store of objects; `provider`: below that of the provider. */
  place: "store" | "provider";
  /** Path and bucket, from the upstream's own answer to `retrieveBatch`; undefined while there is nothing. */
  find(batch: Record<string, unknown>): { path: string; bucket?: string } | undefined;
  /** A line of our form from one of theirs. Absent: theirs are handed on. */
  toLine?(row: Record<string, unknown>, batch: Record<string, unknown>, options: RowOptions): object;
}

/** How a provider keeps records, where its routes are not OpenAI's. A route that is missing is one it lacks. */
export interface RecordAdapters {
  calls: { readonly [Route in RecordRoute]?: RecordCall };
  objects?: ObjectRules;
  upload?: FormRules;
  output?: OutputRules;
}

/** An id as it is meant: clients may encode what is encoded already. */
export function decodeId(id: string): string {
  try {
    return id.includes("%") ? decodeURIComponent(id) : id;
  } catch {
    return id;
  }
}

/** A member that stands at the top level or among the options for the provider. */
export function optionOf({ body }: RecordRequest, name: string): unknown {
  const { provider_options: options } = body;
  return body[name] ?? (isObject(options) ? options[name] : undefined);
}

/** Unix seconds of an ISO time; null for what is none. */
export function toSeconds(time: unknown): number | null {
  const milliseconds = typeof time === "string" ? Date.parse(time) : Number.NaN;
  return Number.isNaN(milliseconds) ? null : Math.floor(milliseconds / 1000);
}

/** The part of a whole list that `after` and `limit` ask for. */
export function cutPage<Shown extends { id: string }>(all: readonly Shown[], query: URLSearchParams): object {
  const after = query.get("after");
  const limit = Math.min(100, Math.max(1, Number(query.get("limit") ?? 20) || 20));
  const start = after === null ? 0 : all.findIndex(({ id }) => id === after || decodeId(id) === decodeId(after)) + 1;
  const data = all.slice(start, start + limit);
  const ends = { first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null };
  return { object: "list", data, ...ends, has_more: all.length > start + limit };
}

/**
 * A text of a new tuning job.
 *
 * @throws {InvalidRequestError} If it is not there.
 */
export function requireJobText(value: unknown, param: string): string {
  if (typeof value === "string" && value !== "") return value;
  throw new InvalidRequestError(`Cannot make the job: give ${param}`, { param, code: "invalid_body" });
}

/** A hyperparameter of a new tuning job, beside its method or in it; undefined where the provider is to choose. */
export function hyperparameterOf({ method, hyperparameters }: RecordRequest["body"], name: string): unknown {
  const ofMethod = isObject(method) ? method[String(method.type)] : undefined;
  const given = isObject(ofMethod) && isObject(ofMethod.hyperparameters) ? ofMethod.hyperparameters : hyperparameters;
  const value = isObject(given) ? given[name] : undefined;
  return value === "auto" ? undefined : value;
}
