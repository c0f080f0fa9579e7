// Takes the database of the log away while requests come at full speed: another program holds its lock. Counts failed
// requests, what waits in memory and in the file for outages, and whether the rows that are missing afterwards are those
// that the metric counts. Prints a line for each limit.
// Usage: node scripts/run.mjs bun bench/log-outage.ts [--seconds 60] [--spill-bytes 268435456]

import { join } from "node:path";
import { parseArgs } from "node:util";
import { createClient } from "@libsql/client";
import { peakRssMegabytes, rssMegabytes } from "./measure.ts";
import { cleanUp, createFolder, databaseFile, keys, startGateway, wait } from "./processes.ts";
import { judge } from "./verdict.ts";
import { countFailures, ensureWrk, runWrk, writeWrkScript } from "./wrk.ts";

const { values } = parseArgs({
  options: { seconds: { type: "string", default: "60" }, "spill-bytes": { type: "string", default: "268435456" } },
});
const seconds = Number(values.seconds);
const connections = 32;
/** What waits in memory at most: `docs/logs.md`. */
const maxQueueRows = 10_000;
const maxQueueBytes = 64 * 2 ** 20;
/** Time for what waits to be stored once the database is back. */
const recoveryMs = 180_000;

const headers = {
  "x-gateway-api-key": keys.workspace,
  "x-gateway-provider": "echo",
  "content-type": "application/json",
};
const body = JSON.stringify({ model: "echo-1", messages: [{ role: "user", content: "Say hello" }] });

async function readMetrics(url: string): Promise<(name: string) => number> {
  const response = await fetch(`${url}/metrics`, { headers: { "x-gateway-api-key": keys.admin } });
  const text = await response.text();
  return (name) => Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, "m").exec(text)?.[1] ?? 0);
}

/** Rows of requests that are stored, and of rows that only report losses. */
async function countStored(file: string): Promise<number> {
  const client = createClient({ url: `file:${file}` });
  try {
    const { rows } = await client.execute(`SELECT count(*) AS stored FROM log_batches, json_each(details)
      WHERE json_extract(value, '$.operation') IS NOT 'rows_lost' AND json_extract(value, '$.model') = 'echo-1'`);
    return Number(rows[0]?.stored);
  } finally {
    client.close();
  }
}

ensureWrk();
const folder = createFolder("log-outage");
const gateway = await startGateway("bun", { LOG_SPILL_BYTES: values["spill-bytes"] });
const url = `http://127.0.0.1:${gateway.port}`;
const file = databaseFile(gateway.folder);
const target = { url: `${url}/v1/chat/completions`, connections, headers, body };
const script = writeWrkScript(folder, "chat", target);
const warm = await runWrk(target, script, 5);
await wait(2_000);
const before = rssMegabytes(gateway.pid);

const other = createClient({ url: `file:${join(file)}`, timeout: 10_000 });
const lock = await other.transaction("write");
const most = { queueRows: 0, queueBytes: 0, spillRows: 0, spillBytes: 0 };
let isAway = true;
const watching = (async () => {
  while (isAway) {
    const metric = await readMetrics(url);
    most.queueRows = Math.max(most.queueRows, metric("gateway_log_queue_rows"));
    most.queueBytes = Math.max(most.queueBytes, metric("gateway_log_queue_bytes"));
    most.spillRows = Math.max(most.spillRows, metric("gateway_log_spill_rows"));
    most.spillBytes = Math.max(most.spillBytes, metric("gateway_log_spill_bytes"));
    await wait(500);
  }
})();
const result = await runWrk(target, script, seconds);
isAway = false;
await watching;
const peak = peakRssMegabytes(gateway.pid);
await lock.rollback();
other.close();

const backAt = performance.now();
let waiting = Number.POSITIVE_INFINITY;
while (waiting > 0 && performance.now() - backAt < recoveryMs) {
  await wait(500);
  const metric = await readMetrics(url);
  waiting = metric("gateway_log_queue_rows") + metric("gateway_log_spill_rows");
}
const recoveredMs = performance.now() - backAt;
const lost = (await readMetrics(url))("gateway_log_rows_dropped_total");
const stored = await countStored(file);
const sent = warm.requests + result.requests;
console.log(
  `${Math.round(result.requestsPerSecond)} requests/s for ${seconds} s without the database, p99 ${result.p99Ms.toFixed(1)} ms;`,
  `memory ${before.toFixed(0)} MB before, at most ${peak.toFixed(0)} MB; up to ${most.spillRows} rows in ${(most.spillBytes / 2 ** 20).toFixed(0)} MiB of the file;`,
  `${sent} requests, ${stored} rows stored, ${lost} counted as lost`,
);
judge({ line: "failed requests", figure: countFailures(result), most: 0, unit: "requests" });
judge({ line: "rows that wait in memory", figure: most.queueRows, most: maxQueueRows, unit: "rows" });
judge({ line: "bytes that wait in memory", figure: most.queueBytes, most: maxQueueBytes, unit: "bytes" });
judge({
  line: "size of the file for outages",
  figure: most.spillBytes,
  most: Number(values["spill-bytes"]),
  unit: "bytes",
});
// wrk leaves behind requests that were answered after its end
const unexplained = Math.max(0, sent - stored - lost, stored + lost - sent - 2 * connections);
judge({ line: "rows neither stored nor counted as lost", figure: unexplained, most: 0, unit: "rows" });
judge({ line: "recovery without a restart", figure: recoveredMs / 1_000, most: recoveryMs / 1_000, unit: "s" });
await gateway.stop();
cleanUp();
process.exit();
