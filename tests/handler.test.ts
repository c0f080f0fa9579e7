import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, test } from "node:test";
import { deflateSync, gzipSync } from "node:zlib";
import { mintApiKey } from "../src/auth/api-key.ts";
import { bareKeyHeaders } from "../src/lib/secret-names.ts";
import {
  adminKey,
  chat,
  createTestGateway,
  type HeaderChanges,
  helloBody,
  insertKey,
  readJson,
  requestHeaders,
  waitForLog,
  waitForLogs,
  workspaceKey,
} from "./support/gateway.ts";

const limits = { jsonBodyBytes: 16_384, streamedBodyBytes: 16_384 };
const shared = await createTestGateway({ limits, inFile: true });
const aliased = await createTestGateway({ headerAliases: ["x-acme-"] });
after(async () => {
  await shared.close();
  await aliased.close();
});

interface ErrorBody {
  status: string;
  message: string;
  error: { message: string; type: string; code: string | null; param: string | null };
  provider?: string;
}

/** Requires the error shape every route has, and returns it. */
async function requireError(response: Response, status: number): Promise<ErrorBody> {
  const body = await readJson<ErrorBody>(response);
  assert.equal(response.status, status, body.message);
  assert.equal(response.headers.get("content-type"), "application/json");
  assert.equal(body.status, "failure");
  assert.equal(body.message, body.error.message);
  assert.deepEqual(Object.keys(body.error).sort(), ["code", "message", "param", "type"]);
  assert.ok(body.message.length > 10, "a message a caller can act on");
  return body;
}

test("every response has a trace id, nosniff and no-store", async () => {
  const requests: [string, RequestInit][] = [
    ["/health", {}],
    ["/", {}],
    ["/nowhere", {}],
    ["/v1/chat/completions", { method: "POST", body: "{" }],
    ["/v1/chat/completions", { method: "POST", headers: requestHeaders(), body: JSON.stringify(helloBody) }],
    ["/v1/chat/completions", { method: "POST", headers: requestHeaders(), body: "{" }],
    ["/v1/chat/completions", { method: "OPTIONS" }],
    ["/v1/models", { method: "HEAD" }],
    ["/v1/a%5Cb", {}],
    ["/v1/logs", { headers: requestHeaders() }],
  ];
  for (const [path, init] of requests) {
    const response = await shared.fetch(path, init);
    const name = `${init.method ?? "GET"} ${path}`;
    assert.match(response.headers.get("x-gateway-trace-id") ?? "", /^[0-9A-HJKMNP-TV-Z]{26}$/, name);
    assert.equal(response.headers.get("x-content-type-options"), "nosniff", name);
    assert.equal(response.headers.get("cache-control"), "no-store", name);
    assert.equal(response.headers.get("server"), null, name);
    await response.text();
  }
});

