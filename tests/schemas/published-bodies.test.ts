// Each body of inference, JSON or form, with one field changed: the published schema and the route's own agree on what is valid.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { type Schema, Validator } from "@cfworker/json-schema";
import * as v from "valibot";
import { inferenceEndpoints } from "../../src/inference/routes/endpoints.ts";
import { readFields } from "../../src/lib/form.ts";
import { isObject, parseJson } from "../../src/lib/json.ts";
import { boundaryOf, readForm } from "../../src/lib/multipart.ts";
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
const besides: Readonly<Record<string, object>> = {
  "POST /v1/responses": { input: "x" },
  "POST /v1/images/edits": { image: "x" },
};

/** Fields that the schemas of a route judge differently, because more than the field decides. */
const elsewhere: Readonly<Record<string, readonly string[]>> = {
  // needed unless a prompt, a conversation or a former response is named
  "POST /v1/responses": ["input"],
  // the reader of configs refuses lists, with another code
  "POST /v1/configs/explain": ["config"],
  // one of them is needed
  "POST /v1/images/edits": ["image", "images"],
  // needed unless an address or an id is given
  "POST /v1/audio/transcriptions": ["file"],
  "POST /v1/audio/translations": ["file"],
};

const rows = inferenceEndpoints.flatMap((endpoint) => {
  const body = "body" in endpoint ? endpoint.body : undefined;
  const takesJson = endpoint.kind === "json" || (endpoint.kind === "form" && endpoint.acceptsJson === true);
  if (body === undefined || !takesJson) return [];
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

const forms = inferenceEndpoints.flatMap((endpoint) => {
  if (endpoint.kind !== "form") return [];
  const { method, path, body, fields } = endpoint;
  const schema = document.paths[path]?.[method.toLowerCase()]?.requestBody?.content["multipart/form-data"]?.schema;
  return [{ name: `${method} ${path}`, body, fields, schema }];
});

/** What the parts of a field may stand for, if a schema gives them types: a form has only text and files. */
function readingsOf(parts: readonly string[], isMarked: boolean): unknown[] {
  const typed = parts.map((part) => {
    const value = parseJson(part);
    return typeof value === "number" || typeof value === "boolean" ? [value, part] : [part];
  });
  const lists = [typed.map(([first]) => first), [...parts]];
  return isMarked || parts.length > 1 ? lists : [...(typed[0] ?? []), ...lists];
}

/** A schema for parts that are text: no file is. */
function asText(field: Schema | boolean, components: object): Schema {
  const schema = { ...(isObject(field) ? field : {}), components };
  const isFile = (one: unknown) => isObject(one) && one.format === "binary";
  // a copy of a schema
  return JSON.parse(JSON.stringify(schema), (_, one: unknown) => (isFile(one) ? { not: {} } : one)) as Schema;
}

/** Values of one field as the parts of a form, each also as a list of one; a form has no null, and no lists in lists. */
const fieldParts = values.flatMap((value): { parts: string[]; isMarked: boolean }[] => {
  if (value === null || isObject(value)) return [];
  if (!Array.isArray(value)) return [false, true].map((isMarked) => ({ parts: [String(value)], isMarked }));
  if (value.length === 0 || value.length > 100 || value.some((item) => typeof item === "object")) return [];
  return [false, true].map((isMarked) => ({ parts: value.map(String), isMarked }));
});

/** Parts that make the form of any of these routes complete. */
const formParts: readonly (readonly [name: string, value: string | File])[] = [
  ["model", "m"],
  ["prompt", "p"],
  ["file", new File(["x"], "a.wav")],
  ["image", new File(["x"], "a.png")],
];

async function readAsForm(
  parts: readonly (readonly [string, string | File])[],
  kinds: (typeof forms)[number]["fields"],
) {
  const form = new FormData();
  for (const [name, value] of parts) form.append(name, value);
  const message = new Response(form);
  const boundary = boundaryOf(message.headers.get("content-type") ?? "") ?? assert.fail();
  return readFields(readForm(new Uint8Array(await message.arrayBuffer()), boundary), kinds).fields;
}

for (const { name, body, fields, schema = assert.fail(`${name} has no schema`) } of forms) {
  test(`the form of ${name} is published as it is read`, async () => {
    const names = Object.keys(schema.properties ?? {});
    const isRead = async (parts: typeof formParts) => v.safeParse(body, await readAsForm(parts, fields)).success;
    assert.ok(await isRead(formParts));
    const wrong: string[] = [];
    for (const field of names) {
      const one = asText(schema.properties?.[field] ?? {}, document.components);
      const validator = new Validator(one, "2020-12", true);
      const others = formParts.filter(([part]) => part !== field);
      for (const { parts, isMarked } of fieldParts) {
        const sent = parts.map((part) => [isMarked ? `${field}[]` : field, part] as const);
        const read = await isRead([...others, ...sent]);
        const published = readingsOf(parts, isMarked).some((value) => validator.validate(value).valid);
        if (read === published) continue;
        const what = `${sent[0]?.[0]} = ${JSON.stringify(parts).slice(0, 60)}`;
        wrong.push(`${what}: ${read ? "taken" : "refused"} by the route alone`);
      }
      // a form without the field
      const isRequired = schema.required?.includes(field) === true;
      if (elsewhere[name]?.includes(field)) continue;
      if ((await isRead(others)) === isRequired) wrong.push(`without ${field}: ${isRequired ? "taken" : "refused"}`);
    }
    assert.deepEqual(wrong, []);
  });
}

test("the routes of inference that have a JSON body or a form are among them", () => {
  assert.deepEqual(
    forms.map(({ name }) => name),
    ["POST /v1/images/edits", "POST /v1/audio/transcriptions", "POST /v1/audio/translations"],
  );
  const named = ["chat/completions", "completions", "embeddings", "images/generations", "audio/speech", "moderations"];
  const others = ["messages", "responses", "rerank", "decisions", "ocr", "search"];
  for (const path of [...named, ...others])
    assert.ok(
      rows.some(({ name }) => name === `POST /v1/${path}`),
      path,
    );
});
