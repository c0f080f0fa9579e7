import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { runSuite, scored, startMcpStack } from "./conformance.ts";
import type { FixtureEras } from "./fixture.ts";

/** Runs a requirement set of the official suite through a gateway. */
async function runThrough(eras: FixtureEras, args: readonly string[], change?: Parameters<typeof startMcpStack>[1]) {
  const stack = await startMcpStack(eras, change);
  try {
    return await runSuite(["server", "--url", stack.url, ...args]);
  } finally {
    await stack.close();
  }
}

for (const [revision, scenarios] of [
  ["2025-11-25", 30],
  ["2026-07-28", 37],
] as const) {
  test(`all ${scenarios} scored scenarios of ${revision} pass through the gateway`, async () => {
    const { exitCode, output } = await runThrough("both", ["--requirements", revision]);
    const { passed, failed } = scored(output);
    assert.deepEqual({ exitCode, passed: passed.length, failed }, { exitCode: 0, passed: scenarios, failed: [] });
  });
}

for (const [client, server, revision, baseline] of [
  ["legacy", "modern", "2025-11-25", "baseline-legacy-client.yml"],
  ["modern", "legacy", "2026-07-28", "baseline-modern-client.yml"],
] as const) {
  test(`a ${client} client at a ${server} server passes all scored scenarios but those of its baseline`, async () => {
    const file = fileURLToPath(new URL(baseline, import.meta.url));
    const { exitCode, output } = await runThrough(server, ["--requirements", revision, "--expected-failures", file]);
    assert.equal(exitCode, 0, output);
  });
}

test("the suite fails where ids are not restored", async () => {
  const broken = (answer: (request: Request) => Promise<Response>) => async (request: Request) => {
    const response = await answer(request);
    const text = await response.text();
    return new Response(text.replace(/"id":\d+/g, '"id":"gw:1"') || null, response);
  };
  const ping = ["--scenario", "ping", "--spec-version", "2025-11-25"];
  const whole = await runThrough("both", ping);
  assert.equal(whole.exitCode, 0, whole.output);
  const { exitCode, output } = await runThrough("both", ping, broken);
  assert.notEqual(exitCode, 0);
  assert.match(output, /Failed Checks/);
});
