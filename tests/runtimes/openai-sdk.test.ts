import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { type IncomingMessage, request, type ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import OpenAI, { APIError, AuthenticationError, InternalServerError, RateLimitError } from "openai";
import { type GatewayProcess, runtime, startGatewayProcess, waitFor, within } from "../support/process.ts";
import {
  type ReceivedRequest,
  type RecordingUpstream,
  readMessage,
  sendPlain,
  startRecordingUpstream,
  startServer,
  type Upstream,
} from "../support/upstream.ts";

const providerKey = "sk-fake-provider-key-for-tests";
const messages = [{ role: "user" as const, content: "Hello" }];
const answered = { id: "chatcmpl-1", object: "chat.completion", created: 1, model: "m" };

let gateway: GatewayProcess;
before(async () => {
  gateway = await startGatewayProcess();
});
after(async () => {
  await gateway.stop("SIGKILL");
});

/** Headers that send a call of the gateway to an upstream. */
function gatewayHeaders(upstream: Upstream): Record<string, string> {
  return {
    "x-gateway-api-key": gateway.workspaceKey,
    "x-gateway-provider": "openai",
    "x-gateway-custom-host": `${upstream.url}/v1`,
  };
}

/** The SDK as its users set it up. */
function createClient(upstream: Upstream, headers: Record<string, string> = {}): OpenAI {
  return new OpenAI({
    baseURL: `${gateway.url}/v1`,
    apiKey: providerKey,
    maxRetries: 0,
    timeout: 30_000,
    defaultHeaders: { ...gatewayHeaders(upstream), ...headers },
  });
}

/** Runs a test against an upstream that answers by a script. */
async function withUpstream(
  answer: (request: ReceivedRequest, response: ServerResponse) => unknown,
  run: (upstream: RecordingUpstream, client: OpenAI) => Promise<void>,
): Promise<void> {
  const upstream = await startRecordingUpstream(answer);
  try {
    await run(upstream, createClient(upstream));
  } finally {
    await upstream.close();
  }
}

function sendJson(response: ServerResponse, body: unknown, status = 200, headers: Record<string, string> = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}

/** The text of one event. */
function event(data: unknown): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

/** One chunk of a streamed chat. */
function chunk(delta: object, finishReason: string | null = null): object {
  const choices = [{ index: 0, delta, finish_reason: finishReason }];
  return { ...answered, object: "chat.completion.chunk", choices };
}

const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
const usageChunk = { ...answered, object: "chat.completion.chunk", choices: [], usage };

function sendEvents(response: ServerResponse, chunks: readonly object[]): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(`${chunks.map(event).join("")}data: [DONE]\n\n`);
}

/** A promise and the function that fulfils it. */
function createGate(): { opened: Promise<void>; open(): void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}

function assertNothingLeaks({ rawHeaders, body }: ReceivedRequest): void {
  const sent = `${rawHeaders.join("\n")}\n${body.toString("latin1")}`;
  assert.ok(!sent.includes(gateway.workspaceKey), "the gateway key reached the upstream");
  const names = rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
  assert.deepEqual(
    names.filter((name) => name.startsWith("x-gateway-")),
    [],
  );
  assert.deepEqual(
    names.filter((name, index) => names.indexOf(name) !== index),
    [],
    "headers stand twice",
  );
}

