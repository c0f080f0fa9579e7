import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { readSettings } from "../src/settings.ts";
import { cookieOf, type ShownSession } from "./console/support.ts";
import { authorizeAddress, codeForm, formOf, TestBrowser, type Tokens } from "./mcp/oauth-support.ts";
import { mcpServer, serversOf } from "./mcp/support.ts";
import { call, done } from "./support/control.ts";
import {
  adminKey,
  createTestGateway,
  helloBody,
  readJson,
  type TestGateway,
  type TestGatewayOptions,
  workspaceKey,
} from "./support/gateway.ts";
import { startIdentityProvider } from "./support/identity-provider.ts";
import { addPerson, type List, type Person } from "./support/people.ts";
import { type RecordingUpstream, startRecordingUpstream } from "./support/upstream.ts";

const origin = "http://127.0.0.1";
const base = `${origin}/gateway`;
const resource = `${base}/m/everything/mcp`;
const trusted = "10.0.0.1";

interface Proxy {
  readonly name: string;
  readonly options: TestGatewayOptions;
  /** Whether the proxy takes the path off before it passes a request on. */
  readonly takesOff: boolean;
  readonly headers: Record<string, string>;
}

const proxies: readonly Proxy[] = [
  { name: "passes the path on", options: { basePath: "/gateway" }, takesOff: false, headers: {} },
  { name: "takes the path off", options: { basePath: "/gateway" }, takesOff: true, headers: {} },
  {
    name: "takes the path off and names it",
    options: { trustedProxies: [trusted] },
    takesOff: true,
    headers: { "x-forwarded-prefix": "/gateway/" },
  },
];

/** Sends a request to a public address as a proxy does, which has the gateway below a path of its host. */
function behind({ takesOff, headers }: Proxy, { gateway }: TestGateway) {
  return async (address: string | Request, init?: RequestInit): Promise<Response> => {
    const request = new Request(address, init);
    const { pathname, search } = new URL(request.url);
    const isOfGateway = /^\/(?:\.well-known\/[^/]+\/)?gateway(?:\/|$)/.test(pathname);
    assert.ok(isOfGateway, `${pathname} is not of the gateway`);
    const path = takesOff ? pathname.replace(/^\/gateway/, "") || "/" : pathname;
    const passed = new Request(`${origin}${path}${search}`, {
      method: request.method,
      headers: { ...Object.fromEntries(request.headers), ...headers },
      ...(request.body && { body: await request.text() }),
      redirect: "manual",
    });
    return gateway.fetch(passed, { remoteAddress: trusted });
  };
}

