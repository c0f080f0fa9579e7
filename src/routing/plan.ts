import { type BalanceInput, type Choice, chooseTarget, type LeftOut, presentTargets } from "./balance/choose.ts";
import type { MeasuredTarget } from "./balance/measured-call.ts";
import type { BalanceSettings } from "./balance/settings.ts";
import { ConditionError, ConditionWork, holds, type RequestFacts } from "./conditions.ts";
import type { BreakerSettings, ConfigNode, FallbackRules, InheritedSettings, StickySettings } from "./config.ts";
import { changesBody } from "./param-overrides.ts";
import { conversationOf, pickByAffinity, type StickyStore, stickyFields } from "./sticky.ts";

/** A call that may be made. */
export interface PlannedAttempt {
  /** Its leaf, whose `path` labels the attempt. */
  node: ConfigNode;
  /** The leaf's settings, including inherited ones. */
  settings: InheritedSettings;
  /** Its parameters change the body of a request. */
  changesBody: boolean;
  /** The leaf's circuit breaker settings; undefined without a circuit breaker. */
  breaker: BreakerSettings | undefined;
  /** Why it is in the plan, as readable text. */
  why: string;
  /** The targets of load balancers that its call is measured for; undefined without any. */
  measured?: readonly MeasuredTarget[] | undefined;
}

/** What is called in which order, and when the next one is. */
export type PlanNode =
  | { kind: "attempt"; attempt: PlannedAttempt }
  | ({ kind: "fallback"; children: readonly PlanNode[] } & FallbackRules);

/** An evaluated condition. */
interface ConditionResult {
  /** Its group. */
  label: string;
  query: unknown;
  matched: boolean;
  why: string;
}

/** What a group that goes by what is in the request decided for it. */
export interface AutoDecision {
  /** Name of the target. */
  target: string;
  by: "rule" | "classifier" | "score";
  reason: string;
}

/** A decision, and where it led. */
interface AutoChoice extends AutoDecision {
  /** Path of the group. */
  label: string;
  /** The target that stands for the largest model. */
  largest: ConfigNode;
}

/** A target whose model lacks what a request needs. */
interface UnfitTarget {
  label: string;
  reason: string;
}

/** The plan of a config for one request. */
export interface Plan {
  root: PlanNode;
  conditions: readonly ConditionResult[];
  /** Targets that were skipped, because their circuit is open, they are ejected, or they must not be called. */
  skipped: readonly LeftOut[];
  /** Targets that were skipped because their models lack what the request needs, and what that is. */
  unfit: readonly UnfitTarget[];
  /** What groups decided that go by what is in the request. */
  auto: readonly AutoChoice[];
}

/** Why a leaf must not be called; undefined where it may. */
export type RefusalOf = (leaf: ConfigNode) => Error | undefined;

/** Input of a plan besides the config. */
export interface PlanInput {
  facts: RequestFacts;
  /** By lower-case name. */
  headers: { get(name: string): string | undefined };
  /** The caller's key or token. */
  identity: string;
  /** Version of the config: sticky choices of other versions are ignored. */
  configId: string;
  /** A number in [0, 1). */
  random(): number;
  sticky: StickyStore;
  /** Whether the circuit of a leaf is open. */
  isOpen(leaf: ConfigNode, breaker: BreakerSettings): boolean;
  /** What load balancers that choose by measure need; only called where there is one. */
  balanceInput(): BalanceInput;
  /** Leaves whose models lack what the request needs, with the reason. Absent: none does. */
  unfit?: ReadonlyMap<ConfigNode, string> | undefined;
  /** What groups decided that go by what is in the request. Absent: nothing is known of it. */
  auto?: ReadonlyMap<ConfigNode, AutoDecision> | undefined;
  /** Absent: every leaf may be called. */
  refusalOf?: RefusalOf | undefined;
}

/** The config has no target for this request. */
export class PlanError extends Error {
  override readonly name: string = "PlanError";
  /** Path in the config. */
  readonly path: string;
  constructor(path: string, message: string) {
    super(message);
    this.path = path;
  }
}

/** No target of a node may be called for this request. */
export class RefusedTargetError extends PlanError {
  override readonly name = "RefusedTargetError";
  /** Why the first of them may not. */
  readonly refusal: Error;
  constructor(path: string, refusal: Error) {
    super(path, refusal.message);
    this.refusal = refusal;
  }
}

/**
 * Index chosen with probability proportional to its weight.
 *
 * @param weights Non-negative; at least one above zero.
 * @param random Returns a number in [0, 1).
 * @throws {RangeError} If every weight is zero.
 */
