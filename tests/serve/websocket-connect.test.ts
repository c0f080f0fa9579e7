import assert from "node:assert/strict";
import { test } from "node:test";
import { createServer as createTlsServer } from "node:tls";
import type { SocketClose, SocketMessage } from "../../packages/websocket-frames/src/frames.ts";
import { createAddressGuard } from "../../src/lib/address.ts";
import { createSocketOutbound, OutboundError, type SocketInit } from "../../src/lib/outbound.ts";
import type { SocketEnd } from "../../src/lib/websocket.ts";
import { createSocketConnector } from "../../src/serve/websocket-connect.ts";
import { createCertificate } from "../support/certificate.ts";
import { eventually, startServer, startSocketServer, type Upstream } from "../support/upstream.ts";
import { type SocketScript, startSocketUpstream } from "../support/websocket-upstream.ts";

const init: SocketInit = { headers: {}, protocols: ["realtime"], maxMessageBytes: 100_000, connectTimeoutMs: 5_000 };
const looked: string[] = [];
const open = createSocketConnector({
  lookup: async (host) => {
    looked.push(host);
    return [{ address: "127.0.0.1", family: 4 }];
  },
});

/** What a WebSocket hears. */
function hear(end: SocketEnd) {
  const messages: SocketMessage[] = [];
  const closes: SocketClose[] = [];
  end.listen({
    message: (message) => messages.push(message),
    drain: () => {},
    close: (close) => closes.push(close),
  });
  return { messages, closes };
}

async function using<Server extends Upstream>(starting: Promise<Server>, run: (server: Server) => Promise<unknown>) {
  const server = await starting;
  try {
    await run(server);
  } finally {
    await server.close();
  }
}

/** Opens a WebSocket at a scripted upstream. */
async function openAt(script: SocketScript, run: (end: SocketEnd, upstream: Upstream) => Promise<unknown>) {
  await using(startSocketUpstream(script), async (upstream) => {
    const answer = await open(`${upstream.url}/path?query=1`, init);
    assert.ok(answer.end, "it was refused");
    await run(answer.end, upstream);
    answer.end.terminate();
  });
}

/** The kind of the error an attempt ends with. */
async function kindOf(attempt: Promise<unknown>): Promise<string> {
  const error = await attempt.then(
    () => undefined,
    (failure: unknown) => failure,
  );
  return error instanceof OutboundError ? error.kind : String(error);
}

/** A server that answers whatever comes with a text. */
const startScripted = (text: string) =>
  startSocketServer((socket) => socket.once("data", () => socket.end(text, "latin1")));

test("openSocket() resolves once, checks every address at each call, and connects to what was checked", () =>
  using(startSocketUpstream(), async (upstream) => {
    looked.length = 0;
    const asked: string[] = [];
    const url = `http://name.example.com:${upstream.port}/`;
    for (let i = 0; i < 2; i++) {
      const answer = await open(url, init, (address) => asked.push(address) > 0);
      answer.end?.terminate();
    }
    assert.deepEqual([looked, asked], [["name.example.com"], ["127.0.0.1", "127.0.0.1"]]);
    assert.equal(upstream.handshakes[0]?.headers.host, `name.example.com:${upstream.port}`);
    assert.equal(await kindOf(open(url, init, () => false)), "refused_address");
    assert.equal(upstream.connections, 2);
  }));

test("openSocket() goes on to the next address of a name", () =>
  using(startSocketUpstream(), async (upstream) => {
    const lookup = async () => [
      { address: "127.0.0.2", family: 4 },
      { address: "127.0.0.1", family: 4 },
    ];
    const answer = await createSocketConnector({ lookup })(`http://two.example.com:${upstream.port}/`, init);
    assert.equal(answer.status, 101);
    answer.end?.terminate();
  }));

