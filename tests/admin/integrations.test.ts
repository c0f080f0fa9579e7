import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { mintApiKey } from "../../src/auth/api-key.ts";
import { call, createOrganisation, done, refusal } from "../support/control.ts";
import { createTestGateway, insertKey, type TestGateway, workspaceKey } from "../support/gateway.ts";

let gateway: TestGateway;
let other: Awaited<ReturnType<typeof createOrganisation>>;
before(async () => {
  gateway = await createTestGateway({ inFile: true });
  other = await createOrganisation(await gateway.openFile(), "other");
});
after(() => gateway.close());

const key = workspaceKey;

interface Receipt {
  id: string;
  slug: string;
}
interface List<Item = Record<string, unknown>> {
  total: number;
  data: Item[];
}
interface Refused {
  error: { code: string; param: string; message: string };
}

const openai = { name: "Main", ai_provider_id: "openai", key: "sk-test-0123456789abcdef" };
const create = (body: object = openai, by: string | undefined = key) =>
  done<Receipt>(call<Receipt>(gateway, "POST /integrations", { ...(by !== "admin" && { key: by }), body }));
const createShared = (body: object = openai) => create(body, "admin");
const read = (slug: string, by = key) =>
  done<Record<string, unknown> & { configurations: Record<string, unknown> }>(
    call(gateway, `GET /integrations/${slug}`, by === "admin" ? {} : { key: by }),
  );

test("POST /integrations creates one with a masked key and a provider", async () => {
  const { id, slug } = await create({ ...openai, description: "About it" });
  assert.match(slug, /^main-[0-9a-f]{6}$/);
  const row = await read(slug);
  assert.equal(row.id, id);
  assert.deepEqual(
    [row.masked_key, row.type, row.description, row.object, row.status, row.last_updated_at, row.workspace_count],
    ["sk*****def", "workspace", "About it", "integration", "active", null, 1],
  );
  assert.deepEqual([row.configurations, row.allow_all_models, row.secret_mappings], [{}, true, null]);
  assert.deepEqual(row.global_workspace_access_settings, { enabled: false, usage_limits: null, rate_limits: null });
  assert.deepEqual(await read(id), row);
  const { data } = await done<List>(call(gateway, "GET /providers?page_size=1000", { key }));
  assert.equal(data.filter(({ integration_id }) => integration_id === slug).length, 1);
});

test("POST /integrations takes the slug of the default provider, and creates none if create_default_provider is false", async () => {
  await create({ ...openai, default_provider_slug: "chosen" });
  assert.equal((await done(call(gateway, "GET /providers/chosen", { key }))).object, "provider");
  const body = { ...openai, default_provider_slug: "chosen" };
  assert.equal(await refusal(call(gateway, "POST /integrations", { key, body })), "400 AB01");
  const { slug } = await create({ ...openai, create_default_provider: false, default_provider_slug: "unused" });
  assert.equal(await refusal(call(gateway, "GET /providers/unused", { key })), "404 AB08");
  assert.deepEqual(await done(call(gateway, `DELETE /integrations/${slug}`, { key })), {});
  assert.equal(await refusal(call(gateway, `GET /integrations/${slug}`, { key })), "404 AB08");
});

test("a slug is unique in the organisation", async () => {
  await create({ ...openai, slug: "taken_Slug-1" });
  assert.equal(
    await refusal(call(gateway, "POST /integrations", { body: { ...openai, slug: "taken_Slug-1" } })),
    "409 AB07",
  );
});

const azureDeployment = {
  alias: "gpt",
  azure_api_version: "2024-06-01",
  azure_deployment_name: "d",
  azure_model_slug: "gpt-4o",
};
const azure = { azure_auth_mode: "default", azure_resource_name: "res", azure_deployment_config: [azureDeployment] };
const serviceAccount = JSON.stringify({ client_email: "a@b.test", private_key: "secret-of-vertex" });
const oauth = { token_url: "https://login.example.com/token", client_id: "c", client_secret: "oauth-secret-0123456" };

