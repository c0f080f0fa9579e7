import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, done } from "../support/control.ts";
import { createTestGateway, workspaceKey as key, type TestGateway } from "../support/gateway.ts";

let gateway: TestGateway;
before(async () => {
  gateway = await createTestGateway();
});
after(() => gateway.close());

test("notes are made, listed, changed and removed", async () => {
  const { id } = await done(call(gateway, "POST /notes", { key, body: { name: "a", content: "first" } }));
  await done(call(gateway, `PUT /notes/${id}`, { key, body: { content: "second" } }));
  const { total, data } = await done<{ total: number; data: Record<string, unknown>[] }>(
    call(gateway, "GET /notes", { key }),
  );
  assert.deepEqual([total, data[0]?.id, data[0]?.content, data[0]?.object], [1, id, "second", "note"]);
  const unknown = await call<{ error: { param: string } }>(gateway, "POST /notes", { key, body: { title: "a" } });
  assert.deepEqual([unknown.status, unknown.body.error.param], [400, "title"]);
  await done(call(gateway, `DELETE /notes/${id}`, { key }));
  assert.equal((await call(gateway, `GET /notes/${id}`, { key })).status, 404);
});
