import assert from "node:assert/strict";
import { after, test } from "node:test";
import { adminEndpoints } from "../src/admin/endpoints.ts";
import { consoleEndpoints } from "../src/console/endpoints.ts";
import type { Endpoint } from "../src/endpoint.ts";
import { inferenceEndpoints, passthroughEndpoints } from "../src/inference/routes/endpoints.ts";
import { mcpEndpoints } from "../src/mcp/endpoints.ts";
import { adminKey, createTestGateway, readJson, workspaceKey } from "./support/gateway.ts";

interface Operation {
  operationId: string;
  summary: string;
  tags: string[];
  security?: object[];
  "x-gateway-keys"?: string;
  "x-gateway-scopes"?: string[];
  parameters?: { name: string; in: string; required?: boolean }[];
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

const endpoints: readonly Endpoint[] = [
  ...adminEndpoints,
  ...inferenceEndpoints,
  ...mcpEndpoints,
  ...consoleEndpoints,
  ...passthroughEndpoints,
];
const pathOf = ({ path }: Endpoint) => path.replace(/\/(@?):(\w+)\+?/g, "/$1{$2}").replace(/\*$/, "{path}");

test("GET /openapi.json is OpenAPI 3.1 without credential", () => {
  assert.deepEqual([response.status, type], [200, "application/json"]);
  assert.match(document.openapi, /^3\.1\./);
  assert.ok(document.info.title);
  assert.ok(document.info.version);
});

test("GET /openapi.json says of each row who may call it, and declares every part of its path that varies", () => {
  for (const endpoint of endpoints) {
    const name = `${endpoint.method} ${endpoint.path}`;
    const operation = document.paths[pathOf(endpoint)]?.[endpoint.method.toLowerCase()];
    assert.ok(operation, name);
    if (endpoint.access === "public") assert.deepEqual(operation.security, [], name);
    else if (endpoint.access === "scim") assert.deepEqual(operation.security, [{ Authorization: [] }], name);
    else {
      const { "x-gateway-keys": keys, "x-gateway-scopes": scopes } = operation;
      assert.deepEqual({ keys, scopes }, endpoint.access, name);
    }
    const declared = (operation.parameters ?? []).filter((one) => one.in === "path").map((one) => one.name);
    const varies = [...pathOf(endpoint).matchAll(/\{(\w+)\}/g)].map(([, one]) => one);
    assert.deepEqual(declared.sort(), varies.sort(), name);
  }
});

test("GET /openapi.json describes what bodies hold, of every row with one", () => {
  const bare = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, { requestBody }]) => {
      const schema = requestBody?.content["application/json"]?.schema;
      return schema && Object.keys(schema).every((name) => name === "type" || name === "$schema")
        ? [`${method} ${path}`]
        : [];
    }),
  );
  assert.deepEqual(bare, []);
});

/** Members of an object's schema and of the objects in it, by path, with their descriptions. */
function describedMembers(properties: Record<string, object>, path = ""): [string, string | undefined][] {
  return Object.entries(properties).flatMap(([name, member]) => [
    [`${path}${name}`, Reflect.get(member, "description")],
    ...describedMembers(Reflect.get(member, "properties") ?? {}, `${path}${name}.`),
  ]);
}

test("GET /openapi.json describes routing configs where a body holds one, groups within groups", () => {
  const reference = "#/components/schemas/RoutingConfig";
  for (const [path, method] of [
    ["/v1/configs", "post"],
    ["/v1/configs/{slug}", "put"],
    ["/v1/configs/explain", "post"],
  ] as const) {
    const schema = document.paths[path]?.[method]?.requestBody?.content["application/json"]?.schema;
    assert.ok(JSON.stringify(Reflect.get(schema?.properties ?? {}, "config")).includes(reference), path);
  }
  const { properties } = document.components.schemas.RoutingConfig as { properties: Record<string, object> };
  assert.deepEqual(Reflect.get(properties.targets ?? {}, "items"), { $ref: reference });
  const members = ["provider", "override_params", "weight", "retry", "cache", "strategy", "cb_config"];
  for (const name of members) assert.ok(Reflect.get(properties[name] ?? {}, "description"), name);
  const undescribed = describedMembers(properties).filter(([, description]) => description === undefined);
  assert.deepEqual(undescribed, []);
  const strategy = Reflect.get(properties.strategy ?? {}, "properties");
  const [, cache] = Reflect.get(properties.cache ?? {}, "anyOf");
  assert.match(cache.properties.mode.description, /simple.*semantic/);
  assert.deepEqual(strategy.mode.enum, ["single", "fallback", "loadbalance", "conditional", "auto"]);
  assert.deepEqual(strategy.conditions.items.required, ["query", "then"]);
});

