import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { mintApiKey } from "../../src/auth/api-key.ts";
import { openDatabase } from "../../src/db/client.ts";
import type { BatchList, BatchObject } from "../../src/schemas/batches.ts";
import type { FileObject } from "../../src/schemas/files.ts";
import {
  chatLine,
  chatLines,
  createBatch,
  readResults,
  runLines,
  sendOwn,
  upload,
  waitForBatch,
} from "../support/batches.ts";
import { call, done } from "../support/control.ts";
import {
  createTemporaryFolder,
  createTestClock,
  createTestGateway,
  insertKey,
  insertTenant,
  readJson,
  type TestGateway,
  type TestGatewayOptions,
  waitForLogs,
} from "../support/gateway.ts";
import { eventually, type ReceivedRequest, startRecordingUpstream, startServer } from "../support/upstream.ts";

const noPause = { batches: { pauseMs: 0 } };
const longPause = { batches: { pauseMs: 3_600_000 } };

async function withGateway(options: TestGatewayOptions, run: (gateway: TestGateway) => Promise<void>): Promise<void> {
  const gateway = await createTestGateway(options);
  try {
    await run(gateway);
    assert.deepEqual(gateway.warnings, []);
  } finally {
    await gateway.close();
  }
}

/** A promise and the function that fulfils it. */
function createGate(): { opened: Promise<void>; open(): void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}

/** An upstream's response to a chat. */
const answer = {
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12, prompt_tokens_details: { cached_tokens: 4 } },
};

/** The text of a line. */
function sentText({ text }: ReceivedRequest): string {
  return JSON.parse(text).messages[0].content;
}

/** An upstream whose responses a test decides, and the options of batches that call it. */
async function startUpstream(statusOf: (request: ReceivedRequest, calls: number) => number | Promise<number>) {
  let calls = 0;
  const upstream = await startRecordingUpstream(async (request, response) => {
    const status = await statusOf(request, ++calls);
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(status === 200 ? answer : { error: { message: "no", code: "refused" } }));
  });
  const gatewayOptions = {
    "x-gateway-provider": "openai",
    "x-gateway-custom-host": `${upstream.url}/v1`,
    authorization: "Bearer upstream-credential",
  };
  return { upstream, gatewayOptions };
}

test("a batch runs every line and reports its cost", async () => {
  const { upstream, gatewayOptions } = await startUpstream(() => 200);
  try {
    await withGateway(noPause, async (gateway) => {
      const metadata = { team: "blue" };
      const begun = await runLines(gateway, chatLines(60), { gateway_options: gatewayOptions, metadata });
      assert.match(begun.id, /^gw_batch_[0-9a-f-]{36}$/);
      assert.equal(begun.status, "validating");
      assert.equal(begun.output_file_id, null);
      const batch = await waitForBatch(gateway, begun.id);
      assert.equal(batch.status, "completed");
      assert.deepEqual(batch.request_counts, { total: 60, completed: 60, failed: 0 });
      assert.deepEqual(batch.metadata, metadata);
      assert.equal(batch.error_file_id, null);
      assert.ok(batch.in_progress_at && batch.finalizing_at && batch.completed_at);
      assert.deepEqual(batch.usage, {
        input_tokens: 600,
        input_tokens_details: { cached_tokens: 240 },
        output_tokens: 120,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: 720,
      });
      const results = await readResults(gateway, batch.output_file_id);
      assert.deepEqual(
        results.map((line) => line.custom_id),
        Array.from({ length: 60 }, (_, index) => `line-${index}`),
      );
      for (const { response, error } of results) {
        assert.equal(error, null);
        assert.deepEqual(response?.body, answer);
        assert.match(response?.request_id ?? "", /^[0-9A-Z]{26}$/);
      }
      assert.equal(new Set(results.map(({ id }) => id)).size, 60);
      assert.equal(upstream.requests.length, 60);
      const [request] = upstream.requests;
      assert.equal(request?.headers.authorization, "Bearer upstream-credential");
      const rows = await waitForLogs(gateway, `trace_id=${batch.id}&limit=100`, 60);
      assert.ok(rows.every(({ operation, status }) => operation === "chat" && status === 200));
      const output = await sendOwn(gateway, `/v1/batches/${batch.id}/output`);
      assert.equal(output.headers.get("content-type"), "application/octet-stream");
      assert.equal(
        await output.text(),
        await (await sendOwn(gateway, `/v1/files/${batch.output_file_id}/content`)).text(),
      );
    });
  } finally {
    await upstream.close();
  }
});

