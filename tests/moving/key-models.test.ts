import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { readYaml } from "../../src/declared/yaml.ts";
import { isObject } from "../../src/lib/json.ts";
import { moveBifrost } from "../../src/moving/bifrost.ts";
import type { Moved } from "../../src/moving/draft.ts";
import { moveLitellm } from "../../src/moving/litellm.ts";
import { readTable } from "../../src/moving/table.ts";
import { startVendor } from "../docs/vendor.ts";
import { applyTo } from "../support/declared.ts";
import { createTestGateway, type TestGateway } from "../support/gateway.ts";
import { createRedirectingTransport } from "../support/redirected.ts";
import type { RecordingUpstream } from "../support/upstream.ts";

let vendor: RecordingUpstream;
before(async () => {
  vendor = await startVendor();
});
after(() => vendor.close());

const config = `
model_list:
  - model_name: small
    litellm_params: { model: openai/gpt-4o-mini, api_key: os.environ/OPENAI_API_KEY }
    model_info: { access_groups: [cheap, all-of-us] }
  - model_name: fast
    litellm_params: { model: groq/llama-3.1-8b-instant, api_key: os.environ/GROQ_API_KEY }
    model_info: { access_groups: [cheap] }
  - model_name: large
    litellm_params: { model: openai/gpt-4o, api_key: os.environ/OPENAI_API_KEY }
  - model_name: openai/*
    litellm_params: { model: openai/*, api_key: os.environ/OPENAI_API_KEY }
`;

const secretOf = (name: string) => `sk-${name}-0123456789abcdef`;
const teams = readTable(
  `team_id,team_alias,models,max_budget
t1,Search,"{cheap,large}",
t2,Everyone,{},
t3,Ops,"{openai/*}",`,
  () => undefined,
);
/** Keys with their lists and teams, and what they may call. */
const keys: readonly (readonly [
  name: string,
  models: string,
  team: string,
  wanted: Readonly<Record<string, number>>,
])[] = [
  ["open", "{}", "", { small: 200, large: 200 }],
  ["proxy", "{all-proxy-models}", "", { large: 200 }],
  ["star", "{*}", "", { large: 200 }],
  ["two", "{small,fast}", "", { small: 200, fast: 200, large: 403, "@openai/gpt-4o": 403 }],
  ["group", "{cheap}", "", { small: 200, fast: 200, large: 403, cheap: 403 }],
  ["wildcard", "{openai/*}", "", { "@openai/gpt-4.1": 200, large: 403, fast: 403, "@groq/other": 403 }],
  ["one", "{openai/gpt-4.1}", "", { "@openai/gpt-4.1": 200, "@openai/gpt-4o": 403 }],
  ["none", "{no-default-models}", "", { small: 403, large: 403 }],
  ["no-team", "{all-team-models}", "", { small: 403 }],
  ["team", "{all-team-models}", "t1", { small: 200, large: 200, "@openai/gpt-4.1": 403 }],
  ["of-team", "{}", "t1", { fast: 200, "@openai/gpt-4.1": 403 }],
  ["both", "{small,openai/*}", "t1", { small: 200, large: 403 }],
  ["all-of-team", "{}", "t2", { large: 200 }],
  ["ops", "{openai/gpt-4.1,small}", "t3", { "@openai/gpt-4.1": 200, small: 403 }],
];

async function withApplied(moved: Moved, run: (gateway: TestGateway) => Promise<void>): Promise<void> {
  const gateway = await createTestGateway({
    transport: createRedirectingTransport(() => vendor.url),
    checksAnswers: false,
  });
  try {
    const names = [...JSON.stringify(moved.document).matchAll(/\{"\$env":"(\w+)"\}/g)].map(([, name = ""]) => name);
    const fakes = Object.fromEntries(names.map((name) => [name, `fake-${name}-0123456789`]));
    await applyTo(gateway, moved.document, { environment: { ...fakes, ...moved.secrets }, prune: "none" });
    await run(gateway);
  } finally {
    await gateway.close();
  }
}

async function chat(gateway: TestGateway, key: string, model: string): Promise<number> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const body = JSON.stringify({ model, messages: [{ role: "user", content: "Hello" }] });
  const response = await gateway.fetch("/v1/chat/completions", { method: "POST", headers, body });
  await response.text();
  return response.status;
}

test("LiteLLM: keys call the models of their lists, groups and teams, and no others", async () => {
  const rows = keys.map(([name, models, team]) => ({ key_alias: name, models, team_id: team, key: secretOf(name) }));
  const moved = moveLitellm(await readYaml(new TextEncoder().encode(config), "config.yaml"), "default", {
    keys: rows,
    teams,
  });
  await withApplied(moved, async (gateway) => {
    for (const [name, , , wanted] of keys) {
      const found = Object.keys(wanted).map(
        async (model) => [model, await chat(gateway, secretOf(name), model)] as const,
      );
      assert.deepEqual(Object.fromEntries(await Promise.all(found)), wanted, name);
    }
  });
});

test("LiteLLM: a key with the models of a team that nobody gave is not made, and the report says why", async () => {
  const rows = ["{}", "{all-team-models}", "{small}"].map((models, index) => ({
    key_alias: `k${index}`,
    models,
    team_id: "t9",
  }));
  const { notes, document } = moveLitellm(await readYaml(new TextEncoder().encode(config), "config.yaml"), "default", {
    keys: rows,
  });
  const said = notes.filter(({ how }) => how.includes("--teams")).map(({ what }) => what);
  assert.deepEqual(said, ["keys.0 k0", "keys.1 k1"]);
  const place = isObject(document.workspaces) && document.workspaces.default;
  assert.deepEqual(Object.keys((isObject(place) && isObject(place.keys) && place.keys) || {}), ["k2"]);
});

test("Bifrost: virtual keys call the models of their providers, and no others", async () => {
  const virtualKey = (name: string, provider_configs?: readonly object[]) => ({
    name,
    value: secretOf(name),
    provider_configs,
  });
  const moved = moveBifrost(
    {
      providers: {
        openai: { keys: [{ name: "o", value: "env.OPENAI_API_KEY", models: ["gpt-4o", "gpt-4.1"] }] },
        groq: { keys: [{ name: "g", value: "env.GROQ_API_KEY", models: ["*"] }] },
      },
      governance: {
        virtual_keys: [
          virtualKey("any"),
          virtualKey("listed", [{ provider: "openai", allowed_models: ["gpt-4o"] }]),
          virtualKey("stars", [{ provider: "groq", allowed_models: ["*"], key_ids: ["*"] }]),
          virtualKey("nothing", []),
        ],
      },
    },
    "default",
  );
  await withApplied(moved, async (gateway) => {
    const statuses = async (name: string, ...models: string[]) => {
      const found: number[] = [];
      for (const model of models) found.push(await chat(gateway, secretOf(name), model));
      return found;
    };
    assert.deepEqual(await statuses("any", "openai/gpt-4o", "openai/gpt-4.1"), [200, 200]);
    assert.deepEqual(await statuses("listed", "openai/gpt-4o", "openai/gpt-4.1", "@openai/gpt-4o"), [200, 403, 403]);
    assert.deepEqual(await statuses("stars", "@groq/llama", "openai/gpt-4o"), [200, 403]);
    assert.deepEqual(await statuses("nothing", "openai/gpt-4o"), [403]);
  });
});
