import type { Clock } from "../lib/clock.ts";
import { turns } from "../lib/turns.ts";
import type { CheckResult, HookResult } from "../schemas/hooks.ts";
import { type JsonPieces, readJsonPieces } from "./json-pieces.ts";
import type { Leaves } from "./leaves.ts";
import { holdsTokens, readRest, readTexts, writeTexts } from "./texts.ts";
import {
  type Body,
  type BoundCheck,
  CheckError,
  type CheckInput,
  type CheckOutcome,
  type Hook,
  type Scope,
  type Work,
} from "./types.ts";

/** What the hooks of one phase look at. */
export interface Subject extends Omit<CheckInput, "texts" | "text" | "rest" | "readPieces" | "mustSeeAll" | "work"> {
  /** Why nothing of it can be changed, where that is so. */
  readonly fixedBecause?: string;
  /** It is out already: nothing of it can be denied. */
  readonly isOut?: boolean;
  /** Only its beginning is there. */
  readonly isCut?: boolean;
}

/** What the hooks of one phase said. */
export interface PhaseOutcome {
  /** In the order of the hooks; hooks that had nothing to check are left out. */
  readonly results: readonly HookResult[];
  /** The request, or after the call the answer, as the hooks left it. */
  readonly body: Body;
  readonly isTransformed: boolean;
  /** Headers for the provider's request, by their names in lower case; null for one it is not to have. */
  readonly headers: Readonly<Record<string, string | null>>;
  /** A hook failed. */
  readonly isFailed: boolean;
  /** A hook that denies failed. */
  readonly isDenied: boolean;
  /** The denial is to be told in an answer with status 200. */
  readonly isSoft: boolean;
}

/** Longest text a check sees, in characters. */
const maxTextLength = 1024 * 1024;
/** Time checks have for patterns and the like, together, and the steps these may take. */
const maxWorkMs = 1_000;
const maxSteps = 48 * 1024 * 1024;
/** Longest JSON of what a check found. */
const maxDataLength = 8 * 1024;

/** Content of a phase while its hooks run: changes are seen by what runs later. */
interface State {
  body: Body;
  isTransformed: boolean;
  headers: Record<string, string | null>;
}

/** What a check said, and what that means for its hook. */
interface Checked {
  bound: BoundCheck;
  result: CheckResult;
  isBroken: boolean;
}

/** What is run with. */
interface Run {
  subject: Subject;
  state: State;
  clock: Clock;
  work: RunWork;
  /** Texts of the body as it was when they were last read, by scope. */
  known: Map<Scope, KnownTexts>;
  /** What else the body says, as it was when it was last read. */
  shared: { rest?: { body: Body; leaves: Leaves; length: number } };
}

interface RunWork extends Work {
  /** Waits while the loop is somebody else's. */
  waitForTurn(): Promise<void>;
}

/** What is found out once for all checks that look at the same texts. */
interface KnownTexts {
  readonly body: Body;
  readonly texts: readonly string[];
  readonly length: number;
  readonly isInTokens: boolean;
  sight?: Sight;
  pieces?: Promise<JsonPieces>;
}

/** Milliseconds of its own after which work counts as long: what is shorter goes before it. */
const longWorkMs = 8;

function createWork(clock: Clock): RunWork {
  let spentMs = 0;
  let steps = 0;
  const spend = <Result>(piece: () => Result): Result => {
    if (spentMs > maxWorkMs) throw new CheckError("Cannot check: the checks of this request take too long");
    const startedAt = clock.monotonic();
    try {
      return piece();
    } finally {
      const ms = clock.monotonic() - startedAt;
      spentMs += ms;
      turns.spend(ms);
    }
  };
  const waitForTurn = async () => {
    await undefined; // what began at the same time may have taken all of the turn
    while (turns.isOver) await turns.next(spentMs < longWorkMs);
  };
  return {
    spend,
    waitForTurn,
    async run(work) {
      for (;;) {
        const { done, value } = spend(() => work.next());
        if (done) return value;
        steps += value;
        if (steps > maxSteps) throw new CheckError("Cannot check: the checks of this request take too many steps");
        await waitForTurn();
      }
    },
  };
}

