import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, done } from "../support/control.ts";
import { createTestGateway, type TestGateway, workspaceKey } from "../support/gateway.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";
import { postLegacy, rpc } from "./support.ts";

// How arguments of tools reach an API: styles of parameters, and bodies of all media types.

let gateway: TestGateway;
let upstream: RecordingUpstream;
let count = 0;
const key = workspaceKey;

before(async () => {
  upstream = await startRecordingUpstream((_, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end("{}");
  });
  gateway = await createTestGateway({ inFile: true });
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

const slugs = new Map<object, Promise<string>>();

/** The slug of a server that is made of a document. */
function serve(document: object, more: object = {}): Promise<string> {
  const known = slugs.get(document) ?? create(document, more);
  slugs.set(document, known);
  return known;
}

async function create(document: object, more: object): Promise<string> {
  const slug = `api-${++count}`;
  const url = `${upstream.url}/base`;
  const body = { name: slug, slug, url, transport: "openapi", auth_type: "none", openapi: document, ...more };
  await done(call(gateway, "POST /mcp-integrations", { key, body }));
  await done(call(gateway, "POST /mcp-servers", { key, body: { name: slug, slug, mcp_integration_id: slug } }));
  return slug;
}

async function ask(slug: string, method: string, params: object = {}) {
  const response = await postLegacy(gateway, rpc(method, params), {}, `/m/${slug}/mcp`);
  return JSON.parse(await response.text());
}

/** Calls a tool; what the API got. */
async function use(slug: string, name: string, given: object) {
  const before = upstream.requests.length;
  const { result, error } = await ask(slug, "tools/call", { name, arguments: given });
  return { isError: result?.isError === true, error, result, request: upstream.requests[before] };
}
const list = async (slug: string) => (await ask(slug, "tools/list")).result.tools;

const paths: Record<string, object> = {};
const parameterDocument = { openapi: "3.0.3", info: { title: "P", version: "1" }, paths };
/** Adds an operation with one parameter and returns its name. */
function withParameter(parameter: { in: string; name?: string; [field: string]: unknown }): string {
  const operationId = `op${Object.keys(paths).length}`;
  const path = parameter.in === "path" ? `/${operationId}/{v}/end` : `/${operationId}`;
  paths[path] = { get: { operationId, parameters: [{ name: "v", schema: {}, required: true, ...parameter }] } };
  return operationId;
}

const array = ["blue", "black brown"];
const object = { R: 100, G: "2&0" };
type Case = [place: string, style: string | undefined, explode: boolean | undefined, value: unknown, wanted: string];
const cases: Case[] = [
  ["query", undefined, undefined, "a b&c", "v=a%20b%26c"],
  ["query", "form", undefined, array, "v=blue&v=black%20brown"],
  ["query", "form", false, array, "v=blue,black%20brown"],
  ["query", "form", undefined, object, "R=100&G=2%260"],
  ["query", "form", false, object, "v=R,100,G,2%260"],
  ["query", "spaceDelimited", undefined, array, "v=blue%20black%20brown"],
  ["query", "spaceDelimited", false, object, "v=R%20100%20G%202%260"],
  ["query", "pipeDelimited", undefined, array, "v=blue%7Cblack%20brown"],
  ["query", "pipeDelimited", true, array, "v=blue&v=black%20brown"],
  ["query", "deepObject", true, object, "v%5BR%5D=100&v%5BG%5D=2%260"],
  ["query", "deepObject", undefined, { a: { b: [1, 2] } }, "v%5Ba%5D%5Bb%5D%5B0%5D=1&v%5Ba%5D%5Bb%5D%5B1%5D=2"],
  ["query", "matrix", undefined, array, "v=blue&v=black%20brown"],
  ["query", undefined, undefined, [{ a: 1 }], "v=%7B%22a%22%3A1%7D"],
  ["query", undefined, undefined, [], ""],
  ["query", undefined, undefined, true, "v=true"],
  ["path", undefined, undefined, "a/b", "a%2Fb"],
  ["path", "simple", undefined, array, "blue,black%20brown"],
  ["path", "simple", undefined, object, "R,100,G,2%260"],
  ["path", "simple", true, object, "R=100,G=2%260"],
  ["path", "label", undefined, "a.b", ".a.b"],
  ["path", "label", false, array, ".blue,black%20brown"],
  ["path", "label", true, array, ".blue.black%20brown"],
  ["path", "label", true, object, ".R=100.G=2%260"],
  ["path", "matrix", undefined, "a", ";v=a"],
  ["path", "matrix", false, array, ";v=blue,black%20brown"],
  ["path", "matrix", true, array, ";v=blue;v=black%20brown"],
  ["path", "matrix", false, object, ";v=R,100,G,2%260"],
  ["path", "matrix", true, object, ";R=100;G=2%260"],
  ["header", undefined, undefined, array, "blue,black brown"],
  ["header", undefined, undefined, object, "R,100,G,2&0"],
  ["header", undefined, true, object, "R=100,G=2&0"],
  ["cookie", undefined, undefined, "a;b", "v=a%3Bb"],
  ["cookie", undefined, false, array, "v=blue,black%20brown"],
  ["cookie", undefined, true, object, "R=100; G=2%260"],
];
const named = cases.map(([place, style, explode, value, wanted]) => {
  const parameter = { in: place, ...(style && { style }), ...(explode !== undefined && { explode }) };
  return { name: withParameter(parameter), place, style, explode, value, wanted };
});
const jsonName = withParameter({ in: "query", schema: undefined, content: { "application/json": { schema: {} } } });
const reservedName = withParameter({ in: "query", allowReserved: true });
const dotsName = withParameter({ in: "path", style: "label" });
const spelledName = "spelled";
paths["/%2e{v}/end"] = { get: { operationId: spelledName, parameters: [{ name: "v", in: "path", required: true }] } };
for (const [index, path] of ["/../x", "/a/%2E%2e", "/a\\..\\x"].entries()) {
  paths[path] = { get: { operationId: `leaves${index}` } };
}
const undeclared = "undeclared";
paths["/undeclared/{id}"] = { get: { operationId: undeclared } };

for (const { name, place, style, explode, value, wanted } of named) {
  test(`a value in ${place}, style ${style}, explode ${explode}: ${JSON.stringify(value)}`, async () => {
    const { request, result } = await use(await serve(parameterDocument), name, { v: value });
    assert.ok(request, JSON.stringify(result));
    const sent: Record<string, unknown> = {
      query: request.path.split("?")[1] ?? "",
      path: request.path.split("/")[3],
      header: request.headers.v,
      cookie: request.headers.cookie,
    };
    assert.equal(sent[place], wanted);
  });
}

test("parameters with a content are JSON, and reserved characters stay where the document allows them", async () => {
  const slug = await serve(parameterDocument);
  for (const [value, wanted] of [
    [{ a: [1] }, "%7B%22a%22%3A%5B1%5D%7D"],
    ["x", "%22x%22"],
  ]) {
    assert.equal((await use(slug, jsonName, { v: value })).request?.path.split("?")[1], `v=${wanted}`);
  }
  const { request } = await use(slug, reservedName, { v: "a/b:c?d&e=f#g" });
  assert.equal(request?.path, `/base/${reservedName}?v=a/b:c?d%26e%3Df%23g`);
});

test("a path never leaves its segments, whatever its style", async () => {
  const slug = await serve(parameterDocument);
  assert.deepEqual((await use(slug, dotsName, { v: "." })).request, undefined);
  assert.equal((await use(slug, dotsName, { v: "../.." })).request?.path, `/base/${dotsName}/...%2F../end`);
  assert.deepEqual((await use(slug, spelledName, { v: "." })).request, undefined);
  assert.equal((await list(slug)).filter(({ name }: { name: string }) => name.startsWith("leaves")).length, 0);
  assert.equal((await use(slug, undeclared, { id: "a/b" })).request?.path, "/base/undeclared/a%2Fb");
});

const person = {
  type: "object",
  required: ["name"],
  properties: {
    name: { type: "string" },
    tags: { type: "array", items: { type: "string" } },
    address: { type: "object", properties: { city: { type: "string" } } },
    file: { type: "string", format: "binary" },
    files: { type: "array", items: { type: "string", format: "binary" } },
  },
};
const encoding = {
  tags: { style: "form", explode: false },
  address: { style: "deepObject", explode: true },
  file: { contentType: "image/png, image/jpeg" },
};
const bodyOf = (content: object) => ({ required: true, content });
const bodyDocument = {
  openapi: "3.0.3",
  info: { title: "B", version: "1" },
  paths: Object.fromEntries(
    Object.entries({
      form: { "application/x-www-form-urlencoded": { schema: person } },
      formStyled: { "application/x-www-form-urlencoded": { schema: person, encoding } },
      upload: { "multipart/form-data": { schema: person, encoding } },
      jsonApi: { "application/vnd.api+json": { schema: person } },
      patch: { "application/merge-patch+json; charset=utf-8": { schema: person } },
      plain: { "text/plain": { schema: { type: "string" } } },
      raw: { "image/png": { schema: { type: "string", format: "binary" } } },
      rawAny: { "application/octet-stream": {} },
      open: { "application/json": { schema: { ...person, additionalProperties: { type: "number" } } } },
      openForm: { "application/x-www-form-urlencoded": { schema: { type: "object", additionalProperties: true } } },
      xml: { "application/xml": { schema: person } },
      mixed: { "multipart/mixed": { schema: person } },
      any: { "*/*": { schema: person } },
      either: { "application/xml": { schema: person }, "multipart/form-data": { schema: person } },
    }).map(([operationId, content]) => [`/${operationId}`, { post: { operationId, requestBody: bodyOf(content) } }]),
  ),
};
const given = { name: "Bo & Al", tags: ["a b", "c"], address: { city: "X" } };
const hello = btoa("hello");

for (const [name, args, type, body] of [
  [
    "form",
    given,
    "application/x-www-form-urlencoded",
    "name=Bo+%26+Al&tags=a+b&tags=c&address=%7B%22city%22%3A%22X%22%7D",
  ],
  ["formStyled", given, "application/x-www-form-urlencoded", "name=Bo+%26+Al&tags=a+b,c&address%5Bcity%5D=X"],
  ["jsonApi", given, "application/vnd.api+json", JSON.stringify(given)],
  ["patch", given, "application/merge-patch+json; charset=utf-8", JSON.stringify(given)],
  ["plain", { body: "hi" }, "text/plain", "hi"],
  ["raw", { body: hello }, "image/png", "hello"],
  ["raw", { body: `data:image/png;base64,${hello}` }, "image/png", "hello"],
  ["rawAny", { body: hello }, "application/octet-stream", "hello"],
  ["open", { name: "a", extra: 2 }, "application/json", '{"name":"a","extra":2}'],
  ["openForm", { body: { a: 1 } }, "application/x-www-form-urlencoded", "a=1"],
  ["any", { name: "a" }, "application/json", '{"name":"a"}'],
] as const) {
  test(`the body of ${name} is sent as ${type}`, async () => {
    const { request, result, error } = await use(await serve(bodyDocument), name, args);
    assert.ok(request, JSON.stringify(result ?? error));
    assert.deepEqual([request.headers["content-type"], request.text], [type, body]);
  });
}

for (const name of ["upload", "either"]) {
  test(`a multipart form (${name}) has files from base64, and objects as JSON`, async () => {
    const args = { ...given, file: hello, files: [hello, btoa("two")] };
    const { request, result } = await use(await serve(bodyDocument), name, args);
    assert.ok(request, JSON.stringify(result));
    const type = request.headers["content-type"] ?? "";
    assert.match(type, /^multipart\/form-data; boundary=[\w-]+$/);
    const form = await new Response(Uint8Array.from(request.body), { headers: { "content-type": type } }).formData();
    assert.deepEqual([form.get("name"), form.getAll("tags")], ["Bo & Al", ["a b", "c"]]);
    const texts = [form.get("file"), ...form.getAll("files")].map((file) => (file as unknown as Blob).text());
    assert.deepEqual(await Promise.all(texts), ["hello", "hello", "two"]);
    const wanted = name === "upload" ? "image/png" : "application/octet-stream";
    assert.ok(request.text.includes(`name="file"; filename="file"\r\nContent-Type: ${wanted}\r\n\r\nhello`));
    assert.match(request.text, /name="address"\r\nContent-Type: application\/json\r\n\r\n\{"city":"X"\}/);
  });
}

test("arguments that cannot be sent are refused, and nothing is called", async () => {
  const slug = await serve(bodyDocument);
  for (const [name, args] of [
    ["form", { name: "a", other: 1 }],
    ["form", {}],
    ["upload", { name: "a", file: "no base64!" }],
    ["raw", { body: "no base64!" }],
    ["raw", {}],
  ] as const) {
    const { isError, request } = await use(slug, name, args);
    assert.deepEqual([name, isError, request], [name, true, undefined]);
  }
  const settings = { settings: { check_arguments: false } };
  await done(call(gateway, `PUT /mcp-servers/${slug}`, { key, body: settings }));
  const { isError, result, request } = await use(slug, "form", { name: "a", other: 1 });
  assert.deepEqual([isError, request], [true, undefined]);
  assert.match(result.content[0].text, /other is not an argument/);
  await done(call(gateway, `PUT /mcp-servers/${slug}`, { key, body: { settings: { check_arguments: true } } }));
});

test("schemas of arguments are closed, and show files as base64", async () => {
  const tools = new Map<string, { inputSchema: Record<string, unknown> & { properties: Record<string, unknown> } }>(
    (await list(await serve(bodyDocument))).map((tool: { name: string }) => [tool.name, tool]),
  );
  for (const [name, { inputSchema }] of tools) {
    const wanted = name === "open" ? { type: "number" } : false;
    assert.deepEqual([name, inputSchema.additionalProperties], [name, wanted]);
  }
  const { file, files, name } = tools.get("upload")?.inputSchema.properties ?? {};
  const shown = { type: "string", contentEncoding: "base64", description: "The content of a file in base64" };
  assert.deepEqual([file, files, name], [shown, { type: "array", items: shown }, { type: "string" }]);
});

test("operations whose body cannot be sent are no tools, and the sync says so", async () => {
  const slug = await serve(bodyDocument);
  const names = (await list(slug)).map(({ name }: { name: string }) => name);
  assert.ok(!names.includes("xml") && !names.includes("mixed") && names.includes("either"));
  const synced = await done<{ success: boolean; details: { sync_error: string } }>(
    call(gateway, `POST /mcp-integrations/${slug}/sync`, { key }),
  );
  assert.deepEqual(
    [synced.success, synced.details.sync_error],
    [
      true,
      "No tools were made of POST /xml: a body of the type application/xml cannot be sent; " +
        "POST /mixed: a body of the type multipart/mixed cannot be sent",
    ],
  );
});
