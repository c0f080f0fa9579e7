import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { request as openRequest, type ServerResponse } from "node:http";
import process from "node:process";
import { after, before, test } from "node:test";
import OpenAI, { APIError, NotFoundError } from "openai";
import { chatLines, type ResultLine } from "../support/batches.ts";
import { type GatewayProcess, startGatewayProcess } from "../support/process.ts";
import { type ReceivedRequest, startRecordingUpstream, startServer } from "../support/upstream.ts";

let gateway: GatewayProcess;
before(async () => {
  gateway = await startGatewayProcess({ env: { BATCH_PAUSE_MS: "0" } });
});
after(async () => {
  await gateway.stop("SIGKILL");
});

/** The SDK with the gateway's key as its own, as users of the gateway's files have it. */
function createOwnClient(): OpenAI {
  return new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.workspaceKey, maxRetries: 0, timeout: 30_000 });
}

/** The SDK towards a provider. */
function createProviderClient(upstream: { url: string }): OpenAI {
  return new OpenAI({
    baseURL: `${gateway.url}/v1`,
    apiKey: "sk-provider-key",
    maxRetries: 0,
    timeout: 30_000,
    defaultHeaders: {
      "x-gateway-api-key": gateway.workspaceKey,
      "x-gateway-provider": "openai",
      "x-gateway-custom-host": `${upstream.url}/v1`,
    },
  });
}

/** The options of a batch the gateway runs, which the SDK's types do not know. */
function ownBatch(inputFileId: string): OpenAI.BatchCreateParams {
  const batch = {
    input_file_id: inputFileId,
    endpoint: "/v1/chat/completions",
    completion_window: "immediate",
    gateway_options: { "x-gateway-provider": "echo" },
  };
  return batch as unknown as OpenAI.BatchCreateParams; // the window and the options are the gateway's own
}

test("the SDK keeps files at the gateway and runs batches of them", async () => {
  const client = createOwnClient();
  const content = chatLines(30);
  const file = await client.files.create({ purpose: "batch", file: new File([content], "requests.jsonl") });
  assert.equal(file.filename, "requests.jsonl");
  assert.equal((await client.files.retrieve(file.id)).bytes, content.length);
  assert.equal(await (await client.files.content(file.id)).text(), content);
  const begun = await client.batches.create(ownBatch(file.id));
  let batch = begun;
  for (const until = performance.now() + 20_000; batch.status !== "completed" && performance.now() < until; ) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    batch = await client.batches.retrieve(begun.id);
  }
  assert.deepEqual(batch.request_counts, { total: 30, completed: 30, failed: 0 });
  const output = await (await client.files.content(batch.output_file_id ?? "")).text();
  const lines = output.split("\n").filter((line) => line !== "");
  const first: ResultLine = JSON.parse(lines[0] ?? "");
  assert.equal(lines.length, 30);
  assert.equal(first.custom_id, "line-0");
  const files = await Array.fromAsync(client.files.list({ limit: 1, order: "asc" }));
  assert.deepEqual(
    files.map(({ id }) => id),
    [file.id, batch.output_file_id],
  );
  const second = await client.batches.create(ownBatch(file.id));
  const ids = (await Array.fromAsync(client.batches.list({ limit: 1 }))).map(({ id }) => id);
  assert.deepEqual(ids.sort(), [batch.id, second.id].sort());
  await client.batches.cancel(second.id).catch((error) => assert.equal(error.status, 409)); // it may be over
  assert.deepEqual(await client.files.delete(file.id), { id: file.id, object: "file", deleted: true });
  await assert.rejects(client.files.retrieve(file.id), NotFoundError);
  await assert.rejects(client.batches.retrieve("gw_batch_x"), NotFoundError);
  await assert.rejects(client.fineTuning.jobs.list(), (error) => error instanceof APIError && error.status === 400);
});

