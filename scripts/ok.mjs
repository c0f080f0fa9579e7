// npm run ok: format, lint, types, generated files, and the tests on three runtimes. The last line is
// "N passed, N failed": the tests of all runtimes, and one failure for each other step that failed.

import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { findTool, installAgents, root } from "./lib.mjs";

const usage = `usage: npm test -- [options] [test files or folders]
  --runtime NAME   only bun, deno or node (may be repeated)
  --jobs N         runtimes at once (default: 2 where there are as many processors)
  --limit SECONDS  how long one step may take (default: 2400)
Naming files or a runtime leaves out the other checks.`;

function fail(message) {
  console.error(message);
  process.exit(2);
}

function readArguments(args) {
  const options = { files: [], runtimes: [], jobs: Math.min(2, availableParallelism()), limitMs: 2_400_000 };
  for (let index = 0; index < args.length; index++) {
    const [name, inline] = args[index].startsWith("--") ? args[index].split("=", 2) : [];
    if (name === undefined) options.files.push(args[index]);
    else if (name === "--help") {
      console.log(usage);
      process.exit(0);
    } else {
      const value = inline ?? args[++index];
      if (name === "--runtime" && ["bun", "deno", "node"].includes(value)) options.runtimes.push(value);
      else if (name === "--jobs" && Number(value) >= 1) options.jobs = Number(value);
      else if (name === "--limit" && Number(value) > 0) options.limitMs = Number(value) * 1000;
      else fail(usage);
    }
  }
  for (const file of options.files) if (!existsSync(join(root, file))) fail(`Cannot find "${file}"\n${usage}`);
  return options;
}

const options = readArguments(process.argv.slice(2));
const focused = options.files.length > 0 || options.runtimes.length > 0;
const paths = options.files.map((file) => `./${file.replaceAll("\\", "/").replace(/^\.\//, "").replace(/\/$/, "")}`);
const isFolder = (path) => statSync(join(root, path)).isDirectory();

/** The last match of a pattern's first group in a text, as a number. */
function lastNumber(text, pattern) {
  return Number([...text.matchAll(pattern)].at(-1)?.[1] ?? 0);
}

/** Test files below a folder. */
function listTests(folder) {
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => name !== "node_modules")
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return listTests(path);
      return entry.name.endsWith(".test.ts") ? [path] : [];
    });
}

/** Files with a set-up of their own that share a process: all of what they set up stands until the last test is over. */
const sharedFiles = 12;

/**
 * What Node is started with. A process for each file costs as much as most files' tests, so most share one. What a file does
 * once, before or after its tests, may be done while those of others run; what it does for each test would be done for theirs.
 */
