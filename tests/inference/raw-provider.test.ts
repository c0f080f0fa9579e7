import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import { chat, createTestGateway, requestHeaders, type TestGateway, waitForLogs } from "../support/gateway.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

let upstream: RecordingUpstream;
let gateway: TestGateway;
const answer = '{"odd" : true, "usage":{"prompt_tokens":3}}';

before(async () => {
  upstream = await startRecordingUpstream((_request, response) =>
    response.writeHead(418, { "content-type": "application/json", "x-own": "kept" }).end(answer),
  );
  gateway = await createTestGateway();
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

const raw = () => ({
  ...{ "x-gateway-provider": "passthrough", "x-gateway-custom-host": `${upstream.url}/base` },
  ...{ authorization: "Bearer own-credential", "x-team": "blue" },
});
/** Odd spacing and members no schema knows must arrive as they are. */
const body = '{ "model":"m",  "messages":[{"role":"user","content":"a"}], "odd": [1.0] }';

test("passthrough hands a unified request on untouched, and its answer back", async () => {
  const response = await chat(gateway, body, raw());
  assert.equal(response.status, 418);
  assert.equal(response.headers.get("x-own"), "kept");
  assert.equal(await response.text(), answer);
  const { path, text, headers } = upstream.requests.at(-1) ?? assert.fail();
  assert.equal(path, "/base/chat/completions");
  assert.equal(text, body);
  assert.equal(headers.authorization, "Bearer own-credential");
  assert.equal(headers["x-team"], "blue");
  assert.deepEqual(
    Object.keys(headers).filter((name) => name.startsWith("x-gateway-")),
    [],
  );
  const [row] = await waitForLogs(gateway, "provider=passthrough");
  assert.deepEqual([row?.model, row?.status, row?.operation], ["m", 418, "chat"]);
});

test("passthrough hands on what a packed request holds, without its packing", async () => {
  const response = await chat(gateway, gzipSync(body), { ...raw(), "content-encoding": "gzip" });
  assert.equal(response.status, 418);
  const { text, headers } = upstream.requests.at(-1) ?? assert.fail();
  assert.equal(text, body);
  assert.equal(headers["content-encoding"], undefined);
});

test("passthrough lists the models of its host", async () => {
  const headers = requestHeaders({ ...raw(), "content-type": null });
  assert.equal(await (await gateway.fetch("/v1/models", { headers })).text(), answer);
  assert.equal(upstream.requests.at(-1)?.path, "/base/models");
});

test("passthrough needs a host, and never sends the gateway's key on", async () => {
  assert.equal((await chat(gateway, body, { ...raw(), "x-gateway-custom-host": null })).status, 400);
  const key = requestHeaders().get("x-gateway-api-key") ?? "";
  await chat(gateway, body, { ...raw(), authorization: `Bearer ${key}` });
  assert.equal(upstream.requests.at(-1)?.headers.authorization, undefined);
});
