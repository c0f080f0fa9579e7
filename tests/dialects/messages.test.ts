import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { messagesDialect } from "../../src/dialects/messages/mod.ts";
import type { DialectEvent, DialectOptions } from "../../src/dialects/types.ts";
import { InvalidRequestError } from "../../src/errors.ts";
import { createPlainMapper, DialectObserver } from "../../src/inference/stream/dialect-observer.ts";
import { EventBlocks, readEvents } from "../../src/lib/sse.ts";
import type { MessagesRequest } from "../../src/schemas/messages.ts";

const seed = 20_260_116;

function optionsFor(dropped: string[] = []): DialectOptions {
  return { id: "01TEST", created: 1_760_000_000, now: () => 1_760_000_000, drop: (member) => dropped.push(member) };
}

const ask = (more: object = {}): MessagesRequest => ({
  model: "m-1",
  max_tokens: 100,
  messages: [{ role: "user" as const, content: "Hi" }],
  ...more,
});

const chunk = (delta: object, finish: string | null = null) => ({
  id: "c1",
  object: "chat.completion.chunk",
  created: 1,
  model: "m-1-2026",
  choices: [{ index: 0, delta, finish_reason: finish }],
});
const call = (index: number, args: string, named?: string) => ({
  index,
  ...(named && { id: `call_${index}`, type: "function" }),
  function: { ...(named && { name: named }), arguments: args },
});
const usage = {
  prompt_tokens: 100,
  completion_tokens: 20,
  total_tokens: 120,
  prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 10 },
  completion_tokens_details: { reasoning_tokens: 5 },
};
const wantedUsage = {
  input_tokens: 30,
  output_tokens: 20,
  cache_creation_input_tokens: 10,
  cache_read_input_tokens: 60,
  output_tokens_details: { thinking_tokens: 5 },
};

const start = {
  type: "message_start",
  message: {
    id: "msg_01TEST",
    type: "message",
    role: "assistant",
    model: "m-1-2026",
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 0, output_tokens: 0 },
  },
};
const opened = (index: number, content_block: object) => ({ type: "content_block_start", index, content_block });
const delta = (index: number, inner: object) => ({ type: "content_block_delta", index, delta: inner });
const closed = (index: number) => ({ type: "content_block_stop", index });
const ended = (stop_reason: string) => [
  { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: wantedUsage },
  { type: "message_stop" },
];
const text = { type: "text", text: "" };
const thinking = { type: "thinking", thinking: "", signature: "" };
const tool = (index: number, name: string) => ({ type: "tool_use", id: `call_${index}`, name, input: {} });

interface Golden {
  name: string;
  chunks: readonly object[];
  wanted: readonly object[];
}

