import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { isObject } from "../../src/lib/json.ts";
import { answering, type Fault } from "../support/faults.ts";
import { waitForLog, workspaceKey } from "../support/gateway.ts";
import { askGuarded, words } from "../support/guarded.ts";
import { type Routed, startRouted, targetOf } from "../support/routed.ts";

let routed: Routed;
before(async () => {
  routed = await startRouted(1);
});
after(() => routed.close());
beforeEach(() => routed.reset());

const upstream = () => routed.upstreams[0] ?? assert.fail();
const ask = (...asked: Parameters<typeof askGuarded> extends [unknown, ...infer Rest] ? Rest : never) =>
  askGuarded(routed.gateway, ...asked);
const target = () => targetOf(upstream());
const redact = (rule: string, more: object = {}) => ({
  "default.regexReplace": { rule, redactText: "[cut]", ...more },
});
/** The last request the upstream received. */
const sent = (): Record<string, unknown> => JSON.parse(upstream().calls.at(-1)?.text ?? "{}");
const lastMessage = (): unknown => (Array.isArray(sent().messages) ? (sent().messages as object[]).at(-1) : undefined);

test("input redactions reach the provider, and with scope last only the last turn", async () => {
  const messages = [
    { role: "user", content: "first 111" },
    {
      role: "user",
      content: [
        { type: "text", text: "mail a@b.c, number 222" },
        { type: "image_url", image_url: { url: "https://x.test/222" } },
      ],
    },
  ];
  const guards = [
    { checks: [{ id: "regexReplace", parameters: { rule: "/[0-9]{3}/g", redactText: "[number]", scope: "last" } }] },
    redact("[a-z]@[a-z.]+"),
  ];
  const answer = await ask({ ...target(), input_guardrails: guards }, { body: { messages } });
  assert.equal(answer.status, 200);
  assert.deepEqual(sent().messages, [
    messages[0],
    {
      role: "user",
      content: [
        { type: "text", text: "mail [cut], number [number]" },
        { type: "image_url", image_url: { url: "https://x.test/222" } },
      ],
    },
  ]);
  const said = answer.body.hook_results?.before_request_hooks.map(({ transformed, verdict }) => [transformed, verdict]);
  assert.deepEqual(said, [
    [true, true],
    [true, true],
  ]);
  const log = await waitForLog(routed.gateway, answer.trace);
  assert.doesNotMatch(JSON.stringify(log.request.body), /a@b\.c|number 222/);
});

test("scope all redacts every turn", async () => {
  const messages = [
    { role: "user", content: "111" },
    { role: "assistant", content: "222" },
    { role: "user", content: "333" },
  ];
  await ask({ ...target(), input_guardrails: [redact("/[0-9]+/g", { scope: "all" })] }, { body: { messages } });
  assert.deepEqual(
    (sent().messages as { content: string }[]).map(({ content }) => content),
    ["[cut]", "[cut]", "[cut]"],
  );
});

test("a mutator that prepends text is seen by the guardrails after it", async () => {
  const input_mutators = [{ "default.addPrefix": { prefix: "Be brief. " } }];
  const answer = await ask({ ...target(), input_guardrails: [words("any", ["brief"])], input_mutators });
  assert.deepEqual(lastMessage(), { role: "user", content: "Be brief. Hello there" });
  const said = answer.body.hook_results?.before_request_hooks.map(({ type, verdict }) => [type, verdict]);
  assert.deepEqual(said, [
    ["guardrail", true],
    ["mutator", true],
  ]);
});

test("an output redaction reaches the client and the log, on every choice", async () => {
  const choice = (index: number, content: string) => ({
    index,
    message: { role: "assistant", content },
    finish_reason: "stop",
  });
  const choices = [choice(0, "call 555-1"), choice(1, "or 555-2")];
  upstream().script(() => answering({ id: "x", object: "chat.completion", choices }));
  const answer = await ask({ ...target(), output_guardrails: [redact("/555-[0-9]/g")] });
  const shown = (answer.body.choices as typeof choices).map(({ message }) => message.content);
  assert.deepEqual([answer.status, shown], [200, ["call [cut]", "or [cut]"]]);
  const log = await waitForLog(routed.gateway, answer.trace);
  assert.doesNotMatch(JSON.stringify(log.response.body), /555/);
});

test("embeddings cannot be changed, which passes and is reported", async () => {
  const config = { input_guardrails: [redact("/there/g")] };
  const answer = await ask(config, { path: "/v1/embeddings", body: { input: "Hello there" } });
  const check = answer.body.hook_results?.before_request_hooks[0]?.checks[0];
  assert.deepEqual([answer.status, check?.verdict, check?.transformed], [200, true, false]);
  assert.match(check?.error?.message ?? "", /embeddings/);
});

