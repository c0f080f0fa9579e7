import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { createClient } from "@libsql/client";
import type { BatchObject } from "../../src/schemas/batches.ts";
import type { FileObject } from "../../src/schemas/files.ts";
import { answerLine, type BatchProvider, startBatchProvider } from "../support/batch-provider.ts";
import { chatLine, type ResultLine, writeForm } from "../support/batches.ts";
import { createFolder, type GatewayProcess, startGatewayProcess, waitFor } from "../support/process.ts";

const model = "gpt-4o-mini";
const ids = Array.from({ length: 1_500 }, (_, index) => `line-${index}`);

async function send(gateway: GatewayProcess, path: string, init: RequestInit = {}): Promise<string> {
  const headers = { ...Object(init.headers), "x-gateway-api-key": gateway.workspaceKey };
  const response = await fetch(gateway.url + path, { ...init, headers });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return text;
}

async function begin(gateway: GatewayProcess, { options }: BatchProvider): Promise<string> {
  const { body, type } = writeForm(ids.map((id) => `${chatLine(id, "Hi", { model })}\n`).join(""), "input.jsonl");
  const uploaded = await send(gateway, "/v1/files", { method: "POST", body, headers: { "content-type": type } });
  const file: FileObject = JSON.parse(uploaded);
  const asked = {
    input_file_id: file.id,
    endpoint: "/v1/chat/completions",
    completion_window: "24h",
    gateway_options: options,
  };
  const headers = { "content-type": "application/json" };
  const made = await send(gateway, "/v1/batches", { method: "POST", body: JSON.stringify(asked), headers });
  return JSON.parse(made).id;
}

/** Ends the wait of the batch for its provider, or takes it from a process that was killed. */
async function freeBatch(folder: string, { isKilled }: { isKilled: boolean }): Promise<void> {
  const database = createClient({ url: `file:${join(folder, "data/gateway.db")}`, timeout: 5_000 });
  try {
    const held = isKilled ? "" : " WHERE lease_owner IS NULL";
    await database.execute(`UPDATE gateway_batches SET lease_owner = NULL, lease_until = 0${held}`);
  } finally {
    database.close();
  }
}

test("a provider's batch whose processes are killed at every step is made once, and read whole", async () => {
  const folder = createFolder();
  const provider = await startBatchProvider();
  let gateway = await startGatewayProcess({ cwd: folder });
  /** The step at which the process is killed, and whether it got there. */
  let step = "";
  let isReached = false;
  provider.onRequest = (line) => {
    if (line !== step) return undefined;
    step = "";
    isReached = true;
    return new Promise(() => {});
  };
  const killAt = async (wanted: string) => {
    isReached = false;
    step = wanted;
    await freeBatch(folder, { isKilled: false });
    await waitFor(wanted, 30_000, () => isReached);
    await restart();
  };
  const restart = async () => {
    await gateway.stop("SIGKILL");
    await freeBatch(folder, { isKilled: true });
    gateway = await startGatewayProcess({ cwd: folder });
  };
  const read = async (id: string): Promise<BatchObject> => JSON.parse(await send(gateway, `/v1/batches/${id}`));
  const waitUntil = async (id: string, fits: (batch: BatchObject) => boolean): Promise<BatchObject> => {
    const deadline = performance.now() + 30_000;
    for (;;) {
      const batch = await read(id);
      if (fits(batch)) return batch;
      assert.ok(performance.now() < deadline, `the batch is ${JSON.stringify(batch)}`);
      await freeBatch(folder, { isKilled: false });
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  try {
    step = "POST /v1/files";
    const id = await begin(gateway, provider);
    await waitFor("the upload", 30_000, () => isReached);
    await restart();
    await waitUntil(id, (batch) => batch.provider_batch_id === "batch_1");
    await killAt("GET /v1/batches/batch_1");
    provider.batch.status = "in_progress";
    await waitUntil(id, ({ status }) => status === "in_progress");
    const failed = answerLine("line-0", 400, { error: { message: "no", code: "refused" } });
    provider.contents.set(
      "file-out",
      ids
        .slice(1)
        .map((one) => answerLine(one))
        .join(""),
    );
    provider.contents.set("file-err", failed);
    Object.assign(provider.batch, { status: "completed", output_file_id: "file-out", error_file_id: "file-err" });
    await killAt("GET /v1/files/file-out/content");
    await killAt("GET /v1/files/file-err/content");
    const batch = await waitUntil(id, ({ status }) => status === "completed");
    assert.deepEqual(batch.request_counts, { total: ids.length, completed: ids.length - 1, failed: 1 });
    const text = await send(gateway, `/v1/files/${batch.output_file_id}/content`);
    const results: ResultLine[] = text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    assert.deepEqual(
      results.map(({ custom_id }) => custom_id),
      ids.slice(1),
    );
    // 10 tokens at 75 nano-dollars and 2 at 300 for each line
    assert.equal(batch.cost, ((ids.length - 1) * 1_350) / 1e7);
    assert.equal(provider.lines().filter((line) => line === "POST /v1/batches").length, 1);
    assert.equal(provider.uploads.size, 1);
  } finally {
    await gateway.stop("SIGKILL");
    await provider.close();
  }
});
