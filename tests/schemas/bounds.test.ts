import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createTestGateway, readJson, requestHeaders } from "../support/gateway.ts";

const gateway = await createTestGateway();
after(() => gateway.close());

const bodies: Readonly<Record<string, object>> = {
  "chat/completions": { model: "echo-1", messages: [{ role: "user", content: "Hello" }] },
  completions: { model: "echo-1", prompt: "Hello" },
  responses: { model: "echo-1", input: "Hello" },
};

async function ask(path: string, members: object): Promise<{ status: number; param: string | null | undefined }> {
  const response = await gateway.fetch(`/v1/${path}`, {
    method: "POST",
    headers: requestHeaders({ "x-gateway-provider": "echo" }),
    body: JSON.stringify({ ...bodies[path], ...members }),
  });
  const { error } = await readJson<{ error?: { param: string | null } }>(response);
  return { status: response.status, param: error?.param };
}

const many = Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`name${index}`, "value"]));

for (const [path, param, value] of [
  ["chat/completions", "logit_bias", { "50256": 101 }],
  ["chat/completions", "logit_bias", { "50256": -101 }],
  ["chat/completions", "logit_bias", []],
  ["chat/completions", "logit_bias", { "50256": "5" }],
  ["chat/completions", "seed", 1.5],
  ["chat/completions", "seed", "7"],
  ["chat/completions", "seed", 1e19],
  ["chat/completions", "tool_choice", "sometimes"],
  ["chat/completions", "tool_choice", []],
  ["chat/completions", "metadata", many],
  ["chat/completions", "metadata", ["a"]],
  ["completions", "logit_bias", { "50256": 101 }],
  ["completions", "seed", -1e19],
  ["responses", "metadata", ["a"]],
  ["responses", "metadata", many],
  ["responses", "metadata", { a: "x".repeat(513) }],
  ["responses", "metadata", { ["x".repeat(65)]: "a" }],
  ["responses", "tool_choice", "sometimes"],
  ["responses", "tool_choice", []],
] as const) {
  test(`POST /v1/${path} refuses ${param}: ${JSON.stringify(value).slice(0, 40)}`, async () => {
    const { status, param: named } = await ask(path, { [param]: value });
    assert.equal(status, 400);
    assert.ok(named?.startsWith(param), `${named}`);
  });
}

for (const [path, members] of [
  ["chat/completions", { logit_bias: { "50256": -100 }, seed: 7, tool_choice: "none", metadata: { a: "b" } }],
  ["chat/completions", { logit_bias: null, seed: null, tool_choice: null, metadata: null }],
  ["completions", { logit_bias: { "50256": 100 }, seed: -7 }],
  ["responses", { metadata: { a: "b" }, tool_choice: "none" }],
] as const) {
  test(`POST /v1/${path} takes ${JSON.stringify(members)}`, async () => {
    assert.equal((await ask(path, members)).status, 200);
  });
}

interface SchemaPart {
  properties?: Record<string, SchemaPart>;
  additionalProperties?: SchemaPart;
  propertyNames?: SchemaPart;
  items?: SchemaPart;
  anyOf?: SchemaPart[];
}

/** Parts of a schema that a path leads to: fields, `*` for any field, `names` for their names, `[]` for items. */
function partsAt(schema: SchemaPart, path: string): SchemaPart[] {
  let parts = [schema];
  for (const name of path.split(".")) {
    const all = parts.flatMap((part) => [part, ...(part.anyOf ?? [])]);
    const inner = (part: SchemaPart) =>
      ({ "*": part.additionalProperties, names: part.propertyNames, "[]": part.items })[name] ??
      part.properties?.[name];
    parts = all.flatMap((part) => inner(part) ?? []);
  }
  return parts.flatMap((part) => [part, ...(part.anyOf ?? [])]);
}

const document = await readJson<{ paths: Record<string, { post: { requestBody: { content: object } } }> }>(
  await gateway.fetch("/openapi.json"),
);

function bodyOf(path: string): SchemaPart {
  const content: Record<string, { schema?: SchemaPart }> = { ...document.paths[path]?.post.requestBody.content };
  return content["application/json"]?.schema ?? {};
}

const pairs = [
  ["metadata", "maxProperties", 16],
  ["metadata.names", "maxLength", 64],
  ["metadata.*", "maxLength", 512],
] as const;
const sampling = [
  ["temperature", "minimum", 0],
  ["temperature", "maximum", 2],
  ["top_p", "minimum", 0],
  ["top_p", "maximum", 1],
] as const;

for (const [path, bounds] of Object.entries({
  "/v1/chat/completions": [...pairs, ["logit_bias.*", "minimum", -100], ["logit_bias.*", "maximum", 100]],
  "/v1/completions": [...sampling, ["logit_bias.*", "maximum", 100], ["best_of", "maximum", 20]],
  "/v1/responses": [...pairs, ...sampling, ["top_logprobs", "maximum", 20], ["max_output_tokens", "minimum", 1]],
  "/v1/decisions": [
    ["questions.*.type", "enum", "noul,choice,score"],
    ["questions.*", "required", "type,instructions"],
  ],
})) {
  for (const [field, bound, value] of bounds) {
    test(`/openapi.json says of ${field} in ${path}: ${bound} ${value}`, () => {
      const stated = partsAt(bodyOf(path), String(field)).map((part) => Reflect.get(part, String(bound)));
      assert.ok(stated.map(String).includes(String(value)), JSON.stringify(stated));
    });
  }
}
