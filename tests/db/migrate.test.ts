import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { createClient } from "@libsql/client/sqlite3";
import { type Database, openDatabase, type Statement } from "../../src/db/client.ts";
import { migrate } from "../../src/db/migrate.ts";
import { migrations } from "../../src/db/migrations/migrations.ts";
import { createTemporaryFolder } from "../support/gateway.ts";

const tables = ["api_keys", "installation", "log_batches", "log_bodies", "organisations", "users", "workspaces"];

test("migrate() makes every table", async () => {
  const database = await openDatabase({ url: ":memory:" });
  await migrate(database);
  const { rows } = await database.read("SELECT name FROM sqlite_master WHERE type = 'table'");
  const names = rows.map(({ name }) => String(name));
  for (const table of tables) assert.ok(names.includes(table), table);
  await database.close();
});

test("D7: migrate() run twice changes nothing the second time", async () => {
  const database = await openDatabase({ url: ":memory:" });
  await migrate(database);
  const schema = async () =>
    (await database.read("SELECT sql FROM sqlite_master ORDER BY name")).rows.map(({ sql }) => sql);
  const marks = async () =>
    (await database.read("SELECT * FROM migrations ORDER BY id")).rows.map((row) => ({ ...row }));
  const before = [await schema(), await marks()];
  await migrate(database);
  assert.deepEqual([await schema(), await marks()], before);
  assert.deepEqual(
    (await marks()).map(({ id }) => id),
    migrations.map(({ id }) => id),
  );
  await database.close();
});

test("migrate() gives an empty database the same schema as the single migrations", async () => {
  const schemaOf = async (prepare: (database: Database) => Promise<unknown>) => {
    const database = await openDatabase({ url: ":memory:" });
    await prepare(database);
    const { rows } = await database.read("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name");
    await database.close();
    return rows.filter(({ name }) => name !== "migrations").map((row) => ({ ...row }));
  };
  const stepwise = await schemaOf(async (database) => {
    for (const { statements } of migrations) await database.write(statements);
  });
  const isIndexOfMarks = ({ tbl_name }: Record<string, unknown>) => tbl_name === "migrations";
  const direct = (await schemaOf(migrate)).filter((row) => !isIndexOfMarks(row));
  assert.deepEqual(direct, stepwise);
});

test("migrate() applies what a database of an earlier version lacks", async () => {
  const database = await openDatabase({ url: ":memory:" });
  await database.write(["CREATE TABLE migrations (id TEXT PRIMARY KEY NOT NULL, applied_at INTEGER NOT NULL)"]);
  const [first, ...later] = migrations;
  await database.write([
    { sql: "INSERT INTO migrations (id, applied_at) VALUES (?, 0)", args: [first?.id ?? ""] },
    ...(first?.statements ?? []),
  ]);
  await migrate(database);
  const { rows } = await database.read("SELECT id FROM migrations WHERE applied_at > 0 ORDER BY id");
  assert.deepEqual(
    rows.map(({ id }) => id),
    later.map(({ id }) => id),
  );
  await database.close();
});

test("migrate() refuses a schema of a newer version, and leaves it as it is, unless its mark allows earlier ones", async () => {
  const last = migrations.at(-1)?.id ?? "";
  const apply = (id: string, since: string | null): Statement => ({
    sql: "INSERT INTO migrations (id, applied_at, readable_since) VALUES (?, 0, ?)",
    args: [id, since],
  });
  for (const [later, problem] of [
    [[apply("9001_later", null)], /newer version applied the migration 9001_later, and this one ends with/],
    [[apply("9001_later", "9000_other")], /9001_later/],
    [[apply("9001_later", last), apply("9002_later", null)], /9002_later/],
    [[apply("9001_later", last), apply("9002_later", migrations[0]?.id ?? "")], undefined],
  ] as const) {
    const database = await openDatabase({ url: ":memory:" });
    await migrate(database);
    await database.write(later);
    if (problem) await assert.rejects(migrate(database), problem);
    else await migrate(database);
    await database.close();
  }
});

test("migrate() refuses a newer schema of which no mark says more", async () => {
  const database = await openDatabase({ url: ":memory:" });
  await database.write([
    "CREATE TABLE migrations (id TEXT PRIMARY KEY NOT NULL, applied_at INTEGER NOT NULL)",
    "INSERT INTO migrations (id, applied_at) VALUES ('9001_later', 0)",
  ]);
  await assert.rejects(migrate(database), /docs\/operations\.md/);
  await database.close();
});

