import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { scopesOfKind } from "../../src/auth/scopes.ts";
import type { Database } from "../../src/db/client.ts";
import { call, createOrganisation, done, refusal } from "../support/control.ts";
import {
  adminKey,
  createTestClock,
  createTestGateway,
  insertKey,
  type TestGateway,
  workspaceKey,
} from "../support/gateway.ts";

const clock = createTestClock();
const dayMs = 86_400_000;
const inDays = (days: number) => new Date(clock.now() + days * dayMs).toISOString();

let gateway: TestGateway;
let database: Database;
let organisationId: string;
let workspaceId: string;
let owner: string;
/** Users of the default workspace. */
const userIds = { manager: crypto.randomUUID(), member: crypto.randomUUID() };
/** A member of the organisation who is in no workspace. */
const outsider = crypto.randomUUID();
const managing = ["create", "read", "update", "delete", "list", "rotate"].flatMap((verb) => [
  `workspace_user_api_keys.${verb}`,
  `workspace_service_api_keys.${verb}`,
]);
const keyOf = { manager: "key-of-the-manager-000", member: "key-of-the-member-0000" };

before(async () => {
  gateway = await createTestGateway({ inFile: true, clock });
  database = await gateway.openFile();
  const { rows } = await database.read("SELECT id, organisation_id FROM workspaces");
  workspaceId = String(rows[0]?.id);
  organisationId = String(rows[0]?.organisation_id);
  owner = String((await database.read("SELECT id FROM users")).rows[0]?.id);
  const user = (id: string, name: string) => ({
    sql: "INSERT INTO users (id, organisation_id, email, role, created_at) VALUES (?,?,?,'member',0)",
    args: [id, organisationId, `${name}@example.com`],
  });
  const member = (id: string, role: string) => ({
    sql: "INSERT INTO workspace_members (organisation_id, workspace_id, user_id, role, created_at) VALUES (?,?,?,?,0)",
    args: [organisationId, workspaceId, id, role],
  });
  await database.write([
    user(userIds.manager, "manager"),
    user(userIds.member, "member"),
    user(outsider, "outsider"),
    member(userIds.manager, "manager"),
    member(userIds.member, "member"),
  ]);
  for (const role of ["manager", "member"] as const) {
    const scopes = JSON.stringify([...managing, "completions.write", "configs.list"]);
    const id = await insertKey(database, keyOf[role], { kind: "workspace-user", scopes });
    await database.write([{ sql: "UPDATE api_keys SET user_id = ? WHERE id = ?", args: [userIds[role], id] }]);
  }
});
after(() => gateway.close());

interface Minted {
  id: string;
  key: string;
  object: string;
}

interface Shown extends Record<string, unknown> {
  id: string;
  key: string;
  scopes: string[];
  usage_limits: Record<string, unknown> | null;
  defaults: Record<string, unknown> | null;
}

const service = { name: "A key", scopes: ["completions.write", "configs.list"] };
const mint = (kind: string, body: object, key?: string) =>
  done<Minted>(call<Minted>(gateway, `POST /api-keys/${kind}`, { body, ...(key && { key }) }));
const mintService = (body: object = {}) => mint("workspace/service", { ...service, ...body }, workspaceKey);
const mintUser = (body: object = {}) =>
  mint("workspace/user", { ...service, user_id: userIds.member, ...body }, workspaceKey);
const show = (id: string) => done<Shown>(call<Shown>(gateway, `GET /api-keys/${id}`));
const change = (id: string, body: object) => done(call(gateway, `PUT /api-keys/${id}`, { body }));
const rotate = (id: string, body?: object) =>
  done<{ id: string; key: string; key_transition_expires_at: string }>(
    call(gateway, `POST /api-keys/${id}/rotate`, { ...(body && { body }) }),
  );
const list = async (query = "", key = adminKey) => {
  const { data, total } = await done<{ data: Shown[]; total: number }>(
    call(gateway, `GET /api-keys?${query}`, { key }),
  );
  return { ids: data.map(({ id }) => id), data, total };
};
const works = async (key: string) => (await call(gateway, "GET /configs?workspace_id=default", { key })).status !== 401;

/** Runs `work` while a JSON column of the organisation or the workspace has other values. */
async function withJson(table: string, column: string, value: unknown, work: () => Promise<void>): Promise<void> {
  const before = (
    await database.read(`SELECT id, ${column} AS old FROM ${table} WHERE id IN ('${organisationId}', '${workspaceId}')`)
  ).rows[0];
  const set = (text: unknown) =>
    database.write([
      { sql: `UPDATE ${table} SET ${column} = ? WHERE id = ?`, args: [text as string, String(before?.id)] },
    ]);
  await set(JSON.stringify(value));
  try {
    await work();
  } finally {
    await set(before?.old ?? null);
  }
}

