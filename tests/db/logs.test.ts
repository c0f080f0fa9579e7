import assert from "node:assert/strict";
import { test } from "node:test";
import type { InStatement } from "@libsql/client";
import { type Database, openDatabase } from "../../src/db/client.ts";
import { migrate } from "../../src/db/migrate.ts";
import type { LogScope } from "../../src/db/stores/log-scope.ts";
import { createLogStore, type LogStore } from "../../src/db/stores/logs.ts";
import { createIdFactory, firstIdOf } from "../../src/lib/ids.ts";
import { maxLoggedBody } from "../../src/logs/body.ts";
import type { Condition } from "../../src/logs/index/conditions.ts";
import { digestOfId, metadataField } from "../../src/logs/index/fields.ts";
import { packRecords } from "../../src/logs/pack.ts";
import type { LogRecord } from "../../src/logs/record.ts";
import { createRedactor } from "../../src/logs/redact.ts";
import { sealBatch } from "../../src/logs/seal.ts";
import type { LogBatch, LogDetails } from "../../src/schemas/logs.ts";
import { zstdCodec } from "../../src/serve/text-codec.ts";
import { createLogReader, sealAll } from "../support/log-lists.ts";

const details: LogDetails = {
  id: "",
  organisation_id: "o1",
  workspace_id: "w1",
  api_key_id: "k",
  status: 200,
  provider: "echo",
  model: "m",
  method: "POST",
  path: "/",
  operation: "chat",
  metadata: {},
  stream: false,
  trace_id: "t",
  duration_ms: 1,
  span_id: null,
  parent_span_id: null,
  span_name: null,
  first_byte_ms: null,
  upstream_ms: null,
  upstream_url: null,
  upstream_calls: 0,
  usage: null,
  error: null,
  cost: null,
  priced: false,
  cost_currency: "USD" as const,
};

const now = Date.UTC(2026, 0, 1);
const createId = createIdFactory(() => now);

const redactor = createRedactor({ mac: () => "", keyPrefix: "gk", sensitiveNames: [], aliasPrefixes: [] });

/** A record whose response is `body`; null: its content was not stored. */
function entry(changes: Partial<LogDetails> = {}, body: string | null = "content"): LogRecord {
  const headers = { sensitiveHeaders: [], requestHeaders: {}, responseHeaders: {} };
  const content = body === null ? null : { ...headers, requestBody: null, responseBody: body };
  return { details: { ...details, id: createId(), ...changes }, content };
}

async function toBatches(records: readonly LogRecord[]): Promise<LogBatch[]> {
  return (await packRecords(records, redactor)).map((batch) => sealBatch(batch, redactor));
}

/** Stores rows as the queue does. */
async function append(store: LogStore, records: readonly LogRecord[]): Promise<void> {
  await store.append(await toBatches(records));
}

/** The body `entry` was given, as it is found again. */
async function bodyOf(store: LogStore, { details: { id } }: LogRecord): Promise<string | null> {
  const found = await store.find(mine, id);
  assert.ok(found);
  return found.content?.response.body ?? null;
}

/** A store, and every statement it runs. */
async function open() {
  const database = await openDatabase({ url: ":memory:" });
  await migrate(database);
  const reads: string[] = [];
  const textOf = (statement: InStatement) => (typeof statement === "string" ? statement : statement.sql);
  const recording: Database = {
    ...database,
    read(statement) {
      reads.push(textOf(statement));
      return database.read(statement);
    },
  };
  return { database, store: createLogStore(recording), reader: createLogReader(recording), reads };
}

/** Where the rows of a list come from: from batches, or from a segment of the index. */
const places: readonly [name: string, settle: (database: Database) => Promise<void>][] = [
  ["batches", async () => {}],
  ["a segment", (database) => sealAll(database)],
];

