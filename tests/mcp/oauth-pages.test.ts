import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, done, refusal } from "../support/control.ts";
import { readJson, workspaceKey } from "../support/gateway.ts";
import { startIdentityProvider } from "../support/identity-provider.ts";
import { addPerson } from "../support/people.ts";
import { startServer, type Upstream } from "../support/upstream.ts";
import {
  authorize,
  authorizeAddress,
  codeForm,
  createOauthStack,
  formOf,
  formsOf,
  linkOf,
  type OauthStack,
  origin,
  redirectUri,
  TestBrowser,
  type Tokens,
} from "./oauth-support.ts";

// The pages of the authorization server, and what others try with them.

let stack: OauthStack;
before(async () => {
  stack = await createOauthStack();
});
after(() => stack.close());

const newClient = async () => (await stack.register()).client_id ?? "";

/** A browser in front of the consent page. */
async function atConsent(clientId: string, changes: Record<string, string | null> = {}) {
  const browser = new TestBrowser(stack);
  const page = await browser.submit(formOf(await browser.send(authorizeAddress(clientId, changes))), {
    key: stack.person.key,
  });
  return { browser, page };
}

test("pages run no script, cannot be framed, and are not stored", async () => {
  const { page } = await atConsent(await newClient());
  const policy = page.headers.get("content-security-policy") ?? "";
  assert.match(policy, /default-src 'none'/);
  assert.match(policy, /frame-ancestors 'none'/);
  assert.match(policy, /form-action 'self' http:\/\/127\.0\.0\.1:9000/);
  assert.equal(page.headers.get("cache-control"), "no-store");
  assert.ok(!/<script/i.test(page.text));
  assert.match(page.text, /ada@example\.com/);
  assert.match(page.text, /127\.0\.0\.1:9000/);
});

test("the name of a client is shown as text", async () => {
  const { client_id: clientId = "" } = await stack.register({ client_name: '<img src=x onerror="alert(1)">&' });
  const { page } = await atConsent(clientId);
  assert.match(page.text, /&lt;img src=x onerror=&quot;alert\(1\)&quot;&gt;&amp;/);
});

for (const [name, changes] of [
  ["another address", { redirect_uri: "https://evil.example.com/callback" }],
  ["another path", { redirect_uri: "http://127.0.0.1:9000/callback/x" }],
  ["another host of loopback", { redirect_uri: "http://localhost:9000/callback" }],
  ["a user in front of the host", { redirect_uri: "http://127.0.0.1:9000@evil.example.com/callback" }],
  ["a query more", { redirect_uri: `${redirectUri}?a=b` }],
  ["no address", { redirect_uri: null }],
  ["an unknown client", { client_id: "mcp_unknown" }],
  ["no client", { client_id: null }],
] as const) {
  test(`a request with ${name} gets a page, and the browser goes nowhere`, async () => {
    const page = await new TestBrowser(stack).send(authorizeAddress(await newClient(), changes));
    assert.equal(page.status, 400);
    assert.equal(page.headers.get("location"), null);
    assert.equal(formsOf(page.text).length, 0);
  });
}

test("the port of a loopback address is free, and a parameter twice is refused", async () => {
  const clientId = await newClient();
  const other = await new TestBrowser(stack).send(
    authorizeAddress(clientId, { redirect_uri: "http://127.0.0.1:41234/callback" }),
  );
  assert.equal(other.status, 200);
  const twice = `${authorizeAddress(clientId)}&redirect_uri=${encodeURIComponent("https://evil.example.com")}`;
  assert.equal((await new TestBrowser(stack).send(twice)).status, 400);
});

for (const [name, changes, error] of [
  ["no challenge", { code_challenge: null }, "invalid_request"],
  ["the method plain", { code_challenge_method: "plain" }, "invalid_request"],
  ["no resource", { resource: null }, "invalid_target"],
  ["a resource elsewhere", { resource: "https://evil.example.com/m/everything/mcp" }, "invalid_target"],
  [
    "a resource that only begins like one",
    { resource: `${origin}.evil.example.com/m/everything/mcp` },
    "invalid_target",
  ],
  ["an unknown scope", { scope: "admin" }, "invalid_scope"],
  ["the implicit grant", { response_type: "token" }, "unsupported_response_type"],
] as const) {
  test(`a request with ${name} is answered with ${error} and the issuer`, async () => {
    const page = await new TestBrowser(stack).send(authorizeAddress(await newClient(), changes));
    const answer = new URL(page.headers.get("location") ?? "");
    assert.equal(answer.origin + answer.pathname, redirectUri);
    assert.deepEqual([answer.searchParams.get("error"), answer.searchParams.get("iss")], [error, `${origin}/m`]);
  });
}

