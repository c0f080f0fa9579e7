import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  bucketOf,
  type Condition,
  type Conditional,
  ConditionIndex,
  fits,
  type Subject,
} from "../../src/policies/conditions.ts";

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
  test(`fits() says ${wanted} of ${value} and the pattern ${pattern}`, () =>
    assert.equal(fits(pattern, value), wanted));
}

test("fits() agrees with a regular expression on random patterns", () => {
  const letters = (text: string) => fc.string({ unit: fc.constantFrom(...text), maxLength: 8 });
  fc.assert(
    fc.property(letters("ab*"), letters("ab"), (pattern, value) => {
      assert.equal(fits(pattern, value), new RegExp(`^${pattern.replaceAll("*", ".*")}$`).test(value));
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

test("ConditionIndex finds what a look at every entry finds", () => {
  const value = fc.constantFrom("a", "b", "a*", "*");
  const condition = fc.record({
    key: fc.constantFrom("api_key", "provider", "workspace_id", "metadata.x"),
    value: fc.oneof(value, fc.array(value, { minLength: 1, maxLength: 3 })),
    excludes: fc.option(value, { nil: null }),
  });
  const entry = fc.record({ conditions: fc.array(condition, { minLength: 1, maxLength: 3 }) });
  const letter = fc.constantFrom("a", "b", "ab", "c");
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 20 }), letter, letter, letter, (entries, apiKey, provider, x) => {
      const one: Subject = { ...subject, apiKey, provider, metadata: { x } };
      const alone = entries.filter(({ conditions }) => applies(conditions, one));
      const found = new ConditionIndex<Conditional>(entries).find(one);
      assert.deepEqual(new Set(found), new Set(alone));
      assert.equal(found.length, alone.length);
    }),
  );
});

test("bucketOf() joins the values of a request as the API shows them", () => {
  assert.equal(bucketOf([{ key: "metadata._user" }], subject), "metadata._user:alice");
  assert.equal(bucketOf([{ key: "api_key" }, { key: "model" }], subject), "api_key:key-1-model:gpt-4o");
  assert.equal(bucketOf([{ key: "api_key" }, { key: "prompt" }], subject), undefined);
});