/** Lines that name a model. */
const linesOf = (model: string, count: number): string =>
  Array.from({ length: count }, (_, index) => `${chatLine(`line-${index}`, undefined, { model })}\n`).join("");

test("a batch costs the sum of its lines, to the nano-dollar", async () => {
  // every line is called twice: only successful responses cost
  const { upstream, gatewayOptions } = await startUpstream((_, calls) => (calls === 1 ? 503 : 200));
  const config = { retry: { attempts: 1, on_status_codes: [503] } };
  const options = { ...gatewayOptions, "x-gateway-config": JSON.stringify(config) };
  try {
    await withGateway(noPause, async (gateway) => {
      const begun = await runLines(gateway, linesOf("gpt-4o", 30), { gateway_options: options });
      const batch = await waitForBatch(gateway, begun.id);
      assert.deepEqual(batch.request_counts, { total: 30, completed: 30, failed: 0 });
      // 6 tokens at 2,500 nano-dollars, 4 from a cache at 1,250 and 2 of output at 10,000
      const ofLine = 40_000;
      assert.deepEqual([batch.cost, batch.cost_currency], [(30 * ofLine) / 1e7, "USD"]);
      const rows = await waitForLogs(gateway, `trace_id=${batch.id}&limit=100`, 30);
      assert.deepEqual([...new Set(rows.map(({ cost }) => cost))], [ofLine / 1e7]);
    });
  } finally {
    await upstream.close();
  }
});

test("a batch of a model without a price has an unknown cost", async () => {
  const { upstream, gatewayOptions } = await startUpstream((request) =>
    sentText(request) === "text of line-1" ? 422 : 200,
  );
  try {
    await withGateway(noPause, async (gateway) => {
      const unknown = await runLines(gateway, linesOf("no-such-model", 2), { gateway_options: gatewayOptions });
      assert.equal((await waitForBatch(gateway, unknown.id)).cost, null);
      const free = await runLines(gateway, chatLines(2));
      assert.equal((await waitForBatch(gateway, free.id)).cost, 0);
    });
  } finally {
    await upstream.close();
  }
});

test("failed lines are in the error file, with the provider's message", async () => {
  const { upstream, gatewayOptions } = await startUpstream((request) => (sentText(request) === "bad" ? 422 : 200));
  try {
    await withGateway(noPause, async (gateway) => {
      const lines = [chatLine("a"), chatLine("b", "bad"), "", chatLine("c", "x", { stream: true }), chatLine("d")];
      const begun = await runLines(gateway, lines.join("\r\n"), { gateway_options: gatewayOptions });
      const batch = await waitForBatch(gateway, begun.id);
      assert.deepEqual(batch.request_counts, { total: 4, completed: 2, failed: 2 });
      const good = await readResults(gateway, batch.output_file_id);
      assert.deepEqual(
        good.map((line) => line.custom_id),
        ["a", "d"],
      );
      const [refused, streamed] = await readResults(gateway, batch.error_file_id);
      assert.equal(refused?.custom_id, "b");
      assert.equal(refused?.response?.status_code, 422);
      assert.equal(refused?.error?.code, "refused");
      assert.equal(streamed?.response, null);
      assert.equal(streamed?.error?.code, "streaming_not_supported");
    });
  } finally {
    await upstream.close();
  }
});

