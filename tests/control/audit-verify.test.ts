import assert from "node:assert/strict";
import { after, test } from "node:test";
import { type AuditDraft, chain } from "../../src/control/audit-chain.ts";
import { createHeadLog } from "../../src/control/audit-heads.ts";
import { verifyChain, verifyLogs } from "../../src/control/audit-verify.ts";
import { type Database, openDatabase, type Statement } from "../../src/db/client.ts";
import { migrate } from "../../src/db/migrate.ts";
import { type AuditStore, createAuditStore } from "../../src/db/stores/audit.ts";
import { createControlStores } from "../../src/db/stores/control.ts";
import type { AuditLogRow } from "../../src/db/tables/audit.ts";
import { nodeMac } from "../../src/serve/environment.ts";

const mac = nodeMac(new Uint8Array(32).fill(5));
const organisations = ["organisation-a", "organisation-b"];

const draft = (index: number): AuditDraft => ({
  time: 1_700_000_000_000 + index,
  requestId: `request-${index}`,
  method: "PUT",
  uri: `/v1/configs/${index}`,
  queryParams: '{"page":"1"}',
  requestBody: `{"name":"Größe ${index}"}`,
  requestHeaders: '{"a":"b"}',
  userId: "user-1",
  userType: "api_key",
  workspaceId: "workspace-1",
  resourceType: "configs",
  resourceId: `config-${index}`,
  action: "update",
  responseStatusCode: 200,
  clientIp: "192.0.2.1",
  country: "DE",
});

async function appendRows(audit: AuditStore, organisationId: string, count: number): Promise<Statement[]> {
  let previous = await audit.head(organisationId);
  const statements: Statement[] = [];
  for (let index = 1; index <= count; index++) {
    const row = await chain(draft(index), { organisationId, previous }, mac);
    statements.push(audit.append(row));
    previous = row;
  }
  return statements;
}

/** Honest logs of two organisations that no trigger protects. */
async function createLogs(rows: number): Promise<{ database: Database; audit: AuditStore }> {
  const database = await openDatabase({ url: ":memory:" });
  await migrate(database);
  const audit = createAuditStore(database);
  for (const organisation of organisations) await database.write(await appendRows(audit, organisation, rows));
  await database.write(["DROP TRIGGER audit_logs_no_update", "DROP TRIGGER audit_logs_no_delete"]);
  return { database, audit };
}

const hasUsers = async () => false;

/** What is found in every log there is. */
async function verifyAll(audit: AuditStore): Promise<string[]> {
  return (await verifyLogs(audit, [], { mac, hasUsers })).map(
    ({ organisationId, problem }) => `${organisationId}: ${problem}`,
  );
}

test("triggers refuse to change or remove audit rows", async () => {
  const database = await openDatabase({ url: ":memory:" });
  await migrate(database);
  await database.write(await appendRows(createAuditStore(database), "a", 1));
  await assert.rejects(database.write(["UPDATE audit_logs SET uri = '/'"]), /never changed/);
  await assert.rejects(database.write(["DELETE FROM audit_logs"]), /never removed/);
});

for (const rows of [0, 1, 499, 500, 501, 1_203]) {
  test(`verifyChain() finds nothing in honest logs of ${rows} rows`, async () => {
    const { audit } = await createLogs(rows);
    assert.deepEqual(await verifyAll(audit), []);
  });
}

const columns = {
  organisation_id: "organisationId",
  seq: "seq",
  time: "time",
  request_id: "requestId",
  method: "method",
  uri: "uri",
  query_params: "queryParams",
  request_body: "requestBody",
  request_headers: "requestHeaders",
  user_id: "userId",
  user_type: "userType",
  workspace_id: "workspaceId",
  resource_type: "resourceType",
  resource_id: "resourceId",
  action: "action",
  response_status_code: "responseStatusCode",
  client_ip: "clientIp",
  country: "country",
  mac: "mac",
} as const satisfies Record<string, keyof AuditLogRow>;

/** Every value that differs from this one in one letter. */
function* changedValues(value: string | number): Generator<string | number> {
  const text = String(value);
  for (let index = 0; index < text.length; index++) {
    const letter = typeof value === "number" ? (Number(text[index]) + 1) % 10 : text[index] === "x" ? "y" : "x";
    const changed = text.slice(0, index) + letter + text.slice(index + 1);
    yield typeof value === "number" ? Number(changed) : changed;
  }
}

