import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Database } from "../../src/db/client.ts";
import { call, createOrganisation, done, refusal } from "../support/control.ts";
import { createTestGateway, type TestGateway, workspaceKey } from "../support/gateway.ts";

let gateway: TestGateway;
let database: Database;
let other: Awaited<ReturnType<typeof createOrganisation>>;
before(async () => {
  gateway = await createTestGateway({ inFile: true });
  database = await gateway.openFile();
  other = await createOrganisation(database, "other");
});
after(() => gateway.close());

interface Record {
  id: string;
  slug: string;
  auth_config: { [name: string]: string };
  [name: string]: unknown;
}

const awsAuth = {
  aws_auth_type: "accessKey",
  aws_access_key_id: "AKIAEXAMPLE12345",
  aws_secret_access_key: "aws-secret-value-0001",
  aws_region: "eu-west-1",
};
const aws = { name: "Main key", manager_type: "aws_sm", auth_config: awsAuth, secret_path: "prod/openai" };
const entra = {
  azure_auth_mode: "entra",
  azure_entra_tenant_id: "0000AAAA-0000-0000-0000-000000000000",
  azure_entra_client_id: "client",
  azure_entra_client_secret: "entra-secret-value-01",
  azure_vault_url: "https://main.vault.azure.net",
};
const azure = { name: "Azure", manager_type: "azure_kv", auth_config: entra, secret_path: "openai" };
const token = { vault_auth_type: "token", vault_addr: "https://vault.example.com", vault_token: "hvs.vault-token-01" };
const vault = { name: "Vault", manager_type: "hashicorp_vault", auth_config: token, secret_path: "secret/data/openai" };
const approle = {
  vault_auth_type: "approle",
  vault_addr: "https://vault.example.com",
  vault_role_id: "role-1",
  vault_secret_id: "vault-secret-id-0001",
};

const create = (body: object = aws) => done<Record>(call<Record>(gateway, "POST /secret-references", { body }));
const read = (name: string) => done<Record>(call<Record>(gateway, `GET /secret-references/${name}`));
const update = (name: string, body: object) => call(gateway, `PUT /secret-references/${name}`, { body });

async function sealedFields(id: string): Promise<string[]> {
  const { rows } = await database.read({
    sql: "SELECT field FROM secrets WHERE record_id = ? ORDER BY field",
    args: [id],
  });
  return rows.map(({ field }) => String(field));
}

test("POST /secret-references returns a receipt; the record is found by id and slug", async () => {
  const receipt = await create({ ...aws, tags: { team: "a" }, description: "For chats", secret_key: "api_key" });
  assert.match(receipt.slug, /^main-k-[0-9a-f]{6}$/);
  assert.deepEqual(Object.keys(receipt).sort(), ["id", "object", "slug"]);
  const record = await read(receipt.slug);
  assert.deepEqual(await read(receipt.id), record);
  const { created_at, last_updated_at, organisation_id, created_by, ...rest } = record;
  for (const text of [created_at, last_updated_at, organisation_id, created_by]) assert.equal(typeof text, "string");
  assert.deepEqual(rest, {
    id: receipt.id,
    slug: receipt.slug,
    name: "Main key",
    description: "For chats",
    manager_type: "aws_sm",
    secret_path: "prod/openai",
    secret_key: "api_key",
    tags: { team: "a" },
    status: "ACTIVE",
    allow_all_workspaces: true,
    allowed_workspaces: [],
    object: "secret-reference",
    auth_config: {
      aws_auth_type: "accessKey",
      aws_region: "eu-west-1",
      masked_aws_access_key_id: "AK*****345",
      masked_aws_secret_access_key: "aw*****001",
    },
  });
});

