import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, connect, type Socket } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { outboundProxy } from "../../src/settings/outbound-proxy.ts";
import { createCertificate } from "../support/certificate.ts";
import { createFolder, withGateway } from "../support/process.ts";

interface Proxy {
  port: number;
  /** What was asked, with the credential. */
  asked: string[];
  close(): void;
}

const portOf = (server: Server) => (server.address() as AddressInfo).port;
const listen = (server: Server) => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));

/** A proxy that connects to one server, whatever it is asked for. */
async function startProxy(target: () => number): Promise<Proxy> {
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers["proxy-authorization"]}`);
    response.writeHead(502).end();
  });
  server.on("connection", (socket) => void sockets.add(socket));
  server.on("connect", (request, socket: Socket) => {
    asked.push(`CONNECT ${request.url} ${request.headers["proxy-authorization"]}`);
    const upstream = connect(target(), "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      upstream.pipe(socket);
      socket.pipe(upstream);
    });
    sockets.add(upstream);
    upstream.on("error", () => socket.destroy());
    socket.on("error", () => upstream.destroy());
  });
  await listen(server);
  return {
    port: portOf(server),
    asked,
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

const completion = {
  id: "1",
  object: "chat.completion",
  model: "m",
  choices: [{ index: 0, message: { role: "assistant", content: "by proxy" }, finish_reason: "stop" }],
};

test("calls go through the proxy with its credential, with TLS of an authority of the operator; exceptions do not", async () => {
  const { cert, key, authority } = createCertificate("gateway.test");
  const roots = join(createFolder(), "roots.pem");
  writeFileSync(roots, authority);
  const answer = JSON.stringify(completion);
  const secure = createSecureServer({ cert, key }, (request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": "application/json" }).end(answer);
  });
  const plain = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": "application/json" }).end(answer);
  });
  await Promise.all([listen(secure), listen(plain)]);
  const proxy = await startProxy(() => portOf(secure));
  const env = {
    OUTBOUND_PROXY: `http://user:p%40ss@127.0.0.1:${proxy.port}`,
    OUTBOUND_NO_PROXY: `127.0.0.2:${portOf(plain)}`,
    TRUSTED_CUSTOM_HOSTS: "127.0.0.1,127.0.0.2,gateway.test",
    NODE_EXTRA_CA_CERTS: roots,
    DENO_CERT: roots,
  };
  const chat = async (url: string, workspaceKey: string, host: string) => {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: {
        "x-gateway-api-key": workspaceKey,
        "x-gateway-provider": "openai",
        "x-gateway-custom-host": host,
        authorization: "Bearer sk-fake-key-for-tests",
        "content-type": "application/json",
      },
      body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "Hello" }] }),
    });
    return { status: response.status, body: await response.text() };
  };
  try {
    await withGateway({ env }, async ({ url, workspaceKey, output }) => {
      const far = await chat(url, workspaceKey, "https://gateway.test/v1");
      assert.equal(far.status, 200, `${far.body}\n${output()}`);
      const credential = `Basic ${Buffer.from("user:p@ss").toString("base64")}`;
      assert.deepEqual(proxy.asked, [`CONNECT gateway.test:443 ${credential}`]);
      const refused = await chat(url, workspaceKey, "https://localhost/v1");
      assert.equal(refused.status, 400, refused.body);
      const direct = await chat(url, workspaceKey, `http://127.0.0.2:${portOf(plain)}/v1`);
      assert.equal(direct.status, 502, direct.body); // nothing listens there: it was called directly
      assert.equal(proxy.asked.length, 1);
    });
  } finally {
    proxy.close();
    secure.close();
    plain.close();
  }
});

for (const [environment, problem] of [
  [{ OUTBOUND_PROXY: "proxy:3128" }, /OUTBOUND_PROXY: it must be an address/],
  [{ OUTBOUND_PROXY: "socks5://proxy:1080" }, /OUTBOUND_PROXY: it must be an address/],
  [{ OUTBOUND_PROXY: "http://proxy/path" }, /OUTBOUND_PROXY: it must be an address/],
  [{ OUTBOUND_NO_PROXY: "10.0.0.0/8" }, /OUTBOUND_NO_PROXY: list names and addresses/],
] as const) {
  test(`the proxy ${JSON.stringify(environment)} is refused`, () => {
    assert.throws(() => outboundProxy(environment), problem);
  });
}
