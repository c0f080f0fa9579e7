// The acceptance cases of guardrails, by their numbers. The rows of what checks do are in tests/guardrails; the denial of a
// tool call (22) is in tests/mcp/guardrails.test.ts.

import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { after, before, test } from "node:test";
import { call, done } from "../support/control.ts";
import { createTestGateway, type TestGateway, waitForLog, workspaceKey } from "../support/gateway.ts";
import { askGuarded, words } from "../support/guarded.ts";
import { eventually, type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

let gateway: TestGateway;
let upstream: RecordingUpstream;
/** What the upstream says; undefined: nothing. */
let said: string | undefined = "the secret answer";
const answer = (content: string) => ({
  id: "c-1",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
});
before(async () => {
  gateway = await createTestGateway({ random: () => 0 });
  upstream = await startRecordingUpstream((_, response: ServerResponse) => {
    if (said === undefined) return;
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(answer(said)));
  });
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

const none = words("none", ["secret"]);
const target = () => ({ provider: "openai", api_key: "k", custom_host: `${upstream.url}/v1` });
const plain = { headers: { "x-gateway-provider": null, authorization: null } };
const ask = (config: object, more: object = {}) =>
  askGuarded(gateway, { ...target(), ...config }, { body: { model: "m" }, ...plain, ...more });
const denying = (check: object) => ({ ...check, deny: true });

test("1: an output guardrail with deny returns 446 and says that it denied", async () => {
  said = "the secret answer";
  const { status, body, text } = await ask({ output_guardrails: [denying(none)] });
  assert.deepEqual([status, body.hook_results?.after_request_hooks[0]?.deny], [446, true]);
  assert.doesNotMatch(text, /secret answer/);
});

test("2: without deny it returns 246 with the response", async () => {
  said = "the secret answer";
  const { status, body, text } = await ask({ output_guardrails: [none] });
  assert.deepEqual([status, body.hook_results?.after_request_hooks[0]?.verdict], [246, false]);
  assert.match(text, /the secret answer/);
});

test("3: with soft_deny_200 it returns 200 and a message, without the provider's text", async () => {
  said = "the secret answer";
  const { status, body, text } = await ask({
    output_guardrails: [denying(words("none", ["secret"], { soft_deny_200: true }))],
  });
  const [choice] = body.choices as { message: { role: string } }[];
  assert.deepEqual([status, choice?.message.role], [200, "assistant"]);
  assert.doesNotMatch(text, /secret answer/);
});

test("4: an input guardrail denies at every target of a fallback, and no provider is called", async () => {
  const calls = upstream.requests.length;
  const config = {
    strategy: { mode: "fallback" },
    targets: [target(), target()],
    input_guardrails: [denying(words("any", ["absent"]))],
  };
  const { status } = await askGuarded(gateway, config, { body: { model: "m" }, ...plain });
  assert.deepEqual([status, upstream.requests.length - calls], [446, 0]);
});

test("5: a target whose model is allowed answers after one whose model is not", async () => {
  said = "fine";
  const config = {
    strategy: { mode: "fallback" },
    targets: [target(), { ...target(), override_params: { model: "allowed" } }],
    input_guardrails: [denying({ "default.modelwhitelist": { models: ["allowed"] } })],
  };
  const { status } = await askGuarded(gateway, config, { body: { model: "m" }, ...plain });
  assert.equal(status, 200);
  assert.equal(JSON.parse(upstream.requests.at(-1)?.text ?? "{}").model, "allowed");
});

test("6: 246 is retried where it is listed", async () => {
  said = "the secret answer";
  const calls = upstream.requests.length;
  const { status, headers } = await ask({ output_guardrails: [none], retry: { attempts: 2, on_status_codes: [246] } });
  assert.deepEqual(
    [status, upstream.requests.length - calls, headers.get("x-gateway-retry-attempt-count")],
    [246, 3, "-1"],
  );
});

for (const [number, strict] of [
  [7, false],
  [8, true],
] as const) {
  test(`${number}: a failed input guardrail of a stream gives 246, ${strict ? "and no results in it" : "and its results first"}`, async () => {
    const headers = { "x-gateway-strict-open-ai-compliance": String(strict) };
    const { status, events, text, trace } = await askGuarded(
      gateway,
      { input_guardrails: [words("any", ["absent"])] },
      { body: { stream: true }, headers },
    );
    assert.equal(status, 246);
    if (strict) assert.doesNotMatch(text, /hook_results/);
    else assert.match(JSON.stringify(events[0]?.data), /"hook_results":\{"before_request_hooks"/);
    assert.match(JSON.stringify(await waitForLog(gateway, trace)), /"id":"default\.contains"/);
  });
}

test("9: a cached response after a failed input guardrail has 246 and the cache status HIT", async () => {
  said = "fine";
  let verdict = true;
  const judge = await startRecordingUpstream((_, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ verdict }));
  });
  const config = {
    input_guardrails: [{ "default.webhook": { webhookURL: judge.url } }],
    cache: { mode: "simple", max_age: 60 },
  };
  assert.equal((await ask(config)).status, 200);
  verdict = false;
  const { status, headers } = await ask(config);
  assert.deepEqual([status, headers.get("x-gateway-cache-status")], [246, "HIT"]);
  await judge.close();
});

