import assert from "node:assert/strict";
import { test } from "node:test";
import { createIdFactory } from "../../src/lib/ids.ts";
import { idAt, stringAt } from "../../src/log-index/conditions.ts";
import { otherMetadata, RowTable } from "../../src/log-index/row-table.ts";
import type { LogDetails } from "../../src/schemas/logs.ts";
import { plainDetails } from "../support/log-record.ts";

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
  const others = rows.column(otherMetadata);
  assert.ok(others?.kind === "strings");
  // `all` has a column, as the first of the other keys
  assert.equal(others.values.size, 100 - 63);
  assert.equal(stringAt(others, 99), '{"key-99":"99"}');
  assert.equal(stringAt(others, 0), null);
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
