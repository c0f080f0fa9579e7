import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { listChanges } from "../../src/control/commit.ts";
import type { Database, Statement } from "../../src/db/client.ts";
import { createControlStores } from "../../src/db/stores/control.ts";
import type { UserRow } from "../../src/db/tables/tenants.ts";
import type { WorkspaceRole } from "../../src/schemas/users.ts";
import { call, createOrganisation, done, refusal } from "../support/control.ts";
import { chat, createTestGateway, type TestGateway, waitForLogs, workspaceKey } from "../support/gateway.ts";
import { createTokenKey, signToken, type TokenChanges } from "../support/tokens.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

const first = await createTokenKey("rsa");
const second = await createTokenKey("other");
const allScopes = "completions.write logs.view configs.create configs.list configs.read";

let gateway: TestGateway;
let database: Database;
let issuer: RecordingUpstream;
let organisationId: string;
let workspaceId: string;
/** What the key set's address answers. */
let published: object = { keys: [first.jwk] };

const stores = () => createControlStores(database);

/** Writes as another node would: with the announcement of what changes. */
async function write(id: string, ...statements: Statement[]): Promise<void> {
  const announced = listChanges(id, statements).map((change) => stores().audit.announce(change, 0));
  await database.write([...statements, ...announced]);
}

/** Writes settings as the route does, and waits until the running gateway follows. */
async function writeSettings(authSettings: object, id = organisationId): Promise<void> {
  await write(id, stores().organisations.update(id, { authSettings: JSON.parse(JSON.stringify(authSettings)) }));
  await followed();
}

/** The time a node takes to see what another one changed. */
const followed = () => new Promise((resolve) => setTimeout(resolve, 700));

async function addPerson(
  email: string,
  role: WorkspaceRole | null,
  organisationRole: UserRow["role"] = "member",
): Promise<string> {
  const id = crypto.randomUUID();
  const tenant = { organisationId, workspaceId: null };
  const { users, members } = stores();
  const membership = { ...tenant, workspaceId, userId: id, createdAt: 0 };
  await write(
    organisationId,
    users.insert(tenant, { organisationId, id, email, role: organisationRole, createdAt: 0 }),
    ...(role === null ? [] : [members.insert(tenant, { ...membership, role })]),
  );
  await followed();
  return id;
}

before(async () => {
  gateway = await createTestGateway({ inFile: true });
  database = await gateway.openFile();
  issuer = await startRecordingUpstream(({ path }, response) => {
    if (path === "/moved") return response.writeHead(302, { location: "/keys" }).end();
    if (path === "/large") return response.end(JSON.stringify({ ...published, padding: "x".repeat(300_000) }));
    response.setHeader("content-type", "application/json");
    return response.end(JSON.stringify(published));
  });
  const [organisation] = await stores().organisations.listAll();
  organisationId = organisation?.id ?? "";
  const workspace = await stores().workspaces.find({ organisationId, workspaceId: null }, { isDefault: true });
  workspaceId = workspace?.id ?? "";
  await writeSettings({ jwks_url: `${issuer.url}/keys` });
});
after(async () => {
  await gateway.close();
  await issuer.close();
});

const sign = (claims: TokenChanges["claims"] = {}, key = first) =>
  signToken(key, Date.now(), { claims: { scope: allScopes, ...claims } });
const status = async (token: string, headers: Record<string, string | null> = {}) =>
  (await chat(gateway, undefined, { "x-gateway-api-key": token, ...headers })).status;

test("a token is accepted instead of a key, and its log row names it", async () => {
  const token = await sign({ sub: "svc-1" });
  assert.equal(await status(token), 200);
  assert.equal(
    (await chat(gateway, undefined, { "x-gateway-api-key": null, authorization: `Bearer ${token}` })).status,
    200,
  );
  const [row] = await waitForLogs(gateway, "limit=1", 1);
  assert.match(row?.api_key_id ?? "", /^jwt_[0-9a-f]{16}$/);
  assert.equal(row?.workspace_id, workspaceId);
  assert.equal(JSON.stringify(row).includes(token), false);
});

test("keys keep working beside tokens, and are refused as before", async () => {
  assert.equal(await status(workspaceKey), 200);
  assert.equal(await status("a.b.c"), 401);
});

test("a token has the scopes it names and no others", async () => {
  assert.equal(await status(await sign({ scope: "configs.list" })), 403);
  const key = await sign({ scope: "configs.list" });
  assert.equal((await call(gateway, "GET /configs", { key })).status, 200);
  assert.equal(
    await refusal(call(gateway, "POST /configs", { key, body: { name: "x", config: { provider: "echo" } } })),
    "403 AB03",
  );
});

test("a user's role limits their token: members may not write configs, managers may", async () => {
  await addPerson("member@example.com", "member");
  await addPerson("manager@example.com", "manager");
  await addPerson("owner@example.com", null, "owner");
  await followed();
  const outcome = async (email: string) => {
    const key = await sign({ email });
    const { status: answered } = await call(gateway, "POST /configs", {
      key,
      body: { name: email, config: { provider: "echo" } },
    });
    return answered;
  };
  assert.equal(await outcome("member@example.com"), 403);
  assert.equal(await outcome("manager@example.com"), 200);
  assert.equal(await outcome("owner@example.com"), 200);
  const key = await sign({ email: "member@example.com" });
  assert.equal((await call(gateway, "GET /configs", { key })).status, 200);
  assert.equal(await status(key), 200);
});

