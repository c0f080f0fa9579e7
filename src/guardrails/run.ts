import type { Clock } from "../lib/clock.ts";
import { allSoon, eachSoon, type Soon } from "../lib/soon.ts";
import type { Steps } from "../lib/steps.ts";
import type { CheckResult, HookResult } from "../schemas/hooks.ts";
import type { JsonPieces } from "./json-pieces.ts";
import { type Look, SeenTexts, type VisibleText } from "./seen-texts.ts";
import { toShown } from "./shown-result.ts";
import type { PhaseOutcome, Subject } from "./subject.ts";
import {
  type Body,
  type BoundCheck,
  CheckError,
  type CheckInput,
  type CheckOutcome,
  type Hook,
  type RequestType,
} from "./types.ts";
import { Placeholders } from "./values/placeholders.ts";
import { RunWork, roundMs, writeTime } from "./work.ts";

/** Longest JSON of a check's data. */
const maxDataLength = 8 * 1024;

/** Body of a phase while its hooks run: later hooks see the changes of earlier ones. */
interface State {
  body: Body;
  isTransformed: boolean;
  headers: Record<string, string | null>;
}

/** A check's outcome, and what it means for its hook. */
interface Checked {
  bound: BoundCheck;
  result: CheckResult;
  isBroken: boolean;
}

/** Context of one run of hooks. */
interface Run {
  subject: Subject;
  state: State;
  clock: Clock;
  work: RunWork;
  texts: SeenTexts;
  placeholders: Placeholders;
}

const noTypes: readonly RequestType[] = [];

/** Input of a check. Its text is read on demand, since many checks never need it. Later changes do not affect it. */
class RunInput implements CheckInput, Look {
  readonly #run: Run;
  readonly #isTransformed: boolean;
  #visible: VisibleText | undefined;
  readonly body: Body;
  readonly hook: Hook;
  readonly bound: BoundCheck;
  readonly work: RunWork;

  constructor(run: Run, hook: Hook, bound: BoundCheck) {
    this.#run = run;
    this.#isTransformed = run.state.isTransformed;
    this.body = run.state.body;
    this.hook = hook;
    this.bound = bound;
    this.work = run.work;
  }

  get phase(): Subject["phase"] {
    return this.#run.subject.phase;
  }

  get requestType(): RequestType {
    return this.#run.subject.requestType;
  }

  get alsoTypes(): readonly RequestType[] {
    return this.#run.subject.alsoTypes ?? noTypes;
  }

  get leadsTo(): readonly RequestType[] {
    return this.#run.subject.leadsTo ?? noTypes;
  }

  get tenant(): string {
    return this.#run.subject.tenant;
  }

  get cleanStrings(): Subject["cleanStrings"] {
    return this.#run.subject.cleanStrings;
  }

  get provider(): string {
    return this.#run.subject.provider;
  }

  get metadata(): Subject["metadata"] {
    return this.#run.subject.metadata;
  }

  get placeholders(): Placeholders {
    return this.#run.placeholders;
  }

  get mustSeeAll(): boolean {
    return this.hook.deny;
  }

  get isOrganisations(): boolean {
    return this.hook.isOrganisations === true;
  }

