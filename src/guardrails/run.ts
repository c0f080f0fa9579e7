import type { Clock } from "../lib/clock.ts";
import type { HookResult } from "../schemas/hooks.ts";
import type { JsonPieces } from "./json-pieces.ts";
import { type Checked, type Finding, failsOnError, startNow, toChecked, toHookResult } from "./results.ts";
import { type Look, type ReadStrings, SeenStrings } from "./strings/seen-strings.ts";
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
import { RunWork } from "./work.ts";

/** Longest JSON of a check's data. */
const maxDataLength = 8 * 1024;

/** Body of a phase while its hooks run: later hooks see the changes of earlier ones. */
interface State {
  body: Body;
  isTransformed: boolean;
  headers: Record<string, string | null>;
}

/** Context of one run of hooks. */
interface Run {
  subject: Subject;
  state: State;
  clock: Clock;
  work: RunWork;
  strings: SeenStrings;
  placeholders: Placeholders;
}

const noTypes: readonly RequestType[] = [];

/** Input of a check. Its text is read on demand, since many checks never need it. Later changes do not affect it. */
class RunInput implements CheckInput, Look {
  readonly #run: Run;
  readonly #isTransformed: boolean;
  #visible: ReadStrings | undefined;
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

  get visible(): ReadStrings {
    this.#visible ??= this.#run.strings.look(this);
    return this.#visible;
  }

  /** What the strings hold beyond the part that was seen. */
  get rests(): readonly string[] {
    return this.#visible?.rests ?? [];
  }

  get strings(): readonly string[] {
    return this.visible.strings;
  }

  get text(): string {
    const { check, parameters } = this.bound;
    const { visible } = this;
    return check.readsAll?.(parameters) ? this.#run.strings.whole(this, visible) : visible.text;
  }

  get rest(): readonly string[] {
    return this.#run.strings.rest(this);
  }

  get readPieces(): () => Promise<JsonPieces> {
    return () => {
      const { visible } = this;
      return this.#run.strings.pieces(this, visible);
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
  const strings = outcome.strings?.map((text, index) => (text === null ? null : text + (rests[index] ?? "")));
  if (outcome.headers && !hook.async) Object.assign(state.headers, outcome.headers);
  const isChange = body !== undefined || strings?.some((text) => text !== null) === true;
  if (!isChange) return { isChange, problem: outcome.error };
  const problem = fixedBecause(run, hook);
  // a response that should have been changed must not be sent
  if (problem !== undefined && hook.deny && subject.response && !subject.isSent) throw new CheckError(problem);
  if (problem !== undefined) return { isChange: false, problem };
  const look = { body: state.body, hook, bound: input.bound, work: run.work };
  state.body = run.work.spend(() => run.strings.write(look, body, strings));
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

/** What a check that decided found, once its changes are made. */
function toFinding(outcome: CheckOutcome, run: Run, input: RunInput): Finding {
  const { isChange, problem } = apply(outcome, run, input);
  const isCut = input.rests.length > 0 || run.subject.isCut;
  return {
    verdict: outcome.pass,
    data: toData(outcome.data, { isCut }),
    error: problem === undefined ? null : { name: "CheckError", message: problem },
    transformed: isChange,
    isBroken: false,
  };
}

/** What a check counts as that could not decide. */
function toFailure(thrown: unknown, { subject }: Run, { hook, bound }: RunInput): Finding {
  const error =
    thrown instanceof CheckError ? thrown : new CheckError("Error executing check", { name: "Check error" });
  const { name, message } = error;
  const verdict = failsOnError(hook, bound) ? error.verdict : true;
  const data = toData(error.data, subject);
  return { verdict, data, error: { name, message }, transformed: false, isBroken: true };
}

/** Runs one check; undefined where it skipped. What waits for nothing is done before this returns. */
async function runCheck(run: Run, hook: Hook, bound: BoundCheck): Promise<Checked | undefined> {
  const { work, clock } = run;
  const turn = work.waitForTurn();
  if (turn) await turn;
  const input = new RunInput(run, hook, bound);
  const start = startNow(clock);
  let finding: Finding;
  try {
    const begun = work.time(() => {
      const running = bound.check.run(input, bound.parameters);
      return Symbol.iterator in running ? work.begin(running) : running;
    });
    const outcome = begun instanceof Promise ? await begun : begun;
    if (outcome.isSkipped) return undefined;
    finding = toFinding(outcome, run, input);
  } catch (thrown) {
    finding = toFailure(thrown, run, input);
  }
  return toChecked(bound, finding, start, clock);
}

/** Result of a hook, and whether its denial is soft. */
interface HookOutcome {
  result: HookResult;
  isSoft: boolean;
}

/** Runs one hook; undefined where all of its checks skipped. */
async function runHook(shared: Run, hook: Hook): Promise<HookOutcome | undefined> {
  const { clock, subject } = shared;
  const run = hook.isSaved ? { ...shared, work: new RunWork(clock) } : shared;
  const start = startNow(clock);
  const all: (Checked | undefined)[] = [];
  if (hook.isOrdered) for (const bound of hook.checks) all.push(await runCheck(run, hook, bound));
  else all.push(...(await Promise.all(hook.checks.map((bound) => runCheck(run, hook, bound)))));
  const checked = all.filter((one) => one !== undefined);
  if (checked.length === 0 && hook.checks.length > 0) return undefined;
  const result = toHookResult(hook, checked, start, clock);
  if (subject.isSent) result.deny = false;
  return { result, isSoft: checked.every(({ bound, result: { verdict } }) => verdict || bound.softDeny) };
}

/**
 * Runs the hooks of one phase: first those that may change something, in order, then the others concurrently. Never
 * rejects: errors are part of the results.
 */
export async function runHooks(hooks: readonly Hook[], subject: Subject, clock: Clock): Promise<PhaseOutcome> {
  const state: State = { body: (subject.response ?? subject.request).body, isTransformed: false, headers: {} };
  const placeholders = subject.placeholders ?? new Placeholders();
  const run: Run = { subject, state, clock, work: new RunWork(clock), strings: new SeenStrings(subject), placeholders };
  // a change after the response is too late
  const running = hooks.filter(({ type, async }) => type !== "mutator" || !async);
  const outcomes: (HookOutcome | undefined)[] = [];
  const runAt = async (index: number, hook: Hook) => {
    outcomes[index] = await runHook(run, hook);
  };
  for (const [index, hook] of running.entries()) if (hook.isOrdered) await runAt(index, hook);
  await Promise.all(running.map((hook, index) => (hook.isOrdered ? undefined : runAt(index, hook))));
  return toPhaseOutcome(outcomes, state);
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
