import assert from "node:assert/strict";
import { test } from "node:test";
import type { OperationName } from "../../src/providers/core/operations.ts";
import { createProviderRegistry } from "../../src/providers/registry.ts";
import { toWav } from "../../src/providers/shared/speech.ts";
import { type ConformanceCase, testConformance } from "../conformance/suite.ts";

const registry = createProviderRegistry();
const operation: OperationName = "speak";
const request = { model: "m", input: "Hello", voice: "alloy" };

function testSpeech(slug: string, cases: readonly ConformanceCase[], settings: Record<string, string> = {}): void {
  const provider = registry.get(slug);
  assert.ok(provider, slug);
  testConformance(
    provider,
    cases.map((one) => ({ operation, settings, ...one })),
  );
}

const noEvents: ConformanceCase = {
  name: "events are rejected",
  request: { ...request, stream_format: "sse" },
  refused: /audio only/,
};
const asItIs = { answer: {}, wanted: {} };

for (const slug of ["openai", "groq"]) {
  testSpeech(slug, [{ name: "speech", request, sent: { path: "/audio/speech", body: request }, ...asItIs }]);
}
testSpeech("groq", [noEvents]);
testSpeech("openai", [
  { name: "events", request: { ...request, stream_format: "sse" }, sent: { path: "/audio/speech" }, ...asItIs },
]);

const azure = { "azure-resource-name": "r", "azure-deployment-id": "say", "azure-api-version": "2025-03-01-preview" };
testSpeech(
  "azure-openai",
  [
    {
      name: "events",
      request: { ...request, stream_format: "sse" },
      sent: { path: "/deployments/say/audio/speech?api-version=2025-03-01-preview" },
      ...asItIs,
    },
  ],
  azure,
);
testSpeech("azure-ai", [noEvents, { name: "speech", request, sent: { path: "/audio/speech" }, ...asItIs }], {
  "azure-foundry-url": "https://r.services.ai.azure.com/openai/v1",
});

testSpeech("minimax", [
  {
    name: "speech",
    request: { ...request, speed: 0.25, response_format: "flac", instructions: "Softly", language_boost: "auto" },
    sent: {
      path: "/v1/t2a_v2",
      body: {
        model: "m",
        text: "Hello",
        stream: false,
        output_format: "hex",
        voice_setting: { voice_id: "alloy", speed: 0.5 },
        audio_setting: { format: "flac" },
        language_boost: "auto",
      },
    },
    dropped: ["instructions"],
    answer: { data: { audio: "00FF" }, base_resp: { status_code: 0 } },
    wanted: { type: "audio/flac", base64: "AP8=" },
  },
  { name: "opus is rejected", request: { ...request, response_format: "opus" }, refused: /mp3, wav, flac, pcm/ },
  noEvents,
]);

const spoken = (...data: string[]) => ({
  candidates: [
    {
      content: {
        parts: data.map((one) => ({ inlineData: { mimeType: "audio/L16;codec=pcm;rate=16000", data: one } })),
      },
    },
  ],
});
testSpeech("google", [
  {
    name: "samples",
    request: {
      ...request,
      model: "gemini-2.5-flash-preview-tts",
      response_format: "pcm",
      instructions: "Softly",
      speed: 2,
    },
    sent: {
      path: "/v1beta/models/gemini-2.5-flash-preview-tts:generateContent",
      body: {
        contents: [{ role: "user", parts: [{ text: "Softly:\nHello" }] }],
        generationConfig: {
          responseModalities: ["AUDIO"],
          speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: "alloy" } } },
        },
      },
    },
    dropped: ["speed"],
    answer: spoken("AP8=", "AQI="),
    wanted: { type: "audio/pcm", base64: "AP8BAg==" },
  },
  {
    name: "a WAV file where no format is named",
    request,
    answer: spoken("AP8="),
    wanted: { type: "audio/wav", base64: Buffer.from(toWav(Uint8Array.of(0, 255), 16_000)).toString("base64") },
  },
  { name: "mp3 is rejected", request: { ...request, response_format: "mp3" }, refused: /wav, pcm/ },
  noEvents,
]);

testSpeech("vertex-ai", [
  {
    name: "a custom voice",
    request: { ...request, voice: "de-DE-Chirp3-HD-Kore", speed: 1.5, instructions: "Softly", response_format: "opus" },
    sent: {
      path: "/v1/text:synthesize",
      body: {
        input: { text: "Hello" },
        voice: { languageCode: "de-DE", name: "de-DE-Chirp3-HD-Kore" },
        audioConfig: { audioEncoding: "OGG_OPUS", speakingRate: 1.5 },
      },
    },
    dropped: ["instructions"],
    answer: { audioContent: "AP8=" },
    wanted: { type: "audio/opus", base64: "AP8=" },
  },
  {
    name: "a model of Gemini",
    request: {
      ...request,
      model: "gemini-2.5-pro-tts",
      voice: { id: "Kore" },
      instructions: "Softly",
      language: "fr-FR",
    },
    sent: {
      body: {
        input: { text: "Hello", prompt: "Softly" },
        voice: { languageCode: "fr-FR", name: "Kore", modelName: "gemini-2.5-pro-tts" },
        audioConfig: { audioEncoding: "MP3" },
      },
    },
    answer: { audioContent: "AP8=" },
    wanted: { type: "audio/mpeg", base64: "AP8=" },
  },
  { name: "flac is rejected", request: { ...request, response_format: "flac" }, refused: /mp3, opus, wav, pcm/ },
  noEvents,
]);

test("vertex-ai speech has a separate host", () => {
  const bound = registry.get("vertex-ai")?.bind((name) => (name === "vertex-region" ? "europe-west4" : null));
  const address = bound?.baseUrlOf({ path: "/v1/text:synthesize", environment: {} });
  assert.equal(address, "https://texttospeech.googleapis.com");
});

test("toWav() writes a header with sample rate and length", () => {
  const file = toWav(Uint8Array.of(1, 2, 3, 4), 24_000);
  const view = new DataView(file.buffer);
  const text = (from: number, to: number) => new TextDecoder().decode(file.subarray(from, to));
  assert.deepEqual([text(0, 4), text(8, 16), text(36, 40)], ["RIFF", "WAVEfmt ", "data"]);
  assert.deepEqual(
    [4, 24, 28, 40].map((at) => view.getUint32(at, true)),
    [40, 24_000, 48_000, 4],
  );
  assert.deepEqual(
    [20, 22, 32, 34].map((at) => view.getUint16(at, true)),
    [1, 1, 2, 16],
  );
  assert.deepEqual([...file.subarray(44)], [1, 2, 3, 4]);
});
