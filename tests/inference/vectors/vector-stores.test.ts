import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import type OpenAI from "openai";
import { APIError } from "openai";
import { createTestGateway, insertKey, insertTenant, type TestGateway, waitForLogs } from "../../support/gateway.ts";
import {
  addText,
  createClient,
  createStore,
  startVectorUpstream,
  storeVectorProvider,
  uploadText,
  type VectorUpstream,
} from "../../support/vector-stores.ts";

const otherKey = "other-workspace-key-0000000";
const readingKey = "reading-workspace-key-00000";
let upstream: VectorUpstream;
let gateway: TestGateway;
let client: OpenAI;
let other: OpenAI;
before(async () => {
  upstream = await startVectorUpstream();
  gateway = await createTestGateway({ inFile: true });
  const database = await gateway.openFile();
  await insertTenant(database, otherKey);
  await insertKey(database, readingKey, { scopes: '["logs.view"]' });
  await storeVectorProvider(gateway, upstream);
  client = createClient(gateway);
  other = createClient(gateway, { "x-gateway-api-key": otherKey });
});
after(async () => {
  await gateway.close();
  await upstream.close();
});
beforeEach(() => {
  upstream.answer = undefined;
  upstream.inputs.length = 0;
});

async function requireRefusal(asked: Promise<unknown>, status: number, code: string): Promise<string> {
  const error = await asked.then(
    () => assert.fail(`it was not refused with ${code}`),
    (thrown) => thrown,
  );
  assert.ok(error instanceof APIError, String(error));
  assert.deepEqual([error.status, error.code], [status, code], error.message);
  return error.message;
}

test("OpenAI's client makes a vector store, fills it, searches it, changes it and deletes it", async () => {
  const store = await client.vectorStores.create({
    name: "Town",
    metadata: { of: "tests" },
    expires_after: { anchor: "last_active_at", days: 3 },
    embedding_model: "@vectors/m",
  } as object);
  assert.match(store.id, /^gw_vs_[0-9a-f-]{36}$/);
  assert.deepEqual([store.object, store.name, store.status], ["vector_store", "Town", "completed"]);
  assert.equal(store.expires_at, (store.last_active_at ?? 0) + 3 * 86_400);
  const harbour = await addText(client, store.id, { text: "The harbour opens at six. The ferry leaves at seven." });
  await addText(client, store.id, { text: "An invoice has a tax number.", name: "money.txt" });
  const shown = await client.vectorStores.retrieve(store.id);
  assert.deepEqual(shown.file_counts, { in_progress: 0, completed: 2, failed: 0, cancelled: 0, total: 2 });
  assert.ok(shown.usage_bytes > 0);
  const found = await client.vectorStores.search(store.id, { query: "When does the ferry leave the harbour?" });
  const [first] = found.data;
  assert.deepEqual([first?.file_id, first?.filename], [harbour, "notes.md"]);
  assert.equal(first?.content[0]?.text, "The harbour opens at six. The ferry leaves at seven.");
  assert.ok((first?.score ?? 0) > 0.99 && (found.data[1]?.score ?? 1) < 0.2);
  const near = { query: "ferry", ranking_options: { score_threshold: 0.6 }, max_num_results: 1 };
  assert.equal((await client.vectorStores.search(store.id, near)).data.length, 1);
  const files = await client.vectorStores.files.list(store.id, { filter: "completed", order: "asc" });
  assert.deepEqual(files.data.map(({ id }) => id)[0], harbour);
  const before = await client.vectorStores.files.list(store.id, { order: "asc", before: files.data[1]?.id ?? "" });
  assert.deepEqual(
    before.data.map(({ id }) => id),
    [harbour],
  );
  const content = await client.vectorStores.files.content(harbour, { vector_store_id: store.id });
  assert.equal(content.data[0]?.text, "The harbour opens at six. The ferry leaves at seven.");
  assert.equal((await client.vectorStores.update(store.id, { name: "City" })).name, "City");
  assert.ok((await client.vectorStores.list({ limit: 100 })).data.some(({ id }) => id === store.id));
  await client.vectorStores.files.delete(harbour, { vector_store_id: store.id });
  assert.ok(
    (await client.vectorStores.search(store.id, { query: "ferry" })).data.every((one) => one.file_id !== harbour),
  );
  assert.deepEqual(await client.vectorStores.delete(store.id), {
    id: store.id,
    object: "vector_store.deleted",
    deleted: true,
  });
  await requireRefusal(client.vectorStores.retrieve(store.id), 404, "vector_store_not_found");
  const database = await gateway.openFile();
  const { rows } = await database.read({
    sql: `SELECT (SELECT count(*) FROM vector_store_blocks WHERE store_id = ?1) + (SELECT count(*) FROM secrets WHERE record_id = ?1)
      + (SELECT count(*) FROM vector_store_files WHERE store_id = ?1) AS left`,
    args: [store.id],
  });
  assert.equal(rows[0]?.left, 0);
});