test("chat arrives upstream as it was written and its answer comes back", async () => {
  const choices = [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }];
  const answer = { ...answered, choices, usage, system_fingerprint: "fp_1", unknown_member: { kept: [1, null] } };
  await withUpstream(
    (_request, response) => sendJson(response, answer, 200, { "x-request-id": "req_1" }),
    async (upstream, client) => {
      const body = {
        model: "m",
        messages,
        temperature: 0.25,
        metadata: { team: "blue" },
        unknown_member: { deep: [1, "two", null, { three: 3 }] },
        "ünïcode ✓": "\u2028 🎉",
      };
      const { data, response } = await client.chat.completions.create(body).withResponse();
      assert.deepEqual(JSON.parse(JSON.stringify(data)), answer);
      assert.equal(response.headers.get("x-request-id"), "req_1");
      assert.ok(response.headers.get("x-gateway-trace-id"));
      const [request] = upstream.requests;
      assert.ok(request);
      assert.equal(upstream.requests.length, 1);
      assert.equal(`${request.method} ${request.path}`, "POST /v1/chat/completions");
      assert.equal(request.text, JSON.stringify(body));
      assert.equal(request.headers.authorization, `Bearer ${providerKey}`);
      assert.equal(request.headers["content-type"], "application/json");
      assertNothingLeaks(request);
      // headers of the runtime's client are always the same and reveal nothing about the caller
      const added = ["host", "connection", "user-agent", "accept-language"];
      assert.deepEqual(
        Object.keys(request.headers)
          .filter((name) => !added.includes(name))
          .sort(),
        ["accept", "accept-encoding", "authorization", "content-length", "content-type", "gateway-hops"],
      );
    },
  );
});

test("streamed chat is relayed event by event, not when it is over", async () => {
  const words = ["one", "two", "three", "four"];
  const seen = words.map(createGate);
  await withUpstream(
    async (_request, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (const [index, word] of words.entries()) {
        response.write(event(chunk({ content: word })));
        await within(
          `"${word}" at the client before the next event is sent`,
          5_000,
          seen[index]?.opened ?? Promise.resolve(),
        );
      }
      response.end(`${event(chunk({}, "stop"))}data: [DONE]\n\n`);
    },
    async (upstream, client) => {
      const received: string[] = [];
      for await (const part of await client.chat.completions.create({ model: "m", messages, stream: true })) {
        const word = part.choices[0]?.delta.content;
        if (!word) continue;
        received.push(word);
        seen[words.indexOf(word)]?.open();
      }
      assert.deepEqual(received, words);
      assertNothingLeaks(upstream.requests[0]!);
    },
  );
});

for (const include of [true, false]) {
  test(`a stream's usage ${include ? "comes when it was asked for" : "is left out otherwise"}`, async () => {
    await withUpstream(
      (_request, response) => sendEvents(response, [chunk({ content: "Hi" }), chunk({}, "stop"), usageChunk]),
      async (upstream, client) => {
        const options = include ? { stream_options: { include_usage: true } } : {};
        const stream = await client.chat.completions.create({ model: "m", messages, stream: true, ...options });
        const parts = await Array.fromAsync(stream);
        assert.deepEqual(JSON.parse(upstream.requests[0]!.text).stream_options, { include_usage: true });
        assert.deepEqual(
          parts.map((part) => part.choices[0]?.delta.content ?? part.choices[0]?.finish_reason ?? part.usage),
          include ? ["Hi", "stop", usage] : ["Hi", "stop"],
        );
      },
    );
  });
}

const call = { id: "call_1", type: "function", function: { name: "weather", arguments: '{"city":"Oslo"}' } };
const tools = [{ type: "function" as const, function: { name: "weather", parameters: { type: "object" } } }];

test("a tool call passes both ways", async () => {
  const message = { role: "assistant", content: null, tool_calls: [call] };
  await withUpstream(
    (_request, response) =>
      sendJson(response, { ...answered, choices: [{ index: 0, message, finish_reason: "tool_calls" }] }),
    async (upstream, client) => {
      const answer = await client.chat.completions.create({ model: "m", messages, tools, tool_choice: "auto" });
      assert.deepEqual(answer.choices[0]?.message.tool_calls, [call]);
      assert.equal(answer.choices[0]?.finish_reason, "tool_calls");
      const sent = JSON.parse(upstream.requests[0]!.text);
      assert.deepEqual(sent.tools, tools);
      assert.equal(sent.tool_choice, "auto");
    },
  );
});

