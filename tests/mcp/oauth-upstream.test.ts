import assert from "node:assert/strict";
import { test } from "node:test";
import type { McpServer } from "../../src/mcp/registry/mcp-server.ts";
import { readJson } from "../support/gateway.ts";
import {
  authorizeAddress,
  callServer,
  codeForm,
  createOauthStack,
  formOf,
  linkOf,
  type OauthStack,
  origin,
  TestBrowser,
  type Tokens,
} from "./oauth-support.ts";
import { mcpServer, modernMeta, rpc } from "./support.ts";
import {
  connectAccount,
  type Provider,
  type ProviderBehaviour,
  signInAtProvider,
  startProvider,
} from "./upstream-support.ts";

interface Setting {
  readonly provider: Provider;
  readonly stack: OauthStack;
}

type Options = NonNullable<Parameters<typeof createOauthStack>[1]>;

/** Runs a test with a provider and a gateway in front of its MCP server. */
async function withProvider(
  behaviour: ProviderBehaviour,
  run: (setting: Setting) => Promise<void>,
  { server = {}, options = {} }: { server?: Partial<McpServer>; options?: Options } = {},
): Promise<void> {
  const provider = await startProvider(behaviour);
  const upstream = mcpServer(`${provider.url}/mcp`, { authType: "oauth_auto", ...server });
  const stack = await createOauthStack(upstream, options);
  try {
    await run({ provider, stack });
  } finally {
    await stack.close();
    await provider.close();
  }
}

interface RpcAnswer {
  error?: { code: number; message: string; data: Record<string, string> };
  result?: Record<string, unknown>;
}

const call = rpc("tools/call", { name: "a", arguments: {} });

async function callWithKey(stack: OauthStack, key = stack.person.key, body = call) {
  const response = await callServer(stack, key, { body });
  return { status: response.status, body: await readJson<RpcAnswer>(response) };
}

/** Connects the account that a call asks for. */
async function connectFirst(setting: Setting): Promise<void> {
  const { body } = await callWithKey(setting.stack);
  const { page } = await connectAccount(setting, body.error?.data.authorization_url ?? "");
  assert.match(page.text, /Connected/);
}

test("a user of a key is asked to connect, connects, and calls with the own account", () =>
  withProvider({}, async ({ provider, stack }) => {
    const { status, body } = await callWithKey(stack);
    assert.equal(status, 200);
    assert.equal(body.error?.code, 401);
    assert.equal(body.error?.data.type, "oauth_required");
    const { hop, page } = await connectAccount({ stack }, body.error?.data.authorization_url ?? "");
    const address = new URL(linkOf(hop.text));
    assert.equal(address.searchParams.get("code_challenge_method"), "S256");
    assert.equal(address.searchParams.get("resource"), `${provider.url}/mcp`);
    assert.equal(address.searchParams.get("scope"), "tools");
    assert.match(page.text, /Connected/);
    const called = await callWithKey(stack);
    const [token] = [...provider.valid.keys()];
    assert.deepEqual(called.body.result?.content, [{ type: "text", text: `Bearer ${token}` }]);
    const sent = provider.calls.at(-1);
    assert.ok(!JSON.stringify(sent?.headers).includes(stack.person.key));
  }));

test("a client that authorizes sends the browser on to the upstream after consent, never before", () =>
  withProvider({}, async ({ provider, stack }) => {
    const { client_id: clientId = "" } = await stack.register();
    const browser = new TestBrowser(stack);
    let page = await browser.send(authorizeAddress(clientId));
    page = await browser.submit(formOf(page), { key: stack.person.key });
    assert.match(page.text, /Allow access/);
    assert.ok(!page.text.includes(provider.url));
    page = await browser.submit(formOf(page), { decision: "allow" });
    const back = await signInAtProvider(linkOf(page.text));
    const answer = new URL((await browser.send(back)).headers.get("location") ?? "");
    const form = codeForm(clientId, answer.searchParams.get("code") ?? "");
    const tokens = await readJson<Tokens>(await stack.post("/m/oauth/token", form));
    const called = await callServer(stack, tokens.access_token, { body: call });
    assert.equal(called.status, 200);
    // an account that is gone starts the flow of the client again
    provider.valid.clear();
    provider.behaviour.token = () => ({ status: 400, body: { error: "invalid_grant" } });
    const refused = await callServer(stack, tokens.access_token, { body: call });
    assert.equal(refused.status, 401);
    assert.match(refused.headers.get("www-authenticate") ?? "", /invalid_token.*resource_metadata/);
  }));

