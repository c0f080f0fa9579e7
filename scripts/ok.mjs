// npm run ok: format, lint, types, generated files, and the tests on three runtimes. The last line is
// "N passed, N failed": the tests of all runtimes, and one failure for each other step that failed.
// Tests run by tiers (test-plan.mjs), matrices and random tests as samples; `npm run test:all` runs everything.
// Files with a failed test run once more at the end, alone: a test that fails twice fails the run, and one that fails only
// beside others is listed.

import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ensureConsole, findTool, installAgents, installClients, installExamples, root } from "./lib.mjs";
import { assignFiles, durationsFile, readDurations, runtimes, sliceFiles } from "./test-plan.mjs";
import { readFailed, readSeconds, runners } from "./test-runners.mjs";

const usage = `usage: npm test -- [options] [test files or folders]
  --all             every test on every runtime, nothing sampled
  --cluster         the long forms of the tests of several processes
  --seed N          which sample is run (default: made from the commit)
  --runtime NAME    only bun, deno or node (may be repeated)
  --jobs N          processes at once (default: 2 for each processor and 1, at most 5)
  --limit SECONDS   how long one step may take (default: 600, of a whole run 2400)
  --save-durations  writes how long each file took into tests/durations.json
Naming files runs them whole, on every runtime. Naming files or a runtime leaves out the other checks.`;

function fail(message) {
  console.error(message);
  process.exit(2);
}

/** A number made from the commit: the same sample for the same sources, another one for the next. */
function seedOfCommit() {
  try {
    return Number.parseInt(execFileSync("git", ["rev-parse", "HEAD"], { cwd: root, encoding: "utf8" }).slice(0, 7), 16);
  } catch {
    return 1;
  }
}

function readArguments(args) {
  // a test process waits for other processes, timers and files about half of its time
  const jobs = Math.min(5, 2 * availableParallelism() + 1);
  const options = { files: [], runtimes: [], jobs, isWhole: false, isCluster: false, savesDurations: false };
  for (let index = 0; index < args.length; index++) {
    const [name, inline] = args[index].startsWith("--") ? args[index].split("=", 2) : [];
    if (name === undefined) options.files.push(args[index]);
    else if (name === "--help") {
      console.log(usage);
      process.exit(0);
    } else if (name === "--all") options.isWhole = true;
    else if (name === "--cluster") options.isCluster = true;
    else if (name === "--save-durations") options.savesDurations = true;
    else {
      const value = inline ?? args[++index];
      if (name === "--runtime" && runtimes.includes(value)) options.runtimes.push(value);
      else if (name === "--jobs" && Number(value) >= 1) options.jobs = Number(value);
      else if (name === "--limit" && Number(value) > 0) options.limitMs = Number(value) * 1000;
      else if (name === "--seed" && Number.isSafeInteger(Number(value))) options.seed = Number(value);
      else fail(usage);
    }
  }
  for (const file of options.files) if (!existsSync(join(root, file))) fail(`Cannot find "${file}"\n${usage}`);
  return options;
}

