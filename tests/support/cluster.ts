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
import { createFolder, fakeAdminKey, type GatewayProcess, runtimeCommand, startGatewayProcess } from "./process.ts";
import { type RedisServer, startRedis } from "./redis.ts";
import { openSlowLink, type SlowLink } from "./slow-link.ts";
import { repository } from "./source-files.ts";

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
  /** The repository, or a copy of another version, whose program is started next. */
  root: string;
  /** Starts a node again, in its folder. */
  restart(node: ClusterNode, signal?: NodeJS.Signals): Promise<void>;
  close(): Promise<void>;
}

/**
 * Starts a cluster, with the default settings but for those that are given.
 *
 * @param root The repository, or a copy of another version.
 */
export async function startCluster(
  count: number,
  settings: Readonly<Record<string, string>> = {},
  root: string = repository,
): Promise<Cluster> {
  const [server, redis] = [await startLibsqlServer(), await startRedis()];
  const links = { database: await openSlowLink(server.url, 0), redis: await openSlowLink(redis.url, 0) };
  const env = {
    GATEWAY_MASTER_KEYS: masterKeys,
    DATABASE_URL: links.database.url,
    REDIS_URL: links.redis.url.replace("http:", "redis:"),
    ...settings,
  };
  const start = (folder: string, from: string) =>
    startGatewayProcess({ cwd: folder, env, command: runtimeCommand("mod.ts", "serve", from) });
  const nodes: ClusterNode[] = [];
  for (let index = 0; index < count; index++) {
    const folder = createFolder();
    const gateway = await start(folder, root);
    nodes.push({ folder, gateway, link: await openSlowLink(gateway.url, 0), isIn: true });
  }
  const cluster: Cluster = {
    nodes,
    server,
    redis,
    links,
    root,
    async restart(node, signal) {
      node.isIn = signal === "SIGKILL";
      // what is on its way to it arrives, also on a busy machine
      if (!node.isIn) await new Promise((resolve) => setTimeout(resolve, 500));
      await node.gateway.stop(signal);
      node.isIn = false;
      await node.link.close();
      node.gateway = await start(node.folder, cluster.root);
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
  return cluster;
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
    const isWritten = async () => {
      if (!existsSync(file)) return false;
      const { change } = await openSnapshot(new Uint8Array(readFileSync(file)), readMasterKeys(masterKeys));
      return change >= newest;
    };
    // a node spends a twentieth of its time on them: on a busy machine that takes a while
    await eventually("a snapshot", isWritten, 60_000);
  }
}

/** A request that was answered with 200, when and by whom. */
export interface Served {
  readonly trace: string;
  readonly at: number;
  readonly by: ClusterNode;
}

/** What became of the requests of a load. */
export interface LoadCounts {
  /** Requests that were answered with 200, in the order of their answers. */
  readonly served: Served[];
  /** Answers by status. */
  readonly statuses: Map<number, number>;
  /** Requests that were sent again because a node did not answer. */
  retried: number;
  /** Of each of them, which node it was, how long it took and why it ended. */
  readonly resent: string[];
  /** The nodes that did not answer. */
  readonly unanswered: Set<ClusterNode>;
  /** The longest time that a node took for an answer, in milliseconds, by node. */
  readonly longest: Map<ClusterNode, number>;
  /** Requests that no node answered. */
  failed: number;
  /** Streams that ended before they were complete. */
  cut: number;
  /** Times of the answers, in milliseconds. */
  readonly times: number[];
  /** The last answer that was neither a success nor a limit. */
  problem: string;
}

/** Sends requests to the nodes in turn, as a balancer does that asks the next node where one does not answer. */
export class ClusterLoad {
  readonly #nodes: readonly ClusterNode[];
  readonly #patienceMs: number;
  #next = 0;
  #isOn = true;
  #loops: Promise<void>[] = [];

  /** @param patienceMs Longest time that it waits for a node, or for the next part of a stream, before it asks the next. */
  constructor(nodes: readonly ClusterNode[], patienceMs = 10_000) {
    this.#nodes = nodes;
    this.#patienceMs = patienceMs;
  }

  /** Sends requests with a key in some loops until `stop`; with `streamMs` streams that take so long. */
  begin(
    key: string,
    { loops, pauseMs = 0, streamMs }: { loops: number; pauseMs?: number; streamMs?: number },
  ): LoadCounts {
    const counts: LoadCounts = {
      served: [],
      statuses: new Map(),
      retried: 0,
      resent: [],
      unanswered: new Set(),
      longest: new Map(),
      failed: 0,
      cut: 0,
      times: [],
      problem: "",
    };
    const loop = async () => {
      while (this.#isOn) {
        await this.#send({ key, streamMs }, counts);
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

  async #send(question: Omit<Question, "trace" | "withinMs">, counts: LoadCounts): Promise<void> {
    const trace = `load-${crypto.randomUUID()}`;
    const begun = performance.now();
    for (let attempt = 0; attempt < 2 * this.#nodes.length; attempt++) {
      const node = this.#pick();
      if (!node) {
        await new Promise((resolve) => setTimeout(resolve, 50));
        continue;
      }
      // a request that a node may have served already has another trace the next time
      const own = attempt === 0 ? trace : `${trace}-${attempt}`;
      if (await this.#ask(node, { ...question, trace: own }, counts)) {
        counts.times.push(performance.now() - begun);
        return;
      }
    }
    counts.failed++;
  }

  /** Whether a node answered. */
  async #ask(node: ClusterNode, request: Omit<Question, "withinMs">, counts: LoadCounts): Promise<boolean> {
    const begun = performance.now();
    try {
      const { status, text } = await ask(node.link.url, { ...request, withinMs: this.#patienceMs });
      const at = performance.now();
      counts.statuses.set(status, (counts.statuses.get(status) ?? 0) + 1);
      counts.longest.set(node, Math.max(counts.longest.get(node) ?? 0, at - begun));
      if (status === 200) counts.served.push({ trace: request.trace, at, by: node });
      if (request.streamMs !== undefined && !text.endsWith("data: [DONE]\n\n")) counts.cut++;
      if (status !== 200 && status !== 429) counts.problem = `${status} ${text}`;
      return true;
    } catch (error) {
      counts.retried++;
      counts.unanswered.add(node);
      const place = `node ${this.#nodes.indexOf(node)}${node.isIn ? "" : ", which is being restarted"}`;
      const kind = request.streamMs === undefined ? "request" : "stream";
      counts.resent.push(`${kind} to ${place}, after ${Math.round(performance.now() - begun)} ms: ${error}`);
      return false;
    }
  }

  #pick(): ClusterNode | undefined {
    const open = this.#nodes.filter(({ isIn }) => isIn);
    return open[this.#next++ % Math.max(1, open.length)];
  }
}

/** A chat. */
interface Question {
  readonly key: string;
  readonly trace: string;
  /** Longest wait for the answer, or for the next part of it. */
  readonly withinMs: number;
  /** How long the answer is streamed. Absent: it is no stream. */
  readonly streamMs?: number | undefined;
}

/** Sends a chat to an address. */
export async function ask(url: string, { key, trace, withinMs, streamMs }: Question) {
  const late = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const beginWait = () => {
    clearTimeout(timer);
    timer = setTimeout(() => late.abort(new Error(`Waited ${withinMs} ms`)), withinMs);
  };
  beginWait();
  try {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "x-gateway-api-key": key,
        "x-gateway-provider": "echo",
        "x-gateway-trace-id": trace,
        ...(streamMs !== undefined && { "x-gateway-echo-delay-ms": String(streamMs) }),
      },
      body: JSON.stringify({
        model: "echo-1",
        messages: [{ role: "user", content: "One two three four five six seven eight" }],
        ...(streamMs !== undefined && { stream: true }),
      }),
      signal: late.signal,
    });
    let text = "";
    const decoder = new TextDecoder();
    for await (const part of response.body ?? []) {
      beginWait();
      text += decoder.decode(part, { stream: true });
    }
    return { status: response.status, text };
  } finally {
    clearTimeout(timer);
  }
}

/** Rows of the log by their trace, of which each look reads those that are new. */
export class ClusterRows {
  readonly #url: string;
  readonly #found = new Map<string, number>();
  #last = 0;

  constructor({ server }: Cluster) {
    this.#url = server.url;
  }

  /** How many rows each trace has. */
  async read(): Promise<ReadonlyMap<string, number>> {
    const database = await openDatabase({ url: this.#url });
    // a server limits the size of its responses
    const sql = `SELECT seq, (SELECT json_group_array(value ->> 'trace_id') FROM json_each(details)) AS traces
      FROM log_batches WHERE seq > ? ORDER BY seq LIMIT 200`;
    for (let hasMore = true; hasMore; ) {
      const { rows } = await database.read({ sql, args: [this.#last] });
      for (const { seq, traces } of rows) {
        this.#last = Number(seq);
        for (const trace of JSON.parse(String(traces))) this.#found.set(trace, (this.#found.get(trace) ?? 0) + 1);
      }
      hasMore = rows.length > 0;
    }
    await database.close();
    return this.#found;
  }

  /**
   * The rows that are missing or doubled, once as many as possible are there.
   *
   * @param isLost Whether the row of a request may be missing.
   */
  async compare(loads: readonly LoadCounts[], withinMs = 60_000, isLost: (one: Served) => boolean = () => false) {
    const served = loads.flatMap((load) => load.served).filter((one) => !isLost(one));
    const deadline = performance.now() + withinMs;
    for (;;) {
      // the database may not answer at once after an outage: the next look has what this one lacks
      const rows = await this.read().catch(() => this.#found);
      const missing = served.filter(({ trace }) => !rows.has(trace));
      const doubled = [...rows].filter(([trace, times]) => trace.startsWith("load-") && times > 1);
      if (missing.length === 0 || performance.now() > deadline) return { rows: rows.size, missing, doubled };
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }
}

/** A number from an environment variable, for runs that take longer. */
export const numberOf = (name: string, usual: number): number => Number(process.env[name] ?? usual);

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
