import assert from "node:assert/strict";
import { after, test } from "node:test";
import { exportJWK } from "jose";
import { guard, problemsOf, runCheck } from "../support/guardrails.ts";
import { createTokenKey, signSymmetric, signTexts, signToken } from "../support/tokens.ts";
import { startRecordingUpstream } from "../support/upstream.ts";

const id = "default.jwt";
const key = await createTokenKey("k-1");
const other = await createTokenKey("k-2");
const curve = await createTokenKey("k-3", "ES256");
const edwards = await createTokenKey("k-4", "EdDSA");
const jwks = { keys: [key.jwk, curve.jwk, edwards.jwk] };

/** Claims with times in seconds from now, which is when the test runs, maybe long after this file was loaded. */
function claimsFromNow(claims: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const seconds = Math.floor(Date.now() / 1_000);
  return Object.fromEntries(
    Object.entries(claims).map(([name, value]) => [name, typeof value === "number" ? seconds + value : value]),
  );
}

/** Runs the check on a token, sent as bearer. */
function check(parameters: object, token: string | undefined, headers: Record<string, string> = {}) {
  const sent = token === undefined ? headers : { authorization: `Bearer ${token}`, ...headers };
  return runCheck(id, { jwks, ...parameters }, { text: "x", headers: sent });
}

/** Asserts a verdict that was reached, not a check that could not decide. */
async function expectRefused(
  running: ReturnType<typeof runCheck>,
  explanation: RegExp,
  headers: Record<string, null> = {},
): Promise<void> {
  const { result, outcome } = await running;
  assert.deepEqual([result?.verdict, result?.error, outcome.headers], [false, null, headers]);
  assert.equal(result?.data?.verdict, false);
  assert.match(String(result?.data?.explanation), explanation);
}

async function expectTaken(running: ReturnType<typeof runCheck>): Promise<void> {
  const { result } = await running;
  assert.deepEqual([result?.data?.explanation, result?.verdict, result?.error], ["The token is valid", true, null]);
}

test("jwt accepts a token of its key and reports what was checked", async () => {
  const { result } = await check({}, await signToken(key, Date.now()));
  assert.deepEqual(result?.data, {
    verdict: true,
    explanation: "The token is valid",
    validations: {
      signatureValid: true,
      requiredClaims: { valid: true, missing: [] },
      claimValues: { valid: true, failed: [] },
      headerPayloadMatch: { valid: true, mismatched: [] },
    },
  });
});

for (const [name, parameters, toHeaders] of [
  ["without a scheme", {}, (token: string) => ({ authorization: token })],
  ["with a scheme in capitals", {}, (token: string) => ({ authorization: `BEARER  ${token}` })],
  ["in another header", { headerKey: "X-User-Token" }, (token: string) => ({ "x-user-token": token })],
] as const) {
  test(`jwt reads a token ${name}`, async () => {
    await expectTaken(check(parameters, undefined, toHeaders(await signToken(key, Date.now()))));
  });
}

for (const [alg, signer] of [
  ["ES256", curve],
  ["EdDSA", edwards],
] as const) {
  test(`jwt takes ${alg} only where it is allowed`, async () => {
    const token = await signToken(signer, Date.now());
    await expectTaken(check({ algorithms: ["RS256", alg] }, token));
    await expectRefused(check({}, token), /algorithm is not allowed/);
    await expectRefused(check({ algorithms: [] }, token), /algorithm is not allowed/);
  });
}

for (const [name, claims, explanation, parameters] of [
  ["expired", { exp: -60 }, /expired/, {}],
  ["expired beyond the tolerance", { exp: -10 }, /expired/, {}],
  ["without an end", { exp: undefined }, /no expiry time/, {}],
  ["with an end that is no time", { exp: "never" }, /no expiry time/, {}],
  ["not yet valid", { nbf: 60 }, /not yet valid/, {}],
  ["issued in the future", { iat: 60 }, /future/, {}],
  ["older than a day", { iat: -90_000 }, /older than allowed/, {}],
  ["older than allowed", { iat: -300 }, /older than allowed/, { maxTokenAge: "2 minutes" }],
] as const) {
  test(`jwt refuses a token ${name}, although its signature is right`, async () => {
    const running = check(parameters, await signToken(key, Date.now(), { claims: claimsFromNow(claims) }));
    await expectRefused(running, explanation);
    assert.deepEqual((await running).result?.data?.validations, { signatureValid: true });
  });
}

