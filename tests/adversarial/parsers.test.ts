import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { stepsPerPiece } from "../../src/lib/steps.ts";
import { triedCases } from "../support/foreign-input.ts";
import { runtime } from "../support/process.ts";
import { isWhole, sample, sampleSeed } from "../support/sample.ts";
import { repository } from "../support/source-files.ts";
import { parserCases } from "./parsers.ts";

/** About a quarter of the parsers, unless the run is whole. */
const cases = sample(parserCases, 4);
/** Inputs for each parser, and the first of their numbers. */
const inputs = isWhole ? 10_000 : 150;
const firstInput = isWhole ? 1 : 1 + (sampleSeed % 100_000) * inputs;
/** Most steps without a chance to give way: those of one JSON text or event as large as they may be. */
const mostPieces = 40;
/** Of a whole run: longest time without a turn of the event loop, and memory beyond four times the bound of the input. */
const mostHoldMs = 100;
/** The same where nobody waits for the loop: a command reads megabytes of YAML in seconds, and never for minutes. */
const mostAloneMs = 10_000;
const freeBytes = 64 * 2 ** 20;
// what is measured is measured once: on the runtime that comes first
const skip = runtime !== "bun";

interface Figure {
  name: string;
  refused: number;
  holdMs: number;
  worst: number;
  isAlone: boolean;
  longestPiece: number;
  addedBytes: number;
  mostBytes: number;
  faults: string[];
}

/** Runs the program; its figures are printed, since times decide nothing in a sample. */
function runProbe(withinMs: number): Promise<Figure[]> {
  const program = join(repository, "tests/adversarial/parser-probe.ts");
  const args = ["run", program, String(inputs), String(firstInput), cases.map(({ name }) => name).join("|")];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const timer = setTimeout(() => child.kill("SIGKILL"), withinMs);
  const figures: Figure[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => {
    const figure: Figure = JSON.parse(line);
    figures.push(figure);
    const { name, refused, holdMs, worst, longestPiece, addedBytes } = figure;
    const pieces = (longestPiece / stepsPerPiece).toFixed(1);
    const memory = `${Math.round(addedBytes / 2 ** 20)} MiB`;
    console.log(
      `${name}: ${refused} of ${inputs} refused, ${holdMs} ms (input ${worst}), ${pieces} pieces, ${memory} added`,
    );
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      clearTimeout(timer);
      if (code === 0) resolve(figures);
      else reject(new Error(`The program ended with ${code} after ${JSON.stringify(figures.at(-1))}`));
    });
  });
}

const withinMs = isWhole ? 1_800_000 : 240_000;
test(`no parser of foreign bytes is held up or broken by mutated inputs from ${firstInput} on`, {
  skip,
  timeout: withinMs,
}, async () => {
  const figures = await runProbe(withinMs);
  assert.equal(figures.length, cases.length);
  assert.deepEqual(
    figures.flatMap(({ name, faults }) => faults.map((fault) => `${name}, input ${fault}`)),
    [],
  );
  const endless = figures.filter(({ longestPiece }) => longestPiece > mostPieces * stepsPerPiece);
  assert.deepEqual(
    endless.map(({ name, longestPiece }) => `${name}: ${longestPiece} steps without a chance to give way`),
    [],
  );
  if (!isWhole) return;
  const slow = figures.filter(({ holdMs, isAlone }) => holdMs > (isAlone ? mostAloneMs : mostHoldMs));
  assert.deepEqual(
    slow.map(({ name, holdMs, worst }) => `${name}: ${holdMs} ms, input ${worst}`),
    [],
  );
  const large = figures.filter(({ addedBytes, mostBytes }) => addedBytes > freeBytes + 4 * mostBytes);
  assert.deepEqual(
    large.map(({ name, addedBytes }) => `${name}: ${Math.round(addedBytes / 2 ** 20)} MiB`),
    [],
  );
});

test("each parser that the architecture test lists as tried has a case", () => {
  const names = new Set(parserCases.map(({ name }) => name));
  assert.deepEqual(
    [...triedCases].filter((name) => !names.has(name)),
    [],
  );
});