const shared = createLogs(4);
after(async () => (await shared).database.close());

for (const [column, name] of Object.entries(columns)) {
  test(`verifyChain() names the row when one letter of ${column} changes`, async () => {
    const { database, audit } = await shared;
    const [row] = await audit.walk("organisation-a", 1, 1);
    const value = row?.[name];
    assert.ok(value !== undefined && value !== null);
    const placed = column === "seq" || column === "organisation_id";
    let tried = 0;
    for (const changed of [...changedValues(value), ...(typeof value === "string" ? ["", `${value} `] : [-value, 0])]) {
      const update = `UPDATE audit_logs SET ${column} = ? WHERE rowid = ?`;
      const { rows } = await database.read(
        "SELECT rowid FROM audit_logs WHERE organisation_id = 'organisation-a' AND seq = 2",
      );
      const rowId = Number(rows[0]?.rowid);
      try {
        await database.write([{ sql: update, args: [changed, rowId] }]);
      } catch (error) {
        assert.match(String(error), /UNIQUE/); // the number of another row: the database refuses it itself
        continue;
      }
      tried++;
      const [first = "", ...others] = await verifyAll(audit);
      const named = placed ? /row [12] (?:is missing|was changed)$/ : /^organisation-a: row 2 was changed$/;
      assert.match(first, named, `${column} = ${changed}`);
      assert.ok(
        others.every((line) => placed && !line.startsWith("organisation-b: row 3")),
        others.join(),
      );
      await database.write([{ sql: update, args: [value, rowId] }]);
      assert.deepEqual(await verifyAll(audit), []);
    }
    assert.ok(tried > 0);
  });
}

for (const [name, sql, wanted] of [
  ["a value set to null", "UPDATE audit_logs SET country = NULL WHERE seq = 2", "row 2 was changed"],
  ["an empty text instead of null", "UPDATE audit_logs SET workspace_id = '' WHERE seq = 3", "row 3 was changed"],
  ["a removed first row", "DELETE FROM audit_logs WHERE seq = 1", "row 1 is missing"],
  ["a removed middle row", "DELETE FROM audit_logs WHERE seq = 3", "row 3 is missing"],
  [
    "a removed middle row whose place the next one takes",
    "DELETE FROM audit_logs WHERE seq = 2; UPDATE audit_logs SET seq = seq - 1 WHERE seq = 3; UPDATE audit_logs SET seq = 3 WHERE seq = 4",
    "row 2 was changed",
  ],
  [
    "swapped rows",
    "UPDATE audit_logs SET seq = 99 WHERE seq = 2; UPDATE audit_logs SET seq = 2 WHERE seq = 3; UPDATE audit_logs SET seq = 3 WHERE seq = 99",
    "row 2 was changed",
  ],
  [
    "swapped macs",
    "UPDATE audit_logs SET mac = (SELECT o.mac FROM audit_logs o WHERE o.organisation_id = audit_logs.organisation_id AND o.seq = 4) WHERE seq = 3",
    "row 3 was changed",
  ],
  [
    "a mac changed in the last row",
    "UPDATE audit_logs SET mac = 'x' || substr(mac, 2) WHERE seq = 4",
    "row 4 was changed",
  ],
  [
    "a copied row",
    "INSERT INTO audit_logs SELECT organisation_id, 5, time, request_id, method, uri, query_params, request_body, request_headers, user_id, user_type, workspace_id, resource_type, resource_id, action, response_status_code, client_ip, country, mac FROM audit_logs WHERE seq = 4",
    "row 5 was changed",
  ],
  ["a number no program reads", "UPDATE audit_logs SET time = 9223372036854775807 WHERE seq = 3", "row 3 was changed"],
  ["a number that is text", "UPDATE audit_logs SET response_status_code = 'none' WHERE seq = 3", "row 3 was changed"],
  ["a row number that is text", "UPDATE audit_logs SET seq = 'two' WHERE seq = 2", "row 2 is missing"],
  ["bytes that are no text", "UPDATE audit_logs SET uri = CAST(x'2fff' AS TEXT) WHERE seq = 2", "row 2 was changed"],
  ["bytes instead of text", "UPDATE audit_logs SET uri = CAST(uri AS BLOB) WHERE seq = 2", "row 2 was changed"],
  [
    "a character U+0000 and more",
    "UPDATE audit_logs SET uri = uri || char(0) || 'x' WHERE seq = 2",
    "row 2 was changed",
  ],
] as const) {
  test(`verifyChain() finds ${name}, in each organisation`, async () => {
    const { database, audit } = await createLogs(4);
    await database.write(sql.split("; "));
    const wantedLines = organisations.map((organisation) => `${organisation}: ${wanted}`);
    assert.deepEqual(await verifyAll(audit), wantedLines);
  });
}

