// Each JSON body of inference, with one field changed: the published schema and the route's own agree on what is valid.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { type Schema, Validator } from "@cfworker/json-schema";
import * as v from "valibot";
import { inferenceEndpoints } from "../../src/inference/routes/endpoints.ts";
import { isObject } from "../../src/lib/json.ts";
import { createTestGateway, readJson } from "../support/gateway.ts";

interface Document {
  paths: Record<string, Record<string, { requestBody?: { content: Record<string, { schema: Schema }> } }>>;
  components: object;
}

const gateway = await createTestGateway();
after(() => gateway.close());
const document = await readJson<Document>(await gateway.fetch("/openapi.json"));

const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`name${index}`, "v"]));

const scalars = [
  null,
  true,
  "",
  "x",
  "auto",
  "1",
  "x".repeat(513),
  "x".repeat(5_000),
  0,
  -1,
  1,
  2,
  2.5,
  5,
  21,
  129,
  -3,
];
const lists = [[], ["x"], [1], [[1]], [{}], [{ type: "text", text: "x" }], ["a", "b", "c", "d", "e"]];
const objects = [{}, { a: "b" }, { a: 1 }, { a: null }, { "50256": 101 }, many(17), { ["x".repeat(65)]: "a" }];

/** Values that fields get one by one. */
const values: readonly unknown[] = [scalars, lists, [Array(2_049).fill("x"), 5_000, 1e9], objects].flat();

const itemsOf = ({ items = {} }: Schema): Schema | boolean => (Array.isArray(items) ? {} : items);

/** A value that a schema takes, of the published form. */
function sampleOf(schema: Schema | boolean): unknown {
  if (typeof schema === "boolean") return 1;
  if ("const" in schema) return schema.const;
  if (schema.enum) return schema.enum[0];
  const [choice] = schema.anyOf ?? schema.oneOf ?? [];
  if (choice) return sampleOf(choice);
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (type === "string") return "x".repeat(schema.minLength ?? 1);
  if (type === "number" || type === "integer") return schema.minimum ?? 1;
  if (type === "boolean") return true;
  if (type === "array") return Array.from({ length: schema.minItems ?? 1 }, () => sampleOf(itemsOf(schema)));
  const names = schema.required ?? [];
  return Object.fromEntries(names.map((name) => [name, sampleOf(schema.properties?.[name] ?? {})]));
}

/** Fields that a valid body of a route needs beside those that its schema requires. */
const besides: Readonly<Record<string, object>> = { "POST /v1/responses": { input: "x" } };

/** Fields that the schemas of a route judge differently, because more than the field decides. */
const elsewhere: Readonly<Record<string, readonly string[]>> = {
  // needed unless a prompt, a conversation or a former response is named
  "POST /v1/responses": ["input"],
  // the reader of configs refuses lists, with another code
  "POST /v1/configs/explain": ["config"],
};

const rows = inferenceEndpoints.flatMap((endpoint) => {
  const body = "body" in endpoint ? endpoint.body : undefined;
  if (body === undefined || endpoint.kind !== "json") return [];
  const path = endpoint.path.replace(/\/(@?):(\w+)\+?/g, "/$1{$2}");
  const schema =
    document.paths[path]?.[endpoint.method.toLowerCase()]?.requestBody?.content["application/json"]?.schema;
  return schema ? [{ name: `${endpoint.method} ${path}`, body, schema }] : [];
});

for (const { name, body, schema } of rows) {
  test(`the body of ${name} is published as it is read`, () => {
    const validator = new Validator({ ...schema, components: document.components } as Schema, "2020-12", true);
    const isRead = (value: unknown) => v.safeParse(body, value).success;
    const isPublished = (value: unknown) => validator.validate(value).valid;
    const sample = sampleOf(schema);
    assert.ok(isObject(sample));
    const whole = { ...sample, ...besides[name] };
    assert.ok(isRead(whole) && isPublished(whole), JSON.stringify(whole));
    const wrong: string[] = [];
    for (const field of Object.keys(schema.properties ?? {})) {
      for (const value of values) {
        const changed = { ...whole, [field]: value };
        const [read, published] = [isRead(changed), isPublished(changed)];
        if (read === published || elsewhere[name]?.includes(field)) continue;
        wrong.push(
          `${field} = ${JSON.stringify(value).slice(0, 60)}: ${read ? "taken" : "refused"} by the route alone`,
        );
      }
    }
    assert.deepEqual(wrong, []);
  });
}

test("the routes of inference that have a JSON body are among them", () => {
  const named = ["chat/completions", "completions", "embeddings", "images/generations", "audio/speech", "moderations"];
  const others = ["messages", "responses", "rerank", "decisions", "ocr"];
  for (const path of [...named, ...others])
    assert.ok(
      rows.some(({ name }) => name === `POST /v1/${path}`),
      path,
    );
});
