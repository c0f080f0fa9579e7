import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Pattern } from "../../src/lib/wildcards.ts";
import { type Conditional, ConditionIndex } from "../../src/policies/condition-index.ts";
import { bucketOf, type Condition, type Subject } from "../../src/policies/conditions.ts";
import { overflowBucket } from "../../src/policies/limit-store.ts";

const subject: Subject = {
  organisationId: "org-1",
  workspaceId: "workspace-1",
  workspaceSlug: "team",
  apiKey: "key-1",
  virtualKey: "prod",
  provider: "openai",
  config: "main",
  prompt: null,
  models: [["gpt-4o"], ["gpt-4o-2024-08-06", "models/gpt-4o-2024-08-06"]],
  endpointType: "chatComplete",
  metadata: { _user: "alice", env: "test" },
};

const applies = (conditions: Condition[], to: Subject = subject): boolean =>
  new ConditionIndex([{ conditions }]).find(to).length === 1;

for (const [pattern, value, wanted] of [
  ["abc", "abc", true],
  ["abc", "abcd", false],
  ["*", "anything", true],
  ["a*", "a", true],
  ["a*a", "a", false],
  ["a*b*c", "a-b-b-c", true],
  ["a*b*c", "a-c", false],
  ["*gpt*", "openai/gpt-4o", true],
  ["a**c", "abc", true],
] as const) {
  test(`Pattern.fits() says ${wanted} of ${value} and the pattern ${pattern}`, () =>
    assert.equal(new Pattern(pattern).fits(value), wanted));
}

/** Whether a value fits a pattern, by a regular expression. */
function fitsRegex(pattern: string, value: string): boolean {
  const parts = pattern.split(/\*+/).map((part) => part.replaceAll(/[^\w]/g, String.raw`\$&`));
  return new RegExp(`^${parts.join("[^]*")}$`).test(value);
}

test("Pattern.fits() agrees with a regular expression on random patterns", () => {
  const letters = (text: string, maxLength: number) => fc.string({ unit: fc.constantFrom(...text), maxLength });
  fc.assert(
    fc.property(letters("ab*", 8), letters("ab", 8), (pattern, value) => {
      assert.equal(new Pattern(pattern).fits(value), fitsRegex(pattern, value));
    }),
  );
  // long parts are searched in another way
  const long = fc.tuple(letters("ab", 3), letters("ab", 3), fc.nat(40)).map(([one, two, n]) => one.repeat(n) + two);
  fc.assert(
    fc.property(fc.array(long, { maxLength: 4 }), fc.array(long, { maxLength: 4 }), (parts, pieces) => {
      const [pattern, value] = [parts.join("*"), pieces.join("")];
      assert.equal(new Pattern(pattern).fits(value), fitsRegex(pattern, value));
      assert.ok(new Pattern(`*${parts.join("*")}*`).fits(parts.join("b")));
    }),
  );
});

for (const [what, conditions, wanted] of [
  ["a workspace by id", [{ key: "workspace_id", value: "workspace-1" }], true],
  ["a workspace by slug", [{ key: "workspace_id", value: "team" }], true],
  ["another workspace", [{ key: "workspace_id", value: "workspace-2" }], false],
  ["one of several keys", [{ key: "api_key", value: ["key-0", "key-1"] }], true],
  ["any virtual key", [{ key: "virtual_key", value: "*" }], true],
  ["any prompt of a request without one", [{ key: "prompt", value: "*" }], false],
  ["the requested model", [{ key: "model", value: "gpt-4o" }], true],
  ["the model that the provider calls", [{ key: "model", value: "gpt-4o-2024-08-06" }], true],
  ["every model of a provider", [{ key: "model", value: "@prod/*" }], true],
  ["every model of another provider", [{ key: "model", value: "@dev/*" }], false],
  ["metadata", [{ key: "metadata._user", value: "alice" }], true],
  ["metadata the request lacks", [{ key: "metadata.team", value: "*" }], false],
  ["metadata of the prototype", [{ key: "metadata.toString", value: "*" }], false],
  ["an unknown key", [{ key: "constructor", value: "*" }], false],
  ["all but the models it names", [{ key: "model", value: "*", excludes: ["gpt-4o", "*/gpt-4o-2024-08-06"] }], false],
  ["all but one of the models it names", [{ key: "model", value: "*", excludes: "gpt-4o" }], true],
  ["a model in other letters", [{ key: "model", value: " GPT-4o" }], true],
  ["a model with its path", [{ key: "model", value: "models/gpt-4o-*" }], true],
  ["all but another model", [{ key: "model", value: "*", excludes: ["claude-*"] }], true],
  [
    "two conditions of which one fails",
    [
      { key: "provider", value: "openai" },
      { key: "metadata.env", value: "prod" },
    ],
    false,
  ],
] as const satisfies [string, Condition[], boolean][]) {
  test(`ConditionIndex ${wanted ? "finds" : "leaves out"} what applies to ${what}`, () =>
    assert.equal(applies([...conditions]), wanted));
}

