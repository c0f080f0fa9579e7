import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Database } from "../../src/db/client.ts";
import { call, createOrganisation, done } from "../support/control.ts";
import { adminKey, chat, createTestGateway, type TestGateway, waitForLog, workspaceKey } from "../support/gateway.ts";
import { addPerson, problem } from "../support/people.ts";

let gateway: TestGateway;
let database: Database;
before(async () => {
  gateway = await createTestGateway({ inFile: true });
  database = await gateway.openFile();
});
after(async () => {
  await database.close();
  await gateway.close();
});

interface Saved {
  id: string;
  slug: string;
  version: number;
  examples: number;
  skipped: number;
}
interface Shown {
  index: number;
  endpoint: string;
  body: Record<string, unknown> | null;
  variables: Record<string, unknown> | null;
  expected: unknown;
  metadata: Record<string, string>;
  log_id: string | null;
}

const key = workspaceKey;
const ask = (content: string) => ({ body: { model: "echo-1", messages: [{ role: "user", content }] } });
const save = (body: object, own = key) => done<Saved>(call(gateway, "POST /example-sets", { key: own, body }));
const examplesOf = async (id: string, more = "", own = key) =>
  (await done<{ data: Shown[] }>(call(gateway, `GET /example-sets/${id}/examples${more}`, { key: own }))).data;

async function log(trace: string, content: string, more: Record<string, unknown> = {}, headers = {}) {
  const request = { ...ask(content).body, ...more };
  await (await chat(gateway, request, { "x-gateway-trace-id": trace, ...headers })).text();
  return (await waitForLog(gateway, trace)).id;
}

test("each save of examples is a new version, and earlier ones never change", async () => {
  const set = await save({ name: "Greetings", examples: [{ ...ask("Hello"), expected: "Hi", metadata: { a: "b" } }] });
  assert.deepEqual([set.version, set.examples, set.skipped], [1, 1, 0]);
  const path = `/example-sets/${set.id}`;
  const next = await done<Saved>(
    call(gateway, `POST ${path}/versions`, { key, body: { append: true, examples: [{ variables: { name: "Ada" } }] } }),
  );
  assert.deepEqual([next.version, next.examples], [2, 2]);
  const other = { examples: [ask("Bye")] };
  assert.equal((await done<Saved>(call(gateway, `POST ${path}/versions`, { key, body: other }))).examples, 1);
  assert.deepEqual(await examplesOf(set.id, "?version=2"), [
    {
      index: 0,
      endpoint: "/v1/chat/completions",
      ...ask("Hello"),
      variables: null,
      expected: "Hi",
      metadata: { a: "b" },
      log_id: null,
    },
    {
      index: 1,
      endpoint: "/v1/chat/completions",
      body: null,
      variables: { name: "Ada" },
      expected: null,
      metadata: {},
      log_id: null,
    },
  ]);
  // by its slug, and a page
  assert.equal((await examplesOf(set.slug, "?version=2&page_size=1&current_page=1"))[0]?.index, 1);
  assert.deepEqual(
    (await examplesOf(set.id)).map(({ body }) => body),
    [ask("Bye").body],
  );
  const { data } = await done<{ data: { version: number }[] }>(call(gateway, `GET ${path}/versions`, { key }));
  assert.deepEqual(data.map(({ version }) => version).toSorted(), [1, 2, 3]);
  await done(call(gateway, `PUT ${path}`, { key, body: { name: "Renamed" } }));
  const { data: sets } = await done<{ data: { name: string; version: number }[] }>(
    call(gateway, "GET /example-sets?search=Renam", { key }),
  );
  assert.deepEqual(
    sets.map(({ name, version }) => [name, version]),
    [["Renamed", 3]],
  );
  // what is stored is sealed, and no audit row shows it
  const { rows } = await database.read({ sql: "SELECT content FROM gateway_file_pieces", args: [] });
  const pieces = rows.map(({ content }) => new TextDecoder().decode(content as ArrayBuffer));
  assert.ok(pieces.length >= 3);
  assert.equal(pieces.join("").includes("Hello"), false);
  const range = "start_time=2020-01-01&end_time=2100-01-01";
  const audit = JSON.stringify(await done(call(gateway, `GET /audit-logs?${range}`, { key: adminKey })));
  assert.match(audit, /example_sets/);
  assert.equal(/Hello|Bye/.test(audit), false);
  await done(call(gateway, `DELETE ${path}`, { key }));
  assert.equal(await problem(gateway, `GET ${path}/examples`, { key }), "404 AB08 null");
  const left = await database.read({ sql: "SELECT id FROM example_set_versions WHERE set_id = ?", args: [set.id] });
  assert.equal(left.rows.length, 0);
});

