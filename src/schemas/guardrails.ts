import * as v from "valibot";
import { isObject } from "../lib/json.ts";
import { chosenSlug, Flag, Name, Reference, Text } from "./control.ts";
import { HookResult } from "./hooks.ts";
import { changesOf, closedObject, IsoTime, JsonObject, listOf, plainListOf } from "./objects.ts";
import { VerdictOutcome } from "./verdict-outcome.ts";

/** One check; the check itself validates its parameters. */
const SavedCheck = closedObject({
  /** Such as `default.contains`. */
  id: Text(255),
  parameters: v.optional(JsonObject, {}),
  name: v.nullish(Text(255, 0)),
  is_enabled: v.optional(Flag, true),
  soft_deny_200: v.optional(Flag),
});

const Checks = v.pipe(
  v.array(SavedCheck),
  v.minLength(1, "must have at least one check"),
  v.maxLength(20, "must have at most 20 entries"),
);

type Outcome = v.InferOutput<typeof VerdictOutcome> | null;

/** The effect of a verdict, with feedback: absent means the default, null means no feedback. */
function withFeedback(outcome: Outcome | undefined, value: number): Outcome {
  if (outcome === null) return null;
  const { feedback = {}, ...others } = outcome ?? {};
  return { ...others, feedback: isObject(feedback) ? { value, weight: 1, metadata: "", ...feedback } : feedback };
}

const errorVerdicts = ["pass", "fail"] as const;
const streamModes = ["window", "buffer", "inform"] as const;
const uninspectedWords = ["deny", "allow"] as const;
const OnError = v.optional(v.picklist(errorVerdicts, "must be pass or fail"));
const StreamMode = v.optional(v.picklist(streamModes, "must be window, buffer or inform"));
const Outcomes = v.optional(v.nullable(VerdictOutcome));

/** What a guardrail does with its verdict, in either spelling; one spelling is stored. */
const Actions = v.pipe(
  closedObject({
    deny: v.optional(Flag, false),
    async: v.optional(Flag, false),
    sequential: v.optional(Flag),
    on_success: Outcomes,
    onSuccess: Outcomes,
    on_fail: Outcomes,
    onFail: Outcomes,
    on_error: OnError,
    onError: OnError,
    stream_mode: StreamMode,
    streamMode: StreamMode,
    uninspected: v.optional(v.picklist(uninspectedWords, "must be deny or allow")),
  }),
  v.transform(({ onSuccess, onFail, onError, streamMode, ...actions }) => {
    const {
      on_success = onSuccess,
      on_fail = onFail,
      on_error = onError,
      stream_mode = streamMode,
      ...others
    } = actions;
    return {
      ...others,
      on_success: withFeedback(on_success, 5),
      on_fail: withFeedback(on_fail, -5),
      ...(on_error !== undefined && { on_error }),
      ...(stream_mode !== undefined && { stream_mode }),
    };
  }),
);

/** What a guardrail guards: requests to models, or calls of MCP tools. */
export const guardrailTargets = ["llm", "mcp_tools"] as const;
export type GuardrailTarget = (typeof guardrailTargets)[number];

const Target = v.picklist(guardrailTargets, "must be llm or mcp_tools");

/** Body of `POST /guardrails`. */
export const CreateGuardrail = closedObject({
  name: Name,
  slug: chosenSlug("pg"),
  target: v.optional(Target, "llm"),
  checks: Checks,
  actions: v.optional(Actions, {}),
  workspace_id: v.nullish(Reference),
  organisation_id: v.nullish(v.string()),
});
export type CreateGuardrail = v.InferOutput<typeof CreateGuardrail>;

/** Body of `PUT /guardrails/{id}`. */
export const UpdateGuardrail = changesOf({
  name: v.optional(Name),
  target: v.optional(Target),
  checks: v.optional(Checks),
  actions: v.optional(Actions),
  workspace_id: v.nullish(Reference),
  organisation_id: v.nullish(v.string()),
});
export type UpdateGuardrail = v.InferOutput<typeof UpdateGuardrail>;

/** Body of `POST /guardrails/{id}/test`. */
export const TestGuardrail = v.pipe(
  closedObject({
    /** In place of a request and a response. */
    text: v.optional(v.string()),
    request: v.optional(JsonObject),
    response: v.optional(JsonObject),
    /** Default: by the members of the request. */
    request_type: v.optional(
      v.picklist(["chatComplete", "complete", "messages", "createModelResponse", "generateContent", "embed"]),
    ),
    workspace_id: v.nullish(Reference),
    organisation_id: v.nullish(v.string()),
  }),
  v.check(
    ({ text, request }) => (text === undefined) !== (request === undefined),
    "must have text, or request and perhaps response",
  ),
  v.check(({ text, response }) => text === undefined || response === undefined, "cannot have text and response"),
);
export type TestGuardrail = v.InferOutput<typeof TestGuardrail>;