for (const [name, headers, wanted] of [
  ["x-gateway-trace-id", { "x-gateway-trace-id": "my-trace" }, "my-trace"],
  [
    "traceparent",
    { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" },
    "0af7651916cd43dd8448eb211c80319c",
  ],
  [
    "x-gateway-trace-id over traceparent",
    {
      "x-gateway-trace-id": "mine",
      traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    },
    "mine",
  ],
] as const) {
  test(`handle echoes the trace id of ${name}`, async () => {
    const response = await chat(shared, helloBody, headers);
    assert.equal(response.headers.get("x-gateway-trace-id"), wanted);
    assert.equal(response.status, 200);
    const failed = await chat(shared, "{", headers);
    assert.equal(failed.headers.get("x-gateway-trace-id"), wanted);
  });
}

test("handle makes a new trace id where traceparent is all zero", async () => {
  const traceparent = `00-${"0".repeat(32)}-b7ad6b7169203331-01`;
  const response = await chat(shared, helloBody, { traceparent });
  assert.match(response.headers.get("x-gateway-trace-id") ?? "", /^[0-9A-HJKMNP-TV-Z]{26}$/);
});

for (const name of ["trace-id", "span-id", "parent-span-id", "span-name"]) {
  test(`handle refuses x-gateway-${name} of more than 256 characters`, async () => {
    const response = await chat(shared, helloBody, { [`x-gateway-${name}`]: "a".repeat(257) });
    const { error } = await requireError(response, 400);
    assert.equal(error.param, `x-gateway-${name}`);
  });
}

/** A JSON text of `depth` nested arrays, larger than what is parsed without a scan. */
function nested(depth: number): string {
  const arrays = `${"[".repeat(depth - 1)}${"]".repeat(depth - 1)}`;
  return `{"model":"echo-1","messages":[{"role":"user","content":"${"x".repeat(2_048)}"}],"extra":${arrays}}`;
}

const withContent = (changes: object) => ({ ...helloBody, ...changes });

const badBodies: readonly [string, unknown, string | null][] = [
  ["an empty body", "", null],
  ["malformed JSON", "{", null],
  ["JSON with a trailing comma", '{"model":"a",}', null],
  ["two JSON values", `${JSON.stringify(helloBody)}${JSON.stringify(helloBody)}`, null],
  ["NaN", '{"model":"a","messages":[{"role":"user"}],"n":NaN}', null],
  ["a raw control character in a string", '{"model":"a\u0000"}', null],
  ["an array", [], "model"],
  ["null", null, null],
  ["a text", '"hello"', null],
  ["a number", 7, null],
  ["no model", { messages: helloBody.messages }, "model"],
  ["a numeric model", withContent({ model: 5 }), "model"],
  ["a null model", withContent({ model: null }), "model"],
  ["no messages", { model: "echo-1" }, "messages"],
  ["messages that are no list", withContent({ messages: "hello" }), "messages"],
  ["empty messages", withContent({ messages: [] }), "messages"],
  ["a message that is a text", withContent({ messages: ["hello"] }), "messages.0"],
  ["a message that is null", withContent({ messages: [null] }), "messages.0"],
  ["a message without role", withContent({ messages: [{ content: "a" }] }), "messages.0.role"],
  ["a numeric role", withContent({ messages: [{ role: 1 }] }), "messages.0.role"],
  ["a text as stream", withContent({ stream: "yes" }), "stream"],
  ["a text as temperature", withContent({ temperature: "hot" }), "temperature"],
  ["a text as max_tokens", withContent({ max_tokens: "10" }), "max_tokens"],
  ["an object as n", withContent({ n: {} }), "n"],
  ["an object as stop", withContent({ stop: {} }), "stop"],
  ["a list of numbers as stop", withContent({ stop: [1] }), "stop"],
  ["a tool without type", withContent({ tools: [{}] }), "tools.0.type"],
  ["tools that are no list", withContent({ tools: {} }), "tools"],
  ["a text as stream_options", withContent({ stream_options: "usage" }), "stream_options"],
  ["65 levels of nesting", nested(65), null],
  ["5,000 levels of nesting", nested(5_000), null],
  ["bytes that are not UTF-8", Uint8Array.from([0x7b, 0x22, 0xff, 0x22, 0x7d]), null],
  ["a cut UTF-8 sequence", Uint8Array.from([0x22, 0xe2, 0x82, 0x22]), null],
  ["UTF-16", Uint8Array.from(Buffer.from(JSON.stringify(helloBody), "utf16le")), null],
];
for (const [name, body, param] of badBodies) {
  test(`POST /v1/chat/completions returns 400 for ${name}`, async () => {
    const { error } = await requireError(await chat(shared, body), 400);
    assert.equal(error.type, "invalid_request_error");
    assert.equal(error.param, param);
  });
}

for (const [name, body] of [
  ["64 levels of nesting", nested(64)],
  ["a byte order mark", `\ufeff${JSON.stringify(helloBody)}`],
  ["unknown members", withContent({ anything: { a: [1] }, ["__proto__"]: { polluted: true } })],
  ["null where a member may be absent", withContent({ temperature: null, stream: null, stop: null })],
  ["the same member twice", '{"model":"a","model":"b","messages":[{"role":"user","content":"x"}]}'],
] as const) {
  test(`POST /v1/chat/completions accepts ${name}`, async () => {
    const response = await chat(shared, body);
    assert.equal(response.status, 200, await response.text());
  });
}

const badTexts: readonly [string, string, object][] = [
  ["completions", "prompt", { model: "echo-1" }],
  ["completions", "prompt", { model: "echo-1", prompt: { a: 1 } }],
  ["completions", "temperature", { model: "echo-1", prompt: "a", temperature: 2.1 }],
  ["completions", "top_p", { model: "echo-1", prompt: "a", top_p: -0.1 }],
  ["completions", "n", { model: "echo-1", prompt: "a", n: 0 }],
  ["completions", "n", { model: "echo-1", prompt: "a", n: 1.5 }],
  ["completions", "n", { model: "echo-1", prompt: "a", n: 129 }],
  ["completions", "logprobs", { model: "echo-1", prompt: "a", logprobs: 6 }],
  ["completions", "best_of", { model: "echo-1", prompt: "a", best_of: 21 }],
  ["completions", "stop", { model: "echo-1", prompt: "a", stop: ["1", "2", "3", "4", "5"] }],
  ["completions", "presence_penalty", { model: "echo-1", prompt: "a", presence_penalty: -3 }],
  ["embeddings", "input", { model: "echo-1" }],
  ["embeddings", "input", { model: "echo-1", input: "" }],
  ["embeddings", "input", { model: "echo-1", input: [] }],
  ["embeddings", "input", { model: "echo-1", input: Array.from({ length: 2_049 }, () => "a") }],
  ["embeddings", "dimensions", { model: "echo-1", input: "a", dimensions: 0 }],
];
for (const [route, member, body] of badTexts) {
  test(`POST /v1/${route} returns 400 naming ${member} to ${JSON.stringify(body).slice(0, 60)}`, async () => {
    const init = { method: "POST", headers: requestHeaders(), body: JSON.stringify(body) };
    const { error } = await requireError(await shared.fetch(`/v1/${route}`, init), 400);
    assert.equal(error.param?.split(".")[0], member);
  });
}

test("POST /v1/completions returns 400 to a stream of the best of several completions", async () => {
  const ask = (members: object) =>
    shared.fetch("/v1/completions", {
      method: "POST",
      headers: requestHeaders(),
      body: JSON.stringify({ model: "echo-1", prompt: "a", stream: true, ...members }),
    });
  for (const members of [{ best_of: 2 }, { best_of: 3, n: 2 }]) {
    const { error } = await requireError(await ask(members), 400);
    assert.match(error.message, /leave stream out/);
    assert.equal(error.param, "best_of");
  }
  for (const members of [{ best_of: 1 }, { best_of: null }, {}]) {
    const response = await ask(members);
    assert.equal(response.status, 200, await response.text());
  }
});

test("POST /v1/completions returns 400 for best_of below n", async () => {
  const body = JSON.stringify({ model: "echo-1", prompt: "a", best_of: 1, n: 2 });
  const response = await shared.fetch("/v1/completions", { method: "POST", headers: requestHeaders(), body });
  assert.match((await requireError(response, 400)).message, /best_of/);
});

type BadHeader = [name: string, status: number, headers: HeaderChanges, param: string | null];
const badHeaders: readonly BadHeader[] = [
  ["no provider", 400, { "x-gateway-provider": null }, "x-gateway-provider"],
  ["an unknown provider", 400, { "x-gateway-provider": "nobody" }, "x-gateway-provider"],
  ["a provider named __proto__", 400, { "x-gateway-provider": "__proto__" }, "x-gateway-provider"],
  ["an empty provider", 400, { "x-gateway-provider": "" }, "x-gateway-provider"],
  ["an unknown saved provider", 400, { "x-gateway-provider": "@mine" }, "x-gateway-provider"],
  ["a virtual key", 400, { "x-gateway-virtual-key": "vk" }, "x-gateway-provider"],
  ["a config that is no JSON", 400, { "x-gateway-config": "{" }, "x-gateway-config"],
  ["metadata that is no JSON", 400, { "x-gateway-metadata": "{" }, "x-gateway-metadata"],
  ["metadata that is a list", 400, { "x-gateway-metadata": "[1]" }, "x-gateway-metadata"],
  ["metadata that is null", 400, { "x-gateway-metadata": "null" }, "x-gateway-metadata"],
  ["empty metadata", 400, { "x-gateway-metadata": "" }, "x-gateway-metadata"],
  ["nested metadata", 400, { "x-gateway-metadata": '{"a":{"b":1}}' }, "x-gateway-metadata"],
  ["NUL in a metadata value", 400, { "x-gateway-metadata": '{"a":"\\u0000"}' }, "x-gateway-metadata"],
  ["NUL in a metadata key", 400, { "x-gateway-metadata": '{"a\\u0000":"b"}' }, "x-gateway-metadata"],
  ["a broken forward list", 400, { "x-gateway-forward-headers": "a b" }, "x-gateway-forward-headers"],
  [
    "a forward list that names itself",
    400,
    { "x-gateway-forward-headers": "X-Gateway-Forward-Headers" },
    "x-gateway-forward-headers",
  ],
  [
    "a forward list with a metadata header",
    400,
    { "x-gateway-forward-headers": "x-ok, Metadata-Flavor" },
    "x-gateway-forward-headers",
  ],
  ...["abc", "0", "-5", "1.5", "", "1e3", "99999999999"].map((value): BadHeader => {
    const name = "x-gateway-request-timeout";
    return [`a request timeout of "${value}"`, 400, { [name]: value }, name];
  }),
  ["an echo status that is no number", 400, { "x-gateway-echo-status": "bad" }, "x-gateway-echo-status"],
  ["a text content type", 400, { "content-type": "text/plain" }, "content-type"],
  ["a form content type", 400, { "content-type": "multipart/form-data; boundary=a" }, "content-type"],
  ["an unknown content coding", 415, { "content-encoding": "br" }, "content-encoding"],
  ["two content codings", 415, { "content-encoding": "gzip, gzip" }, "content-encoding"],
  ["a large config", 431, { "x-gateway-config": `{"a":"${"x".repeat(48 * 1024)}"}` }, "x-gateway-config"],
  ["a metadata address as host", 400, { "x-gateway-custom-host": "http://169.254.169.254" }, "x-gateway-custom-host"],
  ["a private host", 400, { "x-gateway-custom-host": "http://10.0.0.1" }, "x-gateway-custom-host"],
  ["a host that is no URL", 400, { "x-gateway-custom-host": "nothing" }, "x-gateway-custom-host"],
  ["no key", 401, { "x-gateway-api-key": null }, null],
  ["a wrong key", 401, { "x-gateway-api-key": "wrong-key-wrong-key" }, null],
  ["an empty key", 401, { "x-gateway-api-key": "" }, null],
  ["an admin key", 403, { "x-gateway-api-key": adminKey }, null],
];
for (const [name, status, headers, param] of badHeaders) {
  test(`POST /v1/chat/completions returns ${status} for ${name}`, async () => {
    const { error } = await requireError(await chat(shared, helloBody, headers), status);
    assert.equal(error.param, param);
  });
}

test("POST /v1/chat/completions names the intended provider, and the page of all", async () => {
  const { message } = await requireError(await chat(shared, helloBody, { "x-gateway-provider": "ehco" }), 400);
  assert.match(message, /did you mean echo\?/);
  assert.match(message, /docs\/providers\.md/);
});

test("POST /v1/chat/completions names the successor of a provider that ended", async () => {
  const { message } = await requireError(await chat(shared, helloBody, { "x-gateway-provider": "palm" }), 400);
  assert.match(message, /"palm" is no provider any more: .*; use "google"/);
});

for (const [name, headers, body] of [
  ["no content type", { "content-type": null }, JSON.stringify(helloBody)],
  ["a charset", { "content-type": "application/json; charset=utf-8" }, JSON.stringify(helloBody)],
  ["a JSON family type", { "content-type": "application/vnd.api+json" }, JSON.stringify(helloBody)],
  ["gzip", { "content-encoding": "gzip" }, gzipSync(JSON.stringify(helloBody))],
  ["GZIP in capitals", { "content-encoding": "GZIP" }, gzipSync(JSON.stringify(helloBody))],
  ["deflate", { "content-encoding": "deflate" }, deflateSync(JSON.stringify(helloBody))],
  ["identity", { "content-encoding": "identity" }, JSON.stringify(helloBody)],
  ["Identity with a capital", { "content-encoding": "Identity" }, JSON.stringify(helloBody)],
] as const) {
  test(`POST /v1/chat/completions accepts ${name}`, async () => {
    const bytes = typeof body === "string" ? new TextEncoder().encode(body) : Uint8Array.from(body);
    const response = await chat(shared, bytes, headers);
    assert.equal(response.status, 200, await response.clone().text());
    const { choices } = await readJson<{ choices: { message: { content: string } }[] }>(response);
    assert.equal(choices[0]?.message.content, "Hello there");
  });
}

for (const [name, body] of [
  ["a body that is not gzip", "hello"],
  ["an empty body", ""],
  ["a cut gzip body", gzipSync(JSON.stringify(helloBody)).subarray(0, 30)],
] as const) {
  test(`POST /v1/chat/completions returns 400 for ${name} under gzip`, async () => {
    const bytes = typeof body === "string" ? new TextEncoder().encode(body) : Uint8Array.from(body);
    await requireError(await chat(shared, bytes, { "content-encoding": "gzip" }), 400);
  });
}

const large = JSON.stringify({ ...helloBody, pad: "x".repeat(limits.jsonBodyBytes) });

/** A body of unknown length. */
function stream(text: string): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  let position = 0;
  return new ReadableStream({
    pull(controller) {
      if (position >= bytes.length) return controller.close();
      controller.enqueue(bytes.slice(position, position + 1_000));
      position += 1_000;
    },
  });
}