test("embeddings are requests of the key that added the file, and a search is a row with its unit", async () => {
  const store = await createStore(client);
  await addText(client, store, { text: "A cat and a dog." });
  await client.vectorStores.search(store, { query: "cat" }, { headers: { "x-gateway-trace-id": "vector-search" } });
  const [indexed] = await waitForLogs(gateway, `trace_id=${store}`);
  assert.deepEqual([indexed?.provider, indexed?.operation, indexed?.usage?.total_tokens], ["openai", "embed", 7]);
  const rows = await waitForLogs(gateway, "trace_id=vector-search", 2);
  assert.deepEqual(rows.map(({ operation }) => operation).sort(), ["embed", "search_vector_store"]);
  const search = rows.find(({ operation }) => operation === "search_vector_store");
  assert.deepEqual([search?.cost, Reflect.get(search?.usage ?? {}, "units")], [0, { file_search: 1 }]);
});

test("stored text and vectors are sealed", async () => {
  const store = await createStore(client);
  await addText(client, store, { text: "The needle is here: bread bread bread." });
  const database = await gateway.openFile();
  const { rows } = await database.read({
    sql: "SELECT vectors, content FROM vector_store_blocks WHERE store_id = ?",
    args: [store],
  });
  const { content, vectors } = rows[0] ?? assert.fail();
  assert.ok(content instanceof ArrayBuffer && vectors instanceof ArrayBuffer);
  assert.ok(!Buffer.from(content).includes("needle"));
  assert.equal(vectors.byteLength, 8 * 4 + 12 + 16);
});

test("chunks share text, blocks hold sixteen, and all of a long file is found", async () => {
  const store = await createStore(client);
  const paragraphs = Array.from({ length: 300 }, (_, index) => `Paragraph ${index} says nothing new about it at all.`);
  paragraphs[287] = "Here is the only bread of the whole file.";
  const file_id = await uploadText(client, paragraphs.join("\n\n"), "long.txt");
  const strategy = { max_chunk_size_tokens: 100, chunk_overlap_tokens: 50 };
  const added = await client.vectorStores.files.createAndPoll(
    store,
    { file_id, chunking_strategy: { type: "static", static: strategy } },
    { pollIntervalMs: 5 },
  );
  assert.deepEqual(added.chunking_strategy, { type: "static", static: strategy });
  assert.ok(upstream.inputs.length > 4 && upstream.inputs.every((inputs) => inputs.length <= 16));
  const chunks = upstream.inputs.flat();
  for (const paragraph of paragraphs) assert.ok(chunks.some((chunk) => chunk.includes(paragraph)));
  const { data } = await client.vectorStores.search(store, { query: "bread", max_num_results: 2 });
  assert.ok(data.length === 2 && data.every(({ content }) => content[0]?.text.includes("only bread")));
});

