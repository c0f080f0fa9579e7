import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import OpenAI from "openai";
import { mintApiKey } from "../../src/auth/api-key.ts";
import { universalLabels } from "../../src/prompts/labels.ts";
import { call, createOrganisation, done } from "../support/control.ts";
import {
  createTestGateway,
  insertKey,
  type ShownLog,
  type TestGateway,
  waitForLog,
  workspaceKey,
} from "../support/gateway.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

const providerKey = "fake-stored-credential-1234567890";
const usage = { prompt_tokens: 2, completion_tokens: 1, total_tokens: 3 };
const chunk = { id: "1", object: "chat.completion.chunk", created: 1, model: "m" };

let gateway: TestGateway;
let upstream: RecordingUpstream;
let other: Awaited<ReturnType<typeof createOrganisation>>;
before(async () => {
  gateway = await createTestGateway({ inFile: true });
  other = await createOrganisation(await gateway.openFile(), "prompt-neighbour");
  upstream = await startRecordingUpstream(({ path, text }, response) => {
    if (text.includes("garbage please")) return response.end("garbage");
    if (JSON.parse(text).stream === true) {
      response.setHeader("content-type", "text/event-stream");
      const choice = { index: 0, delta: { role: "assistant", content: "Hi" }, finish_reason: null };
      const end = { index: 0, delta: {}, finish_reason: "stop" };
      for (const one of [choice, end]) response.write(`data: ${JSON.stringify({ ...chunk, choices: [one] })}\n\n`);
      return response.end("data: [DONE]\n\n");
    }
    response.setHeader("content-type", "application/json");
    const isChat = path.endsWith("/chat/completions");
    const message = isChat ? { message: { role: "assistant", content: "Hi" } } : { text: "Hi" };
    const choices = [{ index: 0, finish_reason: "stop", logprobs: null, ...message }];
    const object = isChat ? "chat.completion" : "text_completion";
    response.end(JSON.stringify({ id: "1", object, created: 1, model: "m", choices, usage }));
  });
  const configurations = { custom_host: `${upstream.url}/v1` };
  for (const slug of ["main", "spare"]) {
    await ask("POST /integrations", {
      name: slug,
      slug: `${slug}-integration`,
      ai_provider_id: "openai",
      key: `${providerKey}-${slug}`,
      configurations,
      create_default_provider: false,
    });
    await ask("POST /providers", { name: slug, slug, integration_id: `${slug}-integration` });
  }
});
beforeEach(() => {
  upstream.requests.length = 0;
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

const key = workspaceKey;

function ask<Shape = Receipt>(route: string, body?: object): Promise<Shape> {
  return done<Shape>(call<Shape>(gateway, route, { key, ...(body && { body }) }));
}

interface Receipt {
  id: string;
  slug: string;
  version_id: string;
  prompt_version_id: string;
}

const chatText = JSON.stringify([
  { role: "system", content: "Be {{mood}}" },
  { role: "user", content: [{ type: "text", text: "{{question}}" }] },
]);

async function save(changes: object = {}): Promise<Receipt> {
  const { data } = await ask<{ data: { id: string }[] }>("GET /collections");
  return ask("POST /prompts", {
    name: "Support",
    collection_id: data[0]?.id,
    string: chatText,
    virtual_key: "main",
    model: "gpt-test",
    parameters: { temperature: 0.5, max_tokens: 10 },
    ...changes,
  });
}

interface Reply {
  status: number;
  body: Record<string, unknown>;
  traceId: string;
  headers: Headers;
}

/** Uses a prompt; the request is named after its route. */
async function use(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Reply> {
  const response = await gateway.fetch(`/v1/prompts/${path}`, {
    method: "POST",
    headers: { "x-gateway-api-key": key, "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  const traceId = response.headers.get("x-gateway-trace-id") ?? "";
  return { status: response.status, body: JSON.parse(text), traceId, headers: response.headers };
}

/** Status and code of a refusal. */
async function refusal(reply: Promise<Reply>): Promise<string> {
  const { status, body } = await reply;
  return `${status} ${Object(body.error).code}`;
}

const sent = () => JSON.parse(upstream.requests.at(-1)?.text ?? "{}");
const variables = { mood: 'kind"}]', question: "Why?" };
const messages = [
  { role: "system", content: 'Be kind"}]' },
  { role: "user", content: [{ type: "text", text: "Why?" }] },
];

test("a prompt is completed by its provider, with its parameters", async () => {
  const { slug, id, version_id } = await save({ tools: [{ type: "function", function: { name: "f" } }] });
  const { status, body, traceId, headers } = await use(`${slug}/completions`, { variables });
  assert.deepEqual([status, headers.get("x-gateway-provider")], [200, "openai"]);
  assert.deepEqual([body.object, Object(body.usage).total_tokens], ["chat.completion", 3]);
  const [request] = upstream.requests;
  assert.deepEqual(
    [request?.path, request?.headers.authorization],
    ["/v1/chat/completions", `Bearer ${providerKey}-main`],
  );
  assert.deepEqual(sent(), {
    temperature: 0.5,
    max_tokens: 10,
    model: "gpt-test",
    messages,
    tools: [{ type: "function", function: { name: "f" } }],
  });
  const row: ShownLog & Record<string, unknown> = { ...(await waitForLog(gateway, traceId)) };
  assert.deepEqual([row.operation, row.status, row.model], ["completePrompt", 200, "gpt-test"]);
  assert.deepEqual([row.prompt_id, row.prompt_slug, row.prompt_version_id], [id, slug, version_id]);
  assert.deepEqual(row.request.body, { variables });
});

test("fields of the request override those of the prompt", async () => {
  const { slug } = await save({
    parameters: { temperature: 0.5, max_tokens: 10, stream: true, messages: [] },
    tools: [],
  });
  await use(`${slug}/completions`, { variables, temperature: 0, model: "other", top_p: 0.1 });
  assert.deepEqual(sent(), { temperature: 0, max_tokens: 10, model: "other", top_p: 0.1, messages });
});

test("a prompt of plain text is a text completion", async () => {
  const { slug } = await save({ string: "Say {{word}}{{^word}}nothing{{/word}}" });
  const { status, body } = await use(`${slug}/completions`, { variables: {}, stream: false });
  assert.deepEqual([status, body.object, upstream.requests[0]?.path], [200, "text_completion", "/v1/completions"]);
  assert.equal(sent().prompt, "Say nothing");
});

test("a stream is forwarded as the provider sends it, with a log row", async () => {
  const { slug, version_id } = await save();
  const response = await gateway.fetch(`/v1/prompts/${slug}/completions`, {
    method: "POST",
    headers: { "x-gateway-api-key": key, "content-type": "application/json" },
    body: JSON.stringify({ variables, stream: true }),
  });
  assert.match(response.headers.get("content-type") ?? "", /^text\/event-stream/);
  const text = await response.text();
  assert.match(text, /"content":"Hi"/);
  assert.ok(text.endsWith("data: [DONE]\n\n"));
  const row = await waitForLog(gateway, response.headers.get("x-gateway-trace-id") ?? "");
  assert.deepEqual([row.stream, row.status, Object(row).prompt_version_id], [true, 200, version_id]);
});

test("OpenAI's SDK posts to prompts, non-streaming and streamed", async () => {
  const { slug } = await save();
  const client = new OpenAI({
    apiKey: key,
    baseURL: "http://gateway.test/v1",
    maxRetries: 0,
    fetch: (url, init) => gateway.gateway.fetch(new Request(String(url), init)),
  });
  const whole = await client.post<OpenAI.ChatCompletion>(`/prompts/${slug}@1/completions`, {
    body: { variables },
  });
  assert.equal(whole.choices[0]?.message.content, "Hi");
  // `stream` makes the SDK read events; its types for plain posts lack it
  const stream = (await client.post(`/prompts/${slug}/completions`, {
    body: { variables, stream: true },
    stream: true,
  })) as AsyncIterable<OpenAI.ChatCompletionChunk>;
  const pieces: string[] = [];
  for await (const { choices } of stream) pieces.push(choices[0]?.delta.content ?? "");
  assert.equal(pieces.join(""), "Hi");
});

test("render returns the request a completion would be made of", async () => {
  const { slug } = await save();
  const { status, body, traceId } = await use(`${slug}/render`, { variables, max_tokens: 5 });
  const data = { temperature: 0.5, max_tokens: 5, model: "gpt-test", messages };
  assert.deepEqual([status, body], [200, { success: true, data }]);
  assert.equal(upstream.requests.length, 0);
  const row = await waitForLog(gateway, traceId);
  assert.deepEqual([row.operation, row.provider, Object(row).prompt_slug], ["renderPrompt", null, slug]);
  const text = await save({ string: "Hello {{name}}", model: null });
  const rendered = await use(`${text.slug}/render`, { variables: { name: "Ada" } });
  assert.deepEqual(rendered.body.data, { temperature: 0.5, max_tokens: 10, prompt: "Hello Ada" });
});

test("versions are named by number, latest and label, also right after they change", async () => {
  const { slug, id, version_id } = await save({ string: "one" });
  const said = async (name: string) => {
    const { status, body } = await use(`${name}/render`, { variables: {} });
    return status === 200 ? Object(body.data).prompt : status;
  };
  for (const string of ["two", "three"]) await ask(`PUT /prompts/${slug}`, { patch: true, string });
  const all = async () => Promise.all([said(slug), said(id), said(`${slug}@latest`), said(`${slug}@2`)]);
  assert.deepEqual(await all(), ["one", "one", "three", "two"]);
  await ask(`PUT /prompts/${slug}/makeDefault`, { version: 2 });
  assert.deepEqual(await all(), ["two", "two", "three", "two"]);
  assert.equal(await said(`${slug}@1`), "one");
  const { id: canary } = await ask("POST /labels", { name: "canary" });
  for (const label_id of [canary, universalLabels[0]?.id]) {
    await ask(`PUT /prompts/${slug}/versions/${version_id}`, { label_id });
  }
  assert.deepEqual([await said(`${slug}@canary`), await said(`${id}@production`)], ["one", "one"]);
  assert.equal(await said(`${slug}%40canary`), "one");
  await ask(`DELETE /labels/${canary}`);
  assert.equal(await said(`${slug}@canary`), 404);
  await ask(`DELETE /prompts/${slug}`);
  assert.deepEqual([await said(slug), await said(`${slug}@production`)], [404, 404]);
});

test("partials are included in the version they name", async () => {
  const inner = await ask("POST /prompts/partials", { name: "Inner", string: "[{{name}}]" });
  const outer = await ask("POST /prompts/partials", { name: "Outer", string: `({{>${inner.slug}}})` });
  for (const string of ["middle", "new"]) await ask(`PUT /prompts/partials/${inner.id}`, { string });
  const string = [outer.slug, `${inner.slug}@2`, `${inner.id}@latest`, `${inner.slug}@1`].map((name) => `{{>${name}}}`);
  const { slug } = await save({ string: string.join(" ") });
  const said = async () => {
    const { body } = await use(`${slug}/render`, { variables: { name: "Ada" } });
    return Object(body.data).prompt ?? body.message;
  };
  assert.equal(await said(), "([Ada]) middle new [Ada]");
  await ask(`PUT /prompts/partials/${inner.slug}/makeDefault`, { version: 3 });
  assert.equal(await said(), "(new) middle new [Ada]");
  await ask(`PUT /prompts/partials/${inner.slug}`, { status: "archived" });
  assert.match(String(await said()), /^Missing variable partials: /);
  const label = await save({ string: `{{>${outer.slug}@production}}` });
  assert.equal(await refusal(use(`${label.slug}/render`, { variables: {} })), "400 missing_partials");
});

test("a prompt that repeats long lists lets a later, short one be rendered first", async () => {
  const { slug } = await save({ string: "{{#l}}{{#l}}{{#l}}{{/l}}{{/l}}{{/l}}", model: null });
  const rendered = async (name: string, list: number[]) => {
    const { status } = await use(`${slug}/render`, { variables: { l: list } });
    ended.push(`${name}: ${status}`);
  };
  const ended: string[] = [];
  await rendered("alone", [1]);
  const long = Array.from({ length: 1_000 }, () => 1);
  await Promise.all([rendered("long", long), rendered("short", [1])]);
  assert.deepEqual(ended, ["alone: 200", "short: 200", "long: 400"]);
});

test("a prompt that includes too many partials is refused", async () => {
  const string = Array.from({ length: 20_000 }, (_, index) => `{{>p${index}}}`).join("");
  const { slug } = await save({ string });
  assert.equal(await refusal(use(`${slug}/render`, { variables: {} })), "400 prompt_too_large");
});

test("the request's provider and config win over the prompt's provider", async () => {
  const { slug } = await save();
  const by = async (body: object, headers: Record<string, string>) => {
    upstream.requests.length = 0;
    const { status, body: answer } = await use(`${slug}/completions`, { variables, ...body }, headers);
    const credential = upstream.requests[0]?.headers.authorization?.replace(`Bearer ${providerKey}-`, "");
    return [status, credential ?? Object(answer).id, sent().model];
  };
  assert.deepEqual(await by({}, {}), [200, "main", "gpt-test"]);
  assert.deepEqual(await by({}, { "x-gateway-provider": "@spare" }), [200, "spare", "gpt-test"]);
  assert.deepEqual(await by({}, { "x-gateway-virtual-key": "spare" }), [200, "spare", "gpt-test"]);
  assert.deepEqual(await by({ model: "@spare/other" }, {}), [200, "spare", "other"]);
  assert.deepEqual(await by({}, { "x-gateway-provider": "echo" }), [200, "chatcmpl-echo", undefined]);
  const raw = { "x-gateway-provider": "passthrough", "x-gateway-custom-host": `${upstream.url}/v1` };
  assert.equal(await refusal(use(`${slug}/completions`, { variables }, raw)), "400 unsupported_endpoint");
  const config = (value: object) => ({ "x-gateway-config": JSON.stringify(value) });
  assert.deepEqual(await by({}, config({ provider: "@spare" })), [200, "spare", "gpt-test"]);
  assert.deepEqual(await by({}, config({ retry: { attempts: 1 } })), [200, "main", "gpt-test"]);
  const conditional = {
    strategy: {
      mode: "conditional",
      conditions: [{ query: { "params.temperature": { $lt: 1 } }, then: "cool" }],
      default: "warm",
    },
    targets: [
      { name: "warm", provider: "@main" },
      { name: "cool", provider: "@spare" },
    ],
  };
  assert.deepEqual(await by({}, config(conditional)), [200, "spare", "gpt-test"]);
  assert.deepEqual(await by({ temperature: 2 }, config(conditional)), [200, "main", "gpt-test"]);
});

test("a prompt without provider or model needs them in the request", async () => {
  const { slug } = await save({ virtual_key: "", model: null });
  assert.equal(await refusal(use(`${slug}/completions`, { variables, model: "m" })), "400 provider_required");
  const { status, body } = await use(`${slug}/completions`, { variables }, { "x-gateway-provider": "echo" });
  assert.deepEqual([status, Object(body.error).param], [400, "model"]);
  const echoed = await use(`${slug}/completions`, { variables, model: "echo-1" }, { "x-gateway-provider": "echo" });
  assert.equal(Object(Object(echoed.body.choices)[0]).message.content, "Why?");
});

for (const [name, body, code, param] of [
  ["no variables", {}, "400 invalid_body", "variables"],
  ["variables that are null", { variables: null }, "400 invalid_body", "variables"],
  ["variables that are a list", { variables: [] }, "400 invalid_body", "variables"],
  ["variables that are a text", { variables: "x" }, "400 invalid_body", "variables"],
  ["messages of its own", { variables: {}, messages: [] }, "400 invalid_body", "messages"],
  ["a prompt of its own", { variables: {}, prompt: "x" }, "400 invalid_body", "prompt"],
  ["a stream that is no flag", { variables: {}, stream: 1 }, "400 invalid_body", "stream"],
  ["a text that grows too long", { variables: { question: "x".repeat(4_194_305) } }, "400 prompt_too_large", "id"],
] as const) {
  test(`a prompt refuses ${name}`, async () => {
    const { slug } = await save();
    for (const route of ["completions", "render"]) {
      const reply = await use(`${slug}/${route}`, body);
      assert.equal(`${reply.status} ${Object(reply.body.error).code}`, code, route);
      assert.equal(Object(reply.body.error).param, param);
    }
    assert.equal(upstream.requests.length, 0);
  });
}

test("variables may have any name", async () => {
  const { slug } = await save({ string: "{{__proto__}} {{constructor}} {{toString}}" });
  const response = await gateway.fetch(`/v1/prompts/${slug}/render`, {
    method: "POST",
    headers: { "x-gateway-api-key": key, "content-type": "application/json" },
    body: '{"variables": {"__proto__": "a", "constructor": "b"}}',
  });
  assert.equal(JSON.parse(await response.text()).data.prompt, "a b ");
});

test("a text completion is validated like one", async () => {
  const { slug } = await save({ string: "plain" });
  const { status, body } = await use(`${slug}/completions`, { variables: {}, temperature: 3 });
  assert.deepEqual([status, Object(body.error).param], [400, "temperature"]);
});

test("unknown and foreign prompts return the same 404", async () => {
  const { slug, id } = await save();
  const database = await gateway.openFile();
  const sibling = await done<Receipt>(call<Receipt>(gateway, "POST /admin/workspaces", { body: { name: "Sibling" } }));
  const { rows } = await database.read("SELECT organisation_id FROM prompts LIMIT 1");
  const { key: siblingKey } = mintApiKey("gk");
  await insertKey(database, siblingKey, {
    organisationId: String(rows[0]?.organisation_id),
    workspaceId: sibling.id,
    scopes: JSON.stringify(["prompts.render", "completions.write"]),
  });
  const unknown = await use("pp-unknown-000000/completions", { variables });
  for (const name of [slug, id, `${slug}@1`]) {
    for (const foreign of [other.workspaceKey, siblingKey]) {
      for (const route of ["completions", "render"]) {
        const reply = await use(`${name}/${route}`, { variables }, { "x-gateway-api-key": foreign });
        assert.deepEqual([reply.status, reply.body], [404, unknown.body]);
      }
    }
  }
  assert.equal(upstream.requests.length, 0);
  for (const version of ["2", "0", "01", "999999999999", "nothing", "", "default@1", "__proto__"]) {
    assert.equal(await refusal(use(`${slug}@${version}/render`, { variables })), "404 prompt_version_not_found");
  }
});

test("each route requires its own scope", async () => {
  const { slug } = await save();
  const database = await gateway.openFile();
  for (const [scope, wanted] of [
    ["prompts.render", [200, 403]],
    ["completions.write", [403, 200]],
    ["prompts.read", [403, 403]],
  ] as const) {
    const { key: own } = mintApiKey("gk");
    await insertKey(database, own, { scopes: JSON.stringify([scope]) });
    const statuses = await Promise.all(
      ["render", "completions"].map(async (route) => {
        const { status } = await use(`${slug}/${route}`, { variables }, { "x-gateway-api-key": own });
        return status;
      }),
    );
    assert.deepEqual(statuses, wanted, scope);
  }
});

test("a provider's invalid response is not the caller's fault", async () => {
  const { slug } = await save();
  const garbage = use(`${slug}/completions`, { variables: { question: "garbage please" } });
  assert.equal(await refusal(garbage), "502 upstream_bad_answer");
  const deleted = await save({ virtual_key: "spare" });
  await ask("DELETE /providers/spare");
  assert.equal(await refusal(use(`${deleted.slug}/completions`, { variables })), "400 invalid_provider");
});
