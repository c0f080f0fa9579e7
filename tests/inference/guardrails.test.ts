import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { toResponseId } from "../../src/dialects/responses/ids.ts";
import { isObject } from "../../src/lib/json.ts";
import type { HookResults } from "../../src/schemas/hooks.ts";
import { answering } from "../support/faults.ts";
import { type ShownLog, waitForLog } from "../support/gateway.ts";
import { askGuarded, words } from "../support/guarded.ts";
import { type Routed, startRouted, targetOf } from "../support/routed.ts";

let routed: Routed;
before(async () => {
  routed = await startRouted(2);
});
after(() => routed.close());
beforeEach(() => routed.reset());

const ask = (...asked: Parameters<typeof askGuarded> extends [unknown, ...infer Rest] ? Rest : never) =>
  askGuarded(routed.gateway, ...asked);
const calls = () => routed.upstreams.map(({ calls: made }) => made.length);
const target = (index = 0, more: object = {}) => targetOf(routed.upstreams[index] ?? { url: "" }, more);
const logOf = ({ trace }: { trace: string }) =>
  waitForLog(routed.gateway, trace) as Promise<ShownLog & { hook_results?: HookResults }>;
/** Config that denies responses and requests with a word, and its guardrail results for echo. */
const notThere = (more: object = {}) => ({ ...words("none", ["there"]), ...more });

const routes = [
  ["/v1/chat/completions", {}, (body: object) => Reflect.get(body, "choices")[0].message.content],
  ["/v1/completions", { prompt: "Hello there" }, (body: object) => Reflect.get(body, "choices")[0].text],
  ["/v1/messages", { max_tokens: 9 }, (body: object) => Reflect.get(body, "content")[0].text],
  ["/v1/responses", { input: "Hello there" }, (body: object) => Reflect.get(body, "output")[0].content[0].text],
  [
    "/v1beta/models/echo-1:generateContent",
    { contents: [{ parts: [{ text: "Hello there" }] }] },
    (body: object) => Reflect.get(body, "candidates")[0].content.parts[0].text,
  ],
] as const;

for (const [path, body] of routes) {
  test(`an input guardrail that denies ${path} responds 446 and calls nobody`, async () => {
    const answer = await ask({ ...target(), input_guardrails: [notThere({ deny: true })] }, { path, body });
    assert.equal(answer.status, 446);
    const { error, hook_results: results } = answer.body;
    const type = path === "/v1/messages" ? "invalid_request_error" : "hooks_failed";
    assert.deepEqual([error?.type, error?.param], [type, null]);
    if (!path.startsWith("/v1beta/")) assert.equal(error?.code, null);
    assert.match(String(error?.message), /hook_results/);
    assert.deepEqual(results?.after_request_hooks, []);
    const [hook] = results?.before_request_hooks ?? [];
    assert.deepEqual([hook?.verdict, hook?.deny, hook?.async, hook?.transformed], [false, true, false, false]);
    assert.match(hook?.id ?? "", /^input_guardrail_[0-9a-z]{3}$/);
    assert.deepEqual(hook?.checks[0]?.data?.foundWords, ["there"]);
    assert.deepEqual(calls(), [0, 0]);
    const log = await logOf(answer);
    assert.deepEqual([log.status, log.upstream_calls, log.cost, log.error?.type], [446, 0, 0, "hooks_failed"]);
    assert.equal(log.hook_results?.before_request_hooks[0]?.deny, true);
  });

  test(`an output guardrail that denies ${path} responds 446 without the model's text`, async () => {
    const answer = await ask({ output_guardrails: [notThere({ deny: true })] }, { path, body });
    assert.equal(answer.status, 446);
    const { hook_results: results, choices, content, output, candidates } = answer.body;
    assert.equal(results?.after_request_hooks[0]?.deny, true);
    assert.deepEqual(results?.before_request_hooks, []);
    assert.deepEqual([choices, content, output, candidates], [undefined, undefined, undefined, undefined]);
    const log = await logOf(answer);
    assert.equal(log.upstream_calls, 1);
    assert.ok(log.usage, "its tokens are counted");
  });

  test(`a guardrail that does not deny ${path} responds 246 with the response and its results`, async () => {
    const guards = { input_guardrails: [notThere()], output_guardrails: [notThere(), words("any", ["Hello"])] };
    const plain = await ask({ retry: { attempts: 0 } }, { path, body });
    const answer = await ask(guards, { path, body });
    assert.deepEqual([plain.status, answer.status], [200, 246]);
    const { hook_results: results, id: _, ...rest } = answer.body;
    assert.deepEqual(Object.keys({ ...rest, id: 1 }).sort(), Object.keys({ ...plain.body, id: 1 }).sort());
    const said = [...(results?.before_request_hooks ?? []), ...(results?.after_request_hooks ?? [])];
    assert.deepEqual(
      said.map(({ verdict, deny }) => [verdict, deny]),
      [
        [false, false],
        [false, false],
        [true, false],
      ],
    );
    assert.equal((await logOf(answer)).status, 246);
  });

  test(`soft_deny_200 responds to ${path} with 200 in its shape, without the model's text`, async () => {
    const [, , textOf] = routes.find(([one]) => one === path) ?? routes[0];
    for (const place of ["input_guardrails", "output_guardrails"]) {
      const config = {
        [place]: [words("none", ["there"], { soft_deny_200: true })].map((one) => ({ ...one, deny: true })),
      };
      const answer = await ask(config, { path, body });
      assert.equal(answer.status, 200);
      assert.match(textOf(answer.body), /guardrail denied/);
      assert.doesNotMatch(answer.text, /Hello there/);
      const { hook_results: results } = answer.body;
      const said = [...(results?.before_request_hooks ?? []), ...(results?.after_request_hooks ?? [])];
      assert.deepEqual(
        said.map(({ deny }) => deny),
        [true],
      );
      const log = await logOf(answer);
      assert.deepEqual([log.status, log.response.body], [200, answer.body]);
    }
  });
}

