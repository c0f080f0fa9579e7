// Measures what reading the log costs the requests: their latency at a fixed rate, with and without analytics that run over
// the rows of a large log. Rounds alternate. Then whether the index keeps up with a steady rate, and how long it takes to
// contain the rows of a burst at full speed. Prints a line for each limit. The database is copied, so the given one stays as
// it is. Where other programs use the machine, `--judge cpu` compares the time that the request loop uses the processor.
// Usage: node scripts/run.mjs bun bench/log-load.ts [--database FILE] [--rate 500] [--seconds 15] [--rounds 3]
//   [--every 250] [--burst 20] [--steady 0] [--steady-rate 1000] [--judge cpu]
// Without --database, an empty log. `bench/logs.ts --folder` makes one with a million rows.

import { copyFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openDatabase } from "../src/db/client.ts";
import { adminKey, masterKeys } from "./log-rows.ts";
import { median } from "./measure.ts";
import { cleanUp, createFolder, startGateway, wait } from "./processes.ts";
import { judge } from "./verdict.ts";
import { countFailures, ensureWrk, runWrk, writeWrkScript } from "./wrk.ts";

const { values } = parseArgs({
  options: {
    database: { type: "string" },
    rate: { type: "string", default: "500" },
    seconds: { type: "string", default: "15" },
    rounds: { type: "string", default: "3" },
    burst: { type: "string", default: "20" },
    every: { type: "string", default: "250" },
    steady: { type: "string", default: "0" },
    "steady-rate": { type: "string", default: "1000" },
    judge: { type: "string", default: "time" },
  },
});
const [rate, seconds, rounds, burst, everyMs] = [
  values.rate,
  values.seconds,
  values.rounds,
  values.burst,
  values.every,
].map(Number) as [number, number, number, number, number];

const headers = {
  "x-gateway-api-key": "",
  "x-gateway-provider": "echo",
  "content-type": "application/json",
};
const body = JSON.stringify({ model: "echo-1", messages: [{ role: "user", content: "Say hello" }] });

/** The value below which this share of sorted times lies. */
const quantile = (sorted: readonly number[], share: number) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;

interface Sending {
  readonly perSecond: number;
  readonly forSeconds: number;
}

/** Sends requests at a fixed rate, whatever the answers take; times count from when each was due. */
async function sendAtRate(
  url: string,
  { perSecond, forSeconds }: Sending = { perSecond: rate, forSeconds: seconds },
): Promise<{ p50: number; p99: number; max: number; failures: number }> {
  const times: number[] = [];
  const running: Promise<void>[] = [];
  let failures = 0;
  const send = async (dueAt: number) => {
    try {
      const response = await fetch(`${url}/v1/chat/completions`, { method: "POST", headers, body });
      await response.text();
      if (!response.ok) failures++;
    } catch {
      failures++;
    }
    times.push(performance.now() - dueAt);
  };
  const startedAt = performance.now();
  for (let sent = 0; sent < perSecond * forSeconds; ) {
    const due = Math.min(perSecond * forSeconds, ((performance.now() - startedAt) / 1_000) * perSecond);
    while (sent < due) running.push(send(startedAt + (sent++ * 1_000) / perSecond));
    await wait(1);
  }
  await Promise.all(running);
  times.sort((one, other) => one - other);
  return { p50: quantile(times, 0.5), p99: quantile(times, 0.99), max: times.at(-1) ?? 0, failures };
}