for (const [kind, body, type] of [
  ["organisation/service", { scopes: ["configs.list"] }, "organisation-service"],
  ["workspace/service", { scopes: ["configs.list"], workspace_id: "default" }, "workspace-service"],
  ["workspace/user", { scopes: ["configs.list"], workspace_id: "default", user_id: userIds.member }, "workspace-user"],
] as const) {
  test(`POST /api-keys/${kind} makes a key that works and is shown once`, async () => {
    const minted = await mint(kind, { name: "A key", ...body });
    assert.deepEqual(Object.keys(minted).sort(), ["id", "key", "object"]);
    assert.equal(minted.object, "api-key");
    assert.match(minted.key, /^gk_[0-9A-Za-z]{12}_[0-9A-Za-z]{49}$/);
    assert.equal((await call(gateway, "GET /configs?workspace_id=default", { key: minted.key })).status, 200);
    const shown = await show(minted.id);
    assert.deepEqual(
      [shown.key, shown.type, shown.organisation_id, shown.workspace_id, shown.user_id, shown.status, shown.object],
      [
        `${minted.key.slice(0, 2)}*****${minted.key.slice(-3)}`,
        type,
        organisationId,
        type === "organisation-service" ? null : workspaceId,
        type === "workspace-user" ? userIds.member : null,
        "active",
        "api-key",
      ],
    );
  });
}

test("the secret is in no list, no record, no audit row and no column", async () => {
  const { id, key } = await mintService();
  const rotated = await rotate(id);
  const shown = JSON.stringify([await list("page_size=1000"), await show(id)]);
  const tables = [await database.read("SELECT * FROM audit_logs"), await database.read("SELECT * FROM api_keys")];
  const stored = JSON.stringify(tables.map(({ rows }) => rows));
  for (const secret of [key, rotated.key]) {
    assert.equal(shown.includes(secret.slice(16)), false);
    assert.equal(stored.includes(secret.slice(16)), false);
  }
});

test("POST /api-keys stores the fields it was sent", async () => {
  const { slug } = await done(
    call(gateway, "POST /configs", { key: workspaceKey, body: { name: "c", config: { provider: "echo" } } }),
  );
  const { id } = await mintService({
    description: "for tests",
    scopes: ["completions:write", "completions.write", "gateway.configs:read"],
    rate_limits: [{ type: "requests", unit: "rpm", value: 0 }],
    usage_limits: { credit_limit: 10.5, alert_threshold: 5, periodic_reset: "weekly" },
    defaults: { metadata: { team: "a" }, config_slug: slug, allow_config_override: false },
    alert_emails: ["One@example.com"],
    priority: "low",
    allowed_models: ["fast", "@main/*", "fast"],
    expires_at: inDays(1),
  });
  const { id: limitId, ...limits } = (await show(id)).usage_limits ?? {};
  assert.match(String(limitId), /^[0-9a-f-]{36}$/);
  assert.deepEqual(limits, {
    type: "cost",
    credit_limit: 10.5,
    alert_threshold: 5,
    periodic_reset: "weekly",
    periodic_reset_days: null,
    // 2026-01-15 is a Thursday
    next_usage_reset_at: "2026-01-19T00:00:00.000Z",
    status: "active",
    current_usage: 0,
    is_threshold_alerts_sent: false,
    is_exhausted_alerts_sent: false,
  });
  const { usage_limits, key, created_at, last_updated_at, ...shown } = await show(id);
  assert.equal(created_at, last_updated_at);
  assert.deepEqual(shown, {
    id,
    name: "A key",
    description: "for tests",
    type: "workspace-service",
    object: "api-key",
    organisation_id: organisationId,
    workspace_id: workspaceId,
    user_id: null,
    status: "active",
    creation_mode: "api",
    rate_limits: [{ type: "requests", unit: "rpm", value: 0 }],
    reset_usage: null,
    last_reset_at: null,
    next_usage_reset_at: "2026-01-19T00:00:00.000Z",
    expires_at: inDays(1),
    expiry_enforced: 0,
    alert_emails: ["one@example.com"],
    priority: "low",
    allowed_models: ["fast", "@main/*"],
    allow_config_override: 0,
    api_key_defaults_id: null,
    scopes: ["completions.write", "configs.read"],
    defaults: { metadata: { team: "a" }, config_id: slug, allow_config_override: false },
  });
});

