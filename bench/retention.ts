// Removes the old rows of a large log while the loop of the process runs, as a gateway does: on the log's own thread.
// Prints whether pauses of the loop stay within 20 ms, apart from the time in which other programs had the processor, and
// whether the file becomes smaller.
// Usage: node scripts/run.mjs bun bench/retention.ts [--megabytes 2048]

import { execFileSync } from "node:child_process";
import { statSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { gc } from "bun";
import { openDatabase } from "../src/db/client.ts";
import { migrate } from "../src/db/migrate.ts";
import { createLogStore } from "../src/db/stores/logs.ts";
import { createIdFactory } from "../src/lib/ids.ts";
import { createLogThread } from "../src/serve/log-thread.ts";
import { createDetails } from "./log-rows.ts";
import { type LoopPause, showPause, watchLoop } from "./loop-watch.ts";
import { createFolder, removeFolder } from "./processes.ts";
import { judge } from "./verdict.ts";

const { values } = parseArgs({ options: { megabytes: { type: "string", default: "2048" } } });
const megabytes = Number(values.megabytes);
const dayMs = 86_400_000;
const days = 60;
const keptDays = 6;
const batchRows = 64;
/** As of rows with bodies of some kilobytes, compressed. */
const contentBytes = 256 * 1024;
const stepPauseMs = 5;

const folder = createFolder("retention");
const path = join(folder, "log.db");
const location = { url: `file:${path}` };
// as a gateway with a thread for log rows
const database = await openDatabase({ ...location, checkpointPages: 16_384 });
await migrate(database);
const store = createLogStore(database);
const batches = Math.floor((megabytes * 2 ** 20) / (contentBytes + batchRows * 1_200));
const end = Date.now();
let at = end - days * dayMs;
const createId = createIdFactory(() => Math.floor(at));
for (let batch = 0; batch < batches; batch++) {
  const list = Array.from({ length: batchRows }, () => {
    at += (days * dayMs) / batches / batchRows;
    return createDetails(createId(), "organisation", "workspace");
  });
  const [firstId, lastId] = [list[0]?.id ?? "", list.at(-1)?.id ?? ""];
  const content = "x".repeat(contentBytes);
  const row = { organisationId: "organisation", workspaceId: "workspace", firstId, lastId, counted: "", charged: "" };
  await store.append([{ ...row, details: JSON.stringify(list), content }]);
}
// otherwise the disk is busy with what was just written
await database.read("PRAGMA wal_checkpoint(TRUNCATE)");
execFileSync("sync");
const sizeOf = () => Math.round(statSync(path).size / 2 ** 20);
const fullSize = sizeOf();
// what was written is garbage now, and collecting it would pause the loop
gc(true);
console.log(`${batches * batchRows} rows in ${sizeOf()} MiB`);

const redaction = {
  key: new Uint8Array(32),
  keyPrefix: "gk",
  sensitiveNames: [],
  secretMembers: [],
  aliasPrefixes: [],
};
const writer = createLogThread(location, redaction, { metrics: null, otlp: null });

/** Longest times in milliseconds. */
const longest = { write: 0, read: 0 };
const watch = watchLoop();
let longestPause: LoopPause = { ms: 0, ownMs: 0, busyMs: 0 };
const takePause = () => {
  const pause = watch.take();
  if (pause.ownMs > longestPause.ownMs) longestPause = pause;
  return showPause(pause);
};
const timed = async (name: "write" | "read", run: () => Promise<unknown>) => {
  const begin = performance.now();
  await run();
  longest[name] = Math.max(longest[name], performance.now() - begin);
};
await database.write(["CREATE TABLE bench (id INTEGER PRIMARY KEY, text TEXT)"]);
/** What a request loop does meanwhile: writes of the control plane, and look-ups. */
let isBusy = false;
const others = setInterval(async () => {
  if (isBusy) return;
  isBusy = true;
  await timed("write", () => database.write(["INSERT INTO bench (text) VALUES ('text')"])).catch(console.error);
  await timed("read", () => database.read("SELECT count(*) FROM bench")).catch(console.error);
  isBusy = false;
}, 10);

const begin = performance.now();
const phase = async (name: string, times: Parameters<typeof writer.purge>[0]) => {
  const since = performance.now();
  let steps = 0;
  do {
    steps++;
    await new Promise((go) => setTimeout(go, stepPauseMs));
  } while (await writer.purge(times));
  const seconds = ((performance.now() - since) / 1_000).toFixed(1);
  const [write, read] = [longest.write, longest.read].map((ms) => ms.toFixed(1));
  console.log(
    `${name}: ${steps} steps in ${seconds} s, file ${sizeOf()} MiB, write ${write} ms, read ${read} ms, longest pause ${takePause()}`,
  );
  Object.assign(longest, { write: 0, read: 0 });
};
while (await writer.index());
console.log(`index made in ${((performance.now() - begin) / 1_000).toFixed(1)} s, longest pause ${takePause()}`);
Object.assign(longest, { write: 0, read: 0 });
longestPause = { ms: 0, ownMs: 0, busyMs: 0 };
const kept = end - keptDays * dayMs;
await phase("contents", { contents: kept, rows: 0, statistics: 0, organisations: [] });
await phase("rows", { contents: kept, rows: kept, statistics: 0, organisations: [] });
await phase("statistics", { contents: kept, rows: kept, statistics: kept, organisations: [] });
watch.stop();
clearInterval(others);
judge({
  line: "pause of the request loop while old rows are removed",
  figure: longestPause.ownMs,
  most: 20,
  unit: "ms",
});
judge({ line: "size of the file afterwards", figure: sizeOf(), most: Math.round(fullSize / 2), unit: "MiB" });
await writer.close();
await database.close();
console.log(`afterwards ${sizeOf()} MiB`);
removeFolder(folder);
