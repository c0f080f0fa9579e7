import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { mintApiKey } from "../../src/auth/api-key.ts";
import { call, createOrganisation, done, refusal } from "../support/control.ts";
import { createTestGateway, insertKey, type TestGateway, workspaceKey } from "../support/gateway.ts";
import { addPerson, type List, problem } from "../support/people.ts";

let gateway: TestGateway;
let other: Awaited<ReturnType<typeof createOrganisation>>;
let organisationId: string;
before(async () => {
  gateway = await createTestGateway({ inFile: true });
  other = await createOrganisation(await gateway.openFile(), "other");
  const { data } = await done(call<{ data: { id: string } }>(gateway, "GET /organisations/self"));
  organisationId = data.id;
});
after(() => gateway.close());

const path = "/admin/workspaces";

interface Workspace {
  id: string;
  slug: string;
  name: string;
  status: string;
  defaults: Record<string, unknown> | null;
  usage_limits: Record<string, unknown>[] | null;
  rate_limits: Record<string, unknown>[] | null;
  settings: Record<string, unknown>;
  security_settings: Record<string, boolean>;
  data_plane_security_settings: Record<string, boolean>;
  users: { id: string; role: string }[];
}

const create = (body: object) => done(call<Workspace>(gateway, `POST ${path}`, { body }));
const read = (id: string) => done(call<Workspace>(gateway, `GET ${path}/${id}`));
const update = (id: string, body: object) => call(gateway, `PUT ${path}/${id}`, { body });
const setOrganisation = (body: object) => done(call(gateway, `PUT /organisations/${organisationId}`, { body }));

test("POST /admin/workspaces returns the whole record", async () => {
  const person = await addPerson(gateway, "first@example.com");
  const made = await create({
    name: "My Team",
    description: "d",
    icon: "i",
    users: [person.id],
    defaults: { metadata: { team: "a" } },
    usage_limits: [{ credit_limit: 10, periodic_reset: "monthly" }],
    rate_limits: [{ type: "requests", unit: "rpm", value: 5 }],
  });
  assert.match(made.slug, /^ws-my-tea-[0-9a-f]{6}$/);
  assert.deepEqual(
    made.users.map(({ id, role }) => [id, role]),
    [[person.id, "member"]],
  );
  assert.deepEqual(await read(made.id), made);
  assert.deepEqual(await read(made.slug), made);
  const record: Record<string, unknown> = { ...made };
  assert.deepEqual(
    [record.object, record.organisation_id, record.is_default, record.status, record.last_reset_at],
    ["workspace", organisationId, 0, "active", null],
  );
  assert.deepEqual(made.defaults, { metadata: { team: "a" } });
  assert.deepEqual(made.rate_limits, [{ type: "requests", unit: "rpm", value: 5 }]);
  assert.equal(made.usage_limits?.[0]?.type, "cost");
  assert.match(String(made.usage_limits?.[0]?.next_usage_reset_at), /^\d{4}-\d{2}-01T00:00:00\.000Z$/);
  const { debug_log, user_api_key_ttl, user_api_key_max_ttl, user_api_key_count, user_key_metadata } = made.settings;
  assert.deepEqual(
    [debug_log, user_api_key_ttl, user_api_key_max_ttl, user_api_key_count, user_key_metadata],
    [1, 0, 0, -1, 1],
  );
  assert.deepEqual(made.data_plane_security_settings, { block_inline_config: false });
  assert.deepEqual(
    [made.security_settings.managersUpdateWs, made.security_settings.membersWriteConfigs],
    [true, false],
  );
});