const limits = (changes: object) => ({ usage_limits: changes });
for (const [name, body, param] of [
  ["no name", { name: undefined }, "name"],
  ["a name of 256 characters", { name: "n".repeat(256) }, "name"],
  ["a description of 1,025 characters", { description: "d".repeat(1025) }, "description"],
  ["no scopes", { scopes: undefined }, "scopes"],
  ["an unknown scope", { scopes: ["configs.list", "everything.do"] }, "scopes.1"],
  ["a wildcard", { scopes: ["*"] }, "scopes.0"],
  ["a wildcard verb", { scopes: ["configs.*"] }, "scopes.0"],
  ["a scope of admin keys", { scopes: ["audit_logs.list"] }, "scopes.0"],
  ["a role", { role: "admin" }, "role"],
  ["an owner", { owner: "me" }, "owner"],
  ["is_admin", { is_admin: true }, "is_admin"],
  ["a kind", { kind: "organisation-service" }, "kind"],
  ["permissions", { permissions: [] }, "permissions"],
  ["another type than its path", { type: "organisation-service" }, "type"],
  ["a person for a service", { user_id: userIds.member }, "user_id"],
  ["two limits of one kind", { rate_limits: Array(2).fill({ type: "tokens", unit: "rpm", value: 1 }) }, "rate_limits"],
  ["an unknown unit", { rate_limits: [{ type: "tokens", unit: "rpy", value: 1 }] }, "rate_limits.0.unit"],
  ["a negative limit", { rate_limits: [{ type: "tokens", unit: "rpm", value: -1 }] }, "rate_limits.0.value"],
  ["a budget of 0", limits({ credit_limit: 0 }), "usage_limits.credit_limit"],
  ["a threshold at the limit", limits({ credit_limit: 5, alert_threshold: 5 }), "usage_limits.alert_threshold"],
  ["two resets", limits({ periodic_reset: "weekly", periodic_reset_days: 1 }), "usage_limits.periodic_reset_days"],
  ["366 days of budget", limits({ periodic_reset_days: 366 }), "usage_limits.periodic_reset_days"],
  ["metadata of 129 characters", { defaults: { metadata: { a: "m".repeat(129) } } }, "defaults.metadata.a"],
  ["metadata that is a number", { defaults: { metadata: { a: 1 } } }, "defaults.metadata.a"],
  ["an unknown priority", { priority: "urgent" }, "priority"],
  ["a list without models", { allowed_models: [] }, "allowed_models"],
  ["a model with a space", { allowed_models: ["fast", "gpt 4"] }, "allowed_models.1"],
  ["an address that is none", { alert_emails: ["nobody"] }, "alert_emails.0"],
  ["an end that is no time", { expires_at: "soon" }, "expires_at"],
  ["an end in the past", { expires_at: "2026-01-15T11:59:59Z" }, "expires_at"],
  ["a rotation policy", { rotation_policy: { rotation_period: "monthly" } }, "rotation_policy"],
] as const) {
  test(`POST /api-keys refuses ${name}`, async () => {
    const { status, body: answer } = await call<{ error: { code: string; param: string } }>(
      ...([gateway, "POST /api-keys/workspace/service"] as const),
      { key: workspaceKey, body: { ...service, ...body } },
    );
    assert.deepEqual([status, answer.error.code, answer.error.param], [400, "AB01", param]);
  });
}

for (const [path, key, body, wanted] of [
  ["organisation/user", adminKey, {}, "400 AB01"],
  ["team/service", adminKey, {}, "400 AB01"],
  ["workspace/robot", adminKey, {}, "400 AB01"],
  ["workspace/service", adminKey, {}, "400 AB01"],
  ["workspace/service", adminKey, { workspace_id: "unknown" }, "403 AB03"],
  ["workspace/service", workspaceKey, { workspace_id: "unknown" }, "403 AB03"],
  ["workspace/service", workspaceKey, { organisation_id: "unknown" }, "403 AB03"],
  ["workspace/service", workspaceKey, { defaults: { config_id: "unknown" } }, "404 AB02"],
  ["organisation/service", workspaceKey, {}, "403 AB03"],
  ["organisation/service", adminKey, { workspace_id: "default" }, "400 AB01"],
  ["organisation/service", adminKey, { scopes: ["completions.write"] }, "400 AB01"],
  ["organisation/service", adminKey, { scopes: ["configs.list"], defaults: { config_id: "c" } }, "400 AB01"],
  ["workspace/user", workspaceKey, { user_id: "not-an-id" }, "400 AB01"],
  ["workspace/user", workspaceKey, { user_id: outsider }, "400 AB01"],
  ["workspace/user", workspaceKey, { user_id: crypto.randomUUID() }, "400 AB01"],
  ["workspace/user", workspaceKey, { user_id: userIds.member, scopes: ["workspace_user_api_keys.list"] }, "400 AB01"],
] as const) {
  test(`POST /api-keys/${path} with ${JSON.stringify(body)} answers ${wanted}`, async () => {
    const sent = { ...service, ...body };
    assert.equal(await refusal(call(gateway, `POST /api-keys/${path}`, { key, body: sent })), wanted);
  });
}

test("owners of the organisation are members of every workspace", async () => {
  assert.equal((await show((await mintUser({ user_id: owner })).id)).user_id, owner);
});