test("a form of the consent page works once, in its browser, from the own site only", async () => {
  const clientId = await newClient();
  const { browser, page } = await atConsent(clientId);
  const form = formOf(page);
  for (const headers of [
    { origin: "https://evil.example.com" },
    { origin: "null" },
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
  ]) {
    assert.equal((await browser.submit(form, { decision: "allow" }, headers)).status, 403, JSON.stringify(headers));
  }
  const foreign = await atConsent(clientId);
  assert.equal((await foreign.browser.submit(form, { decision: "allow" })).status, 400);
  const changed = { ...form, fields: { grant: `${form.fields.grant?.slice(0, -2)}AA` } };
  assert.equal((await browser.submit(changed, { decision: "allow" })).status, 400);
  assert.equal((await browser.submit(form, { decision: "allow" })).status, 303);
  assert.equal((await browser.submit(form, { decision: "allow" })).status, 400);
});

test("a user who denies sends the client away, and is asked again", async () => {
  const clientId = await newClient();
  const { browser, page } = await atConsent(clientId);
  const answer = new URL((await browser.submit(formOf(page), { decision: "deny" })).headers.get("location") ?? "");
  assert.equal(answer.searchParams.get("error"), "access_denied");
  assert.match((await browser.send(authorizeAddress(clientId))).text, /Allow access/);
});

test("consent is remembered for a client and its scopes, and asked for again when they grow", async () => {
  const clientId = await newClient();
  const { browser, page } = await atConsent(clientId, { scope: "mcp:read" });
  await browser.submit(formOf(page), { decision: "allow" });
  assert.equal((await browser.send(authorizeAddress(clientId, { scope: "mcp:read" }))).status, 303);
  assert.match((await browser.send(authorizeAddress(clientId, { scope: "mcp" }))).text, /Allow access/);
  assert.match((await browser.send(authorizeAddress(await newClient(), { scope: "mcp:read" }))).text, /Allow access/);
});

test("keys of services and wrong keys do not sign in", async () => {
  const browser = new TestBrowser(stack);
  const page = await browser.send(authorizeAddress(await newClient()));
  for (const key of [workspaceKey, "gk_wrong", "", "a b"]) {
    const refused = await browser.submit(formOf(page), { key });
    assert.equal(refused.status, 401);
    assert.match(refused.text, /not a personal API key/);
  }
  const foreign = await new TestBrowser(stack).submit(formOf(page), { key: stack.person.key });
  assert.equal(foreign.status, 400);
});

test("a server that is unknown looks like one that the user may not use", async () => {
  const clientId = await newClient();
  const unknown = await atConsent(clientId, { resource: `${origin}/m/nowhere/mcp` });
  stack.servers.set({
    ...(await import("./support.ts")).mcpServer("http://127.0.0.1:9"),
    slug: "closed",
    isOpenTo: () => false,
  });
  const closed = await atConsent(clientId, { resource: `${origin}/m/closed/mcp` });
  const shown = (text: string) => text.replace(/value="[^"]*"|nonce="[^"]*"/g, "");
  assert.equal(unknown.page.status, 403);
  assert.equal(shown(closed.page.text), shown(unknown.page.text));
});

test("what a sign-in with a key gave ends with the key", async () => {
  const person = await addPerson(stack, "eve@example.com", {
    workspaces: [{ id: stack.workspaceId, role: "member" }],
    scopes: ["mcp.invoke"],
  });
  const clientId = await newClient();
  const answer = await authorize({ ...stack, person }, clientId);
  const form = codeForm(clientId, answer.searchParams.get("code") ?? "");
  const tokens = await readJson<Tokens>(await stack.post("/m/oauth/token", form));
  const refresh = { grant_type: "refresh_token", client_id: clientId, refresh_token: tokens.refresh_token };
  await done(call(stack, `DELETE /api-keys/${person.keyId}`));
  const refused = await stack.post("/m/oauth/token", refresh);
  assert.equal((await readJson<Tokens>(refused)).error, "invalid_grant");
});

