// Run by `parsers.test.ts` as a separate process, on Bun: reads mutated inputs with each parser of `parsers.ts` and prints one
// line of JSON for each parser.
//   parser-probe.ts COUNT SEED [NAMES, separated by |]
import { existsSync, readFileSync } from "node:fs";
import process from "node:process";
import { setImmediate } from "node:timers";
import { makeInput } from "./mutations.ts";
import { type ParserCase, parserCases } from "./parsers.ts";

const threadFile = `/proc/${process.pid}/task/${process.pid}/schedstat`;
const hasThreadTime = existsSync(threadFile);

/** Milliseconds this thread has worked, where the system reports them: other programs on a busy machine do not count. */
function workedMs(): number {
  if (!hasThreadTime) return performance.now();
  return Number(readFileSync(threadFile, "utf8").split(" ", 1)[0]) / 1e6;
}

/** The longest time between two turns of the event loop while something runs. */
async function holdOf(run: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let last = workedMs();
  let isOver = false;
  const ticked = new Promise<void>((resolve) => {
    const tick = () => {
      const now = workedMs();
      longest = Math.max(longest, now - last);
      last = now;
      if (isOver) resolve();
      else setImmediate(tick);
    };
    setImmediate(tick);
  });
  await run();
  isOver = true;
  await ticked;
  return longest;
}

/** A figure above this is measured again, so that a collection of garbage or a busy machine does not decide. */
const smallMs = 60;
const attempts = 6;
/** Fewer inputs are a sample, whose times and memory decide nothing. */
const leastMeasured = 1_000;

const { gc } = Bun as unknown as { gc(force: boolean): void }; // the types of the gateway name what it uses

/** Largest inputs whose memory is measured. */
const measured = 8;

/** What reading an input adds to the memory of the process. */
async function addedBy(input: Uint8Array, read: (input: Uint8Array) => Promise<void>): Promise<number> {
  gc(true);
  await new Promise((resolve) => setTimeout(resolve, 20));
  const before = process.memoryUsage.rss();
  let peak = before;
  const timer = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss());
  }, 1);
  await read(input);
  clearInterval(timer);
  return Math.max(peak, process.memoryUsage.rss()) - before;
}

async function runCase(one: ParserCase, count: number, seed: number) {
  let [holdMs, worst, longestPiece, refused] = [0, seed, 0, 0];
  const faults: string[] = [];
  const sizes: { number: number; length: number }[] = [];
  const read = async (input: Uint8Array, number: number) => {
    try {
      const budget = await one.parse(input);
      longestPiece = Math.max(longestPiece, budget?.longestPiece ?? 0);
    } catch (error) {
      if (one.refusals.some((kind) => error instanceof kind)) refused++;
      else faults.push(`${number}: ${String(error)}`);
    }
  };
  for (let number = seed; number < seed + count; number++) {
    const input = makeInput(one, number);
    sizes.push({ number, length: input.length });
    let held = await holdOf(() => read(input, number));
    const known = refused;
    for (let again = 1; again < attempts && held > smallMs && !one.isAlone && count >= leastMeasured; again++) {
      held = Math.min(held, await holdOf(() => read(input, number)));
    }
    refused = known;
    if (held > holdMs) [holdMs, worst] = [held, number];
  }
  let addedBytes = 0;
  const largest = sizes.toSorted((first, second) => second.length - first.length);
  for (const { number } of count < leastMeasured ? [] : largest.slice(0, measured)) {
    addedBytes = Math.max(addedBytes, await addedBy(makeInput(one, number), (input) => read(input, number)));
  }
  return {
    name: one.name,
    refused: Math.min(refused, count),
    holdMs: Math.round(holdMs),
    worst,
    isAlone: one.isAlone === true,
    longestPiece,
    addedBytes,
    mostBytes: one.maxBytes + (one.madeBytes ?? 0),
    faults: faults.slice(0, 5),
  };
}

const [, , count, seed, names] = process.argv;
const asked = names?.split("|");
for (const one of parserCases) {
  if (asked && !asked.includes(one.name)) continue;
  process.stdout.write(`${JSON.stringify(await runCase(one, Number(count), Number(seed)))}\n`);
}
process.exit(0);
