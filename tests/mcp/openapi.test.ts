import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, done } from "../support/control.ts";
import { createTestGateway, type TestGateway, workspaceKey } from "../support/gateway.ts";
import { problem } from "../support/people.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";
import { legacyHeaders, modernMeta, postLegacy, rpc } from "./support.ts";

// Servers that are made from OpenAPI documents.

let gateway: TestGateway;
let upstream: RecordingUpstream;
let answer: { status: number; type: string; body: string } = {
  status: 200,
  type: "application/json",
  body: '{"ok":true}',
};
const key = workspaceKey;

const pet = {
  type: "object",
  required: ["name", "id"],
  properties: {
    id: { type: "integer", readOnly: true },
    name: { type: "string", nullable: true },
    mother: { $ref: "#/components/schemas/Pet" },
  },
};
const document = {
  openapi: "3.0.3",
  info: { title: "Pets", version: "2.1", description: "All about pets" },
  servers: [{ url: "http://169.254.169.254/" }],
  components: {
    schemas: { Pet: pet },
    parameters: { Limit: { name: "limit", in: "query", schema: { type: "integer" } } },
  },
  paths: {
    "/pets": {
      get: {
        operationId: "listPets",
        summary: "List pets",
        parameters: [
          { $ref: "#/components/parameters/Limit" },
          { name: "tag", in: "query", schema: { type: "array", items: { type: "string" } } },
          { name: "X-Team", in: "header", schema: { type: "string" } },
          { name: "Authorization", in: "header", schema: { type: "string" } },
          { name: "Host", in: "header", schema: { type: "string" } },
        ],
      },
      post: {
        operationId: "createPet",
        requestBody: {
          required: true,
          content: { "application/json": { schema: { $ref: "#/components/schemas/Pet" } } },
        },
      },
    },
    "/pets/{id}": {
      parameters: [{ name: "id", in: "path", required: true, schema: { type: "string" } }],
      put: {
        operationId: "a name with signs/",
        requestBody: {
          content: { "application/json": { schema: { type: "object", properties: { id: { type: "integer" } } } } },
        },
      },
      delete: {},
    },
    "/tags": {
      post: { operationId: "setTags", requestBody: { content: { "application/json": { schema: { type: "array" } } } } },
    },
  },
};