const options = readArguments(process.argv.slice(2));
const focused = options.files.length > 0 || options.runtimes.length > 0;
const { isCluster } = options;
const isWhole = options.isWhole || options.files.length > 0;
// one process that never ends must not take the time of all others
options.limitMs ??= isWhole ? 2_400_000 : 600_000;
const seed = options.seed ?? seedOfCommit();
const paths = options.files.map((file) => file.replaceAll("\\", "/").replace(/^\.\//, "").replace(/\/$/, ""));

const running = new Set();

/** Ends a step with everything it started. */
function kill(child) {
  try {
    if (process.platform === "win32") child.kill("SIGKILL");
    else process.kill(-child.pid, "SIGKILL");
  } catch {
    // Already gone.
  }
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => {
    for (const child of running) kill(child);
    console.error(`Stopped by ${signal}`);
    process.exit(1);
  });
}

/** Runs a program to its end; its output is kept, not shown. */
function run(command, args, env) {
  return new Promise((done) => {
    const child = spawn(command, args, {
      cwd: root,
      env,
      // A group of its own, so that a step can be ended with all it started.
      detached: process.platform !== "win32",
      stdio: ["ignore", "pipe", "pipe"],
    });
    running.add(child);
    const parts = [];
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (part) => parts.push(part));
    let ending = "";
    const timer = setTimeout(() => {
      ending = `ended after ${options.limitMs / 1000} s`;
      kill(child);
    }, options.limitMs);
    const finish = (code, signal) => {
      clearTimeout(timer);
      running.delete(child);
      done({
        ok: code === 0,
        ending: ending || (signal ? `ended by ${signal}` : ""),
        text: Buffer.concat(parts).toString(),
      });
    };
    child.on("error", (error) => {
      parts.push(Buffer.from(`${error.message}\n`));
      finish(1, null);
    });
    // What a test left running may hold the pipes open: it gets a moment, then it is ended.
    child.on("exit", (code, signal) => {
      const leftover = setTimeout(() => kill(child), 500);
      child.on("close", () => {
        clearTimeout(leftover);
        kill(child);
        finish(code, signal);
      });
    });
  });
}

const totals = { passed: 0, failed: 0 };
/** Slices of the files that had a failed test. */
const failedSlices = [];

/** One line per step; a failed one also shows what its tool printed. */
function report(name, ok, startedAt, note, text, isNoise = () => false) {
  const seconds = ((Date.now() - startedAt) / 1000).toFixed(1).padStart(6);
  console.log(`${ok ? "ok  " : "FAIL"}  ${name.padEnd(16)}${seconds} s${note ? `  ${note}` : ""}`);
  if (ok) return;
  const lines = text
    .trimEnd()
    .split("\n")
    .filter((line) => !isNoise(line));
  const shown = lines.length > 2000 ? ["...", ...lines.slice(-2000)] : lines;
  console.log(`${shown.map((line) => `      ${line}`).join("\n")}\n`);
}

const baseEnv = { ...process.env, NO_COLOR: "1", DENO_NO_UPDATE_CHECK: "1" };
delete baseEnv.FORCE_COLOR;
delete baseEnv.NODE_TEST_CONTEXT;

async function check(name, tool, args) {
  const startedAt = Date.now();
  const command = findTool(tool);
  if (command === undefined) return report(name, true, startedAt, `skipped: no ${tool} for this platform`, "");
  const { ok, ending, text } = await run(command, args, baseEnv);
  if (!ok) totals.failed++;
  report(name, ok, startedAt, ending, text);
}

/**
 * Installs the packages of tests/agents, tests/openapi-client and tests/libsql-server, in a whole run those of
 * tests/agent-sessions and examples/clients too; without them those tests leave themselves out.
 */
async function prepareClients() {
  const startedAt = Date.now();
  const more = async () => (await installAgents()) ?? (await installExamples());
  const problem = (await installClients()) ?? (isWhole ? await more() : undefined);
  if (problem !== undefined) totals.failed++;
  report("test clients", problem === undefined, startedAt, "", problem ?? "");
}

/** Builds the console, which tests open and the compiled program has inside. */
async function prepareConsole() {
  const startedAt = Date.now();
  const problem = await ensureConsole();
  if (problem !== undefined) totals.failed++;
  report("console", problem === undefined, startedAt, "", problem ?? "");
}

/** Seconds a file may take in a sampled run before the run points at it. How fast a machine is decides no test. */
const fileBudget = 60;

/** What the processes of one runtime found so far. */
class RuntimeResult {
  passed = 0;
  failed = 0;
  skipped = 0;
  seconds = 0;
  /** Seconds of each file. */
  files = new Map();

  constructor(runtime, slices) {
    this.runtime = runtime;
    this.left = slices;
  }

  /** Adds what one process found; the last one reports the runtime. */
  add({ counts, seconds, files }) {
    this.passed += counts.passed;
    this.failed += counts.failed;
    this.skipped += counts.skipped;
    this.seconds += seconds;
    for (const [file, time] of files) this.files.set(file, time);
    if (--this.left > 0) return;
    const skipped = this.skipped > 0 ? `, ${this.skipped} skipped` : "";
    const note = `${this.passed} passed, ${this.failed} failed${skipped}`;
    report(`tests on ${this.runtime}`, this.failed === 0, Date.now() - this.seconds * 1000, note, "");
  }
}

