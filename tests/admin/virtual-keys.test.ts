import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, done, refusal } from "../support/control.ts";
import { createTestGateway, workspaceKey as key, type TestGateway } from "../support/gateway.ts";

let gateway: TestGateway;
before(async () => {
  gateway = await createTestGateway({ inFile: true });
});
after(() => gateway.close());

interface Refused {
  error: { code: string; param: string };
}

const openai = { name: "Legacy", provider: "openai", key: "sk-legacy-0123456789" };
const create = async (members: object = {}) => {
  const answer = await done<{ success: boolean; data: { slug: string } }>(
    call(gateway, "POST /virtual-keys", { key, body: { ...openai, ...members } }),
  );
  assert.equal(answer.success, true);
  return answer.data.slug;
};
const read = (slug: string) => done(call(gateway, `GET /virtual-keys/${slug}`, { key }));
const rowsOf = async (table: string) => {
  const { rows } = await (await gateway.openFile()).read(`SELECT count(*) AS total FROM ${table}`);
  return Number(rows[0]?.total);
};

test("POST /virtual-keys creates a provider with separate credentials that nothing else shows", async () => {
  const before = { integrations: await rowsOf("integrations"), secrets: await rowsOf("secrets") };
  const slug = await create({ note: "n", rate_limits: [{ type: "requests", unit: "rpm", value: 1 }] });
  assert.match(slug, /^legacy-[0-9a-f]{6}$/);
  const row = await read(slug);
  assert.deepEqual(
    [row.object, row.name, row.ai_provider_name, row.masked_api_key, row.key, row.integration_id, row.note, row.status],
    ["virtual-key", "Legacy", "openai", "sk*****789", "", null, "n", "active"],
  );
  assert.deepEqual(await done(call(gateway, `GET /providers/${slug}`, { key })), { ...row, object: "provider" });
  const database = await gateway.openFile();
  const { rows } = await database.read(
    "SELECT id, slug FROM integrations WHERE is_private = 1 ORDER BY created_at DESC",
  );
  for (const name of [rows[0]?.id, rows[0]?.slug]) {
    for (const by of [{ key }, {}]) {
      assert.equal(await refusal(call(gateway, `GET /integrations/${name}`, by)), "404 AB08");
      assert.equal(await refusal(call(gateway, `DELETE /integrations/${name}`, by)), "404 AB08");
      assert.equal((await done(call(gateway, "GET /integrations", by))).total, 0);
    }
    const body = { name: "n", integration_id: String(name) };
    assert.equal(await refusal(call(gateway, "POST /providers", { key, body })), "404 AB02");
  }
  assert.deepEqual(await done(call(gateway, `DELETE /virtual-keys/${slug}`, { key })), {});
  assert.deepEqual({ integrations: await rowsOf("integrations"), secrets: await rowsOf("secrets") }, before);
  assert.equal(await refusal(call(gateway, `GET /providers/${slug}`, { key })), "404 AB08");
});

test("DELETE /providers removes a virtual key with its credentials", async () => {
  const before = await rowsOf("secrets");
  const slug = await create();
  assert.equal(await rowsOf("secrets"), before + 1);
  await done(call(gateway, `DELETE /providers/${slug}`, { key }));
  assert.equal(await rowsOf("secrets"), before);
});

const deployment = { azure_api_version: "2024-06-01", azure_deployment_name: "dep" };
for (const [provider, members, shown] of [
  ["openai", {}, {}],
  ["open-ai", {}, {}],
  [
    "azure-openai",
    { resourceName: "res", deploymentName: "dep", apiVersion: "2024-06-01" },
    {
      azure_auth_mode: "default",
      azure_resource_name: "res",
      azure_deployment_config: [{ alias: "dep", ...deployment, azure_model_slug: "dep", is_default: true }],
    },
  ],
  [
    "azure-openai",
    { resourceName: "res", deploymentConfig: [{ apiVersion: "2024-06-01", deploymentName: "dep", alias: "gpt-4o" }] },
    {
      azure_auth_mode: "default",
      azure_resource_name: "res",
      azure_deployment_config: [{ alias: "gpt-4o", ...deployment, azure_model_slug: "gpt-4o", is_default: false }],
    },
  ],
  [
    "bedrock",
    { key: "", awsAccessKeyId: "AKIAIOSFODNN7EXAMPLE", awsSecretAccessKey: "aws-secret-0123", awsRegion: "us-east-1" },
    {
      aws_auth_type: "accessKey",
      aws_region: "us-east-1",
      masked_aws_access_key_id: "AK*****PLE",
      masked_aws_secret_access_key: "aw*****123",
    },
  ],
  [
    "vertex-ai",
    { vertexProjectId: "p", vertexRegion: "eu" },
    { vertex_auth_type: "basic", vertex_project_id: "p", vertex_region: "eu" },
  ],
  ["workers-ai", { workersAiAccountId: "a" }, { workers_ai_account_id: "a" }],
] as const) {
  test(`POST /virtual-keys accepts ${provider} with ${Object.keys(members).join(", ") || "a key"}`, async () => {
    const row = await read(await create({ provider, ...members }));
    assert.equal(row.ai_provider_name, provider === "open-ai" ? "openai" : provider);
    assert.deepEqual(row.model_config, shown);
  });
}

