import assert from "node:assert/strict";
import { after, test } from "node:test";
import { adminEndpoints } from "../src/admin/endpoints.ts";
import type { Endpoint } from "../src/endpoint.ts";
import { inferenceEndpoints, passthroughEndpoints } from "../src/inference/endpoints.ts";
import { createTestGateway, readJson } from "./support/gateway.ts";

interface Operation {
  summary: string;
  tags: string[];
  security?: object[];
  "x-gateway-scopes"?: string[];
  parameters?: { name: string; in: string }[];
  requestBody?: { content: Record<string, { schema: { type?: string; required?: string[]; properties?: object } }> };
  responses: Record<string, { description: string; content?: Record<string, { schema: object }> }>;
}

interface Document {
  openapi: string;
  info: { title: string; version: string };
  security: Record<string, unknown>[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, object>; securitySchemes: Record<string, { type: string; name?: string }> };
}

const gateway = await createTestGateway();
after(() => gateway.close());
const response = await gateway.fetch("/openapi.json");
const type = response.headers.get("content-type");
const document = await readJson<Document>(response);

const endpoints: readonly Endpoint[] = [...adminEndpoints, ...inferenceEndpoints, ...passthroughEndpoints];
const pathOf = ({ path }: Endpoint) => path.replace(/\/:(\w+)\+?/g, "/{$1}").replace(/\*$/, "{path}");

test("GET /openapi.json is OpenAPI 3.1 without credential", () => {
  assert.deepEqual([response.status, type], [200, "application/json"]);
  assert.match(document.openapi, /^3\.1\./);
  assert.ok(document.info.title);
  assert.ok(document.info.version);
});

for (const endpoint of endpoints) {
  test(`GET /openapi.json lists ${endpoint.method} ${endpoint.path}`, () => {
    const operation = document.paths[pathOf(endpoint)]?.[endpoint.method.toLowerCase()];
    assert.ok(operation);
    assert.equal(operation.summary, endpoint.summary);
    assert.deepEqual(operation.tags, [endpoint.tag]);
    const success = endpoint.access === "scim" ? endpoint.success : 200;
    const { 246: _failed, 446: _denied, ...others } = operation.responses;
    assert.deepEqual(Object.keys(others).sort(), [String(success), "default"]);
    if (endpoint.access === "public") assert.deepEqual(operation.security, []);
    else if (endpoint.access === "scim") assert.deepEqual(operation.security, [{ bearer: [] }]);
    else assert.deepEqual(operation["x-gateway-scopes"], endpoint.access.scopes);
    const hasBody = ["body", "documentedBody"].some((name) => Reflect.get(endpoint, name) !== undefined);
    assert.equal(operation.requestBody !== undefined, hasBody);
    const inPath = [...endpoint.path.matchAll(/\/:(\w+)/g)].map(([, name]) => name);
    const parameters = operation.parameters ?? [];
    for (const name of inPath) assert.ok(parameters.some((one) => one.name === name && one.in === "path"));
    for (const { name } of endpoint.query ?? []) {
      assert.ok(parameters.some((one) => one.name === name && one.in === "query"));
    }
  });
}

test("GET /openapi.json lists itself and nothing it does not serve", () => {
  const listed = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const served = [...endpoints.map((endpoint) => `${endpoint.method} ${pathOf(endpoint)}`), "GET /openapi.json"];
  assert.deepEqual(listed.sort(), served.sort());
});

test("GET /openapi.json describes the body of a chat", () => {
  const { requestBody } = document.paths["/v1/chat/completions"]?.post ?? {};
  const schema = requestBody?.content["application/json"]?.schema;
  assert.equal(schema?.type, "object");
  assert.deepEqual(schema?.required?.toSorted(), ["messages", "model"]);
  for (const name of ["model", "messages", "stream", "temperature", "tools"]) {
    assert.ok(Object.hasOwn(schema?.properties ?? {}, name), name);
  }
});

test("GET /openapi.json has components and every reference leads to one", () => {
  assert.deepEqual(Object.keys(document.components.schemas), ["Error"]);
  assert.deepEqual(Object.keys(document.components.securitySchemes).sort(), ["bearer", "gatewayKey"]);
  for (const requirement of document.security) {
    for (const name of Object.keys(requirement)) assert.ok(document.components.securitySchemes[name], name);
  }
  for (const [, reference] of JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)) {
    const name = /^#\/components\/schemas\/(\w+)$/.exec(reference ?? "")?.[1] ?? "";
    assert.ok(document.components.schemas[name], reference);
  }
});

test("GET /openapi.json gives the same document again", async () => {
  assert.deepEqual(await readJson(await gateway.fetch("/openapi.json")), document);
});
