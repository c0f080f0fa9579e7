import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { call, done } from "../support/control.ts";
import { adminKey, createTestGateway, type TestGateway, waitForLog, workspaceKey } from "../support/gateway.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

let gateway: TestGateway;
let upstream: RecordingUpstream;
/** What the upstream was asked: provider and body. */
let asked: { provider: string; body: Record<string, unknown> }[] = [];
/** Providers that fail. */
let down: string[] = [];

before(async () => {
  gateway = await createTestGateway();
  upstream = await startRecordingUpstream(({ path, text }, response) => {
    const [, provider = ""] = path.split("/");
    const body = JSON.parse(text);
    asked.push({ provider, body });
    response.setHeader("content-type", "application/json");
    const { model } = body;
    if (down.includes(provider) || model === "broken")
      return response.writeHead(503).end('{"error":{"message":"down"}}');
    if (path.endsWith("/responses")) {
      const shown = { id: "resp_1", object: "response", created_at: 1, error: null, incomplete_details: null };
      return response.end(JSON.stringify({ ...shown, status: "completed", model, output: [] }));
    }
    const message = { role: "assistant", content: "Hi" };
    const choices = [{ index: 0, message, finish_reason: "stop" }];
    return response.end(JSON.stringify({ id: "c", object: "chat.completion", created: 1, model, choices }));
  });
  for (const slug of ["one", "two", "three"]) await createProvider(slug, "openai");
  await createProvider("router", "openrouter");
  await done(
    call(gateway, "POST /model-aliases", {
      key: workspaceKey,
      body: { name: "fast", target: { model: "@one/quick" } },
    }),
  );
});
after(async () => {
  await gateway.close();
  await upstream.close();
});
beforeEach(() => {
  asked = [];
  down = [];
});

async function createProvider(slug: string, vendor: string): Promise<void> {
  const integration = {
    name: slug,
    slug: `${slug}-integration`,
    ai_provider_id: vendor,
    configurations: { custom_host: `${upstream.url}/${slug}` },
    key: "fake-provider-credential",
    create_default_provider: false,
  };
  await done(call(gateway, "POST /integrations", { key: workspaceKey, body: integration }));
  const body = { name: slug, slug, integration_id: `${slug}-integration` };
  await done(call(gateway, "POST /providers", { key: workspaceKey, body }));
}

const messages = [{ role: "user", content: "Hello" }];

async function ask(
  body: object,
  {
    headers = {},
    path = "/v1/chat/completions",
    key = workspaceKey,
  }: { headers?: object; path?: string; key?: string } = {},
) {
  const trace = crypto.randomUUID();
  const sent = {
    "x-gateway-api-key": key,
    "content-type": "application/json",
    "x-gateway-trace-id": trace,
    ...headers,
  };
  const request = new Request(`http://gateway.test${path}`, {
    method: "POST",
    headers: sent,
    body: JSON.stringify({ messages, ...body }),
  });
  const response = await gateway.gateway.fetch(request);
  return { status: response.status, body: JSON.parse(await response.text()), trace };
}

const calls = () => asked.map(({ provider, body }) => `${provider} ${body.model}`);

for (const [title, body, failing, expected] of [
  [
    "models after the first are fallbacks",
    { model: "broken", models: ["broken", "spare"] },
    [],
    ["one broken", "one spare"],
  ],
  ["models alone are enough", { models: ["broken", "spare"] }, [], ["one broken", "one spare"]],
  ["a model may be that of another provider", { model: "broken", models: ["@two/x"] }, [], ["one broken", "two x"]],
  [
    "order goes before the provider of the header",
    { model: "m", provider: { order: ["two", "@three"] } },
    ["two"],
    ["two m", "three m"],
  ],
  [
    "only restricts order, and adds to it",
    { model: "m", provider: { order: ["one", "three"], only: ["two", "three"] } },
    ["three"],
    ["three m", "two m"],
  ],
  ["ignore removes", { model: "m", provider: { order: ["one", "two"], ignore: ["one"] } }, [], ["two m"]],
  [
    "each model is asked at each provider",
    { models: ["broken", "m"], provider: { order: ["two", "three"] } },
    [],
    ["two broken", "three broken", "two m"],
  ],
  [
    "only concerns models that name a provider",
    { models: ["@two/x", "@three/y"], provider: { only: ["three"] } },
    [],
    ["three y"],
  ],
] as const) {
  test(`body routing: ${title}`, async () => {
    down = [...failing];
    const { status, trace } = await ask(body, { headers: { "x-gateway-provider": "@one" } });
    assert.equal(status, 200);
    assert.deepEqual(calls(), expected);
    for (const { body: sent } of asked) assert.deepEqual([sent.models, sent.provider], [undefined, undefined]);
    const row = await waitForLog(gateway, trace);
    assert.ok(JSON.stringify(row).includes(String(asked.at(-1)?.body.model)));
  });
}

