import assert from "node:assert/strict";
import type { Socket } from "node:net";
import process from "node:process";
import { test } from "node:test";
import { createAddressGuard } from "../../src/lib/address.ts";
import {
  createOutbound,
  OutboundError,
  type SocketInit,
  type TransportInit,
  toOutboundError,
} from "../../src/lib/outbound.ts";
import { selfTestConnector } from "../../src/serve/transport.ts";
import { createCheckedSender } from "../../src/serve/transport-http.ts";
import {
  all,
  create,
  defaults,
  echo,
  kindOf,
  lookup,
  nothingTrusted,
  senders,
  streamOf,
  transport,
  using,
} from "../support/senders.ts";
import { eventually, startServer, startSocketServer } from "../support/upstream.ts";

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

  test(`${name}() reports refused connections and bad requests apart`, async () => {
    const gone = await startServer(echo);
    await gone.close();
    assert.equal(await kindOf(send(gone, "/")), "unreachable");
    await using(startServer(echo), async (upstream) => {
      assert.equal(await kindOf(send(upstream, "/", { headers: { "x-a": "a\r\nb: c" } })), "invalid_request");
      assert.equal(upstream.connections, 0);
    });
  });

  for (const [what, onData] of [
    ["closes", (socket: Socket) => socket.end()],
    ["resets", (socket: Socket) => socket.resetAndDestroy()],
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

  test(`${name}() streams an answer as it comes`, async () => {
    const events = ["data: 2\n\n", "data: 1\n\n", "data: 0\n\n"];
    let writeNext = () => {};
    const server = startServer((_request, response) => {
      let written = 0;
      writeNext = () => {
        response.write(events[written++]);
        if (written === events.length) response.end();
      };
      writeNext();
    });
    await using(server, async (upstream) => {
      const reader = (await send(upstream, "/")).body!.pipeThrough(new TextDecoderStream()).getReader();
      // the server writes an event only after the one before it was read
      for (const event of events) {
        assert.equal((await reader.read()).value, event);
        if (event !== events.at(-1)) writeNext();
      }
      assert.equal((await reader.read()).done, true);
    });
  });
}

test("no sender uses a proxy named in the environment (O12)", () =>
  using(startServer(echo), (proxy) =>
    using(startServer(echo), async (upstream) => {
      const before = process.env.NO_PROXY;
      const names = ["HTTP_PROXY", "http_proxy", "ALL_PROXY"];
      for (const name of names) process.env[name] = proxy.url;
      try {
        const direct = create({ lookup });
        await (await direct.send(`http://localhost:${upstream.port}/`, defaults)).text();
        await (await direct.send(`http://localhost:${upstream.port}/`, { ...defaults, raw: true })).text();
        await (await direct.sendChecked!(`http://up.example.com:${upstream.port}/`, defaults, all)).text();
      } finally {
        for (const name of names) delete process.env[name];
      }
      assert.ok(upstream.connections > 0);
      assert.equal(proxy.connections, 0);
      assert.equal(process.env.NO_PROXY, before);
    }),
  ));

test("an influenced address with nothing trusted never connects (O2, O4, O6)", () =>
  using(startServer(echo), async (upstream) => {
    const outbound = createOutbound({ transport, guard: nothingTrusted });
    const { port } = upstream;
    const hosts = [
      "127.0.0.1",
      "[::1]",
      "2130706433",
      "0x7f.1",
      "0177.0.0.1",
      "127.1",
      "localhost",
      "[::ffff:7f00:1]",
      "loopback.example.com",
      "mixed.example.com",
      "nothing.example.com",
      "metadata.example.com",
      "runsc",
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
  // the road of WebSockets alone
  const { openSocket: open } = create();
  assert.ok(open);
  const careless = { send: transport.send, openSocket: (url: string, init: SocketInit) => open(url, init) };
  await assert.rejects(selfTestConnector(careless), /does not refuse/);
});
