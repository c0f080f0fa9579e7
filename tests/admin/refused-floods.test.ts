import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, done } from "../support/control.ts";
import { eventually } from "../support/eventually.ts";
import { createTestClock, createTestGateway, type TestGateway } from "../support/gateway.ts";

// A flood of refusals hides no refusal of another kind.

const clock = createTestClock();
let gateway: TestGateway;
let weak: { id: string; key: string };
before(async () => {
  gateway = await createTestGateway({ inFile: true, clock });
  const body = { name: "Weak", workspace_id: "default", scopes: ["completions.write"] };
  weak = await done(call<{ id: string; key: string }>(gateway, "POST /api-keys/workspace/service", { body }));
});
after(() => gateway.close());

interface AuditRow {
  method: string;
  uri: string;
  action: string;
  response_status_code: number;
  request_body: string;
  user_id: string;
}

async function rowsOf(userId: string): Promise<AuditRow[]> {
  const { rows } = await (await gateway.openFile()).read({
    sql: "SELECT * FROM audit_logs WHERE user_id = ? ORDER BY seq",
    args: [userId],
  });
  return rows as unknown as AuditRow[];
}

test("after many harmless refusals, one of another route or status has a separate row", async () => {
  for (let count = 0; count < 70; count++) {
    await call(gateway, `DELETE /configs/none-${count}`, { key: weak.key });
  }
  const before = (await rowsOf(weak.id)).length;
  assert.equal(before, 60);
  const body = { name: "Mine", scopes: ["organisation_settings.update"] };
  assert.equal((await call(gateway, "POST /api-keys/organisation/service", { key: weak.key, body })).status, 403);
  const newest = (await rowsOf(weak.id)).at(-1);
  assert.deepEqual(
    [newest?.method, newest?.uri, Number(newest?.response_status_code)],
    ["POST", "/v1/api-keys/organisation/service", 403],
  );
});

test("the counted refusals are written when their minute ends, without another refusal, with routes and counts", async () => {
  for (let count = 0; count < 5; count++) await call(gateway, "POST /configs", { key: weak.key, body: {} });
  clock.advance(60_000);
  const summaryOf = async () => (await rowsOf(weak.id)).find(({ action }) => action === "refuse");
  await eventually("the summary is written", async () => (await summaryOf()) !== undefined);
  const { refused, routes } = JSON.parse((await summaryOf())?.request_body ?? "{}");
  assert.equal(refused, 12);
  assert.deepEqual(routes, [
    { method: "POST", path: "/v1/configs", status: 403, refused: 2 },
    { method: "DELETE", path: "/v1/configs/:slug", status: 403, refused: 10 },
  ]);
});
