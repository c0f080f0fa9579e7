import assert from "node:assert/strict";
import { test } from "node:test";
import { exportDeclared } from "../../src/declared/export.ts";
import { createOwnApi } from "../../src/serve/declared-file.ts";
import { call, done } from "../support/control.ts";
import { applyTo, type DeclaredOptions, planOf, stepsOf } from "../support/declared.ts";
import { createRandom, createTestGateway, type TestGateway } from "../support/gateway.ts";
import { rounds, sampleSeed as seed } from "../support/sample.ts";

type Random = () => number;

const pickOne = <Item>(random: Random, items: readonly Item[]): Item =>
  items[Math.floor(random() * items.length)] as Item; // never empty

/** Some of the names, each with a record. */
function some(random: Random, names: readonly string[], record: (name: string) => object): Record<string, object> {
  return Object.fromEntries(names.filter(() => random() < 0.6).map((name) => [name, record(name)]));
}

const maybe = <Value>(random: Random, name: string, value: Value) => (random() < 0.5 ? { [name]: value } : {});

const budget = (random: Random) => ({ credit_limit: 1 + Math.floor(random() * 9), periodic_reset: "monthly" });
const rates = (random: Random) => [{ type: "requests", unit: "rpm", value: Math.floor(random() * 99) }];

/** A workspace whose records name each other. */
function randomWorkspace(random: Random, own: string): object {
  const integrations = some(random, [`i1${own}`, `i2${own}`], () => ({
    ai_provider_id: "echo",
    ...maybe(random, "description", "d"),
  }));
  const providers = some(
    random,
    Object.keys(integrations).map((id) => id.replace("i", "p")),
    (name) => ({
      integration_id: name.replace("p", "i"),
      ...maybe(random, "usage_limits", budget(random)),
    }),
  );
  const guardrails = some(random, [`pg-a${own}`, `pg-b${own}`], () => ({
    checks: [{ id: "default.contains", parameters: { words: [pickOne(random, ["x", "y"])], operator: "none" } }],
    ...maybe(random, "actions", { deny: true }),
  }));
  const named = Object.keys(guardrails);
  const configs = some(random, [`pc-a${own}`, `pc-b${own}`], () => ({
    config: { provider: "echo", ...(named.length > 0 && maybe(random, "input_guardrails", [pickOne(random, named)])) },
  }));
  const defaults = Object.keys(configs);
  const keys = some(random, ["one", "two"], () => ({
    ...maybe(random, "allowed_models", ["fast", "@p/*"]),
    scopes: [pickOne(random, ["completions.write", "logs.list"])],
    ...(defaults.length > 0 && maybe(random, "defaults", { config_id: pickOne(random, defaults) })),
    ...maybe(random, "rate_limits", rates(random)),
  }));
  const keyNames = Object.keys(keys);
  const targets = [
    ...defaults.map((config) => ({ config })),
    ...Object.keys(providers).map((slug) => ({ model: `@${slug}/m` })),
  ];
  const collections = some(random, [`co-a${own}`, `co-b${own}`], () => maybe(random, "name", "n"));
  const folders = Object.keys(collections);
  return {
    description: pickOne(random, ["d", null]),
    defaults: named.length > 0 && random() < 0.5 ? { output_guardrails: [pickOne(random, named)] } : null,
    rate_limits: random() < 0.5 ? rates(random) : null,
    integrations,
    providers,
    guardrails,
    collections,
    prompts: some(random, [`pp-a${own}`, `pp-b${own}`], () => ({
      string: pickOne(random, ["Hello", "Hi {{name}}"]),
      ...(folders.length > 0 && maybe(random, "collection_id", pickOne(random, folders))),
      ...maybe(random, "model", "m"),
    })),
    configs,
    keys,
    model_aliases:
      targets.length === 0
        ? {}
        : some(random, ["a", "b"], () => ({
            target: pickOne(random, targets),
            ...(keyNames.length > 0 && maybe(random, "access", { api_keys: [pickOne(random, keyNames)] })),
          })),
    usage_limit_policies: some(random, ["u"], () => ({
      conditions: [{ key: "model", value: "*" }],
      group_by: [{ key: pickOne(random, ["api_key", "model"]) }],
      type: pickOne(random, ["cost", "tokens"]),
      credit_limit: 1 + Math.floor(random() * 9),
    })),
    alert_rules: some(random, ["r", "s"], () => ({
      metric: pickOne(random, ["error_rate", "requests"]),
      threshold: Math.floor(random() * 9),
      ...maybe(random, "window_seconds", 120),
      ...maybe(random, "enabled", false),
      ...maybe(random, "destinations", [{ type: "email", to: ["Owner@example.com"] }]),
    })),
  };
}