for (const [name, members, param] of [
  ["no name", { name: undefined }, "name"],
  ["no provider", { provider: undefined }, "provider"],
  ["an unknown provider", { provider: "nobody" }, "provider"],
  ["no key", { key: undefined }, "key"],
  ["a slug with a dot", { slug: "a.b" }, "slug"],
  ["a note of 1025 characters", { note: "n".repeat(1025) }, "note"],
  ["an api version of 31 characters", { apiVersion: "v".repeat(31) }, "apiVersion"],
  [
    "a deployment without its version",
    { provider: "azure-openai", resourceName: "r", deploymentName: "d" },
    "apiVersion",
  ],
  [
    "a version without its deployment",
    { provider: "azure-openai", resourceName: "r", apiVersion: "v" },
    "deploymentName",
  ],
  ["azure without a resource", { provider: "azure-openai", deploymentName: "d", apiVersion: "v" }, "resourceName"],
  ["azure without deployments", { provider: "azure-openai", resourceName: "r" }, "deploymentConfig"],
  ["deployments without a name", { deploymentConfig: [{ apiVersion: "v" }] }, "deploymentConfig.0.deploymentName"],
  ["bedrock without its secret", { provider: "bedrock", awsAccessKeyId: "a", awsRegion: "r" }, "awsSecretAccessKey"],
  ["a region that is a path", { provider: "bedrock", awsRegion: "a/b" }, "awsRegion"],
  ["a region that is a number", { provider: "bedrock", awsRegion: 1 }, "awsRegion"],
  ["vertex without a project", { provider: "vertex-ai", vertexRegion: "eu" }, "vertexProjectId"],
  ["workers without an account", { provider: "workers-ai" }, "workersAiAccountId"],
  ["two rate limits", { rate_limits: Array(2).fill({ type: "tokens", unit: "rpm", value: 1 }) }, "rate_limits"],
] as const) {
  test(`POST /virtual-keys refuses ${name}`, async () => {
    const body = { ...openai, ...members };
    const { status, body: answer } = await call<Refused>(gateway, "POST /virtual-keys", { key, body });
    assert.deepEqual([status, answer.error.code, answer.error.param], [400, "AB01", param]);
  });
}

test("a missing secret reference is 404", async () => {
  const secret_mappings = [{ target_field: "model_config.awsRegion", secret_reference_id: "nobody" }];
  const { status, body } = await call<Refused>(gateway, "POST /virtual-keys", {
    key,
    body: { ...openai, secret_mappings },
  });
  assert.deepEqual([status, body.error.code, body.error.param], [404, "AB02", "secret_mappings.0.secret_reference_id"]);
});

test("PUT /virtual-keys preserves absent fields, clears null and replaces given values", async () => {
  const usage_limits = { credit_limit: 5 };
  const slug = await create({
    provider: "azure-openai",
    resourceName: "r",
    deploymentName: "d",
    apiVersion: "v",
    note: "n",
    usage_limits,
  });
  const update = async (body: object) => {
    assert.deepEqual(await done(call(gateway, `PUT /virtual-keys/${slug}`, { key, body })), {});
    const { last_updated_at: _, ...row } = await read(slug);
    return row;
  };
  const { last_updated_at: _, ...before } = await read(slug);
  assert.deepEqual(await update({ name: "Other" }), { ...before, name: "Other" });
  const cleared = await update({ note: null, usage_limits: null, key: "replaced-key-xyz" });
  assert.deepEqual([cleared.note, cleared.usage_limits, cleared.masked_api_key], [null, null, "re*****xyz"]);
  const { model_config } = await update({ deploymentConfig: [{ apiVersion: "w", deploymentName: "e" }] });
  const { azure_deployment_config, azure_resource_name } = model_config as Record<
    string,
    { azure_api_version: string }[]
  >;
  assert.deepEqual([azure_resource_name, azure_deployment_config?.[0]?.azure_api_version], ["r", "w"]);
  for (const body of [{ key: null }, { resourceName: null }, { usage_limits: { credit_limit: 0 } }]) {
    assert.equal(await refusal(call(gateway, `PUT /virtual-keys/${slug}`, { key, body })), "400 AB01");
  }
});

test("the key of a provider with an integration is changed at the integration", async () => {
  const body = {
    name: "Shared",
    ai_provider_id: "openai",
    key: "sk-shared-0123456789",
    default_provider_slug: "shared",
  };
  const { slug } = await done<{ slug: string }>(call(gateway, "POST /integrations", { key, body }));
  const answer = await call<Refused>(gateway, "PUT /virtual-keys/shared", { key, body: { key: "another-key-000" } });
  assert.deepEqual([answer.status, answer.body.error.param], [400, "key"]);
  await done(call(gateway, "PUT /virtual-keys/shared", { key, body: { name: "Renamed" } }));
  assert.deepEqual([(await read("shared")).name, (await read("shared")).integration_id], ["Renamed", slug]);
});
