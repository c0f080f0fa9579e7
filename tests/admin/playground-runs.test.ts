import assert from "node:assert/strict";
import { after, test } from "node:test";
import { call, done, refusal } from "../support/control.ts";
import { createTestGateway, workspaceKey } from "../support/gateway.ts";
import { addPerson, problem } from "../support/people.ts";

const gateway = await createTestGateway({ inFile: true });
after(() => gateway.close());

const [{ id: workspaceId = "" } = {}] = (await done<{ data: { id: string }[] }>(call(gateway, "GET /admin/workspaces")))
  .data;
const add = (name: string, role = "member") =>
  addPerson(gateway, `${name}@example.com`, { workspaces: [{ id: workspaceId, role }], scopes: ["completions.write"] });
const [ada, ben] = [await add("ada"), await add("ben")];

const secret = `sk-ant-api03-${"A1b2C3d4".repeat(11)}AA`;
const contents = {
  messages: [{ role: "user", text: `My key is ${secret}` }],
  columns: [{ parameters: { extra: JSON.stringify({ api_key: "a-plain-secret-value" }) }, turns: [{ cost: 0.01 }] }],
};
const make = async (key: string, body: object = {}) =>
  (
    await done<{ id: string }>(
      call(gateway, "POST /playground-runs", { key, body: { name: "A run", contents, ...body } }),
    )
  ).id;
const names = async (key: string) =>
  (await done<{ data: { name: string }[] }>(call(gateway, "GET /playground-runs", { key }))).data.map(
    ({ name }) => name,
  );
const show = (id: string, key: string) => call<{ contents: object }>(gateway, `GET /playground-runs/${id}`, { key });
const stored = async (sql: string) => (await (await gateway.openFile()).read(sql)).rows;
const settings = async (body: object) => {
  const { data } = await done<{ data: { id: string } }>(call(gateway, "GET /organisations/self"));
  await done(call(gateway, `PUT /organisations/${data.id}`, { body }));
};

test("a run is its author's until it is shared; what it holds has no credential, and is stored encrypted", async () => {
  const id = await make(ada.key, { models: ["echo-1"] });
  const { body } = await show(id, ada.key);
  const text = JSON.stringify(body.contents);
  assert.ok(!text.includes(secret) && !text.includes("a-plain-secret-value"), text);
  assert.ok(text.includes("My key is "));
  assert.deepEqual([await names(ben.key), (await show(id, ben.key)).status], [[], 404]);
  await done(call(gateway, `PUT /playground-runs/${id}`, { key: ada.key, body: { shared: true, name: "For all" } }));
  assert.deepEqual([await names(ben.key), (await show(id, ben.key)).status], [["For all"], 200]);
  assert.equal(await refusal(call(gateway, `DELETE /playground-runs/${id}`, { key: ben.key })), "403 AB03");
  const [file] = await stored("SELECT * FROM gateway_files WHERE purpose = 'playground'");
  assert.ok(!JSON.stringify(file).includes("My key"));
  await done(call(gateway, `DELETE /playground-runs/${id}`, { key: ada.key }));
  const [left] = await stored("SELECT status FROM gateway_files WHERE purpose = 'playground'");
  assert.deepEqual([await names(ada.key), left?.status ?? "deleted"], [[], "deleted"]);
});

test("a workspace that stores no contents stores no runs, and contents go with the retention of the log", async () => {
  const kept = await make(ada.key, { shared: true });
  await settings({ log_retention_days: 7 });
  const id = await make(ada.key);
  const [row] = await stored(`SELECT expires_at - created_at AS days FROM playground_runs WHERE id = '${id}'`);
  assert.equal(row?.days, 7 * 86_400_000);
  const [file] = await stored(
    `SELECT f.expires_at - r.expires_at AS less FROM gateway_files f JOIN playground_runs r ON r.file_id = f.id WHERE r.id = '${id}'`,
  );
  assert.equal(file?.less, 0);
  await settings({ debug_log: 0 });
  assert.equal(
    await refusal(call(gateway, "POST /playground-runs", { key: ada.key, body: { name: "x", contents } })),
    "403 AB03",
  );
  await settings({ debug_log: 1, security_settings: { membersViewLogs: false } });
  assert.equal((await show(kept, ada.key)).status, 200, "her own");
  assert.equal((await show(kept, ben.key)).status, 403, "a role that may not see contents");
  assert.equal((await show(kept, workspaceKey)).status, 200);
});

test("the audit log has neither the contents of runs nor those of refused ones", async () => {
  await make(ada.key, { name: "Audited" });
  await refusal(call(gateway, "POST /playground-runs", { key: ada.key, body: { name: "", contents } }));
  const rows = await stored("SELECT request_body FROM audit_logs WHERE resource_type = 'playground_runs'");
  assert.ok(rows.length > 1 && JSON.stringify(rows).includes("Audited"));
  assert.ok(!JSON.stringify(rows).includes("My key"));
});

test("what is not a run is refused, and the runs of a person go when the person leaves", async () => {
  const refused = (body: object) => problem(gateway, "POST /playground-runs", { key: ben.key, body });
  assert.equal(await refused({ name: "x" }), "400 AB01 contents");
  assert.equal(await refused({ name: "x", contents: [] }), "400 AB01 contents");
  assert.equal(await refused({ name: "", contents }), "400 AB01 name");
  assert.equal(await refused({ name: "x", contents, models: Array(9).fill("m") }), "400 AB01 models");
  assert.equal(await refused({ name: "x", contents: { long: "x".repeat(8 * 1024 * 1024) } }), "400 AB01 contents");
  await make(ben.key, { name: "Ben's" });
  await done(call(gateway, `DELETE /admin/workspaces/${workspaceId}/users/${ben.id}`));
  assert.deepEqual(await stored("SELECT name FROM playground_runs WHERE name = 'Ben''s'"), []);
});
