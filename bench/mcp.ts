// What the gateway costs in front of an MCP server: calls of a tool and lists of 200 tools through the gateway over the same
// requests made directly to the server, in the same run. `bun bench/mcp.ts [seconds of a run]`

import process from "node:process";
import { createMcpHandler, fromJsonSchema, McpServer } from "@modelcontextprotocol/server";
import { median } from "./measure.ts";
import { cleanUp, keys, startGateway } from "./processes.ts";

const seconds = Number(process.argv[2] ?? 1.5);
const connections = 32;
const rounds = 3;
const toolCount = 200;

/** The server of the npm package: one that echoes, and 199 more to list. */
function createServer(): McpServer {
  const server = new McpServer({ name: "bench", version: "1" }, { capabilities: { tools: {} } });
  const inputSchema = fromJsonSchema<{ text: string }>({
    type: "object",
    properties: { text: { type: "string", description: "What to say" } },
    required: ["text"],
  });
  for (let index = 0; index < toolCount; index++) {
    const name = index === 0 ? "echo" : `tool_${index}`;
    const description = `Tool number ${index} says what it is given, for a list of the usual length`;
    server.registerTool(name, { description, inputSchema }, async ({ text }) => ({
      content: [{ type: "text", text }],
    }));
  }
  return server;
}

/** Starts the server in a separate process. */
async function startServer(): Promise<{ url: string; stop(): void }> {
  const child = Bun.spawn([process.execPath, import.meta.filename, "serve"], { stdout: "pipe" });
  const { value } = await child.stdout.getReader().read();
  return { url: `http://127.0.0.1:${new TextDecoder().decode(value).trim()}/mcp`, stop: () => child.kill() };
}

const requests = {
  "tools/call": { name: "echo", arguments: { text: "hello" } },
  "tools/list": {},
} as const;

/** Requests a second. */
async function load(url: string, method: keyof typeof requests, more: Record<string, string>): Promise<number> {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const params: { name?: string } = requests[method];
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": method,
    ...(params.name !== undefined && { "mcp-name": params.name }),
    ...more,
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } });
  const until = performance.now() + seconds * 1_000;
  let answered = 0;
  const one = async () => {
    while (performance.now() < until) {
      const response = await fetch(url, { method: "POST", headers, body });
      const text = await response.text();
      if (response.status !== 200 || !text.includes('"result"'))
        throw new Error(`${response.status} ${text.slice(0, 200)}`);
      answered++;
    }
  };
  await Promise.all(Array.from({ length: connections }, one));
  return answered / seconds;
}

async function addServer(gateway: string, url: string): Promise<void> {
  const headers = { "x-gateway-api-key": keys.workspace, "content-type": "application/json" };
  for (const [path, body] of [
    ["/v1/mcp-integrations", { name: "Bench", slug: "bench-up", url, auth_type: "none", transport: "http" }],
    ["/v1/mcp-servers", { name: "Bench", slug: "bench", mcp_integration_id: "bench-up" }],
  ] as const) {
    const response = await fetch(gateway + path, { method: "POST", headers, body: JSON.stringify(body) });
    if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  }
}

async function measure(): Promise<void> {
  const server = await startServer();
  const gateway = await startGateway("bun", { TRUSTED_CUSTOM_HOSTS: "127.0.0.1" });
  const base = `http://127.0.0.1:${gateway.port}`;
  await addServer(base, server.url);
  const through = `${base}/m/bench/mcp`;
  const key = { "x-gateway-api-key": keys.workspace };
  try {
    for (const method of ["tools/call", "tools/list"] as const) {
      await load(server.url, method, {});
      await load(through, method, key);
      const ratios: number[] = [];
      for (let round = 0; round < rounds; round++) {
        const direct = await load(server.url, method, {});
        const gatewayed = await load(through, method, key);
        ratios.push(gatewayed / direct);
        console.log(`${method}: direct ${direct.toFixed(0)}/s, through the gateway ${gatewayed.toFixed(0)}/s`);
      }
      console.log(`${method} at ${connections} connections: ${median(ratios).toFixed(2)} of direct`);
    }
  } finally {
    await gateway.stop();
    server.stop();
    cleanUp();
  }
}

if (process.argv[2] === "serve") {
  const handler = createMcpHandler(() => createServer(), { legacy: "reject" });
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    fetch: (request: Request) => handler.fetch(request),
  });
  console.log(server.port);
} else await measure();
