// bun bench/compare.ts FOLDER [options]: CPU time per request of the gateway in this folder over that of the gateway in
// another one, such as a git worktree of an earlier commit with its node_modules. Both run at once and are loaded in turn.
//   --only LIST      scenarios (small-32,stream-32)
//   --rounds N       runs of each (10)
//   --seconds N      length of a run (3)

import { spawnSync } from "node:child_process";
import { resolve } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { prepare, type Stage, shootThreads } from "./load.ts";
import { median, type ThreadTimes } from "./measure.ts";
import { cleanUp, createFolder, projectRoot, type Running, startGateway, startUpstream } from "./processes.ts";
import { type Scenario, selectScenarios } from "./scenarios.ts";
import { countFailures, ensureWrk } from "./wrk.ts";

/** Most of the other gateway's CPU time. */
const wanted = 1.05;
const warmupSeconds = 10;

/** One of the two gateways. */
interface Side {
  name: "here" | "there";
  commit: string;
  gateway: Running;
}

let failures = 0;

/** Measures a scenario on both sides, each of them first in every other round, and prints the verdict. */
async function compare(scenario: Scenario, sides: readonly Side[], parts: Parts): Promise<void> {
  const { upstream, rounds, seconds } = parts;
  const loaded = await Promise.all(
    sides.map(async (side) => {
      const { gateway, name } = side;
      const sent = { completed: 0, abandoned: 0 };
      const stage: Stage = { upstream, gateway, bare: gateway, folder: parts.folder, sent };
      const shooter = await prepare({ ...scenario, name: `${scenario.name}-${name}` }, "gateway", stage);
      return { side, stage, shooter, runs: [] as ThreadTimes[] };
    }),
  );
  const measure = async ({ shooter, stage }: Pick<(typeof loaded)[number], "shooter" | "stage">, length: number) => {
    const run = await shootThreads(shooter, stage, length);
    failures += countFailures(run);
    return run.times;
  };
  for (const one of loaded) await measure(one, warmupSeconds);
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? loaded : loaded.toReversed();
    for (const one of order) one.runs.push(await measure(one, seconds));
  }
  for (const { side, runs } of loaded) {
    const middle = (name: keyof ThreadTimes) => median(runs.map((run) => run[name])).toFixed(0);
    const threads = `${middle("answering")} us to answer, ${middle("workers")} us in workers`;
    console.log(`${scenario.name}, ${side.name} (${side.commit}): ${middle("all")} us per request, ${threads}`);
  }
  const [here, there] = loaded.map(({ runs }) => runs);
  const ratio = median((here ?? []).map(({ all }, index) => all / (there?.[index]?.all ?? Number.NaN)));
  const verdict = ratio <= wanted ? "met" : "MISSED";
  console.log(`${scenario.name}: ${ratio.toFixed(3)} of there, wanted <= ${wanted.toFixed(2)}: ${verdict}`);
}

/** What all scenarios share. */
interface Parts {
  upstream: Running;
  folder: string;
  rounds: number;
  seconds: number;
}

function commitOf(folder: string): string {
  const { stdout } = spawnSync("git", ["describe", "--always", "--dirty"], { cwd: folder, encoding: "utf8" });
  return stdout.trim() || "no commit";
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      only: { type: "string", default: "small-32,stream-32" },
      rounds: { type: "string", default: "10" },
      seconds: { type: "string", default: "3" },
    },
  });
  const [folder] = positionals;
  const [rounds, seconds] = [Number(values.rounds), Number(values.seconds)];
  if (folder === undefined || !(rounds >= 1) || !(seconds >= 1))
    throw new TypeError("Cannot compare: name one folder, and rounds and seconds of at least 1");
  ensureWrk();
  const upstream = await startUpstream();
  const there = resolve(folder);
  const sides: Side[] = [
    { name: "here", commit: commitOf(projectRoot), gateway: await startGateway("bun") },
    { name: "there", commit: commitOf(there), gateway: await startGateway("bun", {}, there) },
  ];
  const parts = { upstream, folder: createFolder("compare"), rounds, seconds };
  for (const scenario of selectScenarios(values.only)) await compare(scenario, sides, parts);
  for (const { gateway } of sides) await gateway.stop();
  await upstream.stop();
  if (failures > 0) console.error(`Failed: ${failures} requests`);
  return failures === 0 ? 0 : 1;
}

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    cleanUp();
    process.exit(1);
  });
}
let exitCode = 1;
try {
  exitCode = await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
} finally {
  cleanUp();
}
process.exit(exitCode);
