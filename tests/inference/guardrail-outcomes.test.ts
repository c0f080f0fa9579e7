import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import type { HookResults } from "../../src/schemas/hooks.ts";
import { chatLine, finishLines } from "../support/batches.ts";
import { answering, type Fault } from "../support/faults.ts";
import { createTestGateway, requestHeaders, waitForLog, waitForLogs } from "../support/gateway.ts";
import { askGuarded, words } from "../support/guarded.ts";
import { type Routed, type RoutedLog, startRouted, targetOf } from "../support/routed.ts";

let routed: Routed;
before(async () => {
  routed = await startRouted(2);
});
after(() => routed.close());
beforeEach(() => routed.reset());

const upstream = (index = 0) => routed.upstreams[index] ?? assert.fail();
const target = (index: number, more: object = {}) => targetOf(upstream(index), more);
const ask = (...asked: Parameters<typeof askGuarded> extends [unknown, ...infer Rest] ? Rest : never) =>
  askGuarded(routed.gateway, ...asked);
const logOf = ({ trace }: { trace: string }) =>
  waitForLog(routed.gateway, trace) as Promise<RoutedLog & { hook_results?: HookResults }>;
const body = { model: "gpt-4o-mini" };
/** A response that costs 0.015 cents. */
const priced = {
  id: "x",
  object: "chat.completion",
  model: "gpt-4o-mini",
  choices: [{ index: 0, message: { role: "assistant", content: "Hi there" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 996, completion_tokens: 1, total_tokens: 997 },
};
const denying = { ...words("none", ["there"]), deny: true };
const softly = { ...words("none", ["there"], { soft_deny_200: true }), deny: true };
const chunk = (delta: object, more: object = {}) =>
  `data: ${JSON.stringify({ id: "x", model: "gpt-4o-mini", choices: [{ index: 0, delta, finish_reason: null }], ...more })}\n\n`;
/** A stream that costs 0.015 cents. */
const pricedStream = `${chunk({ content: "Hi" })}${chunk({}, { choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage: priced.usage })}data: [DONE]\n\n`;
/** A guardrail that calls a service, which responds after some time. */
const asking = (more: object = {}) => ({ "default.webhook": { webhookURL: `${upstream(1).url}/hook`, ...more } });
const passingAfter = (delayMs: number): Fault => ({
  ...answering({}),
  serve: (response) => void setTimeout(() => response.end('{"verdict":true}'), delayMs),
});
/** Waits until a server has received more calls than these. */
async function callBehind(index: number, count: number): Promise<void> {
  const until = performance.now() + 10_000;
  while (upstream(index).calls.length <= count) {
    assert.ok(performance.now() < until, "the call does not come");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
/** A running request. */
function start(config: object, more: object = {}, signal: AbortSignal | null = null) {
  const trace = crypto.randomUUID();
  const headers = requestHeaders({
    "x-gateway-provider": null,
    "x-gateway-trace-id": trace,
    "x-gateway-config": JSON.stringify(config),
  });
  const asked = { ...body, messages: [{ role: "user", content: "Hello" }], ...more };
  const init = { method: "POST", headers, body: JSON.stringify(asked), signal };
  return { trace, answer: routed.gateway.fetch("/v1/chat/completions", init) };
}

/** A streamed response. */
const streaming = (text: string): Fault => ({
  ...answering({}),
  serve: (response) => void response.writeHead(200, { "content-type": "text/event-stream" }).end(text),
});

test("a soft denial costs what the provider charged, once", async () => {
  upstream().script(() => answering(priced));
  const flagged = target(0, { output_guardrails: [words("none", ["there"])] });
  const fallback = { strategy: { mode: "fallback", on_status_codes: [246] } };
  for (const [config, cost] of [
    [target(0, { output_guardrails: [softly] }), 0.015],
    [target(0, { input_guardrails: [softly] }), 0],
    [{ ...fallback, targets: [flagged, target(1, { input_guardrails: [softly] })] }, 0.015],
  ] as const) {
    const answer = await ask(config, { body });
    assert.deepEqual([answer.status, (await logOf(answer)).cost], [200, cost]);
  }
});

test("a target whose guardrail denied the request is logged with its own model", async () => {
  upstream().script(() => ({ ...answering({}), serve: (response) => void response.writeHead(500).end("{}") }));
  const targets = [
    target(0, { override_params: { model: "one" } }),
    target(1, { override_params: { model: "two" }, input_guardrails: [denying] }),
  ];
  const log = await logOf(await ask({ strategy: { mode: "fallback" }, targets }));
  const shown = log.attempts?.map(({ model, status }) => [model, status]);
  assert.deepEqual(
    [log.model, shown],
    [
      "two",
      [
        ["one", 500],
        ["two", 446],
      ],
    ],
  );
});

test("denied lines of a batch are in its error file and their responses in its cost, flagged ones in its output", async () => {
  const answers = { flagged: "Hi there", denied: "a secret" };
  upstream().script(({ text }) => {
    const content = text.includes("denied") ? answers.denied : answers.flagged;
    return answering({ ...priced, choices: [{ index: 0, message: { role: "assistant", content } }] });
  });
  const config = target(0, {
    input_guardrails: [{ ...words("none", ["refused"]), deny: true }],
    output_guardrails: [words("none", ["there"]), { ...words("none", ["secret"]), deny: true }],
  });
  const lines = ["refused", "denied", "flagged"].map((text) => `${chatLine(text, text, body)}\n`).join("");
  const { batch, output, errors } = await finishLines(routed.gateway, lines, {
    gateway_options: { "x-gateway-config": JSON.stringify(config) },
  });
  const shown = (results: typeof output) =>
    results.map(({ custom_id: id, response, error }) => [id, response?.status_code, error?.code]);
  assert.deepEqual(shown(output), [["flagged", 246, undefined]]);
  assert.deepEqual(shown(errors).toSorted(), [
    ["denied", 446, "http_446"],
    ["refused", 446, "http_446"],
  ]);
  assert.ok([...output, ...errors].every(({ response }) => response?.body.hook_results));
  assert.doesNotMatch(JSON.stringify(errors), /a secret/);
  assert.deepEqual([batch.request_counts, batch.cost], [{ total: 3, completed: 1, failed: 2 }, 0.03]);
});

test("guardrail results come before the last event of a response, whatever its line ends", async () => {
  const event = (type: string, more: object) => `event: ${type}\r\ndata: ${JSON.stringify({ type, ...more })}\r\n\r\n`;
  const response = { id: "resp_1", object: "response", status: "completed", model: "m", output: [] };
  const text =
    event("response.created", { response: { ...response, status: "in_progress" } }) +
    event("response.in_progress", { response: { ...response, status: "in_progress" } }) +
    event("response.completed", { response });
  upstream().script(() => streaming(text));
  for (const stream_mode of ["inform", "buffer"]) {
    const config = target(0, {
      input_guardrails: [words("any", ["x"])],
      output_guardrails: [{ ...words("none", ["there"]), stream_mode }],
    });
    const headers = { "x-gateway-strict-open-ai-compliance": "false" };
    const { events } = await ask(config, { path: "/v1/responses", body: { input: "x", stream: true }, headers });
    assert.deepEqual(
      events.map((one) => one.event),
      ["response.created", "hook_results", "response.in_progress", "hook_results", "response.completed"],
    );
  }
});

test("a client that closes after the end of a stream has the complete response, and its guardrails are logged", async () => {
  upstream().script(() => streaming(pricedStream));
  upstream(1).script(() => passingAfter(300));
  const leaving = new AbortController();
  const config = target(0, { output_guardrails: [asking()] });
  const { trace, answer } = start(config, { stream: true }, leaving.signal);
  const reader = (await answer).body?.getReader() ?? assert.fail();
  let text = "";
  while (!text.includes("[DONE]")) text += new TextDecoder().decode((await reader.read()).value);
  await reader.cancel();
  leaving.abort();
  const log = await logOf({ trace });
  assert.deepEqual([log.status, log.cost, log.error], [200, 0.015, null]);
  assert.equal(log.hook_results?.after_request_hooks[0]?.checks[0]?.data?.verdict, true);
});

test("a stream whose guardrails still run ends with its gateway", async () => {
  upstream().script(() => streaming(pricedStream));
  upstream(1).script(() => passingAfter(20_000));
  const draining = await createTestGateway();
  const headers = requestHeaders({
    "x-gateway-provider": null,
    "x-gateway-config": JSON.stringify(target(0, { output_guardrails: [asking({ timeout: 30_000 })] })),
  });
  const asked = { ...body, stream: true, messages: [{ role: "user", content: "Hello" }] };
  const init = { method: "POST", headers, body: JSON.stringify(asked) };
  const text = (await draining.fetch("/v1/chat/completions", init)).text();
  await callBehind(1, 0);
  await draining.gateway.drain(100);
  const [row] = await waitForLogs(draining, "");
  assert.deepEqual([row?.status, row?.cost], [200, 0.015]);
  assert.match(await text, /\[DONE\]\n\n$/);
  await draining.close();
});

test("a held stream in which the provider reports a failure is retried", async () => {
  const overloaded = { message: "busy", type: "overloaded_error" };
  const failing: Readonly<Record<string, string>> = {
    "/v1/chat/completions": `${chunk({ content: "Hi" })}data: ${JSON.stringify({ error: overloaded })}\n\n`,
    "/v1/responses": [
      { type: "response.created", response: { id: "resp_1", status: "in_progress", output: [] } },
      { type: "response.failed", response: { id: "resp_1", status: "failed", output: [], error: overloaded } },
    ]
      .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
      .join(""),
  };
  for (const [path, text] of Object.entries(failing)) {
    upstream().script(() => streaming(text));
    const config = target(0, { output_guardrails: [{ ...denying, stream_mode: "buffer" }], retry: { attempts: 1 } });
    const answer = await ask(config, { path, body: { input: "x", stream: true } });
    const log = await logOf(answer);
    assert.deepEqual([answer.status, log.status, log.cost, upstream().calls.length], [529, 529, 0, 2], path);
    assert.match(String(answer.body.error?.message), /busy/);
  }
});

for (const place of ["input_guardrails", "output_guardrails"]) {
  test(`${place} end with the timeout of their request`, async () => {
    upstream().script(({ streamed }) => (streamed ? streaming(pricedStream) : answering(priced)));
    upstream(1).script(() => passingAfter(20_000));
    const hook = { ...asking({ timeout: 10_000 }), stream_mode: "buffer" };
    const cost = place === "input_guardrails" ? 0 : 0.015;
    for (const stream of [false, true]) {
      const late = start(target(0, { request_timeout: 5_000, total_timeout: 1_500, [place]: [hook] }), { stream });
      assert.equal((await late.answer).status, 408);
      const leaving = new AbortController();
      const asked = upstream(1).calls.length;
      const left = start(target(0, { [place]: [hook], retry: { attempts: 2 } }), { stream }, leaving.signal);
      await callBehind(1, asked);
      leaving.abort();
      assert.equal((await left.answer).status, 499);
      const logs = await Promise.all([logOf(late), logOf(left)]);
      assert.deepEqual(
        logs.map((log) => [log.status, log.cost]),
        [
          [408, cost],
          [499, cost],
        ],
      );
    }
  });
}

test("a guardrail that holds back a stream checks all the text of a non-streaming response", async () => {
  const event = (type: string, more: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
  const item = { type: "message", id: "msg_1", role: "assistant", content: [{ type: "output_text", text: "there" }] };
  const response = { id: "resp_1", object: "response", status: "completed", model: "m", output: [] };
  const said = [
    { reasoning: "there" },
    { reasoning_content: "there" },
    { refusal: "there" },
    { content: "there" },
    { audio: { id: "a", transcript: "there" } },
    { function_call: { name: "f", arguments: "there" } },
    { tool_calls: [{ index: 0, id: "c", type: "function", function: { name: "f", arguments: "there" } }] },
    { tool_calls: [{ index: 0, id: "c", type: "custom", custom: { name: "f", input: "there" } }] },
  ];
  const end = `${chunk({}, { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] })}data: [DONE]\n\n`;
  const streams = [
    ...said.map((delta) => ["/v1/chat/completions", chunk(delta) + end] as const),
    [
      "/v1/responses",
      event("response.created", { response: { ...response, status: "in_progress" } }) +
        event("response.output_item.done", { output_index: 0, item }) +
        event("response.completed", { response }),
    ] as const,
  ];
  for (const [path, text] of streams) {
    upstream().script(() => streaming(text));
    const config = target(0, { output_guardrails: [{ ...denying, stream_mode: "buffer" }] });
    const headers = { "x-gateway-strict-open-ai-compliance": "false" };
    const answer = await ask(config, { path, body: { input: "x", stream: true }, headers });
    assert.equal(answer.status, 446, answer.text);
  }
});

test("a held stream ends with its gateway and is not retried", async () => {
  upstream().script(() => ({
    ...answering({}),
    serve(response) {
      response.on("error", () => {});
      response.writeHead(200, { "content-type": "text/event-stream" }).write(chunk({ content: "Hi" }));
    },
  }));
  const draining = await createTestGateway();
  const config = target(0, { output_guardrails: [{ ...denying, stream_mode: "buffer" }], retry: { attempts: 3 } });
  const headers = requestHeaders({ "x-gateway-provider": null, "x-gateway-config": JSON.stringify(config) });
  const asked = { ...body, stream: true, messages: [{ role: "user", content: "Hello" }] };
  const init = { method: "POST", headers, body: JSON.stringify(asked) };
  const answer = draining.fetch("/v1/chat/completions", init);
  await callBehind(0, 0);
  // what the provider sent is read first
  await new Promise((resolve) => setTimeout(resolve, 200));
  await draining.gateway.drain(100);
  assert.deepEqual([(await answer).status, upstream().calls.length], [502, 1]);
  assert.deepEqual(
    (await waitForLogs(draining, "")).map(({ status, error }) => [status, error?.code]),
    [[502, "upstream_shutdown"]],
  );
  await draining.close();
});

test("what came before the failure of a stream is sent when guardrails check it", async () => {
  const failing = `${chunk({ content: "Hi" })}data: ${JSON.stringify({ error: { message: "broken" } })}\n\n`;
  upstream().script(() => streaming(failing));
  for (const [path, first] of [
    ["/v1/messages", "message_start"],
    ["/v1/responses", "response.created"],
  ] as const) {
    const provider = { provider: "together-ai" };
    const request = { path, body: { input: "x", max_tokens: 9, stream: true } };
    const plain = await ask({ ...target(0), ...provider }, request);
    const watched = await ask({ ...target(0), ...provider, output_guardrails: [denying] }, request);
    const kinds = (events: readonly { event: string | undefined }[]) => events.map(({ event }) => event);
    assert.equal(watched.events[0]?.event, first);
    assert.deepEqual(kinds(watched.events), kinds(plain.events));
    const log = await logOf(watched);
    assert.deepEqual([log.status, log.error?.message], [502, "together-ai error: broken"]);
  }
});
