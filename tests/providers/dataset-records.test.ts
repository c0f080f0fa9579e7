import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { BatchList, BatchObject } from "../../src/schemas/batches.ts";
import type { FileObject } from "../../src/schemas/files.ts";
import { chatLine, sendOwn, writeForm } from "../support/batches.ts";
import { createTestGateway, readJson, type TestGateway } from "../support/gateway.ts";
import { createRedirectingTransport, meantLine } from "../support/redirected.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

const answers = new Map<string, unknown>();
let upstream: RecordingUpstream;
let gateway: TestGateway;
before(async () => {
  upstream = await startRecordingUpstream((request, response) => {
    const line = meantLine(request).replace(/gateway-[0-9a-z]{26}/, "gateway-NEW");
    const answer = answers.get(line);
    assert.equal(request.headers.authorization, "Bearer provider-credential");
    response.writeHead(answer === undefined ? 404 : 200).end(JSON.stringify(answer ?? { error: line }));
  });
  gateway = await createTestGateway({ transport: createRedirectingTransport(() => upstream.url) });
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

const json = { "content-type": "application/json" };

function send(
  provider: string,
  path: string,
  { headers = {}, ...init }: Omit<RequestInit, "headers"> & { headers?: Record<string, string> } = {},
): Promise<Response> {
  upstream.requests.length = 0;
  const own = {
    "x-gateway-provider": provider,
    authorization: "Bearer provider-credential",
    "x-gateway-fireworks-account-id": "mine",
  };
  return sendOwn(gateway, path, { ...init, headers: { ...own, ...headers } });
}

const fireworks = "https://api.fireworks.ai/v1/accounts/mine";
const dataset = { name: "accounts/mine/datasets/d1", state: "READY", createTime: "2026-01-01T00:00:00Z" };
const fireworksJob = {
  name: "accounts/mine/supervisedFineTuningJobs/j1",
  state: "JOB_STATE_RUNNING",
  baseModel: "m",
  createTime: "2026-01-01T00:00:00Z",
  dataset: dataset.name,
};

test("fireworks-ai files are datasets", async () => {
  answers.set(`POST ${fireworks}/datasets`, { name: "accounts/mine/datasets/new" });
  answers.set(`POST ${fireworks}/datasets/gateway-NEW:upload`, { id: "x", bytes: 5, filename: "a.jsonl" });
  const body = new FormData();
  body.set("purpose", "fine-tune");
  body.set("file", new Blob([chatLine("a")]), "a.jsonl");
  const file = await readJson<FileObject>(await send("fireworks-ai", "/v1/files", { method: "POST", body }));
  assert.match(file.id, /^gateway-[0-9a-z]{26}$/);
  assert.deepEqual([file.bytes, file.filename, file.status], [5, "a.jsonl", "uploaded"]);
  assert.deepEqual(JSON.parse(upstream.requests[0]?.text ?? ""), { datasetId: file.id, dataset: { userUploaded: {} } });
  assert.match(upstream.requests[1]?.text ?? "", /"custom_id":"a"/);
  answers.set(`GET ${fireworks}/datasets/d1`, dataset);
  answers.set(`GET ${fireworks}/datasets?pageSize=200`, { datasets: [dataset] });
  answers.set(`DELETE ${fireworks}/datasets/d1`, {});
  const shown = await readJson<FileObject>(await send("fireworks-ai", "/v1/files/d1"));
  assert.deepEqual([shown.id, shown.status, shown.created_at], ["d1", "processed", 1767225600]);
  const listed = await readJson<{ data: FileObject[] }>(await send("fireworks-ai", "/v1/files"));
  assert.deepEqual(listed.data, [shown]);
  const deleted = await send("fireworks-ai", "/v1/files/d1", { method: "DELETE" });
  assert.deepEqual(await readJson(deleted), { id: "d1", object: "file", deleted: true });
  assert.equal((await send("fireworks-ai", "/v1/files/d1/content")).status, 400);
  assert.equal((await send("fireworks-ai", "/v1/batches")).status, 400);
});

test("fireworks-ai maps fine-tuning jobs", async () => {
  answers.set(`POST ${fireworks}/supervisedFineTuningJobs`, fireworksJob);
  answers.set(`GET ${fireworks}/supervisedFineTuningJobs/j1`, { ...fireworksJob, state: "JOB_STATE_COMPLETED" });
  answers.set(`DELETE ${fireworks}/supervisedFineTuningJobs/j1`, {});
  const method = { type: "supervised", supervised: { hyperparameters: { n_epochs: 2 } } };
  const body = JSON.stringify({ model: "llama", training_file: "d1", suffix: "tuned", method });
  const made = await send("fireworks-ai", "/v1/fine_tuning/jobs", { method: "POST", body, headers: json });
  const job = await readJson<{ id: string; status: string; training_file: string }>(made);
  assert.deepEqual([job.id, job.status, job.training_file], ["j1", "running", "d1"]);
  assert.deepEqual(JSON.parse(upstream.requests[0]?.text ?? ""), {
    dataset: "accounts/mine/datasets/d1",
    baseModel: "accounts/fireworks/models/llama",
    epochs: 2,
    displayName: "tuned",
    outputModel: "accounts/mine/models/tuned",
  });
  const shown = await readJson<{ status: string }>(await send("fireworks-ai", "/v1/fine_tuning/jobs/j1"));
  assert.equal(shown.status, "succeeded");
  const cancelled = await send("fireworks-ai", "/v1/fine_tuning/jobs/j1/cancel", { method: "POST" });
  assert.equal((await readJson<{ status: string }>(cancelled)).status, "cancelled");
  assert.equal((await send("fireworks-ai", "/v1/fine_tuning/jobs/j1/events")).status, 400);
});

test("fireworks-ai needs the account for files", async () => {
  const headers = { "x-gateway-provider": "fireworks-ai", authorization: "Bearer provider-credential" };
  const response = await sendOwn(gateway, "/v1/files/d1", { headers });
  const { error } = await readJson<{ error: { param: string } }>(response);
  assert.deepEqual([response.status, error.param], [400, "x-gateway-fireworks-account-id"]);
});

const cohere = "https://api.cohere.ai/v1";
const embedJob = {
  job_id: "j1",
  status: "complete",
  created_at: "2026-01-01T00:00:00Z",
  model: "embed-v4.0",
  input_dataset_id: "d1",
  output_dataset_id: "d2",
};

test("cohere batches are embed jobs, and its files datasets", async () => {
  answers.set(`POST ${cohere}/embed-jobs`, { job_id: "j1" });
  answers.set(`GET ${cohere}/embed-jobs/j1`, embedJob);
  answers.set(`GET ${cohere}/embed-jobs`, { embed_jobs: [embedJob] });
  answers.set(`POST ${cohere}/embed-jobs/j1/cancel`, {});
  const body = JSON.stringify({
    model: "embed-v4.0",
    input_file_id: "d1",
    endpoint: "/v1/embeddings",
    job_name: "mine",
  });
  const made = await send("cohere", "/v1/batches", { method: "POST", body, headers: json });
  assert.deepEqual([(await readJson<BatchObject>(made)).id, made.status], ["j1", 200]);
  const sent = { model: "embed-v4.0", dataset_id: "d1", input_type: "search_document", name: "mine" };
  assert.deepEqual(JSON.parse(upstream.requests[0]?.text ?? ""), sent);
  const shown = await readJson<BatchObject>(await send("cohere", "/v1/batches/j1"));
  assert.deepEqual([shown.status, shown.input_file_id, shown.output_file_id], ["completed", "d1", "d2"]);
  const listed = await readJson<BatchList>(await send("cohere", "/v1/batches"));
  assert.deepEqual(listed.data, [shown]);
  const cancelled = await send("cohere", "/v1/batches/j1/cancel", { method: "POST" });
  assert.equal((await readJson<BatchObject>(cancelled)).id, "j1");
  const ofCohere = { id: "d1", name: "set", created_at: "2026-01-01T00:00:00Z", validation_status: "validated" };
  answers.set(`GET ${cohere}/datasets/d1`, { dataset: ofCohere });
  answers.set(`GET ${cohere}/datasets?limit=100`, { datasets: [ofCohere] });
  answers.set(`DELETE ${cohere}/datasets/d1`, {});
  const file = await readJson<FileObject>(await send("cohere", "/v1/files/d1"));
  assert.deepEqual([file.id, file.filename, file.status], ["d1", "set", "processed"]);
  const files = await readJson<{ data: FileObject[] }>(await send("cohere", "/v1/files"));
  assert.deepEqual(files.data, [file]);
  assert.equal((await send("cohere", "/v1/files/d1", { method: "DELETE" })).status, 200);
  for (const [path, method] of [
    ["/v1/files/d1/content", "GET"],
    ["/v1/batches/j1/output", "GET"],
    ["/v1/fine_tuning/jobs", "GET"],
  ] as const) {
    const response = await send("cohere", path, { method });
    const { error } = await readJson<{ error: { code: string } }>(response);
    assert.deepEqual([path, response.status, error.code], [path, 400, "unsupported_endpoint"]);
  }
});

/** Uploads a text to Cohere. */
async function uploadToCohere(lines: readonly string[], purpose = "batch") {
  const form = writeForm(lines.join("\n"), "in put.jsonl", purpose);
  const headers = { "content-type": form.type };
  const response = await send("cohere", "/v1/files", { method: "POST", body: form.body, headers });
  return {
    status: response.status,
    body: await readJson<FileObject & { error?: { message: string; param: string } }>(response),
  };
}

const embedLine = (id: string, input: unknown, url = "/v1/embeddings") =>
  JSON.stringify({ custom_id: id, method: "POST", url, body: { model: "embed-v4.0", input } });

test("cohere uploads become datasets: the text of each line, in a multipart form", async () => {
  const path = "datasets?name=in%20put.jsonl&type=embed-input&keep_fields=custom_id";
  answers.set(`POST ${cohere}/${path}`, { id: "d9" });
  const { status, body } = await uploadToCohere([embedLine("a", "first"), embedLine("b", ["zweites ü"])]);
  const rows = '{"text":"first","custom_id":"a"}\n{"text":"zweites ü","custom_id":"b"}\n';
  const { id, object, bytes, filename, purpose } = body;
  assert.deepEqual(
    { status, id, object, bytes, filename, purpose, state: body.status },
    {
      status: 200,
      id: "d9",
      object: "file",
      bytes: Buffer.byteLength(rows),
      filename: "in put.jsonl",
      purpose: "batch",
      state: "uploaded",
    },
  );
  const [request] = upstream.requests;
  assert.ok(request);
  const sent = await new Response(Uint8Array.from(request.body), {
    headers: { "content-type": request.headers["content-type"] ?? "" },
  }).formData();
  const file = sent.get("data");
  assert.ok(file instanceof File);
  assert.deepEqual([...sent.keys()], ["data"]);
  assert.equal(await file.text(), rows);
  answers.set(`POST ${cohere}/${path}`, { name: "no id" });
  assert.equal((await uploadToCohere([embedLine("a", "first")])).status, 502);
});

for (const [name, lines, purpose, param] of [
  ["another purpose", [embedLine("a", "text")], "fine-tune", "purpose"],
  ["a purpose that is too long", [embedLine("a", "text")], "ü".repeat(600), "purpose"],
  ["a line for another route", [embedLine("a", "text", "/v1/chat/completions")], "batch", "url"],
  ["several strings in a line", [embedLine("a", ["one", "two"])], "batch", "input"],
  ["a line without an id", ['{"text":"a"}'], "batch", "file"],
] as const) {
  test(`cohere rejects an upload with ${name} with 400`, async () => {
    const { status, body } = await uploadToCohere(lines, purpose);
    assert.deepEqual([status, body.error?.param], [400, param]);
  });
}
