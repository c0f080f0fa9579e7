import { type ChatPiece, readChat } from "../../src/dialects/chat-reader.ts";
import { type Segment, type SegmentSink, Sequencer } from "../../src/dialects/sequence.ts";
import { GatewayError } from "../../src/errors.ts";
import { Budget, ExcessError } from "../../src/lib/budget.ts";
import { isObject, objectsIn } from "../../src/lib/json.ts";
import { createSchemaBudget, fitSchema } from "../../src/providers/core/fit-schema.ts";
import { findToolNames, restoreToolNames, sendToolNames } from "../../src/providers/core/tool-names.ts";
import { toResponseSchema } from "../../src/providers/google/response-schema.ts";
import { createSchemaBudget as createOpenapiBudget, toOpenapiSchema } from "../../src/providers/google/schema.ts";
import { CallIndexes } from "../../src/providers/shared/call-indexes.ts";
import type { ChatRequest } from "../../src/schemas/chat.ts";
import type { ParserCase } from "./parsers.ts";

const encoder = new TextEncoder();
const all = (...inputs: readonly string[]) => inputs.map((text) => encoder.encode(text));
const kibibyte = 1_024;
const refusals = [ExcessError, SyntaxError, TypeError];
const tokens = ["{", "}", "[", "]", '"', ",", ":", "[]", "{}", "null", "0", '""'];

const readJson = (input: Uint8Array): unknown =>
  new Budget({ source: "caller", what: "the input", bytes: 512 * kibibyte }).json(input);

const alternatives = Array.from({ length: 12 }, (_, index) => ({
  type: "object",
  properties: { kind: { const: `k${index}` }, [`p${index}`]: { type: "array" }, q: { $ref: "#/$defs/b" } },
  required: ["kind", `p${index}`],
}));
const schema = JSON.stringify({
  $defs: { a: { anyOf: [{ $ref: "#/$defs/b" }, ...alternatives] }, b: { allOf: [{ $ref: "#/$defs/a" }] } },
  oneOf: [{ $ref: "#/$defs/a" }, ...alternatives],
  allOf: [{ $ref: "#/$defs/b" }, { properties: { list: { type: ["array", "null"] } } }],
});
/** Types that refer to each other: expanded, they have no end. */
const typeNames = Array.from({ length: 12 }, (_, index) => `t${index}`);
const wideSchema = JSON.stringify({
  type: "object",
  $defs: Object.fromEntries(
    typeNames.map((name) => [
      name,
      { type: "object", properties: Object.fromEntries(typeNames.map((one) => [one, { $ref: `#/$defs/${one}` }])) },
    ]),
  ),
  properties: { root: { $ref: "#/$defs/t0" }, any: {}, mode: { enum: ["", "a"] }, both: { type: ["string", "array"] } },
});

const named = (name: string) => ({ type: "function", function: { name } });
const called = (id: string, name: string) => ({ id, ...named(name) });
const long = `mcp__${"server_".repeat(12)}__tool`;
const chat = JSON.stringify({
  model: "m",
  tools: [named("read.file"), named("read:file"), named(long), named("read_file")],
  tool_choice: named(long),
  messages: [
    { role: "user", content: "Hello" },
    { role: "assistant", content: null, tool_calls: [called("a", long), called("b", "läuft")] },
    { role: "tool", tool_call_id: "a", name: long, content: "x" },
  ],
});

const piece = (index: number | undefined, id: string | undefined, name: string | undefined, text: string) => ({
  ...(index !== undefined && { index }),
  ...(id !== undefined && { id }),
  function: { ...(name !== undefined && { name }), arguments: text },
});
const deltas = JSON.stringify([
  [piece(0, "a", "read", '{"p":'), piece(0, "b", "read", "{}")],
  [piece(0, undefined, undefined, '"x"}'), piece(undefined, undefined, "read", "")],
  [piece(7, "c", "", '{"a":{"b":[1,'), piece(-1, "a", "read", "]}}"), { index: null }, null],
]);
const chunks = JSON.stringify(
  [
    { content: "Hi" },
    { reasoning_content: "Hm" },
    { tool_calls: [piece(0, "a", "read", '{"p"'), piece(1, "b", "write", "{}")] },
    { content: " there" },
    { tool_calls: [piece(0, undefined, undefined, ":1}")] },
    {
      content_blocks: [
        { index: 0, delta: { thinking: "Hm", signature: "s" } },
        { index: 1, delta: { data: "x" } },
      ],
    },
  ].map((delta) => ({ choices: [{ index: 0, delta }] })),
);

