import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import type { FileObject } from "../../src/schemas/files.ts";
import { sendOwn, upload } from "../support/batches.ts";
import { createTestGateway, insertTenant, readJson, type TestGateway, waitForLogs } from "../support/gateway.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

const job = { id: "ftjob-1", object: "fine_tuning.job", created_at: 1, status: "queued", model: "m" };
const otherKey = "other-workspace-key-0000000";
const lines = '{"messages":[{"role":"user","content":"grüße"}]}\n{"messages":[]}\n';

/** The upstream's response to an upload. */
let ofUpload: () => [status: number, body: object];
let upstream: RecordingUpstream;
let gateway: TestGateway;
before(async () => {
  upstream = await startRecordingUpstream(({ path }, response) => {
    const [status, body] = path === "/v1/files" ? ofUpload() : [200, job];
    response.writeHead(status, { "content-type": "application/json", "retry-after": "7" });
    response.end(JSON.stringify(body));
  });
  gateway = await createTestGateway({ inFile: true });
  await insertTenant(await gateway.openFile(), otherKey);
});
after(async () => {
  await gateway.close();
  await upstream.close();
});
beforeEach(() => {
  upstream.requests.length = 0;
  let number = 0;
  ofUpload = () => [200, { id: `file-${++number}`, object: "file" }];
});

async function store(purpose = "fine-tune"): Promise<string> {
  return (await readJson<FileObject>(await upload(gateway, lines, { purpose }))).id;
}

function tune(body: unknown, { key, ...more }: Record<string, string> = {}): Promise<Response> {
  const headers = {
    "content-type": "application/json",
    "x-gateway-provider": "openai",
    "x-gateway-trace-id": "tune",
    "x-gateway-custom-host": `${upstream.url}/v1`,
    authorization: "Bearer upstream-credential",
    ...more,
  };
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return sendOwn(gateway, "/v1/fine_tuning/jobs", { method: "POST", body: text, headers, ...(key && { key }) });
}

async function refusal(response: Response) {
  const { error } = await readJson<{ error: { code: string; param: string; message: string } }>(response);
  return [response.status, error.code, error.param] as const;
}

test("files of the gateway are uploaded to the provider before its job is created", async () => {
  const [training, validation] = [await store(), await store()];
  const made = await tune({ model: "gpt-4o-mini", training_file: training, validation_file: validation, seed: 3 });
  assert.equal((await readJson<{ id: string }>(made)).id, "ftjob-1");
  assert.deepEqual(
    upstream.requests.map(({ method, path }) => `${method} ${path}`),
    ["POST /v1/files", "POST /v1/files", "POST /v1/fine_tuning/jobs"],
  );
  const [first, second, asked] = upstream.requests;
  for (const [request, id] of [
    [first, training],
    [second, validation],
  ] as const) {
    assert.equal(request?.headers.authorization, "Bearer upstream-credential");
    assert.match(request?.text ?? "", /name="purpose"\r\n\r\nfine-tune\r\n/);
    assert.match(request?.text ?? "", new RegExp(`filename="${id}.jsonl"`));
    assert.ok(request?.text.includes(`\r\n\r\n${lines}\r\n--`));
    assert.ok(!/x-gateway|workspace-key/i.test(JSON.stringify(request?.headers)));
  }
  const wanted = { model: "gpt-4o-mini", training_file: "file-1", validation_file: "file-2", seed: 3 };
  assert.deepEqual(JSON.parse(asked?.text ?? ""), wanted);
  const rows = await waitForLogs(gateway, "trace_id=tune", 3);
  assert.deepEqual(rows.map(({ operation }) => operation).sort(), ["createFinetune", "uploadFile", "uploadFile"]);
});

test("a job that names the provider's own files is forwarded unchanged", async () => {
  const text = '{ "model": "m",  "training_file": "file-9" }';
  assert.equal((await tune(text)).status, 200);
  assert.deepEqual(
    upstream.requests.map((request) => request.text),
    [text],
  );
});