/** Runs one process of tests: its counts, the seconds of its files, its output, and the files with a failed test. */
async function runProcess(slice) {
  const { runtime } = slice;
  const temporary = mkdtempSync(join(tmpdir(), `gateway-test-${runtime}-`));
  const reportFile = join(temporary, "report.xml");
  const env = { ...baseEnv, TMPDIR: temporary, TEMP: temporary, TMP: temporary };
  env.GATEWAY_TESTS = isCluster ? "cluster" : isWhole ? "all" : "sampled";
  env.GATEWAY_TEST_SEED = String(seed);
  // Node's many processes would each compile the same modules, and resolve those of drizzle-orm slowly.
  if (runtime === "node") Object.assign(env, { NODE_COMPILE_CACHE: compiled, NODE_OPTIONS: `--import=${imports}` });
  const runner = runners[runtime];
  const args = runner.args({ ...slice, isWhole, report: reportFile });
  const { ok, ending, text } = await run(findTool(runtime), args, env);
  const files = readSeconds(reportFile);
  const failedFiles = readFailed(reportFile).filter((file) => slice.files.includes(file));
  rmSync(temporary, { recursive: true, force: true, maxRetries: 5 });
  const counts = runner.count(text);
  let problem = ending;
  if (!problem && ok && counts.passed + counts.failed === 0) problem = "ran no test";
  else if (!problem && !ok && counts.failed === 0) problem = "runner failed";
  if (problem || !ok) counts.failed = Math.max(counts.failed, 1);
  return { counts, files, problem, text, failedFiles };
}