for (const [name, body, fields] of [
  ["accessKey", aws, ["aws_access_key_id", "aws_secret_access_key"]],
  [
    "assumedRole",
    {
      ...aws,
      auth_config: {
        aws_auth_type: "assumedRole",
        aws_region: "eu-west-1",
        aws_external_id: null,
        aws_role_arn: "arn:aws:iam::123456789012:role/reader",
      },
    },
    [],
  ],
  ["serviceRole", { ...aws, auth_config: { aws_auth_type: "serviceRole" } }, []],
  ["entra", azure, ["azure_entra_client_secret"]],
  ["managed", { ...azure, auth_config: { azure_auth_mode: "managed", azure_vault_url: entra.azure_vault_url } }, []],
  ["default", { ...azure, auth_config: { azure_auth_mode: "default", azure_vault_url: entra.azure_vault_url } }, []],
  ["token", vault, ["vault_token"]],
  ["approle", { ...vault, auth_config: approle }, ["vault_secret_id"]],
  [
    "kubernetes",
    { ...vault, auth_config: { vault_auth_type: "kubernetes", vault_addr: token.vault_addr, vault_role: "reader" } },
    [],
  ],
] as const) {
  test(`POST /secret-references accepts ${name} and encrypts its secrets`, async () => {
    const { id } = await create(body);
    assert.deepEqual(
      await sealedFields(id),
      fields.map((field) => `auth_config.${field}`),
    );
    const shown = JSON.stringify(await read(id));
    const { rows } = await database.read("SELECT * FROM secret_references");
    const { rows: audit } = await database.read("SELECT request_body FROM audit_logs");
    for (const field of fields) {
      const secret = (body.auth_config as { [name: string]: string })[field] ?? "";
      assert.ok(secret.length > 8);
      for (const text of [shown, JSON.stringify(rows), JSON.stringify(audit)]) assert.ok(!text.includes(secret), field);
    }
  });
}

for (const [name, changes, param] of [
  ["no name", { name: undefined }, "name"],
  ["a name of 256 characters", { name: "n".repeat(256) }, "name"],
  ["a description of 1025 characters", { description: "d".repeat(1025) }, "description"],
  ["a slug with a space", { slug: "a b" }, "slug"],
  ["a slug of 256 characters", { slug: "s".repeat(256) }, "slug"],
  ["an unknown manager", { manager_type: "environment" }, "manager_type"],
  ["no manager", { manager_type: undefined }, "manager_type"],
  ["no auth_config", { auth_config: undefined }, "auth_config"],
  ["an unknown mode", { auth_config: { aws_auth_type: "root" } }, "auth_config.aws_auth_type"],
  ["a mode of another manager", { manager_type: "azure_kv" }, "auth_config.aws_auth_type"],
  ["no secret", { auth_config: { ...awsAuth, aws_secret_access_key: undefined } }, "auth_config.aws_secret_access_key"],
  ["a region with a dot", { auth_config: { ...awsAuth, aws_region: "a.example.com/" } }, "auth_config.aws_region"],
  ["a region of 64 letters", { auth_config: { ...awsAuth, aws_region: "a".repeat(64) } }, "auth_config.aws_region"],
  [
    "a role that is none",
    { auth_config: { aws_auth_type: "assumedRole", aws_role_arn: "admin", aws_region: "a" } },
    "auth_config.aws_role_arn",
  ],
  ["no secret_path", { secret_path: undefined }, "secret_path"],
  ["a secret_path of 1025 characters", { secret_path: "p".repeat(1025) }, "secret_path"],
  ["an empty secret_key", { secret_key: "" }, "secret_key"],
  ["a secret_key of 256 characters", { secret_key: "k".repeat(256) }, "secret_key"],
  ["an empty list of workspaces", { allowed_workspaces: [] }, "allowed_workspaces"],
  ["all workspaces and some", { allow_all_workspaces: true, allowed_workspaces: ["default"] }, "allowed_workspaces"],
  ["tags that are a list", { tags: ["a"] }, "tags"],
  ["tags that are no texts", { tags: { team: 1 } }, "tags.team"],
  [
    "a private vault",
    { manager_type: "hashicorp_vault", auth_config: { ...token, vault_addr: "http://10.0.0.1:8200" } },
    "auth_config.vault_addr",
  ],
  [
    "a metadata service",
    { manager_type: "azure_kv", auth_config: { ...entra, azure_vault_url: "http://169.254.169.254" } },
    "auth_config.azure_vault_url",
  ],
  [
    "a vault without encryption",
    { manager_type: "hashicorp_vault", auth_config: { ...token, vault_addr: "http://vault.example.com" } },
    "auth_config.vault_addr",
  ],
  [
    "a vault address with a query",
    { manager_type: "hashicorp_vault", auth_config: { ...token, vault_addr: "https://vault.example.com/?a=b" } },
    "auth_config.vault_addr",
  ],
] as const) {
  test(`POST /secret-references refuses ${name}`, async () => {
    const { status, body } = await call<{ error: { code: string; param: string } }>(
      gateway,
      "POST /secret-references",
      { body: { ...aws, ...changes } },
    );
    assert.deepEqual([status, body.error.code, body.error.param], [400, "AB01", param]);
  });
}

test("a slug in use is 400", async () => {
  await create({ ...aws, slug: "Taken_1" });
  assert.equal(
    await refusal(call(gateway, "POST /secret-references", { body: { ...aws, slug: "Taken_1" } })),
    "400 AB01",
  );
  const key = other.adminKey;
  await done(call(gateway, "POST /secret-references", { key, body: { ...aws, slug: "Taken_1" } }));
});

