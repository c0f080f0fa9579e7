import process from "node:process";
import {
  ask,
  type Cluster,
  ClusterLoad,
  type ClusterNode,
  type ClusterRows,
  describeLoad,
  type LoadCounts,
  makeClusterKey,
  type Served,
} from "./cluster.ts";
import { eventually } from "./eventually.ts";
import { createRandom } from "./gateway.ts";
import { fakeAdminKey } from "./process.ts";

const targets = ["node", "redis", "database"] as const;
const kinds = ["killed", "paused", "slowed"] as const;

/** What happens to a part of a cluster. */
interface Fault {
  readonly target: (typeof targets)[number];
  readonly kind: (typeof kinds)[number];
  /** The one that it happens to, if it is a node. */
  readonly node: ClusterNode;
}

/** Longest time that a healthy node takes for any answer. */
const deadlineMs = 4_000;
/** `REDIS_TIMEOUT_MS` of the nodes: a busy machine is not a lost server. */
export const redisTimeoutMs = 1_000;
/** Way to a part that is slowed, in each direction. */
const slowMs = 1_000;
/** Rows of so long a time may be in the memory of a process that is killed. */
const unstoredMs = 1_000;
/** Time for everything to work again. */
const recoveryMs = 30_000;

const wait = (delayMs: number) => new Promise((resolve) => setTimeout(resolve, delayMs));

/** The fault of a seed. */
function faultOf(seed: number, { nodes }: Cluster): Fault {
  const target = targets[seed % targets.length];
  const kind = kinds[Math.floor(seed / targets.length) % kinds.length];
  const node = nodes[Math.floor(seed / (targets.length * kinds.length)) % nodes.length];
  if (!target || !kind || !node) throw new TypeError("A seed is a whole number");
  return { target, kind, node };
}

function linkOf({ target, node }: Fault, { links }: Cluster) {
  return target === "node" ? node.link : links[target];
}

async function killFor(cluster: Cluster, { target, node }: Fault, forMs: number): Promise<void> {
  const { server, redis } = cluster;
  if (target === "node") return cluster.restart(node, "SIGKILL");
  await (target === "redis" ? redis : server).kill();
  await wait(forMs);
  await (target === "redis" ? redis.restart() : server.start());
}

async function pauseFor({ server, redis }: Cluster, { target, node }: Fault, forMs: number): Promise<void> {
  const { pid } = node.gateway;
  if (target === "node") process.kill(pid, "SIGSTOP");
  else (target === "redis" ? redis : server).pause();
  await wait(forMs);
  if (target === "node") process.kill(pid, "SIGCONT");
  else (target === "redis" ? redis : server).resume();
}

async function slowFor(cluster: Cluster, fault: Fault, forMs: number): Promise<void> {
  const link = linkOf(fault, cluster);
  link.delayMs = slowMs;
  await wait(forMs);
  link.delayMs = 0;
}

/** Lets the fault happen for a time. */
function happen(cluster: Cluster, fault: Fault, forMs: number): Promise<void> {
  if (fault.kind === "killed") return killFor(cluster, fault, forMs);
  return fault.kind === "paused" ? pauseFor(cluster, fault, forMs) : slowFor(cluster, fault, forMs);
}

/**
 * What is wrong with a new limit; undefined where it is exact, and everybody answers. Nodes do not divide the limit: their
 * shares never make up all of it.
 */
async function findInexact({ nodes }: Cluster, random: () => number): Promise<string | undefined> {
  const [first] = nodes;
  if (!first) return "no nodes";
  const limit = nodes.length * Math.floor(1 + random() * 3) + 1;
  try {
    const key = await makeClusterKey(first, limit);
    const asked = Array.from({ length: limit + 6 }, (_, index) => {
      const { link } = nodes[index % nodes.length] ?? first;
      return ask(link.url, { key, trace: `after-${crypto.randomUUID()}`, withinMs: deadlineMs });
    });
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    const admitted = statuses.filter((status) => status === 200).length;
    const refused = statuses.filter((status) => status === 429).length;
    return admitted === limit && refused === 6 ? undefined : `${admitted} admitted and ${refused} refused of ${limit}`;
  } catch (error) {
    return String(error);
  }
}

/** Whether a fault happens to a node. */
const isFaulty = ({ target, node }: Fault, one: ClusterNode) => target === "node" && node === one;

/** What the requests of a load met that they must not. */
function findBad(name: string, counts: LoadCounts, fault: Fault, cluster: Cluster): string[] {
  const unanswered = [...counts.unanswered].filter((node) => !isFaulty(fault, node));
  const slow = [...counts.longest].filter(([node, ms]) => ms > deadlineMs && !isFaulty(fault, node));
  const bad = [...counts.statuses.keys()].filter((status) => status !== 200 && (status !== 429 || name === "free"));
  return [
    ...(bad.length > 0 ? [`${name}: ${bad} (${counts.problem})`] : []),
    ...(counts.failed > 0 ? [`${name}: ${counts.failed} that no node answered`] : []),
    ...unanswered.map((node) => `${name}: node ${cluster.nodes.indexOf(node)} did not answer in time`),
    ...slow.map(([node, ms]) => `${name}: node ${cluster.nodes.indexOf(node)} took ${Math.round(ms)} ms`),
  ];
}