test("10: a webhook that does not respond in time passes, and denies with failOnError", async () => {
  const silent = await startRecordingUpstream(() => {});
  const check = (more: object = {}) => ({ "default.webhook": { webhookURL: silent.url, timeout: 30, ...more } });
  said = "fine";
  assert.equal((await ask({ input_guardrails: [check()] })).status, 200);
  assert.equal((await ask({ input_guardrails: [denying(check({ failOnError: true }))] })).status, 446);
  await silent.close();
});

const base64 = (value: object) =>
  btoa(JSON.stringify(value)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

/** Signs a token with a new key; returns it with the key set. */
async function sign(claims: object, kid = "k-1") {
  const algorithm = {
    name: "RSASSA-PKCS1-v1_5",
    hash: "SHA-256",
    modulusLength: 2_048,
    publicExponent: new Uint8Array([1, 0, 1]),
  };
  const pair = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const head = `${base64({ alg: "RS256", kid })}.${base64(claims)}`;
  const signature = new Uint8Array(
    await crypto.subtle.sign(algorithm.name, pair.privateKey, new TextEncoder().encode(head)),
  );
  const jwk = await crypto.subtle.exportKey("jwk", pair.publicKey);
  const tail = btoa(String.fromCharCode(...signature))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
  return { token: `${head}.${tail}`, jwks: { keys: [{ ...jwk, kid, alg: "RS256", use: "sig" }] } };
}

test("11: expired tokens, unsigned ones and those of another key fail the JWT check, and deny", async () => {
  const now = Math.floor(Date.now() / 1_000);
  const good = await sign({ sub: "a", exp: now + 600 });
  const other = await sign({ sub: "a", exp: now + 600 });
  const old = await sign({ sub: "a", exp: now - 600 });
  const bare = `${base64({ alg: "none", kid: "k-1" })}.${base64({ sub: "a", exp: now + 600 })}.`;
  said = "fine";
  const check = (jwks: object) => denying({ "default.jwt": { jwks, headerKey: "x-user-token" } });
  const askWith = (token: string, jwks: object) =>
    ask({ input_guardrails: [check(jwks)] }, { headers: { ...plain.headers, "x-user-token": token } });
  assert.equal((await askWith(good.token, good.jwks)).status, 200);
  for (const [token, jwks] of [
    [old.token, old.jwks],
    [bare, good.jwks],
    [other.token, good.jwks],
  ] as const) {
    assert.equal((await askWith(token, jwks)).status, 446);
  }
});

test("12: a JWT check that extracts claims does not lift the denial of another guardrail", async () => {
  const { token, jwks } = await sign({ sub: "a", exp: Math.floor(Date.now() / 1_000) + 600 });
  const jwt = { "default.jwt": { jwks, headerKey: "x-user-token", extractClaims: ["sub"] } };
  const headers = { ...plain.headers, "x-user-token": token };
  const { status } = await ask({ input_guardrails: [jwt, denying(words("any", ["absent"]))] }, { headers });
  assert.equal(status, 446);
});

test("13: two redacting checks side by side leave both redactions", async () => {
  said = "fine";
  const messages = [{ role: "user", content: "jo@example.com and 4111 1111 1111 1111" }];
  const checks = [
    { id: "gateway.pii", parameters: { categories: ["EMAIL_ADDRESS"], redact: true } },
    { id: "gateway.pii", parameters: { categories: ["CREDIT_CARD"], redact: true } },
  ];
  await ask({ input_guardrails: [{ id: "g", checks }] }, { body: { model: "m", messages } });
  assert.equal(
    JSON.parse(upstream.requests.at(-1)?.text ?? "{}").messages[0].content,
    "{{EMAIL_ADDRESS_1}} and {{CREDIT_CARD_1}}",
  );
});

test("14: regexReplace changes the text parts of a chat with images only", async () => {
  said = "fine";
  const image = { type: "image_url", image_url: { url: "https://images.example/42.png" } };
  const messages = [{ role: "user", content: [image, { type: "text", text: "42" }] }];
  await ask(
    { input_guardrails: [{ "default.regexReplace": { rule: "42", redactText: "#" } }] },
    { body: { model: "m", messages } },
  );
  assert.deepEqual(JSON.parse(upstream.requests.at(-1)?.text ?? "{}").messages[0].content, [
    image,
    { type: "text", text: "#" },
  ]);
});

test("15: an async output guardrail alone runs after the response, and is only in the log", async () => {
  said = "the secret answer";
  const { status, text, trace } = await ask({ output_guardrails: [{ ...none, async: true, deny: true }] });
  assert.deepEqual([status, text.includes("hook_results")], [200, false]);
  let row = "";
  const look = async () => {
    row = JSON.stringify(await waitForLog(gateway, trace));
  };
  await look();
  const timer = setInterval(() => void look(), 50);
  await eventually(() => row.includes("default.contains"), "the results are in the row");
  clearInterval(timer);
});

test("16: redaction of an embedding is an error in the result, and passes", async () => {
  const { status, body } = await askGuarded(
    gateway,
    { input_guardrails: [{ "gateway.pii": { redact: true } }] },
    { path: "/v1/embeddings", body: { input: "jo@example.com", messages: undefined } },
  );
  assert.equal(status, 200);
  assert.notEqual(body.hook_results?.before_request_hooks[0]?.checks[0]?.error, null);
});

test("17 and 23: a partner that blocks denies, whatever else it says and whatever the time limit reads", async () => {
  const partner = await startRecordingUpstream((_, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ action: "BLOCK", errorMsg: "policy", statusCode: 200 }));
  });
  for (const timeout of [-1, "abc"]) {
    const credentials = { zscalerApiKey: "k", customHost: partner.url };
    const { status } = await ask({
      input_guardrails: [denying({ "zscaler.zscalerprotect": { policyId: 1, timeout, credentials } })],
    });
    assert.equal(status, 446);
  }
  await partner.close();
});

