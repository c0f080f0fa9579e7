import * as v from "valibot";
import { Description, Flag, Name, Reference, Slug, Text } from "./control.ts";
import { changesOf, closedObject, IsoTime, JsonObject, listOf, pageOf } from "./objects.ts";
import { wholeFrom } from "./whole-number.ts";

/** Most examples of a version, and most bytes of them as JSON Lines. */
export const maxExamples = 1_000;
export const maxExampleBytes = 4 * 1024 * 1024;

/** Routes that examples are requests of. */
const exampleEndpoints = ["/v1/chat/completions", "/v1/completions", "/v1/messages", "/v1/responses"] as const;

/** A request, or variables for a prompt, and the answer that is expected. */
export const Example = v.pipe(
  closedObject(
    {
      endpoint: v.optional(
        v.picklist(exampleEndpoints, `must be one of ${exampleEndpoints.join(", ")}`),
        "/v1/chat/completions",
      ),
      /** The body of the request. */
      body: v.optional(v.pipe(JsonObject, v.record(v.string(), v.unknown()))),
      /** Values for the variables of a saved prompt. */
      variables: v.optional(v.pipe(JsonObject, v.record(v.string(), v.unknown()))),
      /** Text, or the value that the answer is as JSON. */
      expected: v.optional(
        v.union([v.string(), JsonObject, v.array(v.unknown())], "must be text, an object or a list"),
      ),
      metadata: v.optional(v.pipe(JsonObject, v.record(Text(128), Text(1_024, 0)), v.maxEntries(64))),
      /** The log row it was made of. */
      log_id: v.optional(Text(64)),
    },
    { shown: ["index"] },
  ),
  v.check(({ body, variables }) => body !== undefined || variables !== undefined, "must have a body or variables"),
);
export type Example = v.InferOutput<typeof Example>;

/** Rows of the log that become examples. */
const LogSource = v.pipe(
  closedObject({
    ids: v.optional(v.pipe(v.array(Text(64)), v.minLength(1), v.maxLength(maxExamples))),
    /** Filters of `GET /logs` by their names. */
    filter: v.optional(v.record(Text(160), Text(16_384))),
    /** Most rows that the filter takes, newest first. Default 100. */
    limit: v.optional(wholeFrom(1, maxExamples)),
    /** What is expected: the response of the row, by default, or nothing. */
    expected: v.optional(v.picklist(["response", "none"], "must be response or none")),
  }),
  v.check(({ ids, filter }) => (ids === undefined) !== (filter === undefined), "must have ids or a filter"),
);
export type LogSource = v.InferOutput<typeof LogSource>;

const source = {
  examples: v.optional(v.pipe(v.array(Example), v.minLength(1), v.maxLength(maxExamples))),
  /** A file of JSON Lines, an example each. */
  file_id: v.optional(Reference),
  logs: v.optional(LogSource),
};

/** The parts of a body from which examples are taken. */
export type ExampleSource = { readonly [Name in keyof typeof source]?: v.InferOutput<(typeof source)[Name]> };

const hasOneSource = ({ examples, file_id, logs }: ExampleSource): boolean =>
  [examples, file_id, logs].filter((one) => one !== undefined).length === 1;
const oneSource = "must have one of examples, file_id and logs";

/** Days after which versions, and what runs of them answered, are removed; null: they stay until they are deleted. */
const RetentionDays = v.nullish(wholeFrom(1, 3_650));

/** Body of `POST /example-sets`. */
export const CreateExampleSet = v.pipe(
  closedObject({
    name: Name,
    slug: v.nullish(Slug),
    description: Description,
    retention_days: RetentionDays,
    workspace_id: v.optional(v.string()),
    ...source,
  }),
  v.check((body) => hasOneSource(body), oneSource),
);
export type CreateExampleSet = v.InferOutput<typeof CreateExampleSet>;

/** Body of `PUT /example-sets/{id}`. */
export const UpdateExampleSet = changesOf({
  name: v.optional(Name),
  description: Description,
  retention_days: RetentionDays,
  workspace_id: v.optional(v.string()),
});
export type UpdateExampleSet = v.InferOutput<typeof UpdateExampleSet>;

/** Body of `POST /example-sets/{id}/versions`. */
export const CreateExampleVersion = v.pipe(
  closedObject({
    ...source,
    /** The examples follow those of the newest version, instead of taking their place. */
    append: v.optional(Flag),
  }),
  v.check((body) => hasOneSource(body), oneSource),
);
export type CreateExampleVersion = v.InferOutput<typeof CreateExampleVersion>;

/** Response of a save. */
export const SavedExampleSet = v.object({
  id: v.string(),
  object: v.literal("example_set"),
  slug: v.string(),
  version: v.number(),
  examples: v.number(),
  /** Rows that a filter found and that cannot be examples: other routes, failures, contents that are not stored. */
  skipped: v.number(),
});

/** Response of a change. */
export const ChangedExampleSet = v.object({ id: v.string(), object: v.literal("example_set") });

/** A set, with its newest version. */
export const ExampleSet = v.object({
  id: v.string(),
  object: v.literal("example_set"),
  workspace_id: v.string(),
  slug: v.string(),
  name: v.string(),
  description: v.nullable(v.string()),
  version: v.number(),
  examples: v.number(),
  retention_days: v.nullable(v.number()),
  created_by: v.string(),
  created_at: IsoTime,
  last_updated_at: IsoTime,
});
export type ExampleSet = v.InferOutput<typeof ExampleSet>;

export const ExampleSetList = listOf(ExampleSet);

const ExampleVersion = v.object({
  id: v.string(),
  object: v.literal("example_set_version"),
  version: v.number(),
  examples: v.number(),
  bytes: v.number(),
  /** Some of its examples are requests of the log. */
  from_logs: v.boolean(),
  created_by: v.string(),
  created_at: IsoTime,
  expires_at: v.nullable(IsoTime),
});
export const ExampleVersionRecord = ExampleVersion;

export const ExampleVersionList = pageOf(ExampleVersion);

/** An example as it is stored. */
const ShownExample = v.object({
  /** Its place in the version, from 0. */
  index: v.number(),
  endpoint: v.string(),
  body: v.nullable(v.record(v.string(), v.unknown())),
  variables: v.nullable(v.record(v.string(), v.unknown())),
  expected: v.unknown(),
  metadata: v.record(v.string(), v.string()),
  log_id: v.nullable(v.string()),
});

export const ExamplePage = pageOf(ShownExample);
