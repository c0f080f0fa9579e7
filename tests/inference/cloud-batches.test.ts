import assert from "node:assert/strict";
import { test } from "node:test";
import { requireSigned } from "../support/aws.ts";
import { chatLine, finishLines } from "../support/batches.ts";
import { createTestGateway } from "../support/gateway.ts";
import { createRedirectingTransport, meantLine, meantUrl } from "../support/redirected.ts";
import { type ReceivedRequest, startRecordingUpstream } from "../support/upstream.ts";

const batches = { pauseMs: 0, lookEveryMs: 5, statusCheckMs: 1 };

/** The response of a service. */
type Answer = readonly [status: number, body: string];

/** Runs a batch of two chats at a provider played by a function; returns the batch, its results and what was sent. */
async function runAt(
  answer: (line: string, request: ReceivedRequest) => Answer | undefined,
  { model, ...options }: { model: string; gateway_options: Record<string, string>; provider_options?: object },
) {
  const upstream = await startRecordingUpstream((request, response) => {
    const [status, body] = answer(meantLine(request), request) ?? [404, "{}"];
    response.writeHead(status, { etag: '"tag"' }).end(body);
  });
  const gateway = await createTestGateway({ batches, transport: createRedirectingTransport(() => upstream.url) });
  try {
    const lines = `${chatLine("a", "one", { model })}\n${chatLine("b", "two", { model })}\n`;
    const ended = await finishLines(gateway, lines, { completion_window: "24h", ...options });
    return { ...ended, requests: upstream.requests };
  } finally {
    await gateway.close();
    await upstream.close();
  }
}

/** The body of the request to an address. */
function bodyOf(requests: readonly ReceivedRequest[], line: string): unknown {
  return JSON.parse(requests.find((request) => meantLine(request) === line)?.text ?? "null");
}

test("POST /v1/batches creates a Bedrock job over S3", async () => {
  const keys = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "secret-of-the-caller" };
  const arn = "arn:aws:bedrock:eu-west-1:123456789012:model-invocation-job/abc123";
  const model = "anthropic.claude-3-haiku-20240307-v1:0";
  const s3 = "https://s3.eu-west-1.amazonaws.com/bucket";
  const bedrock = "https://bedrock.eu-west-1.amazonaws.com";
  const role = "arn:aws:iam::123456789012:role/batch";
  let input = "";
  const converse = {
    output: { message: { role: "assistant", content: [{ text: "Hi" }] } },
    stopReason: "end_turn",
    usage: { inputTokens: 1_000, outputTokens: 100, totalTokens: 1_100 },
  };
  const rows = [
    { recordId: "a", modelOutput: converse },
    { recordId: "b", error: { errorCode: 400, errorMessage: "too long" } },
  ];
  const job = () => ({
    jobArn: arn,
    modelId: model,
    status: "Completed",
    submitTime: "2026-01-01T00:00:00Z",
    inputDataConfig: { s3InputDataConfig: { s3Uri: input } },
    outputDataConfig: { s3OutputDataConfig: { s3Uri: "s3://bucket/out/" } },
  });
  const { batch, output, errors, requests } = await runAt(
    (line, request) => {
      requireSigned({ ...request, url: meantUrl(request).href }, keys);
      if (line.endsWith(".jsonl?uploads=")) return [200, "<Result><UploadId>one</UploadId></Result>"];
      if (line.startsWith(`PUT ${s3}/`) || line.endsWith("?uploadId=one")) return [200, "<Result/>"];
      if (line === `POST ${bedrock}/model-invocation-job`) {
        input = JSON.parse(request.text).inputDataConfig.s3InputDataConfig.s3Uri;
        return [200, JSON.stringify({ jobArn: arn })];
      }
      if (line === `GET ${bedrock}/model-invocation-job/${encodeURIComponent(arn)}`)
        return [200, JSON.stringify(job())];
      const name = input.slice(input.lastIndexOf("/") + 1);
      if (line !== `GET ${s3}/out/abc123/${name}.out`) return undefined;
      return [200, rows.map((row) => JSON.stringify(row)).join("\n")];
    },
    {
      model,
      gateway_options: {
        "x-gateway-provider": "bedrock",
        "x-gateway-aws-region": "eu-west-1",
        "x-gateway-aws-s3-bucket": "bucket",
        "x-gateway-aws-access-key-id": keys.accessKeyId,
        "x-gateway-aws-secret-access-key": keys.secretAccessKey,
      },
      provider_options: { role_arn: role, job_name: "mine", output_data_config: "s3://bucket/out/" },
    },
  );
  assert.deepEqual([batch.status, batch.provider, batch.model], ["completed", "bedrock", model]);
  assert.equal(batch.provider_batch_id, encodeURIComponent(arn));
  // the object is named after the batch: a repeated upload replaces it
  assert.equal(input, `s3://bucket/${batch.id}.jsonl`);
  const part = requests.find((request) => request.method === "PUT");
  assert.deepEqual(
    part?.text
      .trimEnd()
      .split("\n")
      .map((row) => JSON.parse(row).recordId),
    ["a", "b"],
  );
  assert.deepEqual(bodyOf(requests, `POST ${bedrock}/model-invocation-job`), {
    modelId: model,
    roleArn: role,
    jobName: "mine",
    modelInvocationType: "Converse",
    inputDataConfig: { s3InputDataConfig: { s3Uri: input, s3InputFormat: "JSONL" } },
    outputDataConfig: { s3OutputDataConfig: { s3Uri: "s3://bucket/out/" } },
  });
  assert.deepEqual(batch.request_counts, { total: 2, completed: 1, failed: 1 });
  assert.deepEqual([output[0]?.custom_id, output[0]?.response?.body.object], ["a", "chat.completion"]);
  assert.deepEqual([errors[0]?.custom_id, errors[0]?.error], ["b", { code: "400", message: "too long" }]);
  assert.deepEqual([batch.usage?.input_tokens, batch.usage?.output_tokens], [1_000, 100]);
  // 1,000 tokens at 125 nano-dollars and 100 at 625: half of what they cost outside of batches
  assert.equal(batch.cost, 187_500 / 1e7);
});

