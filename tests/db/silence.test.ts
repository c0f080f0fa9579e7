import assert from "node:assert/strict";
import { test } from "node:test";
import { openDatabase } from "../../src/db/client.ts";
import { isDatabaseAway } from "../../src/lib/database-away.ts";
import { eventually } from "../support/eventually.ts";
import { startServer } from "../support/upstream.ts";

/** What a server of libSQL answers to one statement without rows. */
const answer = JSON.stringify({
  baton: null,
  base_url: null,
  results: Array.from({ length: 2 }, (_, index) => ({
    type: "ok",
    response:
      index === 0
        ? { type: "execute", result: { cols: [], rows: [], affected_row_count: 0, last_insert_rowid: null } }
        : { type: "close" },
  })),
});

test("a database that does not answer is asked one question at a time, and calls fail meanwhile", async () => {
  let isSilent = false;
  let [open, most, asked] = [0, 0, 0];
  const server = await startServer((request, response) => {
    request.resume();
    if (!isSilent) {
      response.setHeader("content-type", "application/json");
      response.end(answer);
      return;
    }
    open++;
    asked++;
    most = Math.max(most, open);
    response.on("close", () => open--);
  });
  const database = await openDatabase({ url: server.url });
  await database.read("SELECT 1");
  isSilent = true;
  const failed = await Promise.allSettled([
    database.read("SELECT 1"),
    database.write(["DELETE FROM a"]),
    database.write(["DELETE FROM a", "DELETE FROM b"]),
    database.orm.run("SELECT 1"),
  ]);
  for (const one of failed) assert.ok(one.status === "rejected" && isDatabaseAway(one.reason));
  // their connections are ended
  await eventually("no call that waits", async () => open <= 1);
  const before = asked;
  most = 0;
  for (let call = 0; call < 200; call++) {
    await assert.rejects(database.read("SELECT 1"), /does not respond/);
  }
  await eventually("two more questions", async () => asked >= before + 2);
  assert.equal(most, 1);
  assert.ok(asked < before + 20, `${asked - before}`);
  isSilent = false;
  await eventually("a database that answers", async () => {
    try {
      await database.read("SELECT 1");
      return true;
    } catch {
      return false;
    }
  });
  await database.close();
  await server.close();
});