test("workspaces are named by id or slug and must belong to the organisation", async () => {
  const { id } = await create({ ...aws, allowed_workspaces: ["default"] });
  const { allow_all_workspaces, allowed_workspaces } = await read(id);
  assert.equal(allow_all_workspaces, false);
  const [workspaceId] = allowed_workspaces as string[];
  assert.match(String(workspaceId), /^[0-9a-f-]{36}$/);
  for (const name of ["none", other.workspaceId]) {
    assert.equal(await refusal(update(id, { allowed_workspaces: [name] })), "404 AB02");
  }
  await done(update(id, { name: "Renamed" }));
  assert.deepEqual((await read(id)).allowed_workspaces, [workspaceId]);
  await done(update(id, { allow_all_workspaces: true }));
  assert.deepEqual((await read(id)).allowed_workspaces, []);
  assert.equal((await read(id)).allow_all_workspaces, true);
  await done(update(id, { allowed_workspaces: [workspaceId] }));
  assert.equal((await read(id)).allow_all_workspaces, false);
});

test("PUT /secret-references changes the given fields, clears with null and preserves the rest", async () => {
  const { id } = await create({ ...aws, description: "d", secret_key: "k", tags: { a: "b" } });
  const before = await read(id);
  assert.deepEqual(await done(update(id, { name: "New", secret_path: "other" })), {});
  const changed = { ...before, name: "New", secret_path: "other" };
  assert.deepEqual({ ...(await read(id)), last_updated_at: before.last_updated_at }, changed);
  await done(update(id, { description: null, secret_key: null, tags: null }));
  const cleared = { ...changed, description: null, secret_key: null, tags: null };
  assert.deepEqual({ ...(await read(id)), last_updated_at: before.last_updated_at }, cleared);
});

test("PUT /secret-references merges auth_config", async () => {
  const { id } = await create();
  await done(update(id, { auth_config: { aws_region: "us-east-1" } }));
  assert.deepEqual((await read(id)).auth_config, {
    aws_auth_type: "accessKey",
    aws_region: "us-east-1",
    masked_aws_access_key_id: "AK*****345",
    masked_aws_secret_access_key: "aw*****001",
  });
  await done(update(id, { auth_config: { aws_secret_access_key: "another-secret-0002" } }));
  assert.equal((await read(id)).auth_config.masked_aws_secret_access_key, "an*****002");
  const fields = ["auth_config.aws_access_key_id", "auth_config.aws_secret_access_key"];
  assert.deepEqual(await sealedFields(id), fields);
  await done(update(id, { auth_config: { aws_auth_type: "serviceRole" } }));
  assert.deepEqual((await read(id)).auth_config, { aws_auth_type: "serviceRole", aws_region: "us-east-1" });
  assert.deepEqual(await sealedFields(id), []);
});

for (const [name, body, param] of [
  ["nothing", {}, null],
  ["what it does not take", { slug: "new", manager_type: "azure_kv" }, "slug"],
  ["a mode of another manager", { auth_config: { aws_auth_type: "entra" } }, "auth_config.aws_auth_type"],
  ["a secret cleared", { auth_config: { aws_secret_access_key: null } }, "auth_config.aws_secret_access_key"],
  ["credentials that are a list", { auth_config: ["a"] }, "auth_config"],
  ["no workspaces", { allowed_workspaces: [] }, "allowed_workspaces"],
  ["no secret_path", { secret_path: null }, "secret_path"],
] as const) {
  test(`PUT /secret-references refuses ${name}`, async () => {
    const { id } = await create();
    const { status, body: answer } = await update(id, body);
    const { code, param: named } = answer.error as { code: string; param: string | null };
    assert.deepEqual([status, code, named], [400, "AB01", param]);
  });
}

test("DELETE /secret-references removes the reference and its secrets", async () => {
  const { id, slug } = await create();
  assert.deepEqual(await done(call(gateway, `DELETE /secret-references/${slug}`)), {});
  assert.equal(await refusal(call(gateway, `GET /secret-references/${id}`)), "404 AB08");
  assert.equal(await refusal(call(gateway, `DELETE /secret-references/${id}`)), "404 AB08");
  assert.deepEqual(await sealedFields(id), []);
});

