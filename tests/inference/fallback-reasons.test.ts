import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { isObject } from "../../src/lib/json.ts";
import type { ExplainResponse } from "../../src/schemas/explain.ts";
import { type ErrorCode, errorCodes } from "../../src/schemas/routing-choice.ts";
import { failureSamples } from "../providers/failure-samples.ts";
import { call, done } from "../support/control.ts";
import { type Fault, type FaultyUpstream, success } from "../support/faults.ts";
import { requestHeaders, workspaceKey } from "../support/gateway.ts";
import { ask, configHeader, logOf, startRouted, targetOf } from "../support/routed.ts";

/** What the operator says of a model, where no table says it. */
const modelFacts = { openai: { rows: [{ match: ["plain-model"], facts: { responseSchemas: "none" as const } }] } };
const routed = await startRouted(2, { modelFacts });
const { gateway, upstreams } = routed;
const [a, b] = upstreams as [FaultyUpstream, FaultyUpstream]; // there are two
beforeEach(() => routed.reset());
after(() => routed.close());

const [first, second] = ["config.targets[0]", "config.targets[1]"];
const json = { "content-type": "application/json" };

/** A response with a status and a body; a stream sends its events. */
function responding(status: number, whole: unknown, events?: readonly unknown[]): Fault {
  const text = typeof whole === "string" ? whole : JSON.stringify(whole);
  const streamed = events?.map((event) => `data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`);
  return {
    name: "",
    whole: status,
    stream: status,
    serve(response, isStream) {
      const isEvents = isStream && streamed !== undefined;
      response.writeHead(isEvents ? 200 : status, isEvents ? { "content-type": "text/event-stream" } : json);
      response.end(isEvents ? streamed.join("") : text);
    },
  };
}

const chunk = (delta: object, finish_reason: string | null = null) => ({
  id: "x",
  choices: [{ index: 0, delta, finish_reason }],
});
const completion = (content: string | null, finish_reason: string) => ({
  id: "x",
  object: "chat.completion",
  choices: [{ index: 0, message: { role: "assistant", content }, finish_reason }],
});

/** A failure of each kind that OpenAI's form can hold, whole and in a stream. */
function failureOf(code: ErrorCode): Fault {
  if (code === "empty")
    return responding(200, completion("", "stop"), [chunk({ role: "assistant" }), chunk({}, "stop")]);
  const sample = failureSamples.find((one) => one.code === code && isObject(Object(one.body).error));
  assert.ok(sample);
  return responding(sample.status, sample.body, [sample.body]);
}

const fallback = (strategy: object, ofA: object = {}, ofB: object = {}) => ({
  strategy: { mode: "fallback", ...strategy },
  targets: [targetOf(a, ofA), targetOf(b, ofB)],
});

for (const stream of [false, true]) {
  test(`a fallback continues after the kinds of failures it names and no others (stream: ${stream})`, async () => {
    const traces = new Map<string, ErrorCode>();
    for (const code of errorCodes) {
      for (const named of [code, errorCodes.find((one) => one !== code)]) {
        a.script(() => failureOf(code));
        b.script(() => success);
        const answer = await ask(gateway, { config: fallback({ on_error_codes: [named] }), body: { stream } });
        const wanted = named === code ? second : first;
        assert.equal(answer.label, wanted, `${code} where ${named} is named: ${answer.text}`);
        traces.set(answer.trace, code);
      }
    }
    const rows = await Promise.all([...traces.keys()].map((trace) => logOf(gateway, { trace })));
    assert.deepEqual(
      rows.map(({ attempts }) => attempts?.[0]?.error_code),
      [...traces.values()],
    );
  });

  test(`a fallback continues after an answer that a filter ended (stream: ${stream})`, async () => {
    a.script(() =>
      responding(200, completion(null, "content_filter"), [
        chunk({ role: "assistant" }),
        chunk({}, "content_filter"),
        "[DONE]",
      ]),
    );
    const config = fallback({ on_error_codes: ["content_filter"] });
    const answer = await ask(gateway, { config, body: { stream } });
    assert.deepEqual([answer.status, answer.label], [200, second]);
    const { attempts } = await logOf(gateway, answer);
    assert.deepEqual(
      attempts?.map((one) => [one.status, one.error_code]),
      [
        [200, "content_filter"],
        [200, undefined],
      ],
    );
  });

  test(`the answer of a target that said something is delivered whole (stream: ${stream})`, async () => {
    const config = fallback({ on_error_codes: ["content_filter", "empty"] });
    const answer = await ask(gateway, { config, body: { stream } });
    assert.deepEqual([answer.status, answer.label], [200, first]);
    assert.match(answer.text, stream ? /"Hi".*\n\n.*"stop".*\n\ndata: \[DONE\]/s : /"content":"Hi"/);
  });
}

