import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { TestGateway } from "../support/gateway.ts";
import { startSocketServer, type Upstream } from "../support/upstream.ts";
import { createMcpGateway, mcpServer, postLegacy, postModern, rpc, serversOf } from "./support.ts";

// Servers that end their connection within an answer.

let gateway: TestGateway;
let upstream: Upstream;
let answer = "";
let servers = 0;
let all: ReturnType<typeof serversOf>;

before(async () => {
  upstream = await startSocketServer((socket) => {
    socket.once("data", () => socket.end(answer));
  });
  all = serversOf();
  gateway = await createMcpGateway(all, { inFile: true });
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

const part = '{"jsonrpc"';
for (const [name, given] of [
  ["small content-length", `content-type: application/json\r\ncontent-length: 400\r\n\r\n${part}`],
  ["large content-length", `content-type: application/json\r\ncontent-length: 400000\r\n\r\n${part}`],
  ["chunks", `content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\na\r\n${part}\r\n`],
  ["event stream", `content-type: text/event-stream\r\ncontent-length: 400\r\n\r\ndata: ${part}`],
  ["no length", `content-type: application/json\r\nconnection: close\r\n\r\n${part}`],
  ["gzip", `content-type: application/json\r\ncontent-encoding: gzip\r\ncontent-length: 400\r\n\r\n${part}`],
] as const) {
  for (const status of ["200 OK", "400 Bad Request", "500 Internal Server Error"]) {
    test(`an answer with ${name} and status ${status} that breaks off is 502, or an error in the stream`, async () => {
      answer = `HTTP/1.1 ${status}\r\n${given}`;
      // failures of one server end its calls
      const id = `${String(++servers).padStart(8, "0")}-1111-4111-8111-111111111111`;
      all.set(mcpServer(`${upstream.url}/mcp`, { id }));
      for (const response of [
        await postLegacy(gateway, rpc("tools/list")),
        await postLegacy(gateway, rpc("tools/call", { name: "t", arguments: {} })),
        await postModern(gateway, "tools/list"),
      ]) {
        const text = await response.text();
        const isStream = response.headers.get("content-type")?.startsWith("text/event-stream");
        if (!isStream) assert.equal(response.status, 502, text);
        assert.match(text, /"code":-32603/);
        assert.match(text, /"type":"upstream_error"/);
      }
    });
  }
}
