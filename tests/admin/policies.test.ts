import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { mintApiKey } from "../../src/auth/api-key.ts";
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
import { addPerson, type List, problem } from "../support/people.ts";

interface Policy extends Record<string, unknown> {
  id: string;
  object: string;
}

// a Thursday
const clock = createTestClock(Date.UTC(2026, 0, 15, 12));
let gateway: TestGateway;
let database: Database;
let other: Awaited<ReturnType<typeof createOrganisation>>;
let organisationId: string;
let workspaceId: string;
/** A second workspace of the organisation. */
let second: { id: string; slug: string };
let secondKey: string;
before(async () => {
  gateway = await createTestGateway({ inFile: true, clock });
  database = await gateway.openFile();
  other = await createOrganisation(database, "other");
  second = await done(
    call<{ id: string; slug: string }>(gateway, "POST /admin/workspaces", { body: { name: "Second" } }),
  );
  const first = await done(call<{ id: string; organisation_id: string }>(gateway, "GET /admin/workspaces/default"));
  organisationId = first.organisation_id;
  workspaceId = first.id;
  secondKey = await makeKey(scopesOfKind("workspace-service"), second.id);
});
after(() => gateway.close());

async function makeKey(scopes: readonly string[], workspace: string): Promise<string> {
  const { key } = mintApiKey("gk");
  await insertKey(database, key, { organisationId, workspaceId: workspace, scopes: JSON.stringify(scopes) });
  return key;
}

const usage = "/policies/usage-limits";
const rate = "/policies/rate-limits";
const conditions = [{ key: "model", value: "@openai/*" }];
const group_by = [{ key: "api_key" }];
const usageBody = { conditions, group_by, type: "cost", credit_limit: 100 };
const rateBody = { conditions, group_by, type: "requests", unit: "rpm", value: 10 };
const bodies: Readonly<Record<string, object>> = { [usage]: usageBody, [rate]: rateBody };

/** Creates a policy with the key of the first workspace by default. */
const make = (path: string, changes: object = {}, key = workspaceKey) =>
  done(call<Policy>(gateway, `POST ${path}`, { key, body: { ...bodies[path], ...changes } }));
const read = (path: string, id: string, query = "", key = workspaceKey) =>
  done(call<Policy>(gateway, `GET ${path}/${id}${query}`, { key }));
const change = (path: string, id: string, body: object, key = workspaceKey) =>
  done(call(gateway, `PUT ${path}/${id}`, { key, body }));
const list = (path: string, query: string, key = workspaceKey) =>
  done(call<List<Policy>>(gateway, `GET ${path}?${query}`, { key }));

test("POST /policies/usage-limits returns id and object, and GET shows the whole record", async () => {
  const created = new Date(clock.now()).toISOString();
  const body = {
    name: "Team budget",
    description: "Of the research team",
    conditions: [
      { key: "workspace_id", value: "default" },
      { key: "model", value: ["@openai/*", "@anthropic/*"], excludes: "@openai/gpt-5-pro" },
      { key: "metadata.team", value: "*", excludes: null },
    ],
    group_by: [{ key: "api_key" }, { key: "metadata.team" }],
    type: "cost",
    credit_limit: 100.5,
    alert_threshold: 80.25,
    periodic_reset: "weekly",
    workspace_id: "default",
    organisation_id: organisationId,
  };
  const receipt = await done(call<Policy>(gateway, `POST ${usage}`, { body }));
  assert.deepEqual(receipt, { id: receipt.id, object: "policy_usage_limits" });
  assert.match(receipt.id, /^[0-9a-f-]{36}$/);
  const wanted = {
    id: receipt.id,
    name: "Team budget",
    description: "Of the research team",
    conditions: [body.conditions[0], body.conditions[1], { key: "metadata.team", value: "*" }],
    group_by: body.group_by,
    type: "cost",
    credit_limit: 100.5,
    alert_threshold: 80.25,
    periodic_reset: "weekly",
    periodic_reset_days: null,
    next_usage_reset_at: "2026-01-19T00:00:00.000Z",
    last_reset_at: null,
    status: "active",
    workspace_id: workspaceId,
    organisation_id: organisationId,
    created_at: created,
    last_updated_at: created,
    object: "policy_usage_limits",
  };
  assert.deepEqual(await read(usage, receipt.id), wanted);
  const { object, total, data } = await list(usage, "");
  assert.deepEqual([object, total, data[0]], ["list", 1, wanted]);
});

