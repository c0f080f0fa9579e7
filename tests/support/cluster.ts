import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { readMasterKeys } from "../../src/auth/master-keys.ts";
import { openDatabase } from "../../src/db/client.ts";
import { openSnapshot } from "../../src/gateway/snapshot/seal.ts";
import { eventually } from "./eventually.ts";
import { masterKeys } from "./gateway.ts";
import { type LibsqlServer, startLibsqlServer } from "./libsql-server.ts";
import { createFolder, fakeAdminKey, type GatewayProcess, startGatewayProcess } from "./process.ts";
import { type RedisServer, startRedis } from "./redis.ts";
import { openSlowLink, type SlowLink } from "./slow-link.ts";

/** A node of a cluster. */
export interface ClusterNode {
  readonly folder: string;
  gateway: GatewayProcess;
  /** What is between it and its clients. Replaced with the node, which gets another port. */
  link: SlowLink;
  /** Whether a balancer would send requests to it. */
  isIn: boolean;
}

/** Nodes that share a libSQL server and Redis. */
export interface Cluster {
  readonly nodes: readonly ClusterNode[];
  readonly server: LibsqlServer;
  readonly redis: RedisServer;
  /** Between the nodes and each of the servers. */
  readonly links: { readonly database: SlowLink; readonly redis: SlowLink };
  /** Starts a node again, in its folder. */
  restart(node: ClusterNode, signal?: NodeJS.Signals): Promise<void>;
  close(): Promise<void>;
}

/** Starts a cluster with the default settings. */
export async function startCluster(count: number): Promise<Cluster> {
  const [server, redis] = [await startLibsqlServer(), await startRedis()];
  const links = { database: await openSlowLink(server.url, 0), redis: await openSlowLink(redis.url, 0) };
  const env = {
    GATEWAY_MASTER_KEYS: masterKeys,
    DATABASE_URL: links.database.url,
    REDIS_URL: links.redis.url.replace("http:", "redis:"),
  };
  const start = (folder: string) => startGatewayProcess({ cwd: folder, env });
  const nodes: ClusterNode[] = [];
  for (let index = 0; index < count; index++) {
    const folder = createFolder();
    const gateway = await start(folder);
    nodes.push({ folder, gateway, link: await openSlowLink(gateway.url, 0), isIn: true });
  }
  return {
    nodes,
    server,
    redis,
    links,
    async restart(node, signal) {
      node.isIn = signal === "SIGKILL";
      if (!node.isIn) await new Promise((resolve) => setTimeout(resolve, 100));
      await node.gateway.stop(signal);
      node.isIn = false;
      await node.link.close();
      node.gateway = await start(node.folder);
      node.link = await openSlowLink(node.gateway.url, 0);
      node.isIn = true;
    },
    async close() {
      await Promise.all(nodes.map(({ gateway }) => gateway.stop("SIGKILL")));
      await Promise.all([...nodes.map(({ link }) => link.close()), links.database.close(), links.redis.close()]);
      await server.kill();
      await redis.kill();
    },
  };
}

/** Calls the control plane of a node. */
export async function callNode<Answer>({ gateway }: ClusterNode, path: string, body?: object): Promise<Answer> {
  const headers = { "x-gateway-api-key": fakeAdminKey, "content-type": "application/json" };
  const init = body ? { method: "POST", headers, body: JSON.stringify(body) } : { headers };
  const response = await fetch(`${gateway.url}/v1${path}`, init);
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return JSON.parse(text);
}

/** A key of the default workspace, with a limit on requests in a week if one is given. */
export async function makeClusterKey(node: ClusterNode, limit?: number): Promise<string> {
  const rates = limit === undefined ? {} : { rate_limits: [{ type: "requests", unit: "rpw", value: limit }] };
  const body = { name: "Key", workspace_id: "default", scopes: ["completions.write"], ...rates };
  return (await callNode<{ key: string }>(node, "/api-keys/workspace/service", body)).key;
}

/** Waits until the snapshot of each node has all changes so far. */
export async function untilSnapshots({ nodes, server }: Cluster): Promise<void> {
  const database = await openDatabase({ url: server.url });
  const { rows } = await database.read("SELECT seq FROM sqlite_sequence WHERE name = 'changes'");
  await database.close();
  const newest = Number(rows[0]?.seq ?? 0);
  for (const { folder } of nodes) {
    const file = join(folder, "data", "snapshot");
    await eventually("a snapshot", async () => {
      if (!existsSync(file)) return false;
      const { change } = await openSnapshot(new Uint8Array(readFileSync(file)), readMasterKeys(masterKeys));
      return change >= newest;
    });
  }
}

/** Longest time a client of a balancer waits for a node before it asks the next. */
const patienceMs = 10_000;

