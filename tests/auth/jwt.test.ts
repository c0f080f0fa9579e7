import assert from "node:assert/strict";
import { test } from "node:test";
import { exportSPKI, importJWK } from "jose";
import { requireAccess } from "../../src/auth/access.ts";
import { createTokenAuthenticator, type TokenAuthenticatorOptions, type TokenFailure } from "../../src/auth/jwt.ts";
import { hasTokenForm } from "../../src/auth/jwt-claims.ts";
import type { TokenPerson } from "../../src/auth/jwt-workspace.ts";
import { defaultSecuritySettings, roleAllows } from "../../src/auth/roles.ts";
import { GatewayError } from "../../src/errors.ts";
import { toBase64Url } from "../../src/lib/base64.ts";
import { createTestClock } from "../support/gateway.ts";
import {
  createTokenKey,
  signEncoded,
  signSymmetric,
  signTexts,
  signToken,
  type TokenChanges,
  type TokenKey,
} from "../support/tokens.ts";

const organisationId = "11111111-1111-4111-8111-111111111111";
const otherOrganisation = "22222222-2222-4222-8222-222222222222";
const rsa = await createTokenKey("rsa");
const workspaces: Readonly<Record<string, string>> = { main: "w-main", second: "w-second" };

/** An authenticator over one organisation with an inline key set, and what it asked. */
function setUp(settings: Record<string, unknown> = {}, options: Partial<TokenAuthenticatorOptions> = {}) {
  const clock = createTestClock();
  const failures: TokenFailure[] = [];
  const state = { settings: { jwks: { keys: [rsa.jwk] }, ...settings } as Record<string, unknown>, lookUps: 0 };
  const people = new Map<string, TokenPerson & { workspaces: string[] }>();
  const workspaceOf = (slug: string | undefined) => {
    const id = slug === undefined ? undefined : workspaces[slug];
    return id === undefined ? undefined : { id, slug: String(slug) };
  };
  const find = (test: (key: string, person: TokenPerson) => boolean) =>
    [...people].find(([key, person]) => test(key, person))?.[1];
  const organisation = async (id: string) => {
    state.lookUps++;
    return id === organisationId ? { id, authSettings: state.settings } : undefined;
  };
  const authenticator = createTokenAuthenticator({
    clock,
    organisation,
    onlyOrganisation: () => organisation(organisationId),
    clockSkewSeconds: 5,
    defaultScopes: [],
    organisationsToSync: [],
    fetchJson: () => Promise.reject(new Error("no address is named")),
    auditFailure: async (id, failure) => {
      assert.equal(id, organisationId);
      failures.push(failure);
    },
    directory: {
      workspace: async (_, name) => workspaceOf(name),
      defaultWorkspace: async () => workspaceOf("main"),
      firstWorkspaceOf: async (_, userId) => workspaceOf(find((__, person) => person.userId === userId)?.workspaces[0]),
      personByEmail: async (_, email) => people.get(email),
      personById: async (_, id) => find((__, person) => person.userId === id),
      isMember: async (_, workspaceId, userId) => {
        const person = find((__, one) => one.userId === userId);
        return person?.workspaces.some((slug) => workspaces[slug] === workspaceId) ?? false;
      },
    },
    ...options,
  });
  const authenticate = (token: string, workspace: string | null = null) =>
    authenticator.authenticate(token, { workspace, address: "192.0.2.1" });
  const sign = (changes: TokenChanges = {}, key: TokenKey = rsa) => signToken(key, clock.now(), changes);
  /** Status and message of a refusal, or 200. */
  const outcome = async (token: string, workspace: string | null = null): Promise<string> => {
    try {
      await authenticate(token, workspace);
      return "200";
    } catch (error) {
      assert.ok(error instanceof GatewayError, String(error));
      assert.ok(!error.message.includes(token.slice(-20)));
      return `${error.status} ${error.message}`;
    }
  };
  const principalOf = async (changes: TokenChanges = {}, workspace: string | null = null) =>
    authenticate(await sign(changes), workspace);
  return { clock, failures, state, people, authenticator, authenticate, sign, outcome, principalOf };
}