test("rows of the log become examples with what they answered, in the order of the ids or by a filter", async () => {
  const metadata = { "x-gateway-metadata": JSON.stringify({ team: "blue" }) };
  const first = await log("plain", "One", {}, metadata);
  const streamed = await log("streamed", "Two", { stream: true }, metadata);
  await log("failed", "Three", {}, { ...metadata, "x-gateway-echo-status": "503" });
  const set = await save({ name: "From rows", logs: { ids: [streamed, first] } });
  const [two, one] = await examplesOf(set.id);
  assert.deepEqual([two?.log_id, one?.log_id], [streamed, first]);
  assert.deepEqual(one?.body, ask("One").body);
  assert.deepEqual(two?.body, ask("Two").body);
  assert.deepEqual([two?.expected, one?.expected], ["Two", "One"]);
  assert.deepEqual(one?.metadata, { team: "blue" });
  const filter = { "metadata.team": "blue" };
  const chosen = await save({ name: "Chosen", logs: { filter } });
  assert.deepEqual([chosen.examples, chosen.skipped], [2, 1]);
  const all = await save({ name: "All", logs: { filter, expected: "none", limit: 2 } });
  assert.deepEqual(
    (await examplesOf(all.id)).map(({ expected }) => expected),
    [null, null],
  );
  for (const [logs, wanted] of [
    [{ ids: ["01ARZ3NDEKTSV4RRFFQ69G5FAV"] }, "400 AB01 logs.ids.0"],
    [{ ids: [first], filter }, "400 AB01 logs"],
    [{ filter: { team: "x" } }, "400 AB01 logs.filter.team"],
    [{ filter: { "metadata.team": "nobody" } }, "400 AB01 logs.filter"],
    [{ filter, limit: 1_001 }, "400 AB01 logs.limit"],
  ] as const) {
    const body = { name: "x", logs };
    assert.equal(await problem(gateway, "POST /example-sets", { key, body }), wanted, JSON.stringify(logs));
  }
});

