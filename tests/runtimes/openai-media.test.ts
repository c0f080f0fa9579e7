import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import process from "node:process";
import { after, before, test } from "node:test";
import OpenAI, { APIError, toFile } from "openai";
import { receivedForm } from "../support/media.ts";
import { type GatewayProcess, runtime, startGatewayProcess } from "../support/process.ts";
import {
  type ReceivedRequest,
  type RecordingUpstream,
  sendPlain,
  startRecordingUpstream,
  startServer,
} from "../support/upstream.ts";

const providerKey = "sk-fake-provider-key-for-tests";
const megabyte = 1_024 * 1_024;

let gateway: GatewayProcess;
before(async () => {
  gateway = await startGatewayProcess();
});
after(async () => {
  await gateway.stop("SIGKILL");
});

function gatewayHeaders({ url }: { url: string }): Record<string, string> {
  return {
    "x-gateway-api-key": gateway.workspaceKey,
    "x-gateway-provider": "openai",
    "x-gateway-custom-host": `${url}/v1`,
  };
}

/** Runs a test against an upstream that answers by a script, with the SDK as its users set it up. */
async function withUpstream(
  answer: (response: ServerResponse, request: ReceivedRequest) => unknown,
  run: (client: OpenAI, upstream: RecordingUpstream) => Promise<void>,
): Promise<void> {
  const upstream = await startRecordingUpstream((request, response) => answer(response, request));
  const client = new OpenAI({
    baseURL: `${gateway.url}/v1`,
    apiKey: providerKey,
    maxRetries: 0,
    timeout: 30_000,
    defaultHeaders: gatewayHeaders(upstream),
  });
  try {
    await run(client, upstream);
  } finally {
    await upstream.close();
  }
}

const sendJson = (response: ServerResponse, body: unknown, status = 200) =>
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
const sendEvents = (response: ServerResponse, events: readonly object[]) =>
  response
    .writeHead(200, { "content-type": "text/event-stream" })
    .end(events.map((one) => `data: ${JSON.stringify(one)}\n\n`).join(""));

/** Fields by their names: the SDK sends them in no fixed order. */
const byName = (fields: ReturnType<typeof receivedForm>) =>
  fields.toSorted(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0));

const usage = { input_tokens: 14, output_tokens: 101, total_tokens: 115 };
const file = (bytes: Uint8Array = Uint8Array.of(1, 2, 3)) => toFile(bytes, "talk.mp3", { type: "audio/mpeg" });
const received = ["talk.mp3", "audio/mpeg", [1, 2, 3]];

test("images.generate", async () => {
  const answer = { created: 1, data: [{ b64_json: "AAAA" }], usage: { ...usage, input_tokens_details: {} } };
  await withUpstream(
    (response) => sendJson(response, answer),
    async (client, upstream) => {
      const body = { model: "gpt-image-1", prompt: "A lock", n: 1, size: "1024x1024" as const };
      const result = await client.images.generate(body);
      assert.deepEqual(JSON.parse(JSON.stringify(result)), answer);
      assert.equal(upstream.requests[0]?.text, JSON.stringify(body));
      assert.equal(upstream.requests[0]?.headers.authorization, `Bearer ${providerKey}`);
    },
  );
});

test("images.generate streamed", async () => {
  const picture = {
    b64_json: "AAAA",
    created_at: 1,
    size: "auto",
    quality: "auto",
    background: "auto",
    output_format: "png",
  };
  const events = [
    { type: "image_generation.partial_image", ...picture, partial_image_index: 0 },
    { type: "image_generation.completed", ...picture, usage },
  ];
  await withUpstream(
    (response) => sendEvents(response, events),
    async (client) => {
      const stream = await client.images.generate({
        model: "gpt-image-1",
        prompt: "p",
        stream: true,
        partial_images: 1,
      });
      assert.deepEqual(await Array.fromAsync(stream), events);
    },
  );
});