/** Makes a workspace key: nobody knows the first one of a given database. */
async function makeKey(url: string): Promise<string> {
  const response = await fetch(`${url}/v1/api-keys/workspace/service`, {
    method: "POST",
    headers: { "x-gateway-api-key": adminKey, "content-type": "application/json" },
    body: JSON.stringify({ name: "Load", workspace_id: "default", scopes: ["completions.write"] }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`Cannot make a key: ${response.status} ${text}`);
  return String(JSON.parse(text).key);
}

const range = `time_of_generation_min=${new Date(Date.now() - 90 * 86_400_000).toISOString()}&time_of_generation_max=${new Date(Date.now() + 3_600_000).toISOString()}`;
const questions = [
  `/v1/analytics/graphs/requests?${range}`,
  `/v1/analytics/graphs/cost?${range}&status_code=200`,
  `/v1/analytics/graphs/latency?${range}`,
  `/v1/analytics/groups/model?${range}`,
  `/v1/analytics/groups/status_code?${range}`,
  `/v1/logs?limit=50&model=model-3`,
  `/v1/logs?limit=50&metadata.team=team-7&status=503`,
];

/** Asks for analytics one after the other, each after a pause, until it is stopped. */
function askOften(url: string): { stop(): Promise<number[]> } {
  const times: number[] = [];
  let isStopped = false;
  const run = async () => {
    for (let index = 0; !isStopped; index++) {
      const startedAt = performance.now();
      const path = questions[index % questions.length];
      const response = await fetch(`${url}${path}`, { headers: { "x-gateway-api-key": adminKey } });
      const text = await response.text();
      if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
      times.push(performance.now() - startedAt);
      await wait(everyMs);
    }
  };
  const running = run();
  return {
    async stop() {
      isStopped = true;
      await running;
      return times.sort((one, other) => one - other);
    },
  };
}

/** Rows that have no segment yet, with the smaller part that is too little for one. */
async function countUnsealed(file: string): Promise<{ batches: number; bytes: number }> {
  const database = await openDatabase({ url: `file:${file}` });
  const { rows } = await database.read(`SELECT count(*) AS batches, coalesce(sum(octet_length(details)), 0) AS bytes
    FROM log_batches NOT INDEXED
    WHERE seq > (SELECT coalesce(max(last_seq), 0) FROM log_segments WHERE state = 'live')`);
  await database.close();
  return { batches: Number(rows[0]?.batches), bytes: Number(rows[0]?.bytes) };
}

/** Microseconds for which the main thread of a process has used a processor; 0 where the kernel does not say. */
function mainThreadMicroseconds(pid: number): number {
  const path = `/proc/${pid}/schedstat`;
  return existsSync(path) ? Number(readFileSync(path, "utf8").split(" ")[0]) / 1_000 : 0;
}

/** Milliseconds from the end of a request until lists have its row. */
async function timeUntilListed(url: string, trace: string): Promise<number> {
  const marks = { "x-gateway-trace-id": trace };
  await (await fetch(`${url}/v1/chat/completions`, { method: "POST", headers: { ...headers, ...marks }, body })).text();
  const endedAt = performance.now();
  for (;;) {
    const list = await fetch(`${url}/v1/logs?limit=1&trace_id=${trace}`, {
      headers: { "x-gateway-api-key": adminKey },
    });
    if ((await list.text()).includes(trace)) return performance.now() - endedAt;
    await wait(10);
  }
}

/** Whether the index keeps up with a steady rate: what it should contain and does not, as the time in which that came. */
async function runSteady(url: string, { perSecond, forSeconds }: Sending): Promise<void> {
  let isRunning = true;
  let [lagMs, listedMs, former] = [0, 0, 0];
  const watch = async () => {
    for (let round = 0; isRunning; round++) {
      await wait(2_000);
      listedMs = Math.max(listedMs, await timeUntilListed(url, `steady-${round}`));
      const { bytes, batches } = await countUnsealed(file);
      const bytesPerMs = bytes > former ? (bytes - former) / 2_000 : Number.POSITIVE_INFINITY;
      if (batches > 0) lagMs = Math.max(lagMs, (bytes - segmentBytes) / bytesPerMs);
      former = bytes;
    }
  };
  const watching = watch();
  const { p99, failures } = await sendAtRate(url, { perSecond, forSeconds });
  isRunning = false;
  await watching;
  console.log(`steady: ${perSecond} requests/s for ${forSeconds} s, p99 ${p99.toFixed(1)} ms`);
  judge({ line: "failed requests at a steady rate", figure: failures, most: 0, unit: "requests" });
  judge({ line: "lag of the index at a steady rate", figure: Math.max(0, lagMs / 1_000), most: 2, unit: "s" });
  judge({ line: "time until lists have a row", figure: listedMs / 1_000, most: 2, unit: "s" });
}

/** Bytes of a segment: fewer rows wait for more. */
const segmentBytes = 16 * 2 ** 20;

const folder = createFolder("log-load");
const file = join(folder, "data/gateway.db");
mkdirSync(join(folder, "data"));
if (values.database !== undefined) {
  for (const end of ["", "-wal"]) {
    if (existsSync(values.database + end)) copyFileSync(values.database + end, file + end);
  }
}
const gateway = await startGateway("bun", {
  DATABASE_URL: `file:${file}`,
  GATEWAY_MASTER_KEYS: masterKeys,
  BOOTSTRAP_ADMIN_KEY: adminKey,
});
const url = `http://127.0.0.1:${gateway.port}`;
headers["x-gateway-api-key"] = await makeKey(url);
// rows of an earlier version may have to be indexed first
await wait(2_000);
const stopWarmUp = askOften(url);
await sendAtRate(url);
await stopWarmUp.stop();

const found: Record<"with" | "without", number[]> = { with: [], without: [] };
/** Microseconds of the request loop for each request. */
const loop: Record<"with" | "without", number[]> = { with: [], without: [] };
for (let round = 0; round < rounds * 2; round++) {
  const kind = round % 2 === 0 ? "without" : "with";
  const asking = kind === "with" ? askOften(url) : undefined;
  const usedBefore = mainThreadMicroseconds(gateway.pid);
  const { p50, p99, max, failures } = await sendAtRate(url);
  loop[kind].push((mainThreadMicroseconds(gateway.pid) - usedBefore) / (rate * seconds));
  const asked = (await asking?.stop()) ?? [];
  found[kind].push(p99);
  const figures = asking
    ? `, ${asked.length} questions: median ${quantile(asked, 0.5).toFixed(0)} ms, most ${asked.at(-1)?.toFixed(0)} ms`
    : "";
  console.log(
    `${kind.padEnd(8)} analytics: p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms, most ${max.toFixed(0)} ms, ${failures} failures, ${loop[kind].at(-1)?.toFixed(0)} us of the loop for each request${figures}`,
  );
}
const judged = values.judge === "cpu" ? loop : found;
for (const [name, figures] of Object.entries({ p99: found, "time of the request loop": loop })) {
  console.log(
    `median ${name} with analytics / without: ${(median(figures.with) / median(figures.without)).toFixed(2)}`,
  );
}
judge({
  line: values.judge === "cpu" ? "CPU of the request loop beside analytics" : "p99 beside analytics",
  figure: median(judged.with) / median(judged.without),
  most: 1.3,
  unit: "of that without",
});

if (Number(values.steady) > 0) {
  await runSteady(url, { perSecond: Number(values["steady-rate"]), forSeconds: Number(values.steady) });
}

if (burst > 0) {
  ensureWrk();
  const target = { url: `${url}/v1/chat/completions`, connections: 32, headers, body };
  const result = await runWrk(target, writeWrkScript(folder, "chat", target), burst);
  const endedAt = performance.now();
  const behind = await countUnsealed(file);
  let left = behind;
  while (left.bytes >= 1.1 * segmentBytes && performance.now() - endedAt < 180_000) {
    await wait(250);
    left = await countUnsealed(file);
  }
  const tookMs = performance.now() - endedAt;
  judge({ line: "failed requests of the burst", figure: countFailures(result), most: 0, unit: "requests" });
  judge({ line: "time until the index has the burst", figure: tookMs / 1_000, most: 180, unit: "s" });
  console.log(
    `burst: ${Math.round(result.requestsPerSecond)} requests/s for ${burst} s, p99 ${result.p99Ms.toFixed(1)} ms, ${countFailures(result)} failures;`,
    `${(behind.bytes / 2 ** 20).toFixed(0)} MiB without index at its end, caught up after ${(tookMs / 1_000).toFixed(1)} s (${(tookMs / 1_000 / burst).toFixed(2)} of the burst)`,
  );
}
await gateway.stop();
cleanUp();
process.exit();