test("a config with one target leads to its provider", async () => {
  const target = { provider: "openai", api_key: "of-the-config", custom_host: `${upstream.url}/v1` };
  const config = JSON.stringify({ strategy: { mode: "fallback" }, targets: [target] });
  const headers = { "content-type": "application/json", "x-gateway-config": config };
  const body = JSON.stringify({ model: "m", training_file: await store() });
  assert.equal((await sendOwn(gateway, "/v1/fine_tuning/jobs", { method: "POST", body, headers })).status, 200);
  assert.deepEqual(
    upstream.requests.map((request) => request.headers.authorization),
    ["Bearer of-the-config", "Bearer of-the-config"],
  );
});

test("a provider named in gateway_options is called as if it were in the headers", async () => {
  const gatewayOptions = {
    "x-gateway-provider": "openai",
    "x-gateway-custom-host": `${upstream.url}/v1`,
    authorization: "Bearer upstream-credential",
  };
  const ask = (options?: object) => {
    const body = JSON.stringify({ model: "m", training_file: file, ...(options && { gateway_options: options }) });
    const headers = { "content-type": "application/json" };
    return sendOwn(gateway, "/v1/fine_tuning/jobs", { method: "POST", body, headers });
  };
  const file = await store();
  assert.equal((await readJson<{ id: string }>(await ask(gatewayOptions))).id, "ftjob-1");
  const asked = upstream.requests.at(-1);
  assert.deepEqual(JSON.parse(asked?.text ?? ""), { model: "m", training_file: "file-1" });
  assert.deepEqual(
    upstream.requests.map((request) => request.headers.authorization),
    ["Bearer upstream-credential", "Bearer upstream-credential"],
  );
  assert.ok(!/workspace-key/.test(JSON.stringify(upstream.requests.map((request) => request.headers))));
  for (const options of [undefined, {}, { "x-gateway-provider": "gateway" }]) {
    assert.deepEqual((await refusal(await ask(options))).slice(0, 2), [400, "provider_required"]);
  }
  assert.equal((await ask({ "x-gateway-api-key": "x" })).status, 400);
  assert.equal(upstream.requests.length, 2);
});

test("unknown files, foreign ones and those with another purpose are refused, and nothing is sent", async () => {
  const file = await store();
  const missing = "gw_file_00000000-0000-4000-8000-000000000000";
  for (const [body, key, wanted] of [
    [{ training_file: missing }, undefined, [404, "file_not_found", "training_file"]],
    [{ training_file: file }, otherKey, [404, "file_not_found", "training_file"]],
    [{ training_file: await store("batch") }, undefined, [400, "invalid_file_purpose", "training_file"]],
    [{ training_file: "file-9", validation_file: missing }, undefined, [404, "file_not_found", "validation_file"]],
  ] as const) {
    assert.deepEqual(await refusal(await tune({ model: "m", ...body }, key ? { key } : {})), wanted);
  }
  assert.equal(upstream.requests.length, 0);
});

test("a provider without tuning jobs is refused before anything is sent to it", async () => {
  const response = await tune({ model: "m", training_file: await store() }, { "x-gateway-provider": "anthropic" });
  assert.deepEqual((await refusal(response)).slice(0, 2), [400, "unsupported_endpoint"]);
  assert.equal(upstream.requests.length, 0);
});

for (const status of [401, 429, 503]) {
  test(`an upload the provider refuses with ${status} is reported, and no job is created`, async () => {
    ofUpload = () => [status, { error: { message: "not now", code: "refused" } }];
    const response = await tune({ model: "m", training_file: await store() });
    assert.equal(response.status, status);
    assert.equal(response.headers.get("retry-after"), "7");
    const { error } = await readJson<{ error: { message: string; param: string } }>(response);
    assert.equal(error.param, "training_file");
    assert.match(error.message, /Cannot upload training_file to the provider: not now/);
    assert.equal(upstream.requests.length, 1);
  });
}

test("an upload whose response has no id is the provider's fault", async () => {
  ofUpload = () => [200, { object: "file" }];
  assert.equal((await tune({ model: "m", training_file: await store() })).status, 502);
});