test("POST /v1/batches fails a batch without the role Bedrock needs and reports it", async () => {
  const { batch } = await runAt(
    (line) => (line.endsWith("?uploads=") ? [200, "<UploadId>one</UploadId>"] : [200, "<Result/>"]),
    {
      model: "anthropic.claude-3-haiku-20240307-v1:0",
      gateway_options: {
        "x-gateway-provider": "bedrock",
        "x-gateway-aws-region": "eu-west-1",
        "x-gateway-aws-s3-bucket": "bucket",
        "x-gateway-aws-access-key-id": "AKIDEXAMPLE",
        "x-gateway-aws-secret-access-key": "secret",
      },
    },
  );
  assert.equal(batch.status, "failed");
  assert.match(batch.errors?.data[0]?.message ?? "", /role_arn is missing/);
});

test("POST /v1/batches creates a Vertex AI prediction job over Cloud Storage", async () => {
  const location = "https://europe-west1-aiplatform.googleapis.com/v1/projects/project/locations/europe-west1";
  const storage = "https://storage.googleapis.com/bucket";
  const model = "gemini-2.5-flash";
  const job = {
    name: "projects/1/locations/europe-west1/batchPredictionJobs/77",
    model: `publishers/google/models/${model}`,
    createTime: "2026-01-01T00:00:00Z",
  };
  const usageMetadata = { promptTokenCount: 1_000, candidatesTokenCount: 100, totalTokenCount: 1_100 };
  const candidate = { content: { role: "model", parts: [{ text: "Hi" }] }, finishReason: "STOP" };
  const rows = [
    { requestId: "a", status: "", response: { candidates: [candidate], responseId: "r1", usageMetadata } },
    { requestId: "b", status: "Bad Request" },
  ];
  const states = ["JOB_STATE_PENDING", "JOB_STATE_RUNNING", "JOB_STATE_SUCCEEDED"];
  let asked = 0;
  const { batch, output, errors, requests } = await runAt(
    (line, request) => {
      assert.equal(request.headers.authorization, "Bearer ya29.token");
      if (line.startsWith(`PUT ${storage}/`)) return [200, ""];
      if (line === `POST ${location}/batchPredictionJobs`) return [200, JSON.stringify({ ...job, state: states[0] })];
      if (line === `GET ${location}/batchPredictionJobs/77`) {
        const state = states[Math.min(2, ++asked)];
        const outputInfo = { gcsOutputDirectory: "gs://bucket/out/prediction-1" };
        return [200, JSON.stringify({ ...job, state, ...(asked > 1 && { outputInfo }) })];
      }
      if (line !== `GET ${storage}/out/prediction-1/predictions.jsonl`) return undefined;
      return [200, rows.map((row) => JSON.stringify(row)).join("\n")];
    },
    {
      model,
      gateway_options: {
        "x-gateway-provider": "vertex-ai",
        "x-gateway-vertex-project-id": "project",
        "x-gateway-vertex-region": "europe-west1",
        "x-gateway-vertex-storage-bucket-name": "bucket",
        authorization: "Bearer ya29.token",
      },
    },
  );
  assert.deepEqual([batch.status, batch.provider, batch.provider_batch_id], ["completed", "vertex-ai", "77"]);
  const sent = bodyOf(requests, `POST ${location}/batchPredictionJobs`);
  assert.deepEqual(Object(sent).inputConfig.gcsSource.uris, [`gs://bucket/${batch.id}.jsonl`]);
  assert.equal(Object(sent).model, `publishers/google/models/${model}`);
  assert.deepEqual(batch.request_counts, { total: 2, completed: 1, failed: 1 });
  assert.equal(output[0]?.custom_id, "a");
  assert.deepEqual([errors[0]?.custom_id, errors[0]?.error?.message], ["b", "Bad Request"]);
  // 1,000 tokens at 150 nano-dollars and 100 at 1,250
  assert.equal(batch.cost, 275_000 / 1e7);
});