/** One letter as one character, and composed of two. */
const [composed, decomposed] = ["\u00e9", "e\u0301"];

for (const [what, condition, metadata] of [
  ["a value", { key: "metadata.name", value: composed }, { name: decomposed }],
  ["a stored value", { key: "metadata.name", value: decomposed }, { name: composed }],
  ["a pattern", { key: "metadata.name", value: `*${composed}*` }, { name: `caf${decomposed}s` }],
  ["a name", { key: `metadata.${composed}`, value: "a" }, { [decomposed]: "a" }],
  ["a stored name", { key: `metadata.${decomposed}`, value: "a" }, { [composed]: "a" }],
] as const) {
  test(`ConditionIndex compares ${what} of the metadata in either composition`, () => {
    assert.equal(applies([condition], { ...subject, metadata }), true);
    const excluding = { key: condition.key, value: "*", excludes: condition.value };
    assert.equal(applies([excluding], { ...subject, metadata }), false);
    const [bucket, other] = [composed, decomposed].map((name) =>
      bucketOf([{ key: condition.key }], { ...subject, metadata: { name, [composed]: name } }),
    );
    assert.equal(bucket, other);
  });
}

test("ConditionIndex finds what may apply to a request that may name any model", () => {
  const unclear: Subject = { ...subject, models: undefined };
  const model = { key: "model", value: ["gpt-4o", "o3"] };
  assert.equal(applies([model], unclear), true);
  assert.equal(
    applies(
      [
        { ...model, excludes: "*" },
        { key: "api_key", value: "key-1" },
      ],
      unclear,
    ),
    true,
  );
  assert.equal(applies([model, { key: "provider", value: "anthropic" }], unclear), false);
  const counted = { conditions: [{ key: "provider", value: "openai" }], groupBy: [{ key: "model" }] };
  assert.deepEqual(
    [[counted], [{ conditions: [model] }], []].map((all) => new ConditionIndex<Conditional>(all).looksAtModels),
    [true, true, false],
  );
});

const toList = (value: string | readonly string[]) => (typeof value === "string" ? [value] : value);

/** Whether a condition on one of these keys holds, without an index. */
function holds({ key, value, excludes }: Condition, { provider, models, virtualKey, metadata }: Subject): boolean {
  if (key === "model" && models === undefined) return true;
  const named = (models ?? []).map((names) =>
    names.flatMap((name) => (virtualKey === null ? [name] : [name, `@${virtualKey}/${name}`])),
  );
  const ofMetadata = metadata.x === undefined ? [] : [[metadata.x]];
  const values = { provider: [[provider]], model: named, "metadata.x": ofMetadata }[key] ?? [];
  const isOneOf = (patterns: string | readonly string[]) => (text: string) =>
    toList(patterns).some((pattern) => fitsRegex(pattern, text));
  const excluded = excludes == null ? () => false : isOneOf(excludes);
  return values.some((spellings) => spellings.some(isOneOf(value)) && !spellings.some(excluded));
}

