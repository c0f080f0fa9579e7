import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, createOrganisation, done, refusal } from "../support/control.ts";
import { createTestGateway, type TestGateway, workspaceKey } from "../support/gateway.ts";
import { problem } from "../support/people.ts";

let gateway: TestGateway;
let other: Awaited<ReturnType<typeof createOrganisation>>;
let path: string;
before(async () => {
  gateway = await createTestGateway({ inFile: true });
  other = await createOrganisation(await gateway.openFile(), "other");
  const { data } = await done(call<Shown>(gateway, "GET /organisations/self"));
  path = `/organisations/${data.id}/auth-settings`;
});
after(() => gateway.close());

interface Shown {
  success: boolean;
  data: Record<string, unknown>;
}

const read = async () => (await done(call<Shown>(gateway, `GET ${path}`))).data;
const put = (body: object) => done(call<Shown>(gateway, `PUT ${path}`, { body }));

async function publicKey(algorithm: RsaHashedKeyGenParams | EcKeyGenParams, kid: string): Promise<JsonWebKey> {
  const pair = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  return Object.assign(await crypto.subtle.exportKey("jwk", pair.publicKey), { kid });
}
const rsa = (modulusLength: number) => ({
  name: "RSASSA-PKCS1-v1_5",
  hash: "SHA-256",
  modulusLength,
  publicExponent: Uint8Array.of(1, 0, 1),
});
const keys = {
  rsa: await publicKey(rsa(2_048), "rsa"),
  ec: await publicKey({ name: "ECDSA", namedCurve: "P-256" }, "ec"),
  weak: await publicKey(rsa(1_024), "weak"),
  ed: { kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", kid: "ed" },
};

test("GET auth-settings shows every field before anything is set", async () => {
  assert.deepEqual(await read(), {
    jwt_enabled: false,
    jwks_url: null,
    jwks: null,
    algorithms: [],
    issuer: null,
    audience: null,
    default_scopes: [],
    max_token_age: null,
    clock_tolerance: null,
    oidc: null,
  });
});

const set = { keys: [keys.rsa, keys.ec, keys.ed] };
for (const [member, value, wanted] of [
  [
    "jwks_url",
    "https://idp.example/jwks , http://127.0.0.1:9999/keys",
    "https://idp.example/jwks,http://127.0.0.1:9999/keys",
  ],
  ["jwks", set, set],
  ["algorithms", ["RS256", "EdDSA", "RS256"], ["RS256", "EdDSA"]],
  ["issuer", "https://idp.example", "https://idp.example"],
  ["issuer", ["a", "b"], ["a", "b"]],
  ["audience", ["a"], ["a"]],
  ["default_scopes", ["gateway.completions:write", "logs.read"], ["completions.write", "logs.read"]],
  ["max_token_age", "1d", 86_400],
  ["max_token_age", 60, 60],
  ["clock_tolerance", 5, 5],
  ["clock_tolerance", "1m", 60],
  ["jwt_enabled", true, true],
] as const) {
  test(`PUT auth-settings sets, preserves and clears ${member}: ${JSON.stringify(value).slice(0, 60)}`, async () => {
    const before = await read();
    assert.deepEqual((await put({ [member]: value })).data[member], wanted);
    const after = await read();
    assert.deepEqual(after[member], wanted);
    await put({});
    assert.deepEqual(await read(), after);
    await put({ [member]: null });
    assert.deepEqual(await read(), before);
  });
}

test("tokens are accepted once there are keys, unless they are switched off", async () => {
  await put({ jwks: set });
  assert.equal((await read()).jwt_enabled, true);
  await put({ jwt_enabled: false });
  assert.equal((await read()).jwt_enabled, false);
  await put({ jwks: null, jwt_enabled: null });
  assert.equal((await read()).jwt_enabled, false);
});

const jwks = (...list: unknown[]) => ({ jwks: { keys: list } });
for (const [name, body, wanted] of [
  ["plain http", { jwks_url: "http://idp.example/jwks" }, "jwks_url"],
  ["a metadata service", { jwks_url: "https://169.254.169.254/jwks" }, "jwks_url"],
  ["a private address", { jwks_url: "https://10.0.0.1/jwks" }, "jwks_url"],
  ["an inner name", { jwks_url: "https://keys.internal/jwks" }, "jwks_url"],
  ["a bad one among good ones", { jwks_url: "https://idp.example/jwks,https://localhost/jwks" }, "jwks_url"],
  ["an empty entry", { jwks_url: "https://idp.example/jwks," }, "jwks_url"],
  ["no address", { jwks_url: "keys" }, "jwks_url"],
  ["eleven addresses", { jwks_url: Array(11).fill("https://idp.example/jwks").join(",") }, "jwks_url"],
  ["a key set that is a text", { jwks: "{}" }, "jwks"],
  ["a key set without keys", { jwks: {} }, "jwks.keys"],
  ["an empty key set", jwks(), "jwks.keys"],
  ["101 keys", jwks(...Array(101).fill(keys.rsa)), "jwks.keys"],
  ["a key that is a text", jwks("key"), "jwks.keys.0"],
  ["a private key", jwks(keys.rsa, { ...keys.ec, d: "AQ" }), "jwks.keys.1"],
  ["a symmetric key", jwks({ kty: "oct", k: "AQ", kid: "k" }), "jwks.keys.0"],
  ["a symmetric key without its value", jwks({ kty: "oct", kid: "k" }), "jwks.keys.0"],
  ["a key without kid", jwks({ ...keys.rsa, kid: undefined }), "jwks.keys.0.kid"],
  ["the same kid twice", jwks(keys.rsa, { ...keys.ec, kid: "rsa" }), "jwks.keys"],
  ["a short RSA key", jwks(keys.weak), "jwks.keys.0.n"],
  ["an RSA key without exponent", jwks({ ...keys.rsa, e: undefined }), "jwks.keys.0.e"],
  ["an unknown kind of key", jwks({ kty: "toString", kid: "k" }), "jwks.keys.0.kty"],
  ["an unknown curve", jwks({ ...keys.ec, crv: "secp256k1" }), "jwks.keys.0.crv"],
  ["half a point", jwks({ ...keys.ec, y: undefined }), "jwks.keys.0.y"],
  ["a symmetric algorithm", { algorithms: ["HS256"] }, "algorithms.0"],
  ["no algorithm", { algorithms: ["none"] }, "algorithms.0"],
  ["an empty audience", { audience: [] }, "audience"],
  ["an issuer that is a number", { issuer: 1 }, "issuer"],
  ["a scope no token holds", { default_scopes: ["configs.read", "organisation_users.list"] }, "default_scopes.1"],
  ["an age of nothing", { max_token_age: 0 }, "max_token_age"],
  ["an age in weeks", { max_token_age: "1w" }, "max_token_age"],
  ["a tolerance over a minute", { clock_tolerance: 61 }, "clock_tolerance"],
  ["a switch that is a text", { jwt_enabled: "on" }, "jwt_enabled"],
] as const) {
  test(`PUT auth-settings refuses ${name}`, async () => {
    assert.equal(await problem(gateway, `PUT ${path}`, { body }), `400 AB01 ${wanted}`);
  });
}

test("a refused change leaves the settings unchanged", async () => {
  await put({ issuer: "a" });
  assert.equal(await refusal(call(gateway, `PUT ${path}`, { body: { issuer: "b", jwks_url: "x" } })), "400 AB01");
  assert.equal((await read()).issuer, "a");
  await put({ issuer: null });
});

test("auth-settings of another organisation are not found, like unknown ones; workspace keys reach none", async () => {
  for (const id of [other.organisationId, crypto.randomUUID(), "self"]) {
    const route = `/organisations/${id}/auth-settings`;
    assert.equal(await refusal(call(gateway, `GET ${route}`)), "404 AB08");
    assert.equal(await refusal(call(gateway, `PUT ${route}`, { body: {} })), "404 AB08");
  }
  assert.equal(await refusal(call(gateway, `GET ${path}`, { key: workspaceKey })), "403 AB03");
});