const randomState = (random: Random) => ({
  organisation: { guardrails: {}, integrations: {}, model_aliases: {} },
  workspaces: { default: randomWorkspace(random, ""), ...(random() < 0.7 && { second: randomWorkspace(random, "s") }) },
});

async function stateOf({ gateway }: TestGateway): Promise<object> {
  return (await exportDeclared(await createOwnApi(gateway))).document;
}

async function withGateway(run: (gateway: TestGateway) => Promise<void>): Promise<void> {
  const gateway = await createTestGateway({ checksAnswers: false });
  try {
    await run(gateway);
  } finally {
    await gateway.close();
  }
}

/** Requires that nothing is left to do, and that the way to a state makes no difference. */
async function requireState(gateway: TestGateway, state: object): Promise<void> {
  assert.deepEqual(stepsOf(await planOf(gateway, state)), []);
  await withGateway(async (fresh) => {
    await applyTo(fresh, state);
    assert.deepEqual(await stateOf(gateway), await stateOf(fresh));
  });
}

test("from any state a file leads to the same one, and a second run does nothing", async () => {
  for (let round = 0; round < rounds(3); round++) {
    const random = createRandom(seed + round);
    await withGateway(async (gateway) => {
      for (let step = 0; step < rounds(4); step++) {
        const state = randomState(random);
        await applyTo(gateway, state);
        assert.equal(await applyTo(gateway, state), 0);
        await requireState(gateway, state);
      }
    });
  }
});

test("a run that is stopped after any write is finished by the next one", async () => {
  const random = createRandom(seed + 1_000);
  await withGateway(async (gateway) => {
    for (let round = 0; round < rounds(5); round++) {
      const state = randomState(random);
      let left = 1 + Math.floor(random() * 12);
      const before: DeclaredOptions["before"] = ({ method }) => {
        if (method !== "GET" && left-- === 0) throw new Error("killed");
      };
      await applyTo(gateway, state, { before }).catch((error: Error) => assert.match(error.message, /killed/));
      await applyTo(gateway, state);
      assert.deepEqual(stepsOf(await planOf(gateway, state)), []);
    }
  });
});

test("records move between workspaces", async () => {
  await withGateway(async (gateway) => {
    const record = {
      configs: { "pc-moves": { config: { provider: "echo" } } },
      integrations: { moves: { ai_provider_id: "echo" } },
    };
    const none = { configs: {}, integrations: {} };
    for (const workspaces of [
      { default: record, second: none },
      { default: none, second: record },
    ]) {
      await applyTo(gateway, { workspaces });
      await requireState(gateway, { workspaces });
    }
    const twice = await planOf(gateway, { workspaces: { default: record, second: record } });
    assert.match(twice.problems.join(), /integrations\.moves: default and second have it/);
  });
});

test("two runs of one file at once make each record once", async () => {
  const random = createRandom(seed + 2_000);
  for (let round = 0; round < rounds(2); round++) {
    await withGateway(async (gateway) => {
      const state = randomState(random);
      await Promise.all([applyTo(gateway, state), applyTo(gateway, state), applyTo(gateway, state)]);
      await requireState(gateway, state);
    });
  }
});

test("two runs of different files at once leave one of them, or say that they do not", async () => {
  const random = createRandom(seed + 3_000);
  await withGateway(async (gateway) => {
    const [one, other] = [randomState(random), randomState(random)];
    await Promise.allSettled([applyTo(gateway, one), applyTo(gateway, other)]);
    const { data } = await done<{ data: { name: string }[] }>(
      call(gateway, "GET /api-keys?type=workspace-service&page_size=100"),
    );
    const names = data.map(({ name }) => name);
    assert.ok(names.filter((name) => name === "one").length <= 2, names.join()); // one in each workspace
    await applyTo(gateway, one);
    await requireState(gateway, one);
  });
});