test("GET /openapi.json says where responses stream, and which headers trace a request", () => {
  for (const path of ["chat/completions", "completions", "messages", "responses"]) {
    const { responses, parameters = [] } = document.paths[`/v1/${path}`]?.post ?? {};
    assert.ok(responses?.[200]?.content?.["text/event-stream"], path);
    const references = parameters.map((one) => Reflect.get(one, "$ref"));
    for (const name of ["trace-id", "span-id", "parent-span-id", "span-name", "metadata"]) {
      assert.ok(references.includes(`#/components/parameters/${name}`), `${path} ${name}`);
    }
  }
});

test("GET /openapi.json describes what SCIM routes return, and their errors, in the type of SCIM", () => {
  for (const endpoint of endpoints) {
    if (endpoint.kind !== "scim") continue;
    const name = `${endpoint.method} ${endpoint.path}`;
    const { responses, requestBody } = document.paths[pathOf(endpoint)]?.[endpoint.method.toLowerCase()] ?? {};
    const types = (status: string | number) => Object.keys(responses?.[status]?.content ?? {});
    assert.deepEqual(types(endpoint.success), endpoint.success === 204 ? [] : ["application/scim+json"], name);
    assert.deepEqual([types("4XX"), types("default")], [["application/scim+json"], ["application/scim+json"]], name);
    const bodies = endpoint.body ? ["application/scim+json", "application/json"] : [];
    assert.deepEqual(Object.keys(requestBody?.content ?? {}), bodies, name);
  }
});

test("GET /openapi.json lists itself and nothing it does not serve", () => {
  const listed = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const served = [...endpoints.map((endpoint) => `${endpoint.method} ${pathOf(endpoint)}`), "GET /openapi.json"];
  assert.deepEqual(listed.sort(), served.sort());
});

test("GET /openapi.json names every operation differently", () => {
  const ids = Object.values(document.paths).flatMap((methods) =>
    Object.values(methods).map(({ operationId }) => operationId),
  );
  assert.deepEqual(
    ids.filter((id, index) => ids.indexOf(id) !== index),
    [],
  );
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
  assert.deepEqual(Object.keys(document.components.schemas), [
    "Error",
    "GeminiError",
    "RpcError",
    "OauthError",
    "ScimError",
    "RoutingConfig",
  ]);
  assert.deepEqual(Object.keys(document.components.securitySchemes).sort(), ["Authorization", "gatewayKey"]);
  for (const requirement of document.security) {
    for (const name of Object.keys(requirement)) assert.ok(document.components.securitySchemes[name], name);
  }
  for (const [, reference] of JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)) {
    const [, kind = "", name = ""] = /^#\/components\/(\w+)\/([\w-]+)$/.exec(reference ?? "") ?? [];
    assert.ok(Reflect.get(document.components, kind)?.[name], reference);
  }
});

test("no read of the control plane refuses a query without a parameter that /openapi.json calls optional", async () => {
  const silent: string[] = [];
  for (const [path, { get }] of Object.entries(document.paths)) {
    if (get?.["x-gateway-keys"] === undefined || path.includes("{")) continue;
    // keys of the organisation name a workspace where those of a workspace need not
    const key = get["x-gateway-keys"] === "admin" ? adminKey : workspaceKey;
    const answer = await gateway.fetch(path, { headers: { "x-gateway-api-key": key } });
    if (answer.status !== 400) {
      await answer.body?.cancel();
      continue;
    }
    const { error } = await readJson<{ error: { param: string } }>(answer);
    const parameter = get.parameters?.find(({ name }) => name === error.param);
    if (parameter && !parameter.required) silent.push(`${path} requires ${error.param}`);
  }
  assert.deepEqual(silent, []);
});

test("GET /openapi.json gives the same document again", async () => {
  assert.deepEqual(await readJson(await gateway.fetch("/openapi.json")), document);
});