test("a changed role and a removed user affect tokens in use", async () => {
  const userId = await addPerson("changing@example.com", "member");
  const key = await sign({ email: "changing@example.com" });
  const save = () => call(gateway, "POST /configs", { key, body: { name: "role", config: { provider: "echo" } } });
  assert.equal((await save()).status, 403);
  const tenant = { organisationId, workspaceId: null };
  const { users, members } = stores();
  await write(organisationId, members.update(tenant, { userId }, { role: "manager" }));
  await followed();
  assert.equal((await save()).status, 200);
  await write(organisationId, users.update(tenant, { id: userId }, { status: "inactive" }));
  await followed();
  assert.equal(await refusal(save()), "403 AB03");
  assert.equal(await status(key), 403);
});

test("T7: a token verifies with the keys of the organisation it names and no others", async () => {
  const other = await createOrganisation(database, "acme");
  await writeSettings({ jwks: { keys: [second.jwk] } }, other.organisationId);
  assert.equal(await status(await sign({ gateway_oid: other.organisationId })), 401);
  assert.equal(await status(await sign({ gateway_oid: organisationId }, second)), 401);
  const key = await sign({ gateway_oid: organisationId });
  assert.equal((await call(gateway, "GET /configs", { key })).status, 200);
  assert.equal(
    await refusal(call(gateway, `GET /configs?organisation_id=${other.organisationId}`, { key })),
    "403 AB03",
  );
  const foreign = await sign({ gateway_oid: organisationId, gateway_workspace: other.workspaceId });
  assert.equal(await status(foreign), 403);
  const own = await sign({ gateway_oid: other.organisationId }, second);
  const { data } = await done<{ data: unknown[] }>(call(gateway, "GET /configs", { key: own }));
  assert.deepEqual(data, []);
  // with two organisations a token must name its own
  assert.equal((await call(gateway, "GET /configs", { key: await sign({ sub: "nobody-in-particular" }) })).status, 401);
});

test("the header x-gateway-workspace applies to users whose token names no workspace", async () => {
  await addPerson("walker@example.com", "member");
  const token = await sign({ gateway_oid: organisationId, email: "walker@example.com" });
  assert.equal(await status(token, { "x-gateway-workspace": "default" }), 200);
  assert.equal(await status(token, { "x-gateway-workspace": workspaceId }), 200);
  assert.equal(await status(token, { "x-gateway-workspace": "nowhere" }), 403);
  assert.equal(await status(token), 200);
});

test("a rotated key is picked up without a restart", async () => {
  await writeSettings({ jwks_url: `${issuer.url}/keys?rotated` });
  published = { keys: [first.jwk] };
  assert.equal(await status(await sign({ gateway_oid: organisationId })), 200);
  published = { keys: [second.jwk] };
  // within 30 s of the last fetch nothing is fetched: another address is as good as waiting
  assert.equal(await status(await sign({ gateway_oid: organisationId }, second)), 401);
  await writeSettings({ jwks_url: `${issuer.url}/keys?rotated-twice` });
  assert.equal(await status(await sign({ gateway_oid: organisationId }, second)), 200);
  published = { keys: [first.jwk] };
});

test("key sets that redirect, are too large, or are on untrusted hosts are not fetched", async () => {
  for (const url of [`${issuer.url}/moved`, `${issuer.url}/large`, "http://keys.example/", "https://10.0.0.1/"]) {
    await writeSettings({ jwks_url: url });
    assert.equal(await status(await sign({ gateway_oid: organisationId })), 503, url);
  }
  await writeSettings({ jwks_url: `${issuer.url}/keys` });
});

test("changed settings affect tokens in use", async () => {
  const token = await sign({ gateway_oid: organisationId });
  assert.equal(await status(token), 200);
  await writeSettings({ jwks_url: `${issuer.url}/keys`, jwt_enabled: false });
  assert.equal(await status(token), 403);
  await writeSettings({ jwks_url: `${issuer.url}/keys`, audience: "gateway" });
  assert.equal(await status(token), 401);
  assert.equal(await status(await sign({ gateway_oid: organisationId, aud: "gateway" })), 200);
  await writeSettings({ jwks_url: `${issuer.url}/keys` });
});

test("T10: a refused token leaves an audit row with the beginning of its digest and the reason", async () => {
  const token = await sign({ gateway_oid: organisationId, exp: 1_000 });
  assert.equal(await status(token), 401);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(token)));
  const beginning = Array.from(digest.subarray(0, 4), (byte) => byte.toString(16).padStart(2, "0")).join("");
  const rows = await stores().audit.rows.all(
    { organisationId, workspaceId: null },
    { where: { resourceType: "jwt", resourceId: beginning } },
  );
  assert.equal(rows.length, 1);
  const [row] = rows;
  assert.deepEqual([row?.action, row?.responseStatusCode, row?.userType], ["authenticate", 401, "api_key"]);
  assert.match(row?.requestBody ?? "", /the token has expired/);
  assert.equal(JSON.stringify(row).includes(token.slice(0, 40)), false);
});

test("JWT_ENABLED off: a token is a wrong key; bootstrap keys with dots are keys all the same", async () => {
  const dotted = "workspace.key.with-two-dots";
  const off = await createTestGateway({
    tokens: { enabled: false },
    bootstrap: { adminKey: "admin.key.with-two-dots", workspaceKey: dotted },
  });
  try {
    const answer = await chat(off, undefined, { "x-gateway-api-key": await sign() });
    assert.equal(answer.status, 401);
    assert.match(await answer.text(), /Invalid API Key/);
    assert.equal((await chat(off, undefined, { "x-gateway-api-key": dotted })).status, 200);
  } finally {
    await off.close();
  }
});
