import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, done, refusal } from "../support/control.ts";
import { createTestGateway, type TestGateway, workspaceKey } from "../support/gateway.ts";
import { addPerson } from "../support/people.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";
import { postLegacy, rpc } from "./support.ts";

// Servers of the control plane, called.

let gateway: TestGateway;
let upstream: RecordingUpstream;
let count = 0;
before(async () => {
  upstream = await startRecordingUpstream((_, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ jsonrpc: "2.0", id: "gw:1", result: { ok: true } }));
  });
  gateway = await createTestGateway({ inFile: true });
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

const key = workspaceKey;

/** A server of the workspace of the key, with its integration. */
async function createServer(integration: object = {}, server: object = {}): Promise<string> {
  const slug = `server-${++count}`;
  const url = `${upstream.url}/mcp`;
  const body = { name: "Upstream", slug: `up-${count}`, url, auth_type: "none", transport: "http", ...integration };
  await done(call(gateway, "POST /mcp-integrations", { key, body }));
  await done(
    call(gateway, "POST /mcp-servers", {
      key,
      body: { name: "S", slug, mcp_integration_id: `up-${count}`, ...server },
    }),
  );
  return slug;
}

const ping = (slug: string, by = key) =>
  postLegacy(gateway, rpc("ping"), { "x-gateway-api-key": by }, `/m/${slug}/mcp`);

test("a server of the control plane is called with the headers of its integration, also after they change", async () => {
  const custom_headers = { authorization: "Bearer first-secret-000", "x-team": "blue" };
  const slug = await createServer({ auth_type: "headers", configurations: { custom_headers } });
  const integration = `/mcp-integrations/up-${count}`;
  assert.equal((await ping(slug)).status, 200);
  const sent = upstream.requests.at(-1)?.headers;
  assert.deepEqual([sent?.authorization, sent?.["x-team"]], ["Bearer first-secret-000", "blue"]);
  const changed = { configurations: { custom_headers: { authorization: "Bearer second-secret-00" } } };
  await done(call(gateway, `PUT ${integration}`, { key, body: changed }));
  assert.equal((await ping(slug)).status, 200);
  assert.equal(upstream.requests.at(-1)?.headers.authorization, "Bearer second-secret-00");
});

test("a server that is deleted, and one of another workspace, is not found", async () => {
  const slug = await createServer();
  assert.equal((await ping(slug)).status, 200);
  const { id } = await done<{ id: string }>(call(gateway, "POST /admin/workspaces", { body: { name: "Other" } }));
  const body = { name: "k", workspace_id: id, scopes: ["mcp.invoke"] };
  const other = await done<{ key: string }>(call(gateway, "POST /api-keys/workspace/service", { body }));
  assert.equal((await ping(slug, other.key)).status, 404);
  await done(call(gateway, `DELETE /mcp-servers/${slug}`, { key }));
  assert.equal((await ping(slug)).status, 404);
});

test("the accounts of users at a server go with it, their tokens too", async () => {
  const slug = await createServer({ auth_type: "external", configurations: { external_auth_config: {} } });
  const { id, workspace_id } = await done<{ id: string; workspace_id: string }>(
    call(gateway, `GET /mcp-servers/${slug}`, { key }),
  );
  const person = await addPerson(gateway, "leaver@example.com", { workspaces: [{ id: workspace_id, role: "member" }] });
  const body = { access_token: "fake-upstream-token-000", user_id: person.id };
  await done(call(gateway, `PUT /mcp-servers/${slug}/tokens`, { body }));
  const database = await gateway.openFile();
  const count = async (table: string) => (await database.read(`SELECT 1 FROM ${table}`)).rows.length;
  const sealed = "secrets WHERE kind = 'mcp_connections'";
  assert.deepEqual([await count(`mcp_connections WHERE server_id = '${id}'`), await count(sealed)], [1, 1]);
  await done(call(gateway, `DELETE /mcp-servers/${slug}`, { key }));
  assert.deepEqual([await count(`mcp_connections WHERE server_id = '${id}'`), await count(sealed)], [0, 0]);
});

