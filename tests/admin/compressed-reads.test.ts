import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { chat, createTestGateway, type TestGateway, waitForLog, workspaceKey } from "../support/gateway.ts";

let gateway: TestGateway;
before(async () => {
  gateway = await createTestGateway({ inFile: true });
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

test("a read of the log is sent in gzip to clients that take it, with the same content", async () => {
  const plain = await read(logs);
  const packed = await read(logs, "gzip, deflate, br");
  assert.deepEqual([plain.coding, packed.coding], [null, "gzip"]);
  assert.deepEqual([plain.vary, packed.vary], ["accept-encoding", "accept-encoding"]);
  assert.equal(packed.type, plain.type);
  assert.deepEqual(new Uint8Array(gunzipSync(packed.bytes)), plain.bytes);
  assert.ok(packed.bytes.length < plain.bytes.length / 2);
});

for (const accepted of ["", "identity", "br", "gzip;q=0", "gzip; q=0.0"]) {
  test(`accept-encoding "${accepted}" asks for no gzip`, async () => {
    assert.equal((await read(logs, accepted)).coding, null);
  });
}

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
