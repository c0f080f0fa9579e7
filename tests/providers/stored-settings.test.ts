import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import type { Transport, TransportInit } from "../../src/lib/outbound.ts";
import { call, done } from "../support/control.ts";
import { chat, createTestGateway, workspaceKey } from "../support/gateway.ts";

const sent: { url: string; init: TransportInit }[] = [];
const transport: Transport = {
  async send(url, init) {
    sent.push({ url, init });
    if (/\/token$/.test(url)) return Response.json({ access_token: "fetched-token", expires_in: 3600 });
    return Response.json({ id: "1", object: "chat.completion", choices: [{ index: 0, message: { content: "Hi" } }] });
  },
};
const gateway = await createTestGateway({ transport });
after(() => gateway.close());
beforeEach(() => {
  sent.length = 0;
});

async function createProvider(slug: string, ai_provider_id: string, changes: object): Promise<object> {
  const body = { name: slug, slug: `${slug}-i`, ai_provider_id, create_default_provider: false, ...changes };
  const made = await done(call(gateway, "POST /integrations", { key: workspaceKey, body }));
  const provider = { name: slug, slug, integration_id: `${slug}-i` };
  await done(call(gateway, "POST /providers", { key: workspaceKey, body: provider }));
  const shown = await done(call(gateway, `GET /integrations/${slug}-i`, { key: workspaceKey }));
  return { made, shown };
}

const ask = (slug: string, model: string, headers = {}) =>
  chat(
    gateway,
    { model, messages: [{ role: "user", content: "Hello" }] },
    { "x-gateway-provider": `@${slug}`, ...headers },
  );
const secret = "a-very-long-client-secret-000";

const deployments = [
  { alias: "fast", azure_deployment_name: "mini", azure_api_version: "2024-10-21", azure_model_slug: "gpt-4o-mini" },
  { azure_deployment_name: "big", azure_api_version: "v1", azure_model_slug: "gpt-4o", is_default: true },
];

test("azure-openai integrations serve several deployments with an Entra token", async () => {
  const shown = await createProvider("azure", "azure-openai", {
    configurations: {
      azure_auth_mode: "entra",
      azure_resource_name: "res",
      azure_deployment_config: deployments,
      azure_entra_tenant_id: "tenant",
      azure_entra_client_id: "app",
      azure_entra_client_secret: secret,
    },
  });
  assert.ok(!JSON.stringify(shown).includes(secret));
  const response = await ask("azure", "fast", { "x-gateway-azure-resource-name": "evil" });
  assert.equal(response.status, 200, await response.text());
  await ask("azure", "gpt-4o");
  const [token, first, second] = sent;
  assert.equal(token?.url, "https://login.microsoftonline.com/tenant/oauth2/v2.0/token");
  assert.equal(
    first?.url,
    "https://res.openai.azure.com/openai/deployments/mini/chat/completions?api-version=2024-10-21",
  );
  assert.equal(first?.init.headers.authorization, "Bearer fetched-token");
  assert.equal(second?.url, "https://res.openai.azure.com/openai/v1/chat/completions");
  assert.equal(JSON.parse(String(second?.init.body)).model, "big");
});

test("azure-openai integrations without a default deployment reject models that are not an alias", async () => {
  await createProvider("aliased", "azure-openai", {
    key: "azure-key",
    configurations: {
      azure_auth_mode: "default",
      azure_resource_name: "res",
      azure_deployment_config: deployments.slice(0, 1),
    },
  });
  const refused = await ask("aliased", "gpt-4o");
  assert.equal(refused.status, 400);
  assert.match(await refused.text(), /No azure alias passed\/default config found/);
  assert.equal((await ask("aliased", "fast")).status, 200);
  assert.equal(sent.at(-1)?.init.headers["api-key"], "azure-key");
});

test("integrations with an OAuth client need no key", async () => {
  const oauth = { token_url: "https://login.example.com/token", client_id: "app", client_secret: secret };
  const shown = await createProvider("clients", "openai", { configurations: { oauth } });
  assert.ok(!JSON.stringify(shown).includes(secret));
  const response = await ask("clients", "gpt-4o", { "x-gateway-oauth": "{}" });
  assert.equal(response.status, 200, await response.text());
  assert.deepEqual(
    sent.map(({ url }) => url),
    ["https://login.example.com/token", "https://api.openai.com/v1/chat/completions"],
  );
  assert.equal(sent[0]?.init.headers.authorization, `Basic ${btoa(`app:${secret}`)}`);
  assert.equal(sent[1]?.init.headers.authorization, "Bearer fetched-token");
});

for (const [provider, configurations] of [
  ["databricks", { databricks_workspace: "dbc-1", databricks_client_id: "app", databricks_client_secret: secret }],
  [
    "oracle",
    { oracle_tenancy: "t", oracle_user: "u", oracle_fingerprint: "f", oracle_private_key: `-----BEGIN ${secret}` },
  ],
] as const) {
  test(`${provider} integrations do not show secrets`, async () => {
    const shown = await createProvider(`secret-${provider}`, provider, { configurations });
    assert.ok(!JSON.stringify(shown).includes(secret), JSON.stringify(shown));
  });
}

test("configs may contain the settings of a credential instead of a key", async () => {
  const config = {
    provider: "databricks",
    databricks_workspace: "dbc-2",
    databricks_client_id: "app",
    databricks_client_secret: secret,
  };
  const headers = { "x-gateway-provider": null, "x-gateway-config": JSON.stringify(config) };
  const response = await chat(gateway, { model: "m", messages: [{ role: "user", content: "Hello" }] }, headers);
  assert.equal(response.status, 200, await response.text());
  assert.equal(sent.at(-1)?.init.headers.authorization, "Bearer fetched-token");
});
