import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { BatchObject } from "../../src/schemas/batches.ts";
import type { FileObject } from "../../src/schemas/files.ts";
import { chatLine, type ResultLine, sendOwn, writeForm } from "../support/batches.ts";
import { createTestGateway, readJson, type TestGateway } from "../support/gateway.ts";
import { createRedirectingTransport, meantLine } from "../support/redirected.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

/** Responses of the services by method and URL. */
const answers = new Map<string, [status: number, body: string]>();
let upstream: RecordingUpstream;
let gateway: TestGateway;
before(async () => {
  upstream = await startRecordingUpstream((request, response) => {
    assert.equal(request.headers.authorization, "Bearer ya29.token");
    const [status, text] = answers.get(meantLine(request)) ?? [404, "{}"];
    response.writeHead(status, { "last-modified": "Thu, 01 Jan 2026 00:00:00 GMT" }).end(text);
  });
  gateway = await createTestGateway({ transport: createRedirectingTransport(() => upstream.url) });
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

const caller = {
  "x-gateway-provider": "vertex-ai",
  "x-gateway-vertex-project-id": "project",
  "x-gateway-vertex-region": "europe-west1",
  "x-gateway-vertex-storage-bucket-name": "bucket",
  "x-gateway-provider-model": "gemini-2.5-flash",
  authorization: "Bearer ya29.token",
};

function send(
  path: string,
  { headers = {}, ...init }: Omit<RequestInit, "headers"> & { headers?: Record<string, string> } = {},
): Promise<Response> {
  upstream.requests.length = 0;
  return sendOwn(gateway, path, { ...init, headers: { ...caller, ...headers } });
}

function uploadLines(content: string, headers: Record<string, string> = {}): Promise<Response> {
  const { body, type } = writeForm(content, "requests.jsonl");
  const name = { "x-gateway-provider-file-name": "in/requests.jsonl" };
  return send("/v1/files", { method: "POST", body, headers: { "content-type": type, ...name, ...headers } });
}

const location = "https://europe-west1-aiplatform.googleapis.com/v1/projects/project/locations/europe-west1";
const storage = "https://storage.googleapis.com/bucket";
const json = { "content-type": "application/json" };
const name = "projects/1/locations/europe-west1/batchPredictionJobs/77";
const job = {
  name,
  state: "JOB_STATE_SUCCEEDED",
  model: "publishers/google/models/gemini-2.5-flash",
  createTime: "2026-01-01T00:00:00Z",
  endTime: "2026-01-01T01:00:00Z",
  inputConfig: { instancesFormat: "jsonl", gcsSource: { uris: ["gs://bucket/in/requests.jsonl"] } },
  outputInfo: { gcsOutputDirectory: "gs://bucket/out/prediction-1" },
  completionStats: { successfulCount: "2", failedCount: "1", incompleteCount: "-1" },
};

test("vertex-ai uploads stream to Cloud Storage, with lines as Gemini expects them", async () => {
  answers.set(`PUT ${storage}/in/requests.jsonl`, [200, ""]);
  const response = await uploadLines(`${chatLine("a", "one")}\n\n${chatLine("b", "two")}\n`);
  const file = await readJson<FileObject>(response);
  assert.equal(response.status, 200, JSON.stringify(file));
  assert.equal(file.id, encodeURIComponent("gs://bucket/in/requests.jsonl"));
  const [request] = upstream.requests;
  assert.equal(request?.body.length, file.bytes);
  const rows =
    request?.text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line)) ?? [];
  assert.deepEqual(
    rows.map(({ requestId, request: sent }) => [requestId, sent.contents, sent.model]),
    [
      ["a", [{ role: "user", parts: [{ text: "one" }] }], undefined],
      ["b", [{ role: "user", parts: [{ text: "two" }] }], undefined],
    ],
  );
});

test("vertex-ai converts lines of embeddings to contents", async () => {
  answers.set(`PUT ${storage}/in/requests.jsonl`, [200, ""]);
  const line = JSON.stringify({ custom_id: "a", url: "/v1/embeddings", body: { model: "m", input: "text" } });
  assert.equal((await uploadLines(line)).status, 200);
  assert.deepEqual(JSON.parse(upstream.requests[0]?.text ?? ""), { content: "text", requestId: "a" });
});

for (const [what, content, headers] of [
  ["a line that is not JSON", `${chatLine("a")}\n{`, {}],
  ["a line that cannot be converted", chatLine("a", "x", { messages: "none" }), {}],
  ["a name that changes the path", chatLine("a"), { "x-gateway-provider-file-name": "../x.jsonl" }],
] as const) {
  test(`vertex-ai rejects an upload with ${what}`, async () => {
    answers.set(`PUT ${storage}/in/requests.jsonl`, [200, ""]);
    const response = await uploadLines(content, headers);
    assert.equal(response.status, 400, await response.text());
  });
}

test("vertex-ai files can be retrieved and downloaded, but not listed or deleted", async () => {
  answers.set(`HEAD ${storage}/in/requests.jsonl`, [200, ""]);
  answers.set(`GET ${storage}/in/requests.jsonl`, [200, "content"]);
  const id = encodeURIComponent("gs://bucket/in/requests.jsonl");
  assert.equal((await readJson<FileObject>(await send(`/v1/files/${id}`))).filename, "requests.jsonl");
  assert.equal(await (await send(`/v1/files/${id}/content`)).text(), "content");
  assert.equal((await send("/v1/files")).status, 400);
  assert.equal((await send(`/v1/files/${id}`, { method: "DELETE" })).status, 400);
  assert.equal((await send(`/v1/files/${encodeURIComponent("gs://other/x")}`)).status, 404);
});

