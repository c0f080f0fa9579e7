import assert from "node:assert/strict";
import { test } from "node:test";
import { createClient } from "@libsql/client/sqlite3";
import { drizzle } from "drizzle-orm/libsql/sqlite3";
import { type Database, openDatabase } from "../../src/db/client.ts";
import { migrate } from "../../src/db/migrate.ts";
import { type ControlStores, createControlStores } from "../../src/db/stores/control.ts";
import type { Tenant, TenantStore } from "../../src/db/tenant-store.ts";

const organisation: Tenant = { organisationId: "organisation-1", workspaceId: null };
const workspace: Tenant = { organisationId: "organisation-1", workspaceId: "workspace-1" };

interface Store extends TenantStore<Record<string, unknown>, Record<string, unknown>> {}

/** Stores over an empty database that records every read statement. */
async function setUp(): Promise<{ stores: ControlStores; read: string[]; database: Database }> {
  const database = await openDatabase({ url: ":memory:" });
  await migrate(database);
  const client = createClient({ url: ":memory:" });
  const schema = await database.read("SELECT sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'");
  for (const { sql } of schema.rows) await client.execute(String(sql));
  const read: string[] = [];
  const orm = drizzle({ client, logger: { logQuery: (sql) => void read.push(sql) } });
  return { stores: createControlStores({ ...database, orm }), read, database };
}

/** Every store of a table of tenants, by name. */
function tenantStores(stores: ControlStores): [string, Store][] {
  const { organisations: _, audit, ...others } = stores;
  // all of them have these functions; their row types differ
  return [...Object.entries(others), ["audit", audit.rows]] as unknown as [string, Store][];
}

const { stores, read, database } = await setUp();
const hasWorkspaces = async (name: string): Promise<boolean> => {
  read.length = 0;
  await stores[name as "configs"]?.all?.(organisation);
  return read[0]?.includes('"workspace_id"') ?? false;
};

for (const [name, store] of tenantStores(stores)) {
  for (const [kind, tenant] of [
    ["an organisation", organisation],
    ["a workspace", workspace],
  ] as const) {
    test(`every statement on ${name} for ${kind} names the tenant`, async () => {
      const bound = name === "audit" || (await hasWorkspaces(name));
      read.length = 0;
      await store.list(tenant);
      await store.all(tenant);
      await store.count(tenant);
      await store.find(tenant, {});
      if (
        !/members|exclusions|integrationModels|integrationWorkspaces|promptLabels|secrets|audit|mcpServerCapabilities|mcpServerUsers|oauthConsents|evalAnswers|savedViewDefaults/i.test(
          name,
        )
      ) {
        await store.get(tenant, "anything");
      }
      const written = [store.update(tenant, {}, { organisationId: tenant.organisationId }), store.remove(tenant, {})];
      const statements = [...read, ...written.map(({ sql }) => sql)];
      assert.ok(statements.length >= 7);
      for (const sql of statements) {
        assert.match(sql, /where .*"organisation_id" = \?/s);
        if (bound && tenant.workspaceId !== null) assert.match(sql, /where .*"workspace_id" = \?/s);
      }
    });
  }

  test(`${name} takes no row of another tenant`, () => {
    assert.throws(() => store.insert(organisation, { organisationId: "organisation-2" }), TypeError);
    assert.throws(() => store.put(organisation, { organisationId: "organisation-2" }), TypeError);
    assert.throws(
      () => store.insert(workspace, { organisationId: "organisation-2", workspaceId: "workspace-1" }),
      TypeError,
    );
  });
}

test("a row of another workspace is not taken", () => {
  const row = { organisationId: "organisation-1", workspaceId: "workspace-2" };
  assert.throws(() => (stores.configs as unknown as Store).insert(workspace, row), TypeError);
});

const record = { id: "r", organisationId: "organisation-1", workspaceId: "workspace-1" };
// the row types of stores differ; what they write of is read alike
const writable = (name: "configs" | "guardrails" | "members" | "users" | "workspaces" | "secrets") =>
  stores[name] as unknown as Store;
