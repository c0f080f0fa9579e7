// The form of configs: a config that is opened, typed in again member by member and written is the same config.

import assert from "node:assert/strict";
import { before, test } from "node:test";
import fc from "fast-check";
import {
  addTarget,
  canRemove,
  move,
  moveInto,
  moveOut,
  type NodePath,
  nodeAt,
  remove,
  targetsOf,
  wrap,
} from "../../console/src/pages/configs/edit-tree.ts";
import { arrangeNode, configWords, marksOfNode, readExact, writeForm } from "../../console/src/pages/configs/form.ts";
import { complaintsOf } from "../../console/src/resources/check-body.ts";
import { readDrafts, withMember } from "../../console/src/resources/checks/draft.ts";
import { readInput, toField, toShown } from "../../console/src/resources/checks/parameter-field.ts";
import type { Parameter } from "../../console/src/resources/checks/parameters.ts";
import {
  freeKey,
  isRecord,
  memberBy,
  membersOfSchema,
  othersOf,
  type PlacedSchema,
  placeRoot,
  sameKey,
  shapeOf,
} from "../../console/src/resources/schema-form/schema-members.ts";
import { createTestGateway } from "../support/gateway.ts";
import { configs, type Json, problemsOf, seeded } from "../support/routing.ts";
import { rounds } from "../support/sample.ts";

let schema: Json;
before(async () => {
  const { gateway } = await createTestGateway();
  const response = await gateway.fetch(new Request("http://gateway.test/openapi.json"));
  const document = JSON.parse((await response.text()).replaceAll("#/components/schemas/", "#/$defs/"));
  schema = { ...document.components.schemas.RoutingConfig, $defs: document.components.schemas };
  await gateway.close();
});

const camel = (name: string): string => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** Members that the arbitrary of the router does not make: rare ones, settings of providers, and unknown ones. */
const extras = fc.subarray<readonly [string, unknown]>([
  ["azure_resource_name", "example"],
  ["x_unknown", { deep: [{ a: null }, 1.5, "", []] }],
  ["metadata", { team: "a", n: 1 }],
  ["cache", "simple"],
  ["prompt_cache", true],
  ["input_guardrails", ["pg-one", { checks: [] }]],
  ["output_guardrails", ["pg-one"]],
  ["on_status_codes", [429, 500]],
  [
    "strategy",
    { mode: "auto", sticky: { enabled: true, hash_fields: ["metadata.x"] }, rules: [{ query: {}, then: "t0" }] },
  ],
  ["shadow", { share: 0.5, target: { provider: "echo" } }],
  ["server_tools", { web_search: { mcp: { server: "s", tool: "t" }, max_uses: 3 } }],
  ["constructor", { a: 1 }],
]);

function decorate(node: Json, chosen: readonly (readonly [string, unknown])[], isCamel: boolean): Json {
  const members = Object.entries({ ...node, ...Object.fromEntries(chosen) });
  const targets = Array.isArray(node.targets) ? node.targets.map((one) => decorate(one, chosen, !isCamel)) : undefined;
  const named = members.map(([name, value]) => [isCamel ? camel(name) : name, value]);
  return { ...Object.fromEntries(named), ...(targets && { targets }) };
}

const decorated = fc.tuple(configs(2, false), extras, fc.boolean()).map(([one, more, is]) => decorate(one, more, is));

/** A value as it would be if a person typed what its input shows. */
function retype(parameter: Parameter, value: unknown): unknown {
  const field = toField(parameter, value);
  const shown = toShown(field, parameter, value);
  // an empty input that nobody touches changes nothing
  if (shown === undefined || shown === "" || (Array.isArray(shown) && shown.length === 0)) return value;
  return readInput(field, parameter, shown);
}