/** A guardrail as lists show it. */
export const GuardrailSummary = v.object({
  id: v.string(),
  name: v.string(),
  slug: v.string(),
  target: v.picklist(guardrailTargets),
  organisation_id: v.string(),
  /** Null for guardrails of the organisation. */
  workspace_id: v.nullable(v.string()),
  status: v.literal("active"),
  owner_id: v.string(),
  updated_by: v.nullable(v.string()),
  created_at: IsoTime,
  last_updated_at: IsoTime,
  object: v.literal("guardrail"),
});

/** Response of `GET /guardrails`. */
export const GuardrailList = plainListOf(GuardrailSummary);

const ShownCheck = v.object({
  /** Such as `default.contains`. */
  id: v.string(),
  name: v.optional(v.nullable(v.string())),
  is_enabled: v.boolean(),
  soft_deny_200: v.optional(v.boolean()),
});

/** The check's parameters, secrets masked. */
const ShownParameters = v.record(v.string(), v.unknown());

/** The effect of a verdict, with feedback; null for none. */
const ShownOutcome = v.nullable(v.record(v.string(), v.unknown()));

const ShownActions = v.object({
  deny: v.boolean(),
  async: v.boolean(),
  sequential: v.optional(v.boolean()),
  on_success: ShownOutcome,
  on_fail: ShownOutcome,
  on_error: v.optional(v.picklist(errorVerdicts)),
  stream_mode: v.optional(v.picklist(streamModes)),
  uninspected: v.optional(v.picklist(uninspectedWords)),
});

/** The content of a version, as it is stored. */
export const GuardrailContent = v.object({
  checks: v.array(v.object({ ...ShownCheck.entries, parameters: ShownParameters })),
  actions: ShownActions,
});
export type GuardrailContent = v.InferOutput<typeof GuardrailContent>;

/** A mapping of a guardrail to an MCP server. */
export const ServerMapping = v.object({
  id: v.string(),
  guardrail_id: v.string(),
  mcp_server_id: v.string(),
  run_on: v.array(v.picklist(["input", "output"])),
  /** Empty for all capabilities of the server. */
  capability_ids: v.array(v.string()),
  created_at: IsoTime,
  /** Null where it never changed. */
  last_updated_at: v.nullable(IsoTime),
});
export type ServerMapping = v.InferOutput<typeof ServerMapping>;

/** Response of `GET /guardrails/{id}`. */
export const ShownGuardrail = v.object({
  ...GuardrailSummary.entries,
  version_id: v.string(),
  checks: v.array(
    v.object({
      ...ShownCheck.entries,
      /** Workspaces do not see those of the organisation's guardrails. */
      parameters: v.optional(ShownParameters),
    }),
  ),
  actions: ShownActions,
  /** Those of the workspace; keys of the organisation see all. */
  mcp_server_mappings: v.array(ServerMapping),
});
export type ShownGuardrail = v.InferOutput<typeof ShownGuardrail>;

/** Response of `PUT /guardrails/{id}`. */
export const UpdatedGuardrail = v.object({
  id: v.string(),
  slug: v.string(),
  version_id: v.string(),
  /** What whoever saves it should know; absent without warnings. */
  warnings: v.optional(v.array(v.string())),
});

/** Response of `POST /guardrails`. */
export const CreatedGuardrail = v.object({ ...UpdatedGuardrail.entries, object: v.literal("guardrail") });

/** Response of `GET /guardrails/{id}/mcp-servers`. */
export const ServerMappings = v.array(ServerMapping);

/** Response of `PUT /guardrails/{id}/mcp-servers`: how many mappings changed. */
export const ChangedMappings = v.object({
  changed: v.boolean(),
  added: v.number(),
  updated: v.number(),
  removed: v.number(),
});

/** Response of `PUT /guardrails/{id}/mcp-servers/{serverId}`. */
export const ChangedMapping = v.object({ map_id: v.string() });

/** Response of `POST /guardrails/{id}/test`. */
export const GuardrailTest = v.object({
  object: v.literal("guardrail_test"),
  phase: v.picklist(["input", "output"]),
  /** Null where all of its checks skipped. */
  result: v.nullable(HookResult),
  /** The request or response after its changes; null without changes. */
  transformed: v.nullable(v.record(v.string(), v.unknown())),
});

/** A check that guardrails can have. */
export const CheckKind = v.object({
  /** Such as `default.contains`. */
  id: v.string(),
  /** Former or alternative ids. */
  aliases: v.array(v.string()),
  /** What comes before the point of its id. */
  source: v.string(),
  /** The partner whose service it asks; null for checks of the gateway. */
  partner: v.nullable(v.string()),
  phases: v.array(v.picklist(["input", "output"])),
  /** Whether some parameters let it change what it checks. */
  changes: v.boolean(),
  /** Whether some parameters let it work on a part of a stream. */
  works_on_window: v.boolean(),
  /** JSON Schema of its parameters. */
  parameters: v.record(v.string(), v.unknown()),
  object: v.literal("guardrail_check"),
});

/** Response of `GET /guardrails/checks`. */
export const CheckKindList = listOf(CheckKind);