test("a check that cannot decide passes, fails with failOnError, and fails where its guardrail denies unless on_error is pass", async () => {
  const webhook = (more: object, parameters: object = {}) => ({
    "default.webhook": { webhookURL: `${upstream().url}/nothing`, ...parameters },
    ...more,
  });
  upstream().script(
    ({ path }): Fault =>
      path.includes("/nothing")
        ? { ...answering({}), serve: (response) => void response.writeHead(500).end() }
        : answering({ id: "x", choices: [] }),
  );
  for (const [hook, status] of [
    [webhook({}), 200],
    [webhook({}, { failOnError: true }), 246],
    [webhook({ deny: true }), 446],
    [webhook({ deny: true }, { failOnError: false }), 200],
    [webhook({ deny: true, on_error: "pass" }), 200],
    [webhook({ on_error: "fail" }), 246],
  ] as const) {
    const answer = await ask({ ...target(), input_guardrails: [hook] });
    assert.equal(answer.status, status, JSON.stringify(hook));
    const check = answer.body.hook_results?.before_request_hooks[0]?.checks[0];
    assert.match(check?.error?.message ?? "", /status 500/);
  }
});

test("forwarded requests are subject to allowedRequestTypes, and to nothing else", async () => {
  const body = { any: "there" };
  const path = "/v1/some/other/path";
  const types = (more: object) => ({ "default.allowedRequestTypes": { allowedTypes: ["chatComplete"] }, ...more });
  upstream().script(() => answering({ fine: true }));
  const denied = await ask({ ...target(), input_guardrails: [types({ deny: true })] }, { path, body });
  assert.deepEqual([denied.status, upstream().calls.length], [446, 0]);
  assert.equal(denied.body.hook_results?.before_request_hooks[0]?.deny, true);
  const flagged = await ask({ ...target(), input_guardrails: [types({})] }, { path, body });
  assert.deepEqual([flagged.status, flagged.body], [246, { fine: true }]);
  const unread = await ask(
    { ...target(), input_guardrails: [{ ...words("none", ["there"]), deny: true }] },
    { path, body },
  );
  assert.deepEqual([unread.status, unread.body], [200, { fine: true }]);
});

const streamedRoutes = [
  ["/v1/chat/completions", {}],
  ["/v1/completions", { prompt: "Hello there" }],
  ["/v1/messages", { max_tokens: 9 }],
  ["/v1/responses", { input: "Hello there" }],
  ["/v1beta/models/echo-1:streamGenerateContent?alt=sse", { contents: [{ parts: [{ text: "Hello there" }] }] }],
] as const;

