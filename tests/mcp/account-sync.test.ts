import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, done } from "../support/control.ts";
import { createTestGateway, type TestGateway, workspaceKey } from "../support/gateway.ts";
import { addPerson, type Person } from "../support/people.ts";
import { type Provider, startProvider } from "./upstream-support.ts";

// Servers that are synced and tested with an account: that of the integration, or that of the user of the key.

let gateway: TestGateway;
let provider: Provider;
let person: Person;
const key = workspaceKey;

before(async () => {
  provider = await startProvider();
  gateway = await createTestGateway({ inFile: true, trustedHosts: ["127.0.0.1"] });
});
after(async () => {
  await gateway.close();
  await provider.close();
});

let count = 0;
async function create(auth_type: string, configurations: object): Promise<string> {
  const slug = `synced-${++count}`;
  const body = {
    name: "U",
    slug: `${slug}-up`,
    url: `${provider.url}/mcp`,
    transport: "http",
    auth_type,
    configurations,
  };
  await done(call(gateway, "POST /mcp-integrations", { key, body }));
  const server = { name: "S", slug, mcp_integration_id: `${slug}-up` };
  await done(call(gateway, "POST /mcp-servers", { key, body: server }));
  return slug;
}

interface Result {
  success: boolean;
  error: string | null;
  status_code: number | null;
}
const testServer = (slug: string, by = key) =>
  done<Result & Record<string, unknown>>(call(gateway, `POST /mcp-servers/${slug}/test`, { key: by }));
const sync = (slug: string, by = key) =>
  done<Result & Record<string, unknown>>(call(gateway, `POST /mcp-integrations/${slug}-up/sync`, { key: by }));

test("a server with client credentials is tested and synced with the token of the integration", async () => {
  const slug = await create("oauth_client_credentials", {
    oauth_metadata: { client_id: "machine", client_secret: "machine-secret-000" },
  });
  const tested = await testServer(slug);
  assert.deepEqual([tested.success, tested.status_code, tested.error], [true, 200, null]);
  assert.equal((await sync(slug)).success, true);
  assert.ok(
    provider.calls.every(({ authorization }) => authorization === undefined || /^Bearer access-/.test(authorization)),
  );
  assert.ok(provider.calls.some(({ method }) => method === "server/discover"));
});

test("a server of users is tested and synced with the account of the user of the key", async () => {
  const slug = await create("oauth_auto", { oauth_metadata: { client_id: "c" } });
  assert.equal((await testServer(slug)).success, false);
  assert.equal((await sync(slug)).success, false);
  const { workspace_id } = await done<{ workspace_id: string }>(call(gateway, `GET /mcp-servers/${slug}`, { key }));
  person = await addPerson(gateway, "owner@example.com", {
    workspaces: [{ id: workspace_id, role: "manager" }],
    scopes: [
      "mcp_servers.read",
      "mcp_servers.update",
      "workspace_mcp_integrations.read",
      "workspace_mcp_integrations.update",
    ],
  });
  assert.equal((await testServer(slug, person.key)).success, false);
  provider.valid.set("an-account-token-000", { scope: "tools" });
  const body = { access_token: "an-account-token-000" };
  await done(call(gateway, `PUT /mcp-servers/${slug}/tokens`, { key: person.key, body }));
  assert.equal((await testServer(slug, person.key)).success, true);
  assert.equal((await sync(slug, person.key)).success, true);
  assert.equal(provider.calls.at(-1)?.authorization, "Bearer an-account-token-000");
  // nobody else's key uses it
  assert.equal((await testServer(slug)).success, false);
});