/** Runs one process of tests and reports what failed. */
async function runSlice(slice, result) {
  const startedAt = Date.now();
  const { counts, files, problem, text, failedFiles } = await runProcess(slice);
  totals.passed += counts.passed;
  totals.failed += counts.failed;
  // what the long tests of several processes found: seeds, counts and times
  if (isCluster) for (const line of text.split("\n")) if (/^\s*# (?!Subtest)/.test(line)) console.log(line);
  if (counts.failed > 0) {
    const note = `${counts.passed} passed, ${counts.failed} failed${problem ? `; ${problem}` : ""}`;
    report(
      `${slice.runtime} (${slice.files.length} files)`,
      false,
      startedAt,
      note,
      text,
      runners[slice.runtime].isNoise,
    );
    // a process that broke off names no file
    const again = problem || failedFiles.length === 0 ? slice.files : failedFiles;
    failedSlices.push({ ...slice, files: again, failures: counts.failed });
  }
  result.add({ counts, files, seconds: (Date.now() - startedAt) / 1000 });
}

/** Runs the files that failed once more, one process at a time with nothing beside it. */
async function runFailedAlone() {
  for (const slice of failedSlices) {
    const startedAt = Date.now();
    const { counts, problem, text } = await runProcess(slice);
    const hasPassed = counts.failed === 0 && !problem;
    if (hasPassed) {
      totals.failed -= slice.failures;
      totals.passed += slice.failures;
    }
    const note = hasPassed ? `failed beside others, passed alone: ${slice.files.join(", ")}` : "failed again, alone";
    report(`${slice.runtime}, again`, hasPassed, startedAt, note, text, runners[slice.runtime].isNoise);
  }
}

/** Runs tasks in order, at most `limit` at once. */
async function inOrder(tasks, limit) {
  const waiting = [...tasks];
  const work = async () => {
    for (let task = waiting.shift(); task !== undefined; task = waiting.shift()) await task();
  };
  await Promise.all(Array.from({ length: limit }, work));
}

/** Runtimes this platform has; one that should be there and is not is a failure. */
function findRuntimes() {
  const asked = runtimes.filter((name) => options.runtimes.length === 0 || options.runtimes.includes(name));
  return asked.filter((runtime) => {
    if (findTool(runtime) !== undefined) return true;
    // Alpine has no Deno and no pinned Node; everywhere else a missing runtime is a broken installation.
    const ok = !(process.platform === "linux" && process.report.getReport().header.glibcVersionRuntime);
    if (!ok) totals.failed++;
    report(`tests on ${runtime}`, ok, Date.now(), `no ${runtime} for this platform`, "");
    return false;
  });
}

/** Prints the files that took longest, and marks those of a sampled run that are over their budget. */
function reportSlowFiles(results) {
  const all = results.flatMap(({ runtime, files }) =>
    [...files].map(([file, seconds]) => ({ runtime, file, seconds })),
  );
  const slowest = all.toSorted((one, other) => other.seconds - one.seconds).slice(0, 20);
  console.log("slowest files:");
  for (const { runtime, file, seconds } of slowest) {
    const mark = !isWhole && seconds > fileBudget ? `  over its budget of ${fileBudget} s` : "";
    console.log(`  ${seconds.toFixed(1).padStart(6)} s  ${runtime}  ${file}${mark}`);
  }
}

/** Writes what each file took, for later runs to cut their slices by. */
function saveDurations(results) {
  const durations = readDurations();
  for (const { runtime, files } of results) {
    const known = { ...durations[runtime] };
    for (const [file, seconds] of files) known[file] = Number(seconds.toFixed(1));
    const worth = Object.entries(known).filter(([file, seconds]) => seconds >= 0.5 && existsSync(join(root, file)));
    durations[runtime] = Object.fromEntries(worth.toSorted());
  }
  writeFileSync(durationsFile, `${JSON.stringify(durations, null, 2)}\n`);
}

const checks = [];
if (!focused) {
  await prepareConsole();
  // several checkers would each check the types that all files share, while the tests wait for the processors
  const tsc = (project) => ["--noEmit", "--pretty", "false", "--checkers", "1", "-p", project];
  checks.push(
    () => check("format and lint", "biome", ["check", "--error-on-warnings", "--max-diagnostics=100", "."]),
    () => check("types of core", "tsc", tsc("tsconfig.json")),
    () => check("types of all", "tsc", tsc("tsconfig.node.json")),
    () => check("types of console", "tsc", tsc("console/tsconfig.json")),
    () => check("generated files", "bun", ["scripts/build.ts", "--check"]),
  );
}
const imports = pathToFileURL(join(root, "tests/support/node-imports.mjs")).href;
const compiled = mkdtempSync(join(tmpdir(), "gateway-test-compiled-"));
const present = findRuntimes();
const { assigned, rows } = assignFiles({ paths, isWhole, seed, runtimes: present });
const how = isWhole ? "matrices and random tests whole" : `matrices and random tests sampled, --seed ${seed}`;
if (!focused) console.log(`${rows.join("\n")}\n${how}`);
const durations = readDurations();
const slices = present
  .flatMap((runtime) => sliceFiles(runtime, assigned[runtime], durations))
  .toSorted((one, other) => other.seconds - one.seconds);
const results = present
  .map((runtime) => new RuntimeResult(runtime, slices.filter((slice) => slice.runtime === runtime).length))
  .filter(({ left }) => left > 0);
const clients = focused ? undefined : prepareClients();
await inOrder(
  [
    ...checks,
    ...slices.map((slice) => async () => {
      if (
        slice.files.some((file) =>
          /^tests\/(?:agents|agent-sessions|clients|openapi-client|libsql-server)\//.test(file),
        )
      )
        await clients;
      await runSlice(
        slice,
        results.find(({ runtime }) => runtime === slice.runtime),
      );
    }),
  ],
  options.jobs,
);
await clients;
await runFailedAlone();
rmSync(compiled, { recursive: true, force: true, maxRetries: 5 });
if (!focused) reportSlowFiles(results);
if (options.savesDurations) saveDurations(results);
console.log(`${totals.passed} passed, ${totals.failed} failed`);
process.exit(totals.failed > 0 ? 1 : 0);
