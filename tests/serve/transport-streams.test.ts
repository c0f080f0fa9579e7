import assert from "node:assert/strict";
import { test } from "node:test";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { createOutbound } from "../../src/lib/outbound.ts";
import { echo, kindOf, nothingTrusted, senders, streamOf, using } from "../support/senders.ts";
import { eventually, startServer, startSocketServer } from "../support/upstream.ts";

/** Bytes the server of the running test has handed to its socket. */
let progress = () => 0;

for (const [name, send] of Object.entries(senders)) {
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
      assert.equal(await kindOf(send(upstream, "/", { method: "POST", body })), "aborted");
      await eventually(() => upstream.sockets.size === 0, "socket closed");
    }));

  test(`${name}() lets go of the upload when the upstream breaks off while the source is silent`, () =>
    using(
      startSocketServer((socket) => socket.once("data", () => setTimeout(() => socket.resetAndDestroy(), 50))),
      async (upstream) => {
        let cancelled = false;
        const body = new ReadableStream<Uint8Array>({
          start(controller) {
            controller.enqueue(new Uint8Array(10));
          },
          cancel() {
            cancelled = true;
          },
        });
        assert.equal(await kindOf(send(upstream, "/", { method: "POST", body })), "reset");
        await eventually(() => cancelled, "source cancelled");
      },
    ));

  test(`${name}() refuses an upload that is not as long as announced`, () =>
    using(startServer(echo), async (upstream) => {
      for (const length of ["3", "9"]) {
        const init = { method: "POST", headers: { "content-length": length }, body: streamOf(["abc", "def"]) };
        assert.equal(await kindOf(send(upstream, "/", init)), "invalid_request", length);
      }
    }));

  test(`${name}() returns an early answer while the upload goes on`, () =>
    using(
      startSocketServer((socket) =>
        socket.once("data", () =>
          socket.write("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno"),
        ),
      ),
      async (upstream) => {
        const abort = new AbortController();
        const body = new ReadableStream<Uint8Array>({
          async pull(controller) {
            await new Promise((resolve) => setTimeout(resolve, 5));
            controller.enqueue(new Uint8Array(10));
          },
        });
        const answer = await send(upstream, "/", { method: "POST", body, signal: abort.signal });
        assert.equal(answer.status, 413);
        assert.equal(await answer.text(), "no");
        abort.abort();
      },
    ));

  for (const head of ["Content-Length: 400000", "Connection: close"]) {
    test(`${name}() returns a slow reader all of an answer whose upstream is gone (${head})`, () =>
      using(
        startSocketServer((socket) =>
          socket.once("data", () => socket.end(`HTTP/1.1 200 OK\r\n${head}\r\n\r\n${"a".repeat(400_000)}`)),
        ),
        async (upstream) => {
          const reader = (await send(upstream, "/")).body!.getReader();
          let length = 0;
          for (;;) {
            await new Promise((resolve) => setTimeout(resolve, 20));
            const { done, value } = await reader.read();
            if (done) break;
            length += value.byteLength;
          }
          assert.equal(length, 400_000);
        },
      ));
  }

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