/** Keys and rows that the rounds of a cluster share. */
export interface FaultRounds {
  readonly cluster: Cluster;
  readonly rows: ClusterRows;
  /** A key without limits that all nodes know. */
  readonly freeKey: string;
  /** How long a fault lasts. */
  readonly faultMs: number;
}

/**
 * Most requests that a limit of so many may admit (`docs/policies.md`). Without Redis each node has an equal part of what was
 * left. Where nodes lose Redis one long after the other, the parts of all but the last come on top of the limit.
 *
 * @param byShares Requests that nodes admitted without Redis. With 0 the limit is exact, also on a busy machine.
 */
function boundOf({ nodes }: Cluster, limit: number, byShares: number): number {
  return limit + Math.min(byShares, Math.floor((limit * (nodes.length - 1)) / nodes.length));
}

/** Requests that each node has admitted by its share since its start. */
function readByShares({ nodes }: Cluster): Promise<number[]> {
  return Promise.all(
    nodes.map(async ({ gateway }) => {
      const response = await fetch(`${gateway.url}/metrics`, { headers: { "x-gateway-api-key": fakeAdminKey } });
      const [, count] = /^gateway_requests_by_shares_total (\d+)$/m.exec(await response.text()) ?? [];
      if (count === undefined) throw new TypeError("The metrics lack the requests that were admitted by shares");
      return Number(count);
    }),
  );
}

/** Measures the longest time in which this process, with its links, did nothing. */
export function watchStalls(): { end(): number } {
  let longest = 0;
  let last = performance.now();
  const look = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  };
  const timer = setInterval(look, 20);
  return {
    end() {
      look();
      clearInterval(timer);
      return Math.round(longest);
    },
  };
}

/** What one round found, in a line, and what must not be. */
export interface RoundResult {
  readonly line: string;
  readonly problems: readonly string[];
}

/** Lets the fault of a seed happen under load, and checks everything afterwards. */
export async function runFaultRound(rounds: FaultRounds, seed: number): Promise<RoundResult> {
  const { cluster, rows, freeKey, faultMs } = rounds;
  const random = createRandom(seed);
  const fault = faultOf(seed, cluster);
  const limit = 20 + Math.floor(random() * 80);
  const [first] = cluster.nodes;
  if (!first) throw new TypeError("A cluster has nodes");
  const limitedKey = await makeClusterKey(first, limit);
  const stalls = watchStalls();
  const sharesBefore = await readByShares(cluster);
  const load = new ClusterLoad(cluster.nodes, deadlineMs);
  const [free, limited] = [
    load.begin(freeKey, { loops: 3, pauseMs: 20 }),
    load.begin(limitedKey, { loops: 2, pauseMs: 60 }),
  ];
  await eventually("each node", async () => [free, limited].every((one) => one.longest.size === cluster.nodes.length));
  // within a second each node has heard of the new key, and has read it since
  await wait(1_000 + random() * 500);
  const begunAt = performance.now();
  await happen(cluster, fault, faultMs);
  const healedAt = performance.now();
  const passedMs = () => Math.round(performance.now() - healedAt);
  let inexact = await findInexact(cluster, random);
  while (inexact !== undefined && passedMs() < recoveryMs) {
    await wait(100);
    inexact = await findInexact(cluster, random);
  }
  const recoveredMs = passedMs();
  await wait(200);
  await load.stop();
  const mayMiss = fault.target === "node" && fault.kind === "killed";
  const isLost = ({ by, at }: Served) => mayMiss && by === fault.node && Math.abs(at - begunAt) < unstoredMs;
  const { missing, doubled } = await rows.compare([free, limited], 60_000, isLost);
  const stalledMs = Math.max(stalls.end(), ...[...free.longest].map(([node, ms]) => (isFaulty(fault, node) ? 0 : ms)));
  const admitted = limited.served.length;
  const sharesAfter = await readByShares(cluster);
  // a node that is killed takes its figure along: on a busy machine any request that it served may be one of them
  const isFormer = ({ by, at }: Served) => fault.kind === "killed" && isFaulty(fault, by) && at < begunAt;
  const former = stalledMs > redisTimeoutMs / 2 ? limited.served.filter(isFormer).length : 0;
  const byShares = sharesAfter.reduce((sum, count, index) => {
    const before = sharesBefore[index] ?? 0;
    return sum + (count < before ? count : count - before);
  }, former);
  const problems = [
    ...(inexact === undefined ? [] : [`not recovered after ${recoveredMs} ms: ${inexact}`]),
    ...findBad("free", free, fault, cluster),
    ...findBad("limited", limited, fault, cluster),
    ...(admitted > boundOf(cluster, limit, byShares) ? [`${admitted} admitted of a limit of ${limit}`] : []),
    ...(missing.length > 0 ? [`${missing.length} rows missing`] : []),
    ...(doubled.length > 0 ? [`${doubled.length} rows doubled`] : []),
  ];
  const place = fault.target === "node" ? `node ${cluster.nodes.indexOf(fault.node)}` : fault.target;
  const line = `seed ${seed}, ${place} ${fault.kind}: ${admitted} of ${limit} admitted, ${byShares} by shares, recovered after ${recoveredMs} ms, stalled ${Math.round(stalledMs)} ms; ${describeLoad(free)}`;
  return { line, problems };
}
