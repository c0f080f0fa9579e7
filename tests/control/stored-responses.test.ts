import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  createStoredResponses,
  type StoredResponse,
  type StoredResponsesOptions,
} from "../../src/control/stored-responses.ts";
import { type Database, openDatabase } from "../../src/db/client.ts";
import { migrate } from "../../src/db/migrate.ts";
import { createStoredResponseStore } from "../../src/db/stores/stored-responses.ts";
import { readSettings } from "../../src/settings.ts";

const day = 86_400_000;
const owner = { organisationId: "o", workspaceId: "w" };

let database: Database;
before(async () => {
  database = await openDatabase({ url: ":memory:" });
  await migrate(database);
});
after(() => database.close());

function create(changes: Partial<StoredResponsesOptions> = {}) {
  const warnings: string[] = [];
  const responses = createStoredResponses({
    store: createStoredResponseStore(database),
    key: new Uint8Array(32).fill(7),
    now: () => 100 * day,
    retentionDays: 30,
    warn: (message) => warnings.push(message),
    ...changes,
  });
  return { responses, warnings };
}

const kept = (id: string, more: Partial<StoredResponse> = {}): StoredResponse => ({
  id,
  ...owner,
  previousId: null,
  createdAt: 100 * day,
  input: [{ said: id }],
  response: { id },
  bytes: 10,
  ...more,
});

test("readSettings() reads how long responses are stored", () => {
  assert.equal(readSettings({ RESPONSES_RETENTION_DAYS: "7" }).gateway.responseRetentionDays, 7);
  assert.equal(readSettings({}).gateway.responseRetentionDays, undefined);
  assert.throws(() => readSettings({ RESPONSES_RETENTION_DAYS: "0" }), /RESPONSES_RETENTION_DAYS/);
});

test("a long response is stored completely", async () => {
  const { responses } = create();
  const long = "é".repeat(1_000_000);
  responses.add(kept("l1", { response: { id: "l1", long } }));
  await responses.close();
  assert.equal((await create().responses.find(owner, "l1"))?.response.long, long);
});

test("a chain is complete whether its links are waiting or written", async () => {
  const { responses } = create();
  responses.add(kept("a1"));
  responses.add(kept("a2", { previousId: "a1" }));
  await responses.close();
  responses.add(kept("a3", { previousId: "a2" }));
  const { links, missing } = await responses.chain(owner, "a3");
  assert.deepEqual(
    links.map(({ response }) => response.id),
    ["a1", "a2", "a3"],
  );
  assert.equal(missing, undefined);
  await responses.close();
  assert.deepEqual(await create().responses.chain(owner, "a3"), { links, missing });
});

test("a chain that lacks a link names it", async () => {
  const { responses } = create();
  responses.add(kept("b2", { previousId: "b1" }));
  assert.equal((await responses.chain(owner, "b2")).missing, "b1");
  await responses.close();
  assert.equal((await responses.chain(owner, "b2")).missing, "b1");
  assert.equal((await responses.chain(owner, "b0")).missing, "b0");
});

test("other owners see nothing, waiting or written", async () => {
  const { responses } = create();
  const others = [
    { organisationId: "o", workspaceId: "x" },
    { organisationId: "x", workspaceId: "w" },
  ];
  responses.add(kept("c1"));
  for (const step of ["waiting", "written"]) {
    for (const other of others) {
      assert.equal(await responses.find(other, "c1"), undefined, step);
      assert.equal((await responses.chain(other, "c1")).missing, "c1", step);
      assert.equal(await responses.remove(other, "c1"), false, step);
    }
    assert.ok(await responses.find(owner, "c1"), step);
    await responses.close();
  }
  assert.equal(await responses.remove(owner, "c1"), true);
  assert.equal(await responses.find(owner, "c1"), undefined);
});

test("a link of another owner ends a chain", async () => {
  const { responses } = create();
  responses.add(kept("d1", { workspaceId: "x" }));
  responses.add(kept("d2", { previousId: "d1" }));
  await responses.close();
  assert.equal((await responses.chain(owner, "d2")).missing, "d1");
});

test("cleanUp() removes what is older than its time, and nothing else", async () => {
  const { responses } = create();
  responses.add(kept("e1", { createdAt: 70 * day - 1 }));
  responses.add(kept("e2", { createdAt: 70 * day }));
  await responses.close();
  await responses.cleanUp();
  assert.equal(await responses.find(owner, "e1"), undefined);
  assert.ok(await responses.find(owner, "e2"));
});

test("while the store fails responses wait, are found, and are written later; operators get one warning", async () => {
  const store = createStoredResponseStore(database);
  let isDown = true;
  const { responses, warnings } = create({
    store: { ...store, write: (rows) => (isDown ? Promise.reject(new Error("away")) : store.write(rows)) },
  });
  responses.add(kept("f1"));
  await responses.close();
  await responses.close();
  assert.ok(await responses.find(owner, "f1"));
  assert.deepEqual(warnings, ["Cannot store responses: they wait in memory"]);
  isDown = false;
  await responses.close();
  assert.ok(await create().responses.find(owner, "f1"));
});

test("the oldest are dropped when too many bytes wait, but never the only one", async () => {
  const { responses } = create({ limits: { rows: 9, bytes: 25 } });
  for (const id of ["h1", "h2", "h3"]) responses.add(kept(id));
  assert.equal(await responses.find(owner, "h1"), undefined);
  assert.ok((await responses.find(owner, "h2")) && (await responses.find(owner, "h3")));
  responses.add(kept("h4", { bytes: 99 }));
  assert.ok(await responses.find(owner, "h4"));
  await responses.close();
});

test("the oldest are dropped when too many wait", async () => {
  const { responses } = create({ limits: { rows: 2, bytes: 1_000_000 } });
  for (const id of ["g1", "g2", "g3"]) responses.add(kept(id));
  assert.equal(await responses.find(owner, "g1"), undefined);
  assert.ok(await responses.find(owner, "g3"));
  await responses.close();
});

test("cleanUp() removes what deleted workspaces left", async () => {
  const { responses } = create();
  await database.write([
    "INSERT INTO organisations (id, name, slug, created_at) VALUES ('left', 'o', 'o', 0)",
    `INSERT INTO workspaces (id, organisation_id, name, slug, status, created_at)
     VALUES ('gone', 'left', 'w', 'w', 'archived', 0), ('there', 'left', 'v', 'v', 'active', 0)`,
  ]);
  const ofWorkspace = (workspaceId: string) => ({ organisationId: "left", workspaceId });
  for (let index = 0; index < 600; index++) responses.add(kept(`gone-${index}`, ofWorkspace("gone")));
  responses.add(kept("there-1", ofWorkspace("there")));
  await responses.close();
  const { responses: fresh } = create();
  assert.ok(await fresh.find(ofWorkspace("gone"), "gone-599"));
  await fresh.cleanUp();
  const { rows } = await database.read("SELECT id FROM stored_responses WHERE organisation_id = 'left'");
  assert.deepEqual(
    rows.map(({ id }) => id),
    ["there-1"],
  );
});
