import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, done } from "../support/control.ts";
import {
  createTestGateway,
  readJson,
  type ShownLog,
  type TestGateway,
  waitForLog,
  workspaceKey,
} from "../support/gateway.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

const key = workspaceKey;
const labelsOf = { eu: { region: "eu", zero_retention: true, team: "a" }, us: { region: "us" }, plain: null } as const;

let gateway: TestGateway;
let upstream: RecordingUpstream;
before(async () => {
  gateway = await createTestGateway();
  upstream = await startRecordingUpstream(({ text }, response) => {
    const { model = "none" } = text.startsWith("{") ? JSON.parse(text) : {};
    response.setHeader("content-type", "application/json");
    const message = { role: "assistant", content: "Hi" };
    const choices = [{ index: 0, message, finish_reason: "stop" }];
    const data = [{ index: 0, embedding: [1] }];
    return response.end(JSON.stringify({ id: "c", object: "chat.completion", created: 1, model, choices, data }));
  });
  for (const [slug, labels] of Object.entries(labelsOf)) {
    const configurations = { custom_host: `${upstream.url}/v1` };
    const integration = { name: slug, slug: `${slug}-integration`, ai_provider_id: "openai", configurations, labels };
    const body = { ...integration, key: "fake-provider-credential", create_default_provider: false };
    await done(call(gateway, "POST /integrations", { key, body }));
    const provider = { name: slug, slug, integration_id: `${slug}-integration` };
    await done(call(gateway, "POST /providers", { key, body: provider }));
  }
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

interface Asked {
  config?: object | string;
  provider?: string;
  metadata?: object;
  path?: string;
  body?: object;
  model?: string;
}

const messages = [{ role: "user", content: "Hello" }];
let traces = 0;

/** A request; its status, the code of its error, the target that it reached, and its row. */
async function ask({
  config,
  provider,
  metadata,
  path = "/v1/chat/completions",
  body = { messages },
  model = "m",
}: Asked) {
  const trace = `labels-${traces++}`;
  const called = upstream.requests.length;
  const headers = {
    "content-type": "application/json",
    "x-gateway-api-key": key,
    "x-gateway-trace-id": trace,
    ...(config !== undefined && { "x-gateway-config": typeof config === "string" ? config : JSON.stringify(config) }),
    ...(provider !== undefined && { "x-gateway-provider": provider }),
    ...(metadata && { "x-gateway-metadata": JSON.stringify(metadata) }),
  };
  const init = { method: "POST", headers, body: JSON.stringify({ model, ...body }) };
  const response = await gateway.gateway.fetch(new Request(`http://gateway.test${path}`, init));
  const answer = await readJson<{ error?: { message?: string } }>(response);
  const row = (await waitForLog(gateway, trace)) as ShownLog & Record<string, unknown>; // further members
  return {
    status: response.status,
    code: row.error?.code,
    message: answer.error?.message ?? "",
    calls: upstream.requests.length - called,
    served: row.virtual_key,
    row,
  };
}

const target = (provider: string, more: object = {}) => ({ provider, ...more });
const pool = (mode: string, targets: readonly object[], more: object = {}) => ({
  strategy: { mode },
  targets,
  ...more,
});

test("integrations show their labels, and take null for none", async () => {
  const path = "/integrations/us-integration";
  const read = async () => (await done(call(gateway, `GET ${path}`, { key }))).labels;
  assert.deepEqual(await read(), labelsOf.us);
  await done(call(gateway, `PUT ${path}`, { key, body: { name: "US" } }));
  assert.deepEqual(await read(), labelsOf.us);
  await done(call(gateway, `PUT ${path}`, { key, body: { labels: null } }));
  assert.equal(await read(), null);
  await done(call(gateway, `PUT ${path}`, { key, body: { labels: labelsOf.us } }));
  const list = await done(call<{ data: { slug: string; labels: unknown }[] }>(gateway, "GET /integrations", { key }));
  assert.deepEqual(list.data.find(({ slug }) => slug === "eu-integration")?.labels, labelsOf.eu);
});

for (const labels of [{ region: 1 }, { zero_retention: "true" }, { "not a name": "x" }, { a: { b: 1 } }, "eu"]) {
  test(`integrations refuse the labels ${JSON.stringify(labels)}`, async () => {
    const { status, body } = await call(gateway, "PUT /integrations/us-integration", { key, body: { labels } });
    assert.equal(status, 400);
    assert.match(JSON.stringify(body), /labels/);
  });
}

for (const mode of ["single", "fallback", "loadbalance"]) {
  test(`a config of mode ${mode} calls targets with the labels that it asks for`, async () => {
    const targets = [target("@us"), target("@plain"), target("@eu")];
    for (let round = 0; round < 5; round++) {
      const { status, served, row } = await ask({
        config: pool(mode, targets, { require_labels: { region: ["ch", "eu"] } }),
      });
      assert.deepEqual([status, served], [200, "eu"]);
      assert.deepEqual(row.labels, labelsOf.eu);
      assert.deepEqual(row.skipped, ["config.targets[0]", "config.targets[1]"]);
    }
  });
}

test("a condition chooses by metadata, and a target without the label is not called", async () => {
  const config = {
    strategy: {
      mode: "conditional",
      conditions: [{ query: { "metadata.region": "eu" }, then: "inside" }],
      default: "any",
    },
    targets: [
      { name: "inside", ...pool("fallback", [target("@us"), target("@eu")], { require_labels: { region: "eu" } }) },
      target("@us", { name: "any" }),
    ],
  };
  assert.equal((await ask({ config, metadata: { region: "eu" } })).served, "eu");
  assert.equal((await ask({ config })).served, "us");
});

test("a config whose targets all lack a label is refused before any call, and explained", async () => {
  const config = pool("fallback", [target("@us"), target("@plain")], { require_labels: { zero_retention: true } });
  const { status, code, message, calls } = await ask({ config });
  assert.deepEqual([status, code, calls], [400, "no_target_with_labels", 0]);
  assert.match(message, /config\.targets\[0\].*zero_retention: true/);
  const request = { body: { model: "m", messages } };
  const explained = await call(gateway, "POST /configs/explain", { key, body: { config, request } });
  assert.equal(explained.status, 400);
  const partly = pool("fallback", [target("@us"), target("@eu")], { require_labels: { zero_retention: true } });
  const plan = await done(
    call<{ attempts: { label: string }[]; warnings: string[] }>(gateway, "POST /configs/explain", {
      key,
      body: { config: partly, request },
    }),
  );
  assert.deepEqual(
    plan.attempts.map(({ label }) => label),
    ["config.targets[1]"],
  );
  assert.match(plan.warnings.join(), /config\.targets\[0\]: left out, .*zero_retention: true/);
});

test("labels of a target count where its integration has none, and never instead of them", async () => {
  const labels = { region: "eu", tier: "gold" };
  const asking = (require_labels: object) => ({ ...target("@us", { labels }), require_labels });
  assert.equal((await ask({ config: asking({ tier: "gold" }) })).status, 200);
  assert.equal((await ask({ config: asking({ region: "eu" }) })).code, "no_target_with_labels");
});

/** A policy that holds while a function runs. */
async function withPolicy(body: object, run: () => Promise<void>): Promise<void> {
  const made = await done(call(gateway, "POST /policies/labels", { key, body }));
  try {
    await run();
  } finally {
    await done(call(gateway, `DELETE /policies/labels/${made.id}`, { key }));
  }
}

const everyone = [{ key: "organisation_id", value: "*" }];

const routes: readonly (readonly [string, object])[] = [
  ["/v1/chat/completions", { messages }],
  ["/v1/messages", { messages, max_tokens: 5 }],
  ["/v1/responses", { input: "Hello" }],
  ["/v1/completions", { prompt: "Hello" }],
  ["/v1/embeddings", { input: "Hello" }],
  ["/v1/moderations", { input: "Hello" }],
  ["/v1/images/generations", { prompt: "A cat" }],
  ["/v1/rerank", { query: "a", documents: ["b"] }],
  ["/v1/audio/speech", { input: "Hello", voice: "alloy" }],
  ["/v1/proxy/chat/completions", { messages }],
  ["/v1/assistants", {}],
  ["/v1beta/models/m:generateContent", { contents: [{ role: "user", parts: [{ text: "Hello" }] }] }],
];

test("a policy refuses every route to a target without its label before any call, and lets others pass", async () => {
  await withPolicy({ name: "EU only", conditions: everyone, require_labels: { region: "eu" } }, async () => {
    for (const [path, body] of routes) {
      for (const provider of ["@us", "@plain", "echo"]) {
        const { status, code, message, calls } = await ask({ path, body, provider });
        assert.deepEqual([status, code, calls], [403, "label_policy_denied", 0], `${path} ${provider}`);
        assert.match(message, /EU only.*region: eu/);
      }
    }
    const { status, row } = await ask({ provider: "@eu" });
    assert.equal(status, 200);
    assert.deepEqual(row.labels, labelsOf.eu);
    assert.equal((await ask({ model: "@eu/m" })).served, "eu");
    assert.equal((await ask({ model: "@us/m" })).code, "label_policy_denied");
    assert.equal((await ask({ config: { default_params: { model: "@eu/m" } }, model: "@eu/m" })).status, 200);
  });
  assert.equal((await ask({ provider: "@us" })).status, 200);
});

test("a policy leaves targets of a config out, and does not believe labels that a request writes", async () => {
  await withPolicy({ conditions: everyone, require_labels: { region: "eu" } }, async () => {
    for (const mode of ["fallback", "loadbalance"]) {
      assert.equal((await ask({ config: pool(mode, [target("@us"), target("@eu")]) })).served, "eu");
    }
    const claimed = target("@plain", { labels: { region: "eu" } });
    assert.equal((await ask({ config: claimed })).code, "label_policy_denied");
    const saved = await done(call(gateway, "POST /configs", { key, body: { name: "Labelled", config: claimed } }));
    const { status, row } = await ask({ config: String(saved.slug) });
    assert.equal(status, 200);
    assert.deepEqual(row.labels, { region: "eu" });
  });
});

test("a policy applies where its conditions hold", async () => {
  const conditions = [{ key: "metadata.class", value: ["secret", "internal"] }];
  await withPolicy({ conditions, require_labels: { zero_retention: true } }, async () => {
    assert.equal((await ask({ provider: "@us", metadata: { class: "secret" } })).code, "label_policy_denied");
    assert.equal((await ask({ provider: "@eu", metadata: { class: "secret" } })).status, 200);
    assert.equal((await ask({ provider: "@us", metadata: { class: "public" } })).status, 200);
    assert.equal((await ask({ provider: "@us" })).status, 200);
  });
});

test("a policy on labels is listed, shown, changed and archived", async () => {
  const body = { name: "EU", conditions: everyone, require_labels: { region: "eu" } };
  const { id } = await done(call(gateway, "POST /policies/labels", { key, body }));
  const path = `/policies/labels/${id}`;
  const shown = await done(call(gateway, `GET ${path}`, { key }));
  assert.deepEqual([shown.object, shown.require_labels, shown.status], ["policy_labels", { region: "eu" }, "active"]);
  await done(call(gateway, `PUT ${path}`, { key, body: { require_labels: { region: ["eu", "us"] } } }));
  assert.equal((await ask({ provider: "@us" })).status, 200);
  assert.equal((await ask({ provider: "@plain" })).code, "label_policy_denied");
  await done(call(gateway, `DELETE ${path}`, { key }));
  assert.equal((await ask({ provider: "@plain" })).status, 200);
  const list = await done(call<{ total: number }>(gateway, "GET /policies/labels?status=active", { key }));
  assert.equal(list.total, 0);
});

for (const [body, param] of [
  [{ conditions: everyone, require_labels: {} }, "require_labels"],
  [{ conditions: everyone }, "require_labels"],
  [{ conditions: [], require_labels: { region: "eu" } }, "conditions"],
  [{ conditions: [{ key: "provider", value: "openai" }], require_labels: { region: "eu" } }, "key"],
  [{ conditions: [{ key: "config", value: "pc-x" }], require_labels: { region: "eu" } }, "key"],
] as const) {
  test(`a policy on labels is refused: ${JSON.stringify(body)}`, async () => {
    const answer = await call(gateway, "POST /policies/labels", { key, body });
    assert.equal(answer.status, 400);
    assert.match(JSON.stringify(answer.body), new RegExp(param));
  });
}

test("analytics group and filter by region and retention", async () => {
  await ask({ provider: "@eu" });
  const period = "time_of_generation_min=2020-01-01T00:00:00Z&time_of_generation_max=2100-01-01T00:00:00Z";
  const path = `/analytics/groups/region?${period}`;
  const groups = await done(call<{ data: { region: string; requests: number }[] }>(gateway, `GET ${path}`, { key }));
  assert.ok(groups.data.some(({ region, requests }) => region === "eu" && requests > 0));
  const filtered = await done(
    call<{ data: { region: string }[] }>(gateway, `GET ${path}&zero_retention=true`, { key }),
  );
  assert.deepEqual(
    filtered.data.map(({ region }) => region),
    ["eu"],
  );
});
