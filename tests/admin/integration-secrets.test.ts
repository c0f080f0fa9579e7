import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { readMasterKeys } from "../../src/auth/master-keys.ts";
import { CredentialUnavailableError, createVault, type Vault } from "../../src/control/vault.ts";
import { type Database, openDatabase } from "../../src/db/client.ts";
import { type ControlStores, createControlStores } from "../../src/db/stores/control.ts";
import type { SecretRow } from "../../src/db/tables/secrets.ts";
import { call, createOrganisation, done } from "../support/control.ts";
import {
  createTemporaryFolder,
  createTestGateway,
  workspaceKey as key,
  masterKeys,
  type TestGateway,
} from "../support/gateway.ts";

const folder = createTemporaryFolder();
const url = `file:${join(folder.path, "gateway.db")}`;
let gateway: TestGateway;
let database: Database;
let stores: ControlStores;
let vault: Vault;
let organisationId: string;
before(async () => {
  gateway = await createTestGateway({ database: url });
  database = await openDatabase({ url });
  stores = createControlStores(database);
  const [first] = readMasterKeys(masterKeys);
  assert.ok(first);
  vault = createVault([first]);
  const { rows } = await database.read("SELECT id FROM organisations LIMIT 1");
  organisationId = String(rows[0]?.id);
});
after(async () => {
  await database.close();
  await gateway.close();
  folder.remove();
});

/** Every byte of the database's files, as text. */
function readFiles(): string {
  const files = readdirSync(folder.path).filter((name) => name.startsWith("gateway.db"));
  assert.ok(files.some((name) => name.endsWith("-wal")));
  return files.map((name) => readFileSync(join(folder.path, name), "latin1")).join("\n");
}

interface Receipt {
  id: string;
  slug: string;
}

const create = (body: object, by: { key?: string } = { key }) =>
  done<Receipt>(
    call<Receipt>(gateway, "POST /integrations", {
      ...by,
      body: { name: "Visible name", ai_provider_id: "openai", key: "hidden-key-0000-1", ...body },
    }),
  );

/** Encrypted secrets of a record by field. */
async function sealedOf(recordId: string): Promise<Map<string, SecretRow>> {
  const rows = await stores.secrets.all({ organisationId, workspaceId: null }, { where: { recordId } });
  return new Map(rows.map((row) => [row.field, row]));
}

async function openAll(recordId: string): Promise<Record<string, string>> {
  const opened: Record<string, string> = {};
  for (const [field, row] of await sealedOf(recordId)) opened[field] = await vault.open(row);
  return opened;
}

const account = { client_email: "a@b.test", private_key: "hidden-private-key" };
const secrets = {
  bedrock: {
    aws_auth_type: "accessKey",
    aws_region: "eu-west-1",
    aws_access_key_id: "hidden-access-key-id",
    aws_secret_access_key: "hidden-secret-access-key",
  },
  "vertex-ai": { vertex_auth_type: "serviceAccount", vertex_region: "eu", vertex_service_account_json: account },
  openai: {
    custom_headers: { Authorization: "Bearer hidden-header-value", "x-plain": "visible-header" },
    oauth: {
      token_url: "https://login.example.com/token",
      client_id: "visible-client",
      client_secret: "hidden-client-secret",
    },
    openai_beta: "sk-hidden-unknown-token-0123456789",
  },
};

test("no file of the database holds a secret in clear, whether the request succeeded or not", async () => {
  for (const [ai_provider_id, configurations] of Object.entries(secrets))
    await create({ ai_provider_id, configurations });
  const { slug } = await create({}, {});
  await done(call(gateway, `PUT /integrations/${slug}`, { body: { key: "hidden-key-0000-2" } }));
  const custom_headers = { "x-api-key": "hidden-model-header" };
  const models = [{ slug: "m", enabled: true, configurations: { custom_headers } }];
  await done(call(gateway, `PUT /integrations/${slug}/models`, { body: { models } }));
  const virtualKey = {
    name: "Visible virtual key",
    provider: "bedrock",
    awsRegion: "eu-west-1",
    awsAccessKeyId: "hidden-camel-key-id",
    awsSecretAccessKey: "hidden-camel-secret",
  };
  await done(call(gateway, "POST /virtual-keys", { key, body: virtualKey }));
  const refused = { name: "n", ai_provider_id: "nobody", key: "hidden-refused-key", configurations: secrets.openai };
  assert.equal((await call(gateway, "POST /integrations", { key, body: refused })).status, 400);
  assert.equal(
    (await call(gateway, "POST /virtual-keys", { key, body: { ...virtualKey, provider: "nobody" } })).status,
    400,
  );
  const bytes = readFiles();
  for (const seen of ["Visible name", "visible-header", "visible-client", "Visible virtual key", "eu-west-1"]) {
    assert.ok(bytes.includes(seen), seen);
  }
  assert.deepEqual(bytes.match(/.{0,40}hidden-.{0,30}/g), null);
});

