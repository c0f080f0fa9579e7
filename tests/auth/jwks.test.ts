import assert from "node:assert/strict";
import { test } from "node:test";
import { exportJWK } from "jose";
import { createKeySets, type KeySource, readKeySet } from "../../src/auth/jwks.ts";
import { GatewayError } from "../../src/errors.ts";
import { createTestClock } from "../support/gateway.ts";
import { createTokenKey } from "../support/tokens.ts";

const rsa = await createTokenKey("rsa");
const ec = await createTokenKey("ec", "ES256");
const other = await createTokenKey("other");

const first = "https://first.test/keys";
const second = "https://second.test/keys";
const minute = 60_000;

/** Key sets over documents in memory; what is not there fails. */
function setUp(documents: Record<string, unknown>) {
  const clock = createTestClock();
  const fetched: string[] = [];
  const fetchJson = async (url: string, bounds: { maxBytes: number; timeoutMs: number }) => {
    assert.deepEqual(bounds, { maxBytes: 262_144, timeoutMs: 5_000 });
    fetched.push(url);
    await new Promise((resolve) => setTimeout(resolve, 2));
    if (documents[url] === undefined) throw new Error("away");
    return documents[url];
  };
  const keySets = createKeySets({ clock, fetchJson });
  const outcome = async (kid: string, source: Partial<KeySource> = {}): Promise<string> => {
    try {
      const key = await keySets.find({ organisationId: "o", urls: [first], inline: undefined, ...source }, kid);
      return key.form;
    } catch (error) {
      assert.ok(error instanceof GatewayError, String(error));
      return `${error.status} ${error.message}`;
    }
  };
  return { clock, fetched, documents, outcome };
}

test("keys of several addresses and of the settings are merged", async () => {
  const { outcome } = setUp({ [first]: { keys: [rsa.jwk] }, [second]: { keys: [ec.jwk] } });
  const source = { urls: [first, second], inline: { keys: [other.jwk] } };
  assert.deepEqual(
    [await outcome("rsa", source), await outcome("ec", source), await outcome("other", source)],
    ["RSA", "P-256", "RSA"],
  );
});

const discovery = "https://idp.test/tenant/.well-known/openid-configuration";

for (const [name, url, document, wanted] of [
  ["of its issuer is followed", discovery, { issuer: "https://idp.test/tenant", jwks_uri: second }, "RSA"],
  [
    "of its issuer, with a slash, is followed",
    discovery,
    { issuer: "https://idp.test/tenant/", jwks_uri: second },
    "RSA",
  ],
  [
    "of RFC 8414 is followed",
    "https://idp.test/.well-known/oauth-authorization-server/tenant",
    { issuer: "https://idp.test/tenant", jwks_uri: second },
    "RSA",
  ],
  ["of another issuer is not followed", discovery, { issuer: "https://evil.test", jwks_uri: second }, "503"],
  ["at another path is not followed", first, { issuer: first, jwks_uri: second }, "503"],
  [
    "that names the keys of many customers is not followed",
    discovery,
    { issuer: "https://idp.test/tenant", jwks_uri: "https://www.googleapis.com/oauth2/v3/certs" },
    "503",
  ],
] as const) {
  test(`a discovery document ${name}`, async () => {
    const keys = { keys: [rsa.jwk] };
    const documents = { [url]: document, [second]: keys, "https://www.googleapis.com/oauth2/v3/certs": keys };
    assert.equal((await setUp(documents).outcome("rsa", { urls: [url] })).split(" ")[0], wanted);
  });
}

test("one id for different keys is refused, the same key twice is not", async () => {
  const clash = { ...other.jwk, kid: "rsa" };
  const { outcome } = setUp({ [first]: { keys: [rsa.jwk, ec.jwk] }, [second]: { keys: [clash, ec.jwk] } });
  const source = { urls: [first, second] };
  assert.match(await outcome("rsa", source), /^401 .*different keys/);
  assert.equal(await outcome("ec", source), "P-256");
  const within = setUp({ [first]: { keys: [rsa.jwk, clash] } });
  assert.match(await within.outcome("rsa"), /^401 .*different keys/);
});

const { n, e } = rsa.jwk;
const weak = await createWeakKey();

async function createWeakKey() {
  const algorithm = { name: "RSASSA-PKCS1-v1_5", modulusLength: 1024, publicExponent: new Uint8Array([1, 0, 1]) };
  const { publicKey } = await crypto.subtle.generateKey({ ...algorithm, hash: "SHA-256" }, true, ["sign", "verify"]);
  return exportJWK(publicKey);
}

