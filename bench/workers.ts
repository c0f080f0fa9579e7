// bun bench/workers.ts [--rounds 5] [--seconds 3] [--runtime bun]: CPU time per request of one process, and of the processes of
// `WORKERS=2`, in turn: of a plain chat, and of one with a key whose requests are limited.

import { readdirSync, readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { cpuMicroseconds, median } from "./measure.ts";
import {
  createFolder,
  keys,
  type Running,
  type Runtime,
  runMain,
  runtimes,
  startGateway,
  startUpstream,
  wait,
} from "./processes.ts";
import { scenarios } from "./scenarios.ts";
import { countFailures, ensureWrk, runWrk, type WrkTarget, writeWrkScript } from "./wrk.ts";

/** Time for rows to be written behind a run, in milliseconds. */
const settleMs = 1_000;
const connections = 16;

/** A gateway and its processes by what they do. */
interface Side {
  readonly name: string;
  readonly gateway: Running;
  readonly serving: readonly number[];
  readonly owner: readonly number[];
  /** A key with a limit. */
  readonly limited: string;
}

/** Processes that a process started, by their role. */
function childrenOf(pid: number, kind: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((child) => {
      try {
        const [, parent] = /\) \S (\d+) /.exec(readFileSync(`/proc/${child}/stat`, "utf8")) ?? [];
        const isOfKind = readFileSync(`/proc/${child}/environ`, "utf8").includes(`GATEWAY_ROLE={"kind":"${kind}"`);
        return Number(parent) === pid && isOfKind;
      } catch {
        return false;
      }
    })
    .map(Number);
}

/** A key whose requests are limited, although never reached. */
async function makeLimitedKey({ port }: Running): Promise<string> {
  const rate = { type: "requests", unit: "rpw", value: 1_000_000_000 };
  const body = { name: "limited", workspace_id: "default", scopes: ["completions.write"], rate_limits: [rate] };
  const response = await fetch(`http://127.0.0.1:${port}/v1/api-keys/workspace/service`, {
    method: "POST",
    headers: { "x-gateway-api-key": keys.admin, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const made: { key?: string } = JSON.parse(await response.text());
  if (made.key === undefined) throw new Error(`Cannot make a key: ${JSON.stringify(made)}`);
  return made.key;
}

async function startSide(name: string, runtime: Runtime, env: Readonly<Record<string, string>>): Promise<Side> {
  const gateway = await startGateway(runtime, env);
  // all workers listen
  while (env.WORKERS !== undefined && !gateway.output().includes("serving on")) await wait(50);
  const workers = childrenOf(gateway.pid, "worker");
  const serving = workers.length > 0 ? workers : [gateway.pid];
  return { name, gateway, serving, owner: childrenOf(gateway.pid, "owner"), limited: await makeLimitedKey(gateway) };
}

const sum = (pids: readonly number[]) => pids.reduce((total, pid) => total + cpuMicroseconds(pid), 0);

/** Microseconds of CPU time per request. */
async function measure(side: Side, target: WrkTarget, seconds: number) {
  const script = writeWrkScript(createFolder("workers"), side.name, target);
  const before = { serving: sum(side.serving), owner: sum(side.owner) };
  const result = await runWrk(target, script, seconds);
  await wait(settleMs);
  if (countFailures(result) > 0) throw new Error(`Cannot measure: ${countFailures(result)} requests failed`);
  return {
    serving: (sum(side.serving) - before.serving) / result.requests,
    owner: (sum(side.owner) - before.owner) / result.requests,
    perSecond: result.requestsPerSecond,
    p99Ms: result.p99Ms,
  };
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      rounds: { type: "string", default: "5" },
      seconds: { type: "string", default: "3" },
      runtime: { type: "string", default: "bun" },
    },
  });
  const runtime = runtimes.find((name) => name === values.runtime) ?? "bun";
  ensureWrk();
  const upstream = await startUpstream();
  const sides = [await startSide("one process", runtime, {}), await startSide("WORKERS=2", runtime, { WORKERS: "2" })];
  const chat = scenarios.find(({ name }) => name === "small-32") ?? scenarios[0];
  if (!chat) throw new Error("Cannot find a scenario");
  const targetOf = ({ gateway: { port } }: Side, key: string): WrkTarget => ({
    url: `http://127.0.0.1:${port}/v1${chat.path}`,
    connections,
    headers: {
      "content-type": "application/json",
      "x-gateway-api-key": key,
      authorization: `Bearer ${keys.provider}`,
      "x-gateway-provider": "openai",
      "x-gateway-custom-host": `http://127.0.0.1:${upstream.port}${chat.base}`,
    },
    body: chat.body,
  });
  for (const kind of ["plain", "limited"] as const) {
    const found = sides.map((): Awaited<ReturnType<typeof measure>>[] => []);
    for (let round = 0; round <= Number(values.rounds); round++) {
      for (const [index, side] of sides.entries()) {
        const target = targetOf(side, kind === "plain" ? keys.workspace : side.limited);
        const one = await measure(side, target, Number(values.seconds));
        // the first round warms up
        if (round > 0) found[index]?.push(one);
      }
    }
    console.log(`\n${kind} chat on ${runtime}, medians of ${values.rounds} rounds`);
    const base = median((found[0] ?? []).map(({ serving }) => serving));
    for (const [index, side] of sides.entries()) {
      const of = (name: "serving" | "owner" | "perSecond" | "p99Ms") =>
        median((found[index] ?? []).map((one) => one[name]));
      const [serving, owner] = [of("serving"), of("owner")];
      console.log(
        `${side.name}: ${serving.toFixed(0)} µs per request in what serves (${(serving / base).toFixed(2)}), ${owner.toFixed(0)} µs in the owner, ${((serving + owner) / base).toFixed(2)} in all; ${of("perSecond").toFixed(0)} requests/s, p99 ${of("p99Ms").toFixed(1)} ms`,
      );
    }
  }
  for (const { gateway } of sides) await gateway.stop();
  await upstream.stop();
}

await runMain(main);
