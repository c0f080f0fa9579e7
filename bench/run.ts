// npm run bench [-- options]: the gateway against a bare proxy, in the same run. See docs/performance.md.
//   --only LIST      scenarios (small-1, small-32, config-32, saved-32, stored-32, small-128, prompt-10k,
//                    prompt-100k, stream-32, anthropic-stream-32, passthrough-32, or the part before the hyphen) and the parts "policies", "configs", "soak" and "startup"; default: all
//   --rounds N       pairs of runs of each scenario (3)
//   --seconds N      length of a run (4)
//   --policies, --configs, --soak, --startup, and --no-configs and so on   add or leave out a part
//   --runtime NAME   what runs the gateway: bun, deno or node (bun)
//   --json FILE      where the figures go (bench/results/latest.json)
// Ends with 1 when a request failed or a row is missing, never because of a time.

import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { countConfigParses } from "./config-parsing.ts";
import { type LoadOptions, runScenario, type ScenarioResult, type Stage } from "./load.ts";
import { canMeasure, cpuModel } from "./measure.ts";
import { runPolicies } from "./policy-sides.ts";
import {
  cleanUp,
  createFolder,
  databaseFile,
  projectRoot,
  type Runtime,
  removeFolder,
  runtimes,
  startBareProxy,
  startEventUpstream,
  startGateway,
  startUpstream,
  toolPath,
} from "./processes.ts";
import { describeScenario, judge, type Report, type RowsResult, type Setting, toText } from "./report.ts";
import { countRows, rowsAreComplete } from "./rows.ts";
import { type Scenario, selectScenarios } from "./scenarios.ts";
import { runSoak, type SoakResult } from "./soak.ts";
import { ensureBinary, measureStartup, type StartupResult } from "./startup.ts";
import { ensureWrk } from "./wrk.ts";

interface Options extends LoadOptions {
  scenarios: Scenario[];
  policies: boolean;
  configs: boolean;
  soak: boolean;
  startup: boolean;
  runtime: Runtime;
  json: string;
}

function wholeNumber(name: string, text: string, max: number): number {
  const value = /^[0-9]{1,4}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= 1 && value <= max) return value;
  throw new TypeError(`Cannot use --${name}: it must be a whole number from 1 to ${max}`);
}

function readOptions(): Options {
  const { values } = parseArgs({
    allowNegative: true,
    options: {
      only: { type: "string" },
      rounds: { type: "string", default: "3" },
      seconds: { type: "string", default: "4" },
      policies: { type: "boolean" },
      configs: { type: "boolean" },
      soak: { type: "boolean" },
      startup: { type: "boolean" },
      runtime: { type: "string", default: "bun" },
      json: { type: "string", default: join(projectRoot, "bench/results/latest.json") },
    },
  });
  const runtime = runtimes.find((name) => name === values.runtime);
  if (runtime === undefined) throw new TypeError(`Cannot use --runtime: it must be one of ${runtimes.join(", ")}`);
  const names = values.only?.split(",").map((name) => name.trim());
  const loads = names?.filter((name) => !["policies", "configs", "soak", "startup"].includes(name));
  return {
    scenarios: loads?.length === 0 ? [] : selectScenarios(loads?.join(",")),
    policies: values.policies ?? names?.includes("policies") ?? true,
    configs: values.configs ?? names?.includes("configs") ?? true,
    soak: values.soak ?? names?.includes("soak") ?? true,
    startup: values.startup ?? names?.includes("startup") ?? true,
    rounds: wholeNumber("rounds", values.rounds, 100),
    seconds: wholeNumber("seconds", values.seconds, 600),
    warmupSeconds: 2,
    runtime,
    json: resolve(values.json),
  };
}

function firstLine(command: string, args: readonly string[]): string {
  const { stdout, stderr } = spawnSync(command, args, { cwd: projectRoot, encoding: "utf8" });
  return `${stdout ?? ""}${stderr ?? ""}`.trim().split("\n", 1)[0] ?? "";
}

/** The commit that is measured, and whether the gateway's files differ from it. */
function describeCommit(): string {
  const git = (...args: string[]) => spawnSync("git", args, { cwd: projectRoot, encoding: "utf8" });
  const { status, stdout } = git("rev-parse", "--short", "HEAD");
  if (status !== 0) return "of no commit";
  const changed = git("status", "--porcelain", "--", "src", "mod.ts").stdout.trim() !== "";
  return `${stdout.trim()}${changed ? " with changes" : ""}`;
}

function describeSetting(options: Options, upstream: "nginx" | "bun"): Setting {
  const version = (command: string, args: readonly string[]) =>
    /\d+\.\d+(\.\d+)?/.exec(firstLine(command, args))?.[0] ?? "unknown";
  return {
    cpu: cpuModel(),
    cores: cpus().length,
    upstream,
    runtime: options.runtime,
    versions: {
      bun: version(toolPath("bun"), ["--version"]),
      ...(options.runtime !== "bun" && { [options.runtime]: version(toolPath(options.runtime), ["--version"]) }),
      ...(upstream === "nginx" && { nginx: version("nginx", ["-v"]) }),
      wrk: version("wrk", ["-v"]),
    },
    commit: describeCommit(),
    rounds: options.rounds,
    seconds: options.seconds,
  };
}