const streamed = (text: string) => ({ body: stream(text), duplex: "half" as const });

for (const [name, send] of [
  ["declared too long", () => chat(shared, helloBody, { "content-length": "16385" })],
  ["declared far too long", () => chat(shared, helloBody, { "content-length": "99999999999999999999" })],
  ["declared short and too long", () => chat(shared, large, { "content-length": "10" })],
  ["chunked and too long", () => chat(shared, "", {}, streamed(large))],
  [
    "small under gzip and too long after it",
    () => chat(shared, Uint8Array.from(gzipSync(large)), { "content-encoding": "gzip" }),
  ],
  [
    "a gzip bomb",
    () => chat(shared, Uint8Array.from(gzipSync(Buffer.alloc(10_000_000))), { "content-encoding": "gzip" }),
  ],
] as const) {
  test(`POST /v1/chat/completions returns 413 for a body that is ${name}`, async () => {
    const { error } = await requireError(await send(), 413);
    assert.equal(error.type, "request_too_large");
  });
}

test("POST /v1/chat/completions accepts a chunked body within the limit", async () => {
  const response = await chat(shared, "", {}, streamed(JSON.stringify(helloBody)));
  assert.equal(response.status, 200, await response.text());
});

test("POST /v1/* returns 413 for an upload declared too long", async () => {
  const headers = requestHeaders({ "x-gateway-provider": "openai", "content-length": "16385" });
  await requireError(await shared.fetch("/v1/files", { method: "POST", headers, body: "x" }), 413);
});

