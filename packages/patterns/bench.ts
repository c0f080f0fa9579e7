// Time of a search through 200 KB of prose, relative to re2js. Usage: node scripts/run.mjs bun packages/patterns/bench.ts

import { RE2JS } from "re2js";
import { compilePattern, Pattern, PatternSum } from "./src/pattern.ts";

const words =
  "the quick brown fox jumps over a lazy dog while 12 clerks file form 123-45 at noon, as zoe@acme says".split(" ");
const prose = Array.from({ length: 36_000 }, (_, index) => words[(index * 7_919 + (index >> 3)) % words.length]).join(
  " ",
);

function findAll(pattern: Pattern): void {
  const work = pattern.find(prose);
  while (!work.next().done);
}

/** The median of seven runs in milliseconds. */
function medianOf(run: () => void): number {
  const times = Array.from({ length: 7 }, () => {
    const startedAt = performance.now();
    run();
    return performance.now() - startedAt;
  });
  return times.toSorted((one, other) => one - other)[3] ?? 0;
}

for (const written of ["\\b\\d{3}-\\d{2}-\\d{4}\\b", "(?i)secret|password|token", "[a-z]+@[a-z]+\\.com"]) {
  const own = compilePattern(written, new PatternSum(100_000));
  if (!(own instanceof Pattern)) throw new Error(`${written} ${own}`);
  const library = RE2JS.compile(written);
  const [ours, theirs] = [medianOf(() => findAll(own)), medianOf(() => library.matcher(prose).find())];
  console.log(`${written}: ${(ours / theirs).toFixed(3)} of re2js (${ours.toFixed(2)} and ${theirs.toFixed(2)} ms)`);
}