/** Does what takes a moment, which counts as part of the turn. */
function hold<Result>(clock: Clock, piece: () => Result): Result {
  const startedAt = clock.monotonic();
  try {
    return piece();
  } finally {
    turns.spend(clock.monotonic() - startedAt);
  }
}

function roundMs(ms: number): number {
  return Math.round(ms * 100) / 100;
}

function lengthOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + text.length, 0);
}

/** The texts of the body as it is now, read once for all checks of a scope. */
function readOnce({ subject, state: { body }, known, work }: Run, scope: Scope): KnownTexts {
  const found = known.get(scope);
  if (found?.body === body) return found;
  const read = work.spend((): KnownTexts => {
    const texts = readTexts(subject, body, scope);
    return { body, texts, length: lengthOf(texts), isInTokens: holdsTokens(subject, body) };
  });
  known.set(scope, read);
  return read;
}

/** The texts as a check sees them. */
interface Sight {
  texts: readonly string[];
  text: string;
  /** What of each text is out of its sight; empty where it sees all of them. */
  rests: readonly string[];
}

/** Looks at the texts as they are now; of long ones only at the beginning, which a hook that denies does not accept. */
function look(run: Run, { deny }: Hook, { scope }: BoundCheck): Sight {
  const known = readOnce(run, scope);
  if (deny && known.isInTokens) throw new CheckError("Cannot check: the text is written in tokens");
  if (deny && known.length > maxTextLength) {
    throw new CheckError(`Cannot check: the text is longer than ${maxTextLength} characters`);
  }
  known.sight ??= run.work.spend(() => toSight(known));
  return known.sight;
}

function toSight({ texts: all, length }: KnownTexts): Sight {
  if (length <= maxTextLength) return { texts: all, text: all.join("\n"), rests: [] };
  let left = maxTextLength;
  const texts = all.map((text) => {
    const beginning = text.slice(0, left);
    left -= beginning.length;
    return beginning;
  });
  const rests = all.map((text, index) => text.slice(texts[index]?.length));
  return { texts, text: texts.join("\n").slice(0, maxTextLength), rests };
}

/** What else the request says, read once for all checks. */
function readRestOnce(run: Run) {
  const { subject, work } = run;
  const { body } = run.state;
  const known = run.shared.rest;
  if (known?.body === body) return known;
  const { texts } = readOnce(run, "all");
  const leaves = work.spend(() => readRest(subject, body, texts));
  const rest = { body, leaves, length: lengthOf(leaves.texts) };
  run.shared.rest = rest;
  return rest;
}

/** The rest as a check sees it: a hook that denies accepts no part of it, and nothing that cannot be read. */
function lookAtRest(run: Run, { deny, allowsUninspected }: Hook, { scope }: BoundCheck): readonly string[] {
  if (scope !== "all" || run.subject.response) return [];
  const { leaves, length } = readRestOnce(run);
  if (deny && leaves.hasOpaque && !allowsUninspected) {
    throw new CheckError("Cannot check: the request holds a document that is not text");
  }
  if (length <= maxTextLength) return leaves.texts;
  if (deny) throw new CheckError(`Cannot check: the text is longer than ${maxTextLength} characters`);
  let left = maxTextLength;
  return leaves.texts.map((text) => {
    const beginning = text.slice(0, left);
    left -= beginning.length;
    return beginning;
  });
}

/** The JSON in the text a check sees, looked for once for all checks that see it. */
async function readPieces(run: Run, hook: Hook, bound: BoundCheck): Promise<JsonPieces> {
  const { text } = look(run, hook, bound);
  const known = readOnce(run, bound.scope);
  known.pieces ??= run.work.run(readJsonPieces(text));
  return known.pieces;
}