before(async () => {
  upstream = await startRecordingUpstream((_, response) => {
    response.writeHead(answer.status, { "content-type": answer.type, location: "http://169.254.169.254/" });
    response.end(answer.body);
  });
  gateway = await createTestGateway();
  const body = {
    name: "Pets",
    slug: "pets-api",
    url: `${upstream.url}/base/`,
    transport: "openapi",
    auth_type: "headers",
    openapi: document,
    configurations: { custom_headers: { authorization: "Bearer pet-secret-000000" } },
  };
  await done(call(gateway, "POST /mcp-integrations", { key, body }));
  await done(
    call(gateway, "POST /mcp-servers", { key, body: { name: "P", slug: "pets", mcp_integration_id: "pets-api" } }),
  );
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

interface Tool {
  name: string;
  title?: string;
  inputSchema: { properties: Record<string, unknown>; required: string[] };
  annotations: Record<string, boolean>;
}

async function ask(method: string, params: object = {}) {
  return JSON.parse(await (await postLegacy(gateway, rpc(method, params), {}, "/m/pets/mcp")).text());
}
const use = async (name: string, given: object = {}) => (await ask("tools/call", { name, arguments: given })).result;
const tools = async (): Promise<Map<string, Tool>> => {
  const { result } = await ask("tools/list");
  return new Map(result.tools.map((tool: Tool) => [tool.name, tool]));
};

test("each operation of the document is a tool", async () => {
  const all = await tools();
  const names = [...all.keys()].map((name) => name.replace(/_[0-9a-f]{6}$/, "_#"));
  assert.deepEqual(names, ["listPets", "createPet", "a_name_with_signs__#", "delete_pets__id__#", "setTags"]);
  const list = all.get("listPets");
  assert.deepEqual(Object.keys(list?.inputSchema.properties ?? {}), ["limit", "tag", "X-Team"]);
  assert.deepEqual([list?.title, list?.annotations], ["List pets", { readOnlyHint: true }]);
  const create = all.get("createPet");
  assert.deepEqual(create?.inputSchema, {
    type: "object",
    properties: { name: { type: ["string", "null"] }, mother: {} },
    required: ["name"],
    additionalProperties: false,
  });
  assert.deepEqual(all.get("setTags")?.inputSchema.properties, { body: { type: "array" } });
  const [remove] = [...all.values()].filter(({ name }) => name.startsWith("delete"));
  assert.deepEqual(remove?.annotations, { readOnlyHint: false, destructiveHint: true, idempotentHint: true });
  const [put] = [...all.values()].filter(({ name }) => name.startsWith("a_name"));
  assert.deepEqual(Object.keys(put?.inputSchema.properties ?? {}), ["id_path", "id_body"]);
});

test("the server is synced like others, and speaks both eras", async () => {
  const metadata = await done(call(gateway, "GET /mcp-integrations/pets-api/metadata", { key }));
  assert.deepEqual(
    [metadata.server_name, metadata.server_version, metadata.instructions, metadata.sync_status],
    ["Pets", "2.1", "All about pets", "success"],
  );
  const { result } = await ask("initialize", { protocolVersion: "2025-06-18", capabilities: {} });
  assert.deepEqual([result.protocolVersion, result.serverInfo.name], ["2025-06-18", "Pets"]);
  const headers = { ...legacyHeaders, "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list" };
  const body = rpc("tools/list", { _meta: modernMeta });
  const response = await gateway.fetch("/m/pets/mcp", { method: "POST", headers, body });
  assert.equal(JSON.parse(await response.text()).result.resultType, "complete");
});

test("arguments reach path, query, header and body of the API, with the integration's credential", async () => {
  await use("listPets", { limit: 2, tag: ["a b", "c"], "X-Team": "blue" });
  const listed = upstream.requests.at(-1);
  assert.deepEqual([listed?.method, listed?.path], ["GET", "/base/pets?limit=2&tag=a%20b&tag=c"]);
  assert.deepEqual([listed?.headers["x-team"], listed?.headers.authorization], ["blue", "Bearer pet-secret-000000"]);
  assert.equal(listed?.headers["mcp-protocol-version"], undefined);
  assert.equal(listed?.headers["x-gateway-api-key"], undefined);
  const created = await use("createPet", { name: "Rex" });
  assert.deepEqual(JSON.parse(upstream.requests.at(-1)?.text ?? ""), { name: "Rex" });
  assert.deepEqual(created.structuredContent, { ok: true });
  const [put = ""] = [...(await tools()).keys()].filter((name) => name.startsWith("a_name"));
  await use(put, { id_path: "../admin?x#y", id_body: 7 });
  assert.equal(upstream.requests.at(-1)?.path, "/base/pets/..%2Fadmin%3Fx%23y");
  assert.deepEqual(JSON.parse(upstream.requests.at(-1)?.text ?? ""), { id: 7 });
});

for (const id of ["..", ".", ""]) {
  test(`the path argument ${JSON.stringify(id)} is refused`, async () => {
    const [name = ""] = [...(await tools()).keys()].filter((one) => one.startsWith("delete"));
    const before = upstream.requests.length;
    assert.equal((await use(name, { id })).isError, true);
    assert.equal(upstream.requests.length, before);
  });
}

for (const [name, sent, isError, text] of [
  ["an error", { status: 404, type: "application/json", body: '{"error":"no"}' }, true, /answered 404: \{"error"/],
  ["a redirect", { status: 302, type: "text/plain", body: "" }, true, /answered 302/],
  ["a list", { status: 200, type: "application/json", body: "[1]" }, undefined, /^\[1\]$/],
  ["text", { status: 200, type: "text/plain", body: "hello" }, undefined, /^hello$/],
  ["bytes", { status: 200, type: "image/png", body: "png" }, undefined, /^3 bytes of image\/png$/],
] as const) {
  test(`an API that answers with ${name}`, async () => {
    answer = sent;
    const result = await use("listPets");
    answer = { status: 200, type: "application/json", body: '{"ok":true}' };
    assert.equal(result.isError, isError);
    assert.match(result.content[0].text, text);
    if (name === "a list") assert.deepEqual(result.structuredContent, { result: [1] });
  });
}

test("an answer over 1 MiB fails the call", async () => {
  answer = { status: 200, type: "text/plain", body: "x".repeat(1024 * 1024 + 1) };
  const { error } = await ask("tools/call", { name: "listPets", arguments: {} });
  answer = { status: 200, type: "application/json", body: '{"ok":true}' };
  assert.equal(error.code, -32603);
});

for (const [name, changes, wanted] of [
  ["no document", { openapi: undefined }, "400 AB01 openapi"],
  ["another version", { openapi: { ...document, openapi: "2.0" } }, "400 AB01 openapi"],
  ["no paths", { openapi: { openapi: "3.1.0" } }, "400 AB01 openapi"],
  ["text that is no JSON", { openapi: "openapi: 3.1.0" }, "400 AB01 openapi"],
  ["another transport", { transport: "http" }, "400 AB01 openapi"],
  ["a query in the address", { url: "https://pets.example.com/?a=b" }, "400 AB01 url"],
] as const) {
  test(`an OpenAPI integration with ${name} is refused`, async () => {
    const body = {
      name: "P",
      url: "https://pets.example.com",
      transport: "openapi",
      auth_type: "none",
      openapi: document,
    };
    assert.equal(await problem(gateway, "POST /mcp-integrations", { key, body: { ...body, ...changes } }), wanted);
  });
}

test("a new document replaces the tools, and its references may go in circles", async () => {
  const loop = { $ref: "#/components/schemas/B" };
  const wild = {
    openapi: "3.1.0",
    components: {
      schemas: {
        A: { allOf: [loop], properties: { b: loop } },
        B: { $ref: "#/components/schemas/A" },
        C: { $ref: "#/components/schemas/C" },
      },
    },
    paths: {
      "/a": { post: { operationId: "a", requestBody: { content: { "application/json": { schema: loop } } } } },
      "/c": {
        post: {
          operationId: "c",
          requestBody: { content: { "application/json": { schema: { $ref: "#/components/schemas/C" } } } },
        },
      },
      "/d": { $ref: "https://elsewhere.example.com/path" },
    },
  };
  const body = { openapi: JSON.stringify(wild) };
  await done(call(gateway, "PUT /mcp-integrations/pets-api", { key, body }));
  assert.deepEqual([...(await tools()).keys()], ["a", "c"]);
});