export function pickWeighted(weights: readonly number[], random: () => number): number {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  if (!(total > 0)) throw new RangeError("Cannot pick by weight: no weight is above zero");
  let rest = random() * total;
  let last = 0;
  for (const [index, weight] of weights.entries()) {
    if (weight === 0) continue;
    if (rest < weight) return index;
    rest -= weight;
    last = index;
  }
  return last; // the rest is lost to rounding
}

/** What a node inherits from its groups. */
interface Above {
  breaker: BreakerSettings | undefined;
  why: string;
  measured?: readonly MeasuredTarget[] | undefined;
}

/** Targets of a group: those that serve the request, and those of them whose circuits are closed. */
interface Candidates {
  fit: readonly ConfigNode[];
  usable: readonly ConfigNode[];
}

/** How a load balancer chooses. */
type Balancing = Extract<NonNullable<ConfigNode["strategy"]>, { mode: "loadbalance" }>;

/** The targets that can be chosen; for a load balancer, those with weight. */
function candidatesOf({ strategy, targets }: ConfigNode): readonly ConfigNode[] {
  return strategy?.mode === "loadbalance" ? targets.filter(({ weight }) => weight > 0) : targets;
}

/** One traversal of a config. */
class Planner {
  readonly #input: PlanInput;
  readonly #work = new ConditionWork();
  readonly conditions: ConditionResult[] = [];
  readonly skipped: LeftOut[] = [];
  readonly unfit: UnfitTarget[] = [];
  #balanceInput: BalanceInput | undefined;
  readonly auto: AutoChoice[] = [];

  constructor(input: PlanInput) {
    this.#input = input;
  }

  plan(node: ConfigNode, above: Above): PlanNode {
    const { strategy, targets, merged } = node;
    if (!strategy) {
      this.#requireAllowed(node);
      return { kind: "attempt", attempt: { node, settings: merged, changesBody: changesBody(merged), ...above } };
    }
    if (targets.length === 0) throw new PlanError(node.path, "Invalid config passed: there are no targets");
    const isConditional = strategy.mode === "conditional";
    // conditions choose by request, regardless of open circuits
    const watching = isConditional ? undefined : (strategy.breaker ?? above.breaker);
    const fit = isConditional ? targets : this.#fitting(this.#allowed(node, candidatesOf(node)));
    const closed = isConditional ? targets : this.#closed(fit, watching);
    // if the circuits of all targets are open, they are ignored
    const isBypassed = closed.length === 0;
    const usable = isBypassed ? fit : closed;
    const breaker = isBypassed ? undefined : watching;
    const { measured } = above;
    const below = (why: string): Above => ({ breaker, why, measured });
    switch (strategy.mode) {
      case "single": {
        const [first] = usable;
        return this.plan(first ?? this.#none(node), below("the only target of a single strategy"));
      }
      case "fallback": {
        const { onStatusCodes, onErrorCodes } = strategy;
        return { kind: "fallback", onStatusCodes, onErrorCodes, children: this.#planAll(usable, below) };
      }
      case "loadbalance": {
        const { target, why } = this.#balance(node, { fit, usable }, strategy);
        const { balance } = strategy;
        return this.plan(target, balance ? this.#measuring(target, balance, below(why)) : below(why));
      }
      case "auto": {
        const { target, why } = this.#decide(node, usable);
        return this.plan(target, below(why));
      }
      case "conditional": {
        const { target, why } = this.#choose(node, strategy);
        return this.plan(target, below(why));
      }
    }
  }

  /** The first reason why no call below a node may be made; undefined where one may. */
  #refusal(node: ConfigNode): Error | undefined {
    const { refusalOf } = this.#input;
    if (!refusalOf) return undefined;
    if (!node.strategy) return refusalOf(node);
    const below = candidatesOf(node).map((target) => this.#refusal(target));
    return below.every((refusal) => refusal !== undefined) ? below[0] : undefined;
  }

  #requireAllowed(leaf: ConfigNode): void {
    const refusal = this.#input.refusalOf?.(leaf);
    if (refusal) throw new RefusedTargetError(leaf.path, refusal);
  }

  /** The targets that may be called. */
  #allowed(node: ConfigNode, targets: readonly ConfigNode[]): readonly ConfigNode[] {
    if (!this.#input.refusalOf) return targets;
    let first: Error | undefined;
    const allowed = targets.filter((target) => {
      const refusal = this.#refusal(target);
      if (!refusal) return true;
      first ??= refusal;
      this.skipped.push({ path: target.path, why: refusal.message });
      return false;
    });
    if (allowed.length === 0 && first) throw new RefusedTargetError(node.path, first);
    return allowed;
  }

  /** Plans of the targets of a fallback, without dead ends. */
  #planAll(targets: readonly ConfigNode[], below: (why: string) => Above): PlanNode[] {
    const children: PlanNode[] = [];
    let failure: PlanError | undefined;
    for (const [index, target] of targets.entries()) {
      try {
        children.push(
          this.plan(target, below(index === 0 ? "first of a fallback" : `number ${index + 1} of a fallback`)),
        );
      } catch (error) {
        if (!(error instanceof PlanError)) throw error;
        failure ??= error;
      }
    }
    if (children.length === 0 && failure) throw failure;
    return children;
  }

  #none(node: ConfigNode): never {
    throw new PlanError(node.path, "Invalid config passed: there are no targets");
  }

