import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, createOrganisation, done, refusal } from "../support/control.ts";
import {
  chat,
  createTestGateway,
  helloBody,
  listLogs,
  type TestGateway,
  waitForLog,
  workspaceKey,
} from "../support/gateway.ts";
import { problem } from "../support/people.ts";

let gateway: TestGateway;
let other: Awaited<ReturnType<typeof createOrganisation>>;
let path: string;
before(async () => {
  gateway = await createTestGateway({ inFile: true });
  other = await createOrganisation(await gateway.openFile(), "other");
  path = `/organisations/${(await self()).id}`;
});
after(() => gateway.close());

interface Shown {
  success: boolean;
  data: Record<string, unknown>;
}

const self = async () => (await done(call<Shown>(gateway, "GET /organisations/self"))).data;
const read = async () => (await done(call<Shown>(gateway, `GET ${path}`))).data;
const put = (body: object) => done(call<Shown>(gateway, `PUT ${path}`, { body }));

test("GET /organisations/self and by id return the same record with every default", async () => {
  const record = await read();
  assert.deepEqual(await self(), record);
  const { id, name, slug, object, debug_log, workspace_override, api_key_metadata_schema } = record;
  assert.deepEqual([name, slug, object], ["default", "default", "organisation"]);
  assert.equal(path, `/organisations/${id}`);
  assert.deepEqual([debug_log, workspace_override, api_key_metadata_schema], [1, [], null]);
  assert.deepEqual(record.data_plane_security_settings, { block_inline_config: false });
});

const schema = { type: "object", additionalProperties: true, properties: { a: { type: "string" } } };
for (const [member, value, wanted, cleared] of [
  ["debug_log", false, 0, 1],
  ["enforce_debug_log_setting", true, true, false],
  ["user_api_key_count", 3, 3, -1],
  ["user_api_key_ttl", 5, 5, 0],
  ["user_api_key_max_ttl", 9, 9, 0],
  ["user_api_key_auto_create", true, true, false],
  ["default_workspace_user_api_key_auto_create", 1, true, false],
  ["user_key_metadata", 0, 0, 1],
  ["user_key_metadata_override", false, 0, 1],
  [
    "data_plane_security_settings",
    { block_inline_config: true },
    { block_inline_config: true },
    { block_inline_config: false },
  ],
  ["workspace_override", ["debug_log", "logs"], ["debug_log", "logs"], []],
  ["api_key_metadata_schema", schema, schema, null],
  ["workspace_metadata_schema", schema, schema, null],
  ["session_settings", { max_session_ttl: 900 }, { max_session_ttl: 900 }, null],
  ["allowed_domains", ["Example.com"], ["example.com"], []],
  ["allow_subdomains", true, true, false],
  ["disable_auto_provision_user", true, true, false],
  ["gateway_url", "https://gateway.example/v1", "https://gateway.example/v1", null],
  ["mcp_gateway_url", "https://mcp.example", "https://mcp.example", null],
  ["default_cache_ttl", 60, 60, null],
  ["unpriced_models", "block", "block", "allow"],
  ["fallback_price", { input: 2.5, output: 0 }, { input: 2.5, output: 0 }, null],
  ["export_settings", { deniedFields: ["request"] }, { deniedFields: ["request"] }, { deniedFields: [] }],
] as const) {
  test(`PUT /organisations sets and clears ${member}: ${JSON.stringify(value)}`, async () => {
    await put({ [member]: value });
    const set = await read();
    assert.deepEqual(set[member], wanted);
    await put({ name: "default" });
    assert.deepEqual(await read(), { ...set, last_updated_at: (await read()).last_updated_at });
    await put({ settings: { [member]: null } });
    assert.deepEqual((await read())[member], cleared);
    await put({ settings: { [member]: value } });
    assert.deepEqual((await read())[member], wanted);
    await put({ [member]: null });
  });
}

test("switches of security_settings are set and cleared one by one", async () => {
  const switches = async () => {
    const { membersViewLogs, managersViewLogs } = Object(await read()).security_settings;
    return [membersViewLogs, managersViewLogs];
  };
  await put({ security_settings: { membersViewLogs: false } });
  await put({ security_settings: { managersViewLogs: 0 } });
  assert.deepEqual(await switches(), [false, false]);
  await put({ security_settings: { membersViewLogs: null } });
  assert.deepEqual(await switches(), [true, false]);
  await put({ security_settings: null });
  assert.deepEqual(await switches(), [true, true]);
});

test("PUT /organisations keeps the price that fallback needs", async () => {
  const price = { input: 1, output: 2 };
  await put({ unpriced_models: "fallback", fallback_price: price });
  assert.equal(await problem(gateway, `PUT ${path}`, { body: { fallback_price: null } }), "400 AB01 fallback_price");
  assert.deepEqual((await read()).fallback_price, price);
  await put({ unpriced_models: null, fallback_price: null });
});

test("PUT /organisations refuses a price that is not finite", async () => {
  const body = '{"unpriced_models":"fallback","fallback_price":{"input":1e999,"output":1}}';
  const { status } = await call(gateway, `PUT ${path}`, { body });
  assert.equal(status, 400);
});

