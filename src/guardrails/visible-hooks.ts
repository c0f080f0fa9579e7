import type { Hooks } from "./read-hooks.ts";
import type { BoundCheck, CheckOutcome, Hook, Reads, Visibility } from "./types.ts";

/** Requests and answers that checks see all of. */
export const allVisible: Visibility = { request: "text", answer: "seen" };

/** From what is always there to what few requests show. */
const order: readonly Reads[] = ["facts", "model", "body", "text"];

function canLook({ check }: BoundCheck, seen: Reads): boolean {
  return order.indexOf(check.reads ?? "text") <= order.indexOf(seen);
}

/** A check in place of one that cannot look: it never passes, and says why. */
function toClosed(bound: BoundCheck, what: string): BoundCheck {
  const run = (): CheckOutcome => ({
    pass: false,
    data: {
      explanation: `Cannot look at the ${what} of this route, which the guardrail therefore closes`,
      closed: true,
    },
  });
  const { id, phases, parameters } = bound.check;
  return { ...bound, check: { id, phases, parameters, reads: "facts", run }, softDeny: false };
}

/** Whether a hook lets through nothing that it cannot look at. */
function closes({ isDefault, deny, async, allowsUninspected }: Hook): boolean {
  return isDefault === true && deny && !async && !allowsUninspected;
}

/** A hook with those of its checks that can look; one that closes what it cannot see has others in place of the rest. */
function toVisible(hook: Hook, seen: Reads): Hook[] {
  const checks = hook.checks.flatMap((bound) => {
    if (canLook(bound, seen)) return [bound];
    return closes(hook) ? [toClosed(bound, "request")] : [];
  });
  return checks.length > 0 ? [{ ...hook, checks }] : [];
}

/** The hooks of a kind of request: what cannot look is left out, or closes the route before anybody is called. */
export function toVisibleHooks(hooks: Hooks, { request, answer }: Visibility): Hooks {
  if (request === "text" && answer === "seen") return hooks;
  const before = hooks.before.flatMap((hook) => toVisible(hook, request));
  const closing = answer === "unseen" ? hooks.after.filter(closes) : [];
  const closed = closing.map((hook) => ({ ...hook, checks: hook.checks.map((bound) => toClosed(bound, "answer")) }));
  return { before: [...before, ...closed], after: [] };
}
