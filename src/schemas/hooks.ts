import * as v from "valibot";

/** What one check of a hook said. */
const CheckResult = v.object({
  /** Such as `default.contains`. */
  id: v.string(),
  /** True where nothing stood against the request or answer. */
  verdict: v.boolean(),
  /** What the check found; its members are the check's own. */
  data: v.nullable(v.record(v.string(), v.unknown())),
  /** Why the check could not decide, or left something undone. */
  error: v.nullable(v.object({ name: v.string(), message: v.string() })),
  /** Milliseconds. */
  execution_time: v.number(),
  /** It changed the request or the answer. */
  transformed: v.boolean(),
  created_at: v.string(),
  /** As its parameter of that name was given. */
  fail_on_error: v.optional(v.boolean()),
});
export type CheckResult = v.InferOutput<typeof CheckResult>;

/** What one hook said. */
const HookResult = v.object({
  id: v.string(),
  verdict: v.boolean(),
  transformed: v.boolean(),
  /** True only where it denied. */
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

/** What the hooks of a request said, before and after its call. */
export const HookResults = v.object({
  before_request_hooks: v.array(HookResult),
  after_request_hooks: v.array(HookResult),
});
export type HookResults = v.InferOutput<typeof HookResults>;