test("POST /policies/rate-limits returns the object of usage limits, and GET shows the whole record", async () => {
  const created = new Date(clock.now()).toISOString();
  const body = {
    conditions: [
      { key: "mcp_server", value: "docs" },
      { key: "mcp_tool", value: ["search", "fetch"] },
      { key: "metadata.team", value: "*" },
    ],
    group_by: [{ key: "mcp_tool" }, { key: "workspace_id" }],
    type: "requests",
    unit: "rpw",
    value: 0,
    target: "mcp_tools",
  };
  const receipt = await done(call<Policy>(gateway, `POST ${rate}`, { key: workspaceKey, body }));
  assert.deepEqual(receipt, { id: receipt.id, object: "policy_usage_limits" });
  assert.deepEqual(await read(rate, receipt.id), {
    id: receipt.id,
    name: null,
    description: null,
    ...body,
    queue: null,
    status: "active",
    workspace_id: workspaceId,
    organisation_id: organisationId,
    created_at: created,
    last_updated_at: created,
    object: "policy_rate_limits",
  });
});

test("the default target of a rate limit is llm, and its conditions may name records that do not exist", async () => {
  const keys = ["organisation_id", "virtual_key", "provider", "config", "prompt", "model", "endpoint_type"];
  const { id } = await make(rate, {
    type: "tokens",
    value: 1.5,
    conditions: keys.map((key) => ({ key, value: "no-such-record" })),
    group_by: keys.map((key) => ({ key })),
  });
  const { target, value, type } = await read(rate, id);
  assert.deepEqual([target, value, type], ["llm", 1.5, "tokens"]);
});

test("PUT changes given fields, clears null and preserves the rest", async () => {
  const { id } = await make(usage, { name: "Before", description: "x", alert_threshold: 50, periodic_reset_days: 10 });
  const before = await read(usage, id);
  assert.equal(before.next_usage_reset_at, "2026-01-25T00:00:00.000Z");
  clock.advance(86_400_000);
  assert.deepEqual(await change(usage, id, { name: "After", description: null, alert_threshold: null }), {});
  const last_updated_at = new Date(clock.now()).toISOString();
  const named = { ...before, name: "After", description: null, alert_threshold: null, last_updated_at };
  assert.deepEqual(await read(usage, id), named);
  assert.deepEqual(
    await change(usage, id, {
      conditions: [{ key: "prompt", value: "pp-x" }],
      credit_limit: 7,
      periodic_reset: "monthly",
      periodic_reset_days: null,
    }),
    {},
  );
  assert.deepEqual(await read(usage, id), {
    ...named,
    conditions: [{ key: "prompt", value: "pp-x" }],
    credit_limit: 7,
    periodic_reset: "monthly",
    periodic_reset_days: null,
    next_usage_reset_at: "2026-02-01T00:00:00.000Z",
  });
  await change(usage, id, { next_usage_reset_at: "2026-03-05T17:45:00Z" });
  assert.equal((await read(usage, id)).next_usage_reset_at, "2026-03-05T00:00:00.000Z");
  await change(usage, id, { name: null, periodic_reset: "monthly" });
  assert.equal((await read(usage, id)).next_usage_reset_at, "2026-03-05T00:00:00.000Z");
  await change(usage, id, { next_usage_reset_at: null });
  assert.equal((await read(usage, id)).next_usage_reset_at, "2026-02-01T00:00:00.000Z");
  await change(usage, id, { periodic_reset: null });
  assert.deepEqual((await read(usage, id)).next_usage_reset_at, null);
});

