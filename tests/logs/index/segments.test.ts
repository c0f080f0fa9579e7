import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Database, openDatabase } from "../../../src/db/client.ts";
import { migrate } from "../../../src/db/migrate.ts";
import type { LogScope } from "../../../src/db/stores/log-scope.ts";
import { createLogSegmentStore, type LogSegmentStore } from "../../../src/db/stores/log-segments.ts";
import { firstIdOf } from "../../../src/lib/ids.ts";
import { LogIndex } from "../../../src/logs/index/log-index.ts";

const scope: LogScope = { organisationId: "o", workspaceId: null };
/** More than two pages of slices. */
const count = 3_000;
let database: Database;
before(async () => {
  database = await openDatabase({ url: ":memory:" });
  await migrate(database);
  // as if 54 million rows were indexed: of each segment two slices of this organisation, and one of another
  const [first, last] = [firstIdOf(1_000), firstIdOf(2_000)];
  await database.write([
    `WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < ${count})
      INSERT INTO log_segments (id, first_seq, last_seq, rows, change, replaces, state, state_at)
      SELECT value, value * 10, value * 10 + 9, 30, 0, NULL, 'live', 0 FROM n`,
    `INSERT INTO log_slices (segment_id, first_row, end_row, organisation_id, workspace_id, first_id, last_id)
      SELECT id, place * 10, place * 10 + 10, organisation, workspace, '${first}', '${last}' FROM log_segments,
        (SELECT 0 AS place, 'a' AS organisation, 'w1' AS workspace UNION ALL SELECT 1, 'o', 'w1' UNION ALL SELECT 2, 'o', 'w2')`,
  ]);
});
after(() => database.close());

/** Reads the views of a scope, and how many rows the largest statement returned. */
async function readViews(store: LogSegmentStore, of: LogScope) {
  let [largest, pages] = [0, 0];
  const index = new LogIndex(
    {
      ...store,
      async readSegments(...args) {
        const page = await store.readSegments(...args);
        pages++;
        largest = Math.max(
          largest,
          page.segments.reduce((sum, { slices }) => sum + slices.length, 0),
        );
        return page;
      },
    },
    2 ** 20,
  );
  const views = await index.views(of);
  const again = pages;
  assert.equal((await index.views(of)).length, views.length);
  assert.equal(pages, again, "known segments are not read again");
  return { views: views.length, largest, pages };
}

test("segments of a scope are read in pages, each once", async () => {
  const store = createLogSegmentStore(database);
  const all = await readViews(store, scope);
  assert.equal(all.views, count);
  assert.ok(all.pages >= 3 && all.largest <= 2_050, JSON.stringify(all));
  assert.equal((await readViews(store, { organisationId: "o", workspaceId: "w2" })).views, count);
  assert.equal((await readViews(store, { organisationId: "none", workspaceId: null })).views, 0);
  const ids = new Set<number>();
  for (let next: number | undefined = 0; next !== undefined; ) {
    const page: Awaited<ReturnType<LogSegmentStore["readSegments"]>> = await store.readSegments(scope, next);
    for (const { id, slices } of page.segments) {
      assert.ok(!ids.has(id));
      assert.equal(slices.length, 2);
      ids.add(id);
    }
    next = page.next;
  }
  assert.equal(ids.size, count);
});

test("a segment that takes the place of another between two pages is neither lost nor doubled", async () => {
  const store = createLogSegmentStore(database);
  let isFirst = true;
  const index = new LogIndex(
    {
      ...store,
      async readSegments(...args) {
        const page = await store.readSegments(...args);
        if (isFirst) {
          isFirst = false;
          // the draft has a smaller id than a page that was read, and what it replaces is on a later one
          await database.write([
            "UPDATE log_segments SET state = 'removed' WHERE id = 2900",
            "UPDATE log_segments SET first_seq = 29000, last_seq = 29009 WHERE id = 5",
            "UPDATE log_segments SET state = 'removed' WHERE id = 5",
            `INSERT INTO log_segments (first_seq, last_seq, rows, change, replaces, state, state_at)
              VALUES (29000, 29009, 30, 0, 2900, 'live', 0), (50, 59, 30, 0, 5, 'live', 0)`,
            `INSERT INTO log_slices SELECT id, 10, 20, 'o', 'w1', '${firstIdOf(1)}', '${firstIdOf(2)}' FROM log_segments WHERE id > ${count}`,
          ]);
        }
        return page;
      },
    },
    2 ** 20,
  );
  const views = await index.views(scope);
  assert.equal(views.length, count);
  assert.equal(views.filter(({ lastId }) => lastId === firstIdOf(2)).length, 2);
});