test("migrate() removes what earlier versions stored of rotations by policy", async () => {
  const database = await openDatabase({ url: ":memory:" });
  const step = migrations.findIndex(({ id }) => id === "0013_no_automatic_rotation");
  for (const { statements } of migrations.slice(0, step)) await database.write(statements);
  const settings = JSON.stringify({ user_api_key_rotation_period: 7, debug_log: 0 });
  await database.write([
    {
      sql: "INSERT INTO organisations (id, name, slug, created_at, settings) VALUES ('o', 'n', 's', 0, ?)",
      args: [settings],
    },
    {
      sql: "INSERT INTO workspaces (id, organisation_id, name, slug, created_at, settings) VALUES ('w', 'o', 'n', 's', 0, ?)",
      args: [settings],
    },
  ]);
  await database.write(migrations[step]?.statements ?? []);
  for (const table of ["organisations", "workspaces"]) {
    const { rows } = await database.read(`SELECT settings FROM ${table}`);
    assert.equal(rows[0]?.settings, '{"debug_log":0}', table);
  }
  const { rows } = await database.read("SELECT * FROM pragma_table_info('api_keys') WHERE name = 'rotation_policy'");
  assert.deepEqual(rows, []);
  await database.close();
});

test("D7: migrate() of several connections at once applies each step once", async () => {
  const folder = createTemporaryFolder();
  const url = `file:${join(folder.path, "gateway.db")}`;
  const databases = await Promise.all(Array.from({ length: 4 }, () => openDatabase({ url })));
  await Promise.all(databases.map(migrate));
  for (const database of databases) {
    const { rows } = await database.read("SELECT count(*) AS steps FROM migrations");
    assert.equal(Number(rows[0]?.steps), migrations.length);
    await database.close();
  }
  folder.remove();
});

test("D5: openDatabase() sets what every connection needs, the writing one too", async () => {
  const folder = createTemporaryFolder();
  const database = await openDatabase({ url: `file:${join(folder.path, "gateway.db")}` });
  await migrate(database);
  for (const [pragma, value] of [
    ["journal_mode", "wal"],
    ["synchronous", 1],
    ["foreign_keys", 1],
    ["trusted_schema", 0],
  ] as const) {
    const read = await database.read(`PRAGMA ${pragma}`);
    const [written] = await database.write([`PRAGMA ${pragma}`]);
    assert.deepEqual(
      [Object.values(read.rows[0] ?? {})[0], Object.values(written?.rows[0] ?? {})[0]],
      [value, value],
      pragma,
    );
  }
  await assert.rejects(
    database.write([
      "INSERT INTO workspaces (id, organisation_id, name, slug, created_at) VALUES ('w','none','n','s',0)",
    ]),
    /FOREIGN KEY/,
  );
  await database.close();
  folder.remove();
});

test("write() runs its statements all or not at all", async () => {
  const database = await openDatabase({ url: ":memory:" });
  await migrate(database);
  const add = (id: string) => ({
    sql: "INSERT INTO organisations (id, name, slug, created_at) VALUES (?, 'n', ?, 0)",
    args: [id, id],
  });
  await assert.rejects(database.write([add("a"), add("b"), add("a")]));
  const { rows } = await database.read("SELECT count(*) AS n FROM organisations");
  assert.equal(Number(rows[0]?.n), 0);
  await database.write([add("c")]);
  await database.close();
});

test("D3: write() waits while another connection holds the lock, and works afterwards", async () => {
  const folder = createTemporaryFolder();
  const url = `file:${join(folder.path, "gateway.db")}`;
  const [one, two] = await Promise.all([openDatabase({ url }), openDatabase({ url })]);
  await migrate(one);
  const add = (id: string) => ({
    sql: "INSERT INTO organisations (id, name, slug, created_at) VALUES (?, 'n', ?, 0)",
    args: [id, id],
  });
  const other = createClient({ url });
  const lock = await other.transaction("write");
  const waiting = two.write([add("a"), add("b")]);
  await new Promise((resolve) => setTimeout(resolve, 100));
  await lock.execute(add("other"));
  await lock.commit();
  await waiting;
  await two.write([add("c"), add("d")]);
  await one.write([add("e"), add("f")]);
  const { rows } = await one.read("SELECT count(*) AS n FROM organisations");
  assert.equal(Number(rows[0]?.n), 7);
  other.close();
  await one.close();
  await two.close();
  folder.remove();
});