test("a line with a temporary failure is called three times, or as a config says", async () => {
  for (const [config, calls] of [
    [undefined, 3],
    ['{"retry":{"attempts":1,"on_status_codes":[429]}}', 2],
  ] as const) {
    const { upstream, gatewayOptions } = await startUpstream(() => 429);
    try {
      await withGateway(noPause, async (gateway) => {
        const options = config === undefined ? gatewayOptions : { ...gatewayOptions, "x-gateway-config": config };
        const begun = await runLines(gateway, chatLine("a"), { gateway_options: options });
        const batch = await waitForBatch(gateway, begun.id);
        assert.deepEqual(batch.request_counts, { total: 1, completed: 0, failed: 1 });
        assert.equal(upstream.requests.length, calls);
        assert.equal(batch.output_file_id, null);
        const shown = await (await sendOwn(gateway, `/v1/batches/${batch.id}/output`)).text();
        assert.equal(JSON.parse(shown).response.status_code, 429);
      });
    } finally {
      await upstream.close();
    }
  }
});

test("a bucket has 25 lines, and a cancelled batch preserves its results", async () => {
  const { upstream, gatewayOptions } = await startUpstream(() => 200);
  try {
    await withGateway(longPause, async (gateway) => {
      const begun = await runLines(gateway, chatLines(60), { gateway_options: gatewayOptions });
      const early = await sendOwn(gateway, `/v1/batches/${begun.id}/output`);
      assert.equal(early.status, 409);
      assert.equal((await readJson<{ error: { code: string } }>(early)).error.code, "batch_not_ready");
      await waitForBatch(gateway, begun.id, ({ request_counts: counts }) => counts?.completed === 25);
      assert.equal(upstream.requests.length, 25);
      const cancelled = await sendOwn(gateway, `/v1/batches/${begun.id}/cancel`, { method: "POST" });
      assert.match((await readJson<BatchObject>(cancelled)).status, /^cancell(?:ing|ed)$/);
      const batch = await waitForBatch(gateway, begun.id);
      assert.equal(batch.status, "cancelled");
      assert.ok(batch.cancelling_at && batch.cancelled_at && !batch.completed_at);
      assert.deepEqual(batch.request_counts, { total: 60, completed: 25, failed: 0 });
      assert.equal((await readResults(gateway, batch.output_file_id)).length, 25);
      assert.equal(upstream.requests.length, 25);
      const again = await sendOwn(gateway, `/v1/batches/${begun.id}/cancel`, { method: "POST" });
      assert.equal((await readJson<BatchObject>(again)).status, "cancelled");
    });
  } finally {
    await upstream.close();
  }
});

test("cancelling while lines are called preserves their results", async () => {
  const gate = createGate();
  const { upstream, gatewayOptions } = await startUpstream(async () => {
    await gate.opened;
    return 200;
  });
  try {
    await withGateway(noPause, async (gateway) => {
      const begun = await runLines(gateway, chatLines(40), { gateway_options: gatewayOptions });
      await waitForBatch(gateway, begun.id, () => upstream.requests.length === 25);
      const cancelled = await sendOwn(gateway, `/v1/batches/${begun.id}/cancel`, { method: "POST" });
      assert.equal((await readJson<BatchObject>(cancelled)).status, "cancelling");
      gate.open();
      const batch = await waitForBatch(gateway, begun.id);
      assert.equal(batch.status, "cancelled");
      assert.deepEqual(batch.request_counts, { total: 40, completed: 25, failed: 0 });
    });
  } finally {
    gate.open();
    await upstream.close();
  }
});

test("POST /v1/batches/{id}/cancel refuses a batch that is over", async () => {
  await withGateway(noPause, async (gateway) => {
    const begun = await runLines(gateway, chatLines(1));
    await waitForBatch(gateway, begun.id);
    const response = await sendOwn(gateway, `/v1/batches/${begun.id}/cancel`, { method: "POST" });
    assert.equal(response.status, 409);
  });
});

