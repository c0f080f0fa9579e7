import * as v from "valibot";
import { AutoLog } from "./logs.ts";
import { JsonObject } from "./objects.ts";
import { ConfigObject } from "./routing.ts";

const object = v.record(v.string(), v.unknown());

const HeaderName = v.pipe(v.string(), v.regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,256}$/, "must be the name of a header"));
const HeaderValue = v.pipe(v.string(), v.regex(/^[\t\x20-\x7e]*$/, "must be the value of a header"));

/** Body of `POST /configs/explain`. */
export const ExplainRequest = v.object({
  /** Absent: the one that the request itself would use, also by its model. */
  config: v.optional(v.union([v.string(), ConfigObject], "must be a config or the slug of a saved one")),
  request: v.pipe(
    JsonObject,
    v.object({
      method: v.optional(v.picklist(["GET", "POST", "PUT", "DELETE"], "must be GET, POST, PUT or DELETE")),
      path: v.optional(
        v.pipe(v.string(), v.regex(/^\/[^\s#]{0,1023}$/, "must be a path, with its query if it has one")),
      ),
      body: v.optional(object),
      headers: v.optional(v.record(HeaderName, HeaderValue)),
      metadata: v.optional(v.record(v.string(), v.string())),
    }),
  ),
});
export type ExplainRequest = v.InferOutput<typeof ExplainRequest>;

/** A call that a plan may make. */
const ShownAttempt = v.object({
  label: v.string(),
  provider: v.nullable(v.string()),
  model: v.nullable(v.string()),
  host: v.nullable(v.string()),
  params: object,
  retry: v.nullable(v.object({ attempts: v.number(), on_status_codes: v.array(v.number()) })),
  timeout_ms: v.number(),
  /** The saved prompt that completions of prompts use there; absent without one. */
  prompt_id: v.optional(v.string()),
  /** How the prompt is marked for the provider's cache; absent where it is not. */
  prompt_cache: v.optional(v.object({ ttl: v.picklist(["5m", "1h"]) })),
  why: v.string(),
});

/** Response of `POST /configs/explain`. */
export const ExplainResponse = v.object({
  object: v.literal("plan"),
  /** The name in the model of the request, and where it leads; absent for models of providers. */
  alias: v.optional(v.object({ name: v.string(), target: v.string() })),
  attempts: v.array(ShownAttempt),
  /** The target that gets copies of a share of the requests; absent without one, and for requests that are not copied. */
  shadow: v.optional(v.object({ share: v.number(), attempts: v.array(ShownAttempt) })),
  /** Who runs tools that the request asks its model to use. Absent: it asks for none. */
  server_tools: v.optional(
    v.object({
      /** `gateway`, or `targets` where they search themselves or refuse the tool. */
      web_search: v.optional(v.picklist(["gateway", "targets"])),
      /** `gateway` for its own vector stores, or `targets`. */
      file_search: v.optional(v.picklist(["gateway", "targets"])),
    }),
  ),
  conditions: v.array(v.object({ label: v.string(), query: v.unknown(), matched: v.boolean(), why: v.string() })),
  /** What groups decided that go by what is in the request; absent without such groups. */
  auto: v.optional(v.array(AutoLog)),
  warnings: v.array(v.string()),
});
export type ExplainResponse = v.InferOutput<typeof ExplainResponse>;