test("checks of saved guardrails still read the last turn only", async () => {
  const database = await openDatabase({ url: ":memory:" });
  await migrate(database);
  const saved = {
    checks: [
      { id: "default.contains", parameters: { words: ["a", "é\n"], operator: "none", count: 1e21 } },
      { id: "default.regexMatch", parameters: { rule: "x", scope: "user" } },
      { id: "default.notNull" },
      { id: "default.jwt", parameters: null },
      "not a check",
    ],
    actions: { deny: true, on_fail: null },
  };
  const content = JSON.stringify(saved);
  const insert = (id: string, text: string) => ({
    sql: "INSERT INTO guardrail_versions (id, organisation_id, guardrail_id, content, owner_id, created_at) VALUES (?, 'o', 'g', ?, 'u', 0)",
    args: [id, text],
  });
  await database.write([
    "INSERT INTO guardrails (id, organisation_id, slug, name, target, status, version_id, owner_id, created_at) VALUES ('g', 'o', 's', 'n', 'llm', 'active', 'v1', 'u', 0)",
    insert("v1", content),
    insert("v2", "no JSON"),
    insert("v3", '{"actions":{}}'),
    insert("v4", '{"checks":[]}'),
    "DELETE FROM migrations WHERE id = '0009_scope_of_saved_checks'",
  ]);
  await migrate(database);
  const { rows } = await database.read("SELECT content FROM guardrail_versions ORDER BY id");
  const [first, ...others] = rows.map((row) => String(row.content));
  assert.deepEqual(others, ["no JSON", '{"actions":{}}', '{"checks":[]}']);
  const [contains, regex, notNull, , last] = saved.checks;
  assert.ok(typeof contains === "object" && typeof notNull === "object");
  const wanted = [
    { ...contains, parameters: { ...contains.parameters, scope: "last" } },
    regex,
    { ...notNull, parameters: { scope: "last" } },
    { id: "default.jwt", parameters: { scope: "last" } },
    last,
  ];
  assert.equal(first, JSON.stringify({ ...saved, checks: wanted }));
});

test("migrate() gives admin keys that change settings the scope to say who callers of MCP servers are", async () => {
  const database = await openDatabase({ url: ":memory:" });
  const step = migrations.findIndex(({ id }) => id === "0028_mcp_identity");
  for (const { statements } of migrations.slice(0, step)) await database.write(statements);
  const columns = "id, organisation_id, name, kind, digest, masked, scopes, status, created_at, defaults";
  const insert = (id: string, kind: string, scopes: string[]) => ({
    sql: `INSERT INTO api_keys (${columns}) VALUES (?, 'o', 'n', ?, ?, '', ?, 'active', 0, '{}')`,
    args: [id, kind, id, JSON.stringify(scopes)],
  });
  await database.write([
    { sql: "INSERT INTO organisations (id, name, slug, created_at) VALUES ('o', 'n', 's', 0)", args: [] },
    insert("admin", "organisation-service", ["logs.list", "organisation_settings.update"]),
    insert("reader", "organisation-service", ["logs.list"]),
    insert("service", "workspace-service", ["organisation_settings.update"]),
  ]);
  await database.write(migrations[step]?.statements ?? []);
  const { rows } = await database.read("SELECT scopes FROM api_keys ORDER BY id");
  assert.deepEqual(
    rows.map(({ scopes }) => JSON.parse(String(scopes))),
    [
      ["logs.list", "organisation_settings.update", "organisation_mcp_identity.update"],
      ["logs.list"],
      ["organisation_settings.update"],
    ],
  );
  await database.close();
});

test("migrate() leaves labels of workspaces as they are, and takes those of an organisation", async () => {
  const database = await openDatabase({ url: ":memory:" });
  const step = migrations.findIndex(({ id }) => id === "0031_organisation_labels");
  for (const { statements } of migrations.slice(0, step)) await database.write(statements);
  const label = (id: string, workspace: string | null, name: string) => ({
    sql: "INSERT INTO labels (id, organisation_id, workspace_id, name, created_at, last_updated_at) VALUES (?, 'o', ?, ?, 7, 8)",
    args: [id, workspace, name],
  });
  await database.write([
    "INSERT INTO organisations (id, name, slug, created_at) VALUES ('o', 'n', 's', 0)",
    "INSERT INTO workspaces (id, organisation_id, name, slug, created_at) VALUES ('w', 'o', 'n', 's', 0)",
    label("1", "w", "a"),
  ]);
  for (const { statements } of migrations.slice(step)) await database.write(statements);
  await database.write([label("2", null, "b")]);
  await assert.rejects(database.write([label("3", null, "b")]));
  await assert.rejects(database.write([label("4", "w", "a")]));
  const { rows } = await database.read("SELECT id, workspace_id, name, created_at, last_updated_at FROM labels");
  assert.deepEqual(
    rows.map((row) => ({ ...row })),
    [
      { id: "1", workspace_id: "w", name: "a", created_at: 7, last_updated_at: 8 },
      { id: "2", workspace_id: null, name: "b", created_at: 7, last_updated_at: 8 },
    ],
  );
  await database.close();
});

test("migrate() writes nothing to a server whose schema is up to date: no start waits for a write that is lost", async () => {
  const database = await openDatabase({ url: ":memory:" });
  await migrate(database);
  await migrate({ ...database, remote: true, write: () => assert.fail("a write") });
  await database.close();
});
