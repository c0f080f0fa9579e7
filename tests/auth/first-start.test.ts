import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { readLookupId } from "../../src/auth/api-key.ts";
import { createMasterKeyText } from "../../src/auth/master-keys.ts";
import { openDatabase } from "../../src/db/client.ts";
import type { GatewayOptions } from "../../src/gateway/options.ts";
import { createGateway } from "../../src/gateway.ts";
import { nodeMac } from "../../src/serve/environment.ts";
import { createTemporaryFolder, createTestGateway, helloBody, masterKeys, requestHeaders } from "../support/gateway.ts";

/** Runs a test with the address of a database file that does not exist yet. */
async function withFile(run: (url: string) => Promise<void>): Promise<void> {
  const folder = createTemporaryFolder();
  try {
    await run(`file:${join(folder.path, "gateway.db")}`);
  } finally {
    folder.remove();
  }
}

const open = (database: string, options: GatewayOptions = {}) =>
  createGateway({ database, masterKeys, createMac: nodeMac, warn: () => {}, ...options });

async function statusOf(gateway: ReturnType<typeof open>, key: string): Promise<number> {
  const request = new Request("http://gateway.test/v1/chat/completions", {
    method: "POST",
    headers: requestHeaders({ "x-gateway-api-key": key }),
    body: JSON.stringify(helloBody),
  });
  return (await gateway.fetch(request)).status;
}

test("start() shows random keys once, and they work", async () => {
  await withFile(async (url) => {
    const gateway = open(url);
    const keys = await gateway.start();
    assert.ok(keys?.adminKey && keys.workspaceKey);
    for (const key of [keys.adminKey, keys.workspaceKey]) assert.ok(readLookupId(key, "gk"));
    assert.equal(await statusOf(gateway, keys.workspaceKey), 200);
    assert.equal(await statusOf(gateway, keys.adminKey), 403);
    await gateway.close();

    const again = open(url);
    assert.equal(await again.start(), undefined);
    assert.equal(await statusOf(again, keys.workspaceKey), 200, "the key outlives the process");
    await again.close();
  });
});

test("K2: start() stores no key and no secret unencrypted", async () => {
  await withFile(async (url) => {
    const gateway = open(url);
    const keys = await gateway.start();
    const database = await openDatabase({ url });
    const stored: unknown[] = [];
    for (const table of ["api_keys", "installation", "users", "organisations", "workspaces"]) {
      stored.push((await database.read(`SELECT * FROM ${table}`)).rows.map((row) => Object.values(row)));
    }
    const text = JSON.stringify(stored);
    for (const key of [keys?.adminKey, keys?.workspaceKey]) {
      assert.ok(key);
      assert.equal(text.includes(key), false);
      assert.equal(text.includes(key.slice(16)), false);
    }
    await database.close();
    await gateway.close();
  });
});

test("start() accepts bootstrap keys in any format and does not show them", async () => {
  await withFile(async (url) => {
    const bootstrap = { adminKey: "Admin.key~of/any+form=", workspaceKey: "workspace_key_of_any_form" };
    const gateway = open(url, { bootstrap });
    assert.deepEqual(await gateway.start(), { adminKey: null, workspaceKey: null });
    assert.equal(await statusOf(gateway, bootstrap.workspaceKey), 200);
    assert.equal(await statusOf(gateway, bootstrap.adminKey), 403);
    await gateway.close();
  });
});

test("start() uses bootstrap keys only when the database is empty", async () => {
  await withFile(async (url) => {
    const first = open(url, { bootstrap: { workspaceKey: "first-workspace-key-000" } });
    assert.equal((await first.start())?.workspaceKey, null);
    await first.close();
    const second = open(url, { bootstrap: { workspaceKey: "second-workspace-key-00" } });
    assert.equal(await second.start(), undefined);
    assert.equal(await statusOf(second, "first-workspace-key-000"), 200);
    assert.equal(await statusOf(second, "second-workspace-key-00"), 401);
    await second.close();
  });
});

for (const [name, bootstrap] of [
  ["an empty workspace key", { workspaceKey: "" }],
  ["a short admin key", { adminKey: "short" }],
  ["an example of the documentation", { workspaceKey: "your-gateway-api-key" }],
  ["the same key twice", { adminKey: "one-key-for-everything", workspaceKey: "one-key-for-everything" }],
] as const) {
  test(`K1: start() refuses ${name}`, async () => {
    await assert.rejects(open(":memory:", { bootstrap }).start(), TypeError);
  });
}

test("P1: start() fails with another master key and with none, and leaves the database as it was", async () => {
  await withFile(async (url) => {
    const first = open(url, { bootstrap: { workspaceKey: "first-workspace-key-000" } });
    await first.start();
    await first.close();
    await assert.rejects(open(url, { masterKeys: createMasterKeyText() }).start(), /another master key v1/);
    const none = createGateway({ database: url });
    await assert.rejects(none.start(), /GATEWAY_MASTER_KEYS/);
    const again = open(url);
    await again.start();
    assert.equal(await statusOf(again, "first-workspace-key-000"), 200);
    await again.close();
  });
});

test("start() opens an older database when its key is among those given", async () => {
  await withFile(async (url) => {
    const first = open(url, { bootstrap: { workspaceKey: "first-workspace-key-000" } });
    await first.start();
    await first.close();
    const rotated = open(url, { masterKeys: `${createMasterKeyText().replace("v1", "v2")},${masterKeys}` });
    await rotated.start();
    assert.equal(await statusOf(rotated, "first-workspace-key-000"), 200);
    await rotated.close();
  });
});

for (let round = 1; round <= 3; round++) {
  test(`D7: gateways that start together on an empty file make one installation (round ${round})`, async () => {
    await withFile(async (url) => {
      const gateways = Array.from({ length: 4 }, () => open(url));
      const shown = (await Promise.all(gateways.map((gateway) => gateway.start()))).filter(
        (keys) => keys !== undefined,
      );
      assert.equal(shown.length, 1, "one of them made it");
      const key = shown[0]?.workspaceKey ?? "";
      for (const gateway of gateways) assert.equal(await statusOf(gateway, key), 200);
      const database = await openDatabase({ url });
      for (const [table, rows] of [
        ["organisations", 1],
        ["workspaces", 1],
        ["users", 1],
        ["api_keys", 2],
        ["installation WHERE name = 'root-secret'", 1],
      ] as const) {
        const found = await database.read(`SELECT count(*) AS rows FROM ${table}`);
        assert.equal(Number(found.rows[0]?.rows), rows, table);
      }
      await database.close();
      for (const gateway of gateways) await gateway.close();
    });
  });
}

test("fetch() starts the gateway by itself", async () => {
  const gateway = open(":memory:", { bootstrap: { workspaceKey: "first-workspace-key-000" } });
  assert.equal(await statusOf(gateway, "first-workspace-key-000"), 200);
  await gateway.close();
});

test("createTestGateway() keeps gateways apart", async () => {
  const one = await createTestGateway({ bootstrap: { workspaceKey: "only-in-the-first-one-0" } });
  const two = await createTestGateway();
  assert.equal(await statusOf(one.gateway, "only-in-the-first-one-0"), 200);
  assert.equal(await statusOf(two.gateway, "only-in-the-first-one-0"), 401);
  await one.close();
  await two.close();
});
