import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, done } from "../support/control.ts";
import { createTestGateway, readJson, requestHeaders, workspaceKey } from "../support/gateway.ts";
import { createWire } from "../support/wire.ts";

const wire = createWire();
wire.answer = () => Response.json({ object: "chat.completion", choices: [] });
const gateway = await createTestGateway({ transport: wire.transport });
after(() => gateway.close());

/** A stored provider with a list of models. */
async function store(slug: string, ai_provider_id: string, list: object, configurations: object = {}): Promise<void> {
  const as = { key: workspaceKey };
  const body = { name: slug, slug: `${slug}-i`, ai_provider_id, key: "stored-key", configurations };
  await done(call(gateway, "POST /integrations", { ...as, body: { ...body, create_default_provider: false } }));
  await done(call(gateway, "POST /providers", { ...as, body: { name: slug, slug, integration_id: `${slug}-i` } }));
  await done(call(gateway, `PUT /integrations/${slug}-i/models`, { ...as, body: list }));
}

const onlyOne = { models: [{ slug: "allowed", enabled: true }], allow_all_models: false };
const deployments = [
  { alias: "fast", azure_deployment_name: "mini", azure_api_version: "2024-10-21", azure_model_slug: "gpt-4o-mini" },
  {
    alias: "secret",
    azure_deployment_name: "big",
    azure_api_version: "2024-10-21",
    azure_model_slug: "large",
    is_default: true,
  },
];

before(async () => {
  await store("one", "openai", onlyOne);
  await store("gemini", "google", { models: [{ slug: "models/allowed", enabled: true }], allow_all_models: false });
  await store("router", "openrouter", { models: [{ slug: "secret", enabled: false }], allow_all_models: true });
  await store("maker", "sagemaker", onlyOne, {
    aws_auth_type: "accessKey",
    aws_region: "us-east-1",
    aws_access_key_id: "a",
    aws_secret_access_key: "b",
  });
  await store(
    ...(["azure", "azure-openai", { models: [{ slug: "secret", enabled: false }], allow_all_models: true }] as const),
    { azure_resource_name: "acme", azure_auth_mode: "default", azure_deployment_config: deployments },
  );
  const single = {
    azure_deployment_name: "dep",
    azure_api_version: "v1",
    azure_model_slug: "allowed",
    is_default: true,
  };
  await store("deployed", "azure-openai", onlyOne, {
    azure_resource_name: "acme",
    azure_auth_mode: "default",
    azure_deployment_config: [single],
  });
});

/** Status of a request, and whether anything was called. */
async function send(slug: string, path: string, body: unknown, headers: Record<string, string> = {}, method = "POST") {
  wire.url = "";
  const bytes =
    body instanceof Uint8Array ? new Uint8Array(body) : typeof body === "string" ? body : JSON.stringify(body);
  const length = body === undefined ? {} : { "content-length": `${new TextEncoder().encode(String(bytes)).length}` };
  const sized = body instanceof Uint8Array ? { "content-length": `${body.length}` } : length;
  const response = await gateway.fetch(`/v1${path}`, {
    method,
    headers: requestHeaders({ "x-gateway-provider": `@${slug}`, ...sized, ...headers }),
    ...(body !== undefined && { body: bytes }),
  });
  const { error } = await readJson<{ error?: { code: string } } | string>(response).then(Object);
  return { status: response.status, code: error?.code, isCalled: wire.url !== "" };
}

const refused = { status: 412, code: "model_not_allowed_error", isCalled: false };
const messages = [{ role: "user", content: "Hello" }];

/** UTF-16 with the low byte first, as some parsers accept it. */
function toUtf16(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length * 2);
  for (let index = 0; index < text.length; index++) bytes[index * 2] = text.charCodeAt(index);
  return bytes;
}

