import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { exportJWK, generateKeyPair, type JWK, SignJWT } from "jose";
import { mcpIntegrationForm } from "../../src/schemas/mcp-integration-members.ts";
import { call, done, refusal } from "../support/control.ts";
import { adminKey, readJson, workspaceKey } from "../support/gateway.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";
import { callServer, createOauthStack, getTokens, type OauthStack } from "./oauth-support.ts";

// Credentials of the gateway and of the organisation stay inside, and identity providers of integrations name no members.

let upstream: RecordingUpstream;
let stack: OauthStack;
let organisation: { privateKey: CryptoKey; jwk: JWK };
let other: { privateKey: CryptoKey; jwk: JWK };
let count = 0;

const organisationIssuer = "https://login.example.com";
const otherIssuer = "https://idp.example.net";

async function createKey(kid: string) {
  const { privateKey, publicKey } = await generateKeyPair("RS256", { extractable: true });
  return { privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg: "RS256", use: "sig" } };
}

before(async () => {
  upstream = await startRecordingUpstream((request, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    const { id } = request.text.startsWith("{") ? JSON.parse(request.text) : { id: null };
    const active = { active: true, sub: "ada", iss: otherIssuer, email: "ada@example.com" };
    response.end(JSON.stringify(id === null ? active : { jsonrpc: "2.0", id, result: { tools: [] } }));
  });
  stack = await createOauthStack(undefined, { mcpServers: undefined as never });
  organisation = await createKey("of-the-organisation");
  other = await createKey("of-another");
  const { data } = await done(call<{ data: { id: string } }>(stack, "GET /organisations/self"));
  const settings = { jwks: { keys: [organisation.jwk] }, issuer: organisationIssuer, audience: "gateway" };
  await done(call(stack, `PUT /organisations/${data.id}/auth-settings`, { body: settings }));
});
after(async () => {
  await stack.close();
  await upstream.close();
});

async function createServer(configurations: object, more: object = {}): Promise<string> {
  const slug = `server-${++count}`;
  const integration = { name: slug, slug: `up-${count}`, url: `${upstream.url}/mcp`, transport: "http" };
  const body = { ...integration, auth_type: "none", workspace_id: stack.workspaceId, configurations, ...more };
  await done(call(stack, "POST /mcp-integrations", { body }));
  const server = { name: slug, slug, mcp_integration_id: `up-${count}` };
  await done(call(stack, "POST /mcp-servers", { key: workspaceKey, body: server }));
  return `/m/${slug}/mcp`;
}

const sign = ({ privateKey, jwk }: { privateKey: CryptoKey; jwk: JWK }, claims: object = {}) =>
  new SignJWT({ sub: "ada", email: "ada@example.com", email_verified: true, scope: "mcp.invoke", ...claims })
    .setProtectedHeader({ alg: "RS256", kid: String(jwk.kid) })
    .setExpirationTime("10m")
    .sign(privateKey);

const ofOrganisation = (claims: object = {}) =>
  sign(organisation, { iss: organisationIssuer, aud: "gateway", ...claims });

const introspecting = (more: object = {}) => ({
  jwt_validation: { introspectEndpoint: `${upstream.url}/introspect`, ...more },
});

/** Credentials that were sent to the introspection endpoint by a request. */
async function sentBy(request: () => Promise<Response>): Promise<{ status: number; sent: string[] }> {
  const before = upstream.requests.length;
  const { status } = await request();
  const asked = upstream.requests.slice(before).filter(({ path }) => path === "/introspect");
  return { status, sent: asked.map(({ text }) => new URLSearchParams(text).get("token") ?? "") };
}

test("keys of any text are not asked for at an introspection endpoint", async () => {
  const path = await createServer(introspecting());
  for (const [key, status] of [
    [workspaceKey, 200],
    [adminKey, 403],
  ] as const) {
    assert.deepEqual(await sentBy(() => callServer(stack, key, { path })), { status, sent: [] });
    const headers = { "x-gateway-api-key": stack.person.key };
    const beside = await sentBy(() => callServer(stack, key, { path, headers }));
    assert.deepEqual(beside, { status: 401, sent: [] });
  }
});

