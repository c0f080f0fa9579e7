import assert from "node:assert/strict";
import type { RequestListener } from "node:http";
import type { Socket } from "node:net";
import { after, test } from "node:test";
import { gzipSync } from "node:zlib";
import { version } from "../../src/version.ts";
import {
  chat,
  createTestGateway,
  type HeaderChanges,
  helloBody,
  readJson,
  requestHeaders,
  upstreamHeaders,
  waitForLog,
  workspaceKey,
} from "../support/gateway.ts";
import { eventually, startServer, startSocketServer, type Upstream } from "../support/upstream.ts";

const gateway = await createTestGateway();
after(() => gateway.close());

interface ErrorBody {
  message: string;
  provider?: string;
  error: { message: string; type: string; code: string | null; param: string | null };
}

/** Runs a test against a fresh server and closes it. */
async function using(server: Promise<Upstream>, run: (upstream: Upstream) => Promise<void>): Promise<void> {
  const upstream = await server;
  try {
    await run(upstream);
  } finally {
    await upstream.close();
  }
}

/** Sends an upstream a chat and requires a failure and its log row. */
async function requireFailure(
  upstream: { url: string },
  wanted: { status: number; code: string | null; message: RegExp },
  headers: HeaderChanges = {},
): Promise<ErrorBody> {
  const trace = crypto.randomUUID();
  const response = await chat(gateway, helloBody, {
    ...upstreamHeaders(upstream),
    "x-gateway-trace-id": trace,
    ...headers,
  });
  const body = await readJson<ErrorBody>(response);
  assert.deepEqual([response.status, body.error.code], [wanted.status, wanted.code], body.message);
  assert.match(body.message, wanted.message);
  assert.equal(body.provider, "openai");
  assert.equal(response.headers.get("x-gateway-trace-id"), trace);
  // E11: no stack, no address, no credential
  assert.doesNotMatch(body.message, /127\.0\.0\.1|node:|\.ts|upstream-credential|ECONN/);
  const row = await waitForLog(gateway, trace);
  assert.equal(row.status, wanted.status);
  assert.equal(row.error?.code ?? null, wanted.code);
  assert.equal(row.upstream_calls, 1);
  assert.equal(row.provider, "openai");
  assert.deepEqual(row.response.body, JSON.parse(JSON.stringify(body)));
  return body;
}

/** Sends these bytes on every connection, then closes, resets or holds it. */
function raw(text: string, then: "close" | "reset" | "stay" = "close"): Promise<Upstream> {
  return startSocketServer((socket: Socket) => {
    socket.once("data", () => {
      socket.write(text, () => {
        if (then === "close") socket.end();
        if (then === "reset") socket.resetAndDestroy();
      });
    });
  });
}

const json = (status: number, body: string, headers: Record<string, string> = {}): RequestListener => {
  return (request, response) => {
    request.resume();
    request.on("end", () => {
      response.writeHead(status, { "content-type": "application/json", ...headers });
      response.end(body);
    });
  };
};

test("a chat to a port nobody listens on is 502 and says to check the host", async () => {
  const upstream = await startServer(() => {});
  await upstream.close();
  await requireFailure(upstream, { status: 502, code: "upstream_unreachable", message: /openai.*check the host/ });
});

test("a chat to an upstream that resets at once is 502", async () => {
  const server = startSocketServer((socket) => {
    socket.once("data", () => socket.resetAndDestroy());
  });
  await using(server, async (upstream) => {
    await requireFailure(upstream, { status: 502, code: "upstream_reset", message: /openai.*closed the connection/ });
  });
});

test("a chat to an upstream that sends nothing is 408 at the request's timeout, and its socket is closed", async () => {
  await using(
    startServer(() => {}),
    async (upstream) => {
      const wanted = { status: 408, code: "request_timeout", message: /timeout sent in the request: 60ms/ };
      const { error } = await requireFailure(upstream, wanted, { "x-gateway-request-timeout": "60" });
      assert.equal(error.type, "timeout_error");
      await eventually(() => upstream.sockets.size === 0, "the upstream's socket is closed");
    },
  );
});

