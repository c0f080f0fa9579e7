import assert from "node:assert/strict";
import { test } from "node:test";
import { readMasterKeys } from "../../src/auth/master-keys.ts";
import { createS3Pieces } from "../../src/control/files/pieces.ts";
import { createFileStorage } from "../../src/control/files/storage.ts";
import { createObjectStore } from "../../src/control/object-store.ts";
import { createVault, type Vault } from "../../src/control/vault.ts";
import { openDatabase } from "../../src/db/client.ts";
import { migrate } from "../../src/db/migrate.ts";
import { createControlStores } from "../../src/db/stores/control.ts";
import { createAddressGuard } from "../../src/lib/address.ts";
import { createOutbound } from "../../src/lib/outbound.ts";
import type { FileObject } from "../../src/schemas/files.ts";
import { readSettings } from "../../src/settings.ts";
import { chatLine, chatLines, readResults, runLines, sendOwn, upload, waitForBatch } from "../support/batches.ts";
import {
  createRuntimeTransport,
  createTestClock,
  createTestGateway,
  masterKeys,
  readJson,
} from "../support/gateway.ts";
import { startObjectStore } from "../support/object-store.ts";

test("files are stored in S3 if configured, sealed and in pieces", async () => {
  const { server, objects, state, s3 } = await startObjectStore();
  const gateway = await createTestGateway({ inFile: true, files: { s3 }, batches: { pauseMs: 0 } });
  try {
    const content = Array.from(
      { length: 35_000 },
      (_, index) => `${chatLine(`n${index}`, "needle".repeat(20))}\n`,
    ).join("");
    assert.ok(content.length > 8 * 2 ** 20);
    const file = await readJson<FileObject>(await upload(gateway, content));
    assert.equal(objects.size, 2);
    for (const [path, bytes] of objects) {
      assert.match(path, /^\/files\/gateway\/[0-9a-f-]{36}\/[0-9a-f-]{36}\/gw_file_[0-9a-f-]{36}\/[01]$/);
      assert.ok(!new TextDecoder("latin1").decode(bytes).includes("needle"));
    }
    assert.equal(await (await sendOwn(gateway, `/v1/files/${file.id}/content`)).text(), content);
    const { rows } = await (await gateway.openFile()).read("SELECT count(*) AS pieces FROM gateway_file_pieces");
    assert.equal(rows[0]?.pieces, 0);
    const begun = await runLines(gateway, chatLines(30));
    const batch = await waitForBatch(gateway, begun.id);
    assert.equal((await readResults(gateway, batch.output_file_id)).length, 30);
    for (const id of [file.id, batch.output_file_id, batch.input_file_id]) {
      await sendOwn(gateway, `/v1/files/${id}`, { method: "DELETE" });
    }
    assert.equal(objects.size, 0);
    state.status = 503;
    const refused = await upload(gateway, chatLines(1));
    assert.equal(refused.status, 503);
    const { error } = await readJson<{ error: { code: string } }>(refused);
    assert.equal(error.code, "file_store_unavailable");
  } finally {
    await gateway.close();
    await server.close();
  }
});

test("reading fails if the store closes the connection", async () => {
  const { server, state, s3 } = await startObjectStore();
  const gateway = await createTestGateway({ files: { s3 } });
  try {
    const file = await readJson<FileObject>(await upload(gateway, chatLines(1)));
    state.breaksOff = true;
    const response = await sendOwn(gateway, `/v1/files/${file.id}/content`);
    const { error } = await readJson<{ error: { code: string } }>(response);
    assert.deepEqual([response.status, error.code], [503, "file_unavailable"]);
  } finally {
    await gateway.close();
    await server.close();
  }
});

test("reading fails if the store is unavailable", async () => {
  const { server, s3 } = await startObjectStore();
  const gateway = await createTestGateway({ files: { s3 } });
  try {
    const file = await readJson<FileObject>(await upload(gateway, chatLines(1)));
    await server.close();
    const response = await sendOwn(gateway, `/v1/files/${file.id}/content`);
    assert.equal(response.status, 503);
    const { error } = await readJson<{ error: { code: string } }>(response);
    assert.equal(error.code, "file_unavailable");
  } finally {
    await gateway.close();
  }
});

const tenant = { organisationId: "organisation-1", workspaceId: "workspace-1" };

function createTestVault(): Vault {
  const [key] = readMasterKeys(masterKeys);
  assert.ok(key);
  return createVault([key]);
}

async function* oneText(text: string): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(text);
}