test("filters select files by their attributes", async () => {
  const store = await createStore(client);
  const old = await addText(client, store, { text: "cat", attributes: { year: 2020, kind: "note", open: true } });
  const recent = await addText(client, store, { text: "cat cat", attributes: { year: 2026, kind: "report" } });
  const ids = async (filters: object): Promise<string[]> => {
    const { data } = await client.vectorStores.search(store, { query: "cat", filters } as { query: string });
    return data.map(({ file_id }) => file_id).sort();
  };
  const both = [old, recent].sort();
  const year = (type: string, value: number) => ({ type, key: "year", value });
  for (const [filters, wanted] of [
    [year("eq", 2020), [old]],
    [year("ne", 2020), [recent]],
    [year("gt", 2020), [recent]],
    [year("gte", 2020), both],
    [year("lt", 2026), [old]],
    [year("lte", 2019), []],
    [{ type: "in", key: "kind", value: ["note", "letter"] }, [old]],
    [{ type: "nin", key: "kind", value: ["note"] }, [recent]],
    [{ type: "eq", key: "open", value: true }, [old]],
    [{ type: "gt", key: "kind", value: 3 }, []],
    [{ type: "and", filters: [year("gt", 2000), { type: "eq", key: "kind", value: "report" }] }, [recent]],
    [{ type: "or", filters: [year("eq", 2020), { type: "eq", key: "kind", value: "report" }] }, both],
  ] as const) {
    assert.deepEqual(await ids(filters), wanted, JSON.stringify(filters));
  }
  let deep: object = year("eq", 1);
  for (let level = 0; level < 12; level++) deep = { type: "and", filters: [deep] };
  const wide = { type: "or", filters: Array.from({ length: 200 }, () => year("eq", 1)) };
  for (const filters of [deep, wide, { type: "xor" }, year("like", 1), { type: "in", key: "a", value: "b" }]) {
    await requireRefusal(ids(filters), 400, "invalid_filters");
  }
  await client.vectorStores.files.update(old, { vector_store_id: store, attributes: { year: 1999 } });
  assert.deepEqual(await ids(year("eq", 1999)), [old]);
});

test("files of a batch are added together, polled and cancelled", async () => {
  const store = await createStore(client);
  const ids = [await uploadText(client, "cat"), await uploadText(client, "dog", "dog.json")];
  const batch = await client.vectorStores.fileBatches.createAndPoll(store, { file_ids: ids }, { pollIntervalMs: 5 });
  assert.deepEqual([batch.status, batch.file_counts.completed], ["completed", 2]);
  const listed = await client.vectorStores.fileBatches.listFiles(batch.id, { vector_store_id: store });
  assert.deepEqual(listed.data.map(({ id }) => id).sort(), [...ids].sort());
  upstream.answer = () => ({ status: 503, body: { error: { message: "away" } } });
  const slow = await client.vectorStores.fileBatches.create(store, { file_ids: [await uploadText(client, "bread")] });
  const cancelled = await client.vectorStores.fileBatches.cancel(slow.id, { vector_store_id: store });
  assert.deepEqual([cancelled.status, cancelled.file_counts.cancelled], ["cancelled", 1]);
});

for (const [name, content, code, pattern] of [
  ["a.bin", "no\u0000text", "invalid_file", /not text in UTF-8/],
  ["b.txt", "%PDF-1.7 hidden", "unsupported_file", /PDF files/],
  ["c.txt", "   \n ", "invalid_file", /no text/],
] as const) {
  test(`${name} fails with ${code}: ${pattern.source}`, async () => {
    const store = await createStore(client);
    const file_id = await uploadText(client, content, name);
    const added = await client.vectorStores.files.createAndPoll(store, { file_id }, { pollIntervalMs: 5 });
    assert.equal(added.status, "failed");
    assert.equal(added.last_error?.code, code);
    assert.match(added.last_error?.message ?? "", pattern);
  });
}

test("a page of HTML is added as its text", async () => {
  const store = await createStore(client);
  const html = `<!doctype html><title>T</title><style>p { cat: 1 }</style><script>if (a < b) dog()</script>
    <p>Fish &amp; <b>bread</b> &#8212; 3 &lt; 4</p><!-- tax --><td>x`;
  await addText(client, store, { text: html, name: "page.html" });
  assert.deepEqual(upstream.inputs.flat(), ["T\nFish & bread — 3 < 4\nx"]);
});

