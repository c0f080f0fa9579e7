import assert from "node:assert/strict";
import { test } from "node:test";
import { findToolNames, restoreToolNames, sendToolNames } from "../../src/providers/core/tool-names.ts";
import type { ChatRequest } from "../../src/schemas/chat.ts";

const withTools = (...names: string[]): ChatRequest => ({
  model: "m",
  messages: [{ role: "user", content: "hi" }],
  tools: names.map((name) => ({ type: "function", function: { name } })),
});

const rules = { length: 64, beginsWithLetter: false };

test("a name that is made for a tool is never that of another tool of the request", () => {
  const wrong = "delete.everything";
  const [made = ""] = findToolNames(withTools(wrong), rules)?.received.keys() ?? [];
  const request = withTools(wrong, made);
  const names = findToolNames(request, rules);
  assert.ok(names);
  const sent = sendToolNames(request, names).tools?.map((tool) => Reflect.get(Object(tool.function), "name"));
  assert.equal(new Set(sent).size, 2);
  const called = { choices: [{ message: { tool_calls: [{ id: "1", function: { name: made } }] } }] };
  assert.deepEqual(restoreToolNames(called, names), called);
});

test("a name begins with a letter or an underscore where the host demands it", () => {
  const names = findToolNames(withTools("1password_read", "-dash", "read"), { length: 64, beginsWithLetter: true });
  const made = [...(names?.received ?? [])];
  assert.deepEqual(
    made.map(([, name]) => name),
    ["1password_read", "-dash"],
  );
  for (const [name] of made) assert.match(name, /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/);
});
