import * as v from "valibot";
import { PatternSum } from "../../packages/patterns/src/pattern.ts";
import { plainIssues } from "../lib/issues.ts";
import { isObject, stringOf } from "../lib/json.ts";
import { toSnake } from "../lib/member-names.ts";
import { maxConditionPatterns, maxConfigPatterns } from "../lib/pattern-limits.ts";
import { ejectionMembers, healthMembers } from "../schemas/balance.ts";
import type { LabelRules, Labels } from "../schemas/labels.ts";
import {
  breakerMembers,
  cacheMembers,
  nodeMembers,
  type PromptCacheSettings,
  promptCacheMembers,
  retryMembers,
  stickyMembers,
  strategyMembers,
} from "../schemas/routing.ts";
import { classifierMembers, errorCodes, modelNeeds } from "../schemas/routing-choice.ts";
import { type AutoClassifier, readClassifier } from "./auto-classifier.ts";
import { type BalanceSettings, findUnusedBalance, readBalance } from "./balance/settings.ts";
import { createQueryReader, fieldsOf, type ReadQuery } from "./conditions.ts";
import {
  type BreakerSettings,
  type CacheSettings,
  type Condition,
  type ConfigNode,
  clampCacheAge,
  type InheritedSettings,
  type RetrySettings,
  type StickySettings,
  type Strategy,
  type TargetLimits,
} from "./config.ts";

import { hookPhases, inherit, noSettings } from "./inherit.ts";
import { findNodeProblems, isProviderMember, type KnownProviders } from "./node-rules.ts";
import type { ConfigProblem } from "./problem.ts";
import { readServerTools } from "./server-tools.ts";

/** Context of reading a config. */
export interface ReadConfigOptions {
  limits: TargetLimits;
  /** The gateway's providers. */
  providers: KnownProviders;
  /** Before a config is saved: unknown fields and conflicting spellings are rejected instead of ignored. */
  strict: boolean;
  /** Problems with the hooks of a node, by field. Absent: hooks are not validated. */
  findHookProblems?(hooks: InheritedSettings["hooks"], sum: PatternSum): readonly ConfigProblem[];
}

/** A usable config, or all of its problems. */
export type ReadConfigResult = (
  | { config: ConfigNode; problems?: never }
  | { config?: never; problems: ConfigProblem[] }
) & {
  /** Its memory in bytes, roughly, without the JSON value it was read from. */
  weight: number;
};

/** Deepest nesting of strategies. */
const maxDepth = 16;
/** Status codes that are retried by default. */
const defaultRetryCodes = [429, 500, 502, 503, 504, 529];
const maxRetries = 5;
/** Shortest cooldown of a circuit breaker. */
const minCooldownMs = 30_000;
const defaultStickySeconds = 3_600;

/** Bytes of a node, including what is cached for it. */
const nodeWeight = 2_000;
/** Most parameters of all targets of a config, inherited ones counted at each target. */
const maxMergedParams = 100_000;

/** Most problems that are reported. */
const maxProblems = 1_000;
/** Replaces a field whose value is invalid: the field is present, without a value. */
const refused = Symbol("refused");

type Members = Record<string, unknown>;
type Schemas = Readonly<Record<string, v.GenericSchema>>;

const otherSpellings: Readonly<Record<string, string>> = {
  use_retry_after_header: "use_retry_after_headers",
  strict_openai_compliance: "strict_open_ai_compliance",
};

/** Why a request goes on without the cache its config names; a config with this problem cannot be saved. */
function findCacheProblem({ mode, max_age: age }: Members): string | undefined {
  if (typeof mode === "string" && mode !== "simple" && mode !== "semantic")
    return "cache.mode must be simple or semantic";
  const isUsable = age === undefined || age === null || (typeof age === "number" && Number.isFinite(age));
  return isUsable ? undefined : "cache.max_age must be a number";
}

/** The members of `cache` at a request: an age outside the limits counts as the nearest limit. */
function withUsableAge(written: unknown): unknown {
  if (!isObject(written)) return written;
  const ages = ["max_age", "maxAge"].filter((name) => typeof written[name] === "number");
  return { ...written, ...Object.fromEntries(ages.map((name) => [name, clampCacheAge(Number(written[name]))])) };
}

/** Reads one config. */
class ConfigReader {
  readonly problems: ConfigProblem[] = [];
  readonly #options: ReadConfigOptions;
  readonly #patterns = new PatternSum(maxConfigPatterns);
  readonly #queryPatterns = new PatternSum(maxConditionPatterns);
  readonly #readQuery: ReadQuery = createQueryReader(this.problems, this.#queryPatterns);
  #nodes = 0;