for (const [what, leave] of [
  ["leaves the organisation", (id: string) => call(gateway, `DELETE /admin/users/${id}`)],
  ["leaves the workspace", (id: string) => call(gateway, `DELETE /admin/workspaces/default/users/${id}`)],
] as const) {
  test(`the accounts of a user who ${what} are deleted, their tokens too`, async () => {
    const slug = await createServer({ auth_type: "external", configurations: { external_auth_config: {} } });
    const { workspace_id } = await done<{ workspace_id: string }>(call(gateway, `GET /mcp-servers/${slug}`, { key }));
    const workspaces = [{ id: workspace_id, role: "member" }];
    const [leaver, stayer] = [
      await addPerson(gateway, `leaver-${count}@example.com`, { workspaces }),
      await addPerson(gateway, `stayer-${count}@example.com`, { workspaces }),
    ];
    for (const { id: user_id } of [leaver, stayer]) {
      const body = { access_token: `fake-upstream-token-${user_id}`, user_id };
      await done(call(gateway, `PUT /mcp-servers/${slug}/tokens`, { body }));
    }
    await done(leave(leaver.id));
    const database = await gateway.openFile();
    const { rows } = await database.read("SELECT user_id FROM mcp_connections");
    const sealed = await database.read("SELECT 1 FROM secrets WHERE kind = 'mcp_connections'");
    assert.deepEqual([rows.map(({ user_id }) => user_id), sealed.rows.length], [[stayer.id], 1]);
    await done(call(gateway, `DELETE /mcp-servers/${slug}`, { key }));
  });
}

for (const [value, isKnown] of [
  ["{{user_id}}", true],
  ["for {{ email }} of {{workspace_id}}", true],
  ["{{secret}}", false],
  ["{{user_id}} {{User.Id}}", false],
  ["{{}}", false],
] as const) {
  test(`the header value ${value} of an integration is ${isKnown ? "stored" : "refused with 400, naming the header"}`, async () => {
    const slug = `template-${++count}`;
    const body = { name: "T", slug, url: `${upstream.url}/mcp`, auth_type: "headers", transport: "http" };
    const withValue = (group: string) => ({ configurations: { [group]: { "x-caller": value } } });
    for (const group of ["custom_headers", "passthrough_headers"]) {
      const made = await call(gateway, "POST /mcp-integrations", { key, body: { ...body, ...withValue(group) } });
      assert.equal(made.status, isKnown ? 200 : 400);
      if (!isKnown) assert.match(JSON.stringify(made.body), new RegExp(`configurations.${group}.x-caller`));
      if (isKnown) await done(call(gateway, `DELETE /mcp-integrations/${slug}`, { key }));
    }
    await done(call(gateway, "POST /mcp-integrations", { key, body }));
    const changed = await call(gateway, `PUT /mcp-integrations/${slug}`, { key, body: withValue("custom_headers") });
    assert.equal(changed.status, isKnown ? 200 : 400);
  });
}

test("a workspace without access to an integration cannot make a server of it", async () => {
  const url = `${upstream.url}/mcp`;
  const body = { name: "Shared", slug: "shared", url, auth_type: "none", transport: "http" };
  await done(call(gateway, "POST /mcp-integrations", { body }));
  const server = { name: "S", slug: "of-shared", mcp_integration_id: "shared" };
  assert.equal(await refusal(call(gateway, "POST /mcp-servers", { key, body: server })), "404 AB02");
});

