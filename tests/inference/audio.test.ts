import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { upstreamHeaders, waitForLog } from "../support/gateway.ts";
import { formOf, post, receivedForm, sound, startMedia } from "../support/media.ts";
import { configHeader, targetOf } from "../support/routed.ts";
import { eventually } from "../support/upstream.ts";

const media = await startMedia();
const { gateway, upstream, answerWith } = media;
beforeEach(() => {
  upstream.requests.length = 0;
});
after(() => media.close());

const speech = { model: "tts-1", input: "Hello", voice: "alloy" };
const spoken = () => formOf({ file: sound(), model: "whisper-1" });

test("POST /v1/audio/speech streams audio in the upstream's content type and does not log it", async () => {
  let next = () => {};
  const seen = new Promise<void>((resolve) => {
    next = resolve;
  });
  media.answer = async (response) => {
    response.writeHead(200, { "content-type": "audio/opus" });
    response.write(Uint8Array.of(0, 255, 1));
    await seen;
    response.end(Uint8Array.of(2, 3));
  };
  const headers = { ...upstreamHeaders(upstream), "x-gateway-trace-id": "speech-1" };
  const response = await post(gateway, "/audio/speech", { ...speech, response_format: "opus" }, headers);
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("content-type"), "audio/opus");
  assert.equal(response.headers.get("x-gateway-provider"), "openai");
  const reader = response.body!.getReader();
  assert.deepEqual([...((await reader.read()).value ?? [])], [0, 255, 1]);
  next();
  assert.deepEqual([...((await reader.read()).value ?? [])], [2, 3]);
  assert.equal((await reader.read()).done, true);
  assert.deepEqual(JSON.parse(upstream.requests[0]!.text), { ...speech, response_format: "opus" });
  const row = await waitForLog(gateway, "speech-1");
  assert.deepEqual([row.operation, row.status, row.model, row.response.body], ["speak", 200, "tts-1", null]);
});

test("POST /v1/audio/speech breaks off the response when the upstream does", async () => {
  media.answer = (response) => {
    response.writeHead(200, { "content-type": "audio/mpeg", "content-length": "1000" });
    response.write(new Uint8Array(10), () => setTimeout(() => response.socket?.destroy(), 150));
  };
  const response = await post(gateway, "/audio/speech", speech, upstreamHeaders(upstream));
  assert.equal(response.status, 200);
  await assert.rejects(response.arrayBuffer());
});

test("POST /v1/audio/speech ends the upstream's call and logs 499 when the client leaves", async () => {
  let isClosed = false;
  media.answer = (response) => {
    response.once("close", () => {
      isClosed = true;
    });
    response.writeHead(200, { "content-type": "audio/mpeg" });
    response.write(Uint8Array.of(1));
  };
  const headers = { ...upstreamHeaders(upstream), "x-gateway-trace-id": "speech-left" };
  const response = await post(gateway, "/audio/speech", speech, headers);
  const reader = response.body!.getReader();
  await reader.read();
  await reader.cancel();
  await eventually(() => isClosed, "the upstream's call is over");
  assert.equal((await waitForLog(gateway, "speech-left")).status, 499);
});

test("POST /v1/audio/speech returns an upstream's error as a JSON error", async () => {
  answerWith(
    "application/json",
    JSON.stringify({ error: { message: "no such voice", type: "invalid_request_error" } }),
    400,
  );
  const response = await post(gateway, "/audio/speech", speech, upstreamHeaders(upstream));
  assert.equal(response.status, 400);
  assert.match(await response.text(), /openai error: no such voice/);
});

test("POST /v1/audio/speech falls back from a failing target", async () => {
  media.answer = (response, { text }) => {
    const failing = JSON.parse(text).model === "bad";
    response.writeHead(failing ? 503 : 200, { "content-type": failing ? "text/html" : "audio/mpeg" });
    response.end(failing ? "<p>busy</p>" : Uint8Array.of(7));
  };
  const config = {
    strategy: { mode: "fallback" },
    targets: [targetOf(upstream, { override_params: { model: "bad" } }), targetOf(upstream)],
  };
  const headers = { "x-gateway-provider": null, ...configHeader(config) };
  const response = await post(gateway, "/audio/speech", speech, headers);
  assert.equal(response.status, 200);
  assert.deepEqual([...new Uint8Array(await response.arrayBuffer())], [7]);
});

const speechEvents = [
  'data: {"type":"speech.audio.delta","audio":"UklGRiQAAABXQVZF"}\n\n',
  'data: {"type":"speech.audio.delta","audio":"Zm10IBAAAAABAAEA"}\n\n',
  'data: {"type":"speech.audio.done","usage":{"input_tokens":14,"output_tokens":101,"total_tokens":115}}\n\n',
].join("");

test("POST /v1/audio/speech forwards speech events unchanged and logs their usage", async () => {
  answerWith("text/event-stream", speechEvents);
  const headers = { ...upstreamHeaders(upstream), "x-gateway-trace-id": "speech-2" };
  const response = await post(gateway, "/audio/speech", { ...speech, stream_format: "sse" }, headers);
  assert.equal(response.headers.get("content-type"), "text/event-stream; charset=utf-8");
  assert.equal(await response.text(), speechEvents);
  const row = await waitForLog(gateway, "speech-2");
  assert.deepEqual([row.stream, row.usage?.input_tokens, row.usage?.output_tokens], [true, 14, 101]);
  assert.equal(row.response.body, null);
});

