import assert from "node:assert/strict";
import { test } from "node:test";
import { AddressRefusedError, createAddressGuard } from "../../src/lib/address.ts";
import {
  createOutbound,
  OutboundError,
  type OutboundErrorKind,
  type Transport,
  toOutboundError,
} from "../../src/lib/outbound.ts";

interface Call {
  how: "send" | "sendChecked";
  url: string;
  raw: boolean;
}

/** A transport that notes its calls; with sockets it asks `allows` about `address`. */
function recorder(options: { address?: string; answer?: () => Response } = {}) {
  const calls: Call[] = [];
  const answer = options.answer ?? (() => new Response("ok"));
  const transport: Transport = {
    send(url, { raw = false }) {
      calls.push({ how: "send", url, raw });
      return Promise.resolve(answer());
    },
  };
  const { address } = options;
  if (address !== undefined) {
    transport.sendChecked = async (url, { raw = false }, allows) => {
      if (!allows(address)) throw new AddressRefusedError("the name leads to a private network");
      calls.push({ how: "sendChecked", url, raw });
      return answer();
    };
  }
  return { calls, transport };
}

const nothingTrusted = createAddressGuard({ trustedHosts: [] });
const get = { method: "GET", headers: {} };

function hasKind(kind: OutboundErrorKind) {
  return (error: unknown) => error instanceof OutboundError && error.kind === kind;
}

test("createOutbound() sends fixed addresses as they are, and raw only on request", async () => {
  const { calls, transport } = recorder({ address: "8.8.8.8" });
  const outbound = createOutbound({ transport, guard: nothingTrusted });
  assert.equal(await (await outbound("http://localhost:1/", { ...get, origin: "fixed" })).text(), "ok");
  await outbound("https://example.com/", { ...get, origin: "fixed", raw: true });
  assert.deepEqual(calls, [
    { how: "send", url: "http://localhost:1/", raw: false },
    { how: "send", url: "https://example.com/", raw: true },
  ]);
});

test("createOutbound() sends influenced literals plainly and influenced names checked", async () => {
  const { calls, transport } = recorder({ address: "8.8.8.8" });
  const outbound = createOutbound({ transport, guard: createAddressGuard({ trustedHosts: ["127.0.0.1", "::1"] }) });
  for (const url of ["http://127.0.0.1:8080/", "http://[::1]:8080/", "https://8.8.8.8/", "https://example.com/"]) {
    await outbound(url, { ...get, origin: "influenced" });
  }
  assert.deepEqual(
    calls.map(({ how }) => how),
    ["send", "send", "send", "sendChecked"],
  );
});

for (const url of [
  "http://127.0.0.1:80/",
  "http://[::1]/",
  "http://2130706433/",
  "http://169.254.169.254/",
  "http://x.local/",
  "nonsense",
]) {
  test(`createOutbound() refuses ${url} before any transport is called`, async () => {
    const { calls, transport } = recorder({ address: "8.8.8.8" });
    const outbound = createOutbound({ transport, guard: nothingTrusted });
    await assert.rejects(outbound(url, { ...get, origin: "influenced" }), (error) => {
      assert.ok(error instanceof OutboundError && error.cause instanceof AddressRefusedError);
      return error.kind === "refused_address";
    });
    assert.deepEqual(calls, []);
  });
}

test("createOutbound() refuses a name that leads to a private address, unless the name is trusted", async () => {
  const { calls, transport } = recorder({ address: "10.0.0.1" });
  const refusing = createOutbound({ transport, guard: nothingTrusted });
  await assert.rejects(
    refusing("http://llm.example.com/", { ...get, origin: "influenced" }),
    hasKind("refused_address"),
  );
  assert.deepEqual(calls, []);
  const trusting = createOutbound({ transport, guard: createAddressGuard({ trustedHosts: ["*.example.com"] }) });
  await trusting("http://llm.example.com/", { ...get, origin: "influenced" });
  assert.equal(calls.length, 1);
});

test("createOutbound() refuses a trusted name that leads to a metadata service", async () => {
  const { transport } = recorder({ address: "169.254.169.254" });
  const outbound = createOutbound({ transport, guard: createAddressGuard({ trustedHosts: ["llm.example.com"] }) });
  await assert.rejects(
    outbound("http://llm.example.com/", { ...get, origin: "influenced" }),
    hasKind("refused_address"),
  );
});