const [ofConfigs, ofGuardrails, ofMembers] = [writable("configs"), writable("guardrails"), writable("members")];
const shared = { ...record, workspaceId: null };

for (const [name, { written }, wanted] of [
  ["a new row", ofConfigs.insert(workspace, record), { recordIds: ["r"] }],
  [
    "a new row of the organisation",
    ofGuardrails.insert(organisation, shared),
    { resource: "guardrails", workspaceId: null, recordIds: ["r"] },
  ],
  ["a replaced row", ofMembers.put(workspace, { ...record, id: undefined }), { resource: "workspace_members" }],
  ["rows of a workspace", ofConfigs.update(workspace, { id: ["r", "s"] }, { name: "n" }), { recordIds: ["r", "s"] }],
  [
    "rows of the workspace in a filter",
    ofMembers.remove(organisation, { workspaceId: "workspace-1" }),
    { resource: "workspace_members" },
  ],
  [
    "rows of no workspace",
    ofGuardrails.remove(organisation, { workspaceId: null }),
    { resource: "guardrails", workspaceId: null },
  ],
  [
    "rows of several workspaces",
    ofConfigs.remove(organisation, { workspaceId: ["workspace-1", "w"] }),
    { workspaceId: undefined },
  ],
  ["rows of any workspace", ofConfigs.remove(organisation, {}), { workspaceId: undefined }],
  ["rows that move", ofConfigs.update(workspace, {}, { workspaceId: "w" }), { workspaceId: undefined }],
  [
    "rows of a table without workspaces",
    writable("users").update(workspace, {}, { email: "n" }),
    { resource: "users", workspaceId: undefined },
  ],
  [
    "a workspace",
    writable("workspaces").update(organisation, { id: "w" }, { name: "n" }),
    { resource: "workspaces", workspaceId: "w", recordIds: ["w"] },
  ],
  ["a secret", writable("secrets").remove(workspace, { kind: "guardrails" }), { resource: "guardrails" }],
  ["secrets of any kind", writable("secrets").remove(workspace, {}), { resource: "*" }],
] as const) {
  test(`a statement on ${name} says what it writes`, () => {
    assert.deepEqual(written, { resource: "configs", workspaceId: "workspace-1", recordIds: undefined, ...wanted });
  });
}

test("contains matches literally, whatever the characters mean in a pattern", async () => {
  const { stores: own } = { stores: createControlStores(database) };
  await database.write([own.organisations.insert({ id: "organisation-1", name: "o", slug: "o", createdAt: 0 })]);
  const names = ["100% Sure", "100x Sure", "under_score", "underXscore", "Case", "case"];
  await database.write(
    names.map((name, index) =>
      own.workspaces.insert(organisation, {
        id: `w${index}`,
        organisationId: "organisation-1",
        name,
        slug: `s${index}`,
        createdAt: index,
      }),
    ),
  );
  const find = async (text: string) =>
    (await own.workspaces.all(organisation, { contains: { name: text } })).map(({ name }) => name).sort();
  assert.deepEqual(await find("100%"), ["100% Sure"]);
  assert.deepEqual(await find("r_s"), ["under_score"]);
  assert.deepEqual(await find("Case"), ["Case"]);
});

test("list() returns the newest first, a page of them, and how many there are", async () => {
  const own = createControlStores(database);
  const { rows, total } = await own.workspaces.list(organisation, { page: { offset: 1, limit: 2 } });
  assert.deepEqual([rows.map(({ id }) => id), total], [["w4", "w3"], 6]);
});

test("a list of values is of any length", async () => {
  const own = createControlStores(database);
  const others = Array.from({ length: 40_000 }, (_, index) => `nobody-${index}`);
  for (const id of [
    ["w4", "w0"],
    [...others, "w4", 'it\'s "w"', "w0"],
  ]) {
    const rows = await own.workspaces.all(organisation, { where: { id } });
    assert.deepEqual(rows.map((row) => row.id).sort(), ["w0", "w4"]);
  }
});