test("18: an unknown guardrail is 400", async () => {
  assert.equal((await ask({ input_guardrails: ["pg-unknown-000000"] })).status, 400);
});

test("19: the organisation's default and the request's own guardrail are both in the results, the own first", async () => {
  said = "fine";
  const body = { name: "Default", checks: [{ id: "contains", parameters: { words: ["absent"], operator: "none" } }] };
  const { slug } = await done(call<{ slug: string }>(gateway, "POST /admin/v2/guardrails", { body }));
  await done(call(gateway, "PUT /admin/organisation/defaults", { body: { input_guardrails: [slug] } }));
  const { body: shown } = await ask({ input_guardrails: [{ ...none, id: "own" }] });
  assert.deepEqual(
    shown.hook_results?.before_request_hooks.map(({ id }) => id),
    ["own", slug],
  );
  await done(call(gateway, "PUT /admin/organisation/defaults", { body: { input_guardrails: [] } }));
});

test("20: a forwarded request that the allowed types leave out is 446 with deny, else 246", async () => {
  said = "fine";
  const check = { "default.allowedRequestTypes": { allowedTypes: ["chatComplete"] } };
  for (const [hook, wanted] of [
    [denying(check), 446],
    [check, 246],
  ] as const) {
    const { status } = await ask({ input_guardrails: [hook] }, { path: "/v1/some/other/path" });
    assert.equal(status, wanted);
  }
});

test("21: a response of tool calls alone skips notNull", async () => {
  const tools = await startRecordingUpstream((_, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    const message = {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "t", type: "function", function: { name: "f", arguments: "{}" } }],
    };
    response.end(JSON.stringify({ ...answer(""), choices: [{ index: 0, message, finish_reason: "tool_calls" }] }));
  });
  const { status, body } = await ask({
    custom_host: `${tools.url}/v1`,
    output_guardrails: [denying({ "default.notNull": {} })],
  });
  assert.deepEqual([status, body.hook_results], [200, undefined]);
  await tools.close();
});

test("24: headers of clients name no default guardrails", async () => {
  said = "fine";
  const body = {
    name: "G",
    checks: [{ id: "contains", parameters: { words: ["absent"], operator: "any" } }],
    actions: { deny: true },
  };
  const { slug } = await done(call<{ slug: string }>(gateway, "POST /guardrails", { key: workspaceKey, body }));
  const headers = {
    ...plain.headers,
    "x-gateway-default-input-guardrails": `["${slug}"]`,
    "x-gateway-default-output-guardrails": `["${slug}"]`,
  };
  const { status, body: shown } = await ask({}, { headers });
  assert.deepEqual([status, shown.hook_results], [200, undefined]);
});