test("PUT of a rate limit changes unit, value and conditions; its target is fixed", async () => {
  const { id } = await make(rate, { name: "Calls" });
  const before = await read(rate, id);
  const changes = { unit: "rph", value: 60, conditions: [{ key: "endpoint_type", value: ["chat"] }], name: "Calls 2" };
  assert.deepEqual(await change(rate, id, { ...changes, target: "llm" }), {});
  const last_updated_at = new Date(clock.now()).toISOString();
  assert.deepEqual(await read(rate, id), { ...before, ...changes, last_updated_at });
});

for (const path of [usage, rate]) {
  test(`DELETE ${path} archives the policy, and PUT of its status restores it`, async () => {
    const { id } = await make(path);
    assert.deepEqual(await done(call(gateway, `DELETE ${path}/${id}`, { key: workspaceKey })), {});
    assert.equal(await refusal(call(gateway, `GET ${path}/${id}`, { key: workspaceKey })), "404 AB08");
    assert.equal(await refusal(call(gateway, `DELETE ${path}/${id}`, { key: workspaceKey })), "404 AB08");
    assert.equal((await read(path, id, "?status=archived")).status, "archived");
    const shown = (query: string) => list(path, query).then(({ data }) => data.some((policy) => policy.id === id));
    assert.deepEqual([await shown(""), await shown("status=archived")], [false, true]);
    await change(path, id, { status: "active" });
    assert.equal((await read(path, id)).status, "active");
    assert.equal(await refusal(call(gateway, `GET ${path}/${id}?status=archived`, { key: workspaceKey })), "404 AB08");
    await change(path, id, { status: "archived" });
    assert.deepEqual([await shown("status=active"), await shown("status=archived")], [false, true]);
  });
}

const long = (length: number) => "x".repeat(length);
const condition = { key: "model", value: "*" };