function nodeRuns() {
  const files = (paths.length > 0 ? paths : ["./tests"]).flatMap((path) => (isFolder(path) ? listTests(path) : [path]));
  const kindOf = (file) => {
    const text = readFileSync(join(root, file), "utf8");
    if (file.includes("tests/runtimes/") || /^(?:beforeEach|afterEach)\(|support\/process/m.test(text)) return "alone";
    return /^(?:before|after)\(/m.test(text) ? "setUp" : "plain";
  };
  const kinds = files.map((file) => [kindOf(file), file]);
  const [alone, setUp, plain] = ["alone", "setUp", "plain"].map((name) =>
    kinds.filter(([kind]) => kind === name).map(([, file]) => file),
  );
  const start = ["--test", "--test-reporter=spec"];
  const together = [...start, "--test-isolation=none"];
  const groups = Array.from({ length: Math.ceil(setUp.length / sharedFiles) }, (_, index) =>
    setUp.slice(index * sharedFiles, (index + 1) * sharedFiles),
  );
  return [
    ...[plain, ...groups].filter((group) => group.length > 0).map((group) => [...together, ...group]),
    ...(alone.length > 0 ? [[...start, ...alone]] : []),
  ];
}

const runners = {
  bun: {
    runs: [["test", "--timeout", "60000", "--only-failures", ...(paths.length > 0 ? paths : ["./tests/"])]],
    count: (text) => ({
      passed: lastNumber(text, /^ *(\d+) pass$/gm),
      failed: lastNumber(text, /^ *(\d+) fail$/gm),
      skipped: lastNumber(text, /^ *(\d+) skip$/gm) + lastNumber(text, /^ *(\d+) todo$/gm),
    }),
    isNoise: () => false,
  },
  deno: {
    runs: [["test", "-A", "--no-check", ...(paths.length > 0 ? paths : ["./tests/"])]],
    count: (text) => ({
      passed: lastNumber(text, /^(?:ok|FAILED) \| (\d+) passed/gm),
      failed: lastNumber(text, /^(?:ok|FAILED) \| \d+ passed(?: \(.*?\))? \| (\d+) failed/gm),
      skipped: lastNumber(text, /^(?:ok|FAILED) \| .* \| (\d+) ignored/gm),
    }),
    isNoise: (line) => / \.\.\. (ok|ignored) \(/.test(line) || /^running \d+ tests? from /.test(line),
  },
  node: {
    runs: nodeRuns(),
    count: (text) => ({
      passed: lastNumber(text, /^ℹ pass (\d+)$/gm),
      failed: lastNumber(text, /^ℹ fail (\d+)$/gm) + lastNumber(text, /^ℹ cancelled (\d+)$/gm),
      skipped: lastNumber(text, /^ℹ skipped (\d+)$/gm) + lastNumber(text, /^ℹ todo (\d+)$/gm),
    }),
    isNoise: (line) => /^\s*[✔﹣] /.test(line),
  },
};

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

/** Installs the coding agents the tests run as clients; without them those tests leave themselves out. */
async function prepareAgents() {
  const startedAt = Date.now();
  const problem = installAgents();
  if (problem !== undefined) totals.failed++;
  report("coding agents", problem === undefined, startedAt, "", problem ?? "");
}

async function testOn(runtime) {
  const startedAt = Date.now();
  const command = findTool(runtime);
  if (command === undefined) {
    // Alpine has no Deno and no pinned Node; everywhere else a missing runtime is a broken installation.
    const ok = !(process.platform === "linux" && process.report.getReport().header.glibcVersionRuntime);
    if (!ok) totals.failed++;
    return report(`tests on ${runtime}`, ok, startedAt, `no ${runtime} for this platform`, "");
  }
  const runner = runners[runtime];
  const temporary = mkdtempSync(join(tmpdir(), `gateway-test-${runtime}-`));
  const env = { ...baseEnv, TMPDIR: temporary, TEMP: temporary, TMP: temporary };
  // Node starts a process for each file, and would compile the same modules in all of them.
  if (runtime === "node") env.NODE_COMPILE_CACHE = join(temporary, "compiled");
  const results = [];
  for (const args of runner.runs) results.push(await run(command, args, env));
  rmSync(temporary, { recursive: true, force: true, maxRetries: 5 });
  const result = {
    ok: results.every(({ ok }) => ok),
    ending: results.map(({ ending }) => ending).find((one) => one !== "") ?? "",
    text: results.map(({ text }) => text).join("\n"),
  };
  const counts = results.map(({ text }) => runner.count(text));
  const sum = (name) => counts.reduce((total, one) => total + one[name], 0);
  const [passed, failed, skipped] = ["passed", "failed", "skipped"].map(sum);
  let ending = result.ending;
  if (!ending && result.ok && passed + failed === 0) ending = "ran no test";
  else if (!ending && !result.ok && failed === 0) ending = "runner failed";
  const ok = result.ok && failed === 0 && ending === "";
  totals.passed += passed;
  totals.failed += ok ? 0 : Math.max(failed, 1);
  const told = `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
  report(`tests on ${runtime}`, ok, startedAt, ending ? `${told}; ${ending}` : told, result.text, runner.isNoise);
}

/** Runs tasks in order, at most `limit` at once. */
async function inOrder(tasks, limit) {
  const waiting = [...tasks];
  const work = async () => {
    for (let task = waiting.shift(); task !== undefined; task = waiting.shift()) await task();
  };
  await Promise.all(Array.from({ length: limit }, work));
}

if (!focused) {
  const tsc = (project) => ["--noEmit", "--pretty", "false", "-p", project];
  const checks = [
    () => check("format and lint", "biome", ["check", "--error-on-warnings", "--max-diagnostics=100", "."]),
    () => check("types of core", "tsc", tsc("tsconfig.json")),
    () => check("types of all", "tsc", tsc("tsconfig.node.json")),
    () => check("generated files", "bun", ["scripts/build.ts", "--check"]),
  ];
  await inOrder(checks, options.jobs);
  await prepareAgents();
}
const runtimes = ["node", "bun", "deno"].filter(
  (name) => options.runtimes.length === 0 || options.runtimes.includes(name),
);
await inOrder(
  runtimes.map((name) => () => testOn(name)),
  options.jobs,
);
console.log(`${totals.passed} passed, ${totals.failed} failed`);
process.exit(totals.failed > 0 ? 1 : 0);
