import { PatternSum } from "../../packages/patterns/src/pattern.ts";
import { isObject, stringOf } from "../lib/json.ts";
import { type Metadata, toMetadata } from "../lib/metadata.ts";
import { maxConditionPatterns, maxConfigPatterns } from "../lib/pattern-limits.ts";
import type { LabelRules, Labels } from "../schemas/labels.ts";
import { nodeMembers, shadowMembers } from "../schemas/routing.ts";
import { modelNeeds } from "../schemas/routing-choice.ts";
import type { ConfigNode, InheritedSettings, ShadowSettings, Strategy, TargetLimits } from "./config.ts";
import { hookPhases, inherit, noSettings } from "./inherit.ts";
import { flagOf, join, MemberReader, type Members, numberOf, wordsOf } from "./member-reader.ts";
import { findNodeProblems, findShadowProblems, isProviderMember, type KnownProviders } from "./node-rules.ts";
import type { ConfigProblem } from "./problem.ts";
import { readBreaker, readCache, readPromptCache, readRetry } from "./read-settings.ts";
import { StrategyReader } from "./read-strategy.ts";
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

/** Bytes of a node, including what is cached for it. */
const nodeWeight = 2_000;
/** Most parameters of all targets of a config, inherited ones counted at each target. */
const maxMergedParams = 100_000;

/** Most problems that are reported. */
const maxProblems = 1_000;
/** Reads one config. */
class ConfigReader {
  readonly #reader: MemberReader;
  readonly #strategies: StrategyReader;
  readonly #options: ReadConfigOptions;
  readonly #patterns = new PatternSum(maxConfigPatterns);
  readonly #queryPatterns = new PatternSum(maxConditionPatterns);
  #nodes = 0;

  constructor(options: ReadConfigOptions) {
    this.#options = options;
    this.#reader = new MemberReader(options.strict);
    this.#strategies = new StrategyReader(this.#reader, this.#queryPatterns);
  }

  get problems(): readonly ConfigProblem[] {
    return this.#reader.problems;
  }

  /** Bytes of memory of the result, without the JSON value. */
  get weight(): number {
    return this.#nodes * nodeWeight + this.#patterns.weight + this.#queryPatterns.weight;
  }

  #readTargets(value: unknown, path: string, depth: number): ConfigNode[] {
    if (value === undefined) return [];
    if (!Array.isArray(value) || value.length === 0) {
      this.#reader.note(path, "must be a list of at least one target");
      return [];
    }
    if (depth >= maxDepth) {
      this.#reader.note(path, `must not nest deeper than ${maxDepth} strategies`);
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
    const apart = ["strategy", "targets", "retry", "cache", "prompt_cache", "cb_config", "server_tools", "shadow"];
    const { providers } = this.#options;
    const isSetting = (name: string) => isProviderMember(name, providers);
    const members = this.#reader.check(value, path, nodeMembers, (name) => apart.includes(name) || isSetting(name));
    const breaker = readBreaker(members.cb_config, join(path, "cb_config"), this.#reader);
    const strategy = this.#strategies.read(members.strategy, join(path, "strategy"), breaker);
    const targets = this.#readTargets(members.targets, join(path, "targets"), depth);
    const settings = Object.entries(members).filter(([name]) => isSetting(name));
    const hooks = hookPhases
      .flat()
      .flatMap((name) => (Array.isArray(members[name]) ? [[name, members[name]] as const] : []));
    for (const problem of this.#options.findHookProblems?.(Object.fromEntries(hooks), this.#patterns) ?? []) {
      this.#reader.note(join(path, problem.path), problem.message);
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
      providerSettings: Object.fromEntries(settings),
      ...this.#readInherited(members, path),
      hooks: Object.fromEntries(hooks),
      serverTools: this.#readServerTools(members.server_tools, path),
      shadow: this.#readShadow(members.shadow, path, depth),
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
    const check = this.#reader.check.bind(this.#reader);
    const reading = { check, note: this.#reader.note.bind(this.#reader) };
    return readServerTools(value, { path: join(path, "server_tools"), isRoot: path === "", reading });
  }

  #readShadow(value: unknown, path: string, depth: number): ShadowSettings | undefined {
    if (value === undefined) return undefined;
    const at = join(path, "shadow");
    if (path !== "") return this.#reader.note(at, "must be at the root");
    const { target: written, share } = this.#reader.check(value, at, shadowMembers, (name) => name === "target");
    if (!isObject(value)) return undefined;
    if (share === undefined) this.#reader.note(join(at, "share"), "must be given");
    if (written === undefined) return this.#reader.note(join(at, "target"), "must be given");
    const target = this.readNode(written, join(at, "target"), depth + 1);
    for (const problem of findShadowProblems(target)) this.#reader.note(problem.path, problem.message);
    return typeof share === "number" ? { target, share } : undefined;
  }

  /** Before a config is saved: rejects fields without any effect. */
  #refuseUnused(members: Members, path: string): void {
    if (members.cb_config !== undefined && members.strategy === undefined) {
      this.#reader.note(
        join(path, "cb_config"),
        "has no effect without a strategy: set strategy.cb_config above the target",
      );
    }
    if (path !== "" && members.fetch_integrated_models !== undefined) {
      this.#reader.note(join(path, "fetch_integrated_models"), "must be at the root");
    }
  }

