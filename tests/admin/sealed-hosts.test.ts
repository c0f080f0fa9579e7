// Addresses of providers whose path may be a credential: sealed where they are stored, masked where they are shown.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, beforeEach, test } from "node:test";
import { openDatabase } from "../../src/db/client.ts";
import { call, done } from "../support/control.ts";
import {
  createTemporaryFolder,
  createTestGateway,
  type TestGateway,
  waitForLog,
  workspaceKey,
} from "../support/gateway.ts";
import { problem } from "../support/people.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

const key = workspaceKey;
const folder = createTemporaryFolder();
const file = join(folder.path, "gateway.db");
const url = `file:${file}`;
let gateway: TestGateway;
let upstream: RecordingUpstream;
before(async () => {
  upstream = await startRecordingUpstream(({ path, text, headers }, response) => {
    if (text.includes("fail please")) {
      const message = `Cannot POST ${path} of ${headers.authorization}: no route for ${path.split("/")[2]}`;
      response.writeHead(400, { "content-type": "application/json" });
      return response.end(JSON.stringify({ error: { message, type: "x", code: null, param: null } }));
    }
    const message = { role: "assistant", content: "Hi" };
    const choices = [{ index: 0, finish_reason: "stop", message }];
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ id: "1", object: "chat.completion", created: 1, model: "m", choices, usage }));
  });
  gateway = await createTestGateway({ database: url });
});
beforeEach(() => {
  upstream.requests.length = 0;
});
after(async () => {
  await gateway.close();
  await upstream.close();
  folder.remove();
});

const planted = "NmY3ZGE5Zi0xYjJjLTRkM2UtYjRhNS";
const secret = "fake-stored-credential-1234567890";
const hostAt = (segment: string) => `${upstream.url}/t/${segment}/v1`;
const shown = () => hostAt("*****");

async function create(slug: string, custom_host: string): Promise<string> {
  const body = { name: slug, slug, ai_provider_id: "openai", key: secret, configurations: { custom_host } };
  return (await done<{ id: string }>(call(gateway, "POST /integrations", { key, body }))).id;
}

const update = (slug: string, body: object) => problem(gateway, `PUT /integrations/${slug}`, { key, body });

/** The paths that a chat reaches, and what its caller gets. */
async function chat(slug: string, content = "hello", model = "gpt-test") {
  const response = await gateway.fetch("/v1/chat/completions", {
    method: "POST",
    headers: { "x-gateway-api-key": key, "content-type": "application/json" },
    body: JSON.stringify({ model: `@${slug}/${model}`, messages: [{ role: "user", content }] }),
  });
  const text = await response.text();
  const paths = upstream.requests.splice(0).map(({ path }) => path);
  return { status: response.status, text, paths, traceId: response.headers.get("x-gateway-trace-id") ?? "" };
}

const stored = () =>
  ["", "-wal"].map((end) => (existsSync(file + end) ? readFileSync(file + end, "latin1") : "")).join("");

const pathOf = (segment: string) => [`/t/${segment}/v1/chat/completions`];
const fine = "200 undefined undefined";

test("a host whose path may be a credential is called in clear, stored sealed and shown masked", async () => {
  const id = await create("hosted", hostAt(planted));
  const good = await chat("hosted");
  assert.deepEqual([good.status, good.paths], [200, pathOf(planted)]);
  const failed = await chat("hosted", "fail please");
  assert.deepEqual([failed.status, failed.paths], [400, pathOf(planted)]);
  const read = async (route: string, body?: object) =>
    JSON.stringify(await done(call(gateway, route, { key, ...(body && { body }) })));
  const request = { method: "POST", path: "/v1/chat/completions", body: { model: "@hosted/m", messages: [] } };
  const seen = [
    failed.text,
    JSON.stringify(await waitForLog(gateway, good.traceId)),
    JSON.stringify(await waitForLog(gateway, failed.traceId)),
    await read("GET /integrations"),
    await read("GET /providers"),
    await read("GET /providers/hosted"),
    await read(`GET /integrations/${id}/models`),
    await read("POST /providers/hosted/test"),
    await read("POST /configs/explain", { config: { provider: "@hosted" }, request }),
  ];
  for (const text of seen) assert.ok(!text.includes(planted) && !text.includes(secret), text);
  const { configurations } = await done<{ configurations: object }>(call(gateway, "GET /integrations/hosted", { key }));
  assert.deepEqual(configurations, { masked_custom_host: shown() });
  assert.ok(!stored().includes(planted));
});

test("a host that is sent back, masked or in clear, stays, and another one needs the key again", async () => {
  await create("moving", hostAt(planted));
  const other = `${planted.toLowerCase()}0a1b2`;
  const set = (custom_host: string | null, more: object = {}) =>
    update("moving", { configurations: { custom_host }, ...more });
  assert.equal(await set(shown()), fine);
  assert.equal(await set(hostAt(planted)), fine);
  assert.deepEqual((await chat("moving")).paths, pathOf(planted));
  for (const address of [hostAt(other), hostAt("plain"), null]) {
    assert.equal(await set(address), "400 AB01 configurations.custom_host");
  }
  assert.equal(await set(hostAt(other), { key: secret }), fine);
  assert.deepEqual((await chat("moving")).paths, pathOf(other));
  assert.equal(await set(hostAt("plain"), { key: secret }), fine);
  assert.deepEqual((await chat("moving")).paths, pathOf("plain"));
  const { configurations } = await done<{ configurations: object }>(call(gateway, "GET /integrations/moving", { key }));
  assert.deepEqual(configurations, { custom_host: hostAt("plain") });
});

