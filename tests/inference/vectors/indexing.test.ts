import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { readMasterKeys } from "../../../src/auth/master-keys.ts";
import { createVault } from "../../../src/control/vault.ts";
import { VectorStores } from "../../../src/control/vector-stores/vector-stores.ts";
import { createControlStores } from "../../../src/db/stores/control.ts";
import { VectorStoreStore } from "../../../src/db/stores/vector-stores.ts";
import { call, done } from "../../support/control.ts";
import {
  adminKey,
  createTemporaryFolder,
  createTestClock,
  createTestGateway,
  masterKeys,
} from "../../support/gateway.ts";
import { eventually } from "../../support/upstream.ts";
import {
  addText,
  createClient,
  createStore,
  startVectorUpstream,
  storeVectorProvider,
  uploadText,
} from "../../support/vector-stores.ts";

const dayMs = 86_400_000;
const longText = Array.from({ length: 200 }, (_, index) => `Paragraph ${index} says nothing new about it at all.`);
const small = { type: "static", static: { max_chunk_size_tokens: 100, chunk_overlap_tokens: 0 } } as const;

test("a file is continued by the next process from its last block, and no chunk is embedded twice", async () => {
  const folder = createTemporaryFolder();
  const upstream = await startVectorUpstream();
  const database = `file:${join(folder.path, "gateway.db")}`;
  const first = await createTestGateway({ database });
  await storeVectorProvider(first, upstream);
  const client = createClient(first);
  const store = await createStore(client);
  const file_id = await uploadText(client, longText.join("\n\n"));
  upstream.answer = (_, call) => (call === 2 ? new Promise(() => {}) : undefined);
  await client.vectorStores.files.create(store, { file_id, chunking_strategy: small });
  await eventually(() => upstream.inputs.length === 2, "the second block");
  await first.close();
  upstream.answer = undefined;
  const second = await createTestGateway({ database });
  const again = createClient(second).vectorStores.files;
  const done = await again.poll(store, file_id, { pollIntervalMs: 5 });
  assert.equal(done.status, "completed");
  const [before = [], cut, ...others] = upstream.inputs;
  assert.deepEqual(others[0], cut);
  const embedded = [before, ...others].flat();
  assert.equal(new Set(embedded).size, embedded.length);
  const content = await again.content(file_id, { vector_store_id: store });
  assert.deepEqual(
    content.data.map(({ text }) => text),
    embedded,
  );
  await second.close();
  await upstream.close();
  folder.remove();
});

test("a runner that lost a file stores neither a block nor a step", async () => {
  const upstream = await startVectorUpstream();
  const gateway = await createTestGateway({ inFile: true });
  await storeVectorProvider(gateway, upstream);
  const client = createClient(gateway);
  const id = await createStore(client);
  upstream.answer = () => new Promise(() => {});
  const file = await uploadText(client, "A cat.");
  await client.vectorStores.files.create(id, { file_id: file });
  await eventually(() => upstream.inputs.length === 1, "the call");
  const database = await gateway.openFile();
  const store = new VectorStoreStore(database);
  // another process, whose clock says that the lease is over
  const now = Date.now() + 2 * 60_000;
  const [row] = await store.listFree(now, 5);
  assert.ok(row && (await store.claim(row, { owner: "other", until: now + 60_000 }, now)));
  const block = { fileId: file, seq: 0, vectors: new Uint8Array(40), contents: new Uint8Array(40) };
  const lost = row.leaseOwner ?? "";
  const late = store.write([store.insertBlock(row, lost, block), store.step(row, lost, { position: 1 })]);
  await assert.rejects(late, /NOT NULL/);
  assert.equal((await database.read("SELECT count(*) AS n FROM vector_store_blocks")).rows[0]?.n, 0);
  await gateway.close();
  await upstream.close();
});

