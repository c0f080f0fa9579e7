import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { RequestFacts } from "../../src/routing/conditions.ts";
import type { ConfigNode } from "../../src/routing/config.ts";
import { listAttempts, type PlanInput, planAttempts } from "../../src/routing/plan.ts";
import { conversationOf, createStickyStore, pickByAffinity, stickyFields } from "../../src/routing/sticky.ts";
import { createRandom } from "../support/gateway.ts";
import { createClock, type Json, planInput, seed, seeded, toConfig } from "../support/routing.ts";

const factsOf = (changes: Partial<RequestFacts> = {}): RequestFacts => ({
  metadata: {},
  params: {},
  pathname: "/v1/chat/completions",
  ...changes,
});

/** Label of the only attempt of a plan. */
function labelOf(config: ConfigNode, input: PlanInput): string {
  const attempts = listAttempts(planAttempts(config, input).root);
  assert.equal(attempts.length, 1);
  return attempts[0]?.node.path ?? "";
}

const leaf = { provider: "@a" };
const stickyBy = (hash_fields: string[], targets: Json[] = [leaf, leaf, leaf, leaf], more: Json = {}) =>
  toConfig({ strategy: { mode: "loadbalance", sticky: { enabled: true, hash_fields, ...more } }, targets });

const { metadata, params } = factsOf({
  metadata: { user: "u", "a.b": "flat", empty: "" },
  params: { user: "p", deep: { user: 1, list: [1] }, none: null },
});
const headers = new Map([["x-user", "h"]]);

for (const [field, expected] of [
  ["metadata.user", ['metadata.user:"u"']],
  ["metadata.a.b", ['metadata.a.b:"flat"']],
  ["metadata.empty", ['metadata.empty:""']],
  ["params.user", ['params.user:"p"']],
  ["params.deep.user", ["params.deep.user:1"]],
  ["params.deep", ['params.deep:{"user":1,"list":[1]}']],
  ["headers.X-User", ['headers.X-User:"h"']],
  ...[
    "metadata.none",
    "metadata.user.none",
    "params.none",
    "params.missing",
    "params.deep.list.0",
    "headers.none",
    "metadata.constructor",
    "metadata.__proto__",
    "params.constructor.name",
    "params.__proto__",
    "params.toString",
  ].map((name) => [name, []] as const),
] as const) {
  test(`stickyFields() reads ${field}`, () => {
    assert.deepEqual(stickyFields([field], { facts: factsOf({ metadata, params }), headers }), expected);
  });
}

test("stickyFields() shortens long values and keeps them distinct", () => {
  const fieldOf = (text: string) =>
    stickyFields(["params.text"], { facts: factsOf({ params: { text } }), headers })[0] ?? "";
  const long = "x".repeat(100_000);
  assert.ok(fieldOf(long).length < 300);
  assert.equal(fieldOf(long), fieldOf("x".repeat(100_000)));
  const others = new Set([long, `${long}x`, `y${long.slice(1)}`, `${long.slice(1)}y`].map(fieldOf));
  assert.equal(others.size, 4);
});

test("planAttempts() keeps requests with equal fields on one target, and spreads others", () => {
  const config = stickyBy(["metadata.user", "headers.x-team"]);
  const input = planInput();
  const labelFor = (user: string, team: string) =>
    labelOf(config, { ...input, facts: factsOf({ metadata: { user } }), headers: new Map([["x-team", team]]) });
  const users = Array.from({ length: 40 }, (_, index) => `user-${index}`);
  const first = users.map((user) => labelFor(user, "a"));
  assert.deepEqual(users.map((user) => labelFor(user, "a")).join(), first.join());
  assert.ok(new Set(first).size > 1);
  assert.notDeepEqual(users.map((user) => labelFor(user, "b")).join(), first.join());
});

for (const [what, change] of [
  ["identities", { identity: "key-2" }],
  ["configs", { configId: "config-2" }],
] as const) {
  test(`planAttempts() remembers apart for other ${what}`, () => {
    const config = stickyBy([]);
    const input = planInput({ random: () => 0 });
    assert.equal(labelOf(config, input), "config.targets[0]");
    assert.equal(labelOf(config, { ...input, ...change, random: () => 0.99 }), "config.targets[3]");
    assert.equal(labelOf(config, { ...input, random: () => 0.99 }), "config.targets[0]");
  });
}

test("planAttempts() does not mix up fields that hold separators", () => {
  const config = stickyBy(["metadata.a", "metadata.b"]);
  const input = planInput();
  const labelFor = (a: string, b: string, random: number) =>
    labelOf(config, { ...input, random: () => random, facts: factsOf({ metadata: { a, b } }) });
  assert.equal(labelFor('x","metadata.b:y', "z", 0), "config.targets[0]");
  assert.equal(labelFor("x", 'y","metadata.b:z', 0.99), "config.targets[3]");
});

