import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { readJson } from "../support/gateway.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";
import {
  authorize,
  authorizeAddress,
  callServer,
  codeForm,
  createOauthStack,
  getTokens,
  type OauthStack,
  origin,
  redirectUri,
  resource,
  TestBrowser,
  type Tokens,
} from "./oauth-support.ts";
import { mcpServer } from "./support.ts";

let upstream: RecordingUpstream;
let stack: OauthStack;
before(async () => {
  upstream = await startRecordingUpstream((request, response) => {
    const { id } = JSON.parse(request.text);
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result: { tools: [] } }));
  });
  stack = await createOauthStack(mcpServer(`${upstream.url}/mcp`));
});
after(async () => {
  await stack.close();
  await upstream.close();
});

const get = async <Shape>(path: string): Promise<Shape> => {
  const response = await stack.gateway.fetch(new Request(origin + path));
  assert.equal(response.status, 200, path);
  return readJson<Shape>(response);
};

test("the documents of discovery name each other byte for byte", async () => {
  const path = "/m/everything/mcp";
  const metadata = await get<{ resource: string; authorization_servers: string[] }>(
    `/.well-known/oauth-protected-resource${path}`,
  );
  assert.equal(metadata.resource, resource);
  assert.deepEqual(metadata.authorization_servers, [`${origin}/m`]);
  for (const place of [
    "/.well-known/oauth-authorization-server/m",
    "/.well-known/oauth-authorization-server",
    "/.well-known/openid-configuration/m",
    "/m/.well-known/openid-configuration",
  ]) {
    const document = await get<Record<string, unknown>>(place);
    assert.equal(document.issuer, `${origin}/m`);
    assert.deepEqual(document.code_challenge_methods_supported, ["S256"]);
    assert.equal(document.authorization_response_iss_parameter_supported, true);
    assert.equal(document.client_id_metadata_document_supported, true);
  }
  const { keys } = await get<{ keys: Record<string, unknown>[] }>("/m/.well-known/jwks.json");
  assert.deepEqual(
    keys.map(({ alg, d }) => [alg, d]),
    [
      ["ES256", undefined],
      ["RS256", undefined],
    ],
  );
});

test("the metadata of unknown servers has the same form as that of known ones", async () => {
  const known = await get<object>("/.well-known/oauth-protected-resource/m/everything/mcp");
  const unknown = await get<object>("/.well-known/oauth-protected-resource/m/nowhere/mcp");
  assert.deepEqual(JSON.parse(JSON.stringify(unknown).replaceAll("nowhere", "everything")), known);
});

test("a client registers, a user signs in with a key and consents, and the token calls the server as the user", async () => {
  const { tokens } = await getTokens(stack);
  assert.equal(tokens.expires_in, 900);
  assert.equal(tokens.token_type, "Bearer");
  const [header] = tokens.access_token.split(".").map((part) => Buffer.from(part, "base64url").toString());
  assert.equal(JSON.parse(header ?? "").typ, "at+jwt");
  const response = await callServer(stack, tokens.access_token);
  assert.equal(response.status, 200, await response.clone().text());
  const sent = upstream.requests.at(-1);
  assert.ok(!JSON.stringify(sent?.headers).includes(tokens.access_token));
});

test("a request without a credential gets the challenge, and a bad token the error", async () => {
  const bare = await stack.gateway.fetch(new Request(resource, { method: "POST", body: "{}" }));
  const metadata = `${origin}/.well-known/oauth-protected-resource/m/everything/mcp`;
  assert.equal(bare.headers.get("www-authenticate"), `Bearer resource_metadata="${metadata}", scope="mcp"`);
  const bad = await callServer(stack, "not-a-token");
  assert.equal(bad.status, 401);
  assert.match(bad.headers.get("www-authenticate") ?? "", /^Bearer error="invalid_token", resource_metadata=/);
});

