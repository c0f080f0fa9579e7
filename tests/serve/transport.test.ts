import assert from "node:assert/strict";
import type { IncomingMessage, ServerResponse } from "node:http";
import { test } from "node:test";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { AddressRefusedError, createAddressGuard } from "../../src/lib/address.ts";
import {
  createOutbound,
  OutboundError,
  type OutboundErrorKind,
  type TransportInit,
  toOutboundError,
} from "../../src/lib/outbound.ts";
import {
  createBunTransport,
  createDenoTransport,
  createNodeTransport,
  selfTestConnector,
} from "../../src/serve/transport.ts";
import { createCheckedSender } from "../../src/serve/transport-http.ts";
import { eventually, startServer, startSocketServer, type Upstream } from "../support/upstream.ts";

const runtime = "Bun" in globalThis ? "bun" : "Deno" in globalThis ? "deno" : "node";
const create = { bun: createBunTransport, deno: createDenoTransport, node: createNodeTransport }[runtime];

/** Resolves every name to loopback, except those that tell their addresses themselves. */
const known: Record<string, string[]> = {
  "mixed.example.com": ["8.8.8.8", "127.0.0.1"],
  "metadata.example.com": ["169.254.169.254"],
  "nothing.example.com": [],
};
const looked: string[] = [];
const lookup = (host: string) => {
  looked.push(host);
  if (host === "unknown.example.com")
    return Promise.reject(Object.assign(new Error("x"), { code: "ENOTFOUND", syscall: "getaddrinfo" }));
  const addresses = known[host] ?? ["127.0.0.1"];
  return Promise.resolve(addresses.map((address) => ({ address, family: 4 })));
};

const transport = create({ lookup });
const nothingTrusted = createAddressGuard({ trustedHosts: [] });
const all = () => true;
const sendChecked = createCheckedSender({ lookup });

type Send = (upstream: Upstream, path: string, init?: Partial<TransportInit>) => Promise<Response>;
const defaults: TransportInit = { method: "GET", headers: {}, raw: false };
const senders: Record<string, Send> = {
  send: (upstream, path, init) => transport.send(`${upstream.url}${path}`, { ...defaults, ...init }),
  "raw send": (upstream, path, init) => transport.send(`${upstream.url}${path}`, { ...defaults, raw: true, ...init }),
  sendChecked: (upstream, path, init) =>
    sendChecked(`http://upstream.example.com:${upstream.port}${path}`, { ...defaults, ...init }, all),
};

function echo(request: IncomingMessage, response: ServerResponse): void {
  const chunks: Uint8Array[] = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const body = Buffer.concat(chunks).toString();
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ method: request.method, url: request.url, headers: request.headers, body }));
  });
}

/** Runs a test against a fresh server and closes it. */
async function using(server: Promise<Upstream>, run: (upstream: Upstream) => Promise<void>): Promise<void> {
  const upstream = await server;
  try {
    await run(upstream);
  } finally {
    await upstream.close();
  }
}

async function kindOf(work: Promise<unknown>, signal?: AbortSignal): Promise<OutboundErrorKind | "none"> {
  try {
    await work;
    return "none";
  } catch (error) {
    return toOutboundError(error, signal).kind;
  }
}

function streamOf(chunks: readonly (string | Uint8Array)[]): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const bytes = chunks.map((chunk) => (typeof chunk === "string" ? encoder.encode(chunk) : chunk));
  return new ReadableStream({
    pull(controller) {
      const next = bytes.shift();
      if (next) controller.enqueue(next);
      else controller.close();
    },
  });
}

/** Bytes the server of the running test has handed to its socket. */
let progress = () => 0;

