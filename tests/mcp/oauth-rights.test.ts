import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, done } from "../support/control.ts";
import { eventually } from "../support/eventually.ts";
import { createTemporaryFolder, readJson, workspaceKey } from "../support/gateway.ts";
import { addPerson, type Person } from "../support/people.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";
import {
  authorize,
  authorizeAddress,
  callServer,
  codeForm,
  createOauthStack,
  formOf,
  getTokens,
  type OauthStack,
  TestBrowser,
  type Tokens,
  userScopes,
} from "./oauth-support.ts";
import { createMcpGateway, mcpServer, modernMeta, rpc } from "./support.ts";

// What a sign-in with a key gives ends with the key, its right and its secret.

const hour = 3_600_000;
let passed = 0;
const clock = { now: () => Date.now() + passed, monotonic: () => performance.now() + passed };
const folder = createTemporaryFolder();
let upstream: RecordingUpstream;
let stack: OauthStack;
let other: Awaited<ReturnType<typeof createMcpGateway>>;

before(async () => {
  upstream = await startRecordingUpstream((request, response) => {
    const { id, method } = JSON.parse(request.text);
    if (method === "subscriptions/listen") {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const params = { notifications: {}, _meta: { "io.modelcontextprotocol/subscriptionId": id } };
      const begun = { jsonrpc: "2.0", method: "notifications/subscriptions/acknowledged", params };
      response.write(`data: ${JSON.stringify(begun)}\n\n`);
      return;
    }
    response.writeHead(200, { "content-type": "application/json" });
    const offered = { supportedVersions: ["2026-07-28"], capabilities: {} };
    const result = { resultType: "complete", content: [], tools: [], ...(method === "server/discover" && offered) };
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
  });
  const server = mcpServer(`${upstream.url}/mcp`);
  const options = { database: `file:${folder.path}/gateway.db`, clock };
  stack = await createOauthStack(server, options);
  other = await createMcpGateway(stack.servers, { ...options, mcp: { baseUrl: "http://gateway.test" } });
});
after(async () => {
  await stack.close();
  await other.close();
  await upstream.close();
  folder.remove();
});

let people = 0;

/** A new user with a key, and tokens of a sign-in with it. */
async function signIn(scopes: readonly string[] = userScopes) {
  const workspaces = [{ id: stack.workspaceId, role: "member" }];
  const person = await addPerson(stack, `user-${++people}@example.com`, { workspaces, scopes });
  return { person, ...(await getTokens({ ...stack, person })) };
}

async function refresh(clientId: string, { refresh_token }: Tokens): Promise<Tokens> {
  const form = { grant_type: "refresh_token", client_id: clientId, refresh_token };
  return readJson<Tokens>(await stack.post("/m/oauth/token", form));
}

const setScopes = ({ keyId }: Person, scopes: readonly string[]) =>
  done(call(stack, `PUT /api-keys/${keyId}`, { body: { scopes } }));
const statusOf = async (token: string) => (await callServer(stack, token)).status;

test("a token of a sign-in ends with the right of its key, and does not come back with it", async () => {
  const { person, clientId, tokens } = await signIn();
  assert.equal(await statusOf(tokens.access_token), 200);
  await setScopes(person, ["mcp_servers.list"]);
  const refused = await callServer(stack, tokens.access_token);
  assert.equal(refused.status, 401);
  assert.match(refused.headers.get("www-authenticate") ?? "", /invalid_token/);
  assert.equal((await refresh(clientId, tokens)).error, "invalid_grant");
  await setScopes(person, userScopes);
  assert.equal((await refresh(clientId, tokens)).error, "invalid_grant");
});

test("a family ends when the right is taken, also if nobody asks before it is given again", async () => {
  const { person, clientId, tokens } = await signIn();
  await setScopes(person, ["mcp_servers.list"]);
  await setScopes(person, userScopes);
  assert.equal((await refresh(clientId, tokens)).error, "invalid_grant");
  // a change that leaves the right ends nothing
  const second = await getTokens({ ...stack, person });
  await setScopes(person, ["mcp.invoke"]);
  assert.equal((await refresh(second.clientId, second.tokens)).error, undefined);
});

test("a code is not exchanged once the right of its key is gone", async () => {
  const { person } = await signIn();
  const { client_id: clientId = "" } = await stack.register();
  const answer = await authorize({ ...stack, person }, clientId);
  await setScopes(person, ["mcp_servers.list"]);
  const form = codeForm(clientId, answer.searchParams.get("code") ?? "");
  assert.equal((await readJson<Tokens>(await stack.post("/m/oauth/token", form))).error, "invalid_grant");
});

