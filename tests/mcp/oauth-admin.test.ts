import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { call, done, refusal } from "../support/control.ts";
import { eventually } from "../support/eventually.ts";
import { readJson, workspaceKey } from "../support/gateway.ts";
import { addPerson, type Person } from "../support/people.ts";
import { callServer, createOauthStack, type OauthStack, origin, resource, type Tokens } from "./oauth-support.ts";
import { mcpServer } from "./support.ts";
import { type Provider, startProvider } from "./upstream-support.ts";

let provider: Provider;
let stack: OauthStack;
before(async () => {
  provider = await startProvider();
  stack = await createOauthStack(mcpServer(`${provider.url}/mcp`));
});
after(async () => {
  await stack.close();
  await provider.close();
});

interface CreatedClient {
  client_id: string;
  client_secret: string;
}

const createClient = (body: object, key = workspaceKey) =>
  done(call<CreatedClient>(stack, "POST /mcp-oauth-clients", { key, body: { name: "Machine", ...body } }));

async function requestToken(form: Record<string, string>, headers: Record<string, string> = {}) {
  const all = { grant_type: "client_credentials", resource, ...form };
  const response = await stack.post("/m/oauth/token", all, headers);
  return { status: response.status, tokens: await readJson<Tokens>(response) };
}

const basic = (id: string, secret: string) => ({ authorization: `Basic ${btoa(`${id}:${secret}`)}` });

test("a client that an administrator made gets tokens for itself by its secret, for servers of its workspace", async () => {
  const client = await createClient({ grant_types: ["client_credentials"], scope: "mcp:read" });
  const { status, tokens } = await requestToken({}, basic(client.client_id, client.client_secret));
  assert.equal(status, 200, JSON.stringify(tokens));
  assert.equal(tokens.scope, "mcp:read");
  assert.equal(tokens.refresh_token, undefined);
  const called = await callServer(stack, tokens.access_token);
  // the upstream asks for a token, which this integration does not have
  assert.equal(called.status, 502);
  for (const [form, headers, error] of [
    [{}, basic(client.client_id, "wrong"), "invalid_client"],
    [{ client_id: client.client_id }, {}, "invalid_client"],
    [{ scope: "mcp" }, basic(client.client_id, client.client_secret), "invalid_scope"],
    [{ resource: `${origin}/m/nowhere-else` }, basic(client.client_id, client.client_secret), "invalid_target"],
    [{ client_secret: client.client_secret }, basic(client.client_id, client.client_secret), "invalid_request"],
  ] as const) {
    assert.equal((await requestToken(form, headers)).tokens.error, error);
  }
});

test("a client authenticates by a private key, and an assertion works once", async () => {
  const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), kid: "one", alg: "ES256", use: "sig" };
  const client = await createClient({
    grant_types: ["client_credentials"],
    token_endpoint_auth_method: "private_key_jwt",
    jwks: { keys: [jwk] },
  });
  const sign = (changes: object = {}) =>
    new SignJWT({
      iss: client.client_id,
      sub: client.client_id,
      aud: `${origin}/m`,
      jti: crypto.randomUUID(),
      exp: Math.floor(Date.now() / 1_000) + 60,
      ...changes,
    })
      .setProtectedHeader({ alg: "ES256", kid: "one" })
      .sign(privateKey);
  const form = (assertion: string) => ({
    client_assertion: assertion,
    client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
  });
  const once = await sign();
  assert.equal((await requestToken(form(once))).status, 200);
  assert.equal((await requestToken(form(once))).tokens.error, "invalid_client");
  for (const changes of [
    { aud: "https://elsewhere.example.com" },
    { sub: "someone-else" },
    { jti: undefined },
    { exp: Math.floor(Date.now() / 1_000) + 86_400 },
    { exp: Math.floor(Date.now() / 1_000) - 600 },
  ]) {
    assert.equal((await requestToken(form(await sign(changes)))).status, 401, JSON.stringify(changes));
  }
});

test("a removed client's tokens end at once", async () => {
  const client = await createClient({ grant_types: ["client_credentials"] });
  const { tokens } = await requestToken({}, basic(client.client_id, client.client_secret));
  assert.notEqual((await callServer(stack, tokens.access_token)).status, 401);
  await done(call(stack, `DELETE /mcp-oauth-clients/${client.client_id}`, { key: workspaceKey }));
  assert.equal((await callServer(stack, tokens.access_token)).status, 401);
  assert.equal((await requestToken({}, basic(client.client_id, client.client_secret))).status, 401);
});