/** Bodies with one wrong field, and the field's name. */
const wrongShared: readonly [changes: object, param: string][] = [
  [{ name: long(256) }, "name"],
  [{ name: 5 }, "name"],
  [{ name: "a\0b" }, "name"],
  [{ description: long(501) }, "description"],
  [{ conditions: [] }, "conditions"],
  [{ conditions: undefined }, "conditions"],
  [{ conditions: null }, "conditions"],
  [{ conditions: condition }, "conditions"],
  [{ conditions: ["model"] }, "conditions.0"],
  [{ conditions: Array(101).fill(condition) }, "conditions"],
  [{ conditions: [{ value: "*" }] }, "conditions.0.key"],
  [{ conditions: [condition, { key: "user", value: "*" }] }, "conditions.1.key"],
  [{ conditions: [{ key: "metadata.", value: "*" }] }, "conditions.0.key"],
  [{ conditions: [{ key: "metadata", value: "*" }] }, "conditions.0.key"],
  [{ conditions: [{ key: `metadata.${long(129)}`, value: "*" }] }, "conditions.0.key"],
  [{ conditions: [{ key: "MODEL", value: "*" }] }, "conditions.0.key"],
  [{ conditions: [{ key: "constructor", value: "*" }] }, "conditions.0.key"],
  [{ conditions: [{ key: "", value: "*" }] }, "conditions.0.key"],
  [{ conditions: [{ key: ["model"], value: "*" }] }, "conditions.0.key"],
  [{ conditions: [{ key: "model" }] }, "conditions.0.value"],
  [{ conditions: [{ key: "model", value: null }] }, "conditions.0.value"],
  [{ conditions: [{ key: "model", value: "" }] }, "conditions.0.value"],
  [{ conditions: [{ key: "model", value: 5 }] }, "conditions.0.value"],
  [{ conditions: [{ key: "model", value: [] }] }, "conditions.0.value"],
  [{ conditions: [{ key: "model", value: ["a", 5] }] }, "conditions.0.value.1"],
  [{ conditions: [{ key: "model", value: ["a", ""] }] }, "conditions.0.value.1"],
  [{ conditions: [{ key: "model", value: [["a"]] }] }, "conditions.0.value.0"],
  [{ conditions: [{ key: "model", value: { $in: ["a"] } }] }, "conditions.0.value"],
  [{ conditions: [{ key: "model", value: long(1_025) }] }, "conditions.0.value"],
  [{ conditions: [{ key: "model", value: Array(1_001).fill("a") }] }, "conditions.0.value"],
  [{ conditions: [{ ...condition, excludes: [] }] }, "conditions.0.excludes"],
  [{ conditions: [{ ...condition, excludes: {} }] }, "conditions.0.excludes"],
  [{ conditions: [{ ...condition, excludes: "" }] }, "conditions.0.excludes"],
  [{ conditions: [{ ...condition, operator: "eq" }] }, "conditions.0.operator"],
  [{ group_by: [] }, "group_by"],
  [{ group_by: undefined }, "group_by"],
  [{ group_by: null }, "group_by"],
  [{ group_by: ["api_key"] }, "group_by.0"],
  [{ group_by: Array.from({ length: 101 }, (_, index) => ({ key: `metadata.k${index}` })) }, "group_by"],
  [{ group_by: [{ key: "nothing" }] }, "group_by.0.key"],
  [{ group_by: [{ key: "api_key", value: "x" }] }, "group_by.0.value"],
  [{ group_by: [{ key: "api_key" }, { key: "api_key" }] }, "group_by"],
  [{ type: undefined }, "type"],
  [{ type: "credits" }, "type"],
  [{ type: "TOKENS" }, "type"],
  [{ type: null }, "type"],
  [{ status: "active" }, "status"],
  [{ reset_usage_for_value: "x" }, "reset_usage_for_value"],
  [{ workspace_id: "no workspace" }, "workspace_id"],
  [{ workspace_id: 5 }, "workspace_id"],
  [{ organisation_id: 5 }, "organisation_id"],
];
const wrongUsage: readonly [changes: object, param: string][] = [
  [{ conditions: [{ key: "endpoint_type", value: "chat" }] }, "conditions.0.key"],
  [{ conditions: [{ key: "mcp_tool", value: "*" }] }, "conditions.0.key"],
  [{ group_by: [{ key: "mcp_server" }] }, "group_by.0.key"],
  [{ credit_limit: undefined }, "credit_limit"],
  [{ credit_limit: null }, "credit_limit"],
  [{ credit_limit: -0.01 }, "credit_limit"],
  [{ credit_limit: "5" }, "credit_limit"],
  [{ credit_limit: true }, "credit_limit"],
  [{ credit_limit: [5] }, "credit_limit"],
  [{ alert_threshold: -1 }, "alert_threshold"],
  [{ alert_threshold: "5" }, "alert_threshold"],
  [{ alert_threshold: 100 }, "alert_threshold"],
  [{ alert_threshold: 100.01 }, "alert_threshold"],
  [{ credit_limit: 0, alert_threshold: 0 }, "alert_threshold"],
  [{ periodic_reset: "daily" }, "periodic_reset"],
  [{ periodic_reset: "MONTHLY" }, "periodic_reset"],
  [{ periodic_reset_days: 0 }, "periodic_reset_days"],
  [{ periodic_reset_days: 366 }, "periodic_reset_days"],
  [{ periodic_reset_days: 1.5 }, "periodic_reset_days"],
  [{ periodic_reset_days: "7" }, "periodic_reset_days"],
  [{ periodic_reset: "weekly", periodic_reset_days: 7 }, "periodic_reset_days"],
  [{ next_usage_reset_at: "tomorrow" }, "next_usage_reset_at"],
  [{ next_usage_reset_at: 5 }, "next_usage_reset_at"],
  [{ next_usage_reset_at: "2026-13-01" }, "next_usage_reset_at"],
  [{ type: "requests", unit: "rpm" }, "unit"],
];
const toolTarget = { target: "mcp_tools", group_by: [{ key: "mcp_tool" }] };
const wrongRate: readonly [changes: object, param: string][] = [
  [{ type: "cost" }, "type"],
  [{ unit: undefined }, "unit"],
  [{ unit: "rps" }, "unit"],
  [{ unit: "RPM" }, "unit"],
  [{ unit: null }, "unit"],
  [{ value: undefined }, "value"],
  [{ value: null }, "value"],
  [{ value: -1 }, "value"],
  [{ value: 0.5 }, "value"],
  [{ value: "10" }, "value"],
  [{ target: "mcp" }, "target"],
  [{ conditions: [condition, { key: "mcp_server", value: "*" }] }, "conditions.1.key"],
  [{ target: "llm", group_by: [{ key: "mcp_tool" }] }, "group_by.0.key"],
  ...["virtual_key", "provider", "config", "prompt", "model", "endpoint_type"].map(
    (key) => [{ ...toolTarget, conditions: [{ key, value: "*" }] }, "conditions.0.key"] as [object, string],
  ),
  [
    { target: "mcp_tools", conditions: [{ key: "mcp_tool", value: "*" }], group_by: [{ key: "model" }] },
    "group_by.0.key",
  ],
  [{ credit_limit: 5 }, "credit_limit"],
];

