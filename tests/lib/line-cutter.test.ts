import assert from "node:assert/strict";
import { test } from "node:test";
import { LineCutter } from "../../src/lib/line-cutter.ts";

for (const [text, maxBytes, wanted] of [
  ["a\nbb\n\nccc", 10, ["a", "bb", "ccc"]],
  ["\n", 10, []],
  ["toolong\nok\n", 4, ["ok"]],
  ["ok\ntoolong", 4, ["ok"]],
] as const) {
  test(`LineCutter cuts ${JSON.stringify(text)} into ${JSON.stringify(wanted)}, in pieces of any size`, () => {
    const bytes = new TextEncoder().encode(text);
    for (let size = 1; size <= bytes.length; size++) {
      const lines: string[] = [];
      const cutter = new LineCutter(maxBytes, (line) => lines.push(new TextDecoder().decode(line)));
      for (let from = 0; from < bytes.length; from += size) cutter.push(bytes.subarray(from, from + size));
      cutter.end();
      assert.deepEqual(lines, wanted);
    }
  });
}