for (const alg of ["RS256", "RS512", "PS256", "ES256", "ES384", "EdDSA"]) {
  test(`a token signed by ${alg} is taken`, async () => {
    const key = await createTokenKey(`k-${alg}`, alg);
    const { authenticate, sign } = setUp({ jwks: { keys: [rsa.jwk, key.jwk] } });
    const principal = await authenticate(await sign({}, key));
    assert.equal(principal.organisationId, organisationId);
    assert.equal(principal.workspaceId, "w-main");
    assert.equal(principal.kind, "workspace-service");
    assert.deepEqual([...principal.scopes], ["completions.write"]);
    assert.match(principal.keyId, /^jwt_[0-9a-f]{16}$/);
  });
}

const seconds = Math.floor(createTestClock().now() / 1000);
for (const [name, changes, wanted, settings = {}] of [
  ["no expiry", { claims: { exp: undefined } }, /^401 .*expiry is missing/],
  ["an expiry that is a text", { claims: { exp: "2099" } }, /^401 .*expiry is missing or malformed/],
  ["an expiry 6 s ago", { claims: { exp: seconds - 6 } }, /^401 .*has expired/],
  ["an expiry 4 s ago", { claims: { exp: seconds - 4 } }, /^200/],
  ["nbf in 6 s", { claims: { nbf: seconds + 6 } }, /^401 .*not yet valid/],
  ["nbf in 4 s", { claims: { nbf: seconds + 4 } }, /^200/],
  ["nbf that is a text", { claims: { nbf: "now" } }, /^401/],
  ["iat in 6 s", { claims: { iat: seconds + 6 } }, /^401 .*in the future/],
  ["iat in 6 s where 10 s are tolerated", { claims: { iat: seconds + 6 } }, /^200/, { clock_tolerance: 10 }],
  ["iat in 4 s where none are tolerated", { claims: { iat: seconds + 4 } }, /^401/, { clock_tolerance: 0 }],
  ["iat that is a text", { claims: { iat: "now" } }, /^401/],
  ["no iat", { claims: { iat: undefined } }, /^200/],
  ["no iat where an age is set", { claims: { iat: undefined } }, /^401/, { max_token_age: 60 }],
  ["an age above the limit", { claims: { iat: seconds - 70 } }, /^401 .*older/, { max_token_age: 60 }],
  ["an age below the limit", { claims: { iat: seconds - 50 } }, /^200/, { max_token_age: 60 }],
  ["a wrong issuer", { claims: { iss: "b" } }, /^401 .*wrong issuer/, { issuer: "a" }],
  ["no issuer", {}, /^401 .*wrong issuer/, { issuer: ["a"] }],
  ["the right issuer", { claims: { iss: "a" } }, /^200/, { issuer: ["b", "a"] }],
  ["a wrong audience", { claims: { aud: ["b"] } }, /^401 .*wrong audience/, { audience: "a" }],
  ["the right audience among others", { claims: { aud: ["b", "a"] } }, /^200/, { audience: "a" }],
  ["no kid", { header: { kid: undefined } }, /^401 .*names no key id/],
  ["a kid that is a number", { header: { kid: 1 } }, /^401 .*names no key id/],
  ["an unknown kid", { header: { kid: "other" } }, /^401 .*not known/],
  ["jku", { header: { jku: "https://evil.test/" } }, /^401 .*jku/],
  ["x5u", { header: { x5u: "https://evil.test/" } }, /^401 .*x5u/],
  ["jwk", { header: { jwk: rsa.jwk } }, /^401 .*jwk/],
  ["x5c", { header: { x5c: ["AA=="] } }, /^401 .*x5c/],
  ["typ JWT in lower case", { header: { typ: "jwt" } }, /^200/],
  ["typ at+jwt", { header: { typ: "at+jwt" } }, /^200/],
  ["no typ", { header: { typ: undefined } }, /^200/],
  ["another typ", { header: { typ: "logout+jwt" } }, /^401 .*another type/],
  ["no scope", { claims: { scope: undefined } }, /^403 .*no scope/],
  ["only unknown scopes", { claims: { scope: "openid admin *" } }, /^403 .*no scope/],
  ["only scopes of admin keys", { claims: { scope: "organisation_users.create" } }, /^403 .*no scope/],
  ["an organisation that is not known", { claims: { gateway_oid: otherOrganisation } }, /^401 .*not known/],
  ["an organisation that is no id", { claims: { organisation_id: "x' OR 1" } }, /^401 .*not known/],
  ["an organisation that is a number", { claims: { gateway_oid: 1 } }, /^401 .*malformed/],
  ["its organisation by its alias", { claims: { organisation_id: organisationId } }, /^200/],
  ["an unknown workspace", { claims: { gateway_workspace: "nowhere" } }, /^403 .*workspace/],
  ["a budget that is malformed", { claims: { usage_limits: { credit_limit: "1" } } }, /^401 .*usage_limits/],
  ["a rate limit that is malformed", { claims: { rate_limits: [{ type: "x" }] } }, /^401 .*rate_limits/],
  ["an algorithm off the list", {}, /^401 .*algorithm/, { algorithms: ["ES256"] }],
  ["an algorithm on the list", {}, /^200/, { algorithms: ["ES256", "RS256"] }],
  ["settings that cannot be used", {}, /^403 .*settings/, { algorithms: ["HS256"] }],
  ["no key set", {}, /^403 .*no key set/, { jwks: null }],
  ["tokens switched off", {}, /^403/, { jwt_enabled: false }],
  ["a shared key set without issuer", {}, /^403/, { jwks_url: "https://www.googleapis.com/oauth2/v3/certs" }],
] as [string, TokenChanges, RegExp, object?][]) {
  test(`a token with ${name} gets ${wanted}`, async () => {
    const { outcome, sign } = setUp({ ...settings });
    assert.match(await outcome(await sign(changes)), wanted);
  });
}

