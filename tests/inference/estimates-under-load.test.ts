import assert from "node:assert/strict";
import { test } from "node:test";
import { chat, createTestGateway, helloBody, waitForLog } from "../support/gateway.ts";

const content = "y".repeat(60_000);
const answer = JSON.stringify({
  id: "c",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
});
const json = { "content-type": "application/json" };

test("rows do not wait for a counter that has much to count: four bytes are then a token", async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<number>();
  let counts = 0;
  const gateway = await createTestGateway({
    transport: { send: async () => new Response(answer, { headers: json }) },
    countTokens: async (strings) => {
      if (strings.join("").length < 1_000) return 5;
      counts++;
      return released;
    },
  });
  try {
    const traces = Array.from({ length: 8 }, (_, index) => `trace-${index}`);
    for (const trace of traces) {
      const headers = { "x-gateway-provider": "openai", authorization: "Bearer fake", "x-gateway-trace-id": trace };
      const response = await chat(gateway, { ...helloBody, model: "gpt-4o" }, headers);
      assert.equal(response.status, 200);
      await response.text();
    }
    const last = await waitForLog(gateway, "trace-7");
    assert.equal(Reflect.get(last, "estimated"), true);
    assert.ok(Number(last.usage?.output_tokens) >= 15_000, JSON.stringify(last.usage));
    assert.ok(counts < traces.length, `${counts} long texts wait`);
    release(5);
    for (const trace of traces) await waitForLog(gateway, trace);
  } finally {
    release(5);
    await gateway.close();
  }
});
