// Times lists of the log and analytics: seeds a database file with rows, makes the index, and asks for pages with each
// filter and pair, and for all graphs and groups over 90 days.
// Usage: node scripts/run.mjs bun bench/logs.ts [--rows 1000000] [--folder folder] [--only lists|analytics]

import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { createGateway, type Gateway } from "../mod.ts";
import { type Database, openDatabase } from "../src/db/client.ts";
import { createLogSealingStore } from "../src/db/stores/log-sealing.ts";
import { createLogStore } from "../src/db/stores/logs.ts";
import { createIdFactory } from "../src/lib/ids.ts";
import { LogSealer } from "../src/log-index/sealer.ts";
import type { LogBatch } from "../src/schemas/logs.ts";
import { adminKey, createDetails, draw, masterKeys } from "./log-rows.ts";
import { median } from "./measure.ts";
import { createFolder, removeFolder } from "./processes.ts";

const days = 90;
const batchRows = 64;
const warmLists = 7;

/** Stores rows of one workspace over the days before now. */
async function seed(
  database: Database,
  tenant: { organisationId: string; workspaceId: string },
  rows: number,
): Promise<void> {
  const { organisationId, workspaceId } = tenant;
  let at = Date.now() - days * 86_400_000;
  const createId = createIdFactory(() => at);
  const gapMs = (days * 86_400_000) / rows;
  const store = createLogStore(database);
  for (let stored = 0; stored < rows; stored += batchRows) {
    const list = Array.from({ length: Math.min(batchRows, rows - stored) }, () => {
      at += draw(2 * gapMs);
      return createDetails(createId(), organisationId, workspaceId);
    });
    const batch: LogBatch = {
      organisationId,
      workspaceId,
      firstId: list[0]?.id ?? "",
      lastId: list.at(-1)?.id ?? "",
      details: JSON.stringify(list),
      counted: "",
      charged: "",
      content: "[]\n[]\n",
    };
    await store.append([batch]);
  }
}

/** The longest time in which a timer did not fire. */
function watchLoop(): () => number {
  let [last, longest] = [performance.now(), 0];
  const timer = setInterval(() => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  }, 1);
  return () => {
    clearInterval(timer);
    return longest;
  };
}

async function seal(database: Database, rows: number): Promise<void> {
  const sealer = new LogSealer(createLogSealingStore(database), Date.now);
  const [cpu, startedAt, stopWatch] = [process.cpuUsage(), performance.now(), watchLoop()];
  let segments = 0;
  while (await sealer.run()) segments++;
  const elapsed = performance.now() - startedAt;
  const { user, system } = process.cpuUsage(cpu);
  const { rows: sizes } = await database.read(
    "SELECT (SELECT sum(length(data)) FROM log_columns) AS bytes, (SELECT sum(rows) FROM log_segments WHERE state = 'live') AS rows",
  );
  const sealed = Number(sizes[0]?.rows);
  console.log(
    `${segments} segments of ${sealed} of ${rows} rows in ${Math.round(elapsed)} ms:`,
    `${((user + system) / sealed).toFixed(1)} us of CPU and ${(Number(sizes[0]?.bytes) / sealed).toFixed(0)} bytes a row,`,
    `at most ${stopWatch().toFixed(0)} ms without a turn of the event loop`,
  );
}

/** Milliseconds of processor time of this process since an earlier measurement: other programs do not change it. */
function cpuSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

async function ask(gateway: Gateway, path: string): Promise<{ ms: number; cpuMs: number; text: string }> {
  const [startedAt, cpu] = [performance.now(), process.cpuUsage()];
  const headers = { "x-gateway-api-key": adminKey };
  const response = await gateway.fetch(new Request(`http://gateway.test${path}`, { headers }));
  const text = await response.text();
  const ms = performance.now() - startedAt;
  const cpuMs = cpuSince(cpu);
  if (response.status !== 200) throw new Error(`${path}: ${text}`);
  return { ms, cpuMs, text };
}

async function list(gateway: Gateway, query: string): Promise<{ ms: number; rows: number }> {
  const { ms, text } = await ask(gateway, `/v1/logs?limit=50${query}`);
  return { ms, rows: JSON.parse(text).data.length };
}

async function start(url: string): Promise<Gateway> {
  const gateway = createGateway({ database: url, masterKeys, bootstrap: { adminKey } });
  await gateway.start();
  return gateway;
}

/** The first list of a process, and the median of later ones. */
async function time(url: string, query: string): Promise<{ coldMs: number; warmMs: number; rows: number }> {
  const gateway = await start(url);
  const { ms: coldMs, rows } = await list(gateway, query);
  const warmMs: number[] = [];
  for (let count = 0; count < warmLists; count++) warmMs.push((await list(gateway, query)).ms);
  await gateway.close();
  return { coldMs, warmMs: median(warmMs), rows };
}

