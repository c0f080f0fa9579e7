import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { type Database, openDatabase } from "../../src/db/client.ts";
import type { BatchObject } from "../../src/schemas/batches.ts";
import type { FileObject } from "../../src/schemas/files.ts";
import { answerLine, type BatchProvider, startBatchProvider } from "../support/batch-provider.ts";
import { chatLine, chatLines, createBatch, upload, waitForBatch } from "../support/batches.ts";
import { call, done } from "../support/control.ts";
import {
  createTemporaryFolder,
  createTestGateway,
  listLogs,
  readJson,
  type ShownLog,
  type TestGateway,
  waitForLogs,
} from "../support/gateway.ts";
import { becomes, createKey, makePolicy as makeLimit, usedBy } from "../support/limited.ts";

const quick = { batches: { pauseMs: 0, lookEveryMs: 5, statusCheckMs: 1 } };
const model = "gpt-4o-mini";
const twoLines = ["a", "b"].map((id) => `${chatLine(id, "text", { model })}\n`).join("");
/** Tokens of the result, and its price in nano-dollars: 10 at 75 and 2 at 300. */
const [tokensOfLine, costOfLine] = [12, 1_350];

interface Parts {
  provider: BatchProvider;
  gateway: TestGateway;
  database: string;
}

async function withProvider(use: (parts: Parts) => Promise<void>): Promise<void> {
  const provider = await startBatchProvider();
  const folder = createTemporaryFolder();
  const database = `file:${join(folder.path, "gateway.db")}`;
  const parts = { provider, database, gateway: await createTestGateway({ database, ...quick }) };
  try {
    await use(parts);
  } finally {
    await parts.gateway.close();
    await provider.close();
    folder.remove();
  }
}

/** Makes a batch with a key. */
async function begin({ gateway, provider }: Parts, key: string, options: object = {}, lines = twoLines) {
  const file = await readJson<FileObject>(await upload(gateway, lines, { key }));
  const body = { input_file_id: file.id, completion_window: "24h", gateway_options: provider.options, ...options };
  return readJson<BatchObject>(await createBatch(gateway, body, key));
}

/** Ends the provider's batch with a result for `a` and a failure of `b`. */
function complete({ provider }: Parts): void {
  provider.contents.set("file-out", answerLine("a"));
  provider.contents.set("file-err", answerLine("b", 400, { error: { message: "too long" } }));
  Object.assign(provider.batch, { status: "completed", output_file_id: "file-out", error_file_id: "file-err" });
}

const rowsOf = async (gateway: TestGateway, { id }: BatchObject): Promise<ShownLog[]> =>
  (await waitForLogs(gateway, `trace_id=${id}&limit=100`)).filter(({ operation }) => operation === "collectBatch");

/** Makes a policy that all requests to the provider share. */
const makePolicy = (gateway: TestGateway, kind: "rate" | "usage", members: object): Promise<string> =>
  makeLimit({ gateway, workspaceId: "default" }, kind, {
    group_by: [{ key: "workspace_id" }],
    conditions: [{ key: "provider", value: "openai" }],
    ...members,
  });

/** Opens the database beside the gateway. */
async function withFile<Result>({ database: url }: Parts, use: (file: Database) => Promise<Result>): Promise<Result> {
  const file = await openDatabase({ url });
  try {
    return await use(file);
  } finally {
    await file.close();
  }
}

/** What a policy has counted in all its buckets. */
function readCounter(parts: Parts, id: string): Promise<number> {
  const sql = "SELECT coalesce(sum(used), 0) AS used FROM limit_counters WHERE limit_id LIKE ?";
  return withFile(parts, async (file) => Number((await file.read({ sql, args: [`${id}:%`] })).rows[0]?.used));
}

