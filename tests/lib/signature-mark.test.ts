import assert from "node:assert/strict";
import { test } from "node:test";
import { isMarked, markSignature, readMarkedSignature } from "../../src/lib/signature-mark.ts";

for (const text of [
  "",
  "EqQBCkgIBRABGAIiQ",
  "a:b:c",
  "line\nline",
  "é ü 漢字 🚢",
  "\u0000\u00ff",
  "x".repeat(100_000),
]) {
  for (const kind of ["signature", "redacted", "call"] as const) {
    test(`readMarkedSignature() returns ${kind} ${JSON.stringify(text.slice(0, 20))}`, () => {
      const marked = markSignature({ kind, text });
      assert.match(marked, /^[A-Za-z0-9+/]+=*$/);
      assert.equal(isMarked(marked), true);
      assert.deepEqual(readMarkedSignature(marked), { kind, text });
      // clients that decode it write it in the other alphabet
      assert.deepEqual(readMarkedSignature(marked.replaceAll("+", "-").replaceAll("/", "_")), { kind, text });
    });
  }
}

for (const id of ["call_1", "functions.bash:0", "50%3A", "é漢🚢", "a#b"]) {
  test(`readMarkedSignature() returns the id ${id} of a call`, () => {
    const signed = { kind: "call", text: "s:1", id } as const;
    assert.deepEqual(readMarkedSignature(markSignature(signed)), signed);
  });
}

for (const other of [
  undefined,
  null,
  7,
  "",
  "CsoBFxSigCall==",
  "skip_thought_signature_validator",
  "Z2F0ZXdh",
  "Z2F0ZXdh!",
  "Z2F0ZXdheTpvdGhlcjphYmM=",
]) {
  test(`readMarkedSignature() accepts ${JSON.stringify(other)} as another provider's`, () => {
    assert.equal(readMarkedSignature(other), undefined);
  });
}
