import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, done } from "../support/control.ts";
import { createTestGateway, type TestGateway, workspaceKey } from "../support/gateway.ts";
import { addPerson } from "../support/people.ts";

let gateway: TestGateway;
let workspaceId: string;

before(async () => {
  gateway = await createTestGateway({ inFile: true });
  const upstream = { name: "U", slug: "up", url: "https://u.example.com/mcp", auth_type: "none", transport: "http" };
  await done(call(gateway, "POST /mcp-integrations", { key: workspaceKey, body: upstream }));
  for (const slug of ["alpha", "beta", "gamma"]) {
    const body = { name: `The ${slug}`, slug, mcp_integration_id: "up", description: `About ${slug}` };
    await done(call(gateway, "POST /mcp-servers", { key: workspaceKey, body }));
  }
  const shown = await done<{ workspace_id: string }>(call(gateway, "GET /mcp-servers/alpha", { key: workspaceKey }));
  workspaceId = shown.workspace_id;
});
after(() => gateway.close());

interface Catalog {
  servers: { server: Record<string, unknown>; _meta: Record<string, unknown> }[];
  metadata: { count: number; nextCursor?: string };
}

async function ask(path: string, key = workspaceKey): Promise<{ status: number; body: Catalog }> {
  const response = await gateway.fetch(`/m/v0.1/servers${path}`, { headers: { "x-gateway-api-key": key } });
  return { status: response.status, body: JSON.parse(await response.text()) };
}
const slugs = ({ servers }: Catalog) => servers.map(({ server }) => String(server.name).split("/")[1]);

test("the catalog lists the servers of the workspace with their addresses", async () => {
  const { status, body } = await ask("");
  assert.equal(status, 200);
  assert.deepEqual(slugs(body), ["alpha", "beta", "gamma"]);
  const [first] = body.servers;
  assert.deepEqual(first?.server, {
    name: "ai.gateway.default/alpha",
    title: "The alpha",
    description: "About alpha",
    version: "0.0.0",
    remotes: [{ type: "streamable-http", url: "http://gateway.test/m/alpha/mcp" }],
  });
  assert.equal(first?._meta.isLatest, true);
  assert.deepEqual(body.metadata, { count: 3 });
});

test("pages, search and time select servers", async () => {
  const first = (await ask("?limit=2")).body;
  assert.deepEqual(slugs(first), ["alpha", "beta"]);
  const second = (await ask(`?limit=2&cursor=${first.metadata.nextCursor}`)).body;
  assert.deepEqual([slugs(second), second.metadata.nextCursor], [["gamma"], undefined]);
  assert.deepEqual(slugs((await ask("?search=BETA")).body), ["beta"]);
  assert.deepEqual(slugs((await ask("?updated_since=2000-01-01T00:00:00Z")).body).length, 3);
  assert.deepEqual(slugs((await ask("?updated_since=2100-01-01T00:00:00Z")).body), []);
  assert.equal((await ask(`?workspace_id=${workspaceId}`)).status, 200);
});

test("an entry is found by its name, with its slash encoded or not", async () => {
  for (const name of ["ai.gateway.default/alpha", "ai.gateway.default%2Falpha"]) {
    const versions = await ask(`/${name}/versions`);
    assert.deepEqual([versions.status, slugs(versions.body)], [200, ["alpha"]], name);
    assert.equal((await ask(`/${name}/versions/latest`)).status, 200);
    assert.equal((await ask(`/${name}/versions/0.0.0`)).status, 200);
    assert.equal((await ask(`/${name}/versions/9.9.9`)).status, 404);
  }
  assert.equal((await ask("/ai.gateway.default/nobody/versions")).status, 404);
  assert.equal((await ask("/ai.gateway.other/alpha/versions")).status, 404);
});

for (const [query, status] of [
  ["?limit=0", 400],
  ["?limit=101", 400],
  ["?cursor=%%%", 400],
  ["?updated_since=yesterday", 400],
  ["?workspace_id=elsewhere", 404],
] as const) {
  test(`${query} is refused with ${status}`, async () => {
    assert.equal((await ask(query)).status, status);
  });
}

test("a key sees what it may use: by its scope, its user and its workspace", async () => {
  assert.equal((await ask("", "no-such-key-000000000000")).status, 401);
  const body = { name: "k", scopes: ["mcp.invoke"] };
  const { key } = await done<{ key: string }>(
    call(gateway, "POST /api-keys/workspace/service", { key: workspaceKey, body }),
  );
  assert.equal((await ask("", key)).status, 403);
  const access = { default_user_access: "deny" };
  await done(call(gateway, "PUT /mcp-servers/beta/user-access", { key: workspaceKey, body: access }));
  const person = await addPerson(gateway, "reader@example.com", {
    workspaces: [{ id: workspaceId, role: "member" }],
    scopes: ["mcp_servers.list"],
  });
  assert.deepEqual(slugs((await ask("", person.key)).body), ["alpha", "gamma"]);
  assert.equal((await ask("/ai.gateway.default/beta/versions", person.key)).status, 404);
  const other = await done<{ id: string }>(call(gateway, "POST /admin/workspaces", { body: { name: "Other" } }));
  const foreign = { name: "k", workspace_id: other.id, scopes: ["mcp_servers.list"] };
  const made = await done<{ key: string }>(call(gateway, "POST /api-keys/workspace/service", { body: foreign }));
  assert.deepEqual((await ask("", made.key)).body.servers, []);
});