test("planAttempts() forgets a sticky choice after its time, which use does not renew", () => {
  const clock = createClock();
  const config = stickyBy([], undefined, { ttl: 10 });
  const input = planInput({ sticky: createStickyStore(clock.now), random: () => 0 });
  assert.equal(labelOf(config, input), "config.targets[0]");
  clock.pass(9_999);
  assert.equal(labelOf(config, { ...input, random: () => 0.99 }), "config.targets[0]");
  clock.pass(1);
  assert.equal(labelOf(config, { ...input, random: () => 0.99 }), "config.targets[3]");
  assert.equal(labelOf(config, input), "config.targets[3]");
});

test("planAttempts() remembers for an hour when no time is given", () => {
  const clock = createClock();
  const config = stickyBy([]);
  const input = planInput({ sticky: createStickyStore(clock.now), random: () => 0 });
  labelOf(config, input);
  clock.pass(3_599_999);
  assert.equal(labelOf(config, { ...input, random: () => 0.99 }), "config.targets[0]");
  clock.pass(1);
  assert.equal(labelOf(config, { ...input, random: () => 0.99 }), "config.targets[3]");
});

const cb_config = { failure_threshold: 1 };
const guarded = (more: Json = {}) =>
  toConfig({
    strategy: { mode: "loadbalance", sticky: { enabled: true }, cb_config, ...more },
    targets: [leaf, leaf, leaf],
  });

test("planAttempts() picks another target while the remembered one is open, and comes back to it", () => {
  const config = guarded();
  const input = planInput({ random: () => 0.5 });
  assert.equal(labelOf(config, input), "config.targets[1]");
  const isOpen = ({ path }: { path: string }) => path === "config.targets[1]";
  assert.equal(labelOf(config, { ...input, isOpen, random: () => 0 }), "config.targets[0]");
  assert.equal(labelOf(config, { ...input, isOpen, random: () => 0.9 }), "config.targets[2]");
  assert.equal(labelOf(config, { ...input, random: () => 0 }), "config.targets[1]");
});

test("planAttempts() remembers the place in the whole list, also when some are left out", () => {
  const config = guarded();
  const input = planInput({ random: () => 0.9 });
  assert.equal(labelOf(config, { ...input, isOpen: ({ path }) => path === "config.targets[0]" }), "config.targets[2]");
  assert.equal(labelOf(config, { ...input, random: () => 0 }), "config.targets[2]");
});

test("planAttempts() draws again when what is remembered is outside the list", () => {
  const config = stickyBy([]);
  const remembered: number[] = [];
  const sticky = { get: () => remembered.at(-1) ?? 99, set: (_: string, index: number) => remembered.push(index) };
  assert.equal(labelOf(config, planInput({ sticky, random: () => 0.5 })), "config.targets[2]");
  assert.deepEqual(remembered, [2]);
});

test("planAttempts() keeps the choices of two load balancers apart", () => {
  const balancer = {
    strategy: { mode: "loadbalance", sticky: { enabled: true } },
    targets: [leaf, leaf],
  };
  const config = toConfig({ strategy: { mode: "fallback" }, targets: [balancer, balancer] });
  const numbers = [0, 0.9];
  const input = planInput({ random: () => numbers.shift() ?? 0 });
  for (let time = 0; time < 3; time++) {
    assert.deepEqual(
      listAttempts(planAttempts(config, input).root).map(({ node }) => node.path),
      ["config.targets[0].targets[0]", "config.targets[1].targets[1]"],
    );
  }
});

test("createStickyStore() is bounded, and forgets the oldest first", () => {
  const store = createStickyStore(() => 0);
  for (let index = 0; index <= 50_000; index++) store.set(`k${index}`, 1, 60);
  assert.deepEqual([store.get("k0"), store.get("k1"), store.get("k50000")], [undefined, 1, 1]);
});

test("createStickyStore() remembers what another process chose, for as long as that one", () => {
  let time = 0;
  const other = createStickyStore(() => time);
  const one = createStickyStore(
    () => time,
    (choice) => other.follow(choice),
  );
  one.set("k", 3, 60);
  time = 59_999;
  assert.deepEqual([one.get("k"), other.get("k")], [3, 3]);
  time = 60_000;
  assert.deepEqual([one.get("k"), other.get("k")], [undefined, undefined]);
});

const user = (content: unknown) => ({ role: "user", content });
const assistant = (content: unknown) => ({ role: "assistant", content });
const system = (content: unknown) => ({ role: "system", content });
const conversation = (given: Json, names: Record<string, string> = {}) =>
  conversationOf({ facts: factsOf({ params: given }), headers: new Map(Object.entries(names)) });

test("conversationOf() stays the same while a conversation grows", () => {
  for (const name of ["messages", "input"]) {
    const first = [system("s"), user("hello")];
    const grown = [...first, assistant("hi"), user("more")];
    assert.equal(conversation({ [name]: first }), conversation({ [name]: grown }));
    assert.notEqual(conversation({ [name]: first }), conversation({ [name]: [system("s"), user("other")] }));
    assert.notEqual(conversation({ [name]: first }), conversation({ [name]: [system("t"), user("hello")] }));
  }
});