for (const [name, claims, parameters] of [
  ["expired within the tolerance", { exp: -10 }, { clockTolerance: 30 }],
  ["valid within the tolerance", { nbf: 10 }, { clockTolerance: 30 }],
  ["of no known age", { iat: undefined }, {}],
  ["of an age that is allowed", { iat: -90_000 }, { maxTokenAge: "2d" }],
] as const) {
  test(`jwt takes a token ${name}`, async () => {
    await expectTaken(check(parameters, await signToken(key, Date.now(), { claims: claimsFromNow(claims) })));
  });
}

const plain = () => ({ sub: "s", ...claimsFromNow({ exp: 300 }) });
const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");

for (const [name, make, explanation] of [
  ["of alg none", () => `${encode({ alg: "none", kid: "k-1" })}.${encode(plain())}.`, /algorithm is not allowed/],
  ["of alg None", () => `${encode({ alg: "None", kid: "k-1" })}.${encode(plain())}.`, /algorithm is not allowed/],
  [
    "signed with the public key as a secret",
    async () => signSymmetric(Buffer.from(JSON.stringify(key.jwk)), { alg: "HS256", kid: "k-1" }, plain()),
    /algorithm is not allowed/,
  ],
  ["of an unknown key", () => signToken(other, Date.now()), /key is not known/],
  ["of another key under a known id", () => signToken({ ...other, kid: "k-1" }, Date.now()), /signature is wrong/],
  [
    "whose claims were changed",
    async () => (await signToken(key, Date.now())).replace(/\.[^.]+\./, `.${encode({ ...plain(), sub: "admin" })}.`),
    /signature is wrong/,
  ],
  [
    "without its signature",
    async () => (await signToken(key, Date.now())).replace(/[^.]+$/, ""),
    /signature|malformed/,
  ],
  ["with a key of its own", () => signToken(other, Date.now(), { header: { jwk: other.jwk } }), /header jwk/],
  ["with an address of keys", () => signToken(key, Date.now(), { header: { jku: "https://a.example" } }), /header jku/],
  ["without a key id", () => signToken(key, Date.now(), { header: { kid: undefined } }), /key is not known/],
  ["whose key id is no text", () => signToken(key, Date.now(), { header: { kid: 5 } }), /key id/],
  [
    "that names a claim twice",
    () => signTexts(key, '{"alg":"RS256","kid":"k-1"}', JSON.stringify(plain()).replace("{", '{"exp":1,')),
    /malformed/,
  ],
  ["that is none", () => "abc", /malformed/],
  ["that is none either", () => "a.b.c", /malformed/],
  ["that is too long", () => `${"a".repeat(20_000)}.b.c`, /too long/],
] as const) {
  test(`jwt refuses a token ${name}, whatever failures mean`, async () => {
    const token = await make();
    await expectRefused(check({}, token), explanation);
    const hooks = [{ jwt: { jwks, failOnError: false }, deny: true, on_error: "pass" }];
    const { isDenied } = await guard(hooks, { text: "x", headers: { authorization: token } });
    assert.equal(isDenied, true);
  });
}

for (const [name, headers] of [
  ["no header", {}],
  ["an empty header", { authorization: "" }],
  ["a scheme alone", { authorization: "Bearer " }],
] as const) {
  test(`jwt refuses a request with ${name}`, async () => {
    await expectRefused(check({}, undefined, headers), /^The header Authorization with the token is missing$/);
  });
}

test("jwt without keys or endpoint fails closed and says so", async () => {
  const { result, outcome } = await runCheck(id, {}, { text: "x", headers: { authorization: "a.b.c" } });
  assert.equal(result?.verdict, false);
  assert.match(result?.error?.message ?? "", /one of jwks, jwksUri and introspectEndpoint must be set/);
  assert.equal(outcome.isFailed, true);
  const seen = { text: "x", headers: { authorization: "a.b.c" } };
  assert.equal((await guard([{ jwt: { on_error: "pass" }, deny: true, on_error: "pass" }], seen)).isDenied, true);
});

test("jwt uses a key without an algorithm for the first of those allowed that fits it", async () => {
  const { alg: _, ...bare } = key.jwk;
  const signer = await createTokenKey("k-1", "PS256");
  const { alg: __, ...probabilistic } = signer.jwk;
  await expectTaken(check({ jwks: { keys: [bare] } }, await signToken(key, Date.now())));
  const parameters = { jwks: { keys: [probabilistic] }, algorithms: ["ES256", "PS256", "RS256"] };
  await expectTaken(check(parameters, await signToken(signer, Date.now())));
  const reversed = { ...parameters, algorithms: ["RS256", "PS256"] };
  await expectRefused(check(reversed, await signToken(signer, Date.now())), /does not fit its algorithm/);
});

