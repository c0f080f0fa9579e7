import type { InheritedSettings } from "./config.ts";

/** Settings of a config that says nothing. */
export const noSettings: InheritedSettings = {
  retry: undefined,
  cache: undefined,
  requestTimeoutMs: undefined,
  totalTimeoutMs: undefined,
  streamIdleTimeoutMs: undefined,
  customHost: undefined,
  forwardHeaders: undefined,
  strict: undefined,
  hooks: {},
  overrideParams: {},
  defaultParams: {},
  dropParams: [],
};

/**
 * Settings of a node below another: the nearer level wins as a whole, except for parameters, which are merged by name, and
 * parameters to drop, which add up.
 */
export function inherit(parent: InheritedSettings, own: InheritedSettings): InheritedSettings {
  return {
    retry: own.retry ?? parent.retry,
    cache: own.cache ?? parent.cache,
    requestTimeoutMs: own.requestTimeoutMs ?? parent.requestTimeoutMs,
    totalTimeoutMs: own.totalTimeoutMs ?? parent.totalTimeoutMs,
    streamIdleTimeoutMs: own.streamIdleTimeoutMs ?? parent.streamIdleTimeoutMs,
    customHost: own.customHost ?? parent.customHost,
    forwardHeaders: own.forwardHeaders ?? parent.forwardHeaders,
    strict: own.strict ?? parent.strict,
    hooks: { ...parent.hooks, ...own.hooks },
    overrideParams: { ...parent.overrideParams, ...own.overrideParams },
    defaultParams: { ...parent.defaultParams, ...own.defaultParams },
    dropParams: [...new Set([...parent.dropParams, ...own.dropParams])],
  };
}