const changeable = new Set(
  [
    ["name", "description", "conditions", "unit", "value", "credit_limit", "alert_threshold"],
    ["periodic_reset", "periodic_reset_days", "next_usage_reset_at"],
  ].flat(),
);
/** Whether a change of a policy can have the same wrong fields. */
const isChange = ([changes]: readonly [changes: object, param: string]): boolean =>
  Object.entries(changes).every(([name, value]) => changeable.has(name) && value !== undefined);

for (const [path, wrong] of [
  [usage, [...wrongShared, ...wrongUsage]],
  [rate, [...wrongShared, ...wrongRate]],
] as const) {
  test(`POST ${path} refuses each wrong field by name`, async () => {
    const before = (await list(path, "")).total;
    for (const [changes, param] of wrong) {
      const body = { ...bodies[path], ...changes };
      const found = await problem(gateway, `POST ${path}`, { key: workspaceKey, body });
      assert.equal(found, `400 AB01 ${param}`, JSON.stringify(changes).slice(0, 200));
    }
    assert.equal((await list(path, "")).total, before);
  });

  test(`PUT ${path} refuses each wrong field by name and changes nothing`, async () => {
    const { id } = await make(path);
    const before = await read(path, id);
    const changes = wrong.filter(isChange);
    assert.ok(changes.length > 30, String(changes.length));
    for (const [body, param] of changes) {
      const found = await problem(gateway, `PUT ${path}/${id}`, { key: workspaceKey, body });
      assert.equal(found, `400 AB01 ${param}`, JSON.stringify(body).slice(0, 200));
    }
    assert.deepEqual(await read(path, id), before);
  });

  test(`POST ${path} accepts name, description and lists of maximum length`, async () => {
    const keys = Array.from({ length: 100 }, (_, index) => ({ key: `metadata.k${index}` }));
    const longest = {
      name: long(255),
      description: long(500),
      conditions: [
        { key: `metadata.${long(128)}`, value: Array(1_000).fill("a"), excludes: long(1_024) },
        ...keys.slice(1).map(({ key }) => ({ key, value: ["*"] })),
      ],
      group_by: keys,
    };
    const { id } = await make(path, longest);
    const { name, description, conditions: stored, group_by: grouped } = await read(path, id);
    assert.deepEqual({ name, description, conditions: stored, group_by: grouped }, longest);
  });

  test(`POST ${path} refuses numbers that JSON cannot hold`, async () => {
    const field = path === usage ? "credit_limit" : "value";
    for (const number of ["NaN", "Infinity", "-Infinity"]) {
      const body = JSON.stringify({ ...bodies[path], [field]: "#" }).replace('"#"', number);
      const { status } = await call(gateway, `POST ${path}`, { key: workspaceKey, body });
      assert.equal(status, 400, number);
    }
    const endless = JSON.stringify({ ...bodies[path], [field]: "#" }).replace('"#"', "1e999");
    assert.equal(await problem(gateway, `POST ${path}`, { key: workspaceKey, body: endless }), `400 AB01 ${field}`);
  });
}

