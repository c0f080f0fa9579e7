// Measures what reading the log costs the requests: their latency at a fixed rate, with and without analytics that run over
// the rows of a large log. Rounds alternate. Then a burst at full speed, and how long the index takes to contain its rows.
// Prints ratios. The database is copied, so the given one stays as it is.
// Usage: node scripts/run.mjs bun bench/log-load.ts [--database FILE] [--rate 500] [--seconds 15] [--rounds 3]
//   [--burst 20] [--every 250]
// Without --database, an empty log. `bench/logs.ts --folder` makes one with a million rows.

import { copyFileSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openDatabase } from "../src/db/client.ts";
import { adminKey, masterKeys } from "./log-rows.ts";
import { median } from "./measure.ts";
import { cleanUp, createFolder, startGateway, wait } from "./processes.ts";
import { countFailures, ensureWrk, runWrk, writeWrkScript } from "./wrk.ts";

const { values } = parseArgs({
  options: {
    database: { type: "string" },
    rate: { type: "string", default: "500" },
    seconds: { type: "string", default: "15" },
    rounds: { type: "string", default: "3" },
    burst: { type: "string", default: "20" },
    every: { type: "string", default: "250" },
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

/** Sends requests at a fixed rate, whatever the answers take; times count from when each was due. */
async function sendAtRate(url: string): Promise<{ p50: number; p99: number; max: number; failures: number }> {
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
  for (let sent = 0; sent < rate * seconds; ) {
    const due = Math.min(rate * seconds, ((performance.now() - startedAt) / 1_000) * rate);
    while (sent < due) running.push(send(startedAt + (sent++ * 1_000) / rate));
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
for (let round = 0; round < rounds * 2; round++) {
  const kind = round % 2 === 0 ? "without" : "with";
  const asking = kind === "with" ? askOften(url) : undefined;
  const { p50, p99, max, failures } = await sendAtRate(url);
  const asked = (await asking?.stop()) ?? [];
  found[kind].push(p99);
  const told = asking
    ? `, ${asked.length} questions: median ${quantile(asked, 0.5).toFixed(0)} ms, most ${asked.at(-1)?.toFixed(0)} ms`
    : "";
  console.log(
    `${kind.padEnd(8)} analytics: p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms, most ${max.toFixed(0)} ms, ${failures} failures${told}`,
  );
}
console.log(`median p99 with analytics / without: ${(median(found.with) / median(found.without)).toFixed(2)}`);

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
  console.log(
    `burst: ${Math.round(result.requestsPerSecond)} requests/s for ${burst} s, p99 ${result.p99Ms.toFixed(1)} ms, ${countFailures(result)} failures;`,
    `${(behind.bytes / 2 ** 20).toFixed(0)} MiB without index at its end, caught up after ${(tookMs / 1_000).toFixed(1)} s (${(tookMs / 1_000 / burst).toFixed(2)} of the burst)`,
  );
}
await gateway.stop();
cleanUp();
