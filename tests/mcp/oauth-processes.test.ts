import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { eventually } from "../support/eventually.ts";
import { createTemporaryFolder, readJson } from "../support/gateway.ts";
import { addPerson, type Person } from "../support/people.ts";
import {
  authorize,
  authorizeAddress,
  callServer,
  codeForm,
  defaultWorkspaceOf,
  formOf,
  linkOf,
  origin,
  redirectUri,
  TestBrowser,
  type Tokens,
  userScopes,
} from "./oauth-support.ts";
import { createMcpGateway, mcpServer, rpc, serversOf } from "./support.ts";
import { type Provider, startProvider } from "./upstream-support.ts";

// Two gateways on one database, as two processes of an installation.

type Gateway = Awaited<ReturnType<typeof createMcpGateway>>;

let now = Date.now();
const clock = { now: () => now, monotonic: () => performance.now() };
const folder = createTemporaryFolder();
let provider: Provider;
let one: Gateway;
let other: Gateway;
let person: Person;

before(async () => {
  provider = await startProvider({ rotates: true });
  const servers = serversOf(
    mcpServer(`${provider.url}/mcp`, { authType: "oauth_auto" }),
    mcpServer(`${provider.url}/mcp`, { id: "44444444-4444-4444-8444-444444444444", slug: "plain" }),
  );
  const options = { database: `file:${folder.path}/gateway.db`, clock, mcp: { baseUrl: origin } };
  one = await createMcpGateway(servers, options);
  other = await createMcpGateway(servers, options);
  const workspaces = [{ id: await defaultWorkspaceOf(one), role: "member" }];
  person = await addPerson(one, "ada@example.com", { workspaces, scopes: userScopes });
});
after(async () => {
  await one.close();
  await other.close();
  await provider.close();
  folder.remove();
});

const plain = `${origin}/m/plain/mcp`;

function post({ gateway }: Gateway, path: string, body: string, type = "application/x-www-form-urlencoded") {
  const init = { method: "POST", headers: { "content-type": type }, body };
  return gateway.fetch(new Request(origin + path, init));
}

async function register(): Promise<string> {
  const body = JSON.stringify({ client_name: "A client", redirect_uris: [redirectUri] });
  const answer = await post(one, "/m/oauth/register", body, "application/json");
  return (await readJson<{ client_id: string }>(answer)).client_id;
}

const form = (fields: Record<string, string>) => new URLSearchParams(fields).toString();

/** A browser in front of a balancer: each request goes to the other gateway. */
function alternating() {
  let count = 0;
  return { gateway: { fetch: (request: Request) => (count++ % 2 === 0 ? one : other).gateway.fetch(request) } };
}

test("a flow whose requests alternate between two gateways ends with tokens that both accept", async () => {
  const clientId = await register();
  const answer = await authorize({ ...alternating(), person } as never, clientId, { changes: { resource: plain } });
  const code = answer.searchParams.get("code") ?? "";
  const fields = form({ ...codeForm(clientId, code), resource: plain });
  const tokens = await readJson<Tokens>(await post(one, "/m/oauth/token", fields));
  provider.valid.set("any", { scope: "" });
  for (const gateway of [one, other]) {
    // the upstream asks for a token, which this server does not send
    assert.equal((await callServer(gateway, tokens.access_token, { path: "/m/plain/mcp" })).status, 502);
  }
  await post(one, "/m/oauth/revoke", form({ client_id: clientId, token: tokens.refresh_token }));
  assert.equal((await callServer(one, tokens.access_token, { path: "/m/plain/mcp" })).status, 401);
  await eventually("the other gateway refuses it too", async () => {
    return (await callServer(other, tokens.access_token, { path: "/m/plain/mcp" })).status === 401;
  });
});

test("a code that both gateways get at once gives tokens once, and the second use revokes them", async () => {
  const clientId = await register();
  const answer = await authorize({ ...one, person }, clientId, { changes: { resource: plain } });
  const fields = form({ ...codeForm(clientId, answer.searchParams.get("code") ?? ""), resource: plain });
  const responses = await Promise.all(
    [one, other, one, other].map((gateway) => post(gateway, "/m/oauth/token", fields)),
  );
  const given = responses.filter(({ status }) => status === 200);
  assert.ok(given.length <= 1);
  for (const response of given) {
    const { access_token: token } = await readJson<Tokens>(response);
    await eventually("both refuse the token", async () => {
      const statuses = await Promise.all(
        [one, other].map(async (gateway) => (await callServer(gateway, token, { path: "/m/plain/mcp" })).status),
      );
      return statuses.every((status) => status === 401);
    });
  }
});

test("calls at both gateways at the end of a token make one refresh", async () => {
  const clientId = await register();
  const browser = new TestBrowser(one);
  let page = await browser.send(authorizeAddress(clientId));
  page = await browser.submit(formOf(page), { key: person.key });
  page = await browser.submit(formOf(page), { decision: "allow" });
  const back = await fetch(linkOf(page.text), { redirect: "manual" });
  assert.equal((await browser.send(back.headers.get("location") ?? "")).status, 303);
  const call = (gateway: Gateway) =>
    callServer(gateway, person.key, { body: rpc("tools/call", { name: "a", arguments: {} }) });
  await Promise.all([one, other].map(call));
  now += 3_590_000;
  const before = provider.tokenRequests.length;
  const calls = Array.from({ length: 20 }, (_, index) => call(index % 2 === 0 ? one : other));
  for (const response of await Promise.all(calls)) {
    const { result } = await readJson<{ result?: object }>(response);
    assert.ok(result);
  }
  assert.equal(provider.tokenRequests.length - before, 1);
});
