import assert from "node:assert/strict";
import { test } from "node:test";
import { createMasterKeyText, readMasterKeys, unwrapRootSecret, wrapRootSecret } from "../../src/auth/master-keys.ts";
import { toBase64Url } from "../../src/lib/base64.ts";
import { randomBytes } from "../../src/lib/hash.ts";

const first = toBase64Url(Uint8Array.from({ length: 32 }, (_, index) => index));
const second = toBase64Url(Uint8Array.from({ length: 32 }, (_, index) => index + 100));

test("readMasterKeys() preserves the order: the first one wraps", () => {
  const keys = readMasterKeys(`v2:${second},v1:${first}`);
  assert.deepEqual(
    keys.map(({ version, bytes }) => [version, toBase64Url(bytes)]),
    [
      ["v2", second],
      ["v1", first],
    ],
  );
});

test("readMasterKeys() accepts padding, spaces and a comma at the end", () => {
  assert.equal(readMasterKeys(` v1:${first}= , v2:${second},`).length, 2);
});

test("readMasterKeys() reads what createMasterKeyText() makes, each time another", () => {
  const texts = Array.from({ length: 20 }, createMasterKeyText);
  assert.equal(new Set(texts).size, 20);
  for (const text of texts) assert.equal(readMasterKeys(text)[0]?.bytes.length, 32);
});

for (const [name, text] of [
  ["an empty text", ""],
  ["commas alone", " , ,"],
  ["a short key", `v1:${toBase64Url(randomBytes(31))}`],
  ["a long key", `v1:${toBase64Url(randomBytes(33))}`],
  ["one letter", "v1:A"],
  ["a length no base64 has", `v1:${first}AA`],
  ["padding alone", "v1:===="],
  ["too much padding", `v1:${first}===`],
  ["zeros", `v1:${toBase64Url(new Uint8Array(32))}`],
  ["one byte repeated", `v1:${toBase64Url(new Uint8Array(32).fill(7))}`],
  ["no version", first],
  ["version zero", `v0:${first}`],
  ["a version that is no number", `vx:${first}`],
  ["plain base64", `v1:${"+/".repeat(21)}A`],
  ["the same version twice", `v1:${first},v1:${second}`],
  ["the same key twice", `v1:${first},v2:${first}`],
  ["the same key twice, padded once", `v1:${first},v2:${first}=`],
  ["a good key and a bad one", `v1:${first},nonsense`],
] as const) {
  test(`P1: readMasterKeys() refuses ${name} with a TypeError that does not reveal the key`, () => {
    assert.throws(
      () => readMasterKeys(text),
      (error) => error instanceof TypeError && (text === "" || !error.message.includes(first)),
    );
  });
}

test("unwrapRootSecret() reverses wrapRootSecret() with any of the given keys", async () => {
  const secret = randomBytes(32);
  const keys = readMasterKeys(`v2:${second},v1:${first}`);
  for (const key of keys) {
    assert.deepEqual(await unwrapRootSecret(await wrapRootSecret(secret, key), keys), secret);
  }
});

test("wrapRootSecret() never writes the same text twice", async () => {
  const secret = randomBytes(32);
  const [key] = readMasterKeys(`v1:${first}`);
  assert.ok(key);
  assert.notEqual(await wrapRootSecret(secret, key), await wrapRootSecret(secret, key));
});

test("unwrapRootSecret() fails with another key, another version, and a changed text", async () => {
  const [key] = readMasterKeys(`v1:${first}`);
  assert.ok(key);
  const stored = await wrapRootSecret(randomBytes(32), key);
  await assert.rejects(unwrapRootSecret(stored, readMasterKeys(`v1:${second}`)), /another master key v1/);
  await assert.rejects(unwrapRootSecret(stored, readMasterKeys(`v2:${first}`)), /v1 is not among/);
  // the version is bound to the text: it cannot be changed to fit a key
  const renamed = stored.replace("1.v1.", "1.v2.");
  await assert.rejects(unwrapRootSecret(renamed, readMasterKeys(`v2:${first}`)), /another master key v2/);
  for (const changed of ["", "1", "1.v1", "1.v1.AAAA", stored.replace(/^1/, "2"), `${stored.slice(0, -4)}AAAA`]) {
    await assert.rejects(unwrapRootSecret(changed, [key]), /Cannot open this database/, changed);
  }
});