test("a modern client that can show addresses is asked for input, and the same call succeeds afterwards", () =>
  withProvider({}, async ({ stack }) => {
    const capabilities = { elicitation: { url: {} } };
    const meta = { ...modernMeta, "io.modelcontextprotocol/clientCapabilities": capabilities };
    const body = rpc("tools/call", { name: "a", arguments: {}, _meta: meta });
    const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "a" };
    const ask = async () => readJson<RpcAnswer>(await callServer(stack, stack.person.key, { body, headers }));
    const { result } = await ask();
    assert.ok(result);
    assert.equal(result.resultType, "input_required");
    const { connect } = result.inputRequests as { connect: { method: string; params: { mode: string; url: string } } };
    assert.deepEqual([connect.method, connect.params.mode], ["elicitation/create", "url"]);
    await connectAccount({ stack }, connect.params.url);
    assert.equal((await ask()).result?.resultType, "complete");
  }));

test("a key of a service is refused where servers need the account of a user", () =>
  withProvider({}, async ({ stack }) => {
    const { body } = await callWithKey(stack, "test-workspace-key-000000");
    assert.equal(body.error?.data.type, "user_required");
  }));

test("fifty parallel calls at the end of a token make one refresh", () => {
  let now = Date.now();
  const clock = { now: () => now, monotonic: () => performance.now() };
  return withProvider(
    { rotates: true },
    async (setting) => {
      const { provider, stack } = setting;
      await connectFirst(setting);
      now += 3_590_000;
      const before = provider.tokenRequests.length;
      const answers = await Promise.all(Array.from({ length: 50 }, () => callWithKey(stack)));
      assert.ok(answers.every(({ body }) => body.result !== undefined));
      assert.equal(provider.tokenRequests.length - before, 1);
    },
    { options: { clock, mcp: { baseUrl: origin } } },
  );
});

test("a refresh that fails with 503 costs nobody the account, and one with invalid_grant does", () => {
  let now = Date.now();
  const clock = { now: () => now, monotonic: () => performance.now() };
  return withProvider(
    {},
    async (setting) => {
      const { provider, stack } = setting;
      await connectFirst(setting);
      now += 3_590_000;
      provider.behaviour.token = () => ({ status: 503, body: {} });
      assert.ok((await callWithKey(stack)).body.result, "the token is still valid for ten seconds");
      now += 20_000;
      const away = await callWithKey(stack);
      assert.deepEqual([away.status, away.body.error?.data.type], [502, "upstream_auth_unavailable"]);
      delete provider.behaviour.token;
      assert.ok((await callWithKey(stack)).body.result);
      now += 3_600_000;
      provider.behaviour.token = () => ({ status: 400, body: { error: "invalid_grant" } });
      assert.equal((await callWithKey(stack)).body.error?.data.type, "oauth_required");
      delete provider.behaviour.token;
      assert.equal((await callWithKey(stack)).body.error?.data.type, "oauth_required");
      await connectFirst(setting);
      assert.ok((await callWithKey(stack)).body.result);
    },
    { options: { clock, mcp: { baseUrl: origin } } },
  );
});

test("a token that the upstream refuses is replaced once, and the call sent again", () =>
  withProvider({ rotates: true }, async (setting) => {
    const { provider, stack } = setting;
    await connectFirst(setting);
    provider.valid.clear();
    const { body } = await callWithKey(stack);
    assert.ok(body.result);
    assert.equal(provider.tokenRequests.at(-1)?.form.get("grant_type"), "refresh_token");
  }));

test("an upstream that wants more scopes makes the user connect again, with all of them", () =>
  withProvider({ wantsScope: "admin" }, async (setting) => {
    const { stack } = setting;
    await connectFirst(setting);
    const refused = await callWithKey(stack);
    assert.equal(refused.body.error?.data.type, "oauth_required");
    const { hop } = await connectAccount(setting, refused.body.error?.data.authorization_url ?? "");
    assert.equal(new URL(linkOf(hop.text)).searchParams.get("scope"), "tools admin");
    assert.ok((await callWithKey(stack)).body.result);
  }));