test("K7: POST /api-keys refuses scopes the calling key lacks", async () => {
  const scopes = ["workspace_service_api_keys.create", "workspace_service_api_keys.update", "configs.list"];
  const small = await mintService({ scopes });
  const target = await mintService();
  const post = (wanted: string[]) =>
    refusal(call(gateway, "POST /api-keys/workspace/service", { key: small.key, body: { name: "n", scopes: wanted } }));
  assert.equal(await post(["configs.list", "configs.read"]), "403 AB03");
  assert.equal(await post(["configs:list"]), "200 ");
  const put = { key: small.key, body: { scopes: ["logs.view"] } };
  assert.equal(await refusal(call(gateway, `PUT /api-keys/${target.id}`, put)), "403 AB03");
  assert.deepEqual((await show(target.id)).scopes, service.scopes);
});

test("K7: a key of the organisation gives every scope of a workspace key, and of organisation keys those it holds", async () => {
  const all = scopesOfKind("workspace-service");
  const { id } = await mint("workspace/service", { name: "n", scopes: all, workspace_id: workspaceId });
  assert.deepEqual((await show(id)).scopes, all);
  const create = ["organisation_service_api_keys.create", "workspace_service_api_keys.create"];
  const small = await mint("organisation/service", { name: "n", scopes: create });
  const post = (kind: string, body: object) =>
    refusal(call(gateway, `POST /api-keys/${kind}`, { key: small.key, body: { name: "n", ...body } }));
  assert.equal(await post("organisation/service", { scopes: ["audit_logs.list"] }), "403 AB03");
  assert.equal(await post("organisation/service", { scopes: create }), "200 ");
  const inWorkspace = { scopes: ["completions.write"], workspace_id: workspaceId };
  assert.equal(await post("workspace/service", inWorkspace), "200 ");
});

test("the scope family depends on the kind of key", async () => {
  const scopes = ["create", "read", "update", "delete", "list", "rotate"].map(
    (verb) => `workspace_user_api_keys.${verb}`,
  );
  const { key } = await mintService({ scopes: [...scopes, "configs.list"] });
  const ofService = await mintService({ scopes: ["configs.list"] });
  const ofUser = await mintUser({ scopes: ["configs.list"] });
  for (const [route, body] of [
    ["GET /api-keys/ID", undefined],
    ["PUT /api-keys/ID", { name: "n" }],
    ["POST /api-keys/ID/rotate", {}],
    ["DELETE /api-keys/ID", undefined],
  ] as const) {
    assert.equal(await refusal(call(gateway, route.replace("ID", ofService.id), { key, body })), "403 AB03", route);
    assert.equal(await refusal(call(gateway, route.replace("ID", ofUser.id), { key, body })), "200 ", route);
  }
  const { data } = await list("page_size=1000", key);
  assert.deepEqual([...new Set(data.map(({ type }) => type))], ["workspace-user"]);
  const small = await mintService({ scopes: ["workspace_service_api_keys.list"] });
  assert.equal(await refusal(call(gateway, `GET /api-keys/${ofService.id}`, { key: small.key })), "403 AB03");
  const nothing = await mintService({ scopes: ["completions.write"] });
  assert.equal(await refusal(call(gateway, "GET /api-keys", { key: nothing.key })), "403 AB03");
});

test("members of a workspace manage their own keys only and see no service keys", async () => {
  const theirs = await mintUser({ user_id: userIds.manager, scopes: ["configs.list"] });
  const ofService = await mintService({ scopes: ["configs.list"] });
  const by = (role: "manager" | "member", route: string, body?: object) =>
    refusal(call(gateway, route, { key: keyOf[role], ...(body && { body }) }));
  const own = await mint("workspace/user", { name: "mine", scopes: ["configs.list"] }, keyOf.member);
  assert.equal((await show(own.id)).user_id, userIds.member);
  const forManager = { ...service, user_id: userIds.manager };
  assert.equal(await by("member", "POST /api-keys/workspace/user", forManager), "403 AB03");
  assert.equal(await by("member", "POST /api-keys/workspace/service", service), "403 AB03");
  for (const { id } of [theirs, ofService]) {
    assert.equal(await by("member", `PUT /api-keys/${id}`, { name: "n" }), "403 AB03");
    assert.equal(await by("member", `POST /api-keys/${id}/rotate`), "403 AB03");
    assert.equal(await by("member", `DELETE /api-keys/${id}`), "403 AB03");
  }
  assert.equal(await by("member", `GET /api-keys/${ofService.id}`), "403 AB03");
  const kinds = async (role: "manager" | "member") =>
    [...new Set((await list("page_size=1000", keyOf[role])).data.map(({ type }) => type))].sort();
  assert.deepEqual(await kinds("member"), ["workspace-user"]);
  assert.deepEqual(await kinds("manager"), ["workspace-service", "workspace-user"]);
  assert.equal(await by("member", `DELETE /api-keys/${own.id}`), "200 ");
  const forMember = { ...service, user_id: userIds.member };
  assert.equal(await by("manager", "POST /api-keys/workspace/user", forMember), "200 ");
  assert.equal(await by("manager", "POST /api-keys/workspace/service", service), "200 ");
});