test("what cannot be added or made is refused when it is asked for", async () => {
  await requireRefusal(client.vectorStores.create({}), 400, "embeddings_required");
  const store = await createStore(client);
  const pdf = await uploadText(client, "x", "paper.pdf");
  const message = await requireRefusal(
    client.vectorStores.files.create(store, { file_id: pdf }),
    400,
    "unsupported_file",
  );
  assert.match(message, /PDF/);
  await requireRefusal(client.vectorStores.files.create(store, { file_id: "file-1" }), 404, "file_not_found");
  const file_id = await uploadText(client, "cat");
  const wrong = { max_chunk_size_tokens: 100, chunk_overlap_tokens: 80 };
  const body = { file_id, chunking_strategy: { type: "static", static: wrong } } as const;
  await requireRefusal(client.vectorStores.files.create(store, body), 400, "invalid_body");
  await requireRefusal(client.vectorStores.search(store, { query: " " }), 400, "invalid_body");
  await requireRefusal(client.vectorStores.search(store, { query: "a", max_num_results: 51 }), 400, "invalid_body");
});

test("other workspaces find neither the store nor its files", async () => {
  const store = await createStore(client);
  const file = await addText(client, store, { text: "cat" });
  const [missing, place] = ["vector_store_not_found", { vector_store_id: store }];
  await requireRefusal(other.vectorStores.retrieve(store), 404, missing);
  await requireRefusal(other.vectorStores.search(store, { query: "cat" }), 404, missing);
  await requireRefusal(other.vectorStores.update(store, { name: "mine" }), 404, missing);
  await requireRefusal(other.vectorStores.files.retrieve(file, place), 404, missing);
  await requireRefusal(other.vectorStores.files.content(file, place), 404, missing);
  await requireRefusal(other.vectorStores.delete(store), 404, missing);
  const mine = (await other.vectorStores.create({ embedding_model: "@vectors/m" } as object)).id;
  await requireRefusal(other.vectorStores.files.create(mine, { file_id: file }), 404, "file_not_found");
  assert.deepEqual(
    (await other.vectorStores.list()).data.map(({ id }) => id),
    [mine],
  );
});

test("a deleted file is found no more", async () => {
  const store = await createStore(client);
  const file = await addText(client, store, { text: "cat" });
  await client.files.delete(file);
  assert.deepEqual((await client.vectorStores.search(store, { query: "cat" })).data, []);
  assert.equal((await client.vectorStores.retrieve(store)).file_counts.total, 0);
});

test("a model that is away is asked again, and one that refuses fails the file", async () => {
  const store = await createStore(client);
  upstream.answer = (_, call) => (call === 1 ? { status: 503, body: { error: { message: "away" } } } : undefined);
  await addText(client, store, { text: "cat" });
  upstream.answer = () => ({ status: 400, body: { error: { message: "the input is odd" } } });
  const file_id = await uploadText(client, "dog");
  const failed = await client.vectorStores.files.createAndPoll(store, { file_id }, { pollIntervalMs: 5 });
  assert.deepEqual([failed.status, failed.last_error?.code], ["failed", "server_error"]);
  assert.match(failed.last_error?.message ?? "", /the input is odd/);
  const message = await requireRefusal(client.vectorStores.search(store, { query: "cat" }), 400, "embedding_failed");
  assert.match(message, /the input is odd/);
  upstream.answer = undefined;
  const again = await client.vectorStores.files.createAndPoll(store, { file_id }, { pollIntervalMs: 5 });
  assert.equal(again.status, "completed");
});

test("the config of a request says what makes the vectors, and a provider's stores are still the provider's", async () => {
  const config = JSON.stringify({
    provider: "together-ai",
    api_key: "k",
    server_tools: { file_search: { embeddings: "@vectors/m" } },
  });
  const made = await createClient(gateway, { "x-gateway-config": config }).vectorStores.create({ name: "n" });
  assert.equal(Reflect.get(made, "embedding_model"), "@vectors/m");
  const forwarded = createClient(gateway, { "x-gateway-provider": "mistral-ai" });
  await requireRefusal(forwarded.vectorStores.create({}), 400, "unsupported_endpoint");
});

test("a key that may not write completions reaches no store", async () => {
  const reader = createClient(gateway, { "x-gateway-api-key": readingKey });
  const error = await reader.vectorStores.list().then(
    () => assert.fail("it was listed"),
    (thrown) => thrown,
  );
  assert.equal(error.status, 403);
});
