import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import {
  type Cluster,
  ClusterLoad,
  ClusterRows,
  describeLoad,
  type LoadCounts,
  makeClusterKey,
  numberOf,
  startCluster,
} from "../support/cluster.ts";
import { eventually } from "../support/eventually.ts";
import { withoutLibsqlServer } from "../support/libsql-server.ts";
import { createFolder, runtime } from "../support/process.ts";
import { hasRedis } from "../support/redis.ts";
import { isCluster } from "../support/sample.ts";
import { repository } from "../support/source-files.ts";

const skip = withoutLibsqlServer || (hasRedis ? false : "no Redis is installed");
/** How often each node is restarted. */
const restarts = isCluster ? numberOf("CLUSTER_RESTARTS", 10) : 1;
const streamMs = isCluster ? 4_000 : 1_000;
const newestMigration = "src/db/migrations/0035_vector_stores.sql";

const opened: Cluster[] = [];
after(async () => {
  for (const cluster of opened) await cluster.close();
});

/** Runs git in the repository; undefined where it fails, as without a history. */
function git(...args: string[]): Buffer | undefined {
  try {
    return execFileSync("git", args, { cwd: repository, maxBuffer: 2 ** 30, stdio: ["ignore", "pipe", "ignore"] });
  } catch {
    return undefined;
  }
}

/** The sources as they were before a migration; undefined where the history is not there. */
function copyBefore(migration: string): string | undefined {
  const commit = git("log", "-1", "--diff-filter=A", "--format=%H", "--", migration)?.toString().trim();
  const archive = commit ? git("archive", `${commit}~1`) : undefined;
  if (!archive) return undefined;
  const folder = createFolder();
  execFileSync("tar", ["-x", "-C", folder], { input: archive });
  symlinkSync(join(repository, "node_modules"), join(folder, "node_modules"));
  return folder;
}

/** Asserts that nothing failed, no stream was cut and each request has one row. */
async function checkLoads(cluster: Cluster, loads: Readonly<Record<string, LoadCounts>>): Promise<void> {
  for (const [name, load] of Object.entries(loads)) {
    console.log(`# ${name}: ${describeLoad(load)}, ${load.cut} cut${load.resent.map((line) => `; ${line}`).join("")}`);
    assert.deepEqual([...load.statuses.keys()], [200], `${name}: ${load.problem}`);
    assert.deepEqual([load.failed, load.retried, load.cut], [0, 0, 0], name);
  }
  const { missing, doubled } = await new ClusterRows(cluster).compare(Object.values(loads));
  assert.deepEqual([missing, doubled], [[], []]);
}

/** Restarts nodes one after the other under load. */
async function restartAll(cluster: Cluster, count: number): Promise<Readonly<Record<string, LoadCounts>>> {
  const [first] = cluster.nodes;
  assert.ok(first);
  const key = await makeClusterKey(first);
  const load = new ClusterLoad(cluster.nodes);
  const loads = {
    requests: load.begin(key, { loops: 3, pauseMs: 10 }),
    streams: load.begin(key, { loops: 6, streamMs }),
  };
  await eventually("each node", async () =>
    Object.values(loads).every(({ longest }) => longest.size === cluster.nodes.length),
  );
  for (let round = 0; round < count; round++) for (const node of cluster.nodes) await cluster.restart(node);
  await load.stop();
  return loads;
}

test("nodes that are restarted one after the other fail no request and cut no stream", {
  skip,
  timeout: 120_000 + restarts * 120_000,
}, async () => {
  const cluster = await startCluster(3);
  opened.push(cluster);
  await checkLoads(cluster, await restartAll(cluster, restarts));
});

test("nodes of the version before the newest migration are replaced one after the other, and fail no request", {
  skip: skip || (isCluster && runtime === "bun" ? false : "it takes a while: npm run test:cluster"),
  timeout: 300_000,
}, async (context) => {
  assert.ok(existsSync(join(repository, newestMigration)));
  const former = copyBefore(newestMigration);
  if (!former) return context.skip("the repository has no history");
  const cluster = await startCluster(3, {}, former);
  opened.push(cluster);
  cluster.root = repository;
  await checkLoads(cluster, await restartAll(cluster, 1));
});
