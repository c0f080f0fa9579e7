import assert from "node:assert/strict";
import fc from "fast-check";
import { toKnownProviders } from "../../src/gateway/provider-rules.ts";
import { createProviderRegistry } from "../../src/providers/registry.ts";
import type { BalanceInput } from "../../src/routing/balance/choose.ts";
import { createMeasures } from "../../src/routing/balance/measures.ts";
import { type ConfigNode, defaultTargetLimits, type TargetLimits } from "../../src/routing/config.ts";
import type { PlanInput } from "../../src/routing/plan.ts";
import type { ConfigProblem } from "../../src/routing/problem.ts";
import { type ReadConfigOptions, readConfig } from "../../src/routing/read-config.ts";
import { createStickyStore } from "../../src/routing/sticky.ts";
import { createRandom } from "./gateway.ts";

/** Seed of every property here; a failure prints it again, with the path to the case. */
export const seed = 20_260_114;
fc.configureGlobal({ seed });

/** Name of a property test, with what makes it repeatable. */
export function seeded(name: string): string {
  return `${name} (seed ${seed})`;
}

/** A JSON object. */
export type Json = Record<string, unknown>;

const providers = new Set(["openai", "anthropic", "ollama", "vertex-ai", "bedrock", "azure-openai"]);

const knownProviders = toKnownProviders(createProviderRegistry());

/** What configs are read with. */
export function readOptions(strict: boolean, limits: Partial<TargetLimits> = {}): ReadConfigOptions {
  return {
    strict,
    limits: { ...defaultTargetLimits, ...limits },
    providers: {
      ...knownProviders,
      has: (slug) => providers.has(slug),
    },
  };
}

/** A config that must be valid. */
export function toConfig(value: unknown, strict = false): ConfigNode {
  const { config, problems } = readConfig(value, readOptions(strict));
  assert.deepEqual(problems, undefined);
  assert.ok(config);
  return config;
}

/** What is wrong with a config, by path. */
export function problemsOf(value: unknown, strict = false, limits: Partial<TargetLimits> = {}): ConfigProblem[] {
  return readConfig(value, readOptions(strict, limits)).problems ?? [];
}

/** What is wrong with a config, as `path: message`. */
export function linesOf(value: unknown, strict = false, limits: Partial<TargetLimits> = {}): string[] {
  return problemsOf(value, strict, limits).map(({ path, message }) => `${path}: ${message}`);
}

/** A world in which nothing was measured, unless measures are given. */
export function balanceInput(changes: Partial<BalanceInput> = {}, measures = createMeasures()): BalanceInput {
  return {
    now: 0,
    random: createRandom(seed),
    isStreamed: false,
    measureOf: (target) => measures.of(target, "", ({ path }) => path),
    priceOf: () => undefined,
    healthProblemOf: () => undefined,
    ...changes,
  };
}

/** A request and a world in which nothing is special. */
export function planInput(changes: Partial<PlanInput> = {}): PlanInput {
  return {
    facts: { metadata: {}, params: {}, pathname: "/v1/chat/completions" },
    headers: new Map(),
    identity: "key-1",
    configId: "config-1",
    random: createRandom(seed),
    sticky: createStickyStore(() => 0),
    isOpen: () => false,
    balanceInput: () => balanceInput(),
    ...changes,
  };
}

/** A clock that is moved by hand. */
export function createClock(start = 0): { now: () => number; pass(ms: number): void } {
  let time = start;
  return {
    now: () => time,
    pass(ms) {
      time += ms;
    },
  };
}

const parameters = fc.dictionary(fc.constantFrom("a", "b", "c", "model"), fc.integer({ min: 0, max: 9 }), {
  maxKeys: 3,
});
const hook = fc.record({ id: fc.constantFrom("h1", "h2", "h3") });
const hooks = fc.array(hook, { maxLength: 2 });