test("vertex-ai batches can be created, retrieved, listed and cancelled", async () => {
  answers.set(`POST ${location}/batchPredictionJobs`, [200, JSON.stringify({ ...job, state: "JOB_STATE_PENDING" })]);
  const body = {
    input_file_id: encodeURIComponent("gs://bucket/in/requests.jsonl"),
    endpoint: "/v1/chat/completions",
    completion_window: "24h",
    job_name: "mine",
  };
  const made = await send("/v1/batches", { method: "POST", body: JSON.stringify(body), headers: json });
  const created = await readJson<BatchObject>(made);
  assert.deepEqual([created.id, created.status], ["77", "validating"]);
  assert.deepEqual(JSON.parse(upstream.requests[0]?.text ?? ""), {
    displayName: "mine",
    model: "publishers/google/models/gemini-2.5-flash",
    inputConfig: { instancesFormat: "jsonl", gcsSource: { uris: ["gs://bucket/in/requests.jsonl"] } },
    outputConfig: { predictionsFormat: "jsonl", gcsDestination: { outputUriPrefix: "gs://bucket/in" } },
    instanceConfig: { excludedFields: ["requestId"], includedFields: [], instanceType: "object" },
  });
  answers.set(`GET ${location}/batchPredictionJobs/77`, [200, JSON.stringify(job)]);
  answers.set(`POST ${location}/batchPredictionJobs/77:cancel`, [200, "{}"]);
  answers.set(`GET ${location}/batchPredictionJobs?pageSize=100`, [
    200,
    JSON.stringify({ batchPredictionJobs: [job] }),
  ]);
  const shown = await readJson<BatchObject>(await send("/v1/batches/77"));
  assert.deepEqual([shown.status, shown.request_counts], ["completed", { total: 3, completed: 2, failed: 1 }]);
  assert.deepEqual([shown.created_at, shown.completed_at], [1767225600, 1767229200]);
  assert.equal(shown.output_file_id, encodeURIComponent("gs://bucket/out/prediction-1/predictions.jsonl"));
  const cancelled = await send("/v1/batches/77/cancel", { method: "POST" });
  assert.equal((await readJson<BatchObject>(cancelled)).id, "77");
  const listed = await readJson<{ data: BatchObject[] }>(await send("/v1/batches"));
  assert.deepEqual(
    listed.data.map(({ id }) => id),
    ["77"],
  );
});

test("vertex-ai batch output has lines in the gateway's form", async () => {
  answers.set(`GET ${location}/batchPredictionJobs/77`, [200, JSON.stringify(job)]);
  const candidate = { content: { role: "model", parts: [{ text: "Hi" }] }, finishReason: "STOP" };
  const rows = [
    { requestId: "a", status: "", response: { candidates: [candidate], responseId: "r1" } },
    { instance: { requestId: "b" }, status: "Bad Request" },
    { requestId: "c", predictions: [{ embeddings: { values: [1, 2], statistics: { token_count: 3 } } }] },
  ];
  const text = rows.map((row) => JSON.stringify(row)).join("\n");
  answers.set(`GET ${storage}/out/prediction-1/predictions.jsonl`, [200, text]);
  const lines: ResultLine[] = (await (await send("/v1/batches/77/output")).text())
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  const [chat, failed, embedded] = lines;
  assert.deepEqual([chat?.id, chat?.custom_id], ["batch-77--r1", "a"]);
  const choices = chat?.response?.body.choices;
  const [choice] = (Array.isArray(choices) ? choices : []) as { message: { content: string } }[];
  assert.equal(choice?.message.content, "Hi");
  assert.deepEqual([failed?.custom_id, failed?.error?.message], ["b", "Bad Request"]);
  assert.deepEqual(embedded?.response?.body.data, [{ object: "embedding", embedding: [1, 2], index: 0 }]);
});

test("vertex-ai maps fine-tuning jobs; events are not supported", async () => {
  const tuning = {
    name: "projects/1/locations/l/tuningJobs/9",
    state: "JOB_STATE_RUNNING",
    baseModel: "gemini-2.5-flash",
  };
  answers.set(`POST ${location}/tuningJobs`, [200, JSON.stringify(tuning)]);
  const body = {
    model: "gemini-2.5-flash",
    training_file: encodeURIComponent("gs://bucket/train.jsonl"),
    suffix: "mine",
    hyperparameters: { n_epochs: 3, batch_size: "auto" },
  };
  const made = await send("/v1/fine_tuning/jobs", { method: "POST", body: JSON.stringify(body), headers: json });
  const created = await readJson<{ id: string; status: string }>(made);
  assert.deepEqual([created.id, created.status], ["9", "running"]);
  assert.deepEqual(JSON.parse(upstream.requests[0]?.text ?? ""), {
    baseModel: "gemini-2.5-flash",
    tunedModelDisplayName: "mine",
    supervisedTuningSpec: { trainingDatasetUri: "gs://bucket/train.jsonl", hyperParameters: { epochCount: 3 } },
  });
  assert.equal((await send("/v1/fine_tuning/jobs/9/events")).status, 400);
});
