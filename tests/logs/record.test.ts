import assert from "node:assert/strict";
import { test } from "node:test";
import { webMac } from "../../src/lib/hash.ts";
import {
  describeLoss,
  type LogRecord,
  maxLoggedBody,
  readContent,
  toLogEntry,
  toLoggedUsage,
} from "../../src/logs/record.ts";
import { createRedactor } from "../../src/logs/redact.ts";
import type { LogDetails } from "../../src/schemas/logs.ts";
import { nodeMac } from "../../src/serve/environment.ts";

const key = new Uint8Array(32).fill(9);
const options = { keyPrefix: "gk", sensitiveNames: [], aliasPrefixes: [] };
const redactor = createRedactor({ ...options, mac: nodeMac(key) });

const details: LogDetails = {
  ...{ id: "id", organisation_id: "o", workspace_id: "w", api_key_id: "k", status: 200, provider: "echo", model: "m" },
  ...{ method: "POST", path: "/v1/chat/completions", operation: "chat", metadata: {}, stream: false, trace_id: "t" },
  ...{ duration_ms: 1, span_id: null, parent_span_id: null, span_name: null, first_byte_ms: null },
  ...{ upstream_ms: null, upstream_url: null, upstream_calls: 0, usage: null, error: null },
};

function record(changes: Partial<LogRecord> = {}): LogRecord {
  return {
    ...{ details, sensitiveHeaders: [], requestBody: null, responseBody: null },
    ...{ requestHeaders: [], responseHeaders: {} },
    ...changes,
  };
}

/** A record as it is read again. */
async function store(changes: Partial<LogRecord>) {
  const entry = await toLogEntry(record(changes), redactor);
  return { entry, details: JSON.parse(entry.details), content: readContent(entry.content) };
}

test("toLogEntry() answers at once where digests do, and alike where they do not", async () => {
  const requestHeaders: [string, string][] = [["authorization", "Bearer a"]];
  const entry = toLogEntry(record({ requestHeaders }), redactor);
  assert.equal(entry instanceof Promise, false);
  const late = toLogEntry(record({ requestHeaders }), createRedactor({ ...options, mac: webMac(key) }));
  assert.equal(late instanceof Promise, true);
  assert.deepEqual(await late, entry);
});

for (const [name, requestBody, responseBody] of [
  ["both", '{"a":"é"}', "answer"],
  ["none", null, null],
  ["empty ones", "", ""],
  ["a request alone", "sent", null],
  ["an answer alone", null, "answered\nin lines"],
  ["characters of two units", "\ud83d\ude00", "\ud83d\ude00\ud83d\ude00"],
] as const) {
  test(`readContent() gives back the bodies toLogEntry() took: ${name}`, async () => {
    const { content } = await store({ requestBody, responseBody, responseHeaders: { "x-a": "1" } });
    assert.deepEqual([content.request.body, content.response.body], [requestBody, responseBody]);
    assert.deepEqual([content.request.headers, content.response.headers], [{}, { "x-a": "1" }]);
    assert.deepEqual([content.request.truncated, content.response.truncated], [false, false]);
  });
}

for (const content of [null, "", "nonsense", "{}\nrest", '{"lengths":"x","request":5}\nrest', "[]\n"]) {
  test(`readContent() reads ${JSON.stringify(content)} as empty`, () => {
    const { request, response } = readContent(content);
    assert.deepEqual([request.body, request.headers, response.headers], [null, {}, {}]);
    assert.equal(response.body, null);
  });
}

test("toLogEntry() writes U+0000 out and keeps what follows it", async () => {
  const { entry, content } = await store({ requestBody: "a\0b", responseBody: "\0" });
  assert.deepEqual([content.request.body, content.response.body], ["a\\u0000b", "\\u0000"]);
  assert.equal(entry.content?.includes("\0"), false);
  const named = await store({ details: { ...details, model: "m\0n", trace_id: "t\0u" } });
  assert.equal(named.entry.details.includes("\0"), false);
  assert.deepEqual([named.details.model, named.details.trace_id], ["m\0n", "t\0u"]);
});