test("a streamed tool call is put together from its pieces", async () => {
  const head = { index: 0, id: call.id, type: "function", function: { name: "weather", arguments: "" } };
  const pieces = ['{"ci', 'ty":"Os', 'lo"}'].map((part) => ({ index: 0, function: { arguments: part } }));
  const first = chunk({ role: "assistant", content: null, tool_calls: [head] });
  const chunks = [first, ...pieces.map((piece) => chunk({ tool_calls: [piece] }))];
  await withUpstream(
    (_request, response) => sendEvents(response, [...chunks, chunk({}, "tool_calls")]),
    async (_upstream, client) => {
      const runner = client.chat.completions.stream({ model: "m", messages, tools });
      const { choices } = await runner.finalChatCompletion();
      const [called] = choices[0]?.message.tool_calls ?? [];
      assert.ok(called?.type === "function");
      assert.equal(called.id, call.id);
      assert.equal(called.function.name, "weather");
      assert.equal(called.function.arguments, call.function.arguments);
    },
  );
});

test("an image part is forwarded", async () => {
  await withUpstream(
    (_request, response) => sendJson(response, { ...answered, choices: [] }),
    async (upstream, client) => {
      const url = `data:image/png;base64,${randomBytes(60_000).toString("base64")}`;
      const content = [
        { type: "text" as const, text: "What is this?" },
        { type: "image_url" as const, image_url: { url, detail: "low" as const } },
      ];
      await client.chat.completions.create({ model: "m", messages: [{ role: "user", content }] });
      assert.deepEqual(JSON.parse(upstream.requests[0]!.text).messages, [{ role: "user", content }]);
    },
  );
});

/** The error a call ends with. */
async function failureOf(work: PromiseLike<unknown>): Promise<APIError> {
  const error: unknown = await Promise.resolve(work).then(
    () => new Error("the call did not fail"),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof APIError, String(error));
  return error;
}

for (const [status, kind] of [
  [401, AuthenticationError],
  [429, RateLimitError],
  [500, InternalServerError],
] as const) {
  for (const stream of [false, true]) {
    test(`an upstream's ${status} is the SDK's ${kind.name}${stream ? " for a stream" : ""}`, async () => {
      const error = {
        message: `upstream says ${status}`,
        type: "upstream_type",
        param: "model",
        code: "upstream_code",
      };
      await withUpstream(
        (_request, response) => sendJson(response, { error }, status, { "retry-after": "7", "x-request-id": "req_9" }),
        async (_upstream, client) => {
          const failure = await failureOf(client.chat.completions.create({ model: "m", messages, stream }));
          assert.ok(failure instanceof kind);
          assert.equal(failure.status, status);
          assert.match(failure.message, new RegExp(error.message));
          assert.equal(failure.code, "upstream_code");
          assert.equal(failure.type, "upstream_type");
          assert.equal(failure.param, "model");
          assert.equal(failure.headers?.get("retry-after"), "7");
          assert.equal(failure.headers?.get("x-request-id"), "req_9");
        },
      );
    });
  }
}

test("a wrong gateway key is the SDK's AuthenticationError and calls nobody", async () => {
  await withUpstream(
    (_request, response) => sendJson(response, {}),
    async (upstream) => {
      const client = createClient(upstream, { "x-gateway-api-key": "not-a-key-of-this-gateway" });
      const failure = await failureOf(client.chat.completions.create({ model: "m", messages }));
      assert.ok(failure instanceof AuthenticationError);
      assert.equal(upstream.connections, 0);
    },
  );
});

test("x-gateway-request-timeout ends the wait for a silent upstream with 408", async () => {
  const closed = createGate();
  await withUpstream(
    (_request, response) => response.once("close", closed.open),
    async (upstream) => {
      const client = createClient(upstream, { "x-gateway-request-timeout": "250" });
      const failure = await failureOf(client.chat.completions.create({ model: "m", messages }));
      assert.equal(failure.status, 408);
      await within("the upstream call to be closed", 2_000, closed.opened);
    },
  );
});

