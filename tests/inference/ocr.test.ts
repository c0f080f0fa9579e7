import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { jsonFixture } from "../conformance/suite.ts";
import {
  createTestGateway,
  type HeaderChanges,
  readJson,
  requestHeaders,
  type TestGateway,
  waitForLogs,
} from "../support/gateway.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

interface Answer {
  provider: string;
  usage_info: { pages_processed: number };
  error: { code: string; param: string | null; message: string };
}

const recorded = jsonFixture("mistral-ai", "ocr.json");
const document = { type: "document_url", document_url: "data:application/pdf;base64,JVBERi0=" };
const body = { model: "mistral-ocr-latest", document, include_image_base64: true };

let upstream: RecordingUpstream;
let gateway: TestGateway;
before(async () => {
  upstream = await startRecordingUpstream(({ path }, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(path.startsWith("/odd") ? { pages: [{ index: 0 }] } : recorded));
  });
  gateway = await createTestGateway();
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

const mistral = (path = "/v1"): HeaderChanges => ({
  "x-gateway-provider": "mistral-ai",
  authorization: "Bearer provider-key",
  "x-gateway-custom-host": upstream.url + path,
});
const azure = (): HeaderChanges => ({
  "x-gateway-provider": "azure-ai",
  authorization: "Bearer provider-key",
  "x-gateway-azure-foundry-url": `${upstream.url}/models`,
});

function read(headers: HeaderChanges, sent: object = body): Promise<Response> {
  return gateway.fetch("/v1/ocr", { method: "POST", headers: requestHeaders(headers), body: JSON.stringify(sent) });
}

for (const [provider, headers, path] of [
  ["mistral-ai", mistral, "/v1/ocr"],
  ["azure-ai", azure, "/providers/mistral/azure/ocr"],
] as const) {
  test(`POST /v1/ocr by ${provider} returns the response and adds the provider`, async () => {
    const response = await read(headers());
    assert.equal(response.status, 200);
    assert.deepEqual(await readJson(response), { ...Object(recorded), provider });
    const request = upstream.requests.at(-1) ?? assert.fail();
    assert.equal(request.path, path);
    assert.deepEqual(JSON.parse(request.text), body);
    const [row] = await waitForLogs(gateway, `provider=${provider}`);
    assert.deepEqual([row?.operation, row?.model, row?.status], ["ocr", "mistral-ocr-latest", 200]);
  });
}

test("POST /v1/ocr by azure-ai refuses addresses before any call", async () => {
  const calls = upstream.requests.length;
  const away = { ...body, document: { type: "image_url", image_url: { url: "https://example.com/a.png" } } };
  const response = await read(azure(), away);
  const { error } = await readJson<Answer>(response);
  assert.deepEqual([response.status, error.param], [400, "document.image_url"]);
  assert.match(error.message, /data URL/);
  assert.equal(upstream.requests.length, calls);
});

for (const [name, changes, param] of [
  ["no document", { document: undefined }, "document"],
  ["a document of no type", { document: { document_url: "data:," } }, "document.type"],
  ["a document of an unknown type", { document: { type: "text", text: "a" } }, "document.type"],
  ["a type without its address", { document: { type: "image_url", document_url: "data:," } }, "document.image_url"],
  ["no model", { model: undefined }, "model"],
  ["a page before the first", { pages: [-1] }, "pages"],
  ["no pictures at most", { image_limit: 0 }, "image_limit"],
  ["a size of no points", { image_min_size: 0 }, "image_min_size"],
] as const) {
  test(`POST /v1/ocr refuses ${name}`, async () => {
    const response = await read(mistral(), { ...body, ...changes });
    const { error } = await readJson<Answer>(response);
    assert.deepEqual([response.status, error.param], [400, param], error.message);
  });
}

test("POST /v1/ocr is refused at a provider without OCR", async () => {
  const response = await read({ ...mistral(), "x-gateway-provider": "openai" });
  assert.deepEqual([response.status, (await readJson<Answer>(response)).error.code], [400, "unsupported_endpoint"]);
});

test("POST /v1/ocr refuses a response that cannot be parsed", async () => {
  const response = await read(mistral("/odd"));
  assert.deepEqual([response.status, (await readJson<Answer>(response)).error.code], [502, "upstream_bad_answer"]);
});
