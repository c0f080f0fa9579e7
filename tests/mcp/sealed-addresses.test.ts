// Addresses of MCP integrations that may hold a credential: sealed where they are stored, masked where they are shown.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { openDatabase } from "../../src/db/client.ts";
import { call, done } from "../support/control.ts";
import {
  createTemporaryFolder,
  createTestGateway,
  type TestGateway,
  waitForLogs,
  workspaceKey,
} from "../support/gateway.ts";
import { problem } from "../support/people.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";
import { rpc } from "./support.ts";

const key = workspaceKey;
const folder = createTemporaryFolder();
const file = join(folder.path, "gateway.db");
const url = `file:${file}`;
let gateway: TestGateway;
let upstream: RecordingUpstream;
before(async () => {
  upstream = await startRecordingUpstream((request, response) => {
    const { id = null, method } = request.text === "" ? {} : JSON.parse(request.text);
    const about = {
      protocolVersion: "2025-06-18",
      capabilities: { tools: {} },
      serverInfo: { name: "s", version: "1" },
    };
    const result = method === "initialize" ? about : { tools: [] };
    response.writeHead(id === null ? 202 : 200, { "content-type": "application/json" });
    response.end(id === null ? "" : JSON.stringify({ jsonrpc: "2.0", id, result }));
  });
  gateway = await createTestGateway({ database: url });
});
after(async () => {
  await gateway.close();
  await upstream.close();
  folder.remove();
});

const planted = "NmY3ZGE5Zi0xYjJjLTRkM2UtYjRhNS";
/** Addresses with something that may be a secret, as paths, and how they are shown. */
const addresses: Readonly<Record<string, readonly [path: string, shown: string]>> = {
  "in-path": [`/s/${planted}/mcp`, "/s/*****/mcp"],
  "in-query": ["/mcp?k=hunter2", "/mcp?*****"],
  "in-both": [`/s/${planted}/mcp?profile=hunter2`, "/s/*****/mcp?*****"],
};