test("images.edit with files", async () => {
  await withUpstream(
    (response) => sendJson(response, { created: 1, data: [{ b64_json: "AAAA" }] }),
    async (client, upstream) => {
      const images = ["a.png", "b.png"].map((name, index) => toFile(Uint8Array.of(index), name, { type: "image/png" }));
      const mask = await toFile(Uint8Array.of(9), "mask.png", { type: "image/png" });
      const body = { model: "gpt-image-1", prompt: "p", image: await Promise.all(images), mask, n: 2 };
      const result = await client.images.edit(body);
      assert.equal(result.data?.[0]?.b64_json, "AAAA");
      assert.deepEqual(byName(receivedForm(upstream.requests[0]!)), [
        ["image[]", ["a.png", "image/png", [0]]],
        ["image[]", ["b.png", "image/png", [1]]],
        ["mask", ["mask.png", "image/png", [9]]],
        ["model", "gpt-image-1"],
        ["n", "2"],
        ["prompt", "p"],
      ]);
    },
  );
});

test("audio.speech.create", async () => {
  const bytes = randomBytes(300_000);
  await withUpstream(
    (response) => response.writeHead(200, { "content-type": "audio/wav" }).end(bytes),
    async (client) => {
      const answer = await client.audio.speech.create({
        model: "tts-1",
        input: "Hi",
        voice: "alloy",
        response_format: "wav",
      });
      assert.equal(answer.headers.get("content-type"), "audio/wav");
      assert.ok(bytes.equals(new Uint8Array(await answer.arrayBuffer())));
    },
  );
});

test("audio.speech.create as events", async () => {
  const events = [
    { type: "speech.audio.delta", audio: "UklG" },
    { type: "speech.audio.done", usage },
  ];
  await withUpstream(
    (response) => sendEvents(response, events),
    async (client) => {
      const body = { model: "gpt-4o-mini-tts", input: "Hi", voice: "alloy", stream_format: "sse" } as const;
      const answer = await client.audio.speech.create(body);
      assert.match(answer.headers.get("content-type") ?? "", /^text\/event-stream/);
      assert.equal(await answer.text(), events.map((one) => `data: ${JSON.stringify(one)}\n\n`).join(""));
    },
  );
});

test("audio.transcriptions.create", async () => {
  const answer = { text: "Hi", language: "english", duration: 1.5, words: [{ word: "Hi", start: 0, end: 1 }] };
  await withUpstream(
    (response) => sendJson(response, answer),
    async (client, upstream) => {
      const result = await client.audio.transcriptions.create({
        file: await file(),
        model: "whisper-1",
        response_format: "verbose_json",
        timestamp_granularities: ["word", "segment"],
        temperature: 0.2,
      });
      assert.deepEqual(JSON.parse(JSON.stringify(result)), answer);
      assert.deepEqual(byName(receivedForm(upstream.requests[0]!)), [
        ["file", received],
        ["model", "whisper-1"],
        ["response_format", "verbose_json"],
        ["temperature", "0.2"],
        ["timestamp_granularities[]", "word"],
        ["timestamp_granularities[]", "segment"],
      ]);
    },
  );
});

test("audio.transcriptions.create as subtitles", async () => {
  const subtitles = "1\n00:00:00,000 --> 00:00:01,000\nHi\n\n";
  await withUpstream(
    (response) => response.writeHead(200, { "content-type": "text/plain" }).end(subtitles),
    async (client) => {
      const body = { file: await file(), model: "whisper-1", response_format: "srt" } as const;
      assert.equal(await client.audio.transcriptions.create(body), subtitles);
    },
  );
});

test("audio.transcriptions.create streamed", async () => {
  const events = [
    { type: "transcript.text.delta", delta: "Hi" },
    { type: "transcript.text.done", text: "Hi", usage: { type: "tokens", ...usage } },
  ];
  await withUpstream(
    (response) => sendEvents(response, events),
    async (client) => {
      const body = { file: await file(), model: "gpt-4o-transcribe", stream: true } as const;
      assert.deepEqual(await Array.fromAsync(await client.audio.transcriptions.create(body)), events);
    },
  );
});

