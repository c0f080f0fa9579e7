import assert from "node:assert/strict";
import { test } from "node:test";
import { plainMessage } from "../../src/providers/openai-compatible/members.ts";
import { findMember, namesOf } from "../../src/providers/openai-compatible/scan.ts";
import { createChunkCorrector } from "../../src/providers/openai-compatible/stream.ts";

const encoder = new TextEncoder();
const wanted = namesOf(["reasoning"]);
const finds = (text: string): boolean => findMember(encoder.encode(text), wanted, "listed");

for (const [name, text, found] of [
  ["a field", 'data: {"reasoning":"a"}\n\n', true],
  ["a nested field after others", 'data: {"a":[{"b":{"c":1,"reasoning" : null}}]}\n\n', true],
  ["a field of the second event", 'data: {"a":1}\n\ndata: {"reasoning":1}\n\n', true],
  ["a field after escaped quotes and backslashes", '{"a":"\\"","b":"\\\\","c":"\\\\\\"","reasoning":1}', true],
  ["a field after a comment with a quote", ': it said "\ndata: {"reasoning":1}\n\n', true],
  ["a field after a comment, with CRLF line endings", ': "\r\ndata: {"reasoning":1}\r\n\r\n', true],
  ["a longer name", '{"reasoning_content":1}', false],
  ["a shorter name", '{"reason":1}', false],
  ["a text", '{"a":"reasoning","b":["reasoning"]}', false],
  ["a field name inside a string", '{"arguments":"{\\"reasoning\\":1}"}', false],
  ["a string that ends with a backslash before a colon", '{"a":"\\\\\\"reasoning\\":"}', false],
  ["a truncated name", '{"a":1,"reasoni', false],
  ["no text at all", ": keep-alive\n\n", false],
  ["nothing", "", false],
] as const) {
  test(`findMember() ${found ? "finds" : "does not find"} ${name}`, () => assert.equal(finds(text), found));
}

test("findMember() distinguishes names by all of their bytes", () => {
  const known = namesOf(["content", "role", "index"]);
  const others = (text: string) => findMember(encoder.encode(text), known, "other");
  assert.equal(others('data: {"content":"a","role":"b","index":0}\n\n'), false);
  for (const name of ["cantent", "contant", "rale", "indax", "", "c", "contentcontent", 'x"content', "nt"]) {
    assert.equal(others(JSON.stringify({ content: 1, [name]: 1 })), true, name);
  }
});

/** Names of all fields in a value. */
function namesIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  const own = Array.isArray(value) ? [] : Object.keys(value);
  return [...own, ...Object.values(value).flatMap(namesIn)];
}

test("findMember() sees exactly the names of fields, whatever strings contain", () => {
  const texts = ['"', "\\", '\\"', '":', '"a":', "reasoning", '{"reasoning":1}', "é☂", "\n", ""];
  const names = ["a", "reasoning", 'rea"soning', "b\\", "é"];
  let seed = 7;
  const pick = <Item>(items: readonly Item[]): Item => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return items[Math.floor((seed / 2_147_483_648) * items.length)] as Item; // the index is in range
  };
  const grow = (depth: number): unknown => {
    if (depth === 0) return pick<unknown>([...texts, 1, null]);
    if (pick([true, false])) return [grow(depth - 1), grow(depth - 1)];
    return Object.fromEntries([pick(names), pick(names)].map((name) => [name, grow(depth - 1)]));
  };
  let found = 0;
  for (let round = 0; round < 2_000; round++) {
    const value = grow(round % 4);
    const has = namesIn(value).includes("reasoning");
    if (has) found++;
    assert.equal(finds(`data: ${JSON.stringify(value)}\n\n`), has, JSON.stringify(value));
  }
  assert.ok(found > 200 && found < 1_800, `both happen: ${found}`);
});

const head = { id: "fx-1", object: "chat.completion.chunk", created: 1, model: "m", system_fingerprint: null };
const chunkOf = (delta: object, choice: object = {}, rest: object = {}) => ({
  ...head,
  choices: [{ index: 0, delta, logprobs: null, finish_reason: null, ...choice }],
  usage: null,
  ...rest,
});

function concernedBy(chunk: object, strict: boolean): boolean {
  const corrector = createChunkCorrector(
    { slug: "tested", kind: "chat", calledMembers: plainMessage },
    { strict, drop: assert.fail },
  );
  const first = chunkOf({ role: "assistant", content: "" });
  assert.equal(corrector.concerns(encoder.encode(`data: ${JSON.stringify(first)}\n\n`)), true, "the first chunk");
  assert.equal(corrector.correct(first), first, "which is right");
  return corrector.concerns(encoder.encode(`data: ${JSON.stringify(chunk)}\n\n`));
}

const token = { token: "a", logprob: -1, bytes: [97] };
for (const [name, chunk, strict, lax] of [
  ["text", chunkOf({ content: 'says "reasoning": "no"' }), false, false],
  ["a refusal", chunkOf({ refusal: "no" }), false, false],
  [
    "calls",
    chunkOf({
      tool_calls: [
        { index: 0, id: "c", type: "function", function: { name: "f", arguments: '{"reasoning":1}' } },
        { index: 1, id: "d", type: "custom", custom: { name: "g", input: "" } },
      ],
    }),
    // some hosts give every call the same index
    true,
    true,
  ],
  [
    "probabilities",
    chunkOf({ content: "a" }, { logprobs: { content: [{ ...token, top_logprobs: [token] }], refusal: null } }),
    false,
    false,
  ],
  ["sound", chunkOf({ audio: { id: "a", data: "", expires_at: 1, transcript: "b" } }), false, false],
  ["filling", chunkOf({ content: "a" }, {}, { obfuscation: "xyz", service_tier: "default" }), false, false],
  ["thoughts", chunkOf({ reasoning: "a" }), true, true],
  ["thinking turned off", chunkOf({ content: "a", reasoning_content: null }), true, true],
  ["extra fields of the server", chunkOf({ content: "a" }, { stop_reason: null }), true, false],
  ["extra fields of the provider", chunkOf({ content: "a" }, {}, { citations: [] }), true, false],
] as const) {
  test(`chunks with ${name} ${strict ? "may need" : "need no"} correction in strict responses`, () => {
    assert.deepEqual([concernedBy(chunk, true), concernedBy(chunk, false)], [strict, lax]);
  });
}

test("chunks with a field whose name has the 30-bit FNV-1a hash of a plain one need correction", () => {
  // "ltpqvi" and "refusal" have the same hash
  assert.equal(concernedBy(chunkOf({ content: "a", ltpqvi: 1 }), true), true);
});
