import { memoizeText } from "../lib/bounded-map.ts";
import { type ExactNumbers, holdsInfinite, parseExact } from "../lib/exact-numbers.ts";
import { findJsonExcess, parseJson } from "../lib/json.ts";
import { type Breakers, createBreakers } from "./breaker.ts";
import type { ConfigNode, TargetLimits } from "./config.ts";
import type { Plan } from "./plan.ts";
import { type ReadConfigOptions, type ReadConfigResult, readConfig } from "./read-config.ts";
import { createRetryBudget, type RetryBudget } from "./retry.ts";
import { createStickyStore, type StickyStore } from "./sticky.ts";

/** What routing remembers between requests. */
export interface RoutingState {
  readonly breakers: Breakers;
  readonly budget: RetryBudget;
  readonly sticky: StickyStore;
  readonly limits: TargetLimits;
  /** How a config is read before it is saved. */
  readonly strictOptions: ReadConfigOptions;
  /** A number in [0, 1). */
  random(): number;
  /** What a config's JSON text says; read once for each distinct text. Undefined when it is no JSON. */
  read(text: string): ReadConfigResult | undefined;
  /** Plans of configs that mean the same for every request. */
  readonly fixedPlans: WeakMap<ConfigNode, Plan>;
  /** Views of workspaces against which the leaves of a config were checked: neither of the two ever changes. */
  readonly checkedFor: WeakMap<ConfigNode, WeakSet<object>>;
}

/** What the state is made from. */
export interface RoutingStateOptions {
  limits: TargetLimits;
  providers: ReadConfigOptions["providers"];
  findHookProblems: NonNullable<ReadConfigOptions["findHookProblems"]>;
  random(): number;
  /** Milliseconds of a monotonic clock. */
  now(): number;
}

/** Texts that are remembered, and how long they may be. */
const maxTexts = 1_000;
const maxTextLength = 64 * 1024;

/** Bounds on the structure of a config. */
const configLimits = { depth: 64, values: 20_000, keys: 1_000 };
const encoder = new TextEncoder();

/** What of a config's JSON text is too large or too deep, if anything is. */
export function findConfigExcess(text: string): string | undefined {
  return findJsonExcess(encoder.encode(text), configLimits);
}

const numbersOf = new WeakMap<ConfigNode, ExactNumbers>();

/** What stands in a config for numbers that cannot be held; undefined where it has none of them. */
export function numbersOfConfig(config: ConfigNode): ExactNumbers | undefined {
  return numbersOf.get(config);
}

/** Creates the state of a gateway. */
export function createRoutingState(options: RoutingStateOptions): RoutingState {
  const { limits, providers, findHookProblems, random, now } = options;
  const read = memoizeText(
    maxTexts,
    (text): ReadConfigResult | undefined => {
      if (parseJson(text) === undefined) return undefined;
      const excess = findConfigExcess(text);
      if (excess !== undefined) return { problems: [{ path: "", message: `has ${excess}` }] };
      const { value, numbers } = parseExact(text);
      if (numbers?.infinite !== undefined || holdsInfinite(value)) {
        return { problems: [{ path: "", message: "has a number that is not finite" }] };
      }
      const result = readConfig(value, { limits, providers, findHookProblems, strict: false });
      if (numbers && result.config) numbersOf.set(result.config, numbers);
      return result;
    },
    maxTextLength,
  );
  return {
    breakers: createBreakers(now),
    budget: createRetryBudget(now),
    sticky: createStickyStore(now),
    limits,
    strictOptions: { limits, providers, findHookProblems, strict: true },
    random,
    fixedPlans: new WeakMap(),
    checkedFor: new WeakMap(),
    read,
  };
}
