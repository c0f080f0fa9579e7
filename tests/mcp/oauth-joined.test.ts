import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { McpCapability } from "../../src/mcp/registry/mcp-server.ts";
import { readJson } from "../support/gateway.ts";
import {
  authorizeAddress,
  callServer,
  codeForm,
  createOauthStack,
  formOf,
  linkOf,
  type OauthStack,
  TestBrowser,
  type Tokens,
} from "./oauth-support.ts";
import { mcpServer, modernMeta, rpc } from "./support.ts";
import { connectAccount, type Provider, signInAtProvider, startProvider } from "./upstream-support.ts";

// Servers that join others at which each user has an own account.

let crm: Provider;
let wiki: Provider;
let stack: OauthStack;

const tool: McpCapability = {
  id: "t",
  definition: { name: "t", inputSchema: { type: "object" } },
  approved: null,
  isListed: true,
};

function member(slug: string, { url }: Provider) {
  const { capabilities } = mcpServer("");
  const server = mcpServer(`${url}/mcp`, {
    id: `${slug}-id`,
    slug,
    name: slug,
    authType: "oauth_auto",
    capabilities: { ...capabilities, tool: new Map([["t", tool]]) },
  });
  return { server, prefix: slug, include: null, exclude: new Set<string>() };
}

before(async () => {
  [crm, wiki] = [await startProvider(), await startProvider()];
  const members = [member("crm", crm), member("wiki", wiki)];
  stack = await createOauthStack(mcpServer("", { aggregate: { members, prefixMode: "always" } }));
  for (const { server } of members) stack.servers.set(server);
});
after(async () => {
  await stack.close();
  await crm.close();
  await wiki.close();
});

interface RpcAnswer {
  error?: { code: number; data: Record<string, string> };
  result?: { content?: { text: string }[]; inputRequests?: Record<string, { params: { url: string } }> };
}

const callOf = (name: string, params: object = {}) => rpc("tools/call", { name, arguments: {}, ...params });

async function callWith(token: string, name: string): Promise<{ status: number; body: RpcAnswer }> {
  const response = await callServer(stack, token, { body: callOf(name) });
  return { status: response.status, body: await readJson<RpcAnswer>(response) };
}

/** The token that the server of a provider got with its last call. */
const lastToken = ({ calls }: Provider) => calls.at(-1)?.authorization;
const isValid = (provider: Provider) => provider.valid.has((lastToken(provider) ?? "").replace("Bearer ", ""));

test("a client that authorizes for a joined server connects an account at each of its members", async () => {
  const { client_id: clientId = "" } = await stack.register();
  const browser = new TestBrowser(stack);
  let page = await browser.send(authorizeAddress(clientId));
  page = await browser.submit(formOf(page), { key: stack.person.key });
  page = await browser.submit(formOf(page), { decision: "allow" });
  assert.ok(linkOf(page.text).startsWith(crm.url));
  page = await browser.send(await signInAtProvider(linkOf(page.text)));
  assert.ok(linkOf(page.text).startsWith(wiki.url));
  page = await browser.send(await signInAtProvider(linkOf(page.text)));
  const answer = new URL(page.headers.get("location") ?? "");
  const form = codeForm(clientId, answer.searchParams.get("code") ?? "");
  const { access_token: token } = await readJson<Tokens>(await stack.post("/m/oauth/token", form));
  assert.equal((await callWith(token, "crm__t")).body.result?.content?.[0]?.text, lastToken(crm));
  assert.equal((await callWith(token, "wiki__t")).body.result?.content?.[0]?.text, lastToken(wiki));
  assert.ok(isValid(crm) && isValid(wiki));
  assert.notEqual(lastToken(crm), lastToken(wiki));

  // an account that is gone is connected again when the client authorizes again, and the other one stays
  wiki.valid.clear();
  wiki.behaviour.token = () => ({ status: 400, body: { error: "invalid_grant" } });
  assert.equal((await callWith(token, "wiki__t")).status, 401);
  delete wiki.behaviour.token;
  page = await browser.send(authorizeAddress(clientId));
  assert.ok(linkOf(page.text).startsWith(wiki.url));
  page = await browser.send(await signInAtProvider(linkOf(page.text)));
  assert.ok(page.headers.get("location")?.includes("code="));
  assert.equal((await callWith(token, "wiki__t")).status, 200);
});

test("a user of a key is asked to connect the account of the member that is called", async () => {
  wiki.valid.clear();
  wiki.behaviour.token = () => ({ status: 400, body: { error: "invalid_grant" } });
  const { body } = await callWith(stack.person.key, "wiki__t");
  delete wiki.behaviour.token;
  assert.deepEqual([body.error?.code, body.error?.data.server], [401, "wiki"]);
  const { page } = await connectAccount({ stack }, body.error?.data.authorization_url ?? "");
  assert.match(page.text, /Connected/);
  assert.equal((await callWith(stack.person.key, "wiki__t")).body.result?.content?.[0]?.text, lastToken(wiki));
});

test("a modern client that can show addresses is asked for the account of the member", async () => {
  wiki.valid.clear();
  wiki.behaviour.token = () => ({ status: 400, body: { error: "invalid_grant" } });
  await callWith(stack.person.key, "wiki__t");
  delete wiki.behaviour.token;
  const capabilities = { elicitation: { url: {} } };
  const meta = { ...modernMeta, "io.modelcontextprotocol/clientCapabilities": capabilities };
  const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "wiki__t" };
  const ask = async () => {
    const body = callOf("wiki__t", { _meta: meta });
    return readJson<RpcAnswer>(await callServer(stack, stack.person.key, { body, headers }));
  };
  const { inputRequests } = (await ask()).result ?? {};
  await connectAccount({ stack }, inputRequests?.connect?.params.url ?? "");
  assert.equal((await ask()).result?.content?.[0]?.text, lastToken(wiki));
});

test("a key of a service cannot call members that need the account of a user", async () => {
  const { body } = await callWith("test-workspace-key-000000", "crm__t");
  assert.equal(body.error?.data.type, "user_required");
});
