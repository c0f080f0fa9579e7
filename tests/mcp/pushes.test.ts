import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, done, refusal } from "../support/control.ts";
import { createTestGateway, type TestGateway, workspaceKey } from "../support/gateway.ts";

// What others read of a server at which only users have accounts.

let gateway: TestGateway;
const key = workspaceKey;
before(async () => {
  gateway = await createTestGateway({ inFile: true });
  const body = {
    name: "U",
    slug: "of-users",
    url: "https://mcp.example.com/mcp",
    auth_type: "oauth_auto",
    transport: "http",
  };
  await done(call(gateway, "POST /mcp-integrations", { key, body }));
  await done(
    call(gateway, "POST /mcp-servers", { key, body: { name: "S", slug: "pushed", mcp_integration_id: "of-users" } }),
  );
});
after(() => gateway.close());

interface Capability {
  name: string;
  type: string;
  approval: string;
  input_schema: unknown;
  uri: string | null;
}

async function capabilities(): Promise<Capability[]> {
  const { data } = await done<{ data: Capability[] }>(call(gateway, "GET /mcp-servers/pushed/capabilities", { key }));
  return data;
}
const push = (list: object[]) =>
  call(gateway, "POST /mcp-servers/pushed/capabilities/sync", { key, body: { capabilities: list } });

test("capabilities that are pushed are stored as a sync would, and changed ones wait for approval", async () => {
  const input_schema = { type: "object", properties: { a: { type: "string" } } };
  const resource = { type: "resource", name: "file:///a", mime_type: "text/plain" };
  await done(
    push([{ type: "tool", name: "t1", description: "first", input_schema }, { type: "tool", name: "t2" }, resource]),
  );
  const shown = (await capabilities()).map(({ type, name, approval }) => [type, name, approval]).sort();
  assert.deepEqual(shown, [
    ["resource", "file:///a", "approved"],
    ["tool", "t1", "approved"],
    ["tool", "t2", "approved"],
  ]);
  assert.deepEqual((await capabilities()).find(({ name }) => name === "t1")?.input_schema, input_schema);
  await done(push([{ type: "tool", name: "t1", description: "another", input_schema }]));
  const tools = (await capabilities()).filter(({ type }) => type === "tool");
  assert.equal(tools.find(({ name }) => name === "t1")?.approval, "changed");
  // a list of another type stays
  assert.ok((await capabilities()).some(({ type }) => type === "resource"));
});

test("metadata that is pushed is shown, and absent fields stay", async () => {
  const sync = (body: object) => done(call(gateway, "POST /mcp-servers/pushed/metadata/sync", { key, body }));
  await sync({
    server_name: "Upstream",
    server_version: "2.1",
    instructions: "Be kind",
    capability_flags: { tools: {} },
  });
  await sync({ server_version: "2.2" });
  const shown = await done<Record<string, unknown>>(call(gateway, "GET /mcp-servers/pushed/metadata", { key }));
  const { server_name, server_version, instructions, capability_flags } = shown;
  assert.deepEqual(
    [server_name, server_version, instructions, capability_flags],
    ["Upstream", "2.2", "Be kind", { tools: {} }],
  );
});

test("what a server offers is pushed by who may change its integration, for one server, in known types", async () => {
  const body = { capabilities: [{ type: "tool", name: "t1" }] };
  assert.equal(await refusal(call(gateway, "POST /mcp-servers/none/capabilities/sync", { key, body })), "404 AB08");
  assert.equal(await refusal(push([{ type: "verb", name: "t1" }])), "400 AB01");
  assert.equal(
    await refusal(
      push([
        { type: "tool", name: "t" },
        { type: "tool", name: "t" },
      ]),
    ),
    "400 AB01",
  );
  const shared = {
    name: "Shared",
    slug: "shared-users",
    url: "https://mcp.example.com/mcp",
    auth_type: "oauth_auto",
    transport: "http",
  };
  await done(call(gateway, "POST /mcp-integrations", { body: shared }));
  const open = { workspaces: [], global_workspace_access: { enabled: true }, override_existing_workspace_access: true };
  await done(call(gateway, "PUT /mcp-integrations/shared-users/workspaces", { body: open }));
  const server = { name: "S", slug: "of-shared", mcp_integration_id: "shared-users" };
  await done(call(gateway, "POST /mcp-servers", { key, body: server }));
  assert.match(await refusal(call(gateway, "POST /mcp-servers/of-shared/capabilities/sync", { key, body })), /^403 /);
  await done(call(gateway, "POST /mcp-servers/of-shared/capabilities/sync", { body }));
});

test("the gateway's client at the authorization server is shown, its secret masked", async () => {
  assert.equal(await refusal(call(gateway, "GET /mcp-servers/pushed/client-info", { key })), "404 AB08");
  const configurations = { oauth_metadata: { client_id: "the-client", client_secret: "a-secret-of-the-client" } };
  await done(call(gateway, "PUT /mcp-integrations/of-users", { key, body: { configurations } }));
  const shown = await done<{ client_id: string; client_secret: string }>(
    call(gateway, "GET /mcp-servers/pushed/client-info", { key }),
  );
  assert.equal(shown.client_id, "the-client");
  assert.ok(shown.client_secret.includes("*") && !shown.client_secret.includes("secret-of"));
});