for (const [path, body] of streamedRoutes) {
  const request = { path, body: { ...body, stream: true } };
  const held = (hook: object) => ({ output_guardrails: [{ ...hook, stream_mode: "buffer" }] });

  test(`a guardrail that holds back the stream of ${path} can deny it`, async () => {
    const answer = await ask(held({ ...words("none", ["there"]), deny: true }), request);
    assert.equal(answer.status, 446);
    assert.doesNotMatch(answer.text, /Hello there/);
    assert.equal(answer.body.hook_results?.after_request_hooks[0]?.deny, true);
    const log = await waitForLog(routed.gateway, answer.trace);
    assert.deepEqual([log.status, log.usage !== null], [446, true]);
  });

  test(`a guardrail that holds back the stream of ${path} leaves a passing one unchanged, and can fail it`, async () => {
    const plain = await ask({ retry: { attempts: 0 } }, request);
    const passed = await ask(held(words("any", ["there"])), request);
    const failed = await ask(held(words("none", ["there"])), request);
    assert.deepEqual([plain.status, passed.status, failed.status], [200, 200, 246]);
    const kinds = (events: readonly { event: string | undefined }[]) => events.map(({ event }) => event);
    assert.deepEqual(kinds(passed.events), kinds(plain.events));
    assert.deepEqual(kinds(failed.events), kinds(plain.events));
    const headers = { "x-gateway-strict-open-ai-compliance": "false" };
    const found = await ask(held(words("none", ["there"])), { ...request, headers });
    assert.match(found.text, /"after_request_hooks":\[\{/);
  });

  test(`a guardrail that holds back the stream of ${path} can change it`, async () => {
    const answer = await ask(held(redact("/there/g")), request);
    assert.equal(answer.status, 200);
    assert.doesNotMatch(answer.text, /Hello there/);
    assert.match(answer.text, /Hello \[cut\]/);
    if (path.endsWith("completions")) assert.equal(answer.events.at(-1)?.data, "[DONE]");
    if (path === "/v1/messages")
      assert.deepEqual([answer.events[0]?.event, answer.events.at(-1)?.event], ["message_start", "message_stop"]);
    if (path === "/v1/responses") assert.equal(answer.events.at(-1)?.event, "response.completed");
  });
}

test("a changed stream that was held back ends with its counts when they were requested", async () => {
  const config = { output_guardrails: [{ ...redact("/there/g"), stream_mode: "buffer" }] };
  const usageOf = (events: readonly { data: unknown }[]) =>
    events.filter(({ data }) => isObject(data) && isObject(data.usage)).length;
  assert.equal(usageOf((await ask(config, { body: { stream: true } })).events), 0);
  const asked = { stream: true, stream_options: { include_usage: true } };
  assert.equal(usageOf((await ask(config, { body: asked })).events), 1);
});

test("a held stream that breaks off is a failure that can be retried", async () => {
  let calls = 0;
  const chunk = 'data: {"id":"x","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}\n\n';
  const end = 'data: {"id":"x","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
  upstream().script((): Fault => {
    const whole = calls++ > 0;
    return {
      ...answering({}),
      serve(response) {
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.end(whole ? chunk + end : chunk);
      },
    };
  });
  const output_guardrails = [{ ...words("any", ["Hi"]), stream_mode: "buffer" }];
  const once = await ask({ ...target(), output_guardrails }, { body: { stream: true } });
  assert.deepEqual([once.status, once.body.error?.code], [502, "upstream_incomplete_stream"]);
  calls = 0;
  const retried = await ask({ ...target(), output_guardrails, retry: { attempts: 1 } }, { body: { stream: true } });
  assert.deepEqual([retried.status, calls, retried.text], [200, 2, chunk + end]);
});

test("a response with another success status is checked too", async () => {
  const choices = [{ index: 0, message: { role: "assistant", content: "my secret" } }];
  upstream().script((): Fault => {
    const text = JSON.stringify({ id: "x", object: "chat.completion", choices });
    const serve: Fault["serve"] = (response) =>
      void response.writeHead(201, { "content-type": "application/json" }).end(text);
    return { ...answering({}), serve };
  });
  const answer = await ask({ ...target(), output_guardrails: [{ ...words("none", ["secret"]), deny: true }] });
  assert.equal(answer.status, 446);
  assert.doesNotMatch(answer.text, /my secret/);
  assert.equal((await ask({ ...target(), output_guardrails: [words("any", ["secret"])] })).status, 201);
});

for (const delta of [
  { refusal: "my secret" },
  { reasoning: "my secret" },
  { reasoning_content: "my secret" },
  { function_call: { name: "f", arguments: "my secret" } },
  { content: [{ type: "text", text: "my secret" }] },
  { content: [{ type: "thinking", thinking: [{ type: "text", text: "my secret" }] }] },
  { content_blocks: [{ index: 0, delta: { thinking: "my secret" } }] },
  { audio: { id: "a", transcript: "my secret" } },
]) {
  test(`a held stream cannot hide ${JSON.stringify(delta)}`, async () => {
    const event = (value: object, finish_reason: string | null) =>
      `data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", choices: [{ index: 0, delta: value, finish_reason }] })}\n\n`;
    upstream().script(
      (): Fault => ({
        ...answering({}),
        serve(response) {
          response.writeHead(200, { "content-type": "text/event-stream" });
          response.end(`${event(delta, null)}${event({}, "stop")}data: [DONE]\n\n`);
        },
      }),
    );
    const output_guardrails = [{ ...words("none", ["secret"]), deny: true, stream_mode: "buffer" }];
    const headers = { "x-gateway-strict-open-ai-compliance": "false" };
    const answer = await ask({ ...target(), output_guardrails }, { body: { stream: true }, headers });
    assert.equal(answer.status, 446, answer.text);
  });
}

test("the gateway key is not sent to services that check tokens", async () => {
  const input_guardrails = [{ "default.jwt": { introspectEndpoint: `${upstream().url}/introspect` } }];
  upstream().script(() => answering({ active: true, id: "x", choices: [] }));
  const headers = { "x-gateway-api-key": null, authorization: `Bearer ${workspaceKey}` };
  await ask({ ...target(), input_guardrails }, { headers });
  assert.ok(upstream().calls.length > 0);
  assert.doesNotMatch(JSON.stringify(upstream().calls.map(({ text }) => text)), new RegExp(workspaceKey));
});

for (const [path, body] of streamedRoutes) {
  test(`a service that returns an invalid request or response for ${path} is reported, and nothing breaks`, async () => {
    const odd = [{}, { messages: null, prompt: null, input: 7, contents: 9, choices: [null], output: [null] }];
    const plain = path.startsWith("/v1beta") ? "/v1beta/models/echo-1:generateContent" : path;
    for (const json of odd) {
      for (const [member, part] of [
        ["input_guardrails", "request"],
        ["output_guardrails", "response"],
      ] as const) {
        upstream().script(() => answering({ verdict: true, transformedData: { [part]: { json } } }));
        const hook = { "default.webhook": { webhookURL: `${upstream().url}/hook` }, stream_mode: "buffer" };
        for (const stream of [false, true]) {
          const asked = { ...body, ...(stream && { stream }) };
          const answer = await ask(
            { provider: "echo", [member]: [hook] },
            { path: stream ? path : plain, body: asked },
          );
          assert.equal(answer.status, 502, answer.text);
          assert.match(String(answer.body.error?.message), /a guardrail's version of/);
        }
      }
    }
  });
}
