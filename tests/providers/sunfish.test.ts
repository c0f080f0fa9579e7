import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import type { Transport, TransportInit } from "../../src/lib/outbound.ts";
import { call, done } from "../support/control.ts";
import { chat, createTestGateway, helloBody, workspaceKey as key, waitForLog } from "../support/gateway.ts";
import { problem } from "../support/people.ts";

const sent: { url: string; init: TransportInit }[] = [];
const transport: Transport = {
  async send(url, init) {
    sent.push({ url, init });
    return Response.json({ id: "1", object: "chat.completion", choices: [] });
  },
};
const gateway = await createTestGateway({ transport, inFile: true });
after(() => gateway.close());
beforeEach(() => {
  sent.length = 0;
});

const pass = "of-no-known-form-1";
const settings = { sunfish_bay: "north", sunfish_pass: pass };
const noKey = { authorization: null, "x-gateway-provider": null };

async function requireCall(headers: Record<string, string | null>): Promise<void> {
  const response = await chat(gateway, helloBody, { ...noKey, ...headers });
  assert.equal(response.status, 200, await response.text());
  assert.deepEqual(
    sent.map(({ url, init }) => [url, init.headers["sunfish-pass"]]),
    [["https://north.sunfish.example/v1/chat/completions", pass]],
  );
}

/** Everything the tables of callers hold. */
async function storedText(): Promise<string> {
  const database = await gateway.openFile();
  const tables = ["log_batches LEFT JOIN log_bodies USING (seq)", "audit_logs", "integrations", "config_versions"];
  const pages = await Promise.all(tables.map((table) => database.read(`SELECT * FROM ${table}`)));
  return JSON.stringify(pages.map(({ rows }) => rows.map((row) => Object.values(row).map(String))));
}

test("sunfish is called by headers, and logs hold a digest of its pass", async () => {
  const headers = {
    "x-gateway-sunfish-bay": "north",
    "x-gateway-sunfish-pass": pass,
    "x-gateway-trace-id": "trace-sun",
  };
  await requireCall({ ...headers, "x-gateway-provider": "sunfish" });
  const { request } = await waitForLog(gateway, "trace-sun");
  assert.match(request.headers["x-gateway-sunfish-pass"] ?? "", /^hmac:[0-9a-f]{12}$/);
  assert.ok(!(await storedText()).includes(pass));
});

test("sunfish is called by a config, whose pass is sealed and stays with its bay", async () => {
  const config = { provider: "sunfish", ...settings };
  await requireCall({ "x-gateway-config": JSON.stringify(config) });
  const { slug } = await done<{ slug: string }>(call(gateway, "POST /configs", { key, body: { name: "Sun", config } }));
  sent.length = 0;
  await requireCall({ "x-gateway-config": slug });
  const shown = await done<{ config: string }>(call(gateway, `GET /configs/${slug}`, { key }));
  const masked = JSON.parse(shown.config);
  assert.equal(masked.sunfish_pass, "of*****m-1");
  const moved = { name: "Sun", config: { ...masked, sunfish_bay: "south" } };
  assert.match(await problem(gateway, `PUT /configs/${slug}`, { key, body: moved }), /^400 /);
  assert.ok(!(await storedText()).includes(pass));
});

test("sunfish is called by an integration, whose pass is sealed and stays with its bay", async () => {
  const integration = { name: "Sun", slug: "sun", ai_provider_id: "sunfish", default_provider_slug: "sun" };
  const body = { ...integration, configurations: { sunfish_bay: "north" } };
  assert.equal(await problem(gateway, "POST /integrations", { key, body }), "400 AB01 configurations.sunfish_pass");
  await done(call(gateway, "POST /integrations", { key, body: { ...body, configurations: settings } }));
  await requireCall({ "x-gateway-provider": "@sun" });
  const shown = await done<{ configurations: object }>(call(gateway, "GET /integrations/sun", { key }));
  assert.deepEqual(shown.configurations, { sunfish_bay: "north", masked_sunfish_pass: "of*****m-1" });
  const update = (configurations: object) =>
    problem(gateway, "PUT /integrations/sun", { key, body: { configurations } });
  assert.equal(await update({ sunfish_bay: "south" }), "400 AB01 configurations.sunfish_bay");
  assert.equal(await update({ sunfish_bay: "south", sunfish_pass: pass }), "200 undefined undefined");
  assert.ok(!(await storedText()).includes(pass));
});