test("POST /v1/audio/speech ends a stream that stops early with an error event", async () => {
  answerWith("text/event-stream", `${speechEvents.split("\n\n")[0]}\n\n`);
  const response = await post(gateway, "/audio/speech", { ...speech, stream_format: "sse" }, upstreamHeaders(upstream));
  assert.match(await response.text(), /event: error\ndata: \{"type":"error","error":\{.*upstream_incomplete_stream/);
});

for (const provider of ["groq", "minimax", "google", "vertex-ai"]) {
  test(`POST /v1/audio/speech returns 400 for a stream of events at ${provider}`, async () => {
    const headers = { ...upstreamHeaders(upstream), "x-gateway-provider": provider };
    const response = await post(gateway, "/audio/speech", { ...speech, stream_format: "sse" }, headers);
    assert.equal(response.status, 400);
    const { error } = JSON.parse(await response.text());
    assert.deepEqual([error.param, error.code], ["stream_format", "unsupported_parameter"]);
    assert.equal(upstream.requests.length, 0);
  });
}

for (const [name, change, param] of [
  ["no input", { input: undefined }, "input"],
  ["an input of 4,097 characters", { input: "x".repeat(4_097) }, "input"],
  ["a voice that is none", { voice: 7 }, "voice"],
  ["a speed of 5", { speed: 5 }, "speed"],
  ["a stream format that is none", { stream_format: "wav" }, "stream_format"],
  ["long instructions", { instructions: "x".repeat(4_097) }, "instructions"],
] as const) {
  test(`POST /v1/audio/speech returns 400 for ${name}`, async () => {
    const response = await post(gateway, "/audio/speech", { ...speech, ...change }, upstreamHeaders(upstream));
    assert.equal(response.status, 400);
    assert.equal(JSON.parse(await response.text()).error.param, param);
  });
}

test("POST /v1/audio/speech accepts a voice object and forwards unknown fields", async () => {
  answerWith("audio/mpeg", "x");
  const body = { ...speech, voice: { id: "voice_1" }, sample_rate: 48_000 };
  await (await post(gateway, "/audio/speech", body, upstreamHeaders(upstream))).arrayBuffer();
  assert.deepEqual(JSON.parse(upstream.requests[0]!.text), body);
});

test("POST /v1/audio/speech decodes the audio of MiniMax", async () => {
  answerWith(
    "application/json",
    JSON.stringify({ data: { audio: "00ff10", status: 2 }, base_resp: { status_code: 0 } }),
  );
  const headers = { ...upstreamHeaders(upstream), "x-gateway-provider": "minimax" };
  const response = await post(gateway, "/audio/speech", { ...speech, speed: 4 }, headers);
  assert.equal(response.headers.get("content-type"), "audio/mpeg");
  assert.deepEqual([...new Uint8Array(await response.arrayBuffer())], [0, 255, 16]);
});

for (const [name, body, status] of [
  ["is no JSON", "<html>", 502],
  ["has no sound", "{}", 502],
  ["has broken sound", '{"data":{"audio":"0g"}}', 502],
  ["tells of a failure", '{"base_resp":{"status_code":1008,"status_msg":"no balance"}}', 402],
] as const) {
  test(`POST /v1/audio/speech returns ${status} for a MiniMax response that ${name}`, async () => {
    answerWith("application/json", body);
    const headers = { ...upstreamHeaders(upstream), "x-gateway-provider": "minimax" };
    const response = await post(gateway, "/audio/speech", speech, headers);
    assert.equal(response.status, status, await response.text());
  });
}

const subtitles = "1\n00:00:00,000 --> 00:00:01,000\nHello ✓\n\n";

for (const [format, type, path] of [
  ["text", "text/plain; charset=utf-8", "/audio/transcriptions"],
  ["srt", "application/x-subrip", "/audio/transcriptions"],
  ["vtt", "text/vtt", "/audio/translations"],
  ["srt", "application/json", "/audio/transcriptions"],
] as const) {
  test(`${format} as ${type} is returned from ${path} unchanged`, async () => {
    answerWith(type, subtitles);
    const form = spoken();
    form.append("response_format", format);
    const headers = { ...upstreamHeaders(upstream), "x-gateway-trace-id": `text-${format}-${type.length}` };
    const response = await post(gateway, path, form, headers);
    assert.equal(response.headers.get("content-type"), type);
    assert.equal(await response.text(), subtitles);
    const row = await waitForLog(gateway, `text-${format}-${type.length}`);
    assert.equal(row.status, 200);
    if (type.startsWith("text/")) assert.equal(row.response.body, subtitles);
  });
}

test("POST /v1/audio/transcriptions returns a non-streaming response unchanged", async () => {
  const text = '{"text":"Hello", "duration": "1.50",  "segments":[{"id":0}],"usage":{"type":"duration","seconds":2}}';
  answerWith("application/json", text);
  const response = await post(gateway, "/audio/transcriptions", spoken(), upstreamHeaders(upstream));
  assert.equal(await response.text(), text);
});

const transcriptEvents = [
  'data: {"type":"transcript.text.delta","delta":"Hel"}\n\n',
  'data: {"type":"transcript.text.done","text":"Hello","usage":{"type":"tokens","input_tokens":9,"output_tokens":2,"total_tokens":11}}\n\n',
].join("");

test("POST /v1/audio/transcriptions streams typed events", async () => {
  answerWith("text/event-stream", transcriptEvents);
  const form = spoken();
  form.append("stream", "true");
  const headers = { ...upstreamHeaders(upstream), "x-gateway-trace-id": "transcript-1" };
  const response = await post(gateway, "/audio/transcriptions", form, headers);
  assert.equal(await response.text(), transcriptEvents);
  const row = await waitForLog(gateway, "transcript-1");
  assert.deepEqual([row.stream, row.usage?.total_tokens], [true, 11]);
});

test("POST /v1/audio/transcriptions streams the response to a large streamed form", async () => {
  answerWith("text/event-stream", transcriptEvents);
  const form = formOf({ file: sound(new Uint8Array(300_000)), model: "gpt-4o-transcribe", stream: "true" });
  const headers = { ...upstreamHeaders(upstream), "x-gateway-trace-id": "flow-1" };
  const response = await post(gateway, "/audio/transcriptions", form, headers);
  assert.equal(response.headers.get("content-type"), "text/event-stream; charset=utf-8");
  assert.equal(await response.text(), transcriptEvents);
  const row = await waitForLog(gateway, "flow-1");
  assert.deepEqual([row.model, row.stream, row.usage?.input_tokens], ["gpt-4o-transcribe", true, 9]);
});

test("POST /v1/audio/transcriptions returns the status of an error before the first event", async () => {
  answerWith("text/event-stream", 'data: {"error":{"message":"slow down","type":"rate_limit_error"}}\n\n');
  const form = spoken();
  form.append("stream", "true");
  const response = await post(gateway, "/audio/transcriptions", form, upstreamHeaders(upstream));
  assert.equal(response.status, 429);
});

test("POST /v1/audio/transcriptions renames the events of Mistral to OpenAI's", async () => {
  const events = [
    { type: "transcription.language", audio_language: "en" },
    { type: "transcription.text.delta", text: "Hel" },
    { type: "transcription.segment", text: "Hello", start: 0, end: 1 },
    { type: "transcription.done", model: "voxtral", text: "Hello", usage: { prompt_tokens: 4, completion_tokens: 3 } },
  ];
  answerWith("text/event-stream", events.map((one) => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`).join(""));
  const form = spoken();
  form.append("stream", "true");
  form.append("timestamp_granularities", "segment");
  const headers = { ...upstreamHeaders(upstream), "x-gateway-provider": "mistral-ai" };
  const response = await post(gateway, "/audio/transcriptions", form, headers);
  const got = (await response.text())
    .split("\n\n")
    .filter(Boolean)
    .map((block) => JSON.parse(block.slice(block.indexOf("data: ") + 6)));
  assert.deepEqual(got, [
    { type: "transcript.text.delta", delta: "Hel" },
    { type: "transcript.text.segment", text: "Hello", start: 0, end: 1 },
    {
      type: "transcript.text.done",
      text: "Hello",
      model: "voxtral",
      usage: { prompt_tokens: 4, completion_tokens: 3 },
    },
  ]);
  assert.deepEqual(receivedForm(upstream.requests[0]!).slice(1), [
    ["model", "whisper-1"],
    ["stream", "true"],
    ["timestamp_granularities", "segment"],
  ]);
});

for (const [provider, path] of [
  ["groq", "/v1/audio/translations"],
  ["openai", "/v1/audio/translations"],
] as const) {
  test(`POST /v1/audio/translations calls ${provider}`, async () => {
    answerWith("application/json", '{"text":"Hello"}');
    const headers = { ...upstreamHeaders(upstream), "x-gateway-provider": provider };
    const response = await post(gateway, "/audio/translations", spoken(), headers);
    assert.deepEqual(await response.json(), { text: "Hello" });
    assert.equal(upstream.requests[0]?.path, path);
  });
}

test("POST /v1/audio/transcriptions calls Azure by its deployment", async () => {
  answerWith("application/json", '{"text":"Hello"}');
  const headers = {
    ...upstreamHeaders(upstream),
    "x-gateway-provider": "azure-openai",
    "x-gateway-azure-deployment-id": "hear",
    "x-gateway-azure-api-version": "2025-03-01-preview",
    "x-gateway-azure-model-name": "gpt-4o-transcribe",
  };
  await (await post(gateway, "/audio/transcriptions", spoken(), headers)).text();
  const [request] = upstream.requests;
  assert.equal(request?.path, "/v1/deployments/hear/audio/transcriptions?api-version=2025-03-01-preview");
  assert.deepEqual(receivedForm(request).at(-1), ["model", "gpt-4o-transcribe"]);
});
