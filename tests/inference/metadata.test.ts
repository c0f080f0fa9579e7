import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, done } from "../support/control.ts";
import { createTestGateway, requestHeaders, type ShownLog, waitForLog, workspaceKey } from "../support/gateway.ts";
import { addPerson, type Person } from "../support/people.ts";
import { createTokenKey, signToken } from "../support/tokens.ts";

const gateway = await createTestGateway({ inFile: true });
after(() => gateway.close());

let person: Person;
let serviceKey: string;
let workspaceId: string;
let organisationId: string;

interface Row {
  id: string;
  organisation_id: string;
}

before(async () => {
  const { data } = await done<{ data: Row[] }>(call(gateway, "GET /admin/workspaces"));
  const [workspace] = data;
  assert.ok(workspace);
  workspaceId = workspace.id;
  organisationId = workspace.organisation_id;
  const defaults = { metadata: { level: "workspace", ofWorkspace: "w" } };
  await done(call(gateway, `PUT /admin/workspaces/${workspaceId}`, { body: { defaults } }));
  const scopes = ["completions.write", "logs.list", "logs.view"];
  person = await addPerson(gateway, "ada@example.com", { workspaces: [{ id: workspaceId, role: "member" }], scopes });
  const keyDefaults = { metadata: { level: "key", both: "key", ofKey: "k" } };
  const made = await done<{ key: string }>(
    call(gateway, "POST /api-keys/workspace/service", {
      key: workspaceKey,
      body: { name: "labelled", scopes: ["completions.write"], defaults: keyDefaults },
    }),
  );
  serviceKey = made.key;
});

let count = 0;

/** The log row of a chat. */
async function rowOf(key: string, metadata: object, body: object = {}): Promise<ShownLog & { user_id?: string }> {
  const trace = `metadata-${count++}`;
  const headers = requestHeaders({
    "x-gateway-api-key": key,
    "x-gateway-provider": "echo",
    "x-gateway-trace-id": trace,
    "x-gateway-metadata": JSON.stringify(metadata),
  });
  const chat = { model: "echo-1", messages: [{ role: "user", content: "Hello" }], ...body };
  const response = await gateway.fetch("/v1/chat/completions", { method: "POST", headers, body: JSON.stringify(chat) });
  assert.equal(response.status, 200, await response.text());
  return waitForLog(gateway, trace);
}

test("metadata of the workspace wins over that of the key, which wins over the request's", async () => {
  const { metadata } = await rowOf(serviceKey, { level: "request", both: "request", ofRequest: "r" });
  assert.deepEqual(metadata, { level: "workspace", ofWorkspace: "w", both: "key", ofKey: "k", ofRequest: "r" });
});

test("metadata of the workspace decides where a config leads", async () => {
  const query = { "metadata.level": "workspace" };
  const strategy = { mode: "conditional", conditions: [{ query, then: "ours" }], default: "theirs" };
  const targets = ["ours", "theirs"].map((name) => ({ name, provider: "echo", override_params: { model: name } }));
  const headers = requestHeaders({ "x-gateway-config": JSON.stringify({ strategy, targets }) });
  const chat = { model: "echo-1", messages: [{ role: "user", content: "Hello" }] };
  const response = await gateway.fetch("/v1/chat/completions", { method: "POST", headers, body: JSON.stringify(chat) });
  await response.text();
  assert.equal(response.headers.get("x-gateway-last-used-option-index"), "config.targets[0]");
});

test("requests with a user key have the user as _user and user_id", async () => {
  const row = await rowOf(person.key, {}, { user: "end-user-7" });
  assert.deepEqual([row.metadata._user, row.user_id], ["ada@example.com", person.id]);
});

test("the user of a body is _user where the key has no user, and _user of the request wins", async () => {
  const row = await rowOf(serviceKey, {}, { user: "end-user-7" });
  assert.deepEqual([row.metadata._user, row.user_id], ["end-user-7", undefined]);
  assert.equal((await rowOf(serviceKey, { _user: "named" }, { user: "end-user-7" })).metadata._user, "named");
  assert.equal((await rowOf(person.key, { _user: "named" })).metadata._user, "named");
});

test("a token sets _user to its user's e-mail, else to its subject", async () => {
  const key = await createTokenKey("metadata-key");
  const body = { jwt_enabled: true, jwks: { keys: [key.jwk] } };
  await done(call(gateway, `PUT /organisations/${organisationId}/auth-settings`, { body }));
  const claims = { gateway_oid: organisationId, gateway_workspace: workspaceId, scope: "completions.write" };
  for (const [more, user] of [
    [{ email: "grace@example.com", sub: "s-1" }, "grace@example.com"],
    [{ sub: "s-1" }, "s-1"],
  ] as const) {
    const token = await signToken(key, Date.now(), { claims: { ...claims, ...more } });
    assert.equal((await rowOf(token, {})).metadata._user, user);
  }
});

test("an organisation decides whether requests with user keys set _user, and may name others", async () => {
  const set = (settings: object) => done(call(gateway, `PUT /organisations/${organisationId}`, { body: { settings } }));
  await set({ user_key_metadata_override: 0 });
  assert.equal((await rowOf(person.key, { _user: "named" })).metadata._user, "ada@example.com");
  await set({ user_key_metadata_override: 1, user_key_metadata: 0 });
  assert.equal((await rowOf(person.key, {})).metadata._user, undefined);
  await set({ user_key_metadata: 1 });
});