for (const [name, jwk, wanted] of [
  ["RSA of 1,024 bits", { ...weak, kid: "k" }, /^401 .*too short/],
  ["use enc", { ...rsa.jwk, kid: "k", use: "enc" }, /^401 .*not for signatures/],
  ["no use", { kty: "RSA", n, e, kid: "k" }, /^RSA/],
  ["key_ops without verify", { ...rsa.jwk, kid: "k", key_ops: ["encrypt"] }, /^401 .*not for verifying/],
  ["an unsupported curve", { ...ec.jwk, kid: "k", crv: "secp256k1" }, /^401 .*curve/],
  ["X25519", { kty: "OKP", crv: "X25519", x: "AA", kid: "k" }, /^401 .*curve/],
  ["an unknown type", { kty: "LWE", kid: "k" }, /^401 .*type/],
  ["a private member", { ...ec.jwk, kid: "k", d: "AA" }, /^401 .*private or symmetric/],
  ["a symmetric key", { kty: "oct", k: "AA", kid: "k" }, /^401 .*private or symmetric/],
  ["no id", { ...rsa.jwk, kid: undefined }, /^401 .*not known/],
] as const) {
  test(`a key with ${name} gets ${wanted}`, async () => {
    const { outcome } = setUp({ [first]: { keys: [jwk] } });
    assert.match(await outcome("k"), wanted);
  });
}

test("a private key refuses its whole set", async () => {
  const { outcome } = setUp({ [first]: { keys: [rsa.jwk, { kty: "oct", k: "AA", kid: "k" }] } });
  assert.match(await outcome("rsa"), /^401 .*private or symmetric/);
  const inline = setUp({ [first]: { keys: [ec.jwk] } });
  const source = { inline: { keys: [{ ...rsa.jwk, d: "AA" }] } };
  assert.match(await inline.outcome("rsa", source), /^401 .*private or symmetric/);
  assert.equal(await inline.outcome("ec", source), "P-256");
});

test("documents that are not key sets or too large count as an unavailable source", async () => {
  const many = Array.from({ length: 101 }, (_, index) => ({ ...rsa.jwk, kid: `k${index}` }));
  for (const document of [[], {}, { keys: {} }, { keys: ["x"] }, { keys: many }]) {
    assert.equal(readKeySet(document), undefined);
    assert.match(await setUp({ [first]: document }).outcome("rsa"), /^503/);
  }
  assert.equal(await setUp({ [first]: { keys: many.slice(1) } }).outcome("k5"), "RSA");
});

test("a set is fetched again after 10 minutes, in the background after 8", async () => {
  const { outcome, fetched, clock, documents } = setUp({ [first]: { keys: [rsa.jwk] } });
  await outcome("rsa");
  clock.advance(8 * minute - 1);
  await outcome("rsa");
  assert.equal(fetched.length, 1);
  clock.advance(1);
  documents[first] = { keys: [ec.jwk] };
  assert.equal(await outcome("rsa"), "RSA");
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(fetched.length, 2);
  assert.match(await outcome("rsa"), /^401/);
  clock.advance(10 * minute);
  documents[first] = { keys: [rsa.jwk] };
  assert.equal(await outcome("rsa"), "RSA");
});

test("T6: unknown ids cause at most one fetch of an address in 30 s", async () => {
  const { outcome, fetched, clock, documents } = setUp({ [first]: { keys: [rsa.jwk] } });
  await outcome("rsa");
  clock.advance(29_999);
  documents[first] = { keys: [rsa.jwk, ec.jwk] };
  assert.match(await outcome("ec"), /^401 .*not known/);
  assert.equal(fetched.length, 1);
  clock.advance(1);
  assert.equal(await outcome("ec"), "P-256");
  assert.equal(fetched.length, 2);
  for (let count = 0; count < 20; count++) await outcome(`unknown-${count}`);
  assert.equal(fetched.length, 2);
});

test("concurrent requests share a fetch", async () => {
  const { outcome, fetched } = setUp({ [first]: { keys: [rsa.jwk] } });
  const outcomes = await Promise.all(Array.from({ length: 20 }, () => outcome("rsa")));
  assert.deepEqual(new Set(outcomes), new Set(["RSA"]));
  assert.equal(fetched.length, 1);
});

test("while the source is unavailable cached keys work for 24 hours, then requests get 503", async () => {
  const { outcome, fetched, clock, documents } = setUp({ [first]: { keys: [rsa.jwk] } });
  await outcome("rsa");
  delete documents[first];
  for (let minutes = 0; minutes < 24 * 60; minutes += 10) {
    assert.equal(await outcome("rsa"), "RSA", `after ${minutes} minutes`);
    await new Promise((resolve) => setTimeout(resolve, 3)); // the fetch in the background fails
    clock.advance(10 * minute);
  }
  assert.match(await outcome("rsa"), /^503/);
  assert.ok(fetched.length > 100);
  clock.advance(30_000);
  documents[first] = { keys: [rsa.jwk] };
  assert.equal(await outcome("rsa"), "RSA");
});

test("a source that was never fetched is 503; other sources still serve their keys", async () => {
  const { outcome, fetched } = setUp({ [second]: { keys: [ec.jwk] } });
  const source = { urls: [first, second] };
  assert.equal(await outcome("ec", source), "P-256");
  assert.match(await outcome("rsa", source), /^503/);
  assert.equal(fetched.filter((url) => url === first).length, 1);
});

test("organisations with the same address do not share its cached keys", async () => {
  const { outcome, fetched } = setUp({ [first]: { keys: [rsa.jwk] } });
  await outcome("rsa");
  await outcome("rsa", { organisationId: "p" });
  assert.equal(fetched.length, 2);
});