const goldens: readonly Golden[] = [
  {
    name: "a text",
    chunks: [
      chunk({ role: "assistant", content: "" }),
      chunk({ content: "It " }),
      chunk({ content: "opens." }),
      chunk({}, "stop"),
    ],
    wanted: [
      start,
      { type: "ping" },
      opened(0, text),
      delta(0, { type: "text_delta", text: "It " }),
      delta(0, { type: "text_delta", text: "opens." }),
      closed(0),
      ...ended("end_turn"),
    ],
  },
  {
    name: "thoughts as text, then a text",
    chunks: [
      chunk({ reasoning_content: "Hm. " }),
      chunk({ reasoning: "So." }),
      chunk({ content: "Yes." }),
      chunk({}, "length"),
    ],
    wanted: [
      start,
      { type: "ping" },
      opened(0, thinking),
      delta(0, { type: "thinking_delta", thinking: "Hm. " }),
      delta(0, { type: "thinking_delta", thinking: "So." }),
      closed(0),
      opened(1, text),
      delta(1, { type: "text_delta", text: "Yes." }),
      closed(1),
      ...ended("max_tokens"),
    ],
  },
  {
    name: "signed and redacted thoughts",
    chunks: [
      chunk({ reasoning_content: "Hm.", content_blocks: [{ index: 0, delta: { thinking: "Hm." } }] }),
      chunk({ content_blocks: [{ index: 0, delta: { signature: "c2ln" } }] }),
      chunk({ content_blocks: [{ index: 1, delta: { type: "redacted_thinking", data: "b3BhcXVl" } }] }),
      chunk({ content: "Yes.", content_blocks: [{ index: 2, delta: { text: "Yes." } }] }),
      chunk({}, "end_turn"),
    ],
    wanted: [
      start,
      { type: "ping" },
      opened(0, thinking),
      delta(0, { type: "thinking_delta", thinking: "Hm." }),
      delta(0, { type: "signature_delta", signature: "c2ln" }),
      closed(0),
      opened(1, { type: "redacted_thinking", data: "b3BhcXVl" }),
      closed(1),
      opened(2, text),
      delta(2, { type: "text_delta", text: "Yes." }),
      closed(2),
      ...ended("end_turn"),
    ],
  },
  {
    name: "a text and two calls, one after the other",
    chunks: [
      chunk({ content: "I look." }),
      chunk({ tool_calls: [call(0, "", "tide")] }),
      chunk({ tool_calls: [call(0, '{"port":')] }),
      chunk({ tool_calls: [call(0, '"Brest"}')] }),
      chunk({ tool_calls: [call(1, "{}", "wind")] }),
      chunk({}, "tool_calls"),
    ],
    wanted: [
      start,
      { type: "ping" },
      opened(0, text),
      delta(0, { type: "text_delta", text: "I look." }),
      closed(0),
      opened(1, tool(0, "tide")),
      delta(1, { type: "input_json_delta", partial_json: '{"port":' }),
      delta(1, { type: "input_json_delta", partial_json: '"Brest"}' }),
      closed(1),
      opened(2, tool(1, "wind")),
      delta(2, { type: "input_json_delta", partial_json: "{}" }),
      closed(2),
      ...ended("tool_use"),
    ],
  },
  {
    name: "two calls whose arguments come in turn",
    chunks: [
      chunk({ tool_calls: [call(0, "", "tide"), call(1, "", "wind")] }),
      chunk({ tool_calls: [call(1, '{"at":')] }),
      chunk({ tool_calls: [call(0, '{"port":"Brest"}')] }),
      chunk({ tool_calls: [call(1, "10}")] }),
      chunk({}, "stop"),
    ],
    wanted: [
      start,
      { type: "ping" },
      opened(0, tool(0, "tide")),
      delta(0, { type: "input_json_delta", partial_json: '{"port":"Brest"}' }),
      closed(0),
      opened(1, tool(1, "wind")),
      delta(1, { type: "input_json_delta", partial_json: '{"at":' }),
      delta(1, { type: "input_json_delta", partial_json: "10}" }),
      closed(1),
      ...ended("tool_use"),
    ],
  },
  {
    name: "a call that is never given arguments, and a text behind it",
    chunks: [chunk({ tool_calls: [call(0, "", "wind")] }), chunk({ content: "Done." }), chunk({}, "stop")],
    wanted: [
      start,
      { type: "ping" },
      opened(0, tool(0, "wind")),
      closed(0),
      opened(1, text),
      delta(1, { type: "text_delta", text: "Done." }),
      closed(1),
      ...ended("tool_use"),
    ],
  },
  {
    name: "a call with a signature of its own",
    chunks: [chunk({ tool_calls: [{ ...call(0, "{}", "wind"), thought_signature: "c2ln" }] }), chunk({}, "stop")],
    wanted: [
      start,
      { type: "ping" },
      opened(0, thinking),
      delta(0, { type: "signature_delta", signature: "call:c2ln" }),
      closed(0),
      opened(1, tool(0, "wind")),
      delta(1, { type: "input_json_delta", partial_json: "{}" }),
      closed(1),
      ...ended("tool_use"),
    ],
  },
  {
    name: "a refusal",
    chunks: [chunk({ refusal: "No." }), chunk({}, "content_filter")],
    wanted: [
      start,
      { type: "ping" },
      opened(0, text),
      delta(0, { type: "text_delta", text: "No." }),
      closed(0),
      ...ended("refusal"),
    ],
  },
  {
    name: "nothing",
    chunks: [chunk({ role: "assistant" }), chunk({}, "stop")],
    wanted: [start, { type: "ping" }, ...ended("end_turn")],
  },
];

/** Events a client gets when the upstream's bytes come in these pieces. */
function observe(pieces: readonly Uint8Array[]): DialectEvent[] {
  const observer = new DialectObserver({
    mapper: createPlainMapper("tested"),
    events: messagesDialect.createEvents(ask(), optionsFor()),
    encode: messagesDialect.encode,
    provider: "tested",
  });
  const blocks = new EventBlocks();
  let written = "";
  const decoder = new TextDecoder();
  for (const piece of pieces) {
    const block = blocks.push(piece);
    const sent = block && observer.push(block);
    if (sent) written += decoder.decode(sent);
  }
  assert.equal(observer.state, "complete");
  written += decoder.decode(observer.end?.());
  return readEvents(written).map(({ event, data }) => {
    const value: DialectEvent = JSON.parse(data);
    assert.equal(event, value.type);
    return value;
  });
}

function toBytes(chunks: readonly object[]): Uint8Array {
  const events = [...chunks, { ...chunk({}), choices: [], usage }].map((one) => `data: ${JSON.stringify(one)}\n\n`);
  return new TextEncoder().encode(`${events.join("")}data: [DONE]\n\n`);
}

for (const { name, chunks, wanted } of goldens) {
  test(`events of ${name}`, () => {
    assert.deepEqual(observe([toBytes(chunks)]), wanted);
  });
}