for (const [what, lines, wanted, endpoint] of [
  ["a line that is no JSON", [chatLine("a"), "{", chatLine("b")], [["invalid_json_line", 2]]],
  ["a line that is no object", [chatLine("a"), "[1]"], [["invalid_request_line", 2]]],
  ["a line without custom_id", ['{"body":{}}'], [["invalid_request_line", 1]]],
  ["a line without body", [chatLine("a"), "", '{"custom_id":"b"}'], [["invalid_request_line", 3]]],
  ["another method", ['{"custom_id":"a","method":"GET","body":{}}'], [["invalid_request_line", 1]]],
  ["another route", ['{"custom_id":"a","url":"/v1/admin/users","body":{}}'], [["invalid_url", 1]]],
  ["a custom_id that stands twice", [chatLine("a"), chatLine("b"), chatLine("a")], [["duplicate_custom_id", 3]]],
  [
    "several of these",
    ["{}", chatLine("a"), "}"],
    [
      ["invalid_request_line", 1],
      ["invalid_json_line", 3],
    ],
  ],
  ["an endpoint that is none", [chatLine("a")], [["invalid_endpoint", null]], "/v1/batches"],
] as const) {
  test(`a batch fails for ${what} and names the lines`, async () => {
    await withGateway(noPause, async (gateway) => {
      const text = [...lines, "{}"].slice(0, lines.length).join("\n");
      const begun = await runLines(gateway, text, endpoint === undefined ? {} : { endpoint });
      const batch = await waitForBatch(gateway, begun.id);
      assert.equal(batch.status, "failed");
      assert.ok(batch.failed_at);
      assert.deepEqual(
        batch.errors?.data.map(({ code, line }) => [code, line]),
        wanted,
      );
      const output = await sendOwn(gateway, `/v1/batches/${batch.id}/output`);
      assert.equal(output.status, 200);
      assert.deepEqual(await readJson(output), batch.errors);
      const files = await readJson<{ data: FileObject[] }>(await sendOwn(gateway, "/v1/files?purpose=batch_output"));
      assert.deepEqual(files.data, []);
    });
  });
}

test("a line without model or url has those of the batch", async () => {
  await withGateway(noPause, async (gateway) => {
    const lines = [
      JSON.stringify({ custom_id: "chat", body: { messages: [{ role: "user", content: "x" }] } }),
      JSON.stringify({ custom_id: "embed", url: "/v1/embeddings", body: { model: "echo-2", input: "x" } }),
    ];
    const begun = await runLines(gateway, lines.join("\n"), { model: "echo-1" });
    const batch = await waitForBatch(gateway, begun.id);
    const results = await readResults(gateway, batch.output_file_id);
    assert.deepEqual(
      results.map(({ response }) => [response?.body.object, response?.body.model]),
      [
        ["chat.completion", "echo-1"],
        ["list", "echo-2"],
      ],
    );
  });
});

for (const [what, body, status] of [
  ["no input", { input_file_id: undefined }, 400],
  ["an unknown input", { input_file_id: "gw_file_x" }, 404],
  ["another window", { completion_window: "1h" }, 400],
  ["no endpoint", { endpoint: undefined }, 400],
  ["17 facts", { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`m${index}`, "x"])) }, 400],
  ["the key among the options", { gateway_options: { "x-gateway-api-key": "x" } }, 400],
  ["a header of another kind", { gateway_options: { cookie: "x" } }, 400],
  ["a header that is none", { gateway_options: { "x-gateway-provider": "a\r\nb: c" } }, 400],
  ["an expiry that is too short", { output_expires_after: { anchor: "created_at", seconds: 1 } }, 400],
] as const) {
  test(`POST /v1/batches refuses ${what}`, async () => {
    await withGateway(noPause, async (gateway) => {
      const file = await readJson<FileObject>(await upload(gateway, chatLines(1)));
      const response = await createBatch(gateway, { input_file_id: file.id, ...body });
      assert.equal(response.status, status, await response.text());
    });
  });
}

test("POST /v1/batches refuses a file with another purpose", async () => {
  await withGateway(noPause, async (gateway) => {
    const file = await readJson<FileObject>(await upload(gateway, chatLines(1), { purpose: "fine-tune" }));
    assert.equal((await createBatch(gateway, { input_file_id: file.id })).status, 400);
  });
});