test("a token of one address is refused at another, whose own metadata the challenge names", async () => {
  const { tokens } = await getTokens(stack);
  const other = await callServer(stack, tokens.access_token, { path: "/m/other/mcp" });
  assert.equal(other.status, 401);
  assert.match(other.headers.get("www-authenticate") ?? "", /oauth-protected-resource\/m\/other\/mcp"/);
});

test("the answer to a client has its state and the issuer, also for errors", async () => {
  const { client_id: clientId = "" } = await stack.register();
  const answer = await authorize(stack, clientId);
  assert.equal(answer.origin + answer.pathname, redirectUri);
  assert.equal(answer.searchParams.get("state"), "the state");
  assert.equal(answer.searchParams.get("iss"), `${origin}/m`);
  const refused = await new TestBrowser(stack).send(authorizeAddress(clientId, { code_challenge_method: "plain" }));
  const error = new URL(refused.headers.get("location") ?? "");
  assert.equal(error.searchParams.get("error"), "invalid_request");
  assert.equal(error.searchParams.get("iss"), `${origin}/m`);
  assert.equal(error.searchParams.get("state"), "the state");
});

test("a code works once, and a second use revokes the tokens of the first", async () => {
  const { tokens, form, clientId } = await getTokens(stack);
  assert.equal((await callServer(stack, tokens.access_token)).status, 200);
  const again = await stack.post("/m/oauth/token", form);
  assert.equal(again.status, 400);
  assert.equal((await readJson<Tokens>(again)).error, "invalid_grant");
  assert.equal((await callServer(stack, tokens.access_token)).status, 401);
  const refresh = { grant_type: "refresh_token", client_id: clientId, refresh_token: tokens.refresh_token };
  assert.equal((await stack.post("/m/oauth/token", refresh)).status, 400);
});

test("twenty parallel exchanges of one code give no more than one pair of tokens, which the others revoke", async () => {
  const { client_id: clientId = "" } = await stack.register();
  const answer = await authorize(stack, clientId);
  const form = codeForm(clientId, answer.searchParams.get("code") ?? "");
  const responses = await Promise.all(Array.from({ length: 20 }, () => stack.post("/m/oauth/token", form)));
  const given = responses.filter(({ status }) => status === 200);
  assert.ok(given.length <= 1);
  for (const response of given) {
    const { access_token: token } = await readJson<Tokens>(response);
    assert.equal((await callServer(stack, token)).status, 401);
  }
});

for (const [name, changes] of [
  ["another verifier", { code_verifier: "b".repeat(43) }],
  ["no verifier", { code_verifier: "" }],
  ["another redirect address", { redirect_uri: "http://127.0.0.1:9001/callback" }],
  ["another resource", { resource: `${origin}/m/other/mcp` }],
  ["no resource", { resource: "" }],
] as const) {
  test(`a code with ${name} gives no tokens, and is spent`, async () => {
    const { client_id: clientId = "" } = await stack.register();
    const answer = await authorize(stack, clientId);
    const form = codeForm(clientId, answer.searchParams.get("code") ?? "");
    const refused = await stack.post("/m/oauth/token", { ...form, ...changes });
    assert.equal(refused.status, 400);
    assert.equal((await readJson<Tokens>(refused)).error, "invalid_grant");
    assert.equal((await stack.post("/m/oauth/token", form)).status, 400);
  });
}

test("a code of one client is refused to another", async () => {
  const [one, other] = [await stack.register(), await stack.register()];
  const answer = await authorize(stack, one.client_id ?? "");
  const form = codeForm(other.client_id ?? "", answer.searchParams.get("code") ?? "");
  assert.equal((await stack.post("/m/oauth/token", form)).status, 400);
});

test("a refresh token is replaced, gives the same successor within ten seconds, and ends its family when reused later", async () => {
  let now = Date.now();
  const clock = { now: () => now, monotonic: () => performance.now() };
  const own = await createOauthStack(mcpServer(`${upstream.url}/mcp`), { clock, mcp: { baseUrl: origin } });
  try {
    const { tokens, clientId } = await getTokens(own);
    const refresh = async (token: string) => {
      const form = { grant_type: "refresh_token", client_id: clientId, refresh_token: token };
      const response = await own.post("/m/oauth/token", form);
      return { status: response.status, tokens: await readJson<Tokens>(response) };
    };
    const all = await Promise.all(Array.from({ length: 8 }, () => refresh(tokens.refresh_token)));
    const successors = new Set(all.map((one) => one.tokens.refresh_token));
    assert.equal(successors.size, 1);
    assert.ok(all.every(({ status }) => status === 200));
    const next = await refresh([...successors][0] ?? "");
    assert.equal(next.status, 200);
    now += 11_000;
    const reused = await refresh([...successors][0] ?? "");
    assert.deepEqual([reused.status, reused.tokens.error], [400, "invalid_grant"]);
    assert.equal((await refresh(next.tokens.refresh_token)).status, 400);
    assert.equal((await callServer(own, next.tokens.access_token)).status, 401);
  } finally {
    await own.close();
  }
});

test("a made-up refresh token changes nothing", async () => {
  const { tokens, clientId } = await getTokens(stack);
  const forged = tokens.refresh_token.replace(/\.0\./, ".7.");
  const form = { grant_type: "refresh_token", client_id: clientId };
  assert.equal((await stack.post("/m/oauth/token", { ...form, refresh_token: forged })).status, 400);
  assert.equal((await stack.post("/m/oauth/token", { ...form, refresh_token: tokens.refresh_token })).status, 200);
});

test("a client learns what its own tokens are worth, and ends them", async () => {
  const { tokens, clientId } = await getTokens(stack);
  const other = await stack.register();
  const introspect = async (token: string, client_id = clientId) =>
    readJson<Record<string, unknown>>(await stack.post("/m/oauth/introspect", { token, client_id }));
  const access = await introspect(tokens.access_token);
  const { active, sub, aud, scope, token_type, iss } = access;
  assert.deepEqual(
    [active, sub, aud, scope, token_type, iss, access.client_id],
    [true, stack.person.id, resource, tokens.scope, "Bearer", `${origin}/m`, clientId],
  );
  assert.equal(Number(access.exp) - Number(access.iat), tokens.expires_in);
  const refresh = await introspect(tokens.refresh_token);
  assert.deepEqual([refresh.active, refresh.sub, refresh.aud], [true, stack.person.id, resource]);
  for (const token of [tokens.access_token, tokens.refresh_token]) {
    assert.deepEqual(await introspect(token, other.client_id), { active: false });
    const revoked = await stack.post("/m/oauth/revoke", { token, client_id: clientId });
    assert.deepEqual([revoked.status, await revoked.text()], [200, ""]);
    assert.deepEqual(await introspect(token), { active: false });
  }
});

test("a scope that is missing is named in the challenge, and the token with it may call", async () => {
  const call = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{}}}';
  const { tokens } = await getTokens(stack, { scope: "mcp:read" });
  assert.equal(tokens.scope, "mcp:read");
  assert.equal((await callServer(stack, tokens.access_token)).status, 200);
  const refused = await callServer(stack, tokens.access_token, { body: call });
  assert.equal(refused.status, 403);
  assert.match(refused.headers.get("www-authenticate") ?? "", /error="insufficient_scope".*scope="mcp:write"/);
  assert.equal((await readJson<Tokens>(refused)).error, "insufficient_scope");
  const both = await getTokens(stack, { scope: "mcp:read mcp:write" });
  assert.equal((await callServer(stack, both.tokens.access_token, { body: call })).status, 200);
});