for (const [name, metadata, error] of [
  ["no address", { redirect_uris: [] }, "invalid_redirect_uri"],
  ["a script", { redirect_uris: ["javascript:alert(1)"] }, "invalid_redirect_uri"],
  ["plain http elsewhere", { redirect_uris: ["http://app.example.com/"] }, "invalid_redirect_uri"],
  ["a fragment", { redirect_uris: ["https://app.example.com/#a"] }, "invalid_redirect_uri"],
  ["a scheme without a dot", { redirect_uris: ["app://callback"] }, "invalid_redirect_uri"],
  ["a file", { redirect_uris: ["file:///etc/passwd"] }, "invalid_redirect_uri"],
  ["invisible signs in its name", { client_name: "A\u202eB" }, "invalid_client_metadata"],
  ["a long name", { client_name: "a".repeat(201) }, "invalid_client_metadata"],
  ["a key that is not its own", { token_endpoint_auth_method: "private_key_jwt" }, "invalid_client_metadata"],
  ["an unknown method", { token_endpoint_auth_method: "tls_client_auth" }, "invalid_client_metadata"],
] as const) {
  test(`a registration with ${name} is refused with ${error}`, async () => {
    assert.equal((await stack.register(metadata)).error, error);
  });
}

test("a flood of registrations from one address is refused, and others go on", async () => {
  const own = await createOauthStack();
  try {
    const register = (remoteAddress: string) => {
      const body = JSON.stringify({ redirect_uris: [redirectUri], scope: "mcp" });
      const init = { method: "POST", headers: { "content-type": "application/json" }, body };
      return own.gateway.fetch(new Request(`${origin}/m/oauth/register`, init), { remoteAddress });
    };
    const statuses: number[] = [];
    for (let count = 0; count < 22; count++) statuses.push((await register("192.0.2.7")).status);
    assert.equal(statuses.filter((status) => status === 201).length, 20);
    const refused = await register("192.0.2.7");
    assert.equal(refused.status, 429);
    assert.equal(refused.headers.get("retry-after"), "60");
    assert.equal((await register("192.0.2.8")).status, 201);
  } finally {
    await own.close();
  }
});

test("OAuth is not served at a host name that anyone may choose", async () => {
  const own = await createOauthStack(undefined, { mcp: {} });
  try {
    const ask = async (host: string) =>
      (await own.gateway.fetch(new Request(`http://${host}/.well-known/oauth-authorization-server/m`))).status;
    assert.deepEqual([await ask("evil.example.com"), await ask("localhost:8787")], [403, 200]);
  } finally {
    await own.close();
  }
});

/** A server of documents at `/client.json`, `/moved` and so on. */
function startDocuments(documents: (base: string) => Record<string, unknown>): Promise<Upstream & { asked: string[] }> {
  const asked: string[] = [];
  let url = "";
  return startServer((request, response) => {
    asked.push(request.url ?? "");
    const found = documents(url)[request.url ?? ""];
    if (request.url === "/moved.json") response.writeHead(302, { location: `${url}/client.json` });
    else response.writeHead(found === undefined ? 404 : 200, { "content-type": "application/json" });
    response.end(typeof found === "string" ? found : JSON.stringify(found ?? {}));
  }).then((server) => {
    url = server.url;
    return Object.assign(server, { asked });
  });
}

test("a client is its metadata document, fetched once, and asked for consent each time on loopback addresses", async () => {
  const documents = await startDocuments((base) => ({
    "/client.json": { client_id: `${base}/client.json`, client_name: "By document", redirect_uris: [redirectUri] },
    "/other.json": { client_id: `${base}/client.json`, client_name: "Liar", redirect_uris: [redirectUri] },
    "/nameless.json": { client_id: `${base}/nameless.json`, redirect_uris: [redirectUri] },
    "/secret.json": {
      client_id: `${base}/secret.json`,
      client_name: "Secret",
      redirect_uris: [redirectUri],
      token_endpoint_auth_method: "client_secret_post",
    },
    "/long.json": `{"client_id":"${"a".repeat(70_000)}"}`,
  }));
  try {
    const clientId = `${documents.url}/client.json`;
    const { browser, page } = await atConsent(clientId);
    assert.match(page.text, /By document/);
    const answer = await browser.submit(formOf(page), { decision: "allow" });
    const code = new URL(answer.headers.get("location") ?? "").searchParams.get("code") ?? "";
    assert.equal((await stack.post("/m/oauth/token", codeForm(clientId, code))).status, 200);
    assert.match((await browser.send(authorizeAddress(clientId))).text, /Allow access/);
    assert.equal(documents.asked.length, 1);
    for (const name of ["other.json", "nameless.json", "secret.json", "long.json", "moved.json", "missing.json"]) {
      const before: number = documents.asked.length;
      for (const _ of [1, 2]) {
        const refused = await new TestBrowser(stack).send(authorizeAddress(`${documents.url}/${name}`));
        assert.equal(refused.status, 400, name);
        assert.match(refused.text, /metadata document/);
      }
      assert.equal(documents.asked.length - before, 1, name);
    }
  } finally {
    await documents.close();
  }
});

