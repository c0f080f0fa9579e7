import assert from "node:assert/strict";
import { after, test } from "node:test";
import { upstreamHeaders, waitForLog } from "../support/gateway.ts";
import { formOf, post, sound, startMedia } from "../support/media.ts";
import { configHeader } from "../support/routed.ts";

const media = await startMedia();
const { gateway, upstream, answerWith } = media;
after(() => media.close());

const denied = {
  output_guardrails: [{ "default.contains": { words: ["the falcon lands"], operator: "none" }, deny: true }],
};
const redacted = {
  output_guardrails: [{ "default.regexReplace": { rule: "/the falcon lands/g", redactText: "[cut]" } }],
};
/** Needs the whole response. */
const counted = { output_guardrails: [{ "default.wordCount": { minWords: 1, maxWords: 3 }, deny: true }] };

const document = { type: "document_url", document_url: "https://files.example/a.pdf" };

/** Sends audio, or a document, for what is read out of it. */
async function read(config: object, { ocr = false, fields = {}, trace = crypto.randomUUID() } = {}) {
  const headers = {
    ...upstreamHeaders(upstream),
    ...(ocr && { "x-gateway-provider": "mistral-ai" }),
    "x-gateway-trace-id": trace,
    ...configHeader(config),
  };
  const body = ocr ? { model: "m", document } : formOf({ file: sound(), model: "whisper-1", ...fields });
  const response = await post(gateway, ocr ? "/ocr" : "/audio/transcriptions", body, headers);
  return { status: response.status, text: await response.text(), headers: response.headers, trace };
}

const said = "Then the falcon lands at dawn.";
const transcriptEvents = [
  ...["Then the fal", "con la", "nds at", " dawn."].map((delta) => ({ type: "transcript.text.delta", delta })),
  {
    type: "transcript.text.done",
    text: said,
    usage: { type: "tokens", input_tokens: 1, output_tokens: 2, total_tokens: 3 },
  },
].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
const subtitles =
  "1\n00:00:00,000 --> 00:00:02,000\nThen the falcon\n\n2\n00:00:02,000 --> 00:00:04,000\nlands at dawn.\n";
const verbose = {
  task: "transcribe",
  text: said,
  segments: [
    { id: 0, text: "Then the falcon" },
    { id: 1, text: "lands at dawn." },
  ],
  words: [{ word: "falcon", start: 0, end: 1 }],
};

const answers: readonly (readonly [
  name: string,
  type: string,
  body: string,
  more: { ocr?: boolean; fields?: object },
])[] = [
  ["a transcript", "application/json", JSON.stringify({ text: said }), {}],
  [
    "a transcript with segments",
    "application/json",
    JSON.stringify(verbose),
    { fields: { response_format: "verbose_json" } },
  ],
  ["a transcript in plain text", "text/plain", `${said}\n`, { fields: { response_format: "text" } }],
  ["a transcript in plain text without a type", "", `${said}\n`, { fields: { response_format: "text" } }],
  ["a streamed transcript", "text/event-stream", transcriptEvents.join(""), { fields: { stream: "true" } }],
  [
    "a read document",
    "application/json",
    JSON.stringify({ pages: [{ index: 0, markdown: said }], model: "m" }),
    { ocr: true },
  ],
  [
    "an annotated document",
    "application/json",
    JSON.stringify({ pages: [], document_annotation: JSON.stringify({ note: said }) }),
    { ocr: true },
  ],
];

for (const [name, type, body, more] of answers) {
  test(`output guardrails deny ${name}, and change it`, async () => {
    answerWith(type, body);
    const refused = await read(denied, more);
    if (refused.status === 200) assert.match(refused.text, /guardrail denied it/);
    else assert.equal(refused.status, 446);
    assert.doesNotMatch(refused.text, /at dawn/);
    const changed = await read(redacted, more);
    assert.equal(changed.status, 200, changed.text);
    assert.match(changed.text, /\[cut\]/);
    assert.doesNotMatch(changed.text, /falcon/);
    const log = JSON.stringify(await waitForLog(gateway, changed.trace));
    assert.doesNotMatch(log, /Then the falcon lands/);
    const plain = await read(
      { output_guardrails: [{ "default.contains": { words: ["nothing of it"], operator: "none" }, deny: true }] },
      more,
    );
    assert.equal(plain.status, 200);
    assert.ok(plain.text.includes("falcon"), plain.text);
  });
}

test("subtitles are denied for what their lines say together, and cannot be changed", async () => {
  answerWith("text/plain", subtitles);
  const more = { fields: { response_format: "srt" } };
  assert.equal((await read(denied, more)).status, 446);
  assert.equal(
    (await read({ output_guardrails: [{ ...redacted.output_guardrails[0], deny: true }] }, more)).status,
    446,
  );
  const other = await read(
    {
      output_guardrails: [{ ...denied.output_guardrails[0], "default.contains": { words: ["owl"], operator: "none" } }],
    },
    more,
  );
  assert.deepEqual([other.status, other.text], [200, subtitles]);
});

test("a check that needs all of a transcript holds its stream back", async () => {
  answerWith("text/event-stream", transcriptEvents.join(""));
  assert.equal((await read(counted, { fields: { stream: "true" } })).status, 446);
  const many = { output_guardrails: [{ "default.wordCount": { minWords: 1, maxWords: 30 }, deny: true }] };
  const held = await read(many, { fields: { stream: "true" } });
  assert.deepEqual([held.status, held.text], [200, transcriptEvents.join("")]);
  assert.equal(held.headers.get("x-gateway-stream-held"), "default.wordCount");
});
