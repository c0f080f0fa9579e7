import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createLogObjectStore } from "../../src/db/stores/log-objects.ts";
import { createIdFactory } from "../../src/lib/ids.ts";
import { LogOffload } from "../../src/logs/index/offload.ts";
import type { LogDetail } from "../../src/schemas/logs.ts";
import { createLogThread } from "../../src/serve/log-thread.ts";
import { zstdCodec } from "../../src/serve/text-codec.ts";
import { readSettings } from "../../src/settings.ts";
import { eventually } from "../support/eventually.ts";
import {
  createTestGateway,
  helloBody,
  readJson,
  requestHeaders,
  type TestGateway,
  waitForLog,
} from "../support/gateway.ts";
import { startObjectStore } from "../support/object-store.ts";

let gateway: TestGateway;
let store: Awaited<ReturnType<typeof startObjectStore>>;
before(async () => {
  store = await startObjectStore();
  gateway = await createTestGateway({
    inFile: true,
    createLogWriter: createLogThread,
    logCodec: zstdCodec,
    logObjects: store.s3,
  });
});
after(async () => {
  await gateway.close();
  await store.server.close();
});

const send = (path: string, init: RequestInit = {}) =>
  gateway.fetch(path, { headers: requestHeaders({ "x-gateway-provider": null }), ...init });

/** Moves contents as the gateway does once they have waited for five minutes. */
async function moveContents(): Promise<void> {
  let now = Date.now();
  const put = async (name: string, content: Uint8Array) =>
    void store.objects.set(`/files/gateway/${name}`, Uint8Array.from(content));
  const objects = { put, remove: () => assert.fail("nothing is old") };
  const tools = { now: () => now, createId: createIdFactory(Date.now) };
  const offload = new LogOffload(createLogObjectStore(await gateway.openFile()), objects, tools);
  while (await offload.step());
  now += 6 * 60_000;
  while (await offload.step());
}

async function exportBodies(): Promise<{ id: string; status: () => Promise<string>; read: () => Promise<string> }> {
  const body = JSON.stringify({
    filters: { time_of_generation_min: "2020-01-01T00:00:00Z" },
    requested_data: ["trace_id", "request"],
  });
  const { id } = await readJson<{ id: string }>(await send("/v1/logs/exports", { method: "POST", body }));
  await send(`/v1/logs/exports/${id}/start`, { method: "POST" });
  return {
    id,
    status: async () => (await readJson<{ status: string }>(await send(`/v1/logs/exports/${id}`))).status,
    async read() {
      const link = await readJson<{ signed_url: string }>(await send(`/v1/logs/exports/${id}/download`));
      return (await gateway.fetch(new URL(link.signed_url).pathname + new URL(link.signed_url).search)).text();
    },
  };
}

test("contents in an object store are shown, replayed and exported like others, and missed while it is away", async () => {
  const response = await send("/v1/chat/completions", {
    method: "POST",
    headers: requestHeaders({ "x-gateway-provider": "echo", "x-gateway-trace-id": "moved" }),
    body: JSON.stringify(helloBody),
  });
  await response.text();
  const { id } = await waitForLog(gateway, "moved");
  await moveContents();
  assert.equal(store.objects.size, 1);
  const show = async () => readJson<LogDetail>(await send(`/v1/logs/${id}`));
  const replay = () => send(`/v1/logs/${id}/replay`, { method: "POST", body: "{}" });

  const shown = await show();
  assert.deepEqual([shown.request.body, shown.contents_unavailable], [helloBody, undefined]);
  assert.equal((await replay()).status, 200);

  store.state.status = 503;
  const missed = await show();
  assert.deepEqual([missed.request.body, missed.contents_unavailable, missed.status], [null, true, 200]);
  const refused = await replay();
  const { error } = await readJson<{ error: { code: string } }>(refused);
  assert.deepEqual([refused.status, error.code], [503, "log_store_unavailable"]);
  assert.equal((await readJson<{ data: unknown[] }>(await send("/v1/logs?trace_id=moved"))).data.length, 1);
  const waiting = await exportBodies();
  const isWarned = () => gateway.warnings.some((line) => line.includes(`Cannot continue the export ${waiting.id}`));
  await eventually("the export meets the store", async () => isWarned());
  assert.equal(await waiting.status(), "in_progress");

  store.state.status = 200;
  await eventually("the export is done", async () => (await waiting.status()) === "success", 60_000);
  assert.ok((await waiting.read()).includes('"moved","request":{'));
});

const environment = {
  LOG_STORE: "s3",
  LOG_STORE_REGION: "eu-central-1",
  LOG_STORE_GENERATIONS_BUCKET: "logs/gateway/one",
  LOG_STORE_ACCESS_KEY: "id",
  LOG_STORE_SECRET_KEY: "secret",
};

test("readSettings() reads the store for contents of the log", () => {
  const access = { region: "eu-central-1", bucket: "logs", accessKeyId: "id", secretAccessKey: "secret" };
  const amazon = { ...access, endpoint: "https://s3.eu-central-1.amazonaws.com", prefix: "gateway/one/" };
  assert.deepEqual(readSettings(environment).gateway.logObjects, amazon);
  const own = { LOG_STORE: "s3_custom", LOG_STORE_BASEPATH: "https://s3.example.com" };
  const custom = readSettings({ ...environment, ...own, LOG_STORE_GENERATIONS_BUCKET: "logs" });
  assert.deepEqual(custom.gateway.logObjects, { ...access, endpoint: "https://s3.example.com" });
  assert.equal(readSettings({ ...environment, LOG_STORE: "" }).gateway.logObjects, undefined);
});

for (const [variable, change] of [
  ["LOG_STORE", { LOG_STORE: "mongo" }],
  ["LOG_STORE_BASEPATH", { LOG_STORE: "s3_custom" }],
  ["LOG_STORE_BASEPATH", { LOG_STORE_BASEPATH: "https://s3.example.com/path" }],
  ["LOG_STORE_GENERATIONS_BUCKET", { LOG_STORE_GENERATIONS_BUCKET: "" }],
  ["LOG_STORE_SECRET_KEY", { LOG_STORE_SECRET_KEY: "" }],
] as const) {
  test(`readSettings() names ${variable} when it cannot use ${JSON.stringify(change)}`, () => {
    assert.throws(() => readSettings({ ...environment, ...change }), new RegExp(variable));
  });
}
