// Forms of requests and streams that agents and hosts began to use in 2026.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { isObject } from "../../src/lib/json.ts";
import type { Transport } from "../../src/lib/outbound.ts";
import { createTestGateway, type TestGateway, workspaceKey } from "../support/gateway.ts";
import { createChatClient } from "./chat-client.ts";
import { type Client, objectsOf, type Setup } from "./client.ts";
import { createGeminiClient } from "./gemini-client.ts";
import { createMessagesClient } from "./messages-client.ts";
import { createResponsesClient } from "./responses-client.ts";

let gateway: TestGateway;
let sent: Record<string, unknown>[] = [];
let answer: () => Response;
before(async () => {
  const send: Transport["send"] = async (_url, { body }) => {
    sent.push(JSON.parse(String(body)));
    return answer();
  };
  gateway = await createTestGateway({ transport: { send, sendChecked: send } });
});
after(() => gateway.close());

const setup: Setup = {
  instructions: "",
  tools: [{ name: "read", description: "Reads.", schema: { type: "object", properties: { p: { type: "string" } } } }],
  effort: undefined,
  temperature: undefined,
  streams: true,
  maxTokens: 1_000,
};

const clients: Readonly<Record<string, (setup: Setup) => Client>> = {
  chat: createChatClient,
  messages: createMessagesClient,
  responses: createResponsesClient,
  gemini: createGeminiClient,
};

async function ask(client: Client, provider: string, body: object, model = "m"): Promise<Response> {
  sent = [];
  return gateway.fetch(client.path(model), {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-gateway-api-key": workspaceKey,
      "x-gateway-provider": provider,
      authorization: "Bearer fake-provider-key",
      ...client.headers,
    },
    body: JSON.stringify(body),
  });
}

/** A stream of deltas of tool calls. */
function streamOf(deltas: readonly object[]): () => Response {
  const chunks = [
    ...deltas.map((delta) => ({ delta, finish_reason: null })),
    { delta: {}, finish_reason: "tool_calls" },
  ];
  const text = chunks
    .map(
      (choice) =>
        `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, ...choice }] })}\n\n`,
    )
    .join("");
  return () => new Response(`${text}data: [DONE]\n\n`, { headers: { "content-type": "text/event-stream" } });
}

const call = (id: string, letter: string, place: object): object => ({
  tool_calls: [
    { ...place, id, type: "function", function: { name: "read", arguments: JSON.stringify({ p: letter }) } },
  ],
});
const pieces = (id: string, letter: string): object[] => [
  { tool_calls: [{ index: 0, id, type: "function", function: { name: "read", arguments: '{"p":' } }] },
  { tool_calls: [{ index: 0, function: { arguments: `"${letter}"}` } }] },
];

/** Streams with two calls, as hosts number them. */
const numberings: Readonly<Record<string, readonly object[]>> = {
  "the index 0 for both": [call("call_a", "a", { index: 0 }), call("call_b", "b", { index: 0 })],
  "no index": [call("call_a", "a", {}), call("call_b", "b", {})],
  "the index 0 and arguments in pieces": [...pieces("call_a", "a"), ...pieces("call_b", "b")],
  "their own indexes": [call("call_a", "a", { index: 0 }), call("call_b", "b", { index: 1 })],
};

/** Providers, with the clients whose requests their chat serves. */
const hosts: Readonly<Record<string, readonly string[]>> = {
  "mistral-ai": ["chat", "messages", "responses", "gemini"],
  huggingface: ["chat", "messages", "responses", "gemini"],
  deepseek: ["chat", "messages", "responses", "gemini"],
  moonshot: ["chat", "messages", "responses", "gemini"],
  groq: ["chat", "messages", "gemini"],
  openai: ["messages", "gemini"],
};

for (const [provider, names] of Object.entries(hosts)) {
  for (const [numbering, deltas] of Object.entries(numberings)) {
    test(`two calls that ${provider} streams with ${numbering} stay two calls, in every dialect`, async () => {
      answer = streamOf([{ role: "assistant", content: "" }, ...deltas]);
      for (const [name, createClient] of Object.entries(clients)) {
        if (!names.includes(name)) continue;
        const client = createClient(setup);
        const model = "gpt-4.1";
        const step = { outcomes: [], text: "Read both", hasImage: false, instruction: "" };
        const response = await ask(client, provider, client.ask(step, model), model);
        const heard = await client.hear(response);
        assert.deepEqual(
          heard.calls.map(({ name, arguments: given }) => [name, JSON.parse(given)]),
          [
            ["read", { p: "a" }],
            ["read", { p: "b" }],
          ],
        );
      }
    });
  }
}

const added = {
  type: "additional_tools",
  role: "developer",
  tools: [
    { type: "function", name: "exec", description: "Runs.", parameters: { type: "object", properties: {} } },
    {
      type: "namespace",
      name: "mcp__a_server_with_a_rather_long_name_that_agents_choose_freely",
      tools: [{ type: "function", name: "search_pages", parameters: { type: "object", properties: {} } }],
    },
    { type: "custom", name: "apply_patch", format: { type: "grammar", syntax: "lark", definition: "start: /.+/" } },
  ],
};

