import assert from "node:assert/strict";
import { test } from "node:test";
import { toCsv } from "../../console/src/lib/csv.ts";
import { readEvents } from "../../console/src/lib/event-stream.ts";
import { dollarColumn } from "../../console/src/lib/format.ts";
import { periodQuery, periodSearch, readPeriod } from "../../console/src/lib/period.ts";
import { sourceOf } from "../../console/src/lib/source.ts";
import { isAnalyticsFilter, toAnalyticsQuery } from "../../console/src/pages/logs/analytics-filters.ts";
import { toCode } from "../../console/src/pages/logs/code.ts";
import { readConversation } from "../../console/src/pages/logs/conversation/read.ts";
import { findDifferences } from "../../console/src/pages/logs/differences.ts";
import { readFilters, suggest } from "../../console/src/pages/logs/filters.ts";

const text = (value: string) => ({ kind: "text", text: value });

for (const [name, operation, request, response, wanted] of [
  [
    "chat completions",
    "chat",
    {
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "<b>" },
            { type: "image_url", image_url: { url: "https://a.example/x.png" } },
          ],
        },
        {
          role: "assistant",
          content: null,
          reasoning_content: "hm",
          tool_calls: [{ id: "c", function: { name: "find", arguments: "{}" } }],
        },
        { role: "tool", tool_call_id: "c", content: "3" },
      ],
    },
    { choices: [{ message: { role: "assistant", content: "done" } }] },
    [
      ["user", text("<b>"), { kind: "image", source: "https://a.example/x.png" }],
      ["assistant", { kind: "reasoning", text: "hm" }, { kind: "call", id: "c", name: "find", input: "{}" }],
      ["tool", { kind: "result", id: "c", parts: [text("3")], isError: false }],
      ["assistant", text("done")],
    ],
  ],
  [
    "messages",
    "messages",
    {
      system: "brief",
      messages: [
        {
          role: "user",
          content: [{ type: "image", source: { type: "base64", media_type: "image/png", data: "AA==" } }],
        },
        { role: "assistant", content: [{ type: "tool_use", id: "t", name: "find", input: { q: 1 } }] },
        {
          role: "user",
          content: [{ type: "tool_result", tool_use_id: "t", is_error: true, content: [{ type: "text", text: "no" }] }],
        },
      ],
    },
    {
      type: "message",
      content: [
        { type: "thinking", thinking: "so" },
        { type: "text", text: "none" },
      ],
    },
    [
      ["system", text("brief")],
      ["user", { kind: "image", source: "data:image/png;base64,AA==" }],
      ["assistant", { kind: "call", id: "t", name: "find", input: '{\n  "q": 1\n}' }],
      ["user", { kind: "result", id: "t", parts: [text("no")], isError: true }],
      ["assistant", { kind: "reasoning", text: "so" }, text("none")],
    ],
  ],
  [
    "responses",
    "responses",
    {
      instructions: "short",
      input: [
        { role: "user", content: [{ type: "input_text", text: "hi" }] },
        { type: "function_call_output", call_id: "c", output: "1" },
      ],
    },
    {
      output: [
        { type: "reasoning", summary: [{ type: "summary_text", text: "why" }] },
        { type: "function_call", call_id: "d", name: "go", arguments: "{}" },
      ],
    },
    [
      ["system", text("short")],
      ["user", text("hi")],
      ["tool", { kind: "result", id: "c", parts: [text("1")], isError: false }],
      ["assistant", { kind: "reasoning", text: "why" }],
      ["assistant", { kind: "call", id: "d", name: "go", input: "{}" }],
    ],
  ],
  [
    "Gemini",
    "generateContent",
    {
      system_instruction: { parts: [{ text: "sys" }] },
      contents: [{ role: "model", parts: [{ functionCall: { name: "f", args: {} } }] }],
    },
    { candidates: [{ content: { role: "model", parts: [{ text: "th", thought: true }, { text: "ok" }] } }] },
    [
      ["system", text("sys")],
      ["assistant", { kind: "call", id: "", name: "f", input: "{}" }],
      ["assistant", { kind: "reasoning", text: "th" }, text("ok")],
    ],
  ],
] as const) {
  test(`readConversation() reads both sides of ${name}`, () => {
    const read = readConversation(operation, request, response);
    const shown = [...(read?.turns ?? []), ...(read?.answers ?? [])].map(({ role, parts }) => [role, ...parts]);
    assert.deepEqual(shown, wanted);
  });
}