test("toLogEntry() cuts bodies and says which", async () => {
  const { content } = await store({ requestBody: "x".repeat(maxLoggedBody + 1), responseBody: "y".repeat(1_000) });
  assert.equal(content.request.body?.length, maxLoggedBody);
  assert.equal(content.response.body?.length, 1_000);
  assert.deepEqual([content.request.truncated, content.response.truncated], [true, false]);
});

test("L3: toLogEntry() masks keys in bodies and details", async () => {
  const secret = "sk-abcdefghij0123456789";
  const error = { type: "api_error", code: null, message: `the key ${secret} is wrong` };
  const stored = await store({
    requestBody: `{"a":"${secret}"}`,
    responseBody: secret,
    details: { ...details, error, model: secret, trace_id: secret, metadata: { key: secret } },
  });
  assert.equal(JSON.stringify(stored.entry).includes(secret), false);
  assert.equal(stored.content.request.body, '{"a":"[masked]"}');
  assert.equal(stored.details.error.message, "the key [masked] is wrong");
  assert.equal(stored.details.model, "[masked]");
});

test("L4: a line end in a text or a header cannot forge a row", async () => {
  const metadata = { a: 'x"}\n{"status":200' };
  const stored = await store({ details: { ...details, metadata }, requestHeaders: [["x-a", 'b\n"}']] });
  assert.equal(stored.entry.details.includes("\n"), false);
  assert.deepEqual(stored.details.metadata, metadata);
  assert.equal(stored.content.request.headers["x-a"], 'b\n"}');
});

const none = { input_tokens: 0, output_tokens: 0, total_tokens: 0, cached_tokens: 0, reasoning_tokens: 0 };
for (const [name, usage, wanted] of [
  ["nothing", undefined, null],
  ["null", null, null],
  ["a text", "10", null],
  ["an empty object", {}, none],
  [
    "plain counts",
    { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
    { ...none, input_tokens: 3, output_tokens: 4, total_tokens: 7 },
  ],
  [
    "counts without total",
    { prompt_tokens: 3, completion_tokens: 4 },
    { ...none, input_tokens: 3, output_tokens: 4, total_tokens: 7 },
  ],
  [
    "details",
    {
      prompt_tokens: 3,
      completion_tokens: 4,
      total_tokens: 7,
      prompt_tokens_details: { cached_tokens: 2 },
      completion_tokens_details: { reasoning_tokens: 1 },
    },
    { input_tokens: 3, output_tokens: 4, total_tokens: 7, cached_tokens: 2, reasoning_tokens: 1 },
  ],
  [
    "negative, broken and endless counts",
    { prompt_tokens: -1, completion_tokens: 1.5, total_tokens: Number.POSITIVE_INFINITY },
    none,
  ],
  ["texts as counts", { prompt_tokens: "3", prompt_tokens_details: "x", completion_tokens_details: null }, none],
  ["counts above what is exact", { prompt_tokens: 2 ** 53 }, none],
] as const) {
  test(`B3: toLoggedUsage() reads ${name}`, () => assert.deepEqual(toLoggedUsage(usage), wanted));
}

test("describeLoss() belongs to the tenant of the sample and holds nothing else of it", async () => {
  const { entry } = await store({
    requestBody: "secret body",
    details: { ...details, model: "secret model", metadata: { a: "secret" } },
  });
  const loss = describeLoss(entry, 12, "loss-id");
  assert.deepEqual([loss.id, loss.organisationId, loss.workspaceId], ["loss-id", "o", "w"]);
  const told = JSON.parse(loss.details);
  assert.deepEqual([told.organisation_id, told.workspace_id, told.operation], ["o", "w", "rows_lost"]);
  assert.match(told.error.message, /^12 log rows/);
  assert.equal(JSON.stringify(loss).includes("secret"), false);
});