for (const [name, body, wanted] of [
  ["no name", {}, "400 AB01 name"],
  ["an empty name", { name: "" }, "400 AB01 name"],
  ["a name of 256 characters", { name: "n".repeat(256) }, "400 AB01 name"],
  ["NUL in the name", { name: "a\0b" }, "400 AB01 name"],
  ["a description of 1025 characters", { name: "n", description: "d".repeat(1025) }, "400 AB01 description"],
  ["two budgets", { name: "n", usage_limits: [{ credit_limit: 1 }, { credit_limit: 2 }] }, "400 AB01 usage_limits"],
  ["a budget below 1", { name: "n", usage_limits: [{ credit_limit: 0 }] }, "400 AB01 usage_limits.0.credit_limit"],
  [
    "an alert at the limit",
    { name: "n", usage_limits: [{ credit_limit: 5, alert_threshold: 5 }] },
    "400 AB01 usage_limits.0.alert_threshold",
  ],
  [
    "both resets",
    { name: "n", usage_limits: [{ credit_limit: 5, periodic_reset: "weekly", periodic_reset_days: 3 }] },
    "400 AB01 usage_limits.0.periodic_reset_days",
  ],
  [
    "two rate limits",
    { name: "n", rate_limits: Array(2).fill({ type: "requests", unit: "rpm", value: 1 }) },
    "400 AB01 rate_limits",
  ],
  [
    "a negative rate",
    { name: "n", rate_limits: [{ type: "requests", unit: "rpm", value: -1 }] },
    "400 AB01 rate_limits.0.value",
  ],
  [
    "metadata of 129 characters",
    { name: "n", defaults: { metadata: { a: "b".repeat(129) } } },
    "400 AB01 defaults.metadata.a",
  ],
  ["metadata that is a number", { name: "n", defaults: { metadata: { a: 1 } } }, "400 AB01 defaults.metadata.a"],
  [
    "an unknown guardrail",
    { name: "n", defaults: { input_guardrails: ["pg-x"] } },
    "404 AB02 defaults.input_guardrails.0",
  ],
  [
    "an unknown config",
    { name: "n", defaults: { user_api_key_config: "pc-x" } },
    "404 AB02 defaults.user_api_key_config",
  ],
  ["a person nobody knows", { name: "n", users: [crypto.randomUUID()] }, "400 AB01 users.0"],
  ["101 people", { name: "n", users: Array(101).fill("a") }, "400 AB01 users"],
  [
    "a setting out of bounds",
    { name: "n", settings: { user_api_key_count: -2 } },
    "400 AB01 settings.user_api_key_count",
  ],
  [
    "automatic rotation",
    { name: "n", settings: { user_api_key_rotation_period: "monthly" } },
    "400 AB01 settings.user_api_key_rotation_period",
  ],
  ["another organisation", { name: "n", organisation_id: crypto.randomUUID() }, "403 AB03 organisation_id"],
] as const) {
  test(`POST /admin/workspaces refuses ${name}`, async () => {
    assert.equal(await problem(gateway, `POST ${path}`, { body }), wanted);
  });
}

test("GET /admin/workspaces filters by name, exact name and status", async () => {
  const names = async (query: string) => {
    const { data, total } = await done(call<List<Workspace>>(gateway, `GET ${path}?${query}`));
    assert.equal(data.length, total);
    return data.map(({ name }) => name).sort();
  };
  const gone = await create({ name: "Filter_Gone" });
  await create({ name: "Filter_Here" });
  await create({ name: "FilterXHere" });
  await done(call(gateway, `DELETE ${path}/${gone.id}`, { body: { name: "Filter_Gone" } }));
  assert.deepEqual(await names("name=Filter_"), ["Filter_Here"]);
  assert.deepEqual(await names("name=filter_"), []);
  assert.deepEqual(await names("name=ilterXH"), ["FilterXHere"]);
  assert.deepEqual(await names("exact_name=Filter_Here"), ["Filter_Here"]);
  assert.deepEqual(await names("exact_name=Filter_"), []);
  assert.deepEqual(await names("name=Filter_&status=archived"), ["Filter_Gone"]);
  assert.deepEqual(await names("name=Filter_&status=active,archived"), ["Filter_Gone", "Filter_Here"]);
  for (const query of ["name=F", "status=lost", "page_size=1001", "current_page=x"]) {
    assert.equal(await refusal(call(gateway, `GET ${path}?${query}`)), "400 AB01");
  }
  const page = await done(call<List<Workspace>>(gateway, `GET ${path}?page_size=1&current_page=1`));
  assert.equal(page.data.length, 1);
  assert.ok(page.total > 2);
});

