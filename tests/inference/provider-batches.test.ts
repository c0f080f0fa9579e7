import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import type { BatchObject } from "../../src/schemas/batches.ts";
import { answerLine, type BatchProvider, startBatchProvider } from "../support/batch-provider.ts";
import { chatLine, readResults, runLines, sendOwn, waitForBatch } from "../support/batches.ts";
import { call, done } from "../support/control.ts";
import {
  createTemporaryFolder,
  createTestClock,
  createTestGateway,
  insertTenant,
  readJson,
  type TestGateway,
  type TestGatewayOptions,
  waitForLogs,
  workspaceKey,
} from "../support/gateway.ts";

const quick = { batches: { pauseMs: 0, lookEveryMs: 5, statusCheckMs: 1 } };

async function withProvider(
  run: (provider: BatchProvider, gateway: TestGateway) => Promise<void>,
  options: TestGatewayOptions = {},
): Promise<void> {
  const provider = await startBatchProvider();
  const gateway = await createTestGateway({ ...quick, ...options });
  try {
    await run(provider, gateway);
    assert.deepEqual(gateway.warnings, []);
  } finally {
    await gateway.close();
    await provider.close();
  }
}

const model = "gpt-4o-mini";
const line = (id: string, body: Record<string, unknown> = {}) => chatLine(id, `text of ${id}`, { model, ...body });
const twoLines = `${line("a")}\n\n${line("b")}\n`;

function begin(
  provider: BatchProvider,
  gateway: TestGateway,
  options: Record<string, unknown> = {},
  lines = twoLines,
): Promise<BatchObject> {
  return runLines(gateway, lines, { completion_window: "24h", gateway_options: provider.options, ...options });
}

/** Ends the provider's batch with a result for `a` and a failure of `b`. */
function complete(provider: BatchProvider): void {
  const failure = { error: { message: "too long", code: "context_length_exceeded" } };
  provider.contents.set("file-out", answerLine("a"));
  provider.contents.set("file-err", answerLine("b", 400, failure));
  const ended = { status: "completed", output_file_id: "file-out", error_file_id: "file-err" };
  Object.assign(provider.batch, ended, { request_counts: { total: 2, completed: 1, failed: 1 } });
}

const isAt = (status: string) => (batch: BatchObject) => batch.status === status;

function countOf(provider: BatchProvider, wanted: string): number {
  return provider.lines().filter((one) => one === wanted).length;
}

test("a batch of one provider becomes that provider's batch, its results files of the gateway", async () => {
  await withProvider(async (provider, gateway) => {
    const begun = await begin(provider, gateway, { metadata: { team: "blue" } });
    assert.equal(begun.provider, "openai");
    assert.equal(begun.provider_batch_id, null);
    await waitForBatch(gateway, begun.id, ({ provider_batch_id: id }) => id === "batch_1");
    for (const status of ["in_progress", "finalizing"]) {
      Object.assign(provider.batch, { status, request_counts: { total: 2, completed: 1, failed: 0 } });
      const { request_counts: counts } = await waitForBatch(gateway, begun.id, isAt(status));
      assert.deepEqual(counts, { total: 2, completed: 1, failed: 0 });
    }
    complete(provider);
    const batch = await waitForBatch(gateway, begun.id);
    assert.equal(batch.status, "completed");
    assert.deepEqual(batch.request_counts, { total: 2, completed: 1, failed: 1 });
    assert.ok(batch.in_progress_at && batch.finalizing_at && batch.completed_at);
    assert.deepEqual([batch.metadata, batch.errors], [{ team: "blue" }, null]);
    assert.deepEqual([batch.usage?.input_tokens, batch.usage?.output_tokens], [10, 2]);
    // 10 tokens at 75 nano-dollars and 2 at 300: half of what they cost outside of batches
    assert.deepEqual([batch.cost, batch.cost_currency], [1_350 / 1e7, "USD"]);
    assert.match(batch.output_file_id ?? "", /^gw_file_/);
    const [answered] = await readResults(gateway, batch.output_file_id);
    assert.deepEqual([answered?.id, answered?.custom_id, answered?.error], ["batch_req_a", "a", null]);
    assert.equal(answered?.response?.request_id, "req_a");
    const [failed] = await readResults(gateway, batch.error_file_id);
    assert.deepEqual([failed?.custom_id, failed?.response?.status_code], ["b", 400]);
    assert.deepEqual(failed?.error, { code: "context_length_exceeded", message: "too long" });
    assert.equal(
      await (await sendOwn(gateway, `/v1/batches/${batch.id}/output`)).text(),
      await (await sendOwn(gateway, `/v1/files/${batch.output_file_id}/content`)).text(),
    );
  });
});