test("cleanUp() removes expired, abandoned and deleted files, and nothing else", async () => {
  const clock = createTestClock();
  const database = await openDatabase({ url: ":memory:" });
  await migrate(database);
  const stores = createControlStores(database);
  const limits = { fileBytes: 1_000, workspaceBytes: 10_000 };
  const storage = createFileStorage({
    database,
    stores,
    vault: createTestVault(),
    clock,
    limits,
  });
  const add = (expiresAt: number | null) =>
    storage.upload(tenant, {
      filename: "a.jsonl",
      content: oneText("text"),
      complete: async () => ({ purpose: "batch", expiresAt }),
    });
  const idsIn = async (sql: string) => (await database.read(sql)).rows.map(({ id }) => id);
  const ended = await add(clock.now() + 1_000);
  const kept = await add(null);
  const written = await storage.open(tenant, { filename: "b.jsonl", purpose: "batch_output" }, clock.now() + 1_000);
  await database.write(written.statements);
  await database.write(await storage.append(tenant, written.id, new TextEncoder().encode("more")));
  await storage.cleanUp();
  assert.equal((await idsIn("SELECT id FROM gateway_files")).length, 3);
  clock.advance(1_000);
  assert.equal(await storage.find(tenant, ended.id), undefined);
  await storage.cleanUp();
  for (const sql of [
    "SELECT id FROM gateway_files",
    "SELECT file_id AS id FROM gateway_file_pieces",
    "SELECT record_id AS id FROM secrets",
  ]) {
    assert.deepEqual(await idsIn(sql), [kept.id]);
  }
  await database.write([{ sql: "UPDATE gateway_files SET status = 'deleted'", args: [] }]);
  await storage.cleanUp();
  assert.deepEqual(await idsIn("SELECT id FROM gateway_files"), []);
  await database.close();
});

test("appended pieces go where the first one is, also once new files go elsewhere", async () => {
  const database = await openDatabase({ url: ":memory:" });
  await migrate(database);
  const common = {
    database,
    stores: createControlStores(database),
    vault: createTestVault(),
    clock: createTestClock(),
  };
  const limits = { fileBytes: 1_000, workspaceBytes: 10_000 };
  const before = createFileStorage({ ...common, limits });
  const { id, statements } = await before.open(tenant, { filename: "answers", purpose: "batch" }, 1e15);
  await database.write(statements);
  const refuse = () => assert.fail("the other place was asked");
  const elsewhere = { name: "s3", pieceBytes: 10, put: refuse, get: refuse, remove: refuse } as const;
  const after = createFileStorage({ ...common, limits, pieces: elsewhere });
  await database.write(await after.append(tenant, id, new TextEncoder().encode("one line")));
  await database.write([after.finish(tenant, id, null)]);
  const file = await after.find(tenant, id);
  assert.ok(file);
  let text = "";
  for await (const piece of after.read(file)) text += new TextDecoder().decode(piece);
  assert.equal(text, "one line");
  await database.close();
});

test("an incrementally written file is visible when it is finished, and readable from any offset", async () => {
  const clock = createTestClock();
  const database = await openDatabase({ url: ":memory:" });
  await migrate(database);
  const stores = createControlStores(database);
  const limits = { fileBytes: 10 * 2 ** 20, workspaceBytes: 100 * 2 ** 20 };
  const storage = createFileStorage({
    database,
    stores,
    vault: createTestVault(),
    clock,
    limits,
  });
  const written = await storage.open(tenant, { filename: "b.jsonl", purpose: "batch_output" }, clock.now() + 1_000);
  await database.write(written.statements);
  const large = new Uint8Array(3 * 2 ** 20).fill(7);
  await database.write(await storage.append(tenant, written.id, large));
  await database.write(await storage.append(tenant, written.id, new Uint8Array([1, 2, 3])));
  assert.equal(await storage.find(tenant, written.id), undefined);
  await database.write([storage.finish(tenant, written.id, null)]);
  const row = await storage.find(tenant, written.id);
  assert.equal(row?.bytes, large.length + 3);
  for (const offset of [0, 1, 2 ** 20, large.length, large.length + 2, large.length + 3]) {
    let length = 0;
    for await (const piece of storage.read(row, offset)) length += piece.length;
    assert.equal(length, row.bytes - offset);
  }
  await database.close();
});

