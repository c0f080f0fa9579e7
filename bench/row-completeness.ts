// Counts log rows after load: whether each answered request has its row, and whether the budget in memory is the stored one.
// Starts each gateway in an empty folder with its database there, or on a libSQL server behind a proxy that adds a delay to
// each round trip. A key with a budget and a limit on tokens sends chats as fast as they are answered. Prints a line for each
// run, and fails if a row or a part of the budget is missing.
// Usage: node scripts/run.mjs bun bench/row-completeness.ts [--runtimes bun,deno,node] [--connections 128,256,400,900,3800]
//   [--delays 50,200] [--seconds 20]
// `--delays ""` and `--connections ""` leave those runs out. Runs with a delay have 32 connections and need the libSQL server
// of the tests (npm ci --prefix tests/libsql-server).

import { connect, createServer, type Socket } from "node:net";
import process from "node:process";
import { parseArgs } from "node:util";
import { createMasterKeyText } from "../src/auth/master-keys.ts";
import { openDatabase } from "../src/db/client.ts";
import { startLibsqlServer, withoutLibsqlServer } from "../tests/support/libsql-server.ts";
import {
  createFolder,
  databaseFile,
  keys,
  type Runtime,
  removeFolder,
  runMain,
  runtimes,
  startGateway,
  startUpstream,
  wait,
} from "./processes.ts";
import { selectScenarios } from "./scenarios.ts";
import { ensureWrk, runWrk, writeWrkScript } from "./wrk.ts";

const remoteConnections = 32;
/** Longest time until what waits is stored, once the load is over. */
const settleMs = 120_000;

/** One key sends all requests, and all of them run at a time. */
const roomForAll = {
  MAX_CONCURRENT_REQUESTS: "8000",
  MAX_CONCURRENT_PER_WORKSPACE: "4000",
  MAX_CONCURRENT_PER_KEY: "4000",
  BUN_CONFIG_MAX_HTTP_REQUESTS: "65336",
};

/** A run. */
interface Plan {
  runtime: Runtime;
  connections: number;
  /** Delay of a round trip to the database in milliseconds; 0 for a local file. */
  delayMs: number;
  seconds: number;
}

/** Forwards connections, and each piece of data half of the delay later. */
async function startDelay(target: URL, delayMs: number): Promise<{ url: string; stop(): void }> {
  const sockets = new Set<Socket>();
  const forward = (from: Socket, to: Socket) => {
    from.on("data", (data) => setTimeout(() => to.writable && to.write(data), delayMs / 2));
    from.on("end", () => setTimeout(() => to.end(), delayMs / 2));
    from.on("error", () => to.destroy());
    from.on("close", () => setTimeout(() => to.destroy(), delayMs));
    sockets.add(from);
  };
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname);
    for (const socket of [near, far]) socket.setNoDelay(true);
    forward(near, far);
    forward(far, near);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("Cannot start the proxy");
  const stop = () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  return { url: `http://127.0.0.1:${address.port}`, stop };
}

/** Calls the control plane. */
async function admin<Value>(url: string, path: string, body?: object): Promise<Value> {
  const headers = { "x-gateway-api-key": keys.admin, "content-type": "application/json" };
  const init = body ? { method: "POST", headers, body: JSON.stringify(body) } : { headers };
  const response = await fetch(`${url}/v1${path}`, init);
  const text = await response.text();
  if (!response.ok) throw new Error(`Cannot call ${path}: ${response.status} ${text}`);
  return JSON.parse(text);
}

async function readMetrics(url: string): Promise<(name: string) => number> {
  const response = await fetch(`${url}/metrics`, { headers: { "x-gateway-api-key": keys.admin } });
  const text = await response.text();
  return (name) => Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, "m").exec(text)?.[1] ?? 0);
}

interface Stored {
  /** Rows of requests that were answered with 200. */
  answered: number;
  refused: number;
  lost: number;
  cents: number;
}

async function readStored(database: string): Promise<Stored> {
  const opened = await openDatabase({ url: database });
  try {
    const { rows } =
      await opened.read(`SELECT value ->> 'operation' AS operation, value ->> 'status' AS status, count(*) AS rows
      FROM log_batches, json_each(details) GROUP BY 1, 2`);
    const sum = (of: (operation: string, status: number) => boolean) =>
      rows
        .filter((row) => of(String(row.operation), Number(row.status)))
        .reduce((all, row) => all + Number(row.rows), 0);
    const { rows: used } = await opened.read(
      "SELECT coalesce(max(used), 0) AS nanos FROM limit_counters WHERE window_end IS NULL",
    );
    return {
      answered: sum((operation, status) => operation === "chat" && status === 200),
      refused: sum((operation, status) => operation === "chat" && status === 503),
      lost: sum((operation) => operation === "rows_lost"),
      cents: Number(used[0]?.nanos) / 1e7,
    };
  } finally {
    await opened.close();
  }
}