test("POST /policies/usage-limits accepts every type, a limit of 0, and a threshold just below the limit", async () => {
  for (const type of ["cost", "tokens", "requests"]) {
    const { id } = await make(usage, { type, credit_limit: 0 });
    assert.deepEqual([(await read(usage, id)).type, (await read(usage, id)).credit_limit], [type, 0]);
  }
  const { id: huge } = await make(usage, { name: "huge", credit_limit: 1e308 });
  assert.equal((await read(usage, huge)).credit_limit, 1e308);
  const { policies } = await done(
    call<{ policies: { id: string; limit: number }[] }>(gateway, "GET /policies/explain", { key: workspaceKey }),
  );
  assert.equal(typeof policies.find((entry) => entry.id === huge)?.limit, "number");
  const { id } = await make(usage, { credit_limit: 0.01, alert_threshold: 0, periodic_reset_days: 365 });
  const { alert_threshold, periodic_reset_days } = await read(usage, id);
  assert.deepEqual([alert_threshold, periodic_reset_days], [0, 365]);
});

test("PUT of a usage limit refuses what contradicts the stored policy, naming the field of the body", async () => {
  const { id } = await make(usage, { alert_threshold: 50, periodic_reset: "weekly" });
  const before = await read(usage, id);
  for (const [body, param] of [
    [{ credit_limit: 50 }, "credit_limit"],
    [{ alert_threshold: 100 }, "alert_threshold"],
    [{ credit_limit: 20, alert_threshold: 30 }, "alert_threshold"],
    [{ periodic_reset_days: 3 }, "periodic_reset_days"],
    [{ periodic_reset: "monthly", periodic_reset_days: 3 }, "periodic_reset_days"],
    [{ credit_limit: null }, "credit_limit"],
    [{ credit_limit: -1 }, "credit_limit"],
    [{ conditions: [] }, "conditions"],
    [{ conditions: [{ key: "mcp_tool", value: "*" }] }, "conditions.0.key"],
    [{ group_by: [{ key: "model" }] }, "group_by"],
    [{ type: "tokens" }, "type"],
    [{ status: "exhausted" }, "status"],
    [{ reset_usage_for_value: long(65_537) }, "reset_usage_for_value"],
    [{ description: long(501) }, "description"],
  ] as const) {
    const found = await problem(gateway, `PUT ${usage}/${id}`, { key: workspaceKey, body });
    assert.equal(found, `400 AB01 ${param}`, JSON.stringify(body).slice(0, 200));
  }
  assert.deepEqual(await read(usage, id), before);
  await change(usage, id, { credit_limit: 40, alert_threshold: null, periodic_reset: null, periodic_reset_days: 3 });
  assert.equal(
    await problem(gateway, `PUT ${usage}/${id}`, { key: workspaceKey, body: { periodic_reset: "weekly" } }),
    "400 AB01 periodic_reset",
  );
});

test("PUT of a rate limit refuses fields its type and target do not support, by name", async () => {
  const { id } = await make(rate);
  const { id: tools } = await make(rate, { ...toolTarget, conditions: [{ key: "mcp_tool", value: "*" }] });
  for (const [policy, body, param] of [
    [id, { target: "mcp_tools" }, "target"],
    [id, { value: 1.5 }, "value"],
    [id, { value: -1 }, "value"],
    [id, { unit: "rps" }, "unit"],
    [id, { conditions: [{ key: "mcp_tool", value: "*" }] }, "conditions.0.key"],
    [id, { type: "tokens" }, "type"],
    [id, { group_by: [{ key: "model" }] }, "group_by"],
    [tools, { conditions: [{ key: "mcp_tool", value: "*" }, condition] }, "conditions.1.key"],
  ] as const) {
    const found = await problem(gateway, `PUT ${rate}/${policy}`, { key: workspaceKey, body });
    assert.equal(found, `400 AB01 ${param}`, JSON.stringify(body));
  }
});