test("GET /api-keys has pages and filters, newest first", async () => {
  const minted: string[] = [];
  for (let count = 0; count < 3; count++) {
    clock.advance(1);
    minted.unshift((await mintService({ name: `page ${count}` })).id);
  }
  const ids = `ids=${minted.join()}`;
  assert.deepEqual((await list(ids)).ids, minted);
  const page = await list(`${ids}&page_size=2&current_page=1`);
  assert.deepEqual([page.ids, page.total], [minted.slice(2), 3]);
  assert.deepEqual((await list(`${ids}&current_page=9`)).ids, []);
  assert.deepEqual((await list(`${ids}&type=workspace-user`)).ids, []);
  assert.deepEqual((await list(`${ids}&status=expired`)).ids, []);
  assert.deepEqual((await list(`${ids}&workspace_id=default`)).total, 3);
  const ofOrganisation = (await list("type=organisation-service")).data;
  assert.ok(ofOrganisation.length > 0 && ofOrganisation.every(({ workspace_id: id }) => id === null));
  assert.equal(
    (await list("page_size=1000", workspaceKey)).data.some(({ workspace_id: id }) => id !== workspaceId),
    false,
  );
  const byId = `GET /api-keys/${minted[0]}`;
  assert.equal((await call(gateway, `${byId}?workspace_id=default`)).status, 200);
  assert.equal(await refusal(call(gateway, `${byId}?workspace_id=other`)), "403 AB03");
  for (const query of ["ids=1", "page_size=0", "page_size=1001", "current_page=-1", "type=user", "status=revoked"]) {
    assert.equal(await refusal(call(gateway, `GET /api-keys?${query}`)), "400 AB01", query);
  }
  assert.equal(await refusal(call(gateway, "GET /api-keys?workspace_id=other")), "403 AB03");
});

test("foreign keys are not found", async () => {
  const other = await createOrganisation(database, "other");
  const mine = await mintService();
  const rows = await database.read(`SELECT id FROM api_keys WHERE organisation_id = '${other.organisationId}'`);
  const theirs = String(rows.rows[0]?.id);
  for (const [method, suffix, body] of [
    ["GET", "", undefined],
    ["PUT", "", { name: "n" }],
    ["POST", "/rotate", {}],
    ["DELETE", "", undefined],
  ] as const) {
    for (const id of [theirs, crypto.randomUUID(), "default", "first-admin-key"]) {
      assert.equal(await refusal(call(gateway, `${method} /api-keys/${id}${suffix}`, { body })), "404 AB08");
    }
    const foreign = call(gateway, `${method} /api-keys/${mine.id}${suffix}`, { body, key: other.adminKey });
    assert.equal(await refusal(foreign), "404 AB08");
    const admins = String(
      (
        await database.read(
          `SELECT id FROM api_keys WHERE organisation_id = '${organisationId}' AND kind = 'organisation-service'`,
        )
      ).rows[0]?.id,
    );
    const above = call(gateway, `${method} /api-keys/${admins}${suffix}`, { body, key: workspaceKey });
    assert.equal(await refusal(above), "404 AB08");
  }
  assert.deepEqual((await list(`ids=${mine.id}`, other.adminKey)).ids, []);
  assert.equal(await works(mine.key), true);
});

const full = {
  description: "d",
  rate_limits: [{ type: "tokens", unit: "rpd", value: 5 }],
  usage_limits: { credit_limit: 5 },
  alert_emails: ["a@example.com"],
  priority: "high",
  allowed_models: ["fast"],
  expires_at: inDays(100),
};
for (const [member, value, cleared] of [
  ["description", "other", null],
  ["rate_limits", [{ type: "requests", unit: "rps", value: 1 }], []],
  ["usage_limits", { credit_limit: 9, type: "tokens" }, null],
  ["alert_emails", ["b@example.com"], null],
  ["priority", "low", "normal"],
  ["allowed_models", ["@main/*"], null],
  ["expires_at", inDays(200), null],
] as const) {
  test(`PUT /api-keys preserves, replaces and clears ${member}`, async () => {
    const { id } = await mintService(full);
    const first = (await show(id))[member];
    await change(id, { name: "Other name" });
    const preserved = await show(id);
    assert.deepEqual([preserved[member], preserved.name], [first, "Other name"]);
    await change(id, { [member]: value });
    const replaced = (await show(id))[member];
    assert.notDeepEqual(replaced, first);
    if (Object(value) !== value || Array.isArray(value)) assert.deepEqual(replaced, value);
    else assert.deepEqual({ ...Object(replaced), ...Object(value) }, replaced);
    await change(id, { [member]: null });
    assert.deepEqual((await show(id))[member], cleared);
  });
}

