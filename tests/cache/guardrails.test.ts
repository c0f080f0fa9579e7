import assert from "node:assert/strict";
import { test } from "node:test";
import { askChat, cachedHeaders, chatAnswer, question, saidIn, toJsonResponse, withCache } from "../support/cache.ts";
import { waitForLogs } from "../support/gateway.ts";
import { chatStream } from "../support/stored-streams.ts";

const contains = (words: string[], more: object = {}) => ({ "default.contains": { words, operator: "none" }, ...more });

test("output guardrails run on a stored response, and deny it", () =>
  withCache(
    async (stage) => {
      const config = (words: string[]) => ({
        cache: "simple",
        output_guardrails: [contains(words, { id: "words", deny: true })],
      });
      const fine = cachedHeaders(config(["never"]));
      assert.equal((await askChat(stage, fine)).cache, "MISS");
      const hit = await askChat(stage, fine);
      assert.deepEqual([hit.status, hit.cache], [200, "HIT"]);
      const { hook_results: results } = JSON.parse(hit.text);
      assert.equal(results.after_request_hooks.length, 1);
    },
    { respond: () => toJsonResponse(chatAnswer("secret")) },
  ));

test("a response that a guardrail denied or flagged is not stored", () =>
  withCache(
    async (stage) => {
      for (const [deny, status] of [
        [true, 446],
        [false, 246],
      ] as const) {
        const config = { cache: "simple", output_guardrails: [contains(["secret"], { id: `words-${status}`, deny })] };
        const before = stage.sent.length;
        for (let count = 0; count < 2; count++) {
          const came = await askChat(stage, cachedHeaders(config));
          assert.deepEqual([came.status, came.cache], [status, "MISS"]);
        }
        assert.equal(stage.sent.length, before + 2);
      }
    },
    { respond: () => toJsonResponse(chatAnswer("the secret")) },
  ));

test("a response to a request that an input guardrail flagged is not stored, and a stored one comes with 246", () =>
  withCache(async (stage) => {
    const headers = cachedHeaders({
      cache: "simple",
      input_guardrails: [contains(["cache"], { id: "words", deny: false })],
    });
    for (let count = 0; count < 2; count++) {
      const { status, cache } = await askChat(stage, headers);
      assert.deepEqual([status, cache], [246, "MISS"]);
    }
  }));

test("a request that an input guardrail denies does not reach the cache", () =>
  withCache(async (stage) => {
    const headers = cachedHeaders({ cache: "simple", input_guardrails: [contains(["cache"], { deny: true })] });
    const { status } = await askChat(stage, headers);
    assert.deepEqual([status, stage.sent.length], [446, 0]);
    const [row] = await waitForLogs(stage.gateway, "limit=1");
    assert.equal(Reflect.get(Object(row), "cache_status"), "DISABLED");
  }));

test("a guardrail that denies softly leaves nothing in the cache", () =>
  withCache(
    async (stage) => {
      const headers = cachedHeaders({
        cache: "simple",
        output_guardrails: [
          { "default.contains": { words: ["secret"], operator: "none", soft_deny_200: true }, deny: true },
        ],
      });
      for (let count = 1; count <= 2; count++) {
        const came = await askChat(stage, headers);
        assert.equal(came.status, 200);
        assert.notEqual(saidIn(came), "the secret");
        assert.equal(stage.sent.length, count);
      }
    },
    { respond: () => toJsonResponse(chatAnswer("the secret")) },
  ));

test("what guardrails change in a response is changed again when it comes from the cache", () =>
  withCache(
    async (stage) => {
      const replace = { "default.regexReplace": { rule: "[a-z]+@example\\.com", redactText: "[mail]" }, id: "mask" };
      const headers = cachedHeaders({ cache: "simple", output_guardrails: [replace] });
      const [first, second] = [await askChat(stage, headers), await askChat(stage, headers)];
      assert.deepEqual([first.cache, second.cache], ["MISS", "HIT"]);
      assert.deepEqual([saidIn(first), saidIn(second)], ["Write to [mail]", "Write to [mail]"]);
    },
    { respond: () => toJsonResponse(chatAnswer("Write to alice@example.com")) },
  ));

for (const mode of ["window", "buffer"] as const) {
  test(`a stream whose guardrails found nothing is stored, others are not: ${mode}`, () =>
    withCache(
      async (stage) => {
        const headers = (words: string[]) =>
          cachedHeaders({
            cache: "simple",
            output_guardrails: [contains(words, { id: "words", deny: true, stream_mode: mode })],
          });
        const streamed = { ...question, stream: true };
        assert.equal((await askChat(stage, headers(["never"]), streamed)).cache, "MISS");
        const hit = await askChat(stage, headers(["never"]), streamed);
        assert.deepEqual([hit.status, hit.cache], [200, "HIT"]);
        for (let count = 0; count < 2; count++) {
          assert.notEqual((await askChat(stage, headers(["word 7"]), streamed)).cache, "HIT");
        }
        assert.equal(stage.sent.length, 3);
      },
      { respond: () => chatStream() },
    ));
}
