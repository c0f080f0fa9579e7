import assert from "node:assert/strict";
import { test } from "node:test";
import { webMac } from "../../src/lib/hash.ts";
import { BodyPieces, maxLoggedBody } from "../../src/logs/body.ts";
import { packRecords, unpackRecords } from "../../src/logs/pack.ts";
import {
  type DraftRecord,
  describeLoss,
  type LogRecord,
  type RecordContent,
  readContent,
  toDraft,
  toLogEntry,
} from "../../src/logs/record.ts";
import { createRedactor } from "../../src/logs/redact.ts";
import type { LogDetails } from "../../src/schemas/logs.ts";
import { nodeMac } from "../../src/serve/environment.ts";
import { plainDetails } from "../support/log-record.ts";

const key = new Uint8Array(32).fill(9);
const options = { keyPrefix: "gk", sensitiveNames: [], aliasPrefixes: [] };
const redactor = createRedactor({ ...options, mac: nodeMac(key) });

type Changes = Partial<RecordContent> & { details?: LogDetails };

function record({ details = plainDetails, ...changes }: Changes = {}): LogRecord {
  const nothing = {
    sensitiveHeaders: [],
    requestHeaders: {},
    responseHeaders: {},
    requestBody: null,
    responseBody: null,
  };
  return { details, content: { ...nothing, ...changes } };
}

function one(drafts: readonly DraftRecord[]): DraftRecord {
  const [draft] = drafts;
  assert.ok(draft);
  return draft;
}

/** A record as it is read again, by either way to the database: both must store the same. */
async function store(changes: Changes) {
  const entry = await toLogEntry(toDraft(record(changes)), redactor);
  const packed = packRecords([record(), record(changes), record()]);
  const handedOver = unpackRecords(structuredClone(packed, { transfer: [packed.bodies.buffer] }));
  assert.equal(handedOver.length, 3);
  assert.deepEqual(await toLogEntry(one(handedOver.slice(1)), redactor), entry);
  return { entry, details: JSON.parse(entry.details), content: readContent(entry.content) };
}

test("toLogEntry() answers at once where digests do, and alike where they do not", async () => {
  const requestHeaders = { authorization: "Bearer a" };
  const entry = toLogEntry(toDraft(record({ requestHeaders })), redactor);
  assert.equal(entry instanceof Promise, false);
  const late = toLogEntry(toDraft(record({ requestHeaders })), createRedactor({ ...options, mac: webMac(key) }));
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
  const named = await store({ details: { ...plainDetails, model: "m\0n", trace_id: "t\0u" } });
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
    details: { ...plainDetails, error, model: secret, trace_id: secret, metadata: { key: secret } },
  });
  assert.equal(JSON.stringify(stored.entry).includes(secret), false);
  assert.equal(stored.content.request.body, '{"a":"[masked]"}');
  assert.equal(stored.details.error.message, "the key [masked] is wrong");
  assert.equal(stored.details.model, "[masked]");
});

test("L4: a line end in a text or a header cannot forge a row", async () => {
  const metadata = { a: 'x"}\n{"status":200' };
  const stored = await store({ details: { ...plainDetails, metadata }, requestHeaders: { "x-a": 'b\n"}' } });
  assert.equal(stored.entry.details.includes("\n"), false);
  assert.deepEqual(stored.details.metadata, metadata);
  assert.equal(stored.content.request.headers["x-a"], 'b\n"}');
});

test("describeLoss() belongs to the tenant of the sample and holds nothing else of it", async () => {
  const sample = record({
    requestBody: "secret body",
    details: { ...plainDetails, model: "secret model", metadata: { a: "secret" } },
  });
  const loss = describeLoss(sample, 12, "loss-id");
  const { id, organisation_id, workspace_id, operation, error } = loss.details;
  assert.deepEqual([id, organisation_id, workspace_id, operation], ["loss-id", "o", "w", "rows_lost"]);
  assert.match(error?.message ?? "", /^12 log rows/);
  assert.equal(JSON.stringify(loss).includes("secret"), false);
});

const characters = "ascii, é, ☂, \ud83d\ude00 and more; ";
const encoded = new TextEncoder().encode(characters.repeat(500));

for (const step of [1, 7, 2047, 2048, 5000, encoded.length]) {
  test(`BodyPieces holds a body that comes ${step} bytes at a time`, async () => {
    const pieces = new BodyPieces();
    for (let start = 0; start < encoded.length; start += step) pieces.add(encoded.slice(start, start + step));
    assert.equal(pieces.length, encoded.length);
    const { content } = await store({ requestBody: pieces, responseBody: encoded });
    assert.equal(content.request.body, characters.repeat(500));
    assert.equal(content.response.body, characters.repeat(500));
  });
}

test("BodyPieces keeps what is stored and says that it was cut", async () => {
  const pieces = new BodyPieces();
  for (let index = 0; index < 20; index++) pieces.add(new TextEncoder().encode("é".repeat(50_000)));
  assert.equal(pieces.length, maxLoggedBody);
  const { content } = await store({ responseBody: pieces, requestBody: "sent" });
  assert.equal(content.response.body, "é".repeat(maxLoggedBody / 2));
  assert.deepEqual([content.request.truncated, content.response.truncated], [false, true]);
});

for (const bytes of [
  [0xff, 0x61],
  [0xe2, 0x82],
  [0xef, 0xbb, 0xbf, 0x61],
  [0xc3, 0x28],
]) {
  test(`a body of the bytes ${bytes} does not shift the one behind it`, async () => {
    const { content } = await store({ requestBody: Uint8Array.from(bytes), responseBody: "answer" });
    assert.equal(content.response.body, "answer");
  });
}