test("the provider receives each line unchanged, and the batch as it was requested", async () => {
  await withProvider(async (provider, gateway) => {
    complete(provider);
    const bare = JSON.stringify({ custom_id: "b", body: { messages: [] } });
    const begun = await begin(provider, gateway, { model }, `${line("a", { extra: 1 })}\r\n${bare}`);
    await waitForBatch(gateway, begun.id);
    const [upload, made] = provider.requests;
    assert.equal(upload?.headers.authorization, "Bearer upstream-credential");
    assert.ok(!/x-gateway/i.test(JSON.stringify(upload?.headers)));
    assert.match(upload?.text ?? "", /name="purpose"\r\n\r\nbatch\r\n/);
    assert.match(upload?.text ?? "", new RegExp(`filename="${begun.id}.jsonl"`));
    const common = { method: "POST", url: "/v1/chat/completions" };
    assert.deepEqual(provider.uploads.get("file-1"), [
      { custom_id: "a", ...common, body: { model, messages: [{ role: "user", content: "text of a" }], extra: 1 } },
      { custom_id: "b", ...common, body: { model, messages: [] } },
    ]);
    assert.deepEqual(JSON.parse(made?.text ?? ""), {
      input_file_id: "file-1",
      endpoint: "/v1/chat/completions",
      completion_window: "24h",
      metadata: { gateway_batch_id: begun.id },
    });
    const rows = await waitForLogs(gateway, `trace_id=${begun.id}&limit=100`, 4);
    assert.deepEqual(new Set(rows.map(({ operation }) => operation)).has("uploadFile"), true);
    assert.ok(rows.every(({ provider: slug }) => slug === "openai"));
  });
});

test("GET /v1/batches/{id} shows the provider's batch on request", async () => {
  await withProvider(async (provider, gateway) => {
    const begun = await begin(provider, gateway);
    await waitForBatch(gateway, begun.id, ({ provider_batch_id: id }) => id === "batch_1");
    const path = `/v1/batches/${begun.id}`;
    const plain = await readJson<BatchObject>(await sendOwn(gateway, path));
    assert.ok(!("provider_batch" in plain));
    const shown = await readJson<BatchObject>(await sendOwn(gateway, `${path}?include_provider_details=true`));
    assert.equal(shown.provider_batch?.id, "batch_1");
    assert.equal(shown.provider_batch?.input_file_id, "file-1");
  });
});

for (const [what, options, lines] of [
  ["another window", { completion_window: "immediate" }],
  ["a route it has no batches for", { endpoint: "/v1/rerank" }, '{"custom_id":"a","body":{"model":"m"}}'],
  ["lines of two models", {}, `${line("a")}\n${line("b", { model: "gpt-4o" })}`],
  ["lines of two routes", {}, `${line("a")}\n{"custom_id":"b","url":"/v1/embeddings","body":{"model":"${model}"}}`],
  ...[
    { type: "file_search", vector_store_ids: ["gw_vs_1"] },
    { type: "mcp", server_label: "@gateway-mcp/weather" },
  ].map((tool) => {
    const body = JSON.stringify({ custom_id: "a", body: { model, input: "Hi", tools: [tool] } });
    return [`a line with a ${tool.type} tool of the gateway`, { endpoint: "/v1/responses" }, body] as const;
  }),
  ["a model that names a stored provider", {}, line("a", { model: "@stored/gpt" })],
] as const) {
  test(`a batch is called line by line for ${what}`, async () => {
    await withProvider(async (provider, gateway) => {
      const begun = await begin(provider, gateway, options, lines ?? twoLines);
      const batch = await waitForBatch(gateway, begun.id);
      assert.equal(batch.status, "completed");
      assert.equal(batch.provider, undefined);
      assert.equal(countOf(provider, "POST /v1/files"), 0);
    });
  });
}