  /** Metadata that cannot be used is left out of a config that was saved before. */
  #readMetadata(value: unknown, path: string): Metadata | undefined {
    if (!isObject(value)) return undefined;
    const metadata = toMetadata(value);
    if (metadata === undefined && this.#options.strict) {
      this.#reader.note(path, "must have at most 64 pairs, whose values are strings, numbers or booleans");
    }
    return metadata;
  }

  #readInherited(members: Members, path: string) {
    const { forward_headers: forwarded, drop_params: dropped } = members;
    const strict = members.strict_open_ai_compliance;
    return {
      retry: readRetry(members.retry, join(path, "retry"), this.#reader),
      cache: readCache(members.cache, join(path, "cache"), this.#reader),
      promptCache: readPromptCache(members.prompt_cache, join(path, "prompt_cache"), this.#reader),
      labels: isObject(members.labels) ? (members.labels as Labels) : undefined, // checked by the schema, as is the next
      requireLabels: isObject(members.require_labels) ? (members.require_labels as LabelRules) : undefined,
      metadata: this.#readMetadata(members.metadata, join(path, "metadata")),
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
    for (const problem of problems) this.#reader.note(join(path, problem.path), problem.message);
  }
}

/** The targets of a node, and that of its copies. */
const nodesBelow = ({ targets, shadow }: ConfigNode): readonly ConfigNode[] =>
  shadow ? [...targets, shadow.target] : targets;

/** All nodes of a config. */
export function listNodes(node: ConfigNode): ConfigNode[] {
  return [node, ...nodesBelow(node).flatMap(listNodes)];
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
  for (const target of nodesBelow(config)) {
    if (countBelow(target) <= limits.nested) continue;
    const message = `must have at most ${limits.nested} entries in all (MAX_NESTED_CONFIG_TARGETS)`;
    found.push({ path: `${target.path.replace(/^config\./, "")}.targets`, message });
  }
  return found;
}

/** Number of parameters of all nodes including inherited ones; those shared by reference count once. */
function countParams(node: ConfigNode, above: number): number {
  const { overrideParams, defaultParams, dropParams } = node;
  const own = Object.keys(overrideParams).length + Object.keys(defaultParams).length + dropParams.length;
  const here = above + own;
  return nodesBelow(node).reduce((sum, target) => sum + countParams(target, here), own === 0 ? 0 : here);
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
function mergeDown(node: ConfigNode, above: InheritedSettings, promptAbove?: string): ConfigNode {
  const merged = inherit(above, node);
  const promptId = node.promptId ?? promptAbove;
  const targets = node.targets.map((target) => mergeDown(target, merged, promptId));
  // these describe the provider of the original
  const ofShadow = { ...merged, customHost: undefined, labels: undefined };
  const shadow = node.shadow && { ...node.shadow, target: mergeDown(node.shadow.target, ofShadow) };
  return { ...node, promptId, merged, targets, shadow, strategy: withAffinity(node.strategy, targets) };
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
