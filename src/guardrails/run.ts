import type { Clock } from "../lib/clock.ts";
import type { CheckResult, HookResult } from "../schemas/hooks.ts";
import { type JsonPieces, readJsonPieces } from "./json-pieces.ts";
import type { Leaves } from "./leaves.ts";
import { toShown } from "./shown-result.ts";
import { holdsTokens, readRest, readText, toWholeText, writeText } from "./texts.ts";
import {
  type Body,
  type BoundCheck,
  CheckError,
  type CheckInput,
  type CheckOutcome,
  type Hook,
  type RequestType,
  type Scope,
  type Work,
} from "./types.ts";
import { createTimeWriter, createWork, hold, type RunWork, roundMs } from "./work.ts";

/** What the hooks of one phase check. */
export interface Subject
  extends Omit<CheckInput, "texts" | "text" | "rest" | "readPieces" | "mustSeeAll" | "isOrganisations" | "work"> {
  /** Why the body cannot be changed; absent where it can. */
  readonly fixedBecause?: string;
  /** The response was already sent: it cannot be denied. */
  readonly isSent?: boolean;
  /** Only its beginning is available. */
  readonly isCut?: boolean;
  /** Restores digits of numbers in its text that JavaScript cannot represent. */
  readonly restoreNumbers?: (text: string) => string;
}

/** Result of the hooks of one phase. */
export interface PhaseOutcome {
  /** In the order of the hooks; hooks that skipped are left out. */
  readonly results: readonly HookResult[];
  /** The request, or after the call the response, with the changes of the hooks. */
  readonly body: Body;
  readonly isTransformed: boolean;
  /** Headers for the provider's request, by name in lower case; null removes a header. */
  readonly headers: Readonly<Record<string, string | null>>;
  /** A hook failed. */
  readonly isFailed: boolean;
  /** A denying hook failed. */
  readonly isDenied: boolean;
  /** The denial is sent as a response with status 200. */
  readonly isSoft: boolean;
}

/** Longest text a check sees, in characters. */
const maxTextLength = 1024 * 1024;
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
  /** Strings of the body when they were last read, by scope. */
  known: Map<Scope, KnownTexts>;
  /** The time, written as results show it. */
  toTime(): string;
  /** The rest of the body when it was last read. */
  shared: { rest?: { body: Body; leaves: Leaves; length: number } };
}

/** Computed once for all checks that look at the same text. */
interface KnownTexts {
  readonly body: Body;
  readonly texts: readonly string[];
  /** The text as one, where it is more than its strings. */
  readonly joined: string | undefined;
  readonly length: number;
  readonly isInTokens: boolean;
  visible?: VisibleText;
  /** The text with the rest of the body, for checks that look for forbidden content. */
  whole?: string;
  pieces?: Promise<JsonPieces>;
}

function lengthOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + text.length, 0);
}

/** The strings of the current body, read once for all checks of a scope. */
function readOnce({ subject, state: { body }, known, work }: Run, scope: Scope): KnownTexts {
  const found = known.get(scope);
  if (found?.body === body) return found;
  const read = work.spend((): KnownTexts => {
    const texts = readText(subject, body, scope);
    const joined = toWholeText(subject, body);
    const length = Math.max(lengthOf(texts), joined?.length ?? 0);
    return { body, texts, joined, length, isInTokens: holdsTokens(subject, body) };
  });
  known.set(scope, read);
  return read;
}

/** The part of the text that a check sees. */
interface VisibleText {
  texts: readonly string[];
  text: string;
  /** What each string holds beyond that part; empty where all of it is seen. */
  rests: readonly string[];
}

/** Reads the current text; long text only at its beginning, which fails a denying hook. */
function look(run: Run, { deny }: Hook, { scope }: BoundCheck): VisibleText {
  const known = readOnce(run, scope);
  if (deny && known.isInTokens) throw new CheckError("Cannot check: the text is given as tokens");
  if (deny && known.length > maxTextLength) {
    throw new CheckError(`Cannot check: the text is longer than ${maxTextLength} characters`);
  }
  known.visible ??= run.work.spend(() => toVisibleText(known));
  return known.visible;
}