test("jwt accepts a token without a key id for a single key without an id", async () => {
  const { kid: _, ...nameless } = key.jwk;
  const token = await signToken(key, Date.now(), { header: { kid: undefined } });
  await expectTaken(check({ jwks: { keys: [nameless] } }, token));
  await expectRefused(check({ jwks: { keys: [key.jwk] } }, token), /key is not known/);
  await expectRefused(check({ jwks: { keys: [nameless, curve.jwk] } }, token), /key is not known/);
});

test("jwt does not use keys for encryption", async () => {
  const keys = [{ ...key.jwk, use: "enc" }];
  await expectRefused(check({ jwks: { keys } }, await signToken(key, Date.now())), /does not fit its algorithm/);
});

for (const [parameters, claims, explanation] of [
  [{ requiredClaims: ["sub", "tenant"] }, { tenant: "t" }, undefined],
  [{ requiredClaims: ["sub", "tenant"] }, {}, /lacks required claims.*tenant/],
  [{ requiredClaims: ["tenant"] }, { tenant: null }, /tenant/],
  [{ requiredClaims: ["constructor"] }, {}, /constructor/],
  [{ claimValues: { role: { values: ["admin"] } } }, { role: "admin" }, undefined],
  [{ claimValues: { role: { values: "admin" } } }, { role: "admin" }, undefined],
  [{ claimValues: { role: { values: ["admin"] } } }, { role: "super-admin" }, /unexpected values.*role/],
  [{ claimValues: { role: { values: ["admin"] } } }, { role: ["admin"] }, /role/],
  [{ claimValues: { role: { values: ["admin"] } } }, {}, /role/],
  [{ claimValues: { level: { values: [3] } } }, { level: 3 }, undefined],
  [{ claimValues: { roles: { values: ["admin"], matchType: "contains" } } }, { roles: ["super-admin"] }, /roles/],
  [{ claimValues: { roles: { values: ["admin", "x"], matchType: "contains" } } }, { roles: ["admin"] }, undefined],
  [{ claimValues: { roles: { values: ["a", "b"], matchType: "containsAll" } } }, { roles: ["a"] }, /roles/],
  [{ claimValues: { scope: { values: ["a", "b"], matchType: "containsAll" } } }, { scope: "c b a" }, undefined],
  [{ claimValues: { scope: { values: ["a"] } } }, { scope: "a" }, undefined],
  [{ claimValues: { scope: { values: ["a"] } } }, { scope: "a b" }, /scope/],
  [{ claimValues: { sub: { values: ["^user-\\d+$"], matchType: "regex" } } }, { sub: "user-5" }, undefined],
  [{ claimValues: { sub: { values: ["^user-\\d+$"], matchType: "regex" } } }, { sub: "admin" }, /sub/],
  [{ headerPayloadMatch: ["tenant"] }, { tenant: "t-1" }, undefined],
  [{ headerPayloadMatch: ["tenant"] }, { tenant: "t-2" }, /differ in: tenant/],
  [{ headerPayloadMatch: ["absent"] }, {}, /differ in: absent/],
] as const) {
  test(`jwt with ${JSON.stringify(parameters)} ${explanation ? "refuses" : "takes"} ${JSON.stringify(claims)}`, async () => {
    const token = await signToken(key, Date.now(), { claims, header: { tenant: "t-1" } });
    const running = check({ ...parameters, extractClaims: ["sub"] }, token);
    if (!explanation) return expectTaken(running);
    await expectRefused(running, explanation, { "x-jwt-sub": null });
    assert.match(JSON.stringify((await running).result?.data), /"signatureValid":true/);
  });
}

