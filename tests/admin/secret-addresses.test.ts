import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { builtInProviders } from "../../src/providers/registry.ts";
import { commonMembers } from "../../src/schemas/integration-members.ts";
import { call, done } from "../support/control.ts";
import { createTestGateway, type TestGateway, workspaceKey } from "../support/gateway.ts";
import { problem } from "../support/people.ts";
import { requiredSettings } from "../support/required-settings.ts";

let gateway: TestGateway;
before(async () => {
  gateway = await createTestGateway();
});
after(() => gateway.close());

const key = workspaceKey;
const secret = "stored-secret-0123456789";
let count = 0;

async function create(body: object): Promise<string> {
  const integration = { name: "One", slug: `one-${++count}`, key: secret, create_default_provider: false, ...body };
  return (await done<{ slug: string }>(call(gateway, "POST /integrations", { key, body: integration }))).slug;
}
const update = (slug: string, body: object) => problem(gateway, `PUT /integrations/${slug}`, { key, body });

/** Fields of an integration where those of `requiredSettings` are not enough. */
const azure = [
  { alias: "a", azure_api_version: "2024-10-21", azure_deployment_name: "d", azure_model_slug: "m", is_default: true },
];
const base: Readonly<Record<string, object>> = {
  "azure-openai": { azure_auth_mode: "default", azure_resource_name: "first", azure_deployment_config: azure },
  "azure-ai": { azure_auth_mode: "default", azure_foundry_url: "https://first.example.com" },
  databricks: { databricks_workspace: "first" },
  huggingface: { huggingface_base_url: "https://first.example.com" },
  "fireworks-ai": { fireworks_account_id: "first" },
};
const baseOf = (provider: string): object => base[provider] ?? requiredSettings(provider);
const other = (member: string) => (/url|host/.test(member) ? "https://second.example.com/v1" : "second");

test("every setting that is named like an address is marked where its provider declares it", () => {
  const marked = builtInProviders.flatMap(({ slug, settings }) =>
    settings.filter(({ shapesAddress }) => shapesAddress).map(({ member }) => `${slug}.${member}`),
  );
  const looksLikeOne = /_(?:url|host|resource_name|account|account_id|workspace|tenant_id)$/;
  const expected = builtInProviders.flatMap(({ slug, settings }) =>
    settings.filter(({ member }) => looksLikeOne.test(member)).map(({ member }) => `${slug}.${member}`),
  );
  assert.deepEqual(
    expected.filter((name) => !marked.includes(name)),
    [],
  );
  const bases = builtInProviders.flatMap(({ slug, settings }) =>
    settings.filter(({ isBaseAddress }) => isBaseAddress).map(({ member }) => `${slug}.${member}`),
  );
  assert.deepEqual(bases.toSorted(), ["azure-ai.azure_foundry_url", "huggingface.huggingface_base_url"]);
});

for (const { slug: provider, settings } of builtInProviders) {
  for (const { member } of settings.filter(({ shapesAddress }) => shapesAddress)) {
    test(`${member} of ${provider} cannot change without the secrets sent there`, async () => {
      const slug = await create({ ai_provider_id: provider, configurations: baseOf(provider) });
      const configurations = { [member]: other(member) };
      const refused = `400 AB01 configurations.${member}`;
      assert.equal(await update(slug, { configurations }), refused);
      assert.equal(
        await update(slug, { name: "New name", configurations: baseOf(provider) }),
        "200 undefined undefined",
      );
      const given = Object.entries(baseOf(provider));
      const isSecret = (name: string) => settings.some((one) => one.member === name && one.isSecret);
      const secrets = Object.fromEntries(given.filter(([name]) => isSecret(name)));
      const again = { key: "given-again-0123456789", configurations: { ...secrets, ...configurations } };
      assert.equal(await update(slug, again), "200 undefined undefined");
    });
  }
}

for (const [member, value] of [
  ["custom_host", "https://second.example.com/v1"],
  ["oauth.token_url", "https://second.example.com/token"],
] as const) {
  test(`${member} cannot change or be removed without the secrets sent there`, async () => {
    const oauth = { token_url: "https://first.example.com/token", client_id: "id", client_secret: "client-secret-00" };
    const custom_headers = { "x-api-key": "header-secret-0123456789" };
    const configurations = { custom_host: "https://first.example.com/v1", oauth, custom_headers };
    const slug = await create({ ai_provider_id: "openai", configurations });
    assert.ok(member in commonMembers);
    const [group = "", name] = member.split(".");
    for (const changed of [value, null]) {
      const moved = name === undefined ? { [group]: changed } : { [group]: { [name]: changed } };
      for (const body of [
        { configurations: moved },
        { key: "given-again-0123456789", configurations: { ...moved, custom_headers } },
      ]) {
        const answer = await update(slug, body);
        assert.match(answer, /^400 AB01 configurations\./, JSON.stringify(body));
      }
    }
    const whole = {
      ...configurations,
      ...(name === undefined ? { [group]: value } : { oauth: { ...oauth, [name]: value } }),
    };
    assert.equal(await update(slug, { key: secret, configurations: whole }), "200 undefined undefined");
  });
}

test("a model's host cannot be set without the integration's secrets", async () => {
  const slug = await create({ ai_provider_id: "openai" });
  const put = (body: object) => problem(gateway, `PUT /integrations/${slug}/models`, { key, body });
  const models = [{ slug: "m", enabled: true, configurations: { custom_host: "https://second.example.com/v1" } }];
  assert.equal(await put({ models }), "400 AB01 models.0.configurations.custom_host");
  assert.equal(await put({ models, key: "given-again-0123456789" }), "200 undefined undefined");
  const headers = [
    { slug: "m", enabled: true, configurations: { custom_headers: { "x-api-key": "model-secret-0123" } } },
  ];
  assert.equal(await put({ models: headers }), "200 undefined undefined");
  const away = [{ slug: "m", enabled: true, configurations: { custom_host: null } }];
  assert.equal(await put({ models: away }), "400 AB01 models.0.configurations.custom_host");
  assert.equal(await put({ models: [{ slug: "m", enabled: true, configurations: null }] }), "200 undefined undefined");
});

