import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { ConfigNode } from "../../src/routing/config.ts";
import {
  listAttempts,
  PlanError,
  type PlanInput,
  type PlanNode,
  type PlannedAttempt,
  pickWeighted,
  planAttempts,
} from "../../src/routing/plan.ts";
import { createRandom } from "../support/gateway.ts";
import { configs, type Json, linesOf, planInput, requestMetadata, seed, seeded, toConfig } from "../support/routing.ts";
import {
  canFail,
  expectedSettings,
  expectedThreshold,
  groupOf,
  isAllowed,
  isFullyOpen,
  leavesOf,
  nodesTo,
  sharesOf,
} from "../support/routing-reference.ts";

function tryPlan(config: ConfigNode, input: PlanInput) {
  try {
    return planAttempts(config, input);
  } catch (error) {
    assert.ok(error instanceof PlanError);
    return error;
  }
}

const nested = configs(4, false);
const requests = fc.record({ metadata: requestMetadata, start: fc.nat() });
const inputFor = (metadata: Json, start: number, more: Partial<PlanInput> = {}) =>
  planInput({ facts: { metadata, params: {}, pathname: "/" }, random: createRandom(start), ...more });

test(seeded("planAttempts() visits what the config allows and nothing else"), () => {
  let [planned, failed] = [0, 0];
  fc.assert(
    fc.property(nested, requests, (written, { metadata, start }) => {
      const plan = tryPlan(toConfig(written, true), inputFor(metadata, start));
      if (plan instanceof PlanError) {
        failed++;
        assert.ok(canFail(written, metadata), plan.message);
        return;
      }
      planned++;
      assert.ok(isAllowed(plan.root, written, "config", metadata));
      assert.deepEqual(plan.skipped, []);
      const labels = listAttempts(plan.root).map(({ node }) => node.path);
      assert.equal(new Set(labels).size, labels.length);
    }),
    { numRuns: 250 },
  );
  assert.ok(planned > 100 && failed > 0, `${planned} planned, ${failed} failed`);
});

test(seeded("planAttempts() never loses an inherited value"), () => {
  fc.assert(
    fc.property(nested, requests, (written, { metadata, start }) => {
      const plan = tryPlan(toConfig(written), inputFor(metadata, start));
      if (plan instanceof PlanError) return;
      for (const { node, settings, breaker } of listAttempts(plan.root)) {
        const nodes = nodesTo(written, node.path);
        const found = { ...settings, dropParams: [...settings.dropParams].sort() };
        assert.deepEqual(found, expectedSettings(nodes), node.path);
        assert.equal(breaker?.failureThreshold, expectedThreshold(nodes), node.path);
      }
    }),
    { numRuns: 200 },
  );
});

test(seeded("planAttempts() goes round open targets wherever another one is left"), () => {
  let skipped = 0;
  fc.assert(
    fc.property(nested, requests, fc.nat(), (written, { metadata, start }, chance) => {
      const draw = createRandom(chance);
      const open = new Set(leavesOf(written).filter(() => draw() < 0.5));
      const input = inputFor(metadata, start, { isOpen: ({ path }) => open.has(path) });
      const plan = tryPlan(toConfig(written), input);
      if (plan instanceof PlanError) return;
      skipped += plan.skipped.length;
      for (const { node: leaf } of listAttempts(plan.root)) {
        const nodes = nodesTo(written, leaf.path);
        for (let level = 1; level < nodes.length; level++) {
          const group = groupOf(nodes[level - 1] ?? {});
          const path = leaf.path
            .split(".")
            .slice(0, level + 1)
            .join(".");
          if (!group || group.mode === "conditional") continue;
          const isOpen = isFullyOpen(nodes.slice(0, level + 1), path, open);
          const parent = isFullyOpen(nodes.slice(0, level), path.replace(/\.targets\[\d+\]$/, ""), open);
          assert.equal(isOpen && !parent, false, `${leaf.path} although ${path} is open`);
          assert.ok(!plan.skipped.some((one) => one.path === path), `${path} is used and skipped`);
        }
      }
    }),
    { numRuns: 250 },
  );
  assert.ok(skipped > 50, `only ${skipped} were skipped`);
});

const draws = 100_000;

