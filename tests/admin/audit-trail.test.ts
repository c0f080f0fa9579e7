import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { adminEndpoints } from "../../src/admin/endpoints.ts";
import { isAdminEndpoint } from "../../src/endpoint.ts";
import { call, done } from "../support/control.ts";
import {
  chat,
  createTemporaryFolder,
  createTestClock,
  createTestGateway,
  type TestGateway,
  workspaceKey,
} from "../support/gateway.ts";

const folder = createTemporaryFolder();
// in one minute a key leaves rows for its first refusals only
const clock = createTestClock();
let gateway: TestGateway;
before(async () => {
  gateway = await createTestGateway({ clock, database: `file:${join(folder.path, "gateway.db")}` });
});
after(async () => {
  await gateway.close();
  folder.remove();
});

interface AuditPage {
  total: number;
  records: Record<string, unknown>[];
}

const times = "start_time=2020-01-01T00:00:00Z&end_time=2100-01-01T00:00:00Z";
const readLog = () => done<AuditPage>(call<AuditPage>(gateway, `GET /audit-logs?${times}&page_size=1`));

const writes = adminEndpoints.filter(isAdminEndpoint).filter(({ method }) => method !== "GET");

for (const { method, path, access } of writes) {
  test(`${method} ${path} leaves one audit row, successful or refused`, async () => {
    clock.advance(60_000);
    const before = (await readLog()).total;
    const asked = path.slice(3).replace(/:\w+/g, () => crypto.randomUUID());
    const body = { name: "x", key: "fake-secret-in-a-body", token: "fake-secret-in-a-body" };
    for (const [index, key] of [undefined, workspaceKey].entries()) {
      const { status } = await call(gateway, `${method} ${asked}`, { ...(key && { key }), body });
      const { total, records } = await readLog();
      assert.equal(total, before + index + 1);
      const [newest] = records;
      assert.deepEqual(
        [newest?.method, newest?.uri, newest?.response_status_code, newest?.client_ip, newest?.user_type],
        [method, `/v1${asked}`, status, "192.0.2.1", "api_key"],
      );
      assert.ok(newest?.timestamp && newest.user_id && newest.resource_type && newest.action, JSON.stringify(newest));
      assert.ok(!JSON.stringify(newest).includes("fake-secret-in-a-body"), JSON.stringify(newest));
    }
    assert.notEqual(access, "public");
  });
}

test("an audit row has the numbers of a body as they were sent", async () => {
  clock.advance(60_000);
  const config = { override_params: { seed: "SEED" } };
  const body = JSON.stringify({ name: "Seeded", config }).replace('"SEED"', "12345678901234567890");
  await done(call(gateway, "POST /configs", { key: workspaceKey, body }));
  const { records } = await readLog();
  assert.match(JSON.stringify(records[0]), /12345678901234567890/);
});

test("reads leave no audit row", async () => {
  const before = (await readLog()).total;
  await done(call(gateway, "GET /configs"));
  await call(gateway, `GET /configs/${crypto.randomUUID()}`);
  assert.equal((await readLog()).total, before);
});

test("the database file holds no gateway key and no provider secret in clear", async () => {
  const secret = "fake-provider-secret-7c1f0a";
  const virtualKey = { name: "Sealed", slug: "sealed", provider: "openai", key: secret };
  await done(call(gateway, "POST /virtual-keys", { key: workspaceKey, body: virtualKey }));
  const newKey = { name: "Hidden", workspace_id: "default", scopes: ["completions.write"] };
  const made = await done<{ id: string; key: string }>(
    call<{ id: string; key: string }>(gateway, "POST /api-keys/workspace/service", { body: newKey }),
  );
  const rotated = await done<{ key: string }>(
    call<{ key: string }>(gateway, `POST /api-keys/${made.id}/rotate`, { body: {} }),
  );
  for (const key of [made.key, rotated.key]) {
    assert.equal((await chat(gateway, undefined, { "x-gateway-api-key": key })).status, 200);
  }
  await gateway.gateway.drain(1_000);
  await gateway.close();
  const bytes = readdirSync(folder.path).map((name) => readFileSync(join(folder.path, name)).toString("latin1"));
  assert.ok(bytes.some((text) => text.includes("Sealed")));
  for (const text of bytes) {
    for (const hidden of [secret, made.key, rotated.key, workspaceKey]) assert.ok(!text.includes(hidden));
  }
});