test("each secret is encrypted separately and decrypts only in its place", async () => {
  const { id } = await create({ configurations: secrets.openai });
  assert.deepEqual(await openAll(id), {
    key: "hidden-key-0000-1",
    "configurations.custom_headers.authorization": "Bearer hidden-header-value",
    "configurations.oauth.client_secret": "hidden-client-secret",
    "configurations.openai_beta": "sk-hidden-unknown-token-0123456789",
  });
  const vertex = await create({ ai_provider_id: "vertex-ai", configurations: secrets["vertex-ai"], key: undefined });
  assert.deepEqual(await openAll(vertex.id), {
    "configurations.vertex_service_account_json": JSON.stringify(account),
  });
});

test("an encrypted secret that is copied to another record, field, workspace or organisation does not decrypt", async () => {
  const other = await createOrganisation(database, "other");
  const { id } = await create({});
  const neighbour = await create({});
  const shared = await create({}, {});
  const row = (await sealedOf(id)).get("key");
  const ofOrganisation = (await sealedOf(shared.id)).get("key");
  assert.ok(row && ofOrganisation);
  assert.equal(row.kind, "integrations");
  assert.equal(ofOrganisation.workspaceId, null);
  assert.equal(await vault.open(row), "hidden-key-0000-1");
  for (const moved of [
    { ...row, recordId: neighbour.id },
    { ...row, field: "configurations.key" },
    { ...row, kind: "secret_references" },
    { ...row, workspaceId: null },
    { ...row, workspaceId: other.workspaceId },
    { ...row, organisationId: other.organisationId },
    { ...ofOrganisation, workspaceId: row.workspaceId },
  ]) {
    await assert.rejects(vault.open(moved), CredentialUnavailableError);
  }
});

test("a new key is encrypted anew, a removed secret is deleted", async () => {
  const { id, slug } = await create({ configurations: { ...secrets.openai, custom_host: "https://llm.example.com" } });
  const first = (await sealedOf(id)).get("key");
  const update = (body: object) => done(call(gateway, `PUT /integrations/${slug}`, { key, body }));
  await update({ name: "Other" });
  assert.deepEqual((await sealedOf(id)).get("key"), first);
  await update({ key: "hidden-key-0000-3" });
  const second = (await sealedOf(id)).get("key");
  assert.notEqual(second?.wrappedKey, first?.wrappedKey);
  assert.equal((await openAll(id)).key, "hidden-key-0000-3");
  await update({ key: null, configurations: { oauth: null, openai_beta: null } });
  assert.deepEqual([...(await sealedOf(id)).keys()], ["configurations.custom_headers.authorization"]);
  await update({
    key: "hidden-key-0000-4",
    configurations: { custom_headers: { authorization: "Bearer hidden-next" } },
  });
  assert.deepEqual(await openAll(id), {
    key: "hidden-key-0000-4",
    "configurations.custom_headers.authorization": "Bearer hidden-next",
  });
});

test("headers whose names end alike have separate secrets", async () => {
  const { id, slug } = await create({
    configurations: { custom_headers: { "x-token": "hidden-short", "x-token.eu": "hidden-long" } },
  });
  const body = { configurations: { custom_headers: { "x-token": null } } };
  await done(call(gateway, `PUT /integrations/${slug}`, { key, body }));
  assert.deepEqual(await openAll(id), {
    key: "hidden-key-0000-1",
    "configurations.custom_headers.x-token.eu": "hidden-long",
  });
});

test("secrets of models and of deleted records are deleted with them", async () => {
  const { id, slug } = await create({ create_default_provider: false });
  const custom_headers = { authorization: "Bearer hidden-model" };
  const models = ["a", "a.b"].map((name) => ({
    slug: name,
    enabled: true,
    is_custom: true,
    configurations: { custom_headers },
  }));
  await done(call(gateway, `PUT /integrations/${slug}/models`, { key, body: { models } }));
  assert.deepEqual([...(await sealedOf(id)).keys()].sort(), [
    "key",
    "models.1:a.custom_headers.authorization",
    "models.3:a.b.custom_headers.authorization",
  ]);
  await done(call(gateway, `DELETE /integrations/${slug}/models?slugs=a`, { key }));
  assert.deepEqual([...(await sealedOf(id)).keys()].sort(), ["key", "models.3:a.b.custom_headers.authorization"]);
  await done(call(gateway, `DELETE /integrations/${slug}`, { key }));
  assert.equal((await sealedOf(id)).size, 0);
});
