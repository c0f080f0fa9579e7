import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Endpoint } from "../../src/endpoint.ts";
import { isObject } from "../../src/lib/json.ts";
import type { Transport } from "../../src/lib/outbound.ts";
import { call, done } from "../support/control.ts";
import {
  createPrompt,
  nameOf,
  ownRows,
  pathOf,
  providerRows,
  toRequest,
  withFormBytes,
} from "../support/endpoint-requests.ts";
import { adminKey, createTestGateway, type TestGateway, workspaceKey } from "../support/gateway.ts";
import { createWire } from "../support/wire.ts";

const wire = createWire();
const transport: Transport = { send: (url, init) => wire.transport.send(url, init) };
const planted = "a kumquat, as planted";
let gateway: TestGateway;
let promptSlug = "";
const slugs = { input: "", output: "" };
let workspaceId = "";

before(async () => {
  gateway = await createTestGateway({ transport });
  promptSlug = await createPrompt(gateway);
  const workspaces = call<{ data: { id: string }[] }>(gateway, "GET /admin/workspaces", { key: adminKey });
  workspaceId = (await done(workspaces)).data[0]?.id ?? "";
  const save = async (name: string) => {
    const checks = [{ id: "default.contains", parameters: { words: ["kumquat"], operator: "none" } }];
    const body = { name, checks, actions: { deny: true } };
    return (await done<{ slug: string }>(call(gateway, "POST /guardrails", { key: workspaceKey, body }))).slug;
  };
  slugs.input = await save("in");
  slugs.output = await save("out");
});
after(() => gateway.close());
const setDefaults = (defaults: object) =>
  done(
    call(gateway, `PUT /admin/workspaces/${workspaceId}`, {
      key: adminKey,
      body: { defaults: { input_guardrails: [], output_guardrails: [], ...defaults } },
    }),
  );

/** What docs/guardrails.md lists as not read: names of models and voices, ids, URLs, keywords and media. */
const notRead =
  /^(?:model|voice|role|type|purpose|endpoint|completion_window|input_file_id|training_file|document_url)$/;

/** The value with the planted words in one of its strings, for each of them. */
function plantIn(value: unknown, name = ""): unknown[] {
  if (typeof value === "string") return notRead.test(name) ? [] : [planted];
  if (Array.isArray(value))
    return value.flatMap((item, index) => plantIn(item, name).map((one) => value.with(index, one)));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, inner]) => plantIn(inner, key).map((one) => ({ ...value, [key]: one })));
}

/** Requests for an endpoint, each with the planted words in one of its strings, and one in a field nobody knows. */
function plantedRequests(row: Endpoint): RequestInit[] {
  const init = toRequest(row);
  if (typeof init.body === "string") {
    const body = JSON.parse(init.body) as Record<string, unknown>;
    const all = [...plantIn(body), { ...body, some_new_field: { deep: [planted] } }];
    return all.map((one) => ({ ...init, body: JSON.stringify(one) }));
  }
  if (!(init.body instanceof FormData)) return [];
  const fields = [...init.body];
  const named = fields
    .filter(([name, value]) => typeof value === "string" && !notRead.test(name))
    .map(([name]) => name);
  return [...named, "some_new_field"].map((name) => {
    const form = new FormData();
    for (const [key, value] of fields) if (key !== name) form.append(key, value);
    form.set(name, planted);
    return { ...toRequest(row), body: form };
  });
}

async function ask(row: Endpoint, init: RequestInit) {
  wire.url = "";
  const response = await gateway.fetch(pathOf(row, promptSlug), await withFormBytes(init));
  return { status: response.status, text: await response.text(), isCalled: wire.url !== "" };
}

const rows = providerRows.filter((row) => !ownRows.has(nameOf(row)) && row.path !== "/v1/realtime");