for (const proxy of proxies) {
  describe(`behind a proxy that ${proxy.name}`, () => {
    let upstream: RecordingUpstream;
    let gateway: TestGateway;
    let person: Person;
    let send: ReturnType<typeof behind>;
    before(async () => {
      upstream = await startRecordingUpstream((request, response) => {
        const { id } = JSON.parse(request.text);
        response.writeHead(200, { "content-type": "application/json" });
        response.end(JSON.stringify({ jsonrpc: "2.0", id, result: { tools: [] } }));
      });
      const servers = serversOf(mcpServer(`${upstream.url}/mcp`));
      gateway = await createTestGateway({ mcpServers: servers, ...proxy.options });
      const { data } = await done(call<List<{ id: string }>>(gateway, "GET /admin/workspaces"));
      const workspaces = [{ id: data[0]?.id ?? "", role: "member" }];
      const scopes = ["mcp.invoke", "mcp_servers.list", "mcp_servers.read"];
      person = await addPerson(gateway, "ada@example.com", { workspaces, scopes });
      send = behind(proxy, gateway);
    });
    after(async () => {
      await gateway.close();
      await upstream.close();
    });
    const json = async <Shape>(path: string, { key = adminKey, body }: { key?: string; body?: unknown } = {}) => {
      const headers = { "x-gateway-api-key": key, "content-type": "application/json", "x-gateway-provider": "echo" };
      const init = body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) };
      const response = await send(base + path, init);
      assert.equal(response.status, 200, path);
      return readJson<Shape>(response);
    };
    const signIn = (key: string) =>
      send(`${base}/console/session`, {
        method: "POST",
        headers: { "content-type": "application/json", "sec-fetch-site": "same-origin", origin },
        body: JSON.stringify({ key }),
      });

    test("pages of the console name their files and their path, under the same strict policy", async () => {
      for (const path of ["/console", "/console/logs/01ABC", "/console/sign-in"]) {
        const response = await send(base + path);
        const page = await response.text();
        assert.match(page, /<meta name="base-path" content="\/gateway">/);
        const script = /src="([^"]+)"/.exec(page)?.[1] ?? "";
        assert.match(script, /^\/gateway\/console\/assets\//);
        const policy = response.headers.get("content-security-policy") ?? "";
        assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self' 'nonce-[\w-]+'; /);
        assert.match(policy, /base-uri 'none'/);
        assert.equal((await send(origin + script)).status, 200);
      }
    });

    test("browsers are sent to addresses below the path", async () => {
      const headers = { accept: "text/html" };
      assert.equal((await send(base, { headers })).headers.get("location"), "/gateway/console");
      const invite = await send(`${base}/invites/01ABC?token=t`);
      assert.equal(invite.headers.get("location"), "/gateway/console/accept-invite?invite=01ABC&token=t");
    });

    test("a session of the console has a cookie that no gateway below another path of the host replaces", async () => {
      const begun = await signIn(adminKey);
      const cookie = cookieOf(begun);
      assert.match(cookie, /^gateway-console\+gateway=./);
      const { csrf_token: token } = await readJson<ShownSession>(begun);
      const headers = { cookie, "x-gateway-csrf": token, "sec-fetch-site": "same-origin", origin };
      assert.equal((await send(`${base}/v1/configs`, { headers })).status, 200);
      const foreign = { ...headers, "sec-fetch-site": "cross-site", origin: "http://evil.example" };
      assert.equal((await send(`${base}/v1/configs`, { headers: foreign })).status, 403);
      const ended = await send(`${base}/console/session`, { method: "DELETE", headers });
      assert.match(ended.headers.get("set-cookie") ?? "", /^gateway-console\+gateway=; Path=\/; Max-Age=0/);
    });

    test("a model answers below the path, and another path of the host is nothing of the gateway", async () => {
      const { object } = await json<{ object: string }>("/v1/chat/completions", { key: workspaceKey, body: helloBody });
      assert.equal(object, "chat.completion");
      const beside = await gateway.fetch("/gateways/v1/models", {}, { remoteAddress: trusted });
      assert.equal(beside.status, 404);
    });

    test("links and documents of the control plane begin with the public address", async () => {
      const { servers } = await json<{ servers: { url: string }[] }>("/openapi.json");
      assert.deepEqual(servers, [{ url: "/gateway" }]);
      const invited = await json<{ invite_link: string }>("/v1/admin/users/invites", {
        body: { email: "eve@example.com", role: "member", workspaces: [] },
      });
      assert.ok(invited.invite_link.startsWith(`${base}/invites/`));
      assert.equal((await send(invited.invite_link)).status, 303);
      const catalog = await json<{ servers: { server: { remotes: { url: string }[] } }[] }>("/m/v0.1/servers", {
        key: workspaceKey,
      });
      assert.equal(catalog.servers[0]?.server.remotes[0]?.url, resource);
    });

    test("single sign-on returns below the path, and to no other site", async () => {
      const provider = await startIdentityProvider({});
      try {
        const { data } = await done(call<List<{ id: string }>>(gateway, "GET /admin/workspaces"));
        assert.ok(data.length > 0);
        const { id } = (await done(call<{ data: { id: string } }>(gateway, "GET /organisations/self"))).data;
        const oidc = { issuer: provider.url, client_id: "gateway", client_secret: "aFakeSecret" };
        await done(call(gateway, `PUT /organisations/${id}/auth-settings`, { body: { oidc } }));
        for (const [asked, shown] of [
          ["/gateway/console/logs?status=500", "/gateway/console/logs?status=500"],
          ["/gateway/evil", "/gateway/console"],
          ["/gateway//evil.example", "/gateway/console"],
          ["//evil.example", "/gateway/console"],
        ] as const) {
          const begun = await send(`${base}/console/sign-in/oidc?return_to=${encodeURIComponent(asked)}`);
          const there = begun.headers.get("location") ?? "";
          assert.equal(new URL(there).searchParams.get("redirect_uri"), `${base}/console/sign-in/callback`);
          const back = await fetch(there, { redirect: "manual" });
          await back.body?.cancel();
          const ended = await send(back.headers.get("location") ?? "", { headers: { cookie: cookieOf(begun) } });
          assert.deepEqual([ended.status, ended.headers.get("location")], [303, shown]);
        }
        const stale = await send(`${base}/console/sign-in/callback?state=none`);
        assert.match(stale.headers.get("location") ?? "", /^\/gateway\/console\/sign-in\?problem=/);
      } finally {
        await provider.close();
      }
    });

    test("a client of MCP finds its way from the first refusal to a call", async () => {
      const request = {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          "mcp-protocol-version": "2025-11-25",
        },
        body: '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}',
      };
      const refused = await send(resource, request);
      const metadata = /resource_metadata="([^"]+)"/.exec(refused.headers.get("www-authenticate") ?? "")?.[1] ?? "";
      const found = await readJson<{ resource: string; authorization_servers: string[] }>(await send(metadata));
      assert.deepEqual([refused.status, found.resource, found.authorization_servers], [401, resource, [`${base}/m`]]);
      // the last of the addresses that clients ask: the only one below the path
      const document = await readJson<Record<string, string>>(await send(`${base}/m/.well-known/openid-configuration`));
      assert.equal(document.issuer, `${base}/m`);
      const { client_id: clientId = "" } = await readJson<Record<string, string>>(
        await send(document.registration_endpoint ?? "", {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ client_name: "A client", redirect_uris: ["http://127.0.0.1:9000/callback"] }),
        }),
      );
      const browser = new TestBrowser({ gateway: { fetch: send } }, base);
      const { search } = new URL(authorizeAddress(clientId, { resource }));
      let page = await browser.send((document.authorization_endpoint ?? "") + search);
      page = await browser.submit(formOf(page), { key: person.key }, { origin });
      page = await browser.submit(formOf(page), { decision: "allow" }, { origin });
      const answer = new URL(page.headers.get("location") ?? "");
      assert.equal(answer.searchParams.get("iss"), `${base}/m`);
      assert.ok([...browser.cookies.keys()].every((name) => name.endsWith("+gateway")));
      const form = { ...codeForm(clientId, answer.searchParams.get("code") ?? ""), resource };
      const tokens = await readJson<Tokens>(
        await send(document.token_endpoint ?? "", { method: "POST", body: new URLSearchParams(form) }),
      );
      const authorization = `Bearer ${tokens.access_token}`;
      const called = await send(resource, { ...request, headers: { ...request.headers, authorization } });
      assert.equal(called.status, 200);
    });

    if (proxy.options.basePath !== undefined) {
      test("documents of discovery are also where their standards put them: at the root of the host", async () => {
        const path = `/.well-known/oauth-protected-resource/gateway/m/everything/mcp`;
        assert.equal((await readJson<{ resource: string }>(await send(origin + path))).resource, resource);
        for (const name of ["oauth-authorization-server", "openid-configuration"]) {
          const found = await send(`${origin}/.well-known/${name}/gateway/m`);
          assert.equal((await readJson<{ issuer: string }>(found)).issuer, `${base}/m`);
        }
      });
    }
  });
}