test("PUT /api-keys changes fields of the defaults one by one", async () => {
  const { slug } = await done(
    call(gateway, "POST /configs", { key: workspaceKey, body: { name: "d", config: { provider: "echo" } } }),
  );
  const { id } = await mintService({ defaults: { metadata: { a: "1" }, config_id: slug } });
  const after = async (defaults: unknown) => {
    await change(id, { defaults });
    return (await show(id)).defaults;
  };
  const first = { metadata: { a: "1" }, config_id: slug, allow_config_override: true };
  assert.deepEqual(await after({ allow_config_override: 0 }), { ...first, allow_config_override: false });
  assert.deepEqual(await after({ allow_config_override: null }), first);
  assert.deepEqual(await after({ metadata: { b: "2" } }), { ...first, metadata: { b: "2" } });
  assert.deepEqual(await after({ config_slug: null }), { ...first, metadata: { b: "2" }, config_id: null });
  assert.equal(await after(null), null);
  const bad = { defaults: { config_id: "nowhere" } };
  assert.equal(await refusal(call(gateway, `PUT /api-keys/${id}`, { body: bad })), "404 AB02");
});

test("PUT /api-keys accepts a record as it was shown", async () => {
  const { id } = await mintUser({ ...full, defaults: { metadata: { a: "1" } } });
  const shown = await show(id);
  await change(id, shown);
  const { last_updated_at, ...again } = await show(id);
  assert.deepEqual({ ...again, last_updated_at: shown.last_updated_at }, shown);
});

test("PUT /api-keys refuses to change the owner of a key", async () => {
  const { id } = await mintUser();
  for (const [body, wanted] of [
    [{ user_id: userIds.manager }, "400 AB01"],
    [{ user_id: null }, "400 AB01"],
    [{ type: "workspace-service" }, "400 AB01"],
    [{ role: "admin" }, "400 AB01"],
    [{ name: "" }, "400 AB01"],
    [{ scopes: ["workspace_user_api_keys.list"] }, "400 AB01"],
    [{ usage_limits: { credit_limit: 1, alert_threshold: 1 } }, "400 AB01"],
    [{ rotation_policy: { rotation_period_days: 30 } }, "400 AB01"],
    [{ rotation_policy: null }, "200 "],
    [{ workspace_id: "other" }, "403 AB03"],
    [{ organisation_id: "other" }, "403 AB03"],
    [{ user_id: userIds.member, type: "workspace-user", workspace_id: "default" }, "200 "],
  ] as const) {
    assert.equal(await refusal(call(gateway, `PUT /api-keys/${id}`, { body })), wanted, JSON.stringify(body));
  }
});

test("PUT /api-keys takes effect at once", async () => {
  const { id, key } = await mintService();
  const status = async () => (await call(gateway, "GET /configs", { key })).status;
  assert.equal(await status(), 200);
  await change(id, { scopes: ["completions.write"] });
  assert.equal(await status(), 403);
  await change(id, { scopes: ["configs.list"], expires_at: inDays(1) });
  assert.equal(await status(), 200);
  await change(id, { expires_at: "2026-01-01" });
  assert.equal(await status(), 401);
  assert.equal((await show(id)).status, "expired");
  await change(id, { expires_at: null });
  assert.equal(await status(), 200);
});

test("reset_usage is noted with its time", async () => {
  const { id } = await mintService({ usage_limits: { credit_limit: 5 } });
  assert.equal((await show(id)).last_reset_at, null);
  await change(id, { reset_usage: true });
  assert.equal((await show(id)).last_reset_at, new Date(clock.now()).toISOString());
});

test("a budget preserves its id when it is changed", async () => {
  const { id } = await mintService({ usage_limits: { credit_limit: 5, periodic_reset_days: 10 } });
  const first = (await show(id)).usage_limits;
  assert.equal(first?.next_usage_reset_at, "2026-01-25T00:00:00.000Z");
  await change(id, { usage_limits: { credit_limit: 6, next_usage_reset_at: "2026-03-04T05:06:07Z" } });
  const second = (await show(id)).usage_limits;
  assert.deepEqual([second?.id, second?.next_usage_reset_at], [first?.id, "2026-03-04T00:00:00.000Z"]);
});

test("a rotation that nobody could use is refused with the way to rotate", async () => {
  const body = { ...service, rotation_policy: { next_rotation_at: inDays(3) } };
  const { status, body: answer } = await call<{ error: { message: string } }>(
    ...([gateway, "POST /api-keys/workspace/service"] as const),
    { key: workspaceKey, body },
  );
  assert.equal(status, 400);
  assert.match(answer.error.message, /does not rotate keys by itself, use POST \/api-keys\/\{id\}\/rotate/);
  const { id } = await mintService({ rotation_policy: null });
  assert.equal(Object.hasOwn(await show(id), "rotation_policy"), false);
});

