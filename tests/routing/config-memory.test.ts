import assert from "node:assert/strict";
import { test } from "node:test";
import { noSavedGuardrails } from "../../src/guardrails/resolve.ts";
import { createGuardrails } from "../../src/guardrails/state.ts";
import { defaultTargetLimits } from "../../src/routing/config.ts";
import { createRoutingState } from "../../src/routing/state.ts";
import { checks } from "../support/guardrails.ts";

const mebibyte = 1024 * 1024;

function createState() {
  const guardrails = createGuardrails(checks, () => {});
  const routing = createRoutingState({
    limits: defaultTargetLimits,
    providers: {
      has: () => true,
      needsNoKey: () => true,
      hasSetting: () => true,
      hasCredential: () => false,
      neededCredentials: () => undefined,
    },
    findHookProblems: guardrails.findProblems,
    random: Math.random,
    now: () => 0,
  });
  /** Reads a config and finds its hooks, as a request does. */
  const use = (config: object, tenant?: string) => {
    const result = routing.read(JSON.stringify(config), tenant);
    assert.deepEqual(result?.problems ?? [], []);
    for (const node of [result?.config, ...(result?.config?.targets ?? [])]) {
      if (node) guardrails.of(node.merged.hooks, noSavedGuardrails);
    }
  };
  return { routing, guardrails, use };
}

const heavyPatterns = (index: number) => ({
  provider: "echo",
  input_guardrails: [
    Object.fromEntries(
      Array.from({ length: 19 }, (_, check) => [
        `c${check}`,
        { id: "regexMatch", rule: `(?:[a-f]?[g-k]?c?){80}x${index}${check}` },
      ]),
    ),
  ],
});
const manyTargets = (index: number) => ({
  strategy: { mode: "loadbalance" },
  targets: Array.from({ length: 100 }, (_, target) => ({ provider: "echo", name: `${index} ${target}` })),
});
const manySchemas = (index: number) => ({
  provider: "echo",
  output_guardrails: [{ jsonSchema: { schema: { $id: `${index}`, allOf: Array(5_000).fill({}) } } }],
});
const manyValues = (index: number) => ({ provider: "echo", override_params: { index, list: Array(15_000).fill({}) } });

for (const [name, make] of Object.entries({ heavyPatterns, manyTargets, manySchemas, manyValues })) {
  test(`configs that are remembered take a bounded amount of memory: ${name}`, () => {
    const { routing, use } = createState();
    for (let index = 0; index < 60; index++) use(make(index), `tenant ${index % 3}`);
    assert.ok(routing.remembered.weight <= 64 * mebibyte, `${routing.remembered.weight}`);
    assert.ok(routing.remembered.size > 0);
  });
}

test("many configs with large patterns take less than 300 MiB", () => {
  const { routing, use } = createState();
  use(heavyPatterns(-1));
  const before = process.memoryUsage().rss;
  for (let index = 0; index < 400; index++) use(heavyPatterns(index));
  assert.ok(routing.remembered.weight <= 64 * mebibyte);
  const grown = process.memoryUsage().rss - before;
  assert.ok(grown < 300 * mebibyte, `${Math.round(grown / mebibyte)} MiB`);
});

test("configs of one tenant do not push out those of another", () => {
  const { routing, use } = createState();
  use({ provider: "echo", override_params: { seed: 7 } }, "quiet");
  const kept = routing.read('{"provider":"echo","override_params":{"seed":7}}', "quiet");
  for (let index = 0; index < 60; index++) use(manyValues(index), "loud");
  assert.equal(routing.read('{"provider":"echo","override_params":{"seed":7}}', "quiet"), kept);
});

test("targets of a config share the hooks above them", () => {
  const { routing, guardrails } = createState();
  const config = {
    ...heavyPatterns(0),
    strategy: { mode: "fallback" },
    targets: [{ provider: "echo" }, { provider: "echo", output_guardrails: [{ notNull: {} }] }],
  };
  const targets = routing.read(JSON.stringify(config))?.config?.targets ?? [];
  const [first, second] = targets.map(({ merged }) => guardrails.of(merged.hooks, noSavedGuardrails)?.before[0]);
  assert.equal(first?.checks.length, 19);
  assert.equal(first?.checks[0], second?.checks[0]);
});

test("a config's patterns are bounded over all of its targets", () => {
  const { routing } = createState();
  const hook = { regexMatch: { rule: "(?:.?){900}x" } };
  const config = {
    strategy: { mode: "fallback" },
    targets: Array.from({ length: 10 }, () => ({ provider: "echo", input_guardrails: [hook] })),
  };
  const { problems } = routing.read(JSON.stringify(config)) ?? {};
  assert.match(problems?.[0]?.message ?? "", /too many or too large patterns/);
  assert.match(problems?.[0]?.path ?? "", /^targets\[5\]/);
});

test("a config's parameters are bounded over all targets that inherit them", () => {
  const { routing } = createState();
  const config = {
    override_params: Object.fromEntries(Array.from({ length: 900 }, (_, index) => [`p${index}`, 1])),
    strategy: { mode: "loadbalance" },
    targets: Array.from({ length: 100 }, () => ({ provider: "echo" })),
  };
  assert.equal(routing.read(JSON.stringify(config))?.problems, undefined);
  const own = config.targets.map((target, index) => ({
    ...target,
    override_params: { own: index, ...Object.fromEntries(Array.from({ length: 100 }, (_, name) => [`q${name}`, 1])) },
  }));
  const { problems } = routing.read(JSON.stringify({ ...config, targets: own })) ?? {};
  assert.match(problems?.[0]?.message ?? "", /not have more than 100000 parameters/);
});