test(`any split of the upstream's bytes makes the same events (seed ${seed})`, () => {
  for (const { chunks, wanted } of goldens) {
    const bytes = toBytes(chunks);
    const cuts = fc.uniqueArray(fc.integer({ min: 1, max: bytes.length - 1 }), { maxLength: 40 });
    fc.assert(
      fc.property(cuts, (places) => {
        const sorted = [0, ...places.toSorted((one, other) => one - other), bytes.length];
        const pieces = sorted.slice(1).map((end, index) => bytes.slice(sorted[index], end));
        assert.deepEqual(observe(pieces), wanted);
      }),
      { seed, numRuns: 60 },
    );
  }
});

test("a failure is one error event of a type that clients know", () => {
  const { createEvents } = messagesDialect;
  const fail = (type: string) => createEvents(ask(), optionsFor()).fail({ message: "Busy", type, code: null });
  assert.deepEqual(fail("overloaded_error"), [{ type: "error", error: { type: "overloaded_error", message: "Busy" } }]);
  assert.deepEqual(fail("server_error"), [{ type: "error", error: { type: "api_error", message: "Busy" } }]);
  const limited = { message: "Busy", type: "rate_limit_exceeded", code: null, status: 429 };
  const [event] = createEvents(ask(), optionsFor()).fail(limited);
  assert.deepEqual(event, { type: "error", error: { type: "rate_limit_error", message: "Busy" } });
});

/** A chat completion. */
const answerOf = (message: object, finish: string) => ({
  id: "c1",
  object: "chat.completion",
  created: 1,
  model: "m-1-2026",
  usage,
  choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason: finish }],
});

test("a non-streaming response has its blocks in order", () => {
  const message = {
    content: "I look.",
    reasoning_content: "Hm.",
    content_blocks: [
      { type: "thinking", thinking: "Hm.", signature: "c2ln" },
      { type: "text", text: "I look." },
    ],
    tool_calls: [call(0, '{"port":"Brest"}', "tide"), call(1, "no json", "wind")],
  };
  assert.deepEqual(messagesDialect.fromChat(answerOf(message, "tool_use"), ask(), optionsFor()), {
    id: "msg_01TEST",
    type: "message",
    role: "assistant",
    model: "m-1-2026",
    content: [
      { type: "thinking", thinking: "Hm.", signature: "c2ln" },
      { type: "text", text: "I look." },
      { type: "tool_use", id: "call_0", name: "tide", input: { port: "Brest" } },
      { type: "tool_use", id: "call_1", name: "wind", input: {} },
    ],
    stop_reason: "tool_use",
    stop_sequence: null,
    usage: wantedUsage,
  });
});

/** The chat for a request, and the dropped fields. */
function convert(more: object): { chat: Record<string, unknown>; dropped: string[] } {
  const dropped: string[] = [];
  const request = ask(more);
  const before = structuredClone(request);
  const chat = messagesDialect.toChat(request, optionsFor(dropped));
  assert.deepEqual(request, before);
  return { chat, dropped };
}