test("lifetimes of user keys follow the workspace, else the organisation", async () => {
  const expiry = async (body: object = {}) => (await show((await mintUser(body)).id)).expires_at;
  const refused = (body: object) =>
    refusal(
      call(gateway, "POST /api-keys/workspace/user", {
        body: { ...service, workspace_id: workspaceId, user_id: userIds.member, ...body },
      }),
    );
  await withJson("organisations", "settings", { user_api_key_ttl: 10, user_api_key_max_ttl: 20 }, async () => {
    assert.equal(await expiry(), inDays(10));
    assert.equal(await expiry({ expires_at: inDays(20) }), inDays(20));
    assert.equal(await refused({ expires_at: inDays(20.001) }), "400 AB01");
    assert.equal(await refused({ expires_at: null }), "400 AB01");
    assert.equal((await show((await mintService()).id)).expires_at, null);
    const { id } = await mintUser();
    assert.equal((await show(id)).expiry_enforced, 1);
    assert.equal(await refusal(call(gateway, `PUT /api-keys/${id}`, { body: { expires_at: null } })), "400 AB01");
    await withJson("workspaces", "settings", { user_api_key_ttl: 0, user_api_key_max_ttl: 5 }, async () => {
      assert.equal(await expiry(), inDays(5));
      assert.equal(await refused({ expires_at: inDays(6) }), "400 AB01");
    });
  });
});

test("a user has at most as many keys as the settings allow", async () => {
  const before = (await list("type=workspace-user&page_size=1000")).data.filter(
    ({ user_id: id }) => id === owner,
  ).length;
  await withJson("workspaces", "settings", { user_api_key_count: before + 1 }, async () => {
    const { id } = await mintUser({ user_id: owner });
    const again = { key: workspaceKey, body: { ...service, user_id: owner } };
    assert.equal(await refusal(call(gateway, "POST /api-keys/workspace/user", again)), "400 AB01");
    await done(call(gateway, `DELETE /api-keys/${id}`));
    await mintUser({ user_id: owner });
  });
});

test("a workspace's config is the default of new user keys", async () => {
  await withJson("workspaces", "defaults", { user_api_key_config: "pc-default-000000" }, async () => {
    assert.equal((await show((await mintUser()).id)).defaults?.config_id, "pc-default-000000");
    assert.equal((await show((await mintUser({ defaults: { config_id: null } })).id)).defaults?.config_id, null);
    assert.equal((await show((await mintService()).id)).defaults, null);
  });
});

test("metadata is validated by the organisation's schema, at creation and with every change", async () => {
  const { id } = await mintService();
  const schema = {
    type: "object",
    additionalProperties: true,
    required: ["team"],
    properties: { team: { type: "string", enum: ["a", "b"] }, stage: { type: "string", default: "test" } },
  };
  await withJson("organisations", "settings", { api_key_metadata_schema: schema }, async () => {
    const post = (defaults?: object) =>
      refusal(call(gateway, "POST /api-keys/workspace/service", { key: workspaceKey, body: { ...service, defaults } }));
    assert.equal(await post(), "400 AB01");
    assert.equal(await post({ metadata: { team: "c" } }), "400 AB01");
    const minted = await mintService({ defaults: { metadata: { team: "a" } } });
    assert.deepEqual((await show(minted.id)).defaults?.metadata, { stage: "test", team: "a" });
    assert.equal(await refusal(call(gateway, `PUT /api-keys/${id}`, { body: { name: "n" } })), "400 AB01");
    await change(id, { defaults: { metadata: { team: "b" } } });
    assert.deepEqual((await show(id)).defaults?.metadata, { stage: "test", team: "b" });
  });
});

test("DELETE /api-keys revokes a key and its former secret at once", async () => {
  const { id, key } = await mintService();
  const rotated = await rotate(id);
  assert.deepEqual([await works(key), await works(rotated.key)], [true, true]);
  assert.deepEqual(await done(call(gateway, `DELETE /api-keys/${id}`)), {});
  assert.deepEqual([await works(key), await works(rotated.key)], [false, false]);
  for (const [method, suffix, body] of [
    ["GET", "", undefined],
    ["PUT", "", { name: "n" }],
    ["POST", "/rotate", {}],
    ["DELETE", "", undefined],
  ] as const) {
    assert.equal(await refusal(call(gateway, `${method} /api-keys/${id}${suffix}`, { body })), "404 AB08");
  }
  assert.deepEqual((await list(`ids=${id}`)).ids, []);
});