for (const clientId of [
  "https://169.254.169.254/latest/meta-data",
  "https://10.0.0.1/client.json",
  "https://localhost/client.json",
  "https://metadata.google.internal/client.json",
  "http://app.example.com/client.json",
  "https://app.example.com",
  "https://user@app.example.com/client.json",
  "https://app.example.com/a/../client.json",
]) {
  test(`the client ${clientId} is not fetched`, async () => {
    const page = await new TestBrowser(stack).send(authorizeAddress(clientId));
    assert.equal(page.status, 400);
  });
}

/** Signs in at the identity provider; the page that follows. */
async function signInByProvider(own: OauthStack) {
  const browser = new TestBrowser(own);
  const page = await browser.send(authorizeAddress((await own.register()).client_id ?? ""));
  const form = formsOf(page.text).find(({ fields }) => fields.method === "sso");
  assert.ok(form, "the page offers single sign-on");
  const hop = await browser.submit(form);
  const back = await fetch(linkOf(hop.text), { redirect: "manual" });
  const address = back.headers.get("location") ?? "";
  return { browser, address, page: await browser.send(address) };
}

for (const [name, changes, wanted] of [
  ["the verified address of a user", {}, /Allow access/],
  ["an address that is not verified", { claims: { email_verified: false } }, /no user of the gateway/],
  ["an unknown address", { claims: { email: "nobody@example.com" } }, /no user of the gateway/],
  ["a token for another client", { claims: { aud: "another" } }, /did not confirm/],
  ["a token of another issuer", { claims: { iss: "https://evil.example.com" } }, /did not confirm/],
  ["the nonce of another sign-in", { nonce: "another" }, /did not confirm/],
] as const) {
  test(`single sign-on with ${name} leads to: ${wanted.source}`, async () => {
    const provider = await startIdentityProvider(changes);
    const own = await createOauthStack();
    try {
      const { data } = await done(call<{ data: { id: string } }>(own, "GET /organisations/self"));
      const oidc = { issuer: provider.url, client_id: "gateway", client_secret: "aFakeSecret" };
      const shown = await done(call(own, `PUT /organisations/${data.id}/auth-settings`, { body: { oidc } }));
      assert.ok(!JSON.stringify(shown).includes("aFakeSecret"));
      const { browser, address, page } = await signInByProvider(own);
      assert.match(page.text, wanted);
      assert.deepEqual(provider.secrets, [`Basic ${btoa("gateway:aFakeSecret")}`]);
      assert.equal((await browser.send(address)).status, 400, "an answer works once");
    } finally {
      await own.close();
      await provider.close();
    }
  });
}

test("the secret of an identity provider does not follow to another address", async () => {
  const { data } = await done(call<{ data: { id: string } }>(stack, "GET /organisations/self"));
  const change = (oidc: object | null) =>
    call(stack, `PUT /organisations/${data.id}/auth-settings`, { body: { oidc } });
  await done(change({ issuer: "https://idp.example.com", client_id: "gateway", client_secret: "aFakeSecret" }));
  await done(change({ issuer: "https://idp.example.com", client_id: "gateway", scope: "openid" }));
  assert.equal(await refusal(change({ issuer: "https://evil.example.com", client_id: "gateway" })), "400 AB01");
  assert.equal(await refusal(change({ issuer: "http://idp.example.com", client_id: "gateway" })), "400 AB01");
  assert.equal(await refusal(change({ issuer: "https://10.0.0.1", client_id: "gateway" })), "400 AB01");
  await done(change(null));
});
