import type { Metadata } from "../lib/metadata.ts";
import type { LabelRules, Labels } from "../schemas/labels.ts";
import type { PromptCacheSettings } from "../schemas/routing.ts";
import type { ErrorCode, ModelNeed } from "../schemas/routing-choice.ts";
import type { AutoClassifier } from "./auto-classifier.ts";
import type { BalanceSettings } from "./balance/settings.ts";
import type { Query, RequestFact } from "./conditions.ts";
import type { ServerToolSettings } from "./server-tools.ts";

/** How often a call is retried, and after which statuses. */
export interface RetrySettings {
  /** Retries, 0 to 5. */
  attempts: number;
  onStatusCodes: readonly number[];
  /** Wait as long as a 429 asks for instead of backing off. */
  useRetryAfter: boolean;
}

/** Reuse of responses; read here, applied by the cache. */
export interface CacheSettings {
  /** `off`: the setting cannot be used, and `problem` says why. */
  mode: "simple" | "semantic" | "off";
  /** Seconds, from 60 to 7,776,000; undefined means the default. */
  maxAgeSeconds: number | undefined;
  /** Identical requests at the same time share one call. */
  join: boolean;
  problem: string | undefined;
}

/** Shortest and longest time a response may be reused, in seconds. */
const cacheAges = { min: 60, max: 7_776_000 };

/** A time for which a response may be reused, within the limits. */
export function clampCacheAge(seconds: number): number {
  return Math.min(Math.max(Math.round(seconds), cacheAges.min), cacheAges.max);
}

/** When the circuit of a target opens. */
export interface BreakerSettings {
  failureThreshold: number | undefined;
  failureThresholdPercentage: number | undefined;
  minimumRequests: number;
  cooldownMs: number;
  /** Undefined: every status of at least 500. */
  failureStatusCodes: readonly number[] | undefined;
}

/** Requests with equal fields go to the same target. */
export interface StickySettings {
  /** `metadata.x`, `params.x.y` or `headers.x`. */
  hashFields: readonly string[];
  ttlSeconds: number;
}

/** One condition and its target. */
export interface Condition {
  query: Query;
  /** The query as written. */
  written: unknown;
  then: string;
}

interface StrategyBase {
  breaker: BreakerSettings | undefined;
}

/** After which failures a fallback calls its next target. Without rules: after any. */
export interface FallbackRules {
  onStatusCodes: readonly number[] | undefined;
  onErrorCodes: readonly ErrorCode[] | undefined;
}

/** How a node chooses among its targets. */
export type Strategy = StrategyBase &
  (
    | { mode: "single" }
    | ({ mode: "fallback" } & FallbackRules)
    | {
        mode: "loadbalance";
        sticky: StickySettings | undefined;
        affinity: boolean | undefined;
        /** Undefined: nothing is measured. */
        balance: BalanceSettings | undefined;
      }
    | {
        mode: "auto";
        rules: readonly Condition[];
        /** Fields of `request` that the rules ask for. */
        asked: readonly RequestFact[];
        classifier: AutoClassifier | undefined;
      }
    | { mode: "conditional"; conditions: readonly Condition[]; default: string | undefined }
  );

/** Settings that leaves inherit; undefined values come from the parent. */
export interface InheritedSettings {
  retry: RetrySettings | undefined;
  cache: CacheSettings | undefined;
  /** Prefixes of prompts are marked for the provider's cache; false: they are not, whatever the parent says. */
  promptCache: PromptCacheSettings | false | undefined;
  /** What holds for the targets, such as their region. Inner labels are added to outer ones. */
  labels: Labels | undefined;
  /** Labels that a target must have to be called; inner rules are added to outer ones. */
  requireLabels: LabelRules | undefined;
  /** Metadata that the rows of calls to the targets get; inner pairs are added to outer ones. */
  metadata: Metadata | undefined;
  requestTimeoutMs: number | undefined;
  totalTimeoutMs: number | undefined;
  streamIdleTimeoutMs: number | undefined;
  customHost: string | undefined;
  forwardHeaders: readonly string[] | undefined;
  strict: boolean | undefined;
  /** Needs of a request that a model must meet; undefined: all. */
  requires: readonly ModelNeed[] | undefined;
  /** Hooks and guardrails as written, by field name; the innermost node that sets a phase wins. */
  hooks: Readonly<Record<string, readonly unknown[]>>;
  overrideParams: Readonly<Record<string, unknown>>;
  defaultParams: Readonly<Record<string, unknown>>;
  dropParams: readonly string[];
}

/** A target that gets copies of some of the requests, after their responses. */
export interface ShadowSettings {
  readonly target: ConfigNode;
  /** Above 0 and at most 1. */
  readonly share: number;
}

/** A node of a routing config: a group with a strategy and targets, or a leaf, which is a single call. */
export interface ConfigNode extends InheritedSettings {
  /** Path in the config, such as `config.targets[1]`. */
  path: string;
  name: string | undefined;
  provider: string | undefined;
  virtualKey: string | undefined;
  apiKey: string | undefined;
  /** The saved prompt that completions of prompts use here, its version too; inner names win. */
  promptId: string | undefined;
  weight: number;
  /** The provider comes from the request. */
  passthrough: boolean;
  fetchIntegratedModels: boolean;
  /** Settings of one provider, such as `azure_region`. */
  providerSettings: Readonly<Record<string, unknown>>;
  /** Of the root. */
  serverTools: ServerToolSettings | undefined;
  /** Of the root: a target that gets copies of requests. */
  shadow: ShadowSettings | undefined;
  strategy: Strategy | undefined;
  targets: readonly ConfigNode[];
  /** Its settings merged with those it inherits. */
  merged: InheritedSettings;
}

/** Most targets of a config. */
export interface TargetLimits {
  /** At the root. */
  root: number;
  /** At the root of a conditional config. */
  conditional: number;
  /** Below one target of the root, all levels together. */
  nested: number;
}

/** Limits unless the operator sets others. */
export const defaultTargetLimits: TargetLimits = { root: 100, conditional: 1_000, nested: 50 };
