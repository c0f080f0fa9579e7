import assert from "node:assert/strict";
import { test } from "node:test";
import { type GatewayProcess, withGateway } from "../support/process.ts";
import { openSlowReader } from "../support/slow-reader.ts";

const rows = 3_000;
const rowsOfRequest = 500;
/** Metadata that makes a row of some 8 kB: together more than the buffers of a connection hold. */
const metadata = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`key-${index}`, "x".repeat(120)]));

async function report(gateway: GatewayProcess, first: number): Promise<void> {
  const entries = Array.from({ length: rowsOfRequest }, (_, index) => ({
    request: { url: "https://api.example.test/v1/chat", body: {} },
    response: { body: {} },
    metadata: { ...metadata, traceId: `row-${first + index}` },
  }));
  const headers = { "x-gateway-api-key": gateway.workspaceKey, "content-type": "application/json" };
  const init = { method: "POST", headers, body: JSON.stringify(entries) };
  const response = await fetch(`${gateway.url}/v1/logs`, init);
  assert.equal(response.status, 200, await response.text());
}

async function readMetric(gateway: GatewayProcess, name: string): Promise<number> {
  const response = await fetch(`${gateway.url}/metrics`, { headers: { "x-gateway-api-key": gateway.adminKey } });
  const text = await response.text();
  return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1] ?? Number.NaN);
}

/** Waits until a metric has a value. */
async function untilMetric(gateway: GatewayProcess, name: string, wanted: number): Promise<void> {
  const end = performance.now() + 30_000;
  for (let value = Number.NaN; value !== wanted; value = await readMetric(gateway, name)) {
    if (performance.now() > end) assert.fail(`${name} is ${value} and not ${wanted}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const tracesOf = (text: string) => [...text.matchAll(/"trace_id":"row-(\d+)"/g)].map(([, row]) => Number(row));

test("a client that does not read is left behind, and gets every row once when it reads", async () => {
  await withGateway({}, async (gateway) => {
    const slow = await openSlowReader(gateway.url, "/v1/logs/tail", gateway.workspaceKey);
    await untilMetric(gateway, "gateway_log_followers", 1);
    await untilMetric(gateway, "gateway_log_followers_behind", 0);
    for (let first = 0; first < rows; first += rowsOfRequest) await report(gateway, first);
    // it takes no more: what follows is not in memory
    await untilMetric(gateway, "gateway_log_followers_behind", 1);
    const seen = slow.readUntil(rows, /"trace_id":"row-/g);
    const traces = tracesOf(await seen).sort((one, other) => one - other);
    assert.deepEqual(
      traces,
      Array.from({ length: rows }, (_, row) => row),
    );
    await untilMetric(gateway, "gateway_log_followers_behind", 0);
    const next = await openSlowReader(gateway.url, "/v1/logs/tail", gateway.workspaceKey);
    await report(gateway, rows);
    assert.equal(tracesOf(await next.readUntil(rowsOfRequest, /"trace_id":"row-/g)).length, rowsOfRequest);
    for (const reader of [slow, next]) reader.close();
    await untilMetric(gateway, "gateway_log_followers", 0);
  });
});