test("resourceName of a virtual key cannot change without its key", async () => {
  const azureKey = { resourceName: "first", deploymentName: "d", apiVersion: "2024-10-21" };
  const body = { name: "Azure", slug: "vk-azure", provider: "azure-openai", key: secret, ...azureKey };
  await done(call(gateway, "POST /virtual-keys", { key, body }));
  const change = (changes: object) => problem(gateway, "PUT /virtual-keys/vk-azure", { key, body: changes });
  assert.equal(await change({ resourceName: "second" }), "400 AB01 resourceName");
  assert.equal(await change({ resourceName: "second", key: "given-again-0123456789" }), "200 undefined undefined");
});

test("an address of an integration whose key is mapped from an external secret changes only with the mapping", async () => {
  const reference = { name: "R", slug: "vault-r", manager_type: "hashicorp_vault", secret_path: "a" };
  const auth_config = {
    vault_auth_type: "token",
    vault_addr: "https://first.example.com",
    vault_token: "token-0123456789",
  };
  await done(call(gateway, "POST /secret-references", { body: { ...reference, auth_config } }));
  const secret_mappings = [{ target_field: "key", secret_reference_id: "vault-r" }];
  const slug = await create({ ai_provider_id: "openai", key: undefined, secret_mappings });
  const configurations = { custom_host: "https://second.example.com/v1" };
  assert.equal(await update(slug, { configurations }), "400 AB01 configurations.custom_host");
  assert.equal(await update(slug, { configurations, secret_mappings }), "200 undefined undefined");
});

test("an address of a secret store cannot change without the secrets sent there", async () => {
  const stores: readonly [string, object, string, string, object][] = [
    [
      "hashicorp_vault",
      { vault_auth_type: "token", vault_addr: "https://first.example.com", vault_token: "token-0123456789" },
      ...(["vault_addr", "https://second.example.com", { vault_token: "given-again-0123" }] as const),
    ],
    [
      "azure_kv",
      {
        azure_auth_mode: "entra",
        azure_entra_tenant_id: "first",
        azure_entra_client_id: "id",
        azure_entra_client_secret: "client-secret-0123",
        azure_vault_url: "https://first.example.com",
      },
      ...([
        "azure_vault_url",
        "https://second.example.com",
        { azure_entra_client_secret: "given-again-0123" },
      ] as const),
    ],
    [
      "azure_kv",
      {
        azure_auth_mode: "entra",
        azure_entra_tenant_id: "first",
        azure_entra_client_id: "id",
        azure_entra_client_secret: "client-secret-0123",
        azure_vault_url: "https://first.example.com",
      },
      ...(["azure_entra_tenant_id", "second", { azure_entra_client_secret: "given-again-0123" }] as const),
    ],
  ];
  for (const [manager_type, auth_config, member, value, secrets] of stores) {
    const body = { name: "S", slug: `store-${++count}`, manager_type, secret_path: "a", auth_config };
    const { id } = await done<{ id: string }>(call(gateway, "POST /secret-references", { body }));
    const change = (changes: object) =>
      problem(gateway, `PUT /secret-references/${id}`, { body: { auth_config: changes } });
    assert.equal(await change({ [member]: value }), `400 AB01 auth_config.${member}`);
    assert.equal(await change({ [member]: value, ...secrets }), "200 undefined undefined");
  }
});

test("unknown settings are refused, not stored", async () => {
  const body = {
    name: "N",
    ai_provider_id: "openai",
    key: secret,
    configurations: { custom_hots: "https://a.example" },
  };
  assert.equal(await problem(gateway, "POST /integrations", { key, body }), "400 AB01 configurations.custom_hots");
  const oauth = { ...body, configurations: { oauth: { token: "x" } } };
  assert.equal(
    await problem(gateway, "POST /integrations", { key, body: oauth }),
    "400 AB01 configurations.oauth.token",
  );
});

test("every setting named like a secret is marked, encrypted and shown masked", async () => {
  const looksSecret =
    /(?:secret|token|private_key|passphrase|access_key|access_key_id|modal_key|service_account_json)$/;
  for (const { slug: provider, settings } of builtInProviders) {
    for (const { member, isSecret } of settings) {
      assert.ok(isSecret || !looksSecret.test(member), `${provider}.${member}`);
      if (!isSecret) continue;
      const account = JSON.stringify({ private_key: secret, client_email: "a@b.example" });
      const value = member.endsWith("_json") ? account : secret;
      const required = { aws_auth_type: "apiKey", aws_region: "us-east-1", vertex_auth_type: "basic" };
      const needed = Object.fromEntries(
        Object.entries({ ...required, vertex_region: "us-central1", vertex_project_id: "p" }).filter(([name]) =>
          settings.some((setting) => setting.member === name),
        ),
      );
      const oracle = { oracle_tenancy: "t", oracle_user: "u", oracle_fingerprint: "f" };
      const configurations = { ...needed, ...(provider === "oracle" && oracle), ...baseOf(provider), [member]: value };
      const slug = await create({ ai_provider_id: provider, configurations });
      const shown = await done<{ configurations: Record<string, unknown> }>(
        call(gateway, `GET /integrations/${slug}`, { key }),
      );
      assert.ok(`masked_${member}` in shown.configurations, `${provider}.${member}`);
      assert.ok(!JSON.stringify(shown).includes(secret), `${provider}.${member}`);
    }
  }
});
