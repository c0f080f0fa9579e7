import assert from "node:assert/strict";
import { before, test } from "node:test";
import type { Body } from "../../src/guardrails/types.ts";
import { chatRequest, checks, guard, prepareGuard, type Seen } from "../support/guardrails.ts";
import { requireListed } from "../support/listed.ts";
import { measureGap } from "../support/loop-gap.ts";
import { sample } from "../support/sample.ts";

/** Milliseconds of processor time that one piece of work may hold the loop. */
const limitMs = 50;
const mebibyte = 1024 * 1024;

const repeat = (text: string): string => text.repeat(Math.floor(mebibyte / text.length));
const as = "a".repeat(mebibyte);
const words = Array.from({ length: 10_000 }, (_, index) => `word ${index}`);
const names = Array.from({ length: 20_000 }, (_, index) => `name-${index}`);
const tools = Array.from({ length: 60_000 }, (_, index) => ({ type: "function", function: { name: `f${index}` } }));
const schema = {
  type: "object",
  properties: {
    a: { $ref: "#" },
    list: { items: { anyOf: [{ pattern: "^(a|b)*c$" }, { enum: words.slice(0, 500) }] } },
  },
  additionalProperties: { uniqueItems: true, items: { type: "string", format: "uri", maxLength: 20 } },
};
const long = "^[ab]*a[ab]{999}[cd]$";

/** Requests that name much. */
const withTools: Body = { ...chatRequest("hello"), tools, temperature: names };
const withImages: Body = {
  model: "m",
  messages: Array.from({ length: 20_000 }, () => ({ role: "user", content: [{ type: "image_url" }] })),
};

type Case = readonly [parameters: object, seen: Seen];
const input = (text: string): Seen => ({ text });
const output = (text: string): Seen => ({ text, answers: true });
const jsonTexts = [
  repeat('{"a":'),
  repeat("{"),
  repeat('{"'),
  repeat("{} "),
  repeat("```\n{\n```\n"),
  repeat("~~~\n[]\n"),
  `{"list":[${repeat('"aaaaaaaaaaaaaaaa",')}"a"]}`,
  `{"b":[${repeat('"aaaaaaaaaaaaaaaa",')}"a"]}`,
  `{"x":"${"y".repeat(900_000)}`,
];