for (const [what, config] of [
  ["several targets", { strategy: { mode: "fallback" }, targets: [{ passthrough: true }, { passthrough: true }] }],
  ["parameters", { override_params: { temperature: 0 } }],
] as const) {
  test(`a batch is called line by line for a config with ${what}`, async () => {
    await withProvider(async (provider, gateway) => {
      const options = { ...provider.options, "x-gateway-config": config };
      const batch = await waitForBatch(gateway, (await begin(provider, gateway, { gateway_options: options })).id);
      assert.equal(batch.provider, undefined);
      assert.equal(countOf(provider, "POST /v1/files"), 0);
    });
  });
}

test("a config with one target leads to its provider", async () => {
  await withProvider(async (provider, gateway) => {
    complete(provider);
    const { "x-gateway-custom-host": custom_host } = provider.options;
    const target = { provider: "openai", api_key: "upstream-credential", custom_host };
    const options = { "x-gateway-config": { strategy: { mode: "fallback" }, targets: [target] } };
    const batch = await waitForBatch(gateway, (await begin(provider, gateway, { gateway_options: options })).id);
    assert.deepEqual([batch.status, batch.provider], ["completed", "openai"]);
    assert.equal(countOf(provider, "POST /v1/batches"), 1);
  });
});

test("a batch is called line by line for a config with a search of the web", async () => {
  await withProvider(async (provider, gateway) => {
    const { "x-gateway-custom-host": custom_host } = provider.options;
    const server_tools = { web_search: { mcp: { server: "s", tool: "t" } } };
    const config = { provider: "openai", api_key: "upstream-credential", custom_host, server_tools };
    const options = { gateway_options: { "x-gateway-config": config } };
    const batch = await waitForBatch(gateway, (await begin(provider, gateway, options)).id);
    assert.equal(batch.provider, undefined);
    assert.equal(countOf(provider, "POST /v1/files"), 0);
  });
});

/** A stored provider whose prices are three times those of the list. */
async function storeProvider(provider: BatchProvider, gateway: TestGateway, more: Record<string, unknown> = {}) {
  const integration = {
    name: "own",
    slug: "own-integration",
    ai_provider_id: "openai",
    key: "stored-credential",
    configurations: { custom_host: provider.options["x-gateway-custom-host"] },
    pricing_adjustments: { multiplier: { request_token: 3, response_token: 3 } },
    create_default_provider: false,
    ...more,
  };
  await done(call(gateway, "POST /integrations", { key: workspaceKey, body: integration }));
  const body = { name: "own", slug: "own", integration_id: "own-integration" };
  await done(call(gateway, "POST /providers", { key: workspaceKey, body }));
}

test("a stored provider's batch uses its credential and costs its prices", async () => {
  await withProvider(async (provider, gateway) => {
    await storeProvider(provider, gateway);
    complete(provider);
    const gatewayOptions = { "x-gateway-provider": "@own" };
    const batch = await waitForBatch(gateway, (await begin(provider, gateway, { gateway_options: gatewayOptions })).id);
    assert.deepEqual([batch.status, batch.provider, batch.cost], ["completed", "openai", 4_050 / 1e7]);
    assert.equal(provider.requests[0]?.headers.authorization, "Bearer stored-credential");
  });
});

