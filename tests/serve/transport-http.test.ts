import assert from "node:assert/strict";
import { test } from "node:test";
import { AddressRefusedError } from "../../src/lib/address.ts";
import { createCheckedSender } from "../../src/serve/transport-http.ts";
import { all, defaults, echo, kindOf, looked, sendChecked, using } from "../support/senders.ts";
import { startServer, startSocketServer } from "../support/upstream.ts";

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

test("sendChecked() returns up on a resolver that never answers, by time and by abort", async () => {
  const send = createCheckedSender({ lookup: () => new Promise(() => {}), connectTimeoutMs: 50 });
  assert.equal(await kindOf(send("http://slow.example.com/", defaults, all)), "connect_timeout");
  const patient = createCheckedSender({ lookup: () => new Promise(() => {}) });
  const signal = AbortSignal.timeout(30);
  assert.equal(await kindOf(patient("http://slow.example.com/", { ...defaults, signal }, all), signal), "aborted");
});

test("sendChecked() keeps the name for TLS and the Host header", () => {
  let hello = Buffer.alloc(0);
  const server = startSocketServer((socket) =>
    socket.once("data", (bytes) => {
      hello = bytes;
      socket.destroy();
    }),
  );
  return using(server, async (upstream) => {
    const init = { ...defaults, headers: { host: "other.example.com" } };
    const failure = await kindOf(sendChecked(`https://tls.example.com:${upstream.port}/`, init, all));
    assert.ok(["reset", "unreachable"].includes(failure), failure);
    assert.ok(hello.includes("tls.example.com"));
  });
});
