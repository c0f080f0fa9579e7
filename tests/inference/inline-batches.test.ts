import assert from "node:assert/strict";
import { test } from "node:test";
import { chatLine, finishLines } from "../support/batches.ts";
import { createTestGateway } from "../support/gateway.ts";
import { startRecordingUpstream } from "../support/upstream.ts";

const model = "claude-3-5-haiku-20241022";
const made = {
  id: "msgbatch_1",
  type: "message_batch",
  created_at: "2026-01-01T00:00:00Z",
  results_url: null,
  processing_status: "in_progress",
};
const message = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model,
  stop_reason: "end_turn",
  content: [{ type: "text", text: "Hi" }],
  usage: { input_tokens: 1_000, output_tokens: 100 },
};
const results = [
  { custom_id: "a", result: { type: "succeeded", message } },
  {
    custom_id: "b",
    result: { type: "errored", error: { type: "error", error: { type: "invalid_request_error", message: "no" } } },
  },
  { custom_id: "c", result: { type: "expired" } },
  { custom_id: "d", result: { type: "succeeded", message: { content: 1 } } },
];

/** Runs lines at a host that speaks Anthropic's API. */
async function runClaude(lines: readonly string[], ofCreation: readonly [number, object] = [200, made]) {
  const ended = { ...made, processing_status: "ended", results_url: "https://api.anthropic.com/v1/results" };
  const counts = { processing: 0, succeeded: 2, errored: 1, canceled: 0, expired: 1 };
  const upstream = await startRecordingUpstream(({ method, path }, response) => {
    const answers: Record<string, readonly [number, unknown]> = {
      "POST /v1/messages/batches": ofCreation,
      "GET /v1/messages/batches/msgbatch_1": [200, { ...ended, request_counts: counts }],
      "GET /v1/messages/batches/msgbatch_1/results": [200, results.map((row) => JSON.stringify(row)).join("\n")],
      "POST /v1/messages": [200, message],
    };
    const [status, body] = answers[`${method} ${path}`] ?? [404, {}];
    response.writeHead(status, { "content-type": "application/json" });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  });
  const gateway = await createTestGateway({ batches: { pauseMs: 0, lookEveryMs: 5, statusCheckMs: 1 } });
  try {
    const options = {
      "x-gateway-provider": "anthropic",
      "x-gateway-custom-host": `${upstream.url}/v1`,
      authorization: "Bearer upstream-credential",
    };
    const batchOptions = { completion_window: "24h", gateway_options: options };
    return { ...(await finishLines(gateway, lines.join("\n"), batchOptions)), requests: upstream.requests };
  } finally {
    await gateway.close();
    await upstream.close();
  }
}

const line = (id: string, body: Record<string, unknown> = {}) => chatLine(id, `text of ${id}`, { model, ...body });
const file = [{ type: "file", file: { file_id: "file_1" } }];

test("chats become a message batch whose requests are in the call that creates it", async () => {
  const lines = [
    line("a", { max_tokens: 5, stop: "x" }),
    line("b"),
    line("c", { messages: [{ role: "user", content: file }] }),
    line("d"),
  ];
  const { batch, output, errors, requests } = await runClaude(lines);
  assert.deepEqual([batch.status, batch.provider, batch.provider_batch_id], ["completed", "anthropic", "msgbatch_1"]);
  const [first] = requests;
  assert.equal(first?.headers["x-api-key"], "upstream-credential");
  // the call has the headers that one of its requests needs
  assert.equal(first?.headers["anthropic-beta"], "files-api-2025-04-14");
  const sent = JSON.parse(first?.text ?? "");
  assert.deepEqual(Object.keys(sent), ["requests"]);
  assert.deepEqual(sent.requests[0], {
    custom_id: "a",
    params: {
      model,
      max_tokens: 5,
      stop_sequences: ["x"],
      messages: [{ role: "user", content: sent.requests[0].params.messages[0].content }],
    },
  });
  assert.deepEqual(batch.request_counts, { total: 4, completed: 1, failed: 3 });
  const [answered] = output;
  assert.equal(answered?.custom_id, "a");
  assert.deepEqual([answered?.response?.request_id, answered?.response?.body.object], ["msg_1", "chat.completion"]);
  assert.match(answered?.id ?? "", /^batch_req_/);
  assert.deepEqual(
    errors.map(({ custom_id: id, error }) => [id, error?.code]),
    [
      ["b", "invalid_request_error"],
      ["c", "batch_expired"],
      ["", "unreadable_row"],
    ],
  );
  // 1,000 tokens at 400 nano-dollars and 100 at 2,000
  assert.equal(batch.cost, 600_000 / 1e7);
});

for (const [what, lines] of [
  ["a line that cannot be converted", [line("a"), line("b", { n: 2 })]],
  ["a custom_id of other signs", [line("a b")]],
  [
    "more than one call takes",
    [line("a", { padding: "x".repeat(7 * 2 ** 20) }), line("b", { padding: "x".repeat(2 ** 20) })],
  ],
] as const) {
  test(`chats are called one by one for ${what}`, async () => {
    const { batch, requests } = await runClaude(lines);
    assert.deepEqual([batch.status, batch.provider], ["completed", undefined]);
    assert.ok(requests.every(({ path }) => path === "/v1/messages"));
  });
}

test("chats are called one by one at a host without message batches", async () => {
  const { batch } = await runClaude([line("a")], [404, { error: { message: "no such route" } }]);
  assert.deepEqual([batch.provider, batch.request_counts], [undefined, { total: 1, completed: 1, failed: 0 }]);
});

test("a refused message batch fails with the provider's error", async () => {
  const refusal = { type: "error", error: { type: "invalid_request_error", message: "too many" } };
  const { batch } = await runClaude([line("a")], [400, refusal]);
  assert.equal(batch.status, "failed");
  assert.match(batch.errors?.data[0]?.message ?? "", /^Cannot make the batch: anthropic answered 400: .*too many$/);
});