test(seeded(`planAttempts() keeps to the weights within 3 sigma over ${draws} draws`), () => {
  const balanced = configs(4, true).filter((written) => sharesOf(written, "config", {}).length > 2);
  fc.assert(
    fc.property(balanced, (written) => {
      const config = toConfig(written);
      const input = planInput();
      const counts = new Map<string, number>();
      for (let draw = 0; draw < draws; draw++) {
        let { root } = planAttempts(config, input);
        while (root.kind === "fallback") root = root.children[0] as PlanNode; // a fallback has children
        const label = root.attempt.node.path;
        counts.set(label, (counts.get(label) ?? 0) + 1);
      }
      let sum = 0;
      for (const [label, share] of sharesOf(written, "config", {})) {
        const count = counts.get(label) ?? 0;
        sum += count;
        const deviation = Math.sqrt(draws * share * (1 - share));
        assert.ok(Math.abs(count - draws * share) <= 3 * deviation, `${label}: ${count}, wanted ${draws * share}`);
      }
      assert.equal(sum, draws);
    }),
    { numRuns: 3 },
  );
});

for (const weights of [
  [5, 3, 1],
  [0.95, 0.05],
  [1, 0, 1],
  [1e-9, 3e-9],
  [1e12, 1e12],
  [0, 0, 1],
]) {
  test(`pickWeighted() keeps to the weights ${weights.join(", ")} within 3 sigma over ${draws} draws (seed ${seed})`, () => {
    const random = createRandom(seed);
    const counts = weights.map(() => 0);
    for (let draw = 0; draw < draws; draw++) {
      const index = pickWeighted(weights, random);
      counts[index] = (counts[index] ?? 0) + 1;
    }
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    for (const [index, weight] of weights.entries()) {
      const share = weight / total;
      const off = Math.abs((counts[index] ?? 0) - draws * share);
      assert.ok(off <= 3 * Math.sqrt(draws * share * (1 - share)), `${index}: ${counts[index]}, wanted ${share}`);
    }
  });
}

for (const [random, expected] of [
  [0, 1],
  [0.24, 1],
  [0.25, 3],
  [1 - Number.EPSILON, 3],
] as const) {
  test(`pickWeighted() picks ${expected} for 0:1:0:3:0 at ${random}`, () => {
    assert.equal(
      pickWeighted([0, 1, 0, 3, 0], () => random),
      expected,
    );
  });
}

test("pickWeighted() never picks a weight of zero, also when rounding eats the rest", () => {
  assert.equal(
    pickWeighted([1, 3, 0], () => 1),
    1,
  );
});

test("pickWeighted() refuses weights of which none is above zero", () => {
  for (const weights of [[], [0, 0], [Number.NaN]]) assert.throws(() => pickWeighted(weights, () => 0), RangeError);
});

const leaf = { provider: "@a" };
const named = (...names: string[]) => names.map((name) => ({ ...leaf, name }));
const group = (mode: string, targets: readonly Json[] = [leaf, leaf, leaf], more: Json = {}): Json => ({
  strategy: { mode, ...more },
  targets,
});

/** Labels of a plan without their common beginning, in the order they are tried. */
function labelsOf(written: Json, input: Partial<PlanInput> = {}): string[] {
  const plan = tryPlan(toConfig(written), planInput({ random: () => 0.5, ...input }));
  if (plan instanceof PlanError) return [`${plan.path}: ${plan.message}`];
  return listAttempts(plan.root).map(({ node }) => node.path.replaceAll("targets", "").replace("config.", ""));
}

const tier = (name: string): Json => ({ "metadata.tier": name });
const choice = (otherwise?: string): Json =>
  group("conditional", named("a", "b"), { conditions: [{ query: tier("b"), then: "b" }], default: otherwise });
const factsFor = (metadata: Json) => ({ facts: { metadata, params: {}, pathname: "/" } });

