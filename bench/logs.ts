// Times lists of the log and analytics: seeds a database file with rows, makes the index, and asks for pages and figures
// over 90 days with each filter and pair of filters, as hosts do: on the thread that reads the log. Prints a line for each
// limit. Medians of times judge; with `--judge cpu` those of processor time, where other programs use the machine.
// Usage: node scripts/run.mjs bun bench/logs.ts [--rows 1000000] [--folder folder] [--only lists|analytics] [--judge cpu]
// With `--with text` only paths that contain the text are asked for, with `--ratings 200000` so many traces have feedback.

import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { createGateway, type Gateway } from "../mod.ts";
import { type Database, openDatabase } from "../src/db/client.ts";
import { createLogSealingStore } from "../src/db/stores/log-sealing.ts";
import { createLogStore } from "../src/db/stores/logs.ts";
import { createIdFactory } from "../src/lib/ids.ts";
import { LogSealer } from "../src/logs/index/sealer.ts";
import type { LogBatch } from "../src/schemas/logs.ts";
import { createLogReaderThread } from "../src/serve/log-reader-thread.ts";
import { adminKey, createDetails, draw, masterKeys } from "./log-rows.ts";
import { showPause, watchLoop } from "./loop-watch.ts";
import { median } from "./measure.ts";
import { createFolder, removeFolder } from "./processes.ts";
import { judge } from "./verdict.ts";

const { values } = parseArgs({
  options: {
    rows: { type: "string", default: "1000000" },
    folder: { type: "string" },
    only: { type: "string" },
    judge: { type: "string", default: "time" },
    with: { type: "string", default: "" },
    ratings: { type: "string", default: "0" },
  },
});

const days = 90;
const batchRows = 64;

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

/** Stores feedback for traces of the log until there is as much as wanted. */
async function rate(database: Database, ratings: number): Promise<void> {
  const { rows: found } = await database.read("SELECT count(*) AS count FROM feedback");
  const missing = ratings - Number(found[0]?.count);
  if (missing <= 0) return;
  const sql = `INSERT INTO feedback
      (id, organisation_id, workspace_id, api_key_id, trace_id, value, weight, metadata, created_at, last_updated_at)
    SELECT lower(hex(randomblob(16))), organisation_id, workspace_id, value ->> 'api_key_id', value ->> 'trace_id',
      abs(random()) % 21 - 10, (abs(random()) % 101) / 100.0, '{}', ? + abs(random()) % 1000, 0
    FROM log_batches, json_each(details) WHERE seq BETWEEN ? AND ? AND abs(random()) % 100 < ?`;
  // a gateway removes old batches
  const { rows: all } = await database.read("SELECT count(*) AS batches, min(seq), max(seq) FROM log_batches");
  const [batches = 0, firstSeq = 0, lastSeq = 0] = Object.values(all[0] ?? {}).map(Number);
  const percent = Math.ceil((100 * missing) / (batches * batchRows));
  for (let first = firstSeq; first <= lastSeq; first += 64) {
    await database.write([{ sql, args: [Date.now(), first, first + 63, percent] }]);
  }
}

async function seal(database: Database, rows: number): Promise<void> {
  const sealer = new LogSealer(createLogSealingStore(database), Date.now);
  const [cpu, startedAt, watch] = [process.cpuUsage(), performance.now(), watchLoop()];
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
    `longest pause of the loop that makes them ${showPause(watch.take())}`,
  );
  watch.stop();
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

async function start(url: string): Promise<Gateway> {
  const host = { createLogReader: createLogReaderThread };
  const gateway = createGateway({ database: url, masterKeys, bootstrap: { adminKey }, ...host });
  await gateway.start();
  return gateway;
}

/** The median of several answers, after a first one that may have to read the index. */
interface Median {
  readonly query: string;
  readonly firstMs: number;
  readonly ms: number;
  readonly cpuMs: number;
  /** Length of the answer. */
  readonly characters: number;
}

/** Times a path, if it is to be asked for. */
async function addMedian(medians: Median[], gateway: Gateway, query: string): Promise<Median | undefined> {
  if (!query.includes(values.with)) return undefined;
  const measured = await timeMedian(gateway, query);
  medians.push(measured);
  return measured;
}

async function timeMedian(gateway: Gateway, query: string, count = 3): Promise<Median> {
  const first = await ask(gateway, query);
  const others: Awaited<ReturnType<typeof ask>>[] = [];
  for (let index = 0; index < count; index++) others.push(await ask(gateway, query));
  return {
    query,
    firstMs: first.ms,
    ms: median(others.map(({ ms }) => ms)),
    cpuMs: median(others.map(({ cpuMs }) => cpuMs)),
    characters: first.text.length,
  };
}

const iso = (daysAgo: number) => new Date(Date.now() - daysAgo * 86_400_000).toISOString();

/** Each filter of lists, some of them with values that no row has. */
const listFilters: readonly string[] = [
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
  "api_key_id=absent",
  "trace_id=absent",
  "span_id=absent",
  "ai_org_model=openai__model-3",
  "total_units_min=5990",
  "cost_max=0.0001",
  "cache_status=HIT",
  "weighted_feedback_min=1",
  "metadata._user=user-7@example.com",
  "metadata.team=team-7",
  "metadata.session=session-7",
  "metadata.absent=1",
  `from=${iso(60)}&to=${iso(59)}`,
];

/** Filters on keys that have no column. */
const keysWithoutColumn: readonly string[] = ["tag-150", "tag-199", "absent"].map((key) => `metadata.${key}=value-7`);

