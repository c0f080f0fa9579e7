import assert from "node:assert/strict";
import { after, test } from "node:test";
import { type Database, openDatabase } from "../../src/db/client.ts";
import { type LibsqlServer, startLibsqlServer, withoutLibsqlServer } from "../support/libsql-server.ts";
import { isCluster } from "../support/sample.ts";

const skip = withoutLibsqlServer || (isCluster ? false : "it takes a while: npm run test:cluster");
const nodes = 8;
const forMs = 20_000;
/** Longest time of a write. The server copies its write-ahead log meanwhile. */
const writeWithinMs = 5_000;
/** Some pages of the database: its log is soon long enough to be copied. */
const content = "x".repeat(20_000);
const insert = "INSERT INTO rows (content) VALUES (?)";

let server: LibsqlServer | undefined;
after(async () => {
  await server?.kill();
});

test("many nodes that write at the same time, rows and everything else, never wait long for the database", {
  skip,
  timeout: 120_000,
}, async () => {
  server = await startLibsqlServer();
  const { url } = server;
  const databases = await Promise.all(Array.from({ length: 2 * nodes }, () => openDatabase({ url, writeWithinMs })));
  await databases[0]?.write(["CREATE TABLE rows (id INTEGER PRIMARY KEY, content TEXT)"]);
  const until = performance.now() + forMs;
  let written = 0;
  const write = async (database: Database) => {
    for (; performance.now() < until; written++)
      await database.write([insert, insert].map((sql) => ({ sql, args: [content] })));
  };
  await Promise.all(databases.map(write));
  const found = await databases[0]?.read("SELECT count(*) AS rows FROM rows");
  assert.equal(Number(found?.rows[0]?.rows), 2 * written);
  console.log(`# ${written} writes of ${databases.length} writers in ${forMs / 1_000} s`);
  for (const database of databases) await database.close();
});
