import { type ExactNumbers, type ExactValue, holdsInfinite, parseExact } from "../lib/exact-numbers.ts";
import { countValues, findJsonExcess } from "../lib/json.ts";
import { WeightedCache } from "../lib/weighted-cache.ts";
import type { MeasureExchange } from "./balance/exchange.ts";
import { createHealthChecks, type HealthChecks } from "./balance/health.ts";
import { createMeasures, type Measures } from "./balance/measures.ts";
import { type BreakerEvent, type Breakers, createBreakers } from "./breaker.ts";
import type { ConfigNode, TargetLimits } from "./config.ts";
import { type ReadConfigOptions, type ReadConfigResult, readConfig } from "./read-config.ts";
import { createRetryBudget, type RetryBudget } from "./retry.ts";
import { createStickyStore, type StickyChoice, type StickyStore } from "./sticky.ts";

/** What a process remembers of its calls, for the others of its gateway. */
export type RoutingEvent = { readonly breaker: BreakerEvent } | { readonly sticky: StickyChoice };

/** State of routing between requests. */
export interface RoutingState {
  readonly breakers: Breakers;
  /** What is measured of targets of load balancers. */
  readonly measures: Measures;
  /** The health of hosts that load balancers check. */
  readonly health: HealthChecks;
  /** Shares them among processes; absent without Redis. */
  readonly measureExchange?: MeasureExchange | undefined;
  readonly budget: RetryBudget;
  readonly sticky: StickyStore;
  /** Applies what another process of the gateway remembers. */
  follow(event: RoutingEvent): void;
  readonly limits: TargetLimits;
  /** Options for reading a config before it is saved. */
  readonly strictOptions: ReadConfigOptions;
  /** A number in [0, 1). */
  random(): number;
  /**
   * Reads the JSON text of a config, cached by text. Undefined when it is not JSON.
   *
   * @param tenant Whose share of the cache it uses.
   */
  read(text: string, tenant?: string): ReadConfigResult | undefined;
  /** The empty config: one attempt without retries. */
  readonly plainConfig: ConfigNode;
  /** How many configs are cached, and their bytes, roughly. */
  readonly remembered: { readonly size: number; readonly weight: number };
}

/** Options of the state. */
interface RoutingStateOptions {
  limits: TargetLimits;
  providers: ReadConfigOptions["providers"];
  findHookProblems: NonNullable<ReadConfigOptions["findHookProblems"]>;
  random(): number;
  /** Milliseconds of a monotonic clock. */
  now(): number;
  /** Receives what the other processes of the gateway should know. Absent: no others run. */
  publish?: ((event: RoutingEvent) => void) | undefined;
}

/** Bytes of all cached configs, roughly, and the longest config text. */
const maxWeight = 64 * 1024 * 1024;
const maxTextLength = 64 * 1024;
/** Least bytes of a cache entry, and of a JSON value with its result. */
const leastWeight = 4_000;
const valueWeight = 400;

/** Limits on the structure of a config. */
const configLimits = { depth: 64, values: 20_000, keys: 1_000 };
const encoder = new TextEncoder();

/** Which limit a config's JSON text exceeds, if any. */
export function findConfigExcess(text: string): string | undefined {
  return findJsonExcess(encoder.encode(text), configLimits);
}

const numbersOf = new WeakMap<ConfigNode, ExactNumbers>();

/** Replacements for numbers of a config that lose precision; undefined without such numbers. */
export function numbersOfConfig(config: ConfigNode): ExactNumbers | undefined {
  return numbersOf.get(config);
}

/** Parses a config's text; undefined where it is not JSON. */
function parseWritten(text: string): ExactValue | undefined {
  try {
    return parseExact(text);
  } catch {
    return undefined;
  }
}

/** Reads configs and caches the results. */
function createReader(options: ReadConfigOptions) {
  const known = new WeightedCache<ReadConfigResult>(maxWeight);
  const readNew = (text: string): { result: ReadConfigResult; weight: number } | undefined => {
    // first: text that is nested too deep must not be parsed
    const excess = findConfigExcess(text);
    if (excess !== undefined) {
      const result = { problems: [{ path: "", message: `has ${excess}` }], weight: 0 };
      return { result, weight: leastWeight + 2 * text.length };
    }
    const parsed = parseWritten(text);
    if (!parsed) return undefined;
    const { value, numbers } = parsed;
    if (numbers?.infinite !== undefined || holdsInfinite(value)) {
      const result = { problems: [{ path: "", message: "has a number that is not finite" }], weight: 0 };
      return { result, weight: leastWeight + 2 * text.length };
    }
    const result = readConfig(value, options);
    if (numbers && result.config) numbersOf.set(result.config, numbers);
    return { result, weight: leastWeight + 6 * text.length + valueWeight * countValues(value) + result.weight };
  };
  const read = (text: string, tenant = ""): ReadConfigResult | undefined => {
    const found = known.get(text);
    if (found) return found;
    const made = readNew(text);
    if (made && text.length <= maxTextLength) known.set(text, made.result, { owner: tenant, weight: made.weight });
    return made?.result;
  };
  return { read, known };
}

/** Creates the state of a gateway. */
export function createRoutingState(options: RoutingStateOptions): RoutingState {
  const { limits, providers, findHookProblems, random, now, publish } = options;
  const { read, known } = createReader({ limits, providers, findHookProblems, strict: false });
  const plainConfig = readConfig(
    { retry: { attempts: 0 } },
    { limits, providers, findHookProblems, strict: false },
  ).config;
  if (!plainConfig) throw new TypeError("Cannot read the empty config");
  const breakers = createBreakers(now, publish && ((breaker) => publish({ breaker })));
  const sticky = createStickyStore(now, publish && ((choice) => publish({ sticky: choice })));
  return {
    plainConfig,
    breakers,
    measures: createMeasures(),
    health: createHealthChecks(now),
    budget: createRetryBudget(now),
    sticky,
    follow(event) {
      if ("breaker" in event) breakers.follow(event.breaker);
      else sticky.follow(event.sticky);
    },
    limits,
    strictOptions: { limits, providers, findHookProblems, strict: true },
    random,
    read,
    remembered: known,
  };
}
