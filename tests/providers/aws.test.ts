import assert from "node:assert/strict";
import { after, test } from "node:test";
import { readEvents } from "../../src/lib/sse.ts";
import { bedrock } from "../../src/providers/bedrock/mod.ts";
import { bedrockMantle } from "../../src/providers/bedrock-mantle/mod.ts";
import { addressOf } from "../../src/providers/core/call.ts";
import type { Provider } from "../../src/providers/core/types.ts";
import { sagemaker } from "../../src/providers/sagemaker/mod.ts";
import { fixture, jsonFixture, testConformance } from "../conformance/suite.ts";
import { requireSigned } from "../support/aws.ts";
import { chat, createTestGateway, type HeaderChanges, readJson, requestHeaders } from "../support/gateway.ts";
import { type ReceivedRequest, startRecordingUpstream } from "../support/upstream.ts";

const keys = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "secret/Key+Example" };
const gateway = await createTestGateway();
const upstream = await startRecordingUpstream(({ path }, response) => {
  if (path.endsWith("/converse-stream")) {
    const name = path.includes("broken") ? "stream-exception-binary.json" : "stream-binary.json";
    const { base64 } = jsonFixture("bedrock", name) as { base64: string };
    const all = Buffer.from(base64, "base64");
    // without its two valid messages the failure comes first
    let bytes = path.includes("broken-first") ? all.subarray(118 + 156) : all;
    if (path.includes("cut")) bytes = all.subarray(0, 131 + 160 + 100);
    if (path.includes("damaged")) all[131 + 160 + 100] = 0;
    if (path.includes("damaged-first")) all[100] = 0;
    return response.writeHead(200, { "content-type": "application/vnd.amazon.eventstream" }).end(bytes);
  }
  if (path.includes("throttled")) {
    return response
      .writeHead(429, { "content-type": "application/json", "x-amzn-errortype": "ThrottlingException:http://x/" })
      .end(fixture("bedrock", "error-429.json"));
  }
  const body = path.endsWith("/foundation-models") ? '{"modelSummaries":[]}' : fixture("bedrock", "chat.json");
  return response.writeHead(200, { "content-type": "application/json" }).end(body);
});
after(async () => {
  await upstream.close();
  await gateway.close();
});

const aws = (changes: HeaderChanges = {}): HeaderChanges => ({
  "x-gateway-provider": "bedrock",
  "x-gateway-custom-host": upstream.url,
  "x-gateway-aws-access-key-id": keys.accessKeyId,
  "x-gateway-aws-secret-access-key": keys.secretAccessKey,
  "x-gateway-aws-region": "eu-central-1",
  ...changes,
});
const body = (model: string, more: object = {}) => ({ model, messages: [{ role: "user", content: "hé" }], ...more });

function last(): ReceivedRequest {
  const request = upstream.requests.at(-1);
  assert.ok(request);
  return request;
}

function requireLastSigned(service: string) {
  const { method, path, headers, body: bytes } = last();
  const found = requireSigned({ method, url: path, headers, body: bytes }, keys);
  assert.deepEqual([found.scope.service, found.scope.region], [service, "eu-central-1"]);
  return found;
}

test("bedrock signs a chat as it arrives, also with an ARN as model", async () => {
  const model = "arn:aws:bedrock:eu-central-1:111122223333:inference-profile/eu.anthropic.claude-sonnet-4-6-v1:0";
  const response = await chat(gateway, body(model), aws({ "x-gateway-aws-session-token": "session-token" }));
  const answer = await readJson<{ id: string; created: number; model: string; provider: string }>(response);
  assert.equal(response.status, 200, JSON.stringify(answer));
  assert.equal(answer.provider, "bedrock");
  assert.match(answer.id, /^chatcmpl-[0-9A-Z]{26}$/);
  assert.ok(Math.abs(answer.created - Date.now() / 1000) < 60);
  assert.equal(last().path, `/model/${encodeURIComponent(model)}/converse`);
  assert.equal(last().headers["x-amz-security-token"], "session-token");
  assert.ok(requireLastSigned("bedrock").signed.includes("x-amz-security-token"));
  const told = JSON.stringify(last().headers);
  assert.ok(!told.includes(keys.secretAccessKey) && !told.includes("x-gateway"));
});

test("bedrock streams of binary messages become event streams, with usage when requested", async () => {
  const asked = body("anthropic.claude-sonnet-4-6", { stream: true, stream_options: { include_usage: true } });
  const response = await chat(gateway, asked, aws());
  assert.equal(response.headers.get("content-type"), "text/event-stream; charset=utf-8");
  const events = readEvents(await response.text()).map(({ data }) => data);
  assert.equal(events.at(-1), "[DONE]");
  const chunks = events.slice(0, -1).map((data) => JSON.parse(data));
  assert.equal(new Set(chunks.map(({ id, created, provider }) => `${id} ${created} ${provider}`)).size, 1);
  assert.deepEqual(
    chunks.flatMap(({ choices }) => choices).map(({ delta, finish_reason: finish }) => delta.content ?? finish),
    ["", "Tide", " rises – 3 m ☂.", "stop"],
  );
  assert.equal(chunks.at(-1).usage.prompt_tokens, 2066);
  requireLastSigned("bedrock");
});