test("the tokens of a deleted key end at once, in other processes as soon as they follow", async () => {
  const { person, clientId, tokens } = await signIn();
  const atOther = async () => (await callServer(other, tokens.access_token)).status;
  assert.deepEqual([await statusOf(tokens.access_token), await atOther()], [200, 200]);
  await done(call(stack, `DELETE /api-keys/${person.keyId}`));
  assert.equal(await statusOf(tokens.access_token), 401);
  await eventually("the other process refuses the token", async () => (await atOther()) === 401);
  assert.equal((await refresh(clientId, tokens)).error, "invalid_grant");
});

test("the tokens of a key end when the key expires", async () => {
  const { person, clientId, tokens } = await signIn();
  const expires_at = new Date(clock.now() + 60_000).toISOString();
  await done(call(stack, `PUT /api-keys/${person.keyId}`, { body: { expires_at } }));
  assert.equal(await statusOf(tokens.access_token), 200);
  passed += 61_000;
  assert.equal(await statusOf(tokens.access_token), 401);
  assert.equal((await refresh(clientId, tokens)).error, "invalid_grant");
});

test("the tokens of a secret that was replaced end with it, and so does the sign-in of its browser", async () => {
  const { person, clientId, tokens } = await signIn();
  const browser = new TestBrowser(stack);
  await authorize({ ...stack, person }, (await stack.register()).client_id ?? "", { browser });
  const { key } = await done(call<{ key: string }>(stack, `POST /api-keys/${person.keyId}/rotate`, { body: {} }));
  const during = await refresh(clientId, tokens);
  assert.equal(during.error, undefined);
  const signedInAgain = await getTokens({ ...stack, person: { ...person, key } });
  passed += 2 * hour;
  assert.equal((await refresh(clientId, during)).error, "invalid_grant");
  assert.equal((await refresh(signedInAgain.clientId, signedInAgain.tokens)).error, undefined);
  const page = await browser.send(authorizeAddress((await stack.register()).client_id ?? ""));
  assert.ok(formOf(page).fields.method === "key", "the browser is asked to sign in");
});

test("tokens of a sign-in with a key count as that key, through any number of clients", async () => {
  const { person, tokens } = await signIn();
  const second = await getTokens({ ...stack, person });
  const policy = { type: "requests", unit: "rph", value: 3, target: "mcp_tools", group_by: [{ key: "api_key" }] };
  const conditions = [{ key: "mcp_tool", value: "*" }];
  const { id } = await done(
    call<{ id: string }>(stack, "POST /policies/rate-limits", { key: workspaceKey, body: { ...policy, conditions } }),
  );
  const body = rpc("tools/call", { name: "t", arguments: {} });
  const statuses: number[] = [];
  for (const credential of [person.key, tokens.access_token, second.tokens.access_token, second.tokens.access_token]) {
    statuses.push((await callServer(stack, credential, { body })).status);
  }
  await done(call(stack, `DELETE /policies/rate-limits/${id}`, { key: workspaceKey }));
  assert.deepEqual(statuses, [200, 200, 200, 429]);
});

test("a stream that listens ends when its caller may not call the server any more", async () => {
  const { person, tokens } = await signIn();
  for (const [credential, end] of [
    [tokens.access_token, () => setScopes(person, ["mcp_servers.list"])],
    [(await signIn()).person.key, undefined],
  ] as const) {
    const abort = new AbortController();
    const headers = {
      authorization: `Bearer ${credential}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "subscriptions/listen",
    };
    const body = rpc("subscriptions/listen", { notifications: { toolsListChanged: true }, _meta: modernMeta });
    const init = { method: "POST", headers, body, signal: abort.signal };
    const response = await stack.gateway.fetch(new Request("http://gateway.test/m/everything/mcp", init));
    assert.equal(response.status, 200);
    const reader = response.body?.getReader() ?? assert.fail();
    await reader.read();
    await end?.();
    passed += 16_000;
    let text = "";
    const read = (async () => {
      for (let next = await reader.read(); !next.done; next = await reader.read()) {
        text += new TextDecoder().decode(next.value);
        if (!end && text.includes(":")) return "open";
      }
      return "over";
    })();
    assert.equal(await read, end ? "over" : "open");
    abort.abort();
    await reader.cancel().catch(() => {});
  }
});
