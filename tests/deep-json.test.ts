import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { adminEndpoints } from "../src/admin/endpoints.ts";
import { scimEndpoints } from "../src/admin/scim/endpoints.ts";
import { inferenceEndpoints } from "../src/inference/routes/endpoints.ts";
import {
  adminKey,
  chat,
  createTestGateway,
  helloBody,
  requestHeaders,
  type TestGateway,
  upstreamHeaders,
  waitForLog,
} from "./support/gateway.ts";
import { startServer, type Upstream } from "./support/upstream.ts";

/** Nested so deep that engines take seconds to write the value, and whoever walks it overflows the stack. */
const deep = "[".repeat(100_000) + "]".repeat(100_000);
let gateway: TestGateway;
let upstream: Upstream;
before(async () => {
  upstream = await startServer((_request, response) => {
    response.setHeader("content-type", "application/json");
    response.end(`{"choices":[],"extra":${deep}}`);
  });
  gateway = await createTestGateway();
});
after(() => Promise.all([gateway.close(), upstream.close()]));

const rows = [...adminEndpoints, ...scimEndpoints, ...inferenceEndpoints].filter(({ method }) => method !== "GET");
const json = { "content-type": "application/json" };

test("a body that is nested too deep is a fault of the caller on every row", async () => {
  for (const row of rows) {
    const isAdmin = "handleAdmin" in row || "handleScim" in row;
    const named = isAdmin ? { "x-gateway-api-key": adminKey, "x-gateway-provider": null } : {};
    const headers = requestHeaders({ ...json, ...named });
    const path = row.path.replace(/:(\w+)\+?/g, "a").replace(/\*$/, "a");
    for (const body of [`{"name":"a","extra":${deep}}`, deep]) {
      const init = { method: row.method, headers, ...(row.method !== "DELETE" && { body }) };
      const { status } = await gateway.fetch(path, init);
      assert.ok(status < 500, `${row.method} ${row.path}: ${status}`);
    }
  }
});

for (const [route, body] of [
  ["/v1/configs", { name: "a", config: deep }],
  ["/v1/configs", { name: "a", config: { provider: "openai", api_key: deep } }],
  ["/v1/guardrails", { name: "a", checks: [{ id: "default.webhook", parameters: { headers: deep } }], actions: {} }],
  ["/v1/guardrails", { name: deep, checks: deep }],
  ["/v1/prompts", { name: "a", string: deep, collection_id: "a", parameters: {} }],
  ["/v1/integrations", { name: "a", ai_provider_id: "vertex-ai", key: deep, configurations: { custom_headers: deep } }],
  ["/v1/secret-references", { name: "a", slug: "a", manager_type: "aws_sm", secret_path: "a", auth_config: deep }],
] as const) {
  test(`JSON in a string that is nested too deep: POST ${route} ${Object.keys(body)}`, async () => {
    const headers = requestHeaders({ ...json, "x-gateway-api-key": adminKey });
    const { status } = await gateway.fetch(route, { method: "POST", headers, body: JSON.stringify(body) });
    assert.ok(status < 500, String(status));
  });
}

test("the row of a body that is nested too deep is read as text", async () => {
  const headers = requestHeaders({ ...json, "x-gateway-trace-id": "deep-body" });
  const sent = `{"model":"m","messages":${deep}}`;
  const refused = await gateway.fetch("/v1/chat/completions", { method: "POST", headers, body: sent });
  assert.equal(refused.status, 400);
  const { request } = await waitForLog(gateway, "deep-body");
  assert.equal(request.body, sent);
});

test("the arguments of a tool that are nested too deep are no fault of the gateway", async () => {
  const call = { id: "c", type: "function", function: { name: "f", arguments: deep } };
  const messages = [...helloBody.messages, { role: "assistant", content: null, tool_calls: [call] }];
  for (const provider of ["anthropic", "google", "cohere", "bedrock"]) {
    const { status } = await chat(gateway, { ...helloBody, messages }, { "x-gateway-provider": provider });
    assert.ok(status < 500 || status === 502, `${provider}: ${status}`);
  }
});

test("an answer that is nested too deep is one the gateway cannot use", async () => {
  const { status } = await chat(gateway, helloBody, upstreamHeaders(upstream));
  assert.equal(status, 502);
});