test("the host of a model is sealed and masked as that of an integration", async () => {
  const id = await create("modelled", hostAt("plain"));
  const own = "bTFuZGU5Zi0xYjJjLTRkM2UtYjRhNS";
  const set = (custom_host: string, more: object = {}) => {
    const models = [{ slug: "own", enabled: true, is_custom: true, configurations: { custom_host } }];
    return problem(gateway, `PUT /integrations/${id}/models`, { key, body: { models, ...more } });
  };
  assert.equal(await set(hostAt(own)), "400 AB01 models.0.configurations.custom_host");
  assert.equal(await set(hostAt(own), { key: secret }), fine);
  assert.equal(await set(hostAt(own)), fine);
  assert.equal(await set(shown()), fine);
  assert.deepEqual((await chat("modelled", "hello", "own")).paths, pathOf(own));
  assert.deepEqual((await chat("modelled")).paths, pathOf("plain"));
  const text = JSON.stringify(await done(call(gateway, `GET /integrations/${id}/models`, { key })));
  assert.ok(text.includes(`"masked_custom_host":"${shown()}"`) && !text.includes(own), text);
  assert.ok(!stored().includes(own));
});

test("the host of a config is sealed and masked too, and one that a caller names is not in the row", async () => {
  const own = "Y2ZnaDE5Zi0xYjJjLTRkM2UtYjRhNS";
  const config = { provider: "openai", api_key: secret, custom_host: hostAt(own) };
  const { slug } = await done<{ slug: string }>(
    call(gateway, "POST /configs", { key, body: { name: "Hosted", config } }),
  );
  const ask = async (headers: Record<string, string>, content: string) => {
    const response = await gateway.fetch("/v1/chat/completions", {
      method: "POST",
      headers: { "x-gateway-api-key": key, "content-type": "application/json", ...headers },
      body: JSON.stringify({ model: "m", messages: [{ role: "user", content }] }),
    });
    const text = await response.text();
    assert.deepEqual(
      upstream.requests.splice(0).map(({ path }) => path),
      pathOf(own),
    );
    const row = JSON.stringify(await waitForLog(gateway, response.headers.get("x-gateway-trace-id") ?? ""));
    // who names a host and a credential may see them in an error
    const others = "x-gateway-config" in headers ? [text, row] : [row];
    for (const one of others) assert.ok(!one.includes(own) && !one.includes(secret), one);
  };
  const named = {
    "x-gateway-provider": "openai",
    "x-gateway-custom-host": hostAt(own),
    authorization: `Bearer ${secret}`,
  };
  for (const content of ["hello", "fail please"]) {
    await ask({ "x-gateway-config": slug }, content);
    await ask(named, content);
  }
  const shownConfig = JSON.stringify(await done(call(gateway, `GET /configs/${slug}`, { key })));
  assert.ok(shownConfig.includes(shown()) && !shownConfig.includes(own), shownConfig);
  assert.ok(!stored().includes(own));
  const set = (custom_host: string, more: object = {}) =>
    problem(gateway, `PUT /configs/${slug}`, {
      key,
      body: { config: { ...config, api_key: "fa*****890", custom_host, ...more } },
    });
  const { config: written } = await done<{ config: string | Record<string, string> }>(
    call(gateway, `GET /configs/${slug}`, { key }),
  );
  const mask = Object(typeof written === "string" ? JSON.parse(written) : written).api_key;
  assert.equal(await set(shown(), { api_key: mask }), fine);
  await ask({ "x-gateway-config": slug }, "hello");
  assert.match(await set(hostAt(`${own}0a1b2`), { api_key: mask }), /^400 /);
});

test("a host that an earlier version stored in clear is sealed at the next start", async () => {
  const id = await create("older", hostAt("plain"));
  await gateway.close();
  const database = await openDatabase({ url });
  const clear = JSON.stringify({ custom_host: hostAt(planted) });
  await database.write([
    { sql: "UPDATE integrations SET configurations = ? WHERE id = ?", args: [clear, id] },
    { sql: "DELETE FROM installation WHERE name = 'integrations-sealed'", args: [] },
  ]);
  gateway = await createTestGateway({ database: url });
  const { rows } = await database.read(`SELECT configurations, masked FROM integrations WHERE id = '${id}'`);
  assert.equal(rows[0]?.configurations, "{}");
  assert.equal(JSON.parse(String(rows[0]?.masked))["configurations.custom_host"], shown());
  await database.close();
  assert.deepEqual((await chat("older")).paths, pathOf(planted));
});
