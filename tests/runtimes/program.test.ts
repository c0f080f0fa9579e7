import assert from "node:assert/strict";
import { test } from "node:test";
import { runtimeCommand, withGateway } from "../support/process.ts";

test("the program of the npm package listens by itself and ends in order on every runtime", async () => {
  await withGateway({ command: runtimeCommand("src/serve/program.ts") }, async (gateway) => {
    const response = await fetch(`${gateway.url}/health`);
    assert.equal(response.status, 200, await response.text());
    assert.deepEqual(await gateway.stop(), { code: 0, signal: null }, gateway.output());
  });
});
