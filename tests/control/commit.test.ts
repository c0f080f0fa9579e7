import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { AuditDraft } from "../../src/control/audit-chain.ts";
import { type Committer, createCommitter } from "../../src/control/commit.ts";
import { createFollower } from "../../src/control/follower.ts";
import type { Database } from "../../src/db/client.ts";
import type { Change } from "../../src/db/stores/audit.ts";
import { createControlStores } from "../../src/db/stores/control.ts";
import { createOrganisation } from "../support/control.ts";
import { createTestGateway, type TestGateway } from "../support/gateway.ts";

let gateway: TestGateway;
let database: Database;
let organisationId: string;
before(async () => {
  gateway = await createTestGateway({ inFile: true });
  database = await gateway.openFile();
  ({ organisationId } = await createOrganisation(database, "committing"));
});
after(() => gateway.close());

const audit: AuditDraft = {
  time: 0,
  requestId: "",
  method: "PUT",
  uri: "/",
  queryParams: "{}",
  requestBody: "",
  requestHeaders: "{}",
  userId: "u",
  userType: "user",
  workspaceId: null,
  resourceType: "labels",
  resourceId: null,
  action: "update",
  responseStatusCode: 200,
  clientIp: "",
  country: null,
};

/** A committer, as each node has one. */
const createNode = (applied: (changes: readonly Change[], numbers: readonly number[]) => void = () => {}): Committer =>
  createCommitter({
    database,
    audit: createControlStores(database).audit,
    mac: () => "mac",
    now: () => 0,
    applied,
  });

test("Committer.run() undoes what lost the race against another node, and keeps what its last run did", async () => {
  const other = createNode();
  const notes: string[] = [];
  let runs = 0;
  await createNode().run(organisationId, async () => {
    const number = ++runs;
    notes.push(`run ${number}`);
    if (number < 3) await other.run(organisationId, async () => ({ statements: [], audit }));
    return { statements: [], audit, undo: async () => void notes.push(`undo ${number}`) };
  });
  assert.deepEqual(notes, ["run 1", "undo 1", "run 2", "undo 2", "run 3"]);
});

test("Committer.run() undoes work whose statements fail, and writes nothing", async () => {
  const rows = async () => (await database.read("SELECT count(*) AS rows FROM audit_logs")).rows[0]?.rows;
  const before = await rows();
  let isUndone = false;
  const work = async () => ({
    statements: [{ sql: "INSERT INTO no_such_table VALUES (1)", args: [] }],
    audit,
    undo: () => {
      isUndone = true;
    },
  });
  await assert.rejects(createNode().run(organisationId, work), /no_such_table/);
  assert.ok(isUndone);
  assert.equal(await rows(), before);
});

test("a follower distinguishes changes of this node from those of other nodes", async () => {
  const seen: string[] = [];
  const note = (kind: string) => (changes: readonly Change[]) => {
    seen.push(...changes.map(({ recordId }) => `${kind} ${recordId}`));
  };
  const follower = await createFollower(createControlStores(database).audit, {
    changed: note("changed"),
    repeated: note("repeated"),
    lost: () => seen.push("lost"),
    returned: () => seen.push("returned"),
  });
  const own = createNode((_, numbers) => follower.made(numbers));
  const change = (recordId: string) => async () => {
    const written = { resource: "api_keys", workspaceId: null, recordIds: [recordId] };
    return { statements: [{ sql: "SELECT 1", args: [], written }], audit };
  };
  await own.run(organisationId, change("one"));
  await createNode().run(organisationId, change("two"));
  await own.run(organisationId, change("three"));
  await follower.look();
  assert.deepEqual(seen.toSorted(), ["changed two", "repeated one", "repeated three"]);
  await follower.look();
  assert.equal(seen.length, 3);
});
