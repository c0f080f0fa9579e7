import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createLocalJWKSet, exportJWK, generateKeyPair, type JWK, jwtVerify, SignJWT } from "jose";
import { call, done } from "../support/control.ts";
import { readJson, workspaceKey } from "../support/gateway.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";
import { callServer, createOauthStack, type OauthStack, origin } from "./oauth-support.ts";

let upstream: RecordingUpstream;
let stack: OauthStack;
let key: { privateKey: CryptoKey; jwk: JWK };
let count = 0;

before(async () => {
  upstream = await startRecordingUpstream((request, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    const active = new URLSearchParams(request.text).get("token") === "an-opaque-token";
    const { id } = request.text.startsWith("{") ? JSON.parse(request.text) : { id: null };
    const introspection = active ? { active, sub: "ada", email: "ada@example.com" } : { active };
    response.end(JSON.stringify(id === null ? introspection : { jsonrpc: "2.0", id, result: { tools: [] } }));
  });
  stack = await createOauthStack(undefined, { mcpServers: undefined as never });
  const { privateKey, publicKey } = await generateKeyPair("RS256", { extractable: true });
  key = { privateKey, jwk: { ...(await exportJWK(publicKey)), kid: "one", alg: "RS256", use: "sig" } };
});
after(async () => {
  await stack.close();
  await upstream.close();
});

/** A server whose integration has these configurations; its path. */
async function createServer(configurations: object): Promise<string> {
  const slug = `server-${++count}`;
  const integration = {
    name: slug,
    slug: `up-${count}`,
    url: `${upstream.url}/mcp`,
    transport: "http",
    auth_type: "none",
  };
  // who callers are is for administrators of the organisation
  const body = { ...integration, workspace_id: stack.workspaceId, configurations };
  await done(call(stack, "POST /mcp-integrations", { body }));
  const server = { name: slug, slug, mcp_integration_id: `up-${count}` };
  await done(call(stack, "POST /mcp-servers", { key: workspaceKey, body: server }));
  return `/m/${slug}/mcp`;
}

const sign = (claims: object = {}, header: object = {}) =>
  new SignJWT({
    iss: "https://idp.example.com",
    aud: "mcp",
    sub: "ada",
    email: "ada@example.com",
    exp: Math.floor(Date.now() / 1_000) + 600,
    ...claims,
  })
    .setProtectedHeader({ alg: "RS256", kid: "one", ...header })
    .sign(key.privateKey);

const validation = (more: object = {}) => ({
  jwt_validation: { jwks: { keys: [key.jwk] }, issuer: "https://idp.example.com", audience: "mcp", ...more },
});

const lastHeaders = () => upstream.requests.at(-1)?.headers ?? {};

test("a token of the identity provider of a server calls this server, as no user, and no other one", async () => {
  const path = await createServer({ ...validation(), user_identity_forwarding: { method: "claims_header" } });
  const other = await createServer({});
  const token = await sign();
  const response = await callServer(stack, token, { path });
  assert.equal(response.status, 200, await response.clone().text());
  const claims = JSON.parse(String(lastHeaders()["x-user-claims"]));
  assert.deepEqual([claims.sub, claims.email, claims.user_id], ["ada", "ada@example.com", undefined]);
  assert.equal(claims.workspace_id, stack.workspaceId);
  assert.ok(!JSON.stringify(lastHeaders()).includes(token));
  assert.notEqual((await callServer(stack, token, { path: other })).status, 200);
});

for (const [name, claims, header] of [
  ["another issuer", { iss: "https://elsewhere.example.com" }, {}],
  ["another audience", { aud: "elsewhere" }, {}],
  ["an end that is over", { exp: 1_000 }, {}],
  ["another key", {}, { kid: "two" }],
  ["a claim with another value", { group: "others" }, {}],
  ["no claim that is required", { group: undefined }, {}],
] as const) {
  test(`a token with ${name} is refused with 401 and the challenge`, async () => {
    const rules = {
      requiredClaims: ["group"],
      claimValues: { group: { values: ["^team-[a-z]+$"], matchType: "regex" } },
    };
    const path = await createServer(validation(rules));
    const good = await callServer(stack, await sign({ group: "team-a" }), { path });
    assert.equal(good.status, 200);
    const response = await callServer(stack, await sign({ group: "team-a", ...claims }, header), { path });
    assert.equal(response.status, 401);
    assert.match(response.headers.get("www-authenticate") ?? "", /invalid_token.*resource_metadata/);
    assert.equal((await readJson<{ error: string }>(response)).error, "unauthorized");
  });
}

