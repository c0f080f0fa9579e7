import assert from "node:assert/strict";
import { test } from "node:test";
import { waitForLogs } from "../support/gateway.ts";
import { becomes, createKey, json, usedBy, withGateway } from "../support/limited.ts";

/** The time of the gateways. */
const now = Date.UTC(2026, 0, 15, 12);
const budget = { usage_limits: { type: "cost", credit_limit: 100 } };

/** A batch of OpenAI's that has ended, with what its results used at gpt-4o. */
const batchOf = (changes: object = {}) => ({
  id: "batch_1",
  object: "batch",
  endpoint: "/v1/chat/completions",
  status: "completed",
  created_at: Math.floor(now / 1000) - 600,
  completed_at: Math.floor(now / 1000) - 60,
  model: "gpt-4o-2024-08-06",
  output_file_id: "file-1",
  request_counts: { total: 2, completed: 2, failed: 0 },
  usage: {
    input_tokens: 1_000,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 100,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 1_100,
  },
  ...changes,
});
/** Half of 2.50 and 10 dollars for a million tokens. */
const batchNanos = 1_000 * 1_250 + 100 * 5_000;

const claudeLine = (tokens: number) =>
  JSON.stringify({
    custom_id: `line-${tokens}`,
    result: {
      type: "succeeded",
      message: { model: "claude-sonnet-4-5-20250929", usage: { input_tokens: tokens, output_tokens: 10 } },
    },
  });

/** Responses of providers. */
function respond(url: string): Response {
  const answer = (body: object) => new Response(JSON.stringify(body), { headers: json });
  if (url.endsWith("/batches/batch_1")) return answer(batchOf());
  if (url.endsWith("/batches/batch_2")) return answer(batchOf({ id: "batch_2", status: "in_progress" }));
  const old = { completed_at: Math.floor(now / 1000) - 90_000 };
  if (url.endsWith("/batches/batch_3")) return answer(batchOf({ id: "batch_3", ...old }));
  if (url.endsWith("/messages/batches/msgbatch_1")) {
    const ended = new Date(now - 60_000).toISOString();
    const times = { created_at: ended, expires_at: ended, ended_at: ended };
    const results = "https://api.anthropic.com/v1/messages/batches/msgbatch_1/results";
    return answer({
      id: "msgbatch_1",
      type: "message_batch",
      processing_status: "ended",
      ...times,
      results_url: results,
    });
  }
  if (url.endsWith("/results")) return new Response(`${claudeLine(1_000)}\n${claudeLine(2_000)}`);
  return new Response("lines");
}

test("a batch that a caller made at its provider counts once, however often it is read", () =>
  withGateway(
    async ({ gateway }) => {
      const { id, key } = await createKey(gateway, budget);
      const read = async (path: string, provider = "openai") => {
        const response = await gateway.fetch(path, {
          headers: {
            "x-gateway-api-key": key,
            "x-gateway-provider": provider,
            authorization: "Bearer sk-obviously-fake",
          },
        });
        await response.text();
        return response.status;
      };
      const nanosOf = async () => Math.round((await usedBy(gateway, id)) * 1e9);
      for (const path of ["batch_2", "batch_3"]) assert.equal(await read(`/v1/batches/${path}`), 200);
      assert.equal(await nanosOf(), 0, "one that runs, and one that ended long ago");
      const reads = Array.from({ length: 5 }, () => read("/v1/batches/batch_1"));
      assert.deepEqual(new Set(await Promise.all(reads)), new Set([200]));
      assert.equal(await read("/v1/batches/batch_1/output"), 200);
      await becomes(nanosOf, (used) => used === batchNanos);
      // 3 dollars and 15 for a million tokens of Claude Sonnet 4.5, half of them for batches
      const claudeNanos = 3_000 * 1_500 + 20 * 7_500;
      for (let time = 0; time < 2; time++) {
        assert.equal(await read("/v1/batches/msgbatch_1", "anthropic"), 200);
        assert.equal(await read("/v1/batches/msgbatch_1/output", "anthropic"), 200);
      }
      await becomes(nanosOf, (used) => used === batchNanos + claudeNanos);
      const rows = (await waitForLogs(gateway, "limit=100", 13)).filter(
        ({ operation }) => operation === "collectBatch",
      );
      assert.deepEqual(
        rows.map(({ model, cost, provider }) => [provider, model, Math.round((cost ?? 0) * 1e7)]).toSorted(),
        [
          ["anthropic", "claude-sonnet-4-5-20250929", claudeNanos],
          ["openai", "gpt-4o-2024-08-06", batchNanos],
        ],
      );
    },
    { respond },
  ));

test("a batch that reports a sum has the price of short prompts, however large the sum is", () =>
  withGateway(
    async ({ gateway }) => {
      const { id, key } = await createKey(gateway, budget);
      const headers = { "x-gateway-api-key": key, "x-gateway-provider": "openai", authorization: "Bearer fake" };
      await (await gateway.fetch("/v1/batches/batch_long", { headers })).text();
      // half of 5 and 30 dollars for a million tokens of gpt-5.5; long prompts cost twice as much
      await becomes(
        async () => Math.round((await usedBy(gateway, id)) * 1e9),
        (used) => used === 400_000 * 2_500 + 40_000 * 15_000,
      );
    },
    {
      respond: () => {
        const counts = { total: 400, completed: 400, failed: 0 };
        const { usage: small } = batchOf();
        const usage = { ...small, input_tokens: 400_000, output_tokens: 40_000, total_tokens: 440_000 };
        const batch = batchOf({ id: "batch_long", model: "gpt-5.5", request_counts: counts, usage });
        return new Response(JSON.stringify(batch), { headers: json });
      },
    },
  ));

test("reading a record adds no tokens to a rate limit", () =>
  withGateway(
    async ({ gateway }) => {
      const limits = { rate_limits: [{ type: "tokens", unit: "rpd", value: 1_000 }] };
      const { key } = await createKey(gateway, limits);
      const headers = {
        "x-gateway-api-key": key,
        "x-gateway-provider": "openai",
        authorization: "Bearer sk-obviously-fake",
      };
      for (let time = 0; time < 3; time++) {
        const response = await gateway.fetch("/v1/batches/batch_2", { headers });
        await response.text();
        assert.equal(response.status, 200);
      }
    },
    { respond },
  ));