for (const [what, written, input, expected] of [
  ["a leaf", leaf, {}, ["config"]],
  ["single", group("single"), {}, ["[0]"]],
  ["fallback", group("fallback"), {}, ["[0]", "[1]", "[2]"]],
  ["loadbalance", group("loadbalance"), {}, ["[1]"]],
  ["a condition that holds", choice(), factsFor({ tier: "b" }), ["[1]"]],
  ["no condition that holds", choice("a"), factsFor({ tier: "c" }), ["[0]"]],
  ["no condition and no default", choice(), {}, ["config: Query router did not resolve to any valid target"]],
  ["groups in groups", group("fallback", [leaf, group("fallback", [leaf, leaf])]), {}, ["[0]", "[1].[0]", "[1].[1]"]],
  ["a fallback with a target that leads nowhere", group("fallback", [choice(), leaf]), {}, ["[1]"]],
  [
    "a fallback of which all lead nowhere",
    group("fallback", [choice(), choice()]),
    {},
    ["config.targets[0]: Query router did not resolve to any valid target"],
  ],
] as const) {
  test(`planAttempts() plans ${what}`, () => {
    assert.deepEqual(labelsOf(written, input), expected);
  });
}

const watched = { cb_config: { failure_threshold: 1 } };
const open = (...labels: string[]): Partial<PlanInput> => ({
  isOpen: ({ path }) => labels.some((label) => path === `config.${label.replaceAll("[", "targets[")}`),
});
const inner = (more: Json = {}) => group("fallback", [leaf, leaf], more);
const zero = { ...leaf, weight: 0 };

for (const [what, written, input, expected, skipped] of [
  ["a fallback", group("fallback", undefined, watched), open("[0]"), ["[1]", "[2]"], ["[0]"]],
  ["a single", group("single", undefined, watched), open("[0]"), ["[1]"], ["[0]"]],
  ["a load balancer", group("loadbalance", undefined, watched), open("[1]"), ["[2]"], ["[1]"]],
  ["all open", group("fallback", undefined, watched), open("[0]", "[1]", "[2]"), ["[0]", "[1]", "[2]"], []],
  ["nothing watched", group("fallback"), open("[0]"), ["[0]", "[1]", "[2]"], []],
  ["all with weight open", group("loadbalance", [zero, leaf], watched), open("[1]"), ["[1]"], []],
  ["a group half open", group("fallback", [inner(), leaf], watched), open("[0].[0]"), ["[0].[1]", "[1]"], ["[0].[0]"]],
  ["a group all open", group("fallback", [inner(), leaf], watched), open("[0].[0]", "[0].[1]"), ["[1]"], ["[0]"]],
  [
    "a group with a breaker of its own",
    group("fallback", [inner(watched), leaf]),
    open("[0].[0]", "[1]"),
    ["[0].[1]", "[1]"],
    ["[0].[0]"],
  ],
  [
    "a condition between",
    group(
      "fallback",
      [group("conditional", named("a"), { conditions: [{ query: tier("b"), then: "a" }], default: "a" })],
      watched,
    ),
    open("[0].[0]"),
    ["[0].[0]"],
    [],
  ],
  [
    "a balancer without weight elsewhere",
    group("fallback", [group("loadbalance", [zero, leaf]), leaf], watched),
    open("[0].[1]"),
    ["[1]"],
    ["[0]"],
  ],
] as const) {
  test(`planAttempts() leaves out open targets: ${what}`, () => {
    const plan = planAttempts(toConfig(written), planInput({ random: () => 0.5, ...input }));
    const short = (path: string) => path.replaceAll("targets", "").replace("config.", "");
    assert.deepEqual(
      listAttempts(plan.root).map(({ node }) => short(node.path)),
      expected,
    );
    assert.deepEqual(
      plan.skipped.map(({ path }) => short(path)),
      skipped,
    );
  });
}

test("planAttempts() includes the codes of a fallback, and the reason for each attempt", () => {
  const written = group("fallback", [leaf, group("loadbalance", [leaf], {})], { on_status_codes: [429] });
  const { root } = planAttempts(toConfig(written), planInput());
  assert.ok(root.kind === "fallback");
  assert.deepEqual(root.onStatusCodes, [429]);
  const whys = listAttempts(root).map(({ why }: PlannedAttempt) => why);
  assert.deepEqual(whys, ["first of a fallback", "drawn by weight among 1 targets of total weight 1"]);
});