/** Milliseconds from an abort to the moment the upstream's socket is closed. */
async function measureAbort(begin: (client: OpenAI, abort: AbortController) => Promise<void>, streamed: boolean) {
  const gone = createGate();
  let closedAt = 0;
  const upstream = await startServer((message, response) => {
    message.socket.once("close", () => {
      closedAt = performance.now();
      gone.open();
    });
    message.resume();
    if (!streamed) return;
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(event(chunk({ content: "first" })));
  });
  try {
    const abort = new AbortController();
    await begin(createClient(upstream), abort);
    await waitFor("the call at the upstream", 5_000, () => upstream.connections === 1);
    const abortedAt = performance.now();
    abort.abort();
    await within("the upstream to see the end", 2_000, gone.opened);
    return Math.round(closedAt - abortedAt);
  } finally {
    await upstream.close();
  }
}

test("an abort in the middle of a stream closes the upstream call", async () => {
  const elapsedMs = await measureAbort(async (client, abort) => {
    const stream = await client.chat.completions.create(
      { model: "m", messages, stream: true },
      { signal: abort.signal },
    );
    const first = await stream[Symbol.asyncIterator]().next();
    assert.equal(first.value?.choices[0]?.delta.content, "first");
  }, true);
  console.log(`# ${runtime}: upstream closed ${elapsedMs} ms after an abort in the middle of a stream`);
});

test("an abort before the headers closes the upstream call", async () => {
  let failed: Promise<unknown> = Promise.resolve();
  const elapsedMs = await measureAbort(async (client, abort) => {
    failed = failureOf(client.chat.completions.create({ model: "m", messages }, { signal: abort.signal }));
    failed.catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 200));
  }, false);
  await failed;
  console.log(`# ${runtime}: upstream closed ${elapsedMs} ms after an abort before the headers`);
});

test("models.list and embeddings work", async () => {
  const models = [{ id: "m", object: "model", created: 1, owned_by: "upstream" }];
  const embedding = [0.5, -0.25, 0.125];
  const floats = Buffer.from(Float32Array.from(embedding).buffer).toString("base64");
  await withUpstream(
    ({ path }, response) =>
      path === "/v1/models"
        ? sendJson(response, { object: "list", data: models })
        : sendJson(response, {
            object: "list",
            model: "m",
            data: [{ object: "embedding", index: 0, embedding: floats }],
            usage,
          }),
    async (upstream, client) => {
      const listed = await Array.fromAsync(await client.models.list());
      assert.deepEqual(
        listed.map(({ id, owned_by }) => ({ id, owned_by })),
        [{ id: "m", owned_by: "upstream" }],
      );
      const embedded = await client.embeddings.create({ model: "m", input: ["one", "two"] });
      assert.deepEqual(embedded.data[0]?.embedding, embedding); // the SDK asks for base64 and decodes it
      assert.deepEqual(
        upstream.requests.map(({ method, path }) => `${method} ${path}`),
        ["GET /v1/models", "POST /v1/embeddings"],
      );
      for (const request of upstream.requests) assertNothingLeaks(request);
    },
  );
});

