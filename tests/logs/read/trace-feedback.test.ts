import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Database, openDatabase } from "../../../src/db/client.ts";
import { migrate } from "../../../src/db/migrate.ts";
import { createFeedbackStore, type FeedbackStore } from "../../../src/db/stores/feedback.ts";
import { noTrace, Ratings } from "../../../src/logs/read/ratings.ts";
import { FeedbackReader, feedbackBytes } from "../../../src/logs/read/trace-feedback.ts";
import { createRandom } from "../../support/gateway.ts";

let database: Database;
before(async () => {
  database = await openDatabase({ url: ":memory:" });
  await migrate(database);
});
after(() => database.close());

interface Rating {
  id: string;
  organisationId: string;
  workspaceId: string;
  traceId: string;
  value: number;
  weight: number;
  createdAt: number;
}

const toRow = (rating: Rating) => ({ ...rating, apiKeyId: "key", metadata: {}, lastUpdatedAt: 0 });

/** All feedback of a trace. */
function feedbackOf(ratings: Ratings, workspaceId: string, traceId: string): { values: number[]; weighted: number } {
  const trace = ratings.find(workspaceId, traceId);
  const values: number[] = [];
  if (trace === noTrace) return { values, weighted: 0 };
  ratings.visitValues(trace, (value) => values.push(value));
  assert.equal(ratings.countOf(trace), values.length);
  return { values, weighted: ratings.weightedOf(trace) };
}

/** The store, and how many ratings were read of it. */
function createCounted(): { store: FeedbackStore; read: () => number } {
  const store = createFeedbackStore(database);
  let count = 0;
  return {
    store: {
      ...store,
      async readAfter(...parts) {
        const page = await store.readAfter(...parts);
        count += page.length;
        return page;
      },
    },
    read: () => {
      const read = count;
      count = 0;
      return read;
    },
  };
}

test("feedback in memory is what the table holds, after any additions, changes and removals", async () => {
  const random = createRandom(7);
  const draw = (count: number) => Math.floor(random() * count);
  const { store, read } = createCounted();
  const reader = new FeedbackReader(store, 2 ** 24);
  let ratings: Rating[] = [];
  for (let step = 0; step < 120; step++) {
    let changed = 0;
    for (let more = draw(6); more > 0; more--) {
      const rating: Rating = {
        id: crypto.randomUUID(),
        organisationId: draw(3) > 0 ? "one" : "two",
        workspaceId: `workspace-${draw(2)}`,
        traceId: `trace-${draw(12)}`,
        value: draw(21) - 10,
        weight: draw(5) / 4,
        createdAt: 1_000 + step,
      };
      ratings.push(rating);
      changed++;
      await store.add(rating, [toRow(rating)]);
    }
    const old = ratings[draw(ratings.length)];
    if (old && draw(3) === 0) {
      Object.assign(old, { value: draw(21) - 10, weight: draw(5) / 4 });
      changed++;
      await database.write([store.updating(old, old.id, { value: old.value, weight: old.weight })]);
    }
    if (draw(20) === 0) {
      const oldest = 1_000 + step - draw(30);
      await store.purge(oldest, 10_000);
      ratings = ratings.filter(({ createdAt }) => createdAt >= oldest);
    }
    for (const organisationId of ["one", "two"]) {
      const found = await reader.read(organisationId);
      const own = ratings.filter((rating) => rating.organisationId === organisationId);
      assert.equal(found.isEmpty, own.length === 0);
      for (let trace = 0; trace < 12; trace++) {
        for (const workspaceId of ["workspace-0", "workspace-1"]) {
          const wanted = own.filter((one) => one.workspaceId === workspaceId && one.traceId === `trace-${trace}`);
          const { values, weighted } = feedbackOf(found, workspaceId, `trace-${trace}`);
          assert.deepEqual(values.toSorted(), wanted.map(({ value }) => value).toSorted());
          assert.ok(Math.abs(weighted - wanted.reduce((sum, { value, weight }) => sum + value * weight, 0)) < 1e-9);
        }
      }
    }
    // what did not change is not read again
    assert.ok(read() <= changed, `step ${step}`);
  }
  assert.ok(ratings.length > 10);
});

test("questions at the same time read the feedback of an organisation once", async () => {
  const { store, read } = createCounted();
  const rows = Array.from({ length: 5_000 }, (_, index) =>
    toRow({
      id: crypto.randomUUID(),
      organisationId: "three",
      workspaceId: "w",
      traceId: index < 4_000 ? "one trace" : `trace-${index}`,
      value: 1,
      weight: 1,
      createdAt: 5_000,
    }),
  );
  await store.add({ organisationId: "three", workspaceId: "w" }, rows);
  const reader = new FeedbackReader(store, 2 ** 24);
  const found = await Promise.all([reader.read("three"), reader.read("three"), reader.read("three")]);
  for (const ratings of found) assert.equal(feedbackOf(ratings, "w", "one trace").values.length, 4_000);
  assert.equal(read(), 5_000);
});

test("feedback that is too much for memory is read each time, and nothing of it is left", async () => {
  const { store, read } = createCounted();
  const reader = new FeedbackReader(store, 1_000);
  for (let count = 0; count < 2; count++) {
    assert.equal(feedbackOf(await reader.read("three"), "w", "one trace").weighted, 4_000);
    assert.equal(read(), 5_000);
  }
});

test("a failed read of feedback is no failure of the next", async () => {
  const { store } = createCounted();
  let fails = true;
  const failing: FeedbackStore = {
    ...store,
    readAfter: (...parts) => (fails ? Promise.reject(new Error("away")) : store.readAfter(...parts)),
  };
  const reader = new FeedbackReader(failing, 2 ** 24);
  const results = await Promise.allSettled([reader.read("three"), reader.read("three")]);
  assert.deepEqual(
    results.map(({ status }) => status),
    ["rejected", "rejected"],
  );
  fails = false;
  assert.equal(feedbackOf(await reader.read("three"), "w", "one trace").values.length, 4_000);
});

test("a million ratings take less memory than there is for them, and each is found", () => {
  const ratingOf = (index: number) => ({
    rowId: index + 1,
    change: index + 1,
    workspaceId: `workspace-${index % 3}`,
    traceId: `trace-${index}`,
    value: (index % 21) - 10,
    weight: 0.5,
    createdAt: 1_000,
  });
  const ratings = new Ratings();
  for (let index = 0; index < 1_000_000; index++) ratings.set(ratingOf(index));
  assert.ok(ratings.bytes < feedbackBytes, `${ratings.bytes} bytes`);
  assert.equal(ratings.traces, 1_000_000);
  for (let index = 0; index < 1_000_000; index += 997) {
    const { workspaceId, traceId, value } = ratingOf(index);
    assert.deepEqual(feedbackOf(ratings, workspaceId, traceId), { values: [value], weighted: value / 2 });
    assert.equal(ratings.find("workspace-9", traceId), noTrace);
    assert.equal(ratings.find(`workspace-${(index + 1) % 3}`, traceId), noTrace);
  }
});
