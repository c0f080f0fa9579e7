import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { ServerMode } from "../../src/gateway/options.ts";
import { createGateway } from "../../src/gateway.ts";
import { readSettings } from "../../src/settings.ts";
import { adminKey, createRuntimeTransport, readJson, requestHeaders, workspaceKey } from "../support/gateway.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";
import { createMcpGateway, legacyHeaders, mcpServer, rpc, serversOf } from "./support.ts";

let upstream: RecordingUpstream;
before(async () => {
  upstream = await startRecordingUpstream((request, response) => {
    const { id } = JSON.parse(request.text);
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result: { tools: [] } }));
  });
});
after(() => upstream.close());

/** Statuses of a tool list, a chat and a health check at a port. */
async function statusesAt(mode: ServerMode, isMcpPort: boolean) {
  // every mode has its own OpenAPI document: the helper compares answers with that of the first
  const gateway = createGateway({
    serverMode: mode,
    mcpServers: serversOf(mcpServer(`${upstream.url}/mcp`)),
    bootstrap: { adminKey, workspaceKey },
    trustedHosts: ["127.0.0.1"],
    transport: createRuntimeTransport(),
  });
  const connection = isMcpPort ? { isMcpPort } : {};
  const status = async (path: string, init: RequestInit) =>
    (await gateway.fetch(new Request(`http://gateway.test${path}`, init), connection)).status;
  const list = { method: "POST", headers: legacyHeaders, body: rpc("tools/list") };
  const body = JSON.stringify({ model: "echo-1", messages: [{ role: "user", content: "Hi" }] });
  try {
    return {
      belowM: await status("/m/everything/mcp", list),
      atRoot: await status("/everything/mcp", list),
      get: await status(`${mode === "unified" ? "/m" : ""}/everything/mcp`, { method: "GET" }),
      chat: await status("/v1/chat/completions", { method: "POST", headers: requestHeaders(), body }),
      health: await status("/health", {}),
    };
  } finally {
    await gateway.close();
  }
}

for (const [mode, isMcpPort, wanted] of [
  ["unified", false, { belowM: 200, atRoot: 404, get: 405, chat: 200, health: 200 }],
  ["gateway", false, { belowM: 404, atRoot: 404, get: 404, chat: 200, health: 200 }],
  ["mcp", true, { belowM: 404, atRoot: 200, get: 405, chat: 404, health: 200 }],
  ["all", false, { belowM: 404, atRoot: 404, get: 404, chat: 200, health: 200 }],
  ["all", true, { belowM: 404, atRoot: 200, get: 405, chat: 404, health: 200 }],
] as const) {
  test(`the mode ${mode} serves its routes at the ${isMcpPort ? "port of MCP" : "common port"}`, async () => {
    assert.deepEqual(await statusesAt(mode, isMcpPort), wanted);
  });
}

test("the challenge names the document of the address that was called, in every mode", async () => {
  for (const [serverMode, path] of [
    ["unified", "/m/everything/mcp"],
    ["mcp", "/everything/mcp"],
  ] as const) {
    const mcp = { baseUrl: "https://gateway.example.com" };
    const gateway = await createMcpGateway(serversOf(), { serverMode, mcp });
    const request = new Request(`http://gateway.test${path}`, { method: "POST", body: rpc("tools/list") });
    const response = await gateway.gateway.fetch(request, { isMcpPort: serverMode === "mcp" });
    await gateway.close();
    assert.equal(response.status, 401);
    assert.equal(
      response.headers.get("www-authenticate"),
      `Bearer resource_metadata="https://gateway.example.com/.well-known/oauth-protected-resource${path}", scope="mcp"`,
    );
    assert.equal((await readJson<{ error: string }>(response)).error, "invalid_token");
  }
});

test("readSettings() reads the mode and the settings of MCP", () => {
  const { gateway, mcpPort } = readSettings({
    SERVER_MODE: "ALL",
    MCP_PORT: "9000",
    MCP_GATEWAY_BASE_URL: "https://gateway.example.com/",
    MCP_REQUEST_TIMEOUT_MS: "1000",
    MCP_ORIGINS: "https://app.example.com",
    MCP_HOSTS: "mcp.example.com",
    MCP_POOL_MAX_IDLE_MS: "2000",
    MCP_POOL_ENABLED: "false",
  });
  assert.deepEqual([gateway.serverMode, mcpPort], ["all", 9000]);
  const { mcp = {} } = gateway;
  assert.deepEqual(
    [mcp.baseUrl, mcp.requestTimeoutMs, mcp.pool?.idleMs, mcp.pool?.isEnabled],
    ["https://gateway.example.com", 1_000, 2_000, false],
  );
  assert.deepEqual([...(mcp.origins ?? [])], ["https://app.example.com"]);
  for (const name of ["mcp.example.com", "gateway.example.com", "localhost"]) assert.ok(mcp.hosts?.has(name), name);
});

test("readSettings() takes every host name where the address is not of loopback, unless some are listed", () => {
  assert.equal(readSettings({ HOST: "0.0.0.0" }).gateway.mcp?.hosts, undefined);
  assert.ok(!readSettings({}).gateway.mcp?.hosts?.has("elsewhere.example.com"));
});

for (const environment of [
  { SERVER_MODE: "both" },
  { MCP_GATEWAY_BASE_URL: "gateway.example.com" },
  { MCP_GATEWAY_BASE_URL: "https://user@gateway.example.com" },
  { MCP_GATEWAY_BASE_URL: "https://gateway.example.com/path" },
  { MCP_ORIGINS: "*" },
  { MCP_HOSTS: "https://a" },
  { MCP_PORT: "70000" },
  { MCP_POOL_MAX_CONNECTIONS: "0" },
]) {
  const [[name = "", value] = []] = Object.entries(environment);
  test(`readSettings() refuses ${name}=${value}`, () => {
    assert.throws(() => readSettings(environment), new RegExp(name));
  });
}
