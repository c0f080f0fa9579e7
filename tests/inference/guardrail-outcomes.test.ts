import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import type { HookResults } from "../../src/schemas/hooks.ts";
import { chatLine, finishLines } from "../support/batches.ts";
import { answering } from "../support/faults.ts";
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