for (const [provider, configurations, shown, withKey = false] of [
  ["openai", { openai_organization: "org", openai_beta: "a" }, { openai_organization: "org", openai_beta: "a" }, true],
  ["azure-openai", azure, azure, true],
  [
    "azure-openai",
    {
      ...azure,
      azure_auth_mode: "entra",
      azure_entra_tenant_id: "t",
      azure_entra_client_id: "c",
      azure_entra_client_secret: "entra-secret-012345",
    },
    {
      ...azure,
      azure_auth_mode: "entra",
      azure_entra_tenant_id: "t",
      azure_entra_client_id: "c",
      masked_azure_entra_client_secret: "en*****345",
    },
  ],
  [
    "azure-ai",
    { azure_auth_mode: "managed", azure_foundry_url: "https://x.services.ai.azure.com/models" },
    { azure_auth_mode: "managed", azure_foundry_url: "https://x.services.ai.azure.com/models" },
  ],
  [
    "bedrock",
    {
      aws_auth_type: "accessKey",
      aws_region: "us-east-1",
      aws_access_key_id: "AKIAIOSFODNN7EXAMPLE",
      aws_secret_access_key: "short",
    },
    {
      aws_auth_type: "accessKey",
      aws_region: "us-east-1",
      masked_aws_access_key_id: "AK*****PLE",
      masked_aws_secret_access_key: "*****",
    },
  ],
  [
    "sagemaker",
    {
      aws_auth_type: "assumedRole",
      aws_region: "eu-west-1",
      aws_role_arn: "arn:aws:iam::123456789012:role/x",
      amzn_sagemaker_model_name: "m",
    },
    {
      aws_auth_type: "assumedRole",
      aws_region: "eu-west-1",
      aws_role_arn: "arn:aws:iam::123456789012:role/x",
      amzn_sagemaker_model_name: "m",
    },
  ],
  [
    "vertex-ai",
    { vertex_auth_type: "serviceAccount", vertex_region: "us-central1", vertex_service_account_json: serviceAccount },
    {
      vertex_auth_type: "serviceAccount",
      vertex_region: "us-central1",
      masked_vertex_service_account_json: '{"*****x"}',
    },
  ],
  ["workers-ai", { workers_ai_account_id: "acc" }, { workers_ai_account_id: "acc" }, true],
  ["cortex", { snowflake_account: "org-acc.eu.aws" }, { snowflake_account: "org-acc.eu.aws" }, true],
  [
    "anthropic",
    { anthropic_inspect_stream_for_overloaded_error: true },
    { anthropic_inspect_stream_for_overloaded_error: true },
    true,
  ],
  ["openai", { custom_host: "https://llm.example.com/v1" }, { custom_host: "https://llm.example.com/v1" }],
  [
    "openai",
    {
      oauth,
      custom_headers: { "X-Team": "blue", Authorization: "Bearer header-secret-1", "x-note": "Basic dXNlcjpwYXNz" },
    },
    {
      oauth: { token_url: oauth.token_url, client_id: "c", masked_client_secret: "oa*****456" },
      custom_headers: { "x-team": "blue", masked_authorization: "Be*****t-1", "masked_x-note": "Ba*****XNz" },
    },
  ],
  ["modal", { modal_key: "kept-out-of-sight" }, { masked_modal_key: "ke*****ght" }, true],
  ["openai", { openai_beta: "sk-0123456789abcdefghijklmn" }, { masked_openai_beta: "sk*****lmn" }, true],
  ["echo", { masked_aws_region: "ignored" }, {}],
] as const) {
  test(`POST /integrations stores ${JSON.stringify(configurations).slice(0, 60)} of ${provider}`, async () => {
    const body = {
      name: "C",
      ai_provider_id: provider,
      configurations,
      ...(withKey && { key: "provider-key-000000" }),
    };
    const { slug } = await create(body);
    const { configurations: answered } = await read(slug);
    assert.deepEqual(answered, shown);
  });
}