  constructor(options: ReadConfigOptions) {
    this.#options = options;
  }

  /** Bytes of memory of the result, without the JSON value. */
  get weight(): number {
    return this.#nodes * nodeWeight + this.#patterns.weight + this.#queryPatterns.weight;
  }

  note(path: string, message: string): undefined {
    this.problems.push({ path, message });
  }

  /** Fields by their snake_case names, which win over camelCase ones. */
  #normalise(value: Members, path: string): Members {
    const members: Members = {};
    for (const [written, member] of Object.entries(value)) {
      const snake = toSnake(written);
      const name = otherSpellings[snake] ?? snake;
      if (Object.hasOwn(members, name)) {
        if (this.#options.strict) this.note(join(path, name), "is written in two spellings");
        if (written !== name) continue;
      }
      Object.defineProperty(members, name, { value: member, enumerable: true, configurable: true, writable: true });
    }
    return members;
  }

  /** The fields of an object, validated by their schemas; invalid ones become `refused`, and null counts as absent. */
  #check(value: unknown, path: string, schemas: Schemas, others: (name: string) => boolean = () => false): Members {
    if (!isObject(value)) {
      this.note(path, "must be an object");
      return {};
    }
    const members = this.#normalise(value, path);
    const checked: Members = {};
    for (const [name, member] of Object.entries(members)) {
      const schema = Object.hasOwn(schemas, name) ? schemas[name] : undefined;
      if (member === null || member === undefined) continue;
      if (!schema) {
        if (others(name)) checked[name] = member;
        else if (this.#options.strict) this.note(join(path, name), "is not a member of a config");
        continue;
      }
      const result = v.safeParse(schema, member, plainIssues);
      checked[name] = result.success ? result.output : refused;
      for (const issue of result.issues ?? []) this.note(join(path, name) + pathOf(issue), issue.message);
    }
    return checked;
  }

