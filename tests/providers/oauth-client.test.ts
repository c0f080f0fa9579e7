import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { createAddressGuard } from "../../src/lib/address.ts";
import { createOutbound } from "../../src/lib/outbound.ts";
import { authorizeByOauth, readOauthSettings } from "../../src/providers/core/oauth-client.ts";
import { createTokenCache } from "../../src/providers/core/token-cache.ts";
import type { TokenTools } from "../../src/providers/core/token-request.ts";
import {
  chat,
  createRuntimeTransport,
  createTestClock,
  createTestGateway,
  type HeaderChanges,
  helloBody,
  readJson,
} from "../support/gateway.ts";
import { startServer } from "../support/upstream.ts";

/** Requests to the token service, and its responses. */
const asked: { headers: Record<string, string | string[] | undefined>; body: string }[] = [];
let answer: { status: number; body: string };

beforeEach(() => {
  asked.length = 0;
  answer = { status: 200, body: JSON.stringify({ access_token: "token-1", token_type: "Bearer", expires_in: 3600 }) };
});

const service = await startServer((request, response) => {
  let body = "";
  request.on("data", (piece) => {
    body += piece;
  });
  request.on("end", () => {
    asked.push({ headers: request.headers, body });
    setTimeout(() => response.writeHead(answer.status, { "content-type": "application/json" }).end(answer.body), 5);
  });
});
const calls: Record<string, string | string[] | undefined>[] = [];
const upstream = await startServer((request, response) => {
  calls.push(request.headers);
  request.resume();
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ choices: [] }));
});
const gateway = await createTestGateway();
after(async () => {
  await gateway.close();
  await service.close();
  await upstream.close();
});

const url = `${service.url}/oauth/token`;
const client = { token_url: url, client_id: "client 1", client_secret: "s:e/c" };

function createTools(trustedHosts: string[] = ["127.0.0.1"], tenant: string[] = ["o", "w"]) {
  const clock = createTestClock();
  const guard = createAddressGuard({ trustedHosts });
  const outbound = createOutbound({ transport: createRuntimeTransport(), guard });
  const tools: TokenTools = { outbound, clock, tokens: createTokenCache(clock), tenant };
  return { tools, clock };
}

const settingsOf = (changes: object = {}) => readOauthSettings(JSON.stringify({ ...client, ...changes }));

test("authorizeByOauth() sends the client in the header, form-encoded", async () => {
  const { tools } = createTools();
  const headers = await authorizeByOauth(settingsOf({ scope: "a b", audience: "api://x" }), tools);
  assert.deepEqual(headers, { authorization: "Bearer token-1" });
  const [first] = asked;
  assert.equal(first?.headers.authorization, `Basic ${Buffer.from("client+1:s%3Ae%2Fc").toString("base64")}`);
  assert.equal(first?.headers["content-type"], "application/x-www-form-urlencoded");
  assert.deepEqual(Object.fromEntries(new URLSearchParams(first?.body)), {
    grant_type: "client_credentials",
    scope: "a b",
    audience: "api://x",
  });
});

test("authorizeByOauth() with auth_method post sends the client in the form", async () => {
  const { tools } = createTools();
  await authorizeByOauth(settingsOf({ auth_method: "post" }), tools);
  const [first] = asked;
  assert.equal(first?.headers.authorization, undefined);
  assert.deepEqual(Object.fromEntries(new URLSearchParams(first?.body)), {
    grant_type: "client_credentials",
    client_id: "client 1",
    client_secret: "s:e/c",
  });
});

test("authorizeByOauth() caches tokens until shortly before they expire, and fetches them once for parallel calls", async () => {
  const { tools, clock } = createTools();
  await Promise.all(Array.from({ length: 20 }, () => authorizeByOauth(settingsOf(), tools)));
  assert.equal(asked.length, 1);
  clock.advance(3_500_000);
  await authorizeByOauth(settingsOf(), tools);
  assert.equal(asked.length, 1);
  clock.advance(45_000);
  answer.body = JSON.stringify({ access_token: "token-2", expires_in: 3600 });
  const renewed = await Promise.all(Array.from({ length: 20 }, () => authorizeByOauth(settingsOf(), tools)));
  assert.equal(asked.length, 2);
  assert.deepEqual(new Set(renewed.map(({ authorization }) => authorization)), new Set(["Bearer token-2"]));
});

test("authorizeByOauth() fetches tokens per secret, scope and tenant", async () => {
  const { tools } = createTools();
  await authorizeByOauth(settingsOf(), tools);
  await authorizeByOauth(settingsOf({ client_secret: "other" }), tools);
  await authorizeByOauth(settingsOf({ scope: "x" }), tools);
  await authorizeByOauth(settingsOf(), { ...tools, tenant: ["o", "v"] });
  assert.equal(asked.length, 4);
});