test("createSocketOutbound() checks influenced addresses as text and after resolution, and no fixed ones", () =>
  using(startSocketUpstream(), async (upstream) => {
    const guard = createAddressGuard({ trustedHosts: [] });
    const send = () => Promise.reject(new Error("nothing is sent"));
    const outbound = createSocketOutbound({ guard, transport: { send, openSocket: open } });
    assert.ok(outbound);
    const call = (host: string, origin: "fixed" | "influenced") =>
      outbound(`http://${host}:${upstream.port}/`, { ...init, origin });
    for (const host of ["127.0.0.1", "localhost", "10.0.0.1", "169.254.169.254", "[::1]", "public.example.com"]) {
      assert.equal(await kindOf(call(host, "influenced")), "refused_address", host);
    }
    assert.equal(upstream.connections, 0);
    const answer = await call("own.example.com", "fixed");
    assert.equal(answer.status, 101);
    answer.end?.terminate();
    assert.equal(createSocketOutbound({ guard, transport: { send } }), undefined);
  }));

for (const [name, text, status, body] of [
  ["with a length", "HTTP/1.1 401 No\r\nx-request-id: a\r\ncontent-length: 4\r\n\r\nbody and more", 401, "body"],
  [
    "in chunks",
    "HTTP/1.1 403 No\r\ntransfer-encoding: chunked\r\n\r\n4\r\nbody\r\n3\r\n, 2\r\n0\r\n\r\n",
    403,
    "body, 2",
  ],
  ["until the end", "HTTP/1.0 404 No\r\n\r\nbody", 404, "body"],
  ["without body", "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n", 302, ""],
] as const) {
  test(`openSocket() reports what a server answers that opens nothing: ${name}`, () =>
    using(startScripted(text), async ({ url }) => {
      const answer = await open(url, init);
      assert.ok(!answer.end);
      assert.deepEqual([answer.status, answer.text], [status, body]);
    }));
}

const accepted = "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n";
for (const [name, text] of [
  ["no HTTP", "SSH-2.0-OpenSSH\r\n\r\n"],
  ["a status that is none", "HTTP/1.1 999 Odd\r\n\r\n"],
  ["a broken header", "HTTP/1.1 200 OK\r\nno colon\r\n\r\n"],
  ["a large head", `HTTP/1.1 200 OK\r\na: ${"x".repeat(70_000)}\r\n\r\n`],
  ["101 without the answer to the key", `${accepted}\r\n`],
  ["101 with another key's answer", `${accepted}sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n`],
] as const) {
  test(`openSocket() calls ${name} a bad answer`, () =>
    using(startScripted(text), async ({ url }) => assert.equal(await kindOf(open(url, init)), "bad_answer")));
}

test("openSocket() refuses a subprotocol nobody offered", () =>
  using(startSocketUpstream({ protocol: "other" }), async ({ url }) => {
    assert.equal(await kindOf(open(url, init)), "bad_answer");
  }));

test("openSocket() reports apart who is not there, who says nothing, who hangs up, and who gives up", async () => {
  const gone = await startServer(() => {});
  await gone.close();
  assert.equal(await kindOf(open(gone.url, init)), "unreachable");
  await using(
    startSocketServer((socket) => socket.resume()),
    async (silent) => {
      const { url } = silent;
      assert.equal(await kindOf(open(url, { ...init, connectTimeoutMs: 50 })), "connect_timeout");
      assert.equal(await kindOf(open(url, { ...init, signal: AbortSignal.timeout(50) })), "aborted");
      assert.equal(await kindOf(open(url, { ...init, signal: AbortSignal.abort() })), "aborted");
      await eventually(() => silent.sockets.size === 0, "the sockets to be closed");
    },
  );
  await using(
    startSocketServer((socket) => socket.once("data", () => socket.destroy())),
    async ({ url }) => {
      assert.equal(await kindOf(open(url, init)), "reset");
    },
  );
});

for (const headers of [{ "a b": "c" }, { a: "b\r\nc: d" }, { a: "✓" }]) {
  test(`openSocket() does not send the header ${JSON.stringify(headers)}`, () =>
    using(startSocketUpstream(), async ({ url, handshakes }) => {
      assert.equal(await kindOf(open(url, { ...init, headers })), "invalid_request");
      assert.equal(handshakes.length, 0);
    }));
}

test("openSocket() trusts no certificate that nobody vouches for", async () => {
  const server = createTlsServer({ ...createCertificate() }, (socket) => socket.on("error", () => {}));
  server.on("tlsClientError", () => {});
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  try {
    for (const host of ["127.0.0.1", "localhost"]) {
      assert.equal(await kindOf(open(`https://${host}:${port}/`, init)), "unreachable", host);
    }
  } finally {
    server.close();
  }
});

