import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { credentialHeaders } from "../../src/lib/secret-names.ts";
import { readJson, waitForLog } from "../support/gateway.ts";
import { addPerson } from "../support/people.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";
import { callServer, createOauthStack, getTokens, type OauthStack, userScopes } from "./oauth-support.ts";
import type { RpcAnswer } from "./scripted.ts";
import { mcpServer, modernMeta, rpc } from "./support.ts";

// Callers with keys and with tokens: what a row says of them, and that sessions stay with their caller.

let upstream: RecordingUpstream;
let stack: OauthStack;
before(async () => {
  upstream = await startRecordingUpstream((request, response) => {
    const { id, method } = JSON.parse(request.text);
    const session = method === "initialize" ? { "mcp-session-id": "session-at-the-server" } : {};
    response.writeHead(200, { "content-type": "application/json", ...session });
    const offered = { supportedVersions: ["2026-07-28"], capabilities: {} };
    const result = { resultType: "complete", content: [], ...(method === "server/discover" && offered) };
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
  });
  stack = await createOauthStack(mcpServer(`${upstream.url}/mcp`), { inFile: true });
});
after(async () => {
  await stack.close();
  await upstream.close();
});

const hello = rpc("initialize", { protocolVersion: "2025-11-25", capabilities: {} });

test("a session of one caller is refused to another user of the workspace, and to the same user with a token", async () => {
  const begun = await callServer(stack, stack.person.key, { body: hello });
  const headers = { "mcp-session-id": begun.headers.get("mcp-session-id") ?? assert.fail() };
  assert.equal((await callServer(stack, stack.person.key, { headers })).status, 200);
  const workspaces = [{ id: stack.workspaceId, role: "member" }];
  const other = await addPerson(stack, "eve@example.com", { workspaces, scopes: userScopes });
  const { tokens } = await getTokens(stack);
  for (const caller of [other.key, tokens.access_token]) {
    const refused = await callServer(stack, caller, { headers });
    const { error } = await readJson<RpcAnswer>(refused);
    assert.deepEqual([refused.status, error.code], [404, -32001]);
  }
});

test("rows name the user of a token, its client and the kind of its credential, and hold no token", async () => {
  const { clientId, tokens } = await getTokens(stack);
  const body = rpc("tools/call", { name: "t", arguments: { a: 1 } });
  const headers = { "x-gateway-trace-id": "row-of-a-token" };
  assert.equal((await callServer(stack, tokens.access_token, { body, headers })).status, 200);
  const byKey = { "x-gateway-trace-id": "row-of-a-key" };
  assert.equal((await callServer(stack, stack.person.key, { body, headers: byKey })).status, 200);
  const [row, ofKey] = [await waitForLog(stack, "row-of-a-token"), await waitForLog(stack, "row-of-a-key")];
  const shown = [row, ofKey].map((one) => {
    const { user_id, mcp } = one as unknown as { user_id: string; mcp: Record<string, unknown> };
    return [user_id, mcp.auth_type, mcp.client_id, mcp.name];
  });
  assert.deepEqual(shown, [
    [stack.person.id, "oauth", clientId, "t"],
    [stack.person.id, "api_key", undefined, "t"],
  ]);
  const text = JSON.stringify([row, ofKey]);
  for (const secret of [tokens.access_token, tokens.refresh_token, stack.person.key]) assert.ok(!text.includes(secret));
});

test("the revisions that discovery lists are those that an unknown one is answered with", async () => {
  const ask = async (version: string) => {
    const meta = { ...modernMeta, "io.modelcontextprotocol/protocolVersion": version };
    const headers = { "mcp-protocol-version": version, "mcp-method": "server/discover" };
    return callServer(stack, stack.person.key, { body: rpc("server/discover", { _meta: meta }), headers });
  };
  const { result } = await readJson<RpcAnswer>(await ask("2026-07-28"));
  const refused = await ask("2030-01-01");
  const { error } = await readJson<RpcAnswer>(refused);
  assert.deepEqual([refused.status, error.code], [400, -32022]);
  assert.deepEqual(error.data?.supported, result.supportedVersions);
});

test("a forwarded header with a control character is refused, and reaches no server", async () => {
  const headers = [{ from: "x-team", to: "x-team" }];
  stack.servers.set(mcpServer(`${upstream.url}/mcp`, { forwardedHeaders: { mode: "allowlist", headers } }));
  const sent = upstream.requests.length;
  const refused = await callServer(stack, stack.person.key, { headers: { "x-team": "a\u0001b" } });
  assert.equal(refused.status, 400);
  assert.equal(upstream.requests.length, sent);
  assert.equal((await callServer(stack, stack.person.key, { headers: { "x-team": "blue" } })).status, 200);
  assert.equal(upstream.requests.at(-1)?.headers["x-team"], "blue");
});

test("no header of the list of credentials reaches a server, however its integration lists headers", async () => {
  const names = [...credentialHeaders].filter((name) => name !== "authorization");
  const given = Object.fromEntries(names.map((name) => [name, "a-credential-of-the-caller"]));
  const listed = names.map((name) => ({ from: name, to: name }));
  for (const forwardedHeaders of [
    { mode: "allowlist", headers: [...listed, ...names.map((from) => ({ from, to: "x-other" }))] },
    { mode: "all-except", headers: [] },
  ] as const) {
    stack.servers.set(mcpServer(`${upstream.url}/mcp`, { forwardedHeaders }));
    const { status } = await callServer(stack, stack.person.key, { headers: { ...given, "x-team": "blue" } });
    assert.equal(status, 200);
    const sent = upstream.requests.at(-1)?.headers ?? assert.fail();
    assert.ok(!JSON.stringify(sent).includes("a-credential-of-the-caller"), forwardedHeaders.mode);
  }
});