test("soft_deny_200 streams its text in the shape of the route", async () => {
  const config = { input_guardrails: [{ ...words("none", ["there"], { soft_deny_200: true }), deny: true }] };
  for (const [path, body] of routes) {
    const streamed = path.replace(":generateContent", ":streamGenerateContent?alt=sse");
    const request = { path: streamed, body: { ...body, stream: true } };
    const reported = await ask(config, { ...request, headers: { "x-gateway-strict-open-ai-compliance": "false" } });
    assert.match(reported.text, /hook_results/);
    const { status, text, events } = await ask(config, request);
    assert.equal(status, 200);
    assert.match(text, /guardrail denied/);
    const last = events.at(-1);
    if (path.endsWith("completions")) assert.equal(last?.data, "[DONE]");
    if (path === "/v1/messages") assert.equal(last?.event, "message_stop");
    if (path === "/v1/responses") assert.equal(last?.event, "response.completed");
  }
});

test("a denial without soft_deny_200 beside one with it stays 446", async () => {
  const soft = { ...words("none", ["there"], { soft_deny_200: true }), deny: true };
  const { status } = await ask({ input_guardrails: [soft, notThere({ deny: true })] });
  assert.equal(status, 446);
});

test("an input denial reaches every target of a fallback, and a target whose guardrails allow it responds", async () => {
  const denying = { strategy: { mode: "fallback" }, targets: [target(0), target(1)] };
  const both = await ask({ ...denying, input_guardrails: [notThere({ deny: true })] });
  assert.deepEqual([both.status, ...calls()], [446, 0, 0]);
  const { attempts } = (await logOf(both)) as unknown as { attempts: { status: number }[] };
  assert.deepEqual(
    attempts.map(({ status }) => status),
    [446, 446],
  );
  const targets = [{ ...target(0), input_guardrails: [notThere({ deny: true })] }, target(1)];
  const second = await ask({ strategy: { mode: "fallback" }, targets });
  assert.deepEqual([second.status, ...calls()], [200, 0, 1]);
});

test("on_status_codes can exclude a denial from fallbacks", async () => {
  const targets = [{ ...target(0), input_guardrails: [notThere({ deny: true })] }, target(1)];
  const { status } = await ask({ strategy: { mode: "fallback", on_status_codes: [500] }, targets });
  assert.deepEqual([status, ...calls()], [446, 0, 0]);
});