test("on_error_codes adds to on_status_codes", async () => {
  const config = fallback({ on_status_codes: [500], on_error_codes: ["rate_limit"] });
  for (const [status, label] of [
    [500, second],
    [429, second],
    [503, first],
  ] as const) {
    a.script(() => responding(status, { error: { message: "no" } }));
    assert.equal((await ask(gateway, { config })).label, label, String(status));
  }
});

test("a fallback without rules keeps an answer that a filter ended", async () => {
  a.script(() => responding(200, completion(null, "content_filter")));
  assert.equal((await ask(gateway, { config: fallback({}) })).label, first);
});

test("a forwarded call falls back by the kind of its error too", async () => {
  a.script(() => failureOf("context_too_long"));
  const headers = {
    ...Object.fromEntries(requestHeaders({ "x-gateway-provider": null })),
    ...json,
    ...configHeader(fallback({ on_error_codes: ["context_too_long"] })),
  };
  const request = new Request("http://gateway.test/v1/own/path", { method: "POST", headers, body: "{}" });
  const answer = await gateway.gateway.fetch(request);
  assert.deepEqual([answer.status, answer.headers.get("x-gateway-last-used-option-index")], [200, second]);
  await answer.text();
});

test("kinds of failures that do not exist, or have no effect, are refused at save", async () => {
  const refusals: [object, RegExp][] = [
    [fallback({ on_error_codes: ["too_hot"] }), /strategy\.on_error_codes\[0\] must be one of context_too_long/],
    [fallback({ on_error_codes: [] }), /strategy\.on_error_codes must have an entry/],
    [
      fallback({ mode: "loadbalance", on_error_codes: ["empty"] }),
      /strategy\.on_error_codes has no effect without the mode fallback/,
    ],
    [fallback({}, { requires: ["speed"] }), /targets\[0\]\.requires\[0\] must be one of context, tools/],
  ];
  for (const [config, message] of refusals) {
    const body = { name: "A config", config };
    const answer = await call(gateway, "POST /configs", { key: workspaceKey, body });
    assert.equal(answer.status, 400);
    assert.match(JSON.stringify(answer.body).replaceAll(", message: ", " "), message);
  }
});

const tools = [{ type: "function", function: { name: "f", parameters: { type: "object", properties: {} } } }];
const image = [{ role: "user", content: [{ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }] }];
const schema = { type: "json_schema", json_schema: { name: "s", schema: { type: "object" } } };
/** Some 12,000 tokens. */
const long = [{ role: "user", content: "The quick brown fox. ".repeat(2_400) }];

/** A request that a model cannot serve, the model, and why. */
const lacking: readonly [need: string, model: string, body: object, reason: RegExp][] = [
  ["tools", "chatgpt-4o-latest", { tools }, /takes no tools/],
  ["images", "gpt-3.5-turbo", { messages: image }, /takes no images/],
  ["json_schema", "plain-model", { response_format: schema }, /takes no JSON schemas/],
  ["context", "gpt-4", { messages: long }, /its window of 8192 tokens is too small for about 12\d\d\d/],
];

