// bun bench/compare.ts FOLDER [options]: CPU time per request and throughput of the gateway in this folder over those of
// the gateway in another one, such as a git worktree of an earlier commit with its node_modules. Both run at once and are
// loaded in turn. A third one, of this folder, never makes the index of its log: without that work, which may wait until
// requests leave time for it, the limit holds, and what it costs is printed beside.
//   --only LIST      scenarios (small-32,stream-32)
//   --rounds N       runs of each (10)
//   --seconds N      length of a run (3)
//   --rate N         requests a second instead of as many as are answered

import { spawnSync } from "node:child_process";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { prepare, type Shooter, type Stage, sendAtRate, shootThreads } from "./load.ts";
import { type Middle, median, middleOf, type ThreadTimes } from "./measure.ts";
import {
  createFolder,
  projectRoot,
  type Running,
  runMain,
  startEventUpstream,
  startGateway,
  startUpstream,
} from "./processes.ts";
import { type Scenario, selectScenarios } from "./scenarios.ts";
import { countFailures, ensureWrk } from "./wrk.ts";

/** Most of the other gateway's CPU time, and of its throughput what is wanted at least. */
const wanted = { cpu: 1.05, throughput: 0.95 };
const warmupSeconds = 10;

/** The gateways, in the order in which they start. */
const sideNames = ["there", "unindexed", "here"] as const;
type SideName = (typeof sideNames)[number];

/** One of the gateways. */
interface Side {
  name: SideName;
  commit: string;
  gateway: Running;
}

/** One run. */
interface Measured {
  times: ThreadTimes;
  requests: number;
  requestsPerSecond: number;
}

const cpuOf = ({ times }: Measured) => times.all;
const throughputOf = ({ requestsPerSecond }: Measured) => requestsPerSecond;

/** What loads a side. */
interface Loaded {
  shooter: Shooter;
  stage: Stage;
}

let failures = 0;

/** Measures a scenario on all sides, each of them first in turn, and prints the verdict. */
async function compare(scenario: Scenario, sides: readonly Side[], parts: Parts): Promise<void> {
  const { upstream, rounds, seconds } = parts;
  const loaded = await Promise.all(
    sides.map(async (side) => {
      const { gateway, name } = side;
      const sent = { completed: 0, abandoned: 0 };
      const stage: Stage = { upstream, gateway, bare: gateway, folder: parts.folder, sent };
      const shooter = await prepare({ ...scenario, name: `${scenario.name}-${name}` }, "gateway", stage);
      return { side, stage, shooter, runs: [] as Measured[] };
    }),
  );
  const measure = async ({ shooter, stage }: Loaded, length: number): Promise<Measured> => {
    const { rate } = parts;
    if (rate > 0) {
      const run = await sendAtRate(shooter, stage, { perSecond: rate, seconds: length });
      failures += run.failures;
      return { ...run, requestsPerSecond: run.requests / length };
    }
    const run = await shootThreads(shooter, stage, length);
    failures += countFailures(run);
    return run;
  };
  for (const { shooter, stage } of loaded) failures += countFailures(await shootThreads(shooter, stage, warmupSeconds));
  for (let round = 0; round < rounds; round++) {
    const first = round % loaded.length;
    for (const one of [...loaded.slice(first), ...loaded.slice(0, first)]) one.runs.push(await measure(one, seconds));
  }
  report(scenario.name, loaded);
}

/** Prints what was measured of a scenario, and the verdict. */
function report(name: string, loaded: readonly { side: Side; runs: readonly Measured[] }[]): void {
  for (const { side, runs } of loaded) {
    const middle = (kind: keyof ThreadTimes) => median(runs.map(({ times }) => times[kind])).toFixed(0);
    const threads = `${middle("answering")} us to answer, ${middle("workers")} us in workers`;
    const throughput = median(runs.map(throughputOf)).toFixed(0);
    console.log(`${name}, ${side.name} (${side.commit}): ${middle("all")} us per request, ${threads}`);
    console.log(`${name}, ${side.name}: ${throughput} requests/s`);
  }
  const runsOf = (side: SideName) => loaded.find((one) => one.side.name === side)?.runs ?? [];
  const ratios = (side: SideName, figure: (run: Measured) => number) => {
    const there = runsOf("there").map(figure);
    return middleOf(runsOf(side).map((run, index) => figure(run) / (there[index] ?? Number.NaN)));
  };
  const show = (line: string, { ratio, from, to }: Middle, verdict = "") => {
    console.log(`${name}: ${line} ${ratio.toFixed(3)} of there (${from.toFixed(3)} to ${to.toFixed(3)})${verdict}`);
  };
  const [cpu, throughput] = [ratios("unindexed", cpuOf), ratios("unindexed", throughputOf)];
  show("CPU without making the index", cpu, cpu.ratio <= wanted.cpu ? ": met" : ": MISSED");
  const isFast = throughput.ratio >= wanted.throughput;
  show("throughput without making the index", throughput, isFast ? ": met" : ": MISSED");
  show("CPU with it", ratios("here", cpuOf));
  const inAll = (side: SideName) => {
    const runs = runsOf(side);
    return (
      runs.reduce((sum, { times, requests }) => sum + times.all * requests, 0) /
      runs.reduce((sum, { requests }) => sum + requests, 0)
    );
  };
  console.log(`${name}: CPU with it in all runs together ${(inAll("here") / inAll("there")).toFixed(3)} of there`);
  show("throughput with it", ratios("here", throughputOf));
}

/** What all scenarios share. */
interface Parts {
  upstream: Running;
  folder: string;
  rounds: number;
  seconds: number;
  /** Requests a second; 0: as many as are answered. */
  rate: number;
}

function commitOf(folder: string): string {
  const { stdout } = spawnSync("git", ["describe", "--always", "--dirty"], { cwd: folder, encoding: "utf8" });
  return stdout.trim() || "no commit";
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      only: { type: "string", default: "small-32,stream-32" },
      rounds: { type: "string", default: "10" },
      seconds: { type: "string", default: "3" },
      rate: { type: "string", default: "0" },
    },
  });
  const [folder] = positionals;
  const [rounds, seconds] = [Number(values.rounds), Number(values.seconds)];
  if (folder === undefined || !(rounds >= 1) || !(seconds >= 1))
    throw new TypeError("Cannot compare: name one folder, and rounds and seconds of at least 1");
  ensureWrk();
  const upstream = await startUpstream();
  const there = resolve(folder);
  const commit = commitOf(projectRoot);
  const preload = join(projectRoot, "bench/without-index.ts");
  const sides: Side[] = [
    { name: "there", commit: commitOf(there), gateway: await startGateway("bun", {}, { root: there }) },
    { name: "unindexed", commit, gateway: await startGateway("bun", {}, { preload }) },
    { name: "here", commit, gateway: await startGateway("bun") },
  ];
  const parts = { upstream, folder: createFolder("compare"), rounds, seconds, rate: Number(values.rate) };
  const scenarios = selectScenarios(values.only);
  const events = scenarios.some(({ eventWise }) => eventWise) ? await startEventUpstream() : undefined;
  for (const scenario of scenarios) {
    await compare(scenario, sides, { ...parts, ...(scenario.eventWise && events && { upstream: events }) });
  }
  for (const { gateway } of sides) await gateway.stop();
  await upstream.stop();
  await events?.stop();
  if (failures > 0) throw new Error(`Failed: ${failures} requests`);
}

await runMain(main);
