import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  type Cluster,
  ClusterRows,
  makeClusterKey,
  numberOf,
  startCluster,
  untilSnapshots,
} from "../support/cluster.ts";
import { redisTimeoutMs, runFaultRound } from "../support/cluster-faults.ts";
import { withoutLibsqlServer } from "../support/libsql-server.ts";
import { hasRedis } from "../support/redis.ts";
import { isCluster, sampleSeed } from "../support/sample.ts";

const skip = withoutLibsqlServer || (hasRedis ? false : "no Redis is installed");
/** Each a seed more than the one before. `CLUSTER_FAULT_ROUNDS=200 CLUSTER_FAULT_SEED=0 npm run test:cluster`. */
const rounds = isCluster ? numberOf("CLUSTER_FAULT_ROUNDS", 18) : 1;
const firstSeed = isCluster ? numberOf("CLUSTER_FAULT_SEED", 0) : sampleSeed % 9;
const faultMs = 1_000 * (isCluster ? numberOf("CLUSTER_FAULT_SECONDS", 5) : 0.5);

let cluster: Cluster | undefined;
after(async () => {
  await cluster?.close();
});

test("a node, Redis or the database that is killed, paused or slow breaks nothing that is promised", {
  skip,
  timeout: 60_000 + rounds * (60_000 + faultMs),
}, async () => {
  const opened = await startCluster(3, { REDIS_TIMEOUT_MS: String(redisTimeoutMs) });
  cluster = opened;
  const [first] = opened.nodes;
  assert.ok(first);
  const freeKey = await makeClusterKey(first);
  await untilSnapshots(opened);
  const rows = new ClusterRows(opened);
  const failed: string[] = [];
  for (let seed = firstSeed; seed < firstSeed + rounds; seed++) {
    const { line, problems } = await runFaultRound({ cluster: opened, rows, freeKey, faultMs }, seed);
    console.log(`# ${line}${problems.length > 0 ? `; WRONG: ${problems.join("; ")}` : ""}`);
    failed.push(...problems.map((problem) => `seed ${seed}: ${problem}`));
  }
  assert.deepEqual(failed, []);
});