test("a server with a short slug, or an unknown value of a setting, is refused", async () => {
  await createServer();
  const bad = { name: "S", slug: "ab", mcp_integration_id: `up-${count}` };
  assert.equal(await refusal(call(gateway, "POST /mcp-servers", { key, body: bad })), "400 AB01");
  const settings = { pinning: "sometimes" };
  const wrong = { name: "S", mcp_integration_id: `up-${count}`, settings };
  assert.equal(await refusal(call(gateway, "POST /mcp-servers", { key, body: wrong })), "400 AB01");
});

test("settings change one by one, and null restores the defaults", async () => {
  const slug = await createServer({}, { settings: { timeout_ms: 5_000, soft_429: true } });
  const put = (body: object) => done(call(gateway, `PUT /mcp-servers/${slug}`, { key, body }));
  const settings = async () =>
    (await done<{ settings: Record<string, unknown> }>(call(gateway, `GET /mcp-servers/${slug}`, { key }))).settings;
  await put({ settings: { soft_429: false } });
  assert.deepEqual([(await settings()).timeout_ms, (await settings()).soft_429], [5_000, false]);
  await put({ settings: null });
  assert.deepEqual([(await settings()).timeout_ms, (await settings()).pinning], [null, "log"]);
});

test("a key of a person calls a server that is open to all users", async () => {
  const slug = await createServer();
  const { data } = await done<{ data: { workspace_id: string }[] }>(call(gateway, "GET /mcp-servers", { key }));
  const id = String(data[0]?.workspace_id);
  const person = await addPerson(gateway, "caller@example.com", {
    workspaces: [{ id, role: "member" }],
    scopes: ["mcp.invoke"],
  });
  assert.equal((await ping(slug, person.key)).status, 200);
});

/** Switches capabilities of a record. */
const switchOff = (path: string, type: string, ...names: string[]) =>
  done(
    call(gateway, `PUT ${path}/capabilities`, {
      key,
      body: { capabilities: names.map((name) => ({ type, name, enabled: false })) },
    }),
  );
const callTool = async (slug: string, name: string, by = key) => {
  const response = await postLegacy(
    gateway,
    rpc("tools/call", { name, arguments: {} }),
    { "x-gateway-api-key": by },
    `/m/${slug}/mcp`,
  );
  const { error } = JSON.parse(await response.text());
  return `${response.status} ${error?.code}`;
};

test("a tool is refused once it is switched off at the integration or at the server, known or not", async () => {
  const slug = await createServer();
  assert.equal(await callTool(slug, "one"), "200 undefined");
  await switchOff(`/mcp-integrations/up-${count}`, "tool", "one");
  await switchOff(`/mcp-servers/${slug}`, "tool", "two");
  assert.deepEqual([await callTool(slug, "one"), await callTool(slug, "two")], ["200 -32602", "200 -32602"]);
  const on = { capabilities: [{ type: "tool", name: "one", enabled: true }] };
  await done(call(gateway, `PUT /mcp-servers/${slug}/capabilities`, { key, body: on }));
  // a server only narrows
  assert.equal(await callTool(slug, "one"), "200 -32602");
  await done(call(gateway, `PUT /mcp-integrations/up-${count}/capabilities`, { key, body: on }));
  assert.equal(await callTool(slug, "one"), "200 undefined");
  const { data, counts } = await done<{ data: Record<string, unknown>[]; counts: Record<string, unknown> }>(
    call(gateway, `GET /mcp-servers/${slug}/capabilities?type=tool`, { key }),
  );
  assert.deepEqual([data, counts.tools], [[], { total: 0, enabled: 0 }]);
});

