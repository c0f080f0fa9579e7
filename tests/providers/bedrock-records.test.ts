import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { after, before, test } from "node:test";
import type { BatchList, BatchObject } from "../../src/schemas/batches.ts";
import type { FileObject } from "../../src/schemas/files.ts";
import { requireSigned } from "../support/aws.ts";
import { chatLine, type ResultLine, sendOwn, writeForm } from "../support/batches.ts";
import { call, done } from "../support/control.ts";
import { createTestGateway, readJson, type TestGateway, workspaceKey } from "../support/gateway.ts";
import { createRedirectingTransport, meantLine, meantUrl } from "../support/redirected.ts";
import { type ReceivedRequest, type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

const keys = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "secret-of-the-caller" };
const arn = "arn:aws:bedrock:eu-west-1:123456789012:model-invocation-job/abc123";
const model = "anthropic.claude-3-haiku-20240307-v1:0";

const job = {
  jobArn: arn,
  jobName: "job",
  modelId: model,
  status: "Completed",
  submitTime: "2026-01-01T00:00:00Z",
  endTime: "2026-01-01T01:00:00Z",
  totalRecordCount: 3,
  successRecordCount: 2,
  errorRecordCount: 1,
  inputDataConfig: { s3InputDataConfig: { s3Uri: "s3://bucket/in/requests.jsonl" } },
  outputDataConfig: { s3OutputDataConfig: { s3Uri: "s3://bucket/out/" } },
};

const converse = {
  output: { message: { role: "assistant", content: [{ text: "Hi" }] } },
  stopReason: "end_turn",
  usage: { inputTokens: 3, outputTokens: 1, totalTokens: 4 },
};

const rows = [
  { recordId: "one", modelInput: {}, modelOutput: converse },
  { recordId: "two", modelInput: {}, error: { errorCode: 400, errorMessage: "too long" } },
  { recordId: "three", modelInput: {}, modelOutput: { content: "of the model" } },
];

/** Responses of the services by host, method and path. */
const answers = new Map<string, [status: number, body: string]>();
let upstream: RecordingUpstream;
let gateway: TestGateway;

function answer(request: ReceivedRequest, response: ServerResponse): void {
  const { method, headers, body } = request;
  const url = meantUrl(request);
  const { scope } = requireSigned({ method, url: url.href, headers, body }, keys);
  assert.equal(scope.service, url.hostname.startsWith("s3.") ? "s3" : "bedrock");
  const [status, text] = answers.get(meantLine(request)) ??
    answers.get(`${method} ${url.origin}${url.pathname}`) ?? [404, "{}"];
  response.writeHead(status, { etag: '"tag"', "last-modified": "Thu, 01 Jan 2026 00:00:00 GMT" }).end(text);
}

