import type { Clock } from "../lib/clock.ts";
import { createTimeWriter } from "../lib/clock.ts";
import type { CheckResult, HookResult } from "../schemas/hooks.ts";
import type { BoundCheck, Hook } from "./types.ts";

/** What a check found, or why it found nothing. */
export interface Finding {
  verdict: boolean;
  data: Record<string, unknown> | null;
  error: { name: string; message: string } | null;
  /** It changed what it checked. */
  transformed: boolean;
  /** It could not decide. */
  isBroken: boolean;
}

/** A check that ran, and its result. */
export interface Checked {
  readonly bound: BoundCheck;
  readonly result: CheckResult;
  readonly isBroken: boolean;
}

/** When something began: monotonic milliseconds, and as results write it. */
export interface Start {
  readonly at: number;
  readonly createdAt: string;
}

const writeTime = createTimeWriter();

export function startNow(clock: Clock): Start {
  return { at: clock.monotonic(), createdAt: writeTime(clock.now()) };
}

/** Milliseconds since then, with two decimals. */
function since({ at }: Start, clock: Clock): number {
  return Math.round((clock.monotonic() - at) * 100) / 100;
}

/** Whether a check without a decision counts as failed. */
export function failsOnError({ onError, deny }: Hook, { failOnError }: BoundCheck): boolean {
  return failOnError ?? (onError === undefined ? deny : onError === "fail");
}

/** The result of a check. */
export function toChecked(bound: BoundCheck, finding: Finding, start: Start, clock: Clock): Checked {
  const { isBroken, verdict, data, error, transformed } = finding;
  const { id } = bound.check;
  const times = { execution_time: since(start, clock), created_at: start.createdAt };
  const result: CheckResult = { id, verdict, data, error, transformed, ...times };
  if (bound.failOnError !== undefined) result.fail_on_error = bound.failOnError;
  return { bound, result, isBroken };
}

/** The result of a hook whose checks ran. */
export function toHookResult(hook: Hook, checked: readonly Checked[], start: Start, clock: Clock): HookResult {
  const verdict = checked.every(({ result }) => result.verdict);
  const result: HookResult = {
    id: hook.id,
    verdict,
    transformed: checked.some(({ result: { transformed } }) => transformed),
    deny: hook.deny && !hook.async && !verdict,
    async: hook.async,
    type: hook.type,
    checks: checked.map((one) => (hook.isOrganisations ? toShown(one.result) : one.result)),
    feedback: toFeedback(hook, verdict, checked),
    execution_time: since(start, clock),
    created_at: start.createdAt,
  };
  if (hook.versionId !== undefined) result.guardrail_version_id = hook.versionId;
  return result;
}

/** The feedback for a verdict, with the checks that led to it. */
function toFeedback(hook: Hook, verdict: boolean, checked: readonly Checked[]): Record<string, unknown> | null {
  const feedback = verdict ? hook.onSuccess : hook.onFail;
  if (!feedback) return null;
  const list = (wanted: (one: Checked) => boolean) =>
    checked
      .filter(wanted)
      .map(({ result }) => result.id)
      .join(", ");
  const own = typeof feedback.metadata === "object" ? feedback.metadata : {};
  const metadata = {
    ...own,
    successfulChecks: list(({ result, isBroken }) => result.verdict && !isBroken),
    failedChecks: list(({ result, isBroken }) => !result.verdict && !isBroken),
    erroredChecks: list(({ isBroken }) => isBroken),
  };
  return { ...feedback, metadata };
}

/** Members of a check's data that say nothing of its parameters. */
const harmless = ["count", "isCut", "closed", "entities"] as const;

/**
 * A result of a check of the organisation as requests, responses and log rows show it: workspaces see the verdict, but
 * neither parameters nor what follows from them, such as the words of a list.
 */
function toShown(result: CheckResult): CheckResult {
  const { data, error, verdict } = result;
  const shown = harmless.flatMap((name) => (data && Object.hasOwn(data, name) ? [[name, data[name]] as const] : []));
  const isClosed = data?.closed === true && typeof data.explanation === "string";
  const explanation = isClosed ? data.explanation : `The check of the organisation ${verdict ? "passed" : "failed"}`;
  return {
    ...result,
    data: { explanation, ...Object.fromEntries(shown) },
    error: error && { name: error.name, message: "The check of the organisation could not do all of its work" },
  };
}
