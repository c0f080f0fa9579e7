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
function toClosed(bound: BoundCheck, what: "request" | "answer" | "body"): BoundCheck {
  const hidden = what === "body" ? "read the body of this request" : `inspect the ${what} of this route`;
  const run = (): CheckOutcome => ({
    pass: false,
    data: { explanation: `Cannot ${hidden}, so the guardrail blocks it`, closed: true },
  });
  const { id, phases, parameters } = bound.check;
  return { ...bound, check: { id, phases, parameters, reads: "facts", run }, softDeny: false };
}

function toClosedHook(hook: Hook, what: "request" | "answer"): Hook {
  return { ...hook, checks: hook.checks.map((bound) => toClosed(bound, what)) };
}

/** Whether a hook denies, and does not let pass what it cannot inspect. */
const isStrict = ({ deny, async, allowsUninspected }: Hook): boolean => deny && !async && !allowsUninspected;

/** Whether a hook rejects routes that it cannot inspect. */
export function closes(hook: Hook): boolean {
  return hook.isDefault === true && isStrict(hook);
}

/**
 * A hook with the checks that can read their input; if it rejects uninspected content, the others always fail.
 *
 * @param hidden What they would see if the request could be read.
 */
function toVisible(hook: Hook, seen: Reads, hidden: Reads = seen): Hook[] {
  const checks = hook.checks.flatMap((bound) => {
    if (canLook(bound, seen)) return [bound];
    if (isStrict(hook) && canLook(bound, hidden)) return [toClosed(bound, "body")];
    return closes(hook) ? [toClosed(bound, "request")] : [];
  });
  return checks.length > 0 ? [{ ...hook, checks }] : [];
}

/** Whether a check reads fields of a body, without its text. */
export const readsFields = ({ check: { reads } }: BoundCheck): boolean => reads === "model" || reads === "body";

/** Whether a check reads what a session says: text, tools and parameters come in its events. */
const readsEvents = ({ check: { reads = "text" } }: BoundCheck): boolean => reads === "text" || reads === "body";

/** The hook with the checks that are meant; none without any. */
function withChecks(hook: Hook, isMeant: (bound: BoundCheck) => boolean): Hook[] {
  const checks = hook.checks.filter(isMeant);
  return checks.length > 0 ? [{ ...hook, checks }] : [];
}

/** Whether a hook decides about the events of a session as they come: none of its checks waits for the end. */
const decidesAtOnce = ({ streamMode }: Hook): boolean => streamMode === "window";

/** The hooks that check the events of a session. */
function toEventHooks({ before, after }: Hooks): Hooks {
  return { before: before.flatMap((hook) => withChecks(hook, readsEvents)), after: after.filter(decidesAtOnce) };
}

/** The hooks for the request that opens a session: those of its events run later, and those that cannot run close it. */
function toStartHooks({ before, after }: Hooks): Hooks {
  const early = before.flatMap((hook) => withChecks(hook, (bound) => !readsEvents(bound)));
  const closing = after.filter((hook) => closes(hook) && !decidesAtOnce(hook));
  return {
    before: [
      ...early.flatMap((hook) => toVisible(hook, "model")),
      ...closing.map((hook) => toClosedHook(hook, "answer")),
    ],
    after: [],
  };
}

const readsFacts = ({ check: { reads } }: BoundCheck): boolean => reads === "facts";

/** The hooks for a form whose rows are checked: those of its rows run later. Its response is not inspected. */
function toFormHooks({ before, after }: Hooks): Hooks {
  const early = before.flatMap((hook) => withChecks(hook, readsFacts));
  return { before: [...early, ...after.filter(closes).map((hook) => toClosedHook(hook, "answer"))], after: [] };
}

/** The hooks for the rows of an upload. */
function toRowHooks({ before }: Hooks): Hooks {
  return { before: before.flatMap((hook) => withChecks(hook, (bound) => !readsFacts(bound))), after: [] };
}

const ofPart: Readonly<Record<NonNullable<Visibility["part"]>, (hooks: Hooks) => Hooks>> = {
  start: toStartHooks,
  events: toEventHooks,
  form: toFormHooks,
  rows: toRowHooks,
};

/** The hooks for a kind of request: checks without visible input are dropped, or deny the request before any call. */
export function toVisibleHooks(hooks: Hooks, { request, hidden, answer, part }: Visibility): Hooks {
  if (part !== undefined) return ofPart[part](hooks);
  if (request === "text" && answer === "seen") return hooks;
  const before = hooks.before.flatMap((hook) => toVisible(hook, request, hidden));
  const closing = answer === "unseen" ? hooks.after.filter(closes) : [];
  const closed = closing.map((hook) => toClosedHook(hook, "answer"));
  return { before: [...before, ...closed], after: [] };
}