const job = {
  id: "ftjob-1",
  object: "fine_tuning.job",
  created_at: 1,
  model: "m",
  status: "queued",
  seed: 1,
  training_file: "file-1",
  result_files: [],
  hyperparameters: { n_epochs: "auto" },
  organization_id: "org",
};
const file = {
  id: "file-1",
  object: "file",
  bytes: 3,
  created_at: 1,
  filename: "a",
  purpose: "batch",
  status: "processed",
};
const batch = {
  id: "batch_1",
  object: "batch",
  endpoint: "/v1/embeddings",
  input_file_id: "file-1",
  status: "completed",
  completion_window: "24h",
  created_at: 1,
  output_file_id: "file-2",
  error_file_id: null,
};
const list = (...data: object[]) => ({ object: "list", data, has_more: false });

/** Answers of a provider by method and path. */
const provider: Readonly<Record<string, object | string>> = {
  "POST /v1/files": file,
  "GET /v1/files": list(file),
  "GET /v1/files/file-1": file,
  "DELETE /v1/files/file-1": { id: "file-1", object: "file", deleted: true },
  "GET /v1/files/file-1/content": "content of file-1",
  "GET /v1/files/file-2/content": '{"custom_id":"a"}\n',
  "POST /v1/batches": batch,
  "GET /v1/batches": list(batch),
  "GET /v1/batches/batch_1": batch,
  "POST /v1/batches/batch_1/cancel": { ...batch, status: "cancelling" },
  "POST /v1/fine_tuning/jobs": job,
  "GET /v1/fine_tuning/jobs": list(job),
  "GET /v1/fine_tuning/jobs/ftjob-1": job,
  "POST /v1/fine_tuning/jobs/ftjob-1/cancel": { ...job, status: "cancelled" },
  "GET /v1/fine_tuning/jobs/ftjob-1/events": list({
    id: "event-1",
    object: "fine_tuning.job.event",
    created_at: 1,
    level: "info",
    message: "begun",
  }),
  "GET /v1/fine_tuning/jobs/ftjob-1/checkpoints": list({ id: "step-1", object: "fine_tuning.job.checkpoint" }),
};

function answerAsProvider({ method, path }: ReceivedRequest, response: ServerResponse): void {
  const answer = provider[`${method} ${path.replace(/\?.*/, "")}`];
  if (answer === undefined) return void response.writeHead(404).end("{}");
  const isText = typeof answer === "string";
  response.writeHead(200, { "content-type": isText ? "application/octet-stream" : "application/json" });
  response.end(isText ? answer : JSON.stringify(answer));
}

test("the SDK reaches files, batches and tuning jobs of a provider as they are", async () => {
  const upstream = await startRecordingUpstream(answerAsProvider);
  try {
    const { files, batches, fineTuning } = createProviderClient(upstream);
    const { jobs } = fineTuning;
    const training = { model: "m", training_file: "file-1" };
    const calls: (() => Promise<unknown>)[] = [
      () => files.create({ purpose: "batch", file: new File(["abc"], "a") }),
      async () => (await files.list({ limit: 5 })).data,
      () => files.retrieve("file-1"),
      async () => (await files.content("file-1")).text(),
      () => files.delete("file-1"),
      () => batches.create({ input_file_id: "file-1", endpoint: "/v1/embeddings", completion_window: "24h" }),
      async () => (await batches.list({ after: "x" })).data,
      () => batches.retrieve("batch_1"),
      () => batches.cancel("batch_1"),
      () => jobs.create(training),
      async () => (await jobs.list({ limit: 2 })).data,
      () => jobs.retrieve("ftjob-1"),
      () => jobs.cancel("ftjob-1"),
      async () => (await jobs.listEvents("ftjob-1", { limit: 3 })).data,
      async () => (await jobs.checkpoints.list("ftjob-1")).data,
    ];
    const answers: unknown[] = [];
    for (const call of calls) answers.push(await call());
    const seen = upstream.requests.map(({ method, path }) => `${method} ${path}`);
    assert.deepEqual(seen, [
      "POST /v1/files",
      "GET /v1/files?limit=5",
      "GET /v1/files/file-1",
      "GET /v1/files/file-1/content",
      "DELETE /v1/files/file-1",
      "POST /v1/batches",
      "GET /v1/batches?after=x",
      "GET /v1/batches/batch_1",
      "POST /v1/batches/batch_1/cancel",
      "POST /v1/fine_tuning/jobs",
      "GET /v1/fine_tuning/jobs?limit=2",
      "GET /v1/fine_tuning/jobs/ftjob-1",
      "POST /v1/fine_tuning/jobs/ftjob-1/cancel",
      "GET /v1/fine_tuning/jobs/ftjob-1/events?limit=3",
      "GET /v1/fine_tuning/jobs/ftjob-1/checkpoints",
    ]);
    const wanted = seen.map((line) => provider[line.replace(/\?.*/, "")]);
    for (const [index, answer] of answers.entries()) {
      const expected = wanted[index];
      const shown = typeof expected === "object" && "data" in expected ? expected.data : expected;
      assert.deepEqual(JSON.parse(JSON.stringify(answer)), JSON.parse(JSON.stringify(shown)), seen[index]);
    }
    for (const { rawHeaders } of upstream.requests) {
      assert.ok(!rawHeaders.join("\n").includes(gateway.workspaceKey), "the gateway key reached the provider");
    }
  } finally {
    await upstream.close();
  }
});

