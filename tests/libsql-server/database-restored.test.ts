import assert from "node:assert/strict";
import { cpSync, rmSync } from "node:fs";
import { test } from "node:test";
import { eventually } from "../support/eventually.ts";
import { adminKey, createTestGateway, type TestGateway, workspaceKey } from "../support/gateway.ts";
import { startLibsqlServer, withoutLibsqlServer } from "../support/libsql-server.ts";

async function send({ gateway }: TestGateway, method: string, path: string, { key = workspaceKey, body = {} } = {}) {
  const headers = { "x-gateway-api-key": key, "x-gateway-provider": "echo", "content-type": "application/json" };
  const init = { method, headers, ...(method !== "GET" && { body: JSON.stringify(body) }) };
  const response = await gateway.fetch(new Request(`http://gateway.test/v1${path}`, init));
  return { status: response.status, body: JSON.parse(await response.text()) };
}

const chat = { model: "echo-1", messages: [{ role: "user", content: "Hello" }] };

test("gateways that run while an older copy of their database is restored follow it from then on", {
  skip: withoutLibsqlServer,
  timeout: 120_000,
}, async () => {
  const server = await startLibsqlServer();
  const database = server.url;
  const [one, two] = [await createTestGateway({ database }), await createTestGateway({ database })];
  const makeKey = async () => {
    const body = { name: "Key", workspace_id: "default", scopes: ["completions.write"] };
    const made = await send(one, "POST", "/api-keys/workspace/service", { key: adminKey, body });
    assert.equal(made.status, 200);
    return made.body as { id: string; key: string };
  };
  const statusOf = async (key: string) => (await send(two, "POST", "/chat/completions", { key, body: chat })).status;
  const before = await makeKey();
  await server.kill();
  cpSync(server.folder, `${server.folder}-copy`, { recursive: true });
  await server.start();
  const later = await makeKey();
  const last = await makeKey();
  assert.deepEqual([await statusOf(before.key), await statusOf(later.key), await statusOf(last.key)], [200, 200, 200]);
  // the other gateway has followed all changes before the copy replaces them
  await send(one, "DELETE", `/api-keys/${last.id}`, { key: adminKey });
  await eventually("a revoked key", async () => (await statusOf(last.key)) === 401);

  await server.kill();
  rmSync(server.folder, { recursive: true });
  cpSync(`${server.folder}-copy`, server.folder, { recursive: true });
  await server.start();
  // what the copy does not have is gone
  await eventually("a key that is gone", async () => (await statusOf(later.key)) === 401, 10_000);
  const revoked = await send(one, "DELETE", `/api-keys/${before.id}`, { key: adminKey });
  assert.equal(revoked.status, 200);
  await eventually("a key that another node revoked", async () => (await statusOf(before.key)) === 401);

  for (const gateway of [one, two]) await gateway.close();
  await server.kill();
});
