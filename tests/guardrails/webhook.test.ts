import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, test } from "node:test";
import { readTimeout } from "../../src/guardrails/call.ts";
import { credentialHeaders } from "../../src/lib/secret-names.ts";
import { chatAnswer, chatRequest, guard, problemsOf, runCheck } from "../support/guardrails.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

/** The service's next response. */
let status = 200;
let answer: unknown = { verdict: true };
let delayMs = 0;
let headers: Record<string, string> = {};
const service: RecordingUpstream = await startRecordingUpstream(async (_request, response) => {
  await new Promise((resolve) => setTimeout(resolve, delayMs));
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(typeof answer === "string" ? answer : JSON.stringify(answer));
});
after(() => service.close());

function answerWith(
  value: unknown,
  more: { status?: number; delayMs?: number; headers?: Record<string, string> } = {},
) {
  answer = value;
  status = more.status ?? 200;
  delayMs = more.delayMs ?? 0;
  headers = more.headers ?? {};
  service.requests.length = 0;
}

const lastBody = () => JSON.parse(service.requests.at(-1)?.text ?? "null");

test("webhook receives everything except the headers of the client", async () => {
  answerWith({ verdict: true, data: { score: 3 } });
  const { result } = await runCheck(
    "default.webhook",
    { webhookURL: `${service.url}/check?token=s3cret`, headers: { "X-Own": "mine" } },
    { text: "hello", headers: { authorization: "Bearer client", "x-team": "blue" }, metadata: { user: "u-1" } },
  );
  assert.deepEqual(lastBody(), {
    request: { json: chatRequest("hello"), text: "hello", isStreamingRequest: false, isTransformed: false },
    response: { json: null, text: "", statusCode: null, isTransformed: false },
    provider: "openai",
    requestType: "chatComplete",
    metadata: { user: "u-1" },
    eventType: "beforeRequestHook",
  });
  const [sent] = service.requests;
  assert.equal(sent?.method, "POST");
  assert.equal(sent?.headers["x-own"], "mine");
  assert.equal(sent?.headers["content-type"], "application/json");
  assert.equal(sent?.headers.authorization, undefined);
  assert.equal(sent?.headers["x-team"], undefined);
  assert.equal(result?.verdict, true);
  assert.deepEqual(result?.data, {
    verdict: true,
    explanation: "The webhook passed the request",
    webhookUrl: `${service.url}/check`,
    requestContext: { timeout: 3_000 },
    responseData: { score: 3 },
  });
});

test("webhook receives request and response text after the call", async () => {
  answerWith({ verdict: false });
  const { result } = await runCheck(
    "default.webhook",
    { webhookURL: service.url },
    { request: chatRequest("question"), answer: chatAnswer("reply") },
  );
  const { request, response, eventType } = lastBody();
  assert.deepEqual([request.text, response.text, response.statusCode], ["question", "reply", 200]);
  assert.deepEqual([response.json, eventType], [chatAnswer("reply"), "afterRequestHook"]);
  assert.deepEqual([result?.verdict, result?.error], [false, null]);
});

for (const headersGiven of [{ "x-one": "1" }, '{"x-one": "1"}']) {
  test(`webhook takes headers as ${typeof headersGiven}`, async () => {
    answerWith({ verdict: true });
    await runCheck("default.webhook", { webhookURL: service.url, headers: headersGiven }, { text: "x" });
    assert.equal(service.requests[0]?.headers["x-one"], "1");
  });
}

test("webhook forwards the headers it is to forward, and its own win over them", async () => {
  answerWith({ verdict: true });
  await runCheck(
    "default.webhook",
    {
      webhookURL: service.url,
      headers: { "X-Team": "own" },
      forwardHeaders: ["x-team", "x-user", "traceparent", "x-gateway-trace-id"],
    },
    { text: "x", headers: { "x-team": "client", "x-user": "u-1", "x-gateway-trace-id": "t-1", "x-more": "no" } },
  );
  const sent = service.requests[0]?.headers ?? {};
  assert.deepEqual(
    [sent["x-team"], sent["x-user"], sent["x-gateway-trace-id"], sent["x-more"], sent.traceparent],
    ["own", "u-1", "t-1", undefined, undefined],
  );
});