for (const [unit, limits, wanted] of [
  ["tokens", { type: "tokens", credit_limit: 1_000 }, tokensOfLine],
  ["cost", { type: "cost", credit_limit: 1 }, costOfLine / 1e9],
] as const) {
  test(`a batch that its provider ran counts its ${unit} once it is collected, and leaves one row`, () =>
    withProvider(async (parts) => {
      const { gateway } = parts;
      const { id, key } = await createKey(gateway, { usage_limits: limits });
      const gatewayOptions = { ...parts.provider.options, "x-gateway-metadata": { team: "blue" } };
      const begun = await begin(parts, key, { gateway_options: gatewayOptions });
      await waitForBatch(gateway, begun.id, ({ provider_batch_id: made }) => made === "batch_1");
      assert.equal(await usedBy(gateway, id), 0);
      complete(parts);
      const { status } = await waitForBatch(gateway, begun.id);
      assert.equal(status, "completed");
      assert.equal(await usedBy(gateway, id), wanted);
      const rows = await rowsOf(gateway, begun);
      const [row] = rows;
      assert.deepEqual([rows.length, row?.status, row?.provider, row?.model], [1, 200, "openai", model]);
      assert.deepEqual([row?.api_key_id, row?.metadata], [id, { team: "blue" }]);
      assert.deepEqual([row?.cost, row?.usage?.total_tokens], [costOfLine / 1e7, tokensOfLine]);
      assert.deepEqual(gateway.warnings, []);
    }));
}

test("a budget that a collected batch used up refuses the next request", () =>
  withProvider(async (parts) => {
    const { gateway } = parts;
    const { key } = await createKey(gateway, { usage_limits: { type: "tokens", credit_limit: tokensOfLine } });
    complete(parts);
    await waitForBatch(gateway, (await begin(parts, key)).id);
    const again = await begin(parts, key);
    const batch = await waitForBatch(gateway, again.id);
    assert.equal(batch.status, "failed");
    assert.match(batch.errors?.data[0]?.message ?? "", /^Cannot upload the input: openai answered 412/);
    assert.equal(parts.provider.lines().filter((line) => line === "POST /v1/files").length, 1);
  }));

test("policies meet collected batches by model, metadata and type of their lines", () =>
  withProvider(async (parts) => {
    const { gateway } = parts;
    const counting = { type: "tokens", unit: "rpw", value: 1_000_000 };
    const met = [];
    for (const condition of [
      { key: "model", value: model },
      { key: "metadata.team", value: "blue" },
      { key: "endpoint_type", value: "chatComplete" },
    ]) {
      met.push(await makePolicy(gateway, "rate", { ...counting, conditions: [condition] }));
    }
    const others = [];
    for (const condition of [
      { key: "model", value: "gpt-4o" },
      { key: "endpoint_type", value: "createBatch" },
    ]) {
      others.push(await makePolicy(gateway, "rate", { ...counting, conditions: [condition] }));
    }
    const { key } = await createKey(gateway);
    complete(parts);
    const gatewayOptions = { ...parts.provider.options, "x-gateway-metadata": { team: "blue" } };
    const begun = await begin(parts, key, { gateway_options: gatewayOptions });
    const batch = await waitForBatch(gateway, begun.id);
    assert.deepEqual([batch.status, batch.provider], ["completed", "openai"]);
    for (const id of met) assert.equal(await readCounter(parts, id), tokensOfLine);
    for (const id of others) assert.equal(await readCounter(parts, id), 0);
  }));

test("limits of a stored provider count its collected batches", () =>
  withProvider(async (parts) => {
    const { gateway, provider } = parts;
    const integration = {
      name: "own",
      slug: "own",
      ai_provider_id: "openai",
      key: "stored-credential",
      workspace_id: "default",
      configurations: { custom_host: provider.options["x-gateway-custom-host"] },
    };
    await done(call(gateway, "POST /integrations", { body: integration }));
    const { data } = await done(call<{ data: { slug: string }[] }>(gateway, "GET /providers?workspace_id=default"));
    const slug = data[0]?.slug ?? "";
    const limits = { usage_limits: { type: "tokens", credit_limit: 1_000 }, workspace_id: "default" };
    await done(call(gateway, `PUT /providers/${slug}`, { body: limits }));
    complete(parts);
    const { key } = await createKey(gateway);
    await waitForBatch(
      gateway,
      (await begin(parts, key, { gateway_options: { "x-gateway-provider": `@${slug}` } })).id,
    );
    const shown = await done(
      call<{ usage_limits: { current_usage: number } }>(gateway, `GET /providers/${slug}?workspace_id=default`),
    );
    assert.equal(shown.usage_limits.current_usage, tokensOfLine);
  }));

test("a batch whose key is deleted while it is collected counts for its workspace", () =>
  withProvider(async (parts) => {
    const { gateway, provider } = parts;
    const policy = await makePolicy(gateway, "usage", { type: "tokens", credit_limit: 1_000 });
    const { id, key } = await createKey(gateway);
    complete(parts);
    provider.onRequest = async (line) => {
      if (line === "GET /v1/files/file-err/content") await done(call(gateway, `DELETE /api-keys/${id}`));
    };
    const begun = await begin(parts, key);
    const { status } = await waitForBatch(gateway, begun.id);
    assert.equal(status, "completed");
    assert.equal(await readCounter(parts, policy), tokensOfLine);
    assert.equal((await rowsOf(gateway, begun)).length, 1);
  }));