before(async () => {
  upstream = await startRecordingUpstream(answer);
  gateway = await createTestGateway({ transport: createRedirectingTransport(() => upstream.url) });
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

const caller = {
  "x-gateway-provider": "bedrock",
  "x-gateway-aws-region": "eu-west-1",
  "x-gateway-aws-access-key-id": keys.accessKeyId,
  "x-gateway-aws-secret-access-key": keys.secretAccessKey,
  "x-gateway-aws-s3-bucket": "bucket",
  "x-gateway-aws-bedrock-model": model,
};

function send(
  path: string,
  { headers = {}, ...init }: Omit<RequestInit, "headers"> & { headers?: Record<string, string> } = {},
) {
  upstream.requests.length = 0;
  return sendOwn(gateway, path, { ...init, headers: { ...caller, ...headers } });
}

function uploadLines(content: string, name = "requests.jsonl"): Promise<Response> {
  const { body, type } = writeForm(content, name);
  const headers = { "content-type": type, "x-gateway-provider-file-name": "in/requests.jsonl" };
  return send("/v1/files", { method: "POST", body, headers });
}

const s3 = "https://s3.eu-west-1.amazonaws.com";
const bedrock = "https://bedrock.eu-west-1.amazonaws.com";
const object = `${s3}/bucket/in/requests.jsonl`;

/** S3's side of an upload. */
function expectUpload(end: [number, string] = [200, "<CompleteMultipartUploadResult/>"]): void {
  answers.set(`POST ${object}?uploads=`, [200, "<Result><UploadId>up+load/1</UploadId></Result>"]);
  answers.set(`PUT ${object}`, [200, ""]);
  answers.set(`POST ${object}?uploadId=up%2Bload%2F1`, end);
  answers.set(`DELETE ${object}?uploadId=up%2Bload%2F1`, [204, ""]);
}

test("bedrock uploads go to S3 in parts, with lines as Converse expects them", async () => {
  expectUpload();
  const long = "x".repeat(9 * 2 ** 10);
  const lines = Array.from({ length: 1_200 }, (_, index) => `${chatLine(`id-${index}`, long)}\n`).join("");
  const response = await uploadLines(lines);
  const file = await readJson<FileObject>(response);
  assert.equal(response.status, 200, JSON.stringify(file));
  assert.equal(file.id, encodeURIComponent("s3://bucket/in/requests.jsonl"));
  assert.deepEqual([file.status, file.filename, file.purpose], ["processed", "requests.jsonl", "batch"]);
  assert.deepEqual(upstream.requests.map(meantLine), [
    `POST ${object}?uploads=`,
    `PUT ${object}?partNumber=1&uploadId=up%2Bload%2F1`,
    `PUT ${object}?partNumber=2&uploadId=up%2Bload%2F1`,
    `POST ${object}?uploadId=up%2Bload%2F1`,
  ]);
  const [, first, second, end] = upstream.requests;
  assert.ok((first?.body.length ?? 0) >= 8 * 2 ** 20);
  const stored = `${first?.text}${second?.text}`;
  assert.equal(stored.length, file.bytes);
  const sent = stored
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.equal(sent.length, 1_200);
  assert.deepEqual(sent[7], {
    recordId: "id-7",
    modelInput: { messages: [{ role: "user", content: [{ text: long }] }] },
  });
  assert.equal(end?.text.match(/<PartNumber>/g)?.length, 2);
  assert.match(end?.text ?? "", /<ETag>"tag"<\/ETag>/);
});

for (const prefix of ["amz-server-side-encryption", "aws-server-side-encryption"]) {
  test(`bedrock uploads are encrypted as x-gateway-${prefix} says`, async () => {
    expectUpload();
    const keyName = prefix.startsWith("amz") ? `${prefix}-aws-kms-key-id` : `${prefix}-kms-key-id`;
    const { body, type } = writeForm(chatLine("a"), "requests.jsonl");
    const headers = { "content-type": type, "x-gateway-provider-file-name": "in/requests.jsonl" };
    const encryption = { [`x-gateway-${prefix}`]: "aws:kms", [`x-gateway-${keyName}`]: "a-key" };
    const response = await send("/v1/files", { method: "POST", body, headers: { ...headers, ...encryption } });
    assert.equal(response.status, 200, await response.text());
    const sent = upstream.requests[0]?.headers ?? {};
    assert.equal(sent["x-amz-server-side-encryption"], "aws:kms");
    assert.equal(sent["x-amz-server-side-encryption-aws-kms-key-id"], "a-key");
  });
}

for (const [what, content, name] of [
  ["a line that is not JSON", `${chatLine("a")}\n{`, "a.jsonl"],
  ["a line that cannot be converted", chatLine("a", "x", { n: 2 }), "a.jsonl"],
  ["another kind of file", chatLine("a"), "a.csv"],
] as const) {
  test(`bedrock uploads with ${what} are rejected and aborted`, async () => {
    expectUpload();
    const response = await uploadLines(content, name);
    assert.equal(response.status, 400, await response.text());
    const last = upstream.requests.at(-1);
    assert.ok(last === undefined || last.method === "DELETE");
  });
}

test("bedrock uploads fail when the store does not complete them", async () => {
  expectUpload([200, "<Error><Code>InternalError</Code></Error>"]);
  assert.equal((await uploadLines(chatLine("a"))).status, 400);
});

test("bedrock uploads need a bucket", async () => {
  const { body, type } = writeForm(chatLine("a"), "a.jsonl");
  const { "x-gateway-aws-s3-bucket": _, ...without } = caller;
  const headers = { ...without, "content-type": type };
  const response = await sendOwn(gateway, "/v1/files", { method: "POST", body, headers });
  const { error } = await readJson<{ error: { param: string } }>(response);
  assert.deepEqual([response.status, error.param], [400, "x-gateway-aws-s3-bucket"]);
});

test("bedrock files can be retrieved and downloaded with any encoding of the id, but not listed or deleted", async () => {
  answers.set(`HEAD ${object}`, [200, ""]);
  answers.set(`GET ${object}`, [200, "content"]);
  const id = encodeURIComponent("s3://bucket/in/requests.jsonl");
  for (const written of [id, encodeURIComponent(id)]) {
    const shown = await readJson<FileObject>(await send(`/v1/files/${written}`));
    assert.equal(shown.filename, "requests.jsonl");
    assert.equal(await (await send(`/v1/files/${written}/content`)).text(), "content");
  }
  assert.equal((await send("/v1/files")).status, 400);
  assert.equal((await send(`/v1/files/${id}`, { method: "DELETE" })).status, 400);
  const other = encodeURIComponent("s3://other/in/requests.jsonl");
  for (const bad of [other, "file-1"]) assert.equal((await send(`/v1/files/${bad}`)).status, 404, bad);
  assert.equal((await send(`/v1/files/${encodeURIComponent("s3://bucket/../x")}`)).status, 400);
});

test("bedrock batches can be created, retrieved, listed and cancelled", async () => {
  answers.set(`POST ${bedrock}/model-invocation-job`, [200, JSON.stringify({ jobArn: arn })]);
  const body = {
    input_file_id: encodeURIComponent("s3://bucket/in/requests.jsonl"),
    endpoint: "/v1/chat/completions",
    completion_window: "24h",
    role_arn: "arn:aws:iam::123456789012:role/batch",
    job_name: "job",
  };
  const headers = { "content-type": "application/json" };
  const made = await send("/v1/batches", { method: "POST", body: JSON.stringify(body), headers });
  const created = await readJson<BatchObject>(made);
  assert.deepEqual([created.id, created.status, created.object], [encodeURIComponent(arn), "validating", "batch"]);
  assert.deepEqual(JSON.parse(upstream.requests[0]?.text ?? ""), {
    modelId: model,
    roleArn: body.role_arn,
    jobName: "job",
    modelInvocationType: "Converse",
    inputDataConfig: { s3InputDataConfig: { s3Uri: "s3://bucket/in/requests.jsonl", s3InputFormat: "JSONL" } },
    outputDataConfig: { s3OutputDataConfig: { s3Uri: "s3://bucket/in/" } },
  });
  const path = `${bedrock}/model-invocation-job/${encodeURIComponent(arn)}`;
  answers.set(`GET ${path}`, [200, JSON.stringify(job)]);
  answers.set(`POST ${path}/stop`, [200, ""]);
  const shown = await readJson<BatchObject>(await send(`/v1/batches/${created.id}`));
  const { id, status, request_counts, created_at, completed_at, output_file_id } = shown;
  assert.deepEqual([id, status], [created.id, "completed"]);
  assert.deepEqual(request_counts, { total: 3, completed: 2, failed: 1 });
  assert.deepEqual([created_at, completed_at], [1767225600, 1767229200]);
  assert.equal(output_file_id, encodeURIComponent("s3://bucket/out/abc123/requests.jsonl.out"));
  const cancelled = await send(`/v1/batches/${created.id}/cancel`, { method: "POST" });
  assert.equal((await readJson<BatchObject>(cancelled)).id, created.id);
  const summaries = [1, 2, 3].map((number) => ({ ...job, jobArn: `${arn}${number}` }));
  answers.set(`GET ${bedrock}/model-invocation-jobs`, [200, JSON.stringify({ invocationJobSummaries: summaries })]);
  const page = await readJson<BatchList>(await send("/v1/batches?limit=2"));
  assert.deepEqual([page.data.length, page.has_more], [2, true]);
  const rest = await readJson<BatchList>(
    await send(`/v1/batches?limit=2&after=${encodeURIComponent(page.last_id ?? "")}`),
  );
  assert.deepEqual([rest.data.map((one) => one.id), rest.has_more], [[encodeURIComponent(`${arn}3`)], false]);
});

for (const [what, change] of [
  ["no role", { role_arn: undefined }],
  ["an input that is not an object", { input_file_id: "file-1" }],
] as const) {
  test(`bedrock rejects a batch with ${what}`, async () => {
    const body = { input_file_id: "s3://bucket/a", role_arn: "arn:aws:iam::123456789012:role/batch", ...change };
    const headers = { "content-type": "application/json" };
    const response = await send("/v1/batches", { method: "POST", body: JSON.stringify(body), headers });
    assert.equal(response.status, 400);
    assert.equal(upstream.requests.length, 0);
  });
}

test("bedrock batch output has lines in the gateway's form", async () => {
  answers.set(`GET ${bedrock}/model-invocation-job/${encodeURIComponent(arn)}`, [200, JSON.stringify(job)]);
  const text = `${rows.map((row) => JSON.stringify(row)).join("\n")}\nno json\n`;
  answers.set(`GET ${s3}/bucket/out/abc123/requests.jsonl.out`, [200, text]);
  const response = await send(`/v1/batches/${encodeURIComponent(arn)}/output`);
  assert.equal(response.headers.get("content-type"), "application/octet-stream");
  const lines: ResultLine[] = (await response.text())
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  const [one, two, three, broken] = lines;
  assert.equal(one?.custom_id, "one");
  assert.equal(one?.response?.body.object, "chat.completion");
  assert.deepEqual(one?.response?.body.choices, [
    { index: 0, message: { role: "assistant", content: "Hi", refusal: null }, logprobs: null, finish_reason: "stop" },
  ]);
  assert.deepEqual([two?.response, two?.error], [null, { code: "400", message: "too long" }]);
  assert.deepEqual(three?.response?.body, { content: "of the model" });
  assert.equal(broken?.error?.code, "unreadable_row");
});

test("bedrock returns 502 for unreadable service responses, and forwards refusals", async () => {
  const path = `GET ${bedrock}/model-invocation-job/${encodeURIComponent(arn)}`;
  for (const [reply, status] of [
    [[200, "no json"], 502],
    [[200, "{}"], 502],
    [[403, '{"message":"not allowed"}'], 403],
  ] as const) {
    answers.set(path, [reply[0], reply[1]]);
    assert.equal((await send(`/v1/batches/${encodeURIComponent(arn)}`)).status, status);
  }
});

test("bedrock maps fine-tuning jobs; events and checkpoints are not supported", async () => {
  const tuning = "arn:aws:bedrock:eu-west-1:123456789012:model-customization-job/t1";
  answers.set(`POST ${bedrock}/model-customization-jobs`, [200, JSON.stringify({ jobArn: tuning })]);
  const body = {
    model,
    training_file: encodeURIComponent("s3://bucket/in/train.jsonl"),
    suffix: "mine",
    job_name: "tune",
    role_arn: "arn:aws:iam::123456789012:role/tune",
    output_file: "s3://bucket/out/",
    method: { type: "supervised", supervised: { hyperparameters: { n_epochs: 2, batch_size: "auto" } } },
  };
  const headers = { "content-type": "application/json" };
  const made = await send("/v1/fine_tuning/jobs", { method: "POST", body: JSON.stringify(body), headers });
  const created = await readJson<{ id: string; status: string }>(made);
  assert.deepEqual([created.id, created.status], [encodeURIComponent(tuning), "queued"]);
  assert.deepEqual(JSON.parse(upstream.requests[0]?.text ?? ""), {
    baseModelIdentifier: model,
    customModelName: "mine",
    jobName: "tune",
    roleArn: body.role_arn,
    customizationType: "FINE_TUNING",
    hyperParameters: { epochCount: "2" },
    trainingDataConfig: { s3Uri: "s3://bucket/in/train.jsonl" },
    outputDataConfig: { s3Uri: "s3://bucket/out/" },
  });
  const path = `${bedrock}/model-customization-jobs/${encodeURIComponent(tuning)}`;
  const shown = {
    jobArn: tuning,
    status: "Completed",
    outputModelArn: "arn:model",
    creationTime: "2026-01-01T00:00:00Z",
  };
  answers.set(`GET ${path}`, [200, JSON.stringify(shown)]);
  const read = await readJson<{ status: string; fine_tuned_model: string }>(
    await send(`/v1/fine_tuning/jobs/${created.id}`),
  );
  assert.deepEqual([read.status, read.fine_tuned_model], ["succeeded", "arn:model"]);
  for (const what of ["events", "checkpoints"]) {
    const response = await send(`/v1/fine_tuning/jobs/${created.id}/${what}`);
    const { error } = await readJson<{ error: { code: string } }>(response);
    assert.deepEqual([response.status, error.code], [400, "unsupported_endpoint"]);
  }
});

test("bedrock does not reach S3 with the operator's own role or an API key", async () => {
  const id = encodeURIComponent("s3://bucket/in/requests.jsonl");
  const headers = { "x-gateway-provider": "bedrock", "x-gateway-aws-s3-bucket": "bucket" };
  for (const more of [{ "x-gateway-aws-auth-type": "serviceRole" }, { authorization: "Bearer api-key" }]) {
    const response = await sendOwn(gateway, `/v1/files/${id}/content`, { headers: { ...headers, ...more } });
    assert.equal(response.status, 400);
  }
});

test("bedrock with a stored provider reaches only the bucket its integration names", async () => {
  const configurations = { aws_region: "eu-west-1", aws_access_key_id: keys.accessKeyId, aws_auth_type: "accessKey" };
  for (const [slug, more] of [
    ["with", { aws_s3_bucket: "bucket" }],
    ["without", {}],
  ] as const) {
    const integration = {
      name: slug,
      slug: `${slug}-integration`,
      ai_provider_id: "bedrock",
      create_default_provider: false,
      configurations: { ...configurations, aws_secret_access_key: keys.secretAccessKey, ...more },
    };
    await done(call(gateway, "POST /integrations", { key: workspaceKey, body: integration }));
    const provider = { name: slug, slug, integration_id: `${slug}-integration` };
    await done(call(gateway, "POST /providers", { key: workspaceKey, body: provider }));
  }
  answers.set(`GET ${object}`, [200, "content"]);
  const read = async (slug: string, uri: string) => {
    const headers = { "x-gateway-provider": `@${slug}`, "x-gateway-aws-s3-bucket": "other" };
    const response = await sendOwn(gateway, `/v1/files/${encodeURIComponent(uri)}/content`, { headers });
    return [response.status, await response.text()] as const;
  };
  assert.deepEqual(await read("with", "s3://bucket/in/requests.jsonl"), [200, "content"]);
  assert.equal((await read("with", "s3://other/in/requests.jsonl"))[0], 404);
  assert.equal((await read("without", "s3://bucket/in/requests.jsonl"))[0], 400);
});
