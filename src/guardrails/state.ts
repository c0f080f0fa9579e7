import type { PatternSum } from "../lib/pattern.ts";
import {
  findSavedProblems,
  findSavedWarnings,
  type HookProblem,
  type Hooks,
  type KnownChecks,
  readHooks,
  type SavedGuardrail,
} from "./read-hooks.ts";
import { listReferences, type ResolvedHooks, resolveHooks, type SavedGuardrails } from "./resolve.ts";
import type { Hook, Phase, Visibility } from "./types.ts";
import { allVisible, toVisibleHooks } from "./visible-hooks.ts";

/** Members of a config that hold hooks, as they were written. */
type Written = Readonly<Record<string, readonly unknown[]>>;

/** Hooks of a target: those its caller waits for, and those that run behind the answer. */
export interface TargetHooks extends Hooks {
  readonly later: Hooks;
  /** A streamed answer is held back until its hooks have seen all of it. */
  readonly holdsStreams: boolean;
}

/** Guardrails of a gateway. */
export interface Guardrails {
  /**
   * The hooks of a target's settings and of its workspace, found once; undefined where there is none.
   *
   * @param visibility What can be seen of the request and its answer. Absent: all of both.
   */
  of(written: Written, saved: SavedGuardrails, visibility?: Visibility): TargetHooks | undefined;
  /** Names of guardrails that lead to none the workspace can use: those the settings name, and those of its defaults. */
  findUnknown(written: Written, saved: SavedGuardrails): Pick<ResolvedHooks, "unknown" | "unknownDefaults">;
  /** Names of saved guardrails that settings name. */
  listReferences(written: Written): readonly string[];
  /**
   * What is wrong with hooks, before a config with them is used.
   *
   * @param sum Of the patterns of the config; it grows by those of these hooks.
   */
  findProblems(written: Written, sum?: PatternSum): readonly HookProblem[];
  /**
   * What is wrong with a guardrail before it is saved, or used.
   *
   * @param phase When it is to run. Absent: its checks may be of either.
   */
  findSavedProblems(saved: SavedGuardrail, phase?: Phase): readonly HookProblem[];
  /** What whoever saves a guardrail should know of it. */
  findSavedWarnings(saved: SavedGuardrail): readonly string[];
  /**
   * Runs work behind an answer, some at a time; what comes while too much waits is left out, and that is told. Failures of it
   * are told too.
   *
   * @param bytes What it keeps in memory, about.
   */
  later(work: () => Promise<unknown>, bytes: number): Promise<void>;
  /** Waits for what runs behind answers, at most this long. */
  close(timeoutMs: number): Promise<void>;
}

function toTargetHooks({ before, after }: Hooks): TargetHooks | undefined {
  if (before.length + after.length === 0) return undefined;
  const isLate = ({ async }: Hook) => async;
  const isNow = ({ async }: Hook) => !async;
  return {
    before: before.filter(isNow),
    after: after.filter(isNow),
    later: { before: before.filter(isLate), after: after.filter(isLate) },
    holdsStreams: after.some((hook) => isNow(hook) && hook.holdsStreams),
  };
}

/** What is remembered of settings in a workspace. */
interface Known {
  resolved: ResolvedHooks;
  /** By what can be seen. */
  hooks: Map<string, TargetHooks | undefined>;
}

/** Remembers what is made of settings and of a workspace's guardrails: neither of the two ever changes. */
function rememberBy(make: (written: Written, saved: SavedGuardrails) => Known) {
  const known = new WeakMap<SavedGuardrails, WeakMap<Written, Known>>();
  return (written: Written, saved: SavedGuardrails): Known => {
    const ofSaved = known.get(saved) ?? new WeakMap<Written, Known>();
    const found = ofSaved.get(written);
    if (found) return found;
    const made = make(written, saved);
    ofSaved.set(written, made);
    known.set(saved, ofSaved);
    return made;
  };
}

/** Most pieces of work behind answers that run at once, and what those that wait may keep in memory, in bytes. */
const maxRunning = 64;
const maxWaitingBytes = 64 * 1024 * 1024;

/** Tells an operator what went wrong. */
type Warn = (message: string, error?: unknown) => void;

/** Runs work nobody waits for, within bounds. */
class LaterWork {
  readonly #warn: Warn;
  readonly #waiting: { run: () => Promise<void>; bytes: number }[] = [];
  readonly #all = new Set<Promise<void>>();
  #running = 0;
  #waitingBytes = 0;
  #leftOut = 0;

  constructor(warn: Warn) {
    this.#warn = warn;
  }

  add(work: () => Promise<unknown>, bytes: number): Promise<void> {
    if (this.#running >= maxRunning && this.#waitingBytes + bytes > maxWaitingBytes) {
      if (this.#leftOut++ === 0) this.#warn("Cannot run hooks behind answers: too many wait, and some are left out");
      return Promise.resolve();
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    const run = () => this.#run(work).finally(resolve);
    this.#all.add(promise);
    void promise.then(() => this.#all.delete(promise));
    if (this.#running < maxRunning) void run();
    else {
      this.#waiting.push({ run, bytes });
      this.#waitingBytes += bytes;
    }
    return promise;
  }

  async #run(work: () => Promise<unknown>): Promise<void> {
    this.#running++;
    try {
      await work();
    } catch (error) {
      this.#warn("Cannot keep what hooks behind an answer said", error);
    }
    this.#running--;
    const next = this.#waiting.shift();
    if (next) {
      this.#waitingBytes -= next.bytes;
      void next.run();
    } else this.#leftOut = 0;
  }

  /** Waits until nothing runs or waits, at most this long. */
  async settle(timeoutMs: number): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const outOfTime = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, timeoutMs);
    });
    await Promise.race([Promise.all(this.#all), outOfTime]);
    clearTimeout(timer);
  }
}

/** Creates the guardrails of a gateway. */
export function createGuardrails(checks: KnownChecks, warn: Warn): Guardrails {
  const work = new LaterWork(warn);
  const find = rememberBy((written, saved) => {
    return { resolved: resolveHooks(readHooks(written, checks), saved, checks), hooks: new Map() };
  });
  const findVisible = ({ resolved, hooks }: Known, visibility: Visibility): TargetHooks | undefined => {
    const key = `${visibility.request} ${visibility.answer}`;
    if (!hooks.has(key)) hooks.set(key, toTargetHooks(toVisibleHooks(resolved, visibility)));
    return hooks.get(key);
  };
  return {
    of: (written, saved, visibility = allVisible) => findVisible(find(written, saved), visibility),
    findUnknown: (written, saved) => find(written, saved).resolved,
    listReferences: (written) => listReferences(readHooks(written, checks)),
    findProblems: (written, sum) => readHooks(written, checks, sum).problems,
    findSavedProblems: (saved, phase) => findSavedProblems(saved, checks, phase),
    findSavedWarnings: (saved) => findSavedWarnings(saved, checks),
    later: (one, bytes) => work.add(one, bytes),
    close: (timeoutMs) => work.settle(timeoutMs),
  };
}