test("tokens of the gateway itself are not asked for at an introspection endpoint", async () => {
  const { token } = await done(call<{ token: string }>(stack, "POST /admin/scim/tokens", { body: { name: "scim" } }));
  const path = await createServer(introspecting({ issuer: "http://gateway.test/m" }));
  const { slug } = { slug: path.split("/")[2] };
  const { tokens } = await getTokens(stack, { resource: `http://gateway.test/m/${slug}/mcp` });
  const headers = { "x-gateway-api-key": stack.person.key };
  for (const credential of [token, tokens.refresh_token, tokens.access_token]) {
    assert.deepEqual((await sentBy(() => callServer(stack, credential, { path }))).sent, []);
    assert.deepEqual((await sentBy(() => callServer(stack, credential, { path, headers }))).sent, []);
  }
});

for (const [name, settings] of [
  ["without an issuer", {}],
  ["with another issuer", { issuer: otherIssuer }],
  ["with the organisation's issuer", { issuer: organisationIssuer }],
] as const) {
  test(`tokens of the organisation are not asked for at an introspection endpoint ${name}`, async () => {
    const path = await createServer(introspecting(settings));
    const good = await ofOrganisation();
    assert.deepEqual(await sentBy(() => callServer(stack, good, { path })), { status: 200, sent: [] });
    // what its identity provider issued for others, or with another issuer, may open something too
    for (const claims of [{ aud: "elsewhere" }, { iss: otherIssuer }]) {
      const token = await ofOrganisation(claims);
      assert.deepEqual(await sentBy(() => callServer(stack, token, { path })), { status: 401, sent: [] });
    }
    const headers = { "x-gateway-api-key": stack.person.key };
    assert.deepEqual((await sentBy(() => callServer(stack, good, { path, headers }))).sent, []);
  });
}

test("a signed token is asked for only at the introspection endpoint of its issuer", async () => {
  const path = await createServer(introspecting({ issuer: otherIssuer }));
  const theirs = await sign(other, { iss: otherIssuer });
  assert.deepEqual(await sentBy(() => callServer(stack, theirs, { path })), { status: 200, sent: [theirs] });
  for (const claims of [{ iss: "https://third.example.org" }, {}]) {
    const foreign = await sign(other, claims);
    assert.deepEqual(await sentBy(() => callServer(stack, foreign, { path })), { status: 401, sent: [] });
  }
});

test("who callers are, and where their tokens go, is for administrators of the organisation", async () => {
  const body = {
    name: "An integration",
    slug: "by-a-workspace",
    url: `${upstream.url}/mcp`,
    transport: "http",
    auth_type: "none",
  };
  const forbidden = { key: workspaceKey, body: { ...body, configurations: introspecting() } };
  assert.equal(await refusal(call(stack, "POST /mcp-integrations", forbidden)), "403 AB03");
  await done(call(stack, "POST /mcp-integrations", { key: workspaceKey, body }));
  const path = "PUT /mcp-integrations/by-a-workspace";
  for (const jwt_validation of [
    { introspectEndpoint: `${upstream.url}/i` },
    { jwksUri: `${upstream.url}/jwks` },
    { jwks: { keys: [other.jwk] } },
    { headerKey: "x-token" },
    { issuer: otherIssuer },
    { introspectClientSecret: "a-fake-secret" },
  ]) {
    const change = { key: workspaceKey, body: { configurations: { jwt_validation } } };
    assert.equal(await refusal(call(stack, path, change)), "403 AB03", JSON.stringify(jwt_validation));
  }
  await done(call(stack, path, { body: { configurations: { jwt_validation: { jwks: { keys: [other.jwk] } } } } }));
  // what stays as it is needs no right, and what is removed does
  const same = { jwt_validation: { jwks: { keys: [other.jwk] } } };
  await done(call(stack, path, { key: workspaceKey, body: { name: "Renamed", configurations: same } }));
  const removed = { key: workspaceKey, body: { configurations: { jwt_validation: null } } };
  assert.equal(await refusal(call(stack, path, removed)), "403 AB03");
});

for (const header of [
  "cookie",
  "x-gateway-api-key",
  "X-Gateway-Config",
  "mcp-session-id",
  "proxy-authorization",
  "host",
]) {
  test(`the header ${header} cannot be named for tokens`, async () => {
    const body = {
      name: "A header",
      slug: `header-${header.toLowerCase()}`,
      url: `${upstream.url}/mcp`,
      transport: "http",
      auth_type: "none",
      workspace_id: stack.workspaceId,
      configurations: introspecting({ headerKey: header }),
    };
    assert.equal(await refusal(call(stack, "POST /mcp-integrations", { body })), "400 AB01");
  });
}

