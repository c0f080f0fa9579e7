import * as v from "valibot";
import { isObject } from "../lib/json.ts";
import { Flag, Name, Reference, Text } from "./control.ts";
import { JsonObject } from "./objects.ts";

/** One check; whether its parameters fit is said by the check itself. */
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

/** Feedback of a verdict: what is absent has its default, null leaves none. */
const verdictActions = (value: number) =>
  v.optional(
    v.nullable(
      v.pipe(
        JsonObject,
        v.transform(({ feedback = {}, ...others }) => ({
          ...others,
          feedback: isObject(feedback) ? { value, weight: 1, metadata: "", ...feedback } : feedback,
        })),
      ),
    ),
    {},
  );

/** What a guardrail does with its verdict. Examples send other members too: they are passed over. */
const Actions = v.object({
  deny: v.optional(Flag, false),
  async: v.optional(Flag, false),
  sequential: v.optional(Flag),
  on_success: verdictActions(5),
  on_fail: verdictActions(-5),
  on_error: v.optional(v.picklist(["pass", "fail"], "must be pass or fail")),
  stream_mode: v.optional(v.picklist(["inform", "buffer"], "must be inform or buffer")),
  uninspected: v.optional(v.picklist(["deny", "allow"], "must be deny or allow")),
});

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