test("a secret is shown once, and a client is its tenant's", async () => {
  const client = await createClient({ redirect_uris: ["https://app.example.com/callback"] });
  const path = `/mcp-oauth-clients/${client.client_id}`;
  const shown = await done(call<CreatedClient>(stack, `GET ${path}`, { key: workspaceKey }));
  assert.match(shown.client_secret, /^..\*{5}...$/);
  const list = await done(call<{ data: CreatedClient[] }>(stack, "GET /mcp-oauth-clients", { key: workspaceKey }));
  assert.ok(list.data.some(({ client_id: id }) => id === client.client_id));
  const { client_id: dynamic } = await stack.register();
  assert.equal(await refusal(call(stack, `GET /mcp-oauth-clients/${dynamic}`, { key: workspaceKey })), "404 AB08");
});

for (const [name, body] of [
  ["no address", {}],
  ["an address that is a script", { redirect_uris: ["javascript:alert(1)"] }],
  ["client credentials without a secret", { grant_types: ["client_credentials"], token_endpoint_auth_method: "none" }],
  [
    "a private key without a key",
    { redirect_uris: ["https://a.example"], token_endpoint_auth_method: "private_key_jwt" },
  ],
  [
    "a private key in its set",
    {
      grant_types: ["client_credentials"],
      token_endpoint_auth_method: "private_key_jwt",
      jwks: { keys: [{ kty: "EC", kid: "a", d: "x" }] },
    },
  ],
  ["an unknown scope", { redirect_uris: ["https://a.example"], scope: "admin" }],
] as const) {
  test(`a client with ${name} is refused`, async () => {
    const answer = call(stack, "POST /mcp-oauth-clients", { key: workspaceKey, body: { name: "Client", ...body } });
    assert.equal(await refusal(answer), "400 AB01");
  });
}

test("accounts are listed, stored and removed by their user, and by keys of services for all", async () => {
  const slug = "crm-server";
  const key = workspaceKey;
  const own = await startProvider();
  const gateway = await createOauthStack(undefined, { mcpServers: undefined as never });
  try {
    const integration = {
      name: "CRM",
      slug: "crm-upstream",
      url: `${own.url}/mcp`,
      transport: "http",
      auth_type: "oauth_auto",
      configurations: { oauth_metadata: { client_id: "preset" } },
    };
    await done(call(gateway, "POST /mcp-integrations", { key, body: integration }));
    const server = { name: "CRM", slug, mcp_integration_id: "crm-upstream" };
    await done(call(gateway, "POST /mcp-servers", { key, body: server }));
    const workspaces = [{ id: gateway.workspaceId, role: "manager" }];
    const scopes = ["mcp.invoke", "mcp_servers.read", "mcp_servers.update"];
    const ada = gateway.person;
    const grace: Person = await addPerson(gateway, "grace@example.com", { workspaces, scopes });
    own.valid.set("token-of-grace", { scope: "tools" });
    const tokens = { access_token: "token-of-grace", refresh_token: "a-refresh-token" };
    await done(call(gateway, `PUT /mcp-servers/${slug}/tokens`, { key: grace.key, body: tokens }));
    const read = await done(
      call<Record<string, string>>(gateway, `GET /mcp-servers/${slug}/tokens`, { key: grace.key }),
    );
    assert.match(read.access_token ?? "", /^to\*{5}ace$/);
    const list = (caller: string, query = "") =>
      done(
        call<{ data: { user_id: string }[]; total: number }>(gateway, `GET /mcp-servers/${slug}/connections${query}`, {
          key: caller,
        }),
      );
    assert.deepEqual(
      (await list(key)).data.map(({ user_id: id }) => id),
      [grace.id],
    );
    assert.equal((await list(ada.key)).total, 0);
    assert.equal(
      await refusal(call(gateway, `GET /mcp-servers/${slug}/connections?user_id=${grace.id}`, { key: ada.key })),
      "403 AB03",
    );
    const access = await done(
      call<{ data: { user_id: string; connection_status: string }[] }>(
        gateway,
        `GET /mcp-servers/${slug}/user-access`,
        { key },
      ),
    );
    assert.equal(access.data.find(({ user_id: id }) => id === grace.id)?.connection_status, "connected");
    const path = { path: `/m/${slug}/mcp` };
    assert.equal((await callServer(gateway, grace.key, path)).status, 200);
    assert.equal(own.calls.at(-1)?.authorization, "Bearer token-of-grace");
    assert.equal(await refusal(call(gateway, `DELETE /mcp-servers/${slug}/connections`, { key })), "400 AB01");
    await done(call(gateway, `DELETE /mcp-servers/${slug}/connections?user_id=${grace.id}`, { key }));
    await eventually("the token is revoked at its issuer", async () => own.revoked.includes("a-refresh-token"));
    const asked = await readJson<{ error: { data: { type: string } } }>(await callServer(gateway, grace.key, path));
    assert.equal(asked.error.data.type, "oauth_required");
  } finally {
    await gateway.close();
    await own.close();
  }
});
