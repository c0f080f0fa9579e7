import type { Hooks } from "./read-hooks.ts";
import type { BoundCheck, CheckOutcome, Hook, Reads, Visibility } from "./types.ts";

/** Requests and responses that are fully visible to checks. */
export const allVisible: Visibility = { request: "text", answer: "seen" };

/** From what is always available to what few requests provide. */
const order: readonly Reads[] = ["facts", "model", "body", "text"];

function canLook({ check }: BoundCheck, seen: Reads): boolean {
  return order.indexOf(check.reads ?? "text") <= order.indexOf(seen);
}

/** Stands in for a check that cannot read its input: always fails, and says why. */
function toClosed(bound: BoundCheck, what: string): BoundCheck {
  const run = (): CheckOutcome => ({
    pass: false,
    data: {
      explanation: `Cannot inspect the ${what} of this route, so the guardrail blocks it`,
      closed: true,
    },
  });
  const { id, phases, parameters } = bound.check;
  return { ...bound, check: { id, phases, parameters, reads: "facts", run }, softDeny: false };
}

/** Whether a hook rejects what it cannot inspect. */
function closes({ isDefault, deny, async, allowsUninspected }: Hook): boolean {
  return isDefault === true && deny && !async && !allowsUninspected;
}

/** A hook with the checks that can read their input; if it rejects uninspected content, the others always fail. */
function toVisible(hook: Hook, seen: Reads): Hook[] {
  const checks = hook.checks.flatMap((bound) => {
    if (canLook(bound, seen)) return [bound];
    return closes(hook) ? [toClosed(bound, "request")] : [];
  });
  return checks.length > 0 ? [{ ...hook, checks }] : [];
}

/** The hooks for a kind of request: checks without visible input are dropped, or deny the request before any call. */
export function toVisibleHooks(hooks: Hooks, { request, answer }: Visibility): Hooks {
  if (request === "text" && answer === "seen") return hooks;
  const before = hooks.before.flatMap((hook) => toVisible(hook, request));
  const closing = answer === "unseen" ? hooks.after.filter(closes) : [];
  const closed = closing.map((hook) => ({ ...hook, checks: hook.checks.map((bound) => toClosed(bound, "answer")) }));
  return { before: [...before, ...closed], after: [] };
}
