import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { chatLine, createBatch, readResults, upload, waitForBatch } from "../support/batches.ts";
import { call, done } from "../support/control.ts";
import {
  adminKey,
  createTestGateway,
  readJson,
  type TestGateway,
  waitForLog,
  workspaceKey,
} from "../support/gateway.ts";
import { addPerson } from "../support/people.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

const key = workspaceKey;

let gateway: TestGateway;
let upstream: RecordingUpstream;
/** Slug of a saved config whose targets are two models. */
let pool: string;
before(async () => {
  gateway = await createTestGateway();
  upstream = await startRecordingUpstream(({ path, text }, response) => {
    const { model = "none" } = text.startsWith("{") ? JSON.parse(text) : {};
    const tokens = model === "wordy" ? 1_000 : 1;
    const usage = { prompt_tokens: tokens, completion_tokens: tokens, total_tokens: 2 * tokens };
    response.setHeader("content-type", "application/json");
    if (model === "broken") return response.writeHead(503).end('{"error":{"message":"down"}}');
    if (path.endsWith("/embeddings")) {
      return response.end(JSON.stringify({ object: "list", model, data: [{ index: 0, embedding: [1] }], usage }));
    }
    if (path.endsWith("/moderations")) return response.end(JSON.stringify({ id: "m", model, results: [] }));
    if (path.endsWith("/completions") && !path.endsWith("/chat/completions")) {
      const choices = [{ index: 0, text: "Hi", finish_reason: "stop" }];
      return response.end(JSON.stringify({ id: "c", object: "text_completion", created: 1, model, choices, usage }));
    }
    if (path.endsWith("/responses")) {
      const shown = { id: "resp_1", object: "response", created_at: 1, error: null, incomplete_details: null };
      return response.end(JSON.stringify({ ...shown, status: "completed", model, output: [] }));
    }
    if (path.endsWith("/transcriptions")) return response.end('{"text":"Hi"}');
    if (!path.endsWith("/chat/completions")) return response.end(JSON.stringify({ created: 1, model, data: [] }));
    const message = { role: "assistant", content: "Hi" };
    const choices = [{ index: 0, message, finish_reason: "stop" }];
    return response.end(JSON.stringify({ id: "c", object: "chat.completion", created: 1, model, choices, usage }));
  });
  await createProvider("main");
  const config = {
    strategy: { mode: "fallback" },
    targets: ["broken", "spare"].map((model) => ({ provider: "@main", override_params: { model } })),
  };
  pool = await saveConfig(config);
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

async function createProvider(slug: string): Promise<void> {
  const configurations = { custom_host: `${upstream.url}/v1` };
  const integration = { name: slug, slug: `${slug}-integration`, ai_provider_id: "openai", configurations };
  const body = { ...integration, key: "fake-provider-credential", create_default_provider: false };
  await done(call(gateway, "POST /integrations", { key, body }));
  await done(
    call(gateway, "POST /providers", { key, body: { name: slug, slug, integration_id: `${slug}-integration` } }),
  );
}

async function saveConfig(config: object): Promise<string> {
  const body = { name: "A pool", config };
  return String((await done(call(gateway, "POST /configs", { key, body }))).slug);
}

/** A new alias; its id. */
async function alias(name: string, target: object, more: object = {}, by = key): Promise<string> {
  const body = { name, target, ...more };
  return String((await done(call(gateway, "POST /model-aliases", { key: by, body }))).id);
}

const change = (id: string, body: object) => done(call(gateway, `PUT /model-aliases/${id}`, { key, body }));

/** A service key of the workspace. */
async function createKey(changes: object = {}): Promise<{ id: string; key: string }> {
  const body = { name: "A key", workspace_id: "default", scopes: ["completions.write"], ...changes };
  const made = await done(call(gateway, "POST /api-keys/workspace/service", { key: adminKey, body }));
  return { id: String(made.id), key: String(made.key) };
}

interface Sent {
  path?: string;
  body?: object;
  headers?: Record<string, string>;
  by?: string;
}

const messages = [{ role: "user", content: "Hello" }];

/** A request that names its model alone. */
function ask(model: string, { path = "/v1/chat/completions", body = { messages }, headers = {}, by = key }: Sent = {}) {
  const init = {
    method: "POST",
    headers: { "x-gateway-api-key": by, "content-type": "application/json", ...headers },
    body: JSON.stringify({ model, ...body }),
  };
  return gateway.gateway.fetch(new Request(`http://gateway.test${path}`, init));
}

/** The refusal of a request: its status and code, and whether it names the alias. */
async function refusal(sending: Promise<Response>, name: string): Promise<string> {
  const response = await sending;
  const { error } = await readJson<{ error: { message: string; code: string } }>(response);
  assert.ok(error.message.includes(name), error.message);
  return `${response.status} ${error.code}`;
}

/** The model of a response, and the one that the upstream was asked for last. */
async function served(sending: Promise<Response>): Promise<[string, string]> {
  const response = await sending;
  const text = await response.text();
  assert.equal(response.status, 200, text);
  const { model } = JSON.parse(text);
  const { text: sent = "{}" } = upstream.requests.at(-1) ?? {};
  return [model, JSON.parse(sent).model];
}

test("a model's name alone reaches the model of a stored provider", async () => {
  await alias("fast", { model: "@main/small" });
  assert.deepEqual(await served(ask("fast")), ["small", "small"]);
});

test("names may have slashes and colons, and models too", async () => {
  await alias("team/fast:2+b", { model: "@main/vendor/small:free" });
  assert.deepEqual(await served(ask("team/fast:2+b")), ["vendor/small:free", "vendor/small:free"]);
});

test("an alias of a config runs its pool, also where a target fails", async () => {
  await alias("gpt-4o", { config: pool });
  assert.deepEqual(await served(ask("gpt-4o")), ["spare", "spare"]);
});

test("the slug of a saved config is a model", async () => {
  assert.deepEqual(await served(ask(pool)), ["spare", "spare"]);
  assert.equal(await refusal(ask("pc-gone-0123ab"), "pc-gone-0123ab"), "400 invalid_config_id");
});

for (const [path, body] of [
  ["/v1/completions", { prompt: "Hello" }],
  ["/v1/embeddings", { input: "Hello" }],
  ["/v1/moderations", { input: "Hello" }],
  ["/v1/images/generations", { prompt: "A boat" }],
  ["/v1/messages", { max_tokens: 9, messages }],
  ["/v1/responses", { input: "Hello" }],
] as const) {
  test(`POST ${path} resolves aliases`, async () => {
    const name = `for${path.replaceAll("/", "-")}`;
    await alias(name, { model: "@main/small" });
    const response = await ask(name, { path, body });
    assert.equal(response.status, 200, await response.text());
    assert.equal(JSON.parse(upstream.requests.at(-1)?.text ?? "{}").model, "small");
  });
}

test("a path of the Gemini API names an alias", async () => {
  await alias("gem", { model: "@main/small" });
  const contents = [{ role: "user", parts: [{ text: "Hello" }] }];
  const send = (action: string) => {
    const init = {
      method: "POST",
      headers: { "x-goog-api-key": key, "content-type": "application/json" },
      body: JSON.stringify({ contents }),
    };
    return gateway.gateway.fetch(new Request(`http://gateway.test/v1beta/models/gem:${action}`, init));
  };
  const response = await send("generateContent");
  assert.equal(response.status, 200);
  assert.equal((await readJson<{ modelVersion: string }>(response)).modelVersion, "small");
  assert.match(await (await send("streamGenerateContent?alt=sse")).text(), /"role":"model"|error/);
});

test("a form names an alias", async () => {
  await alias("ears", { model: "@main/whisper" });
  const form = new FormData();
  form.set("model", "ears");
  form.set("file", new Blob(["RIFF"], { type: "audio/wav" }), "a.wav");
  const init = { method: "POST", headers: { "x-gateway-api-key": key }, body: form };
  const response = await gateway.gateway.fetch(new Request("http://gateway.test/v1/audio/transcriptions", init));
  assert.equal(response.status, 200, await response.text());
  assert.match(upstream.requests.at(-1)?.text ?? "", /whisper/);
  assert.doesNotMatch(upstream.requests.at(-1)?.text ?? "", /ears/);
});

test("lines of a batch name aliases, also where the default config has a provider with batches", async () => {
  await alias("of-lines", { model: "@main/small" });
  await alias("pool-of-lines", { config: pool });
  const { key: by } = await createKey({
    scopes: ["completions.write"],
    defaults: { config_id: await saveConfig({ provider: "@main" }) },
  });
  const lines = ["of-lines", "pool-of-lines"].map((model) => chatLine(model, "Hello", { model }));
  const file = await readJson<{ id: string }>(await upload(gateway, lines.join("\n"), { key: by }));
  const begun = await readJson<{ id: string }>(await createBatch(gateway, { input_file_id: file.id }, by));
  const { output_file_id: made } = await waitForBatch(gateway, begun.id);
  const output = await readResults(gateway, made);
  const models = output.map(({ custom_id, response }) => [custom_id, response?.body.model]);
  assert.deepEqual(models.sort(), [
    ["of-lines", "small"],
    ["pool-of-lines", "spare"],
  ]);
});

test("a header that names the provider or a config wins over an alias", async () => {
  await alias("mine", { model: "@main/small" });
  assert.deepEqual(await served(ask("mine", { headers: { "x-gateway-provider": "@main" } })), ["mine", "mine"]);
  assert.deepEqual(await served(ask("mine", { headers: { "x-gateway-config": pool } })), ["spare", "spare"]);
});

test("retries that a header asks for hold for an alias of a model", async () => {
  await alias("retried", { model: "@main/broken" });
  const former = upstream.requests.length;
  const response = await ask("retried", { headers: { "x-gateway-retry-count": "1" } });
  assert.deepEqual([response.status, upstream.requests.length - former], [503, 2]);
});

test("an alias wins over a default config, unless the key may not leave its config", async () => {
  await alias("chosen", { model: "@main/small" });
  const open = await createKey({ defaults: { config_id: pool } });
  const locked = await createKey({ defaults: { config_id: pool, allow_config_override: false } });
  const free = await createKey({ defaults: { allow_config_override: false } });
  assert.deepEqual(await served(ask("chosen", { by: open.key })), ["small", "small"]);
  assert.deepEqual(await served(ask("chosen", { by: locked.key })), ["spare", "spare"]);
  assert.deepEqual(await served(ask("chosen", { by: free.key })), ["small", "small"]);
  assert.deepEqual(await served(ask(pool, { by: locked.key })), ["spare", "spare"]);
  const other = await saveConfig({ provider: "@main" });
  assert.equal(await refusal(ask(other, { by: locked.key }), "default config"), "400 config_override_not_allowed");
});

test("an alias is only for the keys, roles and workspaces it names", async () => {
  const allowed = await createKey();
  const others = await createKey();
  await alias("ours", { model: "@main/small" }, { access: { api_keys: [allowed.id] } });
  await alias("admins", { model: "@main/small" }, { access: { roles: ["admin"] } });
  const second = await done(call(gateway, "POST /admin/workspaces", { body: { name: "Elsewhere" } }));
  const shared = { access: { workspaces: [second.id] } };
  await alias("elsewhere", { model: "@main/small" }, shared, adminKey);
  await alias("everywhere", { model: "@main/small" }, {}, adminKey);
  assert.deepEqual(await served(ask("ours", { by: allowed.key })), ["small", "small"]);
  assert.equal(await refusal(ask("ours", { by: others.key }), "ours"), "403 model_alias_access_error");
  assert.equal(await refusal(ask("admins"), "admins"), "403 model_alias_access_error");
  assert.equal(await refusal(ask("elsewhere"), "elsewhere"), "403 model_alias_access_error");
  assert.deepEqual(await served(ask("everywhere")), ["small", "small"]);
  const workspaces = [{ id: "default", role: "manager" }];
  const manager = await addPerson(gateway, "manager@example.test", { workspaces, scopes: ["completions.write"] });
  await alias("managers", { model: "@main/small" }, { access: { roles: ["manager"], api_keys: [others.id] } });
  assert.deepEqual(await served(ask("managers", { by: manager.key })), ["small", "small"]);
  assert.deepEqual(await served(ask("managers", { by: others.key })), ["small", "small"]);
  assert.equal(await refusal(ask("admins", { by: manager.key }), "admins"), "403 model_alias_access_error");
});

test("a disabled alias and one without its target say so, and changes count at once", async () => {
  const id = await alias("off", { model: "@main/small" }, { enabled: false });
  assert.equal(await refusal(ask("off"), "off"), "403 model_alias_disabled");
  await change(id, { enabled: true, target: { model: "@main/other" } });
  assert.deepEqual(await served(ask("off")), ["other", "other"]);
  await createProvider("brief");
  await alias("to-brief", { model: "@brief/small" });
  await done(call(gateway, "DELETE /providers/brief", { key }));
  assert.equal(await refusal(ask("to-brief"), "to-brief"), "400 model_alias_target_missing");
  const config = await saveConfig({ provider: "@main" });
  await alias("to-config", { config });
  assert.equal(await refusal(ask("to-config"), "to-config"), "400 model_required");
  assert.equal((await call(gateway, `DELETE /configs/${config}`, { key })).status, 409);
  await done(call(gateway, `DELETE /model-aliases/${id}`, { key }));
  assert.equal((await ask("off")).status, 400);
});

test("errors of a target name the alias that led there", async () => {
  await createProvider("strict");
  const models = { models: [{ slug: "allowed", enabled: true }], allow_all_models: false };
  await done(call(gateway, "PUT /integrations/strict-integration/models", { key, body: models }));
  await alias("forbidden", { model: "@strict/other" });
  assert.equal(await refusal(ask("forbidden"), "forbidden"), "412 model_not_allowed_error");
  const body = { name: "old", slug: "old", integration_id: "main-integration", expires_at: "2020-01-01T00:00:00Z" };
  await done(call(gateway, "POST /providers", { key, body }));
  await alias("expired", { model: "@old/small" });
  assert.equal(await refusal(ask("expired"), "expired"), "401 virtual_key_expired_error");
  const broken = await saveConfig({ provider: "@missing", override_params: { model: "small" } });
  await alias("broken-pool", { config: broken });
  assert.equal(await refusal(ask("broken-pool"), "broken-pool"), "400 invalid_provider");
});

test("an alias of the organisation leads to the provider of this slug in each workspace", async () => {
  const second = await done(call(gateway, "POST /admin/workspaces", { body: { name: "Third" } }));
  const { key: by } = await createKey({ workspace_id: second.id });
  await alias("of-all", { model: "@main/small" }, {}, adminKey);
  assert.deepEqual(await served(ask("of-all")), ["small", "small"]);
  assert.equal(await refusal(ask("of-all", { by }), "of-all"), "400 model_alias_target_missing");
});

test("limits of an alias hold for all who use it", async () => {
  await alias("slow", { model: "@main/small" }, { rate_limits: [{ type: "requests", unit: "rpd", value: 1 }] });
  const other = await createKey();
  assert.equal((await ask("slow")).status, 200);
  assert.equal(await refusal(ask("slow", { by: other.key }), "alias slow"), "429 model_alias_rate_limit_error");
  assert.equal((await ask("@main/small")).status, 200);
  const limit = { type: "tokens", credit_limit: 500 };
  const id = await alias("dear", { model: "@main/wordy" }, { usage_limits: limit });
  assert.equal((await ask("dear")).status, 200);
  assert.equal(await refusal(ask("dear"), "alias dear"), "412 model_alias_exhaust_error");
  await change(id, { reset_usage: true });
  assert.equal((await ask("dear")).status, 200);
});

test("conditions of policies see the alias and the model", async () => {
  await alias("counted", { model: "@main/counted-model" });
  for (const [model, name] of [
    ["counted", "of the alias"],
    ["counted-model", "of the model"],
  ]) {
    const policy = {
      name,
      conditions: [{ key: "model", value: model }],
      group_by: [{ key: "api_key" }],
      type: "requests",
      unit: "rpd",
      value: 0,
    };
    const { id } = await done(call(gateway, "POST /policies/rate-limits", { key, body: policy }));
    assert.equal((await ask("counted")).status, 429, name);
    await done(call(gateway, `DELETE /policies/rate-limits/${id}`, { key }));
    assert.equal((await ask("counted")).status, 200, name);
  }
});

test("guardrails see the alias and the model", async () => {
  for (const [listed, status] of [
    ["watched", 200],
    ["watched-model", 200],
    ["another", 446],
  ] as const) {
    const checks = [{ id: "default.modelWhitelist", parameters: { models: [listed] } }];
    const { slug } = await done(
      call(gateway, "POST /guardrails", { key, body: { name: "Models", checks, actions: { deny: true } } }),
    );
    const config = { input_guardrails: [slug], provider: "@main", override_params: { model: "watched-model" } };
    const id = await alias("watched", { config: await saveConfig(config) });
    assert.equal((await ask("watched")).status, status, listed);
    await done(call(gateway, `DELETE /model-aliases/${id}`, { key }));
  }
});

test("a prompt may name an alias, and one may choose another target for it", async () => {
  await alias("for-prompts", { model: "@main/small" });
  const collection = await done(call(gateway, "POST /collections", { key, body: { name: "Prompts" } }));
  const prompt = {
    name: "Greet",
    collection_id: collection.id,
    string: JSON.stringify([{ role: "user", content: "Hello" }]),
    parameters: {},
    virtual_key: "",
    model: "for-prompts",
  };
  const { slug } = await done(call(gateway, "POST /prompts", { key, body: prompt }));
  const path = `/v1/prompts/${slug}/completions`;
  const init = (body: object) => ({
    method: "POST",
    headers: { "x-gateway-api-key": key, "content-type": "application/json" },
    body: JSON.stringify({ variables: {}, ...body }),
  });
  const send = (body: object) => gateway.gateway.fetch(new Request(`http://gateway.test${path}`, init(body)));
  assert.deepEqual(await served(send({})), ["small", "small"]);
  assert.deepEqual(await served(send({ model: pool })), ["spare", "spare"]);
});

test("the log row has the alias that was asked for and the model that was called", async () => {
  await alias("logged", { config: pool });
  await ask("logged", { headers: { "x-gateway-trace-id": "alias-trace" } });
  const row = { ...(await waitForLog(gateway, "alias-trace")) } as Record<string, unknown>;
  assert.deepEqual([row.requested_model, row.model, row.config], ["logged", "spare", pool]);
  await ask("@main/small", { headers: { "x-gateway-trace-id": "plain-trace" } });
  assert.ok(!("requested_model" in (await waitForLog(gateway, "plain-trace"))));
});

interface Plan {
  alias?: { name: string; target: string };
  attempts: { provider: string; model: string }[];
  warnings: string[];
}

test("explain shows what a name leads to", async () => {
  await alias("explained", { model: "@main/small" });
  const plan = (model: string) =>
    done<Plan>(call(gateway, "POST /configs/explain", { key, body: { request: { body: { model, messages } } } }));
  const { alias: found, attempts, warnings } = await plan("explained");
  assert.deepEqual(found, { name: "explained", target: "@main/small" });
  assert.deepEqual(
    attempts.map(({ provider, model }) => [provider, model]),
    [["openai", "small"]],
  );
  assert.deepEqual(warnings, []);
  assert.equal((await plan("@main/small")).alias, undefined);
  assert.deepEqual(
    (await plan(pool)).attempts.map(({ model }) => model),
    ["broken", "spare"],
  );
});

interface Listed {
  data: { id: string; display_name?: string; alias_of?: string }[];
  models: { name: string; displayName: string }[];
  has_more?: boolean;
}

test("the lists of all dialects have the aliases of the caller", async () => {
  const reader = await createKey();
  await alias("listed", { config: pool });
  await alias("hidden", { model: "@main/small" }, { access: { roles: ["admin"] } });
  await alias("sleeping", { model: "@main/small" }, { enabled: false });
  const read = async (path: string, headers: Record<string, string>) => {
    const init = { headers: { "x-gateway-api-key": reader.key, ...headers } };
    return readJson<Listed>(await gateway.gateway.fetch(new Request(`http://gateway.test${path}`, init)));
  };
  const names = ["listed", "hidden", "sleeping"];
  const all = await read("/v1/models", {});
  assert.deepEqual(
    all.data.map(({ id }) => id).filter((id) => names.includes(id)),
    ["listed"],
  );
  assert.equal(all.data.find(({ id }) => id === "listed")?.alias_of, pool);
  const version = { "anthropic-version": "2023-06-01" };
  const page = await read("/v1/models?limit=1000", version);
  assert.deepEqual(
    page.data.filter(({ id }) => names.includes(id)).map((one) => one.display_name),
    ["listed"],
  );
  assert.equal(page.has_more, false);
  const gemini = await read("/v1beta/models?pageSize=1000", {});
  assert.deepEqual(
    gemini.models.map(({ name }) => name).filter((name) => name === "models/listed"),
    ["models/listed"],
  );
  const info = await read("/model/info?litellm_model_id=listed", {});
  assert.equal(info.data.length, 1);
  const one = { id: "listed", alias_of: pool };
  const listed: object = await read("/v1/models/listed", {});
  assert.deepEqual({ id: Reflect.get(listed, "id"), alias_of: Reflect.get(listed, "alias_of") }, one);
});

test("an alias is listed with what holds for all models that it leads to", async () => {
  const target = (model: string) => ({ provider: "@main", override_params: { model } });
  const targets = [target("gpt-5.6"), target("gpt-4o")];
  const both = await saveConfig({ strategy: { mode: "loadbalance" }, targets });
  const unknown = await saveConfig({ strategy: { mode: "fallback" }, targets: [target("gpt-4o"), target("homemade")] });
  await alias("facts-of-one", { model: "@main/gpt-4o" });
  await alias("facts-of-two", { config: both });
  await alias("facts-unknown", { config: unknown });
  const read = async (model: string) => {
    const init = { headers: { "x-gateway-api-key": key } };
    const path = `http://gateway.test/v1/models/${model}`;
    return readJson<Record<string, unknown>>(await gateway.gateway.fetch(new Request(path, init)));
  };
  const [large, small] = [await read("@main/gpt-5.6"), await read("@main/gpt-4o")];
  assert.ok(Number(large.context_length) > Number(small.context_length));
  const one = await read("facts-of-one");
  assert.deepEqual([one.context_length, one.pricing, one.name], [small.context_length, small.pricing, "facts-of-one"]);
  const two = await read("facts-of-two");
  assert.deepEqual([two.context_length, two.pricing], [small.context_length, undefined]);
  assert.equal((await read("facts-unknown")).context_length, undefined);
});

test("an alias of the organisation leads to a pool, in each workspace that has the providers", async () => {
  const models = [{ model: "@main/broken" }, { model: "@main/spare" }];
  const id = await alias("pooled", { pool: { models } }, {}, adminKey);
  const response = await ask("pooled");
  assert.deepEqual(await served(Promise.resolve(response)), ["spare", "spare"]);
  const row = await waitForLog(gateway, response.headers.get("x-gateway-trace-id") ?? "");
  const { requested_model, mode, attempts } = row as object as Record<string, unknown>; // members of some rows
  assert.deepEqual([requested_model, mode, Array.isArray(attempts) && attempts.length], ["pooled", "fallback", 2]);
  const shown = await done(call(gateway, `GET /model-aliases/${id}`, { key }));
  assert.deepEqual([shown.target, shown.workspace_id], [{ pool: { models } }, null]);
  const list = await readJson<{ data: { id: string; alias_of?: string }[] }>(
    await gateway.fetch("/v1/models", { headers: { "x-gateway-api-key": key } }),
  );
  assert.equal(list.data.find((one) => one.id === "pooled")?.alias_of, "@main/broken, @main/spare");
  await done(call(gateway, `DELETE /model-aliases/${id}`, { key: adminKey }));
});

test("a pool by weight calls only models with weight, and says what it leads to where it cannot be used", async () => {
  await createProvider("passing");
  const models = [
    { model: "@passing/a/b:c", weight: 1 },
    { model: "@main/broken", weight: 0 },
  ];
  await alias("weighted", { pool: { mode: "loadbalance", models } });
  for (let index = 0; index < 5; index++) assert.deepEqual(await served(ask("weighted")), ["a/b:c", "a/b:c"]);
  await done(call(gateway, "DELETE /providers/passing", { key }));
  assert.equal(await refusal(ask("weighted"), "weighted"), "400 model_alias_target_missing");
});

for (const [pool, param, message] of [
  [{ models: [{ model: "@main/a" }] }, "target.pool.models", /at least two models/],
  [
    { models: [{ model: "@main/a", weight: 1 }, { model: "@main/b" }] },
    "target.pool",
    /only with the mode loadbalance/,
  ],
  [
    {
      mode: "loadbalance",
      models: [
        { model: "@main/a", weight: 0 },
        { model: "@main/b", weight: 0 },
      ],
    },
    "target.pool",
    /a model with weight/,
  ],
  [{ models: [{ model: "@main/a" }, { model: "fast" }] }, "target.pool.models.1.model", /cannot lead to another one/],
  [{ models: [{ model: "@main/a" }, { model: "@nobody/b" }] }, "target.pool.models.1.model", /./],
  [
    { mode: "single", models: [{ model: "@main/a" }, { model: "@main/b" }] },
    "target.pool.mode",
    /fallback or loadbalance/,
  ],
] as const) {
  test(`an alias is refused with the pool ${JSON.stringify(pool)}`, async () => {
    const { status, body } = await call(gateway, "POST /model-aliases", {
      key,
      body: { name: "wrong", target: { pool } },
    });
    assert.ok(status === 400 || status === 404, `${status}`);
    assert.match(JSON.stringify(body), message);
    assert.equal(Object(body.error).param, param);
  });
}