/** What became of the requests of a load. */
export interface LoadCounts {
  /** Trace ids of the requests that were answered with 200, in the order of their answers. */
  readonly served: { trace: string; at: number }[];
  /** Answers by status. */
  readonly statuses: Map<number, number>;
  /** Requests that were sent again because a node did not answer. */
  retried: number;
  /** Requests that no node answered. */
  failed: number;
  /** Times of the answers, in milliseconds. */
  readonly times: number[];
  /** The last answer that was neither a success nor a limit. */
  problem: string;
}

/** Sends requests to the nodes in turn, as a balancer does that asks the next node where one does not answer. */
export class ClusterLoad {
  readonly #nodes: readonly ClusterNode[];
  #next = 0;
  #isOn = true;
  #loops: Promise<void>[] = [];

  constructor(nodes: readonly ClusterNode[]) {
    this.#nodes = nodes;
  }

  /** Sends requests with a key in some loops until `stop`. */
  begin(key: string, { loops, pauseMs = 0 }: { loops: number; pauseMs?: number }): LoadCounts {
    const counts: LoadCounts = { served: [], statuses: new Map(), retried: 0, failed: 0, times: [], problem: "" };
    const loop = async () => {
      while (this.#isOn) {
        await this.#send(key, counts);
        if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    };
    this.#loops.push(...Array.from({ length: loops }, loop));
    return counts;
  }

  async stop(): Promise<void> {
    this.#isOn = false;
    await Promise.all(this.#loops);
  }

  async #send(key: string, counts: LoadCounts): Promise<void> {
    const trace = `load-${crypto.randomUUID()}`;
    const begun = performance.now();
    for (let attempt = 0; attempt < 2 * this.#nodes.length; attempt++) {
      const node = this.#pick();
      if (!node) {
        await new Promise((resolve) => setTimeout(resolve, 50));
        continue;
      }
      try {
        // a request that a node may have served already has another trace the next time
        const own = attempt === 0 ? trace : `${trace}-${attempt}`;
        const { status, text } = await ask(node.link.url, { key, trace: own });
        counts.statuses.set(status, (counts.statuses.get(status) ?? 0) + 1);
        counts.times.push(performance.now() - begun);
        if (status === 200) counts.served.push({ trace: own, at: performance.now() });
        else if (status !== 429) counts.problem = `${status} ${text}`;
        return;
      } catch {
        counts.retried++;
      }
    }
    counts.failed++;
  }

  #pick(): ClusterNode | undefined {
    const open = this.#nodes.filter(({ isIn }) => isIn);
    return open[this.#next++ % Math.max(1, open.length)];
  }
}

async function ask(url: string, { key, trace }: { key: string; trace: string }) {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-gateway-api-key": key,
      "x-gateway-provider": "echo",
      "x-gateway-trace-id": trace,
    },
    body: JSON.stringify({ model: "echo-1", messages: [{ role: "user", content: "Hi" }] }),
    signal: AbortSignal.timeout(patienceMs),
  });
  return { status: response.status, text: await response.text() };
}

/** Rows of a load in the database by their trace. */
export async function readRows({ server }: Cluster): Promise<Map<string, number>> {
  const database = await openDatabase({ url: server.url });
  const found = new Map<string, number>();
  // a server limits the size of its responses
  const sql = `SELECT seq, (SELECT json_group_array(value ->> 'trace_id') FROM json_each(details)) AS traces
    FROM log_batches WHERE seq > ? ORDER BY seq LIMIT 200`;
  for (let last = 0; ; ) {
    const { rows } = await database.read({ sql, args: [last] });
    for (const { seq, traces } of rows) {
      last = Number(seq);
      for (const trace of JSON.parse(String(traces))) found.set(trace, (found.get(trace) ?? 0) + 1);
    }
    if (rows.length === 0) break;
  }
  await database.close();
  return found;
}

/** The rows that are missing or doubled, once as many as possible are there. */
export async function compareRows(cluster: Cluster, loads: readonly LoadCounts[], withinMs = 60_000) {
  const traces = loads.flatMap(({ served }) => served.map(({ trace }) => trace));
  const deadline = performance.now() + withinMs;
  for (;;) {
    const rows = await readRows(cluster);
    const missing = traces.filter((trace) => !rows.has(trace));
    const doubled = [...rows].filter(([trace, times]) => trace.startsWith("load-") && times > 1);
    if (missing.length === 0 || performance.now() > deadline) return { rows: rows.size, missing, doubled };
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

/** Seconds from an environment variable, for runs that take longer. */
export const secondsOf = (name: string, usual: number): number => Number(process.env[name] ?? usual);

/** A percentile of times. */
export function percentile(times: readonly number[], part: number): number {
  const sorted = times.toSorted((one, other) => one - other);
  return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0);
}

/** What became of a load, in a line. */
export function describeLoad({ statuses, retried, failed, times, served }: LoadCounts): string {
  const answers = [...statuses].map(([status, count]) => `${status}: ${count}`).join(", ");
  const figures = [0.5, 0.99, 1].map((part) => percentile(times, part)).join("/");
  return `${served.length} served (${answers}), ${retried} sent again, ${failed} failed, p50/p99/max ${figures} ms`;
}