/** Pairs of filters that do not exclude each other by their names. */
function pairsOf(filters: readonly string[]): string[] {
  const nameOf = (filter: string) => filter.split("=")[0];
  return filters.flatMap((one, index) =>
    filters
      .slice(index + 1)
      .filter((other) => nameOf(one) !== nameOf(other))
      .map((other) => `${one}&${other}`),
  );
}

/** The slowest of some medians, by what judges. */
function slowest(medians: readonly Median[]): Median & { figure: number } {
  const figureOf = ({ ms, cpuMs }: Median) => (values.judge === "cpu" ? cpuMs : ms);
  const [first] = medians.toSorted((one, other) => figureOf(other) - figureOf(one));
  if (!first) throw new Error("Cannot judge: nothing was measured");
  return { ...first, figure: figureOf(first) };
}

const unit = () => (values.judge === "cpu" ? "ms of CPU" : "ms");

function judgeMedians(line: string, medians: readonly Median[], most: number): void {
  if (medians.length === 0) return;
  const { query, figure, ms, cpuMs } = slowest(medians);
  const beyond = medians.filter((one) => slowest([one]).figure > most).length;
  console.log(
    `${line}: slowest ${ms.toFixed(0)} ms, ${cpuMs.toFixed(0)} ms of CPU: ${query}; ${beyond} of ${medians.length} beyond ${most}`,
  );
  judge({ line, figure, most, unit: unit() });
}

async function timeLists(url: string): Promise<void> {
  console.log("\n| filter | first list ms | later lists ms | CPU ms |\n|---|--:|--:|--:|");
  const gateway = await start(url);
  const addPage = (medians: Median[], filter: string) => addMedian(medians, gateway, `/v1/logs?limit=50&${filter}`);
  const singles: Median[] = [];
  for (const filter of ["", ...listFilters]) {
    const found = await addPage(singles, filter);
    if (!found) continue;
    const figures = [found.firstMs.toFixed(0), found.ms.toFixed(1), found.cpuMs.toFixed(1)];
    console.log(`| \`${filter || "none"}\` | ${figures.join(" | ")} |`);
  }
  const pairs: Median[] = [];
  for (const pair of pairsOf(listFilters)) await addPage(pairs, pair);
  const others: Median[] = [];
  const watch = watchLoop();
  for (const filter of keysWithoutColumn) await addPage(others, filter);
  const pause = watch.take();
  watch.stop();
  console.log("");
  judgeMedians("a page of the list with one filter", singles, 50);
  judgeMedians("a page of the list with two filters", pairs, 50);
  judgeMedians("a page of the list by a key without a column", others, 1_500);
  console.log(`longest pause of the request loop meanwhile: ${showPause(pause)}`);
  judge({ line: "pause of the request loop by such a list", figure: pause.ownMs, most: 20, unit: "ms" });
  await gateway.close();
}

const analyticsFilters: readonly string[] = [
  "total_units_min=5990",
  "prompt_token_max=100",
  "completion_token_min=900",
  "cost_min=0.5",
  "status_code=503",
  "weighted_feedback_min=1",
  "virtual_keys=provider-3",
  "configs=config-3,config-4",
  "prompt_slug=prompt-3",
  "trace_id=absent",
  "span_id=absent",
  "ai_org_model=openai__model-3",
  "api_key_ids=absent",
  "cache_status=HIT",
  `metadata=${encodeURIComponent('{"team":"team-7"}')}`,
  `metadata=${encodeURIComponent('{"session":"session-7"}')}`,
];

/** Paths that read most columns, or make most groups. */
const widePaths = ["graphs/latency", "groups/model", "groups/metadata/session"];

async function timeAnalytics(url: string): Promise<void> {
  const gateway = await start(url);
  const spec = await (await gateway.fetch(new Request("http://gateway.test/openapi.json"))).json();
  const range = `time_of_generation_min=${iso(days)}&time_of_generation_max=${iso(0)}`;
  const names = Object.keys(spec.paths)
    .filter((name) => name.startsWith("/v1/analytics/"))
    .map((name) => name.slice("/v1/analytics/".length).replace("{metadataKey}", "team"))
    .concat("groups/metadata/session", "groups/metadata/tag-150");
  const addFigures = (medians: Median[], name: string, filter: string) =>
    addMedian(medians, gateway, `/v1/analytics/${name}?${range}&${filter}`);
  console.log("\n| analytics | first ms | later ms | CPU ms | slowest ms | CPU ms |\n|---|--:|--:|--:|--:|--:|");
  const [all, ofOthers]: [Median[], Median[]] = [[], []];
  for (const name of names) {
    const measured: Median[] = [];
    const plain = await addFigures(measured, name, "");
    for (const filter of analyticsFilters) await addFigures(measured, name, filter);
    (name.includes("tag-") ? ofOthers : all).push(...measured);
    if (measured.length === 0) continue;
    const { ms, cpuMs } = slowest(measured);
    const shown = [plain?.firstMs, plain?.ms, plain?.cpuMs, ms, cpuMs].map((value) => value?.toFixed(0) ?? "");
    console.log(`| \`${name}\` | ${shown.join(" | ")} |`);
  }
  for (const name of widePaths) for (const pair of pairsOf(analyticsFilters)) await addFigures(all, name, pair);
  console.log("");
  judgeMedians("an endpoint of analytics with up to two filters", all, 300);
  judgeMedians("groups by a key without a column", ofOthers, 1_500);
  console.log(`memory: ${Math.round(process.memoryUsage.rss() / 1e6)} MB`);
  await gateway.close();
}

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
await rate(database, Number(values.ratings));
await seal(database, rows);
await database.close();
if (values.only !== "analytics") await timeLists(url);
if (values.only !== "lists") await timeAnalytics(url);
if (values.folder === undefined) removeFolder(folder);
process.exit();