test("a workspace's access to a shared integration decides whether its servers are found", async () => {
  const url = `${upstream.url}/mcp`;
  const body = { name: "Lent", slug: "lent", url, auth_type: "none", transport: "http" };
  await done(call(gateway, "POST /mcp-integrations", { body }));
  const { data } = await done<{ data: { id: string }[] }>(call(gateway, "GET /admin/workspaces", {}));
  const ids = data.map(({ id }) => id);
  const share = (given: object) => done(call(gateway, "PUT /mcp-integrations/lent/workspaces", { body: given }));
  await share({ workspaces: ids.map((id) => ({ id, enabled: true })) });
  const server = { name: "S", slug: "of-lent", mcp_integration_id: "lent" };
  await done(call(gateway, "POST /mcp-servers", { key, body: server }));
  assert.equal((await ping("of-lent")).status, 200);
  await share({
    workspaces: [],
    global_workspace_access: { enabled: false },
    override_existing_workspace_access: true,
  });
  assert.equal((await ping("of-lent")).status, 404);
  await share({ workspaces: [], global_workspace_access: { enabled: true } });
  assert.equal((await ping("of-lent")).status, 404);
  const made = await done<{ id: string }>(call(gateway, "POST /admin/workspaces", { body: { name: "Later" } }));
  const shown = await done<{ workspaces: { id: string; enabled: boolean }[]; global_workspace_access: object }>(
    call(gateway, "GET /mcp-integrations/lent/workspaces", {}),
  );
  assert.deepEqual(shown.global_workspace_access, { enabled: true });
  assert.deepEqual(
    shown.workspaces.map(({ id, enabled }) => [id === made.id, enabled]).filter(([, enabled]) => enabled),
    [[true, true]],
  );
  const versioned = await done<{ data: unknown[]; total: number }>(
    call(gateway, "GET /mcp-integrations/lent/workspaces?version=2", {}),
  );
  assert.equal(versioned.data.length, versioned.total);
});

test("users are let in by their entry, else by the default; services always are", async () => {
  const slug = await createServer();
  const path = `/mcp-servers/${slug}/user-access`;
  const { workspace_id } = await done<{ workspace_id: string }>(call(gateway, `GET /mcp-servers/${slug}`, { key }));
  const workspaces = [{ id: workspace_id, role: "member" }];
  const scopes = ["mcp.invoke", "mcp_servers.read"];
  const ann = await addPerson(gateway, "ann@example.com", { workspaces, scopes });
  const bob = await addPerson(gateway, "bob@example.com", { workspaces, scopes });
  const put = (body: object) => done(call(gateway, `PUT ${path}`, { key, body }));
  const statuses = async () => [(await ping(slug, ann.key)).status, (await ping(slug, bob.key)).status];
  const checks = () =>
    Promise.all(
      [ann, bob].map(async (one) => (await done(call(gateway, `GET ${path}/check`, { key: one.key }))).has_access),
    );
  assert.deepEqual(
    [await statuses(), await checks()],
    [
      [200, 200],
      [true, true],
    ],
  );
  await put({ default_user_access: "deny", user_access: [{ user_id: ann.id, enabled: true }] });
  assert.deepEqual(
    [await statuses(), await checks()],
    [
      [200, 404],
      [true, false],
    ],
  );
  assert.equal((await ping(slug)).status, 200);
  const list = await done<{ data: Record<string, unknown>[]; default_user_access: string; total: number }>(
    call(gateway, `GET ${path}?search=ann%40`, { key }),
  );
  assert.deepEqual([list.default_user_access, list.total], ["deny", 1]);
  assert.deepEqual([list.data[0]?.user_id, list.data[0]?.enabled, list.data[0]?.has_override], [ann.id, true, true]);
  await put({ user_access: [{ user_id: ann.id, enabled: null }] });
  assert.deepEqual(await statuses(), [404, 404]);
  const stranger = { user_access: [{ user_id: crypto.randomUUID(), enabled: true }] };
  assert.equal(await refusal(call(gateway, `PUT ${path}`, { key, body: stranger })), "404 AB02");
  assert.equal(await refusal(call(gateway, `GET ${path}/check?user_id=${bob.id}`, { key: ann.key })), "403 AB03");
  const ofService = await done(call(gateway, `GET ${path}/check?user_id=${bob.id}`, { key }));
  assert.equal(ofService.has_access, false);
});