for (const host of ["a/b", "a?b", "a#b", "a b", "a@b", "a:0", "a:65536", "a:1:2", "[::1", "a,b", ""]) {
  test(`handle returns 400 for the Host "${host}"`, async () => {
    const response = await shared.fetch("/health", { headers: { host } });
    assert.equal((await requireError(response, 400)).error.code, "invalid_host");
  });
}

for (const host of ["a", "gateway.test:8787", "127.0.0.1:1", "[::1]:65535", "a_b.c-d"]) {
  test(`handle accepts the Host "${host}"`, async () => {
    assert.equal((await shared.fetch("/health", { headers: { host } })).status, 200);
  });
}

for (const path of ["/v1/a%5Cb", "/v1/a%00", "/v1/%0a", "/v1/%7f", "/v1/%zz", "/v1/%ff", "/v1/%E0%A4%A", "/%"]) {
  test(`handle returns 400 for the path ${path}`, async () => {
    const response = await shared.fetch(path, { headers: requestHeaders() });
    assert.equal((await requireError(response, 400)).error.code, "invalid_path");
  });
}

test("handle returns 400 to an encoded slash where no passthrough accepts it", async () => {
  const response = await shared.fetch("/v1/logs/a%2Fb", { headers: requestHeaders() });
  assert.equal((await requireError(response, 400)).error.code, "invalid_path");
});

