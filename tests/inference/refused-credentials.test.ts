import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { call, done } from "../support/control.ts";
import {
  createRuntimeTransport,
  createTestClock,
  createTestGateway,
  workspaceKey as key,
  requestHeaders,
  type TestGateway,
  waitForLog,
} from "../support/gateway.ts";
import { startRecordingUpstream } from "../support/upstream.ts";

/** Numbers the tokens of the identity service; the upstream takes the credentials that are in force. */
let fetched = 0;
let inForce: (credential: string) => boolean = () => true;
/** What a refusal looks like. */
let refusal: { status: number; body: object; headers?: Record<string, string> };
/** The secret in the vault, and how often it was read. */
let secret = "";
let readings = 0;

const identity = await startRecordingUpstream(({ path }, response) => {
  response.writeHead(200, { "content-type": "application/json" });
  if (path.startsWith("/v1/secret/")) {
    readings++;
    return void response.end(JSON.stringify({ data: { data: { key: secret }, metadata: {} } }));
  }
  fetched++;
  const keys = { AccessKeyId: `ASIAFAKE${fetched}`, SecretAccessKey: "fake", Token: `session-${fetched}` };
  const token = { access_token: `token-${fetched}`, token_type: "Bearer", expires_in: 3600 };
  const expiry = { Expiration: "2126-01-01T00:00:00Z" };
  // others ask at the same time
  setTimeout(() => response.end(JSON.stringify(path === "/keys" ? { ...keys, ...expiry } : token)), 10);
});
const answer = {
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1,
  model: "gpt-4o",
  choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
};
const events = `data: ${JSON.stringify({ ...answer, object: "chat.completion.chunk", choices: [{ index: 0, delta: { content: "Hi" }, finish_reason: "stop" }] })}\n\ndata: [DONE]\n\n`;
const converse = {
  output: { message: { role: "assistant", content: [{ text: "Hi" }] } },
  stopReason: "end_turn",
  usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
};
const upstream = await startRecordingUpstream(({ headers, text, path }, response) => {
  const session = headers["x-amz-security-token"];
  const credential = String(session ?? headers.authorization ?? headers["api-key"]).replace(/^Bearer /, "");
  if (!inForce(credential)) {
    response.writeHead(refusal.status, { "content-type": "application/json", ...refusal.headers });
    return void response.end(JSON.stringify(refusal.body));
  }
  const isStream = text.includes('"stream":true');
  response.writeHead(200, { "content-type": isStream ? "text/event-stream" : "application/json" });
  response.end(isStream ? events : JSON.stringify(path.endsWith("/converse") ? converse : answer));
});
const clock = createTestClock();
const gateways: TestGateway[] = [];
const start = async (options: Parameters<typeof createTestGateway>[0] = {}) => {
  const gateway = await createTestGateway(options);
  gateways.push(gateway);
  return gateway;
};
const gateway = await start();
const transport = createRuntimeTransport();
after(async () => {
  for (const one of gateways) await one.close();
  await identity.close();
  await upstream.close();
});
beforeEach(() => {
  fetched = 0;
  readings = 0;
  upstream.requests.length = 0;
  inForce = () => true;
  refusal = { status: 401, body: { error: { message: "invalid token", code: "invalid_token" } } };
});

/** Each test has a separate client, and so separate tokens. */
const oauth = (client: string) =>
  JSON.stringify({ token_url: `${identity.url}/token`, client_id: client, client_secret: "obvious-fake" });
const body = { model: "gpt-4o", messages: [{ role: "user", content: "Hello" }] };

interface Ask {
  to?: TestGateway;
  path?: string;
  headers: Record<string, string | null>;
  content?: BodyInit;
  trace?: string;
}

