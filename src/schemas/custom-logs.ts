import * as v from "valibot";
import { JsonObject } from "./objects.ts";

const Text = (most: number) => v.pipe(v.string(), v.maxLength(most, `must have at most ${most} characters`));
/** Most headers of a request or response: engines take seconds to index thousands. */
const maxHeaders = 256;
const Headers = v.nullish(
  v.pipe(
    JsonObject,
    v.check((headers) => Object.keys(headers).length <= maxHeaders, `must have at most ${maxHeaders} headers`),
    v.check((headers) => Object.values(headers).every(isPlain), "must have strings as values"),
  ),
);

function isPlain(value: unknown): boolean {
  return value === null || typeof value !== "object";
}
const Milliseconds = v.pipe(v.number(), v.minValue(0), v.maxValue(86_400_000, "must be at most a day"));
const Body = v.pipe(
  v.unknown(),
  v.check((body) => body !== undefined, "must be given"),
);

/** A request that did not go through the gateway. */
export const CustomLog = v.object({
  request: v.object({
    url: Text(8_192),
    provider: v.nullish(Text(128)),
    method: v.nullish(v.pipe(v.string(), v.regex(/^[A-Za-z]{1,16}$/, "must be a method of HTTP"))),
    headers: Headers,
    body: Body,
  }),
  response: v.object({
    status: v.nullish(v.pipe(v.number(), v.integer(), v.minValue(100), v.maxValue(599))),
    headers: Headers,
    body: Body,
    /** Milliseconds; `time` means the same. */
    response_time: v.nullish(Milliseconds),
    time: v.nullish(Milliseconds),
    streamingMode: v.nullish(v.boolean()),
    streaming_mode: v.nullish(v.boolean()),
  }),
  /** Ids of its trace and span, and pairs as in `x-gateway-metadata`. */
  metadata: v.nullish(JsonObject),
});
export type CustomLog = v.InferOutput<typeof CustomLog>;

/** Most requests in one list. */
export const maxEntries = 1_000;

/** Several of them. */
export const CustomLogList = v.pipe(
  v.array(CustomLog),
  v.minLength(1, "must not be empty"),
  v.maxLength(maxEntries, `must have at most ${maxEntries} entries`),
);

/** Body of `POST /logs`. */
export const CreateLogs = v.union([CustomLog, CustomLogList]);
