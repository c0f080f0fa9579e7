import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from "node:zlib";
import { contentCodings } from "../../src/serve/content-codings.ts";
import { chat, createTestGateway, type TestGateway, waitForLog, workspaceKey } from "../support/gateway.ts";

let gateway: TestGateway;
before(async () => {
  gateway = await createTestGateway({ inFile: true, contentCodings });
  const messages = [{ role: "user", content: "the same words ".repeat(40) }];
  const body = { model: "echo-1", messages };
  for (const trace of ["one", "two", "three"]) {
    const headers = { "x-gateway-provider": "echo", "x-gateway-trace-id": trace };
    await (await chat(gateway, body, headers)).text();
    await waitForLog(gateway, trace);
  }
});
after(() => gateway.close());

async function read(path: string, accepted?: string, init: RequestInit = {}) {
  const response = await gateway.gateway.fetch(
    new Request(`http://gateway.test${path}`, {
      ...init,
      headers: {
        "x-gateway-api-key": workspaceKey,
        "content-type": "application/json",
        ...(accepted !== undefined && { "accept-encoding": accepted }),
      },
    }),
  );
  const { headers } = response;
  const bytes = new Uint8Array(await response.arrayBuffer());
  return {
    coding: headers.get("content-encoding"),
    vary: headers.get("vary"),
    type: headers.get("content-type"),
    bytes,
  };
}
const logs = "/v1/logs?limit=100";

const expanders = { br: brotliDecompressSync, gzip: gunzipSync, zstd: zstdDecompressSync };

for (const [accepted, coding] of [
  ["gzip, deflate", "gzip"],
  ["gzip, deflate, br", "br"],
  ["gzip, deflate, br, zstd", "zstd"],
  ["GZIP", "gzip"],
  ["br;q=0.5, gzip", "gzip"],
  ["zstd;q=0, br ; q=0.0, gzip; q=0.1", "gzip"],
  ["identity;q=0.2, gzip;q=0.3", "gzip"],
] as const) {
  test(`accept-encoding "${accepted}" asks for ${coding}: a read of the log has the same content`, async () => {
    const plain = await read(logs);
    const packed = await read(logs, accepted);
    assert.deepEqual([plain.coding, packed.coding], [null, coding]);
    assert.deepEqual([plain.vary, packed.vary], ["accept-encoding", "accept-encoding"]);
    assert.equal(packed.type, plain.type);
    assert.deepEqual(new Uint8Array(expanders[coding](packed.bytes)), plain.bytes);
    assert.ok(packed.bytes.length < plain.bytes.length / 2);
  });
}

for (const accepted of [
  "",
  "identity",
  "deflate",
  "gzip;q=0",
  "gzip; q=0.0",
  "gzip;q=x",
  "gzip;q=0.5, identity",
  "*;q=0",
]) {
  test(`accept-encoding "${accepted}" asks for no coding`, async () => {
    assert.equal((await read(logs, accepted)).coding, null);
  });
}

for (const path of [
  "/openapi.json",
  "/v1/models",
  "/v1/guardrails/checks",
  "/v1/analytics/groups/model?columns=requests",
]) {
  test(`GET ${path} is compressed once it is long, without a change`, async () => {
    const [plain, packed] = [await read(path), await read(path, "gzip")];
    const isLong = plain.bytes.length >= 1024;
    assert.equal(packed.coding, isLong ? "gzip" : null);
    assert.deepEqual(isLong ? new Uint8Array(gunzipSync(packed.bytes)) : packed.bytes, plain.bytes);
  });
}

test("a gateway without codings of its host has gzip", async () => {
  const own = await createTestGateway();
  try {
    const headers = { "accept-encoding": "zstd, br, gzip" };
    const response = await own.fetch("/openapi.json", { headers });
    assert.equal(response.headers.get("content-encoding"), "gzip");
    const text = gunzipSync(new Uint8Array(await response.arrayBuffer())).toString();
    assert.equal(JSON.parse(text).openapi, "3.1.0");
  } finally {
    await own.close();
  }
});

test("small responses, writes, streams and model calls are never compressed", async () => {
  assert.equal((await read("/v1/labels", "gzip")).coding, null);
  const long = { name: "A", string: "word ".repeat(500) };
  const write = await read("/v1/prompts/partials", "gzip", { method: "POST", body: JSON.stringify(long) });
  assert.equal(write.coding, null);
  const called = await gateway.gateway.fetch(
    new Request("http://gateway.test/v1/chat/completions", {
      method: "POST",
      headers: {
        "x-gateway-api-key": workspaceKey,
        "x-gateway-provider": "echo",
        "content-type": "application/json",
        "accept-encoding": "gzip",
      },
      body: JSON.stringify({ model: "echo-1", messages: [{ role: "user", content: "word ".repeat(500) }] }),
    }),
  );
  assert.equal(called.headers.get("content-encoding"), null);
  await called.text();
});
