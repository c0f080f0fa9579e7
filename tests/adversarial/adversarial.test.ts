import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { runtime } from "../support/process.ts";
import { isWhole, sample } from "../support/sample.ts";
import { repository } from "../support/source-files.ts";
import { memoryCases } from "./memory.ts";

/**
 * Longest time a request may hold the request loop beyond what parsing and writing its JSON once takes, in milliseconds of
 * processor time. The program takes the shortest of several attempts.
 */
const mostHoldMs = 100;
// what is measured is measured once: on the runtime that comes first
const skip = runtime !== "bun";

interface Figure {
  name: string;
  status: number;
  /** It was to be refused and was not, or was refused and so did no work. */
  isUnexpected: boolean;
  holdMs: number;
  jsonMs: number;
}

interface MemoryFigure {
  addedBytes: number;
  holdMs: number;
  statuses: number[];
}

/** Runs the program and gives each line it printed. */
function runProbe<Line>(args: readonly string[], withinMs: number): Promise<Line[]> {
  const program = join(repository, "tests/adversarial/probe.ts");
  const child = spawn(process.execPath, ["run", program, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  const timer = setTimeout(() => child.kill("SIGKILL"), withinMs);
  const lines: Line[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => lines.push(JSON.parse(line)));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      clearTimeout(timer);
      if (code === 0) resolve(lines);
      else
        reject(
          new Error(`The program ended with ${code} after ${lines.length} cases: ${JSON.stringify(lines.at(-1))}`),
        );
    });
  });
}

for (const [group, what, least] of [
  ["rows", "no body or header", isWhole ? 500 : 25],
  ["config", "no pattern, schema, condition or check of a config", isWhole ? 10 : 1],
] as const) {
  const withinMs = isWhole ? 1_800_000 : 240_000;
  test(`${what} holds the request loop much longer than its JSON takes`, { skip, timeout: withinMs }, async () => {
    const figures = await runProbe<Figure>(["loop", isWhole ? "all" : "sampled", group], withinMs);
    assert.ok(figures.length >= least, `${figures.length} cases`);
    const over = figures.filter(({ holdMs, jsonMs }) => holdMs - jsonMs > mostHoldMs);
    assert.deepEqual(
      over.map(({ name, holdMs, jsonMs }) => `${name}: ${holdMs} ms, its JSON ${jsonMs} ms`),
      [],
    );
    const unreached = figures.filter(({ status, isUnexpected }) => isUnexpected || [401, 405].includes(status));
    assert.deepEqual(
      unreached.map(({ name, status }) => `${name}: ${status}`),
      [],
    );
    const broken = figures.filter(({ status }) => status >= 500 && status !== 502);
    assert.deepEqual(
      broken.map(({ name, status }) => `${name}: ${status}`),
      [],
    );
  });
}

for (const { name, mostBytes } of sample(memoryCases, 8)) {
  test(`${name}: the memory it adds is bounded`, { skip }, async () => {
    const [figure] = await runProbe<MemoryFigure>(["memory", name], 120_000);
    assert.ok(figure);
    const added = Math.round(figure.addedBytes / 2 ** 20);
    assert.ok(figure.addedBytes <= mostBytes, `${added} MiB, at most ${Math.round(mostBytes / 2 ** 20)}`);
    for (const status of figure.statuses) assert.ok([200, 413, 503].includes(status), String(status));
  });
}
