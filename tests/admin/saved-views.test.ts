import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { SavedView } from "../../src/schemas/saved-views.ts";
import { call, done, refusal } from "../support/control.ts";
import { createTestGateway, workspaceKey } from "../support/gateway.ts";
import { addPerson, problem } from "../support/people.ts";

type View = import("valibot").InferOutput<typeof SavedView>;

const gateway = await createTestGateway({ inFile: true });
after(() => gateway.close());

const [{ id: workspaceId = "" } = {}] = (await done<{ data: { id: string }[] }>(call(gateway, "GET /admin/workspaces")))
  .data;
const add = (name: string, role: string) =>
  addPerson(gateway, `${name}@example.com`, { workspaces: [{ id: workspaceId, role }], scopes: ["logs.list"] });
const person = async (name: string, role: string) => (await add(name, role)).key;
const [ada, ben, mia] = [await person("ada", "member"), await person("ben", "member"), await person("mia", "manager")];

const make = async (key: string, body: object) =>
  (
    await done<{ id: string }>(
      call(gateway, "POST /saved-views", { key, body: { name: "A view", page: "logs", question: {}, ...body } }),
    )
  ).id;
const list = async (key: string, query = "") =>
  (await done<{ data: View[] }>(call(gateway, `GET /saved-views${query}`, { key }))).data;
const names = async (key: string, query = "") => (await list(key, query)).map(({ name }) => name).toSorted();
const refused = (key: string, body: object) =>
  problem(gateway, "POST /saved-views", { key, body: { name: "x", page: "logs", question: {}, ...body } });

test("a view is its author's until it is shared, and then everybody's", async () => {
  const question = {
    filters: { model: "gpt-5.2", "metadata.team": "<b>billing</b>", search: "order A-1042", status_code: "4xx,5xx" },
    range: { from: "2026-11-01", to: "2026-11-02T10:00:00Z" },
    columns: [{ name: "time" }, { name: "model", width: 12 }],
  };
  const id = await make(ada, { name: "Ada's <script>", question });
  assert.deepEqual(await names(ada), ["Ada's <script>"]);
  assert.deepEqual([await names(ben), await names(workspaceKey)], [[], []]);
  for (const route of [`GET /saved-views/${id}`, `PUT /saved-views/${id}/default`, `DELETE /saved-views/${id}`])
    assert.equal(await refusal(call(gateway, route, { key: ben })), "404 AB08", route);
  const view = await done<View>(call(gateway, `GET /saved-views/${id}`, { key: ada }));
  const range = { from: "2026-11-01T00:00:00.000Z", to: "2026-11-02T10:00:00.000Z" };
  assert.deepEqual(view.question, { ...question, range });
  assert.deepEqual([view.shared, view.pinned, view.is_default, view.page], [false, false, false, "logs"]);
  await done(call(gateway, `PUT /saved-views/${id}`, { key: ada, body: { shared: true, name: "For all" } }));
  assert.deepEqual([await names(ben), await names(mia)], [["For all"], ["For all"]]);
  assert.equal(
    await refusal(call(gateway, `PUT /saved-views/${id}`, { key: ben, body: { name: "Mine" } })),
    "403 AB03",
  );
  assert.equal(await refusal(call(gateway, `DELETE /saved-views/${id}`, { key: ben })), "403 AB03");
  await done(call(gateway, `PUT /saved-views/${id}`, { key: mia, body: { name: "Ours" } }));
  await done(call(gateway, `DELETE /saved-views/${id}`, { key: mia }));
  assert.deepEqual(await names(ada), []);
});

