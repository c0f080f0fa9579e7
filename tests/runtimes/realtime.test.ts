import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { createServer as createHttpsServer } from "node:https";
import { connect } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { createServer as createTlsServer } from "node:tls";
import OpenAI from "openai";
import { OpenAIRealtimeWS } from "openai/realtime/ws";
import { WebSocketServer } from "ws";
import { encodeMessage } from "../../packages/websocket-frames/src/frames.ts";
import { createCertificate } from "../support/certificate.ts";
import {
  createFolder,
  type GatewayProcess,
  runtime,
  startGatewayProcess,
  waitFor,
  withGateway,
  within,
} from "../support/process.ts";
import { startServer, startSocketServer } from "../support/upstream.ts";
import {
  askPlainly,
  handshakeHeaders,
  openClient,
  type SocketScript,
  startSocketUpstream,
} from "../support/websocket-upstream.ts";

const providerKey = "sk-fake-provider-key-for-tests";
const allowedOrigin = "https://app.example.com";

let gateway: GatewayProcess;
before(async () => {
  gateway = await startGatewayProcess({
    env: { REALTIME_CONNECT_TIMEOUT_MS: "400", REALTIME_ORIGINS: allowedOrigin },
  });
});
after(async () => {
  await gateway.stop("SIGKILL");
});

type SocketUpstream = Awaited<ReturnType<typeof startSocketUpstream>>;

/** Headers that send a session to an upstream with the caller's own credential. */
function sessionHeaders(upstream: { url: string }, changes: Record<string, string> = {}): Record<string, string> {
  return {
    "x-gateway-api-key": gateway.workspaceKey,
    "x-gateway-provider": "openai",
    "x-gateway-custom-host": `${upstream.url}/v1`,
    authorization: `Bearer ${providerKey}`,
    ...changes,
  };
}

const sessionUrl = (query = "?model=gpt-realtime") => `${gateway.url}/v1/realtime${query}`;

async function withUpstream(script: SocketScript, run: (upstream: SocketUpstream) => Promise<void>): Promise<void> {
  const upstream = await startSocketUpstream(script);
  try {
    await run(upstream);
  } finally {
    await upstream.close();
  }
}

/** The log row of a trace, once it is there. */
async function findRow(traceId: string, from = gateway) {
  const headers = { "x-gateway-api-key": from.workspaceKey };
  for (const until = performance.now() + 10_000; performance.now() < until; ) {
    const list = await fetch(`${from.url}/v1/logs?trace_id=${traceId}`, { headers });
    const [row] = (await list.json()).data;
    if (row) return (await fetch(`${from.url}/v1/logs/${row.id}`, { headers })).json();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`Waited 10 s for the row of ${traceId}`);
}

const text = (length: number) =>
  "ab✓🎉"
    .repeat(Math.ceil(length / 6))
    .slice(0, length)
    .toWellFormed();

test("text and binary go both ways as they are, in order, at any size", async () => {
  const script: SocketScript = {
    open: (socket) =>
      socket.on("message", (data: Buffer, isBinary: boolean) => socket.send(data, { binary: isBinary })),
  };
  await withUpstream(script, async (upstream) => {
    const client = await openClient(sessionUrl(), { headers: sessionHeaders(upstream) });
    const sent = [
      "",
      "\ufeff mark",
      text(125),
      text(126),
      text(65_535),
      text(65_536),
      text(300_000),
      ...[0, 1, 125, 126, 65_535, 65_536, 2_000_000].map((length) => Buffer.alloc(length, "\u0000\u00ff\u0001")),
    ];
    for (const message of sent) client.socket.send(message);
    await waitFor("all messages to come back", 20_000, () => client.messages.length === sent.length);
    for (const [index, message] of sent.entries()) {
      const got = client.messages[index];
      assert.equal(typeof got, typeof message, `message ${index}`);
      assert.ok(Buffer.from(got ?? "").equals(Buffer.from(message)), `message ${index}`);
    }
    client.socket.close(1000);
    await within("the close", 5_000, client.ended);
  });
});