test("handle returns 401, not 200, to a path that climbs out of /v1 and back", async () => {
  const response = await shared.fetch("/v1/x/../logs");
  await requireError(response, 401);
});

for (const [method, path, status] of [
  ["GET", "/nowhere", 404],
  ["POST", "/nowhere", 404],
  ["GET", "/v2/chat/completions", 404],
  ["GET", "/v1/admin/nothing", 404],
  ["POST", "/health", 405],
  ["DELETE", "/openapi.json", 405],
  ["PATCH", "/v1/chat/completions", 405],
  ["PATCH", "/nowhere", 405],
  ["TRACE", "/v1/chat/completions", 405],
  ["TRACE", "/health", 405],
  ["PURGE", "/v1/logs", 405],
] as const) {
  test(`handle returns ${status} for ${method} ${path}`, async () => {
    const request = new Request(`http://gateway.test${path}`, { headers: requestHeaders() });
    // constructors refuse some of these methods; servers do not
    Object.defineProperty(request, "method", { value: method });
    const response = await shared.gateway.fetch(request);
    await requireError(response, status);
    if (status === 405) assert.match(response.headers.get("allow") ?? "", /GET/);
    else assert.equal(response.headers.get("allow"), null);
  });
}

test("handle lists the methods of /health in Allow", async () => {
  const response = await shared.fetch("/health", { method: "PUT" });
  assert.equal(response.headers.get("allow"), "GET, HEAD, OPTIONS");
});

