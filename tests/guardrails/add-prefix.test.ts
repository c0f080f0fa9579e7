import assert from "node:assert/strict";
import { test } from "node:test";
import type { RequestType } from "../../src/guardrails/types.ts";
import { problemsOf, runCheck } from "../support/guardrails.ts";

const user = (content: unknown) => ({ role: "user", content });
const assistant = (content: unknown) => ({ role: "assistant", content });
const system = (content: unknown) => ({ role: "system", content });
const text = (value: string) => ({ type: "text", text: value });
const image = { type: "image_url", image_url: { url: "https://a.example/a.png" } };
const result = { type: "tool_result", tool_use_id: "t-1", content: "4" };
const thinking = { type: "thinking", thinking: "hm", signature: "s" };
const chat = (...messages: unknown[]) => ({ model: "m", messages });

for (const [name, requestType, parameters, request, wanted] of [
  [
    "the last message of the user",
    "chatComplete",
    {},
    chat(user("a"), assistant("b"), user("c")),
    chat(user("a"), assistant("b"), user("> c")),
  ],
  [
    "its first text part",
    "chatComplete",
    {},
    chat(user([image, text("a"), text("b")])),
    chat(user([image, text("> a"), text("b")])),
  ],
  ["parts without a text", "chatComplete", {}, chat(user([image])), chat(user([text("> "), image]))],
  [
    "a message of the system",
    "chatComplete",
    { applyToRole: "system" },
    chat(system("a"), user("b")),
    chat(system("> a"), user("b")),
  ],
  [
    "a message of developers",
    "chatComplete",
    { applyToRole: "system" },
    chat({ role: "developer", content: "a" }),
    chat({ role: "developer", content: "> a" }),
  ],
  [
    "a new message of the system, first",
    "chatComplete",
    { applyToRole: "system" },
    chat(user("b")),
    chat(system("> "), user("b")),
  ],
  [
    "a new message of the assistant, last",
    "chatComplete",
    { applyToRole: "assistant" },
    chat(user("b")),
    chat(user("b"), assistant("> ")),
  ],
  [
    "a message without content",
    "chatComplete",
    { applyToRole: "assistant" },
    chat({ role: "assistant", content: null, tool_calls: [] }),
    chat({ role: "assistant", content: "> ", tool_calls: [] }),
  ],
  [
    "a message of its own before the last",
    "chatComplete",
    { addToExisting: false },
    chat(user("a"), assistant("b"), user("c")),
    chat(user("a"), assistant("b"), user("> "), user("c")),
  ],
  ["nothing where the role speaks", "chatComplete", { onlyIfEmpty: true }, chat(user("a")), undefined],
  ["a role that says nothing", "chatComplete", { onlyIfEmpty: true }, chat(user(" ")), chat(user(">  "))],
  [
    "a role that is not there",
    "chatComplete",
    { onlyIfEmpty: true, applyToRole: "system" },
    chat(user("a")),
    chat(system("> "), user("a")),
  ],
  ["a prompt", "complete", {}, { prompt: "a" }, { prompt: "> a" }],
  ["each of many prompts", "complete", {}, { prompt: ["a", "b"] }, { prompt: ["> a", "> b"] }],
  ["no tokens", "complete", {}, { prompt: [1, 2] }, undefined],
  ["an absent prompt", "complete", { onlyIfEmpty: true }, {}, { prompt: "> " }],
  ["no prompt where there is one", "complete", { onlyIfEmpty: true }, { prompt: "a" }, undefined],
  [
    "the system of messages",
    "messages",
    { applyToRole: "system" },
    { ...chat(user("a")), system: "b" },
    { ...chat(user("a")), system: "> b" },
  ],
  [
    "the system of messages in blocks",
    "messages",
    { applyToRole: "system", addToExisting: false },
    { ...chat(user("a")), system: [text("b")] },
    { ...chat(user("a")), system: [text("> "), text("b")] },
  ],
  [
    "an absent system of messages",
    "messages",
    { applyToRole: "system" },
    chat(user("a")),
    { ...chat(user("a")), system: "> " },
  ],
  [
    "no system of messages where there is one",
    "messages",
    { applyToRole: "system", onlyIfEmpty: true },
    { ...chat(user("a")), system: "b" },
    undefined,
  ],
  [
    "what the user last said, not the result of a tool",
    "messages",
    {},
    chat(user("a"), assistant("b"), user([result])),
    chat(user("> a"), assistant("b"), user([result])),
  ],
  [
    "a text behind results of tools",
    "messages",
    {},
    chat(user([result, text("a")])),
    chat(user([result, text("> a")])),
  ],
  [
    "a part behind results of tools",
    "messages",
    { addToExisting: false },
    chat(user([result, text("a")])),
    chat(user([result, text("> "), text("a")])),
  ],
  [
    "a part behind what was thought",
    "messages",
    { applyToRole: "assistant" },
    chat(user("a"), assistant([thinking, { type: "tool_use" }])),
    chat(user("a"), assistant([thinking, text("> "), { type: "tool_use" }])),
  ],
  ["no other kind of request", "createModelResponse", {}, { input: "a" }, undefined],
  ["no messages that are none", "chatComplete", {}, { messages: "a" }, undefined],
] as const satisfies readonly (readonly [string, RequestType, object, object, object | undefined])[]) {
  test(`addPrefix changes ${name}`, async () => {
    const before = structuredClone(request);
    const { result: said, outcome } = await runCheck(
      "default.addPrefix",
      { prefix: "> ", ...parameters },
      { requestType, request },
    );
    assert.deepEqual([said?.verdict, said?.error, said?.transformed], [true, null, wanted !== undefined]);
    assert.deepEqual(outcome.body, wanted ?? request);
    assert.deepEqual(request, before);
  });
}

test("addPrefix has a default prefix", async () => {
  const { outcome } = await runCheck("default.addPrefix", {}, { requestType: "complete", request: { prompt: "a" } });
  assert.match(String(outcome.body.prompt), /^\w.* a$/);
});

for (const parameters of [{ prefix: 5 }, { applyToRole: "tool" }, { addToExisting: "yes" }, { onlyIfEmpty: 1 }]) {
  test(`addPrefix rejects the parameters ${JSON.stringify(parameters)}`, () => {
    assert.equal(problemsOf("default.addPrefix", parameters).length, 1);
  });
}

test("addPrefix is refused after the call", () => {
  assert.equal(problemsOf("default.addPrefix", {}, "output_guardrails").length, 1);
});
