import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { audioSeconds } from "../../src/lib/audio-duration.ts";
import {
  createPrompt,
  nameOf,
  ownRows,
  pathOf,
  providerRows,
  toRequest,
  withFormBytes,
} from "../support/endpoint-requests.ts";
import { createTestGateway, requestHeaders, type ShownLog, waitForLog } from "../support/gateway.ts";
import { startRecordingUpstream } from "../support/upstream.ts";

/** What the upstream answers, with its content type. */
let answer: readonly [type: string, body: string | Uint8Array] = ["application/json", "{}"];
const upstream = await startRecordingUpstream((_, response) => {
  response.writeHead(200, { "content-type": answer[0] });
  response.end(answer[1]);
});
const gateway = await createTestGateway({ checksAnswers: false });
after(async () => {
  await gateway.close();
  await upstream.close();
});
const json = (body: object) => ["application/json", JSON.stringify(body)] as const;
beforeEach(() => {
  answer = json({});
});

const host = (provider: string) => `${upstream.url}/${provider === "google" ? "v1beta" : "v1"}`;

/** Requests that a provider charges nothing for when they are made. */
const free =
  /^(?:create|update)_(?:assistant|thread|message|vector_store|vector_store_file)$|^(?:create|cancel)_file_batch$|^(?:update|cancel)_run$|^create_(?:video_character|client_secret|realtime_session|transcription_session)$|^(?:uploadFile|createBatch|cancelBatch|cancelFinetune|cancelResponse|countTokens|countInputTokens|countContents)$/;

/** An answer of each operation that counts nothing; by default an empty object. */
const answers: Readonly<Record<string, object>> = {
  chat: { choices: [] },
  complete: { choices: [] },
  completePrompt: { choices: [] },
  embed: { data: [] },
  rerank: { results: [] },
  ocr: { pages: [] },
  search: { results: [] },
  messages: { type: "message", role: "assistant", content: [] },
  responses: { object: "response", output: [] },
  embedContent: { embedding: { values: [] } },
  batchEmbedContents: { embeddings: [] },
  generateContent: { candidates: [] },
  generateImage: { data: [] },
  editImage: { data: [] },
  transcribe: { text: "Hi" },
  translate: { text: "Hi" },
  decide: { answers: { open: { type: "noul", noul: 0.5 } } },
};

test("no request that a provider charges for is free because the response counts nothing", async () => {
  const promptSlug = await createPrompt(gateway);
  const [wrong, failed]: [string[], string[]] = [[], []];
  let answered = 0;
  for (const row of providerRows) {
    if (row.method !== "POST" || ownRows.has(nameOf(row))) continue;
    const operation = "operation" in row ? (row.operation ?? "") : "";
    answer = json(answers[operation] ?? {});
    const trace = crypto.randomUUID();
    const init = toRequest(row, { "x-gateway-trace-id": trace });
    const headers = new Headers(init.headers);
    headers.set("x-gateway-custom-host", host(headers.get("x-gateway-provider") ?? ""));
    const path = pathOf(row, promptSlug).replace("m-1:", "gemini-2.5-flash:");
    const response = await gateway.fetch(path, await withFormBytes({ ...init, headers }));
    await response.text();
    const { status, cost, priced } = await waitForLog(gateway, trace);
    if (status > 299) failed.push(`${nameOf(row)} ${status}`);
    else answered++;
    if (status <= 299 && cost === 0 && priced && !free.test(operation)) wrong.push(`${nameOf(row)} (${operation})`);
  }
  assert.deepEqual(wrong, []);
  assert.ok(answered >= 45, `${answered} answered; failed: ${failed.join(", ")}`);
});

interface Ask {
  path: string;
  body: object | FormData;
}

async function rowOf({ path, body }: Ask): Promise<ShownLog> {
  const trace = crypto.randomUUID();
  const isForm = body instanceof FormData;
  const headers = requestHeaders({
    "x-gateway-provider": "openai",
    "x-gateway-custom-host": host("openai"),
    "x-gateway-trace-id": trace,
    authorization: "Bearer upstream-key",
    ...(isForm && { "content-type": null }),
  });
  const init = await withFormBytes({ method: "POST", headers, body: isForm ? body : JSON.stringify(body) });
  // a body of unknown length would be sent on unread
  const sent = new Headers(init.headers);
  const { body: written } = init;
  const length = typeof written === "string" ? new TextEncoder().encode(written).length : undefined;
  sent.set("content-length", String(length ?? (written as ArrayBuffer).byteLength)); // `withFormBytes` makes one
  const response = await gateway.fetch(path, { ...init, headers: sent });
  assert.equal(response.status, 200, await response.clone().text());
  await response.arrayBuffer();
  return waitForLog(gateway, trace);
}

/** A WAV file of so many seconds: 8,000 bytes for each. */
function wav(seconds: number): Uint8Array<ArrayBuffer> {
  const data = 8_000 * seconds;
  const bytes = new Uint8Array(44 + data);
  const view = new DataView(bytes.buffer);
  const write = (at: number, text: string) => bytes.set(new TextEncoder().encode(text), at);
  write(0, "RIFF");
  view.setUint32(4, 36 + data, true);
  write(8, "WAVEfmt ");
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, 8_000, true);
  view.setUint32(28, 8_000, true);
  write(36, "data");
  view.setUint32(40, data, true);
  return bytes;
}