test("PUT /admin/workspaces preserves absent fields, clears null and replaces given values", async () => {
  const { id } = await create({
    name: "Three",
    description: "d",
    icon: "i",
    usage_limits: [{ credit_limit: 10 }],
    rate_limits: [{ type: "tokens", unit: "rpd", value: 0 }],
    defaults: { metadata: { a: "1" } },
  });
  const before = await read(id);
  assert.deepEqual(await done(update(id, {})), {});
  const { last_updated_at: _, ...same } = { ...before, last_updated_at: "" };
  const { last_updated_at: __, ...after } = { ...(await read(id)), last_updated_at: "" };
  assert.deepEqual(after, same);
  for (const [body, member, wanted] of [
    [{ name: "Four" }, "name", "Four"],
    [{ description: null }, "description", null],
    [{ icon: null }, "icon", null],
    [{ usage_limits: [] }, "usage_limits", null],
    [{ rate_limits: null }, "rate_limits", null],
    [
      { rate_limits: [{ type: "tokens", unit: "rps", value: 1 }] },
      "rate_limits",
      [{ type: "tokens", unit: "rps", value: 1 }],
    ],
    [{ rate_limits: [] }, "rate_limits", null],
    [{ defaults: { input_guardrails: null, output_guardrails: [] } }, "defaults", { metadata: { a: "1" } }],
    [{ defaults: { metadata: { b: "2" } } }, "defaults", { metadata: { b: "2" } }],
    [{ defaults: { metadata: null } }, "defaults", null],
    [{ defaults: { metadata: { c: "3" } } }, "defaults", { metadata: { c: "3" } }],
    [{ defaults: null }, "defaults", null],
  ] as const) {
    assert.deepEqual(await done(update(id, body)), {});
    const record: Record<string, unknown> = { ...(await read(id)) };
    assert.deepEqual(record[member], wanted, JSON.stringify(body));
  }
  assert.equal(await problem(gateway, `PUT ${path}/${id}`, { body: { name: null } }), "400 AB01 name");
});

test("the default config of user keys belongs to the workspace, and is shown as its slug", async () => {
  const { id } = await create({ name: "With config" });
  const config = await done(
    call<{ id: string; slug: string }>(gateway, "POST /configs", {
      body: { name: "c", config: { provider: "echo" }, workspace_id: id },
    }),
  );
  const foreign = await done(
    call<{ id: string }>(gateway, "POST /configs", {
      body: { name: "c", config: { provider: "echo" }, workspace_id: "default" },
    }),
  );
  for (const named of [config.slug, config.id]) {
    await done(update(id, { defaults: { user_api_key_config: named } }));
    assert.deepEqual((await read(id)).defaults, { user_api_key_config: config.slug });
  }
  const body = { defaults: { user_api_key_config: foreign.id } };
  assert.equal(await problem(gateway, `PUT ${path}/${id}`, { body }), "404 AB02 defaults.user_api_key_config");
  await done(update(id, { defaults: { user_api_key_config: null } }));
  assert.equal((await read(id)).defaults, null);
});