test("a token beside a key is verified, and its claims are joined; a header must equal its claim", async () => {
  const rules = { headerKey: "x-user-token", headerPayloadMatch: { "x-tenant": "tenant" } };
  const path = await createServer({
    ...validation(rules),
    user_identity_forwarding: { method: "claims_header", include_claims: ["tenant", "sub"] },
  });
  const token = await sign({ tenant: "blue" });
  const send = (headers: Record<string, string>) => callServer(stack, stack.person.key, { path, headers });
  assert.equal((await send({ "x-user-token": token, "x-tenant": "blue" })).status, 200);
  assert.deepEqual(JSON.parse(String(lastHeaders()["x-user-claims"])), { tenant: "blue", sub: "ada" });
  assert.equal((await send({ "x-user-token": token, "x-tenant": "red" })).status, 401);
  assert.equal((await send({ "x-user-token": `${token.slice(0, -4)}AAAA`, "x-tenant": "blue" })).status, 401);
});

test("an opaque token is asked for at the identity provider", async () => {
  const path = await createServer({
    jwt_validation: {
      introspectEndpoint: `${upstream.url}/introspect`,
      introspectClientId: "gateway",
      introspectClientSecret: "aFakeSecret",
    },
  });
  assert.equal((await callServer(stack, "an-opaque-token", { path })).status, 200);
  const asked = upstream.requests.find(({ path: address }) => address === "/introspect");
  assert.equal(asked?.headers.authorization, `Basic ${btoa("gateway:aFakeSecret")}`);
  assert.equal((await callServer(stack, "another-opaque-token", { path })).status, 401);
  assert.equal((await callServer(stack, stack.person.key, { path })).status, 200);
});

test("a signed statement names the caller to one upstream, by the published key", async () => {
  const path = await createServer({ user_identity_forwarding: { method: "jwt_header", jwt_expiry_seconds: 60 } });
  assert.equal((await callServer(stack, stack.person.key, { path })).status, 200);
  const token = String(lastHeaders()["x-user-jwt"]);
  const document = await stack.gateway.fetch(new Request(`${origin}/m/.well-known/jwks.json`));
  const keys = createLocalJWKSet(JSON.parse(await document.text()));
  const { payload, protectedHeader } = await jwtVerify(token, keys, {
    issuer: `${origin}/m`,
    audience: `${upstream.url}/mcp`,
  });
  assert.equal(protectedHeader.alg, "RS256");
  assert.equal(payload.email, "ada@example.com");
  // a statement is no access token
  assert.equal((await callServer(stack, token, { path })).status, 401);
});

test("the caller's own token goes on only if it is for the upstream", async () => {
  const path = await createServer({
    ...validation({ audience: ["mcp", `${upstream.url}/mcp`] }),
    user_identity_forwarding: { method: "bearer" },
  });
  const meant = await sign({ aud: `${upstream.url}/mcp` });
  assert.equal((await callServer(stack, meant, { path })).status, 200);
  assert.equal(lastHeaders().authorization, `Bearer ${meant}`);
  const before = upstream.requests.length;
  assert.equal((await callServer(stack, await sign(), { path })).status, 403);
  assert.equal((await callServer(stack, stack.person.key, { path })).status, 403);
  assert.equal(upstream.requests.length, before);
});

test("templates in headers of integrations stand for what the gateway knows of the caller, and nothing else", async () => {
  const path = await createServer({
    custom_headers: { "x-who": "{{email}} of {{ workspace_id }}", "x-other": "{{client_id}}", "x-plain": "a {b}" },
    ...validation(),
  });
  assert.equal((await callServer(stack, stack.person.key, { path })).status, 200);
  assert.equal(lastHeaders()["x-who"], `ada@example.com of ${stack.workspaceId}`);
  assert.equal(lastHeaders()["x-other"], undefined);
  assert.equal(lastHeaders()["x-plain"], "a {b}");
  // what a value holds is not read as a template, and cannot end a header
  const evil = await sign({ email: undefined, sub: "{{workspace_id}}" });
  assert.equal((await callServer(stack, evil, { path })).status, 200);
  assert.equal(lastHeaders()["x-who"], undefined);
});

test("a claim beyond ASCII and with line ends cannot make another header", async () => {
  const path = await createServer({
    ...validation(),
    user_identity_forwarding: { method: "claims_header", include_claims: ["sub"] },
  });
  const sub = "A\r\nx-evil: 1 \u00e9\u{1f600}";
  assert.equal((await callServer(stack, await sign({ sub, email: undefined }), { path })).status, 200);
  const sent = String(lastHeaders()["x-user-claims"]);
  assert.match(sent, /^[\x20-\x7e]+$/);
  assert.equal(JSON.parse(sent).sub, sub);
  assert.equal(lastHeaders()["x-evil"], undefined);
});