const ask = async ({ to = gateway, path = "/v1/chat/completions", headers, content, trace = "none" }: Ask) => {
  const response = await to.fetch(path, {
    method: "POST",
    headers: requestHeaders({ "x-gateway-trace-id": trace, ...headers }),
    body: content ?? JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, text };
};
const byOauth = (client: string) => ({
  "x-gateway-provider": "openai",
  "x-gateway-custom-host": `${upstream.url}/v1`,
  "x-gateway-oauth": oauth(client),
});

/** From now on the upstream refuses all tokens fetched before. */
function revoke(): void {
  const oldest = fetched + 1;
  inForce = (credential) => Number(credential.replace(/^(?:token|session)-/, "")) >= oldest;
}

const ways: readonly [name: string, ask: (client: string) => Ask][] = [
  ["a chat", (client) => ({ headers: byOauth(client) })],
  ["a stream", (client) => ({ headers: byOauth(client), content: JSON.stringify({ ...body, stream: true }) })],
  ["a forwarded chat", (client) => ({ path: "/v1/proxy/chat/completions", headers: byOauth(client) })],
  [
    "a forwarded path",
    (client) => ({
      path: "/v1/anything",
      // bodies of unknown length are streamed
      headers: { ...byOauth(client), "content-length": String(JSON.stringify(body).length) },
    }),
  ],
];
for (const [name, toAsk] of ways) {
  test(`${name} is sent again with another token when its provider refuses the cached one`, async () => {
    const asked = toAsk(name);
    assert.equal((await ask(asked)).status, 200);
    revoke();
    const trace = crypto.randomUUID();
    const { status, text } = await ask({ ...asked, trace });
    assert.equal(status, 200, text);
    assert.deepEqual([fetched, upstream.requests.length], [2, 3]);
    assert.equal(upstream.requests[2]?.text, upstream.requests[1]?.text);
    assert.equal((await waitForLog(gateway, trace)).upstream_calls, 2);
    assert.equal((await ask(asked)).status, 200);
    assert.equal(fetched, 2);
  });
}

test("requests that are refused at the same time fetch one token", async () => {
  const headers = byOauth("parallel");
  assert.equal((await ask({ headers })).status, 200);
  revoke();
  const answers = await Promise.all(Array.from({ length: 20 }, () => ask({ headers })));
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
  assert.equal(fetched, 2);
});

test("a provider that refuses every token is called twice at most, and few tokens are fetched", async () => {
  const own = await start({ clock });
  const headers = byOauth("never");
  inForce = () => false;
  for (let count = 0; count < 30; count++) {
    const before = upstream.requests.length;
    const { status, text } = await ask({ to: own, headers });
    assert.equal(status, 401);
    assert.match(text, /invalid token/);
    assert.ok(upstream.requests.length - before <= 2);
  }
  assert.ok(fetched <= 4, `${fetched} tokens`);
  clock.advance(60_000);
  inForce = () => true;
  assert.equal((await ask({ to: own, headers })).status, 200);
});

test("a body that was streamed is not sent again, and the next request has another token", async () => {
  const headers = { ...byOauth("long"), "content-type": "application/octet-stream" };
  const path = "/v1/uploads/1/parts";
  const content = new Uint8Array(300 * 1024);
  assert.equal((await ask({ path, headers, content })).status, 200);
  revoke();
  assert.equal((await ask({ path, headers, content })).status, 401);
  assert.equal((await ask({ path, headers, content })).status, 200);
  assert.deepEqual([fetched, upstream.requests.length], [2, 3]);
});

test("the refusal is returned where no other token can be fetched", async () => {
  const headers = byOauth("gone");
  assert.equal((await ask({ headers })).status, 200);
  inForce = () => false;
  const { status, text } = await ask({ headers });
  assert.deepEqual([status, /invalid token/.test(text)], [401, true]);
});

test("a token of Entra ID that Azure refuses is fetched again", async () => {
  const own = await start({ cloudEnvironment: { AZURE_AUTHORITY_HOST: identity.url } });
  const headers = {
    "x-gateway-provider": "azure-openai",
    "x-gateway-custom-host": upstream.url,
    "x-gateway-azure-api-version": "v1",
    "x-gateway-azure-auth-mode": "entra",
    "x-gateway-azure-entra-tenant-id": "tenant-1",
    "x-gateway-azure-entra-client-id": "client-1",
    "x-gateway-azure-entra-client-secret": "obvious-fake",
  };
  const first = await ask({ to: own, headers });
  assert.equal(first.status, 200, first.text);
  revoke();
  assert.equal((await ask({ to: own, headers })).status, 200);
  assert.equal(fetched, 2);
});

for (const [name, status, reason, named] of [
  ["by its name", 403, { message: "no" }, { "x-amzn-errortype": "ExpiredTokenException:http://internal.amazon.com/" }],
  ["in its text", 403, { message: "The security token included in the request is expired" }, {}],
  ["of S3", 400, { Code: "ExpiredToken" }, {}],
] as const) {
  test(`keys of a container that AWS refuses ${name} are fetched again`, async () => {
    const own = await start({
      cloudEnvironment: { AWS_CONTAINER_CREDENTIALS_FULL_URI: `${identity.url}/keys` },
      // the machine's keys are sent to hosts of AWS alone
      transport: {
        ...transport,
        send: (url, init) =>
          transport.send(url.replace("https://bedrock-runtime.eu-west-1.amazonaws.com", upstream.url), init),
      },
    });
    const headers = {
      "x-gateway-provider": "bedrock",
      "x-gateway-aws-auth-type": "serviceRole",
      "x-gateway-aws-region": "eu-west-1",
    };
    const content = JSON.stringify({ ...body, model: "anthropic.claude-sonnet-4-5-20250929-v1:0" });
    const first = await ask({ to: own, headers, content });
    assert.equal(first.status, 200, first.text);
    refusal = { status, body: reason, headers: named };
    revoke();
    assert.equal((await ask({ to: own, headers, content })).status, 200);
    assert.equal(fetched, 2);
  });
}

test("another 403 is returned as it came", async () => {
  const headers = byOauth("forbidden");
  assert.equal((await ask({ headers })).status, 200);
  refusal = { status: 403, body: { error: { message: "the model is not yours" } } };
  revoke();
  const { status, text } = await ask({ path: "/v1/proxy/chat/completions", headers });
  assert.deepEqual([status, text, fetched], [403, JSON.stringify(refusal.body), 1]);
});

interface Receipt {
  id: string;
  slug: string;
}

async function saveIntegration(
  changes: object,
  to: TestGateway = gateway,
): Promise<{ slug: string; provider: string }> {
  const { slug } = await done<Receipt>(
    call<Receipt>(to, "POST /integrations", {
      key,
      body: { name: "Stored", ai_provider_id: "openai", ...changes },
    }),
  );
  const provider = await done<Receipt>(
    call<Receipt>(to, "POST /providers", { key, body: { name: "Stored", integration_id: slug } }),
  );
  return { slug, provider: `@${provider.slug}` };
}

test("an integration that is saved again has its tokens fetched again", async () => {
  const configurations = { custom_host: `${upstream.url}/v1`, oauth: JSON.parse(oauth("stored")) };
  const { slug, provider } = await saveIntegration({ configurations });
  const headers = { "x-gateway-provider": provider };
  const first = await ask({ headers });
  assert.equal(first.status, 200, first.text);
  assert.equal((await ask({ headers })).status, 200);
  assert.equal(fetched, 1);
  await done(call(gateway, `PUT /integrations/${slug}`, { key, body: { configurations } }));
  assert.equal((await ask({ headers })).status, 200);
  assert.equal(fetched, 2);
});

test("a secret that was rotated in a vault is read again before its refusal is returned", async () => {
  const own = await start({ clock });
  secret = "first-fake-secret";
  const auth_config = { vault_auth_type: "token", vault_addr: identity.url, vault_token: "hvs.fake" };
  const reference = { name: "Vault", slug: "vault", manager_type: "hashicorp_vault", auth_config };
  const located = { ...reference, secret_path: "secret/data/openai", secret_key: "key" };
  await done(call(own, "POST /secret-references", { body: located }));
  const { provider } = await saveIntegration(
    {
      configurations: { custom_host: `${upstream.url}/v1` },
      secret_mappings: [{ target_field: "key", secret_reference_id: "vault" }],
    },
    own,
  );
  const headers = { "x-gateway-provider": provider };
  inForce = (credential) => credential === secret;
  const first = await ask({ to: own, headers });
  assert.equal(first.status, 200, first.text);
  secret = "second-fake-secret";
  const answers = await Promise.all(Array.from({ length: 5 }, () => ask({ to: own, headers })));
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
  assert.equal(readings, 2);
  assert.equal((await ask({ to: own, headers })).status, 200);
  inForce = () => false;
  for (let count = 0; count < 20; count++) assert.equal((await ask({ to: own, headers })).status, 401);
  assert.ok(readings <= 5, `${readings} readings`);
});
