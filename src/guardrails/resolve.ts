import {
  type HookReference,
  type Hooks,
  type KnownChecks,
  type ReadHooksResult,
  type StoredGuardrail,
  toSavedHook,
} from "./read-hooks.ts";
import type { Hook, Phase } from "./types.ts";

/** Saved guardrails of a workspace, and those that run for every request. */
export interface SavedGuardrails {
  /** By slug and by id. */
  readonly guardrails: ReadonlyMap<string, StoredGuardrail>;
  /** Ids, in the order they run after a request's own hooks. */
  readonly defaultGuardrails: { readonly input: readonly string[]; readonly output: readonly string[] };
}

/** Hooks with their saved guardrails resolved, and names that could not be resolved. */
export type ResolvedHooks = Hooks & {
  readonly unknown: readonly string[];
  readonly unknownDefaults: readonly string[];
};

interface Resolved {
  hooks: Hook[];
  unknown: string[];
}

/** Input for resolving the hooks of one phase. */
interface PhaseParts {
  phase: Phase;
  checks: KnownChecks;
  /** Ids resolved so far. */
  seen: Set<string>;
  /** Ids that run as saved, whatever a config overrides. */
  fixed: ReadonlySet<string>;
}

/** Resolves the hooks of one phase; a guardrail that is named twice runs once. */
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

/** Resolves the saved guardrails that hooks name, and adds the workspace's defaults. */
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

/** Names of the saved guardrails that hooks refer to. */
export function listReferences({ before, after }: Pick<ReadHooksResult, "before" | "after">): string[] {
  return [...before, ...after].flatMap((entry) => ("checks" in entry ? [] : [entry.name]));
}

/** For workspaces without saved guardrails. */
export const noSavedGuardrails: SavedGuardrails = {
  guardrails: new Map(),
  defaultGuardrails: { input: [], output: [] },
};
