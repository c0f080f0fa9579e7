import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Transport } from "../../src/lib/outbound.ts";
import { createTestGateway, requestHeaders, waitForLog } from "../support/gateway.ts";

const said = JSON.stringify({ q1: { A: 1, B: 0 } });
const answer = { model: "m", choices: [{ index: 0, message: { role: "assistant", content: said } }] };
const transport: Transport = { send: async () => Response.json(answer) };
const gateway = await createTestGateway({ transport });
after(() => gateway.close());

const message = { model: "m", max_tokens: 9, messages: [{ role: "user", content: "Hi" }] };
const decision = { model: "m", state: {}, questions: { late: { type: "noul", instructions: "Is it late?" } } };

const post = (path: string, body: object) => {
  const headers = requestHeaders({ "x-gateway-provider": "mistral-ai", "content-type": "application/json" });
  return gateway.fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
};

for (const [path, body] of [
  ["/v1/messages", message],
  ["/v1/decisions", decision],
] as const) {
  test(`x-gateway-dropped-params percent-encodes names a header cannot hold: ${path}`, async () => {
    const response = await post(path, { ...body, "größe, 日本\r\n\ud800": 1, plain: 2 });
    assert.equal(response.status, 200, await response.clone().text());
    const reported = response.headers.get("x-gateway-dropped-params");
    assert.equal(reported, "gr%C3%B6%C3%9Fe%2C%20%E6%97%A5%E6%9C%AC%0D%0A%EF%BF%BD,plain");
  });

  test(`x-gateway-dropped-params lists at most a hundred names: ${path}`, async () => {
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, place) => [`n${place}${"x".repeat(200)}`, 1]));
    const response = await post(path, { ...body, ...many });
    assert.equal(response.status, 200, await response.clone().text());
    const names = response.headers.get("x-gateway-dropped-params")?.split(",") ?? [];
    assert.deepEqual([names.length, names[0]?.length], [100, 100]);
    const row = await waitForLog(gateway, response.headers.get("x-gateway-trace-id") ?? "");
    assert.deepEqual(row.dropped_params, names);
  });
}