test("batches of another workspace are not found, nor its files as input", async () => {
  const otherKey = "other-workspace-key-0000000";
  await withGateway({ inFile: true, ...noPause }, async (gateway) => {
    await insertTenant(await gateway.openFile(), otherKey);
    const begun = await runLines(gateway, chatLines(1));
    const batch = await waitForBatch(gateway, begun.id);
    const unknown = "gw_batch_00000000-0000-4000-8000-000000000000";
    for (const [method, suffix] of [
      ["GET", ""],
      ["GET", "/output"],
      ["POST", "/cancel"],
    ] as const) {
      const [foreign, missing] = await Promise.all(
        [batch.id, unknown].map(async (id) => {
          const response = await sendOwn(gateway, `/v1/batches/${id}${suffix}`, { method, key: otherKey });
          return [response.status, await response.text()];
        }),
      );
      assert.equal(foreign?.[0], 404);
      assert.deepEqual(foreign, missing);
    }
    const listed = await readJson<BatchList>(await sendOwn(gateway, "/v1/batches", { key: otherKey }));
    assert.deepEqual(listed.data, []);
    const made = await createBatch(gateway, { input_file_id: batch.input_file_id }, otherKey);
    assert.equal(made.status, 404);
  });
});

test("GET /v1/batches returns pages", async () => {
  const clock = createTestClock();
  await withGateway({ clock, ...noPause }, async (gateway) => {
    const ids: string[] = [];
    for (let index = 0; index < 3; index++) {
      ids.unshift((await runLines(gateway, chatLines(1))).id);
      clock.advance(1_000);
    }
    const first = await readJson<BatchList>(await sendOwn(gateway, "/v1/batches?limit=2"));
    assert.deepEqual([first.data.map(({ id }) => id), first.has_more], [ids.slice(0, 2), true]);
    const second = await readJson<BatchList>(await sendOwn(gateway, `/v1/batches?limit=2&after=${first.last_id}`));
    assert.deepEqual([second.data.map(({ id }) => id), second.has_more], [ids.slice(2), false]);
    assert.equal((await sendOwn(gateway, "/v1/batches?limit=101")).status, 400);
    for (const id of ids) await waitForBatch(gateway, id);
  });
});

/** Runs 30 lines; while the first 25 of them are called, `happen` runs. */
async function disturb(
  options: TestGatewayOptions,
  happen: (gateway: TestGateway, batch: BatchObject) => unknown,
  check: (gateway: TestGateway, batch: BatchObject) => Promise<void>,
): Promise<void> {
  const gate = createGate();
  const { upstream, gatewayOptions } = await startUpstream(async () => {
    await gate.opened;
    return 200;
  });
  try {
    await withGateway({ ...noPause, ...options }, async (gateway) => {
      const begun = await runLines(gateway, chatLines(30), { gateway_options: gatewayOptions });
      await waitForBatch(gateway, begun.id, () => upstream.requests.length === 25);
      await happen(gateway, begun);
      gate.open();
      await check(gateway, begun);
      assert.equal(upstream.requests.length, 25);
    });
  } finally {
    gate.open();
    await upstream.close();
  }
}

test("a batch expires after 24 hours, and its remaining lines are in the error file", async () => {
  const clock = createTestClock();
  await disturb(
    { clock },
    () => clock.advance(24 * 3_600_000),
    async (gateway, { id }) => {
      const batch = await waitForBatch(gateway, id);
      assert.equal(batch.status, "expired");
      assert.ok(batch.expired_at);
      assert.deepEqual(batch.request_counts, { total: 30, completed: 25, failed: 5 });
      const left = await readResults(gateway, batch.error_file_id);
      assert.ok(left.every(({ error, response }) => error?.code === "batch_expired" && response === null));
    },
  );
});

test("the lines of a revoked key fail without a call", async () => {
  await disturb(
    { inFile: true },
    async (gateway) => {
      const database = await gateway.openFile();
      await database.write(["UPDATE api_keys SET status = 'revoked' WHERE kind = 'workspace-service'"]);
    },
    async (gateway, { id }) => {
      const database = await gateway.openFile();
      const until = performance.now() + 10_000;
      const read = { sql: "SELECT status, completed, failed FROM gateway_batches WHERE id = ?", args: [id] };
      let row = (await database.read(read)).rows[0];
      while (row?.status !== "completed" && performance.now() < until) {
        await new Promise((resolve) => setTimeout(resolve, 10));
        row = (await database.read(read)).rows[0];
      }
      assert.deepEqual([row?.completed, row?.failed], [25, 5]);
    },
  );
});

