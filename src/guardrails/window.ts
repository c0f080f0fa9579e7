import type { Clock } from "../lib/clock.ts";
import { type Steps, stepsPerPiece } from "../lib/steps.ts";
import type { HookResult } from "../schemas/hooks.ts";
import { type Finding, failsOnError, type Start, startNow, toChecked, toHookResult } from "./results.ts";
import { type BoundCheck, CheckError, type CheckWindow, type Hook, type WindowFinding } from "./types.ts";
import { Placeholders } from "./values/placeholders.ts";
import { RunWork } from "./work.ts";

/** New characters of a text after which its checks look at it again: searching for each event would cost more. */
const stride = 16;
/** Characters that one time limit covers. */
const charactersPerWork = 64 * 1024;
/** Most labels of findings that a result lists. */
const maxLabels = 20;
/** Most parts of a response that are checked separately; further ones count as one. */
const mostStrings = 1_024;

/** A check that works on a window. */
interface Stage {
  readonly hook: Hook;
  readonly bound: BoundCheck;
  readonly window: CheckWindow;
  readonly index: number;
}

/** The hooks that decide about a streamed response while it flows. */
export interface WindowPlan {
  readonly hooks: readonly Hook[];
  /** Those that may change it first, in order: the others see what they leave. */
  readonly stages: readonly Stage[];
  /** Most characters of a text that are held back. */
  readonly characters: number;
}

/** The plan of hooks whose checks all work on a window; undefined without hooks. */
export function planWindow(hooks: readonly Hook[]): WindowPlan | undefined {
  if (hooks.length === 0) return undefined;
  const listed = [...hooks.filter(({ isOrdered }) => isOrdered), ...hooks.filter(({ isOrdered }) => !isOrdered)];
  const stages = listed
    .flatMap((hook) => hook.checks.map((bound) => ({ hook, bound, window: bound.check.window?.(bound.parameters) })))
    .flatMap(({ hook, bound, window }) => (window ? [{ hook, bound, window }] : []))
    .map((stage, index) => ({ ...stage, index }));
  const ordered = stages.filter(({ hook }) => hook.isOrdered).reduce((sum, { window }) => sum + window.characters, 0);
  const others = stages.filter(({ hook }) => !hook.isOrdered).map(({ window }) => window.characters);
  return { hooks, stages, characters: ordered + Math.max(0, ...others) + stride };
}

/** Characters that are replaced, counted from the start of their text. */
export interface Span {
  readonly start: number;
  readonly end: number;
  readonly stage: number;
  readonly replacement: string;
  /** Its replacement was written. */
  isWritten: boolean;
}

/** What one check found so far. */
interface StageState {
  count: number;
  isFailed: boolean;
  isChange: boolean;
  labels: Set<string>;
  error: CheckError | undefined;
}

const newState = (): StageState => ({
  count: 0,
  isFailed: false,
  isChange: false,
  labels: new Set(),
  error: undefined,
});

/** The text of one part of a response. What checks no longer need is dropped. */
export class StreamText {
  /** Its last characters; `base` is the index of the first. */
  kept = "";
  base = 0;
  /** Characters that came. */
  end = 0;
  /** Characters whose findings are all known. */
  settled = 0;
  /** Characters that were looked at. */
  seen = 0;
  /** No more is expected. */
  isEnded = false;
  spans: Span[] = [];
  /** Characters of all parts when this one last grew. */
  grewAt = 0;
  /** Where each check continues. */
  readonly cursors: number[];

  constructor(stages: number) {
    this.cursors = new Array<number>(stages).fill(0);
  }

  append(text: string): void {
    this.kept += text;
    this.end += text.length;
    this.isEnded = false;
  }

  /** Forgets what neither checks nor replacements need: before it, two characters show where words begin. */
  trim(released: number): void {
    const start = Math.min(this.settled, released) - 2;
    if (start - this.base < 64) return;
    this.kept = this.kept.slice(start - this.base);
    this.base = start;
    if (this.spans.length > 0) this.spans = this.spans.filter(({ end }) => end > start);
  }
}

/** The checks of one streamed response. */
export class WindowChecks {
  readonly plan: WindowPlan;
  readonly #clock: Clock;
  readonly #placeholders: Placeholders;
  readonly #states: StageState[];
  readonly #strings = new Map<string, StreamText>();
  readonly #start: Start;
  #work: RunWork;
  /** Characters of the parts that grow, and of all. */
  #grown = 0;
  #came = 0;
  #workUntil = charactersPerWork;
  /** Running check, whose error it is when the work ends early. */
  #running = 0;
  #isDenied = false;