  #readRetry(value: unknown, path: string): RetrySettings | undefined {
    if (value === undefined) return undefined;
    const { attempts } = isObject(value) ? value : {};
    // older saved configs may exceed today's limit
    const clamp = !this.#options.strict && typeof attempts === "number" && attempts > maxRetries;
    const clamped = clamp && isObject(value) ? { ...value, attempts: maxRetries } : value;
    const members = this.#check(clamped, path, retryMembers);
    if (isObject(value) && (attempts ?? undefined) === undefined) this.note(`${path}.attempts`, "must be given");
    return {
      attempts: numberOf(members.attempts) ?? 0,
      onStatusCodes: codesOf(members.on_status_codes) ?? defaultRetryCodes,
      useRetryAfter: members.use_retry_after_headers === true,
    };
  }

  #readCache(value: unknown, path: string): CacheSettings | undefined {
    if (value === undefined) return undefined;
    const written = typeof value === "string" ? { mode: value } : value;
    if (!this.#options.strict && isObject(written)) {
      const problem = findCacheProblem(this.#normalise(written, path));
      if (problem !== undefined) return { mode: "off", maxAgeSeconds: undefined, join: false, problem };
    }
    const members = this.#check(this.#options.strict ? written : withUsableAge(written), path, cacheMembers);
    if (isObject(written) && (written.mode ?? undefined) === undefined) this.note(`${path}.mode`, "must be given");
    return {
      mode: members.mode === "semantic" ? "semantic" : "simple",
      maxAgeSeconds: numberOf(members.max_age),
      join: members.join === true,
      problem: undefined,
    };
  }

  #readPromptCache(value: unknown, path: string): PromptCacheSettings | false | undefined {
    if (value === undefined || value === false) return value;
    const { ttl } = this.#check(value === true ? {} : value, path, promptCacheMembers);
    return { ttl: ttl === "5m" || ttl === "1h" ? ttl : undefined };
  }

  #readBreaker(value: unknown, path: string): BreakerSettings | undefined {
    if (value === undefined) return undefined;
    const members = this.#check(value, path, breakerMembers);
    const failureThreshold = numberOf(members.failure_threshold);
    const failureThresholdPercentage = numberOf(members.failure_threshold_percentage);
    if (failureThreshold === undefined && failureThresholdPercentage === undefined) return undefined;
    return {
      failureThreshold,
      failureThresholdPercentage,
      minimumRequests: numberOf(members.minimum_requests) ?? 5,
      cooldownMs: Math.max(numberOf(members.cooldown_interval) ?? minCooldownMs, minCooldownMs),
      failureStatusCodes: codesOf(members.failure_status_codes),
    };
  }

  #readSticky(value: unknown, path: string): StickySettings | undefined {
    if (value === undefined) return undefined;
    const members = this.#check(value, path, stickyMembers);
    if (members.enabled !== true) return undefined;
    const hashFields = Array.isArray(members.hash_fields) ? members.hash_fields.map(String) : [];
    return { hashFields, ttlSeconds: numberOf(members.ttl) ?? defaultStickySeconds };
  }

  #readConditions(value: unknown, path: string, isRules = false): Condition[] {
    if (!Array.isArray(value) || value.length === 0) {
      this.note(path, isRules ? "must be a list of at least one rule" : "No conditions passed in the query router");
      return [];
    }
    return value.flatMap((condition, index): Condition[] => {
      const place = `${path}[${index}]`;
      if (!isObject(condition)) {
        this.note(place, "must be an object with query and then");
        return [];
      }
      const { query: written, then: name } = condition;
      const query =
        written === undefined
          ? this.note(`${place}.query`, "must be given")
          : this.#readQuery(written, `${place}.query`, isRules);
      const then = typeof name === "string" ? name.normalize("NFC") : "";
      if (then === "") this.note(`${place}.then`, "must name a target");
      return query && then !== "" ? [{ query, written, then }] : [];
    });
  }

  #readBalance(members: Members, path: string): BalanceSettings | undefined {
    const read = (name: string, schemas: Schemas) =>
      members[name] === undefined ? undefined : this.#check(members[name], `${path}.${name}`, schemas);
    const inner = { ejection: read("outlier_ejection", ejectionMembers), health: read("health_check", healthMembers) };
    if (inner.health && inner.health.path === undefined) this.note(`${path}.health_check.path`, "must be given");
    return readBalance(members, inner);
  }

  #readClassifier(value: unknown, path: string): AutoClassifier | undefined {
    if (value === undefined) return undefined;
    const members = this.#check(value, path, classifierMembers);
    return readClassifier(members, (problem) => this.note(`${path}.${problem.path}`, problem.message));
  }

  /** @param outerBreaker Circuit breaker beside the strategy, used when the strategy has none. */
  #readStrategy(value: unknown, path: string, outerBreaker: BreakerSettings | undefined): Strategy | undefined {
    if (value === undefined) return undefined;
    const apart = ["conditions", "rules", "classifier", "sticky", "cb_config", "outlier_ejection", "health_check"];
    const members = this.#check(value, path, strategyMembers, (name) => apart.includes(name));
    const breaker = this.#readBreaker(members.cb_config, `${path}.cb_config`) ?? outerBreaker;
    const sticky = this.#readSticky(members.sticky, `${path}.sticky`);
    if (this.#options.strict && members.on_error_codes !== undefined && members.mode !== "fallback") {
      this.note(`${path}.on_error_codes`, "has no effect without the mode fallback: leave it out");
    }
    if (this.#options.strict && typeof members.mode === "string") {
      for (const problem of findUnusedBalance(members)) this.note(join(path, problem.path), problem.message);
    }
    switch (members.mode) {
      case "single":
        return { mode: "single", breaker };
      case "fallback":
        return {
          mode: "fallback",
          breaker,
          onStatusCodes: codesOf(members.on_status_codes),
          onErrorCodes: wordsOf(members.on_error_codes, errorCodes),
        };
      case "loadbalance": {
        const balance = this.#readBalance(members, path);
        return { mode: "loadbalance", breaker, sticky, affinity: flagOf(members.affinity), balance };
      }
      case "auto": {
        const rules = members.rules === undefined ? [] : this.#readConditions(members.rules, `${path}.rules`, true);
        const asked = rules.flatMap(({ query }) => fieldsOf(query, "request"));
        const classifier = this.#readClassifier(members.classifier, `${path}.classifier`);
        return { mode: "auto", breaker, rules, asked: [...new Set(asked)], classifier };
      }
      case "conditional": {
        const conditions = this.#readConditions(members.conditions, `${path}.conditions`);
        return { mode: "conditional", breaker, conditions, default: stringOf(members.default) };
      }
      default:
        if (isObject(value) && members.mode === undefined) this.note(`${path}.mode`, "must be given");
        return undefined;
    }
  }

  #readTargets(value: unknown, path: string, depth: number): ConfigNode[] {
    if (value === undefined) return [];
    if (!Array.isArray(value) || value.length === 0) {
      this.note(path, "must be a list of at least one target");
      return [];
    }
    if (depth >= maxDepth) {
      this.note(path, `must not nest deeper than ${maxDepth} strategies`);
      return [];
    }
    const { root, conditional, nested } = this.#options.limits;
    // reading one more than allowed is enough to detect an excess
    const most = depth === 0 ? Math.max(root, conditional) : nested;
    return value.slice(0, most + 1).map((target, index) => this.readNode(target, `${path}[${index}]`, depth + 1));
  }

  /** Reads the node at `path` and records its problems. */
  readNode(value: unknown, path: string, depth = 0): ConfigNode {
    this.#nodes++;
    const apart = ["strategy", "targets", "retry", "cache", "prompt_cache", "cb_config", "server_tools"];
    const { providers } = this.#options;
    const isSetting = (name: string) => isProviderMember(name, providers);
    const members = this.#check(value, path, nodeMembers, (name) => apart.includes(name) || isSetting(name));
    const breaker = this.#readBreaker(members.cb_config, join(path, "cb_config"));
    const strategy = this.#readStrategy(members.strategy, join(path, "strategy"), breaker);
    const targets = this.#readTargets(members.targets, join(path, "targets"), depth);
    const settings = Object.entries(members).filter(([name]) => isSetting(name));
    const hooks = hookPhases
      .flat()
      .flatMap((name) => (Array.isArray(members[name]) ? [[name, members[name]] as const] : []));
    for (const problem of this.#options.findHookProblems?.(Object.fromEntries(hooks), this.#patterns) ?? []) {
      this.note(join(path, problem.path), problem.message);
    }
    const node: ConfigNode = {
      path: path === "" ? "config" : `config.${path}`,
      name: stringOf(members.name),
      provider: stringOf(members.provider),
      virtualKey: stringOf(members.virtual_key),
      apiKey: stringOf(members.api_key),
      promptId: stringOf(members.prompt_id),
      weight: numberOf(members.weight) ?? 1,
      passthrough: members.passthrough === true,
      fetchIntegratedModels: members.fetch_integrated_models === true,
      metadata: isObject(members.metadata) ? members.metadata : undefined,
      providerSettings: Object.fromEntries(settings),
      ...this.#readInherited(members, path),
      hooks: Object.fromEntries(hooks),
      serverTools: this.#readServerTools(members.server_tools, path),
      strategy,
      targets,
      merged: noSettings,
    };
    if (isObject(value)) this.#checkNode(node, members, path);
    if (this.#options.strict) this.#refuseUnused(members, path);
    return node;
  }

  #readServerTools(value: unknown, path: string) {
    if (value === undefined) return undefined;
    const check = this.#check.bind(this);
    const reading = { check, note: this.note.bind(this) };
    return readServerTools(value, { path: join(path, "server_tools"), isRoot: path === "", reading });
  }

  /** Before a config is saved: rejects fields without any effect. */
  #refuseUnused(members: Members, path: string): void {
    for (const name of ["prompt_id", "metadata"]) {
      if (members[name] !== undefined) this.note(join(path, name), "has no effect yet: leave it out");
    }
    if (members.cb_config !== undefined && members.strategy === undefined) {
      this.note(join(path, "cb_config"), "has no effect without a strategy: set strategy.cb_config above the target");
    }
    if (path !== "" && members.fetch_integrated_models !== undefined) {
      this.note(join(path, "fetch_integrated_models"), "must be at the root");
    }
  }

  #readInherited(members: Members, path: string) {
    const { forward_headers: forwarded, drop_params: dropped } = members;
    const strict = members.strict_open_ai_compliance;
    return {
      retry: this.#readRetry(members.retry, join(path, "retry")),
      cache: this.#readCache(members.cache, join(path, "cache")),
      promptCache: this.#readPromptCache(members.prompt_cache, join(path, "prompt_cache")),
      labels: isObject(members.labels) ? (members.labels as Labels) : undefined, // checked by the schema, as is the next
      requireLabels: isObject(members.require_labels) ? (members.require_labels as LabelRules) : undefined,
      // zero means no separate limit
      requestTimeoutMs: numberOf(members.request_timeout) || undefined,
      totalTimeoutMs: numberOf(members.total_timeout) || undefined,
      streamIdleTimeoutMs: numberOf(members.stream_idle_timeout) || undefined,
      customHost: stringOf(members.custom_host),
      forwardHeaders: Array.isArray(forwarded) ? forwarded.map((name) => String(name).toLowerCase()) : undefined,
      strict: flagOf(strict),
      requires: wordsOf(members.requires, modelNeeds),
      overrideParams: isObject(members.override_params) ? members.override_params : {},
      defaultParams: isObject(members.default_params) ? members.default_params : {},
      dropParams: Array.isArray(dropped) ? dropped.map(String) : [],
    };
  }

  #checkNode(node: ConfigNode, members: Members, path: string): void {
    const problems = findNodeProblems(node, members, this.#options.providers);
    for (const problem of problems) this.note(join(path, problem.path), problem.message);
  }
}