test("conversationOf() reports conversations apart behind a long system prompt", () => {
  const long = "s".repeat(20_000);
  const of = (content: string) => conversation({ system: long, messages: [system(long), user(content)] });
  assert.notEqual(of("hello"), of("other"));
  assert.ok(of("x".repeat(1_000_000)).length < 20_000);
});

for (const [what, given, names, same] of [
  ["a session header", { messages: [user("a")] }, { "x-session-id": "s" }, { messages: [user("b")] }],
  ["a cache key", { prompt_cache_key: "k", messages: [user("a")] }, {}, { prompt_cache_key: "k" }],
] as const) {
  test(`conversationOf() goes by ${what} before the prompt`, () => {
    assert.equal(conversation(given, names), conversation(same, names));
  });
}

for (const given of [
  {},
  { messages: [] },
  { messages: [null, 1] },
  { input: "x" },
  { prompt: ["x"] },
  { messages: "x" },
]) {
  test(`conversationOf() reads ${JSON.stringify(given)}`, () => {
    assert.equal(typeof conversation(given), "string");
  });
}

const weighted = (weights: readonly number[], affinity = true) =>
  toConfig({ strategy: { mode: "loadbalance", affinity }, targets: weights.map((weight) => ({ ...leaf, weight })) });
const sessions = Array.from({ length: 20_000 }, (_, index) => `session-${index}`);

test("planAttempts() returns a conversation the same target with affinity, whatever is drawn", () => {
  const config = weighted([1, 1, 1, 1]);
  const random = createRandom(seed);
  for (const session of sessions.slice(0, 50)) {
    const labels = Array.from({ length: 5 }, () =>
      labelOf(config, planInput({ random, headers: new Map([["x-session-id", session]]) })),
    );
    assert.equal(new Set(labels).size, 1);
  }
});

for (const weights of [
  [1, 1, 1],
  [5, 3, 1],
  [0.95, 0.05],
  [0, 1, 2],
]) {
  test(`pickByAffinity() spreads conversations by the weights ${weights.join(", ")}`, () => {
    const { targets } = weighted(weights);
    const counts = weights.map(() => 0);
    for (const session of sessions) {
      const picked = pickByAffinity(targets, session);
      assert.ok(picked);
      const index = targets.indexOf(picked);
      counts[index] = (counts[index] ?? 0) + 1;
    }
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    for (const [index, weight] of weights.entries()) {
      const share = weight / total;
      const deviation = Math.sqrt(sessions.length * share * (1 - share));
      const off = Math.abs((counts[index] ?? 0) - sessions.length * share);
      assert.ok(off <= 5 * deviation, `target ${index}: ${counts[index]} of ${sessions.length}, wanted ${share}`);
    }
  });
}

test(seeded("pickByAffinity() moves only the conversations of a target that goes"), () => {
  const weights = fc.array(fc.constantFrom(0.5, 1, 2, 7), { minLength: 2, maxLength: 6 });
  fc.assert(
    fc.property(weights, fc.nat(), fc.string(), (given, gone, conversationId) => {
      const { targets } = weighted(given);
      const before = pickByAffinity(targets, conversationId);
      const left = targets.filter((_, index) => index !== gone % targets.length);
      const after = pickByAffinity(left, conversationId);
      assert.ok(after && before);
      if (left.includes(before)) assert.equal(after, before);
    }),
    { numRuns: 500 },
  );
});

test("conversationOf() distinguishes conversations of the Gemini API, whose messages have another name", () => {
  const of = (text: string, system: string) =>
    conversationOf({
      facts: factsOf({
        params: {
          systemInstruction: { parts: [{ text: system }] },
          contents: [
            { role: "user", parts: [{ text }] },
            { role: "model", parts: [{ text: "Yes" }] },
          ],
        },
      }),
      headers: new Map(),
    });
  assert.equal(of("a", "s"), of("a", "s"));
  assert.equal(new Set([of("a", "s"), of("b", "s"), of("a", "t")]).size, 3);
});

test("pickByAffinity() picks none where none has weight", () => {
  const { targets } = weighted([0, 1]);
  assert.equal(pickByAffinity(targets.slice(0, 1), "c"), undefined);
  assert.equal(pickByAffinity([], "c"), undefined);
});

test("planAttempts() returns the conversations of an open target away only while it is open", () => {
  const config = toConfig({
    strategy: { mode: "loadbalance", affinity: true, cb_config },
    targets: [leaf, leaf, leaf],
  });
  const isOpen = ({ path }: { path: string }) => path === "config.targets[0]";
  for (const session of sessions.slice(0, 50)) {
    const input = planInput({ headers: new Map([["x-session-id", session]]) });
    const [usual, other] = [labelOf(config, input), labelOf(config, { ...input, isOpen })];
    if (usual === "config.targets[0]") assert.notEqual(other, usual);
    else assert.equal(other, usual);
  }
});