test("ConditionIndex finds what a look at every entry finds, and again for the same request", () => {
  const value = fc.constantFrom("a", "b", "a*", "*a", "*", "a*b", "*b*", "ab*a", "@v/a*", "*/b");
  const values = fc.oneof(value, fc.array(value, { minLength: 1, maxLength: 3 }));
  const condition = fc.record({
    key: fc.constantFrom("provider", "model", "metadata.x"),
    value: values,
    excludes: fc.option(values, { nil: null, freq: 3 }),
  });
  const entry = fc.record({ conditions: fc.array(condition, { minLength: 1, maxLength: 3 }) });
  const text = fc.constantFrom("a", "b", "ab", "aab", "abab", "c");
  const request = fc.record({
    provider: text,
    models: fc.option(fc.array(fc.array(text, { minLength: 1, maxLength: 2 }), { maxLength: 2 }), { nil: undefined }),
    virtualKey: fc.constantFrom("v", null),
    metadata: fc.oneof(fc.constant({}), fc.record({ x: text })),
  });
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 40 }), fc.array(request, { maxLength: 8 }), (entries, requests) => {
      const index = new ConditionIndex<Conditional>(entries);
      for (const one of [...requests, ...requests]) {
        const asked: Subject = { ...subject, ...one };
        const found = index.find(asked);
        const wanted = entries.filter(({ conditions }) => conditions.every((each) => holds(each, asked)));
        assert.deepEqual(new Set(found), new Set(wanted));
        assert.equal(found.length, wanted.length);
      }
    }),
    { numRuns: 300 },
  );
});

test("bucketOf() joins the values of a request as the API shows it", () => {
  assert.equal(bucketOf([{ key: "metadata._user" }], subject), "metadata._user:alice");
  assert.equal(bucketOf([{ key: "api_key" }, { key: "model" }], subject), "api_key:key-1-model:gpt-4o");
  assert.equal(bucketOf([{ key: "api_key" }, { key: "prompt" }], subject), undefined);
  const values = { a: "x-y:z#1,2", b: "-metadata.c:-" };
  const shown = "metadata.a:x-y:z#1,2-metadata.b:-metadata.c:-";
  assert.equal(bucketOf([{ key: "metadata.a" }, { key: "metadata.b" }], { ...subject, metadata: values }), shown);
});

test("bucketOf() never gives two different combinations of values one name", () => {
  const groupBy = [{ key: "metadata.a" }, { key: "metadata.b" }, { key: "metadata.b:-metadata.b" }];
  const piece = fc.constantFrom(
    "x",
    "-",
    ":",
    "#",
    "1",
    ",",
    "metadata.",
    "a",
    "b",
    "-metadata.b:",
    "#1,1,1",
    "#14,1,1",
  );
  const value = fc.array(piece, { minLength: 1, maxLength: 5 }).map((pieces) => pieces.join(""));
  const known = new Map<string, string>();
  const check = (a: string, b: string, c: string) => {
    const metadata = { a, b, "b:-metadata.b": c };
    const name = bucketOf(groupBy, { ...subject, metadata }) ?? assert.fail();
    const values = JSON.stringify([a, b, c]);
    assert.equal(known.get(name) ?? values, values, name);
    known.set(name, values);
  };
  fc.assert(fc.property(value, value, value, check), { numRuns: 5_000 });
  check("x-metadata.b:y", "z", "1");
  check("x", "y-metadata.b:z", "1");
  assert.ok(known.size > 1_000);
});

for (const [what, user] of [
  ["a NUL", "alice\0"],
  ["half of a surrogate pair", "alice\ud83d"],
  ["more than 2,048 characters", "x".repeat(2_049)],
] as const) {
  test(`bucketOf() puts a value with ${what} into the shared bucket`, () => {
    const asked = { ...subject, metadata: { user } };
    assert.equal(bucketOf([{ key: "metadata.user" }], asked), overflowBucket);
    assert.equal(bucketOf([{ key: "api_key" }, { key: "metadata.user" }], asked), overflowBucket);
  });
}
