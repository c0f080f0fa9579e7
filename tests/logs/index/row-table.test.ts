import assert from "node:assert/strict";
import { test } from "node:test";
import { StringCollector } from "../../../src/lib/columns.ts";
import { createIdFactory } from "../../../src/lib/ids.ts";
import { runNow } from "../../../src/lib/steps.ts";
import { idAt, stringAt } from "../../../src/logs/index/conditions.ts";
import { metadataField } from "../../../src/logs/index/fields.ts";
import { mergeKey } from "../../../src/logs/index/other-metadata.ts";
import { otherMetadataOf, RowTable } from "../../../src/logs/index/row-table.ts";
import type { LogDetails } from "../../../src/schemas/logs.ts";
import { plainDetails } from "../../support/log-record.ts";

const createId = createIdFactory(() => 1_768_478_400_000);

function collect(rows: readonly Partial<LogDetails>[], workspaceId = "w") {
  const table = new RowTable();
  const details = rows.map((row) => ({ ...plainDetails, id: createId(), ...row }));
  table.add({ seq: 1, organisationId: "o", workspaceId, details });
  return { table, details };
}

test("rows are ordered by their ids, also those of one millisecond", () => {
  const ids = Array.from({ length: 50 }, createId);
  const mixed = ids.toSorted((a, b) => (a.slice(-1) < b.slice(-1) ? -1 : 1));
  const { table } = collect(mixed.map((id) => ({ id })));
  const rows = table.finish();
  const column = rows.column("id");
  assert.ok(column);
  assert.deepEqual(
    ids.map((_, row) => idAt(column, row)),
    ids,
  );
  const [slice] = rows.slices;
  assert.deepEqual([slice?.start, slice?.end, slice?.firstId, slice?.lastId], [0, 50, ids[0], ids[49]]);
});

test("rows of tenants that take turns lie together", () => {
  const table = new RowTable();
  const names = ["w1", null, "w1", "w2", null];
  for (const [index, workspaceId] of names.entries()) {
    table.add({ seq: index, organisationId: "o", workspaceId, details: [{ ...plainDetails, id: createId() }] });
  }
  assert.deepEqual(
    table.finish().slices.map(({ workspaceId, start, end }) => [workspaceId, start, end]),
    [
      ["w1", 0, 2],
      [null, 2, 4],
      ["w2", 4, 5],
    ],
  );
});

test("many keys of the metadata share a column, and none is lost", () => {
  const { table } = collect(
    Array.from({ length: 100 }, (_, index) => ({ metadata: { [`key-${index}`]: `${index}`, all: "x" } })),
  );
  const rows = table.finish();
  const own = rows.names.filter((name) => name.startsWith("metadata.")).length;
  assert.equal(own, 64);
  const others = rows.column(otherMetadataOf("o", 0));
  assert.ok(others?.kind === "strings");
  // `all` has a column, as the first of the other keys
  assert.equal(others.values.size, 100 - 63);
  assert.equal(stringAt(others, 99), '{"key-99":"99"}');
  assert.equal(stringAt(others, 0), null);
});

test("declared keys have a column whatever comes first, and no organisation takes the columns of others", () => {
  const table = new RowTable(new Map([["o", new Set(["declared"])]]));
  const add = (organisationId: string, metadata: Record<string, string>) =>
    table.add({
      seq: 1,
      organisationId,
      workspaceId: "w",
      details: [{ ...plainDetails, id: createId(), organisation_id: organisationId, metadata }],
    });
  for (let index = 0; index < 100; index++) add("o", { [`key-${index}`]: "x", declared: `${index}` });
  for (let index = 0; index < 3; index++) add("other", { team: `${index}`, "key-99": "y", declared: "z" });
  const rows = table.finish();
  assert.equal(rows.names.filter((name) => name.startsWith("metadata.")).length, 64 + 1 + 2);
  for (const name of ["metadata.declared", "metadata.team", "metadata.key-99"] as const) {
    assert.equal(rows.column(name)?.kind, "strings", name);
  }
  assert.equal(rows.column(otherMetadataOf("other", 0)), undefined);
  const others = rows.column(otherMetadataOf("o", 0));
  assert.equal(others?.kind === "strings" && others.values.size, 36);
});

test("much metadata of an organisation is in several columns", () => {
  const { table } = collect(
    Array.from({ length: 40 }, (_, row) => ({
      metadata: Object.fromEntries(Array.from({ length: 64 }, (_, key) => [`${row}-${key}`, "x".repeat(1_000)])),
    })),
  );
  const rows = table.finish();
  const pieces = rows.names.filter((name) => name.startsWith("metadata:"));
  assert.deepEqual(pieces, ["metadata:o:0", "metadata:o:1", "metadata:o:2"]);
  const filled = pieces.flatMap((name) => {
    const column = rows.column(name);
    return column?.kind === "strings" ? [...column.codes].flatMap((code, row) => (code === 0 ? [] : [row])) : [];
  });
  // the keys of the first row have separate columns
  assert.deepEqual(
    filled,
    Array.from({ length: 39 }, (_, row) => row + 1),
  );
});

test("mergeKey() finds the values of a key in its column and among the others", () => {
  const column = (texts: readonly (string | null)[]) => {
    const collector = new StringCollector();
    for (const [row, text] of texts.entries()) collector.set(row, text);
    const made = collector.column(Uint32Array.from(texts, (_, row) => row));
    assert.ok(made);
    return made;
  };
  const merge = (key: string, own: readonly (string | null)[] | undefined, others: readonly (string | null)[]) => {
    const merged = runNow(mergeKey(metadataField(key), own && column(own), column(others)), Number.POSITIVE_INFINITY);
    return merged && others.map((_, row) => stringAt(merged, row));
  };
  const others = ['{"a":"1","b":"\\"c\\":"}', null, '{"c\\"":"2"}', '{"__proto__":"3"}', "broken {"];
  assert.deepEqual(merge("a", [null, "x", null, "y", null], others), ["1", "x", null, "y", null]);
  assert.deepEqual(merge('c"', undefined, others), [null, null, "2", null, null]);
  assert.deepEqual(merge("__proto__", undefined, others), [null, null, null, "3", null]);
  assert.equal(merge("c", undefined, others), undefined);
  assert.deepEqual(merge("c", [null, null, null, null, "z"], others), [null, null, null, null, "z"]);
});

test("a key of the metadata with the name of a member of every object is one like others", () => {
  const metadata: Record<string, string> = JSON.parse('{"__proto__":"a","constructor":"b","_user":"c"}');
  const rows = collect([{ metadata }]).table.finish();
  for (const [name, value] of [
    ["metadata.__proto__", "a"],
    ["metadata.constructor", "b"],
    ["endUser", "c"],
  ] as const) {
    const column = rows.column(name);
    assert.equal(column?.kind === "strings" && stringAt(column, 0), value);
  }
  assert.equal(rows.column("metadata._user"), undefined);
});

test("rows of other forms are left out, and fields of other forms have no value", () => {
  const strange = {
    ...plainDetails,
    id: createId(),
    model: 7,
    status: "200",
    metadata: { team: 1 },
    trace_id: null,
    usage: 3,
  };
  const table = new RowTable();
  const details: unknown = [null, 7, {}, { id: "short" }, strange, { id: createId() }];
  table.add({ seq: 1, organisationId: "o", workspaceId: "w", details: details as LogDetails[] }); // what another program wrote
  const rows = table.finish();
  assert.equal(rows.rows, 2);
  for (const name of ["model", "status", "trace", "inputTokens", "metadata.team"] as const) {
    assert.equal(rows.column(name), undefined, name);
  }
});