/** For each check, what takes it longest. */
const cases: Readonly<Record<string, readonly Case[]>> = {
  "default.contains": [
    [{ words, operator: "none" }, input(as)],
    [{ words: [`${"a".repeat(500)}b${"a".repeat(499)}`, `b${"a".repeat(30)}`, `${"a".repeat(30)}b`] }, input(as)],
    [{ words: [`${as.slice(1)}b`] }, input(as)],
  ],
  "default.regexMatch": [
    [{ rule: "^(([a-z]+)\\s?)+$" }, input(as)],
    [{ rule: "(a+)+$" }, input(`${as.slice(1)}b`)],
    [{ rule: long }, input(as)],
    [{ rule: "^(?:(a?)(a?)(a?)(a?)(a?)(a?)(a?)(a?)(a?)(a?)(a?)(a?)(a?)(a?)(a?)(a?))*$" }, input(as)],
    [{ rule: "(?i)[\\pL\\pN]*[^\\pL]\\x{1F600}" }, input("é".repeat(mebibyte))],
  ],
  "default.regexReplace": [
    [{ rule: "/a.*b|a/g" }, input(as)],
    [{ rule: "/./g", redactText: "" }, input(as)],
  ],
  "default.sentenceCount": [[{ minSentences: 1, maxSentences: 2 }, input(repeat("."))]],
  "default.wordCount": [[{ minWords: 1 }, input(repeat("a "))]],
  "default.characterCount": [[{ minCharacters: 1 }, input(as)]],
  "default.endsWith": [[{ suffix: as }, input(as)]],
  "default.alluppercase": [[{}, input(repeat("A"))]],
  "default.alllowercase": [[{}, input(as)]],
  "default.containsCode": [
    [{ format: "SQL" }, output(repeat("```a\n"))],
    [{ format: "SQL" }, output(repeat("~~~\n"))],
  ],
  "default.jsonSchema": jsonTexts.map((text): Case => [{ schema }, output(text)]),
  "default.jsonKeys": jsonTexts.map((text): Case => [{ keys: words, operator: "all" }, output(text)]),
  "default.notNull": [[{}, output(repeat(" "))]],
  "default.validUrls": [[{}, output(Array.from({ length: 40_000 }, (_, index) => `http://[${index}`).join(" "))]],
  "default.addPrefix": [
    [
      { prefix: "x".repeat(1_000) },
      { requestType: "complete", request: { model: "m", prompt: Array(100_000).fill("") } },
    ],
  ],
  "default.modelwhitelist": [[{ models: names }, { request: { ...chatRequest("a"), model: as } }]],
  "default.modelRules": [
    [
      { rules: { defaults: Array(2_000).fill(`${"a*".repeat(200)}b`) } },
      { request: { ...chatRequest("a"), model: as } },
    ],
  ],
  "default.allowedRequestTypes": [[{ allowedTypes: Array(1_000).fill("embed") }, input("a")]],
  "default.requiredMetadataKeys": [[{ metadataKeys: names }, input("a")]],
  "default.requiredMetadataKeyPairs": [
    [
      { metadataPairs: { a: [long] }, matchType: "regex" },
      { text: "a", metadata: { a: Array(40).fill("ab".repeat(8_000)) } },
    ],
    [
      { metadataPairs: { a: names }, matchType: "containsAll" },
      { text: "a", metadata: { a: names } },
    ],
  ],
  "default.requestParametersCheck": [
    [
      {
        tools: { allowedFunctionNames: names, blockedTypes: names },
        params: { blockedKeys: names, values: { temperature: { blockedValues: names.map((name) => `${name}!`) } } },
      },
      { request: withTools },
    ],
  ],
  "default.inlineImageUrls": [[{}, { request: withImages }]],
  "default.jwt": [
    [
      { jwks: { keys: [] }, claimValues: { a: { values: [long], matchType: "regex" } } },
      { text: "a", headers: { authorization: `Bearer ${"e".repeat(16_000)}.${"e".repeat(300)}.a` } },
    ],
  ],
  "default.webhook": [[{ webhookURL: "http://127.0.0.1:1/", timeout: 100 }, input(as)]],
  "default.secrets": [
    [{}, input(repeat("-eyJ"))],
    [{ redact: true }, input(repeat("-----BEGIN PRIVATE KEY-----"))],
  ],
  "gateway.pii": [
    [{}, input(repeat("4111 "))],
    [{}, input(repeat("a:"))],
  ],
  "gateway.language": [[{ language: "en" }, input(repeat("word "))]],
  "default.log": [[{ logURL: "http://127.0.0.1:1/", timeout: 100 }, input(as)]],
};

// the package is loaded once, which is not the work of a request
before(() => guard([{ "gateway.language": { language: "en" } }], input("the words")));

test("each check there is has something that takes it long", () => {
  assert.ok(checks instanceof Map);
  // checks of partners wait for their services, these two for a model
  const asking = new Set(["gateway.gibberish", "gateway.moderateContent"]);
  const own = [...checks.values()].filter(({ id, partner }) => partner === undefined && !asking.has(id));
  const ids = new Set(own.map(({ id }) => id));
  requireListed(ids, Object.keys(cases), "cases, what takes a check longest,");
});

for (const [id, list] of Object.entries(cases)) {
  for (const [index, [parameters, seen]] of sample([...list.entries()], 3)) {
    test(`${id} takes turns with everything else: case ${index + 1}`, async () => {
      const check = { id, parameters };
      const hooks = [{ checks: Array(5).fill(check) }];
      const { gapMs, result } = await measureGap(prepareGuard(hooks, seen), limitMs / 2);
      assert.ok(gapMs < limitMs, `the loop was held for ${Math.round(gapMs)} ms`);
      assert.ok(result.results.length <= 1);
    });
  }
}

test("patterns of six requests at once take turns with everything else", async () => {
  const hooks = [{ checks: [{ id: "regexMatch", parameters: { rule: "(a+)+$" } }] }];
  const run = () => Promise.all(Array.from({ length: 6 }, () => guard(hooks, { text: `${as.slice(1)}b` })));
  const { gapMs, result } = await measureGap(run, limitMs / 2);
  assert.ok(gapMs < limitMs, `the loop was held for ${Math.round(gapMs)} ms`);
  assert.equal(result.length, 6);
});

test("a short check does not wait for all long ones before it", async () => {
  const slow = [{ checks: [{ id: "regexMatch", parameters: { rule: long } }] }];
  const quick = [{ checks: [{ id: "regexMatch", parameters: { rule: "b" } }] }];
  let over = 0;
  const running = Array.from({ length: 10 }, () => guard(slow, { text: as }).then(() => over++));
  await guard(quick, { text: "abc" });
  assert.equal(over, 0);
  await Promise.all(running);
});
