import assert from "node:assert/strict";
import { test } from "node:test";
import { requireCountedCut } from "../support/cut-stream.ts";
import { withGateway } from "../support/process.ts";

test("a process counts the tokens of a stream that breaks off, and ends in order", async () => {
  await withGateway({}, async (gateway) => {
    await requireCountedCut(gateway, gateway.workspaceKey);
    assert.deepEqual(await gateway.stop(), { code: 0, signal: null });
  });
});