  get request(): CheckInput["request"] {
    const { response, request } = this.#run.subject;
    if (response || (request.body === this.body && request.isTransformed === this.#isTransformed)) return request;
    return { ...request, body: this.body, isTransformed: this.#isTransformed };
  }

  get response(): CheckInput["response"] {
    const { response } = this.#run.subject;
    return response && { ...response, body: this.body, isTransformed: this.#isTransformed };
  }

  get visible(): VisibleText {
    this.#visible ??= this.#run.texts.look(this);
    return this.#visible;
  }

  /** What the strings hold beyond the part that was seen. */
  get rests(): readonly string[] {
    return this.#visible?.rests ?? [];
  }

  get texts(): readonly string[] {
    return this.visible.texts;
  }

  get text(): string {
    const { check, parameters } = this.bound;
    const { visible } = this;
    return check.readsAll?.(parameters) ? this.#run.texts.whole(this, visible) : visible.text;
  }

  get rest(): readonly string[] {
    return this.#run.texts.rest(this);
  }

  get readPieces(): () => Promise<JsonPieces> {
    return () => {
      const { visible } = this;
      return this.#run.texts.pieces(this, visible);
    };
  }
}

/** Why a hook cannot change anything; undefined where it can. */
function fixedBecause({ subject }: Run, { async }: Hook): string | undefined {
  return subject.fixedBecause ?? (async ? "Cannot change anything: the hook runs after the response" : undefined);
}

/** Applies a check's changes; a change that is not allowed becomes its error. */
function apply(outcome: CheckOutcome, run: Run, input: RunInput): { isChange: boolean; problem: string | undefined } {
  const { subject, state } = run;
  const { hook, rests } = input;
  const { body } = outcome;
  const texts = outcome.texts?.map((text, index) => (text === null ? null : text + (rests[index] ?? "")));
  if (outcome.headers && !hook.async) Object.assign(state.headers, outcome.headers);
  const isChange = body !== undefined || texts?.some((text) => text !== null) === true;
  if (!isChange) return { isChange, problem: outcome.error };
  const problem = fixedBecause(run, hook);
  // a response that should have been changed must not be sent
  if (problem !== undefined && hook.deny && subject.response && !subject.isSent) throw new CheckError(problem);
  if (problem !== undefined) return { isChange: false, problem };
  const look = { body: state.body, hook, bound: input.bound, work: run.work };
  state.body = run.work.spend(() => run.texts.write(look, body, texts));
  state.isTransformed = true;
  return { isChange, problem: outcome.error };
}

/** Whether a check's data is certainly short: a few figures and sentences. */
function isShort(data: Readonly<Record<string, unknown>>): boolean {
  let length = 0;
  for (const name in data) {
    const value = data[name];
    if (typeof value === "object" && value !== null) return false;
    length += name.length + (typeof value === "string" ? value.length : 0) + 40;
  }
  // an escaped character takes six
  return length * 6 < maxDataLength;
}

/** A check's data, short enough for a log; marked where the subject was cut. */
function toData(
  data: Readonly<Record<string, unknown>> | undefined,
  { isCut }: { isCut?: boolean | undefined },
): Record<string, unknown> | null {
  if (data === undefined) return isCut ? { isCut } : null;
  if (isShort(data) || JSON.stringify(data).length <= maxDataLength) return isCut ? { ...data, isCut } : data;
  return { explanation: String(data.explanation ?? "").slice(0, 1_000), isCut: true };
}

/** Whether a check without a decision counts as failed. */
export function failsOnError({ onError, deny }: Hook, { failOnError }: BoundCheck): boolean {
  return failOnError ?? (onError === undefined ? deny : onError === "fail");
}

function isSteps(outcome: Soon<CheckOutcome> | Steps<CheckOutcome>): outcome is Steps<CheckOutcome> {
  return Symbol.iterator in outcome;
}

/** A check that runs. */
class CheckRun {
  readonly #run: Run;
  readonly #input: RunInput;
  readonly #startedAt: number;
  readonly #createdAt: string;

  constructor(run: Run, hook: Hook, bound: BoundCheck) {
    this.#run = run;
    this.#input = new RunInput(run, hook, bound);
    this.#startedAt = run.clock.monotonic();
    this.#createdAt = writeTime(run.clock.now());
  }

  /** The outcome; undefined where it skipped. */
  start(): Soon<Checked | undefined> {
    const { work } = this.#run;
    const { check, parameters } = this.#input.bound;
    try {
      const outcome = work.time(() => {
        const begun = check.run(this.#input, parameters);
        return isSteps(begun) ? work.begin(begun) : begun;
      });
      return outcome instanceof Promise ? this.#wait(outcome) : this.#conclude(outcome);
    } catch (thrown) {
      return this.#fail(thrown);
    }
  }

  async #wait(outcome: Promise<CheckOutcome>): Promise<Checked | undefined> {
    try {
      return this.#conclude(await outcome);
    } catch (thrown) {
      return this.#fail(thrown);
    }
  }

  #conclude(outcome: CheckOutcome): Checked | undefined {
    if (outcome.isSkipped) return undefined;
    const { isChange, problem } = apply(outcome, this.#run, this.#input);
    const error = problem === undefined ? null : { name: "CheckError", message: problem };
    const isCut = this.#input.rests.length > 0 || this.#run.subject.isCut;
    const data = toData(outcome.data, { isCut });
    return this.#toChecked({ verdict: outcome.pass, data, error, transformed: isChange }, false);
  }

  #fail(thrown: unknown): Checked {
    const error =
      thrown instanceof CheckError ? thrown : new CheckError("Error executing check", { name: "Check error" });
    const { name, message } = error;
    const { hook, bound } = this.#input;
    const verdict = failsOnError(hook, bound) ? error.verdict : true;
    const data = toData(error.data, this.#run.subject);
    return this.#toChecked({ verdict, data, error: { name, message }, transformed: false }, true);
  }

  #toChecked(
    { verdict, data, error, transformed }: Pick<CheckResult, "verdict" | "data" | "error" | "transformed">,
    isBroken: boolean,
  ): Checked {
    const { bound } = this.#input;
    const result: CheckResult = {
      id: bound.check.id,
      verdict,
      data,
      error,
      transformed,
      execution_time: roundMs(this.#run.clock.monotonic() - this.#startedAt),
      created_at: this.#createdAt,
    };
    if (bound.failOnError !== undefined) result.fail_on_error = bound.failOnError;
    return { bound, result, isBroken };
  }
}

/** Runs one check; undefined where it skipped. */
function runCheck(run: Run, hook: Hook, bound: BoundCheck): Soon<Checked | undefined> {
  const waiting = run.work.waitForTurn();
  return waiting ? waiting.then(() => new CheckRun(run, hook, bound).start()) : new CheckRun(run, hook, bound).start();
}

function runChecks(run: Run, hook: Hook): Soon<(Checked | undefined)[]> {
  const start = (bound: BoundCheck) => runCheck(run, hook, bound);
  return hook.isOrdered ? eachSoon(hook.checks, start) : allSoon(hook.checks.map(start));
}

/** The feedback for a verdict, with the checks that led to it. */
export function toFeedback(hook: Hook, verdict: boolean, checked: readonly Checked[]): Record<string, unknown> | null {
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

/** Result of a hook, and whether its denial is soft. */
interface HookOutcome {
  result: HookResult;
  isSoft: boolean;
}

/** Runs one hook; undefined where all of its checks skipped. */
function runHook(shared: Run, hook: Hook): Soon<HookOutcome | undefined> {
  const { clock } = shared;
  const run = hook.isSaved ? { ...shared, work: new RunWork(clock) } : shared;
  const startedAt = clock.monotonic();
  const createdAt = writeTime(clock.now());
  const checking = runChecks(run, hook);
  const conclude = (checked: readonly (Checked | undefined)[]) =>
    toHookOutcome(checked, { hook, run, startedAt, createdAt });
  return checking instanceof Promise ? checking.then(conclude) : conclude(checking);
}

function toHookOutcome(
  all: readonly (Checked | undefined)[],
  { hook, run, startedAt, createdAt }: { hook: Hook; run: Run; startedAt: number; createdAt: string },
): HookOutcome | undefined {
  const checked: Checked[] = [];
  let verdict = true;
  let transformed = false;
  let isSoft = true;
  for (const one of all) {
    if (!one) continue;
    checked.push(one);
    transformed ||= one.result.transformed;
    if (one.result.verdict) continue;
    verdict = false;
    isSoft &&= one.bound.softDeny;
  }
  if (checked.length === 0 && hook.checks.length > 0) return undefined;
  const result: HookResult = {
    id: hook.id,
    verdict,
    transformed,
    deny: hook.deny && !hook.async && !verdict && run.subject.isSent !== true,
    async: hook.async,
    type: hook.type,
    checks: checked.map((one) => toShown(hook, one.result)),
    feedback: toFeedback(hook, verdict, checked),
    execution_time: roundMs(run.clock.monotonic() - startedAt),
    created_at: createdAt,
  };
  if (hook.versionId !== undefined) result.guardrail_version_id = hook.versionId;
  return { result, isSoft };
}

/**
 * Runs the hooks of one phase: first those that may change something, in order, then the others concurrently. At once
 * where no check waits for anything. Never rejects and never throws: errors are part of the results.
 */
export function runHooks(hooks: readonly Hook[], subject: Subject, clock: Clock): Soon<PhaseOutcome> {
  const state: State = { body: (subject.response ?? subject.request).body, isTransformed: false, headers: {} };
  const placeholders = subject.placeholders ?? new Placeholders();
  const run: Run = { subject, state, clock, work: new RunWork(clock), texts: new SeenTexts(subject), placeholders };
  const conclude = (outcomes: readonly (HookOutcome | undefined)[]) => toPhaseOutcome(outcomes, state);
  const running = startAll(run, hooks);
  return running instanceof Promise ? running.then(conclude) : conclude(running);
}

/** The outcomes in the order of the hooks; undefined for those that skipped. */
function startAll(run: Run, hooks: readonly Hook[]): Soon<(HookOutcome | undefined)[]> {
  const start = (hook: Hook): Soon<HookOutcome | undefined> => {
    // too late after the response
    return hook.type === "mutator" && hook.async ? undefined : runHook(run, hook);
  };
  const ordered = hooks.filter(({ isOrdered }) => isOrdered);
  if (ordered.length === 0) return allSoon(hooks.map(start));
  const first = eachSoon(ordered, start);
  const startOthers = (done: readonly (HookOutcome | undefined)[]) =>
    allSoon(hooks.map((hook) => (hook.isOrdered ? done[ordered.indexOf(hook)] : start(hook))));
  return first instanceof Promise ? first.then(startOthers) : startOthers(first);
}

function toPhaseOutcome(
  outcomes: readonly (HookOutcome | undefined)[],
  { body, isTransformed, headers }: State,
): PhaseOutcome {
  const results: HookResult[] = [];
  let isFailed = false;
  let isDenied = false;
  let isSoft = true;
  for (const outcome of outcomes) {
    if (!outcome) continue;
    const { result } = outcome;
    results.push(result);
    if (!result.verdict && !result.async) isFailed = true;
    if (!result.deny) continue;
    isDenied = true;
    isSoft &&= outcome.isSoft;
  }
  return { results, body, isTransformed, headers, isFailed, isDenied, isSoft: isDenied && isSoft };
}