test("claims of an integration's own key set select no member: no account, no user in rows, no access that is denied", async () => {
  const configurations = {
    jwt_validation: { jwks: { keys: [other.jwk] }, issuer: otherIssuer, audience: "x" },
    user_identity_forwarding: { method: "claims_header" },
  };
  const forged = await sign(other, { iss: otherIssuer, aud: "x", user_id: stack.person.id });
  const withAccounts = await createServer(configurations, { auth_type: "oauth_auto" });
  const tokens = { access_token: "account-of-ada", user_id: stack.person.id };
  const slug = withAccounts.split("/")[2];
  await done(call(stack, `PUT /mcp-servers/${slug}/tokens`, { body: tokens }));
  assert.equal((await callServer(stack, stack.person.key, { path: withAccounts })).status, 200);
  const before = upstream.requests.length;
  const refused = await callServer(stack, forged, { path: withAccounts });
  const { error } = await readJson<{ error: { data: { type: string } } }>(refused);
  assert.equal(error.data.type, "user_required");
  assert.equal(upstream.requests.length, before);
  const path = await createServer(configurations);
  assert.equal((await callServer(stack, forged, { path })).status, 200);
  const claims = JSON.parse(String(upstream.requests.at(-1)?.headers["x-user-claims"]));
  assert.equal(claims.user_id, undefined);
  // a member whom the server denies stays denied, whatever vouches for the address
  const denied = { user_access: [{ user_id: stack.person.id, enabled: false }] };
  const server = path.split("/")[2];
  await done(call(stack, `PUT /mcp-servers/${server}/user-access`, { key: workspaceKey, body: denied }));
  assert.equal((await callServer(stack, forged, { path })).status, 404);
});

test("a change of who callers are parks the accounts at the servers of the integration", async () => {
  const path = await createServer({}, { auth_type: "oauth_auto" });
  const slug = path.split("/")[2] ?? "";
  const body = { access_token: "account-of-ada", user_id: stack.person.id };
  await done(call(stack, `PUT /mcp-servers/${slug}/tokens`, { body }));
  assert.equal((await callServer(stack, stack.person.key, { path })).status, 200);
  const changed = { configurations: { jwt_validation: { jwks: { keys: [other.jwk] } } } };
  await done(call(stack, `PUT /mcp-integrations/${slug.replace("server", "up")}`, { body: changed }));
  const route = `GET /mcp-servers/${slug}/connections`;
  const { data } = await done(call<{ data: { status: string }[] }>(stack, route, { key: stack.person.key }));
  assert.deepEqual(
    data.map(({ status }) => status),
    ["needs_reauth"],
  );
  const before = upstream.requests.length;
  await callServer(stack, stack.person.key, { path });
  assert.ok(upstream.requests.slice(before).every(({ headers }) => headers.authorization === undefined));
});

test("a token that no identity provider of the server knows is answered with 401 and the challenge", async () => {
  const path = await createServer({});
  for (const token of [await sign(other, { iss: otherIssuer }), await ofOrganisation({ aud: "elsewhere" })]) {
    const refused = await callServer(stack, token, { path });
    assert.equal(refused.status, 401);
    assert.match(refused.headers.get("www-authenticate") ?? "", /invalid_token.*resource_metadata/);
  }
  // a caller who is known and lacks the right
  assert.equal((await callServer(stack, await ofOrganisation({ scope: "logs.list" }), { path })).status, 403);
});

test("without a key set of the organisation a foreign token is answered with 401 and the challenge", async () => {
  const plain = await createOauthStack();
  const refused = await callServer(plain, await sign(other, { iss: otherIssuer }));
  assert.equal(refused.status, 401);
  assert.match(refused.headers.get("www-authenticate") ?? "", /invalid_token.*resource_metadata/);
  await plain.close();
});

test("a key of a service cannot choose the account that a user's calls go to", async () => {
  const path = await createServer({}, { auth_type: "oauth_auto" });
  const route = `PUT /mcp-servers/${path.split("/")[2]}/tokens`;
  const body = { access_token: "account-of-another", user_id: stack.person.id };
  assert.equal(await refusal(call(stack, route, { key: workspaceKey, body })), "403 AB03");
  await done(call(stack, route, { body }));
});

