import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { mintApiKey } from "../../src/auth/api-key.ts";
import { scopesOfKind } from "../../src/auth/scopes.ts";
import type { Database } from "../../src/db/client.ts";
import { createFeedbackStore } from "../../src/db/stores/feedback.ts";
import { call, done } from "../support/control.ts";
import {
  adminKey,
  createTestGateway,
  insertKey,
  insertTenant,
  type TestGateway,
  workspaceKey,
} from "../support/gateway.ts";
import { addPerson } from "../support/people.ts";

let gateway: TestGateway;
let database: Database;
const foreignKey = mintApiKey("gk").key;
before(async () => {
  gateway = await createTestGateway({ inFile: true });
  database = await gateway.openFile();
  await insertTenant(database, foreignKey);
});
after(() => gateway.close());

interface Receipt {
  status: string;
  feedback_ids: string[];
}

const post = (body: unknown, key: string = workspaceKey) => call<Receipt>(gateway, "POST /feedback", { key, body });
const put = (id: string, body: unknown, key: string = workspaceKey) =>
  call<Receipt>(gateway, `PUT /feedback/${id}`, { key, body });

async function stored(id: string) {
  const { rows } = await database.read({ sql: "SELECT * FROM feedback WHERE id = ?", args: [id] });
  const [row] = rows;
  return { trace: row?.trace_id, value: row?.value, weight: row?.weight, metadata: JSON.parse(String(row?.metadata)) };
}

test("POST /feedback stores one feedback", async () => {
  const { feedback_ids, status } = await done(
    post({ trace_id: "a", value: -10, weight: 0.5, metadata: { by: "x", n: 1, ["k".repeat(200)]: "v".repeat(200) } }),
  );
  assert.equal(status, "success");
  const metadata = { by: "x", n: "1", ["k".repeat(128)]: "v".repeat(128) };
  assert.deepEqual(await stored(feedback_ids[0] ?? ""), { trace: "a", value: -10, weight: 0.5, metadata });
});

test("POST /feedback stores a list in its order, several for one trace", async () => {
  const { feedback_ids } = await done(post([1, 2, 3].map((value) => ({ trace_id: "b", value }))));
  const found = await Promise.all(feedback_ids.map(stored));
  assert.deepEqual(
    found.map(({ value, weight }) => [value, weight]),
    [
      [1, 1],
      [2, 1],
      [3, 1],
    ],
  );
});

for (const [weight, wanted] of [
  [0, 0],
  [1, 1],
  [1.5, 1],
  [-0.1, 1],
  [null, 1],
] as const) {
  test(`a weight of ${weight} counts as ${wanted}`, async () => {
    const { feedback_ids } = await done(post({ trace_id: "w", value: 1, weight }));
    assert.equal((await stored(feedback_ids[0] ?? "")).weight, wanted);
  });
}

for (const [name, body] of [
  ["a value above 10", { trace_id: "a", value: 11 }],
  ["a value below -10", { trace_id: "a", value: -11 }],
  ["a fraction", { trace_id: "a", value: 1.5 }],
  ["a string", { trace_id: "a", value: "5" }],
  ["no value", { trace_id: "a" }],
  ["no trace", { value: 1 }],
  ["an empty trace", { trace_id: "", value: 1 }],
  ["a trace too long", { trace_id: "t".repeat(257), value: 1 }],
  ["a weight that is no number", { trace_id: "a", value: 1, weight: "1" }],
  ["metadata that is a list", { trace_id: "a", value: 1, metadata: [1] }],
  ["an empty list", []],
  ["a list too long", Array.from({ length: 101 }, () => ({ trace_id: "a", value: 1 }))],
  ["a list with one that is wrong", [{ trace_id: "a", value: 1 }, { trace_id: "a" }]],
] as const) {
  test(`POST /feedback refuses ${name} and stores nothing`, async () => {
    const count = async () => (await database.read("SELECT count(*) AS n FROM feedback")).rows[0]?.n;
    const stands = await count();
    assert.equal((await post(body)).status, 400);
    assert.equal(await count(), stands);
  });
}

test("POST /feedback names the field that is wrong", async () => {
  const { body } = await call<{ error: { param: string } }>(gateway, "POST /feedback", {
    key: workspaceKey,
    body: { trace_id: "a", value: 11 },
  });
  assert.equal(body.error.param, "value");
});