  /** Whether the circuits of all calls below a node are open. */
  #isOpen(node: ConfigNode, breaker: BreakerSettings | undefined): boolean {
    const { strategy } = node;
    if (!strategy) return breaker !== undefined && this.#input.isOpen(node, breaker);
    if (strategy.mode === "conditional") return false;
    const own = strategy.breaker ?? breaker;
    const candidates = candidatesOf(node);
    return candidates.length > 0 && candidates.every((target) => this.#isOpen(target, own));
  }

  /** Why no call below a node can serve the request; undefined where one can. */
  #findLack(node: ConfigNode): string | undefined {
    const { strategy } = node;
    if (!strategy) return this.#input.unfit?.get(node);
    if (strategy.mode === "conditional") return undefined;
    const lacks = candidatesOf(node).map((target) => this.#findLack(target));
    return lacks.includes(undefined) ? undefined : lacks[0];
  }

  /** The targets whose models have what the request needs; all of them where none has. */
  #fitting(targets: readonly ConfigNode[]): readonly ConfigNode[] {
    if (!this.#input.unfit || targets.length < 2) return targets;
    const found = targets.map((target) => ({ target, lack: this.#findLack(target) }));
    const fit = found.flatMap(({ target, lack }) => (lack === undefined ? [target] : []));
    if (fit.length === 0) return targets;
    for (const { target, lack } of found) if (lack !== undefined) this.unfit.push({ label: target.path, reason: lack });
    return fit;
  }

  /** The targets whose circuits are not open. */
  #closed(targets: readonly ConfigNode[], breaker: BreakerSettings | undefined): readonly ConfigNode[] {
    const closed = targets.filter((target) => !this.#isOpen(target, breaker));
    if (closed.length === 0 || closed.length === targets.length) return closed;
    for (const target of targets) {
      if (!closed.includes(target)) this.skipped.push({ path: target.path, why: "its circuit breaker is open" });
    }
    return closed;
  }

  /** What load balancers that choose by measure need, made for the first of them. */
  get #measures(): BalanceInput {
    this.#balanceInput ??= this.#input.balanceInput();
    return this.#balanceInput;
  }

  /** A target whose calls are measured. */
  #measuring(target: ConfigNode, { ejection }: BalanceSettings, above: Above): Above {
    const measured = { measure: this.#measures.measureOf(target), ejection };
    return { ...above, measured: [...(above.measured ?? []), measured] };
  }

  #balance(node: ConfigNode, among: Candidates, strategy: Balancing): Choice {
    const { sticky, affinity, balance } = strategy;
    if (among.usable.length === 0) throw new PlanError(node.path, "Invalid config passed: no target has weight");
    const usable = balance ? this.#present(among, balance) : among.usable;
    if (sticky) return this.#stick(node, usable, { sticky, balance });
    const own = affinity ? pickByAffinity(usable, this.#conversation()) : undefined;
    if (own) return { target: own, why: "the conversation's target by affinity" };
    return this.#draw(usable, balance);
  }

  #present({ fit, usable }: Candidates, balance: BalanceSettings): readonly ConfigNode[] {
    const { present, left } = presentTargets({ targets: fit, closed: usable }, balance, this.#measures);
    this.skipped.push(...left);
    return present;
  }

  /** The decided target; where it cannot be used, the next larger one, else the next smaller one. */
  #decide(node: ConfigNode, usable: readonly ConfigNode[]): { target: ConfigNode; why: string } {
    const { targets } = node;
    const largest = targets.at(-1) ?? this.#none(node);
    const unknown = { target: largest.name ?? "", by: "rule", reason: "nothing is known of the request" } as const;
    const decision = this.#input.auto?.get(node) ?? unknown;
    const place = targets.findIndex(({ name }) => name === decision.target);
    const order = [...targets.slice(Math.max(place, 0)), ...targets.slice(0, Math.max(place, 0)).reverse()];
    const target = order.find((one) => usable.includes(one)) ?? largest;
    const isOther = target.name !== decision.target;
    const reason = isOther ? `${decision.reason}; ${decision.target} cannot be used` : decision.reason;
    this.auto.push({ ...decision, target: target.name ?? "", reason, label: node.path, largest });
    return { target, why: `auto, by ${decision.by}: ${reason}` };
  }

  #conversation(): string {
    return `${this.#input.identity} ${conversationOf(this.#input)}`;
  }

