import {
  findSavedProblems,
  type HookProblem,
  type Hooks,
  type KnownChecks,
  readHooks,
  type SavedGuardrail,
} from "./read-hooks.ts";
import type { Hook, Phase } from "./types.ts";

/** Members of a config that hold hooks, as they were written. */
type Written = Readonly<Record<string, readonly unknown[]>>;

/** Hooks of a target: those its caller waits for, and those that run behind the answer. */
export interface TargetHooks extends Hooks {
  readonly later: Hooks;
}

/** Guardrails of a gateway. */
export interface Guardrails {
  /** The hooks of a target's settings, read once; undefined where there is none. */
  of(written: Written): TargetHooks | undefined;
  /** As `of`, for requests that are passed on unread: of their hooks, what needs to read nothing. */
  ofPassthrough(written: Written): TargetHooks | undefined;
  /** What is wrong with hooks, before a config with them is used. */
  findProblems(written: Written): readonly HookProblem[];
  /**
   * What is wrong with a guardrail before it is saved, or used.
   *
   * @param phase When it is to run. Absent: its checks may be of either.
   */
  findSavedProblems(saved: SavedGuardrail, phase?: Phase): readonly HookProblem[];
  /** Runs work behind an answer; failures of it are told to nobody. */
  later(work: Promise<unknown>): void;
  /** Waits for what runs behind answers, at most this long. */
  close(timeoutMs: number): Promise<void>;
}

/** Whether a hook runs behind the answer. What changes something cannot. */
function isLate({ async, type }: Hook): boolean {
  return async && type !== "mutator";
}

function toTargetHooks({ before, after }: Hooks): TargetHooks | undefined {
  if (before.length + after.length === 0) return undefined;
  const isNow = ({ async }: Hook) => !async;
  return {
    ...{ before: before.filter(isNow), after: after.filter(isNow) },
    later: { before: before.filter(isLate), after: after.filter(isLate) },
  };
}

/** Hooks that look at nothing but what kind of request it is. */
function forPassthrough(hooks: readonly Hook[]): Hook[] {
  const seeing = hooks.map((hook) => ({ ...hook, checks: hook.checks.filter(({ check }) => check.seesPassthrough) }));
  return seeing.filter(({ checks }) => checks.length > 0);
}

/** Remembers what is made of the hooks of settings, which never change. */
function rememberBy(make: (written: Written) => TargetHooks | undefined): Guardrails["of"] {
  const known = new WeakMap<Written, { hooks: TargetHooks | undefined }>();
  return (written) => {
    const found = known.get(written);
    if (found) return found.hooks;
    const hooks = make(written);
    known.set(written, { hooks });
    return hooks;
  };
}

/** Creates the guardrails of a gateway. */
export function createGuardrails(checks: KnownChecks): Guardrails {
  const running = new Set<Promise<unknown>>();
  return {
    of: rememberBy((written) => toTargetHooks(readHooks(written, checks))),
    ofPassthrough: rememberBy((written) =>
      toTargetHooks({ before: forPassthrough(readHooks(written, checks).before), after: [] }),
    ),
    findProblems: (written) => readHooks(written, checks).problems,
    findSavedProblems: (saved, phase) => findSavedProblems(saved, checks, phase),
    later(work) {
      const run = work.catch(() => {}).finally(() => running.delete(run));
      running.add(run);
    },
    async close(timeoutMs) {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const outOfTime = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, timeoutMs);
      });
      await Promise.race([Promise.all(running), outOfTime]);
      clearTimeout(timer);
    },
  };
}