const config = (ai_provider_id: string, configurations: object, more: object = { key: "k".repeat(20) }) => ({
  name: "n",
  ai_provider_id,
  configurations,
  ...more,
});
const bedrock = { aws_auth_type: "accessKey", aws_region: "us-east-1" };
for (const [name, body, param] of [
  ["no name", { ...openai, name: undefined }, "name"],
  ["a name of 256 characters", { ...openai, name: "n".repeat(256) }, "name"],
  ["a description of 1025 characters", { ...openai, description: "d".repeat(1025) }, "description"],
  ["an unknown provider", { ...openai, ai_provider_id: "nobody" }, "ai_provider_id"],
  ["a provider of 65 letters", { ...openai, ai_provider_id: "a".repeat(65) }, "ai_provider_id"],
  ["a slug with a dot", { ...openai, slug: "a.b" }, "slug"],
  ["a default slug of 256 letters", { ...openai, default_provider_slug: "a".repeat(256) }, "default_provider_slug"],
  ["no key", { ...openai, key: undefined }, "key"],
  ["an empty key", { ...openai, key: "" }, "key"],
  ["a key that is a number", { ...openai, key: 5 }, "key"],
  ["a key with a line feed", { ...openai, key: "a\nb" }, "key"],
  ["a key of 16385 characters", { ...openai, key: "k".repeat(16_385) }, "key"],
  ["configurations that are a list", { ...openai, configurations: [] }, "configurations"],
  ["a configuration with a dot", config("openai", { "a.b": 1 }), "configurations.a.b"],
  ["an over-long member", config("openai", { openai_project: "p".repeat(256) }), "configurations.openai_project"],
  ["65537 characters of configurations", config("openai", { openai_beta: "x".repeat(65_537) }), "configurations"],
  ["a secret in a list", config("openai", { list: [{ password: "x" }] }), "configurations.list"],
  ["a secret form in an object", config("openai", { o: { x: "sk-0123456789abcdefghijklmn" } }), "configurations.o"],
  [
    "azure without a mode",
    config("azure-openai", { ...azure, azure_auth_mode: undefined }),
    "configurations.azure_auth_mode",
  ],
  [
    "azure with an unknown mode",
    config("azure-openai", { ...azure, azure_auth_mode: "x" }),
    "configurations.azure_auth_mode",
  ],
  [
    "azure without deployments",
    config("azure-openai", { ...azure, azure_deployment_config: [] }),
    "configurations.azure_deployment_config",
  ],
  [
    "an azure_api_version of 31 characters",
    config("azure-openai", {
      ...azure,
      azure_deployment_config: [{ ...azureDeployment, azure_api_version: "v".repeat(31) }],
    }),
    "configurations.azure_deployment_config.0.azure_api_version",
  ],
  [
    "a resource name with a dot",
    config("azure-openai", { ...azure, azure_resource_name: "a.b" }),
    "configurations.azure_resource_name",
  ],
  [
    "entra without a tenant",
    config("azure-openai", { ...azure, azure_auth_mode: "entra" }),
    "configurations.azure_entra_tenant_id",
  ],
  ["azure default without a key", config("azure-openai", azure, {}), "key"],
  [
    "a foundry version of 31 characters",
    config("azure-ai", {
      azure_auth_mode: "managed",
      azure_foundry_url: "https://a.example.com",
      azure_api_version: "v".repeat(31),
    }),
    "configurations.azure_api_version",
  ],
  [
    "a private foundry",
    config("azure-ai", { azure_auth_mode: "managed", azure_foundry_url: "http://10.0.0.1" }),
    "configurations.azure_foundry_url",
  ],
  ["bedrock without a region", config("bedrock", { aws_auth_type: "apiKey" }), "configurations.aws_region"],
  ["bedrock without an access key", config("bedrock", bedrock), "configurations.aws_access_key_id"],
  [
    "bedrock by role without a role",
    config("bedrock", { ...bedrock, aws_auth_type: "assumedRole" }),
    "configurations.aws_role_arn",
  ],
  ["bedrock by key without a key", config("bedrock", { ...bedrock, aws_auth_type: "apiKey" }, {}), "key"],
  [
    "bedrock by the identity of the process",
    config("bedrock", { ...bedrock, aws_auth_type: "serviceRole" }),
    "configurations.aws_auth_type",
  ],
  ["a region with a slash", config("bedrock", { ...bedrock, aws_region: "a/b" }), "configurations.aws_region"],
  [
    "a secret that is a number",
    config("bedrock", { ...bedrock, aws_access_key_id: 12 }),
    "configurations.aws_access_key_id",
  ],
  [
    "vertex without a project",
    config("vertex-ai", { vertex_auth_type: "basic", vertex_region: "eu" }),
    "configurations.vertex_project_id",
  ],
  [
    "a service account that is no JSON",
    config("vertex-ai", { vertex_auth_type: "serviceAccount", vertex_region: "eu", vertex_service_account_json: "{" }),
    "configurations.vertex_service_account_json",
  ],
  ["workers without an account", config("workers-ai", {}), "configurations.workers_ai_account_id"],
  [
    "cortex with a path in its account",
    config("cortex", { snowflake_account: "a/b" }),
    "configurations.snowflake_account",
  ],
  ["a private custom host", config("openai", { custom_host: "http://192.168.0.1/v1" }), "configurations.custom_host"],
  ["a metadata host", config("openai", { custom_host: "http://169.254.169.254" }), "configurations.custom_host"],
  [
    "a custom host with a query",
    config("openai", { custom_host: "https://a.example.com/?x=1" }),
    "configurations.custom_host",
  ],
  [
    "a local token address",
    config("openai", { oauth: { ...oauth, token_url: "http://localhost/t" } }),
    "configurations.oauth.token_url",
  ],
  [
    "oauth without a secret",
    config("openai", { oauth: { ...oauth, client_secret: undefined } }),
    "configurations.oauth.client_secret",
  ],
  [
    "an unknown oauth method",
    config("openai", { oauth: { ...oauth, auth_method: "x" } }),
    "configurations.oauth.auth_method",
  ],
  ["oauth that is a text", config("openai", { oauth: "x" }), "configurations.oauth"],
  ["headers that are a list", config("openai", { custom_headers: ["x"] }), "configurations.custom_headers"],
  [
    "a header name with a space",
    config("openai", { custom_headers: { "a b": "x" } }),
    "configurations.custom_headers.a b",
  ],
  [
    "a header of our own",
    config("openai", { custom_headers: { "x-gateway-config": "x" } }),
    "configurations.custom_headers.x-gateway-config",
  ],
  ["a host header", config("openai", { custom_headers: { Host: "x" } }), "configurations.custom_headers.host"],
  [
    "a header that is a number",
    config("openai", { custom_headers: { "x-a": 1 } }),
    "configurations.custom_headers.x-a",
  ],
  [
    "a header value with a line feed",
    config("openai", { custom_headers: { "x-a": "a\nb" } }),
    "configurations.custom_headers.x-a",
  ],
  [
    "pricing of another name",
    { ...openai, pricing_adjustments: { multiplier: {}, more: 1 } },
    "pricing_adjustments.more",
  ],
  [
    "a factor of another name",
    { ...openai, pricing_adjustments: { multiplier: { x: 1 } } },
    "pricing_adjustments.multiplier.x",
  ],
  [
    "a factor below 0",
    { ...openai, pricing_adjustments: { multiplier: { default: -1 } } },
    "pricing_adjustments.multiplier.default",
  ],
  [
    "a factor that is a text",
    { ...openai, pricing_adjustments: { multiplier: { default: "1" } } },
    "pricing_adjustments.multiplier.default",
  ],
] as const) {
  test(`POST /integrations refuses ${name}`, async () => {
    const { status, body: answer } = await call<Refused>(gateway, "POST /integrations", { key, body });
    assert.deepEqual([status, answer.error.code, answer.error.param], [400, "AB01", param]);
    assert.ok(!JSON.stringify(answer).includes("sk-0123456789"), "the answer holds no secret");
  });
}