test("contents that were not stored, are hidden or another's are refused, and masks stay masks", async () => {
  const silent = await log("silent", "Quiet", {}, { "x-gateway-debug": "false" });
  const body = { name: "x", logs: { ids: [silent] } };
  assert.equal(await problem(gateway, "POST /example-sets", { key, body }), "400 AB01 logs.ids.0");
  const secret = await log("masked", "Say", { user: "u", api_key: "an-obvious-fake-secret-0001" });
  const set = await save({ name: "Masked", logs: { ids: [secret] } });
  const shown = JSON.stringify(await examplesOf(set.id));
  assert.equal(shown.includes("an-obvious-fake-secret"), false);
  assert.match(shown, /masked/);

  const { data: organisation } = await done<{ data: { id: string } }>(call(gateway, "GET /organisations/self"));
  const settings = (changes: object) => done(call(gateway, `PUT /organisations/${organisation.id}`, { body: changes }));
  await settings({ export_settings: { deniedFields: ["request"] } });
  const denied = { name: "x", logs: { ids: [secret] } };
  assert.equal(await problem(gateway, "POST /example-sets", { key, body: denied }), "403 AB03 logs");
  assert.equal(await problem(gateway, `GET /example-sets/${set.id}/examples`, { key }), "403 AB03 logs");
  await settings({ export_settings: { deniedFields: [] } });

  const { data: spaces } = await done<{ data: { id: string }[] }>(call(gateway, "GET /admin/workspaces"));
  const workspaces = [{ id: spaces[0]?.id ?? "", role: "member" }];
  const scopes = ["prompts.create", "prompts.read", "prompts.list", "logs.view", "completions.write"];
  const member = await addPerson(gateway, "member@example.com", { workspaces, scopes });
  assert.equal((await examplesOf(set.id, "", member.key)).length, 1);
  const security = (changes: object) =>
    done(call(gateway, `PUT /organisations/${organisation.id}`, { body: { security_settings: changes } }));
  await security({ membersViewAllData: false });
  assert.equal(await problem(gateway, `GET /example-sets/${set.id}/examples`, { key: member.key }), "403 AB03 null");
  assert.equal(await problem(gateway, "POST /example-sets", { key: member.key, body: denied }), "400 AB01 logs.ids.0");
  await security({ membersViewAllData: true, membersViewLogs: false });
  assert.equal(await problem(gateway, "POST /example-sets", { key: member.key, body: denied }), "403 AB03 logs");
  const typed = await save({ name: "Typed", examples: [ask("Hello")] });
  assert.equal(await problem(gateway, `GET /example-sets/${typed.id}/examples`, { key: member.key }), "403 AB03 null");
  await security({ membersViewLogs: true });
});

test("examples are uploaded as JSON Lines, and a wrong line is named", async () => {
  const upload = async (text: string) => {
    const form = new FormData();
    form.append("purpose", "evals");
    form.append("file", new File([text], "examples.jsonl"));
    const headers = { "x-gateway-api-key": key };
    const request = new Request("http://gateway.test/v1/files", { method: "POST", headers, body: form });
    const { id } = (await (await gateway.gateway.fetch(request)).json()) as { id: string };
    return id;
  };
  const lines = [ask("One"), { endpoint: "/v1/responses", body: { input: "Two" }, expected: { a: 1 } }];
  const file_id = await upload(`${lines.map((line) => JSON.stringify(line)).join("\n\n")}\r\n`);
  const set = await save({ name: "Uploaded", file_id });
  assert.deepEqual(
    (await examplesOf(set.id)).map(({ endpoint, expected }) => [endpoint, expected]),
    [
      ["/v1/chat/completions", null],
      ["/v1/responses", { a: 1 }],
    ],
  );
  const messages = async (text: string) => {
    const body = { name: "x", file_id: await upload(text) };
    return JSON.stringify((await call(gateway, "POST /example-sets", { key, body })).body);
  };
  assert.match(await messages('{"body":{}}\nnonsense'), /line 2 must be a JSON object/);
  assert.match(await messages('{"expected":"x"}'), /line 1: must have a body or variables/);
  assert.match(await messages(`${'{"body":{}}\n'.repeat(1_001)}`), /must have at most 1000 examples/);
  assert.match(await messages(`{"body":{"a":"${"x".repeat(2 ** 20)}"}}`), /line 1 must have at most 1 MiB/);
  const deep = `{"body":${"[".repeat(1_500)}${"]".repeat(1_500)}}`;
  assert.match(await messages(deep), /line 1 /);
  assert.equal(
    await problem(gateway, "POST /example-sets", { key, body: { name: "x", file_id: "f" } }),
    "404 AB02 file_id",
  );
});

