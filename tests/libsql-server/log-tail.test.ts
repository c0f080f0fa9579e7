import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startLibsqlServer, withoutLibsqlServer } from "../support/libsql-server.ts";
import { readTail } from "../support/log-tail.ts";
import { type GatewayProcess, startGatewayProcess } from "../support/process.ts";

const running: GatewayProcess[] = [];
after(() => Promise.all(running.map((gateway) => gateway.stop("SIGKILL"))));

async function follow(gateway: GatewayProcess, query: string, lastId?: string) {
  const headers = {
    "x-gateway-api-key": gateway.workspaceKey,
    ...(lastId !== undefined && { "last-event-id": lastId }),
  };
  const response = await fetch(`${gateway.url}/v1/logs/tail?${query}`, { headers });
  assert.equal(response.status, 200);
  return readTail(response);
}

async function send(gateway: GatewayProcess, trace: string, status = 200): Promise<void> {
  const headers = {
    "x-gateway-api-key": gateway.workspaceKey,
    "x-gateway-provider": "echo",
    "x-gateway-trace-id": trace,
    "x-gateway-echo-status": String(status),
    "content-type": "application/json",
  };
  const body = JSON.stringify({ model: "echo-1", messages: [{ role: "user", content: "Hello" }] });
  await (await fetch(`${gateway.url}/v1/chat/completions`, { method: "POST", headers, body })).text();
}

test("rows of all gateways on a libSQL server are followed once each, and again after it was away", {
  skip: withoutLibsqlServer,
}, async () => {
  const server = await startLibsqlServer();
  const env = { DATABASE_URL: server.url, GATEWAY_MASTER_KEYS: "v1:AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA" };
  for (let count = 0; count < 2; count++) running.push(await startGatewayProcess({ env }));
  const [one, other] = running as [GatewayProcess, GatewayProcess];
  const tail = await follow(one, "");
  const failed = await follow(other, "status_code=429,503&metadata=%7B%7D");
  const sent: string[] = [];
  for (let index = 0; index < 20; index++) {
    sent.push(`t${index}`);
    await send(index % 2 === 0 ? one : other, `t${index}`, index % 5 === 0 ? 429 : 200);
  }
  const seen = (await tail.take(20)).map(({ trace_id }) => trace_id);
  assert.deepEqual(new Set(seen), new Set(sent));
  assert.deepEqual((await failed.take(4)).map(({ trace_id }) => trace_id).sort(), ["t0", "t10", "t15", "t5"]);
  const lastId = tail.lastId();
  await server.kill();
  await send(one, "away");
  await server.start();
  await send(other, "back");
  const later = (await tail.take(2)).map(({ trace_id }) => trace_id);
  assert.deepEqual(later.sort(), ["away", "back"]);
  const resumed = await follow(other, "", lastId);
  assert.deepEqual((await resumed.take(2)).map(({ trace_id }) => trace_id).sort(), ["away", "back"]);
  for (const reading of [tail, failed, resumed]) await reading.close();
  await server.kill();
});
