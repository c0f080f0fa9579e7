import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from "@modelcontextprotocol/client";
import { Client as FirstClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as FirstTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { workspaceKey } from "../support/gateway.ts";
import { serveFetch } from "./conformance.ts";
import { createFixture } from "./fixture.ts";
import { createMcpGateway, disabled, mcpServer, serversOf } from "./support.ts";

let fixture: Awaited<ReturnType<typeof serveFetch>>;
let front: Awaited<ReturnType<typeof serveFetch>>;
let gateway: Awaited<ReturnType<typeof createMcpGateway>>;

before(async () => {
  fixture = await serveFetch(createFixture("both"));
  const server = mcpServer(`http://127.0.0.1:${fixture.port}/mcp`, {
    disabled: disabled({ tool: ["test_image_content"] }),
  });
  gateway = await createMcpGateway(serversOf(server));
  front = await serveFetch((request, connection) => gateway.gateway.fetch(request, connection));
});
after(async () => {
  await front.close();
  await gateway.close();
  await fixture.close();
});

const information = { name: "test", version: "1" };
const requestInit = { headers: { authorization: `Bearer ${workspaceKey}` } };

/** What the test asks of a client, whatever its library. */
interface AnyClient {
  listTools(): Promise<{ tools: readonly { name: string }[] }>;
  callTool(params: { name: string; arguments: Record<string, unknown> }): Promise<unknown>;
  close(): Promise<void>;
}

async function connectFirst(): Promise<AnyClient> {
  const client = new FirstClient(information);
  // the library's types do not allow for exactOptionalPropertyTypes
  await client.connect(new FirstTransport(new URL(`${front.url}/m/everything/mcp`), { requestInit }) as never);
  return client as unknown as AnyClient;
}

async function connectModern(mode: "legacy" | "auto"): Promise<AnyClient> {
  const client = new ModernClient(information, { versionNegotiation: { mode } });
  await client.connect(new ModernTransport(new URL(`${front.url}/m/everything/mcp`), { requestInit }));
  return client as unknown as AnyClient;
}

for (const [name, connect] of [
  ["the client of version 1", connectFirst],
  ["the client of version 2 in its legacy mode", () => connectModern("legacy")],
  ["the client of version 2 in its modern mode", () => connectModern("auto")],
] as const) {
  test(`${name} lists and calls tools with a key`, async () => {
    const client = await connect();
    const { tools } = await client.listTools();
    const names = tools.map((tool) => tool.name);
    assert.ok(names.includes("test_simple_text"));
    assert.ok(!names.includes("test_image_content"));
    const { content } = (await client.callTool({ name: "test_simple_text", arguments: {} })) as { content: unknown };
    assert.deepEqual(content, [{ type: "text", text: "This is a simple text response for testing." }]);
    const refused = client.callTool({ name: "test_image_content", arguments: {} });
    await assert.rejects(refused, (error: { code?: unknown; message: string }) => {
      assert.equal(error.code, -32602);
      assert.match(error.message, /disabled/);
      return true;
    });
    await client.close();
  });
}
