import assert from "node:assert/strict";
import { test } from "node:test";
import { findToolNames, restoreToolNames, sendToolNames } from "../../src/providers/core/tool-names.ts";
import type { ChatRequest } from "../../src/schemas/chat.ts";

const withTools = (...names: string[]): ChatRequest => ({
  model: "m",
  messages: [{ role: "user", content: "hi" }],
  tools: names.map((name) => ({ type: "function", function: { name } })),
});

test("a name that is made for a tool is never that of another tool of the request", () => {
  const wrong = "delete.everything";
  const [made = ""] = findToolNames(withTools(wrong), 64)?.received.keys() ?? [];
  const request = withTools(wrong, made);
  const names = findToolNames(request, 64);
  assert.ok(names);
  const sent = sendToolNames(request, names).tools?.map((tool) => Reflect.get(Object(tool.function), "name"));
  assert.equal(new Set(sent).size, 2);
  const called = { choices: [{ message: { tool_calls: [{ id: "1", function: { name: made } }] } }] };
  assert.deepEqual(restoreToolNames(called, names), called);
});