test("GET /health and /v1/health report the version of package.json", async () => {
  const { version } = JSON.parse(await readFile(new URL("../package.json", import.meta.url), "utf8"));
  for (const path of ["/health", "/v1/health"]) {
    const body = await readJson(await shared.fetch(path));
    assert.deepEqual(body, { status: "success", message: "Server is healthy", version });
  }
});

for (const path of ["/", "/health", "/v1/models", "/v1/logs/01ARZ3NDEKTSV4RRFFQ69G5FAV", "/v1/anything"]) {
  test(`handle serves HEAD and OPTIONS ${path} without credential`, async () => {
    const head = await shared.fetch(path, { method: "HEAD" });
    assert.deepEqual([head.status, await head.text()], [200, ""]);
    const options = await shared.fetch(path, { method: "OPTIONS" });
    assert.deepEqual([options.status, await options.text()], [204, ""]);
    assert.match(options.headers.get("allow") ?? "", /OPTIONS/);
    assert.equal(options.headers.get("access-control-allow-origin"), null);
  });
}

test("handle returns 404 for HEAD of an unknown path", async () => {
  assert.equal((await shared.fetch("/nowhere", { method: "HEAD" })).status, 404);
});

for (const [name, headers] of [
  ["x-gateway-api-key", { "x-gateway-api-key": workspaceKey }],
  ["a bearer token", { authorization: `Bearer ${workspaceKey}` }],
  ["a bearer token in lower case", { authorization: `bearer ${workspaceKey}` }],
  ["authorization without a scheme", { authorization: workspaceKey }],
  ...bareKeyHeaders.map((header) => [header, { [header]: workspaceKey }] as const),
] as const) {
  test(`K8: handle gives the same rights to a key in ${name}`, async () => {
    const response = await chat(shared, helloBody, { "x-gateway-api-key": null, ...headers });
    assert.equal(response.status, 200, await response.text());
    const admin: HeaderChanges = Object.fromEntries(
      Object.entries(headers).map(([header, value]) => [header, value.replace(workspaceKey, adminKey)]),
    );
    const refused = await chat(shared, helloBody, { "x-gateway-api-key": null, ...admin });
    assert.equal((await requireError(refused, 403)).error.type, "permission_error");
  });
}