  #shareOf(targets: readonly ConfigNode[]): string {
    const total = targets.reduce((sum, { weight }) => sum + weight, 0);
    return `drawn by weight among ${targets.length} targets of total weight ${total}`;
  }

  #draw(targets: readonly ConfigNode[], balance: BalanceSettings | undefined): Choice {
    if (balance) return chooseTarget(targets, balance, this.#measures);
    const index = pickWeighted(
      targets.map(({ weight }) => weight),
      this.#input.random,
    );
    const target = targets[index];
    if (!target) throw new RangeError("Cannot draw a target: the index is out of range");
    return { target, why: this.#shareOf(targets) };
  }

  #stick(
    node: ConfigNode,
    usable: readonly ConfigNode[],
    { sticky: { hashFields, ttlSeconds }, balance }: { sticky: StickySettings; balance: BalanceSettings | undefined },
  ): Choice {
    const { identity, configId, sticky } = this.#input;
    const key = JSON.stringify([configId, node.path, identity, ...stickyFields(hashFields, this.#input)]);
    const index = sticky.get(key);
    const known = index === undefined ? undefined : node.targets[index];
    if (known && usable.includes(known)) return { target: known, why: "remembered (sticky)" };
    const { target, why } = this.#draw(usable, balance);
    // the choice is remembered: requests return once its target is called again
    if (known) return { target, why: `${why}, while the remembered one is left out` };
    sticky.set(key, node.targets.indexOf(target), ttlSeconds);
    return { target, why: `${why}, remembered from now on` };
  }

  #choose(
    node: ConfigNode,
    strategy: Extract<NonNullable<ConfigNode["strategy"]>, { mode: "conditional" }>,
  ): { target: ConfigNode; why: string } {
    const find = (name: string): ConfigNode => {
      const target = node.targets.find((one) => one.name === name);
      if (target) return target;
      throw new PlanError(node.path, `Invalid target name found in the query router: ${name}`);
    };
    for (const { query, written, then } of strategy.conditions) {
      const matched = holds(query, this.#input.facts, this.#work);
      const why = matched ? `every part of the query matches: ${then}` : "a part of the query does not match";
      this.conditions.push({ label: node.path, query: written, matched, why });
      if (matched) return { target: find(then), why: `condition for ${then} matched` };
    }
    if (strategy.default === undefined) {
      throw new PlanError(node.path, "Query router did not resolve to any valid target");
    }
    return { target: find(strategy.default), why: "no condition matched: the default" };
  }
}

/**
 * Plans the calls for one request: which, in which order and with which settings. Pure: randomness, time and state are
 * passed in.
 *
 * @throws {PlanError} If the config has no target for this request.
 */
export function planAttempts(config: ConfigNode, input: PlanInput): Plan {
  const planner = new Planner(input);
  const why = "the config itself";
  try {
    const root = planner.plan(config, { breaker: config.strategy?.breaker, why });
    const { conditions, skipped, unfit, auto } = planner;
    return { root, conditions, skipped, unfit, auto };
  } catch (error) {
    if (error instanceof ConditionError) throw new PlanError(config.path, error.message);
    throw error;
  }
}

/** Whether the plan of a config is the same for every request: no randomness, conditions, or circuit breakers. */
export function isFixed({ strategy, targets }: ConfigNode): boolean {
  if (!strategy) return true;
  const isChoice = ["loadbalance", "conditional", "auto"].includes(strategy.mode);
  return !isChoice && !strategy.breaker && targets.every(isFixed);
}

/** Every attempt of a plan, in the order they are made if each fails. */
export function listAttempts(node: PlanNode): PlannedAttempt[] {
  return node.kind === "attempt" ? [node.attempt] : node.children.flatMap(listAttempts);
}