const filters: readonly string[] = [
  "model=model-3",
  "model=absent",
  "provider=openai",
  "status=503",
  "status=418",
  "stream=true",
  "operation=embed",
  "virtual_key=provider-3",
  "user_id=user-id-7",
  "config=config-3",
  "prompt_slug=prompt-3",
  "error=status_429",
  "error=absent",
  `api_key_id=${crypto.randomUUID()}`,
  "trace_id=absent",
  "metadata._user=user-7@example.com",
  "metadata.team=team-7",
  "metadata.session=session-7",
  "metadata.absent=1",
  `from=${new Date(Date.now() - 60 * 86_400_000).toISOString()}&to=${new Date(Date.now() - 59 * 86_400_000).toISOString()}`,
];

async function timeAll(url: string): Promise<void> {
  console.log("\n| filter | rows | first list ms | later lists ms |\n|---|--:|--:|--:|");
  for (const query of ["", ...filters.map((filter) => `&${filter}`)]) {
    const { coldMs, warmMs, rows } = await time(url, query);
    const shown = query.slice(1).replace(/[0-9a-f-]{36}/, "absent") || "none";
    console.log(`| \`${shown}\` | ${rows} | ${coldMs.toFixed(0)} | ${warmMs.toFixed(1)} |`);
  }
  const gateway = await start(url);
  const pairs = filters.flatMap((one, index) => filters.slice(index + 1).map((other) => [one, other] as const));
  const times: { query: string; ms: number }[] = [];
  for (const [one, other] of pairs) {
    if (one.split("=")[0] === other.split("=")[0]) continue;
    const query = `&${one}&${other}`;
    const found: number[] = [];
    for (let count = 0; count < 4; count++) found.push((await list(gateway, query)).ms);
    times.push({ query, ms: median(found.slice(1)) });
  }
  times.sort((a, b) => b.ms - a.ms);
  const slow = times.slice(0, 5).map(({ query, ms }) => `${query.slice(1)} (${ms.toFixed(0)} ms)`);
  console.log(
    `\n${times.length} pairs: median ${median(times.map(({ ms }) => ms)).toFixed(1)} ms. Slowest: ${slow.join(", ")}`,
  );
  console.log(`memory: ${Math.round(process.memoryUsage.rss() / 1e6)} MB`);
  await gateway.close();
}

/** The largest range that analytics are asked for, and a filter that needs another column. */
const analyticsFilters = [
  "",
  "&ai_org_model=openai__model-3",
  "&metadata=%7B%22team%22%3A%22team-7%22%7D",
  "&status_code=503",
];

async function timeAnalytics(url: string): Promise<void> {
  const gateway = await start(url);
  const spec = await (await gateway.fetch(new Request("http://gateway.test/openapi.json"))).json();
  const [to, from] = [new Date(), new Date(Date.now() - days * 86_400_000)];
  const range = `time_of_generation_min=${from.toISOString()}&time_of_generation_max=${to.toISOString()}`;
  console.log(
    "\n| analytics | first ms | later ms | later, CPU ms | with a filter, slowest ms | CPU ms |\n|---|--:|--:|--:|--:|--:|",
  );
  for (const path of Object.keys(spec.paths)
    .filter((name) => name.startsWith("/v1/analytics"))
    .concat("/v1/analytics/groups/metadata/session")) {
    const query = `${path.replace("{metadataKey}", "team")}?${range}`;
    const later: { ms: number; cpuMs: number }[] = [];
    let firstMs = Number.NaN;
    for (const filter of analyticsFilters) {
      const found: Awaited<ReturnType<typeof ask>>[] = [];
      for (let count = 0; count < 4; count++) found.push(await ask(gateway, query + filter));
      const [first, ...others] = found;
      later.push({ ms: median(others.map(({ ms }) => ms)), cpuMs: median(others.map(({ cpuMs }) => cpuMs)) });
      if (filter === "") firstMs = first?.ms ?? Number.NaN;
    }
    const [plain = { ms: Number.NaN, cpuMs: Number.NaN }, ...filtered] = later;
    const slowest = (of: "ms" | "cpuMs") => Math.max(...filtered.map((one) => one[of])).toFixed(0);
    const figures = [firstMs.toFixed(0), plain.ms.toFixed(0), plain.cpuMs.toFixed(0), slowest("ms"), slowest("cpuMs")];
    console.log(`| \`${path}\` | ${figures.join(" | ")} |`);
  }
  await gateway.close();
}

const { values } = parseArgs({
  options: { rows: { type: "string", default: "1000000" }, folder: { type: "string" }, only: { type: "string" } },
});
const rows = Number(values.rows);
const folder = values.folder === undefined ? createFolder("logs") : resolve(values.folder);
mkdirSync(folder, { recursive: true });
const url = `file:${join(folder, "logs.db")}`;
const isSeeded = existsSync(join(folder, "seeded"));
await (await start(url)).close();
const database = await openDatabase({ url });
if (!isSeeded) {
  const { rows: workspaces } = await database.read("SELECT id, organisation_id FROM workspaces LIMIT 1");
  const [workspace] = workspaces;
  await seed(
    database,
    { organisationId: String(workspace?.organisation_id), workspaceId: String(workspace?.id) },
    rows,
  );
  writeFileSync(join(folder, "seeded"), "");
}
await seal(database, rows);
await database.close();
if (values.only !== "analytics") await timeAll(url);
if (values.only !== "lists") await timeAnalytics(url);
if (values.folder === undefined) removeFolder(folder);
process.exit(0);
