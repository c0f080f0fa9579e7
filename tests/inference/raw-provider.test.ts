import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { gunzipSync, gzipSync } from "node:zlib";
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
  "x-gateway-provider": "passthrough",
  "x-gateway-custom-host": `${upstream.url}/base`,
  authorization: "Bearer own-credential",
  "x-team": "blue",
});
/** Odd spacing and unknown fields must arrive unchanged. */
const body = '{ "model":"m",  "messages":[{"role":"user","content":"a"}], "odd": [1.0] }';

test("passthrough forwards a unified request and its response unchanged", async () => {
  const response = await chat(gateway, body, { ...raw(), "content-length": `${body.length}` });
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

test("passthrough forwards a compressed request unchanged", async () => {
  const response = await chat(gateway, gzipSync(body), { ...raw(), "content-encoding": "gzip" });
  assert.equal(response.status, 418);
  const { body: received, headers } = upstream.requests.at(-1) ?? assert.fail();
  assert.equal(gunzipSync(received).toString(), body);
  assert.equal(headers["content-encoding"], "gzip");
});

test("passthrough lists the models of its host", async () => {
  const headers = requestHeaders({ ...raw(), "content-type": null });
  assert.equal(await (await gateway.fetch("/v1/models", { headers })).text(), answer);
  assert.equal(upstream.requests.at(-1)?.path, "/base/models");
});

test("passthrough needs a host, and never sends the gateway key", async () => {
  assert.equal((await chat(gateway, body, { ...raw(), "x-gateway-custom-host": null })).status, 400);
  const key = requestHeaders().get("x-gateway-api-key") ?? "";
  await chat(gateway, body, { ...raw(), authorization: `Bearer ${key}` });
  assert.equal(upstream.requests.at(-1)?.headers.authorization, undefined);
});

for (const [name, sent, type] of [
  ["no messages", '{"model":"m"}', "application/json"],
  ["messages that are none", '{"model":5,"messages":"x"}', "application/json"],
  ["no JSON", "model=m", "application/x-www-form-urlencoded"],
] as const) {
  test(`passthrough forwards a chat with ${name}`, async () => {
    const response = await chat(gateway, sent, { ...raw(), "content-type": type });
    assert.equal(response.status, 418, await response.clone().text());
    const { text, headers } = upstream.requests.at(-1) ?? assert.fail();
    assert.deepEqual([text, headers["content-type"]], [sent, type]);
  });
}

for (const scheme of ["Basic dXNlcjpwYXNz", "Token abc, def=1", "Key id:secret", "Bearer own-credential"]) {
  test(`passthrough forwards ${scheme} beside the gateway's key`, async () => {
    const response = await chat(gateway, body, { ...raw(), authorization: scheme });
    assert.equal(response.status, 418, await response.clone().text());
    assert.equal(upstream.requests.at(-1)?.headers.authorization, scheme);
  });
}

test("forwarded requests preserve the caller's own credential scheme, and send only the stored credential of a stored provider", async () => {
  const init = {
    "x-gateway-provider": "openai",
    "x-gateway-custom-host": upstream.url,
    authorization: "Basic dXNlcjpwYXNz",
  };
  await gateway.fetch("/v1/some/path", { method: "POST", headers: requestHeaders(init), body: "{}" });
  assert.equal(upstream.requests.at(-1)?.headers.authorization, "Basic dXNlcjpwYXNz");
});

test("a credential of another scheme does not count at a provider that takes bearer tokens", async () => {
  const headers = { "x-gateway-provider": "openai", "x-gateway-custom-host": upstream.url };
  await chat(gateway, body, { ...headers, authorization: "Basic dXNlcjpwYXNz" });
  assert.equal(upstream.requests.at(-1)?.headers.authorization, undefined);
  assert.equal(
    (await chat(gateway, body, { ...headers, authorization: "Basic a", "x-gateway-api-key": null })).status,
    401,
  );
});
