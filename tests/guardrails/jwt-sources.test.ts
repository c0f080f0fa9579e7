import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import type { JWK } from "jose";
import * as v from "valibot";
import { createJwtCheck } from "../../src/guardrails/checks/jwt.ts";
import type { CheckInput, CheckOutcome } from "../../src/guardrails/types.ts";
import { Placeholders } from "../../src/guardrails/values/placeholders.ts";
import { createAddressGuard } from "../../src/lib/address.ts";
import { createOutbound } from "../../src/lib/outbound.ts";
import { runNow } from "../../src/lib/steps.ts";
import { createRuntimeTransport, createTestClock, type TestClock } from "../support/gateway.ts";
import { createTokenKey, signToken } from "../support/tokens.ts";
import { startRecordingUpstream } from "../support/upstream.ts";

const key = await createTokenKey("k-1");
const other = await createTokenKey("k-2");

/** What the issuer answers; a fetch of another document is one more request. */
let keys: JWK[] = [];
let status = 200;
let said: unknown = {};
const issuer = await startRecordingUpstream((request, response) => {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(request.method === "GET" ? { keys } : said));
});
after(() => issuer.close());

let clock: TestClock;
let run: (parameters: object, token: string, tenant?: string) => Promise<CheckOutcome>;
beforeEach(() => {
  [keys, status, said] = [[key.jwk], 200, {}];
  issuer.requests.length = 0;
  clock = createTestClock();
  const guard = createAddressGuard({ trustedHosts: ["127.0.0.1"] });
  const check = createJwtCheck({ outbound: createOutbound({ transport: createRuntimeTransport(), guard }), clock });
  run = async (parameters, token, tenant = "tenant") => {
    const input: CheckInput = {
      phase: "beforeRequestHook",
      requestType: "chatComplete",
      provider: "openai",
      tenant,
      request: { body: {}, header: () => `Bearer ${token}`, isStreaming: false, isTransformed: false },
      response: undefined,
      strings: [],
      text: "",
      rest: [],
      readPieces: async () => ({ pieces: [], isCut: false }),
      metadata: {},
      mustSeeAll: true,
      placeholders: new Placeholders(),
      work: { spend: (piece) => piece(), run: async (steps) => runNow(steps, 1_000_000) },
    };
    const outcome = await check.run(input, v.parse(check.parameters, parameters));
    assert.ok("pass" in outcome);
    return outcome;
  };
});

const sign = (signer = key, claims: Record<string, unknown> = {}) => {
  const exp = Math.floor(clock.now() / 1_000) + 1_000_000;
  return signToken(signer, clock.now(), { claims: { exp, iat: undefined, ...claims } });
};
const fetches = () => issuer.requests.length;

test("jwt reads the keys of an address once in their time", async () => {
  const parameters = { jwksUri: `${issuer.url}/keys`, cacheMaxAge: 600 };
  const token = await sign();
  for (const [advanceMs, wanted] of [
    [0, 1],
    [599_000, 1],
    [2_000, 2],
    [0, 2],
  ] as const) {
    clock.advance(advanceMs);
    assert.equal((await run(parameters, token)).pass, true);
    assert.equal(fetches(), wanted);
  }
});

test("jwt reads the keys of an address once for many at a time", async () => {
  const token = await sign();
  const outcomes = await Promise.all(
    Array.from({ length: 10 }, () => run({ jwksUri: `${issuer.url}/keys`, cacheMaxAge: 0 }, token)),
  );
  assert.deepEqual([outcomes.every(({ pass }) => pass), fetches()], [true, 1]);
  assert.equal((await run({ jwksUri: `${issuer.url}/keys`, cacheMaxAge: 0 }, token)).pass, true);
  assert.equal(fetches(), 2);
});

test("jwt reads the keys again for an unknown one, at most once in 30 seconds", async () => {
  const parameters = { jwksUri: `${issuer.url}/keys` };
  assert.equal((await run(parameters, await sign())).pass, true);
  const token = await sign(other);
  clock.advance(29_000);
  assert.equal((await run(parameters, token)).pass, false);
  assert.equal(fetches(), 1);
  clock.advance(2_000);
  assert.equal((await run(parameters, token)).pass, false);
  assert.equal(fetches(), 2);
  keys = [key.jwk, other.jwk];
  assert.equal((await run(parameters, token)).pass, false);
  assert.equal(fetches(), 2);
  clock.advance(31_000);
  assert.equal((await run(parameters, token)).pass, true);
  assert.equal(fetches(), 3);
});

test("one tenant's unknown key does not use up the reading of another", async () => {
  const parameters = { jwksUri: `${issuer.url}/keys` };
  assert.equal((await run(parameters, await sign(), "victim")).pass, true);
  clock.advance(31_000);
  assert.equal((await run(parameters, await sign(other), "attacker")).pass, false);
  keys = [key.jwk, other.jwk];
  assert.equal((await run(parameters, await sign(other), "victim")).pass, true);
});

