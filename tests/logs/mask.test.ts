import assert from "node:assert/strict";
import { test } from "node:test";
import { mintApiKey } from "../../src/auth/api-key.ts";
import { createRedactor } from "../../src/logs/redact.ts";

const { text, mayHoldSecret } = createRedactor({
  mac: () => "",
  keyPrefix: "gk",
  sensitiveNames: [],
  aliasPrefixes: [],
});
for (const secret of [
  "sk-proj-abcdefghij0123456789",
  `AIza${"a1B2".repeat(9)}`,
  "AKIAIOSFODNN7EXAMPLE",
  `xai-${"a1B2".repeat(6)}`,
  `pplx-${"a1B2".repeat(6)}`,
  `gsk_${"a1B2".repeat(6)}`,
  "openai-insecure-api-key.abc",
  mintApiKey("gk").key,
  "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3",
  `hf_${"a1B2".repeat(9)}`,
]) {
  test(`L3: text() masks ${secret.slice(0, 8)} at the beginning of a line inside JSON`, () => {
    const masked = text(JSON.stringify({ content: `my keys:\n${secret}\n\t${secret}` }));
    assert.equal(masked.includes(secret), false, masked);
  });
}

test("mayHoldSecret() is false for the text of a plain row", () => {
  for (const plain of ["x-gateway-last-used-option-index", "wiki-contributors-guide"]) {
    assert.equal(mayHoldSecret(JSON.stringify({ [plain]: plain })), false, plain);
  }
});

for (const value of [
  "-----BEGIN PRIVATE KEY-----x",
  '-----BEGIN PRIVATE KEY-----a"b',
  "-----BEGIN PRIVATE KEY-----a\\",
  "-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----",
]) {
  test(`L4: text() leaves JSON JSON around ${JSON.stringify(value)}`, () => {
    const masked = text(JSON.stringify({ a: value, b: { c: "d-e" }, f: [1] }));
    const { b, f } = JSON.parse(masked);
    assert.deepEqual([b, f], [{ c: "d-e" }, [1]]);
  });
}
