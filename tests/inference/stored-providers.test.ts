import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, done } from "../support/control.ts";
import {
  adminKey,
  chat,
  createTestGateway,
  type HeaderChanges,
  readJson,
  requestHeaders,
  type TestGateway,
  upstreamHeaders,
  waitForLog,
  workspaceKey,
} from "../support/gateway.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

const providerKey = "fake-stored-credential-1234567890";

let gateway: TestGateway;
let upstream: RecordingUpstream;
before(async () => {
  gateway = await createTestGateway({ inFile: true });
  upstream = await startRecordingUpstream(({ path, text }, response) => {
    response.setHeader("content-type", "application/json");
    if (text.includes("fail please")) {
      response.statusCode = 401;
      return response.end(JSON.stringify({ error: { message: `Incorrect API key provided: ${providerKey}` } }));
    }
    if (path === "/v1/models")
      return response.end(JSON.stringify({ object: "list", data: [{ id: "upstream-model" }] }));
    const message = { role: "assistant", content: "Hello" };
    response.end(JSON.stringify({ id: "1", object: "chat.completion", choices: [{ index: 0, message }], usage: null }));
  });
  await createProvider("main");
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

/** A workspace integration with a provider of the same slug that calls the upstream. */
async function createProvider(slug: string, changes: object = {}, kind = "openai"): Promise<void> {
  const configurations = { custom_host: `${upstream.url}/v1` };
  const body = { name: slug, slug: `${slug}-integration`, ai_provider_id: kind, key: providerKey, configurations };
  const options = { key: workspaceKey };
  await done(call(gateway, "POST /integrations", { ...options, body: { ...body, create_default_provider: false } }));
  const provider = { name: slug, slug, integration_id: `${slug}-integration`, ...changes };
  await done(call(gateway, "POST /providers", { ...options, body: provider }));
}

const messages = [{ role: "user", content: "Hello" }];
const body = { model: "gpt-test", messages };

interface Answer {
  status: number;
  code: string | null;
  message: string;
}

/** The response to a chat. */
async function ask(headers: HeaderChanges, sent: object = body): Promise<Answer> {
  const response = await chat(gateway, sent, { "x-gateway-provider": null, ...headers });
  const answer = await readJson<{ message?: string; error?: { code: string | null } }>(response);
  return { status: response.status, code: answer.error?.code ?? null, message: answer.message ?? "" };
}

/** The last request the upstream received. */
function lastSent() {
  const request = upstream.requests.at(-1);
  assert.ok(request);
  return { authorization: request.headers.authorization, model: JSON.parse(request.text).model, path: request.path };
}

for (const [name, headers, model] of [
  ["x-gateway-provider", { "x-gateway-provider": "@main" }, "gpt-test"],
  ["x-gateway-virtual-key", { "x-gateway-virtual-key": "main" }, "gpt-test"],
  ["the model", {}, "@main/gpt-test"],
  ["the header and the model", { "x-gateway-provider": "@main" }, "@main/gpt-test"],
  ["the legacy header and the model", { "x-gateway-virtual-key": "main" }, "@main/gpt-test"],
] as const) {
  test(`a stored provider named by ${name} is called with its own credential`, async () => {
    const { status } = await ask({ ...headers, authorization: "Bearer the-callers-own" }, { model, messages });
    assert.equal(status, 200);
    assert.deepEqual(lastSent(), {
      authorization: `Bearer ${providerKey}`,
      model: "gpt-test",
      path: "/v1/chat/completions",
    });
  });
}

test("a model with slashes is everything after the first slash", async () => {
  await ask({}, { model: "@main/org/model/v2", messages });
  assert.equal(lastSent().model, "org/model/v2");
});

for (const model of ["@cf/meta/llama", "@hf/some/model"]) {
  test(`${model} is a model, not a reference`, async () => {
    const headers = { ...upstreamHeaders(upstream) };
    assert.equal((await ask(headers, { model, messages })).status, 200);
    assert.equal(lastSent().model, model);
  });
}

for (const [name, headers, model, status, code] of [
  ["an unknown slug", { "x-gateway-provider": "@nothing" }, "m", 400, "invalid_provider"],
  ["an unknown virtual key", { "x-gateway-virtual-key": "nothing" }, "m", 400, "invalid_provider"],
  ["an unknown slug in the model", {}, "@nothing/m", 400, "invalid_provider"],
  ["an empty slug", { "x-gateway-provider": "@" }, "m", 400, "invalid_provider"],
  ["no provider", {}, "m", 400, "provider_required"],
  [
    "a host of the caller",
    { "x-gateway-provider": "@main", "x-gateway-custom-host": "https://attacker.example.com" },
    "m",
    400,
    "invalid_custom_host",
  ],
] as const) {
  test(`${name} is refused with ${status}`, async () => {
    const calls = upstream.requests.length;
    const answer = await ask(headers as HeaderChanges, { model, messages });
    assert.deepEqual([answer.status, answer.code], [status, code]);
    assert.equal(upstream.requests.length, calls);
  });
}

test("an expired provider is refused with 401", async () => {
  await createProvider("old", { expires_at: "2020-01-01T00:00:00Z" });
  const { status, code } = await ask({ "x-gateway-provider": "@old" });
  assert.deepEqual([status, code], [401, "virtual_key_expired_error"]);
});

test("forbidden models are refused with 412, also in forwarded bodies", async () => {
  await createProvider("strict");
  const models = [
    { slug: "allowed", enabled: true },
    { slug: "archived", enabled: false },
  ];
  const path = "PUT /integrations/strict-integration/models";
  await done(call(gateway, path, { key: workspaceKey, body: { models, allow_all_models: false } }));
  const headers = { "x-gateway-provider": "@strict" };
  assert.equal((await ask(headers, { model: "allowed", messages })).status, 200);
  for (const model of ["archived", "other"]) {
    const { status, code } = await ask(headers, { model, messages });
    assert.deepEqual([status, code], [412, "model_not_allowed_error"]);
  }
  const pass = async (init: RequestInit) => {
    const sent = { "x-gateway-api-key": workspaceKey, ...headers, ...(init.headers as Record<string, string>) };
    return (await gateway.fetch("/v1/evaluations", { method: "POST", ...init, headers: sent })).status;
  };
  const json = (text: string) => ({
    headers: { "content-type": "application/json", "content-length": `${text.length}` },
    body: text,
  });
  assert.equal(await pass(json('{"model":"allowed"}')), 200);
  assert.equal(await pass(json('{"model":"other"}')), 412);
  assert.equal(await pass({ headers: { "content-type": "audio/wav", "content-length": "3" }, body: "abc" }), 412);
  await done(
    call(gateway, path, {
      key: workspaceKey,
      body: { models: [{ slug: "archived", enabled: false }], allow_all_models: true },
    }),
  );
  assert.equal((await ask(headers, { model: "other", messages })).status, 200);
  assert.equal((await ask(headers, { model: "archived", messages })).status, 412);
});

test("batches and tuning jobs are limited to allowed models, and must name one", async () => {
  await createProvider("batches", {}, "anthropic");
  const models = [{ slug: "allowed", enabled: true }];
  const path = "PUT /integrations/batches-integration/models";
  await done(call(gateway, path, { key: workspaceKey, body: { models, allow_all_models: false } }));
  const make = async (...names: (string | undefined)[]) => {
    const requests = names.map((model, index) => ({ custom_id: `${index}`, params: { model, messages } }));
    const connections = upstream.requests.length;
    const response = await gateway.fetch("/v1/batches", {
      method: "POST",
      headers: requestHeaders({ "x-gateway-provider": "@batches" }),
      body: JSON.stringify({ requests }),
    });
    await response.text();
    return [response.status === 412, upstream.requests.length - connections];
  };
  assert.deepEqual(await make("allowed"), [false, 1]);
  assert.deepEqual(await make("allowed", "other"), [true, 0]);
  assert.deepEqual(await make("allowed", undefined), [true, 0]);
});

test("an integration of the organisation is usable while the workspace has access", async () => {
  const configurations = { custom_host: `${upstream.url}/v1` };
  const body = { name: "Lent", slug: "lent", ai_provider_id: "openai", key: providerKey, configurations };
  await done(call(gateway, "POST /integrations", { body }));
  const grant = (enabled: boolean) =>
    done(call(gateway, "PUT /integrations/lent/workspaces", { body: { workspaces: [{ id: "default", enabled }] } }));
  await grant(true);
  const provider = { name: "Lent", slug: "lent-here", integration_id: "lent" };
  await done(call(gateway, "POST /providers", { key: workspaceKey, body: provider }));
  const headers = { "x-gateway-provider": "@lent-here" };
  assert.equal((await ask(headers)).status, 200);
  await grant(false);
  assert.deepEqual((await ask(headers)).code, "integration_access_error");
  await grant(true);
  assert.equal((await ask(headers)).status, 200);
});

test("an upstream that repeats the credential does not reveal it to the caller", async () => {
  const response = await chat(
    gateway,
    { ...body, messages: [{ role: "user", content: "fail please" }] },
    {
      "x-gateway-provider": "@main",
      "x-gateway-trace-id": "repeats",
    },
  );
  const text = await response.text();
  assert.equal(response.status, 401);
  assert.ok(!text.includes(providerKey), text);
  assert.match(text, /fa\*\*\*\*\*890/);
  assert.ok(!JSON.stringify(await waitForLog(gateway, "repeats")).includes(providerKey));
});

test("custom headers of an integration are sent upstream", async () => {
  const configurations = { custom_host: `${upstream.url}/v1`, custom_headers: { "X-Team": "blue" } };
  await done(call(gateway, "PUT /integrations/main-integration", { key: workspaceKey, body: { configurations } }));
  assert.equal((await ask({ "x-gateway-provider": "@main" })).status, 200);
  assert.equal(upstream.requests.at(-1)?.headers["x-team"], "blue");
});

test("a new credential is used from the next request on", async () => {
  await createProvider("fresh");
  assert.equal((await ask({ "x-gateway-provider": "@fresh" })).status, 200);
  const key = "fake-second-credential-0987654321";
  await done(call(gateway, "PUT /integrations/fresh-integration", { key: workspaceKey, body: { key } }));
  assert.equal((await ask({ "x-gateway-provider": "@fresh" })).status, 200);
  assert.equal(lastSent().authorization, `Bearer ${key}`);
});

test("echo preserves its settings beside a stored credential", async () => {
  const body = { name: "Rehearsal", slug: "rehearsal", provider: "echo", key: "unused-key-for-echo" };
  await done(call(gateway, "POST /virtual-keys", { key: workspaceKey, body }));
  const { status } = await ask({ "x-gateway-provider": "@rehearsal", "x-gateway-echo-status": "503" });
  assert.equal(status, 503);
});

interface Models {
  data: { id: string; provider: string; slug: string }[];
  provider?: string;
}

async function listModels(query: string, headers: Record<string, string> = {}, key = workspaceKey) {
  const response = await gateway.fetch(`/v1/models${query}`, { headers: { "x-gateway-api-key": key, ...headers } });
  return { status: response.status, body: await readJson<Models>(response) };
}

test("GET /v1/models lists what the workspace may call, or the list of the named provider", async () => {
  const all = await listModels("?provider=main&limit=3");
  assert.equal(all.body.data.length, 3);
  assert.ok(all.body.data.every(({ id, slug }) => id === `@main/${slug}`));
  const strict = await listModels("?provider=strict");
  assert.ok(!strict.body.data.some(({ slug }) => slug === "archived"));
  const upstreamList = await listModels("", { "x-gateway-provider": "@main" });
  assert.deepEqual(
    upstreamList.body.data.map(({ id }) => id),
    ["upstream-model"],
  );
  const forced = await listModels("?provider=main", {
    "x-gateway-provider": "@main",
    "x-gateway-fetch-integrated-models": "true",
  });
  assert.ok(forced.body.data.every(({ provider }) => provider === "main"));
  assert.equal((await listModels("?sort=colour")).status, 400);
});

test("GET /v1/models/{model} finds what the workspace may call, by either name and in every spelling", async () => {
  const [first] = (await listModels("?provider=main&limit=1")).body.data;
  assert.ok(first);
  for (const name of [first.id, encodeURIComponent(first.id), first.slug]) {
    const response = await gateway.fetch(`/v1/models/${name}`, { headers: { "x-gateway-api-key": workspaceKey } });
    assert.equal(response.status, 200, name);
    const { slug, id } = await readJson<Models["data"][number]>(response);
    if (name === first.slug) assert.equal(slug, first.slug);
    else assert.equal(id, first.id);
  }
  for (const name of ["@strict/archived", "@nobody/x", "nothing-of-this-name"]) {
    const response = await gateway.fetch(`/v1/models/${name}`, { headers: { "x-gateway-api-key": workspaceKey } });
    assert.equal(response.status, 404, name);
  }
});

test("GET /v1/models requires completions.write for providers, and virtual_keys.list for stored models", async () => {
  const make = async (scope: string) => {
    const created = await done<{ key: string }>(
      call(gateway, "POST /api-keys/workspace/service", {
        body: { name: scope, workspace_id: "default", scopes: [scope] },
      }),
    );
    return created.key;
  };
  const lister = await make("virtual_keys:list");
  const writer = await make("completions:write");
  const other = await make("configs.list");
  const provider = { "x-gateway-provider": "@main" };
  const statuses = async (key: string) => [
    (await listModels("", {}, key)).status,
    (await listModels("", provider, key)).status,
  ];
  assert.deepEqual(await statuses(lister), [200, 403]);
  assert.deepEqual(await statuses(writer), [200, 200]);
  assert.deepEqual(await statuses(other), [403, 403]);
  assert.equal((await listModels("", {}, adminKey)).status, 403);
});

test("a key's default metadata is stored with its requests", async () => {
  const created = await done<{ key: string }>(
    call(gateway, "POST /api-keys/workspace/service", {
      body: {
        name: "With metadata",
        workspace_id: "default",
        scopes: ["completions.write"],
        defaults: { metadata: { team: "blue" } },
      },
    }),
  );
  await chat(gateway, body, {
    "x-gateway-api-key": created.key,
    "x-gateway-provider": "echo",
    "x-gateway-trace-id": "default-metadata",
    "x-gateway-metadata": '{"team":"red","other":"x"}',
  });
  assert.deepEqual((await waitForLog(gateway, "default-metadata")).metadata, { team: "blue", other: "x" });
});

test("a key without permission refuses requests with a config", async () => {
  const created = await done<{ key: string }>(
    call(gateway, "POST /api-keys/workspace/service", {
      body: {
        name: "Fixed",
        workspace_id: "default",
        scopes: ["completions.write"],
        defaults: { allow_config_override: false },
      },
    }),
  );
  const { status, code } = await ask({
    "x-gateway-api-key": created.key,
    "x-gateway-provider": "echo",
    "x-gateway-config": "{}",
  });
  assert.deepEqual([status, code], [400, "config_override_not_allowed"]);
});

const hello = { model: "m", messages: [{ role: "user", content: "Hello" }] };

test("a legacy virtual key may have the @ of a stored provider", async () => {
  for (const name of ["main", "@main"]) {
    const response = await chat(gateway, hello, { "x-gateway-provider": null, "x-gateway-virtual-key": name });
    assert.equal(response.status, 200, name);
    assert.equal((await readJson<{ object: string }>(response)).object, "chat.completion");
  }
});

test("a config is named by its slug or by its id, and by no other", async () => {
  const as = { key: workspaceKey, body: { name: "c", config: { provider: "@main" } } };
  const { id, slug } = await done<{ id: string; slug: string }>(call(gateway, "POST /configs", as));
  for (const name of [slug, id, id.toUpperCase()]) {
    const response = await chat(gateway, hello, { "x-gateway-provider": null, "x-gateway-config": name });
    assert.equal(response.status, 200, name);
    await response.text();
  }
  const unknown = "00000000-0000-4000-8000-000000000000";
  const response = await chat(gateway, hello, { "x-gateway-provider": null, "x-gateway-config": unknown });
  const { error } = await readJson<{ error: { code: string } }>(response);
  assert.deepEqual([response.status, error.code], [400, "invalid_config_id"]);
});

test("options of a stream are left out of requests without one, and named", async () => {
  const asked = { ...hello, model: "@main/m", stream_options: { include_usage: true } };
  const response = await chat(gateway, asked, { "x-gateway-provider": null });
  assert.deepEqual([response.status, response.headers.get("x-gateway-dropped-params")], [200, "stream_options"]);
  assert.equal("stream_options" in JSON.parse(upstream.requests.at(-1)?.text ?? ""), false);
});

test("Responses need an input, or something that has one", async () => {
  const ask = async (members: object) => {
    // the upstream refuses what reaches it
    const body = JSON.stringify({ model: "@main/m", metadata: { a: "fail please" }, ...members });
    const headers = requestHeaders({ "x-gateway-provider": null });
    const response = await gateway.fetch("/v1/responses", { method: "POST", headers, body });
    const { error } = await readJson<{ error?: { param: string } }>(response);
    return [response.status, error?.param];
  };
  assert.deepEqual(await ask({}), [400, "input"]);
  assert.deepEqual(await ask({ input: null }), [400, "input"]);
  for (const other of [{ prompt: { id: "p" } }, { conversation: "c" }, { previous_response_id: "resp_1" }]) {
    assert.equal((await ask(other))[0], 401, JSON.stringify(other));
  }
});
