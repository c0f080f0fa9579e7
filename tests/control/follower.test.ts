import assert from "node:assert/strict";
import { test } from "node:test";
import { createFollower } from "../../src/control/follower.ts";
import { openDatabase } from "../../src/db/client.ts";
import { migrate } from "../../src/db/migrate.ts";
import { createAuditStore } from "../../src/db/stores/audit.ts";
import { DatabaseAwayError } from "../../src/lib/database-away.ts";

async function openStore() {
  const database = await openDatabase({ url: ":memory:" });
  await migrate(database);
  const stored = createAuditStore(database);
  let isAway = false;
  const audit: typeof stored = {
    ...stored,
    async changesFrom(...range) {
      if (isAway) throw new DatabaseAwayError(new Error("It is away"));
      return stored.changesFrom(...range);
    },
  };
  const setAway = (value: boolean) => {
    isAway = value;
  };
  const seen: string[] = [];
  const follower = await createFollower(audit, {
    changed: (changes) => changes.length > 0 && seen.push(changes.map(({ recordId }) => recordId).join()),
    repeated: () => {},
    lost: () => seen.push("lost"),
    returned: () => seen.push("returned"),
  });
  let time = 1_000;
  const announce = async (...recordIds: string[]) => {
    for (const recordId of recordIds) {
      const change = { organisationId: "o", workspaceId: null, resource: "configs", recordId };
      await database.write([audit.announce(change, time++)]);
    }
  };
  /** Empties the list, as one of a database with so many changes. */
  const replace = async (newest: number) => {
    await database.write([
      "DELETE FROM changes",
      { sql: "UPDATE sqlite_sequence SET seq = ? WHERE name = 'changes'", args: [newest] },
    ]);
  };
  return { database, audit, follower, seen, announce, replace, setAway };
}

test("a follower notices a database with fewer changes, and follows it", async () => {
  const { database, follower, seen, announce, replace } = await openStore();
  await announce("a", "b", "c");
  await follower.look();
  await follower.look();
  await replace(1);
  await follower.look();
  await announce("d");
  await follower.look();
  assert.deepEqual(seen, ["a,b,c", "lost", "d"]);
  await database.close();
});

test("a follower notices a database in which another change has the number of the last it saw", async () => {
  const { database, follower, seen, announce, replace } = await openStore();
  await announce("a", "b");
  await follower.look();
  await replace(0);
  await announce("c", "d", "e");
  await follower.look();
  await announce("f");
  await follower.look();
  assert.deepEqual(seen, ["a,b", "lost", "f"]);
  await database.close();
});

test("a follower that was quiet while old changes were deleted drops nothing", async () => {
  const { database, audit, follower, seen, announce } = await openStore();
  await announce("a", "b");
  await follower.look();
  await database.write([audit.forgetChanges(1_000_000)]);
  await follower.look();
  await announce("c");
  await follower.look();
  assert.deepEqual(seen, ["a,b", "c"]);
  await database.close();
});

test("a follower reports once that the database is back, after what changed", async () => {
  const { database, follower, seen, announce, setAway } = await openStore();
  await follower.look();
  setAway(true);
  for (let attempt = 0; attempt < 2; attempt++) await assert.rejects(follower.look(), /It is away/);
  await announce("a");
  setAway(false);
  for (let attempt = 0; attempt < 2; attempt++) await follower.look();
  assert.deepEqual(seen, ["a", "returned"]);
  await database.close();
});