/** What a check sees now. Texts are looked for when it asks for them, since many never do. */
function toInput(run: Run, hook: Hook, { bound, see }: { bound: BoundCheck; see: () => Sight }): CheckInput {
  const { subject, state, work } = run;
  const { body, isTransformed } = state;
  const { response } = subject;
  return {
    ...subject,
    request: response ? subject.request : { ...subject.request, body, isTransformed },
    response: response && { ...response, body, isTransformed },
    get texts() {
      return see().texts;
    },
    get text() {
      return bound.check.readsAll?.(bound.parameters)
        ? [...lookAtRest(run, hook, bound), see().text].join("\n")
        : see().text;
    },
    get rest() {
      return lookAtRest(run, hook, bound);
    },
    readPieces: () => {
      see();
      return readPieces(run, hook, bound);
    },
    mustSeeAll: hook.deny,
    work,
  };
}

/** Why a hook can change nothing; undefined where it can. */
function fixedBecause({ subject }: Run, { async }: Hook): string | undefined {
  return subject.fixedBecause ?? (async ? "Cannot change anything: the hook runs behind the answer" : undefined);
}

/** Takes over what a check changed; what may not be changed becomes its error. */
function apply(
  outcome: CheckOutcome,
  run: Run,
  { hook, scope, rests }: { hook: Hook; scope: BoundCheck["scope"]; rests: readonly string[] },
): { isChange: boolean; problem?: string } {
  const { subject, state } = run;
  const { body } = outcome;
  const texts = outcome.texts?.map((text, index) => (text === null ? null : text + (rests[index] ?? "")));
  if (!hook.async) Object.assign(state.headers, outcome.headers);
  const isChange = body !== undefined || texts?.some((text) => text !== null) === true;
  if (!isChange) return { isChange };
  const problem = fixedBecause(run, hook);
  if (problem !== undefined) return { isChange: false, problem };
  const changed = body ?? state.body;
  state.body = texts === undefined ? changed : run.work.spend(() => writeTexts(subject, changed, { scope, texts }));
  state.isTransformed = true;
  return { isChange };
}

/** What a check found, in a size a log can keep; of a subject that was cut it says so. */
function toData(
  data: Readonly<Record<string, unknown>> | undefined,
  { isCut }: Subject,
): Record<string, unknown> | null {
  const cut = isCut ? { isCut } : {};
  if (data === undefined) return isCut ? cut : null;
  if (JSON.stringify(data).length <= maxDataLength) return { ...data, ...cut };
  return { explanation: String(data.explanation ?? "").slice(0, 1_000), isCut: true };
}

/** Whether a check that cannot decide counts as failed. */
function failsOnError({ onError, deny }: Hook, { failOnError }: BoundCheck): boolean {
  return failOnError ?? (onError === undefined ? deny : onError === "fail");
}

/** Runs one check; undefined where there was nothing to check. */
async function runCheck(run: Run, hook: Hook, bound: BoundCheck): Promise<Checked | undefined> {
  const { clock } = run;
  await run.work.waitForTurn();
  const startedAt = clock.monotonic();
  const created_at = new Date(clock.now()).toISOString();
  const begun: Run = { ...run, state: { ...run.state } }; // later changes are not for this check to see
  let sight: Sight | undefined;
  const see = () => {
    sight ??= look(begun, hook, bound);
    return sight;
  };
  const finish = (rest: Pick<CheckResult, "verdict" | "data" | "error" | "transformed">, isBroken: boolean) => ({
    bound,
    isBroken,
    result: {
      id: bound.check.id,
      ...rest,
      execution_time: roundMs(clock.monotonic() - startedAt),
      created_at,
      ...(bound.failOnError !== undefined && { fail_on_error: bound.failOnError }),
    },
  });
  try {
    const outcome = await hold(clock, () => bound.check.run(toInput(begun, hook, { bound, see }), bound.parameters));
    if (outcome.isSkipped) return undefined;
    const { rests } = sight ?? { rests: [] };
    const { isChange, problem = outcome.error } = apply(outcome, run, { hook, scope: bound.scope, rests });
    const error = problem === undefined ? null : { name: "CheckError", message: problem };
    const data = rests.length > 0 ? { ...outcome.data, isCut: true } : outcome.data;
    return finish({ verdict: outcome.pass, data: toData(data, run.subject), error, transformed: isChange }, false);
  } catch (thrown) {
    const error =
      thrown instanceof CheckError ? thrown : new CheckError("Error executing check", { name: "Check error" });
    const { name, message, data } = error;
    const verdict = failsOnError(hook, bound) ? error.verdict : true;
    return finish({ verdict, data: toData(data, run.subject), error: { name, message }, transformed: false }, true);
  }
}