test("PUT /integrations preserves absent fields, clears null and replaces given values", async () => {
  const pricing_adjustments = {
    multiplier: { default: 0.8, image: { default: null }, additional_units: { search: 2 } },
  };
  const custom_headers = { "x-team": "blue", authorization: "Bearer first-secret-00" };
  const { slug } = await create({
    ...openai,
    description: "d",
    pricing_adjustments,
    configurations: { openai_project: "p", openai_beta: "b", custom_headers },
  });
  const update = async (body: object) => {
    assert.deepEqual(await done(call(gateway, `PUT /integrations/${slug}`, { key, body })), {});
    return read(slug);
  };
  const before = await read(slug);
  assert.deepEqual(before.pricing_adjustments, pricing_adjustments);
  const renamed = await update({ name: "Renamed" });
  assert.ok(renamed.last_updated_at);
  assert.deepEqual({ ...renamed, last_updated_at: null }, { ...before, name: "Renamed" });
  // a record that was read can be sent back
  assert.deepEqual((await update({ configurations: renamed.configurations })).configurations, before.configurations);
  const changed = await update({
    key: "another-key-0123456",
    description: null,
    pricing_adjustments: null,
    configurations: { openai_project: "q", openai_beta: null, custom_headers: { "x-team": null, "X-Region": "eu" } },
  });
  assert.deepEqual([changed.masked_key, changed.description, changed.pricing_adjustments], ["an*****456", null, null]);
  assert.deepEqual(changed.configurations, {
    openai_project: "q",
    custom_headers: { "x-region": "eu", masked_authorization: "Be*****-00" },
  });
  assert.deepEqual((await update({ configurations: { custom_headers: null } })).configurations, {
    openai_project: "q",
  });
  assert.deepEqual((await update({ configurations: null })).configurations, {});
  assert.equal(await refusal(call(gateway, `PUT /integrations/${slug}`, { key, body: { key: null } })), "400 AB01");
});