for (const [status, body, wanted, pattern] of [
  [401, { error: "invalid_client", error_description: "no such client" }, 401, /invalid_client, no such client/],
  [400, { error: "invalid_scope" }, 401, /invalid_scope/],
  [503, "busy", 503, /it returned status 503/],
  [429, {}, 429, /it returned status 429/],
  [302, {}, 502, /it returned status 302/],
  [200, { token_type: "Bearer" }, 502, /contains no bearer token/],
  [200, { access_token: "a", token_type: "mac" }, 502, /contains no bearer token/],
  [200, "<html>", 502, /contains no bearer token/],
] as const) {
  test(`authorizeByOauth() fails with ${wanted} when the service returns ${status} ${JSON.stringify(body)}`, async () => {
    const { tools } = createTools();
    answer = { status, body: typeof body === "string" ? body : JSON.stringify(body) };
    await assert.rejects(authorizeByOauth(settingsOf(), tools), (error: Error) => {
      assert.equal(Reflect.get(error, "status"), wanted);
      assert.match(error.message, pattern);
      assert.doesNotMatch(error.message, /s:e\/c/);
      return true;
    });
    answer = { status: 200, body: '{"access_token":"later","expires_in":"120"}' };
    assert.deepEqual(await authorizeByOauth(settingsOf(), tools), { authorization: "Bearer later" });
  });
}

test("authorizeByOauth() rejects a URL that may not be called", async () => {
  const { tools } = createTools([]);
  await assert.rejects(
    authorizeByOauth(settingsOf(), tools),
    (error) => Reflect.get(Object(error), "status") === 400 && /oauth\.token_url/.test(String(error)),
  );
  const metadata = settingsOf({ token_url: "http://169.254.169.254/token" });
  await assert.rejects(authorizeByOauth(metadata, createTools().tools), /oauth\.token_url/);
  assert.equal(asked.length, 0);
});

for (const [text, pattern] of [
  ["{", /must be a JSON object/],
  ["[]", /must be|Cannot use oauth/],
  ["{}", /Cannot use oauth\.token_url: must be given/],
  [JSON.stringify({ ...client, token_url: "ftp://x" }), /oauth\.token_url: must start/],
  [JSON.stringify({ ...client, auth_method: "jwt" }), /oauth\.auth_method: must be basic or post/],
  [JSON.stringify({ ...client, client_secret: "" }), /oauth\.client_secret: must not be empty/],
] as const) {
  test(`readOauthSettings() rejects ${text.slice(0, 40)}`, () => {
    assert.throws(() => readOauthSettings(text), pattern);
  });
}

const ask = (headers: HeaderChanges) =>
  chat(gateway, helloBody, {
    "x-gateway-provider": "openai",
    "x-gateway-custom-host": `${upstream.url}/v1`,
    ...headers,
  });

test("oauth settings authorise the calls of every provider", async () => {
  const response = await ask({ "x-gateway-oauth": JSON.stringify(client), authorization: "Bearer own-key" });
  assert.equal(response.status, 200, await response.text());
  assert.equal(calls.at(-1)?.authorization, "Bearer token-1");
});

test("oauth is a field of a config", async () => {
  const config = { provider: "azure-openai", custom_host: upstream.url, oauth: client, azure_api_version: "v1" };
  const response = await chat(gateway, helloBody, {
    "x-gateway-provider": null,
    "x-gateway-config": JSON.stringify(config),
  });
  assert.equal(response.status, 200, await response.text());
  assert.equal(calls.at(-1)?.authorization, "Bearer token-1");
  assert.equal(calls.at(-1)?.["api-key"], undefined);
});

test("oauth clients that are rejected are reported without their secret", async () => {
  answer = { status: 401, body: JSON.stringify({ error: "invalid_client" }) };
  const oauth = JSON.stringify({ ...client, client_secret: "very-secret-value" });
  const response = await ask({ "x-gateway-oauth": oauth });
  const text = await response.text();
  assert.equal(response.status, 401, text);
  assert.match(text, /invalid_client/);
  assert.doesNotMatch(text, /very-secret-value/);
});

test("oauth clients that cannot be read are rejected before any call", async () => {
  const response = await ask({ "x-gateway-oauth": "{}" });
  assert.equal(response.status, 400);
  const { error } = await readJson<{ error: { param: string } }>(response);
  assert.equal(error.param, "oauth.token_url");
});

test("oauth token requests end with the timeout of the call", async () => {
  const silent = await startServer(() => {});
  // the token service has a longer timeout, and a missing response is another error
  const oauth = JSON.stringify({ ...client, token_url: `${silent.url}/token` });
  const response = await ask({ "x-gateway-oauth": oauth, "x-gateway-request-timeout": "100" });
  assert.equal(response.status, 408, await response.text());
  await silent.close();
});