test("a batch whose input was deleted fails, reports it and preserves its results", async () => {
  await disturb(
    {},
    (gateway, { input_file_id: id }) => sendOwn(gateway, `/v1/files/${id}`, { method: "DELETE" }),
    async (gateway, { id }) => {
      const batch = await waitForBatch(gateway, id);
      assert.equal(batch.status, "failed");
      assert.equal(batch.errors?.data[0]?.code, "input_file_gone");
      assert.equal((await readResults(gateway, batch.output_file_id)).length, 25);
    },
  );
});

test("headers and input of a batch are stored encrypted", async () => {
  await withGateway({ inFile: true, ...noPause }, async (gateway) => {
    const options = { "x-gateway-provider": "echo", authorization: "Bearer very-secret-credential" };
    const begun = await runLines(gateway, chatLine("a", "very-secret-text"), { gateway_options: options });
    const database = await gateway.openFile();
    const stored = await database.read("SELECT * FROM gateway_batches");
    assert.ok(!JSON.stringify(stored.rows).includes("very-secret"));
    await waitForBatch(gateway, begun.id);
    const { rows } = await database.read("SELECT count(*) AS left FROM secrets WHERE kind = 'batches'");
    assert.equal(rows[0]?.left, 0);
  });
});

test("a batch continues in the next process, and every line is called once", async () => {
  const folder = createTemporaryFolder();
  const database = `file:${join(folder.path, "gateway.db")}`;
  const { upstream, gatewayOptions } = await startUpstream(() => 200);
  try {
    const first = await createTestGateway({ database, ...longPause });
    const begun = await runLines(first, chatLines(60), { gateway_options: gatewayOptions });
    await waitForBatch(first, begun.id, ({ request_counts: counts }) => counts?.completed === 25);
    await first.close();
    const second = await createTestGateway({ database, ...noPause });
    const batch = await waitForBatch(second, begun.id);
    assert.deepEqual(batch.request_counts, { total: 60, completed: 60, failed: 0 });
    const ids = (await readResults(second, batch.output_file_id)).map((line) => line.custom_id);
    assert.deepEqual(
      ids,
      Array.from({ length: 60 }, (_, index) => `line-${index}`),
    );
    assert.deepEqual(
      upstream.requests.map(sentText).sort(),
      Array.from({ length: 60 }, (_, index) => `text of line-${index}`).sort(),
    );
    await second.close();
  } finally {
    await upstream.close();
    folder.remove();
  }
});

test("a gateway that closes lets calls end and stores their results", async () => {
  const folder = createTemporaryFolder();
  const database = `file:${join(folder.path, "gateway.db")}`;
  const gate = createGate();
  const { upstream, gatewayOptions } = await startUpstream(async () => {
    await gate.opened;
    return 200;
  });
  try {
    const first = await createTestGateway({ database, ...noPause });
    const begun = await runLines(first, chatLines(30), { gateway_options: gatewayOptions });
    await waitForBatch(first, begun.id, () => upstream.requests.length === 25);
    const closed = first.close();
    gate.open();
    await closed;
    assert.equal(upstream.requests.length, 25);
    const second = await createTestGateway({ database, ...noPause });
    await waitForBatch(second, begun.id);
    assert.equal(upstream.requests.length, 30);
    await second.close();
  } finally {
    gate.open();
    await upstream.close();
    folder.remove();
  }
});