test("an expired store cannot be searched, and loses its content; a deleted file loses its vectors", async () => {
  const clock = createTestClock();
  const upstream = await startVectorUpstream();
  const gateway = await createTestGateway({ inFile: true, clock });
  await storeVectorProvider(gateway, upstream);
  const client = createClient(gateway);
  const expiring = await createStore(client, { expires_after: { anchor: "last_active_at", days: 1 } });
  const lasting = await createStore(client);
  for (const id of [expiring, lasting]) await addText(client, id, { text: "cat" });
  const gone = await addText(client, lasting, { text: "dog" });
  const database = await gateway.openFile();
  const store = new VectorStoreStore(database);
  assert.deepEqual(await store.listGoneFiles(clock.now(), 5), []);
  await client.files.delete(gone);
  assert.deepEqual(
    (await store.listGoneFiles(clock.now(), 5)).map(({ id }) => id),
    [gone],
  );
  clock.advance(dayMs + 1);
  assert.equal((await client.vectorStores.retrieve(expiring)).status, "expired");
  await assert.rejects(client.vectorStores.search(expiring, { query: "cat" }), { code: "vector_store_expired" });
  const left = await store.listGoneFiles(clock.now(), 5);
  assert.deepEqual(left.map(({ storeId }) => storeId).sort(), [expiring, lasting].sort());
  for (const row of left) await store.removeFile(row);
  assert.equal((await database.read("SELECT count(*) AS n FROM vector_store_blocks")).rows[0]?.n, 1);
  assert.equal((await client.vectorStores.search(lasting, { query: "cat" })).data.length, 1);
  await gateway.close();
  await upstream.close();
});

test("nothing of the vector stores of a deleted workspace can be read, and the cleanup removes it", async () => {
  const upstream = await startVectorUpstream();
  const gateway = await createTestGateway({ inFile: true });
  const as = { key: adminKey };
  const made = await done(call<{ id: string }>(gateway, "POST /admin/workspaces", { ...as, body: { name: "Gone" } }));
  const body = { name: "gone", workspace_id: made.id, scopes: ["completions.write"] };
  const { key } = await done(call<{ key: string }>(gateway, "POST /api-keys/workspace/service", { ...as, body }));
  await storeVectorProvider(gateway, upstream, { ...as, workspace_id: made.id });
  const client = createClient(gateway, { "x-gateway-api-key": key });
  const store = await createStore(client);
  const file = await addText(client, store, { text: "A secret cat." });
  const lasting = createClient(gateway);
  await done(
    call(gateway, `DELETE /admin/workspaces/${made.id}`, { ...as, body: { name: "Gone", force_delete: true } }),
  );
  await assert.rejects(client.vectorStores.search(store, { query: "cat" }), { status: 401 });
  for (const by of [
    lasting,
    createClient(gateway, { "x-gateway-api-key": adminKey, "x-gateway-workspace": made.id }),
  ]) {
    for (const read of [
      () => by.vectorStores.retrieve(store),
      () => by.vectorStores.search(store, { query: "cat" }),
      () => by.vectorStores.files.content(file, { vector_store_id: store }),
    ]) {
      await assert.rejects(read(), (error: { status: number }) => [401, 403, 404].includes(error.status));
    }
  }
  const database = await gateway.openFile();
  const stores = createControlStores(database);
  const [masterKey] = readMasterKeys(masterKeys);
  const vault = createVault([masterKey ?? assert.fail()]);
  const clock = createTestClock(Date.now());
  await new VectorStores({ store: new VectorStoreStore(database), stores, vault, clock }).cleanUp();
  const { rows } = await database.read({
    sql: `SELECT (SELECT count(*) FROM vector_store_blocks WHERE store_id = ?1) AS blocks,
      (SELECT count(*) FROM vector_store_files WHERE store_id = ?1) AS files,
      (SELECT count(*) FROM vector_stores WHERE id = ?1) AS stores,
      (SELECT count(*) FROM secrets WHERE record_id = ?1) AS secrets`,
    args: [store],
  });
  assert.deepEqual({ ...rows[0] }, { blocks: 0, files: 0, stores: 0, secrets: 0 });
  await gateway.close();
  await upstream.close();
});
