import assert from "node:assert/strict";
import { test } from "node:test";
import { openDatabase } from "../../src/db/client.ts";
import { migrate } from "../../src/db/migrate.ts";
import { createLogStore } from "../../src/db/stores/logs.ts";
import { createLateHookQueue } from "../../src/logs/late-hooks.ts";
import { eventually } from "../support/eventually.ts";

const results = (id: string) => ({
  request: { id, organisation_id: "o", workspace_id: "w", trace_id: id, span_id: null, parent_span_id: null },
  results: JSON.stringify({ before_request_hooks: [], after_request_hooks: [], id }),
});

test("results of guardrails are stored together, once, and found by their tenant alone", async () => {
  const database = await openDatabase({ url: ":memory:" });
  await migrate(database);
  const store = createLogStore(database);
  let writes = 0;
  const queue = createLateHookQueue({
    async store(hooks) {
      await store.addHooks(hooks);
      // the answer of the first write is lost
      if (writes++ === 0) throw new Error("lost");
    },
    warn: () => {},
    flushAfterMs: 1,
  });
  for (let number = 0; number < 100; number++) queue.add(results(`r${number}`));
  const count = async () => Number((await database.read("SELECT count(*) AS n FROM log_hooks")).rows[0]?.n);
  await eventually("all results are stored", async () => (await count()) === 100 && writes > 2);
  queue.add(results("r7"));
  await queue.close();
  assert.deepEqual([await count(), queue.lost()], [100, 0]);
  assert.equal((await store.findHooks({ organisationId: "o", workspaceId: "w" }, "r7")).length, 1);
  assert.equal((await store.findHooks({ organisationId: "o2", workspaceId: null }, "r7")).length, 0);
  await database.close();
});

test("while the database is away results wait in bounded memory, the newest last, and the lost ones are counted", async () => {
  const stored: string[] = [];
  const warnings: string[] = [];
  let isAway = true;
  let attempts = 0;
  const queue = createLateHookQueue({
    async store(hooks) {
      attempts++;
      if (isAway) throw new Error("away");
      stored.push(...hooks.map(({ request }) => request.id));
    },
    warn: (message) => warnings.push(message),
    flushAfterMs: 1,
    limits: { results: 10, characters: 1e6 },
  });
  for (let number = 0; number < 25; number++) queue.add(results(`r${number}`));
  await eventually("the database is asked several times", async () => attempts > 2);
  assert.deepEqual([queue.lost(), warnings.length], [15, 1]);
  isAway = false;
  await eventually("the rest is stored", async () => stored.length === 10);
  assert.deepEqual(
    stored,
    Array.from({ length: 10 }, (_, index) => `r${15 + index}`),
  );
  isAway = true;
  queue.add(results("last"));
  await queue.close();
  assert.equal(queue.lost(), 16);
});