for (const [name, isConnected, behaviour] of [
  ["names the issuer, as announced", true, {}],
  [
    "lacks the announced issuer",
    false,
    { answer: ({ iss: _, ...rest }: Record<string, string>) => rest as Record<string, string> },
  ],
  [
    "names another issuer",
    false,
    { answer: (given: Record<string, string>) => ({ ...given, iss: "https://evil.test" }) },
  ],
  [
    "names the issuer with a slash more",
    false,
    { answer: (given: Record<string, string>) => ({ ...given, iss: `${given.iss}/` }) },
  ],
  [
    "names another issuer, which was not announced",
    false,
    {
      metadata: (document: Record<string, unknown>) => ({
        ...document,
        authorization_response_iss_parameter_supported: undefined,
      }),
      answer: (given: Record<string, string>) => ({ ...given, iss: "https://evil.test" }),
    },
  ],
  [
    "names no issuer, and announced none",
    true,
    {
      metadata: (document: Record<string, unknown>) => ({
        ...document,
        authorization_response_iss_parameter_supported: undefined,
      }),
      answer: ({ iss: _, ...rest }: Record<string, string>) => rest as Record<string, string>,
    },
  ],
] as const) {
  test(`an account is ${isConnected ? "" : "not "}connected by an answer that ${name}`, () =>
    withProvider(behaviour, async ({ provider, stack }) => {
      const { body } = await callWithKey(stack);
      const before = provider.tokenRequests.length;
      const { page } = await connectAccount({ stack }, body.error?.data.authorization_url ?? "");
      assert.equal(/Connected/.test(page.text), isConnected);
      assert.equal(provider.tokenRequests.length - before, isConnected ? 1 : 0);
    }));
}

for (const [name, behaviour, reason] of [
  [
    "metadata of another issuer",
    { metadata: (document: object) => ({ ...document, issuer: "https://evil.test" }) },
    /another issuer/,
  ],
  [
    "no PKCE",
    { metadata: (document: object) => ({ ...document, code_challenge_methods_supported: ["plain"] }) },
    /PKCE/,
  ],
  [
    "a resource of another host",
    { resourceMetadata: (document: object) => ({ ...document, resource: "https://evil.test/mcp" }) },
    /another address/,
  ],
  [
    "a resource beside the server",
    { resourceMetadata: (document: object, base: string) => ({ ...document, resource: `${base}/mc` }) },
    /another address/,
  ],
  [
    "a token endpoint at a metadata address",
    { metadata: (document: object) => ({ ...document, token_endpoint: "http://169.254.169.254/token" }) },
    /not allowed/,
  ],
  [
    "a token endpoint at a private address",
    { metadata: (document: object) => ({ ...document, token_endpoint: "https://10.0.0.1/token" }) },
    /not allowed/,
  ],
  [
    "an authorization endpoint that is a script",
    { metadata: (document: object) => ({ ...document, authorization_endpoint: "javascript:alert(1)" }) },
    /not allowed/,
  ],
  [
    "a private authorization server",
    { resourceMetadata: (document: object) => ({ ...document, authorization_servers: ["https://192.168.0.1"] }) },
    /cannot be read/,
  ],
] as const) {
  test(`an upstream with ${name} is not connected`, () =>
    withProvider(behaviour, async ({ provider, stack }) => {
      const { body } = await callWithKey(stack);
      const browser = new TestBrowser(stack);
      let page = await browser.send(body.error?.data.authorization_url ?? "");
      page = await browser.submit(formOf(page), { key: stack.person.key });
      page = await browser.submit(formOf(page), { decision: "allow" });
      assert.equal(page.status, 502);
      assert.match(page.text, reason);
      assert.equal(provider.registrations.length, 0);
    }));
}

test("an answer of the upstream works once, in the browser that asked, for the user who consented", () =>
  withProvider({}, async ({ stack, provider }) => {
    const { body } = await callWithKey(stack);
    const address = body.error?.data.authorization_url ?? "";
    const victim = new TestBrowser(stack);
    const stolen = async () => {
      const browser = new TestBrowser(stack);
      let page = await browser.send(address);
      page = await browser.submit(formOf(page), { key: stack.person.key });
      page = await browser.submit(formOf(page), { decision: "allow" });
      return signInAtProvider(linkOf(page.text));
    };
    const foreign = await victim.send(await stolen());
    assert.equal(foreign.status, 400);
    assert.equal(provider.tokenRequests.length, 0);
    const { browser, back } = await connectAccount({ stack }, address);
    assert.equal((await browser.send(back)).status, 400);
  }));

test("the account of one user is nobody else's, whatever the method", () =>
  withProvider({}, async (setting) => {
    const { stack } = setting;
    await connectFirst(setting);
    const { addPerson } = await import("../support/people.ts");
    const workspaces = [{ id: stack.workspaceId, role: "member" }];
    const other = await addPerson(stack, "grace@example.com", { workspaces, scopes: ["mcp.invoke"] });
    for (const method of ["tools/list", "prompts/get", "resources/read", "tools/call"]) {
      const body = rpc(method, { name: "a", uri: "a:b", arguments: {} });
      const { body: answer } = await callWithKey(stack, other.key, body);
      assert.equal(answer.error?.data.type, "oauth_required", method);
    }
  }));