test("jwt forwards claims as headers", async () => {
  const claims = {
    tenant_id: "t-1",
    groups: ["a", "b"],
    address: { city: "Oslo" },
    level: 3,
    is_admin: false,
    gone: null,
    broken: "a\r\nx-evil: 1",
    long: "x".repeat(4_097),
    wide: "日本",
    list: [{ a: 1 }, "b"],
  };
  const extractClaims = [...Object.keys(claims), "absent"];
  const { outcome } = await check({ extractClaims }, await signToken(key, Date.now(), { claims }));
  assert.deepEqual(outcome.headers, {
    "x-jwt-tenant-id": "t-1",
    "x-jwt-groups": "a,b",
    "x-jwt-address": '{"city":"Oslo"}',
    "x-jwt-level": "3",
    "x-jwt-is-admin": "false",
    "x-jwt-list": '{"a":1},b',
    "x-jwt-gone": null,
    "x-jwt-broken": null,
    "x-jwt-long": null,
    "x-jwt-wide": null,
    "x-jwt-absent": null,
  });
  const prefixed = await check({ extractClaims: ["sub"], claimPrefix: "X-User_" }, await signToken(key, Date.now()));
  assert.deepEqual(prefixed.outcome.headers, { "x-user-sub": "subject-1" });
});

test("jwt removes claim headers that clients send with a rejected token", async () => {
  for (const token of [undefined, "no token", await signToken(other, Date.now())]) {
    const { outcome } = await check({ extractClaims: ["sub"] }, token);
    assert.deepEqual([outcome.isFailed, outcome.headers], [true, { "x-jwt-sub": null }]);
  }
});

const privateJwk = await exportJWK(key.privateKey);
for (const [parameters, place] of [
  [{ algorithms: ["none"] }, "algorithms.0"],
  [{ algorithms: ["RS256", "HS256"] }, "algorithms.1"],
  [{ algorithms: "RS256" }, "algorithms"],
  [{ jwks: { keys: [{ ...key.jwk }, { kty: "oct", k: "c2VjcmV0" }] } }, "jwks"],
  [{ jwks: { keys: [privateJwk] } }, "jwks"],
  [{ jwks: [] }, "jwks"],
  [{ jwksUri: "file:///keys" }, "jwksUri"],
  [{ jwksUri: "http://issuer.example.com/keys" }, "jwksUri"],
  [{ introspectEndpoint: "http://issuer.example.com/introspect" }, "introspectEndpoint"],
  [{ headerKey: "a b" }, "headerKey"],
  [{ headerKey: "Cookie" }, "headerKey"],
  [{ clockTolerance: 61 }, "clockTolerance"],
  [{ clockTolerance: -1 }, "clockTolerance"],
  [{ maxTokenAge: "soon" }, "maxTokenAge"],
  [{ claimValues: { role: { values: ["("], matchType: "regex" } } }, "claimValues.role"],
  [{ claimValues: { role: { values: ["a"], matchType: "like" } } }, "claimValues.role.matchType"],
  [{ extractClaims: ["key"], claimPrefix: "x-api-" }, "extractClaims"],
  [{ extractClaims: ["authorization"], claimPrefix: "" }, "extractClaims"],
  [{ extractClaims: ["config"], claimPrefix: "x-gateway-" }, "extractClaims"],
  [{ extractClaims: ["https://a.example/role"] }, "extractClaims"],
] as const) {
  test(`jwt rejects the parameters ${JSON.stringify(parameters).slice(0, 100)}`, () => {
    const problems = problemsOf(id, parameters);
    assert.ok(problems.length > 0);
    for (const problem of problems) {
      assert.ok(problem.startsWith(`input_guardrails[0].checks[0].parameters.${place}: `), problem);
    }
  });
}

test("jwt runs before the call only", () => {
  assert.equal(problemsOf(id, { jwks }, "output_guardrails").length, 1);
});

const issuer = await startRecordingUpstream(({ path }, response) => {
  if (path === "/active") return response.end(JSON.stringify({ active: true, sub: "s", tenant: "t-1" }));
  response.writeHead(path === "/moved" ? 302 : 503, { location: "/active" }).end(JSON.stringify({ active: true }));
});
after(() => issuer.close());

for (const path of ["/moved", "/down"]) {
  test(`jwt fails closed where ${path} gives neither keys nor an answer`, async () => {
    const headers = { authorization: await signToken(key, Date.now()) };
    const url = issuer.url + path;
    await expectRefused(runCheck(id, { jwksUri: url }, { text: "x", headers }), /keys of the token's issuer/);
    await expectRefused(runCheck(id, { introspectEndpoint: url }, { text: "x", headers }), /could not be introspected/);
  });
}

test("jwt asks its issuer rather than looking at keys", async () => {
  const parameters = { jwks, introspectEndpoint: `${issuer.url}/active`, extractClaims: ["tenant"] };
  const { result, outcome } = await check(parameters, "opaque-token");
  assert.equal(result?.verdict, true);
  assert.deepEqual(outcome.headers, { "x-jwt-tenant": "t-1" });
});