function retypeObject(placed: PlacedSchema, value: Json, names?: readonly string[]): Json {
  const members = membersOfSchema(placed, configWords);
  let next: Json = value;
  for (const member of members) {
    const key = freeKey(value, member.parameter.name);
    const own = memberBy(value, key);
    if (own === undefined || names?.includes(member.parameter.name) === false) continue;
    const shape = shapeOf(member, own);
    const { object, items } = member;
    const typed =
      shape === "object" && object !== undefined && isRecord(own)
        ? retypeObject(object, own)
        : shape === "list" && items !== undefined && Array.isArray(own)
          ? own.map((line) => retypeObject(items, line))
          : retype(member.parameter, own);
    next = withMember(next, key, typed);
  }
  for (const name of othersOf(members, value, freeKey)) {
    const other = {
      name,
      label: name,
      kind: "json",
      choices: [],
      required: false,
      schema: {},
      words: configWords,
    } as const;
    next = withMember(next, name, retype(other, memberBy(value, name)));
  }
  return next;
}

function pathsOf(node: Json, path: NodePath = []): NodePath[] {
  return [path, ...targetsOf(node).flatMap((one, place) => pathsOf(one, [...path, place]))];
}

test("a config that is typed in again member by member is the same config, in the same order", () => {
  const placed = placeRoot(schema);
  fc.assert(
    fc.property(decorated, (config) => {
      const code = JSON.stringify(config, undefined, 2);
      const form = readExact(code);
      assert.ok(form !== undefined);
      assert.equal(writeForm(form), code);
      for (const path of pathsOf(form)) {
        const node: Json = { ...nodeAt(form, path) };
        assert.deepEqual(readDrafts(retypeObject(placed, node)), node);
      }
    }),
    { numRuns: rounds(300) },
  );
});

test("each member of each node stands in one place of the form", () => {
  const members = membersOfSchema(placeRoot(schema), configWords);
  const names = members.map(({ parameter }) => parameter.name);
  for (const kind of ["root", "group", "target"] as const) {
    const { first, parts } = arrangeNode(names, kind);
    const shown = [...first, ...parts.flatMap((part) => part.names)];
    const wanted = [...names.filter((name) => name !== "targets"), ...(kind === "target" ? ["override_params"] : [])];
    assert.deepEqual(shown.toSorted(), wanted.toSorted());
  }
  fc.assert(
    fc.property(decorated, (config) => {
      const others = othersOf(members, config, freeKey);
      const known = names.filter((name) => memberBy(config, freeKey(config, name)) !== undefined);
      assert.equal(others.length + known.length, Object.keys(config).length);
    }),
    { numRuns: rounds(100) },
  );
});

test("the form finds nothing wrong in configs that the gateway takes", () => {
  fc.assert(
    fc.property(configs(2, false), (config) => {
      if (problemsOf(config, true).length === 0) assert.deepEqual(complaintsOf(schema, config), []);
    }),
    { numRuns: rounds(100) },
  );
});

for (const [code, isExact] of [
  ['{"provider":"echo","weight":0.1}', true],
  ['{"override_params":{"seed":9007199254740991}}', true],
  ['{"override_params":{"seed":9007199254740993}}', false],
  ['{"override_params":{"seed":1e400}}', false],
  ['{"provider":"echo","provider":"openai"}', false],
  ['{"name":"a : b { \\" 12345678901234567890"}', true],
  ["[1]", false],
  ["{", false],
] as const) {
  test(`the form ${isExact ? "takes" : "leaves to the JSON"} ${code}`, () => {
    assert.equal(readExact(code) !== undefined, isExact);
  });
}

const leavesOf = (node: Json): string[] =>
  targetsOf(node).length === 0 ? [JSON.stringify(node)] : targetsOf(node).flatMap(leavesOf);