/** Settings any node may have, in the spelling of the wire. */
export const settings = fc.record(
  {
    retry: fc.record({
      attempts: fc.integer({ min: 0, max: 5 }),
      on_status_codes: fc.subarray([429, 500, 503]),
      use_retry_after_headers: fc.boolean(),
    }),
    cache: fc.record({ mode: fc.constantFrom("simple", "semantic"), max_age: fc.integer({ min: 60, max: 90 }) }),
    request_timeout: fc.integer({ min: 1, max: 9 }),
    total_timeout: fc.integer({ min: 1, max: 9 }),
    labels: fc.constantFrom({ region: "eu" }, { region: "us", zero_retention: true }, { team: "a" }),
    require_labels: fc.constantFrom({ region: ["eu", "us"] }, { zero_retention: true }),
    prompt_cache: fc.constantFrom<unknown>(false, { ttl: "5m" }, { ttl: "1h" }),
    stream_idle_timeout: fc.integer({ min: 1, max: 9 }),
    custom_host: fc.constantFrom("https://a.example", "https://b.example"),
    forward_headers: fc.subarray(["x-a", "x-b"]),
    strict_open_ai_compliance: fc.boolean(),
    requires: fc.subarray(["context", "tools", "images"]),
    override_params: parameters,
    default_params: parameters,
    drop_params: fc.subarray(["a", "b.c", "d[0]"]),
    before_request_hooks: hooks,
    after_request_hooks: hooks,
    input_guardrails: hooks,
    output_guardrails: hooks,
    input_mutators: hooks,
    output_mutators: hooks,
  },
  { requiredKeys: [] },
);

/** Metadata conditions below ask for. */
export const requestMetadata = fc.record(
  { tier: fc.constantFrom("free", "paid"), size: fc.integer({ min: 0, max: 3 }) },
  { requiredKeys: [] },
);

const breaker = fc.record({
  failure_threshold: fc.integer({ min: 1, max: 9 }),
  cooldown_interval: fc.constantFrom(30_000, 60_000),
});

const query = fc.constantFrom<Json>(
  { "metadata.tier": "free" },
  { "metadata.tier": { $ne: "free" } },
  { "metadata.size": { $gte: 2 } },
  { $or: [{ "metadata.size": 0 }, { "metadata.tier": "paid" }] },
);

function strategyOf(targets: readonly Json[], isTotal: boolean): fc.Arbitrary<Json> {
  const name = fc.constantFrom(...targets.map((target) => String(target.name)));
  const cb_config = fc.option(breaker, { nil: undefined, freq: 2 });
  const conditions = fc.array(fc.record({ query, then: name }), { minLength: 1, maxLength: 3 });
  return fc.oneof(
    fc.record({ mode: fc.constant("single"), cb_config }),
    fc.record({
      mode: fc.constant("fallback"),
      on_status_codes: fc.constantFrom(undefined, [429], [500, 503]),
      cb_config,
    }),
    fc.record({ mode: fc.constant("loadbalance"), affinity: fc.constant(false), cb_config }),
    fc.record({
      mode: fc.constant("conditional"),
      conditions,
      default: isTotal ? name : fc.option(name, { nil: undefined }),
    }),
  );
}

/**
 * Random configs of groups in groups.
 *
 * @param depth Most levels of groups.
 * @param isTotal Whether every condition has a default, so that each request finds a target.
 */
export function configs(depth: number, isTotal: boolean): fc.Arbitrary<Json> {
  // as they would come over the wire, without members that are undefined
  return nodes(depth, depth, isTotal).map((node) => JSON.parse(JSON.stringify(node)) as Json);
}

function nodes(depth: number, most: number, isTotal: boolean): fc.Arbitrary<Json> {
  const leaf = settings.map((own): Json => ({ ...own, provider: "@stored" }));
  if (depth === 0) return leaf;
  const weight = fc.constantFrom(undefined, 0, 0.05, 0.95, 1, 3, 5);
  const target = fc.tuple(nodes(depth - 1, most, isTotal), weight);
  const group = fc.array(target, { minLength: 1, maxLength: 3 }).chain((chosen) => {
    const targets = chosen.map(([node, weight], index) => ({
      ...node,
      name: `t${index}`,
      ...(weight === undefined ? {} : { weight }),
    }));
    // a load balancer needs one target with weight
    if (targets.every(({ weight }) => weight === 0)) Object.assign(targets[0] ?? {}, { weight: 2 });
    return fc.tuple(settings, strategyOf(targets, isTotal)).map(([own, strategy]) => ({ ...own, strategy, targets }));
  });
  return depth === most ? group : fc.oneof(leaf, group);
}
