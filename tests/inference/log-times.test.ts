import assert from "node:assert/strict";
import { test } from "node:test";
import { chat, createTestClock, createTestGateway, helloBody, waitForLog } from "../support/gateway.ts";

const dayMs = 86_400_000;

test("rows have the time of the clock again once a clock that was a day ahead is corrected", async () => {
  const clock = createTestClock();
  let aheadMs = 0;
  const gateway = await createTestGateway({ clock: { ...clock, now: () => clock.now() + aheadMs } });
  try {
    const timeOf = async (trace: string) => {
      await (await chat(gateway, helloBody, { "x-gateway-trace-id": trace })).text();
      const { created_at } = await waitForLog(gateway, trace);
      return Date.parse(String(created_at)) - clock.now();
    };
    assert.equal(await timeOf("before"), 0);
    aheadMs = dayMs;
    assert.equal(await timeOf("ahead"), dayMs);
    aheadMs = 0;
    for (const trace of ["corrected", "a minute later", "two minutes later"]) {
      assert.equal(await timeOf(trace), 0, trace);
      clock.advance(60_000);
    }
  } finally {
    await gateway.close();
  }
});