/** Runs one part against a separate gateway, stops it and counts its rows. */
async function withGateway<T>(
  part: string,
  shared: Pick<Stage, "upstream" | "bare">,
  runtime: Runtime,
  run: (stage: Stage) => Promise<T>,
): Promise<{ result: T; rows: RowsResult }> {
  const gateway = await startGateway(runtime);
  const folder = createFolder("scripts");
  const stage: Stage = { ...shared, gateway, folder, sent: { completed: 0, abandoned: 0 } };
  try {
    const result = await run(stage);
    const stopped = await gateway.stop();
    const stored = await countRows(databaseFile(gateway.folder));
    const rows = { part, sent: stage.sent, stored, stopped, complete: rowsAreComplete(stored, stage.sent) };
    warnOf(gateway.output());
    return { result, rows };
  } catch (error) {
    warnOf(gateway.output());
    throw error;
  } finally {
    removeFolder(folder);
    if (gateway.pid > 0) await gateway.stop();
    removeFolder(gateway.folder);
  }
}

/** Shows what the gateway said besides its banner. */
function warnOf(output: string): void {
  const banner = /^(AI gateway serving on .*|Try it:|curl .*| {2}-[Hd] .*|)$/;
  const lines = output.split("\n").filter((line) => !banner.test(line));
  if (lines.length > 0) console.error(`The gateway wrote:\n${lines.slice(0, 20).join("\n")}`);
}

/** An upstream that writes its events one by one, and a bare proxy in front of it. */
async function startEventSide(): Promise<Pick<Stage, "upstream" | "bare">> {
  const upstream = await startEventUpstream();
  return { upstream, bare: await startBareProxy(upstream.port) };
}

async function measureLoads(options: Options, report: Omit<Report, "goals">): Promise<void> {
  const upstream = await startUpstream();
  const bare = await startBareProxy(upstream.port);
  const shared = { upstream, bare };
  report.setting = describeSetting(options, upstream.kind);
  if (options.scenarios.length > 0) {
    const events = options.scenarios.some(({ eventWise }) => eventWise) ? await startEventSide() : undefined;
    const { result, rows } = await withGateway("scenarios", shared, options.runtime, async (stage) => {
      const results: ScenarioResult[] = [];
      for (const scenario of options.scenarios) {
        const found = await runScenario(scenario, { ...stage, ...(scenario.eventWise && events) }, options);
        console.error(describeScenario(found));
        results.push(found);
      }
      return results;
    });
    report.scenarios = result;
    report.rows.push(rows);
    await events?.bare.stop();
    await events?.upstream.stop();
  }
  if (options.policies) {
    const lengths = { rounds: options.rounds * policyRounds };
    const { result, rows } = await withGateway("policies", shared, options.runtime, (stage) =>
      runPolicies(stage, lengths, (line) => console.error(`policies: ${line}`)),
    );
    report.policies = result;
    report.rows.push(rows);
  }
  if (options.soak) {
    const { result, rows } = await withGateway<SoakResult>("soak", shared, options.runtime, (stage) =>
      runSoak(stage, (slice) => {
        console.error(`soak: ${slice.requests} requests, RSS ${slice.rssMegabytes.toFixed(1)} MB`);
      }),
    );
    report.soak = result;
    report.rows.push(rows);
  }
  await bare.stop();
  await upstream.stop();
}

/** Rounds of the policies for each of the others: they are short, and what they look for is small. */
const policyRounds = 30;

async function measureStartups(runtime: Runtime): Promise<StartupResult[]> {
  const results = [await measureStartup(runtime)];
  const reason = ensureBinary();
  if (reason === undefined) results.push(await measureStartup("binary"));
  else console.error(`The binary is not measured: ${reason}`);
  return results;
}

function failuresOf({ scenarios, policies, soak, rows }: Omit<Report, "goals">): string[] {
  const others = (policies?.failures ?? 0) + (soak?.failures ?? 0);
  const failed = scenarios.reduce((sum, scenario) => sum + scenario.failures, others);
  return [
    ...(failed > 0 ? [`${failed} requests failed`] : []),
    ...rows.flatMap(({ part, complete, stored, sent }) =>
      complete
        ? []
        : [`${part}: ${stored.succeeded} rows with 200, ${stored.requests} in all, for ${sent.completed} answers`],
    ),
    ...rows.flatMap(({ part, stopped }) => (stopped ? [] : [`${part}: the gateway did not end in order`])),
  ];
}

async function main(): Promise<number> {
  const options = readOptions();
  if (!canMeasure()) throw new Error("Cannot measure here: CPU time and memory are read from Linux's /proc");
  const needsLoad = options.scenarios.length > 0 || options.policies || options.soak;
  if (needsLoad) ensureWrk();
  const report: Omit<Report, "goals"> = {
    setting: describeSetting(options, "nginx"),
    scenarios: [],
    rows: [],
    startup: [],
  };
  if (needsLoad) await measureLoads(options, report);
  if (options.configs) report.configs = await countConfigParses();
  if (options.startup) report.startup = await measureStartups(options.runtime);
  const whole: Report = { ...report, goals: judge(report) };
  mkdirSync(dirname(options.json), { recursive: true });
  writeFileSync(options.json, `${JSON.stringify(whole, null, 2)}\n`);
  console.log(`\n${toText(whole)}\n\nFigures: ${relative(process.cwd(), options.json)}`);
  const failures = failuresOf(report);
  for (const failure of failures) console.error(`Failed: ${failure}`);
  return failures.length === 0 ? 0 : 1;
}

for (const [signal, code] of [
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGHUP", 129],
] as const) {
  process.on(signal, () => {
    cleanUp();
    process.exit(code);
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
