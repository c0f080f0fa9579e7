import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import OpenAI, { BadRequestError, NotFoundError, toFile } from "openai";
import { type GatewayProcess, startGatewayProcess } from "../support/process.ts";
import { type ReceivedRequest, type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

const providerKey = "sk-fake-provider-key-for-tests";

const events = [
  'event: thread.run.created\ndata: {"id":"run_1","object":"thread.run"}\n\n',
  'event: thread.message.delta\ndata: {"id":"msg_1","object":"thread.message.delta","delta":{"content":[]}}\n\n',
  "event: done\ndata: [DONE]\n\n",
].join("");

/** Odd spacing and order must come back as they are. */
const record = '{ "object" : "record", "id": "rec_1",  "data": [], "has_more": false, "created_at": 1.0 }';

let gateway: GatewayProcess;
let upstream: RecordingUpstream;
before(async () => {
  gateway = await startGatewayProcess();
  upstream = await startRecordingUpstream(({ text, path }, response) => {
    if (/\/content\b/.test(path)) {
      response.writeHead(200, { "content-type": "video/mp4" }).end(Buffer.from([0, 1, 2, 255]));
    } else if (/"stream":true/.test(text)) {
      response.writeHead(200, { "content-type": "text/event-stream" }).end(events);
    } else {
      response.writeHead(200, { "content-type": "application/json" }).end(record);
    }
  });
});
after(async () => {
  await gateway.stop("SIGKILL");
  await upstream.close();
});

/** Headers that send a call to the upstream. */
const headers = (changes: Record<string, string> = {}): Record<string, string> => ({
  "x-gateway-api-key": gateway.workspaceKey,
  "x-gateway-provider": "openai",
  "x-gateway-custom-host": `${upstream.url}/v1`,
  ...changes,
});

function createClient(changes: Record<string, string> = {}): OpenAI {
  return new OpenAI({
    baseURL: `${gateway.url}/v1`,
    apiKey: providerKey,
    maxRetries: 0,
    timeout: 30_000,
    defaultHeaders: headers(changes),
  });
}

/** The operation of the newest log row of a path. */
async function operationOf(traceId: string): Promise<string> {
  for (const until = performance.now() + 10_000; performance.now() < until; ) {
    const list = await fetch(`${gateway.url}/v1/logs?trace_id=${traceId}`, {
      headers: { "x-gateway-api-key": gateway.workspaceKey },
    });
    const [row] = (await list.json()).data;
    if (row) return row.operation;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`Waited 10 s for the row of ${traceId}`);
}

const model = "gpt-4o";
const video = { prompt: "A cat", model: "sora-2" } as const;

/** What the SDK is asked for; what must arrive; the name of the row. */
const calls: readonly [(client: OpenAI) => Promise<unknown>, arrives: string, operation: string][] = [
  [(c) => c.beta.assistants.create({ model }), "POST /v1/assistants", "create_assistant"],
  [(c) => c.beta.assistants.list({ limit: 2 }), "GET /v1/assistants?limit=2", "list_assistants"],
  [(c) => c.beta.assistants.retrieve("asst_1"), "GET /v1/assistants/asst_1", "get_assistant"],
  [(c) => c.beta.assistants.update("asst_1", { name: "n" }), "POST /v1/assistants/asst_1", "update_assistant"],
  [(c) => c.beta.assistants.delete("asst_1"), "DELETE /v1/assistants/asst_1", "delete_assistant"],
  [(c) => c.beta.threads.create({}), "POST /v1/threads", "create_thread"],
  [(c) => c.beta.threads.retrieve("t"), "GET /v1/threads/t", "get_thread"],
  [(c) => c.beta.threads.update("t", {}), "POST /v1/threads/t", "update_thread"],
  [(c) => c.beta.threads.delete("t"), "DELETE /v1/threads/t", "delete_thread"],
  [(c) => c.beta.threads.createAndRun({ assistant_id: "a" }), "POST /v1/threads/runs", "create_thread_and_run"],
  [
    (c) => c.beta.threads.messages.create("t", { role: "user", content: "Hello" }),
    ...(["POST /v1/threads/t/messages", "create_message"] as const),
  ],
  [(c) => c.beta.threads.messages.list("t"), "GET /v1/threads/t/messages", "list_messages"],
  [
    (c) => c.beta.threads.messages.retrieve("m", { thread_id: "t" }),
    ...(["GET /v1/threads/t/messages/m", "get_message"] as const),
  ],
  [
    (c) => c.beta.threads.messages.delete("m", { thread_id: "t" }),
    ...(["DELETE /v1/threads/t/messages/m", "delete_message"] as const),
  ],
  [(c) => c.beta.threads.runs.create("t", { assistant_id: "a" }), "POST /v1/threads/t/runs", "create_run"],
  [(c) => c.beta.threads.runs.list("t"), "GET /v1/threads/t/runs", "list_runs"],
  [(c) => c.beta.threads.runs.retrieve("r", { thread_id: "t" }), "GET /v1/threads/t/runs/r", "get_run"],
  [(c) => c.beta.threads.runs.cancel("r", { thread_id: "t" }), "POST /v1/threads/t/runs/r/cancel", "cancel_run"],
  [
    (c) => c.beta.threads.runs.submitToolOutputs("r", { thread_id: "t", tool_outputs: [{ output: "1" }] }),
    ...(["POST /v1/threads/t/runs/r/submit_tool_outputs", "submit_tool_outputs"] as const),
  ],
  [
    (c) => c.beta.threads.runs.steps.list("r", { thread_id: "t" }),
    ...(["GET /v1/threads/t/runs/r/steps", "list_run_steps"] as const),
  ],
  [
    (c) => c.beta.threads.runs.steps.retrieve("s", { thread_id: "t", run_id: "r" }),
    ...(["GET /v1/threads/t/runs/r/steps/s", "get_run_step"] as const),
  ],
  [(c) => c.vectorStores.create({ name: "n" }), "POST /v1/vector_stores", "create_vector_store"],
  [(c) => c.vectorStores.list(), "GET /v1/vector_stores", "list_vector_stores"],
  [(c) => c.vectorStores.retrieve("v"), "GET /v1/vector_stores/v", "get_vector_store"],
  [(c) => c.vectorStores.update("v", { name: "n" }), "POST /v1/vector_stores/v", "update_vector_store"],
  [(c) => c.vectorStores.delete("v"), "DELETE /v1/vector_stores/v", "delete_vector_store"],
  [(c) => c.vectorStores.search("v", { query: "q" }), "POST /v1/vector_stores/v/search", "search_vector_store"],
  [
    (c) => c.vectorStores.files.create("v", { file_id: "f" }),
    ...(["POST /v1/vector_stores/v/files", "create_vector_store_file"] as const),
  ],
  [
    (c) => c.vectorStores.files.list("v", { filter: "failed" }),
    ...(["GET /v1/vector_stores/v/files?filter=failed", "list_vector_store_files"] as const),
  ],
  [
    (c) => c.vectorStores.files.delete("f", { vector_store_id: "v" }),
    ...(["DELETE /v1/vector_stores/v/files/f", "delete_vector_store_file"] as const),
  ],
  [
    (c) => c.vectorStores.fileBatches.create("v", { file_ids: ["f"] }),
    ...(["POST /v1/vector_stores/v/file_batches", "create_file_batch"] as const),
  ],
  [
    (c) => c.vectorStores.fileBatches.cancel("b", { vector_store_id: "v" }),
    ...(["POST /v1/vector_stores/v/file_batches/b/cancel", "cancel_file_batch"] as const),
  ],
  [(c) => c.videos.create(video), "POST /v1/videos", "create_video"],
  [(c) => c.videos.list(), "GET /v1/videos", "list_videos"],
  [(c) => c.videos.retrieve("v"), "GET /v1/videos/v", "get_video"],
  [(c) => c.videos.delete("v"), "DELETE /v1/videos/v", "delete_video"],
  [(c) => c.videos.remix("v", { prompt: "A dog" }), "POST /v1/videos/v/remix", "remix_video"],
  [(c) => c.realtime.clientSecrets.create({}), "POST /v1/realtime/client_secrets", "create_client_secret"],
  [(c) => c.models.retrieve("ft:gpt-4o:a"), "GET /v1/models/ft:gpt-4o:a", "get_model"],
  [(c) => c.models.delete("ft:gpt-4o:a"), "DELETE /v1/models/ft:gpt-4o:a", "delete_model"],
];

for (const [index, [call, arrives, operation]] of calls.entries()) {
  test(`the openai SDK: ${arrives} arrives and its row is ${operation}`, async () => {
    const traceId = `trace-of-group-${index}`;
    await call(createClient({ "x-gateway-trace-id": traceId }));
    const { method, path, headers: sent, rawHeaders } = upstream.requests.at(-1) ?? assert.fail();
    assert.equal(`${method} ${path}`, arrives);
    assert.equal(sent.authorization, `Bearer ${providerKey}`);
    const needsBeta = /^\/v1\/(assistants|threads|vector_stores)/.test(path);
    assert.equal(sent["openai-beta"], needsBeta ? "assistants=v2" : undefined);
    assert.ok(!rawHeaders.join("\n").includes(gateway.workspaceKey));
    assert.equal(await operationOf(traceId), operation);
  });
}

/** Sends a request without the SDK. */
function send(path: string, init: RequestInit & { changes?: Record<string, string> } = {}): Promise<Response> {
  const { changes, ...rest } = init;
  const authorization = `Bearer ${providerKey}`;
  const sent = headers({ authorization, "content-type": "application/json", ...changes });
  return fetch(`${gateway.url}${path}`, { method: "POST", ...rest, headers: sent });
}

const lastRequest = (): ReceivedRequest => upstream.requests.at(-1) ?? assert.fail();

test("bodies and answers go through byte for byte, also those no schema would take", async () => {
  for (const body of ['{ "model":"m",  "tools": [1.0], "unknown" : {} }', "no JSON at all", ""]) {
    const answer = await send("/v1/assistants", { body });
    assert.equal(await answer.text(), record);
    assert.equal(lastRequest().text, body);
  }
});

test("the beta header is added only where the client sent none", async () => {
  await send("/v1/threads", { body: "{}" });
  assert.equal(lastRequest().headers["openai-beta"], "assistants=v2");
  await send("/v1/threads", { body: "{}", changes: { "OpenAI-Beta": "assistants=v1" } });
  assert.equal(lastRequest().headers["openai-beta"], "assistants=v1");
});

test("a run's stream goes through as bytes, and the SDK reads it", async () => {
  const body = JSON.stringify({ assistant_id: "a", stream: true });
  const answer = await send("/v1/threads/t/runs", { body });
  assert.match(answer.headers.get("content-type") ?? "", /^text\/event-stream/);
  assert.equal(await answer.text(), events);
  const stream = await createClient().beta.threads.runs.create("t", { assistant_id: "a", stream: true });
  const heard: string[] = [];
  for await (const { event } of stream) heard.push(event);
  assert.deepEqual(heard, ["thread.run.created", "thread.message.delta"]);
});

test("a form with a file arrives as it was written", async () => {
  const image = await toFile(Buffer.alloc(300_000, 7), "image.png", { type: "image/png" });
  await createClient().images.createVariation({ image, n: 2 });
  const { path, headers: sent, body } = lastRequest();
  assert.equal(path, "/v1/images/variations");
  const [, boundary = ""] = /^multipart\/form-data; ?boundary=(\S+)$/.exec(sent["content-type"] ?? "") ?? [];
  assert.ok(body.includes(boundary) && body.includes(Buffer.alloc(300_000, 7)));
});

test("a video is downloaded as it is", async () => {
  const content = await createClient().videos.downloadContent("v", { variant: "thumbnail" });
  assert.deepEqual([...new Uint8Array(await content.arrayBuffer())], [0, 1, 2, 255]);
  assert.equal(lastRequest().path, "/v1/videos/v/content?variant=thumbnail");
});

test("paths of a second version stand at the provider's host", async () => {
  const changes = { "x-gateway-provider": "together-ai", "x-gateway-trace-id": "trace-of-v2" };
  for (const host of [upstream.url, `${upstream.url}/v1`]) {
    await send("/v1/v2/videos", { body: '{"model":"m"}', changes: { ...changes, "x-gateway-custom-host": host } });
    assert.equal(`${lastRequest().method} ${lastRequest().path}`, "POST /v2/videos");
    await send("/v1/v2/videos/job_1?a=b", { method: "GET", changes: { ...changes, "x-gateway-custom-host": host } });
    assert.equal(lastRequest().path, "/v2/videos/job_1?a=b");
  }
  assert.match(await operationOf("trace-of-v2"), /video_job$/);
});

for (const [provider, path] of [
  ["anthropic", "/v1/assistants"],
  ["groq", "/v1/threads/t/runs"],
  ["mistral-ai", "/v1/vector_stores"],
  ["together-ai", "/v1/videos"],
  ["openai", "/v1/v2/videos"],
  ["echo", "/v1/images/variations"],
] as const) {
  test(`${provider} does not have ${path}: 400, and nothing is called`, async () => {
    const before = upstream.requests.length;
    const answer = await send(path, { body: "{}", changes: { "x-gateway-provider": provider } });
    assert.equal(answer.status, 400);
    assert.equal((await answer.json()).error.code, "unsupported_endpoint");
    assert.equal(upstream.requests.length, before);
  });
}

test("a config's fallback goes on from a provider without the route", async () => {
  const target = (provider: string) => ({
    provider,
    api_key: providerKey,
    custom_host: `${upstream.url}/v1`,
  });
  const config = { strategy: { mode: "fallback" }, targets: [target("anthropic"), target("openai")] };
  const answer = await fetch(`${gateway.url}/v1/vector_stores`, {
    headers: { "x-gateway-api-key": gateway.workspaceKey, "x-gateway-config": JSON.stringify(config) },
  });
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get("x-gateway-last-used-option-index"), "config.targets[1]");
});

test("models without a provider: what the workspace has, 404 for others, 400 to remove", async () => {
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.workspaceKey, maxRetries: 0 });
  await assert.rejects(client.models.retrieve("@nobody/gpt-4o"), (error) => {
    return error instanceof NotFoundError && error.code === "model_not_found";
  });
  await assert.rejects(client.models.retrieve("a/b/c"), NotFoundError);
  await assert.rejects(client.models.delete("gpt-4o"), BadRequestError);
});