test("a crit header is refused", async () => {
  const { outcome, clock } = setUp();
  const header = JSON.stringify({ alg: "RS256", kid: "rsa", crit: ["exp"], exp: 1 });
  const token = await signTexts(rsa, header, JSON.stringify({ exp: clock.now(), scope: "completions.write" }));
  assert.match(await outcome(token), /^401 .*crit/);
});

test("repeated names in header and claims are refused, escaped or not", async () => {
  const { outcome, clock } = setUp();
  const exp = Math.floor(clock.now() / 1000) + 60;
  const header = '{"alg":"RS256","kid":"rsa"}';
  const claims = `{"exp":${exp},"scope":"completions.write"}`;
  assert.equal(await outcome(await signTexts(rsa, header, claims)), "200");
  for (const [head, body] of [
    ['{"alg":"RS256","kid":"rsa","kid":"rsa"}', claims],
    [header, `{"exp":${exp},"scope":"completions.write","sc\\u006fpe":"configs.read"}`],
    [header, `{"exp":${exp},"scope":"completions.write","defaults":{"metadata":{"a":"1","a":"2"}}}`],
  ] as const) {
    assert.match(await outcome(await signTexts(rsa, head, body)), /^401 .*repeats a name/);
  }
});

test("alg none and HS256 with the public key as secret are refused", async () => {
  const { outcome, sign, clock } = setUp();
  const payload = { exp: Math.floor(clock.now() / 1000) + 60, scope: "completions.write" };
  const publicKey = (await importJWK(rsa.jwk, "RS256")) as CryptoKey; // an RSA key is no secret
  const spki = new TextEncoder().encode(await exportSPKI(await exportable(publicKey)));
  assert.match(await outcome(await signSymmetric(spki, { alg: "HS256", kid: "rsa" }, payload)), /^401 .*algorithm/);
  const [, claims, signature] = (await sign()).split(".");
  const none = btoa('{"alg":"none","kid":"rsa"}').replaceAll("=", "");
  for (const token of [`${none}.${claims}.${signature}`, `${none}.${claims}.`]) {
    assert.match(await outcome(token), /^401 .*algorithm/);
  }
});

