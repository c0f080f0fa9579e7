import assert from "node:assert/strict";
import { after, test } from "node:test";
import { faultOf } from "../support/faults.ts";
import { ask, logOf, saveConfig, startRouted, targetOf } from "../support/routed.ts";

const routed = await startRouted(2);
const [first, second] = routed.upstreams;
assert.ok(first && second);
after(() => routed.close());

test("the row of a request has the metadata of the target that served it; that of the request wins", async () => {
  first.script(() => faultOf("500"));
  const config = {
    metadata: { tier: "outer", team: "config", count: 3 },
    strategy: { mode: "fallback" },
    targets: [targetOf(first, { metadata: { tier: "first" } }), targetOf(second, { metadata: { tier: "second" } })],
  };
  const headers = { "x-gateway-metadata": JSON.stringify({ team: "caller" }) };
  for (const named of [config, await saveConfig(routed.gateway, config)]) {
    const answer = await ask(routed.gateway, { config: named, headers });
    assert.equal(answer.status, 200, answer.text);
    const { metadata } = await logOf(routed.gateway, answer);
    assert.deepEqual({ ...metadata }, { tier: "second", team: "caller", count: "3" });
  }
});