test("GET lists filter by type, unit, target and status, and have pages, newest first", async () => {
  const key = await makeKey(scopesOfKind("workspace-service"), second.id);
  const made: string[] = [];
  for (const changes of [{ type: "cost" }, { type: "tokens" }, { type: "requests" }, { type: "tokens" }]) {
    clock.advance(1_000);
    made.unshift((await make(usage, changes, key)).id);
  }
  const ids = async (path: string, query: string) => {
    const { total, data } = await list(path, query, key);
    return { total, ids: data.map(({ id }) => id) };
  };
  assert.deepEqual(await ids(usage, ""), { total: 4, ids: made });
  assert.deepEqual(await ids(usage, "page_size=3&current_page=1"), { total: 4, ids: made.slice(3) });
  assert.deepEqual(await ids(usage, "current_page=9"), { total: 4, ids: [] });
  assert.deepEqual(await ids(usage, "type=tokens"), { total: 2, ids: [made[0], made[2]] });
  const calls = await make(rate, {}, key);
  const tokens = await make(rate, { type: "tokens", unit: "rpd" }, key);
  const tools = await make(rate, { ...toolTarget, conditions: [{ key: "mcp_tool", value: "*" }] }, key);
  for (const [query, wanted] of [
    ["type=tokens", [tokens.id]],
    ["unit=rpd", [tokens.id]],
    ["target=mcp_tools", [tools.id]],
    ["target=llm&unit=rpm", [calls.id]],
    ["target=mcp_tools&type=tokens", []],
    ["status=archived", []],
  ] as const) {
    assert.deepEqual(await ids(rate, query), { total: wanted.length, ids: wanted }, query);
  }
  for (const [path, query, param] of [
    [usage, "type=rpm", "type"],
    [usage, "unit=rpm", "unit"],
    [usage, "status=all", "status"],
    [usage, "page_size=1001", "page_size"],
    [usage, "current_page=-1", "current_page"],
    [rate, "type=cost", "type"],
    [rate, "unit=rps", "unit"],
    [rate, "target=tools", "target"],
  ]) {
    assert.equal(await problem(gateway, `GET ${path}?${query}`, { key }), `400 AB01 ${param}`);
  }
  const rateId = tools.id;
  assert.equal(await problem(gateway, `GET ${rate}/${rateId}?include_usage=true`, { key }), "400 AB01 include_usage");
});