/** Strings as one, joined by line feeds. */
function joinTexts(texts: readonly string[]): string {
  const [first = ""] = texts;
  return texts.length > 1 ? texts.join("\n") : first;
}

function toVisibleText({ texts: all, joined, length }: KnownTexts): VisibleText {
  if (length <= maxTextLength) return { texts: all, text: joined ?? joinTexts(all), rests: [] };
  let left = maxTextLength;
  const texts = all.map((text) => {
    const beginning = text.slice(0, left);
    left -= beginning.length;
    return beginning;
  });
  const rests = all.map((text, index) => text.slice(texts[index]?.length));
  return { texts, text: (joined ?? texts.join("\n")).slice(0, maxTextLength), rests };
}

/** The rest of the request, read once for all checks. */
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

/** The rest as a check sees it; a denying hook fails where it is incomplete or unreadable. */
function lookAtRest(run: Run, { deny, allowsUninspected }: Hook, { scope }: BoundCheck): readonly string[] {
  const hasRest = run.subject.response === undefined || run.subject.requestType === "mcpToolCall";
  if (scope !== "all" || !hasRest) return [];
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

/** The rest of the request and the text that a check sees, as one, joined once for all checks. */
function readWhole(run: Run, hook: Hook, { bound, see }: { bound: BoundCheck; see: () => VisibleText }): string {
  const rest = lookAtRest(run, hook, bound);
  const { texts, text } = see();
  const known = readOnce(run, bound.scope);
  // JSON writes some characters of its strings in another way
  const plain = known.joined === undefined ? [] : texts;
  if (rest.length + plain.length === 0) return text;
  known.whole ??= [...rest, ...plain, text].join("\n");
  return known.whole;
}

/** The JSON in the text, parsed once for all checks that see it. */
async function readPieces(run: Run, hook: Hook, bound: BoundCheck): Promise<JsonPieces> {
  const { text } = look(run, hook, bound);
  const known = readOnce(run, bound.scope);
  known.pieces ??= run.work.run(readJsonPieces(text));
  return known.pieces;
}

/** What a check's input is made of. */
interface InputParts {
  run: Run;
  hook: Hook;
  bound: BoundCheck;
  see(): VisibleText;
}

/** Input of a check. Its text is read on demand, since many checks never need it. */
class RunInput implements CheckInput {
  readonly #parts: InputParts;
  readonly phase: Subject["phase"];
  readonly requestType: Subject["requestType"];
  readonly alsoTypes: readonly RequestType[];
  readonly leadsTo: readonly RequestType[];
  readonly tenant: string;
  readonly provider: string;
  readonly metadata: Subject["metadata"];
  readonly mustSeeAll: boolean;
  readonly isOrganisations: boolean;
  readonly work: Work;

  constructor(parts: InputParts) {
    const { subject, work } = parts.run;
    this.#parts = parts;
    this.phase = subject.phase;
    this.requestType = subject.requestType;
    this.alsoTypes = subject.alsoTypes ?? noTypes;
    this.leadsTo = subject.leadsTo ?? noTypes;
    this.tenant = subject.tenant;
    this.provider = subject.provider;
    this.metadata = subject.metadata;
    this.mustSeeAll = parts.hook.deny;
    this.isOrganisations = parts.hook.isOrganisations === true;
    this.work = work;
  }

  get request(): CheckInput["request"] {
    const { subject, state } = this.#parts.run;
    const { body, isTransformed } = state;
    return subject.response ? subject.request : { ...subject.request, body, isTransformed };
  }

  get response(): CheckInput["response"] {
    const { subject, state } = this.#parts.run;
    const { body, isTransformed } = state;
    return subject.response && { ...subject.response, body, isTransformed };
  }

  get texts(): readonly string[] {
    return this.#parts.see().texts;
  }

  get text(): string {
    const { run, hook, bound, see } = this.#parts;
    return bound.check.readsAll?.(bound.parameters) ? readWhole(run, hook, { bound, see }) : see().text;
  }

  get rest(): readonly string[] {
    const { run, hook, bound } = this.#parts;
    return lookAtRest(run, hook, bound);
  }

  readonly readPieces = (): Promise<JsonPieces> => {
    const { run, hook, bound, see } = this.#parts;
    see();
    return readPieces(run, hook, bound);
  };
}

const noTypes: readonly RequestType[] = [];

/** Why a hook cannot change anything; undefined where it can. */
function fixedBecause({ subject }: Run, { async }: Hook): string | undefined {
  return subject.fixedBecause ?? (async ? "Cannot change anything: the hook runs after the response" : undefined);
}

/** Applies a check's changes; a change that is not allowed becomes its error. */
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
  // a response that should have been changed must not be sent
  if (problem !== undefined && hook.deny && subject.response && !subject.isSent) throw new CheckError(problem);
  if (problem !== undefined) return { isChange: false, problem };
  const changed = body ?? state.body;
  state.body = texts === undefined ? changed : run.work.spend(() => writeText(subject, changed, { scope, texts }));
  state.isTransformed = true;
  return { isChange };
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
  { isCut }: Subject,
): Record<string, unknown> | null {
  const cut = isCut ? { isCut } : {};
  if (data === undefined) return isCut ? cut : null;
  if (isShort(data) || JSON.stringify(data).length <= maxDataLength) return { ...data, ...cut };
  return { explanation: String(data.explanation ?? "").slice(0, 1_000), isCut: true };
}

