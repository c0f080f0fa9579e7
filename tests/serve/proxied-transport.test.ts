import assert from "node:assert/strict";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { test } from "node:test";
import { create, lookup } from "../support/senders.ts";
import { startSocketUpstream } from "../support/websocket-upstream.ts";

const socketInit = { headers: {}, protocols: [], maxMessageBytes: 1_000 };
const none = { method: "GET", headers: {} };

/** Runs with a proxy that connects to one port, or refuses, and what it was asked. */
async function withProxy(
  port: number | undefined,
  run: (url: string, asked: string[]) => Promise<void>,
): Promise<void> {
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((_request, response) => response.writeHead(204).end());
  server.on("connection", (socket) => void sockets.add(socket));
  server.on("connect", (request, socket: Socket) => {
    asked.push(request.url ?? "");
    if (port === undefined) return void socket.end("HTTP/1.1 403 Forbidden\r\n\r\n");
    const upstream = connect(port, "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      upstream.pipe(socket);
      socket.pipe(upstream);
    });
    for (const end of [socket, upstream]) end.on("error", () => end.destroy());
    sockets.add(upstream);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await run(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, asked); // a server on a port has such an address
  } finally {
    server.close();
    for (const socket of sockets) socket.destroy();
  }
}

test("a WebSocket is opened through the proxy", async () => {
  const upstream = await startSocketUpstream();
  try {
    await withProxy(Number(new URL(upstream.url).port), async (url, asked) => {
      const transport = create({ proxy: { url, except: [] }, lookup });
      const answer = await transport.openSocket?.("http://far.example.com/v1/realtime", socketInit, () => true);
      assert.equal(answer?.status, 101);
      answer.end?.close({ code: 1000, reason: "" });
      assert.deepEqual(asked, ["far.example.com:80"]);
      assert.equal(upstream.handshakes[0]?.headers.host, "far.example.com");
    });
  } finally {
    await upstream.close();
  }
});

test("a proxy that refuses is an upstream that cannot be reached", async () => {
  await withProxy(undefined, async (url) => {
    const transport = create({ proxy: { url, except: [] }, lookup });
    const opened = transport.openSocket?.("https://far.example.com/", socketInit, () => true);
    await assert.rejects(async () => opened, /the proxy answered with 403/);
  });
});

test("a name that leads to a private network is refused before the proxy is asked; one that is unknown here is not", async () => {
  await withProxy(undefined, async (url, asked) => {
    const transport = create({ proxy: { url, except: [".lan.example.com", "[2001:db8::1]:8080"] }, lookup });
    const allows = (address: string) => address !== "169.254.169.254";
    const send = async (target: string) => transport.sendChecked?.(target, none, allows);
    await assert.rejects(send("https://metadata.example.com/"), /private or reserved network/);
    await assert.rejects(send("https://nothing.example.com/"), /private or reserved network/);
    assert.deepEqual(asked, []);
    await assert.rejects(send("https://unknown.example.com/"));
    assert.deepEqual(asked, ["unknown.example.com:443"]);
    // an exception is called directly, where nothing listens
    await assert.rejects(send("https://a.lan.example.com:1/"));
    assert.equal(asked.length, 1);
  });
});
