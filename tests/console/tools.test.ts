// A page of the console calls a tool of an MCP server with its session, as the tool's page does.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { mcpClientNames, writeMcpClient } from "../../console/src/lib/mcp-clients.ts";
import { serveFetch } from "../mcp/conformance.ts";
import { createFixture } from "../mcp/fixture.ts";
import { call, done } from "../support/control.ts";
import { eventually } from "../support/eventually.ts";
import { createTestGateway, type TestGateway, workspaceKey } from "../support/gateway.ts";
import { type SignedIn, send, signIn } from "./support.ts";

let one: TestGateway;
let page: SignedIn;
let tools: Awaited<ReturnType<typeof serveFetch>>;
before(async () => {
  tools = await serveFetch(createFixture());
  one = await createTestGateway();
  const url = `${tools.url.replace("localhost", "127.0.0.1")}/mcp`;
  const made = { name: "Harbour", slug: "harbour-tools", url, auth_type: "none", transport: "http" };
  await done(call(one, "POST /mcp-integrations", { key: workspaceKey, body: made }));
  const server = { name: "Harbour", slug: "harbour", mcp_integration_id: "harbour-tools" };
  await done(call(one, "POST /mcp-servers", { key: workspaceKey, body: server }));
  page = await signIn(one, workspaceKey);
});
after(async () => {
  await one?.close();
  tools?.stop();
});

const tool = "test_simple_text";
const message = {
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: {
    name: tool,
    arguments: {},
    _meta: {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": {},
      "io.modelcontextprotocol/clientInfo": { name: "console", version: "1" },
    },
  },
};
const headers = {
  accept: "application/json, text/event-stream",
  "mcp-protocol-version": "2026-07-28",
  "mcp-method": "tools/call",
  "mcp-name": tool,
};

test("a session calls a tool from the address of its page, and the row of the call says so", async () => {
  const response = await page.call("POST /m/harbour/mcp", { body: message, headers });
  assert.equal(response.status, 200, await response.clone().text());
  assert.match(await response.text(), /This is a simple text response/);
  await eventually("the row of the call", async () => {
    const query = `?mcp_server=harbour&mcp_tool=${tool}`;
    const { data } = await done<{ data: { source?: string; mcp?: { client_name?: string } }[] }>(
      call(one, `GET /logs${query}`, { key: workspaceKey }),
    );
    return data.length === 1 && data[0]?.source === "console" && data[0].mcp?.client_name === "console";
  });
});

for (const [what, changes, wanted] of [
  ["from a page of another site", { origin: "https://elsewhere.example", "sec-fetch-site": "cross-site" }, 403],
  ["with the token of another session", { "x-gateway-csrf": "not-its-token" }, 401],
  ["with a key beside it, from an origin that is not known", { "x-gateway-api-key": workspaceKey }, 403],
  ["with a bearer beside it, from an origin that is not known", { authorization: `Bearer ${workspaceKey}` }, 403],
] as const) {
  test(`a session calls no tool ${what}`, async () => {
    const response = await page.call("POST /m/harbour/mcp", { body: message, headers: { ...headers, ...changes } });
    assert.equal(response.status, wanted, await response.text());
  });
}

test("a cookie without the token of its session calls no tool", async () => {
  const { cookie } = page;
  const response = await send(one, "POST /m/harbour/mcp", { body: message, headers: { ...headers, cookie } });
  assert.equal(response.status, 401);
});

test("settings of MCP clients hold names and addresses as they are, whatever is in them", () => {
  const server = { slug: `it's "$(here)"`, url: `https://gateway.example/m/it's/mcp?a="b"` };
  const written = Object.fromEntries(
    Object.keys(mcpClientNames).map((client) => [
      client,
      writeMcpClient(client as keyof typeof mcpClientNames, server),
    ]),
  );
  assert.match(written.claude ?? "", /^claude mcp add --transport http 'it'\\''s "\$\(here\)"' 'https:/);
  const json = (text: string | undefined) => JSON.parse((text ?? "").replace(/^\/\/.*\n/, ""));
  assert.equal(json(written.cursor).mcpServers[server.slug].url, server.url);
  assert.deepEqual(json(written.vscode).servers[server.slug], {
    type: "http",
    url: server.url,
    headers: { "x-gateway-api-key": "${input:gateway-key}" },
  });
  assert.match(written.codex ?? "", /\[mcp_servers\."it's \\"\$\(here\)\\""\]/);
});