test("a page has one default view for each person, which goes with the view and with the person", async () => {
  const [one, two] = [await make(ada, { name: "one", shared: true }), await make(ada, { name: "two", shared: true })];
  const defaults = async (key: string) => (await list(key)).filter((view) => view.is_default).map(({ name }) => name);
  for (const id of [one, two]) await done(call(gateway, `PUT /saved-views/${id}/default`, { key: ben }));
  assert.deepEqual([await defaults(ben), await defaults(ada)], [["two"], []]);
  await done(call(gateway, `DELETE /saved-views/${one}/default`, { key: ben }));
  assert.deepEqual(await defaults(ben), ["two"], "another view is the default");
  await done(call(gateway, `DELETE /saved-views/${two}/default`, { key: ben }));
  assert.deepEqual(await defaults(ben), []);
  await done(call(gateway, `PUT /saved-views/${two}/default`, { key: ben }));
  await done(call(gateway, `DELETE /saved-views/${two}`, { key: ada }));
  const database = await gateway.openFile();
  const stored = async (column: string, table: string) =>
    (await database.read(`SELECT ${column} AS value FROM ${table}`)).rows.map(({ value }) => value);
  assert.deepEqual(await stored("view_id", "saved_view_defaults"), []);
  const eve = await add("eve", "member");
  await done(call(gateway, `PUT /saved-views/${await make(eve.key, { name: "Eve's" })}/default`, { key: eve.key }));
  await done(call(gateway, `DELETE /admin/workspaces/${workspaceId}/users/${eve.id}`));
  assert.deepEqual(
    [await stored("view_id", "saved_view_defaults"), await stored("name", "saved_views")],
    [[], ["one"]],
  );
  await done(call(gateway, `DELETE /saved-views/${one}`, { key: ada }));
});

test("what no page can ask is refused, with the member that is wrong", async () => {
  const cases: readonly (readonly [object, string])[] = [
    [{ page: "traces" }, "page"],
    [{ question: { filters: { colour: "red" } } }, "question.filters.colour"],
    [{ question: { filters: { status: "red" } } }, "question.filters.status"],
    [{ question: { filters: { from: "2026-01-01" } } }, "question.filters.from"],
    [{ question: { range: "1y" } }, "question.range"],
    [{ question: { range: {} } }, "question.range"],
    [{ question: { range: { from: "2026-02-01", to: "2026-01-01" } } }, "question.range"],
    [{ question: { colour: "red" } }, "question.colour"],
    [{ question: { columns: [{ name: "model", width: 400 }] } }, "question.columns.0.width"],
    [{ pinned: true }, "pinned"],
    [{ name: "" }, "name"],
  ];
  for (const [body, wanted] of cases) {
    assert.equal(await refused(ada, body), `400 AB01 ${wanted}`);
  }
});

test("pinned charts are listed for those who see them, and their number is bounded", async () => {
  const chart = { page: "analytics", pinned: true, question: { group: "metadata/team", figure: "cost", range: "30d" } };
  const ids: string[] = [];
  for (let turn = 0; turn < 12; turn++) ids.push(await make(ada, { ...chart, name: `chart ${turn}`, shared: true }));
  const own = await make(ada, { ...chart, name: "own" });
  await make(ada, { page: "analytics", name: "not pinned" });
  assert.equal(await refused(ben, { ...chart, shared: true }), "400 AB01 pinned");
  assert.equal(
    await refusal(call(gateway, `PUT /saved-views/${own}`, { key: ada, body: { shared: true } })),
    "400 AB01",
  );
  assert.equal((await list(ada, "?page=analytics&pinned=true")).length, 13);
  assert.equal((await list(ben, "?pinned=true")).length, 12);
  assert.deepEqual(await names(ada, "?pinned=false"), ["not pinned"]);
  await done(call(gateway, `PUT /saved-views/${ids[0]}`, { key: ada, body: { pinned: false } }));
  assert.equal((await list(ben, "?pinned=true")).length, 11);
});

test("a person has at most 100 views alone", async () => {
  for (let turn = 0; turn < 100; turn++) await make(mia, { name: `view ${turn}` });
  assert.equal(await refused(mia, {}), "400 AB01 name");
  await make(mia, { name: "shared", shared: true });
});