const withProperty = (property: object) => ({ ...schema, properties: { a: property } });
for (const [body, wanted] of [
  [{ name: "" }, "name"],
  [{ name: null }, "name"],
  [{ debug_log: 2 }, "debug_log"],
  [{ user_api_key_count: -2 }, "user_api_key_count"],
  [{ user_api_key_count: 1.5 }, "user_api_key_count"],
  [{ user_api_key_ttl: -1 }, "user_api_key_ttl"],
  [{ user_api_key_ttl: 36_501 }, "user_api_key_ttl"],
  [{ user_api_key_ttl: 5, user_api_key_max_ttl: 4 }, "user_api_key_ttl"],
  [{ user_api_key_rotation_period: "weekly" }, "user_api_key_rotation_period"],
  [{ settings: { user_api_key_rotation_period: 30 } }, "settings.user_api_key_rotation_period"],
  [{ security_settings: { membersViewLogs: "no" } }, "security_settings.membersViewLogs"],
  [
    { data_plane_security_settings: { block_inline_config: "yes" } },
    "data_plane_security_settings.block_inline_config",
  ],
  [{ workspace_override: ["everything"] }, "workspace_override"],
  [{ session_settings: { max_session_ttl: 899 } }, "session_settings.max_session_ttl"],
  [{ allowed_domains: ["no domain"] }, "allowed_domains.0"],
  [{ allowed_domains: Array(101).fill("example.com") }, "allowed_domains"],
  [{ gateway_url: "javascript:alert(1)" }, "gateway_url"],
  [{ mcp_gateway_url: "ftp://example.com" }, "mcp_gateway_url"],
  [{ default_cache_ttl: 0 }, "default_cache_ttl"],
  [{ unpriced_models: "refuse" }, "unpriced_models"],
  [{ unpriced_models: "fallback" }, "fallback_price"],
  [{ unpriced_models: "fallback", fallback_price: null }, "fallback_price"],
  [{ fallback_price: { input: 1 } }, "fallback_price.output"],
  [{ fallback_price: { input: -0.1, output: 1 } }, "fallback_price.input"],
  [{ fallback_price: { input: 1, output: "2" } }, "fallback_price.output"],
  [{ fallback_price: { input: 1, output: 1_000_001 } }, "fallback_price.output"],
  [{ fallback_price: { input: 1, output: 1, cached: 1 } }, "fallback_price.cached"],
  [{ export_settings: { deniedFields: [1] } }, "export_settings.deniedFields.0"],
  [{ export_settings: { deniedFields: ["cost", "costs"] } }, "export_settings.deniedFields.1"],
  [{ settings: { export_settings: { deniedFields: ["Request"] } } }, "settings.export_settings.deniedFields.0"],
  [{ settings: { debug_log: 2 } }, "settings.debug_log"],
  [{ api_key_metadata_schema: { ...schema, type: "array" } }, "api_key_metadata_schema.type"],
  [
    { api_key_metadata_schema: { ...schema, additionalProperties: false } },
    "api_key_metadata_schema.additionalProperties",
  ],
  [{ api_key_metadata_schema: withProperty({ type: "number" }) }, "api_key_metadata_schema.properties.a.type"],
  [
    { workspace_metadata_schema: withProperty({ type: "string", pattern: "(a+)+$" }) },
    "workspace_metadata_schema.properties.a.pattern",
  ],
  [{ workspace_metadata_schema: { ...schema, $ref: "#" } }, "workspace_metadata_schema.$ref"],
  [{ workspace_metadata_schema: { ...schema, required: "a" } }, "workspace_metadata_schema.required"],
] as const) {
  test(`PUT /organisations refuses ${JSON.stringify(body).slice(0, 80)}`, async () => {
    assert.equal(await problem(gateway, `PUT ${path}`, { body }), `400 AB01 ${wanted}`);
  });
}

test("the webhook of alerts and its secret are stored sealed, shown masked, and preserved by their masks", async () => {
  const shown = async () => {
    const { data } = await done(call<{ data: Record<string, unknown> }>(gateway, `GET ${path}`));
    return [data.alert_webhook, data.alert_webhook_secret];
  };
  assert.deepEqual(await shown(), [null, null]);
  const address = "https://hooks.example.com/services/an-obvious-fake-secret-path?key=fake-query-secret";
  const secret = "an-obvious-fake-signing-secret";
  await put({ alert_webhook: address, settings: { alert_webhook_secret: secret } });
  const masks = ["https://hooks.example.com/*****", "an*****ret"];
  assert.deepEqual(await shown(), masks);
  const database = await gateway.openFile();
  const sealed = async () => {
    const { rows } = await database.read(
      "SELECT field, sealed FROM secrets WHERE kind = 'organisations' ORDER BY field",
    );
    return rows.map(({ field, sealed }) => `${field} ${sealed}`);
  };
  const before = await sealed();
  assert.deepEqual(
    before.map((row) => row.split(" ")[0]),
    ["alert_webhook", "alert_webhook_secret"],
  );
  await put({ alert_webhook: masks[0], alert_webhook_secret: masks[1] });
  assert.deepEqual(await sealed(), before);
  for (const table of ["organisations", "audit_logs", "secrets", "changes"]) {
    const { rows } = await database.read(`SELECT * FROM ${table}`);
    assert.doesNotMatch(JSON.stringify(rows), /fake-secret-path|fake-query-secret|fake-signing-secret/);
  }
  await put({ alert_webhook: "https://alerts.example.com" });
  assert.deepEqual(await shown(), ["https://alerts.example.com", masks[1]]);
  await put({ alert_webhook: null, settings: { alert_webhook_secret: null } });
  assert.deepEqual([await shown(), await sealed()], [[null, null], []]);
});

