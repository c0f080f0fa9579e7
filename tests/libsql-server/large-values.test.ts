import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createStoredResponses } from "../../src/control/stored-responses.ts";
import { type Database, isRefusedStatement, openDatabase } from "../../src/db/client.ts";
import { migrate } from "../../src/db/migrate.ts";
import { createStoredResponseStore } from "../../src/db/stores/stored-responses.ts";
import { type LibsqlServer, startLibsqlServer, withoutLibsqlServer } from "../support/libsql-server.ts";

const megabyte = 1_000_000;
const owner = { organisationId: "o", workspaceId: "w" };

let server: LibsqlServer;
let database: Database;
before(async () => {
  if (withoutLibsqlServer) return;
  server = await startLibsqlServer();
  database = await openDatabase({ url: server.url });
  await migrate(database);
});
after(async () => {
  database?.close();
  await server?.kill();
});

test("a libSQL server refuses large values for good, in each of its ways", { skip: withoutLibsqlServer }, async () => {
  await database.write([{ sql: "CREATE TABLE large (value TEXT)", args: [] }]);
  const insert = (size: number) => database.write([{ sql: "INSERT INTO large VALUES (?)", args: ["x".repeat(size)] }]);
  await insert(4.9 * megabyte);
  for (const size of [5 * megabyte, 6 * megabyte]) await assert.rejects(insert(size), isRefusedStatement);
});

test("a response that is too large for a libSQL server does not keep others from being stored", {
  skip: withoutLibsqlServer,
}, async () => {
  const warnings: string[] = [];
  const open = () =>
    createStoredResponses({
      store: createStoredResponseStore(database),
      key: new Uint8Array(32).fill(7),
      now: Date.now,
      retentionDays: 30,
      warn: (message) => warnings.push(message),
    });
  const responses = open();
  for (const [id, length] of [
    ["large", 5 * megabyte],
    ["small", 10],
  ] as const) {
    const input = [{ image: "x".repeat(length) }];
    responses.add({ ...owner, id, previousId: null, createdAt: Date.now(), input, response: { id }, bytes: 10 });
  }
  await responses.close();
  assert.equal((await open().find(owner, "small"))?.response.id, "small");
  assert.equal(await open().find(owner, "large"), undefined);
  assert.deepEqual(warnings, ["Cannot store the response large: the database rejected it"]);
});
