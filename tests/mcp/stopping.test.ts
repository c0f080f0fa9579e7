import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "../support/upstream.ts";
import { type RpcAnswer, startScripted } from "./scripted.ts";
import { postModern } from "./support.ts";

test("a call that waits for its answer ends with an error when the gateway stops", async (context) => {
  const parts = await startScripted();
  context.after(() => parts.close());
  parts.script = () => ({ headers: { "content-type": "application/json" }, open: true, body: "{" });
  const calling = postModern(parts.gateway, "tools/call", { name: "t", arguments: {} });
  await eventually(() => parts.upstream.requests.length > 0, "the call");
  await parts.gateway.gateway.drain(50);
  const response = await calling;
  const { error }: RpcAnswer = await response.json();
  assert.deepEqual([response.status, error.data?.type], [502, "shutdown"]);
});
