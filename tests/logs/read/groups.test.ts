import assert from "node:assert/strict";
import { test } from "node:test";
import { readGroupQuery } from "../../../src/admin/analytics/group-query.ts";
import { StringCollector } from "../../../src/lib/columns.ts";
import type { RowBlock } from "../../../src/logs/index/row-block.ts";
import { GroupRun, groupings } from "../../../src/logs/read/groups.ts";

const grouping = groupings.users ?? { summary: "", value: "" };

/** A block whose rows each name another user. */
function blockOf(first: number, length: number) {
  const collector = new StringCollector();
  for (let row = 0; row < length; row++) collector.set(row, `user-${first + row}`);
  const column = collector.column(Uint32Array.from({ length }, (_, row) => row));
  assert.ok(column);
  const { codes, values } = column;
  const block: RowBlock = {
    length,
    strings: () => ({ codes: new Uint32Array(codes), values }),
    numbers: () => new Float64Array(length),
    pick: () => block,
  };
  return block;
}

test("a call with more than a million groups is refused, so that none fills the memory", async () => {
  const query = readGroupQuery(new URLSearchParams("columns=requests&page_size=1"), grouping, new Set());
  const run = new GroupRun({ grouping: "users", query, field: "endUser" }, { pause: () => undefined });
  run.add(blockOf(0, 600_000), false);
  run.add(blockOf(600_000, 400_000), false);
  assert.throws(() => run.add(blockOf(1_000_000, 1), false), { status: 400, param: "time_of_generation_min" });
});
