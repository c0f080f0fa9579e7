import assert from "node:assert/strict";
import { after, test } from "node:test";
import { adminEndpoints } from "../../src/admin/endpoints.ts";
import { scimEndpoints } from "../../src/admin/scim/endpoints.ts";
import type { Endpoint } from "../../src/endpoint.ts";
import { createLogReaderThread } from "../../src/serve/log-reader-thread.ts";
import { createLogThread } from "../../src/serve/log-thread.ts";
import { nameOf, pathOf, providerRows, toRequest } from "../support/endpoint-requests.ts";
import { adminKey, createTestGateway, type TestGateway, workspaceKey } from "../support/gateway.ts";
import { startLibsqlServer, withoutLibsqlServer } from "../support/libsql-server.ts";

const cleanUps: (() => Promise<unknown>)[] = [];
after(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp();
});

const from = "2026-01-01T00:00:00Z";
const period = `time_of_generation_min=${from}&time_of_generation_max=2026-01-02T00:00:00Z`;
const id = "01KG9A0V5W6J3XQZ8M2R7T4Y1B";
const messages = [{ role: "user", content: "Hello" }];

/** Requests that read or write the database whatever the other parameters are. */
const asked: readonly (readonly [method: string, path: string, key: string, body?: object])[] = [
  ["GET", "/v1/logs", workspaceKey],
  ["GET", "/v1/logs", adminKey],
  ["GET", `/v1/logs/${id}`, workspaceKey],
  ["GET", "/v1/logs/tail", workspaceKey],
  ["POST", `/v1/logs/${id}/replay`, workspaceKey, {}],
  ["GET", `/v1/analytics/graphs/requests?${period}`, workspaceKey],
  ["GET", `/v1/analytics/groups/users?${period}`, workspaceKey],
  ["GET", `/v1/analytics/summary/cache?${period}`, workspaceKey],
  ["GET", "/v1/logs/exports", workspaceKey],
  ["POST", "/v1/feedback", workspaceKey, { trace_id: "t", value: 1 }],
  ["GET", "/v1/files", workspaceKey],
  ["GET", "/v1/batches", workspaceKey],
  ["GET", "/v1/responses/resp_gw_0123456789abcdef", workspaceKey],
  [
    "POST",
    "/v1/responses",
    workspaceKey,
    { model: "m", input: "Hi", previous_response_id: "resp_gw_0123456789abcdef" },
  ],
  ["GET", "/v1/configs", workspaceKey],
  ["POST", "/v1/configs", workspaceKey, { name: "c", config: { retry: { attempts: 2 } } }],
  ["GET", "/v1/api-keys", adminKey],
  ["GET", "/v1/prompts", workspaceKey],
];

async function send({ gateway }: Pick<TestGateway, "gateway">, path: string, init: RequestInit) {
  const response = await gateway.fetch(new Request(`http://gateway.test${path}`, init));
  const text = await response.text();
  const code = /"code": ?"(\w+)"/.exec(text)?.[1];
  return { status: response.status, code, text, retryAfter: response.headers.get("retry-after") };
}

/** A gateway whose keys and workspace are in memory, and whose database then goes away. */
async function startAway(): Promise<TestGateway> {
  const server = await startLibsqlServer();
  cleanUps.push(server.kill);
  const gateway = await createTestGateway({
    database: server.url,
    createLogWriter: createLogThread,
    createLogReader: createLogReaderThread,
    // any response of a provider shows that it was called
    transport: { send: async () => new Response("no", { status: 400, headers: { "content-type": "text/plain" } }) },
  });
  cleanUps.push(gateway.close);
  for (const key of [adminKey, workspaceKey]) {
    const headers = { "x-gateway-api-key": key, "x-gateway-provider": "echo", "content-type": "application/json" };
    await send(gateway, "/v1/logs?limit=1", { headers });
    if (key === adminKey) continue;
    const init = { method: "POST", headers, body: JSON.stringify({ model: "m", messages }) };
    assert.equal((await send(gateway, "/v1/chat/completions", init)).status, 200);
  }
  await server.kill();
  return gateway;
}

test("while the database is away, no request is answered as a fault of the gateway", {
  skip: withoutLibsqlServer,
  timeout: 600_000,
}, async () => {
  const gateway = await startAway();
  for (const [method, path, key, body] of asked) {
    const headers = { "x-gateway-api-key": key, "content-type": "application/json" };
    if (path === "/v1/responses") Object.assign(headers, { "x-gateway-provider": "echo" });
    const init = body ? { method, headers, body: JSON.stringify(body) } : { method, headers };
    const { status, code, text, retryAfter } = await send(gateway, path, init);
    assert.deepEqual([status, code, retryAfter], [503, "database_unavailable", "1"], `${method} ${path}: ${text}`);
  }
  const problems: string[] = [];
  const check = async (endpoint: Endpoint, path: string, init: RequestInit) => {
    const { status, code, text } = await send(gateway, path, init);
    const isFine = status < 500 || (status === 503 && code !== "internal_error") || status === 501;
    if (!isFine) problems.push(`${nameOf(endpoint)}: ${status} ${text.slice(0, 200)}`);
  };
  for (const endpoint of [...adminEndpoints, ...scimEndpoints]) {
    for (const key of [adminKey, workspaceKey]) {
      const headers = { "x-gateway-api-key": key, authorization: `Bearer ${key}`, "content-type": "application/json" };
      const hasBody = ["POST", "PUT", "PATCH"].includes(endpoint.method);
      const query = endpoint.path.includes("/analytics/") ? `?${period}` : "";
      await check(endpoint, pathOf(endpoint) + query, {
        method: endpoint.method,
        headers,
        ...(hasBody && { body: "{}" }),
      });
    }
  }
  for (const endpoint of providerRows) await check(endpoint, pathOf(endpoint), toRequest(endpoint));
  assert.deepEqual(problems, []);
});
