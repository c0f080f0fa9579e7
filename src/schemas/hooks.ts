import * as v from "valibot";

/** Result of one check of a hook. */
const CheckResult = v.object({
  /** Such as `default.contains`. */
  id: v.string(),
  /** False where the check objected to the request or response. */
  verdict: v.boolean(),
  /** Findings; the fields depend on the check. */
  data: v.nullable(v.record(v.string(), v.unknown())),
  /** Why the check could not decide, or what it could not do. */
  error: v.nullable(v.object({ name: v.string(), message: v.string() })),
  /** Milliseconds. */
  execution_time: v.number(),
  /** It changed the request or the response. */
  transformed: v.boolean(),
  created_at: v.string(),
  /** The check's parameter of that name. */
  fail_on_error: v.optional(v.boolean()),
});
export type CheckResult = v.InferOutput<typeof CheckResult>;

/** Result of one hook. */
export const HookResult = v.object({
  id: v.string(),
  verdict: v.boolean(),
  transformed: v.boolean(),
  /** True only if the hook denied the request. */
  deny: v.boolean(),
  async: v.boolean(),
  type: v.picklist(["guardrail", "mutator"]),
  checks: v.array(CheckResult),
  feedback: v.nullable(v.record(v.string(), v.unknown())),
  /** Milliseconds. */
  execution_time: v.number(),
  created_at: v.string(),
  guardrail_version_id: v.optional(v.string()),
});
export type HookResult = v.InferOutput<typeof HookResult>;

/** Results of a request's hooks, before and after its call. */
export const HookResults = v.object({
  before_request_hooks: v.array(HookResult),
  after_request_hooks: v.array(HookResult),
});
export type HookResults = v.InferOutput<typeof HookResults>;