test("bedrock failures inside a stream become an error event without an end marker", async () => {
  const response = await chat(gateway, body("anthropic.broken", { stream: true }), aws());
  const events = readEvents(await response.text());
  const { error } = JSON.parse(events.at(-1)?.data ?? "{}");
  assert.deepEqual([error.type, error.message], ["throttlingException", "bedrock error: fixture: token rate too high"]);
});

for (const [model, code] of [
  ["anthropic.cut", "upstream_incomplete_stream"],
  ["anthropic.damaged", "upstream_bad_answer"],
] as const) {
  test(`bedrock streams of ${model} keep complete events and end with an error`, async () => {
    const response = await chat(gateway, body(model, { stream: true }), aws());
    const events = readEvents(await response.text()).map(({ data }) => JSON.parse(data));
    assert.deepEqual(
      events.slice(0, -1).flatMap(({ choices }) => choices.map((choice: { delta: object }) => choice.delta)),
      [{ role: "assistant", content: "" }, { content: "Tide" }],
    );
    assert.equal(events.at(-1).error.code, code);
  });
}

test("bedrock streams whose first message is damaged fail", async () => {
  const response = await chat(gateway, body("anthropic.damaged-first", { stream: true }), aws());
  const { error } = await readJson<{ error: { code: string } }>(response);
  assert.deepEqual([response.status, error.code], [502, "upstream_bad_answer"]);
});

test("bedrock failures as first message set the response status", async () => {
  const response = await chat(gateway, body("anthropic.broken-first", { stream: true }), aws());
  const { error } = await readJson<{ error: { message: string; code: string } }>(response);
  assert.equal(response.status, 429);
  assert.deepEqual([error.code, error.message], ["throttlingException", "bedrock error: fixture: token rate too high"]);
});

test("bedrock failures keep their status and message", async () => {
  const response = await chat(gateway, body("anthropic.throttled"), aws());
  const { error } = await readJson<{ error: object }>(response);
  assert.equal(response.status, 429);
  const named = { type: "ThrottlingException", code: "ThrottlingException" };
  assert.deepEqual(error, { message: "bedrock error: fixture: request rate too high", ...named, param: null });
});

test("bedrock sends an API key unchanged", async () => {
  const none = { "x-gateway-aws-access-key-id": null, "x-gateway-aws-secret-access-key": null };
  const response = await chat(gateway, body("amazon.nova-pro-v1:0"), aws({ ...none, authorization: "Bearer api-key" }));
  assert.equal(response.status, 200);
  assert.equal(last().headers.authorization, "Bearer api-key");
  assert.equal(last().headers["x-amz-date"], undefined);
});

test("bedrock signs the request for models, which has no body", async () => {
  const response = await gateway.fetch("/v1/models", { headers: requestHeaders(aws()) });
  assert.deepEqual(await readJson(response), { object: "list", data: [], provider: "bedrock" });
  assert.equal(last().path, "/foundation-models");
  requireLastSigned("bedrock");
});

for (const [name, changes, text] of [
  ["no keys", { "x-gateway-aws-access-key-id": null }, /x-gateway-aws-access-key-id/],
  ["a region that is not a host label", { "x-gateway-aws-region": "evil.example/" }, /x-gateway-aws-region/],
  ["an unknown kind of credential", { "x-gateway-aws-auth-type": "magic" }, /x-gateway-aws-auth-type/],
  ["a malformed role", { "x-gateway-aws-role-arn": "role" }, /x-gateway-aws-role-arn/],
  ["its own identity for a named host", { "x-gateway-aws-auth-type": "serviceRole" }, /not a host of AWS/],
] as const) {
  test(`bedrock rejects ${name}`, async () => {
    const seen = upstream.requests.length;
    const response = await chat(gateway, body("amazon.nova-pro-v1:0"), aws(changes));
    const { error } = await readJson<{ error: { message: string } }>(response);
    assert.equal(response.status, 400);
    assert.match(error.message, text);
    assert.equal(upstream.requests.length, seen);
  });
}