function transcription(file: Uint8Array<ArrayBuffer>, format = "text"): FormData {
  const form = new FormData();
  form.set("model", "whisper-1");
  form.set("response_format", format);
  form.set("file", new Blob([file]), "talk.wav");
  return form;
}

for (const format of ["text", "srt", "vtt"]) {
  test(`a transcription as ${format} costs the length of its file, and an unknown amount where that is unknown`, async () => {
    answer = ["text/plain", "Hi"];
    const known = await rowOf({ path: "/v1/audio/transcriptions", body: transcription(wav(6), format) });
    // 0.006 dollars a minute
    assert.deepEqual([known.usage?.units, known.cost, known.priced], [{ seconds: 6 }, 0.06, true]);
    const other = Uint8Array.of(1, 2, 3, 4);
    const unknown = await rowOf({ path: "/v1/audio/transcriptions", body: transcription(other, format) });
    assert.deepEqual([unknown.usage, unknown.cost, unknown.priced], [null, null, false]);
  });
}

const video = { id: "video_1", object: "video", model: "sora-2", status: "queued", created_at: 1, seconds: "8" };

test("a video costs its seconds at its size", async () => {
  answer = json({ ...video, size: "1280x720" });
  for (const path of ["/v1/videos", "/v1/proxy/videos"]) {
    const row = await rowOf({ path, body: { model: "sora-2", prompt: "A ship" } });
    // 0.10 dollars a second
    assert.deepEqual([row.usage?.units, row.cost], [{ video_duration_seconds_1280_720: 8 }, 80]);
  }
  answer = json({ ...video, size: "9x9" });
  const row = await rowOf({ path: "/v1/videos", body: { model: "sora-2", prompt: "A ship" } });
  assert.deepEqual([row.cost, row.priced], [null, false]);
});

test("forwarded speech costs its characters, and forwarded images their number", async () => {
  answer = ["audio/mpeg", Uint8Array.of(255, 251, 1)];
  const speech = await rowOf({ path: "/v1/proxy/audio/speech", body: { model: "tts-1", input: "Hello", voice: "a" } });
  assert.deepEqual([speech.usage?.units, speech.priced], [{ characters: 5 }, true]);
  assert.ok(speech.cost !== null && speech.cost > 0);
  answer = json({ created: 1, data: [{ url: "https://files.example/1.png" }] });
  const image = await rowOf({ path: "/v1/proxy/images/generations", body: { model: "dall-e-3", prompt: "A ship" } });
  assert.deepEqual(image.usage?.units, { images: 1 });
  assert.ok(image.cost !== null && image.cost > 0);
});

test("a forwarded path that nothing is known of has an unknown cost", async () => {
  const row = await rowOf({ path: "/v1/proxy/new/things", body: { model: "gpt-4o" } });
  assert.deepEqual([row.usage, row.cost, row.priced], [null, null, false]);
});

const bytesOf = (...parts: readonly (string | readonly number[])[]) =>
  Uint8Array.from(parts.flatMap((part) => (typeof part === "string" ? [...new TextEncoder().encode(part)] : part)));
const zeros = (count: number) => Array<number>(count).fill(0);

for (const [name, bytes, wanted] of [
  ["WAV", wav(3), 3],
  // 16,000 samples a second, 32,000 samples
  ["FLAC", bytesOf("fLaC", zeros(14), [0x03, 0xe8, 0x00, 0xf0, 0x00, 0x00, 0x7d, 0x00]), 2],
  // its last page ends at sample 96,312 of 48,000 a second; the first 312 are skipped
  [
    "Ogg with Opus",
    bytesOf(
      "OggS",
      zeros(22),
      [1, 19],
      "OpusHead",
      [1, 1, 0x38, 1],
      zeros(7),
      "OggS",
      [0, 4, 0x38, 0x78, 1],
      zeros(20),
    ),
    2,
  ],
  // 64 kilobits a second, 16,000 bytes
  ["MP3", bytesOf([0xff, 0xfb, 0x50, 0xc0], zeros(15_996)), 2],
  [
    "MP3 that counts its frames",
    bytesOf([0xff, 0xfb, 0x50, 0xc0], zeros(17), "Xing", [0, 0, 0, 1, 0, 0, 0, 125]),
    3.265,
  ],
  ["text", bytesOf("nothing that can be heard"), undefined],
  ["nothing", new Uint8Array(0), undefined],
  ["a WAV file without its format", bytesOf("RIFF", zeros(4), "WAVE", "data", zeros(8)), undefined],
  [
    "a WAV file whose first part is endless",
    bytesOf("RIFF", zeros(4), "WAVE", "junk", [255, 255, 255, 255]),
    undefined,
  ],
] as const) {
  test(`audioSeconds() reads ${name}`, () => {
    const seconds = audioSeconds(bytes);
    assert.equal(seconds === undefined ? undefined : Math.round(seconds * 1_000) / 1_000, wanted);
  });
}