test("moving nodes of a tree loses no target, and moving back restores the config", () => {
  const numbered = configs(3, false).map((config) => {
    let count = 0;
    const number = (node: Json): Json =>
      Array.isArray(node.targets) ? { ...node, targets: node.targets.map(number) } : { metadata: { count: count++ } };
    return number(config);
  });
  fc.assert(
    fc.property(numbered, fc.nat(), (config, chosen) => {
      const paths = pathsOf(config);
      const at = paths[chosen % paths.length] ?? [];
      const leaves = leavesOf(config).toSorted();
      for (const change of [move(config, at, 1), move(config, at, -1), moveOut(config, at), moveInto(config, at)]) {
        if (change === undefined) continue;
        assert.deepEqual(leavesOf(change.root).toSorted(), leaves);
        assert.deepEqual(nodeAt(change.root, change.at), nodeAt(config, at));
      }
      const down = move(config, at, 1);
      if (down !== undefined) assert.deepEqual(move(down.root, down.at, -1), { root: config, at });
      assert.deepEqual(leavesOf(wrap(config, at).root).length, leaves.length);
      const added = addTarget(config, at);
      assert.deepEqual(nodeAt(added.root, added.at), {});
      assert.equal(leavesOf(added.root).length, leaves.length + 1);
      if (canRemove(config, at)) {
        const { root, at: next } = remove(config, at);
        assert.ok(nodeAt(root, next) !== undefined);
        assert.equal(leavesOf(root).length, leaves.length - leavesOf(nodeAt(config, at) ?? {}).length);
      }
    }),
    { numRuns: rounds(300) },
  );
});

test("what is refused is said at its node and member", () => {
  const marks = [
    { path: ["targets", 1, "targets", 0, "weight"], message: "must be at least 0" },
    { path: ["retry", "attempts"], message: "must be at most 5" },
  ];
  assert.deepEqual(marksOfNode(marks, [1, 0]), { weight: "must be at least 0" });
  assert.deepEqual(marksOfNode(marks, []), { "retry.attempts": "must be at most 5" });
});

test(seeded("schemas of others are read in bounded time, and what no input fits is asked for as JSON"), () => {
  const loops = {
    type: "object",
    properties: {
      self: { $ref: "#" },
      ring: { $ref: "#/$defs/a" },
      either: { anyOf: [{ $ref: "#/$defs/wide0" }, { type: "null" }] },
      nowhere: { $ref: "#/$defs/none" },
      outside: { $ref: "https://elsewhere.example/schema.json" },
      anything: true,
      nothing: null,
      both: { allOf: [{ type: "string" }] },
      ["__proto__"]: { type: "string" },
      kind: { type: ["string", "null"], enum: ["a", null] },
      tree: { $ref: "#/$defs/node" },
    },
    required: ["self", 7],
    $defs: {
      a: { $ref: "#/$defs/b" },
      b: { $ref: "#/$defs/a" },
      node: {
        type: "object",
        properties: { name: { type: "string" }, children: { type: "array", items: { $ref: "#/$defs/node" } } },
      },
      ...Object.fromEntries(
        Array.from({ length: 30 }, (_, index) => [
          `wide${index}`,
          { anyOf: Array.from({ length: 20 }, () => ({ $ref: `#/$defs/wide${index + 1}` })) },
        ]),
      ),
    },
  };
  const members = membersOfSchema(placeRoot(JSON.parse(JSON.stringify(loops))), configWords);
  const shapes = Object.fromEntries(members.map((member) => [member.parameter.name, member]));
  assert.equal(members.length, Object.keys(loops.properties).length);
  for (const name of ["ring", "either", "nowhere", "outside", "anything", "nothing", "both"]) {
    assert.equal(shapes[name]?.parameter.kind, "json", name);
  }
  const { object } = members.find(({ parameter }) => parameter.name === "tree") ?? {};
  assert.ok(object !== undefined);
  const inner = membersOfSchema(object, configWords);
  assert.deepEqual(
    inner.map(({ parameter }) => [parameter.name, parameter.kind]),
    [
      ["name", "text"],
      ["children", "json"],
    ],
  );
  assert.equal(memberBy({}, sameKey({}, "__proto__")), undefined);
  const written = readDrafts(withMember({}, "__proto__", "x"));
  assert.equal(JSON.stringify(written), '{"__proto__":"x"}');
});