for (const [name, send] of Object.entries(senders)) {
  test(`${name}() carries method, path, headers, bodies and the answer`, () =>
    using(startServer(echo), async (upstream) => {
      const headers = { "content-type": "text/plain", "x-a": "1" };
      for (const body of ["héllo", new TextEncoder().encode("héllo"), streamOf(["hé", "llo"])]) {
        const answer = await send(upstream, "/a%20b?c=d", { method: "POST", headers, body });
        assert.equal(answer.status, 200);
        assert.equal(answer.headers.get("content-type"), "application/json");
        const seen = await answer.json();
        assert.equal(seen.body, "héllo");
        assert.equal(seen.method, "POST");
        assert.equal(seen.url, "/a%20b?c=d");
        assert.equal(seen.headers["x-a"], "1");
        if (!(body instanceof ReadableStream)) assert.equal(seen.headers["content-length"], "6");
      }
      const plain = await (await send(upstream, "/")).json();
      assert.equal(plain.method, "GET");
      assert.equal(plain.headers["transfer-encoding"], undefined);
    }));

  test(`${name}() uses a given content-length for a streamed body`, () =>
    using(startServer(echo), async (upstream) => {
      const init = { method: "POST", headers: { "content-length": "6" }, body: streamOf(["abc", "def"]) };
      const seen = await (await send(upstream, "/", init)).json();
      assert.equal(seen.body, "abcdef");
      assert.equal(seen.headers["content-length"], "6");
    }));

  test(`${name}() answers HEAD, 204 and 304 without a body`, () =>
    using(
      startServer((request, response) => {
        response.statusCode = Number(request.url?.slice(1));
        response.end();
      }),
      async (upstream) => {
        assert.equal((await send(upstream, "/200", { method: "HEAD" })).status, 200);
        for (const status of [204, 304]) {
          const answer = await send(upstream, `/${status}`);
          assert.equal(answer.status, status);
          assert.equal(await answer.text(), "");
        }
      },
    ));

  for (const status of [301, 302, 303, 307, 308]) {
    test(`${name}() returns a ${status} and goes nowhere (O9)`, () =>
      using(startServer(echo), (target) =>
        using(
          startServer((_request, response) => {
            response.writeHead(status, { location: `${target.url}/x`, refresh: `0; url=${target.url}` }).end();
          }),
          async (upstream) => {
            const answer = await send(upstream, "/", { method: "POST", body: "x" });
            assert.equal(answer.status, status);
            assert.equal(answer.headers.get("location"), `${target.url}/x`);
            await answer.text();
            assert.equal(target.connections, 0);
          },
        ),
      ));
  }

  test(`${name}() keeps connections alive`, () =>
    using(startServer(echo), async (upstream) => {
      for (let i = 0; i < 5; i++) await (await send(upstream, "/")).text();
      assert.ok(upstream.connections <= 2, `${upstream.connections} connections`); // undici rests a socket for one turn
    }));

  test(`${name}() keeps repeated answer headers`, () =>
    using(
      startServer((_request, response) => {
        response.setHeader("set-cookie", ["a=1", "b=2"]).setHeader("x-list", ["1", "2"]).end("ok");
      }),
      async (upstream) => {
        const { headers } = await send(upstream, "/");
        assert.deepEqual(headers.getSetCookie(), ["a=1", "b=2"]);
        assert.equal(headers.get("x-list"), "1, 2");
      },
    ));

  test(`${name}() tells refused connections and bad requests apart`, async () => {
    const gone = await startServer(echo);
    await gone.close();
    assert.equal(await kindOf(send(gone, "/")), "unreachable");
    await using(startServer(echo), async (upstream) => {
      assert.equal(await kindOf(send(upstream, "/", { headers: { "x-a": "a\r\nb: c" } })), "invalid_request");
      assert.equal(upstream.connections, 0);
    });
  });

  for (const [what, onData] of [
    ["closes", (socket: import("node:net").Socket) => socket.end()],
    ["resets", (socket: import("node:net").Socket) => socket.resetAndDestroy()],
  ] as const) {
    test(`${name}() rejects when the upstream ${what} before the headers`, () =>
      using(
        startSocketServer((socket) => socket.once("data", () => onData(socket))),
        async (upstream) => assert.equal(await kindOf(send(upstream, "/")), "reset"),
      ));
  }

  for (const [what, head] of [
    ["chunked", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"],
    ["with a length", "Content-Length: 100\r\n\r\nhello"],
  ]) {
    for (const how of ["end", "destroy", "resetAndDestroy"] as const) {
      test(`${name}() errors the body when the upstream breaks off by ${how}, ${what}`, () =>
        using(
          startSocketServer((socket) =>
            socket.once("data", () => {
              socket.write(`HTTP/1.1 200 OK\r\n${head}`);
              setTimeout(() => socket[how](), 100);
            }),
          ),
          async (upstream) => {
            const reader = (await send(upstream, "/")).body!.getReader();
            const { value } = await reader.read();
            assert.equal(new TextDecoder().decode(value), "hello");
            assert.equal(await kindOf(reader.read()), "reset");
          },
        ));
    }
  }

  test(`${name}() rejects what is not HTTP`, () =>
    using(
      startSocketServer((socket) => socket.once("data", () => socket.end("garbage\r\n\r\n"))),
      async (upstream) => assert.ok(["bad_answer", "reset"].includes(await kindOf(send(upstream, "/")))),
    ));

  for (const stage of ["headers", "body"] as const) {
    test(`${name}() closes the socket when aborted while waiting for ${stage}`, () =>
      using(
        startServer((_request, response) => {
          if (stage === "body") response.write("first");
        }),
        async (upstream) => {
          const abort = new AbortController();
          const reason = new Error("client left");
          const call = send(upstream, "/", { method: "POST", body: "x", signal: abort.signal });
          let work: Promise<unknown> = call;
          if (stage === "body") {
            const reader = (await call).body!.getReader();
            await reader.read();
            work = reader.read();
          } else await eventually(() => upstream.connections === 1, "connection");
          abort.abort(reason);
          const failure = await work.then(
            () => undefined,
            (error: unknown) => toOutboundError(error, abort.signal),
          );
          assert.equal(failure?.kind, "aborted");
          assert.equal(failure?.cause, reason);
          await eventually(() => upstream.sockets.size === 0, "socket closed");
        },
      ));
  }

  test(`${name}() closes the socket when the answer is cancelled`, () =>
    using(
      startServer((_request, response) => void response.write("first")),
      async (upstream) => {
        const reader = (await send(upstream, "/")).body!.getReader();
        await reader.read();
        await reader.cancel();
        await eventually(() => upstream.sockets.size === 0, "socket closed");
      },
    ));

  test(`${name}() does not reuse a connection on which a request was aborted (O14)`, () =>
    using(
      startServer((request, response) => {
        if (request.url === "/slow") response.write("first");
        else response.end("ok");
      }),
      async (upstream) => {
        const abort = new AbortController();
        await send(upstream, "/slow", { signal: abort.signal });
        abort.abort();
        assert.equal(await (await send(upstream, "/")).text(), "ok");
        assert.equal(upstream.connections, 2);
      },
    ));

  test(`${name}() streams an answer as it comes`, () =>
    using(
      startServer((_request, response) => {
        let left = 5;
        const timer = setInterval(() => {
          if (left-- > 0) response.write(`data: ${left}\n\n`);
          else {
            clearInterval(timer);
            response.end();
          }
        }, 20);
      }),
      async (upstream) => {
        let chunks = 0;
        let text = "";
        const reader = (await send(upstream, "/")).body!.pipeThrough(new TextDecoderStream()).getReader();
        for (;;) {
          const { done, value } = await reader.read();
          if (done) break;
          chunks += 1;
          text += value;
        }
        assert.equal(text, "data: 4\n\ndata: 3\n\ndata: 2\n\ndata: 1\n\ndata: 0\n\n");
        assert.ok(chunks >= 3, `${chunks} chunks`);
      },
    ));

  test(`${name}() holds an answer back that nobody reads`, () =>
    using(
      startServer((_request, response) => {
        const chunk = new Uint8Array(65_536);
        let sent = 0;
        const more = () => {
          while (sent < 100 * 1024 * 1024) {
            sent += chunk.byteLength;
            if (!response.write(chunk)) return void response.once("drain", more);
          }
          response.end();
        };
        progress = () => sent;
        more();
      }),
      async (upstream) => {
        const answer = await send(upstream, "/");
        await new Promise((resolve) => setTimeout(resolve, 500));
        const held = progress();
        if (process.env.SHOW) console.log(name, "held", held);
        assert.ok(held < 40 * 1024 * 1024, `${held} bytes went out`);
        await answer.body?.cancel();
      },
    ));

  test(`${name}() pulls a 50 MB upload only as fast as the upstream reads`, () =>
    using(
      startServer((request, response) => {
        let received = 0;
        if (request.url === "/stalled") request.pause();
        request.on("data", (chunk) => {
          received += chunk.length;
        });
        if (request.url === "/stalled") setTimeout(() => request.resume(), 500);
        request.on("end", () => response.end(String(received)));
      }),
      async (upstream) => {
        let pulled = 0;
        const chunk = new Uint8Array(65_536);
        const body = new ReadableStream<Uint8Array>({
          pull(controller) {
            if (pulled >= 800) return controller.close();
            pulled += 1;
            controller.enqueue(chunk);
          },
        });
        const call = send(upstream, "/stalled", { method: "POST", headers: {}, body });
        await new Promise((resolve) => setTimeout(resolve, 300));
        const early = pulled * chunk.byteLength;
        if (process.env.SHOW) console.log(name, "early", early);
        assert.equal(await (await call).text(), String(800 * chunk.byteLength));
        assert.ok(early < 30 * 1024 * 1024, `${early} bytes pulled`);
      },
    ));

  test(`${name}() ends the upload when the upload's source breaks`, () =>
    using(startServer(echo), async (upstream) => {
      const body = new ReadableStream<Uint8Array>({
        pull(controller) {
          controller.enqueue(new Uint8Array(10));
          setTimeout(() => controller.error(new Error("client left")), 50);
          return new Promise((resolve) => setTimeout(resolve, 60));
        },
      });
      assert.notEqual(await kindOf(send(upstream, "/", { method: "POST", body })), "none");
      await eventually(() => upstream.sockets.size === 0, "socket closed");
    }));

  const text = "hello ".repeat(1000);
  const codings: readonly [string, Uint8Array][] = [
    ["gzip", gzipSync(text)],
    ["x-gzip", gzipSync(text)],
    ["deflate", deflateSync(text)],
    ["br", brotliCompressSync(text)],
    ["gzip, br", brotliCompressSync(gzipSync(text))],
    ["identity", Buffer.from(text)],
  ];
  for (const [coding, bytes] of codings) {
    test(`${name}() leaves ${coding} alone when raw and undoes it when not`, () =>
      using(
        startServer((_request, response) => {
          response.writeHead(200, { "content-encoding": coding, "content-length": bytes.length }).end(bytes);
        }),
        async (upstream) => {
          const raw = await send(upstream, "/", { raw: true });
          assert.equal(raw.headers.get("content-encoding"), coding);
          assert.deepEqual(new Uint8Array(await raw.arrayBuffer()), new Uint8Array(bytes));
          const plain = await send(upstream, "/", { raw: false });
          assert.equal(plain.headers.get("content-encoding"), null);
          assert.equal(await plain.text(), text);
        },
      ));
  }

  test(`${name}() refuses more than two codings, unknown ones and broken ones`, () =>
    using(
      startServer((request, response) => {
        const coding = decodeURIComponent(request.url?.slice(1) ?? "");
        response.setHeader("content-encoding", coding);
        response.end(coding === "gzip" ? gzipSync(text).subarray(0, 20) : Buffer.from("not coded at all"));
      }),
      async (upstream) => {
        const read = async (coding: string) =>
          (await send(upstream, `/${encodeURIComponent(coding)}`, { raw: false })).text();
        for (const coding of ["gzip, gzip, gzip", "zstd", "compress", "constructor", "gzip", "deflate"]) {
          assert.equal(await kindOf(read(coding)), "bad_answer", coding);
        }
      },
    ));

  test(`${name}() refuses answers with more than 64 KiB of headers through createOutbound() (O13)`, () =>
    using(
      startSocketServer((socket) =>
        socket.once("data", () =>
          socket.end(`HTTP/1.1 200 OK\r\nX: ${"a".repeat(70_000)}\r\nContent-Length: 2\r\n\r\nok`),
        ),
      ),
      async (upstream) => {
        const outbound = createOutbound({ transport: { send: () => send(upstream, "/") }, guard: nothingTrusted });
        const call = outbound(upstream.url, { method: "GET", headers: {}, origin: "fixed" });
        assert.equal(await kindOf(call), "bad_answer");
      },
    ));
}

test("an influenced address with nothing trusted never connects (O2, O4, O6)", () =>
  using(startServer(echo), async (upstream) => {
    const outbound = createOutbound({ transport, guard: nothingTrusted });
    const { port } = upstream;
    const hosts = [
      ...["127.0.0.1", "[::1]", "2130706433", "0x7f.1", "0177.0.0.1", "127.1", "localhost", "[::ffff:7f00:1]"],
      ...["loopback.example.com", "mixed.example.com", "nothing.example.com", "metadata.example.com", "runsc"],
    ];
    for (const host of hosts) {
      const call = outbound(`http://${host}:${port}/`, { method: "GET", headers: {}, origin: "influenced" });
      assert.equal(await kindOf(call), "refused_address", host);
    }
    assert.equal(upstream.connections, 0);
  }));

test("a redirect to a private address is returned, not followed", () =>
  using(startServer(echo), (target) =>
    using(
      startServer((_request, response) => void response.writeHead(302, { location: target.url }).end()),
      async (upstream) => {
        const guard = createAddressGuard({ trustedHosts: ["redirect.example.com"] });
        const outbound = createOutbound({ transport, guard });
        const url = `http://redirect.example.com:${upstream.port}/`;
        assert.equal((await outbound(url, { method: "GET", headers: {}, origin: "influenced" })).status, 302);
        assert.equal(target.connections, 0);
      },
    ),
  ));

test("trusted hosts are reached by exact name, literal and wildcard; metadata is not", () =>
  using(startServer(echo), async (upstream) => {
    const guard = createAddressGuard({
      trustedHosts: ["127.0.0.1", "exact.example.com", "*.wild.example.com", "metadata.example.com"],
    });
    const outbound = createOutbound({ transport, guard });
    const call = (host: string) =>
      outbound(`http://${host}:${upstream.port}/`, { method: "GET", headers: {}, origin: "influenced" });
    for (const host of ["127.0.0.1", "exact.example.com", "wild.example.com", "a.b.wild.example.com"]) {
      const seen = await (await call(host)).json();
      assert.equal(seen.headers.host, `${host}:${upstream.port}`);
    }
    const before = upstream.connections;
    for (const host of ["metadata.example.com", "other.example.com", "x.exact.example.com"]) {
      assert.equal(await kindOf(call(host)), "refused_address", host);
    }
    assert.equal(upstream.connections, before);
  }));

test("sendChecked() asks the resolver once for many calls and checks the answer at each", () =>
  using(startServer(echo), async (upstream) => {
    looked.length = 0;
    const asked: string[] = [];
    const allows = (address: string) => asked.push(address) > 0;
    const url = `http://once.example.com:${upstream.port}/`;
    for (let i = 0; i < 3; i++) await (await sendChecked(url, defaults, allows)).text();
    assert.deepEqual(looked, ["once.example.com"]);
    assert.deepEqual(asked, ["127.0.0.1", "127.0.0.1", "127.0.0.1"]);
    await assert.rejects(
      sendChecked(url, defaults, () => false),
      AddressRefusedError,
    );
    assert.equal(upstream.connections, 1);
  }));

test("sendChecked() reports unknown names as unreachable and forgets failures", async () => {
  looked.length = 0;
  for (let i = 0; i < 2; i++)
    assert.equal(await kindOf(sendChecked("http://unknown.example.com/", defaults, all)), "unreachable");
  assert.equal(looked.length, 2);
});

test("sendChecked() gives up on a resolver that never answers, by time and by abort", async () => {
  const send = createCheckedSender({ lookup: () => new Promise(() => {}), connectTimeoutMs: 50 });
  assert.equal(await kindOf(send("http://slow.example.com/", defaults, all)), "connect_timeout");
  const patient = createCheckedSender({ lookup: () => new Promise(() => {}) });
  const signal = AbortSignal.timeout(30);
  assert.equal(await kindOf(patient("http://slow.example.com/", { ...defaults, signal }, all), signal), "aborted");
});

test("sendChecked() refuses an upload that is not as long as announced", () =>
  using(startServer(echo), async (upstream) => {
    for (const length of ["3", "9"]) {
      const init = { method: "POST", headers: { "content-length": length }, body: streamOf(["abc", "def"]) };
      const kind = await kindOf(
        sendChecked(`http://upload.example.com:${upstream.port}/`, { ...defaults, ...init }, all),
      );
      assert.equal(kind, "invalid_request", length);
    }
  }));

test("selfTestConnector() passes with the real connector", async () => {
  await selfTestConnector(create());
  await selfTestConnector({ send: transport.send });
});

test("selfTestConnector() stops a connector that connects or breaks (O8)", async () => {
  const real = createCheckedSender();
  const blind = { send: transport.send, sendChecked: (url: string, init: TransportInit) => real(url, init, all) };
  await assert.rejects(selfTestConnector(blind), /does not refuse/);
  const broken = { send: transport.send, sendChecked: () => Promise.reject(new OutboundError("reset", "x")) };
  await assert.rejects(selfTestConnector(broken), /does not refuse/);
});