/** Resident memory of the gateway in megabytes; undefined where the system does not report it. */
function residentMegabytes(): number | undefined {
  if (process.platform !== "linux") return undefined;
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${gateway.pid}/status`, "utf8")) ?? [];
  return kilobytes === undefined ? undefined : Number(kilobytes) / 1_024;
}

/** Highest resident memory while something runs and a while after it. */
async function peakMegabytes(work: Promise<unknown>): Promise<number> {
  let peak = residentMegabytes() ?? 0;
  const sample = () => {
    peak = Math.max(peak, residentMegabytes() ?? 0);
  };
  const timer = setInterval(sample, 20);
  try {
    await work;
    await new Promise((resolve) => setTimeout(resolve, 300));
    sample();
  } finally {
    clearInterval(timer);
  }
  return peak;
}

const digest = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const megabyte = 1_024 * 1_024;

test("files.create streams 150 MB, byte for byte and without holding them", async () => {
  const upload = (client: OpenAI, bytes: Uint8Array<ArrayBuffer>) =>
    client.files.create({ purpose: "batch", file: new File([bytes], "big.bin", { type: "application/octet-stream" }) });
  await withUpstream(
    (_request, response) => sendJson(response, { id: "file-1", object: "file", purpose: "batch", filename: "big.bin" }),
    async (upstream, client) => {
      await upload(client, new Uint8Array(randomBytes(megabyte)));
      await new Promise((resolve) => setTimeout(resolve, 300));
      const before = residentMegabytes() ?? 0;
      const bytes = new Uint8Array(randomBytes(150 * megabyte));
      const work = upload(client, bytes);
      const growth = (await peakMegabytes(work)) - before;
      assert.equal((await work).id, "file-1");
      const request = upstream.requests[1]!;
      assert.equal(`${request.method} ${request.path}`, "POST /v1/files");
      assertNothingLeaks(request);
      assert.equal(request.headers.authorization, `Bearer ${providerKey}`);
      const begin = request.body.indexOf(bytes.subarray(0, 64));
      assert.ok(begin > 0, "the file is not in the body");
      assert.equal(digest(request.body.subarray(begin, begin + bytes.length)), digest(bytes));
      const around = request.body.toString("latin1", 0, begin) + request.body.toString("latin1", begin + bytes.length);
      const [, boundary] = /boundary="?([^";]+)/.exec(request.headers["content-type"] ?? "") ?? [];
      assert.match(around, /name="purpose"\r\n\r\nbatch\r\n/);
      assert.match(around, /name="file"; filename="big.bin"/);
      assert.ok(around.trimEnd().endsWith(`--${boundary}--`));
      console.log(`# ${runtime}: ${growth.toFixed(1)} MB more resident memory during a 150 MB upload`);
      // Deno collects buffers late: about 70 MB, whatever the size of the upload.
      assert.ok(growth < 120, `the gateway's resident memory grew by ${growth.toFixed(1)} MB`);
    },
  );
});

test("an upload waits for a slow upstream instead of filling the gateway's memory", async () => {
  const open = createGate();
  let received = 0;
  const upstream = await startServer(async (message, response) => {
    message.pause();
    await open.opened;
    received = (await readMessage(message)).length;
    sendJson(response, { id: "file-1" });
  });
  try {
    const before = residentMegabytes() ?? 0;
    const body = randomBytes(100 * megabyte);
    const headers = { ...gatewayHeaders(upstream), "content-type": "application/octet-stream" };
    const work = sendPlain(`${gateway.url}/v1/files`, { method: "POST", headers, body });
    const growth = (await peakMegabytes(new Promise((resolve) => setTimeout(resolve, 1_500)))) - before;
    open.open();
    assert.equal((await work).status, 200);
    assert.equal(received, body.length);
    console.log(`# ${runtime}: ${growth.toFixed(1)} MB more resident memory while an upstream reads nothing`);
    assert.ok(growth < 60, `the gateway's resident memory grew by ${growth.toFixed(1)} MB`);
  } finally {
    await upstream.close();
  }
});

/** Bun sends every streamed body in chunks, whatever length is set (https://github.com/oven-sh/bun/issues/10507). */
const keepsLength = runtime !== "bun";

