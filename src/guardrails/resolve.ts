import {
  type HookReference,
  type Hooks,
  type KnownChecks,
  type ReadHooksResult,
  type StoredGuardrail,
  toSavedHook,
} from "./read-hooks.ts";
import type { Hook, Phase } from "./types.ts";

/** Saved guardrails a workspace may use, and those that every request of it passes. */
export interface SavedGuardrails {
  /** By slug and by id. */
  readonly guardrails: ReadonlyMap<string, StoredGuardrail>;
  /** Ids, in the order they run behind a request's own. */
  readonly defaultGuardrails: { readonly input: readonly string[]; readonly output: readonly string[] };
}

/** Hooks with the saved ones among them found, or names that lead to none that can be used. */
export type ResolvedHooks = Hooks & {
  readonly unknown: readonly string[];
  readonly unknownDefaults: readonly string[];
};

interface Resolved {
  hooks: Hook[];
  unknown: string[];
}

/** What hooks of one phase are found with. */
interface PhaseParts {
  phase: Phase;
  checks: KnownChecks;
  /** Ids of those found already. */
  seen: Set<string>;
  /** Ids of those that run as they were saved, whatever a config says beside their names. */
  fixed: ReadonlySet<string>;
}

/** The hooks of one phase; one that is named twice runs once. */
function resolvePhase(
  entries: readonly (Hook | HookReference)[],
  saved: SavedGuardrails,
  { phase, checks, seen, fixed }: PhaseParts,
): Resolved {
  const resolved: Resolved = { hooks: [], unknown: [] };
  for (const entry of entries) {
    if ("checks" in entry) {
      resolved.hooks.push(entry);
      continue;
    }
    const stored = saved.guardrails.get(entry.name);
    if (stored && seen.has(stored.row.id)) continue;
    if (stored) seen.add(stored.row.id);
    const overrides = stored && fixed.has(stored.row.id) ? {} : entry.overrides;
    const hook = stored && toSavedHook(stored, { overrides }, { phase, checks });
    const isDefault = stored !== undefined && fixed.has(stored.row.id);
    if (hook) resolved.hooks.push(isDefault ? { ...hook, isDefault } : hook);
    else resolved.unknown.push(entry.name);
  }
  return resolved;
}

/** Finds the saved guardrails hooks name, and adds those that every request of the workspace passes. */
export function resolveHooks(
  { before, after }: Pick<ReadHooksResult, "before" | "after">,
  saved: SavedGuardrails,
  checks: KnownChecks,
): ResolvedHooks {
  const toEntries = (ids: readonly string[]): HookReference[] => ids.map((name) => ({ name, overrides: {} }));
  const resolve = (phase: Phase, entries: readonly (Hook | HookReference)[], defaults: readonly string[]) => {
    const parts: PhaseParts = { phase, checks, seen: new Set(), fixed: new Set(defaults) };
    const own = resolvePhase(entries, saved, parts);
    const others = resolvePhase(toEntries(defaults), saved, parts);
    return { hooks: [...own.hooks, ...others.hooks], unknown: own.unknown, unknownDefaults: others.unknown };
  };
  const { defaultGuardrails } = saved;
  const early = resolve("beforeRequestHook", before, defaultGuardrails.input);
  const late = resolve("afterRequestHook", after, defaultGuardrails.output);
  return {
    before: early.hooks,
    after: late.hooks,
    unknown: [...new Set([...early.unknown, ...late.unknown])],
    unknownDefaults: [...new Set([...early.unknownDefaults, ...late.unknownDefaults])],
  };
}

/** Names of saved guardrails that hooks name. */
export function listReferences({ before, after }: Pick<ReadHooksResult, "before" | "after">): string[] {
  return [...before, ...after].flatMap((entry) => ("checks" in entry ? [] : [entry.name]));
}

/** What there is where nobody saved any. */
export const noSavedGuardrails: SavedGuardrails = {
  guardrails: new Map(),
  defaultGuardrails: { input: [], output: [] },
};
