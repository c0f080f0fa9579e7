import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { FileList, FileObject } from "../../src/schemas/files.ts";
import { chatLine, chatLines, sendOwn, upload } from "../support/batches.ts";
import {
  createTestClock,
  createTestGateway,
  insertTenant,
  readJson,
  type TestGateway,
  waitForLogs,
} from "../support/gateway.ts";

const otherKey = "other-workspace-key-0000000";
const pagingKey = "paging-workspace-key-00000";
const clock = createTestClock();
let gateway: TestGateway;
before(async () => {
  gateway = await createTestGateway({ inFile: true, clock, files: { fileBytes: 3 * 2 ** 20 } });
  const database = await gateway.openFile();
  for (const key of [otherKey, pagingKey]) await insertTenant(database, key);
});
after(() => gateway.close());

async function uploadFile(content: string, fields?: Record<string, string>): Promise<FileObject> {
  const response = await upload(gateway, content, fields);
  assert.equal(response.status, 200, await response.clone().text());
  return readJson<FileObject>(response);
}

async function requireRefusal(response: Response, status: number, code?: string): Promise<string> {
  const { error } = await readJson<{ error: { message: string; code: string | null } }>(response);
  assert.equal(response.status, status, error.message);
  if (code !== undefined) assert.equal(error.code, code);
  return error.message;
}

test("/v1/files uploads, shows, lists, downloads and deletes a file", async () => {
  const content = chatLines(3);
  const file = await uploadFile(content, { name: "requests.jsonl" });
  const { id, ...others } = file;
  assert.match(id, /^gw_file_[0-9a-f-]{36}$/);
  assert.deepEqual(others, {
    object: "file",
    bytes: content.length,
    created_at: Math.floor(clock.now() / 1000),
    filename: "requests.jsonl",
    purpose: "batch",
    status: "processed",
  });
  assert.deepEqual(await readJson(await sendOwn(gateway, `/v1/files/${id}`)), file);
  const listed = await readJson<FileList>(await sendOwn(gateway, "/v1/files"));
  assert.ok(listed.data.some((one) => one.id === id));
  const download = await sendOwn(gateway, `/v1/files/${id}/content`);
  assert.equal(download.headers.get("content-type"), "application/octet-stream");
  assert.equal(download.headers.get("content-length"), String(content.length));
  assert.equal(await download.text(), content);
  const deleted = await sendOwn(gateway, `/v1/files/${id}`, { method: "DELETE" });
  assert.deepEqual(await readJson(deleted), { id, object: "file", deleted: true });
  for (const path of [`/v1/files/${id}`, `/v1/files/${id}/content`]) {
    await requireRefusal(await sendOwn(gateway, path), 404, "file_not_found");
  }
  const database = await gateway.openFile();
  const { rows } = await database.read({
    sql: "SELECT (SELECT count(*) FROM gateway_file_pieces WHERE file_id = ?) + (SELECT count(*) FROM secrets WHERE record_id = ?) AS left",
    args: [id, id],
  });
  assert.equal(rows[0]?.left, 0);
});

test("a file of several chunks is returned unchanged and stored encrypted", async () => {
  const content = Array.from({ length: 9_000 }, (_, index) => `${chatLine(`needle-${index}`, "x".repeat(100))}\n`).join(
    "",
  );
  assert.ok(content.length > 2 * 2 ** 20);
  const file = await uploadFile(content);
  assert.equal(await (await sendOwn(gateway, `/v1/files/${file.id}/content`)).text(), content);
  const database = await gateway.openFile();
  const { rows } = await database.read({
    sql: "SELECT content FROM gateway_file_pieces WHERE file_id = ? ORDER BY seq",
    args: [file.id],
  });
  assert.ok(rows.length >= 3);
  for (const { content: piece } of rows) {
    assert.ok(piece instanceof ArrayBuffer && piece.byteLength <= 2 ** 20);
    assert.ok(!new TextDecoder("latin1").decode(piece).includes("needle"));
  }
});

test("a chunk that was moved to another position cannot be decrypted", async () => {
  const file = await uploadFile(chatLines(2));
  const other = await uploadFile(chatLines(4));
  const database = await gateway.openFile();
  const move =
    "UPDATE gateway_file_pieces SET content = (SELECT content FROM gateway_file_pieces WHERE file_id = ?) WHERE file_id = ?";
  await database.write([{ sql: move, args: [other.id, file.id] }]);
  await requireRefusal(await sendOwn(gateway, `/v1/files/${file.id}/content`), 503, "file_unavailable");
});