test("audio.speech comes back byte for byte with its headers", async () => {
  const audio = randomBytes(700_001);
  await withUpstream(
    (_request, response) => {
      response.writeHead(200, { "content-type": "audio/mpeg", "content-length": audio.length, "x-upstream": "kept" });
      response.end(audio);
    },
    async (upstream, client) => {
      const input = { model: "tts", voice: "alloy", input: "Hello" };
      const response = await client.audio.speech.create(input);
      assert.equal(digest(new Uint8Array(await response.arrayBuffer())), digest(audio));
      assert.equal(response.headers.get("content-type"), "audio/mpeg");
      if (keepsLength) assert.equal(response.headers.get("content-length"), String(audio.length));
      assert.equal(response.headers.get("x-upstream"), "kept");
      assert.deepEqual(JSON.parse(upstream.requests[0]!.text), input);
      assertNothingLeaks(upstream.requests[0]!);
    },
  );
});

/** Calls the gateway without the SDK, in the way of its users. */
function callPlain(upstream: Upstream, path: string, options: Parameters<typeof sendPlain>[1] = {}) {
  const headers = { ...gatewayHeaders(upstream), authorization: `Bearer ${providerKey}`, ...options.headers };
  return sendPlain(`${gateway.url}${path}`, { ...options, headers });
}

for (const [size, name] of [
  [2_000, "small"],
  [400_000, "large"],
] as const) {
  test(`a ${name} gzip answer passes through undecoded`, async () => {
    const zipped = gzipSync(randomBytes(size).toString("hex"));
    await withUpstream(
      (_request, response) =>
        response
          .writeHead(200, {
            "content-type": "application/json",
            "content-encoding": "gzip",
            "content-length": zipped.length,
          })
          .end(zipped),
      async (upstream) => {
        const answer = await callPlain(upstream, "/v1/files/file-1", { headers: { "accept-encoding": "gzip, br" } });
        assert.equal(answer.headers["content-encoding"], "gzip");
        assert.equal(digest(answer.body), digest(zipped));
        assert.equal(upstream.requests[0]?.headers["accept-encoding"], "gzip, br");
      },
    );
  });
}

test("a multipart body keeps its boundary and its bytes", async () => {
  const boundary = "----gateway.Test_Boundary+42";
  const part = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.bin"\r\n\r\n`;
  const body = Buffer.concat([Buffer.from(part), randomBytes(5_000), Buffer.from(`\r\n--${boundary}--\r\n`)]);
  await withUpstream(
    (_request, response) => sendJson(response, {}),
    async (upstream) => {
      const headers = { "content-type": `multipart/form-data; boundary="${boundary}"` };
      await callPlain(upstream, "/v1/files", { method: "POST", headers, body });
      const [request] = upstream.requests;
      assert.equal(request?.headers["content-type"], headers["content-type"]);
      assert.equal(request?.headers["content-length"], String(body.length));
      assert.deepEqual(request?.body, body);
    },
  );
});

for (const method of ["POST", "PUT", "DELETE"]) {
  for (const size of [20, 600_000]) {
    test(`a ${method} with a body of ${size} bytes passes through`, async () => {
      await withUpstream(
        (_request, response) => sendJson(response, { done: true }, 201),
        async (upstream) => {
          const body = randomBytes(size);
          const headers = { "content-type": "application/x-things" };
          const path = "/v1/things/a%2Fb?order=asc&x=1%2B1&x=2";
          const answer = await callPlain(upstream, path, { method, headers, body });
          assert.equal(answer.status, 201);
          assert.deepEqual(JSON.parse(answer.body.toString()), { done: true });
          const [request] = upstream.requests;
          assert.equal(`${request?.method} ${request?.path}`, `${method} ${path}`);
          assert.equal(request?.headers["content-type"], "application/x-things");
          assert.deepEqual(request?.body, body);
          assertNothingLeaks(request!);
        },
      );
    });
  }
}

test("a redirect is given back, not followed", async () => {
  await withUpstream(
    ({ path }, response) =>
      response.writeHead(path === "/v1/moved" ? 307 : 200, { location: "/v1/target" }).end("moved"),
    async (upstream) => {
      const answer = await callPlain(upstream, "/v1/moved");
      assert.equal(answer.status, 307);
      assert.equal(answer.headers.location, "/v1/target");
      assert.equal(answer.body.toString(), "moved");
      assert.equal(upstream.requests.length, 1);
    },
  );
});