test("webhook changes the request before the call", async () => {
  const changed = chatRequest("masked");
  answerWith({ verdict: true, transformedData: { request: { json: changed }, response: { json: { no: 1 } } } });
  const { result, outcome } = await runCheck("default.webhook", { webhookURL: service.url }, { text: "secret" });
  assert.deepEqual([result?.transformed, outcome.body], [true, changed]);
});

test("webhook changes the answer after the call, and never the request then", async () => {
  const changed = chatAnswer("masked");
  answerWith({ verdict: true, transformedData: { response: { json: changed }, request: { json: { no: 1 } } } });
  const seen = { text: "secret", answers: true };
  const { result, outcome } = await runCheck("default.webhook", { webhookURL: service.url }, seen);
  assert.deepEqual([result?.transformed, outcome.body], [true, changed]);
});

test("webhook reports and ignores a change that is not an object", async () => {
  answerWith({ verdict: true, transformedData: { request: { json: "text" } } });
  const { result, outcome } = await runCheck("default.webhook", { webhookURL: service.url }, { text: "a" });
  assert.deepEqual([result?.verdict, result?.transformed, outcome.body], [true, false, chatRequest("a")]);
  assert.match(result?.error?.message ?? "", /not a JSON object/);
});

for (const [name, value, more, message] of [
  ["a failure", { reason: "down" }, { status: 500 }, /^Request failed with status 500$/],
  ["a redirect", "", { status: 302, headers: { location: "/elsewhere" } }, /^Request failed with status 302$/],
  ["an answer without a verdict", { verdict: "yes" }, {}, /no verdict/],
  ["an answer that is no JSON", "fine", {}, /no verdict/],
  ["too long an answer", `"${"x".repeat(1024 * 1024)}"`, {}, /too large/],
  ["an answer that comes too late", { verdict: true }, { delayMs: 400 }, /^Request timed out after 100ms$/],
] as const) {
  test(`webhook cannot decide on ${name}`, async () => {
    answerWith(value, more);
    const parameters = { webhookURL: service.url, timeout: name.includes("late") ? 100 : 3_000 };
    const hooks = (extra: object) => [{ checks: [{ id: "webhook", parameters: { ...parameters, ...extra } }] }];
    const open = await guard(hooks({}), { text: "x" });
    const [result] = open.results[0]?.checks ?? [];
    assert.match(result?.error?.message ?? "", message);
    assert.deepEqual([open.isFailed, open.isTransformed], [false, false]);
    assert.equal(service.requests.length, 1);
    assert.equal((await guard(hooks({ failOnError: true }), { text: "x" })).isFailed, true);
    if (name === "a failure") assert.deepEqual(result?.data?.responseData, { reason: "down" });
  });
}

test("webhook cannot decide without a server", async () => {
  const closed = await startRecordingUpstream(() => {});
  await closed.close();
  const { result } = await runCheck("default.webhook", { webhookURL: closed.url }, { text: "x" });
  assert.equal(result?.verdict, true);
  assert.match(result?.error?.message ?? "", /^Cannot (?:reach|read)/);
});

test("webhook is never called at an internal address", async () => {
  const { result } = await runCheck("default.webhook", { webhookURL: "http://169.254.169.254/latest" }, { text: "x" });
  assert.match(result?.error?.message ?? "", /^Cannot call this address/);
});

const url = "https://hooks.example.com/";
for (const [parameters, place] of [
  [{}, "webhookURL"],
  [{ webhookURL: "ftp://a.example/" }, "webhookURL"],
  [{ webhookURL: 5 }, "webhookURL"],
  [{ webhookURL: url, headers: "{x" }, "headers"],
  [{ webhookURL: url, headers: "[1]" }, "headers"],
  [{ webhookURL: url, headers: { "x a": "1" } }, "headers.x a"],
  [{ webhookURL: url, headers: { host: "other" } }, "headers.host"],
  [{ webhookURL: url, headers: { "x-a": "1\r\nx-b: 2" } }, "headers.x-a"],
  [{ webhookURL: url, headers: { "x-a": 1 } }, "headers.x-a"],
  ...[
    ...credentialHeaders,
    "metadata-flavor",
    "x-aws-ec2-metadata-token",
    "x-google-metadata-request",
    "x-gateway-api-key",
    "x-gateway-config",
    "connection",
    "transfer-encoding",
    "host",
    "content-length",
    "X-Team",
    "x-*",
    "x team",
    "",
  ].map((name) => [{ webhookURL: url, forwardHeaders: ["x-fine", name] }, "forwardHeaders.1"] as const),
  [{ webhookURL: url, forwardHeaders: "x-team" }, "forwardHeaders"],
] as const) {
  test(`webhook rejects the parameters ${JSON.stringify(parameters)}`, () => {
    const problems = problemsOf("default.webhook", parameters);
    assert.ok(problems.length > 0);
    for (const problem of problems) {
      assert.ok(problem.startsWith(`input_guardrails[0].checks[0].parameters.${place}: `), problem);
    }
  });
}