test("DELETE /integrations is refused while providers use it", async () => {
  const { slug } = await create({ ...openai, default_provider_slug: "user-of-it" });
  assert.equal(await refusal(call(gateway, `DELETE /integrations/${slug}`, { key })), "409 AB07");
  await done(call(gateway, "DELETE /providers/user-of-it", { key }));
  assert.deepEqual(await done(call(gateway, `DELETE /integrations/${slug}`, { key })), {});
});

test("secrets can come from references the workspace may use", async () => {
  const database = await gateway.openFile();
  const { rows } = await database.read("SELECT id, organisation_id FROM workspaces WHERE slug = 'default' LIMIT 1");
  const reference = async (slug: string, organisationId: string, allowed: string[] | null) => {
    const sql = `INSERT INTO secret_references (id, organisation_id, slug, name, manager_type, auth_config, secret_path,
      allow_all_workspaces, allowed_workspaces, status, created_by, created_at) VALUES (?,?,?,'n','aws_sm','{}','p',?,?,'active','x',0)`;
    const all = allowed === null ? 1 : 0;
    await database.write([
      { sql, args: [crypto.randomUUID(), organisationId, slug, all, allowed && JSON.stringify(allowed)] },
    ]);
  };
  const organisationId = String(rows[0]?.organisation_id);
  await reference("for-all", organisationId, null);
  await reference("for-us", organisationId, [String(rows[0]?.id)]);
  await reference("for-others", organisationId, [crypto.randomUUID()]);
  await reference("foreign", other.organisationId, null);
  const mapped = (secret_reference_id: string, target_field = "key") => ({
    ...openai,
    key: undefined,
    create_default_provider: false,
    secret_mappings: [{ target_field, secret_reference_id }],
  });
  for (const slug of ["for-all", "for-us"]) {
    const { slug: made } = await create(mapped(slug));
    assert.deepEqual((await read(made)).secret_mappings, [{ target_field: "key", secret_reference_id: slug }]);
    // without the mapping the provider has no key
    const body = { secret_mappings: [] };
    assert.equal(await refusal(call(gateway, `PUT /integrations/${made}`, { key, body })), "400 AB01");
    await done(call(gateway, `PUT /integrations/${made}`, { key, body: { ...body, key: "now-a-key-01234" } }));
    assert.equal((await read(made)).secret_mappings, null);
  }
  for (const slug of ["for-others", "foreign", "nobody"]) {
    const { status, body } = await call<Refused>(gateway, "POST /integrations", { key, body: mapped(slug) });
    const param = "secret_mappings.0.secret_reference_id";
    assert.deepEqual([status, body.error.code, body.error.param], [404, "AB02", param]);
  }
  const twice = [mapped("for-all"), mapped("for-us")].flatMap(({ secret_mappings }) => secret_mappings);
  const body = { ...openai, secret_mappings: twice };
  assert.equal(await refusal(call(gateway, "POST /integrations", { key, body })), "400 AB01");
});

