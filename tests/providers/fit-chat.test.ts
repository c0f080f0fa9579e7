import assert from "node:assert/strict";
import { test } from "node:test";
import { ExcessError } from "../../src/lib/budget.ts";
import { fitAdapter, fitChat } from "../../src/providers/core/fit-chat.ts";
import { readCallArguments } from "../../src/providers/core/fit-messages.ts";
import { createFactReader, nearestEffort } from "../../src/providers/core/model-facts.ts";
import { findToolNames, restoreToolNames, sendToolNames } from "../../src/providers/core/tool-names.ts";
import type { ChatRequest } from "../../src/schemas/chat.ts";
import type { EffortLevel } from "../../src/schemas/model-facts.ts";

const user = { role: "user", content: "Hello" };

/** A fitted chat, and what was reported as left out. */
function fit(request: Partial<ChatRequest>, facts: Parameters<typeof fitChat>[1]) {
  const dropped: string[] = [];
  const fitted = fitChat({ model: "m", messages: [user], ...request }, facts, {
    strict: true,
    drop: (member) => dropped.push(member),
  });
  const names = findToolNames(fitted, { length: facts.toolNameLength ?? 64, beginsWithLetter: false });
  return { request: names ? sendToolNames(fitted, names) : fitted, names, dropped };
}

for (const [asked, levels, wanted] of [
  ["xhigh", ["low", "medium", "high"], "high"],
  ["max", ["none", "low", "medium", "high", "xhigh"], "xhigh"],
  ["minimal", ["low", "high"], "low"],
  ["none", ["low", "medium", "high"], "low"],
  ["none", ["none", "high"], "none"],
  ["low", ["none", "high"], "high"],
  ["high", [], undefined],
] as const satisfies readonly [EffortLevel, readonly EffortLevel[], EffortLevel | undefined][]) {
  test(`nearestEffort() finds ${wanted} for ${asked} among ${levels.join(", ") || "nothing"}`, () => {
    assert.equal(nearestEffort(asked, levels), wanted);
  });
}

test("names that no row matches count as the newest generation", () => {
  const read = createFactReader({
    read: "2026-01-01",
    sources: [],
    common: { toolNameLength: 64 },
    newest: { sampling: "none" },
    rows: [{ match: ["*claude-3*"], facts: { sampling: "one" } }],
  });
  assert.deepEqual(read("anthropic.Claude-3-haiku-v1:0"), { toolNameLength: 64, sampling: "one" });
  assert.deepEqual(read("claude-next-9"), { toolNameLength: 64, sampling: "none" });
  // a custom host may serve any model under any name
  assert.deepEqual(read("claude-next-9", { hasCustomHost: true }), { toolNameLength: 64 });
  assert.deepEqual(read("claude-3-haiku", { hasCustomHost: true }), { toolNameLength: 64, sampling: "one" });
});

test("sampling that a model does not take is left out and reported; a default is left out alone", () => {
  const { request, dropped } = fit({ temperature: 0.2, top_p: 1 }, { sampling: "none" });
  assert.deepEqual([request.temperature, request.top_p, dropped], [undefined, undefined, ["temperature"]]);
  const one = fit({ temperature: 0.2, top_p: 0.5 }, { sampling: "one" });
  assert.deepEqual([one.request.temperature, one.request.top_p, one.dropped], [0.2, undefined, ["top_p"]]);
});

test("an effort becomes the nearest level and is reported", () => {
  const { request, dropped } = fit({ reasoning_effort: "max" }, { efforts: ["low", "high"] });
  assert.deepEqual([request.reasoning_effort, dropped], ["high", ["reasoning_effort"]]);
  assert.equal(fit({ reasoning_effort: "low" }, { efforts: [] }).request.reasoning_effort, undefined);
});

const long = `mcp__server__${"tool".repeat(20)}`;
const declared = (name: string, parameters: object = { type: "object" }) => ({
  type: "function",
  function: { name, parameters },
});

test("long names of functions are shortened alike in every turn, and restored", () => {
  const call = { id: "call_1", type: "function", function: { name: long, arguments: "{}" } };
  const messages = [user, { role: "assistant", content: null, tool_calls: [call] }];
  const first = fit({ tools: [declared(long), declared("short")] }, {});
  const second = fit({ tools: [declared(long), declared("short")], messages }, {});
  assert.deepEqual(first.request.tools, second.request.tools);
  const sent = JSON.stringify(second.request);
  assert.ok(!sent.includes(long));
  assert.ok(second.names);
  const [name = ""] = second.names.received.keys();
  assert.ok(name.length <= 64 && sent.includes(name));
  const answer = { choices: [{ message: { tool_calls: [{ function: { name, arguments: "{}" } }] } }] };
  assert.ok(JSON.stringify(restoreToolNames(answer, second.names)).includes(long));
  assert.deepEqual(first.dropped, []);
});