test("webhook refuses no time limit", () => {
  for (const timeout of [-1, 0, "abc", null, {}, 1_000]) {
    assert.deepEqual(problemsOf("default.webhook", { webhookURL: url, timeout }), []);
  }
});

for (const [value, wanted] of [
  [undefined, 3_000],
  [null, 3_000],
  [250, 250],
  ["250", 250],
  [0, 5_000],
  [-1, 5_000],
  ["abc", 5_000],
  ["", 5_000],
  [Number.NaN, 5_000],
  [{}, 5_000],
] as const) {
  test(`readTimeout() of ${JSON.stringify(value)} is ${wanted}`, () => assert.equal(readTimeout(value, 3_000), wanted));
}

for (const answers of [false, true]) {
  test(`log posts what happened ${answers ? "after" : "before"} the call and passes on 2xx`, async () => {
    answerWith("", { status: 204 });
    const parameters = { logURL: `${service.url}/log`, headers: '{"Authorization": "Bearer own"}' };
    const seen = { text: "hello", answers, headers: { cookie: "c" } };
    const { result } = await runCheck("default.log", parameters, seen);
    assert.deepEqual([result?.verdict, result?.error], [true, null]);
    assert.equal(lastBody()[answers ? "response" : "request"].text, "hello");
    assert.equal(service.requests[0]?.headers.authorization, "Bearer own");
    assert.equal(service.requests[0]?.text.includes("cookie"), false);
  });
}

test("log reports a failed post, and fails the hook only with failOnError", async () => {
  answerWith("no room", { status: 507 });
  const hooks = (extra: object) => [{ log: { logURL: service.url, ...extra } }];
  const open = await guard(hooks({}), { text: "x" });
  const [result] = open.results[0]?.checks ?? [];
  assert.equal(result?.error?.message, "Request failed with status 507");
  assert.deepEqual(result?.data, { explanation: "The service returned 507", status: 507, body: "no room" });
  assert.equal(open.isFailed, false);
  assert.equal((await guard(hooks({ failOnError: true }), { text: "x" })).isFailed, true);
});

test("log refuses a missing address", () => {
  assert.equal(problemsOf("default.log", { headers: "{}" }).length, 1);
});

test("a service is given a minute at most", () => {
  for (const value of [60_001, 1e12, "86400000"]) assert.equal(readTimeout(value), 60_000);
});

for (const [id, address] of [
  ["default.webhook", "webhookURL"],
  ["default.log", "logURL"],
] as const) {
  test(`${id} signs what it sends with its secret, as webhooks of alerts are signed`, async () => {
    answerWith({ verdict: true });
    const secret = "an-obvious-fake-secret";
    const parameters = { [address]: service.url, secret, headers: { "x-gateway-signature": "t=1,v1=forged" } };
    await runCheck(id, parameters, { text: "hello" });
    const [sent] = service.requests;
    const [, seconds = "", signature = ""] =
      /^t=([0-9]+),v1=([0-9a-f]{64})$/.exec(String(sent?.headers["x-gateway-signature"])) ?? [];
    const hmac = createHmac("sha256", secret).update(`${seconds}.${sent?.text}`).digest("hex");
    assert.equal(signature, hmac);
    assert.ok(Math.abs(Number(seconds) - Date.now() / 1_000) < 60);
    answerWith({ verdict: true });
    await runCheck(id, { [address]: service.url }, { text: "hello" });
    assert.equal(service.requests[0]?.headers["x-gateway-signature"], undefined);
  });

  test(`${id} needs a secret of 16 characters`, () => {
    const problems = problemsOf(id, { [address]: service.url, secret: "short" });
    assert.deepEqual(problems.length, 1);
    assert.match(problems[0] ?? "", /parameters\.secret: must have at least 16 characters$/);
  });
}