test("sagemaker forwards bodies signed, with the headers of its settings", async () => {
  const response = await gateway.fetch("/v1/proxy/endpoints/my-endpoint/invocations?x=1&a=%20b", {
    method: "POST",
    headers: requestHeaders(
      aws({
        "x-gateway-provider": "sagemaker",
        "x-gateway-amzn-sagemaker-target-variant": "blue",
        "x-gateway-amzn-sagemaker-custom-attributes": "a=1; b",
        "x-gateway-amzn-sagemaker-model-name": "for-the-log",
        // what an AWS client would have signed for the gateway
        "x-amz-date": "20000101T000000Z",
        "x-amz-content-sha256": "e".repeat(64),
        "content-type": "text/csv",
      }),
    ),
    body: "1,2,3",
  });
  assert.equal(response.status, 200);
  const { headers, text, path } = last();
  assert.equal(text, "1,2,3");
  assert.equal(path, "/endpoints/my-endpoint/invocations?x=1&a=%20b");
  assert.equal(headers["x-amzn-sagemaker-target-variant"], "blue");
  assert.equal(headers["x-amzn-sagemaker-custom-attributes"], "a=1; b");
  assert.equal(headers["x-amzn-sagemaker-model-name"], undefined);
  requireLastSigned("sagemaker");
});

test("claude-platform-aws signs requests without an API key", async () => {
  await chat(gateway, body("claude-sonnet-4-6"), aws({ "x-gateway-provider": "claude-platform-aws" }));
  assert.equal(last().path, "/messages");
  assert.equal(last().headers["anthropic-version"], "2023-06-01");
  assert.equal(last().headers["x-api-key"], undefined);
  requireLastSigned("aws-external-anthropic");
});

test("sagemaker forwards a streamed body with an unsigned payload", async () => {
  const long = "x".repeat(300 * 1024);
  const response = await gateway.fetch("/v1/proxy/endpoints/my-endpoint/invocations", {
    method: "POST",
    headers: requestHeaders(aws({ "x-gateway-provider": "sagemaker", "content-length": String(long.length) })),
    body: long,
  });
  assert.equal(response.status, 200);
  assert.equal(last().text.length, long.length);
  assert.equal(requireLastSigned("sagemaker").payload, "UNSIGNED-PAYLOAD");
});

const regions = { "aws-region": "eu-west-1" };
for (const [provider, path, environment, wanted] of [
  [bedrock, "/model/x/converse", {}, "https://bedrock-runtime.eu-west-1.amazonaws.com/model/x/converse"],
  [bedrock, "/foundation-models", {}, "https://bedrock.eu-west-1.amazonaws.com/foundation-models"],
  [bedrock, "/model-invocation-jobs?x", {}, "https://bedrock.eu-west-1.amazonaws.com/model-invocation-jobs?x"],
  [bedrock, "/rerank", {}, "https://bedrock-agent-runtime.eu-west-1.amazonaws.com/rerank"],
  [
    bedrock,
    "/guardrail/a/version/1/apply",
    {},
    "https://bedrock-runtime.eu-west-1.amazonaws.com/guardrail/a/version/1/apply",
  ],
  [bedrock, "/model/x", { AWS_ENDPOINT_DOMAIN: "x.cn" }, "https://bedrock-runtime.eu-west-1.x.cn/model/x"],
  [sagemaker, "/endpoints", { AWS_ENDPOINT_DOMAIN: "x.cn" }, "https://runtime.sagemaker.eu-west-1.x.cn/endpoints"],
  [bedrockMantle, "/anthropic/v1/messages", {}, "https://bedrock-mantle.eu-west-1.api.aws/anthropic/v1/messages"],
  [bedrockMantle, "/v1/responses", {}, "https://bedrock-mantle.eu-west-1.api.aws/v1/responses"],
] as const satisfies readonly (readonly [Provider, string, Record<string, string>, string])[]) {
  test(`${provider.slug} sends ${path} to ${new URL(wanted).host}`, () => {
    const bound = provider.bind((name) => Object.entries(regions).find(([known]) => known === name)?.[1] ?? null);
    assert.equal(addressOf({ provider: bound, customHost: undefined, path }, environment), wanted);
  });
}

const tool = (parameters: object) => ({ type: "function", function: { name: "f", parameters } });
testConformance(bedrockMantle, [
  {
    name: "requests are forwarded, and streams include usage",
    request: body("openai.gpt-oss-120b", { stream: true, extra: 1 }),
    sent: {
      path: "/v1/chat/completions",
      body: body("openai.gpt-oss-120b", { stream: true, extra: 1, stream_options: { include_usage: true } }),
    },
    answer: { choices: [] },
    wanted: { choices: [] },
  },
  {
    name: "Gemma gets no propertyNames",
    request: body("google.gemma-3-27b-it", {
      tools: [tool({ type: "object", properties: { a: { type: "object", propertyNames: { pattern: "x" } } } })],
    }),
    sent: {
      body: body("google.gemma-3-27b-it", { tools: [tool({ type: "object", properties: { a: { type: "object" } } })] }),
    },
    answer: { choices: [] },
    wanted: { choices: [] },
  },
  {
    name: "models of Anthropic use the Messages API",
    request: body("anthropic.claude-sonnet-4-6", { seed: 1 }),
    sent: { path: "/anthropic/v1/messages", body: body("anthropic.claude-sonnet-4-6", { max_tokens: 8192 }) },
    dropped: ["seed"],
    answer: jsonFixture("anthropic", "chat.json"),
    wanted: "*",
  },
]);