const requests: readonly { name: string; asked: object; wanted: object; dropped?: readonly string[] }[] = [
  {
    name: "system blocks keep their marks",
    asked: { system: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }] },
    wanted: {
      messages: [
        { role: "system", content: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }] },
        { role: "user", content: "Hi" },
      ],
    },
  },
  {
    name: "results come before what is said, pictures of results after them",
    asked: {
      messages: [
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "Hm.", signature: "c2ln" },
            { type: "text", text: "I look." },
            { type: "tool_use", id: "t1", name: "tide", input: { port: "Brest" } },
          ],
        },
        {
          role: "user",
          content: [
            { type: "text", text: "Here." },
            {
              type: "tool_result",
              tool_use_id: "t1",
              is_error: true,
              content: [
                { type: "text", text: "3 m" },
                { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" } },
              ],
            },
          ],
        },
      ],
    },
    wanted: {
      messages: [
        {
          role: "assistant",
          content: "I look.",
          content_blocks: [
            { type: "thinking", thinking: "Hm.", signature: "c2ln" },
            { type: "text", text: "I look." },
          ],
          tool_calls: [{ id: "t1", type: "function", function: { name: "tide", arguments: '{"port":"Brest"}' } }],
        },
        { role: "tool", tool_call_id: "t1", content: "Error: 3 m" },
        {
          role: "user",
          content: [
            { type: "text", text: "Shown by the tool call t1:" },
            { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } },
            { type: "text", text: "Here." },
          ],
        },
      ],
    },
  },
  {
    name: "unsigned thoughts are text, a call's signature goes back to the call",
    asked: {
      messages: [
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "Hm.", signature: "" },
            { type: "thinking", thinking: "", signature: "call:c2ln" },
            { type: "tool_use", id: "t1", name: "wind", input: {} },
          ],
        },
      ],
    },
    wanted: {
      messages: [
        {
          role: "assistant",
          content: null,
          reasoning_content: "Hm.",
          tool_calls: [
            { id: "t1", type: "function", function: { name: "wind", arguments: "{}" }, thought_signature: "c2ln" },
          ],
        },
      ],
    },
  },
  {
    name: "documents in every form",
    asked: {
      messages: [
        {
          role: "user",
          content: [
            {
              type: "document",
              source: { type: "base64", media_type: "application/pdf", data: "JVBERg==" },
              title: "a.pdf",
            },
            { type: "document", source: { type: "url", url: "https://files.example/b.pdf" } },
            { type: "document", source: { type: "text", media_type: "text/plain", data: "plain" } },
            { type: "document", source: { type: "file", file_id: "file_1" } },
            { type: "image", source: { type: "url", url: "https://files.example/c.png" } },
            { type: "document", source: { type: "base64" } },
            { type: "container_upload", file_id: "file_2" },
          ],
        },
      ],
    },
    wanted: {
      messages: [
        {
          role: "user",
          content: [
            { type: "file", file: { file_data: "data:application/pdf;base64,JVBERg==", filename: "a.pdf" } },
            { type: "file", file: { file_url: "https://files.example/b.pdf", filename: "document.pdf" } },
            { type: "text", text: "plain" },
            { type: "file", file: { file_id: "file_1" } },
            { type: "image_url", image_url: { url: "https://files.example/c.png" } },
          ],
        },
      ],
    },
    dropped: ["messages.document", "messages.container_upload"],
  },
  {
    name: "tools, one of them forced, one at a time",
    asked: {
      tools: [
        { name: "tide", description: "Tides", input_schema: { type: "object" }, cache_control: { type: "ephemeral" } },
        { type: "web_search_20250305", name: "web_search" },
      ],
      tool_choice: { type: "tool", name: "tide", disable_parallel_tool_use: true },
    },
    wanted: {
      tools: [
        {
          type: "function",
          function: { name: "tide", description: "Tides", parameters: { type: "object" } },
          cache_control: { type: "ephemeral" },
        },
      ],
      tool_choice: { type: "function", function: { name: "tide" } },
      parallel_tool_calls: false,
    },
    dropped: ["tools.web_search_20250305"],
  },
  ...(["auto", "any", "none"] as const).map((type) => ({
    name: `the choice ${type}`,
    asked: { tools: [{ name: "tide", input_schema: {} }], tool_choice: { type } },
    wanted: { tool_choice: type === "any" ? "required" : type },
  })),
  ...(
    [
      [1_024, "low"],
      [4_096, "medium"],
      [16_384, "high"],
    ] as const
  ).map(([budget, effort]) => ({
    name: `a budget of ${budget} to think`,
    asked: { thinking: { type: "enabled", budget_tokens: budget } },
    wanted: { thinking: { type: "enabled", budget_tokens: budget }, reasoning_effort: effort },
  })),
  {
    name: "no thinking",
    asked: { thinking: { type: "disabled" } },
    wanted: { thinking: { type: "disabled" }, reasoning_effort: undefined },
  },
  {
    name: "an effort and a schema",
    asked: { output_config: { effort: "max", format: { type: "json_schema", schema: { type: "object" } } } },
    wanted: {
      reasoning_effort: "max",
      response_format: { type: "json_schema", json_schema: { name: "output", schema: { type: "object" } } },
    },
  },
  {
    name: "sampling, ends and the user",
    asked: { temperature: 0.5, top_p: 0.9, stop_sequences: ["a", "b", "c", "d", "e"], metadata: { user_id: "u" } },
    wanted: { temperature: 0.5, top_p: 0.9, stop: ["a", "b", "c", "d"], user: "u", max_completion_tokens: 100 },
    dropped: ["stop_sequences"],
  },
  {
    name: "what has no counterpart",
    asked: { top_k: 5, container: "c", mcp_servers: [], metadata: { user_id: "u".repeat(65) }, stream: false },
    wanted: { top_k: undefined, container: undefined, user: undefined },
    dropped: ["top_k", "container", "mcp_servers", "metadata.user_id"],
  },
];

for (const { name, asked, wanted, dropped = [] } of requests) {
  test(`requests: ${name}`, () => {
    const { chat, dropped: told } = convert(asked);
    assert.deepEqual(Object.fromEntries(Object.keys(wanted).map((member) => [member, chat[member]])), wanted);
    assert.deepEqual(told, dropped);
  });
}

test("a forced tool that only its own provider runs is refused", () => {
  const asked = { tools: [{ type: "bash_20250124", name: "bash" }], tool_choice: { type: "tool", name: "bash" } };
  assert.throws(() => convert(asked), InvalidRequestError);
});
