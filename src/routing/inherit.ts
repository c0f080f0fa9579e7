import type { InheritedSettings } from "./config.ts";

/** Hook fields, by phase. */
export const hookPhases = [
  ["before_request_hooks", "input_guardrails", "input_mutators"],
  ["after_request_hooks", "output_guardrails", "output_mutators"],
] as const;

const isEmpty = (members: object): boolean => Object.keys(members).length === 0;

/** Merges parameters by name; if one side is empty, the other is shared by reference. */
function mergeParams(
  parent: InheritedSettings["overrideParams"],
  own: InheritedSettings["overrideParams"],
): InheritedSettings["overrideParams"] {
  if (isEmpty(own)) return parent;
  return isEmpty(parent) ? own : { ...parent, ...own };
}

/** Hooks of a node: the innermost node that sets a field of a phase decides the whole phase. */
function inheritHooks(parent: InheritedSettings["hooks"], own: InheritedSettings["hooks"]): InheritedSettings["hooks"] {
  if (isEmpty(own)) return parent;
  const members = hookPhases.flatMap((names) => {
    const nearest = names.some((name) => Object.hasOwn(own, name)) ? own : parent;
    return names.flatMap((name) => {
      const hooks = Object.hasOwn(nearest, name) ? nearest[name] : undefined;
      return hooks ? [[name, hooks] as const] : [];
    });
  });
  return Object.fromEntries(members);
}

/** Merges labels, rules on them, or metadata, by name. */
function mergeNamed<Value extends object>(parent: Value | undefined, own: Value | undefined): Value | undefined {
  return parent && own ? { ...parent, ...own } : (own ?? parent);
}

/** Settings of an empty config. */
export const noSettings: InheritedSettings = {
  retry: undefined,
  cache: undefined,
  promptCache: undefined,
  labels: undefined,
  requireLabels: undefined,
  metadata: undefined,
  requestTimeoutMs: undefined,
  totalTimeoutMs: undefined,
  streamIdleTimeoutMs: undefined,
  customHost: undefined,
  forwardHeaders: undefined,
  strict: undefined,
  requires: undefined,
  hooks: {},
  overrideParams: {},
  defaultParams: {},
  dropParams: [],
};

/**
 * Settings of a node below another: the inner value replaces the outer one, except that parameters are merged by name and
 * dropped parameters add up. Each phase of hooks is one value.
 */
export function inherit(parent: InheritedSettings, own: InheritedSettings): InheritedSettings {
  return {
    retry: own.retry ?? parent.retry,
    cache: own.cache ?? parent.cache,
    promptCache: own.promptCache ?? parent.promptCache,
    labels: mergeNamed(parent.labels, own.labels),
    requireLabels: mergeNamed(parent.requireLabels, own.requireLabels),
    metadata: mergeNamed(parent.metadata, own.metadata),
    requestTimeoutMs: own.requestTimeoutMs ?? parent.requestTimeoutMs,
    totalTimeoutMs: own.totalTimeoutMs ?? parent.totalTimeoutMs,
    streamIdleTimeoutMs: own.streamIdleTimeoutMs ?? parent.streamIdleTimeoutMs,
    customHost: own.customHost ?? parent.customHost,
    forwardHeaders: own.forwardHeaders ?? parent.forwardHeaders,
    strict: own.strict ?? parent.strict,
    requires: own.requires ?? parent.requires,
    hooks: inheritHooks(parent.hooks, own.hooks),
    overrideParams: mergeParams(parent.overrideParams, own.overrideParams),
    defaultParams: mergeParams(parent.defaultParams, own.defaultParams),
    dropParams:
      own.dropParams.length === 0 ? parent.dropParams : [...new Set([...parent.dropParams, ...own.dropParams])],
  };
}