const mine: LogScope = { organisationId: "o1", workspaceId: "w1" };
const conditions: readonly Condition[] = [
  { field: "status", oneOf: new Set([200]) },
  { field: "model", oneOf: new Set(["m"]) },
  { field: "provider", oneOf: new Set(["echo"]) },
  { field: "trace", oneOf: new Set([digestOfId("t")]) },
  { field: "apiKey", oneOf: new Set(["k"]) },
];
/** What reads no row, and the columns of a segment, which is found by its tenant. */
const withoutTenant = [
  /^SELECT count\(\*\) AS segments/,
  /FROM log_hidden WHERE organisation_id = \?/,
  /^SELECT \(SELECT data FROM log_columns WHERE segment_id/,
];

for (const [place, settle] of places) {
  test(`N2: every statement that reads rows of the log from ${place} names the tenant`, async () => {
    const { database, store, reader, reads } = await open();
    await append(store, [entry(), entry({ workspace_id: "w2" })]);
    await settle(database);
    for (const scope of [mine, { ...mine, workspaceId: null }]) {
      assert.equal((await reader.list(scope, { limit: 10 })).length, scope.workspaceId === null ? 2 : 1);
      await reader.list(scope, { limit: 10, lower: firstIdOf(0), upper: createId(), conditions });
      await store.find(scope, createId());
      const ofRows = reads.splice(0).filter((sql) => !withoutTenant.some((form) => form.test(sql)));
      assert.ok(ofRows.length >= 4);
      for (const sql of ofRows) {
        assert.match(sql, /WHERE organisation_id = \?/, sql);
        if (scope.workspaceId !== null) assert.match(sql, /organisation_id = \? AND workspace_id = \?/, sql);
        assert.doesNotMatch(sql, /\bOR\b/i, sql);
      }
    }
    await database.close();
  });
}

test("D1: lists of the log bind every value", async () => {
  const { database, store, reader, reads } = await open();
  const evil = "' OR 1=1 --";
  const scope = { organisationId: evil, workspaceId: evil };
  const own: Condition[] = [
    { field: "model", oneOf: new Set([evil]) },
    { field: metadataField(evil), oneOf: new Set([evil]) },
  ];
  const ofScope = { organisation_id: evil, workspace_id: evil, model: evil, metadata: { [evil]: evil } };
  await append(store, [entry(), entry(ofScope)]);
  await sealAll(database);
  assert.equal((await reader.list(scope, { limit: 10, conditions: own })).length, 1);
  assert.deepEqual(await reader.list(scope, { limit: 10, lower: evil, upper: evil, conditions: own }), []);
  assert.equal(await store.find(scope, createId()), undefined);
  for (const sql of reads) assert.equal(sql.includes("1=1"), false);
  await database.close();
});

for (const [place, settle] of places) {
  for (const [name, scope, wanted] of [
    ["a workspace", mine, ["w1"]],
    ["another workspace of the organisation", { organisationId: "o1", workspaceId: "w2" }, ["w2"]],
    ["the organisation", { organisationId: "o1", workspaceId: null }, ["none", "w2", "w1"]],
    ["another organisation", { organisationId: "o2", workspaceId: null }, ["foreign"]],
    ["a workspace under a foreign organisation", { organisationId: "o2", workspaceId: "w1" }, []],
    ["nobody", { organisationId: "", workspaceId: null }, []],
  ] as const) {
    test(`N2: the log shows ${name} its own rows from ${place}`, async () => {
      const { database, store, reader } = await open();
      const entries = [
        entry({ trace_id: "w1" }),
        entry({ trace_id: "w2", workspace_id: "w2" }),
        entry({ trace_id: "none", workspace_id: null }),
        entry({ trace_id: "foreign", organisation_id: "o2", workspace_id: "w3" }),
      ];
      await append(store, entries);
      await settle(database);
      const rows = await reader.list(scope, { limit: 10 });
      assert.deepEqual(
        rows.map(({ trace_id }) => trace_id),
        wanted,
      );
      for (const { details: row } of entries) {
        const found = await store.find(scope, row.id);
        assert.equal(
          found !== undefined,
          wanted.some((trace) => trace === row.trace_id),
        );
      }
      await database.close();
    });
  }
}

for (const count of [1, 2, 63, 64, 200]) {
  test(`append() of ${count} rows keeps each row with its own content`, async () => {
    const { database, store, reader } = await open();
    await append(store, [entry({}, "earlier")]);
    const entries = Array.from({ length: count }, (_, index) => entry({}, index % 3 === 0 ? null : `content ${index}`));
    await append(store, entries);
    for (const [index, row] of entries.entries()) {
      assert.equal(await bodyOf(store, row), index % 3 === 0 ? null : `content ${index}`);
    }
    assert.equal((await reader.list(mine, { limit: 1_000 })).length, count + 1);
    await database.close();
  });
}

test("append() stores all rows or none", async () => {
  const { database, store, reader } = await open();
  const [whole, other] = await toBatches([entry(), entry({ workspace_id: "w2" })]);
  assert.ok(whole && other);
  const broken = { ...other, details: null as unknown as string }; // what no type allows, so that the database refuses it
  await assert.rejects(store.append([whole, broken]));
  assert.deepEqual(await reader.list(mine, { limit: 10 }), []);
  const { rows } = await database.read("SELECT count(*) AS n FROM log_bodies");
  assert.equal(Number(rows[0]?.n), 0);
  await database.close();
});

test("J6: append() keeps bodies whole beside one that was cut inside a character", async () => {
  const { database, store } = await open();
  const requestBody = `${"x".repeat(maxLoggedBody - 1)}\ud83d\ude00 behind`;
  const id = createId();
  const headers = { sensitiveHeaders: [], requestHeaders: {}, responseHeaders: {} };
  const record = { details: { ...details, id }, content: { ...headers, requestBody, responseBody: "☂ answered" } };
  await append(store, [record]);
  const content = (await store.find(mine, id))?.content;
  assert.ok(content);
  const { request, response } = content;
  assert.equal(response.body, "☂ answered");
  assert.deepEqual([request.body?.length, request.truncated], [maxLoggedBody, true]);
  assert.equal(request.body?.isWellFormed(), true);
  await database.close();
});

test("find() asks the database for ids alone", async () => {
  const { database, store, reads } = await open();
  for (const id of ["", "x", "01ARZ3NDEKTSV4RRFFQ69G5FA%", "' OR 1=1"])
    assert.equal(await store.find(mine, id), undefined);
  assert.deepEqual(reads, []);
  await database.close();
});

test("append() gives new rows new numbers, even if the newest were deleted", async () => {
  const { database, store } = await open();
  await append(store, [entry(), entry()]);
  await database.write(["DELETE FROM log_batches", "DELETE FROM log_bodies"]);
  const last = entry({}, "own content");
  await append(store, [last]);
  const { rows } = await database.read("SELECT seq FROM log_batches");
  assert.deepEqual(
    rows.map(({ seq }) => Number(seq)),
    [2],
  );
  assert.equal(await bodyOf(store, last), "own content");
  await database.close();
});

test("find() returns compressed contents, and uncompressed ones of earlier versions", async () => {
  const { database, store } = await open();
  const compressing = createLogStore(database, zstdCodec);
  const [plain, packed] = [entry({}, "plain ☂ content"), entry({}, `packed ☂ content ${"x".repeat(5_000)}`)];
  await append(store, [plain]);
  await append(compressing, [packed, entry({}, null)]);
  assert.equal(await bodyOf(compressing, plain), "plain ☂ content");
  assert.equal(await bodyOf(compressing, packed), `packed ☂ content ${"x".repeat(5_000)}`);
  assert.equal(await bodyOf(store, packed), null, "without a codec the row is shown without content");
  const { rows } = await database.read("SELECT length(content) AS n FROM log_bodies ORDER BY seq DESC LIMIT 1");
  assert.ok(Number(rows[0]?.n) < 1_000);
  await database.close();
});

for (const [place, settle] of places) {
  test(`one list finds the few rows that match among many in ${place}`, async () => {
    const { database, store, reader } = await open();
    const rows = Array.from({ length: 5_000 }, (_, index) =>
      entry({ model: index % 2_400 === 100 ? "rare" : "m" }, null),
    );
    const batches = await Promise.all(rows.map((row) => toBatches([row])));
    await store.append(batches.flat());
    await settle(database);
    const ofModel = (model: string): Condition[] => [{ field: "model", oneOf: new Set([model]) }];
    assert.deepEqual(await reader.list(mine, { limit: 10, conditions: ofModel("none") }), []);
    const rare = await reader.list(mine, { limit: 10, conditions: ofModel("rare") });
    assert.deepEqual(
      rare.map(({ id }) => id),
      rows
        .filter(({ details: { model } }) => model === "rare")
        .map((row) => row.details.id)
        .reverse(),
    );
    await database.close();
  });

  test(`lists and look-ups find every row of ${place} where batches overlap in time`, async () => {
    const { database, store, reader, reads } = await open();
    const rows = Array.from({ length: 600 }, () => entry({}, null));
    // each batch holds a row of long ago, as streams that took long leave them
    const batches = await Promise.all(rows.slice(300).map((row, index) => toBatches([row, rows[299 - index] ?? row])));
    await store.append(batches.flat());
    await settle(database);
    const all = rows.map((row) => row.details.id).reverse();
    assert.deepEqual(await reader.listAll(mine, { limit: 50 }), all);
    assert.deepEqual(await reader.listAll(mine, { limit: 7, conditions }), all);
    for (const index of [0, 1, 150, 299, 300, 450, 599]) {
      reads.length = 0;
      const id = rows[index]?.details.id ?? "";
      assert.equal((await store.find(mine, id))?.details.id, id);
      assert.ok(reads.length <= 300 / 8 + 2, `${reads.length} reads`);
    }
    assert.equal(await store.find(mine, createId()), undefined);
    await database.close();
  });
}