test("the upstream is asked for what the caller asks for, without the gateway's key or headers", async () => {
  await withUpstream({}, async (upstream) => {
    const headers = sessionHeaders(upstream, { "openai-beta": "realtime=v1", "x-own": "1", cookie: "a=b" });
    const query = `?model=gpt-realtime&intent=a%20b&key=${gateway.workspaceKey}`;
    const client = await openClient(sessionUrl(query), { headers });
    const [handshake] = upstream.handshakes;
    assert.equal(handshake?.path, "/v1/realtime?model=gpt-realtime&intent=a+b");
    assert.equal(handshake?.headers.authorization, `Bearer ${providerKey}`);
    assert.equal(handshake?.headers["openai-beta"], "realtime=v1");
    assert.deepEqual(handshake?.protocols, ["realtime"]);
    const names = Object.keys(handshake?.headers ?? {});
    assert.deepEqual(
      names.filter((name) => /^x-|cookie|extensions|origin/.test(name)),
      [],
    );
    assert.ok(!JSON.stringify(handshake).includes(gateway.workspaceKey));
    client.socket.close();
  });
});

test("the answer carries the gateway's headers and the subprotocol the upstream chose", async () => {
  await withUpstream({ protocol: "openai-beta.realtime-v1" }, async (upstream) => {
    const answer = await askPlainly(sessionUrl(), {
      ...sessionHeaders(upstream, { "x-gateway-trace-id": "trace-of-answer" }),
      "sec-websocket-protocol": "realtime, openai-beta.realtime-v1",
    });
    assert.equal(answer.status, 101);
    assert.equal(answer.headers["x-gateway-trace-id"], "trace-of-answer");
    assert.equal(answer.headers["x-gateway-provider"], "openai");
    assert.equal(answer.headers["sec-websocket-protocol"], "openai-beta.realtime-v1");
    assert.equal(answer.headers["sec-websocket-accept"], "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  });
});

test("browsers send a key as subprotocol: the gateway's alone, or the provider's beside it", async () => {
  await withUpstream({ protocol: false }, async (upstream) => {
    const { "x-gateway-api-key": own, authorization: _, ...headers } = sessionHeaders(upstream);
    const protocols = ["realtime", `openai-insecure-api-key.${gateway.workspaceKey}`, "openai-beta.realtime-v1"];
    const alone = await openClient(sessionUrl(), { headers: { ...headers, origin: allowedOrigin }, protocols });
    assert.equal(alone.socket.protocol, "realtime");
    assert.equal(upstream.handshakes[0]?.headers.authorization, undefined);
    assert.deepEqual(upstream.handshakes[0]?.protocols, ["realtime", "openai-beta.realtime-v1"]);
    assert.ok(!JSON.stringify(upstream.handshakes).includes(gateway.workspaceKey));
    alone.socket.close();

    const beside = await askPlainly(sessionUrl(), {
      ...headers,
      "x-gateway-api-key": own,
      "x-gateway-trace-id": "trace-of-browser",
      "sec-websocket-protocol": `openai-insecure-api-key.${providerKey}`,
    });
    assert.equal(beside.status, 101);
    assert.equal(beside.headers["sec-websocket-protocol"], undefined, "a key is never chosen");
    assert.equal(upstream.handshakes[1]?.headers.authorization, `Bearer ${providerKey}`);
    assert.deepEqual(upstream.handshakes[1]?.protocols, ["realtime"]);
    const row = await findRow("trace-of-browser");
    assert.ok(!JSON.stringify(row).includes(providerKey), "the log holds the key");
  });
});

for (const [code, reason] of [
  [1000, ""],
  [1000, "done"],
  [1001, "away"],
  [1008, "policy"],
  [1011, "broken"],
  [4001, "own ✓"],
] as const) {
  test(`the upstream's close ${code} "${reason}" reaches the client`, async () => {
    await withUpstream({ open: (socket) => socket.close(code, reason) }, async (upstream) => {
      const client = await openClient(sessionUrl(), { headers: sessionHeaders(upstream) });
      assert.deepEqual(await within("the close", 5_000, client.ended), { code, reason });
    });
  });

  test(`the client's close ${code} "${reason}" reaches the upstream`, async () => {
    let told: { code: number; reason: string } | undefined;
    const script: SocketScript = {
      open: (socket) => socket.on("close", (got, why) => (told = { code: got, reason: why.toString() })),
    };
    await withUpstream(script, async (upstream) => {
      const client = await openClient(sessionUrl(), { headers: sessionHeaders(upstream) });
      client.socket.close(code, reason);
      assert.deepEqual(await waitFor("the close", 5_000, () => told), { code, reason });
    });
  });
}

test("an upstream that disconnects closes the client normally, and the log shows it", async () => {
  await withUpstream({ open: (socket) => socket.terminate() }, async (upstream) => {
    const headers = sessionHeaders(upstream, { "x-gateway-trace-id": "trace-of-break" });
    const client = await openClient(sessionUrl(), { headers });
    assert.deepEqual(await within("the close", 5_000, client.ended), { code: 1000, reason: "" });
    const row = await findRow("trace-of-break");
    assert.equal(row.status, 101);
    assert.equal(row.error.code, "close_1006");
  });
});

test("a client that breaks off closes the upstream", async () => {
  let told: number | undefined;
  await withUpstream({ open: (socket) => socket.on("close", (code) => (told = code)) }, async (upstream) => {
    const client = await openClient(sessionUrl(), { headers: sessionHeaders(upstream) });
    client.socket.terminate();
    assert.equal(await waitFor("the upstream's close", 5_000, () => told), 1000);
  });
});

test("a message over 4 MiB ends the session with 1009, whoever sends it", async () => {
  const large = Buffer.alloc(4 * 1024 * 1024 + 1);
  let told: number | undefined;
  await withUpstream({ open: (socket) => socket.send(large) }, async (upstream) => {
    const client = await openClient(sessionUrl(), { headers: sessionHeaders(upstream) });
    // the upstream's fault: the client learns that the session is over
    assert.equal((await within("the close", 5_000, client.ended)).code, 1009);
    assert.equal(client.messages.length, 0);
  });
  await withUpstream({ open: (socket) => socket.on("close", (code) => (told = code)) }, async (upstream) => {
    const client = await openClient(sessionUrl(), { headers: sessionHeaders(upstream) });
    client.socket.send(large);
    assert.equal((await within("the close", 5_000, client.ended)).code, 1009);
    assert.equal(await waitFor("the upstream's close", 5_000, () => told), 1009);
  });
});

test("the log row of a session: status 101, its model, the usage of all its answers", async () => {
  const done = (input: number, output: number) =>
    JSON.stringify({
      type: "response.done",
      response: {
        usage: {
          total_tokens: input + output,
          input_tokens: input,
          output_tokens: output,
          input_token_details: { cached_tokens: 2 },
          output_token_details: { audio_tokens: 1 },
        },
      },
    });
  const script: SocketScript = {
    open(socket) {
      socket.send(JSON.stringify({ type: "session.created", session: { model: "gpt-realtime" } }));
      socket.send(JSON.stringify({ type: "response.output_audio.delta", delta: "AAAA" }));
      socket.send(done(10, 5));
      socket.send(done(20, 7));
      socket.send('{"type":"response.done","response":{"usage":null}}');
      socket.send('"type":"response.done" and no JSON');
      socket.close(1000, "done");
    },
  };
  await withUpstream(script, async (upstream) => {
    const headers = sessionHeaders(upstream, { "x-gateway-trace-id": "trace-of-session" });
    const client = await openClient(sessionUrl(), { headers });
    await within("the close", 5_000, client.ended);
    const row = await findRow("trace-of-session");
    assert.deepEqual(
      [row.status, row.operation, row.model, row.provider, row.stream, row.upstream_calls, row.error],
      [101, "realtime", "gpt-realtime", "openai", true, 1, null],
    );
    assert.equal(row.upstream_url, `${upstream.url}/v1/realtime`);
    const usage = {
      input_tokens: 30,
      output_tokens: 12,
      total_tokens: 42,
      cached_tokens: 4,
      reasoning_tokens: 0,
      cache_write_tokens: 0,
      audio_input_tokens: 0,
      audio_output_tokens: 2,
    };
    assert.deepEqual(row.usage, usage);
    // 26 tokens at 4,000 nano-dollars, 4 from a cache at 400, 10 of output at 16,000, 2 of audio at 64,000
    assert.deepEqual([row.cost, row.cost_currency], [0.03936, "USD"]);
    const kept = JSON.stringify(row.response.body);
    assert.match(kept, /session\.created/);
    assert.doesNotMatch(kept, /output_audio/);
  });
});

for (const [status, told] of [
  [401, 401],
  [403, 403],
  [404, 404],
  [429, 429],
  [500, 502],
  [503, 502],
  [302, 502],
] as const) {
  test(`an upstream that refuses with ${status} gets ${told} before the upgrade`, async () => {
    const body = JSON.stringify({ error: { message: "not here", type: "some_error", code: "some_code" } });
    await withUpstream({ refuse: { status, body } }, async (upstream) => {
      const traceId = `trace-of-refusal-${status}`;
      const answer = await askPlainly(sessionUrl(), sessionHeaders(upstream, { "x-gateway-trace-id": traceId }));
      assert.equal(answer.status, told, answer.body);
      assert.equal(answer.headers["x-gateway-trace-id"], traceId);
      assert.equal(answer.headers["x-request-id"], "req_refused");
      const { error, provider } = JSON.parse(answer.body);
      assert.equal(provider, "openai");
      assert.match(error.message, /not here/);
      assert.equal((await findRow(traceId)).status, told);
    });
  });
}

test("an upstream that is not there is 502, one that stays silent 504, one without WebSockets 502", async () => {
  const gone = await startServer(() => {});
  await gone.close();
  assert.equal((await askPlainly(sessionUrl(), sessionHeaders(gone))).status, 502);
  await withUpstream({ silent: true }, async (upstream) => {
    const answer = await askPlainly(sessionUrl(), sessionHeaders(upstream));
    assert.equal(answer.status, 504, answer.body);
    assert.equal(JSON.parse(answer.body).error.code, "upstream_connect_timeout");
  });
  const broken = await startSocketServer((socket) => socket.end("HTTP/1.1 101 Switching Protocols\r\n\r\n"));
  try {
    const answer = await askPlainly(sessionUrl(), sessionHeaders(broken));
    assert.equal(answer.status, 502, answer.body);
    assert.equal(JSON.parse(answer.body).error.code, "upstream_bad_answer");
  } finally {
    await broken.close();
  }
});

for (const [name, changes, status, code] of [
  ["no key", { "x-gateway-api-key": undefined, authorization: undefined }, 401, "missing_api_key"],
  ["a wrong key", { "x-gateway-api-key": "gk_wrong-key-for-tests" }, 401, "invalid_api_key"],
  ["an admin key", { "x-gateway-api-key": "fake-admin-key-for-tests" }, 403, undefined],
  ["no provider", { "x-gateway-provider": undefined }, 400, "provider_required"],
  ["a provider without sessions", { "x-gateway-provider": "anthropic" }, 400, "unsupported_endpoint"],
  ["a private host", { "x-gateway-custom-host": "http://10.0.0.1/v1" }, 400, "invalid_custom_host"],
  ["no upgrade", { upgrade: undefined, connection: "close" }, 426, "upgrade_required"],
  ["another version", { "sec-websocket-version": "8" }, 400, "invalid_handshake"],
  ["an origin nobody listed", { origin: "https://evil.example.com" }, 403, "origin_not_allowed"],
] as const) {
  test(`a handshake with ${name} is refused with ${status} and reaches no upstream`, async () => {
    await withUpstream({}, async (upstream) => {
      const answer = await askPlainly(sessionUrl(), { ...sessionHeaders(upstream), ...changes });
      assert.equal(answer.status, status, answer.body);
      if (code !== undefined) assert.equal(JSON.parse(answer.body).error.code, code);
      assert.ok(answer.headers["x-gateway-trace-id"]);
      if (status === 426) assert.equal(answer.headers.upgrade, "websocket");
      assert.equal(upstream.connections, 0);
    });
  });
}

test("a name that leads to a private address is refused when the connection is made", async () => {
  await withUpstream({}, async (upstream) => {
    const host = `http://localhost:${upstream.port}/v1`;
    const headers = sessionHeaders(upstream, { "x-gateway-custom-host": host });
    assert.equal((await askPlainly(sessionUrl(), headers)).status, 400);
    assert.equal(upstream.connections, 0);
  });
});

test("WebSockets to other paths are refused", async () => {
  await withUpstream({}, async (upstream) => {
    const answer = await askPlainly(`${gateway.url}/v1/other`, sessionHeaders(upstream));
    assert.equal(answer.status, 400, answer.body);
    assert.equal(upstream.connections, 0);
  });
});

/** Passes what comes over TLS on to the gateway: the SDK opens no plain WebSockets. */
async function startTlsFront(): Promise<{ port: number; authority: string; close(): void }> {
  const certificate = createCertificate();
  const target = Number(new URL(gateway.url).port);
  const server = createTlsServer({ ...certificate, ALPNProtocols: ["http/1.1"] }, (socket) => {
    const onward = connect(target, "127.0.0.1");
    for (const one of [socket, onward]) {
      one.on("error", () => {});
      one.on("close", () => {
        socket.destroy();
        onward.destroy();
      });
    }
    socket.pipe(onward);
    onward.pipe(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  return { port, authority: certificate.authority, close: () => server.close() };
}

test("the openai SDK holds a session", async () => {
  const script: SocketScript = {
    open(socket) {
      socket.send(JSON.stringify({ type: "session.created", event_id: "e1", session: { model: "gpt-realtime" } }));
      socket.on("message", (data: Buffer) => {
        const { type } = JSON.parse(data.toString());
        if (type !== "response.create") return;
        socket.send(JSON.stringify({ type: "response.output_text.delta", event_id: "e2", delta: "Hi" }));
        socket.send(JSON.stringify({ type: "response.done", event_id: "e3", response: { id: "resp_1" } }));
      });
    },
  };
  const front = await startTlsFront();
  try {
    await withUpstream(script, async (upstream) => {
      const { authorization: _, ...headers } = sessionHeaders(upstream);
      const client = new OpenAI({ baseURL: `https://127.0.0.1:${front.port}/v1`, apiKey: providerKey });
      const options = { headers, ca: front.authority };
      const session = new OpenAIRealtimeWS({ model: "gpt-realtime", options }, client);
      const heard: string[] = [];
      session.on("error", (error) => heard.push(`error ${error.message}`));
      session.on("event", (event) => heard.push(event.type));
      session.on("session.created", () => session.send({ type: "response.create" }));
      await waitFor("the answer", 10_000, () => heard.some((one) => /^error|^response\.done/.test(one)));
      assert.deepEqual(heard, ["session.created", "response.output_text.delta", "response.done"]);
      assert.equal(upstream.handshakes[0]?.path, "/v1/realtime?model=gpt-realtime");
      assert.equal(upstream.handshakes[0]?.headers.authorization, `Bearer ${providerKey}`);
      session.close();
      await waitFor("the upstream's close", 5_000, () => upstream.clients.size === 0);
    });
  } finally {
    front.close();
  }
});

test("a client that leaves while its session is being opened ends the attempt at the upstream", async () => {
  await withUpstream({ silent: true }, async (upstream) => {
    await withGateway({}, async (patient) => {
      const headers = sessionHeaders(upstream, { "x-gateway-trace-id": "trace-of-leaving" });
      const leave = new AbortController();
      const asked = askPlainly(`${patient.url}/v1/realtime`, headers, leave.signal).catch(() => {});
      await waitFor("the upstream's handshake", 5_000, () => upstream.handshakes.length === 1);
      leave.abort();
      await asked;
      await waitFor("the upstream's socket to be closed", 5_000, () => upstream.sockets.size === 0);
      assert.equal((await findRow("trace-of-leaving", patient)).status, 499);
    });
  });
});

test("a message that comes before the handshake is answered waits", {
  // clients must not do it (RFC 6455, section 4.1)
  skip: runtime === "bun" && "Bun drops what comes early",
}, async () => {
  const heard: string[] = [];
  const script: SocketScript = {
    open: (socket) => socket.on("message", (data: Buffer) => heard.push(data.toString())),
  };
  await withUpstream(script, async (upstream) => {
    const { host, hostname, port, pathname } = new URL(sessionUrl());
    const lines = Object.entries({ host, ...handshakeHeaders, ...sessionHeaders(upstream) });
    const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
    const socket = connect(Number(port), hostname);
    socket.on("error", () => {});
    socket.write(`GET ${pathname} HTTP/1.1\r\n${head}\r\n`);
    socket.write(encodeMessage("early", Uint8Array.of(1, 2, 3, 4)));
    await waitFor("the message", 5_000, () => heard.length > 0);
    assert.deepEqual(heard, ["early"]);
    socket.destroy();
  });
});

test("a client that reads nothing holds the upstream back, and gets everything once it reads", async () => {
  const [count, size] = [120, 500_000];
  let sending: { bufferedAmount: number } | undefined;
  const script: SocketScript = {
    open(socket) {
      sending = socket;
      for (let index = 0; index < count; index++) socket.send(Buffer.alloc(size, index));
    },
  };
  await withUpstream(script, async (upstream) => {
    const client = await openClient(sessionUrl(), { headers: sessionHeaders(upstream) });
    client.socket.pause();
    // what stays behind after a while is neither at the client nor in the gateway
    const isHeld = runtime !== "bun"; // the client of Bun's tests reads what comes all the same
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    if (isHeld) assert.ok((sending?.bufferedAmount ?? 0) > (count * size) / 3, `${sending?.bufferedAmount} bytes wait`);
    client.socket.resume();
    await waitFor("all messages", 30_000, () => client.messages.length === count);
    for (const [index, message] of client.messages.entries()) {
      assert.ok(Buffer.from(message).equals(Buffer.alloc(size, index)), `message ${index}`);
    }
    client.socket.close();
  });
});

test("an upstream that reads nothing ends the session, or holds the client back, before memory grows", async () => {
  const script: SocketScript = { open: (socket) => socket.pause() };
  await withUpstream(script, async (upstream) => {
    const client = await openClient(sessionUrl(), { headers: sessionHeaders(upstream) });
    const chunk = Buffer.alloc(1_000_000);
    for (let index = 0; index < 60; index++) client.socket.send(chunk);
    const isOver = () => client.socket.readyState >= 2;
    const heldBack = async () => {
      await new Promise((resolve) => setTimeout(resolve, 2_000));
      return client.socket.bufferedAmount > 10_000_000;
    };
    // Node holds the client back; the others end the session
    assert.ok((await heldBack()) || isOver(), "60 MB went into the gateway");
    client.socket.terminate();
  });
});

test("upstreams are reached over TLS, their certificates checked", async () => {
  const certificate = createCertificate();
  const sockets = new WebSocketServer({ noServer: true });
  const server = createHttpsServer(certificate);
  server.on("upgrade", (request, socket, head) =>
    sockets.handleUpgrade(request, socket, head, (opened) => opened.send("over TLS")),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  const folder = createFolder();
  const path = join(folder, "authority.pem");
  writeFileSync(path, certificate.authority);
  const env = {
    NODE_EXTRA_CA_CERTS: path,
    DENO_CERT: path,
    TRUSTED_CUSTOM_HOSTS: "127.0.0.1,localhost",
  };
  try {
    await withGateway({ env }, async (trusting) => {
      for (const host of ["localhost", "127.0.0.1"]) {
        const headers = sessionHeaders({ url: `https://${host}:${port}` });
        const client = await openClient(`${trusting.url}/v1/realtime?model=m`, { headers });
        await waitFor("the message", 5_000, () => client.messages.length === 1);
        assert.deepEqual(client.messages, ["over TLS"], host);
        client.socket.close();
      }
    });
    const refused = await askPlainly(sessionUrl(), sessionHeaders({ url: `https://127.0.0.1:${port}` }));
    assert.equal(refused.status, 502, refused.body);
  } finally {
    for (const socket of sockets.clients) socket.terminate();
    server.closeAllConnections();
    server.close();
  }
});

test("a session is closed when it is idle for too long, and when the gateway stops", async () => {
  await withUpstream({}, async (upstream) => {
    await withGateway({ env: { REALTIME_IDLE_TIMEOUT_MS: "300" } }, async (quick) => {
      const client = await openClient(`${quick.url}/v1/realtime`, { headers: sessionHeaders(upstream) });
      const { code, reason } = await within("the close", 10_000, client.ended);
      assert.equal(code, 1001);
      assert.match(reason, /idle/);
    });
    await withGateway({ env: { DRAIN_SECONDS: "0" } }, async (stopped) => {
      const client = await openClient(`${stopped.url}/v1/realtime`, { headers: sessionHeaders(upstream) });
      const stopping = stopped.stop();
      assert.equal((await within("the close", 10_000, client.ended)).code, 1001);
      assert.deepEqual(await stopping, { code: 0, signal: null });
    });
  });
});

test("a config leads to one target, by weight or condition, and no other is tried", async () => {
  await withUpstream({ refuse: { status: 401, body: "{}" } }, async (first) => {
    await withUpstream({}, async (second) => {
      const target = (upstream: SocketUpstream) => ({
        provider: "openai",
        api_key: providerKey,
        custom_host: `${upstream.url}/v1`,
        override_params: { model: "other-model" },
      });
      const config = (...targets: SocketUpstream[]) =>
        JSON.stringify({ strategy: { mode: "fallback" }, targets: targets.map(target) });
      const headers = { "x-gateway-api-key": gateway.workspaceKey };
      const refused = await askPlainly(sessionUrl(), { ...headers, "x-gateway-config": config(first, second) });
      assert.equal(refused.status, 401);
      assert.equal(second.handshakes.length, 0);
      const opened = await askPlainly(sessionUrl(), { ...headers, "x-gateway-config": config(second, first) });
      assert.equal(opened.status, 101, opened.body);
      assert.equal(opened.headers["x-gateway-last-used-option-index"], "config.targets[0]");
      assert.equal(second.handshakes[0]?.path, "/v1/realtime?model=other-model");
      assert.equal(second.handshakes[0]?.headers.authorization, `Bearer ${providerKey}`);
    });
  });
});