test("jwt looks for keys at the address where the given ones do not have it", async () => {
  const parameters = { jwks: { keys: [other.jwk] }, jwksUri: `${issuer.url}/keys` };
  assert.equal((await run(parameters, await sign(other))).pass, true);
  assert.equal(fetches(), 0);
  assert.equal((await run(parameters, await sign())).pass, true);
  assert.equal(fetches(), 1);
});

test("jwt fails closed while keys cannot be fetched, and accepts tokens afterwards", async () => {
  const parameters = { jwksUri: `${issuer.url}/keys`, cacheMaxAge: 600 };
  const token = await sign();
  status = 500;
  assert.equal((await run(parameters, token)).pass, false);
  assert.equal((await run(parameters, token)).pass, false);
  assert.equal(fetches(), 1);
  clock.advance(1_001);
  status = 200;
  assert.equal((await run(parameters, token)).pass, true);
  clock.advance(601_000);
  status = 500;
  assert.equal((await run(parameters, token)).pass, false);
  assert.equal(fetches(), 3);
});

for (const [name, set] of [
  ["private keys", () => [key.jwk, { ...other.jwk, d: "AQAB" }]],
  ["symmetric keys", () => [key.jwk, { kty: "oct", kid: "s", k: "c2VjcmV0" }]],
  ["more than 100 keys", () => Array.from({ length: 101 }, () => key.jwk)],
  ["no keys", () => []],
] as const) {
  test(`jwt refuses a fetched set with ${name}`, async () => {
    keys = set();
    assert.equal((await run({ jwksUri: `${issuer.url}/keys` }, await sign())).pass, false);
  });
}

for (const [answer, pass] of [
  [{ active: true }, true],
  [{ active: true, exp: 4_000_000_000 }, true],
  [{ active: true, exp: 1 }, false],
  [{ active: true, nbf: 4_000_000_000 }, false],
  [{ active: true, iat: 1 }, false],
  [{ active: false, sub: "s", valid: true }, false],
  [{ active: "true" }, false],
  [{ active: null, sub: "s" }, false],
  [{ valid: true }, true],
  [{ valid: "true" }, false],
  [{ sub: "s" }, true],
  [{ sub: "" }, false],
  [{}, false],
  ["active", false],
] as const) {
  test(`jwt treats a token as ${pass ? "valid" : "invalid"} whose issuer says ${JSON.stringify(answer)}`, async () => {
    said = answer;
    const { pass: found, error } = await run({ introspectEndpoint: `${issuer.url}/in` }, "opaque");
    assert.deepEqual([found, error], [pass, undefined]);
  });
}

for (const [type, wanted] of [
  [undefined, "token=a%2Bb%26c"],
  ["application/x-www-form-urlencoded; charset=utf-8", "token=a%2Bb%26c"],
  ["application/json", '{"token":"a+b&c"}'],
] as const) {
  test(`jwt introspects as ${type}`, async () => {
    said = { active: true };
    await run({ introspectEndpoint: `${issuer.url}/in`, introspectContentType: type }, "a+b&c");
    const [request] = issuer.requests;
    assert.deepEqual([request?.method, request?.text], ["POST", wanted]);
    assert.equal(request?.headers["content-type"], type ?? "application/x-www-form-urlencoded");
  });
}

test("jwt caches an introspection response only for its time", async () => {
  const parameters = { introspectEndpoint: `${issuer.url}/in`, introspectCacheMaxAge: 60 };
  said = { active: true, role: "user" };
  assert.equal((await run(parameters, "one")).pass, true);
  said = { active: false };
  assert.equal((await run(parameters, "one")).pass, true);
  assert.equal(fetches(), 1);
  // other settings are held against what was said, another token and another endpoint are asked for
  const admins = { ...parameters, claimValues: { role: { values: ["admin"] } } };
  assert.equal((await run(admins, "one")).pass, false);
  assert.equal((await run(parameters, "two")).pass, false);
  assert.equal((await run({ ...parameters, introspectEndpoint: `${issuer.url}/other` }, "one")).pass, false);
  assert.equal(fetches(), 3);
  clock.advance(60_001);
  assert.equal((await run(parameters, "one")).pass, false);
  assert.equal(fetches(), 4);
});

test("jwt caches responses only if configured, and never past the token's expiry", async () => {
  said = { active: true, exp: Math.floor(clock.now() / 1_000) + 30 };
  const endpoint = { introspectEndpoint: `${issuer.url}/in` };
  await run(endpoint, "one");
  await run(endpoint, "one");
  assert.equal(fetches(), 2);
  const parameters = { ...endpoint, introspectCacheMaxAge: 3_600 };
  assert.equal((await run(parameters, "one")).pass, true);
  clock.advance(40_000);
  assert.equal((await run(parameters, "one")).pass, false);
});