for (const path of [usage, rate]) {
  test(`${path}: an admin key names the workspace of a new policy and reaches those of every workspace`, async () => {
    assert.equal(await problem(gateway, `POST ${path}`, { body: bodies[path] }), "400 AB01 workspace_id");
    const bySlug = await make(path, { workspace_id: second.slug }, adminKey);
    const byId = await make(path, { workspace_id: second.id, organisation_id: organisationId }, adminKey);
    for (const { id } of [bySlug, byId]) assert.equal((await read(path, id, "", adminKey)).workspace_id, second.id);
    await change(path, byId.id, { name: "By the organisation", workspace_id: second.slug }, adminKey);
    assert.equal((await read(path, byId.id, "", secondKey)).name, "By the organisation");
    const inFirst = await list(path, "workspace_id=default&page_size=1000", adminKey);
    const inSecond = await list(path, `workspace_id=${second.slug}&page_size=1000`, adminKey);
    const all = await list(path, "page_size=1000", adminKey);
    assert.ok(inFirst.data.every((policy) => policy.workspace_id === workspaceId));
    assert.ok(inSecond.data.some(({ id }) => id === bySlug.id));
    assert.equal(all.total, inFirst.total + inSecond.total);
    const wrongPlace = { name: "x", workspace_id: "default" };
    assert.equal(await refusal(call(gateway, `PUT ${path}/${byId.id}`, { body: wrongPlace })), "404 AB08");
  });

  test(`${path}: policies of another workspace and another organisation are not found`, async () => {
    const { id } = await make(path, { name: "Mine" });
    for (const key of [secondKey, other.adminKey, other.workspaceKey]) {
      for (const [method, body] of [["GET"], ["PUT", { name: "Taken" }], ["DELETE"]] as const) {
        const answer = call(gateway, `${method} ${path}/${id}`, { key, ...(body && { body }) });
        assert.equal(await refusal(answer), "404 AB08", method);
      }
      const { data } = await list(path, "page_size=1000", key);
      assert.ok(!data.some((policy) => policy.id === id));
    }
    for (const [key, named] of [
      [secondKey, { workspace_id: workspaceId }],
      [other.adminKey, { workspace_id: workspaceId }],
      [workspaceKey, { organisation_id: other.organisationId }],
    ] as const) {
      const body = { ...bodies[path], ...named };
      assert.equal(await refusal(call(gateway, `POST ${path}`, { key, body })), "403 AB03");
    }
    assert.equal((await read(path, id)).name, "Mine");
    for (const unknown of [crypto.randomUUID(), "no-policy"]) {
      assert.equal(await refusal(call(gateway, `GET ${path}/${unknown}`, { key: workspaceKey })), "404 AB08");
    }
  });

  test(`${path}: members of a workspace see policies, managers change them`, async () => {
    const scopes = scopesOfKind("workspace-user");
    const { id } = await make(path);
    for (const [role, wanted] of [
      ["member", ["403 AB03", "403 AB03", "403 AB03"]],
      ["manager", ["200 ", "200 ", "200 "]],
    ] as const) {
      const email = `${role}-${path.length}@example.test`;
      const { key } = await addPerson(gateway, email, { workspaces: [{ id: workspaceId, role }], scopes });
      assert.equal((await read(path, id, "", key)).id, id);
      assert.ok((await list(path, "", key)).total > 0);
      const found = [
        await refusal(call(gateway, `POST ${path}`, { key, body: bodies[path] })),
        await refusal(call(gateway, `PUT ${path}/${id}`, { key, body: { name: "x" } })),
        await refusal(call(gateway, `DELETE ${path}/${id}`, { key })),
      ];
      assert.deepEqual(found, wanted, role);
    }
  });

  test(`${path}: every write leaves an audit row that names the policy and its workspace`, async () => {
    const resource = path === usage ? "usage_limit_policies" : "rate_limit_policies";
    const { id } = await make(path, { workspace_id: second.id }, adminKey);
    await change(path, id, { name: "Audited" }, adminKey);
    await done(call(gateway, `DELETE ${path}/${id}`));
    assert.equal(await refusal(call(gateway, `DELETE ${path}/${id}`)), "404 AB08");
    const times = "start_time=2020-01-01T00:00:00Z&end_time=2100-01-01T00:00:00Z";
    const { records } = await done(
      call<{ records: Record<string, unknown>[] }>(gateway, `GET /audit-logs?${times}&resource_type=${resource}`),
    );
    const shown = records
      .filter((record) => record.resource_id === id)
      .map((record) => [record.action, record.response_status_code, record.workspace_id]);
    assert.deepEqual(shown, [
      ["delete", 404, second.id],
      ["delete", 200, second.id],
      ["update", 200, second.id],
      ["create", 200, second.id],
    ]);
  });
}

test("policies are deleted with their workspace", async () => {
  const third = await done(call<{ id: string }>(gateway, "POST /admin/workspaces", { body: { name: "Third" } }));
  const made = [usage, rate].map(async (path) => ({
    path,
    ...(await make(path, { workspace_id: third.id }, adminKey)),
  }));
  const policies = await Promise.all(made);
  await done(call(gateway, `DELETE /admin/workspaces/${third.id}`, { body: { name: "Third" } }));
  for (const { path, id } of policies) {
    assert.equal(await refusal(call(gateway, `GET ${path}/${id}`)), "404 AB08");
    assert.equal(await refusal(call(gateway, `GET ${path}/${id}?status=archived`)), "404 AB08");
  }
});
