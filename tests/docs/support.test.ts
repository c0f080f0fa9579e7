import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { requireListed } from "../support/listed.ts";
import { repository } from "../support/source-files.ts";
import { wordsInPage } from "../support/words.ts";

const folder = "tests/support";
const page = `${folder}/README.md`;

test(`${page} has one line for each file of its folder`, () => {
  const lines = readFileSync(join(repository, page), "utf8").matchAll(/^\| `(\S+)` \| \S.* \|$/gm);
  const files = readdirSync(join(repository, folder)).filter((name) => name !== "README.md");
  requireListed(
    files,
    [...lines].map(([, name = ""]) => name),
    page,
  );
});

test(`${page} uses the terms of the field`, () => {
  assert.deepEqual(wordsInPage(page), []);
});