test("readConversation() leaves what is no conversation, and bodies that are not JSON, to the JSON view", () => {
  assert.equal(readConversation("embed", { model: "m", input: "a" }, {}), undefined);
  assert.equal(readConversation("chat", '{"messages":[', undefined), undefined);
  // what a caller sends may have any shape
  for (const messages of [
    [null, 1, "a"],
    [{ content: 5 }],
    [{ role: {}, content: [[], null, { type: "toString" }] }],
  ]) {
    assert.ok(readConversation("chat", { messages, tools: [null, 4, {}] }, { choices: "no" }));
  }
});

const row = {
  method: "POST",
  path: "/v1/chat/completions",
  request: {
    gatewayHeaders: {
      "api-key": "hmac:1",
      provider: "echo",
      metadata: '{"a":"it\'s"}',
      config: "hmac:0123",
      "trace-id": "t",
    },
    body: { model: "m", stop: null, stream: true, messages: [{ role: "user", content: "it's $HOME `id`" }] },
  },
};

test("toCode() writes curl whose shell words are what was sent, without keys and masked headers", () => {
  const code = toCode("curl", row, "http://gw.example");
  assert.equal(
    code,
    [
      "curl -X POST 'http://gw.example/v1/chat/completions'",
      '-H "x-gateway-api-key: $GATEWAY_API_KEY"',
      "-H 'x-gateway-provider: echo'",
      `-H 'x-gateway-metadata: {"a":"it'\\''s"}'`,
      "-H 'content-type: application/json'",
      `-d '{"model":"m","stop":null,"stream":true,"messages":[{"role":"user","content":"it'\\''s $HOME \`id\`"}]}'`,
    ].join(" \\\n  "),
  );
});