  /** @param placeholders What takes the place of values; by default the numbers begin here. */
  constructor(plan: WindowPlan, clock: Clock, placeholders = new Placeholders()) {
    this.plan = plan;
    this.#placeholders = placeholders;
    this.#clock = clock;
    this.#work = new RunWork(clock);
    this.#start = startNow(clock);
    this.#states = plan.stages.map(newState);
  }

  /** A hook denies the response. */
  get isDenied(): boolean {
    return this.#isDenied;
  }

  /** Something was found. */
  get isTouched(): boolean {
    return this.#states.some(({ count, error }) => count > 0 || error !== undefined);
  }

  /** The text of that name, made on first use; those beyond the most are one text. */
  textOf(name: string): StreamText {
    const known = this.#strings.get(name);
    if (known) return known;
    if (this.#strings.size >= mostStrings && name !== "") return this.textOf("");
    const text = new StreamText(this.plan.stages.length);
    this.#strings.set(name, text);
    return text;
  }

  /** The text of each part whose name begins so. */
  *startingWith(prefix: string): Iterable<StreamText> {
    for (const [name, text] of this.#strings) if (name.startsWith(prefix)) yield text;
  }

  /** Adds characters to a text. */
  grow(text: StreamText, added: string): void {
    text.append(added);
    this.#grown += added.length;
    this.#came += added.length;
    text.grewAt = this.#grown;
  }

  /** A text that comes whole. */
  createWhole(whole: string): StreamText {
    const text = new StreamText(this.plan.stages.length);
    text.append(whole);
    this.#came += whole.length;
    return text;
  }

  /** Whether the other parts went on for so long that this one is not waited for any longer. */
  isQuiet({ grewAt }: StreamText): boolean {
    return this.#grown - grewAt > this.plan.characters * this.#strings.size;
  }

  /** Whether looking at a text can settle enough of it. */
  isDue({ seen, end }: StreamText): boolean {
    return end - seen >= stride;
  }

  /**
   * Looks at what came of a text.
   *
   * @param isEnd Whether no more is waited for.
   * @param isRepeat The response holds the same text elsewhere: its findings do not count again.
   */
  look(text: StreamText, isEnd: boolean, isRepeat = false): Promise<void> | undefined {
    if (text.seen === text.end && (!isEnd || text.settled === text.end)) return undefined;
    if (this.#lacksAll(text, isEnd)) return undefined;
    const steps = this.#look(text, isEnd, isRepeat);
    if (this.#came > this.#workUntil) {
      this.#work = new RunWork(this.#clock);
      this.#workUntil = this.#came + charactersPerWork;
    }
    try {
      // nearly always done at once
      for (let spent = 0; spent < stepsPerPiece; ) {
        const { done, value } = steps.next();
        if (done) return undefined;
        spent += value;
      }
    } catch (error) {
      return this.#fail(text, error);
    }
    return this.#work.run(steps).catch((error: unknown) => this.#fail(text, error));
  }

  /** Settles what no finding can begin in, whatever follows. Text that may begin one stays as it is. */
  settleQuiet(text: StreamText): void {
    if (this.look(text, false) || this.#isDenied) return;
    let settled = text.end;
    for (const { window, index } of this.plan.stages) {
      if (this.#states[index]?.error !== undefined) continue;
      const from = Math.min(text.cursors[index] ?? 0, text.end);
      const opens = window.opensAt?.(text.kept, from - text.base) ?? from - text.base;
      settled = Math.min(settled, opens + text.base);
    }
    text.settled = Math.max(text.settled, settled);
  }

  /** Whether no check can find anything in what came of a text, as far as that can be seen at once. */
  #lacksAll(text: StreamText, isEnd: boolean): boolean {
    const { kept, base, end, cursors } = text;
    for (const { window, index } of this.plan.stages) {
      const from = cursors[index] ?? 0;
      if (from < end && window.lacks?.(kept, from - base) !== true) return false;
    }
    let settled = end;
    for (const { window, index } of this.plan.stages) {
      const from = Math.max(cursors[index] ?? 0, end - window.characters);
      cursors[index] = from;
      if (from < settled) settled = from;
    }
    text.seen = end;
    text.settled = isEnd ? end : settled;
    return true;
  }

  /** A check that cannot decide: it no longer runs, and its hook says what that means. */
  #fail(text: StreamText, error: unknown): undefined {
    const stage = this.plan.stages[this.#running];
    const state = this.#states[this.#running];
    if (!(error instanceof CheckError) || !stage || !state) throw error;
    state.error = error;
    if (failsOnError(stage.hook, stage.bound)) {
      state.isFailed = true;
      this.#isDenied ||= stage.hook.deny;
    }
    text.seen = text.end;
    text.settled = text.end;
    return undefined;
  }

  *#look(text: StreamText, isEnd: boolean, isRepeat: boolean): Steps<void> {
    let settled = text.end;
    for (const stage of this.plan.stages) {
      this.#running = stage.index;
      if (this.#states[stage.index]?.error !== undefined) continue;
      const reached = yield* this.#lookWith(stage, text, { isEnd, isRepeat, settled });
      if (reached < settled) settled = reached;
    }
    text.seen = text.end;
    text.settled = isEnd ? text.end : settled;
  }

  /** Finds what one check finds; returns up to where its findings are known. */
  *#lookWith(
    { window, index, hook }: Stage,
    text: StreamText,
    { isEnd, isRepeat, settled }: { isEnd: boolean; isRepeat: boolean; settled: number },
  ): Steps<number> {
    const { kept, base, end, cursors } = text;
    let from = cursors[index] ?? 0;
    while (from < end) {
      const found = yield* window.find(kept, from - base);
      if (!found) {
        from = Math.max(from, end - window.characters);
        break;
      }
      const [start, stop] = [found.start + base, found.end + base];
      const isKnown = isEnd || (start + window.characters < end && stop <= settled);
      if (!isKnown) {
        // a longer finding may still begin before it
        from = Math.max(from, Math.min(start, end - window.characters));
        break;
      }
      const earlier = text.spans.find((span) => span.stage < index && span.start < stop && span.end > start);
      if (!earlier) this.#note(index, hook, { text, found, start, stop, isRepeat });
      from = earlier ? Math.max(earlier.end, start + 1) : Math.max(stop, start + 1);
      if (window.onlyFirst && !earlier) from = Number.POSITIVE_INFINITY;
    }
    cursors[index] = from;
    return Math.min(from, end);
  }

  #note(
    index: number,
    hook: Hook,
    {
      text,
      found,
      start,
      stop,
      isRepeat,
    }: { text: StreamText; found: WindowFinding; start: number; stop: number; isRepeat: boolean },
  ): void {
    const state = this.#states[index];
    if (!state) return;
    const { placeholder, fails, label } = found;
    const replacement =
      placeholder === undefined
        ? found.replacement
        : this.#placeholders.of(placeholder, text.kept.slice(found.start, found.end));
    const changes = replacement !== undefined && stop > start;
    if (replacement !== undefined && !changes) return;
    if (!isRepeat || state.count === 0) state.count++;
    if (label !== undefined && state.labels.size < maxLabels) state.labels.add(label);
    if (changes) {
      text.spans.push({ start, end: stop, stage: index, replacement, isWritten: false });
      state.isChange = true;
    }
    if (!fails) return;
    state.isFailed = true;
    this.#isDenied ||= hook.deny;
  }

  /** The results of the hooks so far, in the order of the config. */
  results(): HookResult[] {
    return this.plan.hooks.map((hook) => this.#resultOf(hook));
  }

  #resultOf(hook: Hook): HookResult {
    const [start, clock] = [this.#start, this.#clock];
    const stages = this.plan.stages.filter((stage) => stage.hook === hook);
    const checked = stages.map(({ bound, index }) => toChecked(bound, toFinding(this.#states[index]), start, clock));
    return toHookResult(hook, checked, start, clock);
  }
}

/** What a check found in the whole stream, or so far. */
function toFinding({ count, isFailed, isChange, labels, error }: StageState = newState()): Finding {
  const found = count === 0 ? "Nothing was found" : `${count} findings`;
  const explanation = `${found} in the streamed response`;
  return {
    verdict: !isFailed,
    data: labels.size > 0 ? { explanation, count, found: [...labels] } : { explanation, count },
    error: error === undefined ? null : { name: error.name, message: error.message },
    transformed: isChange,
    isBroken: error !== undefined,
  };
}