test("tokens are not sent to an address the server got later", () =>
  withProvider({}, async (setting) => {
    const { stack, provider } = setting;
    await connectFirst(setting);
    const other = await startProvider();
    stack.servers.set(mcpServer(`${other.url}/mcp`, { authType: "oauth_auto" }));
    const { body } = await callWithKey(stack);
    assert.equal(body.error?.data.type, "oauth_required");
    assert.equal(other.calls.length, 0);
    assert.ok(provider.calls.length > 0);
    await other.close();
  }));

test("an integration with client credentials calls with one token for all, and another one after a refusal", () =>
  withProvider(
    {},
    async ({ stack, provider }) => {
      const answers = await Promise.all(Array.from({ length: 20 }, () => callWithKey(stack)));
      assert.ok(answers.every(({ body }) => body.result));
      assert.equal(provider.tokenRequests.length, 1);
      const [request] = provider.tokenRequests;
      assert.equal(request?.authorization, `Basic ${btoa("machine:aFakeSecret")}`);
      assert.equal(request?.form.get("resource"), `${provider.url}/mcp`);
      provider.valid.clear();
      assert.ok((await callWithKey(stack)).body.result);
      assert.equal(provider.tokenRequests.length, 2);
    },
    {
      server: {
        authType: "oauth_client_credentials",
        openConfigurations: async () => ({ oauth_metadata: { client_id: "machine", client_secret: "aFakeSecret" } }),
      },
    },
  ));

test("settings replace what is discovered: client, parameters, and whether resource is sent", () =>
  withProvider(
    {},
    async ({ stack, provider }) => {
      const { body } = await callWithKey(stack);
      const { hop, page } = await connectAccount({ stack }, body.error?.data.authorization_url ?? "");
      const { searchParams } = new URL(linkOf(hop.text));
      assert.equal(searchParams.get("client_id"), "preset");
      assert.equal(searchParams.get("resource"), null);
      assert.equal(searchParams.get("access_type"), "offline");
      assert.notEqual(searchParams.get("state"), "fixed");
      assert.match(page.text, /Connected/);
      assert.equal(provider.registrations.length, 0);
      assert.equal(provider.tokenRequests.at(-1)?.form.get("client_secret"), "aFakeSecret");
    },
    {
      server: {
        openConfigurations: async () => ({
          oauth_metadata: {
            client_id: "preset",
            client_secret: "aFakeSecret",
            token_endpoint_auth_method: "client_secret_post",
            send_resource: false,
            authorization_params: { access_type: "offline", state: "fixed" },
          },
        }),
      },
    },
  ));

test("an upstream of 2025-03-26 without any metadata is connected at its default paths", () =>
  withProvider({ isOld: true }, async ({ stack, provider }) => {
    const { body } = await callWithKey(stack);
    const { hop, page } = await connectAccount({ stack }, body.error?.data.authorization_url ?? "");
    assert.ok(linkOf(hop.text).startsWith(`${provider.url}/authorize?`));
    assert.match(page.text, /Connected/);
    assert.ok((await callWithKey(stack)).body.result);
  }));

const listed: Partial<McpServer> = {
  settings: { ...mcpServer("").settings, list_without_connection: true },
  capabilities: {
    ...mcpServer("").capabilities,
    tool: new Map([
      ["a", { id: "a", definition: { name: "a", inputSchema: { type: "object" } }, approved: null, isListed: true }],
    ]),
  },
};

test("with list_without_connection, users without an account begin and list what is stored; calls ask for the account", () =>
  withProvider(
    {},
    async ({ provider, stack }) => {
      const ask = async (method: string, params: object = {}) =>
        (await callWithKey(stack, stack.person.key, rpc(method, params))).body;
      const begun = await ask("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: {} });
      assert.deepEqual(begun.result?.serverInfo, { name: "everything", title: "Everything", version: "0.0.0" });
      const { tools } = (await ask("tools/list")).result as { tools: { name: string }[] };
      assert.deepEqual(
        tools.map(({ name }) => name),
        ["a"],
      );
      assert.equal(provider.calls.length, 0);
      const asked = await ask("tools/call", { name: "a", arguments: {} });
      assert.equal(asked.error?.data.type, "oauth_required");
      const { page } = await connectAccount({ stack }, asked.error?.data.authorization_url ?? "");
      assert.match(page.text, /Connected/);
      // the client has no session of the server, and goes on
      const called = await ask("tools/call", { name: "a", arguments: {} });
      assert.deepEqual(called.result?.content, [{ type: "text", text: provider.calls.at(-1)?.authorization }]);
      assert.deepEqual((await ask("tools/list")).result?.tools, []);
    },
    { server: listed },
  ));

test("without list_without_connection, lists ask for the account", () =>
  withProvider({}, async ({ stack }) => {
    const { body } = await callWithKey(stack, stack.person.key, rpc("tools/list"));
    assert.equal(body.error?.data.type, "oauth_required");
  }));
