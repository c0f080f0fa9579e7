// How the tests of a group of files are run on each runtime, and what its output and report say.

import { existsSync, readFileSync } from "node:fs";
import { relative } from "node:path";
import { root } from "./lib.mjs";

/** The last match of a pattern's first group, as a number. */
function lastNumber(text, pattern) {
  return Number([...text.matchAll(pattern)].at(-1)?.[1] ?? 0);
}

/** Milliseconds a test may take on Bun, which has a limit: random tests that run whole take minutes beside others. */
const limitMs = { sampled: 60_000, whole: 600_000 };

/** Each runner's arguments, counts and noise: lines that say nothing about what failed. */
export const runners = {
  bun: {
    args: ({ files, report, isWhole }) => [
      "test",
      "--timeout",
      String(isWhole ? limitMs.whole : limitMs.sampled),
      "--only-failures",
      "--reporter=junit",
      `--reporter-outfile=${report}`,
      ...files.map((file) => `./${file}`),
    ],
    count: (text) => ({
      passed: lastNumber(text, /^ *(\d+) pass$/gm),
      failed: lastNumber(text, /^ *(\d+) fail$/gm),
      skipped: lastNumber(text, /^ *(\d+) skip$/gm) + lastNumber(text, /^ *(\d+) todo$/gm),
    }),
    isNoise: () => false,
  },
  deno: {
    args: ({ files, report }) => [
      "test",
      "-A",
      "--no-check",
      `--junit-path=${report}`,
      ...files.map((file) => `./${file}`),
    ],
    count: (text) => ({
      passed: lastNumber(text, /^(?:ok|FAILED) \| (\d+) passed/gm),
      failed: lastNumber(text, /^(?:ok|FAILED) \| \d+ passed(?: \(.*?\))? \| (\d+) failed/gm),
      skipped: lastNumber(text, /^(?:ok|FAILED) \| .* \| (\d+) ignored/gm),
    }),
    isNoise: (line) => / \.\.\. (ok|ignored) \(/.test(line) || /^running \d+ tests? from /.test(line),
  },
  node: {
    args: ({ files, report, isAlone }) => [
      "--test",
      "--test-reporter=spec",
      "--test-reporter-destination=stdout",
      "--test-reporter=junit",
      `--test-reporter-destination=${report}`,
      ...(isAlone ? [] : ["--test-isolation=none"]),
      ...files,
    ],
    count: (text) => ({
      passed: lastNumber(text, /^ℹ pass (\d+)$/gm),
      failed: lastNumber(text, /^ℹ fail (\d+)$/gm) + lastNumber(text, /^ℹ cancelled (\d+)$/gm),
      skipped: lastNumber(text, /^ℹ skipped (\d+)$/gm) + lastNumber(text, /^ℹ todo (\d+)$/gm),
    }),
    isNoise: (line) => /^\s*[✔﹣] /.test(line),
  },
};

/** A file's path from the repository's root, however a runtime writes it. */
function pathOf(name) {
  const path = name.startsWith("file://") ? new URL(name).pathname : name;
  return relative(root, path.startsWith("/") ? path : `${root}/${path}`);
}

/** Value of an attribute of a tag in a JUnit report. */
function attribute(tag, name) {
  return new RegExp(`\\b${name}="([^"]*)"`).exec(tag)?.[1];
}

/** The test file that a tag of a JUnit report names, as a path from the repository's root. */
function fileOf(tag) {
  const isSuite = tag.startsWith("<testsuite ");
  const names = ["file", ...(isSuite ? ["name"] : ["classname"])].map((one) => attribute(tag, one));
  const name = names.find((one) => one?.endsWith(".test.ts"));
  return name === undefined ? undefined : pathOf(name);
}

/**
 * Files with a failed test, from a runner's JUnit report.
 *
 * @returns {string[]}
 */
export function readFailed(report) {
  if (!existsSync(report)) return [];
  const cases = readFileSync(report, "utf8").matchAll(/(<testcase [^>]*[^/])>\s*<(?:failure|error)\b/g);
  return [...new Set([...cases].flatMap(([, tag]) => fileOf(tag) ?? []))];
}

/**
 * Seconds of each file, from a runner's JUnit report: the sums of their tests' times, or the file's own where it has one.
 *
 * @returns {Map<string, number>}
 */
export function readSeconds(report) {
  const seconds = new Map();
  if (!existsSync(report)) return seconds;
  const text = readFileSync(report, "utf8");
  for (const [tag] of text.matchAll(/<test(?:suite|case) [^>]*>/g)) {
    const path = fileOf(tag);
    if (path === undefined) continue;
    const time = Number(attribute(tag, "time") ?? 0);
    const known = seconds.get(path) ?? { suite: 0, cases: 0 };
    if (tag.startsWith("<testsuite ")) known.suite = Math.max(known.suite, time);
    else known.cases += time;
    seconds.set(path, known);
  }
  return new Map([...seconds].map(([path, { suite, cases }]) => [path, Math.max(suite, cases)]));
}
