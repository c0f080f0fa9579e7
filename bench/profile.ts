// npm run profile [-- options]: where the gateway's time goes under load, by its own functions. See docs/performance.md.
//   --only NAME      the scenario (small-32)
//   --policies SIDE  the small chat of a workspace of `--policies` of the benchmark: none, unmatched or matched
//   --followers N    so many who follow the log (0), for one marked row each fifth of a second
//   --seconds N      how long samples are taken (5)
//   --thread NAME    "bun": the one that answers; "Worker": the one that writes the log; others by the name `perf` gives (bun)
//   --most N         functions to show (40)
// Needs Linux and `perf` (Debian: apt-get install linux-perf). The gateway runs on Bun.

import { spawn, spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { readJitDump, type SymbolFinder } from "./jit-symbols.ts";
import { prepare, type Stage } from "./load.ts";
import { Followers, sendMarked } from "./log-followers.ts";
import { policySides, prepareSide } from "./policy-sides.ts";
import {
  createFolder,
  runMain,
  startEventUpstream,
  startGateway,
  startUpstream,
  trackChild,
  wait,
} from "./processes.ts";
import { selectScenarios } from "./scenarios.ts";
import { ensureWrk, runWrk } from "./wrk.ts";

/** Samples a second: enough for a tenth of a percent within seconds. */
const frequency = 2_999;
const warmupSeconds = 5;

/** What was sampled of one function: in its own code, in code of the runtime it called, and with all it called. */
interface Spent {
  own: number;
  runtime: number;
  inclusive: number;
}

interface Profile {
  samples: number;
  /** Samples with no function of the program on the stack: the runtime's own loop, its HTTP, the kernel. */
  outside: number;
  functions: Map<string, Spent>;
}

/** Small pieces of code that every call goes through: what they cost belongs to whoever called. */
const isThunk = (name: string) => /Thunk|InlineCache|OSRExit/.test(name);

/** The name the engine gives, less its tier and its digest. */
const nameOf = (symbol: string) => symbol.replace(/^JSC-\w+: /, "").replace(/(?<=.)#\w+$/, "");

/** Adds one stack, the innermost frame first. */
function addStack(profile: Profile, addresses: readonly number[], find: SymbolFinder): void {
  profile.samples++;
  const seen = new Set<string>();
  for (const [depth, address] of addresses.entries()) {
    const symbol = find(address);
    if (symbol === undefined || isThunk(symbol)) continue;
    const name = nameOf(symbol);
    const spent = profile.functions.get(name) ?? { own: 0, runtime: 0, inclusive: 0 };
    if (seen.size === 0) {
      if (depth === 0) spent.own++;
      else spent.runtime++;
    }
    if (!seen.has(name)) spent.inclusive++;
    seen.add(name);
    profile.functions.set(name, spent);
  }
  if (seen.size === 0) profile.outside++;
}

/** Reads what `perf script` writes: stacks with a line for each frame, an empty line between them. */
function readStacks(text: string, find: SymbolFinder): Profile {
  const profile: Profile = { samples: 0, outside: 0, functions: new Map() };
  for (const stack of text.split("\n\n")) {
    const addresses = stack
      .split("\n")
      .map((line) => Number.parseInt(line.trim(), 16))
      .filter((address) => address > 0);
    if (addresses.length > 0) addStack(profile, addresses, find);
  }
  return profile;
}

function toTable({ samples, outside, functions }: Profile, most: number): string {
  const share = (count: number) => `${((100 * count) / samples).toFixed(1)} %`.padStart(8);
  const rows = [...functions].sort(([, a], [, b]) => b.own + b.runtime - a.own - a.runtime).slice(0, most);
  const lines = rows.map(
    ([name, { own, runtime, inclusive }]) =>
      `|${share(own + runtime)} |${share(own)} |${share(runtime)} |${share(inclusive)} | ${name.slice(0, 80)} |`,
  );
  return [
    `${samples} samples; ${share(outside).trim()} outside of the gateway's functions (event loop, HTTP, kernel)`,
    "",
    "|    self |     own | runtime | with all | function |",
    "|--------:|--------:|--------:|---------:|----------|",
    ...lines,
  ].join("\n");
}

function runPerf(args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync("perf", args, { encoding: "utf8", maxBuffer: 2 ** 30 });
  if (error) throw new Error("Cannot run perf: install it (Debian: apt-get install linux-perf)", { cause: error });
  if (status !== 0) throw new Error(`Cannot run perf: ${stderr}`);
  return stdout;
}

/** Takes samples of a process and waits for the end. */
function record(pid: number, file: string, seconds: number): Promise<void> {
  const args = ["record", "-q", "-k", "mono", "-g", "-F", String(frequency), "-o", file, "-p", String(pid)];
  const child = spawn("perf", [...args, "--", "sleep", String(seconds)], { stdio: "ignore" });
  const release = trackChild(child);
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", () => {
      release();
      resolve();
    });
  });
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      only: { type: "string", default: "small-32" },
      policies: { type: "string" },
      followers: { type: "string", default: "0" },
      seconds: { type: "string", default: "5" },
      thread: { type: "string", default: "bun" },
      most: { type: "string", default: "40" },
    },
  });
  const seconds = Number(values.seconds);
  const [scenario] = selectScenarios(values.only);
  if (!scenario || !(seconds >= 1)) throw new TypeError("Cannot profile: name one scenario and seconds of at least 1");
  const side = policySides.find((name) => name === values.policies);
  if (values.policies !== undefined && !side)
    throw new TypeError(`Cannot profile: there are no policies ${values.policies}`);
  ensureWrk();
  runPerf(["--version"]);
  const folder = createFolder("profile");
  const upstream = scenario.eventWise ? await startEventUpstream() : await startUpstream();
  const gateway = await startGateway("bun", { BUN_JSC_useJITDump: "1", BUN_JSC_jitDumpDirectory: folder });
  const stage: Stage = { upstream, gateway, bare: gateway, folder, sent: { completed: 0, abandoned: 0 } };
  const { target, script } = await (side ? prepareSide(side, stage) : prepare(scenario, "gateway", stage));
  await runWrk(target, script, warmupSeconds);
  const url = `http://127.0.0.1:${gateway.port}`;
  const followers = await Followers.connect(url, Number(values.followers));
  const marks = setInterval(() => void sendMarked(url, "marked"), 200);
  const load = runWrk(target, script, seconds + 2);
  await wait(500);
  const file = join(folder, "perf.data");
  await record(gateway.pid, file, seconds);
  const { requestsPerSecond } = await load;
  clearInterval(marks);
  followers.close();
  const dump = readdirSync(folder).find((name) => name.endsWith(".dump"));
  if (dump === undefined) throw new Error("Cannot profile: Bun wrote no symbols");
  const stacks = runPerf(["script", "-i", file, "--comm", values.thread, "-F", "ip"]);
  console.log(`${scenario.name}, thread ${values.thread}: ${requestsPerSecond.toFixed(0)} requests/s while sampled`);
  console.log(toTable(readStacks(stacks, readJitDump(join(folder, dump))), Number(values.most)));
  await gateway.stop();
  await upstream.stop();
}

await runMain(main);