test("a large download keeps its length and its bytes", async () => {
  const bytes = randomBytes(8 * megabyte);
  await withUpstream(
    (_request, response) =>
      response
        .writeHead(200, { "content-type": "application/octet-stream", "content-length": bytes.length, etag: '"e1"' })
        .end(bytes),
    async (upstream) => {
      const answer = await callPlain(upstream, "/v1/files/file-1/content");
      if (keepsLength) {
        assert.equal(answer.headers["content-length"], String(bytes.length));
        assert.equal(answer.headers["transfer-encoding"], undefined);
      }
      assert.equal(answer.headers.etag, '"e1"');
      assert.equal(digest(answer.body), digest(bytes));
    },
  );
});

for (const length of [1_000_000, undefined]) {
  test(`a download ${length ? "of known" : "of unknown"} length that breaks off does not look whole`, async () => {
    const bytes = randomBytes(400_000);
    await withUpstream(
      (_request, response) => {
        response.writeHead(200, {
          "content-type": "application/octet-stream",
          ...(length && { "content-length": length }),
        });
        response.write(bytes, () => setTimeout(() => response.socket?.destroy(), 50));
      },
      async (upstream) => {
        await assert.rejects(within("the end of the download", 5_000, callPlain(upstream, "/v1/files/file-1/content")));
      },
    );
  });
}

test("a download waits for a slow client instead of filling the gateway's memory", async () => {
  const piece = randomBytes(megabyte);
  const upstream = await startServer((_message, response) => {
    response.writeHead(200, { "content-type": "application/octet-stream" });
    Readable.from(Array.from({ length: 100 }, () => piece)).pipe(response);
  });
  try {
    const before = residentMegabytes() ?? 0;
    const headers = { ...gatewayHeaders(upstream), authorization: `Bearer ${providerKey}` };
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      request(`${gateway.url}/v1/files/file-1/content`, { headers, agent: false }, resolve).on("error", reject).end();
    });
    answer.pause();
    const growth = (await peakMegabytes(new Promise((resolve) => setTimeout(resolve, 1_000)))) - before;
    assert.equal((await readMessage(answer)).length, 100 * megabyte);
    console.log(`# ${runtime}: ${growth.toFixed(1)} MB more resident memory while a client reads nothing`);
    assert.ok(growth < 60, `the gateway's resident memory grew by ${growth.toFixed(1)} MB`);
  } finally {
    await upstream.close();
  }
});

test("a long download that is read as it comes leaves nothing of it in memory", async () => {
  const [pieces, piece] = [400, randomBytes(megabyte)];
  const upstream = await startServer((_message, response) => {
    response.writeHead(200, { "content-type": "application/octet-stream" });
    Readable.from(Array.from({ length: pieces }, () => piece)).pipe(response);
  });
  try {
    const before = residentMegabytes() ?? 0;
    const headers = { ...gatewayHeaders(upstream), authorization: `Bearer ${providerKey}` };
    let received = 0;
    const download = new Promise<void>((resolve, reject) => {
      const read = (answer: IncomingMessage) => {
        answer.on("data", (bytes: Uint8Array) => {
          received += bytes.length;
        });
        answer.on("end", resolve).on("error", reject);
      };
      request(`${gateway.url}/v1/files/file-1/content`, { headers, agent: false }, read).on("error", reject).end();
    });
    const growth = (await peakMegabytes(download)) - before;
    assert.equal(received, pieces * megabyte);
    console.log(`# ${runtime}: ${growth.toFixed(1)} MB more resident memory during a ${pieces} MB download`);
    // half of what was sent: far above what a collector leaves lying, far below all of it
    assert.ok(growth < pieces / 2, `the gateway's resident memory grew by ${growth.toFixed(1)} MB`);
  } finally {
    await upstream.close();
  }
});