for (const provider of ["anthropic", "google", "mistral-ai", "deepseek"]) {
  test(`tools that Codex sends in its input reach ${provider}`, async () => {
    answer = () => Response.json({ error: { message: "enough" } }, { status: 400 });
    const client = createResponsesClient(setup);
    const input = [added, { type: "message", role: "user", content: [{ type: "input_text", text: "Go" }] }];
    const response = await ask(client, provider, { model: "m", input });
    assert.equal(response.headers.get("x-gateway-dropped-params"), null);
    const names = JSON.stringify(sent[0]?.tools);
    for (const name of ["exec", "search_pages", "apply_patch"]) {
      assert.ok(names.includes(name.slice(0, 4)) || names.includes("mcp__a_server"), `${name} in ${names}`);
    }
    assert.equal(names.match(/"name":/g)?.length, 3);
  });
}

const nameOf = (tool: Record<string, unknown> | undefined): unknown => isObject(tool?.function) && tool.function.name;
const longName = `mcp__${"a_server_with_a_long_name_".repeat(3)}__search`;

for (const streams of [true, false]) {
  for (const name of ["messages", "gemini"]) {
    test(`a long name of a tool comes back whole to a ${name} client of openai, streamed: ${streams}`, async () => {
      const named = { ...(setup.tools[0] as Setup["tools"][number]), name: longName };
      const client = clients[name]?.({ ...setup, streams, tools: [named] }) as Client;
      answer = () => {
        const [tool] = objectsOf(sent.at(-1)?.tools);
        const made = { id: "call_a", type: "function", function: { name: nameOf(tool), arguments: "{}" } };
        if (streams) return streamOf([{ role: "assistant", tool_calls: [{ index: 0, ...made }] }])();
        const choice = { index: 0, message: { role: "assistant", content: null, tool_calls: [made] } };
        return Response.json({
          id: "c",
          object: "chat.completion",
          choices: [{ ...choice, finish_reason: "tool_calls" }],
        });
      };
      const step = { outcomes: [], text: "Search", hasImage: false, instruction: "" };
      const response = await ask(client, "openai", client.ask(step, "gpt-4.1"), "gpt-4.1");
      const heard = await client.hear(response);
      assert.deepEqual(
        heard.calls.map((one) => one.name),
        [longName],
      );
    });
  }
}

const readCall = { id: "a", type: "function", function: { name: "read", arguments: "{}" } };

test("a blank text, which some agents send beside calls, is not sent to Claude", async () => {
  answer = () => Response.json({ error: { message: "enough" } }, { status: 400 });
  const messages = [
    { role: "user", content: "Go" },
    { role: "assistant", content: " ", tool_calls: [readCall] },
    { role: "tool", tool_call_id: "a", content: "done" },
    { role: "assistant", content: [{ type: "text", text: "\n" }] },
    {
      role: "user",
      content: [
        { type: "text", text: "  " },
        { type: "text", text: "Go on" },
      ],
    },
  ];
  await ask(createChatClient(setup), "anthropic", { model: "claude-opus-4-8", messages });
  assert.deepEqual(sent[0]?.messages, [
    { role: "user", content: "Go" },
    { role: "assistant", content: [{ type: "tool_use", id: "a", name: "read", input: {} }] },
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "a", content: "done" },
        { type: "text", text: "Go on" },
      ],
    },
  ]);
});

test("a text looks the same to openai whether an agent marks it for the prompt cache or not", async () => {
  answer = () => Response.json({ error: { message: "enough" } }, { status: 400 });
  const block = { type: "text", text: "Hello" };
  for (const marked of [block, { ...block, cache_control: { type: "ephemeral" } }]) {
    const messages = [{ role: "user", content: [marked] }];
    await ask(createMessagesClient(setup), "openai", { model: "gpt-4.1", max_tokens: 9, messages });
    assert.deepEqual(sent[0]?.messages, [{ role: "user", content: "Hello" }]);
  }
});

test("calls of another model without its thinking turn thinking off instead of ending a session of Claude", async () => {
  const message = "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.";
  const content = [{ type: "text", text: "Done" }];
  const whole = { id: "m", type: "message", role: "assistant", model: "m", content, stop_reason: "end_turn" };
  answer = () =>
    sent.at(-1)?.thinking === undefined
      ? Response.json({ ...whole, usage: { input_tokens: 1, output_tokens: 1 } })
      : Response.json({ type: "error", error: { type: "invalid_request_error", message } }, { status: 400 });
  const body = {
    model: "claude-opus-4-5",
    max_tokens: 4_000,
    thinking: { type: "enabled", budget_tokens: 1_024 },
    messages: [
      { role: "user", content: "Go" },
      { role: "assistant", content: [{ type: "tool_use", id: "call_a", name: "read", input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "call_a", content: "done" }] },
    ],
  };
  const response = await ask(createMessagesClient(setup), "anthropic", body);
  assert.deepEqual(
    sent.map(({ thinking }) => thinking),
    [body.thinking, undefined],
  );
  assert.equal(response.headers.get("x-gateway-dropped-params"), "thinking");
});