test("what a deleted workspace left goes: files wherever they lie, and uploads that still come", async () => {
  const { server, objects, s3 } = await startObjectStore();
  const clock = createTestClock();
  const database = await openDatabase({ url: ":memory:" });
  await migrate(database);
  const stores = createControlStores(database);
  const common = { database, stores, vault: createTestVault(), clock };
  const limits = { fileBytes: 10_000, workspaceBytes: 100_000 };
  const transport = createRuntimeTransport();
  const guard = createAddressGuard({ trustedHosts: ["127.0.0.1"] });
  const pieces = createS3Pieces(createObjectStore(s3, { outbound: createOutbound({ transport, guard }), clock }));
  const storage = createFileStorage({ ...common, limits, pieces: { ...pieces, pieceBytes: 10 } });
  const complete = async () => ({ purpose: "batch", expiresAt: null });
  const other = { organisationId: "organisation-1", workspaceId: "workspace-2" };
  await createFileStorage({ ...common, limits }).upload(tenant, {
    filename: "in-database",
    content: oneText("text"),
    complete,
  });
  await storage.upload(tenant, { filename: "in-s3", content: oneText("a longer text"), complete });
  const kept = await storage.upload(other, { filename: "kept", content: oneText("text"), complete });
  async function* archivingText(): AsyncGenerator<Uint8Array> {
    yield* oneText("a text that comes ");
    await database.write([
      "INSERT INTO organisations (id, name, slug, created_at) VALUES ('organisation-1', 'o', 'o', 0)",
      `INSERT INTO workspaces (id, organisation_id, name, slug, status, created_at)
       VALUES ('workspace-1', 'organisation-1', 'w', 'w', 'archived', 0)`,
    ]);
    await storage.cleanUp();
    yield* oneText("while its workspace goes");
  }
  const upload = storage.upload(tenant, { filename: "late", content: archivingText(), complete });
  await assert.rejects(upload, { status: 409, code: "file_given_up" });
  for (const sql of ["SELECT id FROM gateway_files", "SELECT record_id AS id FROM secrets"]) {
    const { rows } = await database.read(sql);
    assert.deepEqual(
      rows.map(({ id }) => id),
      [kept.id],
    );
  }
  assert.equal(objects.size, 1);
  const left = await database.read("SELECT count(*) AS pieces FROM gateway_file_pieces");
  assert.equal(left.rows[0]?.pieces, 0);
  await database.close();
  await server.close();
});

const s3Environment = {
  FILES_S3_ENDPOINT: "https://s3.example.com",
  FILES_S3_BUCKET: "files",
  FILES_S3_ACCESS_KEY_ID: "id",
  FILES_S3_SECRET_ACCESS_KEY: "secret",
};

test("readSettings() reads what is said about files and batches", () => {
  const { files, batches } = readSettings({
    ...s3Environment,
    MAX_FILE_SIZE_IN_MB: "5",
    MAX_WORKSPACE_FILES_IN_MB: "50",
    BATCH_PAUSE_MS: "0",
    BATCHES_AT_ONCE: "3",
    FILES_S3_PREFIX: "gateway/",
    BATCH_STATUS_CHECK_INTERVAL: "20000",
  }).gateway;
  assert.deepEqual(files, {
    fileBytes: 5 * 2 ** 20,
    workspaceBytes: 50 * 2 ** 20,
    s3: {
      endpoint: "https://s3.example.com",
      region: "us-east-1",
      bucket: "files",
      prefix: "gateway/",
      accessKeyId: "id",
      secretAccessKey: "secret",
    },
  });
  assert.deepEqual(batches, { pauseMs: 0, atOnce: 3, statusCheckMs: 20_000 });
  assert.deepEqual(readSettings({}).gateway.files, {});
});

for (const [what, environment] of [
  ["FILES_S3_BUCKET", { ...s3Environment, FILES_S3_BUCKET: "" }],
  ["FILES_S3_ENDPOINT", { ...s3Environment, FILES_S3_ENDPOINT: "s3.example.com" }],
  ["FILES_S3_ENDPOINT", { ...s3Environment, FILES_S3_ENDPOINT: "https://s3.example.com/path" }],
  ["BATCHES_AT_ONCE", { BATCHES_AT_ONCE: "0" }],
  ["BATCH_STATUS_CHECK_INTERVAL", { BATCH_STATUS_CHECK_INTERVAL: "9999" }],
  ["MAX_FILE_SIZE_IN_MB", { MAX_FILE_SIZE_IN_MB: "x" }],
] as const) {
  test(`readSettings() names ${what} when it cannot use ${JSON.stringify(environment)}`, () => {
    assert.throws(() => readSettings(environment), new RegExp(what));
  });
}
