import type { Query } from "./conditions.ts";

/** How often a call is tried again, and after which answers. */
export interface RetrySettings {
  /** Tries after the first, 0 to 5. */
  attempts: number;
  onStatusCodes: readonly number[];
  /** Wait as long as a 429 asks for instead of the own pauses. */
  useRetryAfter: boolean;
}

/** Reuse of answers; read here, used by the cache. */
export interface CacheSettings {
  mode: "simple" | "semantic";
  /** Seconds; undefined means the default. */
  maxAgeSeconds: number | undefined;
}

/** When a target counts as broken. */
export interface BreakerSettings {
  failureThreshold: number | undefined;
  failureThresholdPercentage: number | undefined;
  minimumRequests: number;
  cooldownMs: number;
  /** Undefined: every status from 500 on. */
  failureStatusCodes: readonly number[] | undefined;
}

/** Requests with equal fields keep to one target. */
export interface StickySettings {
  /** `metadata.x`, `params.x.y` or `headers.x`. */
  hashFields: readonly string[];
  ttlSeconds: number;
}

/** One condition: the target it leads to when its query holds. */
export interface Condition {
  query: Query;
  /** The query as it was written. */
  written: unknown;
  then: string;
}

interface StrategyBase {
  breaker: BreakerSettings | undefined;
}

/** How a node chooses among its targets. */
export type Strategy = StrategyBase &
  (
    | { mode: "single" }
    | { mode: "fallback"; onStatusCodes: readonly number[] | undefined }
    | { mode: "loadbalance"; sticky: StickySettings | undefined; affinity: boolean }
    | { mode: "conditional"; conditions: readonly Condition[]; default: string | undefined }
  );

/** Settings that go down to the leaves; what is undefined comes from above. */
export interface InheritedSettings {
  retry: RetrySettings | undefined;
  cache: CacheSettings | undefined;
  requestTimeoutMs: number | undefined;
  totalTimeoutMs: number | undefined;
  streamIdleTimeoutMs: number | undefined;
  customHost: string | undefined;
  forwardHeaders: readonly string[] | undefined;
  strict: boolean | undefined;
  /** Hooks and guardrails as they were written, by their member's name; the nearest level that names a phase counts. */
  hooks: Readonly<Record<string, readonly unknown[]>>;
  overrideParams: Readonly<Record<string, unknown>>;
  defaultParams: Readonly<Record<string, unknown>>;
  dropParams: readonly string[];
}

/** A node of a routing config: a group with a strategy and targets, or a leaf, which is one call. */
export interface ConfigNode extends InheritedSettings {
  /** Place in the config, such as `config.targets[1]`. */
  path: string;
  name: string | undefined;
  provider: string | undefined;
  virtualKey: string | undefined;
  apiKey: string | undefined;
  promptId: string | undefined;
  weight: number;
  /** The provider comes from the request. */
  passthrough: boolean;
  fetchIntegratedModels: boolean;
  metadata: Readonly<Record<string, unknown>> | undefined;
  /** Members that belong to one provider, such as `azure_region`. */
  providerSettings: Readonly<Record<string, unknown>>;
  strategy: Strategy | undefined;
  targets: readonly ConfigNode[];
  /** Its settings with what it inherits. */
  merged: InheritedSettings;
}

/** How many targets a config may have. */
export interface TargetLimits {
  /** At the root. */
  root: number;
  /** At the root of a conditional config. */
  conditional: number;
  /** Below one target of the root, in all. */
  nested: number;
}

/** Limits when the operator sets none. */
export const defaultTargetLimits: TargetLimits = { root: 100, conditional: 1_000, nested: 50 };