const hostile = [
  "//evil.example",
  "/gateway//evil.example",
  "https://evil.example",
  "/../admin",
  "/gateway/..",
  "/.well-known",
  "/%2e%2e/x",
  "/%2f%2fevil.example",
  "/gate way",
  "/gateway, /other",
  '/"><script>alert(1)</script>',
  "/gateway\\evil",
  "/gateway?x=1",
  "/gateway#x",
  "/gateway;x",
  "/gatewäy",
  "gateway",
  "/gateway\u2028x",
  `/${"x".repeat(65)}`,
  "/x".repeat(9),
  "/x".repeat(20_000),
];

test("what is no plain path below a host is refused, from a trusted proxy and in the settings", async () => {
  const gateway = await createTestGateway({ trustedProxies: [trusted] });
  try {
    const open = (path: string, prefix: string, remoteAddress: string) => {
      const headers = new Headers({ accept: "text/html" });
      // as bytes arrive
      headers.set("x-forwarded-prefix", Buffer.from(prefix, "utf8").toString("latin1"));
      return gateway.gateway.fetch(new Request(origin + path, { headers }), { remoteAddress });
    };
    for (const prefix of hostile) {
      assert.throws(() => readSettings({ BASE_PATH: prefix }), /BASE_PATH/, prefix.slice(0, 80));
      for (const path of ["/", "/console", "/console/logs", "/invites/01ABC?token=t", "/openapi.json"]) {
        const answer = await open(path, prefix, trusted);
        assert.equal(answer.status, 400, `${path} with ${prefix.slice(0, 80)}`);
        assert.match(await answer.text(), /x-forwarded-prefix/);
        // whoever else sends it is not heard
        const other = await open(path, prefix, "192.0.2.1");
        assert.ok(other.status < 400);
        const shown = path === "/openapi.json" ? "" : await other.text();
        assert.doesNotMatch((other.headers.get("location") ?? "") + shown, /evil|alert/);
      }
    }
    const other = await open("/", "/gateway", "192.0.2.1");
    assert.equal(other.headers.get("location"), "/console");
  } finally {
    await gateway.close();
  }
});

test("a line end in the header or the variable is refused", () => {
  assert.throws(() => new Headers({ "x-forwarded-prefix": "/gateway\r\nset-cookie: a=b" }));
  assert.throws(() => readSettings({ BASE_PATH: "/gateway\r\nset-cookie: a=b" }), /BASE_PATH/);
  assert.equal(readSettings({ BASE_PATH: "/gateway/" }).gateway.basePath, "/gateway");
});

for (const path of ["/v1", "/m/x", "/console", "/.well-known", "/openapi.json"]) {
  test(`${path} cannot be the path below which the gateway is: it has rows there`, async () => {
    await assert.rejects(createTestGateway({ basePath: path }), /BASE_PATH/);
  });
}
