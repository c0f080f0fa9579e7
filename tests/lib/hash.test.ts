import assert from "node:assert/strict";
import { hkdfSync } from "node:crypto";
import { test } from "node:test";
import { crc32 as zlibCrc32 } from "node:zlib";
import { fromBase64Url, toBase64Url } from "../../src/lib/base64.ts";
import { crc32, deriveKey, randomBase62, randomBytes, toBase62, verifyMac, webMac } from "../../src/lib/hash.ts";
import { nodeMac } from "../../src/serve/environment.ts";

const bytes = (hex: string) => Uint8Array.from(Buffer.from(hex, "hex"));

/** RFC 4231, those whose data is text. */
const vectors = [
  ["1", "0b".repeat(20), "Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"],
  [
    "2",
    Buffer.from("Jefe").toString("hex"),
    "what do ya want for nothing?",
    "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
  ],
  [
    "6",
    "aa".repeat(131),
    "Test Using Larger Than Block-Size Key - Hash Key First",
    "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
  ],
  [
    "7",
    "aa".repeat(131),
    "This is a test using a larger than block-size key and a larger than block-size data. The key needs to be hashed before being used by the HMAC algorithm.",
    "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2",
  ],
] as const;
for (const [number, key, text, digest] of vectors) {
  test(`webMac, nodeMac and verifyMac() agree with case ${number} of RFC 4231`, async () => {
    const wanted = Buffer.from(digest, "hex").toString("base64url");
    assert.equal(await webMac(bytes(key))(text), wanted);
    assert.equal(nodeMac(bytes(key))(text), wanted);
    assert.equal(await verifyMac(bytes(key), wanted, text), true);
  });
}

for (const text of ["", "é ☂ 😀", "\0", "x".repeat(100_000), "\ud800"]) {
  test(`webMac equals nodeMac for ${JSON.stringify(text.slice(0, 10))} of ${text.length}`, async () => {
    const key = randomBytes(32);
    assert.equal(await webMac(key)(text), await nodeMac(key)(text));
    assert.equal(await verifyMac(key, await webMac(key)(text), text), true);
  });
}

test("verifyMac() refuses another text, another key, a cut and a longer digest", async () => {
  const key = randomBytes(32);
  const digest = await webMac(key)("text");
  assert.equal(await verifyMac(key, digest, "Text"), false);
  assert.equal(await verifyMac(randomBytes(32), digest, "text"), false);
  assert.equal(await verifyMac(key, digest.slice(0, -4), "text"), false);
  assert.equal(await verifyMac(key, `${digest}AAAA`, "text"), false);
  assert.equal(await verifyMac(key, "", "text"), false);
});

test("P2: deriveKey() is HKDF-SHA-256 with the purpose as info, another key for each purpose", async () => {
  const secret = randomBytes(32);
  for (const purpose of ["key-pepper", "log-hash", "state"]) {
    const wanted = new Uint8Array(hkdfSync("sha256", secret, new Uint8Array(0), purpose, 32));
    assert.deepEqual(await deriveKey(secret, purpose), wanted);
  }
  const keys = await Promise.all(["a", "b"].map((purpose) => deriveKey(secret, purpose)));
  assert.notDeepEqual(keys[0], keys[1]);
});

test('crc32() of "123456789" is cbf43926', () => assert.equal(crc32("123456789"), 0xcbf43926));

for (const text of ["", "a", "abc", "gk_0123456789AB_", "\u007f", "x".repeat(1_000)]) {
  test(`crc32() of "${text.slice(0, 20)}" is that of zlib`, () => assert.equal(crc32(text), zlibCrc32(text)));
}

for (const [value, length, text] of [
  [0n, 1, "0"],
  [0n, 6, "000000"],
  [61n, 1, "z"],
  [62n, 2, "10"],
  [35n, 2, "0Z"],
  [2n ** 32n - 1n, 6, "4gfFC3"],
  [62n ** 43n - 1n, 43, "z".repeat(43)],
] as const) {
  test(`toBase62() of ${value} is ${text}`, () => assert.equal(toBase62(value, length), text));
}

test("toBase62() fits 32 bytes in 43 letters and 32 bits in 6", () => {
  assert.equal(toBase62(2n ** 256n - 1n, 43).length, 43);
  assert.equal(toBase62(2n ** 32n - 1n, 6).length, 6);
});

test("randomBase62() uses each of 62 letters about evenly", () => {
  const counts = new Map<string, number>();
  const letters = Array.from({ length: 62 }, () => randomBase62(1_000)).join("");
  for (const letter of letters) counts.set(letter, (counts.get(letter) ?? 0) + 1);
  assert.equal(counts.size, 62);
  // 1,000 each on average; ten standard deviations are 316
  for (const [letter, count] of counts) assert.ok(count > 680 && count < 1_320, `${letter}: ${count}`);
});

for (const length of [0, 1, 12, 100]) {
  test(`randomBase62() makes ${length} letters`, () =>
    assert.match(randomBase62(length), new RegExp(`^[0-9A-Za-z]{${length}}$`)));
}

test("toBase64Url() and fromBase64Url() are those of the platform, padded or not", () => {
  for (let length = 0; length < 70; length++) {
    const some = randomBytes(length);
    const text = toBase64Url(some);
    assert.equal(text, Buffer.from(some).toString("base64url"));
    assert.deepEqual(fromBase64Url(text), some);
    assert.deepEqual(fromBase64Url(text + "=".repeat((4 - (text.length % 4)) % 4)), some);
  }
});
