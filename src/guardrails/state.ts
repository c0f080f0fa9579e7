import type { PatternSum } from "../../packages/patterns/src/pattern.ts";
import type { CleanStrings } from "./clean-strings.ts";
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
import type { AnyCheck, Hook, Phase, Visibility } from "./types.ts";
import { allVisible, readsFields, toVisibleHooks } from "./visible-hooks.ts";
import { planWindow, type WindowPlan } from "./window.ts";

/** Hook fields of a config, as written. */
type Written = Readonly<Record<string, readonly unknown[]>>;

/** Hooks of a target: those the caller waits for, and those that run after the response. */
export interface TargetHooks extends Hooks {
  readonly later: Hooks;
  /** Whether a check before the call reads fields of the body, without its text. */
  readonly readsFields: boolean;
  /** Checks that a streamed response is held back for until they have seen all of it; empty without any. */
  readonly held: readonly string[];
  /** Hooks that decide about a streamed response while it flows, and those that report after its end. */
  readonly window: WindowPlan | undefined;
  readonly informed: readonly Hook[];
}

/** What hooks see of a request, and what its caller may choose. */
interface HookView {
  readonly visibility?: Visibility;
  readonly isLocked?: boolean;
}

/** Guardrails of a gateway. */
export interface Guardrails {
  /** Strings of requests in which checks found nothing. */
  readonly cleanStrings: CleanStrings | undefined;
  /** Every check, each once. */
  readonly checks: readonly AnyCheck[];
  /**
   * The hooks of a target's settings and its workspace, cached; undefined where there are no hooks.
   *
   * @param view What is visible of the request and its response: by default everything; and whether the caller's key
   *   can use no other settings, so that their hooks decide about uninspected content as defaults do.
   */
  of(written: Written, saved: SavedGuardrails, view?: HookView): TargetHooks | undefined;
  /** Names of guardrails that the workspace cannot use: those in the settings, and its own defaults. */
  findUnknown(written: Written, saved: SavedGuardrails): Pick<ResolvedHooks, "unknown" | "unknownDefaults">;
  /** Names of the saved guardrails in the settings. */
  listReferences(written: Written): readonly string[];
  /**
   * Problems with the hooks of a config, before it is used.
   *
   * @param sum Size of the config's patterns so far; these hooks add theirs.
   */
  findProblems(written: Written, sum?: PatternSum): readonly HookProblem[];
  /**
   * Problems with a guardrail, before it is saved or used.
   *
   * @param phase When it will run. Absent: its checks may belong to either phase.
   */
  findSavedProblems(saved: SavedGuardrail, phase?: Phase): readonly HookProblem[];
  /** Warnings for whoever saves a guardrail. */
  findSavedWarnings(saved: SavedGuardrail): readonly string[];
  /**
   * Runs work after a response, with limited concurrency. Work beyond the queue's limit is dropped and logged; failures
   * are logged, too.
   *
   * @param bytes Memory it occupies, roughly.
   */
  later(work: () => Promise<unknown>, bytes: number): Promise<void>;
  /** Waits for work that runs after responses, for a limited time. */
  close(timeoutMs: number): Promise<void>;
}

/** Ids of the checks for which a hook holds streams back: those that need the whole, or all if it says so itself. */
function heldFor({ streamMode, checks }: Hook): string[] {
  if (streamMode !== "buffer") return [];
  const whole = checks.filter(({ check, parameters }) => check.window?.(parameters) === undefined);
  return (whole.length > 0 ? whole : checks).map(({ check }) => check.id);
}

function toTargetHooks({ before, after }: Hooks): TargetHooks | undefined {
  if (before.length + after.length === 0) return undefined;
  const isLate = ({ async }: Hook) => async;
  const isNow = ({ async }: Hook) => !async;
  return {
    before: before.filter(isNow),
    after: after.filter(isNow),
    later: { before: before.filter(isLate), after: after.filter(isLate) },
    readsFields: before.some(({ checks }) => checks.some(readsFields)),
    held: [...new Set(after.filter(isNow).flatMap(heldFor))],
    window: planWindow(after.filter((hook) => isNow(hook) && hook.streamMode === "window")),
    informed: after.filter((hook) => isNow(hook) && hook.streamMode === "inform"),
  };
}

/** Hooks that decide about uninspected content as defaults do. */
function toDefaults({ before, after }: Hooks): Hooks {
  const toDefault = (hook: Hook): Hook => ({ ...hook, isDefault: true });
  return { before: before.map(toDefault), after: after.map(toDefault) };
}

/** Cached results for settings in a workspace. */
interface Known {
  resolved: ResolvedHooks;
  /** By visibility. */
  hooks: Map<string, TargetHooks | undefined>;
}

/** Caches results per settings and per set of saved guardrails, neither of which ever changes. */
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

/** Most pieces of work that run at once, and the memory of waiting ones, in bytes. */
const maxRunning = 64;
const maxWaitingBytes = 64 * 1024 * 1024;

/** Logs a warning for the operator. */
type Warn = (message: string, error?: unknown) => void;

/** Runs background work within limits. */
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
      if (this.#leftOut++ === 0)
        this.#warn("Cannot run all hooks after responses: too many are waiting, and some were dropped");
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
      this.#warn("Cannot store the results of hooks after a response", error);
    }
    this.#running--;
    const next = this.#waiting.shift();
    if (next) {
      this.#waitingBytes -= next.bytes;
      void next.run();
    } else this.#leftOut = 0;
  }

  /** Waits until no work is left, for a limited time. */
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
export function createGuardrails(checks: KnownChecks, warn: Warn, cleanStrings?: CleanStrings): Guardrails {
  const work = new LaterWork(warn);
  const find = rememberBy((written, saved) => {
    return { resolved: resolveHooks(readHooks(written, checks), saved, checks), hooks: new Map() };
  });
  return {
    cleanStrings,
    checks: [...new Set(checks.values())],
    of(written, saved, { visibility = allVisible, isLocked = false } = {}) {
      const { resolved, hooks } = find(written, saved);
      const key = `${visibility.request} ${visibility.hidden} ${visibility.answer} ${visibility.part} ${isLocked}`;
      const known = hooks.get(key);
      if (known || hooks.has(key)) return known;
      const made = toTargetHooks(toVisibleHooks(isLocked ? toDefaults(resolved) : resolved, visibility));
      hooks.set(key, made);
      return made;
    },
    findUnknown: (written, saved) => find(written, saved).resolved,
    listReferences: (written) => listReferences(readHooks(written, checks)),
    findProblems: (written, sum) => readHooks(written, checks, sum).problems,
    findSavedProblems: (saved, phase) => findSavedProblems(saved, checks, phase),
    findSavedWarnings: (saved) => findSavedWarnings(saved, checks),
    later: (one, bytes) => work.add(one, bytes),
    close: (timeoutMs) => work.settle(timeoutMs),
  };
}