test("createOutbound() without sockets sends public names plainly and refuses private ones, trusted or not", async () => {
  const { calls, transport } = recorder();
  const outbound = createOutbound({ transport, guard: createAddressGuard({ trustedHosts: ["llm.lan"] }) });
  await outbound("https://example.com/", { ...get, origin: "influenced" });
  assert.equal(calls.length, 1);
  await assert.rejects(outbound("http://llm.lan/", { ...get, origin: "influenced" }), hasKind("refused_address"));
  assert.equal(calls.length, 1);
});

test("createOutbound() returns a redirect as it is", async () => {
  const answer = () => new Response(null, { status: 307, headers: { location: "http://127.0.0.1/" } });
  const { calls, transport } = recorder({ answer });
  const outbound = createOutbound({ transport, guard: nothingTrusted });
  assert.equal((await outbound("https://example.com/", { ...get, origin: "influenced" })).status, 307);
  assert.equal(calls.length, 1);
});

test("createOutbound() refuses answers with more than 64 KiB of headers (O13)", async () => {
  let cancelled = false;
  const body = () =>
    new ReadableStream<Uint8Array>({
      cancel() {
        cancelled = true;
      },
    });
  const answer = () => new Response(body(), { headers: { a: "x".repeat(40_000), b: "x".repeat(30_000) } });
  const outbound = createOutbound({ transport: recorder({ answer }).transport, guard: nothingTrusted });
  await assert.rejects(outbound("https://example.com/", { ...get, origin: "fixed" }), hasKind("bad_answer"));
  assert.equal(cancelled, true);
});

test("createOutbound() keeps the signal's reason as the cause of an abort and sends nothing afterwards", async () => {
  const { calls, transport } = recorder();
  const outbound = createOutbound({ transport, guard: nothingTrusted });
  const reason = new Error("client left");
  const call = outbound("https://example.com/", { ...get, origin: "fixed", signal: AbortSignal.abort(reason) });
  await assert.rejects(call, (error) => hasKind("aborted")(error) && error instanceof Error && error.cause === reason);
  assert.deepEqual(calls, []);
});

const withCode = (code: string, message = "x") => Object.assign(new Error(message), { code });
const fetchFailed = (cause: Error) => new TypeError("fetch failed", { cause });
const errors: readonly [unknown, OutboundErrorKind][] = [
  [withCode("ECONNREFUSED"), "unreachable"],
  [withCode("ConnectionRefused"), "unreachable"],
  [fetchFailed(withCode("ENOTFOUND")), "unreachable"],
  [new AggregateError([withCode("ECONNREFUSED"), withCode("ECONNREFUSED")]), "unreachable"],
  [withCode("DEPTH_ZERO_SELF_SIGNED_CERT"), "unreachable"],
  [withCode("EPROTO"), "unreachable"],
  [withCode("ETIMEDOUT"), "connect_timeout"],
  [fetchFailed(withCode("UND_ERR_CONNECT_TIMEOUT")), "connect_timeout"],
  [withCode("ECONNRESET"), "reset"],
  [fetchFailed(withCode("UND_ERR_SOCKET")), "reset"],
  [withCode("HPE_INVALID_CONSTANT"), "bad_answer"],
  [withCode("UND_ERR_HEADERS_OVERFLOW"), "bad_answer"],
  [withCode("Z_DATA_ERROR"), "bad_answer"],
  [withCode("ERR_INVALID_CHAR"), "invalid_request"],
  [withCode("UND_ERR_INVALID_ARG"), "invalid_request"],
  [new TypeError("Header 'x' has invalid value"), "invalid_request"],
  [new DOMException("x", "AbortError"), "aborted"],
  [new DOMException("x", "TimeoutError"), "aborted"],
  [
    fetchFailed(new Error("error sending request: client error (Connect): tcp connect error: Connection refused")),
    "unreachable",
  ],
  [
    fetchFailed(new Error("error sending request: client error (Connect): dns error: failed to lookup address")),
    "unreachable",
  ],
  [fetchFailed(new Error("Connection reset by peer (os error 104)")), "reset"],
  [fetchFailed(new Error("client error (SendRequest): connection closed before message completed")), "reset"],
  [fetchFailed(new Error("client error (SendRequest): invalid HTTP version parsed")), "bad_answer"],
  [new TypeError("error reading a body from connection"), "reset"],
  ["text", "unreachable"],
];
for (const [error, kind] of errors) {
  test(`toOutboundError() calls ${error instanceof Error ? `${error.message} ${String(error.cause ?? "")}` : error} ${kind}`, () => {
    const classified = toOutboundError(error);
    assert.equal(classified.kind, kind);
    assert.equal(classified.cause, error);
    assert.equal(toOutboundError(classified), classified);
  });
}