for (const by of ["id", "slug"] as const) {
  test(`DELETE /secret-references is refused while an integration names its ${by}`, async () => {
    const reference = await create({ ...aws, slug: `used-by-${by}` });
    const mappings = JSON.stringify([{ target_field: "key", secret_reference_id: reference[by] }]);
    const integrationId = crypto.randomUUID();
    await database.write([
      {
        sql: `INSERT INTO integrations (id, organisation_id, slug, name, ai_provider_id, status, secret_mappings, created_at)
          SELECT ?, organisation_id, ?, 'user', 'openai', 'active', ?, 0 FROM secret_references WHERE id = ?`,
        args: [integrationId, `user-${by}`, mappings, reference.id],
      },
    ]);
    assert.equal(await refusal(call(gateway, `DELETE /secret-references/${reference.id}`)), "400 AB01");
    await database.write([{ sql: "DELETE FROM integrations WHERE id = ?", args: [integrationId] }]);
    await done(call(gateway, `DELETE /secret-references/${reference.id}`));
  });
}

interface List {
  object: string;
  total: number;
  data: Record[];
}

test("GET /secret-references filters and pages", async () => {
  const key = other.adminKey;
  for (const [index, body] of [
    { ...azure, name: "100% Prod", tags: { team: "a", stage: "prod" } },
    { ...vault, name: "Staging", tags: { team: "a", stage: "test" }, description: "production copy" },
    { ...vault, name: "Third", slug: "third" },
  ].entries()) {
    await done(call(gateway, "POST /secret-references", { key, body: { slug: `list-${index}`, ...body } }));
  }
  const list = (query: string) => done<List>(call<List>(gateway, `GET /secret-references?${query}`, { key }));
  const slugs = async (query: string) => (await list(query)).data.map(({ slug }) => slug).sort();
  assert.deepEqual(await slugs("manager_type=hashicorp_vault"), ["list-1", "third"]);
  assert.deepEqual(await slugs("search=PROD"), ["list-0", "list-1"]);
  assert.deepEqual(await slugs("search=thir"), ["third"]);
  assert.deepEqual(await slugs("search=100%25"), ["list-0"]);
  assert.deepEqual(await slugs("search=_hird"), []);
  const tagged = (tags: object) => slugs(`tags=${encodeURIComponent(JSON.stringify(tags))}`);
  assert.deepEqual(await tagged({ team: "a" }), ["list-0", "list-1"]);
  assert.deepEqual(await tagged({ team: "a", stage: "test" }), ["list-1"]);
  assert.deepEqual(await tagged({ team: "b" }), []);
  assert.deepEqual(await tagged({ '"].x': "b" }), []);
  const first = await list("page_size=2");
  const second = await list("page_size=2&current_page=1");
  assert.deepEqual([first.object, first.total, first.data.length, second.data.length], ["list", 4, 2, 2]);
  const ids = [...first.data, ...second.data].map(({ id }) => id);
  assert.equal(new Set(ids).size, 4);
});

test("GET /secret-references shows 20 by default", async () => {
  for (let count = 0; count < 21; count++) await create(vault);
  assert.equal((await done<List>(call<List>(gateway, "GET /secret-references"))).data.length, 20);
});

for (const query of ["page_size=101", "page_size=0", "current_page=-1", "manager_type=env", "tags=x", "tags=[1]"]) {
  test(`GET /secret-references refuses ${query}`, async () => {
    assert.equal(await refusal(call(gateway, `GET /secret-references?${query}`)), "400 AB01");
  });
}

test("GET /secret-references refuses a search of 256 characters", async () => {
  assert.equal(await refusal(call(gateway, `GET /secret-references?search=${"s".repeat(256)}`)), "400 AB01");
});

test("references belong to their organisation, and to admin keys", async () => {
  const { id, slug } = await create();
  for (const [route, body] of [
    [`GET /secret-references/${id}`],
    [`GET /secret-references/${slug}`],
    [`PUT /secret-references/${id}`, { name: "n" }],
    [`DELETE /secret-references/${id}`],
  ] as const) {
    const options = { key: other.adminKey, ...(body && { body }) };
    assert.equal(await refusal(call(gateway, route, options)), "404 AB08", route);
    assert.equal(await refusal(call(gateway, route, { ...options, key: workspaceKey })), "403 AB03", route);
  }
  const body = { ...aws, organisation_id: other.organisationId };
  assert.equal(await refusal(call(gateway, "POST /secret-references", { body })), "403 AB03");
  assert.equal(await refusal(call(gateway, "POST /secret-references", { key: workspaceKey, body: aws })), "403 AB03");
  assert.equal(await refusal(call(gateway, "GET /secret-references", { key: workspaceKey })), "403 AB03");
});
