import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Transport } from "../src/lib/outbound.ts";
import { createRandom, createTestGateway, helloBody, requestHeaders, workspaceKey } from "./support/gateway.ts";

/** No request leaves the process. */
const transport: Transport = {
  send: async () => Response.json({ object: "list", data: [], choices: [] }),
};
const gateway = await createTestGateway({ transport, headerAliases: ["x-acme-"], limits: { jsonBodyBytes: 65_536 } });
after(() => gateway.close());

const rounds = 600;
const encoder = new TextEncoder();

const names = [
  "authorization",
  "x-api-key",
  "content-type",
  "content-encoding",
  "content-length",
  "accept",
  "host",
  "baggage",
  "traceparent",
  "cookie",
  "connection",
  "expect",
  "range",
  "transfer-encoding",
  "api-key",
  "provider",
  "config",
  "virtual-key",
  "custom-host",
  "metadata",
  "trace-id",
  "span-id",
  "span-name",
  "request-timeout",
  "forward-headers",
  "sensitive-headers",
  "echo-status",
  "echo-delay-ms",
  "echo-chunks",
  "openai-organization",
  "cache-namespace",
  "debug",
  "unknown",
].flatMap((name, index) => (index < 14 ? [name] : [`x-gateway-${name}`, `x-acme-${name}`]));

const texts = [
  "",
  " ",
  "0",
  "-1",
  "1",
  "5",
  "200",
  "304",
  "599",
  "99999999999999999999",
  "1e9",
  "NaN",
  "null",
  "true",
  "[]",
  "{}",
  "{",
  '{"a":"b"}',
  "{'a':'b'}",
  '{"a":{"b":[]}}',
  '{"__proto__":{"x":1}}',
  '{"a":"\\u0000"}',
  '"',
  "'",
  "\\",
  "echo",
  "openai",
  "nobody",
  "__proto__",
  "constructor",
  "@slug",
  workspaceKey,
  `Bearer ${workspaceKey}`,
  "Bearer",
  "gzip",
  "deflate",
  "br",
  "gzip, gzip",
  "identity",
  "application/json",
  "text/plain",
  "multipart/form-data",
  "http://127.0.0.1:1",
  "http://[::1]",
  "https://a/b?c#d",
  "http://169.254.169.254",
  "localhost",
  "a,b,c",
  "a b",
  "%",
  "%00",
  "%zz",
  "é",
  "x".repeat(300),
  "x".repeat(50_000),
  "..",
  "/",
  "a=b;c=d",
  "-----BEGIN KEY-----",
  "$&",
];

const values: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  1e308,
  "",
  "text",
  "\u0000",
  "\ud800",
  "__proto__",
  [],
  {},
  [[]],
  [{}],
  [null],
  "x".repeat(5_000),
  Array.from({ length: 500 }, () => 1),
  { role: "user" },
  { type: "text", text: {} },
  JSON.parse(`${"[".repeat(60)}${"]".repeat(60)}`),
  JSON.parse('{"__proto__":{"a":1},"constructor":2}'),
];

const members = [
  "model",
  "messages",
  "stream",
  "stream_options",
  "temperature",
  "n",
  "stop",
  "tools",
  "user",
  "max_tokens",
  "prompt",
  "input",
  "logprobs",
  "best_of",
  "suffix",
  "dimensions",
  "encoding_format",
  "own",
  "__proto__",
];

