import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { createClient } from "@libsql/client";
import { findPrice } from "../../src/pricing/prices.ts";
import type { BatchObject } from "../../src/schemas/batches.ts";
import type { FileObject } from "../../src/schemas/files.ts";
import { chatLine, type ResultLine, writeForm } from "../support/batches.ts";
import { createRandom } from "../support/gateway.ts";
import { createFolder, type GatewayProcess, startGatewayProcess, waitFor } from "../support/process.ts";
import { startRecordingUpstream } from "../support/upstream.ts";

const model = "gpt-4o";
const lines = 300;
const kills = 10;

/** Usage of a call: a second call for the same line costs something else. */
function usageOf(call: number) {
  const [prompt_tokens, completion_tokens, cached_tokens] = [100 + call * 7, 1 + call * 3, call % 90];
  return {
    prompt_tokens,
    completion_tokens,
    total_tokens: prompt_tokens + completion_tokens,
    prompt_tokens_details: { cached_tokens },
  };
}

/** Responds to chats, each with different usage; counts the requests. */
async function startChats(): Promise<{ url: string; calls: () => number; close(): Promise<void> }> {
  let calls = 0;
  const upstream = await startRecordingUpstream((_, response) => {
    const usage = usageOf(++calls);
    const choices = [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }];
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ id: "c", object: "chat.completion", created: 1, model, choices, usage }));
  });
  return { url: `${upstream.url}/v1`, calls: () => calls, close: () => upstream.close() };
}

async function send<Answer>(gateway: GatewayProcess, path: string, init: RequestInit = {}): Promise<Answer> {
  const headers = { ...Object(init.headers), "x-gateway-api-key": gateway.workspaceKey };
  const response = await fetch(gateway.url + path, { ...init, headers });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return (path.endsWith("/content") ? text : JSON.parse(text)) as Answer; // what the route answers
}

async function begin(gateway: GatewayProcess, host: string): Promise<string> {
  const input = Array.from({ length: lines }, (_, index) => `${chatLine(`line-${index}`, "Hi", { model })}\n`).join("");
  const { body, type } = writeForm(input, "input.jsonl");
  const file = await send<FileObject>(gateway, "/v1/files", {
    method: "POST",
    body,
    headers: { "content-type": type },
  });
  const options = {
    "x-gateway-provider": "openai",
    "x-gateway-custom-host": host,
    authorization: "Bearer upstream-key",
  };
  const asked = {
    input_file_id: file.id,
    endpoint: "/v1/chat/completions",
    completion_window: "immediate",
    gateway_options: options,
  };
  const headers = { "content-type": "application/json" };
  const { id } = await send<BatchObject>(gateway, "/v1/batches", {
    method: "POST",
    body: JSON.stringify(asked),
    headers,
  });
  return id;
}

/** Takes the batch from the killed process, as others would wait for the lease to expire. */
async function freeBatch(folder: string): Promise<void> {
  const database = createClient({ url: `file:${join(folder, "data/gateway.db")}`, timeout: 5_000 });
  try {
    await database.execute("UPDATE gateway_batches SET lease_until = 0");
  } finally {
    database.close();
  }
}

/** Nano-dollars of a line, from what its answer says. */
function costOfLine({ response }: ResultLine): number {
  const usage = (response ?? assert.fail()).body.usage as ReturnType<typeof usageOf>; // of this upstream
  const { prompt_tokens, completion_tokens, prompt_tokens_details } = usage;
  const { cached_tokens: cached } = prompt_tokens_details;
  const price = (kind: "request_token" | "response_token" | "cache_read_input_token") =>
    (findPrice("openai", model)?.tokens.get(kind) ?? assert.fail()) * 1_000;
  return (
    (prompt_tokens - cached) * price("request_token") +
    cached * price("cache_read_input_token") +
    completion_tokens * price("response_token")
  );
}

test("a batch whose processes are killed ten times has one result per line and the cost of its output", async () => {
  const random = createRandom(7);
  const folder = createFolder();
  const upstream = await startChats();
  const start = () => startGatewayProcess({ cwd: folder, env: { BATCH_PAUSE_MS: "0" } });
  let gateway = await start();
  try {
    const id = await begin(gateway, upstream.url);
    for (let kill = 0; kill < kills; kill++) {
      const until = upstream.calls() + 1 + Math.floor(random() * 24);
      await waitFor("calls of lines", 30_000, () => upstream.calls() >= until);
      await gateway.stop("SIGKILL");
      await freeBatch(folder);
      gateway = await start();
    }
    const deadline = performance.now() + 60_000;
    let batch = await send<BatchObject>(gateway, `/v1/batches/${id}`);
    while (batch.status !== "completed") {
      assert.ok(performance.now() < deadline, `the batch is ${JSON.stringify(batch)}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
      batch = await send<BatchObject>(gateway, `/v1/batches/${id}`);
    }
    assert.deepEqual(batch.request_counts, { total: lines, completed: lines, failed: 0 });
    const text = await send<string>(gateway, `/v1/files/${batch.output_file_id}/content`);
    const results: ResultLine[] = text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    assert.deepEqual(
      results.map(({ custom_id }) => custom_id),
      Array.from({ length: lines }, (_, index) => `line-${index}`),
    );
    const nanos = results.reduce((sum, line) => sum + costOfLine(line), 0);
    assert.ok(upstream.calls() > lines, "no line was cut short");
    assert.deepEqual([batch.cost, batch.cost_currency], [nanos / 1e7, "USD"]);
  } finally {
    await gateway.stop("SIGKILL");
    await upstream.close();
  }
});