test("metadata is validated by the organisation's schema", async () => {
  const properties = { team: { type: "string", enum: ["a", "b"] }, tier: { type: "string", default: "low" } };
  const schema = { type: "object", additionalProperties: true, properties, required: ["team"] };
  await setOrganisation({ workspace_metadata_schema: schema });
  const body = (metadata?: object) => ({ name: "Schema", ...(metadata && { defaults: { metadata } }) });
  assert.match(await problem(gateway, `POST ${path}`, { body: body() }), /^400 AB01 defaults\.metadata/);
  assert.match(await problem(gateway, `POST ${path}`, { body: body({ team: "c" }) }), /^400 AB01 defaults\.metadata/);
  const { id, defaults } = await create(body({ team: "a" }));
  assert.deepEqual(defaults, { metadata: { team: "a", tier: "low" } });
  assert.equal(await refusal(update(id, { defaults: { metadata: { tier: "x" } } })), "400 AB01");
  assert.equal(await refusal(update(id, { defaults: null })), "400 AB01");
  // a workspace older than the schema keeps its metadata until it is changed
  await done(update("default", { defaults: { user_api_key_config: null } }));
  await setOrganisation({ workspace_metadata_schema: null });
  await done(update(id, { defaults: { metadata: { tier: "x" } } }));
});

test("a workspace changes only the settings the organisation opened to it", async () => {
  const { id, settings, security_settings } = await create({ name: "Closed" });
  const closed = (body: object) => problem(gateway, `PUT ${path}/${id}`, { body });
  assert.equal(await closed({ settings: { debug_log: 0 } }), "403 AB03 settings.debug_log");
  assert.equal(
    await closed({ security_settings: { membersViewLogs: false } }),
    "403 AB03 security_settings.membersViewLogs",
  );
  // repeating the current value is not a change
  await done(update(id, { settings, security_settings }));
  await setOrganisation({ workspace_override: ["debug_log", "logs"] });
  await done(update(id, { settings: { debug_log: false }, security_settings: { membersViewLogs: false } }));
  const shown = await read(id);
  assert.deepEqual([shown.settings.debug_log, shown.security_settings.membersViewLogs], [0, false]);
  assert.equal(await closed({ settings: { user_api_key_ttl: 3 } }), "403 AB03 settings.user_api_key_ttl");
  await done(update(id, { settings: { debug_log: null } }));
  assert.equal((await read(id)).settings.debug_log, 1);
  await setOrganisation({ workspace_override: null });
  assert.equal((await read(id)).security_settings.membersViewLogs, true);
  await setOrganisation({ security_settings: { membersViewLogs: false } });
  assert.equal((await read(id)).security_settings.membersViewLogs, false);
  await setOrganisation({ security_settings: null });
});

test("saved-only mode of a workspace is set by keys of the organisation, or where it is opened", async () => {
  const body = { data_plane_security_settings: { block_inline_config: true } };
  const own = (value: object) => call(gateway, `PUT ${path}/default`, { key: workspaceKey, body: value });
  assert.equal(await refusal(own(body)), "403 AB03");
  await done(update("default", body));
  assert.deepEqual((await read("default")).data_plane_security_settings, { block_inline_config: true });
  await setOrganisation({ workspace_override: ["data_plane_security_settings"] });
  await done(own({ data_plane_security_settings: null }));
  assert.deepEqual((await read("default")).data_plane_security_settings, { block_inline_config: false });
  await setOrganisation({ workspace_override: [] });
});

test("DELETE /admin/workspaces requires the name, and no records or force", async () => {
  const { id } = await create({ name: "Full" });
  const config = { name: "c", config: { provider: "echo" }, workspace_id: id };
  const { slug } = await done(call<{ slug: string }>(gateway, "POST /configs", { body: config }));
  const remove = (body: object) => call(gateway, `DELETE ${path}/${id}`, { body });
  assert.equal(await refusal(remove({})), "400 AB01");
  assert.equal(await refusal(remove({ name: "full" })), "400 AB01");
  assert.equal(await refusal(remove({ name: "Full" })), "409 AB07");
  const database = await gateway.openFile();
  const { key } = mintApiKey("gk");
  await insertKey(database, key, { workspaceId: id });
  assert.equal((await call(gateway, "GET /configs", { key })).status, 200);
  assert.deepEqual(await done(remove({ name: "Full", force_delete: true })), {});
  assert.equal((await call(gateway, "GET /configs", { key })).status, 401);
  assert.equal(await refusal(call(gateway, `GET /configs/${slug}`)), "404 AB08");
  assert.equal(await refusal(call(gateway, `GET ${path}/${id}`)), "404 AB08");
  assert.equal(await refusal(update(id, {})), "404 AB08");
  assert.equal(await refusal(remove({ name: "Full" })), "404 AB08");
  assert.equal((await done(call(gateway, `GET ${path}/${id}?status=archived`))).status, "archived");
});