async function setOrganisation(gateway: TestGateway, settings: object): Promise<void> {
  const { data } = await done(call<{ data: { id: string } }>(gateway, "GET /organisations/self"));
  await done(call(gateway, `PUT /organisations/${data.id}`, { body: settings }));
}

test("a batch is called line by line where models without a price are refused", async () => {
  await withProvider(async (provider, gateway) => {
    await setOrganisation(gateway, { unpriced_models: "block" });
    const lines = `${line("a")}\n${line("b", { model: "in-house-1" })}`;
    const batch = await waitForBatch(gateway, (await begin(provider, gateway, {}, lines)).id);
    assert.equal(batch.provider, undefined);
    assert.equal(countOf(provider, "POST /v1/files"), 0);
    assert.equal(countOf(provider, "POST /v1/chat/completions"), 1);
    const results = await readResults(gateway, batch.error_file_id);
    const refused = results.find(({ custom_id }) => custom_id === "b");
    assert.deepEqual([refused?.response?.status_code, refused?.error?.code], [412, "unpriced_model"]);
  });
});

test("a provider's batch of a model without a price costs half the organisation's fallback price", async () => {
  await withProvider(async (provider, gateway) => {
    await setOrganisation(gateway, { unpriced_models: "fallback", fallback_price: { input: 3, output: 7 } });
    complete(provider);
    provider.contents.set("file-out", answerLine("a", 200, { model: "neither" }));
    const lines = `${line("a", { model: "in-house-1" })}\n${line("b", { model: "in-house-1" })}`;
    const batch = await waitForBatch(gateway, (await begin(provider, gateway, {}, lines)).id);
    assert.equal(batch.provider, "openai");
    // 10 tokens at 1,500 nano-dollars and 2 at 3,500
    assert.equal(batch.cost, 22_000 / 1e7);
  });
});

test("a batch is called line by line at a host without the routes", async () => {
  await withProvider(async (provider, gateway) => {
    provider.next.set("POST /v1/files", [[404, { error: { message: "no such route" } }]]);
    const batch = await waitForBatch(gateway, (await begin(provider, gateway)).id);
    assert.equal(batch.provider, undefined);
    assert.equal(countOf(provider, "POST /v1/chat/completions"), 2);
  });
});

for (const [route, status, what] of [
  ["POST /v1/files", 401, /^Cannot upload the input: openai answered 401 and refused the credential.*: bad key$/],
  ["POST /v1/files", 403, /^Cannot upload the input: openai answered 403 and refused the credential.*: bad key$/],
  ["POST /v1/batches", 400, /^Cannot make the batch: openai answered 400: bad key$/],
  ["GET /v1/batches/batch_1", 404, /^Cannot read the state of the batch: openai answered 404: bad key$/],
] as const) {
  test(`a ${status} to ${route} ends the batch with a clear error`, async () => {
    await withProvider(async (provider, gateway) => {
      provider.next.set(route, [[status, { error: { message: "bad key", code: "refused" } }]]);
      const batch = await waitForBatch(gateway, (await begin(provider, gateway)).id);
      assert.equal(batch.status, "failed");
      assert.ok(batch.failed_at);
      assert.equal(batch.errors?.data[0]?.code, "refused");
      assert.match(batch.errors?.data[0]?.message ?? "", what);
      assert.equal(countOf(provider, "POST /v1/chat/completions"), 0);
    });
  });
}

