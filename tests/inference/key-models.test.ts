import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { chatLine, createBatch, readResults, upload, waitForBatch } from "../support/batches.ts";
import { call, done } from "../support/control.ts";
import {
  createPrompt,
  messages,
  nameOf,
  ownRows,
  pathOf,
  providerRows,
  toRequest,
  withFormBytes,
} from "../support/endpoint-requests.ts";
import { adminKey, createTestGateway, readJson, type TestGateway, workspaceKey } from "../support/gateway.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

const key = workspaceKey;
const refused = "403 key_model_access_error";

let gateway: TestGateway;
let upstream: RecordingUpstream;
/** Slugs of saved configs: one that sets the model "large", and one that takes it from the request. */
let large: string;
let open: string;
before(async () => {
  gateway = await createTestGateway();
  upstream = await startRecordingUpstream(({ path, text }, response) => {
    const { model = "none" } = text.startsWith("{") ? JSON.parse(text) : {};
    response.setHeader("content-type", "application/json");
    if (path.endsWith("/models")) {
      const data = ["small", "large"].map((id) => ({ id, object: "model", created: 1, owned_by: "main" }));
      return response.end(JSON.stringify({ object: "list", data }));
    }
    if (path.endsWith("/embeddings")) {
      const data = [0, 1, 2].map((index) => ({ object: "embedding", index, embedding: [1, index] }));
      return response.end(
        JSON.stringify({ object: "list", model, data, usage: { prompt_tokens: 1, total_tokens: 1 } }),
      );
    }
    const message = { role: "assistant", content: "Hi" };
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    const choices = [{ index: 0, message, finish_reason: "stop" }];
    return response.end(JSON.stringify({ id: "c", object: "chat.completion", created: 1, model, choices, usage }));
  });
  const configurations = { custom_host: `${upstream.url}/v1` };
  const integration = { name: "main", slug: "main", ai_provider_id: "openai", key: "fake-credential", configurations };
  await own("POST /integrations", integration);
  const models = ["small", "large"].map((slug) => ({ slug, enabled: true }));
  await own("PUT /integrations/main/models", { models });
  large = await saveConfig({ provider: "@main", override_params: { model: "large" } });
  open = await saveConfig({ provider: "@main" });
  await own("POST /model-aliases", { name: "fast", target: { model: "@main/small" } });
  await own("POST /model-aliases", { name: "best", target: { config: large } });
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

const own = (route: string, body: object) => done(call(gateway, route, { key, body }));
const saveConfig = async (config: object) => String((await own("POST /configs", { name: "c", config })).slug);

/** A key that may use some models. */
async function limited(allowed_models: readonly string[], more: object = {}): Promise<string> {
  const body = { name: "limited", workspace_id: "default", scopes: ["completions.write"], allowed_models, ...more };
  return String((await done(call(gateway, "POST /api-keys/workspace/service", { key: adminKey, body }))).key);
}

/** The status of a chat, with the model that was called or the code of the refusal. */
async function ask(by: string, body: object, headers: Record<string, string> = {}): Promise<string> {
  const init = {
    method: "POST",
    headers: { "x-gateway-api-key": by, "content-type": "application/json", ...headers },
    body: JSON.stringify({ messages, ...body }),
  };
  const response = await gateway.gateway.fetch(new Request("http://gateway.test/v1/chat/completions", init));
  const { model, error } = await readJson<{ model?: string; error?: { code: string } }>(response);
  return `${response.status} ${model ?? error?.code}`;
}

test("a key calls the models of its list and no others, by name and by pattern", async () => {
  const by = await limited(["fast", "@main/sm*", "pc-not-there-*"]);
  assert.equal(await ask(by, { model: "fast" }), "200 small");
  assert.equal(await ask(by, { model: "@main/small" }), "200 small");
  assert.equal(await ask(by, { model: "small" }, { "x-gateway-provider": "@main" }), "200 small");
  assert.equal(await ask(by, { model: "@main/small" }, { "x-gateway-provider": "@main" }), "200 small");
  for (const model of ["best", "@main/large", "small", "FAST", "fast ", large]) {
    assert.equal(await ask(by, { model }), refused, model);
  }
  const both = await limited(["@main/small", "@main/large"]);
  assert.equal(await ask(both, { model: "@main/small", models: ["@main/large"] }), "200 small");
  assert.equal(await ask(await limited(["*"]), { model: "best" }), "200 large");
  assert.equal(await ask(await limited(["best"]), { model: "best" }), "200 large");
});

test("the refusal says which model, and what the key may use", async () => {
  const names = Array.from({ length: 12 }, (_, index) => `model-${index}`);
  const init = {
    method: "POST",
    headers: { "x-gateway-api-key": await limited(names), "content-type": "application/json" },
    body: JSON.stringify({ model: "@main/large", messages }),
  };
  const response = await gateway.gateway.fetch(new Request("http://gateway.test/v1/chat/completions", init));
  const { error } = await readJson<{ error: { message: string; param: string } }>(response);
  const shown = names.slice(0, 10).join(", ");
  const message = `Forbidden! This API key may not use the model @main/large: it may use ${shown} and 2 more`;
  assert.deepEqual([error.message, error.param], [message, "model"]);
});

const inline = (config: object) => ({ "x-gateway-config": JSON.stringify(config) });
for (const [what, request, wanted] of [
  ["a provider in a header", () => [{ model: "fast" }, { "x-gateway-provider": "@main" }], refused],
  ["a virtual key", () => [{ model: "fast" }, { "x-gateway-virtual-key": "main" }], refused],
  ["a service in a header", () => [{ model: "fast" }, { "x-gateway-provider": "echo" }], refused],
  [
    "a config in the request",
    () => [{ model: "fast" }, inline({ provider: "@main", override_params: { model: "large" } })],
    "400 inline_config_blocked",
  ],
  ["a saved config", () => [{ model: "fast" }, { "x-gateway-config": large }], refused],
  ["further models in the body", () => [{ model: "fast", models: ["@main/large"] }, {}], refused],
  ["providers in the body", () => [{ model: "fast", provider: { order: ["main"] } }, {}], "200 small"],
  [
    "providers in the body with a name that is no alias",
    () => [{ model: "plain", provider: { order: ["main"] } }, {}],
    refused,
  ],
  ["fallbacks in the body", () => [{ model: "fast", fallbacks: [{ model: "large" }] }, {}], refused],
  ["a model of a tool", () => [{ model: "fast", tools: [{ type: "image_generation", model: "large" }] }, {}], refused],
  ["no model", () => [{}, { "x-gateway-provider": "@main" }], "400 invalid_body"],
  ["a model beside the provider of a header", () => [{}, { "x-gateway-provider": "@main/large" }], refused],
] satisfies readonly [string, () => [object, Record<string, string>], string][]) {
  test(`${what} does not lead around the list of a key`, async () => {
    const [body, headers] = request();
    assert.equal(await ask(await limited(["fast", "plain"]), body, headers), wanted);
  });
}

test("a saved config in a header counts if the list has its slug, and its model too", async () => {
  const by = await limited([large, open, "small"]);
  assert.equal(await ask(by, { model: "small" }, { "x-gateway-config": large }), "200 large");
  assert.equal(await ask(by, { model: large }), "200 large");
  assert.equal(await ask(by, { model: "small" }, { "x-gateway-config": open }), "200 small");
  assert.equal(await ask(by, { model: "large" }, { "x-gateway-config": open }), refused);
});

test("a default config decides where a name of the list leads", async () => {
  const by = await limited(["name"], { defaults: { config_id: large } });
  assert.equal(await ask(by, { model: "name" }), "200 large");
  assert.equal(await ask(by, { model: "other" }), refused);
});

test("a prompt is called with models of the list", async () => {
  const slug = await createPrompt(gateway);
  const send = async (by: string, model: string) => {
    const init = {
      method: "POST",
      headers: { "x-gateway-api-key": by, "content-type": "application/json" },
      body: JSON.stringify({ variables: {}, model }),
    };
    return (await gateway.gateway.fetch(new Request(`http://gateway.test/v1/prompts/${slug}/completions`, init)))
      .status;
  };
  const by = await limited(["fast"]);
  assert.deepEqual([await send(by, "fast"), await send(by, "best")], [200, 403]);
});

test("each line of a batch is checked, also where the provider would run them all", async () => {
  const by = await limited(["fast", "@main/small"], { scopes: ["completions.write"] });
  const lines = ["fast", "best", "@main/small", "@main/large"].map((model) => chatLine(model, "Hello", { model }));
  const file = await readJson<{ id: string }>(await upload(gateway, lines.join("\n"), { key: by }));
  const begun = await readJson<{ id: string }>(await createBatch(gateway, { input_file_id: file.id }, by));
  const { output_file_id: made, error_file_id: failed } = await waitForBatch(gateway, begun.id);
  const results = [...(await readResults(gateway, made)), ...(await readResults(gateway, failed))];
  const statuses = Object.fromEntries(results.map(({ custom_id, response }) => [custom_id, response?.status_code]));
  assert.deepEqual(statuses, { fast: 200, "@main/small": 200, best: 403, "@main/large": 403 });
});

test("lists of models have those that a key may use", async () => {
  const by = await limited(["fast", "@main/small"]);
  const ids = async (path: string, headers: Record<string, string> = {}) => {
    const init = { headers: { "x-gateway-api-key": by, ...headers } };
    const response = await gateway.gateway.fetch(new Request(`http://gateway.test${path}`, init));
    const { data, models } = await readJson<{ data?: { id: string }[]; models?: { name: string }[] }>(response);
    return [...(data ?? []).map(({ id }) => id), ...(models ?? []).map(({ name }) => name)].sort();
  };
  assert.deepEqual(await ids("/v1/models"), ["@main/small", "fast"]);
  assert.deepEqual(await ids("/v1/models", { "anthropic-version": "2023-06-01" }), ["@main/small", "fast"]);
  assert.deepEqual(await ids("/v1beta/models"), ["models/@main/small", "models/fast"]);
  assert.deepEqual(await ids("/v1/models", { "x-gateway-provider": "@main" }), ["small"]);
  const one = async (name: string) => {
    const init = { headers: { "x-gateway-api-key": by } };
    return (await gateway.gateway.fetch(new Request(`http://gateway.test/v1/models/${name}`, init))).status;
  };
  assert.deepEqual([await one("fast"), await one("best"), await one("@main/large")], [200, 404, 404]);
});

/** Endpoints that call no model: they store, read, remove or end records. */
const callsNone = (row: (typeof providerRows)[number]): boolean =>
  row.method === "GET" || row.method === "DELETE" || /\/cancel$|^\/v1\/files$/.test(row.path);

test("no endpoint calls a model that the list of the key lacks", async () => {
  const by = await limited(["only-this"]);
  const promptSlug = await createPrompt(gateway);
  const wrong: string[] = [];
  for (const row of providerRows.filter((one) => !ownRows.has(nameOf(one)) && !callsNone(one))) {
    const before = upstream.requests.length;
    const host = { "x-gateway-custom-host": upstream.url, "x-gateway-api-key": by };
    const init = await withFormBytes(toRequest(row, host));
    const response = await gateway.fetch(pathOf(row, promptSlug), init);
    const text = await response.text();
    const isRefused = response.status === 403 && /key_model_access_error/i.test(text);
    if (!isRefused || upstream.requests.length > before) wrong.push(`${nameOf(row)}: ${response.status} ${text}`);
  }
  assert.deepEqual(wrong, []);
});

test("a long form is read before it is sent", async () => {
  const form = new FormData();
  form.set("file", new Blob([new Uint8Array(300 * 1024)]), "a.wav");
  form.set("model", "large");
  const headers = {
    "x-gateway-api-key": await limited(["openai/small"]),
    "x-gateway-provider": "openai",
    "x-gateway-custom-host": upstream.url,
    authorization: "Bearer provider-key",
  };
  const init = await withFormBytes({ method: "POST", headers, body: form });
  const before = upstream.requests.length;
  const response = await gateway.fetch("/v1/audio/transcriptions", init);
  assert.deepEqual([response.status, upstream.requests.length], [403, before]);
});

test("models that saved settings call need not be in the list of the key", async () => {
  const examples = { small: ["Say hello"], large: ["Sue my landlord"] };
  const config = await saveConfig({
    strategy: { mode: "auto", classifier: { kind: "examples", provider: "@main", model: "vectors", examples } },
    targets: ["small", "large"].map((name) => ({ name, provider: "@main", override_params: { model: name } })),
  });
  await own("POST /model-aliases", { name: "smart", target: { config } });
  await own("PUT /integrations/main/models", { models: [{ slug: "vectors", enabled: true }] });
  assert.match(await ask(await limited(["smart"]), { model: "smart" }), /^200 /);
  assert.ok(upstream.requests.some(({ path, text }) => path.endsWith("/embeddings") && text.includes("vectors")));
});

test("a key with a list makes, changes and rotates no key that may use more", async () => {
  const scopes = ["create", "update", "list", "read"].map((verb) => `workspace_service_api_keys.${verb}`);
  const by = await limited(["fast", "@main/*"], { scopes: ["completions.write", ...scopes] });
  const make = async (more: object) => {
    const body = { name: "made", scopes: ["completions.write"], ...more };
    const { status, body: answer } = await call(gateway, "POST /api-keys/workspace/service", { key: by, body });
    return { status, id: String(answer.id) };
  };
  const made = await make({ allowed_models: ["@main/small*"] });
  assert.equal(made.status, 200);
  for (const allowed_models of [undefined, null, ["best"], ["*"], ["@main*"]]) {
    assert.equal((await make({ allowed_models })).status, 403, JSON.stringify(allowed_models));
  }
  const change = (id: string, body: object) => call(gateway, `PUT /api-keys/${id}`, { key: by, body });
  assert.equal((await change(made.id, { allowed_models: ["fast"] })).status, 200);
  assert.equal((await change(made.id, { allowed_models: null })).status, 403);
  const wide = { name: "wide", workspace_id: "default", scopes: ["completions.write"] };
  const { id } = await done(call(gateway, "POST /api-keys/workspace/service", { body: wide }));
  assert.equal((await call(gateway, `POST /api-keys/${id}/rotate`, { key: by })).status, 403);
});

test("keys of the organisation have no list", async () => {
  const body = { name: "admin", scopes: ["audit_logs.list"], allowed_models: ["fast"] };
  const answer = await call<{ error: { param: string } }>(gateway, "POST /api-keys/organisation/service", { body });
  assert.deepEqual([answer.status, answer.body.error.param], [400, "allowed_models"]);
});