async function runChecks(run: Run, hook: Hook): Promise<(Checked | undefined)[]> {
  if (!hook.isOrdered) return Promise.all(hook.checks.map((bound) => runCheck(run, hook, bound)));
  const checked: (Checked | undefined)[] = [];
  for (const bound of hook.checks) checked.push(await runCheck(run, hook, bound));
  return checked;
}

/** The feedback a verdict calls for, with the checks behind it. */
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

/** What a hook said, and whether its denial is a soft one. */
interface HookOutcome {
  result: HookResult;
  isSoft: boolean;
}

/** Runs one hook; undefined where none of its checks had anything to check. */
async function runHook(shared: Run, hook: Hook): Promise<HookOutcome | undefined> {
  const { clock } = shared;
  const run = hook.isSaved ? { ...shared, work: createWork(clock) } : shared;
  const startedAt = clock.monotonic();
  const created_at = new Date(clock.now()).toISOString();
  const checked = (await runChecks(run, hook)).filter((one) => one !== undefined);
  if (checked.length === 0 && hook.checks.length > 0) return undefined;
  const failed = checked.filter(({ result }) => !result.verdict);
  const verdict = failed.length === 0;
  const result: HookResult = {
    id: hook.id,
    verdict,
    transformed: checked.some((one) => one.result.transformed),
    deny: hook.deny && !hook.async && !verdict && run.subject.isOut !== true,
    async: hook.async,
    type: hook.type,
    checks: checked.map((one) => one.result),
    feedback: toFeedback(hook, verdict, checked),
    execution_time: roundMs(clock.monotonic() - startedAt),
    created_at,
    ...(hook.versionId !== undefined && { guardrail_version_id: hook.versionId }),
  };
  return { result, isSoft: failed.every(({ bound }) => bound.softDeny) };
}

/**
 * Runs the hooks of one phase: those that may change something one after the other, in order, then the others side by side.
 * Never rejects: what breaks is told in the results.
 */
export async function runHooks(hooks: readonly Hook[], subject: Subject, clock: Clock): Promise<PhaseOutcome> {
  const state: State = { body: (subject.response ?? subject.request).body, isTransformed: false, headers: {} };
  const run: Run = { subject, state, clock, work: createWork(clock), known: new Map(), shared: {} };
  const outcomes = new Map<Hook, HookOutcome | undefined>();
  const meant = hooks.filter(({ type, async }) => type !== "mutator" || !async); // a change behind the answer is none
  for (const hook of meant) if (hook.isOrdered) outcomes.set(hook, await runHook(run, hook));
  const others = meant.filter((hook) => !hook.isOrdered);
  await Promise.all(others.map(async (hook) => outcomes.set(hook, await runHook(run, hook))));
  const told = hooks.flatMap((hook) => outcomes.get(hook) ?? []);
  const denials = told.filter(({ result }) => result.deny);
  return {
    results: told.map(({ result }) => result),
    body: state.body,
    isTransformed: state.isTransformed,
    headers: state.headers,
    isFailed: told.some(({ result }) => !result.verdict && !result.async),
    isDenied: denials.length > 0,
    isSoft: denials.length > 0 && denials.every(({ isSoft }) => isSoft),
  };
}
