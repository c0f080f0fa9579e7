import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "../support/eventually.ts";
import { adminKey, createTestGateway, workspaceKey } from "../support/gateway.ts";
import { startLibsqlServer, withoutLibsqlServer } from "../support/libsql-server.ts";

const chat = { model: "echo-1", messages: [{ role: "user", content: "Hello" }] };

test("no request waits for a database that accepts calls and does not answer, and all go on when it does", {
  skip: withoutLibsqlServer,
  timeout: 120_000,
}, async () => {
  const server = await startLibsqlServer();
  const { gateway, close } = await createTestGateway({ database: server.url });
  const send = async (method: string, path: string, key: string, body?: object) => {
    const headers = { "x-gateway-api-key": key, "x-gateway-provider": "echo", "content-type": "application/json" };
    const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
    const response = await gateway.fetch(new Request(`http://gateway.test/v1${path}`, init));
    const text = await response.text();
    return [response.status, /"code": ?"(\w+)"/.exec(text)?.[1]];
  };
  const askAll = () =>
    Promise.all([
      send("POST", "/chat/completions", workspaceKey, chat),
      send("POST", "/chat/completions", "a-key-that-nobody-has", chat),
      send("GET", "/logs", workspaceKey),
      send("GET", "/api-keys", adminKey),
      send("GET", "/configs", workspaceKey),
      send("POST", "/configs", workspaceKey, { name: "c", config: { retry: { attempts: 2 } } }),
    ]);
  assert.deepEqual(await send("POST", "/chat/completions", workspaceKey, chat), [200, undefined]);
  server.pause();
  const away = [503, "database_unavailable"];
  // twice: the first ones find out, the others are answered at once
  for (let round = 0; round < 2; round++) {
    assert.deepEqual(await askAll(), [[200, undefined], away, away, away, away, away], `round ${round}`);
  }
  server.resume();
  await eventually("a database that answers", async () => (await send("GET", "/configs", workspaceKey))[0] === 200);
  const statuses = (await askAll()).map(([status]) => status);
  assert.deepEqual(statuses.slice(0, 5), [200, 401, 200, 200, 200]);
  await close();
  await server.kill();
});
