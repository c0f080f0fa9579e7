import type { CheckResult, HookResult, HookResults } from "./hooks.ts";

// Rows of the log hold results of hooks as lists without names: most results differ in their times alone, and their names
// would be two thirds of a row.

/** A check's result. `others` is absent where the check passed, changed nothing and began with its hook. */
type StoredCheck = readonly [
  id: string,
  data: CheckResult["data"],
  executionTime: number,
  others?: Omit<CheckResult, "id" | "data" | "execution_time">,
];

/** A hook's result. `others` holds only the version, if any, where the hook passed and changed nothing. */
type StoredHook = readonly [
  id: string,
  checks: readonly StoredCheck[],
  executionTime: number,
  createdAt: string,
  others?: Partial<Omit<HookResult, "id" | "checks" | "execution_time" | "created_at">>,
];

/** Results of a request's hooks, before and after its call, as a row of the log holds them. */
export type StoredHookResults = readonly [before: readonly StoredHook[], after: readonly StoredHook[]];

/** Whether a check passed, changed nothing and began with its hook. */
function isUsualCheck(result: CheckResult, hookCreatedAt: string): boolean {
  const { verdict, error, transformed, created_at, fail_on_error } = result;
  return verdict && error === null && !transformed && created_at === hookCreatedAt && fail_on_error === undefined;
}

function toStoredCheck(result: CheckResult, hookCreatedAt: string): StoredCheck {
  if (isUsualCheck(result, hookCreatedAt)) return [result.id, result.data, result.execution_time];
  const { id, data, execution_time, ...others } = result;
  return [id, data, execution_time, others];
}

/** Whether a hook passed and changed nothing. */
function isUsualHook({ verdict, transformed, deny, async, type, feedback }: HookResult): boolean {
  return verdict && !transformed && !deny && !async && type === "guardrail" && feedback === null;
}

function toStoredHook(result: HookResult): StoredHook {
  const { id, execution_time, created_at, guardrail_version_id } = result;
  const checks = result.checks.map((check) => toStoredCheck(check, created_at));
  if (isUsualHook(result)) {
    return guardrail_version_id === undefined
      ? [id, checks, execution_time, created_at]
      : [id, checks, execution_time, created_at, { guardrail_version_id }];
  }
  const { id: _, checks: __, execution_time: ___, created_at: ____, ...others } = result;
  return [id, checks, execution_time, created_at, others];
}

/** Results as a row of the log holds them. */
export function toStoredHooks(before: readonly HookResult[], after: readonly HookResult[]): StoredHookResults {
  return [before.map(toStoredHook), after.map(toStoredHook)];
}

function fromStoredCheck([id, data, execution_time, others]: StoredCheck, created_at: string): CheckResult {
  return { id, verdict: true, data, error: null, transformed: false, execution_time, created_at, ...others };
}

function fromStoredHook([id, checks, execution_time, created_at, others]: StoredHook): HookResult {
  return {
    id,
    verdict: true,
    transformed: false,
    deny: false,
    async: false,
    type: "guardrail",
    checks: checks.map((check) => fromStoredCheck(check, created_at)),
    feedback: null,
    execution_time,
    created_at,
    ...others,
  };
}

function isStored(results: StoredHookResults | HookResults): results is StoredHookResults {
  return Array.isArray(results);
}

/** The results in a row of the log. Rows of earlier versions hold them with their names. */
export function fromStoredHooks(results: StoredHookResults | HookResults): HookResults {
  if (!isStored(results)) return results;
  const [before, after] = results;
  return { before_request_hooks: before.map(fromStoredHook), after_request_hooks: after.map(fromStoredHook) };
}