for (const [need, model, body, reason] of lacking) {
  const ofA = { override_params: { model } };
  test(`a target whose model lacks ${need} is not called where another remains`, async () => {
    for (const mode of ["fallback", "loadbalance"]) {
      const config = fallback({ mode }, ofA);
      const answer = await ask(gateway, { config, body });
      assert.deepEqual([answer.status, answer.label], [200, second], answer.text);
      assert.equal(a.calls.length, 0);
      const row = await logOf(gateway, answer);
      assert.deepEqual(
        row.unfit?.map(({ label }) => label),
        [first],
      );
      assert.match(row.unfit?.[0]?.reason ?? "", reason);
      const plan = await done<ExplainResponse>(
        call(gateway, "POST /configs/explain", {
          key: workspaceKey,
          body: { config, request: { body: { model: "m", messages: [], ...body } } },
        }),
      );
      assert.deepEqual(
        plan.attempts.map(({ label }) => label),
        [second],
      );
      assert.match(plan.warnings.join(), reason);
    }
  });

  test(`the only targets are called even where their models lack ${need}, and one that requires nothing is`, async () => {
    assert.equal((await ask(gateway, { config: fallback({}, ofA, ofA), body })).label, first);
    assert.equal(
      (await ask(gateway, { config: { strategy: { mode: "fallback" }, targets: [targetOf(a, ofA)] }, body })).label,
      first,
    );
    assert.equal((await ask(gateway, { config: fallback({}, { ...ofA, requires: [] }), body })).label, first);
    assert.equal((await ask(gateway, { config: fallback({}, ofA) })).label, first);
  });
}

test("an image of a tool or of an earlier question leaves a session at a model that reads a note in its place", async () => {
  const [asked] = image;
  const sessions = {
    earlier: [asked, { role: "assistant", content: "A pixel." }, { role: "user", content: "Why?" }],
    tool: [
      { role: "user", content: "Look." },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "c", content: asked?.content },
    ],
    asked: image,
  };
  const integration = { name: "D", slug: "notes", ai_provider_id: "deepseek", key: "fake-key" };
  await done(call(gateway, "POST /integrations", { key: workspaceKey, body: integration }));
  const model = { override_params: { model: "deepseek-v4-pro" } };
  const targets = {
    plain: [{ provider: "deepseek", api_key: "fake-key", ...model }, ["earlier", "tool"]],
    stored: [{ provider: "@notes", ...model }, ["earlier", "tool"]],
    // there the image would be sent
    "at another host": [{ provider: "deepseek", api_key: "fake-key", custom_host: a.url, ...model }, []],
  } as const;
  for (const [name, [target, stays]] of Object.entries(targets)) {
    const config = { strategy: { mode: "fallback" }, targets: [target, targetOf(b)] };
    const staying: string[] = [];
    for (const [session, messages] of Object.entries(sessions)) {
      const body = { config, request: { body: { model: "m", messages } } };
      const plan = await done<ExplainResponse>(call(gateway, "POST /configs/explain", { key: workspaceKey, body }));
      if (plan.attempts[0]?.label === first) staying.push(session);
    }
    assert.deepEqual(staying, stays, name);
  }
});

test("what a target drops is not required of its model", async () => {
  const ofA = { override_params: { model: "chatgpt-4o-latest" }, drop_params: ["tools"] };
  assert.equal((await ask(gateway, { config: fallback({}, ofA), body: { tools } })).label, first);
});

test("a group is left out where none of its targets can serve the request", async () => {
  const ofA = { override_params: { model: "gpt-4" } };
  const group = { strategy: { mode: "loadbalance" }, targets: [targetOf(a, ofA), targetOf(a, ofA)] };
  const config = { strategy: { mode: "fallback" }, targets: [group, targetOf(b)] };
  assert.equal((await ask(gateway, { config, body: { messages: long } })).label, second);
  assert.equal((await ask(gateway, { config })).label, `${first}.targets[0]`);
});