test("integrations of the organisation are listed where they are shared, and managed by its keys only", async () => {
  const { slug } = await createShared({ ...openai, slug: "lent" });
  await createShared({ ...openai, slug: "not-lent" });
  await create({ ...openai, slug: "own", create_default_provider: false });
  assert.equal((await read(slug, "admin")).type, "organisation");
  assert.equal(await refusal(call(gateway, `GET /integrations/${slug}`, { key })), "404 AB08");
  const body = { workspaces: [{ id: "default", enabled: true }] };
  await done(call(gateway, `PUT /integrations/${slug}/workspaces`, { body }));
  assert.equal((await read(slug, "admin")).workspace_count, 1);
  for (const route of ["GET /integrations/lent", "PUT /integrations/lent", "DELETE /integrations/lent"]) {
    const given = route.startsWith("PUT") ? { body: { name: "x" } } : {};
    assert.equal(await refusal(call(gateway, route, { key, ...given })), "403 AB03", route);
  }
  for (const [query, by, seen] of [
    ["", key, ["lent", "own"]],
    ["type=workspace", key, ["own"]],
    ["type=organisation", key, ["lent"]],
    ["", "", ["lent", "not-lent", "own"]],
    ["type=workspace", "", ["own"]],
    ["type=organisation", "", ["lent", "not-lent"]],
    ["workspace_id=default", "", ["lent", "own"]],
  ] as const) {
    const { data } = await done<List<{ slug: string }>>(
      call(gateway, `GET /integrations?page_size=1000&${query}`, by === "" ? {} : { key: by }),
    );
    const slugs = data.map((row) => row.slug).filter((name) => ["lent", "not-lent", "own"].includes(name));
    assert.deepEqual(slugs.sort(), [...seen].sort(), `${query} ${by}`);
  }
});

test("GET /integrations has pages", async () => {
  await create();
  await create();
  const all = await done<List<{ id: string }>>(call(gateway, "GET /integrations?page_size=1000", { key }));
  const second = await done<List<{ id: string }>>(
    call(gateway, "GET /integrations?current_page=1&page_size=1", { key }),
  );
  assert.deepEqual([second.total, second.data.map(({ id }) => id)], [all.total, [all.data[1]?.id]]);
  assert.deepEqual((await done<List>(call(gateway, "GET /integrations?current_page=999999", { key }))).data, []);
  for (const query of ["page_size=0", "page_size=1001", "current_page=-1", "type=other"]) {
    assert.equal(await refusal(call(gateway, `GET /integrations?${query}`, { key })), "400 AB01", query);
  }
});

