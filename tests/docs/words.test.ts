import assert from "node:assert/strict";
import { test } from "node:test";
import { wordsInPage } from "../support/words.ts";
import { readPages } from "./pages.ts";

const paths = ["CHANGELOG.md", "CONTRIBUTING.md", ...readPages().map(({ path }) => path)];

for (const path of paths) {
  test(`${path} uses the terms of the field`, () => {
    assert.deepEqual(wordsInPage(path), []);
  });
}
