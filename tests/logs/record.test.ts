import assert from "node:assert/strict";
import { test } from "node:test";
import { openContents } from "../../src/db/stores/log-content.ts";
import { webMac } from "../../src/lib/hash.ts";
import { BodyPieces, maxLoggedBody } from "../../src/logs/body.ts";
import { readCharged } from "../../src/logs/charged.ts";
import { Losses } from "../../src/logs/losses.ts";
import { type PackedBatch, packRecords } from "../../src/logs/pack.ts";
import { describeLoss, type LogRecord, type RecordContent } from "../../src/logs/record.ts";
import { createRedactor, type Redactor } from "../../src/logs/redact.ts";
import { sealBatch } from "../../src/logs/seal.ts";
import type { LogContent, LogDetails } from "../../src/schemas/logs.ts";
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

/** Packed records as another thread gets them. */
function handOver(packed: readonly PackedBatch[]): readonly PackedBatch[] {
  return structuredClone(packed, { transfer: packed.map(({ bodies }) => bodies.buffer) });
}

/** Records as they are stored. */
async function seal(records: readonly LogRecord[], by: Redactor = redactor) {
  return handOver(await packRecords(records, by)).map((batch) => sealBatch(batch, by));
}

/** A record as it is stored and read again: among others, and alone. */
async function store(changes: Changes) {
  const [batch] = await seal([record(), record(changes), record()]);
  const [alone] = await seal([record(changes)]);
  assert.ok(batch && alone);
  const read = (content: LogContent | null) => {
    assert.ok(content);
    return content;
  };
  const content = read(openContents(batch.content)(1));
  assert.deepEqual(openContents(alone.content)(0), content);
  const details: LogDetails[] = JSON.parse(batch.details);
  assert.equal(details.length, 3);
  return { text: JSON.stringify([batch, alone]), batch, details: JSON.parse(batch.details)[1], content };
}

test("packRecords() answers at once where digests do, and alike where they do not", async () => {
  const records = [record({ requestHeaders: { authorization: "Bearer a" }, requestBody: "a" }), record()];
  const packed = packRecords(records, redactor);
  assert.equal(packed instanceof Promise, false);
  const late = packRecords(records, createRedactor({ ...options, mac: webMac(key) }));
  assert.equal(late instanceof Promise, true);
  assert.deepEqual(await late, packed);
});

test("packRecords() keeps tenants apart, whatever their ids hold, and rows in order", async () => {
  const of = (organisation_id: string, workspace_id: string | null, id: string): LogRecord =>
    record({ details: { ...plainDetails, organisation_id, workspace_id, id }, requestBody: `body of ${id}` });
  const records = [of("o", "w", "2"), of("o", null, "3"), of("o", "w", "1"), of("o,w", null, "4"), of("p", "w", "5")];
  const lost: LogRecord = { ...of("o", "w", "6"), content: null };
  const batches = await seal([...records, lost]);
  const read = batches.map(({ details, content, counted: _, charged: __, measures: ___, ...batch }) => ({
    ...batch,
    rows: JSON.parse(details).map(({ id }: LogDetails, index: number) => [
      id,
      openContents(content)(index)?.request.body,
    ]),
  }));
  const body = (id: string) => [id, `body of ${id}`];
  assert.deepEqual(read, [
    {
      organisationId: "o",
      workspaceId: "w",
      firstId: "1",
      lastId: "6",
      rows: [body("2"), body("1"), ["6", undefined]],
    },
    { organisationId: "o", workspaceId: null, firstId: "3", lastId: "3", rows: [body("3")] },
    { organisationId: "o,w", workspaceId: null, firstId: "4", lastId: "4", rows: [body("4")] },
    { organisationId: "p", workspaceId: "w", firstId: "5", lastId: "5", rows: [body("5")] },
  ]);
});

test("packRecords() keeps the counters of money of each row", async () => {
  const counter = { limitId: "limit", bucket: "api_key:k", windowStart: 0, windowEnd: null };
  const of = (id: string, count: number): LogRecord => ({
    ...record({ details: { ...plainDetails, id } }),
    charged: Array<typeof counter>(count).fill(counter),
  });
  const [batch] = await seal([of("1", 2), of("2", 0), of("3", 1)]);
  assert.deepEqual(readCharged(batch?.charged ?? ""), [[counter, counter], [], [counter]]);
  assert.equal(batch?.charged.match(/api_key:k/g)?.length, 1, "each counter is stored once");
  const [without] = await seal([of("1", 0), record({ details: { ...plainDetails, id: "2" } })]);
  assert.equal(without?.charged, "");
});