test("a guardrail that introspects tokens gets none that opens the gateway", async () => {
  const check = { "default.jwt": { introspectEndpoint: `${upstream.url}/introspect` }, deny: true };
  const config = JSON.stringify({ provider: "echo", input_guardrails: [check] });
  const ask = (authorization: string, headers: Record<string, string> = {}) => {
    const init = {
      method: "POST",
      headers: { "content-type": "application/json", authorization, "x-gateway-config": config, ...headers },
      body: JSON.stringify({ model: "echo-1", messages: [{ role: "user", content: "Hello" }] }),
    };
    return stack.gateway.fetch(new Request("http://gateway.test/v1/chat/completions", init));
  };
  const token = await ofOrganisation({ scope: "completions.write" });
  assert.deepEqual(await sentBy(() => ask(`Bearer ${token}`)), { status: 446, sent: [] });
  const beside = { "x-gateway-api-key": workspaceKey };
  for (const own of [adminKey, token, await ofOrganisation({ aud: "elsewhere" })]) {
    assert.deepEqual(await sentBy(() => ask(`Bearer ${own}`, beside)), { status: 446, sent: [] });
  }
  // what others issued is what the check is for
  assert.deepEqual(await sentBy(() => ask("Bearer opaque-of-others", beside)), {
    status: 200,
    sent: ["opaque-of-others"],
  });
});

/** A value that a setting takes; several settings take one of them. */
const values: readonly unknown[] = [
  "a",
  "https://other.example.com/x",
  1,
  { keys: [] },
  ["RS256"],
  ["a"],
  { a: "b" },
  { a: { values: ["b"] } },
];

for (const [path, { address }] of Object.entries(mcpIntegrationForm.members)) {
  const isIdentity = path.startsWith("jwt_validation.");
  if (!isIdentity && address === undefined) continue;
  test(`a workspace key cannot set ${path} ${isIdentity ? "at all" : "without the secrets that go there"}`, async () => {
    const [group = "", member = ""] = path.split(".");
    const slug = `walked-${++count}`;
    const body = {
      name: slug,
      slug,
      url: `${upstream.url}/mcp`,
      transport: "http",
      auth_type: "none",
      ...(!isIdentity && { configurations: { [group]: { client_id: "me", client_secret: "a-fake-secret-000" } } }),
    };
    await done(call(stack, "POST /mcp-integrations", { key: workspaceKey, body }));
    const outcomes = await Promise.all(
      values.map((value) => {
        const change = { configurations: { [group]: { [member]: value } } };
        return refusal(call(stack, `PUT /mcp-integrations/${slug}`, { key: workspaceKey, body: change }));
      }),
    );
    // values that the setting does not take are refused as such
    const wanted = isIdentity ? "403 AB03" : "400 AB01";
    assert.ok(outcomes.includes(wanted), outcomes.join(", "));
    assert.ok(
      outcomes.every((outcome) => outcome === wanted || outcome === "400 AB01"),
      outcomes.join(", "),
    );
  });
}

test("authorization that a server gets forwarded holds no token that opens the gateway, unless it is for the server", async () => {
  const path = await createServer({ forward_headers: ["authorization"] });
  const send = async (token: string) => {
    const before = upstream.requests.length;
    const { status } = await callServer(stack, token, { path, headers: { "x-gateway-api-key": stack.person.key } });
    return [status, upstream.requests.slice(before).at(-1)?.headers.authorization];
  };
  assert.deepEqual(await send(await ofOrganisation()), [400, undefined]);
  const meant = await ofOrganisation({ aud: ["gateway", `${upstream.url}/mcp`] });
  assert.deepEqual(await send(meant), [200, `Bearer ${meant}`]);
  assert.deepEqual(await send("opaque-of-others"), [200, "Bearer opaque-of-others"]);
});

for (const [name, forward_headers, header] of [
  ["under its name", ["authorization"], "authorization"],
  ["under another name", [{ from: "authorization", to: "x-caller" }], "authorization"],
  ["from another header", ["x-caller-token"], "x-caller-token"],
] as const) {
  test(`no token that opens the gateway is forwarded to a server ${name}`, async () => {
    const { token: scim } = await done(call<{ token: string }>(stack, "POST /admin/scim/tokens", { body: { name } }));
    const path = await createServer({ forward_headers });
    const { tokens } = await getTokens(stack, { resource: `http://gateway.test${path}` });
    for (const own of [await ofOrganisation(), scim, tokens.access_token, tokens.refresh_token]) {
      const before = upstream.requests.length;
      const headers = { "x-gateway-api-key": stack.person.key, [header]: `Bearer ${own}` };
      const { status } = await callServer(stack, header === "authorization" ? own : stack.person.key, {
        path,
        headers,
      });
      assert.deepEqual([own.slice(0, 5), status, upstream.requests.length - before], [own.slice(0, 5), 400, 0]);
    }
  });
}