test("a choice that names a function follows its name", () => {
  const named = { type: "function", function: { name: long } };
  const { request, names } = fit({ tools: [declared(long)], tool_choice: named }, {});
  const [name] = names?.received.keys() ?? [];
  assert.deepEqual(request.tool_choice, { type: "function", function: { name } });
});

test("names with foreign letters become plain ones that differ from each other", () => {
  const { names } = fit({ tools: [declared("read.file"), declared("read:file")] }, {});
  assert.equal(names?.received.size, 2);
  for (const name of names?.received.keys() ?? []) assert.match(name, /^[a-zA-Z0-9_-]+$/);
});

test("alternatives at the root of a schema become one object, and lists get items", () => {
  const schema = {
    anyOf: [
      { properties: { query: { type: "string" }, kind: { const: "a" } }, required: ["query", "kind"] },
      { $ref: "#/$defs/page" },
    ],
    $defs: {
      page: { type: "object", properties: { page: { type: "array" }, kind: { const: "b" } }, required: ["kind"] },
    },
  };
  const { request } = fit({ tools: [declared("search", schema)] }, {});
  const properties = { query: { type: "string" }, kind: { enum: ["a", "b"] }, page: { type: "array", items: {} } };
  const { $defs } = schema;
  const page = { ...$defs.page, properties: { ...$defs.page.properties, page: { type: "array", items: {} } } };
  const folded = { $defs: { page }, type: "object", properties, required: ["kind"] };
  assert.deepEqual(request.tools, [declared("search", folded)]);
});

/** A schema whose definitions name the next one twice. */
function doubled(levels: number): object {
  const $defs: Record<string, object> = {};
  for (let level = 0; level < levels; level++) {
    const next = { $ref: `#/$defs/d${level + 1}` };
    $defs[`d${level}`] = { allOf: [next, next], properties: { [`p${level}`]: { type: "string" } } };
  }
  return { allOf: [{ $ref: "#/$defs/d0" }], $defs };
}

test("a schema is folded once however many references lead to it, and one that refers to itself ends", () => {
  const { request } = fit({ tools: [declared("deep", doubled(30))] }, {});
  const made = JSON.stringify(request.tools?.[0]);
  // in its definition and at the root
  assert.equal(made.split('"p29":').length, 3);
  const $defs = { self: { allOf: [{ $ref: "#/$defs/self" }], properties: { a: { type: "string" } }, required: ["a"] } };
  const own = fit({ tools: [declared("own", { anyOf: [{ $ref: "#/$defs/self" }], $defs })] }, {});
  const properties = { a: { type: "string" } };
  assert.deepEqual(own.request.tools, [declared("own", { type: "object", $defs, properties, required: ["a"] })]);
});

test("definitions in definitions of the same name come to an end", () => {
  let nested: object = { type: "object", properties: { last: { type: "string" } } };
  for (let level = 0; level < 28; level++) {
    nested = { allOf: [{ $ref: "#/$defs/a" }, { $ref: "#/$defs/a" }], $defs: { a: nested } };
  }
  assert.equal(fit({ tools: [declared("deep", nested)] }, {}).request.tools?.length, 1);
});

test("many alternatives of one property are joined in one pass, and too many of them are refused", () => {
  const many = <Item>(count: number, of: (index: number) => Item) =>
    Array.from({ length: count }, (_, index) => of(index));
  const constants = many(40_000, (index) => ({ properties: { kind: { const: index } } }));
  const { request } = fit({ tools: [declared("kinds", { oneOf: constants })] }, {});
  const kind = { enum: constants.map((_, index) => index) };
  assert.deepEqual(request.tools, [declared("kinds", { type: "object", properties: { kind } })]);
  const names = (letter: string) => ({ required: many(50_000, (index) => `${letter}${index}`) });
  const apart = fit({ tools: [declared("names", { anyOf: [names("a"), names("b")] })] }, {});
  assert.ok(!JSON.stringify(apart.request.tools).includes("required"));
  const $defs = { wide: { required: names("a").required } };
  const all = many(20_000, () => ({ $ref: "#/$defs/wide" }));
  assert.throws(() => fit({ tools: [declared("wide", { anyOf: all, $defs })] }, {}), ExcessError);
  const description = "d".repeat(500_000);
  const large = many(40, (minLength) => ({ properties: { text: { minLength, description } } }));
  assert.throws(() => fit({ tools: [declared("large", { anyOf: large })] }, {}), ExcessError);
});