/** Waits until nothing waits any more. */
async function settle(url: string): Promise<{ settledMs: number; peakSpill: number }> {
  const startedAt = performance.now();
  let peakSpill = 0;
  for (let quiet = 0; quiet < 3 && performance.now() - startedAt < settleMs; ) {
    await wait(500);
    const metric = await readMetrics(url);
    const spilled = metric("gateway_log_spill_rows");
    peakSpill = Math.max(peakSpill, spilled);
    quiet = metric("gateway_log_queue_rows") + spilled === 0 ? quiet + 1 : 0;
  }
  return { settledMs: Math.round(performance.now() - startedAt), peakSpill };
}

const scenario = selectScenarios("small-32")[0];

/** Runs one gateway under load; returns whether nothing is missing. */
async function run({ runtime, connections, delayMs, seconds }: Plan, upstreamPort: number): Promise<boolean> {
  if (!scenario) throw new Error("Cannot find the scenario");
  const server = delayMs > 0 ? await startLibsqlServer() : undefined;
  const delay = server && (await startDelay(new URL(server.url), delayMs));
  const remote = delay && { DATABASE_URL: delay.url, GATEWAY_MASTER_KEYS: createMasterKeyText() };
  const gateway = await startGateway(runtime, { ...remote, ...roomForAll });
  const url = `http://127.0.0.1:${gateway.port}`;
  const limits = { usage_limits: { type: "cost", credit_limit: 1_000_000_000 } };
  const { id, key } = await admin<{ id: string; key: string }>(url, "/api-keys/workspace/service", {
    name: "bench",
    workspace_id: "default",
    scopes: ["completions.write"],
    ...limits,
  });
  const headers = {
    "x-gateway-api-key": key,
    "x-gateway-provider": "openai",
    "x-gateway-custom-host": `http://127.0.0.1:${upstreamPort}${scenario.base}`,
    authorization: `Bearer ${keys.provider}`,
    "content-type": "application/json",
  };
  const target = { url: `${url}/v1${scenario.path}`, connections, headers, body: scenario.body };
  const scripts = createFolder("rows");
  const result = await runWrk(target, writeWrkScript(scripts, "chat", target), seconds);
  const { settledMs, peakSpill } = await settle(url);
  const metric = await readMetrics(url);
  const { usage_limits: budget } = await admin<{ usage_limits: { current_usage: number } }>(url, `/api-keys/${id}`);
  const refused = metric("gateway_log_requests_refused_total");
  const dropped = metric("gateway_log_rows_dropped_total");
  const stored = await readStored(server?.url ?? `file:${databaseFile(gateway.folder)}`);
  const answered = result.requests - result.badStatuses;
  const memoryCents = budget.current_usage * 100;
  // requests that were running when the load ended have rows too
  const isComplete = stored.answered >= answered && stored.lost === 0 && dropped === 0;
  const isEqual = Math.abs(memoryCents - stored.cents) < 1e-3;
  console.log(
    [
      `${runtime}, ${connections} connections${delayMs > 0 ? `, database ${delayMs} ms away` : ""}:`,
      `${answered} answered with 200 (${Math.round(answered / result.seconds)}/s), ${stored.answered} rows, ${dropped} lost;`,
      `${refused} refused for lack of room, ${result.badStatuses - refused} other failures;`,
      `budget ${memoryCents.toFixed(4)} in memory, ${stored.cents.toFixed(4)} stored (cents);`,
      `p99 ${result.p99Ms.toFixed(0)} ms; ${peakSpill} rows in the file after the load; complete after ${settledMs} ms:`,
      isComplete && isEqual ? "met" : "MISSED",
    ].join(" "),
  );
  await gateway.stop();
  delay?.stop();
  await server?.kill();
  removeFolder(scripts);
  removeFolder(gateway.folder);
  return isComplete && isEqual;
}

await runMain(async () => {
  const { values } = parseArgs({
    options: {
      runtimes: { type: "string", default: runtimes.join(",") },
      connections: { type: "string", default: "128,256,400,900,3800" },
      delays: { type: "string", default: "50,200" },
      seconds: { type: "string", default: "20" },
    },
  });
  const listOf = (text: string) => text.split(",").filter((part) => part !== "");
  const [connections, delays, seconds] = [
    listOf(values.connections).map(Number),
    listOf(values.delays).map(Number),
    Number(values.seconds),
  ];
  const chosen = runtimes.filter((runtime) => listOf(values.runtimes).includes(runtime));
  if (withoutLibsqlServer && delays.length > 0) console.error(`Runs with a delay are left out: ${withoutLibsqlServer}`);
  ensureWrk();
  const upstream = await startUpstream();
  const plans = chosen.flatMap((runtime): Plan[] => [
    ...connections.map((count) => ({ runtime, connections: count, delayMs: 0, seconds })),
    ...(withoutLibsqlServer ? [] : delays).map((delayMs) => ({
      runtime,
      connections: remoteConnections,
      delayMs,
      seconds,
    })),
  ]);
  let isMet = true;
  for (const plan of plans) isMet = (await run(plan, upstream.port)) && isMet;
  await upstream.stop();
  if (!isMet) process.exitCode = 1;
});
