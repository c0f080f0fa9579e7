import assert from "node:assert/strict";
import { after, test } from "node:test";
import { mintApiKey } from "../../src/auth/api-key.ts";
import type { HealthSummary } from "../../src/schemas/health-summary.ts";
import { call, done } from "../support/control.ts";
import { eventually } from "../support/eventually.ts";
import { adminKey, chat, createTestGateway, insertTenant, workspaceKey } from "../support/gateway.ts";
import { problem } from "../support/people.ts";
import { startRecordingUpstream } from "../support/upstream.ts";

const events = ['{"choices":[{"index":0,"delta":{"content":"Hi"}}]}', "[DONE]"];
const upstream = await startRecordingUpstream(({ text }, response) => {
  const { model, stream } = JSON.parse(text);
  if (model === "away") response.statusCode = 503;
  response.setHeader("content-type", stream ? "text/event-stream" : "application/json");
  if (stream) return response.end(events.map((event) => `data: ${event}\n\n`).join(""));
  return response.end(JSON.stringify({ id: "x", object: "chat.completion", created: 1, model, choices: [] }));
});
const gateway = await createTestGateway({ inFile: true });
after(async () => {
  await gateway.close();
  await upstream.close();
});

const read = (key: string, query = "") => done<HealthSummary>(call(gateway, `GET /health/summary${query}`, { key }));

test("GET /health/summary shows requests, errors, latency and states of the last hour by what served them", async () => {
  const configurations = { custom_host: `${upstream.url}/v1` };
  const integration = { name: "i", slug: "main-integration", ai_provider_id: "openai", key: "fake-credential" };
  const body = { ...integration, configurations, create_default_provider: false };
  await done(call(gateway, "POST /integrations", { key: workspaceKey, body }));
  const provider = { name: "main", slug: "main", integration_id: "main-integration" };
  await done(call(gateway, "POST /providers", { key: workspaceKey, body: provider }));
  const send = (model: string, stream: boolean) =>
    chat(gateway, { model, stream, messages: [{ role: "user", content: "Hi" }] }, { "x-gateway-provider": "@main" });
  for (let turn = 0; turn < 5; turn++) await (await send("fine", turn === 0)).text();
  for (let turn = 0; turn < 5; turn++) await (await send("away", false)).text();
  const count = async () => (await read(workspaceKey)).data.find(({ name }) => name === "main")?.requests;
  await eventually("ten rows", async () => (await count()) === 10);
  const { data, object } = await read(workspaceKey);
  assert.equal(object, "health_summary");
  assert.deepEqual(
    data.map(({ kind, name, state, requests, error_count: errors, error_rate: rate }) => [
      kind,
      name,
      state,
      requests,
      errors,
      rate,
    ]),
    [
      ["provider", "main", "failing", 10, 5, 50],
      ["integration", "main-integration", "failing", 10, 5, 50],
      ["model", "away", "failing", 5, 5, 100],
      ["model", "fine", "ok", 5, 0, 0],
    ],
  );
  const fine = data.find(({ name }) => name === "fine");
  assert.ok(typeof fine?.p95_latency === "number" && typeof fine.p95_first_token === "number");
  assert.equal(data.find(({ name }) => name === "away")?.p95_first_token, null);
  assert.deepEqual((await read(workspaceKey, "?virtual_keys=other")).data, []);
  assert.deepEqual((await read(workspaceKey, "?source=console")).data, []);
  assert.deepEqual((await read(adminKey)).data, data);
});

test("GET /health/summary refuses unknown filters, and fields that the organisation denies", async () => {
  const refused = await problem(gateway, "GET /health/summary?source=nowhere", { key: workspaceKey });
  assert.equal(refused, "400 AB01 source");
  const found = await done<{ data: { id: string } }>(call(gateway, "GET /organisations/self", { key: adminKey }));
  const { id } = found.data;
  const deny = (deniedFields: string[]) =>
    done(
      call(gateway, `PUT /organisations/${id}`, {
        key: adminKey,
        body: { export_settings: { deniedFields } },
      }),
    );
  await deny(["response_status_code"]);
  assert.equal(await problem(gateway, "GET /health/summary", { key: workspaceKey }), "403 AB03 response_status_code");
  await deny(["ai_org", "response_time"]);
  const { data } = await read(workspaceKey);
  assert.deepEqual(
    data.map(({ kind, p95_latency }) => [kind, p95_latency]),
    [
      ["model", null],
      ["model", null],
    ],
  );
  await deny([]);
});

test("GET /health/summary shows nothing of other tenants", async () => {
  const { key } = mintApiKey("gk");
  const database = await gateway.openFile();
  await insertTenant(database, key);
  await database.close();
  const { data, targets } = await read(key);
  assert.deepEqual([data, targets], [[], []]);
});
