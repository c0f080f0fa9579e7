import assert from "node:assert/strict";
import { after, test } from "node:test";
import * as v from "valibot";
import { inferenceEndpoints } from "../../src/inference/routes/endpoints.ts";
import { isObject } from "../../src/lib/json.ts";
import { BatchLine, BatchRequest } from "../../src/schemas/batches.ts";
import { plainObject } from "../../src/schemas/objects.ts";
import { createTestGateway, readJson, requestHeaders } from "../support/gateway.ts";

const gateway = await createTestGateway();
after(() => gateway.close());

/** Every place of a schema that says what an object holds, by its path. */
function* findObjects(schema: unknown, path: string): Generator<{ path: string; schema: v.GenericSchema }> {
  if (!isObject(schema)) return;
  const pipe: unknown[] = Array.isArray(schema.pipe) ? schema.pipe : [];
  const holder = [schema, ...pipe].filter(isObject).find(({ entries }) => isObject(entries));
  // a schema with entries is one
  if (holder) yield { path, schema: schema as unknown as v.GenericSchema };
  const entries = holder && isObject(holder.entries) ? holder.entries : {};
  for (const [name, entry] of Object.entries(entries)) yield* findObjects(entry, `${path}.${name}`);
  for (const [name, inner] of [
    ["[]", schema.item],
    ["", schema.wrapped],
    ["{}", schema.value],
  ] as const) {
    yield* findObjects(inner, path + name);
  }
  for (const option of Array.isArray(schema.options) ? schema.options : []) yield* findObjects(option, path);
  for (const inner of pipe) if (inner !== schema && inner !== holder) yield* findObjects(inner, path);
}

const bodies = inferenceEndpoints.flatMap((row) =>
  "handleJson" in row || "handleForm" in row ? [[`${row.method} ${row.path}`, row.body] as const] : [],
);

for (const [name, body] of [...bodies, ["BatchRequest", BatchRequest], ["BatchLine", BatchLine]] as const) {
  test(`not an object of ${name} is taken for a list`, () => {
    const found = [...findObjects(body, "body")];
    assert.ok(found.length > 0);
    for (const { path, schema } of found) assert.equal(v.safeParse(schema, []).success, false, path);
  });
}

test("plainObject() keeps members it does not know", () => {
  const value = { a: "b", c: [1] };
  assert.deepEqual(v.parse(plainObject({ a: v.string() }), value), value);
  assert.equal(v.safeParse(plainObject({}), [1]).success, false);
});

const prompt = { model: "m", messages: [{ role: "user", content: "Hello" }] };
const contents = { contents: [{ parts: [{ text: "Hello" }] }] };
const gemini = "/v1beta/models/m:generateContent";

for (const [path, body, param] of [
  ["/v1/chat/completions", { ...prompt, stream_options: [1] }, "stream_options"],
  ["/v1/completions", { model: "m", prompt: "a", stream_options: [] }, "stream_options"],
  ["/v1/embeddings", { model: "m", input: [["a"], [{}]] }, "input"],
  ["/v1/rerank", { model: "m", query: "a", documents: ["b"], parameters: [1] }, "parameters"],
  ["/v1/messages", { ...prompt, max_tokens: 1, metadata: ["a"] }, "metadata"],
  ["/v1/messages", { ...prompt, max_tokens: 1, tools: [{ name: "t", input_schema: [1] }] }, "tools.0.input_schema"],
  ["/v1/responses", { model: "m", input: "a", reasoning: ["low"] }, "reasoning"],
  ["/v1/responses", { model: "m", input: [["a"]] }, "input"],
  ["/v1/responses", [1], undefined],
  [gemini, { ...contents, generationConfig: [1] }, "generationConfig"],
  [gemini, { ...contents, toolConfig: [1] }, "toolConfig"],
  [gemini, { contents: [["Hello"]] }, "contents"],
  ["/v1beta/models/m:countTokens", [1], undefined],
] as [string, unknown, string | undefined][]) {
  test(`POST ${path} refuses ${JSON.stringify(body)} with 400`, async () => {
    const init = { method: "POST", headers: requestHeaders(), body: JSON.stringify(body) };
    const response = await gateway.fetch(path, init);
    const { error } = await readJson<{ error: { param?: string | null } }>(response);
    assert.deepEqual([response.status, error.param ?? undefined], [400, param]);
  });
}