for (const [body, wanted] of [
  [{ alert_webhook: "hooks.example.com" }, "alert_webhook"],
  [{ alert_webhook: "http://hooks.example.com" }, "alert_webhook"],
  [{ alert_webhook: "https://user:secret@hooks.example.com" }, "alert_webhook"],
  [{ alert_webhook: "https://10.0.0.1/alerts" }, "alert_webhook"],
  [{ alert_webhook: "https://169.254.169.254/latest" }, "alert_webhook"],
  [{ alert_webhook: "https://hooks.localhost/alerts" }, "alert_webhook"],
  [{ alert_webhook: "http://127.0.0.1:5432/alerts" }, "alert_webhook"],
  [{ alert_webhook: "https://hooks.example.com/*****" }, "alert_webhook"],
  [{ alert_webhook: "" }, "alert_webhook"],
  [{ settings: { alert_webhook: "https://192.168.0.1/" } }, "settings.alert_webhook"],
  [{ alert_webhook_secret: "short" }, "alert_webhook_secret"],
  [{ settings: { alert_webhook_secret: "an*****ret" } }, "settings.alert_webhook_secret"],
] as const) {
  test(`PUT /organisations refuses ${JSON.stringify(body)}`, async () => {
    assert.equal(await problem(gateway, `PUT ${path}`, { body }), `400 AB01 ${wanted}`);
  });
}

test("other organisations are not found, like unknown ones; workspace keys reach none", async () => {
  for (const id of [other.organisationId, crypto.randomUUID(), "nowhere"]) {
    assert.equal(await refusal(call(gateway, `GET /organisations/${id}`)), "404 AB08");
    assert.equal(await refusal(call(gateway, `PUT /organisations/${id}`, { body: { name: "Mine" } })), "404 AB08");
  }
  assert.equal(
    (await done(call<Shown>(gateway, "GET /organisations/self", { key: other.adminKey }))).data.name,
    "other",
  );
  for (const route of ["GET /organisations/self", `GET ${path}`, "GET /admin/organisation/defaults"]) {
    assert.equal(await refusal(call(gateway, route, { key: workspaceKey })), "403 AB03");
  }
});

test("default guardrails are cleared with null and an empty list, and must exist", async () => {
  const route = "/admin/organisation/defaults";
  const empty = { input_guardrails: [], output_guardrails: [] };
  assert.deepEqual(await done(call(gateway, `GET ${route}`)), empty);
  for (const body of [{}, empty, { input_guardrails: null, output_guardrails: null }]) {
    assert.deepEqual(await done(call(gateway, `PUT ${route}`, { body })), {});
  }
  assert.deepEqual(await done(call(gateway, `GET ${route}`)), empty);
  for (const member of ["input_guardrails", "output_guardrails"]) {
    const body = { [member]: ["pg-missing"] };
    assert.equal(await problem(gateway, `PUT ${route}`, { body }), `404 AB02 ${member}.0`);
    assert.equal(await problem(gateway, `PUT ${route}`, { body: { [member]: "pg" } }), `400 AB01 ${member}`);
  }
});

test("denied fields that are stored with unknown names of earlier versions deny what they did", async () => {
  const earlier = await createTestGateway({ inFile: true });
  await (await chat(earlier, helloBody, { "x-gateway-trace-id": "denied" })).text();
  const row = await waitForLog(earlier, "denied");
  const database = await earlier.openFile();
  await database.write([
    `UPDATE organisations SET settings = '{"export_settings":{"deniedFields":["costs","model","cost","metadata"]}}'`,
  ]);
  const [listed] = (await listLogs(earlier, "trace_id=denied")).data;
  assert.ok("cost" in row && "model" in row);
  assert.deepEqual([listed && "cost" in listed, listed?.model, listed?.id], [false, row.model, row.id]);
  assert.equal(await problem(earlier, "GET /logs?metadata.a=b", {}), "403 AB03 metadata");
  const { data } = await done<{ data: { id: string } }>(call(earlier, "GET /organisations/self"));
  const changed = { body: { debug_log: 1 } };
  await done(call(earlier, `PUT /organisations/${data.id}`, changed));
  const again = { body: { export_settings: { deniedFields: ["costs"] } } };
  assert.equal(
    await problem(earlier, `PUT /organisations/${data.id}`, again),
    "400 AB01 export_settings.deniedFields.0",
  );
  await earlier.close();
});