async function exportable(key: CryptoKey): Promise<CryptoKey> {
  const jwk = await crypto.subtle.exportKey("jwk", key);
  return crypto.subtle.importKey("jwk", jwk, { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" }, true, ["verify"]);
}

test("a key without alg verifies RS256 only, whatever the token says", async () => {
  const { alg: _, ...plain } = rsa.jwk;
  const pss = await createTokenKey("pss", "PS256");
  const ec = await createTokenKey("ec", "ES256");
  const strip = ({ jwk: { alg: __, ...rest } }: TokenKey) => rest;
  const keys = [plain, strip(pss), strip(ec)];
  const withoutList = setUp({ jwks: { keys } });
  assert.equal(await withoutList.outcome(await withoutList.sign()), "200");
  assert.match(await withoutList.outcome(await withoutList.sign({}, pss)), /^401 .*algorithm/);
  assert.match(await withoutList.outcome(await withoutList.sign({}, ec)), /^401 .*algorithm/);
  const withList = setUp({ jwks: { keys }, algorithms: ["PS256", "ES256"] });
  assert.match(await withList.outcome(await withList.sign()), /^401 .*algorithm/);
  assert.equal(await withList.outcome(await withList.sign({}, pss)), "200");
  assert.equal(await withList.outcome(await withList.sign({}, ec)), "200");
});

test("a changed payload, a changed signature and a non-canonical one are refused", async () => {
  const { outcome, sign } = setUp();
  const [header = "", payload = "", signature = ""] = (await sign()).split(".");
  const [, other] = (await sign({ claims: { scope: "completions.write configs.read" } })).split(".");
  assert.match(await outcome(`${header}.${other}.${signature}`), /^401 .*wrong signature/);
  const flipped = (signature.startsWith("A") ? "B" : "A") + signature.slice(1);
  assert.match(await outcome(`${header}.${payload}.${flipped}`), /^401 .*wrong signature/);
  // 256 bytes leave four bits of the last letter unused
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const last = letters[letters.indexOf(signature.slice(-1)) + 1];
  assert.match(await outcome(`${header}.${payload}.${signature.slice(0, -1)}${last}`), /^401 .*malformed/);
});

test("a payload without canonical encoding is refused, even with a valid signature", async () => {
  const { outcome, clock } = setUp();
  const payload = `{"exp":${Math.floor(clock.now() / 1000) + 60},"scope":"completions.write"}`;
  const spelt = (text: string) => toBase64Url(new TextEncoder().encode(text));
  // of two letters in the last group, four bits of the second are not used
  const plain = [payload, `${payload} `, `${payload}  `].find((text) => spelt(text).length % 4 === 2) ?? "";
  const good = spelt(plain);
  const odd = good.slice(0, -1) + String.fromCharCode(good.charCodeAt(good.length - 1) + 1);
  assert.equal(await outcome(await signEncoded(rsa, spelt('{"alg":"RS256","kid":"rsa"}'), good)), "200");
  assert.match(await outcome(await signEncoded(rsa, spelt('{"alg":"RS256","kid":"rsa"}'), odd)), /^401 .*malformed/);
});

test("a list of algorithms does not widen what a key says it is for", async () => {
  const { outcome, sign } = setUp({ algorithms: ["RS256", "PS256"] });
  const jwk = await crypto.subtle.exportKey("jwk", rsa.privateKey);
  const { alg: _, key_ops: __, ...plain } = jwk;
  const usage = { name: "RSA-PSS", hash: "SHA-256" };
  const privateKey = await crypto.subtle.importKey("jwk", plain, usage, false, ["sign"]);
  const pss: TokenKey = { ...rsa, alg: "PS256", privateKey };
  assert.equal(await outcome(await sign()), "200");
  assert.match(await outcome(await sign({}, pss)), /^401 .*algorithm/);
});

test("a result from before a change is used once and not cached", async () => {
  const environment = setUp(
    {},
    {
      organisation: async (id) => {
        environment.state.lookUps++;
        environment.authenticator.forget(id);
        return { id, authSettings: environment.state.settings };
      },
    },
  );
  const token = await environment.sign({ claims: { gateway_oid: organisationId } });
  await environment.authenticate(token);
  await environment.authenticate(token);
  assert.equal(environment.state.lookUps, 2);
});

test("hasTokenForm() distinguishes tokens from keys", async () => {
  const { sign } = setUp();
  assert.equal(hasTokenForm(await sign()), true);
  for (const key of ["gk_abc_def", "a.b.c", "test.workspace-key.000000", "eyJ.e30.", "x".repeat(17_000)]) {
    assert.equal(hasTokenForm(key), false, key);
  }
});

test("scopes are a text or a list, with either sign and a prefix; the default ones come on top", async () => {
  const { principalOf } = setUp({ default_scopes: "mcp.invoke, prompts.render" }, { defaultScopes: ["logs.read"] });
  const scopesOf = async (claims: object) => [...(await principalOf({ claims: { ...claims } })).scopes].sort();
  const more = ["logs.read", "mcp.invoke", "prompts.render"];
  assert.deepEqual(await scopesOf({ scope: "gateway.completions:write openid" }), ["completions.write", ...more]);
  assert.deepEqual(await scopesOf({ scope: undefined, scopes: ["configs:read", 1] }), ["configs.read", ...more]);
  assert.deepEqual(await scopesOf({ scope: undefined }), more);
  // Entra ID: delegated scopes, and roles of applications
  const entra = { scope: undefined, scp: "completions.write User.Read", roles: ["configs.read", "Directory.Read", 1] };
  assert.deepEqual(await scopesOf(entra), ["completions.write", "configs.read", ...more]);
  assert.deepEqual(await scopesOf({ scope: undefined, roles: "configs.read" }), more);
});

test("the workspace a token names wins over all others", async () => {
  const { principalOf, people } = setUp();
  people.set("ann@example.com", { userId: "u-ann", isActive: true, workspaces: ["second"] });
  const email = { email_id: "ann@example.com" };
  const placeOf = async (claims: object, header: string | null = null) => {
    const { workspaceId, userId } = await principalOf({ claims: { ...claims } }, header);
    return [workspaceId, userId];
  };
  assert.deepEqual(await placeOf({ ...email, gateway_workspace: "second", workspace_slug: "main" }, "main"), [
    "w-second",
    "u-ann",
  ]);
  await assert.rejects(placeOf({ ...email, workspace_slug: "main" }), { status: 403, code: "not_a_member" });
  assert.deepEqual(await placeOf({ email_id: "nobody@example.com", workspace_slug: "main" }), ["w-main", null]);
  assert.deepEqual(await placeOf(email, "second"), ["w-second", "u-ann"]);
  assert.deepEqual(await placeOf(email), ["w-second", "u-ann"]);
  assert.deepEqual(await placeOf({}, "second"), ["w-main", null]);
  await assert.rejects(placeOf(email, "main"), { status: 403, code: "not_a_member" });
  await assert.rejects(placeOf(email, "nowhere"), { status: 403, code: "workspace_not_found" });
  await assert.rejects(placeOf({ email_id: "bob@example.com" }, "main"), { status: 403, code: "not_a_member" });
});

test("the subject of a token: verified e-mail addresses in order, then sub and uid", async () => {
  const { principalOf, people } = setUp();
  people.set("ann@example.com", { userId: "u-ann", isActive: true, workspaces: ["main"] });
  people.set("bob@example.com", { userId: "u-bob", isActive: true, workspaces: ["main"] });
  const userOf = async (claims: object) => (await principalOf({ claims: { ...claims } })).userId;
  assert.equal(await userOf({ email_id: "Ann@Example.com", email: "bob@example.com" }), "u-ann");
  assert.equal(await userOf({ email_id: "no address", upn: "bob@example.com" }), "u-bob");
  assert.equal(await userOf({ email: "ann@example.com", email_verified: true }), "u-ann");
  assert.equal(await userOf({ email: "ann@example.com", email_verified: false }), null);
  assert.equal(await userOf({ email: "ann@example.com", email_verified: "false" }), null);
  assert.equal(await userOf({ sub: "u-bob" }), "u-bob");
  assert.equal(await userOf({ uid: "u-bob" }), "u-bob");
});

test("a removed user has no permissions, not even those of a service", async () => {
  const { outcome, sign, people } = setUp();
  people.set("ann@example.com", { userId: "u-ann", isActive: false, workspaces: ["main"] });
  assert.match(await outcome(await sign({ claims: { email: "ann@example.com" } })), /^403 .*no longer active/);
});

test("one caller has one id for all its tokens, another has another", async () => {
  const { principalOf } = setUp();
  const idOf = async (claims: object) => (await principalOf({ claims: { ...claims } })).keyId;
  assert.equal(await idOf({ sub: "a", jti: "1" }), await idOf({ sub: "a", jti: "2" }));
  assert.notEqual(await idOf({ sub: "a" }), await idOf({ sub: "b" }));
  assert.notEqual(await idOf({ sub: undefined, jti: "1" }), await idOf({ sub: undefined, jti: "2" }));
});

test("defaults and limits of a token come with its caller", async () => {
  const { principalOf } = setUp();
  const plain = await principalOf();
  assert.deepEqual([plain.defaults.configId, plain.defaults.metadata, plain.limits], [null, null, undefined]);
  const { defaults, limits } = await principalOf({
    claims: {
      defaults: { config_id: "pc-mine", metadata: { team: "blue", count: 3 } },
      usage_limits: [{ id: "x", type: "cost", credit_limit: 10, status: "active", note: "ours" }],
      rate_limits: { type: "requests", unit: "rpm", value: 5, note: "ours" },
    },
  });
  assert.equal(defaults.configId, "pc-mine");
  assert.deepEqual({ ...defaults.metadata }, { team: "blue", count: "3" });
  assert.deepEqual(limits, {
    usageLimits: [{ type: "cost", credit_limit: 10 }],
    rateLimits: [{ type: "requests", unit: "rpm", value: 5 }],
    lastResetAt: null,
  });
  const odd = await principalOf({ claims: { defaults: { config_id: "../x", metadata: { a: {} } } } });
  assert.deepEqual([odd.defaults.configId, odd.defaults.metadata], [null, null]);
});

test("a deployment refuses, maps and restricts", async () => {
  const restricted = setUp({}, { checkDeployment: () => ({ refusal: "No workspace is allowed here" }) });
  assert.match(await restricted.outcome(await restricted.sign()), /^403 .*No workspace is allowed/);
  const mapped = setUp(
    {},
    {
      checkDeployment: ({ subject, workspace }) => {
        if (workspace === null) return subject === "subject-1" ? "second" : "nowhere";
        return workspace.slug === "second" ? undefined : { refusal: "Only the second workspace" };
      },
    },
  );
  assert.equal((await mapped.principalOf()).workspaceId, "w-second");
  assert.match(await mapped.outcome(await mapped.sign({ claims: { sub: "other" } })), /^403/);
  assert.match(await mapped.outcome(await mapped.sign({ claims: { gateway_workspace: "main" } })), /^403 .*Only/);
});

test("without any workspace the status is 403", async () => {
  const { directory } = noWorkspaces();
  const { outcome, sign } = setUp({}, { directory });
  assert.match(await outcome(await sign()), /^403 .*No workspace/);
});

function noWorkspaces() {
  const nothing = async () => undefined;
  const directory = {
    workspace: nothing,
    defaultWorkspace: nothing,
    firstWorkspaceOf: nothing,
    personByEmail: nothing,
    personById: nothing,
    isMember: async () => false,
  };
  return { directory };
}

test("a pending invitation to a verified address is accepted", async () => {
  const accepted: string[] = [];
  const environment = setUp(
    {},
    {
      acceptInvite: async (organisation, email) => {
        accepted.push(`${organisation} ${email}`);
        environment.people.set(email, { userId: "u-new", isActive: true, workspaces: ["main"] });
        return true;
      },
    },
  );
  const { principalOf } = environment;
  assert.equal((await principalOf({ claims: { email: "New@example.com", email_verified: false } })).userId, null);
  assert.equal((await principalOf({ claims: { email: "New@example.com" } })).userId, "u-new");
  assert.equal((await principalOf({ claims: { email: "new@example.com", jti: "2" } })).userId, "u-new");
  assert.deepEqual(accepted, [`${organisationId} new@example.com`]);
});

test("organisations this gateway does not serve are refused; a single one is that of tokens that name none", async () => {
  const serving = (ids: string[]) => setUp({}, { organisationsToSync: ids, onlyOrganisation: async () => undefined });
  const other = serving([otherOrganisation]);
  assert.match(await other.outcome(await other.sign({ claims: { gateway_oid: organisationId } })), /^403 .*not serve/);
  const own = serving([organisationId]);
  assert.equal(await own.outcome(await own.sign()), "200");
  const two = serving([organisationId, otherOrganisation]);
  assert.match(await two.outcome(await two.sign()), /^401 .*no organisation/);
  assert.equal(await two.outcome(await two.sign({ claims: { gateway_oid: organisationId.toUpperCase() } })), "200");
  const none = serving([]);
  assert.match(await none.outcome(await none.sign()), /^401 .*no organisation/);
});

test("T9: a verified token is cached for 60 s, never past its expiry, and until it is dropped", async () => {
  const { authenticator, authenticate, sign, state, clock, outcome } = setUp();
  const token = await sign({ claims: { exp: Math.floor(clock.now() / 1000) + 90 } });
  await authenticate(token);
  await authenticate(token);
  assert.equal(state.lookUps, 1);
  clock.advance(59_999);
  await authenticate(token);
  assert.equal(state.lookUps, 1);
  clock.advance(1);
  await authenticate(token);
  assert.equal(state.lookUps, 2);
  authenticator.forget(otherOrganisation);
  await authenticate(token);
  assert.equal(state.lookUps, 2);
  authenticator.forget(organisationId);
  state.settings = { jwks: { keys: [] } };
  assert.match(await outcome(token), /^401 .*not known/);
  state.settings = { jwks: { keys: [rsa.jwk] } };
  await authenticate(token);
  clock.advance(30_000 + 5_000);
  assert.match(await outcome(token), /^401 .*expired/);
});

test("T10: failures are audited without the token, at most 60 of an organisation in a minute", async () => {
  const { outcome, sign, failures, clock } = setUp();
  const token = await sign({ header: { kid: "other" } });
  for (let count = 0; count < 70; count++) await outcome(token);
  assert.equal(failures.length, 60);
  const [first] = failures;
  assert.match(first?.token ?? "", /^[0-9a-f]{8}$/);
  assert.deepEqual(
    [first?.status, first?.reason, first?.address],
    [401, "JWT verification failed: its key is not known", "192.0.2.1"],
  );
  clock.advance(60_000);
  await outcome(await sign({ claims: { gateway_workspace: "nowhere" } }));
  assert.deepEqual([failures.length, failures[60]?.status], [61, 403]);
  await outcome(await sign({ claims: { gateway_oid: otherOrganisation } }));
  assert.equal(failures.length, 61);
});

test("an unavailable database says nothing about a token", async () => {
  const { outcome, sign, failures } = setUp({}, { onlyOrganisation: () => Promise.reject(new Error("away")) });
  assert.match(await outcome(await sign()), /^503/);
  assert.deepEqual(failures, []);
});

test("routes of admin keys refuse the callers of tokens", async () => {
  const principal = await setUp().principalOf({ claims: { scope: "completions.write workspaces.read" } });
  const scopes = ["workspaces.read"];
  requireAccess(principal, { keys: "any", scopes });
  assert.throws(() => requireAccess(principal, { keys: "admin", scopes }), { status: 403 });
});

test("a member's token cannot manage service keys, which have no role", () => {
  for (const verb of ["create", "rotate", "update", "read", "list"]) {
    const scope = `workspace_service_api_keys.${verb}`;
    assert.equal(roleAllows("member", scope, defaultSecuritySettings), false);
    assert.equal(roleAllows("manager", scope, defaultSecuritySettings), true);
  }
  assert.equal(roleAllows("member", "workspace_user_api_keys.create", defaultSecuritySettings), true);
});

test("a clock skew above 60 s is 60 s", async () => {
  const { outcome, sign } = setUp({}, { clockSkewSeconds: 3_600 });
  assert.equal(await outcome(await sign({ claims: { exp: seconds - 59 } })), "200");
  assert.match(await outcome(await sign({ claims: { exp: seconds - 60 } })), /^401/);
});

test("an overlong workspace name is not found, and not cached", async () => {
  const { outcome, sign, people } = setUp();
  people.set("ann@example.com", { userId: "u-ann", isActive: true, workspaces: ["main"] });
  const token = await sign({ claims: { email: "ann@example.com" } });
  assert.match(await outcome(token, "x".repeat(60_000)), /^403/);
  assert.equal(await outcome(token, ""), "200");
});