for (const [name, body] of [
  ["is UTF-16", toUtf16('{"model":"secret"}')],
  ["holds NaN", '{"model":"secret","temperature":NaN}'],
  ["ends with a comma", '{"model":"secret",}'],
  ["names its model twice", '{"model":"allowed","model":"secret"}'],
  ["names another model first", '{"model":"secret","model":"allowed"}'],
  ["names another model first, with an escape", '{"\\u006dodel":"secret","model":"allowed"}'],
  ["names its model in two cases", '{"model":"allowed","MODEL":"secret"}'],
  ["names its model with an escape", '{"model":"allowed","\\u006dodel":"secret"}'],
  ["is a list", '[{"model":"allowed"}]'],
  ["is a text", '"allowed"'],
  ["names no model", '{"input":"x"}'],
  ["names an object as model", '{"model":{"name":5}}'],
  ["names a model in a session", '{"session":{"model":"secret"}}'],
  ["names a model beside that of a session", '{"model":"allowed","session":{"model":"secret"}}'],
  ["names a model in a batch", '{"requests":[{"params":{"model":"allowed"}},{"params":{"model":"secret"}}]}'],
  ["names a model in a tool", '{"model":"allowed","tools":[{"type":"image_generation","model":"secret"}]}'],
  ["names models to fall back on", '{"model":"allowed","models":["secret"]}'],
  ["nests too deep to be looked through", `{"model":"allowed","a":${"[".repeat(60_000)}${"]".repeat(60_000)}}`],
  ["names a list of lists as model", `{"model":${"[".repeat(60_000)}${"]".repeat(60_000)}}`],
  ["names its model at great length", JSON.stringify({ model: "x".repeat(200_000) })],
  ["leaves its models to a file", '{"model":"allowed","input_file_id":"file-1"}'],
] as const) {
  test(`a forwarded body that ${name} is refused where one model is allowed`, async () => {
    for (const path of ["/realtime/client_secrets", "/proxy/some/path"]) {
      assert.deepEqual(await send("one", path, body), refused, path);
    }
  });
}

test("forwarded bodies that name the allowed model reach the provider", async (context) => {
  const { answer } = wire;
  wire.answer = () => new Response('"done"', { headers: { "content-type": "text/plain" } });
  context.after(() => {
    wire.answer = answer;
  });
  for (const body of [
    { model: "allowed", messages: [{ role: "user", content: [{ model: "T" }] }], metadata: { model: "x" } },
    { session: { model: "allowed" } },
    { requests: [{ params: { model: "allowed" } }] },
    {
      model: "allowed",
      tools: [{ type: "function", function: { name: "f", parameters: { properties: { model: {} } } } }],
    },
  ]) {
    assert.equal((await send("one", "/proxy/some/path", body)).isCalled, true, JSON.stringify(body));
  }
  for (const [method, path] of [
    ["GET", "/files"],
    ["DELETE", "/files/file-1"],
    ["POST", "/batches/batch_1/cancel"],
  ] as const) {
    assert.equal((await send("one", path, undefined, {}, method)).isCalled, true, path);
  }
});

for (const [slug, path, body, headers] of [
  ["one", "/proxy/models/secret", { model: "allowed" }, {}],
  ["one", "/proxy/engines/secret/completions", { model: "allowed" }, {}],
  ["one", "/proxy/some/path?model=secret", { model: "allowed" }, {}],
  ["one", "/batches", { model: "allowed", input_file_id: "file-1", endpoint: "/v1/chat/completions" }, {}],
  ["one", "/threads/thread_1/runs", { assistant_id: "asst_1" }, {}],
  ["gemini", "/proxy/v1beta/models/allowed%2Fsecret:generateContent", {}, {}],
  ["gemini", "/proxy/v1beta/models/secret:generateContent", { model: "allowed" }, {}],
  ["maker", "/endpoints/allowed/invocations", {}, { "x-amzn-sagemaker-target-model": "secret" }],
  ["one", `/proxy${"/a".repeat(40)}`, { model: "allowed" }, {}],
  ["one", `/proxy/${"a".repeat(3_000)}`, { model: "allowed" }, {}],
  ["maker", "/endpoints/secret/invocations", { model: "allowed" }, {}],
] as const) {
  test(`${path.slice(0, 80)} at a provider that allows one model is refused (${path.length})`, async () => {
    assert.deepEqual(await send(slug, path, body, headers), refused);
  });
}