test("verifyLogs() finds a row that was moved to another organisation, or to none", async () => {
  for (const [moved, wanted] of [
    ["'organisation-c'", ["organisation-a: row 2 is missing", "organisation-c: row 1 is missing"]],
    ["CAST(x'ff' AS TEXT)", ["organisation-a: row 2 is missing", "undefined: a row names an impossible organisation"]],
    ["x'61'", ["organisation-a: row 2 is missing", "undefined: a row names an impossible organisation"]],
  ] as const) {
    const { database, audit } = await createLogs(3);
    await database.write([
      `UPDATE audit_logs SET organisation_id = ${moved} WHERE seq = 2 AND organisation_id = 'organisation-a'`,
    ]);
    assert.deepEqual((await verifyAll(audit)).sort(), wanted);
  }
});

test("verifyChain() finds a chain made under another key", async () => {
  const { audit } = await createLogs(2);
  const other = nodeMac(new Uint8Array(32).fill(6));
  assert.equal(await verifyChain(audit, "organisation-a", { mac: other, hasUsers }), "row 1 was changed");
});

test("verifyChain() finds a broken row behind the first page", async () => {
  const { database, audit } = await createLogs(1_100);
  await database.write(["UPDATE audit_logs SET action = 'x' WHERE seq = 1050 AND organisation_id = 'organisation-b'"]);
  assert.deepEqual(await verifyAll(audit), ["organisation-b: row 1050 was changed"]);
});

test("a cut-off end is found with a recorded head, and only with that", async () => {
  const { database, audit } = await createLogs(4);
  const head = await audit.head("organisation-a");
  const check = (given = head) => verifyChain(audit, "organisation-a", { mac, head: given, hasUsers });
  assert.equal(await check(), undefined);
  assert.equal(await check({ ...head, mac: "x".repeat(43) }), "row 4 does not have the given MAC");
  await database.write(["DELETE FROM audit_logs WHERE seq > 2"]);
  assert.deepEqual(await verifyAll(audit), []);
  assert.match((await check()) ?? "", /^row 3 is missing: row 4 was written/);
  const again = await chain(
    { ...draft(3), action: "forged" },
    { organisationId: "organisation-a", previous: await audit.head("organisation-a") },
    mac,
  );
  await database.write([audit.append(again)]);
  assert.equal(await check({ seq: 3, mac: head.mac }), "row 3 does not have the given MAC");
  await database.write(["DELETE FROM audit_logs"]);
  assert.match((await check()) ?? "", /^row 1 is missing/);
});

test("createHeadLog() logs the newest row of each organisation, once", async () => {
  const { database, audit } = await createLogs(2);
  const stores = createControlStores(database);
  for (const id of [...organisations, "organisation-without-rows"]) {
    await database.write([stores.organisations.insert({ id, name: id, slug: id, createdAt: 0 })]);
  }
  const lines: string[] = [];
  const tell = createHeadLog(stores, (line) => lines.push(line));
  await tell();
  const heads = await Promise.all(organisations.map((id) => audit.head(id)));
  assert.deepEqual(
    lines,
    heads.map((head, index) => `audit head ${organisations[index]} 2 ${head.mac}`),
  );
  await tell();
  assert.equal(lines.length, 2);
  await database.write(await appendRows(audit, "organisation-b", 1));
  await tell();
  assert.equal(lines.length, 3);
  assert.equal(lines[2], `audit head organisation-b 3 ${(await audit.head("organisation-b")).mac}`);
});

test("verifyLogs() finds a log that was emptied, of an organisation with users", async () => {
  const database = await openDatabase({ url: ":memory:" });
  await migrate(database);
  const audit = createAuditStore(database);
  const verify = (known: string[]) =>
    verifyLogs(audit, known, { mac, hasUsers: async (id) => id === "organisation-with-users" });
  assert.deepEqual(await verify(["organisation-without-users"]), []);
  assert.deepEqual(
    (await verify(["organisation-with-users"])).map(({ organisationId, problem }) => [organisationId, problem]),
    [["organisation-with-users", "it has no row, and the organisation has users: rows were removed"]],
  );
  await database.close();
});
