import * as v from "valibot";
import { isObject } from "../lib/json.ts";
import { Flag, Name, Reference, Text } from "./control.ts";
import { JsonObject } from "./objects.ts";
import { VerdictOutcome } from "./verdict-outcome.ts";

/** One check; the check itself validates its parameters. */
const SavedCheck = v.object({
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

const OnError = v.optional(v.picklist(["pass", "fail"], "must be pass or fail"));
const StreamMode = v.optional(v.picklist(["window", "buffer", "inform"], "must be window, buffer or inform"));
const Outcomes = v.optional(v.nullable(VerdictOutcome));

/** What a guardrail does with its verdict, in either spelling; one spelling is stored. */
const Actions = v.pipe(
  v.object({
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
    uninspected: v.optional(v.picklist(["deny", "allow"], "must be deny or allow")),
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

const Target = v.picklist(["llm", "mcp_tools"], "must be llm or mcp_tools");

/** Body of `POST /guardrails`. */
export const CreateGuardrail = v.object({
  name: Name,
  target: v.optional(Target, "llm"),
  checks: Checks,
  actions: v.optional(Actions, {}),
  workspace_id: v.nullish(Reference),
  organisation_id: v.nullish(v.string()),
});
export type CreateGuardrail = v.InferOutput<typeof CreateGuardrail>;

/** Body of `PUT /guardrails/{id}`. */
export const UpdateGuardrail = v.object({
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
  v.object({
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
