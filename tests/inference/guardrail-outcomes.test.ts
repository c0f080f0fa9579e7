import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import type { HookResults } from "../../src/schemas/hooks.ts";
import { chatLine, finishLines } from "../support/batches.ts";
import { answering, type Fault } from "../support/faults.ts";
import { waitForLog } from "../support/gateway.ts";
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
/** An answer that costs 0.015 cents. */
const priced = {
  ...{ id: "x", object: "chat.completion", model: "gpt-4o-mini" },
  choices: [{ index: 0, message: { role: "assistant", content: "Hi there" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 1000, completion_tokens: 0, total_tokens: 1000 },
};
const denying = { ...words("none", ["there"]), deny: true };
const softly = { ...words("none", ["there"], { soft_deny_200: true }), deny: true };
/** A streamed answer. */
const streaming = (text: string): Fault => ({
  ...answering({}),
  serve: (response) => void response.writeHead(200, { "content-type": "text/event-stream" }).end(text),
});

test("a soft denial costs what was paid for, once", async () => {
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

test("denied lines of a batch are in its error file and their answers in its cost, flagged ones in its output", async () => {
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

test("what hooks say stands before the last event of a response, whatever its line ends", async () => {
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
