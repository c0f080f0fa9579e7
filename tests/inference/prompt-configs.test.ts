import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { call, done } from "../support/control.ts";
import { createTestGateway, type TestGateway, waitForLog, workspaceKey } from "../support/gateway.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

const key = workspaceKey;
let gateway: TestGateway;
let upstream: RecordingUpstream;
/** Slugs of prompts by their names. */
const slugs: Record<string, string> = {};
/** What the upstream was asked, as `provider model: text`. */
let asked: string[] = [];
/** Providers that fail. */
let down: string[] = [];
let drawn = 0;

before(async () => {
  gateway = await createTestGateway({ random: () => drawn });
  upstream = await startRecordingUpstream(({ path, text }, response) => {
    const [, provider = ""] = path.split("/");
    const { model, messages, prompt } = JSON.parse(text);
    asked.push(`${provider} ${model}: ${messages?.[0]?.content ?? prompt}`);
    response.setHeader("content-type", "application/json");
    if (down.includes(provider)) return response.writeHead(503).end('{"error":{"message":"down"}}');
    const choices = [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }];
    return response.end(JSON.stringify({ id: "c", object: "chat.completion", created: 1, model, choices }));
  });
  for (const slug of ["main", "spare"]) {
    const integration = {
      name: slug,
      slug: `${slug}-integration`,
      ai_provider_id: "openai",
      configurations: { custom_host: `${upstream.url}/${slug}/v1` },
      key: "fake-provider-credential",
      create_default_provider: false,
    };
    await done(call(gateway, "POST /integrations", { key, body: integration }));
    const body = { name: slug, slug, integration_id: `${slug}-integration` };
    await done(call(gateway, "POST /providers", { key, body }));
  }
  await save("first", { string: chatText("One {{name}}"), virtual_key: "main", model: "m-1" });
  await save("second", { string: chatText("Two {{name}}"), virtual_key: "spare", model: "m-2" });
  await save("text", { string: "Text {{name}}", virtual_key: "main", model: "m-3" });
});
after(async () => {
  await gateway.close();
  await upstream.close();
});
beforeEach(() => {
  asked = [];
  down = [];
  drawn = 0;
});

const chatText = (content: string) => JSON.stringify([{ role: "user", content }]);

async function save(name: string, content: object): Promise<void> {
  const { data } = await done(call<{ data: { id: string }[] }>(gateway, "GET /collections", { key }));
  const body = { name, collection_id: data[0]?.id, parameters: {}, ...content };
  const { slug } = await done(call<{ slug: string }>(gateway, "POST /prompts", { key, body }));
  slugs[name] = slug;
}

async function use(config: object, { prompt = "first", body = {}, headers = {} } = {}) {
  const response = await gateway.fetch(`/v1/prompts/${slugs[prompt]}/completions`, {
    method: "POST",
    headers: {
      "x-gateway-api-key": key,
      "content-type": "application/json",
      "x-gateway-config": JSON.stringify(config),
      ...headers,
    },
    body: JSON.stringify({ variables: { name: "Ann" }, ...body }),
  });
  const answer = JSON.parse(await response.text());
  return { status: response.status, error: answer.error, trace: response.headers.get("x-gateway-trace-id") ?? "" };
}

const fallback = (...targets: object[]) => ({ strategy: { mode: "fallback" }, targets });

test("a target's prompt takes the place of the one in the path, with its provider, model and row", async () => {
  down = ["main"];
  const { status, trace } = await use(fallback({ provider: "@main" }, { prompt_id: slugs.second }));
  assert.deepEqual([status, asked], [200, ["main m-1: One Ann", "spare m-2: Two Ann"]]);
  assert.equal(Object(await waitForLog(gateway, trace)).prompt_slug, slugs.second);
});

test("a target without a prompt after one with a prompt has that of the path again", async () => {
  down = ["spare"];
  const { status, trace } = await use(fallback({ prompt_id: slugs.second }, { provider: "@main" }));
  assert.deepEqual([status, asked], [200, ["spare m-2: Two Ann", "main m-1: One Ann"]]);
  assert.equal(Object(await waitForLog(gateway, trace)).prompt_slug, slugs.first);
});