test("K6: both secrets work for 30 minutes after a rotation, then only the new one", async () => {
  const { id, key } = await mintService();
  assert.equal(await works(key), true);
  const first = await show(id);
  const rotated = await rotate(id);
  assert.equal(rotated.id, id);
  assert.equal(rotated.key_transition_expires_at, new Date(clock.now() + 1_800_000).toISOString());
  assert.equal(rotated.key.slice(0, 16), key.slice(0, 16), "the public part stays");
  const { last_rotated_at, key: masked, last_updated_at, ...shown } = await show(id);
  assert.equal(masked, `gk*****${rotated.key.slice(-3)}`);
  assert.equal(last_rotated_at, new Date(clock.now()).toISOString());
  assert.deepEqual({ ...shown, key: first.key, last_updated_at: first.last_updated_at }, first);
  clock.advance(1_799_999);
  assert.deepEqual([await works(key), await works(rotated.key)], [true, true]);
  assert.equal(await refusal(call(gateway, `POST /api-keys/${id}/rotate`)), "409 AB07");
  clock.advance(1);
  assert.deepEqual([await works(key), await works(rotated.key)], [false, true]);
  const again = await rotate(id);
  assert.deepEqual([await works(key), await works(rotated.key), await works(again.key)], [false, true, true]);
});

test("the transition period comes from the body, else it is 30 minutes", async () => {
  const { id } = await mintService();
  const refused = (period: unknown) =>
    refusal(call(gateway, `POST /api-keys/${id}/rotate`, { body: { key_transition_period_ms: period } }));
  for (const period of [1_799_999, 1_800_000.5, "1800000", 31_536_000_001]) {
    assert.equal(await refused(period), "400 AB01", String(period));
  }
  const rotated = await rotate(id, { key_transition_period_ms: 7_200_000 });
  assert.equal(Date.parse(rotated.key_transition_expires_at) - clock.now(), 7_200_000);
  clock.advance(7_200_000);
  const again = await rotate(id, { key_transition_period_ms: null });
  assert.equal(Date.parse(again.key_transition_expires_at) - clock.now(), 1_800_000);
});

test("K7: no key rotates one that holds more than itself", async () => {
  const small = await mintService({ scopes: ["workspace_service_api_keys.rotate", "configs.list"] });
  const large = await mintService();
  const equal = await mintService({ scopes: ["configs.list"] });
  const by = ({ id }: Minted) => refusal(call(gateway, `POST /api-keys/${id}/rotate`, { key: small.key }));
  assert.deepEqual([await by(large), await by(equal), await by(small)], ["403 AB03", "200 ", "200 "]);
});

test("the second of two concurrent rotations is refused", async () => {
  const { id, key } = await mintService();
  const route = `POST /api-keys/${id}/rotate`;
  const both = await Promise.all([refusal(call(gateway, route)), refusal(call(gateway, route))]);
  assert.deepEqual(both.sort(), ["200 ", "409 AB07"]);
  assert.equal(await works(key), true);
});

test("an expired key cannot be rotated", async () => {
  const { id } = await mintService({ expires_at: inDays(1) });
  clock.advance(dayMs);
  assert.equal(await refusal(call(gateway, `POST /api-keys/${id}/rotate`)), "409 AB07");
});

test("creations, changes, rotations and refusals are in the audit log", async () => {
  const { id } = await mintService();
  await change(id, { name: "n" });
  await rotate(id);
  await refusal(call(gateway, `POST /api-keys/${id}/rotate`));
  await done(call(gateway, `DELETE /api-keys/${id}`));
  const { rows } = await database.read({
    sql: "SELECT action, response_status_code AS status FROM audit_logs WHERE resource_id = ? AND resource_type = 'api_keys' ORDER BY seq",
    args: [id],
  });
  assert.deepEqual(
    rows.map(({ action, status }) => `${action} ${status}`),
    ["create 200", "update 200", "rotate 200", "rotate 409", "delete 200"],
  );
});

test("K6: a rotated bootstrap key works beside its successor until the transition ends", async () => {
  const own = await createTestGateway({ clock });
  try {
    const { data } = await done<{ data: Shown[] }>(call(own, "GET /api-keys"));
    for (const [type, key] of [
      ["workspace-service", workspaceKey],
      ["organisation-service", adminKey],
    ] as const) {
      const id = data.find((one) => one.type === type)?.id;
      const rotated = await done<Minted>(call(own, `POST /api-keys/${id}/rotate`));
      const route = "GET /configs?workspace_id=default";
      const statuses = async () => [
        (await call(own, route, { key })).status,
        (await call(own, route, { key: rotated.key })).status,
      ];
      assert.deepEqual(await statuses(), [200, 200]);
      clock.advance(1_799_999);
      assert.deepEqual(await statuses(), [200, 200]);
      clock.advance(1);
      assert.deepEqual(await statuses(), [401, 200]);
    }
  } finally {
    await own.close();
  }
});