test("PUT /feedback/{id} changes value and weight, and metadata if it is given", async () => {
  const { feedback_ids } = await done(post({ trace_id: "c", value: 1, weight: 0.5, metadata: { by: "x" } }));
  const id = feedback_ids[0] ?? "";
  assert.deepEqual((await done(put(id, { value: 7 }))).feedback_ids, [id]);
  assert.deepEqual(await stored(id), { trace: "c", value: 7, weight: 1, metadata: { by: "x" } });
  await done(put(id, { value: 8, weight: 0.25, metadata: {} }));
  assert.deepEqual(await stored(id), { trace: "c", value: 8, weight: 0.25, metadata: {} });
});

test("PUT /feedback/{id} finds no unknown feedback, and none of another tenant", async () => {
  const { feedback_ids } = await done(post({ trace_id: "d", value: 1 }));
  const id = feedback_ids[0] ?? "";
  assert.equal((await put(id, { value: 9 }, foreignKey)).status, 404);
  assert.equal((await put(crypto.randomUUID(), { value: 9 })).status, 404);
  assert.equal((await put("no-id", { value: 9 })).status, 404);
  assert.equal((await put(id, { value: 11 })).status, 400);
  assert.equal((await stored(id)).value, 1);
});

test("feedback is changed by the key that gave it or an admin of the workspace, and the audit log has the former value", async () => {
  const { id: workspaceId } = await done(call<{ id: string }>(gateway, "GET /admin/workspaces/default"));
  const scopes = ["logs.write"];
  const create = async (email: string, role: string) =>
    (await addPerson(gateway, email, { workspaces: [{ id: workspaceId, role }], scopes })).key;
  const [giver, other, admin] = await Promise.all([
    create("giver@example.com", "member"),
    create("other@example.com", "manager"),
    create("admin@example.com", "admin"),
  ]);
  const { feedback_ids } = await done(post({ trace_id: "f", value: -5 }, giver));
  const id = feedback_ids[0] ?? "";
  assert.equal((await put(id, { value: 9 }, other)).status, 404);
  assert.equal((await put(id, { value: 9 })).status, 404);
  assert.equal((await stored(id)).value, -5);
  await done(put(id, { value: 2 }, giver));
  await done(put(id, { value: 3 }, admin));
  const { rows } = await database.read(
    "SELECT request_body FROM audit_logs WHERE resource_type = 'feedback' ORDER BY seq",
  );
  const audited = rows.map(({ request_body }) => JSON.parse(String(request_body)));
  assert.deepEqual(
    audited.filter(({ trace_id }) => trace_id === "f").map(({ former, feedback }) => [former.value, feedback.value]),
    [
      [-5, 2],
      [2, 3],
    ],
  );
});

test("feedback is for workspace keys with logs.write or completions.write", async () => {
  const body = { trace_id: "e", value: 1 };
  assert.equal((await post(body, adminKey)).status, 403);
  assert.equal((await put(crypto.randomUUID(), body, adminKey)).status, 403);
  const status = async (scopes: readonly string[]) => {
    const { key } = mintApiKey("gk");
    await insertKey(database, key, { scopes: JSON.stringify(scopes) });
    return (await post(body, key)).status;
  };
  assert.equal(await status(["logs.write"]), 200);
  assert.equal(await status(["completions.write"]), 200);
  const others = scopesOfKind("workspace-service").filter((scope) => !/^(?:logs|completions)\.write$/.test(scope));
  assert.equal(await status(others), 403);
});

test("purge() removes old feedback, and so many at a time", async () => {
  const store = createFeedbackStore(database);
  const { feedback_ids } = await done(post([1, 2, 3].map((value) => ({ trace_id: "old", value }))));
  await database.write([
    {
      sql: "UPDATE feedback SET created_at = 5 WHERE id IN (SELECT value FROM json_each(?))",
      args: [JSON.stringify(feedback_ids)],
    },
  ]);
  assert.equal(await store.purge(5, 10), 0);
  assert.equal(await store.purge(6, 2), 2);
  assert.equal(await store.purge(6, 2), 1);
  assert.equal(await store.purge(6, 2), 0);
});