test("the default workspace cannot be deleted", async () => {
  const record: Record<string, unknown> = { ...(await read("default")) };
  assert.equal(record.is_default, 1);
  const body = { name: "default", force_delete: true };
  assert.equal(await refusal(call(gateway, `DELETE ${path}/default`, { body })), "403 AB03");
});

test("a new workspace gets the integrations that are shared with all, with their limits", async () => {
  const database = await gateway.openFile();
  const insert = (id: string, access: object | null) => ({
    sql: "INSERT INTO integrations (id, organisation_id, slug, name, ai_provider_id, status, global_workspace_access, created_at) VALUES (?, ?, ?, 'n', 'openai', 'active', ?, 0)",
    args: [id, organisationId, id, access && JSON.stringify(access)],
  });
  const limits = { usage_limits: [{ type: "cost", credit_limit: 5 }], rate_limits: null };
  await database.write([
    insert("lent", { enabled: true, ...limits }),
    insert("kept", { enabled: false, ...limits }),
    insert("plain", null),
  ]);
  const { id } = await create({ name: "Borrower" });
  const { rows } = await database.read({
    sql: "SELECT integration_id, enabled, usage_limits, rate_limits FROM integration_workspaces WHERE workspace_id = ?",
    args: [id],
  });
  assert.deepEqual(
    rows.map((row) => [row.integration_id, row.enabled, JSON.parse(String(row.usage_limits)), row.rate_limits]),
    [["lent", 1, limits.usage_limits, null]],
  );
});

test("keys of a workspace see and change their own only", async () => {
  const { id } = await create({ name: "Not theirs" });
  const own = { key: workspaceKey };
  const { data, total } = await done(call<List<Workspace>>(gateway, `GET ${path}`, own));
  assert.deepEqual([data.map(({ slug }) => slug), total], [["default"], 1]);
  assert.equal(await refusal(call(gateway, `GET ${path}?status=archived`, own)), "403 AB03");
  assert.equal((await done(call(gateway, `GET ${path}/default`, own))).slug, "default");
  await done(call(gateway, `PUT ${path}/default`, { ...own, body: { description: "Ours" } }));
  assert.equal((await done(call(gateway, `GET ${path}/default`, own))).description, "Ours");
  for (const name of [id, other.workspaceId, "nowhere"]) {
    assert.equal(await refusal(call(gateway, `GET ${path}/${name}`, own)), "404 AB08");
    assert.equal(await refusal(call(gateway, `PUT ${path}/${name}`, { ...own, body: {} })), "404 AB08");
  }
  assert.equal(await refusal(call(gateway, `POST ${path}`, { ...own, body: { name: "n" } })), "403 AB03");
  const body = { name: "default" };
  assert.equal(await refusal(call(gateway, `DELETE ${path}/default`, { ...own, body })), "403 AB03");
});

test("workspaces of another organisation are not found, like unknown ones", async () => {
  for (const name of [other.workspaceId, crypto.randomUUID()]) {
    assert.equal(await refusal(call(gateway, `GET ${path}/${name}`)), "404 AB08");
    assert.equal(await refusal(call(gateway, `PUT ${path}/${name}`, { body: {} })), "404 AB08");
    assert.equal(await refusal(call(gateway, `DELETE ${path}/${name}`, { body: { name: "default" } })), "404 AB08");
  }
  const { data } = await done(call<List<Workspace>>(gateway, `GET ${path}`, { key: other.adminKey }));
  assert.deepEqual(
    data.map(({ id }) => id),
    [other.workspaceId],
  );
});