for (const [path, body] of [
  ["/images/generations", { prompt: "A boat" }],
  ["/moderations", { input: "Hello" }],
  ["/chat/completions", { model: "", messages }],
  ["/chat/completions", { model: " ", messages }],
] as const) {
  test(`${path} with ${JSON.stringify(body)} is refused where one model is allowed`, async () => {
    assert.deepEqual(await send("one", path, body), refused);
  });
}

test("an image edit without a model is refused where one model is allowed", async () => {
  const form = new FormData();
  form.set("prompt", "A boat");
  form.set("image", new File([new Uint8Array([1])], "a.png", { type: "image/png" }));
  wire.url = "";
  const headers = requestHeaders({ "x-gateway-provider": "@one" });
  headers.delete("content-type");
  const response = await gateway.fetch("/v1/images/edits", { method: "POST", headers, body: form });
  await response.text();
  assert.deepEqual([response.status, wire.url], [412, ""]);
});

test("schemas that have a property named model name no model", async () => {
  const schema = { $defs: { model: { type: "object" } }, properties: { model: { $ref: "#/$defs/model" } } };
  for (const [slug, path, body] of [
    [
      "gemini",
      "/models/allowed:generateContent",
      {
        contents: [{ parts: [{ text: "a" }] }],
        tools: [{ functionDeclarations: [{ name: "f", parametersJsonSchema: schema }] }],
        generationConfig: { responseJsonSchema: schema },
      },
    ],
    ["one", "/chat/completions", { model: "allowed", messages, guided_json: schema }],
    ["one", "/proxy/some/path", { model: "allowed", output_schema: schema }],
  ] as const) {
    assert.equal((await send(slug, path, body)).isCalled, true, JSON.stringify(body));
  }
});

test("further models a chat names are checked too", async () => {
  const chat = { model: "other", messages };
  assert.equal((await send("router", "/chat/completions", chat)).isCalled, true);
  for (const more of [
    { models: ["secret"] },
    { fallbacks: [{ model: "SECRET" }] },
    { MODEL: "secret" },
    { preset: "secret" },
  ]) {
    assert.deepEqual(await send("router", "/chat/completions", { ...chat, ...more }), refused);
  }
});

test("a model Azure serves by its default deployment counts as that deployment's", async () => {
  for (const model of ["gpt-4o", "SECRET", "big", "secret"]) {
    assert.deepEqual(await send("azure", "/chat/completions", { model, messages }), refused, model);
    assert.deepEqual(await send("azure", "/proxy/v1/chat/completions", { model, messages }), refused, model);
  }
  for (const path of ["/proxy/openai/deployments/big/chat/completions", "/openai//Deploy%6Dents/BIG/x"]) {
    assert.deepEqual(await send("azure", path, { model: "fast" }), refused, path);
  }
  assert.equal((await send("azure", "/chat/completions", { model: "fast", messages })).status, 200);
  assert.equal((await send("azure", "/proxy/v1/chat/completions", { model: "fast", messages })).status, 200);
});

test("a deployment serves the allowed model, also under the deployment's name", async () => {
  assert.equal((await send("deployed", "/chat/completions", { model: "allowed", messages })).status, 200);
  assert.equal((await send("deployed", "/chat/completions", { model: "dep", messages })).status, 200);
  assert.deepEqual(await send("deployed", "/chat/completions", { model: "other", messages }), refused);
});

test("an allowed model can be called in every spelling of its provider", async () => {
  for (const model of ["allowed", "models/allowed"]) {
    assert.equal((await send("gemini", "/chat/completions", { model, messages })).isCalled, true, model);
    assert.equal(
      (await send("gemini", `/proxy/v1beta/${model.replace(/^allowed/, "models/allowed")}:countTokens`, {})).isCalled,
      true,
    );
  }
});