test("planAttempts() reports of each condition it looked at, up to the one that holds", () => {
  const conditions = [
    { query: tier("a"), then: "a" },
    { query: tier("b"), then: "b" },
    { query: tier("c"), then: "a" },
  ];
  const config = toConfig(group("conditional", named("a", "b"), { conditions }));
  const plan = planAttempts(config, planInput(factsFor({ tier: "b" })));
  assert.deepEqual(
    plan.conditions.map(({ label, query, matched }) => ({ label, query, matched })),
    [
      { label: "config", query: tier("a"), matched: false },
      { label: "config", query: tier("b"), matched: true },
    ],
  );
});

test("planAttempts() does the same for the same input, and leaves the config as it is", () => {
  const config = toConfig(group("loadbalance", [leaf, inner(), leaf]));
  const before = structuredClone(config);
  const planOnce = () => planAttempts(config, planInput({ random: createRandom(7) }));
  assert.deepEqual(planOnce(), planOnce());
  assert.deepEqual(config, before);
});

const many = (count: number, target: Json = leaf): Json[] => Array.from({ length: count }, () => target);
const only = (targets: readonly Json[]) => group("fallback", targets);
const conditional = (count: number) =>
  group("conditional", many(count, { ...leaf, name: "a" }), { conditions: [{ query: tier("a"), then: "a" }] });
const most = (count: number, variable: string) => `targets: must have at most ${count} entries (${variable})`;
const inAll = (count: number) =>
  `targets[0].targets: must have at most ${count} entries in all (MAX_NESTED_CONFIG_TARGETS)`;

for (const [what, written, limits, expected] of [
  ["100 targets", only(many(100)), {}, []],
  ["101 targets", only(many(101)), {}, [most(100, "MAX_ROOT_CONFIG_TARGETS")]],
  ["5,000 targets", only(many(5_000)), {}, [most(100, "MAX_ROOT_CONFIG_TARGETS")]],
  ["1,000 targets by condition", conditional(1_000), {}, []],
  ["1,001 targets by condition", conditional(1_001), {}, [most(1_000, "MAX_CONDITIONAL_ROOT_CONFIG_TARGETS")]],
  ["50 nested targets", only([only(many(50))]), {}, []],
  ["51 nested targets", only([only(many(51))]), {}, [inAll(50)]],
  ["50 nested targets in each", only([only(many(50)), only(many(50))]), {}, []],
  ["50 nested targets in all", only([only([...many(20), only(many(29))])]), {}, []],
  ["51 nested targets in all", only([only([...many(20), only(many(30))])]), {}, [inAll(50)]],
  ["51 nested targets by condition", only([conditional(51)]), {}, [inAll(50)]],
  ["101 targets where 101 are allowed", only(many(101)), { root: 101 }, []],
  ["2 targets where 1 is allowed", only(many(2)), { root: 1 }, [most(1, "MAX_ROOT_CONFIG_TARGETS")]],
  ["3 by condition where 2 are", conditional(3), { conditional: 2 }, [most(2, "MAX_CONDITIONAL_ROOT_CONFIG_TARGETS")]],
  ["60 nested where 60 are", only([only(many(60))]), { nested: 60 }, []],
  ["3 nested where 2 are", only([only([leaf, only([leaf])])]), { nested: 2 }, [inAll(2)]],
  [
    "too many at both places",
    only([only(many(3)), leaf]),
    { root: 1, nested: 2 },
    [most(1, "MAX_ROOT_CONFIG_TARGETS"), inAll(2)],
  ],
] as const) {
  test(`readConfig() keeps the limits of targets: ${what}`, () => {
    assert.deepEqual(linesOf(written, false, limits), expected);
    assert.deepEqual(linesOf(written, true, limits), expected);
  });
}

test(seeded("readConfig() accepts a config exactly when it keeps the limits"), () => {
  const limit = fc.integer({ min: 1, max: 6 });
  fc.assert(
    fc.property(nested, limit, limit, limit, (written, root, byCondition, below) => {
      const group = groupOf(written);
      const count = (node: Json): number =>
        groupOf(node)?.targets.reduce((sum, target) => sum + 1 + count(target), 0) ?? 0;
      const allowed = group?.mode === "conditional" ? byCondition : root;
      const targets = group?.targets ?? [];
      const fits = targets.length <= allowed && targets.every((target) => count(target) <= below);
      assert.equal(linesOf(written, false, { root, conditional: byCondition, nested: below }).length === 0, fits);
    }),
    { numRuns: 200 },
  );
});
