import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { eventually } from "../support/eventually.ts";
import { createFolder, fakeWorkspaceKey, type GatewayProcess, startGatewayProcess } from "../support/process.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

let nodes: GatewayProcess[];
let upstream: RecordingUpstream;
/** Sessions that the server began, with what each was asked. */
const sessions = new Map<string, string[]>();

before(async () => {
  upstream = await startRecordingUpstream(({ text, headers }, response) => {
    const { id, method, params } = JSON.parse(text || "{}");
    const answer = (result: object, more: Record<string, string> = {}) => {
      response.writeHead(200, { "content-type": "application/json", ...more });
      response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    };
    if (method === "initialize") {
      const session = crypto.randomUUID();
      sessions.set(session, []);
      const about = {
        protocolVersion: "2025-11-25",
        capabilities: { tools: {} },
        serverInfo: { name: "s", version: "1" },
      };
      return answer(about, { "mcp-session-id": session });
    }
    const asked = sessions.get(String(headers["mcp-session-id"]));
    if (!asked) return void response.writeHead(404).end();
    if (id === undefined) return void response.writeHead(202).end();
    const said = String(params?.arguments?.text);
    asked.push(said);
    answer({ content: [{ type: "text", text: said }] });
  });
  const env = {
    DATABASE_URL: `file:${join(createFolder(), "gateway.db")}`,
    GATEWAY_MASTER_KEYS: "v1:AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA",
    WORKERS: "2",
  };
  const first = await startGatewayProcess({ env });
  nodes = [first, await startGatewayProcess({ env })];
  const post = async (path: string, body: object) => {
    const headers = { "x-gateway-api-key": fakeWorkspaceKey, "content-type": "application/json" };
    const answer = await fetch(`${first.url}/v1${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    assert.equal(answer.status, 200, await answer.text());
  };
  const url = `${upstream.url}/mcp`;
  await post("/mcp-integrations", { name: "U", slug: "shared-up", url, auth_type: "none", transport: "http" });
  await post("/mcp-servers", { name: "S", slug: "shared", mcp_integration_id: "shared-up" });
});
after(async () => {
  await Promise.all((nodes ?? []).map((node) => node.stop("SIGKILL")));
  await upstream?.close();
});

test("two processes behind a round-robin serve one session of a client: 500 calls, each answered by its own result", async () => {
  let turn = 0;
  const used = new Set<string>();
  const roundRobin = (url: string | URL, init?: RequestInit): Promise<Response> => {
    const node = nodes[turn++ % nodes.length] ?? assert.fail();
    used.add(node.url);
    const { pathname } = new URL(url);
    return fetch(`${node.url}${pathname}`, init);
  };
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode: "legacy" } });
  const requestInit = { headers: { "x-gateway-api-key": fakeWorkspaceKey } };
  const connect = () => {
    const address = new URL("http://round-robin.test/m/shared/mcp");
    return client.connect(new StreamableHTTPClientTransport(address, { requestInit, fetch: roundRobin }));
  };
  // the second process may need a moment to learn of the server; without a session its upstream answers nothing usable
  await eventually("both processes know the server", async () => {
    const init = { method: "POST", headers: requestInit.headers, body: "[]" };
    const answers = await Promise.all(nodes.map(({ url }) => fetch(`${url}/m/shared/mcp`, init)));
    return answers.every(({ status }) => status === 415);
  });
  await connect();
  const wanted = Array.from({ length: 500 }, (_, index) => `call ${index}`);
  const found: unknown[] = [];
  for (let start = 0; start < wanted.length; start += 25) {
    const batch = wanted.slice(start, start + 25).map(async (text) => {
      const { content } = (await client.callTool({ name: "say", arguments: { text } })) as {
        content: { text: string }[];
      };
      return content[0]?.text;
    });
    found.push(...(await Promise.all(batch)));
  }
  await client.close();
  assert.deepEqual(found, wanted);
  assert.equal(used.size, 2);
  const [asked, ...others] = [...sessions.values()]
    .map((list) => list.filter((text) => text.startsWith("call")))
    .filter((list) => list.length > 0);
  assert.deepEqual([asked?.length, new Set(asked).size, others], [500, 500, []]);
});
