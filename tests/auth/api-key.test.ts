import assert from "node:assert/strict";
import { test } from "node:test";
import {
  isSingleCredential,
  maskSecret,
  mintApiKey,
  readLookupId,
  requireBootstrapKey,
} from "../../src/auth/api-key.ts";
import { crc32, toBase62 } from "../../src/lib/hash.ts";

test("mintApiKey() makes gk_, 12 letters, _, 43 letters and 6 check letters", () => {
  for (let round = 0; round < 200; round++) {
    const { key, lookupId } = mintApiKey("gk");
    assert.match(key, /^gk_[0-9A-Za-z]{12}_[0-9A-Za-z]{49}$/);
    assert.equal(key.split("_")[1], lookupId);
    assert.equal(key.slice(-6), toBase62(BigInt(crc32(key.slice(0, -6))), 6));
    assert.equal(readLookupId(key, "gk"), lookupId);
  }
});

test("mintApiKey() never makes the same key or id twice", () => {
  const keys = Array.from({ length: 500 }, () => mintApiKey("gk"));
  assert.equal(new Set(keys.map(({ key }) => key)).size, 500);
  assert.equal(new Set(keys.map(({ lookupId }) => lookupId)).size, 500);
});

test("mintApiKey() accepts prefixes with a hyphen", () => {
  const { key, lookupId } = mintApiKey("my-team");
  assert.equal(readLookupId(key, "my-team"), lookupId);
});

test("readLookupId() refuses a key with any one letter changed", () => {
  const { key } = mintApiKey("gk");
  for (let index = 0; index < key.length; index++) {
    const letter = key[index] === "a" ? "b" : "a";
    const changed = key.slice(0, index) + letter + key.slice(index + 1);
    assert.equal(readLookupId(changed, "gk"), undefined, `letter ${index}`);
  }
});

const sample = mintApiKey("gk").key;
for (const [name, key] of [
  ["an empty text", ""],
  ["a cut key", sample.slice(0, -1)],
  ["a longer key", `${sample}0`],
  ["a line end at its end", `${sample}\n`],
  ["white space before it", ` ${sample}`],
  ["another prefix", sample.replace("gk_", "xk_")],
  ["no prefix", sample.slice(3)],
  ["two keys", sample + sample],
  ["a full-width digit", sample.replace(/.$/, "\uff11")],
] as const) {
  test(`readLookupId() refuses ${name}`, () => {
    assert.equal(readLookupId(key, "gk"), undefined);
  });
}

test("readLookupId() refuses a right key of another prefix", () => {
  assert.equal(readLookupId(mintApiKey("other").key, "gk"), undefined);
});

for (const [secret, shown] of [
  ["", "*****"],
  ["short-key-1", "*****"],
  ["abcdefghijkl", "ab*****jkl"],
  ["gk_abcdefghijkl_secret", "gk*****ret"],
] as const) {
  test(`maskSecret() shows "${secret}" as ${shown}`, () => assert.equal(maskSecret(secret), shown));
}

for (const [name, key] of [
  ["an empty key", ""],
  ["15 letters", "a".repeat(15)],
  ["513 letters", "a".repeat(513)],
  ["white space", "aaaa aaaa aaaa aaaa"],
  ["a comma", "aaaaaaaa,aaaaaaaa"],
  ["a line end", "aaaaaaaaaaaaaaaa\n"],
  ["a letter outside ASCII", "aaaaaaaaaaaaaaaé"],
  ["an example of the documentation", "your-gateway-api-key"],
  ["an example in capitals", "CHANGE-ME-CHANGE-ME"],
] as const) {
  test(`requireBootstrapKey() refuses ${name}`, () => {
    assert.throws(
      () => requireBootstrapKey("BOOTSTRAP_ADMIN_KEY", key),
      (error) => error instanceof TypeError && error.message.includes("BOOTSTRAP_ADMIN_KEY"),
    );
  });
}

for (const key of ["a".repeat(16), "sk-0123456789._~+/=", "a".repeat(512)]) {
  test(`requireBootstrapKey() accepts ${key.slice(0, 20)} of ${key.length} letters`, () => {
    assert.equal(requireBootstrapKey("NAME", key), key);
  });
}

for (const [text, single] of [
  ["abc", true],
  ["a b", false],
  ["a,b", false],
  ["a\tb", false],
  ["a\u00a0b", false],
  ["", false],
] as const) {
  test(`isSingleCredential() says ${single} of ${JSON.stringify(text)}`, () => {
    assert.equal(isSingleCredential(text), single);
    assert.equal(isSingleCredential(text), single, "and again from memory");
  });
}
