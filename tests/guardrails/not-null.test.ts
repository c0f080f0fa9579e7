import assert from "node:assert/strict";
import { test } from "node:test";
import { chatAnswer, problemsOf, runCheck } from "../support/guardrails.ts";

const call = { id: "call_1", type: "function", function: { name: "f", arguments: "{}" } };
const toChat = (message: Record<string, unknown>) => ({ choices: [{ index: 0, message }] });
const toTurn = (...parts: unknown[]) => ({ candidates: [{ content: { role: "model", parts } }] });

for (const [requestType, answer, verdict] of [
  ["chatComplete", chatAnswer("text"), true],
  ["chatComplete", chatAnswer(" \n"), false],
  ["chatComplete", chatAnswer(""), false],
  ["chatComplete", chatAnswer(null), false],
  ["chatComplete", toChat({ content: null, tool_calls: [] }), false],
  ["complete", { choices: [{ text: "text" }] }, true],
  ["complete", { choices: [{ text: "" }] }, false],
  ["messages", { content: [{ type: "text", text: "text" }] }, true],
  ["messages", { content: [] }, false],
  ["messages", { content: [{ type: "server_tool_use", id: "s", name: "web_search", input: {} }] }, false],
  ["createModelResponse", { output: [{ type: "message", content: [{ type: "output_text", text: "a" }] }] }, true],
  ["createModelResponse", { output: [{ type: "web_search_call", id: "w" }] }, false],
  ["generateContent", toTurn({ text: "text" }), true],
  ["generateContent", toTurn({ text: "" }), false],
] as const) {
  test(`notNull of the ${requestType} answer ${JSON.stringify(answer)} is ${verdict}`, async () => {
    for (const not of [false, true]) {
      const { result } = await runCheck("default.notNull", { not }, { requestType, answer });
      assert.deepEqual([result?.verdict, result?.error], [verdict !== not, null]);
    }
  });
}

for (const [requestType, answer] of [
  ["chatComplete", toChat({ content: null, tool_calls: [call] })],
  ["chatComplete", toChat({ content: "text", tool_calls: [call] })],
  ["chatComplete", toChat({ content: null, function_call: { name: "f", arguments: "{}" } })],
  ["chatComplete", { choices: [...(chatAnswer("").choices as []), { index: 1, message: { tool_calls: [call] } }] }],
  [
    "messages",
    {
      content: [
        { type: "text", text: "" },
        { type: "tool_use", id: "t", name: "f", input: {} },
      ],
    },
  ],
  ["createModelResponse", { output: [{ type: "function_call", call_id: "c", name: "f", arguments: "{}" }] }],
  ["createModelResponse", { output: [{ type: "custom_tool_call", call_id: "c", name: "f", input: "x" }] }],
  ["generateContent", toTurn({ functionCall: { name: "f", args: {} } })],
] as const) {
  test(`notNull skips the ${requestType} answer ${JSON.stringify(answer)}`, async () => {
    for (const not of [false, true]) {
      const { outcome } = await runCheck("default.notNull", { not }, { requestType, answer });
      assert.deepEqual([outcome.results, outcome.isFailed], [[], false]);
    }
  });
}

test("notNull runs after the call only", () => {
  assert.match(problemsOf("default.notNull", {})[0] ?? "", /runs after the call only$/);
});