test("a chat to an upstream that stalls inside its response is 408", async () => {
  const stalling: RequestListener = (request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": "application/json" });
    response.write('{"choices":[');
  };
  await using(startServer(stalling), async (upstream) => {
    const wanted = { status: 408, code: "request_timeout", message: /100ms/ };
    await requireFailure(upstream, wanted, { "x-gateway-request-timeout": "100" });
    await eventually(() => upstream.sockets.size === 0, "the upstream's socket is closed");
  });
});

/** Bun reports some of these as a closed connection. */
const notHttp = ["upstream_bad_answer", "upstream_reset", "upstream_unreachable"] as const;

for (const [name, text, then, codes] of [
  ["text that is no HTTP", "hello there\r\n\r\n", "close", notHttp],
  ["binary noise", "\u0000\u0001\u0002\u00ff\r\n\r\n", "close", notHttp],
  ["a broken status line", "HTTP/1.1 abc OK\r\n\r\n", "close", notHttp],
  ["half a head", "HTTP/1.1 200 OK\r\ncontent-ty", "close", ["upstream_bad_answer", "upstream_reset"]],
  ["a head without body", "HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n", "reset", ["upstream_reset"]],
  ["half a body", 'HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{"choices":', "close", ["upstream_reset"]],
  [
    "half a chunk",
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nff\r\n{"choices":',
    "close",
    ["upstream_reset", "upstream_bad_answer"],
  ],
] as const) {
  test(`a chat to an upstream that responds with ${name} is 502`, async () => {
    await using(raw(text, then), async (upstream) => {
      const response = await chat(gateway, helloBody, upstreamHeaders(upstream));
      const { error, message } = await readJson<ErrorBody>(response);
      assert.equal(response.status, 502, message);
      // runtimes distinguish a cut head from a closed connection in different ways
      assert.ok(
        codes.some((code) => code === error.code),
        `${error.code}: ${message}`,
      );
    });
  });
}

for (const [name, body, message] of [
  ["nothing", "", /not valid JSON/],
  ["HTML", "<html>busy</html>", /not valid JSON/],
  ["half an object", '{"choices":[', /not valid JSON/],
  ["a list", "[]", /not a JSON object/],
  ["null", "null", /not a JSON object/],
  ["a text", '"hello"', /not a JSON object/],
  ["5,000 levels", `{"a":${"[".repeat(5_000)}${"]".repeat(5_000)}}`, /64 levels/],
] as const) {
  test(`J3: a chat to an upstream that responds 200 with ${name} is 502`, async () => {
    await using(startServer(json(200, body)), async (upstream) => {
      await requireFailure(upstream, { status: 502, code: "upstream_bad_answer", message });
    });
  });
}

test("J1: a chat to an upstream that responds 200 with bytes that are not UTF-8 is 502", async () => {
  const server = startServer((request, response) => {
    request.resume();
    response.end(Uint8Array.from([0x7b, 0x22, 0xff, 0x22, 0x7d]));
  });
  await using(server, async (upstream) => {
    await requireFailure(upstream, { status: 502, code: "upstream_bad_answer", message: /not UTF-8/ });
  });
});

for (const [coding, body] of [
  ["gzip", Buffer.from("this is not gzip")],
  ["gzip", gzipSync('{"choices":[]}').subarray(0, 20)],
  ["gzip, gzip, gzip", gzipSync('{"choices":[]}')],
  ["x-unknown", Buffer.from("{}")],
] as const) {
  test(`O13: a chat to an upstream whose ${coding} of ${body.length} bytes cannot be decoded is 502`, async () => {
    const server = startServer((request, response) => {
      request.resume();
      response.writeHead(200, { "content-encoding": coding, "content-type": "application/json" });
      response.end(body);
    });
    await using(server, async (upstream) => {
      const response = await chat(gateway, helloBody, upstreamHeaders(upstream));
      assert.equal(response.status, 502, await response.text());
    });
  });
}

test("a chat to an upstream that sends unrequested gzip gets plain JSON", async () => {
  const body = JSON.stringify({ choices: [{ index: 0, message: { content: "packed" } }] });
  const server = startServer((request, response) => {
    request.resume();
    response.writeHead(200, { "content-encoding": "gzip", "content-type": "application/json" });
    response.end(gzipSync(body));
  });
  await using(server, async (upstream) => {
    const response = await chat(gateway, helloBody, upstreamHeaders(upstream));
    assert.deepEqual([response.status, response.headers.get("content-encoding")], [200, null]);
    assert.equal(await response.text(), body);
  });
});

for (const [name, status, body, wanted] of [
  ["OpenAI's shape", 400, '{"error":{"message":"no","type":"t","code":"c","param":"p"}}', ["no", "t", "c", "p"]],
  ["a text as error", 404, '{"error":"no such model"}', ["no such model", "not_found_error", null, null]],
  ["a numeric code", 429, '{"error":{"message":"slow","code":7}}', ["slow", "rate_limit_error", "7", null]],
  ["no error member", 401, '{"message":"who are you","code":"x"}', ["who are you", "x", "x", null]],
  ["plain text", 503, "busy", ["busy", "api_error", null, null]],
  ["HTML", 500, "<html>oops</html>", ["<html>oops</html>", "api_error", null, null]],
  ["nothing", 529, "", ["status 529", "overloaded_error", null, null]],
  ["null as error", 418, '{"error":null,"message":"teapot"}', ["teapot", "invalid_request_error", null, null]],
  ["an empty object", 400, "{}", ["{}", "invalid_request_error", null, null]],
  ["a list", 400, "[1]", ["[1]", "invalid_request_error", null, null]],
] as const) {
  test(`a chat to an upstream that responds ${status} with ${name} preserves the status and the message`, async () => {
    await using(startServer(json(status, body)), async (upstream) => {
      const response = await chat(gateway, helloBody, upstreamHeaders(upstream));
      const { error, provider } = await readJson<ErrorBody>(response);
      assert.equal(response.status, status);
      assert.equal(provider, "openai");
      assert.deepEqual(
        [error.message, error.type, error.code, error.param],
        [`openai error: ${wanted[0]}`, ...wanted.slice(1)],
      );
    });
  });
}

test("a chat to a failing upstream preserves retry-after and the request id, and no header of its connection", async () => {
  const headers = {
    "retry-after": "7",
    "x-request-id": "up-1",
    "set-cookie": "a=b",
    "x-gateway-provider": "forged",
    "strict-transport-security": "max-age=1",
    server: "nginx",
  };
  await using(startServer(json(429, "{}", headers)), async (upstream) => {
    const response = await chat(gateway, helloBody, upstreamHeaders(upstream));
    await response.text();
    assert.deepEqual([response.headers.get("retry-after"), response.headers.get("x-request-id")], ["7", "up-1"]);
    for (const name of ["set-cookie", "strict-transport-security", "server"]) {
      assert.equal(response.headers.get(name), null, name);
    }
    assert.equal(response.headers.get("x-gateway-provider"), "openai");
  });
});

for (const status of [300, 301, 302, 303, 307, 308, 304, 204, 205]) {
  test(`a chat to an upstream that responds ${status} is 502`, async () => {
    const head = `HTTP/1.1 ${status} X\r\nlocation: http://127.0.0.1:1/\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`;
    await using(raw(head), async (upstream) => {
      const response = await chat(gateway, helloBody, upstreamHeaders(upstream));
      const { error } = await readJson<ErrorBody>(response);
      assert.equal(response.status, 502, error.message);
      assert.match(error.code ?? "upstream", /^upstream/);
    });
  });
}

test("a chat to an upstream that responds 200 with an error object has the status of the error", async () => {
  const body = '{"error":{"type":"rate_limit_error","message":"slow down"}}';
  await using(startServer(json(200, body)), async (upstream) => {
    await requireFailure(upstream, { status: 429, code: null, message: /slow down/ });
  });
});

test("S1: a caller that leaves closes the upstream, and leaves a row with 499", async () => {
  let arrived = 0;
  const server = startServer((request) => {
    request.resume();
    arrived++;
  });
  await using(server, async (upstream) => {
    const leaving = new AbortController();
    const trace = crypto.randomUUID();
    const headers = { ...upstreamHeaders(upstream), "x-gateway-trace-id": trace };
    const answer = chat(gateway, helloBody, headers, { signal: leaving.signal });
    await eventually(() => arrived === 1, "the upstream has the request");
    leaving.abort();
    await (await answer).text();
    await eventually(() => upstream.sockets.size === 0, "the upstream's socket is closed");
    const row = await waitForLog(gateway, trace);
    assert.deepEqual([row.status, row.error?.code], [499, "client_closed"]);
  });
});

/** The request an upstream received. */
interface Seen {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: string;
}

/** An upstream that records its request and responds with a fixed chat. */
function recording(seen: Seen[]): Promise<Upstream> {
  return startServer((request, response) => {
    const chunks: Uint8Array[] = [];
    request.on("data", (part) => chunks.push(part));
    request.on("end", () => {
      const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
      const body = Buffer.concat(chunks).toString();
      seen.push({ method: request.method ?? "", url: request.url ?? "", headers, body });
      response.writeHead(200, { "content-type": "application/json" });
      response.end(request.url === "/v1/files" ? '{"object":"list","data":[]}' : '{"choices":[]}');
    });
  });
}

test("F1: a chat builds the upstream's headers from nothing", async () => {
  const seen: Seen[] = [];
  await using(recording(seen), async (upstream) => {
    const response = await chat(gateway, helloBody, {
      ...upstreamHeaders(upstream),
      cookie: "a=b",
      "x-team": "harbour",
      "x-forwarded-for": "10.0.0.1",
      forwarded: "for=10.0.0.1",
      "x-gateway-metadata": '{"a":"b"}',
      "x-gateway-forward-headers": "x-wanted, cookie, x-gateway-api-key, authorization, host, x-forwarded-for",
      "x-wanted": "yes",
    });
    assert.equal(response.status, 200, await response.text());
  });
  const [{ method, url, headers, body } = { method: "", url: "", headers: {}, body: "" }] = seen;
  assert.deepEqual([method, url], ["POST", "/v1/chat/completions"]);
  assert.deepEqual(JSON.parse(body), helloBody);
  // some runtimes add a language
  const {
    host,
    connection,
    "content-length": length,
    "accept-language": language,
    "gateway-hops": hops,
    ...rest
  } = headers;
  assert.equal(length, String(body.length));
  assert.match(host ?? "", /^127\.0\.0\.1:/);
  assert.notEqual(connection, "close");
  assert.equal(language ?? "*", "*");
  assert.match(hops ?? "", /^[\w-]{16}$/);
  assert.deepEqual(rest, {
    accept: "application/json",
    "accept-encoding": "identity",
    authorization: "Bearer upstream-credential",
    "content-type": "application/json",
    "user-agent": `gateway/${version}`,
    "x-wanted": "yes",
  });
});

for (const [name, headers] of [
  ["x-gateway-api-key", { "x-gateway-api-key": workspaceKey, authorization: null }],
  ["authorization", { "x-gateway-api-key": null, authorization: `Bearer ${workspaceKey}` }],
  ["x-api-key", { "x-gateway-api-key": null, authorization: null, "x-api-key": workspaceKey }],
] as const) {
  test(`K2: a gateway key in ${name} is never sent upstream`, async () => {
    const seen: Seen[] = [];
    await using(recording(seen), async (upstream) => {
      const all = { ...upstreamHeaders(upstream), ...headers };
      await (await chat(gateway, helloBody, all)).text();
      const init = { headers: requestHeaders(all) };
      await (await gateway.fetch("/v1/files", init)).text();
    });
    assert.equal(seen.length, 2);
    assert.equal(JSON.stringify(seen).includes(workspaceKey), false);
    for (const { headers: sent } of seen) assert.equal(sent.authorization, undefined);
  });
}

test("K2: a gateway key in the query of a passthrough path is refused", async () => {
  const seen: Seen[] = [];
  await using(recording(seen), async (upstream) => {
    const init = { headers: requestHeaders(upstreamHeaders(upstream)) };
    const response = await gateway.fetch(`/v1/proxy/files?key=${workspaceKey}`, init);
    const { error } = (await response.json()) as { error: { param: string } };
    assert.deepEqual([response.status, error.param], [400, "query"]);
  });
  assert.equal(seen.length, 0);
});

test("J5: a chat sends upstream the value it read when a field is duplicated", async () => {
  const seen: Seen[] = [];
  await using(recording(seen), async (upstream) => {
    const body = '{"model":"first","model":"second","messages":[{"role":"user","content":"x"}]}';
    await (await chat(gateway, body, upstreamHeaders(upstream))).text();
  });
  assert.equal(seen[0]?.body, '{"model":"second","messages":[{"role":"user","content":"x"}]}');
});

test("O9: a passthrough returns redirects and follows none", async () => {
  const head = "HTTP/1.1 302 X\r\nlocation: /elsewhere\r\ncontent-length: 0\r\n\r\n";
  await using(raw(head), async (upstream) => {
    const response = await gateway.fetch("/v1/files", { headers: requestHeaders(upstreamHeaders(upstream)) });
    assert.deepEqual([response.status, response.headers.get("location")], [302, "/elsewhere"]);
    assert.equal(upstream.connections, 1);
  });
});

test("a passthrough preserves method, path, query, body bytes, and the response's status and bytes", async () => {
  const seen: { line: string; body: Buffer; type: string | undefined }[] = [];
  const answer = Uint8Array.from({ length: 256 }, (_, index) => index);
  const server = startServer((request, response) => {
    const chunks: Uint8Array[] = [];
    request.on("data", (part) => chunks.push(part));
    request.on("end", () => {
      const line = `${request.method} ${request.url}`;
      seen.push({ line, body: Buffer.concat(chunks), type: request.headers["content-type"] });
      response.writeHead(207, { "content-type": "application/x-own", "x-own": "1", "set-cookie": "a=b" });
      response.end(answer);
    });
  });
  await using(server, async (upstream) => {
    const init = {
      method: "PUT",
      headers: requestHeaders({ ...upstreamHeaders(upstream), "content-type": "application/x-other" }),
      body: Uint8Array.from([0, 255, 128]),
    };
    const response = await gateway.fetch("/v1/files/a%2Fb?x=1&y=%20", init);
    assert.equal(response.status, 207);
    assert.deepEqual(new Uint8Array(await response.arrayBuffer()), answer);
    assert.equal(response.headers.get("content-type"), "application/x-own");
    assert.equal(response.headers.get("x-own"), "1");
    assert.equal(response.headers.get("set-cookie"), null);
    assert.equal(response.headers.get("x-content-type-options"), "nosniff");
  });
  assert.deepEqual(seen, [
    { line: "PUT /v1/files/a%2Fb?x=1&y=%20", body: Buffer.from([0, 255, 128]), type: "application/x-other" },
  ]);
});

for (const [name, text, then] of [
  ["resets", "", "reset"],
  ["sends garbage", "garbage\r\n\r\n", "close"],
] as const) {
  test(`a passthrough to an upstream that ${name} is 502 with a log row`, async () => {
    await using(raw(text, then), async (upstream) => {
      const trace = crypto.randomUUID();
      const headers = requestHeaders({ ...upstreamHeaders(upstream), "x-gateway-trace-id": trace });
      const response = await gateway.fetch("/v1/files", { headers });
      assert.equal(response.status, 502, await response.text());
      assert.equal((await waitForLog(gateway, trace)).status, 502);
    });
  });
}

test("a passthrough to a silent upstream is 408 at the request's timeout", async () => {
  await using(
    startServer(() => {}),
    async (upstream) => {
      const headers = requestHeaders({ ...upstreamHeaders(upstream), "x-gateway-request-timeout": "60" });
      const response = await gateway.fetch("/v1/files", { headers });
      assert.equal(response.status, 408, await response.text());
    },
  );
});
