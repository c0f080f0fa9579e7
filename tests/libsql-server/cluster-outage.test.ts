import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  type Cluster,
  ClusterLoad,
  ClusterRows,
  describeLoad,
  makeClusterKey,
  numberOf,
  startCluster,
  untilSnapshots,
} from "../support/cluster.ts";
import { eventually } from "../support/eventually.ts";
import { withoutLibsqlServer } from "../support/libsql-server.ts";
import { hasRedis } from "../support/redis.ts";
import { isCluster } from "../support/sample.ts";

const skip =
  withoutLibsqlServer || (hasRedis ? !isCluster && "it takes minutes: npm run test:cluster" : "no Redis is installed");
const nodes = 3;
/** With `CLUSTER_OUTAGE_SECONDS=600` as long as a long outage. */
const outageMs = 1_000 * numberOf("CLUSTER_OUTAGE_SECONDS", 60);
const limit = 500;
const pauseMs = 40;

const wait = (delayMs: number) => new Promise((resolve) => setTimeout(resolve, delayMs));

let cluster: Cluster | undefined;
after(async () => {
  await cluster?.close();
});

test("while the database is away, nodes are restarted one after the other and serve every known key", {
  skip,
  timeout: 300_000 + 2 * outageMs,
}, async () => {
  const opened = await startCluster(nodes);
  cluster = opened;
  const [first] = opened.nodes;
  assert.ok(first);
  const [free, limited] = [await makeClusterKey(first), await makeClusterKey(first, limit)];
  await untilSnapshots(opened);
  const load = new ClusterLoad(opened.nodes);
  const counts = { free: load.begin(free, { loops: 2, pauseMs }), limited: load.begin(limited, { loops: 1, pauseMs }) };
  await eventually("each node", async () =>
    [counts.free, counts.limited].every(({ longest }) => longest.size === nodes),
  );
  await opened.server.kill();
  const begun = performance.now();
  for (const node of opened.nodes) {
    await wait(outageMs / (nodes + 1));
    await opened.restart(node);
    assert.match(await (await fetch(`${node.gateway.url}/ready`)).text(), /"snapshot":/);
  }
  await wait(Math.max(0, outageMs - (performance.now() - begun)));
  const awayMs = performance.now() - begun;
  await opened.server.start();
  const backAt = performance.now();
  await wait(500);
  await load.stop();
  const { rows, missing, doubled } = await new ClusterRows(opened).compare([counts.free, counts.limited], 120_000);
  const completeMs = Math.round(performance.now() - backAt);
  console.log(
    `# away for ${Math.round(awayMs / 1_000)} s, ${nodes} nodes restarted in it, complete ${completeMs} ms after it`,
  );
  for (const [name, one] of Object.entries(counts)) console.log(`# ${name}: ${describeLoad(one)}`);
  console.log(`# ${rows} rows, ${missing.length} missing, ${doubled.length} doubled`);
  assert.deepEqual([...counts.free.statuses.keys()], [200], counts.free.problem);
  assert.equal(counts.free.failed + counts.limited.failed, 0);
  // where Redis answers too late, nodes count by their shares
  assert.ok(counts.limited.served.length <= 2 * limit, `${counts.limited.served.length} of ${limit}`);
  assert.deepEqual([missing, doubled], [[], []]);
});
