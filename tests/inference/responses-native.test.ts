import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { after, before, test } from "node:test";
import { findOperation } from "../../src/providers/core/types.ts";
import { createProviderRegistry } from "../../src/providers/registry.ts";
import { call, done } from "../support/control.ts";
import {
  createTestGateway,
  type HeaderChanges,
  type TestGateway,
  upstreamHeaders,
  waitForLog,
  workspaceKey,
} from "../support/gateway.ts";
import { recordedText, startNativeUpstream } from "../support/native-upstreams.ts";
import { checkEvents, type Members, parseEvents, summarise } from "../support/response-events.ts";
import { callResponses, nativeEvents, nativeResponse, sendEvents, shapes, toSse } from "../support/responses.ts";
import { targetOf } from "../support/routed.ts";
import { type ReceivedRequest, type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

type Script = (request: ReceivedRequest, response: ServerResponse) => void;

const sendJson = (response: ServerResponse, body: object, status = 200) =>
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
const answerPlainly: Script = ({ text }, response) =>
  JSON.parse(text || "{}").stream === true
    ? sendEvents(response, toSse(nativeEvents))
    : sendJson(response, nativeResponse);

let gateway: TestGateway;
let upstream: RecordingUpstream;
let chats: RecordingUpstream;
let script: Script = answerPlainly;
before(async () => {
  gateway = await createTestGateway({ random: () => 0 });
  upstream = await startRecordingUpstream((request, response) => script(request, response));
  chats = await startNativeUpstream();
});
after(async () => {
  await gateway.close();
  await upstream.close();
  await chats.close();
});

const asked = { model: "gpt-5.1", input: "Hello", tools: [{ type: "web_search" }], background: false };
const post = (body: object, headers: HeaderChanges = {}) =>
  callResponses(gateway, "POST /responses", { body, headers: { ...upstreamHeaders(upstream), ...headers } });
const lastSent = (): Members => JSON.parse(upstream.requests.at(-1)?.text ?? "{}");
/** Runs while the upstream follows a script. */
async function during<Value>(next: Script, run: () => Promise<Value>): Promise<Value> {
  script = next;
  try {
    return await run();
  } finally {
    script = answerPlainly;
  }
}

test("native requests and responses are forwarded unchanged, non-streaming and streamed", async () => {
  const { text, status } = await post(asked, { "x-gateway-trace-id": "native-whole" });
  assert.equal(status, 200);
  assert.equal(text, JSON.stringify(nativeResponse));
  assert.equal(upstream.requests.at(-1)?.path, "/v1/responses");
  assert.deepEqual(lastSent(), asked);
  const streamed = await post({ ...asked, stream: true }, { "x-gateway-trace-id": "native-stream" });
  assert.equal(streamed.text, toSse(nativeEvents));
  for (const trace of ["native-whole", "native-stream"]) {
    const { usage } = await waitForLog(gateway, trace);
    const counts = { input_tokens: 20, output_tokens: 9, total_tokens: 29, cached_tokens: 5, reasoning_tokens: 3 };
    assert.deepEqual({ ...usage, ...counts }, usage);
  }
});

test("nothing after the last event of a native stream is sent", async () => {
  const { text } = await during(
    (_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(toSse(nativeEvents));
      setTimeout(() => response.end("data: [DONE]\n\n"), 20);
    },
    () => post({ ...asked, stream: true }),
  );
  assert.equal(text, toSse(nativeEvents));
});

/** First events that report a failure, with the status they mean. */
for (const [name, event, status] of [
  ["error", { type: "error", code: "rate_limit_exceeded", message: "Slow down", param: null, sequence_number: 0 }, 429],
  [
    "response.failed",
    {
      type: "response.failed",
      response: { ...nativeResponse, status: "failed", error: { code: "server_error", message: "Slow down" } },
    },
    500,
  ],
  ["an error object", { type: "error", error: { type: "server_error", message: "Slow down" } }, 500],
] as const) {
  test(`${name} as the first event is an error response, and a fallback calls the next target`, async () => {
    const fail: Script = (_, response) => sendEvents(response, toSse([event]));
    const refused = await during(fail, () => post({ ...asked, stream: true }));
    assert.equal(refused.status, status);
    assert.match(String(refused.body.message), /Slow down/);
    const config = {
      strategy: { mode: "fallback" },
      targets: [targetOf(upstream), targetOf(upstream)],
    };
    let calls = 0;
    const second = await during(
      (request, response) => (calls++ === 0 ? fail : answerPlainly)(request, response),
      () =>
        post(
          { ...asked, stream: true },
          { "x-gateway-provider": null, "x-gateway-custom-host": null, "x-gateway-config": JSON.stringify(config) },
        ),
    );
    assert.equal(second.text, toSse(nativeEvents));
    assert.equal(second.headers.get("x-gateway-last-used-option-index"), "config.targets[1]");
  });
}

test("a native stream that breaks off ends with an error, then a failed response, numbered on", async () => {
  const { text } = await during(
    (_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(toSse(nativeEvents.slice(0, 9)));
      setTimeout(() => response.destroy(), 150);
    },
    () => post({ ...asked, stream: true }),
  );
  const events = parseEvents(text);
  assert.deepEqual(
    events.map(({ sequence_number: number }) => number),
    events.map((_, index) => index),
  );
  assert.deepEqual(
    events.slice(-2).map(({ type }) => type),
    ["error", "response.failed"],
  );
  const failed = events.at(-1)?.response as Members;
  assert.equal(failed.id, nativeResponse.id);
  assert.deepEqual([failed.status, (failed.error as Members).code], ["failed", "server_error"]);
});

test("a failure inside a native stream is forwarded, the failed response after it", async () => {
  const error = { type: "error", code: "server_error", message: "Broken", param: null, sequence_number: 4 };
  const failed = { type: "response.failed", response: { ...nativeResponse, status: "failed" }, sequence_number: 5 };
  const sent = [...nativeEvents.slice(0, 4), error, failed];
  const { text } = await during(
    async (_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (const event of sent) {
        response.write(toSse([event]));
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      response.end();
    },
    () => post({ ...asked, stream: true }, { "x-gateway-trace-id": "native-failed" }),
  );
  assert.equal(text, toSse(sent));
  assert.equal((await waitForLog(gateway, "native-failed")).status, 502);
});

test("unreadable responses of adapted targets are 502", async () => {
  const bad: readonly [string, string][] = [
    ["application/json", "{}"],
    ["application/json", "[]"],
    ["application/json", "<html>"],
    ["application/json", '{"choices": 5}'],
  ];
  for (const [type, text] of bad) {
    const answer = await during(
      (_, response) => response.writeHead(200, { "content-type": type }).end(text),
      () => post({ model: "m", input: "Hello" }, { "x-gateway-provider": "deepinfra" }),
    );
    assert.equal(answer.status, 502, text);
    assert.equal((answer.body.error as Members).code, "upstream_bad_answer");
  }
});

test("an adapted stream that reports an error ends as the API prescribes", async () => {
  const chunk = {
    id: "c",
    object: "chat.completion.chunk",
    created: 1,
    model: "m",
    choices: [{ index: 0, delta: { content: "It" } }],
  };
  const { text } = await during(
    (_, response) =>
      sendEvents(
        response,
        `data: ${JSON.stringify(chunk)}\n\ndata: {"error":{"message":"Slow down","type":"rate_limit_error"}}\n\n`,
      ),
    () => post({ model: "m", input: "Hello", stream: true }, { "x-gateway-provider": "deepinfra" }),
  );
  const events = parseEvents(text);
  assert.equal(checkEvents(events).status, "failed");
  assert.deepEqual(summarise(events).slice(-2), ["error deepinfra error: Slow down", "failed failed"]);
});

test("one fallback mixes native and adapted targets in either order", async () => {
  const [, anthropic] = shapes;
  assert.ok(anthropic);
  const adapted = {
    provider: "anthropic",
    api_key: "k",
    override_params: { model: anthropic.model },
    custom_host: `${chats.url}/anthropic/text`,
  };
  const busy = (_: ReceivedRequest, response: ServerResponse) =>
    sendJson(response, { error: { message: "busy" } }, 503);
  const headers = (targets: object[]) => ({
    "x-gateway-provider": null,
    "x-gateway-custom-host": null,
    "x-gateway-config": JSON.stringify({ strategy: { mode: "fallback" }, targets }),
  });
  const first = await during(busy, () =>
    post({ model: "gpt-5.1", input: "Hello" }, headers([targetOf(upstream), adapted])),
  );
  assert.match(String(first.body.id), /^resp_gw_/);
  assert.ok(first.text.includes(recordedText));
  const broken = { ...adapted, custom_host: `${chats.url}/anthropic/nothing` };
  const next = { model: "gpt-5.1", input: "And now?", previous_response_id: first.body.id };
  const second = await post(next, headers([broken, targetOf(upstream)]));
  assert.equal(second.body.id, nativeResponse.id);
  const sent = lastSent();
  assert.equal(sent.previous_response_id, undefined);
  const [hello, said, now] = sent.input as Members[];
  assert.deepEqual([hello?.role, said?.role, now?.role], ["user", "assistant", "user"]);
  assert.ok(
    [hello, said, now].every((item) => item?.id === undefined),
    "ids another provider never gave are left out",
  );
  assert.ok(JSON.stringify(said).includes(recordedText));
});

test("a native provider's own previous_response_id is forwarded to it", async () => {
  await post({ model: "gpt-5.1", input: "And now?", previous_response_id: "resp_native1" });
  assert.equal(lastSent().previous_response_id, "resp_native1");
});

test("routes for a provider's stored responses are forwarded to it", async () => {
  const answers: [string, string, object | undefined][] = [
    ["GET /responses/resp_native1?include[]=x", "/v1/responses/resp_native1?include[]=x", undefined],
    ["DELETE /responses/resp_native1", "/v1/responses/resp_native1", undefined],
    ["GET /responses/resp_native1/input_items?limit=5", "/v1/responses/resp_native1/input_items?limit=5", undefined],
    ["POST /responses/resp_native1/cancel", "/v1/responses/resp_native1/cancel", {}],
    ["POST /responses/input_tokens", "/v1/responses/input_tokens", { model: "gpt-5.1", input: "Hello" }],
    ["POST /responses/compact", "/v1/responses/compact", { model: "gpt-5.1", input: "Hello" }],
  ];
  const deleted = { id: "resp_native1", object: "response", deleted: true };
  const items = { object: "list", data: [], first_id: null, last_id: null, has_more: false };
  const counted = { object: "response.input_tokens", input_tokens: 3 };
  const answerOf = (route: string): object => {
    if (route.startsWith("DELETE")) return deleted;
    if (route.includes("input_items")) return items;
    if (route.includes("compact")) return { ...nativeResponse, object: "response.compaction" };
    return route.includes("input_tokens") ? counted : nativeResponse;
  };
  for (const [route, path, body] of answers) {
    const asks = { headers: upstreamHeaders(upstream), ...(body && { body }) };
    const send: Script = (_, response) => sendJson(response, answerOf(route));
    const answer = await during(send, () => callResponses(gateway, route, asks));
    assert.equal(answer.status, 200, route);
    assert.equal(answer.text, JSON.stringify(answerOf(route)));
    const seen = upstream.requests.at(-1);
    assert.equal(`${seen?.method} ${seen?.path}`, `${route.split(" ")[0]} ${path}`);
    if (body) assert.equal(seen?.text, JSON.stringify(body));
  }
});

const registry = createProviderRegistry();
/** The path of the Responses API of a provider with some settings; undefined where a chat serves it. */
function pathOf(slug: string, model: string, settings: Record<string, string> = {}): string | undefined {
  const provider = registry.get(slug)?.bind((name) => settings[name] ?? null);
  assert.ok(provider);
  return findOperation(provider, "responses", { model })?.path({ model });
}

for (const [slug, model, settings, path] of [
  ["openai", "gpt-5.1", {}, "/responses"],
  ["x-ai", "grok-4", {}, "/responses"],
  ["groq", "gpt-oss-20b", {}, "/responses"],
  ["openrouter", "openai/gpt-5.1", {}, "/v1/responses"],
  ["perplexity-ai", "sonar", {}, "/v1/responses"],
  ["byteplus", "ep-1", {}, "/responses"],
  ["bedrock-mantle", "openai.gpt-oss-120b", { "aws-region": "us-east-1" }, "/v1/responses"],
  ["bedrock-mantle", "anthropic.claude-sonnet-4-6", { "aws-region": "us-east-1" }, undefined],
  ["databricks", "system.ai.gpt-5", {}, "/ai-gateway/mlflow/v1/responses"],
  ["databricks", "system.ai.claude-sonnet-4-6", {}, undefined],
  ["azure-openai", "gpt-5.1", { "azure-api-version": "v1", "azure-deployment-id": "d" }, "/v1/responses"],
  [
    "azure-openai",
    "gpt-5.1",
    { "azure-api-version": "2025-04-01-preview", "azure-deployment-id": "d" },
    "/responses?api-version=2025-04-01-preview",
  ],
  ["azure-ai", "gpt-5.1", { "azure-foundry-url": "https://r.services.ai.azure.com/models" }, undefined],
  [
    "azure-ai",
    "gpt-5.1",
    { "azure-foundry-url": "https://r.services.ai.azure.com/models", "provider-responses-proxy": "true" },
    "/responses",
  ],
  ["anthropic", "claude-sonnet-4-6", {}, undefined],
  ["mistral-ai", "mistral-large", {}, undefined],
] as [string, string, Record<string, string>, string | undefined][]) {
  test(`${slug} ${path === undefined ? "serves its chat" : `has ${path}`} for ${model}`, () => {
    assert.equal(pathOf(slug, model, settings), path);
  });
}

test("azure-openai names its deployment in the body", async () => {
  const azure = {
    "x-gateway-provider": "azure-openai",
    "x-gateway-azure-deployment-id": "d",
    "x-gateway-azure-api-version": "2025-04-01-preview",
  };
  const headers = { ...azure, "x-gateway-azure-resource-name": "r", "x-gateway-custom-host": `${upstream.url}/openai` };
  await post(asked, headers);
  assert.equal(upstream.requests.at(-1)?.path, "/openai/responses?api-version=2025-04-01-preview");
  assert.equal(lastSent().model, "d");
});

test("azure-ai receives items with the type message", async () => {
  const azure = { "x-gateway-provider": "azure-ai", "x-gateway-provider-responses-proxy": "true" };
  const headers = { ...azure, "x-gateway-azure-foundry-url": upstream.url, "x-gateway-custom-host": upstream.url };
  await post({ ...asked, input: [{ role: "user", content: "Hello" }] }, headers);
  assert.equal(upstream.requests.at(-1)?.path, "/responses");
  assert.deepEqual(lastSent().input, [{ type: "message", role: "user", content: "Hello" }]);
});

test("an integration of azure-ai says whether its resource has the API", async () => {
  for (const has of [true, false]) {
    const slug = `azure-${has}`;
    const configurations = {
      azure_auth_mode: "default",
      azure_foundry_url: upstream.url,
      provider_responses_proxy: has,
    };
    const integration = { name: slug, slug: `${slug}-i`, ai_provider_id: "azure-ai", key: "k", configurations };
    await done(
      call(gateway, "POST /integrations", {
        key: workspaceKey,
        body: { ...integration, create_default_provider: false },
      }),
    );
    const provider = { name: slug, slug, integration_id: `${slug}-i` };
    await done(call(gateway, "POST /providers", { key: workspaceKey, body: provider }));
    // where it is converted, nobody would run the search
    const body = { ...asked, tools: has ? asked.tools : [] };
    await callResponses(gateway, "POST /responses", { body, headers: { "x-gateway-provider": `@${slug}` } });
    assert.equal(upstream.requests.at(-1)?.path, has ? "/responses" : "/chat/completions");
  }
});