test("two gateways on one database do not run a batch twice", async () => {
  const folder = createTemporaryFolder();
  const database = `file:${join(folder.path, "gateway.db")}`;
  const { upstream, gatewayOptions } = await startUpstream(() => 200);
  const settings = { database, batches: { pauseMs: 0, lookEveryMs: 1 } };
  const gateways = [await createTestGateway(settings), await createTestGateway(settings)] as const;
  try {
    const begun = await Promise.all(
      [0, 1, 2, 3].map((index) =>
        runLines(gateways[index % 2 === 0 ? 0 : 1], chatLines(30), { gateway_options: gatewayOptions }),
      ),
    );
    for (const { id } of begun) {
      const batch = await waitForBatch(gateways[0], id);
      assert.deepEqual(batch.request_counts, { total: 30, completed: 30, failed: 0 });
      assert.equal((await readResults(gateways[1], batch.output_file_id)).length, 30);
    }
    assert.equal(upstream.requests.length, 120);
  } finally {
    for (const gateway of gateways) await gateway.close();
    await upstream.close();
    folder.remove();
  }
});

test("a batch whose runner vanished is continued by another one when its lease is over", async () => {
  const clock = createTestClock();
  const folder = createTemporaryFolder();
  const url = `file:${join(folder.path, "gateway.db")}`;
  try {
    const gateway = await createTestGateway({ database: url, clock, batches: { pauseMs: 0, lookEveryMs: 1 } });
    const held = await openDatabase({ url });
    // as if another process held it
    await held.write([
      "CREATE TRIGGER hold AFTER INSERT ON gateway_batches BEGIN UPDATE gateway_batches SET lease_owner = 'gone', lease_until = new.created_at + 60000 WHERE id = new.id; END",
    ]);
    const begun = await runLines(gateway, chatLines(2));
    clock.advance(59_000);
    const { status } = await readJson<BatchObject>(await sendOwn(gateway, `/v1/batches/${begun.id}`));
    assert.equal(status, "validating");
    clock.advance(2_000);
    assert.equal((await waitForBatch(gateway, begun.id)).status, "completed");
    await held.close();
    await gateway.close();
  } finally {
    folder.remove();
  }
});

test("a process runs a limited number of batches at once, half of them for one organisation", async () => {
  let running = 0;
  let most = 0;
  const gate = createGate();
  const { upstream, gatewayOptions } = await startUpstream(async () => {
    most = Math.max(most, ++running);
    await gate.opened;
    running--;
    return 200;
  });
  try {
    await withGateway({ batches: { pauseMs: 0, atOnce: 4 } }, async (gateway) => {
      const begun = [];
      for (let index = 0; index < 5; index++) {
        begun.push(await runLines(gateway, chatLine(`a${index}`), { gateway_options: gatewayOptions }));
      }
      await eventually(() => running === 2, "two lines are called");
      gate.open();
      for (const { id } of begun) await waitForBatch(gateway, id);
      assert.equal(most, 2);
    });
  } finally {
    gate.open();
    await upstream.close();
  }
});

test("a batch ends with its workspace: its calls are aborted, its rows and secrets are deleted", async () => {
  let ended = 0;
  const upstream = await startServer((request, response) => {
    request.resume();
    response.on("close", () => void ended++);
  });
  try {
    await withGateway({ ...noPause, inFile: true }, async (gateway) => {
      const { id } = await done(call<{ id: string }>(gateway, "POST /admin/workspaces", { body: { name: "Brief" } }));
      const database = await gateway.openFile();
      const { key } = mintApiKey("gk");
      await insertKey(database, key, { workspaceId: id });
      const gatewayOptions = {
        "x-gateway-provider": "openai",
        authorization: "Bearer upstream-credential",
        "x-gateway-custom-host": `${upstream.url}/v1`,
      };
      const file = await readJson<FileObject>(await upload(gateway, chatLines(3), { key }));
      await createBatch(gateway, { input_file_id: file.id, gateway_options: gatewayOptions }, key);
      await eventually(() => upstream.connections === 3, "calls of the batch");
      await done(call(gateway, `DELETE /admin/workspaces/${id}`, { body: { name: "Brief", force_delete: true } }));
      await eventually(() => ended === 3, "ended calls");
      for (const table of ["gateway_batches", "secrets"]) {
        const { rows } = await database.read(`SELECT count(*) AS count FROM ${table}`);
        assert.equal(rows[0]?.count, 0, table);
      }
    });
  } finally {
    await upstream.close();
  }
});