test("the level of a record decides which scopes count", async () => {
  const database = await gateway.openFile();
  const admin = { kind: "organisation-service", workspaceId: null };
  const withScopes = async (name: string, scopes: string[], changes: object = {}) => {
    const { key: text } = mintApiKey("gk");
    await insertKey(database, text, { name, scopes: JSON.stringify(scopes), ...changes });
    return text;
  };
  const shared = await createShared();
  const own = await create();
  const ofOrganisation = await withScopes(
    "organisation",
    ["organisation_integrations.read", "organisation_integrations.list", "organisation_integrations.create"],
    admin,
  );
  const ofWorkspaces = await withScopes(
    "workspaces",
    ["workspace_integrations.read", "workspace_integrations.create"],
    admin,
  );
  const none = await withScopes("none", ["configs.read"]);
  const statusOf = async (by: string, route: string, body?: object) =>
    (await call(gateway, route, { key: by, ...(body && { body }) })).status;
  assert.equal(await statusOf(ofOrganisation, `GET /integrations/${shared.slug}`), 200);
  assert.equal(await statusOf(ofOrganisation, `GET /integrations/${own.slug}`), 403);
  assert.equal(await statusOf(ofWorkspaces, `GET /integrations/${shared.slug}`), 403);
  assert.equal(await statusOf(ofWorkspaces, `GET /integrations/${own.slug}`), 200);
  assert.equal(await statusOf(ofOrganisation, "POST /integrations", openai), 200);
  assert.equal(await statusOf(ofOrganisation, "POST /integrations", { ...openai, workspace_id: "default" }), 403);
  assert.equal(await statusOf(ofWorkspaces, "POST /integrations", openai), 403);
  assert.equal(await statusOf(ofWorkspaces, "POST /integrations", { ...openai, workspace_id: "default" }), 200);
  assert.equal(await statusOf(ofOrganisation, "GET /integrations?type=workspace"), 403);
  assert.equal(await statusOf(ofWorkspaces, "GET /integrations"), 403);
  const { data } = await done<List<{ type: string }>>(call(gateway, "GET /integrations", { key: ofOrganisation }));
  assert.deepEqual([...new Set(data.map(({ type }) => type))], ["organisation"]);
  for (const route of ["GET /integrations", `GET /integrations/${own.slug}`, `GET /integrations/${own.slug}/models`]) {
    assert.equal(await refusal(call(gateway, route, { key: none })), "403 AB03", route);
  }
});

test("another organisation cannot see an integration", async () => {
  const { id, slug } = await create();
  const put = { body: { name: "Theirs" } };
  const putModels = { body: { models: [] } };
  for (const by of [other.adminKey, other.workspaceKey]) {
    for (const name of [id, slug, "nobody"]) {
      for (const [route, given] of [
        [`GET /integrations/${name}`, {}],
        [`PUT /integrations/${name}`, put],
        [`DELETE /integrations/${name}`, {}],
        [`GET /integrations/${name}/models`, {}],
        [`PUT /integrations/${name}/models`, putModels],
        [`DELETE /integrations/${name}/models?slugs=x`, {}],
      ] as const) {
        assert.equal(await refusal(call(gateway, route, { key: by, ...given })), "404 AB08", route);
      }
    }
  }
  for (const route of [`GET /integrations/${slug}/workspaces`, `PUT /integrations/${slug}/workspaces`]) {
    const given = route.startsWith("PUT") ? { body: {} } : {};
    assert.equal(await refusal(call(gateway, route, { key: other.adminKey, ...given })), "404 AB08");
    assert.equal(await refusal(call(gateway, route, { key, ...given })), "403 AB03");
  }
  assert.equal((await done<List>(call(gateway, "GET /integrations", { key: other.adminKey }))).total, 0);
  const foreign = { ...openai, workspace_id: other.workspaceId };
  assert.equal(await refusal(call(gateway, "POST /integrations", { key, body: foreign })), "403 AB03");
  assert.equal(await refusal(call(gateway, "POST /integrations", { body: foreign })), "403 AB03");
});