test("files of another workspace are not found", async () => {
  const { id } = await uploadFile(chatLines(1));
  const unknown = "gw_file_00000000-0000-4000-8000-000000000000";
  for (const [method, suffix] of [
    ["GET", ""],
    ["GET", "/content"],
    ["DELETE", ""],
  ] as const) {
    const answers = await Promise.all(
      [id, unknown].map(async (one) => {
        const response = await sendOwn(gateway, `/v1/files/${one}${suffix}`, { method, key: otherKey });
        return [response.status, await response.text()];
      }),
    );
    assert.equal(answers[0]?.[0], 404);
    assert.deepEqual(answers[0], answers[1]);
  }
  const listed = await readJson<FileList>(await sendOwn(gateway, "/v1/files", { key: otherKey }));
  assert.deepEqual(listed.data, []);
});

test("GET /v1/files has pages in both orders and a filter", async () => {
  const key = pagingKey;
  const ids: string[] = [];
  for (let index = 0; index < 5; index++) {
    const fields = { key, purpose: index === 2 ? "fine-tune" : "batch" };
    ids.push((await uploadFile(chatLines(1), fields)).id);
    if (index !== 3) clock.advance(1_000); // two of them in the same millisecond
  }
  const list = async (query: string) => {
    const page = await readJson<FileList>(await sendOwn(gateway, `/v1/files?${query}`, { key }));
    return { ids: page.data.map(({ id }) => id), page };
  };
  const [first, second, third, ...last] = ids;
  last.sort();
  const ascending = await list("order=asc");
  assert.deepEqual(ascending.ids, [first, second, third, ...last]);
  assert.deepEqual((await list("order=desc")).ids, ascending.ids.toReversed());
  assert.deepEqual((await list("purpose=fine-tune")).ids, [third]);
  const seen: string[] = [];
  for (let after = ""; ; ) {
    const { ids: some, page } = await list(`limit=2${after}`);
    seen.push(...some);
    assert.equal(page.first_id, some[0]);
    if (!page.has_more) break;
    after = `&after=${page.last_id}`;
  }
  assert.deepEqual(seen, ascending.ids.toReversed());
});

for (const query of ["limit=0", "limit=x", "limit=10001", "order=up"]) {
  test(`GET /v1/files refuses ${query}`, async () => {
    await requireRefusal(await sendOwn(gateway, `/v1/files?${query}`), 400, "invalid_query");
  });
}

test("GET /v1/files refuses a cursor that is not a file of the workspace", async () => {
  await requireRefusal(await sendOwn(gateway, "/v1/files?after=gw_file_x"), 404, "file_not_found");
});

test("a file and its content are deleted when it expires", async () => {
  const fields = { "expires_after[anchor]": "created_at", "expires_after[seconds]": "3600" };
  const file = await uploadFile(chatLines(1), fields);
  assert.equal(file.expires_at, file.created_at + 3600);
  clock.advance(3_599_000);
  assert.equal((await sendOwn(gateway, `/v1/files/${file.id}`)).status, 200);
  clock.advance(2_000);
  assert.equal((await sendOwn(gateway, `/v1/files/${file.id}`)).status, 404);
  assert.equal((await sendOwn(gateway, `/v1/files/${file.id}/content`)).status, 404);
});

/** Sends a body without FormData. */
function sendForm(text: string, type = "multipart/form-data; boundary=b"): Promise<Response> {
  return sendOwn(gateway, "/v1/files", { method: "POST", body: text, headers: { "content-type": type } });
}