for (const [name, headers] of [
  ["two joined keys", { "x-gateway-api-key": `${workspaceKey}, ${workspaceKey}` }],
  ["two keys joined by a bare comma", { "x-gateway-api-key": `${workspaceKey},${workspaceKey}` }],
  ["a key with a space", { "x-gateway-api-key": `${workspaceKey} x` }],
  ["a key with a tab", { "x-gateway-api-key": `${workspaceKey}\tx` }],
  ["two joined bearer tokens", { authorization: `Bearer ${workspaceKey}, Bearer ${workspaceKey}` }],
  ["a bearer token with a comma", { authorization: `Bearer ${workspaceKey},${workspaceKey}` }],
  ["an empty bearer token", { authorization: "Bearer " }],
  ["another scheme", { authorization: `Basic ${workspaceKey}` }],
  ["two joined keys in x-api-key", { "x-api-key": `${workspaceKey}, ${workspaceKey}` }],
  ["a header name with underscores", { x_gateway_api_key: workspaceKey }],
  ["a key of 600 letters", { "x-gateway-api-key": "a".repeat(600) }],
] as const) {
  test(`E5: handle returns 401 for ${name}`, async () => {
    const response = await chat(shared, helloBody, { "x-gateway-api-key": null, ...headers });
    assert.equal((await requireError(response, 401)).error.type, "authentication_error");
  });
}

test("K8: handle reads headers under an alias and responds with both", async () => {
  const headers = { "x-gateway-api-key": null, "x-gateway-provider": null };
  const aliases = { "x-acme-api-key": workspaceKey, "x-acme-provider": "echo", "x-acme-trace-id": "t-1" };
  const response = await chat(aliased, helloBody, { ...headers, ...aliases });
  assert.equal(response.status, 200, await response.text());
  for (const name of ["trace-id", "request-id", "provider", "retry-attempt-count", "cache-status"]) {
    const value = response.headers.get(`x-gateway-${name}`);
    assert.ok(value, name);
    assert.equal(response.headers.get(`x-acme-${name}`), value);
  }
});

for (const name of ["api-key", "provider", "trace-id", "metadata", "config", "request-timeout", "forward-headers"]) {
  test(`K8: handle returns 400 for two values of ${name} under two prefixes`, async () => {
    const own = { [`x-gateway-${name}`]: "first", [`x-acme-${name}`]: "second" };
    const { error } = await requireError(await chat(aliased, helloBody, own), 400);
    assert.equal(error.param, `x-gateway-${name}`);
  });
}

test("handle accepts the same value under two prefixes", async () => {
  const response = await chat(aliased, helloBody, { "x-acme-provider": "echo", "x-acme-api-key": workspaceKey });
  assert.equal(response.status, 200, await response.text());
});

test("handle returns 403 naming the scope a key lacks", async () => {
  const database = await shared.openFile();
  const { key } = mintApiKey("gk");
  await insertKey(database, key, { scopes: JSON.stringify(["logs.list"]) });
  const { message } = await requireError(await chat(shared, helloBody, { "x-gateway-api-key": key }), 403);
  assert.match(message, /completions\.write/);
  const listed = await shared.fetch("/v1/logs", { headers: { "x-gateway-api-key": key } });
  assert.equal(listed.status, 200);
  const detail = await shared.fetch("/v1/logs/01ARZ3NDEKTSV4RRFFQ69G5FAV", { headers: { "x-gateway-api-key": key } });
  await requireError(detail, 403);
});