const on = (one: { gateway: TestGateway["gateway"] }) => ({
  create: async (slug: string, path: string, more: object = {}) => {
    const body = { name: slug, slug, url: `${upstream.url}${path}`, auth_type: "none", transport: "http", ...more };
    const { id } = await done<{ id: string }>(call(one, "POST /mcp-integrations", { key, body }));
    const server = { name: slug, slug, mcp_integration_id: slug };
    await done(call(one, "POST /mcp-servers", { key, body: server }));
    return id;
  },
  update: (slug: string, body: object) => problem(one, `PUT /mcp-integrations/${slug}`, { key, body }),
  /** Paths at which the server of an integration is asked. */
  paths: async (slug: string, trace: string = crypto.randomUUID()) => {
    upstream.requests.length = 0;
    const request = new Request(`http://gateway.test/m/${slug}/mcp`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${key}`,
        accept: "application/json, text/event-stream",
        "content-type": "application/json",
        "mcp-protocol-version": "2025-06-18",
        "x-gateway-trace-id": trace,
      },
      body: rpc("tools/list"),
    });
    const response = await one.gateway.fetch(request);
    await response.text();
    return [...new Set(upstream.requests.map(({ path }) => path))];
  },
});

const stored = () =>
  ["", "-wal"]
    .map((end) => {
      try {
        return readFileSync(file + end, "latin1");
      } catch {
        return "";
      }
    })
    .join("");

for (const [slug, [path, shown]] of Object.entries(addresses)) {
  test(`an address with a secret ${slug} is called in clear, stored sealed and shown masked`, async () => {
    const { create, paths } = on(gateway);
    await create(slug, path);
    const trace = `trace-${slug}`;
    assert.deepEqual(await paths(slug, trace), [path]);
    const [row] = await waitForLogs(gateway, `trace_id=${trace}`);
    assert.equal(row?.upstream_url, `${upstream.url}${shown.replace(/\?.*/, "")}`);
    const read = async (route: string) => JSON.stringify(await done(call(gateway, route, { key })));
    const seen = [
      await read(`GET /mcp-integrations/${slug}`),
      await read("GET /mcp-integrations"),
      await read(`GET /mcp-servers/${slug}`),
      await read("GET /mcp-servers"),
      await read(`POST /mcp-integrations/${slug}/test`),
      await read(`POST /mcp-servers/${slug}/test`),
    ];
    for (const text of seen) {
      assert.ok(text.includes(`${upstream.url}${shown}`), text);
      assert.ok(!text.includes(planted) && !text.includes("hunter2"), text);
    }
    assert.ok(!stored().includes(planted) && !stored().includes("hunter2"));
  });
}

test("an address that is sent back, masked or in clear, changes nothing, and another one takes its place", async () => {
  const { create, update, paths } = on(gateway);
  const configurations = { custom_headers: { authorization: "Bearer stored-secret-0123456789" } };
  const id = await create("moving", `/s/${planted}/mcp`, { auth_type: "headers", configurations });
  const fine = "200 undefined undefined";
  assert.equal(await update("moving", { name: "A", url: `${upstream.url}/s/*****/mcp` }), fine);
  assert.equal(await update("moving", { name: "B", url: `${upstream.url}/s/${planted}/mcp` }), fine);
  assert.deepEqual(await paths("moving"), [`/s/${planted}/mcp`]);
  assert.equal(await update("moving", { url: `${upstream.url}/s/*****/other` }), "400 AB01 url");
  // the secret of the header goes elsewhere only if it is given again
  const other = `/s/${planted.toLowerCase()}0a1b2/mcp`;
  assert.equal(await update("moving", { url: `${upstream.url}${other}` }), "400 AB01 url");
  assert.equal(await update("moving", { url: `${upstream.url}${other}`, configurations }), fine);
  assert.deepEqual(await paths("moving"), [other]);
  assert.equal(await update("moving", { url: `${upstream.url}/plain`, configurations }), fine);
  assert.deepEqual(await paths("moving"), ["/plain"]);
  const database = await openDatabase({ url });
  const { rows } = await database.read(`SELECT field FROM secrets WHERE record_id = '${id}' AND field = 'url'`);
  assert.equal(rows.length, 0);
  await database.close();
});

test("an address that an earlier version stored in clear is called, and sealed at the next start", async () => {
  const { create } = on(gateway);
  const id = await create("older", "/plain");
  await create("plainly", "/plain");
  await gateway.close();
  const database = await openDatabase({ url });
  const clear = `${upstream.url}/s/${planted}/mcp?k=hunter2`;
  const set = (address: string, where: string) => ({
    sql: `UPDATE mcp_integrations SET url = ? WHERE slug = ?`,
    args: [address, where],
  });
  await database.write([set(clear, "older")]);
  gateway = await createTestGateway({ database: url });
  // the scan was made before: it is called in clear
  assert.deepEqual(await on(gateway).paths("older"), [`/s/${planted}/mcp?k=hunter2`]);
  await gateway.close();
  await database.write([{ sql: "DELETE FROM installation WHERE name = 'addresses-sealed'", args: [] }]);
  gateway = await createTestGateway({ database: url });
  const { rows } = await database.read("SELECT slug, url FROM mcp_integrations WHERE slug IN ('older', 'plainly')");
  assert.deepEqual(rows.map(({ slug, url: address }) => [slug, address]).sort(), [
    ["older", `${upstream.url}/s/*****/mcp?*****`],
    ["plainly", `${upstream.url}/plain`],
  ]);
  const sealed = await database.read(`SELECT kind, field FROM secrets WHERE record_id = '${id}'`);
  assert.deepEqual(
    sealed.rows.map((row) => ({ ...row })),
    [{ kind: "mcp_integrations", field: "url" }],
  );
  await database.close();
  assert.deepEqual(await on(gateway).paths("older"), [`/s/${planted}/mcp?k=hunter2`]);
});