test("a token ends with its server, and is refused where another server has the address", async () => {
  const own = await createOauthStack(mcpServer(`${upstream.url}/mcp`));
  try {
    const { tokens } = await getTokens(own);
    own.servers.set(mcpServer(`${upstream.url}/mcp`, { id: "33333333-3333-4333-8333-333333333333" }));
    const refused = await callServer(own, tokens.access_token);
    assert.equal(refused.status, 401);
    assert.match(refused.headers.get("www-authenticate") ?? "", /invalid_token/);
  } finally {
    await own.close();
  }
});

test("pages of known origins may read documents and tokens, and others may not", async () => {
  const page = "https://app.example.com";
  const own = await createOauthStack(undefined, { mcp: { baseUrl: origin, origins: new Set([page]) } });
  try {
    const ask = async (path: string, method: string, from: string) =>
      own.gateway.fetch(new Request(origin + path, { method, headers: { origin: from } }));
    for (const [path, method] of [
      ["/.well-known/oauth-authorization-server/m", "GET"],
      ["/m/oauth/token", "POST"],
      ["/m/oauth/register", "POST"],
    ] as const) {
      const allowed = (response: Response) => response.headers.get("access-control-allow-origin");
      assert.equal(allowed(await ask(path, method, page)), page);
      assert.equal(allowed(await ask(path, method, "https://evil.example.com")), null);
      const preflight = await ask(path, "OPTIONS", page);
      assert.deepEqual([preflight.status, preflight.headers.get("access-control-allow-methods")], [204, method]);
    }
    assert.equal((await ask("/m/oauth/authorize", "GET", page)).headers.get("access-control-allow-origin"), null);
  } finally {
    await own.close();
  }
});

test("no token is stored, and a token of another installation is refused", async () => {
  const one = await createOauthStack(mcpServer(`${upstream.url}/mcp`), { inFile: true });
  const database = await one.openFile();
  const other = await createOauthStack(mcpServer(`${upstream.url}/mcp`));
  try {
    const { tokens } = await getTokens(one);
    assert.equal((await callServer(one, tokens.access_token)).status, 200);
    assert.equal((await callServer(other, tokens.access_token)).status, 401);
    const { rows } = await database.read("SELECT sealed, public_jwk FROM signing_keys");
    assert.ok(rows.every(({ sealed, public_jwk: shown }) => !/"d"/.test(`${sealed}${shown}`)));
    const families = await database.read("SELECT * FROM oauth_families");
    assert.ok(!JSON.stringify(families.rows).includes(tokens.refresh_token));
  } finally {
    await other.close();
    await one.close();
  }
});