test("K9: handle counts failures by the address of the peer and never blocks a good key", async () => {
  const strict = await createTestGateway({ authFailuresPerMinute: 3 });
  const ask = async (key: string, remoteAddress: string) => {
    const init = { headers: { "x-gateway-api-key": key } };
    const response = await strict.fetch("/v1/logs", init, { remoteAddress });
    return [response.status, response.headers.get("retry-after")];
  };
  for (let count = 0; count < 3; count++) assert.deepEqual(await ask("wrong-key-wrong-key", "192.0.2.1"), [401, null]);
  assert.deepEqual(await ask("wrong-key-wrong-key", "192.0.2.1"), [429, "60"]);
  assert.deepEqual(await ask("wrong-key-wrong-key", "192.0.2.2"), [401, null]);
  assert.deepEqual(await ask(workspaceKey, "192.0.2.1"), [200, null]);
  await strict.close();
});

test("handle accepts only the credential as proof of authority", async () => {
  const headers = { "x-gateway-api-key": null, "x-user-claims": "{}", "x-gateway-workspace-id": "default" };
  await requireError(await chat(shared, { ...helloBody, organisation_id: "x", role: "owner" }, headers), 401);
});

for (const [name, body, headers, status] of [
  ["malformed JSON", "{", {}, 400],
  ["an unknown provider", helloBody, { "x-gateway-provider": "nobody" }, 400],
  ["a missing provider", helloBody, { "x-gateway-provider": null }, 400],
  ["broken metadata", helloBody, { "x-gateway-metadata": "{" }, 400],
  ["an unknown coding", helloBody, { "content-encoding": "br" }, 415],
] as const) {
  test(`handle leaves one log row without upstream call for ${name}`, async () => {
    const trace = `refused ${name}`;
    await requireError(await chat(shared, body, { ...headers, "x-gateway-trace-id": trace }), status);
    const row = await waitForLog(shared, trace);
    assert.equal(row.status, status);
    assert.equal(row.upstream_calls, 0);
    assert.equal(row.operation, "chat");
    assert.equal(row.error?.type, "invalid_request_error");
    assert.equal(Reflect.get(Object(row.response.body), "status"), "failure");
    assert.equal((await waitForLogs(shared, `trace_id=${encodeURIComponent(trace)}`)).length, 1);
  });
}

test("handle logs metadata, baggage and spans", async () => {
  const headers = {
    "x-gateway-trace-id": "with-metadata",
    "x-gateway-span-id": "span",
    "x-gateway-metadata": JSON.stringify({ _user: "ada", number: 5, flag: true, nothing: null, both: "own" }),
    baggage: "both=other,city=Brest;property=1",
  };
  assert.equal((await chat(shared, helloBody, headers)).status, 200);
  const row = await waitForLog(shared, "with-metadata");
  assert.deepEqual(row.metadata, { _user: "ada", number: "5", flag: "true", both: "own", city: "Brest" });
  assert.equal(row.model, "echo-1");
  assert.equal(row.provider, "echo");
});

test("GET /health and GET /ready show nothing but states and version", async () => {
  for (const path of ["/health", "/v1/health", "/ready"]) {
    const response = await shared.fetch(path);
    assert.equal(response.status, 200);
    const names = path === "/ready" ? ["dependencies", "message", "status"] : ["message", "status", "version"];
    assert.deepEqual(Object.keys(await readJson<object>(response)).sort(), names);
  }
});

test("GET /ready returns 503 with Retry-After while the gateway drains, GET /health 200", async () => {
  const draining = await createTestGateway();
  await draining.gateway.drain(0);
  const response = await draining.fetch("/ready");
  await requireError(response, 503);
  assert.equal(response.headers.get("retry-after"), "1");
  assert.equal((await draining.fetch("/health")).status, 200);
  await draining.close();
});

test("handle sends Server-Timing only on request", async () => {
  const timing = await createTestGateway({ serverTiming: true });
  assert.match((await timing.fetch("/health")).headers.get("server-timing") ?? "", /^total;dur=[0-9.]+$/);
  assert.equal((await shared.fetch("/health")).headers.get("server-timing"), null);
  await timing.close();
});