test("a property named __proto__ stays a property", () => {
  const schema = JSON.parse('{"oneOf":[{"type":"object","properties":{"__proto__":{"type":"string"}}}]}');
  const { request } = fit({ tools: [declared("odd", schema)] }, {});
  assert.ok(JSON.stringify(request.tools).includes('"__proto__"'));
  assert.equal(Reflect.get({}, "type"), undefined);
});

test("ids of calls and results become nine letters and digits that belong together", () => {
  const call = { id: "toolu_01ABC", type: "function", function: { name: "read", arguments: "{}" } };
  const messages = [
    user,
    { role: "assistant", content: null, tool_calls: [call] },
    { role: "tool", tool_call_id: "toolu_01ABC", content: "done" },
  ];
  const { request } = fit({ messages }, { callIds: "nine" });
  const id = String(request.messages[2]?.tool_call_id);
  assert.match(id, /^[a-zA-Z0-9]{9}$/);
  assert.deepEqual(request.messages[1]?.tool_calls, [{ ...call, id }]);
});

test("an instruction in mid conversation stays at its place as the user's", () => {
  const messages = [{ role: "system", content: "First" }, user, { role: "developer", content: "Later" }];
  const { request } = fit({ messages }, { lateInstructions: "user" });
  assert.deepEqual(
    request.messages.map(({ role }) => role),
    ["system", "user", "user"],
  );
});

test("broken arguments of an earlier call are sent in a member and reported", () => {
  const dropped: string[] = [];
  const options = { drop: (member: string) => void dropped.push(member) };
  assert.deepEqual(readCallArguments('{"path": "unfin', options), { invalid_arguments: '{"path": "unfin' });
  assert.deepEqual(readCallArguments("", options), {});
  assert.deepEqual(dropped, ["messages.tool_calls.arguments"]);
});

test("users and answers alternate where a template demands it, with nothing lost", () => {
  const call = { id: "call_1", type: "function", function: { name: "read", arguments: "{}" } } as const;
  const { request } = fit(
    {
      messages: [
        { role: "system", content: "Brief." },
        { role: "user", content: "One" },
        { role: "system", content: "Note" },
        { role: "assistant", content: null, tool_calls: [call] },
        { role: "tool", tool_call_id: "call_1", content: "Six." },
        { role: "user", content: [{ type: "text", text: "Two" }] },
        { role: "user", content: "Three" },
      ],
    },
    { lateInstructions: "user", alternatesRoles: true },
  );
  assert.deepEqual(request.messages, [
    { role: "system", content: "Brief." },
    { role: "user", content: "One\n\nNote" },
    { role: "assistant", content: null, tool_calls: [call] },
    { role: "tool", tool_call_id: "call_1", content: "Six." },
    { role: "assistant", content: "" },
    {
      role: "user",
      content: "Two\n\nThree",
    },
  ]);
});

test("calls of earlier turns get a blank where an empty reasoning is refused", () => {
  const call = { id: "call_1", type: "function", function: { name: "read", arguments: "{}" } } as const;
  const bare = { role: "assistant", content: null, tool_calls: [call] };
  for (const given of [bare, { ...bare, reasoning_content: "" }]) {
    const { request } = fit({ messages: [user, given] }, { needsReasoningOfCalls: true, refusesEmptyReasoning: true });
    assert.deepEqual(request.messages[1], { ...bare, reasoning_content: " " });
  }
});

test("names of functions are computed once for a target, however many conversions it has", () => {
  const long = `mcp__${"long_".repeat(20)}`;
  let reads = 0;
  const tools = [
    {
      type: "function",
      function: {
        get name() {
          reads++;
          return long;
        },
      },
    },
  ];
  const adapter = fitAdapter(
    { path: () => "/chat", toUpstream: () => ({}), fromUpstream: () => undefined, chunkCorrector: () => undefined },
    { factsOf: () => ({}), isNative: false },
  );
  const request = { model: "m", messages: [user], tools };
  const options = { strict: true, drop: () => {} };
  adapter.fromUpstream?.({ choices: [] }, request, options);
  const once = reads;
  assert.ok(once > 0);
  adapter.fromUpstream?.({ choices: [] }, request, options);
  adapter.chunkCorrector?.(request, options);
  adapter.streamMapper?.(request, options);
  assert.equal(reads, once);
  // another target may serve the same request
  adapter.fromUpstream?.({ choices: [] }, request, { ...options });
  assert.equal(reads, 2 * once);
});

test("a name that is too long for any host is refused, wherever it stands", () => {
  const name = "n".repeat(1_025);
  const tools = [declared("a"), declared(name)];
  assert.throws(() => fit({ tools }, {}), { param: "tools.1.function.name" });
  assert.equal(fit({ tools: [declared("n".repeat(1_024))] }, {}).names?.sent.size, 1);
});