test("a status of output guardrails can be retried, with input guardrails run once and each response paid", async () => {
  const priced = {
    id: "x",
    object: "chat.completion",
    model: "gpt-4o-mini",
    choices: [{ index: 0, message: { role: "assistant", content: "Hi there" }, finish_reason: "stop" }],
    usage: { prompt_tokens: 1000, completion_tokens: 2, total_tokens: 1002 },
  };
  routed.upstreams[0]?.script(() => answering(priced));
  const retry = { attempts: 2, on_status_codes: [246] };
  const guards = { input_guardrails: [words("any", ["Hello"])], output_guardrails: [notThere()] };
  const answer = await ask({ ...target(0), retry, ...guards }, { body: { model: "gpt-4o-mini" } });
  assert.deepEqual([answer.status, calls()[0]], [246, 3]);
  assert.equal(answer.headers.get("x-gateway-retry-attempt-count"), "-1");
  assert.equal(answer.body.hook_results?.before_request_hooks.length, 1);
  const { cost, discarded_cost: discarded } = await logOf(answer);
  assert.deepEqual([cost, discarded], [0.04536, 0.03024]);
  const denied = await ask(
    { ...target(0), output_guardrails: [notThere({ deny: true })] },
    { body: { model: "gpt-4o-mini" } },
  );
  const row = await logOf(denied);
  assert.deepEqual([denied.status, row.cost, row.discarded_cost, row.price_source], [446, 0.01512, 0.01512, undefined]);
});

test("an upstream's failure includes the results of input guardrails, and output guardrails do not run", async () => {
  routed.upstreams[0]?.script(() => ({
    ...answering({}),
    serve: (response) => void response.writeHead(400).end("{}"),
  }));
  const answer = await ask({ ...target(0), input_guardrails: [notThere()], output_guardrails: [notThere()] });
  assert.equal(answer.status, 400);
  assert.equal(answer.body.hook_results?.before_request_hooks[0]?.verdict, false);
  assert.deepEqual(answer.body.hook_results?.after_request_hooks, []);
});

test("numbers and spaces of a response stay as the provider wrote them", async () => {
  const text =
    '{ "id":"x","object":"chat.completion","big":12345678901234567890,"choices":[{"index":0,"message":{"role":"assistant","content":"there"},"finish_reason":"stop"}] }';
  routed.upstreams[0]?.script(() => ({
    ...answering({}),
    serve: (response) => void response.writeHead(200, { "content-type": "application/json" }).end(text),
  }));
  const answer = await ask({ ...target(0), output_guardrails: [words("any", ["there"])] });
  assert.equal(answer.status, 200);
  assert.ok(answer.text.startsWith(text.slice(0, -1)));
  assert.equal(answer.body.hook_results?.after_request_hooks[0]?.verdict, true);
});

/** The events of a stream with guardrail results, with their position. */
function resultEventsOf(events: readonly { event: string | undefined; data: unknown }[]) {
  return events.flatMap(({ event, data }, index) =>
    isObject(data) && isObject(data.hook_results) && Object(data.choices).length !== 1
      ? [{ event, index, results: data.hook_results }]
      : [],
  );
}

for (const [path, body] of routes) {
  const streamed = path.replace(":generateContent", ":streamGenerateContent?alt=sse");
  const guards = {
    input_guardrails: [notThere()],
    output_guardrails: [notThere({ deny: true, stream_mode: "inform" })],
  };
  const request = { path: streamed, body: { ...body, stream: true } };

  test(`a stream of ${path} has guardrail results first and after its end unless it is strict`, async () => {
    const headers = { "x-gateway-strict-open-ai-compliance": "false" };
    const { status, events, text, trace } = await ask(guards, { ...request, headers });
    assert.equal(status, 246);
    const reported = resultEventsOf(events);
    const isHeld = path === "/v1/responses";
    assert.deepEqual(
      reported.map(({ index }) => index),
      isHeld ? [1, events.length - 2] : [0, events.length - 1],
    );
    const isNamed = path === "/v1/messages" || isHeld;
    assert.deepEqual(
      reported.map(({ event }) => event),
      isNamed ? ["hook_results", "hook_results"] : ["", ""],
    );
    assert.deepEqual(
      reported.map(({ results }) => Object.keys(results)),
      [["before_request_hooks"], ["after_request_hooks"]],
    );
    assert.deepEqual(
      reported.map(({ results }) => JSON.stringify(results).match(/"foundWords":\["there"\]/g)?.length),
      [1, 1],
    );
    assert.match(text, /there/);
    if (path.endsWith("completions")) assert.equal(events.at(-2)?.data, "[DONE]");
    if (isHeld) assert.equal(events.at(-1)?.event, "response.completed");
    const log = await logOf({ trace });
    assert.deepEqual([log.status, log.hook_results?.after_request_hooks[0]?.verdict], [246, false]);
  });

  test(`a strict stream of ${path} has no guardrail results, and its log row does`, async () => {
    const { status, events, trace } = await ask(guards, request);
    assert.equal(status, 246);
    assert.deepEqual(resultEventsOf(events), []);
    if (path.endsWith("completions")) assert.equal(events.at(-1)?.data, "[DONE]");
    const log = await logOf({ trace });
    assert.equal(log.hook_results?.before_request_hooks[0]?.verdict, false);
    const [after] = log.hook_results?.after_request_hooks ?? [];
    assert.deepEqual([after?.verdict, after?.deny], [false, false], "what is out is not denied");
  });
}

