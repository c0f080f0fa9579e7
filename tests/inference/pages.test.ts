import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createTestGateway, helloBody, requestHeaders } from "../support/gateway.ts";
import { startServer } from "../support/upstream.ts";

const origin = "https://app.example.com";
const gateway = await createTestGateway({ pageOrigins: [origin] });
const closed = await createTestGateway();
after(() => Promise.all([gateway.close(), closed.close()]));

const corsOf = ({ headers }: Response) =>
  ["origin", "methods", "headers", "credentials"].map((name) => headers.get(`access-control-allow-${name}`));

/** What a browser asks before a page's request. */
function preflight(path: string, from = origin, to = gateway) {
  const headers = {
    origin: from,
    "access-control-request-method": "POST",
    "access-control-request-headers": "authorization,x-gateway-config",
  };
  return to.fetch(path, { method: "OPTIONS", headers });
}

test("a page of a listed origin may call the inference API, with the headers it asks for and without cookies", async () => {
  for (const path of ["/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/embeddings"]) {
    const response = await preflight(path);
    const methods = response.headers.get("access-control-allow-methods") ?? "";
    assert.equal(response.status, 204, path);
    assert.match(methods, /\bPOST\b/, path);
    assert.deepEqual(corsOf(response), [origin, methods, "authorization,x-gateway-config", null], path);
    assert.match(response.headers.get("vary") ?? "", /origin/);
  }
});

test("no page may call from another origin, the control plane, MCP servers, or where no origin is listed", async () => {
  for (const response of [
    await preflight("/v1/chat/completions", "https://app.example.com.evil.example"),
    await preflight("/v1/chat/completions", "http://app.example.com"),
    await preflight("/v1/chat/completions", "null"),
    await preflight("/v1/configs"),
    await preflight("/v1/api-keys"),
    await preflight("/mcp/tools"),
    await preflight("/v1/chat/completions", origin, closed),
  ]) {
    assert.deepEqual(corsOf(response), [null, null, null, null], response.url);
  }
  const { headers } = await gateway.fetch("/v1/configs", { headers: requestHeaders({ origin }) });
  assert.equal(headers.get("access-control-allow-origin"), null);
});

test("a page reads responses, streams and errors, and every header of the gateway", async () => {
  const upstream = await startServer((_request, response) => {
    response.writeHead(200, { "content-type": "application/json", "access-control-allow-origin": "*" });
    response.end(JSON.stringify({ id: "1", object: "chat.completion", created: 1, model: "m", choices: [] }));
  });
  const target = { "x-gateway-provider": "openai", "x-gateway-custom-host": upstream.url };
  const body = JSON.stringify(helloBody);
  for (const [headers, status] of [
    [requestHeaders({ origin, ...target }), 200],
    [{ "content-type": "application/json", origin }, 401],
  ] as const) {
    const response = await gateway.fetch("/v1/chat/completions", { method: "POST", headers, body });
    await response.text();
    assert.equal(response.status, status);
    assert.equal(response.headers.get("access-control-allow-origin"), origin);
    const exposed = new Set(response.headers.get("access-control-expose-headers")?.split(", "));
    const own = [...response.headers.keys()].filter((name) => name.startsWith("x-gateway-"));
    assert.ok(own.includes("x-gateway-trace-id"));
    assert.deepEqual(
      own.filter((name) => !exposed.has(name)),
      [],
    );
  }
  await upstream.close();
});
