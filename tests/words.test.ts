import assert from "node:assert/strict";
import { test } from "node:test";
import { readSourceFiles, toSourceFile } from "./support/source-files.ts";
import { wordsInSource } from "./support/words.ts";

for (const folder of ["packages", "src", "tests", "scripts", "bench", "examples", "site"]) {
  test(`comments, messages and test titles below ${folder}/ use the terms of the field`, () => {
    assert.deepEqual(readSourceFiles(folder).flatMap(wordsInSource), []);
  });
}

const at = (path: string, text: string) => wordsInSource(toSourceFile(path, text)).map((line) => line.split(": ")[0]);

test("wordsInSource() looks at comments, at messages of sources and at titles of tests", () => {
  assert.deepEqual(at("src/a.ts", "// one\n/** a list\n * of texts */\n"), ["src/a.ts:3"]);
  assert.deepEqual(at("src/a.ts", 'throw new Error("Cannot send pictures here");\n'), ["src/a.ts:1"]);
  assert.deepEqual(at("tests/a.test.ts", 'test("a row is kept", () => {});\n'), ["tests/a.test.ts:1"]);
});

test("wordsInSource() leaves out names in code, what tests send, and single words", () => {
  assert.deepEqual(at("src/a.ts", 'const texts = ["kept"]; // `texts` is a name\n'), []);
  assert.deepEqual(at("tests/a.test.ts", 'send("tell me more");\n'), []);
});
