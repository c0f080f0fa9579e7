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