test("body routing: responses and messages take the same fields", async () => {
  const provider = { order: ["two"] };
  const found = [
    await ask({ model: "m", provider, input: "Hello", messages: undefined, store: false }, { path: "/v1/responses" }),
    await ask({ model: "m", provider, max_tokens: 9 }, { path: "/v1/messages" }),
  ];
  assert.deepEqual(
    found.map(({ status }) => status),
    [200, 200],
  );
  assert.deepEqual(calls(), ["two m", "two m"]);
});

for (const [title, body, headers] of [
  [
    "OpenRouter",
    { model: "m", models: ["n"], provider: { order: ["azure"], sort: "price" } },
    { "x-gateway-provider": "@router" },
  ],
  ["OpenRouter, named with the model", { model: "@router/m", models: ["n"], provider: { order: ["azure"] } }, {}],
  ["a config", { model: "m", models: ["n"] }, { "x-gateway-config": '{"provider":"@one"}' }],
  ["an alias", { model: "fast", models: ["n"] }, {}],
  ["no choice", { model: "m", provider: { sort: "price" } }, { "x-gateway-provider": "@one" }],
] as const) {
  test(`body routing: the fields are forwarded as they are with ${title}`, async () => {
    const { status } = await ask(body, { headers });
    assert.equal(status, 200);
    const [{ body: sent } = assert.fail()] = asked;
    const { models, provider }: { model?: string; models?: unknown; provider?: unknown } = body;
    assert.deepEqual([sent.models, sent.provider], [models, provider]);
  });
}

for (const [title, body, message] of [
  ["an unknown provider", { model: "m", provider: { order: ["nobody"] } }, /no stored provider nobody/],
  ["lists that leave nothing", { model: "m", provider: { only: ["two"], ignore: ["two"] } }, /leave no provider/],
  ["an ignored provider of the header", { model: "m", provider: { ignore: ["one"] } }, /leave no provider/],
  [
    "preferences that the gateway lacks",
    { model: "m", provider: { order: ["two"], zdr: true } },
    /provider\.zdr: only order/,
  ],
  ["models of another type", { model: "m", models: [1] }, /models\.0: must be a list of strings/],
  ["too many models", { models: [...Array(21).keys()].map(String) }, /at most 20/],
  ["an alias among them", { model: "m", models: ["fast"] }, /aliases and configs/],
  ["a provider alone", { model: "m", models: ["@two"] }, /a provider alone/],
] as const) {
  test(`body routing: 400 for ${title}, and nothing is called`, async () => {
    const { status, body: answer } = await ask(body, { headers: { "x-gateway-provider": "@one" } });
    assert.deepEqual([status, calls()], [400, []]);
    assert.match(answer.error.message, message);
  });
}

test("body routing: a key that may not choose a config may not choose models", async () => {
  const body = {
    name: "Locked",
    workspace_id: "default",
    scopes: ["completions.write"],
    defaults: { allow_config_override: false },
  };
  const made = await done(call(gateway, "POST /api-keys/workspace/service", { key: adminKey, body }));
  const found = await ask({ model: "@one/m", models: ["@two/n"] }, { key: String(made.key) });
  assert.deepEqual([found.status, found.body.error.code, calls()], [400, "config_override_not_allowed", []]);
});

test("body routing: explain shows the targets", async () => {
  const request = {
    body: { model: "m", messages, provider: { order: ["two", "three"] } },
    path: "/v1/chat/completions",
  };
  const found = await done(call(gateway, "POST /configs/explain", { key: workspaceKey, body: { request } }));
  const attempts = found.attempts as { provider: string; model: string }[];
  assert.equal(attempts.length, 2);
  assert.ok(JSON.stringify(attempts).includes("two") && JSON.stringify(attempts).includes("three"));
});

test("body routing: targets obey the models of their integration and the policies of the workspace", async () => {
  const models = { models: [{ slug: "allowed", enabled: true }], allow_all_models: false };
  const restricted = "PUT /integrations/three-integration/models";
  await done(call(gateway, restricted, { key: workspaceKey, body: models }));
  const denied = await ask({ model: "m", provider: { only: ["three"] } });
  assert.deepEqual([denied.status, denied.body.error.code, calls()], [412, "model_not_allowed_error", []]);
  const labels = { labels: { region: "eu" } };
  await done(call(gateway, "PUT /integrations/two-integration", { key: workspaceKey, body: labels }));
  const body = { name: "EU", conditions: [{ key: "organisation_id", value: "*" }], require_labels: { region: ["eu"] } };
  const policy = await done(call<{ id: string }>(gateway, "POST /policies/labels", { key: workspaceKey, body }));
  const limited = await ask({ model: "m", provider: { order: ["one", "two"] } });
  const refused = await ask({ model: "m", provider: { order: ["one"] } });
  await done(call(gateway, `DELETE /policies/labels/${policy.id}`, { key: workspaceKey }));
  assert.deepEqual([limited.status, refused.status, calls()], [200, 403, ["two m"]]);
});
