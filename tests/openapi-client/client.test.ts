import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { findTool } from "../../scripts/lib.mjs";
import { createTestGateway, readJson } from "../support/gateway.ts";

// Installed by the runner (`npm ci --prefix tests/openapi-client`); without it these tests leave themselves out.
const modules = join(import.meta.dirname, "node_modules");
const skip = !existsSync(join(modules, "openapi-typescript"));

/** Below the packages, where what is generated finds them. */
const generated = join(modules, ".generated");
const documentFile = join(generated, "openapi.json");

interface Schema {
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  minItems?: number;
  minLength?: number;
  minimum?: number;
}

interface Operation {
  operationId: string;
  parameters?: { name?: string; in?: string; required?: boolean; schema?: Schema }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
}

interface Document {
  paths: Record<string, Record<string, Operation>>;
}

let document: Document;

before(async () => {
  const gateway = await createTestGateway();
  document = await readJson<Document>(await gateway.fetch("/openapi.json"));
  await gateway.close();
  if (skip) return;
  mkdirSync(generated, { recursive: true });
  writeFileSync(documentFile, JSON.stringify(document));
});
after(() => rmSync(generated, { recursive: true, force: true }));

/** Runs a program of the packages; its output where it fails. */
function run(script: string, args: readonly string[]): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], {
    cwd: import.meta.dirname,
    encoding: "utf8",
  });
  return { status, output: `${stdout}${stderr}` };
}

/** A value a schema accepts: required members alone. */
function sampleOf(schema: Schema): unknown {
  if ("const" in schema) return schema.const;
  if (schema.enum) return schema.enum[0];
  const [choice] = schema.anyOf ?? schema.oneOf ?? [];
  if (choice) return sampleOf(choice);
  if (schema.allOf) return Object.assign({}, ...schema.allOf.map(sampleOf));
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (type === "string") return "x".repeat(schema.minLength ?? 1);
  if (type === "number" || type === "integer") return schema.minimum ?? 1;
  if (type === "boolean") return true;
  if (type === "array") return Array.from({ length: schema.minItems ?? 0 }, () => sampleOf(schema.items ?? {}));
  const names = schema.required ?? [];
  return Object.fromEntries(names.map((name) => [name, sampleOf(schema.properties?.[name] ?? {})]));
}

/** A typed call of an operation, as a user of the generated client writes it. */
function callOf(path: string, method: string, { parameters = [], requestBody }: Operation): string {
  const inPath = parameters.filter((one) => one.in === "path").map(({ name }) => [name, "x"]);
  const inQuery = parameters
    .filter((one) => one.in === "query" && one.required)
    .map(({ name, schema: asked = {} }) => [name, sampleOf(asked)]);
  const params = {
    ...(inPath.length > 0 && { path: Object.fromEntries(inPath) }),
    ...(inQuery.length > 0 && { query: Object.fromEntries(inQuery) }),
  };
  const schema = requestBody?.content["application/json"]?.schema;
  const init = {
    ...(Object.keys(params).length > 0 && { params }),
    ...(schema && { body: sampleOf(schema) }),
  };
  return `await client.${method.toUpperCase()}(${JSON.stringify(path)}, ${JSON.stringify(init)});`;
}

/** Calls with the fields that users send, which the document must have by their names and types. */
const written = `
const headers = { "x-gateway-provider": "openai", "x-gateway-trace-id": "t", "x-gateway-metadata": "{}" };
await client.POST("/v1/chat/completions", {
  params: { header: headers },
  body: {
    model: "m", messages: [{ role: "user", content: "Hello" }], stream: true, stream_options: { include_usage: true },
    seed: 7, logit_bias: { "50256": -100 }, temperature: 1, n: 1, stop: ["a"], user: "u", tool_choice: "auto",
    tools: [{ type: "function", function: { name: "f", parameters: {} } }], metadata: { a: "b" },
  },
});
await client.POST("/v1/completions", { body: { model: "m", prompt: "a", seed: 7, logit_bias: { "1": 5 }, best_of: 1 } });
await client.POST("/v1/embeddings", { body: { model: "m", input: ["a"], dimensions: 8 } });
await client.POST("/v1/messages", {
  body: { model: "m", max_tokens: 5, messages: [{ role: "user", content: "Hello" }], system: "s", stream: true },
});
await client.POST("/v1/responses", {
  body: { model: "m", input: "Hello", metadata: { a: "b" }, max_output_tokens: 5, tool_choice: "none", store: false },
});
await client.POST("/v1/rerank", { body: { model: "m", query: "q", documents: ["a", { text: "b" }], top_n: 1 } });
await client.POST("/v1/search", { body: { model: "auto", query: "q", max_results: 3, search_domain_filter: ["a.example"] } });
await client.POST("/v1beta/models/{model}:generateContent", {
  params: { path: { model: "m" } }, body: { contents: [{ role: "user", parts: [{ text: "Hello" }] }] },
});
await client.POST("/v1/decisions", {
  body: { model: "m", state: "s", questions: { open: { type: "noul", instructions: "Is it open?" } } },
});
await client.POST("/v1/images/generations", { body: { model: "m", prompt: "a", n: 1 } });
await client.POST("/v1/audio/speech", { body: { model: "m", input: "a", voice: "v", speed: 1 } });
`;

test("a strict linter finds nothing in /openapi.json", { skip }, () => {
  const { status, output } = run("lint.mjs", [documentFile]);
  assert.deepEqual([status, output.trim()], [0, ""]);
});

test("a client generated from /openapi.json type-checks a call of every JSON route", { skip }, () => {
  const types = run(join(modules, "openapi-typescript/bin/cli.js"), [documentFile, "-o", join(generated, "types.ts")]);
  assert.equal(types.status, 0, types.output);
  const calls = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, operation]) => {
      const content = operation.requestBody?.content;
      return content && !content["application/json"] ? [] : [callOf(path, method, operation)];
    }),
  );
  assert.ok(calls.length > 250, `${calls.length} calls`);
  const start = 'import createClient from "openapi-fetch";\nimport type { paths } from "./types.ts";\n';
  const client = 'const client = createClient<paths>({ baseUrl: "http://127.0.0.1:8787" });\n';
  writeFileSync(join(generated, "calls.ts"), `${start}${client}${calls.join("\n")}\n${written}`);
  const compilerOptions = {
    noEmit: true,
    strict: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true,
    target: "es2022",
    lib: ["es2022", "dom"],
    module: "esnext",
    moduleResolution: "bundler",
    types: [],
  };
  writeFileSync(join(generated, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["calls.ts"] }));
  const compiler = findTool("tsc");
  assert.ok(compiler);
  const { status, stdout } = spawnSync(compiler, ["-p", generated], { encoding: "utf8" });
  assert.equal(status, 0, stdout.slice(0, 5_000));
});