test("a target's provider and parameters win over those of its prompt, and fields of the request over its model", async () => {
  const target = { provider: "@main", prompt_id: `${slugs.second}@1`, override_params: { model: "m-9" } };
  assert.equal((await use(fallback(target))).status, 200);
  assert.equal((await use(fallback({ prompt_id: slugs.second }), { body: { model: "@main/m-8" } })).status, 200);
  assert.deepEqual(asked, ["main m-9: Two Ann", "main m-8: Two Ann"]);
});

test("a prompt above targets holds for those without one, and weights compare prompts", async () => {
  const config = {
    prompt_id: slugs.second,
    strategy: { mode: "loadbalance" },
    targets: [{ provider: "@main" }, { provider: "@main", prompt_id: slugs.first }],
  };
  await use(config);
  drawn = 0.9;
  await use(config);
  assert.deepEqual(asked, ["main m-2: Two Ann", "main m-1: One Ann"]);
});

test("a config with a prompt alone calls that prompt, at the provider that the request names, else at its own", async () => {
  const { trace } = await use({ prompt_id: slugs.second });
  await use({ prompt_id: slugs.second }, { headers: { "x-gateway-provider": "@main" } });
  assert.deepEqual(asked, ["spare m-2: Two Ann", "main m-2: Two Ann"]);
  assert.equal(Object(await waitForLog(gateway, trace)).prompt_slug, slugs.second);
});

for (const [title, config, message] of [
  ["an unknown prompt", () => ({ prompt_id: "nothing" }), /prompt_id are not valid: nothing/],
  [
    "an unknown version of a target's prompt",
    () => fallback({ provider: "@main" }, { prompt_id: `${slugs.second}@99` }),
    /prompt_id are not valid: .*@99/,
  ],
  ["a prompt of the other kind", () => fallback({ prompt_id: slugs.text }), /is a chat prompt and these are not/],
] as const) {
  test(`400 for a config with ${title}, and nothing is called`, async () => {
    const { status, error } = await use(config());
    assert.deepEqual([status, error.code, asked], [400, "invalid_prompt_id", []]);
    assert.match(error.message, message);
  });
}

test("saved configs take prompts of the workspace, and refuse others", async () => {
  const config = fallback({ provider: "@main" }, { prompt_id: `${slugs.second}@latest` });
  const { slug } = await done(
    call<{ slug: string }>(gateway, "POST /configs", { key, body: { name: "Saved", config } }),
  );
  down = ["main"];
  const headers = { "x-gateway-config": slug };
  assert.equal((await use({}, { headers })).status, 200);
  assert.equal(asked.at(-1), "spare m-2: Two Ann");
  const wrong = { name: "Wrong", config: fallback({ provider: "@main", prompt_id: "nothing" }) };
  const refused = await call(gateway, "POST /configs", { key, body: wrong });
  assert.equal(refused.status, 400);
  assert.match(JSON.stringify(refused.body), /Following prompt_id are not valid: nothing/);
  const request = { body: { model: "m", messages: [] } };
  const explained = await done(
    call<{ attempts: { prompt_id?: string }[] }>(gateway, "POST /configs/explain", {
      key,
      body: { config: slug, request },
    }),
  );
  assert.deepEqual(
    explained.attempts.map(({ prompt_id }) => prompt_id),
    [undefined, `${slugs.second}@latest`],
  );
});

test("other routes ignore prompts of configs", async () => {
  const response = await gateway.fetch("/v1/chat/completions", {
    method: "POST",
    headers: {
      "x-gateway-api-key": key,
      "content-type": "application/json",
      "x-gateway-config": JSON.stringify({ provider: "@main", prompt_id: slugs.second }),
    },
    body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "Hello" }] }),
  });
  assert.deepEqual([response.status, asked], [200, ["main m: Hello"]]);
  await response.text();
});