/** Resident memory of the gateway in megabytes; undefined where the system does not report it. */
function residentMegabytes(): number | undefined {
  if (process.platform !== "linux") return undefined;
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${gateway.pid}/status`, "utf8")) ?? [];
  return kilobytes === undefined ? undefined : Number(kilobytes) / 1_024;
}

const megabyte = 1_024 * 1_024;

/** Sends a file of so many megabytes; returns the status and the bytes the upstream received. */
function sendLargeFile(megabytes: number, upstream: { url: string }): Promise<number> {
  const piece = Buffer.alloc(megabyte, "x");
  const head = '--b\r\ncontent-disposition: form-data; name="file"; filename="a.jsonl"\r\n\r\n';
  const headers = {
    "x-gateway-api-key": gateway.workspaceKey,
    "x-gateway-provider": "openai",
    "x-gateway-custom-host": `${upstream.url}/v1`,
    authorization: "Bearer sk-provider-key",
    "content-type": "multipart/form-data; boundary=b",
  };
  return new Promise((resolve, reject) => {
    const sent = openRequest(`${gateway.url}/v1/files`, { method: "POST", headers, agent: false }, (response) => {
      response.resume().on("end", () => resolve(response.statusCode ?? 0));
    });
    sent.on("error", reject);
    const write = async () => {
      sent.write(head);
      for (let count = 0; count < megabytes; count++) {
        if (!sent.write(piece)) await new Promise((drained) => sent.once("drain", drained));
      }
      sent.end("\r\n--b--\r\n");
    };
    write().catch(reject);
  });
}

test("100 MB go through to a provider and the gateway's memory does not grow by them", async () => {
  let received = 0;
  const upstream = await startServer((message, response) => {
    message.on("data", (piece: Buffer) => {
      received += piece.length;
    });
    message.on("end", () => response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(file)));
  });
  try {
    assert.equal(await sendLargeFile(50, upstream), 200);
    const base = residentMegabytes() ?? 0;
    let peak = base;
    const timer = setInterval(() => {
      peak = Math.max(peak, residentMegabytes() ?? 0);
    }, 20);
    received = 0;
    try {
      assert.equal(await sendLargeFile(100, upstream), 200);
    } finally {
      clearInterval(timer);
    }
    assert.ok(received > 100 * megabyte);
    console.log(`# ${(peak - base).toFixed(1)} MB more resident memory during a 100 MB upload`);
    assert.ok(peak - base < 90, `the gateway's resident memory grew by ${(peak - base).toFixed(1)} MB`);
  } finally {
    await upstream.close();
  }
});