function field(name: string, value: string): string {
  return `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
}

function filePart(content: string, name = "a.jsonl"): string {
  return `--b\r\ncontent-disposition: form-data; name="file"; filename="${name}"\r\n\r\n${content}\r\n`;
}

test("POST /v1/files takes the purpose after the file, or from a header", async () => {
  const behind = await sendForm(`${filePart(chatLine("a"))}${field("purpose", "batch")}--b--`);
  assert.equal((await readJson<FileObject>(behind)).purpose, "batch");
  const body = `${filePart(chatLine("a"))}--b--`;
  const headers = { "content-type": "multipart/form-data; boundary=b", "x-gateway-file-purpose": "fine-tune" };
  const inHeader = await sendOwn(gateway, "/v1/files", { method: "POST", body, headers });
  assert.equal((await readJson<FileObject>(inHeader)).purpose, "fine-tune");
});

const line = chatLine("a");
const purpose = field("purpose", "batch");
for (const [what, body, status] of [
  ["no file", `${purpose}--b--`, 400],
  ["no purpose", `${filePart(line)}--b--`, 400],
  ["an unknown purpose", `${field("purpose", "other")}${filePart(line)}--b--`, 400],
  ["two files", `${purpose}${filePart(line)}${filePart(line)}--b--`, 400],
  ["an empty file", `${purpose}${filePart("")}--b--`, 400],
  ["a file without JSON", `${purpose}${filePart("a,b\r\n1,2")}--b--`, 400],
  ["a file that is no text", `${purpose}${filePart("\u0000ÿ")}--b--`, 400],
  ["a name with control characters", `${purpose}${filePart(line, "a\u0007b")}--b--`, 400],
  ["a name that is too long", `${purpose}${filePart(line, "a".repeat(256))}--b--`, 400],
  ["a form that is cut off", `${purpose}${filePart(line)}`, 400],
  ["a field that is too long", `${field("purpose", "x".repeat(70_000))}${filePart(line)}--b--`, 400],
  ["an expiry that is too short", `${purpose}${field("expires_after[seconds]", "5")}${filePart(line)}--b--`, 400],
  ["a file that is too large", `${purpose}${filePart(`${line}\n`.repeat(30_000))}--b--`, 413],
  ["a body that is too large", `${purpose}${filePart(`${line}\n`.repeat(50_000))}--b--`, 413],
] as const) {
  test(`POST /v1/files refuses ${what} and stores nothing of it`, async () => {
    const database = await gateway.openFile();
    const count = "SELECT (SELECT count(*) FROM gateway_files) + (SELECT count(*) FROM gateway_file_pieces) AS total";
    const before = (await database.read(count)).rows[0]?.total;
    await requireRefusal(await sendForm(body), status);
    assert.equal((await database.read(count)).rows[0]?.total, before);
  });
}

test("POST /v1/files refuses a body that is not a form", async () => {
  await requireRefusal(await sendForm("{}", "application/json"), 415);
  await requireRefusal(await sendForm("{}", "multipart/form-data"), 415);
});

test("POST /v1/files enforces the workspace's file quota", async () => {
  const small = await createTestGateway({ files: { workspaceBytes: 500 } });
  try {
    const first = await upload(small, chatLine("a", "x".repeat(200)));
    assert.equal(first.status, 200);
    await requireRefusal(await upload(small, chatLine("b", "x".repeat(300))), 412, "file_storage_full");
    await small.gateway.fetch(
      new Request(`http://gateway.test/v1/files/${(await readJson<FileObject>(first)).id}`, {
        method: "DELETE",
        headers: { "x-gateway-api-key": "test-workspace-key-000000" },
      }),
    );
    assert.equal((await upload(small, chatLine("b", "x".repeat(300)))).status, 200);
  } finally {
    await small.close();
  }
});

test("/v1/files serves the gateway's files to requests that name the gateway as provider, and to no others", async () => {
  const { id } = await uploadFile(chatLines(1));
  for (const headers of [
    { "x-gateway-provider": "gateway" },
    { "x-gateway-config": '{"provider":"gateway"}' },
    { "x-gateway-config": '{"retry":{"attempts":1}}' },
  ]) {
    assert.equal((await sendOwn(gateway, `/v1/files/${id}`, { headers })).status, 200, JSON.stringify(headers));
  }
  const echo = await sendOwn(gateway, `/v1/files/${id}`, { headers: { "x-gateway-provider": "echo" } });
  await requireRefusal(echo, 400, "unsupported_endpoint");
});

test("/v1/files refuses keys of the organisation", async () => {
  assert.equal((await sendOwn(gateway, "/v1/files", { key: "test-admin-key-0000000000" })).status, 403);
});

test("log rows of file requests name the operation", async () => {
  const headers = { "x-gateway-trace-id": "files-trace" };
  await sendOwn(gateway, "/v1/files?limit=1", { headers });
  const [row] = await waitForLogs(gateway, "trace_id=files-trace");
  assert.equal(row?.operation, "listFiles");
});