test("an open WebSocket holds what comes until somebody listens, and answers pings", () => {
  let ponged = "";
  const script: SocketScript = {
    open(socket) {
      socket.send("early");
      socket.ping("life");
      socket.on("pong", (data) => {
        ponged = data.toString();
      });
    },
  };
  return openAt(script, async (end) => {
    const { messages } = hear(end);
    await eventually(() => messages.length === 1 && ponged === "life", "the message and the pong");
    assert.deepEqual(messages, ["early"]);
  });
});

test("an open WebSocket that was closed before anybody listened says so", () =>
  openAt({ open: (socket) => socket.close(4001, "early") }, async (end) => {
    await new Promise((resolve) => setTimeout(resolve, 50));
    const { closes } = hear(end);
    await eventually(() => closes.length > 0, "the close");
    assert.deepEqual(closes, [{ code: 4001, reason: "early" }]);
  }));

test("an open WebSocket reports its close once, whoever starts it", () => {
  let told: number | undefined;
  const script: SocketScript = { open: (socket) => socket.on("close", (code) => (told = code)) };
  return openAt(script, async (end, upstream) => {
    const { closes } = hear(end);
    end.close({ code: 4002, reason: "own" });
    end.send("too late");
    end.close({ code: 4003, reason: "again" });
    await eventually(() => told !== undefined && closes.length > 0, "both closes");
    assert.equal(told, 4002);
    assert.equal(closes.length, 1);
    assert.equal(closes[0]?.code, 4002);
    await eventually(() => upstream.sockets.size === 0, "the socket to be closed");
  });
});

test("an open WebSocket that is too large, or that breaks off, is closed", async () => {
  await openAt({ open: (socket) => socket.send(Buffer.alloc(100_001)) }, async (end) => {
    const { closes, messages } = hear(end);
    await eventually(() => closes.length > 0, "the close");
    assert.deepEqual([closes[0]?.code, messages.length], [1009, 0]);
  });
  await openAt({ open: (socket) => setTimeout(() => socket.terminate(), 20) }, async (end) => {
    const { closes } = hear(end);
    await eventually(() => closes.length > 0, "the close");
    assert.deepEqual(closes, [{ code: 1006, reason: "" }]);
  });
});

test("an open WebSocket whose peer gives no sign of life is cut off at the second question", async () => {
  const { acceptKeyOf } = await import("../../src/serve/websocket-connect.ts");
  const silent = startSocketServer((socket) =>
    socket.once("data", (head) => {
      const key = /sec-websocket-key: (\S+)/i.exec(head.toString())?.[1] ?? "";
      socket.write(`${accepted}sec-websocket-accept: ${acceptKeyOf(key)}\r\n\r\n`);
    }),
  );
  await using(silent, async ({ url }) => {
    const answer = await open(url, init);
    assert.ok(answer.end);
    const { closes } = hear(answer.end);
    answer.end.probe?.();
    answer.end.probe?.();
    await eventually(() => closes.length > 0, "the close");
    assert.equal(closes[0]?.code, 1006);
  });
});

test("a paused WebSocket reads nothing: its peer has to wait", () => {
  let upstreamSocket: { bufferedAmount: number } | undefined;
  const script: SocketScript = {
    open(socket) {
      upstreamSocket = socket;
      for (let index = 0; index < 400; index++) socket.send(Buffer.alloc(100_000));
    },
  };
  return openAt(script, async (end) => {
    const { messages } = hear(end);
    end.pause();
    await new Promise((resolve) => setTimeout(resolve, 200));
    const seen = messages.length;
    await new Promise((resolve) => setTimeout(resolve, 200));
    assert.equal(messages.length, seen);
    assert.ok(seen < 400, "nothing was held back");
    assert.ok((upstreamSocket?.bufferedAmount ?? 0) > 0, "the upstream has nothing left to send");
    end.resume();
    const until = performance.now() + 20_000;
    while (messages.length < 400 && performance.now() < until) await new Promise((resolve) => setTimeout(resolve, 10));
    assert.equal(messages.length, 400);
  });
});