test("packRecords() sums what the rows of a tenant add to each counter", async () => {
  const counter = { limitId: "limit", bucket: "api_key:k", windowStart: 0, windowEnd: null };
  const of = (id: string, ...used: number[]): LogRecord => ({
    ...record({ details: { ...plainDetails, id } }),
    counted: used.map((one) => ({ ...counter, used: one })),
  });
  const [batch] = await seal([of("1", 2), of("2"), of("3", 3, 4)]);
  assert.deepEqual(JSON.parse(batch?.counted ?? ""), [{ ...counter, used: 9 }]);
  const [without] = await seal([of("1")]);
  assert.equal(without?.counted, "");
});

for (const [name, requestBody, responseBody] of [
  ["both", '{"a":"é"}', "answer"],
  ["none", null, null],
  ["empty ones", "", ""],
  ["a request alone", "sent", null],
  ["an answer alone", null, "answered\nin lines"],
  ["characters of two units", "\ud83d\ude00", "\ud83d\ude00\ud83d\ude00"],
] as const) {
  test(`openContents() returns the bodies sealBatch() took: ${name}`, async () => {
    const { content } = await store({ requestBody, responseBody, responseHeaders: { "x-a": "1" } });
    assert.deepEqual([content.request.body, content.response.body], [requestBody, responseBody]);
    assert.deepEqual([content.request.headers, content.response.headers], [{}, { "x-a": "1" }]);
    assert.deepEqual([content.request.truncated, content.response.truncated], [false, false]);
  });
}

for (const content of [undefined, "", "nonsense", "[]\n", "[null]\n", "{}\n[]\nrest", '["x"]\n[]\nrest']) {
  test(`openContents() finds nothing in ${JSON.stringify(content)}`, () => {
    const found = openContents(content)(0);
    assert.deepEqual([found?.request.body ?? null, found?.response.body ?? null], [null, null]);
  });
}

for (const content of [
  "[[3,null]]\nrest",
  "[[3,null]]\n5\nrest",
  "[[3,null]]\n[5]\nrest",
  '[[3,null]]\n[[5,"x",0]]\nrest',
]) {
  test(`openContents() accepts ${JSON.stringify(content)} as a row without headers`, () => {
    const found = openContents(content)(0);
    assert.deepEqual([found?.request.headers, found?.response.headers, found?.request.truncated], [{}, {}, false]);
    assert.equal(found?.response.body, null);
  });
}

test("openContents() reads rows of earlier versions", () => {
  const row = (sent: string | null, answered: string | null) => {
    const lengths = [sent?.length ?? null, answered?.length ?? null];
    const head = { request: { a: "1" }, response: { b: "2" }, lengths, truncated: [false, true] };
    return `${JSON.stringify(head)}\n${sent ?? ""}${answered ?? ""}`;
  };
  const rows = [row("é☂", "one\nmore"), null, row(null, "two"), row("three", null), "nonsense"];
  const content = `${JSON.stringify(rows.map((text) => text?.length ?? null))}\n${rows.join("")}`;
  const bodies = rows.map((_, index) => openContents(content)(index));
  assert.deepEqual(
    bodies.map((found) => found && [found.request.body, found.response.body]),
    [["é☂", "one\nmore"], null, [null, "two"], ["three", null], [null, null]],
  );
  assert.deepEqual(bodies[0]?.request.headers, { a: "1" });
  assert.deepEqual(bodies[0]?.response, { headers: { b: "2" }, body: "one\nmore", truncated: true });
  assert.equal(openContents(content)(5), null);
});

test("sealBatch() writes U+0000 out and keeps what follows it", async () => {
  const { batch, content } = await store({ requestBody: "a\0b", responseBody: "\0" });
  assert.deepEqual([content.request.body, content.response.body], ["a\\u0000b", "\\u0000"]);
  assert.equal(batch.content.includes("\0"), false);
  const named = await store({ details: { ...plainDetails, model: "m\0n", trace_id: "t\0u" } });
  assert.equal(named.batch.details.includes("\0"), false);
  assert.deepEqual([named.details.model, named.details.trace_id], ["m\0n", "t\0u"]);
});