test("audio.translations.create", async () => {
  await withUpstream(
    (response) => sendJson(response, { text: "Hi" }),
    async (client, upstream) => {
      const result = await client.audio.translations.create({ file: await file(), model: "whisper-1" });
      assert.equal(result.text, "Hi");
      assert.equal(upstream.requests[0]?.path, "/v1/audio/translations");
    },
  );
});

test("an upstream's error and one of the gateway's own are the SDK's", async () => {
  await withUpstream(
    (response) =>
      sendJson(response, { error: { message: "bad sound", type: "invalid_request_error", param: "file" } }, 400),
    async (client, upstream) => {
      const isError = (wanted: RegExp) => (error: unknown) =>
        error instanceof APIError && error.status === 400 && wanted.test(error.message);
      const body = { file: await file(), model: "whisper-1" };
      await assert.rejects(client.audio.transcriptions.create(body), isError(/bad sound/));
      const broken = { ...body, temperature: 7 };
      await assert.rejects(client.audio.transcriptions.create(broken), isError(/temperature/));
      assert.equal(upstream.requests.length, 1);
    },
  );
});

const digest = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

test("a transcription of 25 MB arrives whole", async () => {
  const bytes = new Uint8Array(randomBytes(25 * megabyte));
  await withUpstream(
    (response) => sendJson(response, { text: "Hi" }),
    async (client, upstream) => {
      const result = await client.audio.transcriptions.create({ file: await file(bytes), model: "whisper-1" });
      assert.equal(result.text, "Hi");
      const { body } = upstream.requests[0]!;
      const begin = body.indexOf(bytes.subarray(0, 64));
      assert.equal(digest(body.subarray(begin, begin + bytes.length)), digest(bytes));
    },
  );
});

/** Resident memory of the gateway in MB; undefined where it cannot be read. */
function residentMegabytes(): number {
  if (process.platform !== "linux") return 0;
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${gateway.pid}/status`, "utf8")) ?? [];
  return Number(kilobytes ?? 0) / 1_024;
}

test("a form that flows through waits for its upstream instead of filling the gateway's memory", async () => {
  let received = 0;
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const upstream = await startServer(async (message, response) => {
    await opened;
    for await (const piece of message) received += piece.length;
    sendJson(response, { text: "Hi" });
  });
  try {
    const boundary = "form-boundary-of-a-test";
    const field = (name: string, more = "") =>
      `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n`;
    const head = `${field("model")}whisper-1\r\n${field("file", '; filename="long.wav"')}`;
    const body = Buffer.concat([Buffer.from(head), randomBytes(95 * megabyte), Buffer.from(`\r\n--${boundary}--\r\n`)]);
    const before = residentMegabytes();
    const type = `multipart/form-data; boundary=${boundary}`;
    const headers = { ...gatewayHeaders(upstream), authorization: `Bearer ${providerKey}`, "content-type": type };
    const work = sendPlain(`${gateway.url}/v1/audio/transcriptions`, { method: "POST", headers, body });
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    const growth = residentMegabytes() - before;
    open();
    const answer = await work;
    assert.equal(answer.status, 200, answer.body.toString());
    assert.equal(received, body.length);
    console.log(`# ${runtime}: ${growth.toFixed(1)} MB more resident memory while an upstream reads nothing`);
    assert.ok(growth < 60, `the gateway's resident memory grew by ${growth.toFixed(1)} MB`);
  } finally {
    await upstream.close();
  }
});

test("413 for a form above the limit, before it is read", async () => {
  await withUpstream(
    (response) => sendJson(response, { text: "Hi" }),
    async (_client, upstream) => {
      const headers = {
        ...gatewayHeaders(upstream),
        "content-type": "multipart/form-data; boundary=b",
        authorization: `Bearer ${providerKey}`,
      };
      const body = new Uint8Array(101 * megabyte);
      const answer = await sendPlain(`${gateway.url}/v1/audio/transcriptions`, { method: "POST", headers, body }).catch(
        // a client that writes on may see the end of the connection before the answer
        () => undefined,
      );
      if (answer) assert.equal(answer.status, 413);
      assert.equal(upstream.requests.length, 0);
    },
  );
});