test("no endpoint lets planted words past a default guardrail that denies, whichever field holds them", async () => {
  await setDefaults({ input_guardrails: [slugs.input] });
  wire.answer = () => new Response("nobody is here", { status: 503 });
  let count = 0;
  for (const row of rows) {
    for (const init of plantedRequests(row)) {
      count++;
      const { status, text, isCalled } = await ask(row, init);
      // a prompt's endpoint reads variables that the prompt has, and no other fields
      if (row.path.startsWith("/v1/prompts/") && isCalled) {
        assert.doesNotMatch(String(wire.init?.body), /kumquat/);
        continue;
      }
      const shown = init.body instanceof FormData ? JSON.stringify([...init.body.keys()]) : String(init.body);
      assert.equal(isCalled, false, `${nameOf(row)} ${shown}: ${status} ${text}`);
      assert.ok(status === 446 || status === 400, `${nameOf(row)} ${shown}: ${status} ${text}`);
    }
  }
  assert.ok(count > 60, `${count} requests`);
});

const chat = (message: object) => ({
  id: "c",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason: "stop" }],
});
const call1 = { id: "t", type: "function", function: { name: "f", arguments: JSON.stringify({ note: planted }) } };
const message = (block: object) => ({
  id: "m",
  type: "message",
  role: "assistant",
  model: "m",
  content: [block],
  stop_reason: "end_turn",
  usage: { input_tokens: 1, output_tokens: 1 },
});
const output = (item: object) => ({
  id: "resp_1",
  object: "response",
  created_at: 1,
  model: "m",
  status: "completed",
  output: [item],
});
const candidate = (part: object) => ({
  candidates: [{ index: 0, content: { role: "model", parts: [part] }, finishReason: "STOP" }],
});
/** Responses that hold the planted words, each in another field, by operation. */
const answers: Readonly<Record<string, readonly object[]>> = {
  chat: [
    chat({ content: planted }),
    chat({ content: null, refusal: planted }),
    chat({ content: "a", reasoning_content: planted }),
    chat({ content: null, tool_calls: [call1] }),
    chat({ content: null, function_call: { name: "f", arguments: planted } }),
    chat({ content: null, audio: { id: "a", data: "AAAA", transcript: planted } }),
    {
      ...chat({ content: "a" }),
      choices: [...chat({ content: "a" }).choices, { ...chat({ content: planted }).choices[0], index: 1 }],
    },
  ],
  complete: [
    {
      id: "c",
      object: "text_completion",
      created: 1,
      model: "m",
      choices: [{ index: 0, text: planted, finish_reason: "stop" }],
    },
  ],
  messages: [
    message({ type: "text", text: planted }),
    message({ type: "thinking", thinking: planted, signature: "s" }),
    message({ type: "tool_use", id: "t", name: "f", input: { deep: [planted] } }),
  ],
  responses: [
    output({
      type: "message",
      id: "i",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: planted, annotations: [] }],
    }),
    output({
      type: "message",
      id: "i",
      role: "assistant",
      status: "completed",
      content: [{ type: "refusal", refusal: planted }],
    }),
    output({ type: "reasoning", id: "i", summary: [{ type: "summary_text", text: planted }] }),
    output({
      type: "function_call",
      id: "i",
      call_id: "c",
      name: "f",
      arguments: JSON.stringify({ a: planted }),
      status: "completed",
    }),
  ],
  generateContent: [
    candidate({ text: planted }),
    candidate({ text: planted, thought: true }),
    candidate({ functionCall: { name: "f", args: { a: [planted] } } }),
  ],
  transcribe: [{ text: planted }, { text: "", segments: [{ id: 0, text: planted }] }],
  translate: [{ text: planted }],
  ocr: [
    { pages: [{ index: 0, markdown: planted }], model: "m" },
    { pages: [], model: "m", document_annotation: planted },
  ],
};

test("no response that holds planted words gets past a default guardrail that denies, whichever field holds them", async () => {
  await setDefaults({ output_guardrails: [slugs.output] });
  const seen = new Set<string>();
  for (const row of rows) {
    const operation = "operation" in row ? (row.operation ?? "") : "";
    if (row.path.startsWith("/v1/prompts/") || row.path === "/v1/complete" || row.path.includes("stream")) continue;
    for (const answer of answers[operation] ?? []) {
      wire.answer = () => Response.json(answer);
      const { status, text, isCalled } = await ask(row, toRequest(row));
      const shown = `${nameOf(row)} ${JSON.stringify(answer)}: ${status} ${text}`;
      assert.equal(status, 446, shown);
      assert.doesNotMatch(text, /as planted/, shown);
      if (isCalled) seen.add(operation);
    }
  }
  assert.deepEqual([...seen].sort(), Object.keys(answers).sort(), "each of them was read");
});