test("sealBatch() cuts bodies and says which", async () => {
  const { content } = await store({ requestBody: "x".repeat(maxLoggedBody + 1), responseBody: "y".repeat(1_000) });
  assert.equal(content.request.body?.length, maxLoggedBody);
  assert.equal(content.response.body?.length, 1_000);
  assert.deepEqual([content.request.truncated, content.response.truncated], [true, false]);
});

test("L3: sealBatch() masks keys in bodies, headers and details", async () => {
  const secret = "sk-abcdefghij0123456789";
  const error = { type: "api_error", code: null, message: `the key ${secret} is wrong` };
  const stored = await store({
    requestBody: `{"a":"${secret}"}`,
    responseBody: secret,
    requestHeaders: { "x-note": secret, "x-list": `"a", ${secret}` },
    details: { ...plainDetails, error, model: secret, trace_id: secret, metadata: { key: secret } },
  });
  assert.equal(stored.text.includes(secret), false);
  assert.equal(stored.content.request.body, '{"a":"[masked]"}');
  assert.equal(stored.details.error.message, "the key [masked] is wrong");
  assert.equal(stored.details.model, "[masked]");
  assert.deepEqual(stored.content.request.headers, { "x-note": "[masked]", "x-list": '"a", [masked]' });
});

test("sealBatch() masks nothing that two bodies only make together", async () => {
  const { content } = await store({ requestBody: "sk-abcdefgh", responseBody: "ij0123456789" });
  assert.deepEqual([content.request.body, content.response.body], ["sk-abcdefgh", "ij0123456789"]);
});

test("L4: a line end in a text or a header cannot forge a row", async () => {
  const metadata = { a: 'x"}\n{"status":200' };
  const stored = await store({ details: { ...plainDetails, metadata }, requestHeaders: { "x-a": 'b\n"}' } });
  assert.equal(stored.batch.details.includes("\n"), false);
  assert.deepEqual(stored.details.metadata, metadata);
  assert.equal(stored.content.request.headers["x-a"], 'b\n"}');
});

test("describeLoss() belongs to the tenant of the rows, adds what they counted, and holds nothing else of them", async () => {
  const sample = record({
    requestBody: "secret body",
    details: { ...plainDetails, model: "secret model", metadata: { a: "secret" } },
  });
  const counter = { limitId: "l", bucket: "b", windowStart: 0, windowEnd: null };
  const losses = new Losses();
  for (let row = 1; row <= 12; row++) losses.addRow({ ...sample, counted: [{ ...counter, used: row }] });
  const [sum] = losses.take(5);
  assert.ok(sum && losses.isEmpty);
  const loss = describeLoss(sum, "loss-id");
  assert.deepEqual(loss.counted, [{ ...counter, used: 78 }]);
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

test("the phases of a row are stored behind its bodies, each cut and masked by itself", async () => {
  const secret = `sk-proj-${"a1B2".repeat(8)}`;
  const phases = {
    finalBody: '{"π":1}',
    sent: { method: "PUT", headers: { "x-api-key": "a-credential-1", "x-plain": "π" }, body: `{"say":"${secret}"}` },
    originalBody: "ö".repeat(maxLoggedBody),
  };
  const { content, text } = await store({ requestBody: "é", responseBody: "ü", phases });
  assert.deepEqual([content.request.body, content.response.body], ["é", "ü"]);
  assert.deepEqual(content.final, { headers: {}, body: '{"π":1}', truncated: false });
  assert.deepEqual(
    [content.sent?.method, content.sent?.headers["x-plain"], content.sent?.truncated],
    ["PUT", "π", false],
  );
  assert.match(content.sent?.headers["x-api-key"] ?? "", /^hmac:[0-9a-f]{12}$/);
  assert.equal(content.sent?.body, '{"say":"[masked]"}');
  assert.equal(content.original?.truncated, true);
  assert.match(content.original?.body ?? "", /^ö+\uFFFD?$/);
  assert.ok(!text.includes(secret) && !text.includes("a-credential-1"));
});

test("a row with one phase has no others", async () => {
  const { content } = await store({ phases: { finalBody: null, sent: null, originalBody: "o" } });
  assert.deepEqual([content.final, content.sent, content.original?.body], [undefined, undefined, "o"]);
});