function join(path: string, name: string): string {
  return [path, name].filter((part) => part !== "").join(".");
}

/** Path of an issue inside a field, such as `[2].name`. */
function pathOf({ path }: v.BaseIssue<unknown>): string {
  return (path ?? []).map(({ type, key }) => (type === "array" ? `[${key}]` : `.${key}`)).join("");
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

function flagOf(value: unknown): boolean | undefined {
  return typeof value === "boolean" ? value : undefined;
}

function codesOf(value: unknown): number[] | undefined {
  return Array.isArray(value) ? value.map(Number) : undefined;
}

/** The entries of a list that are among the known words. */
function wordsOf<Word extends string>(value: unknown, known: readonly Word[]): Word[] | undefined {
  return Array.isArray(value) ? known.filter((word) => value.includes(word)) : undefined;
}

function countBelow(node: ConfigNode): number {
  return node.targets.reduce((sum, target) => sum + 1 + countBelow(target), 0);
}

/** Where a config exceeds its target limits; each message names the limit's variable. */
export function findTargetExcess(config: ConfigNode, limits: TargetLimits): ConfigProblem[] {
  const isConditional = config.strategy?.mode === "conditional";
  const most = isConditional ? limits.conditional : limits.root;
  const variable = isConditional ? "MAX_CONDITIONAL_ROOT_CONFIG_TARGETS" : "MAX_ROOT_CONFIG_TARGETS";
  const found: ConfigProblem[] = [];
  if (config.targets.length > most) {
    found.push({ path: "targets", message: `must have at most ${most} entries (${variable})` });
  }
  for (const [index, target] of config.targets.entries()) {
    if (countBelow(target) <= limits.nested) continue;
    const message = `must have at most ${limits.nested} entries in all (MAX_NESTED_CONFIG_TARGETS)`;
    found.push({ path: `targets[${index}].targets`, message });
  }
  return found;
}

/** Number of parameters of all nodes including inherited ones; those shared by reference count once. */
function countParams({ overrideParams, defaultParams, dropParams, targets }: ConfigNode, above: number): number {
  const own = Object.keys(overrideParams).length + Object.keys(defaultParams).length + dropParams.length;
  const here = above + own;
  return targets.reduce((sum, target) => sum + countParams(target, here), own === 0 ? 0 : here);
}

function weigh(problems: readonly ConfigProblem[]): number {
  return problems.slice(0, maxProblems).reduce((sum, { path, message }) => sum + 200 + path.length + message.length, 0);
}

/** Whether a call below a node marks prompts for a provider's cache. */
function cachesPrompts({ strategy, targets, merged }: ConfigNode): boolean {
  return strategy ? targets.some(cachesPrompts) : Boolean(merged.promptCache);
}

/** A strategy with its affinity: conversations return to the target whose provider holds their prompt. */
function withAffinity(strategy: Strategy | undefined, targets: readonly ConfigNode[]): Strategy | undefined {
  if (strategy?.mode !== "loadbalance") return strategy;
  // a choice by measure that the config asks for is not replaced by a default
  const isMeasured = strategy.balance !== undefined && strategy.balance.choose !== "weight";
  return { ...strategy, affinity: strategy.affinity ?? (!isMeasured && targets.some(cachesPrompts)) };
}

/** The same config with inherited settings merged into every node. */
function mergeDown(node: ConfigNode, above: InheritedSettings): ConfigNode {
  const merged = inherit(above, node);
  const targets = node.targets.map((target) => mergeDown(target, merged));
  return { ...node, merged, targets, strategy: withAffinity(node.strategy, targets) };
}

/** Reads a routing config from its JSON value: the config, or all of its problems with their paths. */
export function readConfig(value: unknown, options: ReadConfigOptions): ReadConfigResult {
  const reader = new ConfigReader(options);
  const config = reader.readNode(value, "");
  const problems = [...reader.problems, ...findTargetExcess(config, options.limits)];
  const params = countParams(config, 0);
  if (params > maxMergedParams) {
    problems.push({ path: "", message: `must not have more than ${maxMergedParams} parameters in all its targets` });
  }
  if (problems.length > 0) return { problems: problems.slice(0, maxProblems), weight: weigh(problems) };
  return { config: mergeDown(config, noSettings), weight: reader.weight + 100 * params };
}