test("sets that cannot be are refused with the field, and those of other tenants are not found", async () => {
  for (const [more, wanted] of [
    [{}, "400 AB01 null"],
    [{ examples: [] }, "400 AB01 examples"],
    [{ examples: [{}] }, "400 AB01 examples.0"],
    [{ examples: [{ ...ask("x"), endpoint: "/v1/embeddings" }] }, "400 AB01 examples.0.endpoint"],
    [{ examples: [{ ...ask("x"), other: 1 }] }, "400 AB01 examples.0.other"],
    [{ examples: [ask("x")], logs: { filter: {} } }, "400 AB01 null"],
    [{ examples: [ask("x")], retention_days: 0 }, "400 AB01 retention_days"],
    [{ examples: [ask("x")], slug: "a b" }, "400 AB01 slug"],
  ] as const) {
    const body = { name: "x", ...more };
    assert.equal(await problem(gateway, "POST /example-sets", { key, body }), wanted, JSON.stringify(more));
  }
  const set = await save({ name: "Own", slug: "own", examples: [ask("x")] });
  const taken = { name: "Own", slug: "own", examples: [ask("x")] };
  assert.equal(await problem(gateway, "POST /example-sets", { key, body: taken }), "409 AB07 slug");
  const other = await createOrganisation(database, "elsewhere");
  const foreign = { key: other.workspaceKey };
  for (const route of ["", "/examples", "/versions"]) {
    assert.equal(await problem(gateway, `GET /example-sets/${set.id}${route}`, foreign), "404 AB08 null");
  }
  const body = { examples: [ask("y")] };
  assert.equal(await problem(gateway, `POST /example-sets/${set.id}/versions`, { ...foreign, body }), "404 AB08 null");
  assert.equal(await problem(gateway, `DELETE /example-sets/${set.id}`, foreign), "404 AB08 null");
  const row = await log("owned", "Mine");
  const stolen = { name: "x", logs: { ids: [row] } };
  assert.equal(await problem(gateway, "POST /example-sets", { ...foreign, body: stolen }), "400 AB01 logs.ids.0");
});

test("examples go with their time and with the retention of the log, and with their workspace", async () => {
  const { data: organisation } = await done<{ data: { id: string } }>(call(gateway, "GET /organisations/self"));
  await done(call(gateway, `PUT /organisations/${organisation.id}`, { body: { log_retention_days: 5 } }));
  const id = await log("bounded", "Soon gone");
  const set = await save({ name: "Short", retention_days: 9, examples: [ask("x")] });
  const daysOf = async (version: number) => {
    const path = `GET /example-sets/${set.id}/versions`;
    type Version = { version: number; created_at: string; expires_at: string };
    const { data } = await done<{ data: Version[] }>(call(gateway, path, { key }));
    const found = data.find((one) => one.version === version);
    return (Date.parse(found?.expires_at ?? "") - Date.parse(found?.created_at ?? "")) / 86_400_000;
  };
  assert.equal(await daysOf(1), 9);
  await done(call(gateway, `POST /example-sets/${set.id}/versions`, { key, body: { logs: { ids: [id] } } }));
  assert.equal(await daysOf(2), 5);
  // what follows examples of the log is bounded as they are
  const more = { append: true, examples: [ask("y")] };
  await done(call(gateway, `POST /example-sets/${set.id}/versions`, { key, body: more }));
  assert.equal(await daysOf(3), 5);
  await database.write([{ sql: "UPDATE gateway_files SET expires_at = 1 WHERE purpose = 'examples'", args: [] }]);
  assert.equal(await problem(gateway, `GET /example-sets/${set.id}/examples`, { key }), "404 AB08 null");

  const space = await done<{ id: string }>(call(gateway, "POST /admin/workspaces", { body: { name: "Gone" } }));
  await done(
    call(gateway, "POST /example-sets", { body: { name: "In it", workspace_id: space.id, examples: [ask("x")] } }),
  );
  await done(call(gateway, `DELETE /admin/workspaces/${space.id}`, { body: { name: "Gone" } }));
  const sql = "SELECT id FROM example_sets WHERE workspace_id = ?";
  assert.equal((await database.read({ sql, args: [space.id] })).rows.length, 0);
});