test("toCode() writes SDK code with the values of each language, and plain posts where the SDK has no method", () => {
  const python = toCode("python", row, "http://gw.example");
  assert.match(python, /"stop": None,\n {4}"stream": True,/);
  assert.match(python, /client\.chat\.completions\.create\(\*\*body\)/);
  assert.match(
    toCode("typescript", row, "http://gw.example"),
    /await client\.chat\.completions\.create\(\{\n {2}"model": "m"/,
  );
  assert.match(
    toCode("typescript", { ...row, path: "/v1/rerank" }, "http://gw.example"),
    /client\.post\("\/rerank", \{ body: /,
  );
  for (const kind of ["python", "typescript"] as const)
    assert.doesNotMatch(toCode(kind, row, "http://gw.example"), /hmac|trace-id/);
});

test("findDifferences() names each place that differs, and stops after 200", () => {
  assert.deepEqual(findDifferences({ a: [1, { b: 2 }], c: 1, d: 0 }, { a: [1, { b: 3 }, 4], d: 0, e: null }), [
    { path: "a.1.b", before: 2, after: 3 },
    { path: "a.2", before: undefined, after: 4 },
    { path: "c", before: 1, after: undefined },
    { path: "e", before: undefined, after: null },
  ]);
  assert.deepEqual(findDifferences("x", { x: 1 }), [{ path: "", before: "x", after: { x: 1 } }]);
  assert.equal(findDifferences(Array(5_000).fill(1), Array(5_000).fill(2)).length, 200);
});

const every = () => true;

test("suggest() takes name=value as it stands, and offers what a free text may mean", () => {
  const firstOf = (typed: string) => suggest(typed, every).find(({ adds }) => adds)?.adds;
  assert.deepEqual(firstOf("model=gpt-5"), ["model", "gpt-5"]);
  assert.deepEqual(firstOf("Status: 5xx"), ["status_code", "5xx"]);
  assert.deepEqual(firstOf("metadata.team = a=b"), ["metadata.team", "a=b"]);
  assert.deepEqual(firstOf("gpt-5"), ["model", "gpt-5"]);
  assert.equal(firstOf("model="), undefined);
  assert.deepEqual(suggest("status=5xx", isAnalyticsFilter)[0]?.adds, ["status_code", "5xx"]);
  assert.deepEqual(firstOf("operation=retrieve batch"), ["operation", "retrieveBatch"]);
  assert.equal(suggest("operation=retrieveBatch", every)[0]?.label, "Operation: Retrieve batch");
  assert.deepEqual(
    suggest("cache_status=hit", every).map(({ adds }) => adds?.[1]),
    ["HIT", "SEMANTIC HIT"],
  );
  assert.deepEqual(
    suggest("x", (name) => name === "error").map(({ value }) => value),
    ["error=x"],
  );
});

test("readFilters() takes filters of the log from an address, and nothing else", () => {
  const search = { model: "m", "metadata.a": "1", "metadata.": "2", range: "7d", tab: "json", trace_id: "" };
  assert.deepEqual(readFilters(search), [
    ["model", "m"],
    ["metadata.a", "1"],
  ]);
});

test("readPeriod() reads a range or two ends, and takes the usual range where the address names none", () => {
  const now = Date.UTC(2026, 0, 31);
  assert.deepEqual(readPeriod({ range: "1h" }, now), { name: "1h", from: now - 3_600_000, to: now });
  const own = readPeriod({ from: "2026-01-01T00:00:00Z", to: "2026-01-02T00:00:00Z" }, now);
  assert.deepEqual(own, { name: undefined, from: Date.UTC(2026, 0, 1), to: Date.UTC(2026, 0, 2) });
  assert.deepEqual(readPeriod(periodSearch(own), now), own);
  assert.equal(periodQuery(own).time_of_generation_min, "2026-01-01T00:00:00.000Z");
  for (const search of [{}, { range: "toString" }, { from: "x" }, { from: "2026-02-01T00:00:00Z" }]) {
    assert.equal(readPeriod(search, now).name, "24h");
  }
});

test("toCsv() quotes what needs it, and makes no text a formula", () => {
  assert.equal(
    toCsv(
      ["a,b", "n"],
      [
        ['say "hi"\n', 1.5],
        ["=1+1", -2],
      ],
    ),
    '"a,b",n\r\n"say ""hi""\n",1.5\r\n\'=1+1,-2\r\n',
  );
});

test("readEvents() reads events, ids and comments in pieces of every size", async () => {
  const stream =
    'id: 1\n\n: wait\nid: 2\n\nevent: log\nid: 3\ndata: {"a":\ndata: "ü"}\n\nevent: error\r\ndata: no\r\n\r\n';
  const bytes = new TextEncoder().encode(stream);
  for (let size = 1; size < bytes.length; size += 3) {
    let at = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (at >= bytes.length) return controller.close();
        controller.enqueue(bytes.slice(at, at + size));
        at += size;
      },
    });
    assert.deepEqual(await Array.fromAsync(readEvents(new Response(body))), [
      { event: "message", data: undefined, id: "1" },
      { event: "message", data: undefined, id: "2" },
      { event: "log", data: '{"a":\n"ü"}', id: "3" },
      { event: "error", data: "no", id: undefined },
    ]);
  }
});

test("figures leave requests of the console out unless the address names them", () => {
  assert.equal(sourceOf({}), "gateway,custom,otel");
  assert.equal(sourceOf({ source: "console" }), "console");
  assert.deepEqual(toAnalyticsQuery({ source: "console", model: "m" }), { source: "console" });
  assert.deepEqual(suggest("source: Console", () => true)[0]?.adds, ["source", "console"]);
});

for (const [amounts, wanted] of [
  [
    [0.315, 1.24, 0.002558],
    ["$0.3150", "$1.2400", "$0.0026"],
  ],
  [
    [3.24, 35.97, 0],
    ["$3.24", "$35.97", "$0.00"],
  ],
  [
    [1e-9, 0.5],
    ["<$0.000001", "$0.500000"],
  ],
  [
    [12_345.678, 0.0001],
    ["$12,345.68", "<$0.01"],
  ],
  [
    [0, 0],
    ["$0.00", "$0.00"],
  ],
  [[], []],
] as const) {
  test(`dollarColumn() shows ${JSON.stringify(amounts)} with the same decimals`, () => {
    assert.deepEqual(amounts.map(dollarColumn(amounts)), wanted);
  });
}