/** A sink that counts what it is given. */
class Counter implements SegmentSink<number> {
  open(_segment: Segment): number[] {
    return [1];
  }
  add(_piece: ChatPiece): number[] {
    return [1];
  }
  close(): number[] {
    return [1];
  }
}

/** What fits chats to models and orders their responses: inputs are JSON whose size and structure are bounded. */
export const fittingCases: readonly ParserCase[] = [
  {
    name: "schemas of tools",
    isJson: true,
    seeds: all(schema),
    tokens: all(...tokens, '"anyOf":[', '"$ref":"#/$defs/a"', '"required":["q"]', '"type":"array"', '"const":1'),
    maxBytes: 256 * kibibyte,
    async parse(input) {
      const budget = createSchemaBudget();
      const value = readJson(input);
      if (isObject(value)) fitSchema(value, {}, budget);
      return budget;
    },
    refusals,
  },
  {
    name: "schemas of tools for Gemini",
    isJson: true,
    seeds: all(schema, wideSchema),
    tokens: all(
      ...tokens,
      '"anyOf":[',
      '"allOf":[',
      '"$ref":"#/$defs/a"',
      '"$ref":"#/$defs/t1"',
      '"type":["a","b"]',
      '"enum":[""]',
    ),
    maxBytes: 256 * kibibyte,
    async parse(input) {
      const budget = createOpenapiBudget();
      const value = readJson(input);
      if (isObject(value)) toOpenapiSchema(value, budget);
      return budget;
    },
    refusals: [...refusals, GatewayError],
  },
  {
    name: "schemas of responses for Gemini",
    isJson: true,
    seeds: all(schema, wideSchema),
    tokens: all(...tokens, '"allOf":[{"$ref":"#/definitions/a"}]', '"const":1', '"definitions":{', '"items":{'),
    maxBytes: 256 * kibibyte,
    async parse(input) {
      const value = readJson(input);
      if (isObject(value)) toResponseSchema(value);
      return undefined;
    },
    refusals,
  },
  {
    name: "names of functions",
    isJson: true,
    seeds: all(chat),
    tokens: all(...tokens, '"function":{"name":"', `${long}_`, '{"role":"assistant","tool_calls":[', "\\u0000"),
    maxBytes: 512 * kibibyte,
    async parse(input) {
      const value = readJson(input);
      if (!isObject(value)) return undefined;
      const messages = objectsIn(value.messages).map((message) => ({ ...message, role: String(message.role) }));
      const tools = objectsIn(value.tools).map((tool) => ({ ...tool, type: String(tool.type) }));
      const request: ChatRequest = { model: "m", messages, tools };
      const names = findToolNames(request, { length: 64, beginsWithLetter: true });
      if (!names) return undefined;
      const sent = sendToolNames(request, names);
      restoreToolNames({ choices: sent.messages.map((message) => ({ message })) }, names);
      return undefined;
    },
    refusals: [...refusals, GatewayError],
  },
  {
    name: "numbers of calls",
    isJson: true,
    seeds: all(deltas),
    tokens: all(...tokens, '{"index":0,"id":"a"},', '"arguments":"{"', '"id":"b"', '"index":1'),
    maxBytes: 512 * kibibyte,
    async parse(input) {
      const value = readJson(input);
      const indexes = new CallIndexes();
      for (const list of Array.isArray(value) ? value : []) if (Array.isArray(list)) indexes.settle(list);
      return undefined;
    },
    refusals,
  },
  {
    name: "pieces of responses",
    isJson: true,
    seeds: all(chunks),
    tokens: all(...tokens, '{"index":1,"function":{"arguments":"{"}},', '"content":"x"', '"signature":"s"'),
    maxBytes: 512 * kibibyte,
    async parse(input) {
      const value = readJson(input);
      const sequencer = new Sequencer(new Counter());
      for (const chunk of Array.isArray(value) ? value : []) {
        for (const one of readChat(chunk).pieces) sequencer.push(one);
      }
      sequencer.end();
      return undefined;
    },
    refusals,
  },
];