const paths = [
  "/v1/chat/completions",
  "/v1/completions",
  "/v1/embeddings",
  "/v1/models",
  "/v1/logs",
  "/v1/logs/x",
  "/v1/files",
  "/v1/logs?limit=%00&cursor=a.b",
  "/v1/logs?from=%ff",
  "/v1/a%2Fb",
  "/v1/%5c",
  "/v1/%",
  "/v1//",
  "/v1",
  "//",
  "/",
  "/v1/admin",
  "/openapi.json",
  "/ready",
  "/v1/__proto__",
  "/v1/chat/completions/",
  "/V1/chat/completions",
  "/x",
];
const methods = ["GET", "POST", "POST", "POST", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"];

const property = (value: unknown) => ({ value, enumerable: true, configurable: true, writable: true });

/** A request made from a valid one, described in full so that a failure can be repeated. */
interface Mutated {
  path: string;
  init: { method: string; headers: Record<string, string>; body?: Uint8Array<ArrayBuffer> };
}

function mutate(random: () => number): Mutated {
  const pick = <Value>(list: readonly Value[]): Value => list[Math.floor(random() * list.length)] as Value; // in range
  const chance = (probability: number) => random() < probability;
  const body: Record<string, unknown> = { ...helloBody, prompt: "a", input: "a" };
  for (let count = Math.floor(random() * 4); count > 0; count--) {
    if (chance(0.3)) delete body[pick(members)];
    else Object.defineProperty(body, pick(members), property(pick(values)));
  }
  if (chance(0.3)) body.messages = [pick(values), { role: "user", content: pick(values) }];
  if (chance(0.3)) body.stream = true;
  let bytes = encoder.encode(JSON.stringify(body));
  if (chance(0.3)) {
    // a byte is changed, removed or inserted
    const at = Math.floor(random() * bytes.length);
    const how = random();
    if (how < 0.4) bytes[at] = Math.floor(random() * 256);
    else if (how < 0.7) bytes = bytes.slice(0, at);
    else
      bytes = Uint8Array.from([
        ...bytes.slice(0, at),
        ...encoder.encode(pick(texts)).slice(0, 100),
        ...bytes.slice(at),
      ]);
  }
  const headers = Object.fromEntries(requestHeaders());
  for (let count = Math.floor(random() * 4); count > 0; count--) {
    const name = pick(names);
    if (chance(0.2)) delete headers[name];
    // headers no host can receive are left out
    else headers[name] = pick(texts).replaceAll(/[^\u0020-\u00ff]/g, "");
  }
  // delays are for other tests
  for (const name of Object.keys(headers)) if (name.endsWith("echo-delay-ms")) headers[name] = "1";
  const method = pick(methods);
  const path = chance(0.6) ? "/v1/chat/completions" : pick(paths);
  const hasBody = method !== "GET" && method !== "HEAD";
  return { path, init: { method, headers, ...(hasBody && { body: bytes }) } };
}

for (const seed of [1, 2, 3]) {
  test(`handle serves ${rounds / 3} mutations of a valid request without an internal error (seed ${seed})`, async () => {
    const random = createRandom(seed);
    const seen = new Map<number, number>();
    for (let round = 0; round < rounds / 3; round++) {
      const { path, init } = mutate(random);
      const reported = () =>
        JSON.stringify({ seed, round, path, ...init, body: init.body && Buffer.from(init.body).toString() });
      const response = await gateway.fetch(path, init);
      const text = await response.text();
      const { status } = response;
      seen.set(status, (seen.get(status) ?? 0) + 1);
      // 502: echo was asked for a status that is not an error; 599: it was asked for this one
      assert.ok(status < 500 || status === 502 || status === 599, `${status} ${text} ${reported()}`);
      assert.ok(response.headers.get("x-gateway-trace-id"), reported());
      if (status < 400 || init.method === "HEAD") continue;
      const { error, message } = JSON.parse(text);
      assert.equal(typeof error.message, "string", reported());
      assert.equal(error.message, message);
      assert.notEqual(error.code, "internal_error", `${text} ${reported()}`);
      assert.equal(response.headers.get("content-type"), "application/json", reported());
      assert.doesNotMatch(text, /node_modules|\.ts:|SQLITE|at [A-Za-z.]+ \(/, reported());
    }
    // the mutations must reach both accepted and refused requests to be useful
    for (const status of [200, 400]) assert.ok((seen.get(status) ?? 0) > 3, `${status}: ${seen.get(status)}`);
  });
}

test("handle still serves after all of it", async () => {
  const response = await gateway.fetch("/v1/chat/completions", {
    method: "POST",
    headers: requestHeaders(),
    body: JSON.stringify(helloBody),
  });
  assert.equal(response.status, 200, await response.text());
});
