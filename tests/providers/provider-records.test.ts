import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { BatchList, BatchObject } from "../../src/schemas/batches.ts";
import type { FileObject } from "../../src/schemas/files.ts";
import { sendOwn } from "../support/batches.ts";
import { call, done } from "../support/control.ts";
import { createTestGateway, readJson, type TestGateway, waitForLogs, workspaceKey } from "../support/gateway.ts";
import { type ReceivedRequest, type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

/** Responses of the provider by method and path with query. */
const answers = new Map<string, string>();
let upstream: RecordingUpstream;
let gateway: TestGateway;

before(async () => {
  upstream = await startRecordingUpstream(({ method, path, headers }, response) => {
    const text = answers.get(`${method} ${path}`);
    // a provider that repeats the request
    const refusal = JSON.stringify({ error: { message: `No such record: ${headers["x-api-key"]}` } });
    response.writeHead(text === undefined ? 404 : 200, { "content-type": "application/json" }).end(text ?? refusal);
  });
  gateway = await createTestGateway();
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

function send(
  provider: string,
  path: string,
  { headers = {}, ...init }: Omit<RequestInit, "headers"> & { headers?: Record<string, string> } = {},
): Promise<Response> {
  upstream.requests.length = 0;
  const own = {
    "x-gateway-provider": provider,
    "x-gateway-custom-host": upstream.url,
    authorization: "Bearer provider-credential",
  };
  return sendOwn(gateway, path, { ...init, headers: { ...own, ...headers } });
}

function expectAnswer(line: string, answer: object | string): void {
  answers.set(line, typeof answer === "string" ? answer : JSON.stringify(answer));
}

const lines = () => upstream.requests.map(({ method, path }: ReceivedRequest) => `${method} ${path}`);
const json = { "content-type": "application/json" };

test("openai batch output is the file the batch names", async () => {
  expectAnswer("GET /batches/batch_1", { id: "batch_1", status: "completed", output_file_id: "file-2" });
  expectAnswer("GET /files/file-2/content", '{"custom_id":"a"}\n');
  const response = await send("openai", "/v1/batches/batch_1/output", { headers: { "x-gateway-trace-id": "output" } });
  assert.equal(await response.text(), '{"custom_id":"a"}\n');
  assert.deepEqual(lines(), ["GET /batches/batch_1", "GET /files/file-2/content"]);
  assert.equal(upstream.requests[0]?.headers.authorization, "Bearer provider-credential");
  const [row] = await waitForLogs(gateway, "trace_id=output");
  assert.deepEqual([row?.operation, row?.status, row?.upstream_calls], ["getBatchOutput", 200, 2]);
});

test("openai batches without output return the error file, then the list of errors, then a conflict", async () => {
  expectAnswer("GET /batches/batch_1", { id: "batch_1", output_file_id: null, error_file_id: "file-3" });
  expectAnswer("GET /files/file-3/content", "errors");
  assert.equal(await (await send("openai", "/v1/batches/batch_1/output")).text(), "errors");
  const errors = { object: "list", data: [{ code: "x", message: "y" }] };
  expectAnswer("GET /batches/batch_1", { id: "batch_1", errors });
  assert.deepEqual(await readJson(await send("openai", "/v1/batches/batch_1/output")), errors);
  expectAnswer("GET /batches/batch_1", { id: "batch_1", status: "in_progress" });
  assert.equal((await send("openai", "/v1/batches/batch_1/output")).status, 409);
  assert.equal((await send("openai", "/v1/batches/other/output")).status, 404);
});

for (const [version, wanted] of [
  ["v1", ["GET /v1/files?limit=2", "GET /v1/batches/batch_1", "GET /v1/files/file-2/content"]],
  [
    "2024-10-21",
    [
      "GET /files?limit=2&api-version=2024-10-21",
      "GET /batches/batch_1?api-version=2024-10-21",
      "GET /files/file-2/content?api-version=2024-10-21",
    ],
  ],
] as const) {
  test(`azure-openai requests records with the version ${version}`, async () => {
    for (const line of wanted) expectAnswer(line, { object: "list", data: [], output_file_id: "file-2" });
    const headers = { "x-gateway-azure-api-version": version, "x-gateway-azure-resource-name": "resource" };
    assert.equal((await send("azure-openai", "/v1/files?limit=2", { headers })).status, 200);
    assert.deepEqual(lines(), wanted.slice(0, 1));
    await send("azure-openai", "/v1/batches/batch_1/output", { headers });
    assert.deepEqual(lines(), wanted.slice(1));
  });
}

test("passthrough providers return batch output unchanged", async () => {
  expectAnswer("GET /batches/batch_1/output", "lines");
  assert.equal(await (await send("passthrough", "/v1/batches/batch_1/output")).text(), "lines");
  assert.deepEqual(lines(), ["GET /batches/batch_1/output"]);
  assert.equal(upstream.requests[0]?.headers.authorization, "Bearer provider-credential");
});

const messageBatch = {
  id: "msgbatch_1",
  type: "message_batch",
  processing_status: "ended",
  created_at: "2026-01-01T00:00:00Z",
  ended_at: "2026-01-01T01:00:00Z",
  expires_at: "2026-01-02T00:00:00Z",
  results_url: "https://elsewhere",
  request_counts: { processing: 0, succeeded: 3, errored: 1, canceled: 1, expired: 0 },
};

test("anthropic batches take requests inside the body and respond in the gateway's form", async () => {
  expectAnswer("POST /messages/batches", { ...messageBatch, processing_status: "in_progress", ended_at: null });
  const requests = [{ custom_id: "a", params: { model: "claude", max_tokens: 5, messages: [] } }];
  const body = JSON.stringify({ requests, completion_window: "24h", endpoint: "/v1/messages" });
  const made = await send("anthropic", "/v1/batches", { method: "POST", body, headers: json });
  const created = await readJson<BatchObject>(made);
  assert.deepEqual([created.id, created.status, created.object], ["msgbatch_1", "in_progress", "batch"]);
  assert.deepEqual(JSON.parse(upstream.requests[0]?.text ?? ""), { requests });
  assert.ok(upstream.requests[0]?.headers["anthropic-version"]);
  assert.equal(upstream.requests[0]?.headers["x-api-key"], "provider-credential");
  expectAnswer("GET /messages/batches/msgbatch_1", messageBatch);
  const shown = await readJson<BatchObject>(await send("anthropic", "/v1/batches/msgbatch_1"));
  assert.deepEqual(shown.request_counts, { total: 5, completed: 3, failed: 2 });
  assert.deepEqual([shown.status, shown.created_at, shown.completed_at], ["completed", 1767225600, 1767229200]);
  expectAnswer("GET /messages/batches?limit=1&after_id=x", { data: [messageBatch], has_more: true });
  const listed = await readJson<BatchList>(await send("anthropic", "/v1/batches?limit=1&after=x"));
  assert.deepEqual([listed.object, listed.data[0]?.id, listed.has_more], ["list", "msgbatch_1", true]);
  const counts = { processing: 0, succeeded: 0, errored: 0, canceled: 5, expired: 0 };
  expectAnswer("POST /messages/batches/msgbatch_1/cancel", { ...messageBatch, request_counts: counts });
  const cancelled = await send("anthropic", "/v1/batches/msgbatch_1/cancel", { method: "POST" });
  assert.equal((await readJson<BatchObject>(cancelled)).status, "cancelled");
  expectAnswer("GET /messages/batches/msgbatch_1/results", '{"custom_id":"a"}\n');
  assert.equal(await (await send("anthropic", "/v1/batches/msgbatch_1/output")).text(), '{"custom_id":"a"}\n');
});

test("anthropic batches need their requests, and fine-tuning is not supported", async () => {
  const body = JSON.stringify({ input_file_id: "file-1" });
  const made = await send("anthropic", "/v1/batches", { method: "POST", body, headers: json });
  const { error } = await readJson<{ error: { param: string } }>(made);
  assert.deepEqual([made.status, error.param], [400, "requests"]);
  assert.equal((await send("anthropic", "/v1/fine_tuning/jobs")).status, 400);
  assert.equal(upstream.requests.length, 0);
});

test("anthropic files are forwarded unchanged, with the beta they need", async () => {
  const file = { id: "file_1", type: "file", filename: "a.txt", size_bytes: 5, created_at: "2026-01-01T00:00:00Z" };
  const wanted: Partial<FileObject> = {
    id: "file_1",
    object: "file",
    bytes: 5,
    filename: "a.txt",
    created_at: 1767225600,
    purpose: "user_data",
    status: "processed",
  };
  expectAnswer("POST /files", file);
  const body = new FormData();
  body.set("file", new Blob(["12345"]), "a.txt");
  const headers = { "anthropic-beta": "mine-2026" };
  assert.deepEqual(await readJson(await send("anthropic", "/v1/files", { method: "POST", body, headers })), wanted);
  const [request] = upstream.requests;
  assert.match(request?.headers["content-type"] ?? "", /^multipart\/form-data; ?boundary=/);
  assert.match(request?.text ?? "", /12345/);
  const betas = String(request?.headers["anthropic-beta"]).split(",");
  assert.deepEqual(betas.sort(), ["files-api-2025-04-14", "mine-2026"]);
  expectAnswer("GET /files/file_1", file);
  assert.deepEqual(await readJson(await send("anthropic", "/v1/files/file_1")), wanted);
  expectAnswer("GET /files?limit=3", { data: [file], has_more: false });
  const listed = await readJson<{ data: object[] }>(await send("anthropic", "/v1/files?limit=3"));
  assert.deepEqual(listed.data, [wanted]);
  expectAnswer("DELETE /files/file_1", { id: "file_1", type: "file_deleted" });
  const deleted = await send("anthropic", "/v1/files/file_1", { method: "DELETE" });
  assert.deepEqual(await readJson(deleted), { id: "file_1", object: "file", deleted: true });
  expectAnswer("GET /files/file_1/content", "bytes");
  assert.equal(await (await send("anthropic", "/v1/files/file_1/content")).text(), "bytes");
});

test("configs with one target reach the records of its provider", async () => {
  expectAnswer("GET /messages/batches/msgbatch_1", messageBatch);
  upstream.requests.length = 0;
  const config = { provider: "anthropic", custom_host: upstream.url, api_key: "credential-of-the-config" };
  const headers = { "x-gateway-config": JSON.stringify(config) };
  const shown = await readJson<BatchObject>(await sendOwn(gateway, "/v1/batches/msgbatch_1", { headers }));
  assert.equal(shown.status, "completed");
  assert.equal(upstream.requests[0]?.headers["x-api-key"], "credential-of-the-config");
});

test("stored credentials that a provider repeats in its error are hidden from the caller", async () => {
  const credential = "credential-of-the-integration";
  const integration = {
    name: "stored",
    slug: "stored-integration",
    ai_provider_id: "anthropic",
    create_default_provider: false,
    key: credential,
    configurations: { custom_host: upstream.url },
  };
  await done(call(gateway, "POST /integrations", { key: workspaceKey, body: integration }));
  const provider = { name: "stored", slug: "stored", integration_id: "stored-integration" };
  await done(call(gateway, "POST /providers", { key: workspaceKey, body: provider }));
  upstream.requests.length = 0;
  const headers = { "x-gateway-provider": "@stored" };
  const answer = await sendOwn(gateway, "/v1/batches/unknown", { headers });
  assert.deepEqual([answer.status, upstream.requests[0]?.headers["x-api-key"]], [404, credential]);
  const text = await answer.text();
  assert.match(text, /No such record: /);
  assert.equal(text.includes(credential), false, text);
});
