import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, done } from "../support/control.ts";
import { createTestGateway, type TestGateway, workspaceKey } from "../support/gateway.ts";
import { postLegacy, rpc } from "./support.ts";

// What tools of one OpenAPI document may take.

let gateway: TestGateway;
let count = 0;
const key = workspaceKey;

before(async () => {
  gateway = await createTestGateway({ inFile: true });
});
after(() => gateway.close());

interface Tool {
  name: string;
  inputSchema: { properties: Record<string, unknown> };
}

/** The tools of a document over all pages, and what its sync says. */
async function read(document: object): Promise<{ tools: Tool[]; pages: number; syncError: string }> {
  const slug = `bounds-${++count}`;
  const openapi = { openapi: "3.1.0", ...document };
  const body = { name: slug, slug, url: "http://127.0.0.1:18999/", transport: "openapi", auth_type: "none", openapi };
  await done(call(gateway, "POST /mcp-integrations", { key, body }));
  await done(call(gateway, "POST /mcp-servers", { key, body: { name: slug, slug, mcp_integration_id: slug } }));
  const metadata = await done(call(gateway, `GET /mcp-integrations/${slug}/metadata`, { key }));
  assert.equal(metadata.sync_status, "success");
  const tools: Tool[] = [];
  let [pages, cursor] = [0, undefined];
  do {
    const response = await postLegacy(gateway, rpc("tools/list", cursor ? { cursor } : {}), {}, `/m/${slug}/mcp`);
    const { result } = JSON.parse(await response.text());
    tools.push(...result.tools);
    cursor = result.nextCursor;
    pages++;
  } while (cursor);
  return { tools, pages, syncError: String(metadata.sync_error) };
}
const lettersOf = (value: unknown) => JSON.stringify(value).length;

const repeat = <One>(times: number, make: (index: number) => One): One[] =>
  Array.from({ length: times }, (_, index) => make(index));
const members = (times: number, make: (index: number) => unknown) =>
  Object.fromEntries(repeat(times, (index) => [`m${index}`, make(index)]));
const methods = ["get", "put", "post", "delete", "patch"];
const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` });

/** Paths that are all one, with parameters that are all one schema. */
function shared(parameters: number, schema: object) {
  const item = {
    ...Object.fromEntries(methods.map((method) => [method, {}])),
    parameters: repeat(parameters, (index) => ({ name: `p${index}`, in: "query", schema: reference("Shared") })),
  };
  const paths = Object.fromEntries(repeat(60, (index) => [`/p${index}`, { $ref: "#/components/pathItems/One" }]));
  return { paths, components: { schemas: { Shared: schema }, pathItems: { One: item } } };
}
const wide = { type: "object", properties: members(1_900, () => ({ type: "string" })) };

test("operations with more than 100 parameters are no tools", async () => {
  const { tools, syncError } = await read(shared(300, wide));
  assert.equal(tools.length, 0);
  assert.match(syncError, /^No tools were made of GET \/p0: it has more than 100 parameters; PUT \/p0: /);
  assert.equal((await read(shared(100, { type: "string" }))).tools.length, 300);
});

test("schemas that many tools share count for each, and the document ends where they exceed 4 MiB", async () => {
  const { tools, pages, syncError } = await read(shared(90, wide));
  assert.ok(tools.length > 20 && tools.length < 300, String(tools.length));
  assert.ok(lettersOf(tools) < 4.5 * 1024 * 1024 && pages > 2);
  for (const { inputSchema } of tools) assert.ok(lettersOf(inputSchema) < 80 * 1024);
  assert.match(syncError, /what follows after \d+ tools: the document has more than (4194304 bytes|200000 values)$/);
});

test("a schema that is long only because it repeats another accepts anything", async () => {
  const long = { type: "string", description: "x".repeat(300_000) };
  const body = { content: { "application/json": { schema: reference("Body") } } };
  const { tools } = await read({
    paths: { "/a": { post: { operationId: "a", requestBody: body } } },
    components: {
      schemas: { Body: { type: "object", properties: members(600, () => reference("Long")) }, Long: long },
    },
  });
  assert.deepEqual(Object.keys(tools[0]?.inputSchema.properties ?? {}).length, 600);
  assert.ok(lettersOf(tools) < 64 * 1024);
});

test("schemas that refer to each other many times are copied once", async () => {
  // each level doubles: 2^22 schemas if they were written out
  const levels = 22;
  const schemas = Object.fromEntries(
    repeat(levels, (level) => {
      const next = level === levels - 1 ? { type: "string" } : reference(`L${level + 1}`);
      return [`L${level}`, { type: "object", properties: { a: next, b: next } }];
    }),
  );
  const cyclic = { properties: members(20, (index) => reference(`C${index}`)) };
  const cycles = Object.fromEntries(repeat(20, (index) => [`C${index}`, cyclic]));
  const operation = (operationId: string, name: string) => {
    return { post: { operationId, requestBody: { content: { "application/json": { schema: reference(name) } } } } };
  };
  const { tools } = await read({
    paths: { "/a": operation("a", "L0"), "/b": operation("b", "C0"), "/c": operation("c", "L15") },
    components: { schemas: { ...schemas, ...cycles } },
  });
  assert.deepEqual(
    tools.map(({ name }) => name),
    ["a", "b", "c"],
  );
  for (const tool of tools) assert.ok(lettersOf(tool) < 80 * 1024);
});

test("schemas that lie deeper than is taken over are cut, however many ways lead to them", async () => {
  const schemas = Object.fromEntries(
    repeat(30, (level) => [`D${level}`, { properties: members(8, () => reference(`D${(level + 1) % 30}`)) }]),
  );
  const body = { content: { "application/json": { schema: reference("D0") } } };
  const { tools, syncError } = await read({
    paths: { "/a": { post: { operationId: "a", requestBody: body } } },
    components: { schemas },
  });
  assert.deepEqual([tools.map(({ name }) => name), syncError], [["a"], "null"]);
});

test("a document as text has the bounds of other bodies", async () => {
  const deep = `{"openapi":"3.1.0","paths":{},"x":${"[".repeat(2_000)}${"]".repeat(2_000)}}`;
  const many = `{"openapi":"3.1.0","paths":{},"x":[${"0,".repeat(250_000)}0]}`;
  for (const openapi of [deep, many]) {
    const body = { name: "n", url: "http://127.0.0.1:18999/", transport: "openapi", auth_type: "none", openapi };
    const { status } = await call(gateway, "POST /mcp-integrations", { key, body });
    assert.equal(status, 400);
  }
});
