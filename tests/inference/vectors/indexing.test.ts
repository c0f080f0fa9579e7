import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { VectorStoreStore } from "../../../src/db/stores/vector-stores.ts";
import { createTemporaryFolder, createTestClock, createTestGateway } from "../../support/gateway.ts";
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