test("a batch without results leaves no row and counts nothing", () =>
  withProvider(async (parts) => {
    const { gateway, provider } = parts;
    const { id, key } = await createKey(gateway, { usage_limits: { type: "tokens", credit_limit: 1_000 } });
    Object.assign(provider.batch, { status: "failed" });
    const begun = await begin(parts, key);
    assert.equal((await waitForBatch(gateway, begun.id)).status, "failed");
    assert.deepEqual([await rowsOf(gateway, begun), await usedBy(gateway, id)], [[], 0]);
  }));

test("a batch whose process ends between collection and settlement is counted once, by the next process", () =>
  withProvider(async (parts) => {
    const { gateway, database } = parts;
    const { id, key } = await createKey(gateway, { usage_limits: { type: "tokens", credit_limit: 1_000 } });
    // the last step fails, and not because another runner took it
    const cut =
      "CREATE TRIGGER cut BEFORE UPDATE ON gateway_batches WHEN new.status = 'completed' BEGIN SELECT abs(-9223372036854775807 - 1); END";
    await withFile(parts, (file) => file.write([cut]));
    complete(parts);
    const begun = await begin(parts, key);
    const until = performance.now() + 10_000;
    while (gateway.warnings.length === 0 && performance.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    assert.match(gateway.warnings[0] ?? "", /^Cannot continue the batch/);
    // nothing of the step was written, and this process counts nothing either
    assert.equal(await usedBy(gateway, id), 0);
    const { data } = await listLogs(gateway, `trace_id=${begun.id}&limit=100`);
    assert.ok(data.every(({ operation }) => operation !== "collectBatch"));
    await gateway.close();
    const free = "UPDATE gateway_batches SET lease_until = 0, lease_owner = NULL";
    await withFile(parts, (file) => file.write(["DROP TRIGGER cut", free]));
    const next = await createTestGateway({ database, ...quick });
    try {
      const batch = await waitForBatch(next, begun.id);
      assert.deepEqual([batch.status, await usedBy(next, id)], ["completed", tokensOfLine]);
      assert.equal((await rowsOf(next, begun)).length, 1);
    } finally {
      await next.close();
    }
    const last = await createTestGateway({ database });
    assert.equal(await usedBy(last, id), tokensOfLine);
    await last.close();
  }));

test("each line of a batch counts as a request, whoever runs it", () =>
  withProvider(async (parts) => {
    const { gateway } = parts;
    const requests = { type: "requests", credit_limit: 1_000 };
    const id = await makePolicy(gateway, "usage", { ...requests, conditions: [{ key: "provider", value: "*" }] });
    const { key } = await createKey(gateway);
    const options = { completion_window: "immediate", gateway_options: { "x-gateway-provider": "echo" } };
    await waitForBatch(gateway, (await begin(parts, key, options, chatLines(5))).id);
    const counted = (most: number) =>
      becomes(
        () => readCounter(parts, id),
        (used) => used >= most,
      );
    assert.equal(await counted(5), 5);
    complete(parts);
    await waitForBatch(gateway, (await begin(parts, key)).id);
    // an upload, a batch and two lines; requests that read its state and its results are not counted by budgets
    assert.equal(await counted(9), 9);
  }));

test("lines of a batch that the gateway runs are refused one by one, and a provider's batch before it is sent", () =>
  withProvider(async (parts) => {
    const { gateway, provider } = parts;
    const requests = { type: "requests", conditions: [{ key: "provider", value: "*" }] };
    await makePolicy(gateway, "usage", { ...requests, credit_limit: 3 });
    const { key } = await createKey(gateway);
    const options = { completion_window: "immediate", gateway_options: { "x-gateway-provider": "echo" } };
    const batch = await waitForBatch(gateway, (await begin(parts, key, options, chatLines(5))).id);
    assert.deepEqual(batch.request_counts, { total: 5, completed: 3, failed: 2 });
    assert.equal((await waitForBatch(gateway, (await begin(parts, key)).id)).status, "failed");
    assert.deepEqual(provider.lines(), []);
  }));