test("strict non-streaming responses include guardrail results", async () => {
  const headers = { "x-gateway-strict-open-ai-compliance": "true" };
  const { body } = await ask({ input_guardrails: [notThere()] }, { headers });
  assert.equal(body.hook_results?.before_request_hooks.length, 1);
});

test("async output guardrails run after the response, also without others, and only the log has their results", async () => {
  for (const stream of [false, true]) {
    const config = {
      output_guardrails: [notThere({ deny: true, async: true })],
      input_guardrails: [notThere({ async: true })],
    };
    const answer = await ask(config, { body: { stream } });
    assert.equal(answer.status, 200);
    assert.doesNotMatch(answer.text, /hook_results/);
    const until = performance.now() + 5_000;
    let log = await logOf(answer);
    while (!log.hook_results && performance.now() < until) log = await logOf(answer);
    const { before_request_hooks: early, after_request_hooks: late } = log.hook_results ?? {};
    assert.deepEqual(
      [early?.[0]?.async, early?.[0]?.verdict, late?.[0]?.deny, late?.[0]?.verdict],
      [true, false, false, false],
    );
    assert.equal(log.status, 200);
  }
});

test("embeddings run input guardrails and no output guardrails", async () => {
  const path = "/v1/embeddings";
  const guards = { input_guardrails: [notThere()], output_guardrails: [notThere({ deny: true })] };
  const answer = await ask(guards, { path, body: { input: ["Hello", "there"] } });
  assert.deepEqual([answer.status, answer.body.hook_results?.after_request_hooks], [246, []]);
  const denied = await ask({ input_guardrails: [notThere({ deny: true })] }, { path, body: { input: "there" } });
  assert.equal(denied.status, 446);
});

test("a denied response cannot be stored and read again, one that passed can", async () => {
  const path = "/v1/responses";
  const body = { input: "Hello there" };
  const passed = await ask({ output_guardrails: [notThere()] }, { path, body });
  assert.equal(passed.status, 246);
  const read = (id: unknown) =>
    routed.gateway.fetch(`/v1/responses/${id}`, { headers: { "x-gateway-api-key": "test-workspace-key-000000" } });
  assert.equal((await read(passed.body.id)).status, 200);
  const denied = await ask({ output_guardrails: [notThere({ deny: true })] }, { path, body });
  const log = await logOf(denied);
  assert.equal(denied.status, 446);
  assert.equal((await read(toResponseId(log.id))).status, 404);
});

for (const [guards, wanted] of [
  [
    { input_guardrails: [{ "default.nosuch": {} }] },
    "path: input_guardrails[0].default.nosuch, message: is not a known check: default.nosuch",
  ],
  [{ output_guardrails: [{ checks: [] }] }, "path: output_guardrails[0].checks, message: must have at least one check"],
] as const) {
  test(`a config with ${JSON.stringify(guards)} is refused with 400, at any level`, async () => {
    const top = await ask(guards);
    assert.deepEqual([top.status, (top.body.errors as string[])[0]], [400, wanted]);
    const nested = await ask({ strategy: { mode: "fallback" }, targets: [{ ...target(0), ...guards }] });
    assert.deepEqual(
      [nested.status, (nested.body.errors as string[])[0]],
      [400, wanted.replace("path: ", "path: targets[0].")],
    );
  });
}

test("headers that name default guardrails are ignored", async () => {
  const headers = { "x-gateway-default-input-guardrails": JSON.stringify([notThere({ deny: true })]) };
  assert.equal((await ask({ retry: { attempts: 0 } }, { headers })).status, 200);
});
