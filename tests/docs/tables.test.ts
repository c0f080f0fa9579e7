import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { repository } from "../support/source-files.ts";

const pages = execFileSync("git", ["ls-files", "*.md"], { cwd: repository, encoding: "utf8" }).trim().split("\n");

const isRow = (line: string | undefined) => line?.trimStart().startsWith("|") === true;
const isDelimiter = (line: string | undefined) => /^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/.test(line ?? "");

/** Cells of a row; a bar after a backslash or in code does not end one. */
const cellsOf = (line: string) =>
  line
    .replaceAll(/\\\||`[^`]*`/g, "")
    .trim()
    .replaceAll(/^\||\|$/g, "")
    .split("|").length;

/** Rows that are shown as plain characters, or lack cells. */
function findBroken(text: string): string[] {
  const lines = text.replaceAll(/^```[\s\S]*?^```/gm, (block) => block.replaceAll(/.+/g, "")).split("\n");
  return lines.flatMap((line, index) => {
    if (!isRow(line)) return [];
    let head = index;
    while (isRow(lines[head - 1])) head--;
    const isTable = isRow(lines[head + 1]) && isDelimiter(lines[head + 1]);
    const isWhole = isTable && cellsOf(line) === cellsOf(lines[head] ?? "");
    return isWhole ? [] : [`line ${index + 1}: ${line.slice(0, 80)}`];
  });
}

for (const path of pages) {
  test(`tables of ${path} have a head, and each row has its cells`, () => {
    assert.deepEqual(findBroken(readFileSync(join(repository, path), "utf8")), []);
  });
}