/** Whether a check without a decision counts as failed. */
export function failsOnError({ onError, deny }: Hook, { failOnError }: BoundCheck): boolean {
  return failOnError ?? (onError === undefined ? deny : onError === "fail");
}

/** Runs one check; undefined where it skipped. */
async function runCheck(run: Run, hook: Hook, bound: BoundCheck): Promise<Checked | undefined> {
  const { clock } = run;
  await run.work.waitForTurn();
  const startedAt = clock.monotonic();
  const created_at = run.toTime();
  const begun: Run = { ...run, state: { ...run.state } }; // later changes must not affect this check's input
  let visible: VisibleText | undefined;
  const see = () => {
    visible ??= look(begun, hook, bound);
    return visible;
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
  const input = new RunInput({ run: begun, hook, bound, see });
  try {
    const outcome = await hold(clock, () => bound.check.run(input, bound.parameters));
    if (outcome.isSkipped) return undefined;
    const { rests } = visible ?? { rests: [] };
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
async function runHook(shared: Run, hook: Hook): Promise<HookOutcome | undefined> {
  const { clock } = shared;
  const run = hook.isSaved ? { ...shared, work: createWork(clock) } : shared;
  const startedAt = clock.monotonic();
  const created_at = run.toTime();
  const checked = (await runChecks(run, hook)).filter((one) => one !== undefined);
  if (checked.length === 0 && hook.checks.length > 0) return undefined;
  const failed = checked.filter(({ result }) => !result.verdict);
  const verdict = failed.length === 0;
  const result: HookResult = {
    id: hook.id,
    verdict,
    transformed: checked.some((one) => one.result.transformed),
    deny: hook.deny && !hook.async && !verdict && run.subject.isSent !== true,
    async: hook.async,
    type: hook.type,
    checks: checked.map((one) => toShown(hook, one.result)),
    feedback: toFeedback(hook, verdict, checked),
    execution_time: roundMs(clock.monotonic() - startedAt),
    created_at,
    ...(hook.versionId !== undefined && { guardrail_version_id: hook.versionId }),
  };
  return { result, isSoft: failed.every(({ bound }) => bound.softDeny) };
}

/**
 * Runs the hooks of one phase: first those that may change something, in order, then the others concurrently.
 * Never rejects: errors are part of the results.
 */
export async function runHooks(hooks: readonly Hook[], subject: Subject, clock: Clock): Promise<PhaseOutcome> {
  const state: State = { body: (subject.response ?? subject.request).body, isTransformed: false, headers: {} };
  const toTime = createTimeWriter(clock);
  const run: Run = { subject, state, clock, work: createWork(clock), known: new Map(), shared: {}, toTime };
  const outcomes = new Map<Hook, HookOutcome | undefined>();
  const meant = hooks.filter(({ type, async }) => type !== "mutator" || !async); // too late after the response
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