for (const route of [
  "POST /v1/files",
  "POST /v1/batches",
  "GET /v1/batches/batch_1",
  "GET /v1/files/file-out/content",
  "GET /v1/files/file-err/content",
]) {
  test(`a temporary failure of ${route} is waited out`, async () => {
    await withProvider(async (provider, gateway) => {
      provider.next.set(route, [
        [503, { error: { message: "overloaded" } }],
        [429, { error: { message: "slow" } }],
      ]);
      const begun = await begin(provider, gateway);
      const until = performance.now() + 10_000;
      while (provider.batch.input_file_id === undefined && performance.now() < until) {
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      complete(provider);
      const batch = await waitForBatch(gateway, begun.id);
      assert.deepEqual([batch.status, batch.errors], ["completed", null]);
      assert.deepEqual(batch.request_counts, { total: 2, completed: 1, failed: 1 });
      assert.equal((await readResults(gateway, batch.output_file_id)).length, 1);
    });
  });
}

test("an unreadable response is reported, and the call repeated", async () => {
  await withProvider(async (provider, gateway) => {
    const odd = Array.from({ length: 3 }, () => [200, { id: "../x", status: 1 }] as const);
    provider.next.set("GET /v1/batches/batch_1", [...odd]);
    provider.batch.status = "in_progress";
    const begun = await begin(provider, gateway);
    complete(provider);
    assert.equal((await waitForBatch(gateway, begun.id)).status, "completed");
  });
});

for (const [status, time] of [
  ["failed", "failed_at"],
  ["expired", "expired_at"],
  ["cancelled", "cancelled_at"],
] as const) {
  test(`a provider's batch that is ${status} ends the gateway's in the same state`, async () => {
    await withProvider(async (provider, gateway) => {
      const begun = await begin(provider, gateway);
      const errors = { object: "list", data: [{ code: "bad", message: "line 1 is bad", param: null, line: 1 }] };
      provider.contents.set("file-out", answerLine("a"));
      const isFailed = status === "failed";
      Object.assign(provider.batch, { status, ...(isFailed ? { errors } : { output_file_id: "file-out" }) });
      const batch = await waitForBatch(gateway, begun.id);
      assert.equal(batch.status, status);
      assert.ok(batch[time]);
      if (isFailed) assert.deepEqual(batch.errors, errors);
      else assert.equal((await readResults(gateway, batch.output_file_id)).length, 1);
    });
  });
}

test("a cancelled batch is cancelled at the provider, and its results are stored", async () => {
  await withProvider(
    async (provider, gateway) => {
      provider.batch.status = "in_progress";
      const begun = await begin(provider, gateway);
      await waitForBatch(gateway, begun.id, isAt("in_progress"));
      // the next call of the provider is due in an hour: a cancellation does not wait for it
      const response = await sendOwn(gateway, `/v1/batches/${begun.id}/cancel`, { method: "POST" });
      assert.equal((await readJson<BatchObject>(response)).status, "cancelling");
      await waitForBatch(gateway, begun.id, () => provider.batch.status === "cancelling");
      assert.equal(countOf(provider, "POST /v1/batches/batch_1/cancel"), 1);
    },
    { batches: { ...quick.batches, statusCheckMs: 3_600_000 } },
  );
  await withProvider(async (provider, gateway) => {
    const begun = await begin(provider, gateway);
    await waitForBatch(gateway, begun.id, ({ provider_batch_id: id }) => id === "batch_1");
    await sendOwn(gateway, `/v1/batches/${begun.id}/cancel`, { method: "POST" });
    await waitForBatch(gateway, begun.id, () => provider.batch.status === "cancelling");
    provider.contents.set("file-out", answerLine("a"));
    Object.assign(provider.batch, { status: "cancelled", output_file_id: "file-out" });
    const batch = await waitForBatch(gateway, begun.id);
    assert.deepEqual([batch.status, batch.request_counts?.completed], ["cancelled", 1]);
    assert.ok(batch.cancelling_at && batch.cancelled_at);
    assert.equal(countOf(provider, "POST /v1/batches/batch_1/cancel"), 1);
  });
});

/** Steps at which a process may end: a running request, which the provider may have served. */
for (const [step, wasAnswered] of [
  ["POST /v1/files", false],
  ["POST /v1/batches", false],
  ["POST /v1/batches", true],
  ["GET /v1/batches/batch_1", false],
  ["GET /v1/files/file-out/content", false],
  ["GET /v1/files/file-err/content", false],
] as const) {
  test(`a process that ends at ${step}${wasAnswered ? " after the response was lost" : ""}: the next one continues`, async () => {
    const provider = await startBatchProvider();
    const folder = createTemporaryFolder();
    const database = `file:${join(folder.path, "gateway.db")}`;
    let first: TestGateway | undefined;
    let second: TestGateway | undefined;
    try {
      first = await createTestGateway({ database, ...quick });
      let reached = () => {};
      const atStep = new Promise<void>((resolve) => {
        reached = resolve;
      });
      let isFirst = true;
      provider.onRequest = (one) => {
        if (one !== step || !isFirst) return undefined;
        isFirst = false;
        reached();
        // no response: the connection ends with the process
        return new Promise(() => {});
      };
      const wanted = provider.batch;
      const begun = await begin(provider, first);
      if (step.startsWith("GET /v1/files")) complete(provider);
      await atStep;
      await first.gateway.drain(1);
      await first.close();
      first = undefined;
      const input = [...provider.uploads.keys()].at(-1);
      // it created the batch all the same
      if (wasAnswered)
        provider.next.set("GET /v1/batches?limit=100", [[200, { data: [{ ...wanted, input_file_id: input }] }]]);
      complete(provider);
      second = await createTestGateway({ database, ...quick });
      const batch = await waitForBatch(second, begun.id);
      assert.equal(batch.status, "completed");
      assert.deepEqual(batch.request_counts, { total: 2, completed: 1, failed: 1 });
      assert.equal((await readResults(second, batch.output_file_id)).length, 1);
      assert.equal((await readResults(second, batch.error_file_id)).length, 1);
      assert.equal(countOf(provider, "POST /v1/files"), step === "POST /v1/files" ? 2 : 1);
      assert.equal(countOf(provider, "POST /v1/batches"), step === "POST /v1/batches" && !wasAnswered ? 2 : 1);
    } finally {
      await first?.close();
      await second?.close();
      await provider.close();
      folder.remove();
    }
  });
}

test("results that were stored before a process ended are not stored again", async () => {
  await withProvider(
    async (provider, gateway) => {
      const ids = Array.from({ length: 2_500 }, (_, index) => `line-${index}`);
      const lines = ids.map((id) => `${line(id)}\n`).join("");
      provider.contents.set("file-out", ids.map((id) => answerLine(id)).join(""));
      Object.assign(provider.batch, { status: "completed", output_file_id: "file-out" });
      const database = await gateway.openFile();
      // as if a process had ended after the second thousand
      await database.write([
        "CREATE TRIGGER once AFTER UPDATE ON gateway_batches WHEN new.position = 2000 AND old.position = 1000 BEGIN UPDATE gateway_batches SET turn = turn + 1, lease_owner = NULL, lease_until = 0 WHERE id = new.id; END",
      ]);
      const batch = await waitForBatch(gateway, (await begin(provider, gateway, {}, lines)).id);
      assert.deepEqual(batch.request_counts, { total: 2_500, completed: 2_500, failed: 0 });
      assert.equal(batch.usage?.input_tokens, 25_000);
      const results = await readResults(gateway, batch.output_file_id);
      assert.deepEqual(
        results.map(({ custom_id: id }) => id),
        ids,
      );
      assert.equal(countOf(provider, "GET /v1/files/file-out/content"), 2);
    },
    { inFile: true },
  );
});

test("no more result lines are stored than there are requests", async () => {
  await withProvider(async (provider, gateway) => {
    provider.contents.set("file-out", answerLine("a").repeat(3_000));
    Object.assign(provider.batch, { status: "completed", output_file_id: "file-out" });
    const batch = await waitForBatch(gateway, (await begin(provider, gateway)).id);
    assert.deepEqual([batch.status, batch.request_counts?.completed], ["completed", 2]);
    assert.equal((await readResults(gateway, batch.output_file_id)).length, 2);
  });
});

test("unreadable result lines are reported in the error file", async () => {
  await withProvider(async (provider, gateway) => {
    const deep = `${"[".repeat(5_000)}${"]".repeat(5_000)}`;
    provider.contents.set("file-out", `${answerLine("a")}nonsense\n[1]\n{"custom_id":"d","response":${deep}}\n`);
    Object.assign(provider.batch, { status: "completed", output_file_id: "file-out" });
    const lines = ["a", "b", "c", "d"].map((id) => `${line(id)}\n`).join("");
    const batch = await waitForBatch(gateway, (await begin(provider, gateway, {}, lines)).id);
    const codes = (await readResults(gateway, batch.error_file_id)).map(({ error }) => error?.code);
    assert.deepEqual(codes, ["unreadable_row", "unreadable_row", "unreadable_row"]);
  });
});

test("a batch that waits for its provider does not count as a running one", async () => {
  await withProvider(
    async (provider, gateway) => {
      const waiting: string[] = [];
      for (let index = 0; index < 3; index++) waiting.push((await begin(provider, gateway)).id);
      for (const id of waiting) {
        await waitForBatch(gateway, id, ({ provider_batch_id: made }) => made === "batch_1");
      }
      const batch = await waitForBatch(gateway, (await runLines(gateway, chatLine("a"))).id);
      assert.equal(batch.status, "completed");
    },
    { batches: { ...quick.batches, atOnce: 1, statusCheckMs: 3_600_000 } },
  );
});

test("a provider that never returns its batch is given up a day after the batch's end", async () => {
  const clock = createTestClock();
  await withProvider(
    async (provider, gateway) => {
      provider.batch.status = "in_progress";
      const begun = await begin(provider, gateway);
      await waitForBatch(gateway, begun.id, isAt("in_progress"));
      provider.onRequest = (one) => {
        if (one === "GET /v1/batches/batch_1") provider.next.set(one, [[503, { error: { message: "gone" } }]]);
      };
      clock.advance(25 * 3_600_000);
      const waiting = await waitForBatch(gateway, begun.id, ({ errors }) => errors !== null);
      assert.equal(waiting.status, "in_progress");
      clock.advance(24 * 3_600_000);
      const batch = await waitForBatch(gateway, begun.id);
      assert.equal(batch.status, "failed");
      assert.match(batch.errors?.data[0]?.message ?? "", /answered 503: gone$/);
    },
    { clock },
  );
});

test("batches of another workspace are not found, nor can they be cancelled", async () => {
  const otherKey = "other-workspace-key-0000000";
  await withProvider(
    async (provider, gateway) => {
      await insertTenant(await gateway.openFile(), otherKey);
      const begun = await begin(provider, gateway);
      await waitForBatch(gateway, begun.id, ({ provider_batch_id: id }) => id === "batch_1");
      const path = `/v1/batches/${begun.id}`;
      for (const [method, suffix] of [
        ["GET", "?include_provider_details=true"],
        ["POST", "/cancel"],
      ] as const) {
        assert.equal((await sendOwn(gateway, path + suffix, { method, key: otherKey })).status, 404);
      }
      assert.equal(countOf(provider, "POST /v1/batches/batch_1/cancel"), 0);
    },
    { inFile: true },
  );
});

test("the batch of a revoked key fails", async () => {
  await withProvider(
    async (provider, gateway) => {
      const begun = await begin(provider, gateway);
      await waitForBatch(gateway, begun.id, ({ provider_batch_id: id }) => id === "batch_1");
      const database = await gateway.openFile();
      await database.write(["UPDATE api_keys SET status = 'revoked' WHERE kind = 'workspace-service'"]);
      const read = { sql: "SELECT status, errors FROM gateway_batches WHERE id = ?", args: [begun.id] };
      const until = performance.now() + 10_000;
      let row = (await database.read(read)).rows[0];
      while (row?.status !== "failed" && performance.now() < until) {
        await new Promise((resolve) => setTimeout(resolve, 10));
        row = (await database.read(read)).rows[0];
      }
      assert.match(String(row?.errors), /invalid_api_key/);
    },
    { inFile: true },
  );
});
