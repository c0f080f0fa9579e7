import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type Fault,
  faultOf,
  isCountable,
  startFaultyUpstream,
  success,
  type UpstreamCall,
} from "../support/faults.ts";
import { createRandom, createTestGateway } from "../support/gateway.ts";
import { ask, collectLogs, targetOf } from "../support/routed.ts";

const seed = 20_260_114;
const requests = 1_000;
const played = ["200", "200", "400", "429", "500", "503 retry-after 9999", "reset before headers", "no JSON"]
  .map(faultOf)
  .filter(isCountable);

/** A deterministic fault by number, so that neither order nor speed decides what a call meets. */
function chooser(salt: number): (call: UpstreamCall) => Fault {
  const seen = new Map<string, number>();
  return (call) => {
    const id = String(call.headers["x-request-number"]);
    const turn = seen.get(id) ?? 0;
    seen.set(id, turn + 1);
    const draw = createRandom(seed + salt * 1_000_003 + Number(id) * 101 + turn)();
    return played[Math.floor(draw * played.length)] ?? success;
  };
}

test(`${requests} parallel requests through three levels get one response each, and the logs have every call (seed ${seed})`, async () => {
  const gateway = await createTestGateway({ random: createRandom(seed) });
  const upstreams = await Promise.all(Array.from({ length: 4 }, startFaultyUpstream));
  for (const [index, upstream] of upstreams.entries()) upstream.script(chooser(index));
  const [a, b, c, d] = upstreams.map((upstream) => targetOf(upstream));
  const cb_config = { failure_threshold_percentage: 60, minimum_requests: 50, cooldown_interval: 30_000 };
  const config = {
    strategy: { mode: "fallback", cb_config },
    retry: { attempts: 2 },
    forward_headers: ["x-request-number"],
    targets: [
      {
        strategy: { mode: "loadbalance" },
        targets: [
          { strategy: { mode: "fallback", on_status_codes: [429, 500, 502] }, targets: [a, b] },
          { ...b, weight: 2 },
        ],
      },
      { ...c, retry: { attempts: 1, on_status_codes: [400] } },
      d,
    ],
  };
  const answers = await Promise.all(
    Array.from({ length: requests }, (_, index) =>
      ask(gateway, { config, headers: { "x-request-number": String(index) }, body: { stream: index % 3 === 0 } }),
    ),
  );
  const rows = await collectLogs(gateway, requests);
  assert.equal(rows.size, requests);

  const received = new Map<string, number>();
  for (const { headers } of upstreams.flatMap(({ calls }) => calls)) {
    const id = String(headers["x-request-number"]);
    received.set(id, (received.get(id) ?? 0) + 1);
  }
  const statuses = new Set<number>();
  for (const [index, answer] of answers.entries()) {
    const found = rows.get(answer.trace) ?? [];
    assert.equal(found.length, 1, `one row of request ${index}`);
    const [row] = found;
    assert.deepEqual(
      [row?.status, row?.upstream_calls, row?.attempts?.at(-1)?.label, row?.attempts?.at(-1)?.status],
      [answer.status, received.get(String(index)), answer.label, answer.status],
      `request ${index}`,
    );
    statuses.add(answer.status);
  }
  const logged = [...rows.values()].flat().reduce((sum, row) => sum + row.upstream_calls, 0);
  assert.equal(
    logged,
    upstreams.reduce((sum, { calls }) => sum + calls.length, 0),
  );
  assert.ok(statuses.size > 3, `many endings: ${[...statuses].join(", ")}`);
  await gateway.close();
  for (const upstream of upstreams) await upstream.close();
});
