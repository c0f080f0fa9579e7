import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import * as v from "valibot";
import { adminEndpoints } from "../../src/admin/endpoints.ts";
import { mintApiKey } from "../../src/auth/api-key.ts";
import { scopesOfKind } from "../../src/auth/scopes.ts";
import { isAdminEndpoint } from "../../src/endpoint.ts";
import { loadConverter } from "../../src/openapi/schema.ts";
import { call, done } from "../support/control.ts";
import { createTestGateway, insertKey, type TestGateway, workspaceKey } from "../support/gateway.ts";
import { problem } from "../support/people.ts";

let gateway: TestGateway;
let adminKey: string;
before(async () => {
  gateway = await createTestGateway({ inFile: true });
  adminKey = mintApiKey("gk").key;
  const scopes = JSON.stringify(scopesOfKind("organisation-service"));
  await insertKey(await gateway.openFile(), adminKey, { kind: "organisation-service", scopes, workspaceId: null });
});
after(() => gateway.close());

/** Entries of a body's schema; a variant's are those of all its options. */
function entriesOf(schema: v.GenericSchema): Record<string, v.GenericSchema> {
  const { entries, options = [] } = schema as unknown as {
    entries?: Record<string, v.GenericSchema>;
    options?: v.GenericSchema[];
  }; // valibot's schemas have these fields
  return entries ?? Object.assign({}, ...options.map(entriesOf));
}

/** Schemas inside another one, at any depth, by their place. */
function* schemasIn(schema: object, place: string): Generator<[string, object]> {
  yield [place, schema];
  for (const name of ["wrapped", "item", "items", "rest", "options", "entries", "key", "value", "pipe"]) {
    const held: unknown = Reflect.get(schema, name);
    if (typeof held !== "object" || held === null) continue;
    const inner: [string, unknown][] = Reflect.has(held, "kind") ? [[name, held]] : Object.entries(held);
    for (const [at, one] of inner) {
      // what a pipe begins with has the fields of the pipe
      if (name === "pipe" && at === "0") continue;
      if (Reflect.get(Object(one), "kind") === "schema") yield* schemasIn(Object(one), `${place}.${at}`);
    }
  }
}

const pathId = "00000000-0000-4000-8000-000000000000";

const writes = adminEndpoints.filter(isAdminEndpoint).flatMap((row) => {
  if (!row.body) return [];
  const path = row.path.replace("/v1", "").replace(/:\w+/g, pathId);
  return [{ route: `${row.method} ${path}`, body: row.body, isOfWorkspace: row.access.keys === "workspace" }];
});

interface Refusal {
  error?: { code: string; message: string; param: string | null };
}

/** Routes that only keys of a workspace may call. */
const ofWorkspace = new Set(writes.flatMap(({ route, isOfWorkspace }) => (isOfWorkspace ? [route] : [])));

const send = (route: string, body: unknown) =>
  call<Refusal>(gateway, route, { key: ofWorkspace.has(route) ? workspaceKey : adminKey, body });

for (const { route, body: schema } of writes) {
  const entries = entriesOf(schema);
  test(`${route} has no object that drops fields it does not know`, () => {
    const open = [...schemasIn(schema, "body")].filter(([, one]) => Reflect.get(one, "type") === "object");
    assert.deepEqual(
      open.map(([place]) => place),
      [],
    );
  });

  test(`${route} refuses unknown fields, and lists`, async () => {
    const name = "no_such_member";
    const { status, body } = await send(route, { [name]: 1 });
    assert.deepEqual([status, body.error?.code, body.error?.param], [400, "AB01", name]);
    for (const wrong of [[], [{}], [1], "text", 5, true]) {
      const answer = await send(route, wrong);
      assert.deepEqual([answer.status, answer.body.error?.code], [400, "AB01"], JSON.stringify(wrong));
    }
  });

  test(`${route} refuses a wrong type of each field by name`, async () => {
    const required = Object.keys(entries).filter(
      (name) => !v.is(v.object({ [name]: entries[name] as v.GenericSchema }), {}),
    );
    for (const [name, entry] of Object.entries(entries)) {
      for (const wrong of [[], [[]], {}, { no_such_member: 1 }, 12_345.5, -1, "", "\0", true]) {
        if (v.is(entry, wrong)) continue;
        const { status, body } = await send(route, { [name]: wrong });
        const param = body.error?.param ?? "";
        const isNamed = [name, ...required].some((one) => param === one || param.startsWith(`${one}.`));
        assert.equal(status, 400, `${name}: ${JSON.stringify(wrong)}`);
        assert.ok(isNamed, `${name}: ${JSON.stringify(wrong)} answers ${param}`);
      }
    }
  });
}

/** Names under which a released client repeats the parameters of a path. */
const repeated: Readonly<Record<string, readonly string[]>> = {
  "/admin/workspaces/": ["workspace_id"],
  "/admin/users/": ["user_id"],
  "/users/": ["user_id"],
  "/configs/": ["slug", "config_id"],
  "/logs/exports/": ["export_id"],
  "/guardrails/": ["guardrail_id"],
  "/feedback/": ["id", "feedback_id"],
  "/mcp-servers/": ["id", "mcp_server_id"],
  "/mcp-integrations/": ["id", "mcp_integration_id"],
  "/integrations/": ["slug", "integration_id"],
  "/virtual-keys/": ["slug", "virtual_key_id"],
  "/providers/": ["slug"],
  "/api-keys/": ["id"],
  "/prompts/partials/": ["partial_id"],
  "/collections/": ["collection_id"],
  "/labels/": ["label_id"],
};

for (const { route, body: schema } of writes) {
  const known = new Set(Object.keys(entriesOf(schema)));
  const names = Object.entries(repeated).flatMap(([path, list]) => (route.includes(path + pathId) ? list : []));
  for (const name of new Set(names.filter((one) => !known.has(one)))) {
    test(`${route} takes ${name} as the path has it, and no other`, async () => {
      const same = await send(route, { [name]: pathId });
      assert.notEqual(same.body.error?.param, name);
      const { status, body } = await send(route, { [name]: "another" });
      assert.deepEqual([status, body.error?.code, body.error?.param], [400, "AB01", name]);
    });
  }

  test(`${route} takes null for an unknown field, and where it creates for every optional one`, async () => {
    const optional = (route.startsWith("POST") ? [...known] : []).filter((name) =>
      v.is(v.object({ [name]: entriesOf(schema)[name] as never }), {}),
    );
    for (const name of ["no_such_member", ...optional]) {
      const { body } = await send(route, { [name]: null });
      // with an admin key some routes need a workspace
      const isMissing = body.error?.message.endsWith("must be given with a key of the organisation");
      assert.ok(isMissing || body.error?.param !== name, `${name}: ${JSON.stringify(body)}`);
    }
  });
}

test("null counts as absent in what is written anew, and is refused in changes that cannot clear a field", async () => {
  const key = workspaceKey;
  const check = {
    id: "default.contains",
    parameters: { words: ["a"], operator: "any" },
    is_enabled: null,
    other: null,
  };
  const body = { name: "g", checks: [check], actions: { deny: null } };
  const { id } = await done<{ id: string }>(call(gateway, "POST /guardrails", { key, body }));
  const shown = JSON.stringify(await done(call(gateway, `GET /guardrails/${id}`, { key })));
  assert.ok(shown.includes('"is_enabled":true') && shown.includes('"deny":false'), shown);
  const wrong = { ...body, checks: [{ ...check, constructor: 1 }] };
  assert.equal(await problem(gateway, "POST /guardrails", { key, body: wrong }), "400 AB01 checks.0.constructor");
  assert.equal(await problem(gateway, `PUT /guardrails/${id}`, { key, body: { name: null } }), "400 AB01 name");
});

test("the document says where a body has no other fields", async () => {
  const convert = await loadConverter();
  const bodyOf = (route: string) => {
    const body = writes.find((one) => one.route === route)?.body ?? v.unknown();
    return JSON.parse(JSON.stringify(convert(body, "input"))) as { additionalProperties?: unknown };
  };
  assert.equal(bodyOf("POST /labels").additionalProperties, false);
  // a key that was read can be sent back, with fields that change nothing
  assert.equal(bodyOf(`PUT /api-keys/${pathId}`).additionalProperties, undefined);
});

test("virtual keys take their settings in snake case, and null where a client has none", async () => {
  const key = workspaceKey;
  const body = { name: "a", slug: "azure-one", provider: "azure-openai", key: "sk-1" };
  const settings = { api_version: "2024-10-21", resource_name: "res", deployment_name: "dep" };
  await done(call(gateway, "POST /virtual-keys", { key, body: { ...body, ...settings } }));
  const shown = JSON.stringify(await done(call(gateway, "GET /virtual-keys/azure-one", { key })));
  for (const value of Object.values(settings)) assert.ok(shown.includes(value), shown);
  const none = Object.fromEntries(Object.keys(settings).map((name) => [name, null]));
  const plain = { ...body, slug: "plain", provider: "openai", ...none };
  assert.equal(await problem(gateway, "POST /virtual-keys", { key, body: plain }), "200 undefined undefined");
  const twice = { ...body, ...settings, apiVersion: "2024-06-01" };
  assert.equal(await problem(gateway, "POST /virtual-keys", { key, body: twice }), "400 AB01 api_version");
});

const budget = { type: "cost", credit_limit: 5 };

for (const [name, create, path] of [
  ["keys", { route: "POST /api-keys/workspace/service", body: { name: "k", scopes: ["logs.list"] } }, "/api-keys/"],
  [
    "virtual keys",
    { route: "POST /virtual-keys", body: { name: "v", slug: "v", provider: "openai", key: "sk-1" } },
    "/virtual-keys/v",
  ],
] as const) {
  test(`a budget of ${name} is accepted as an object or as a list of one, and nothing else`, async () => {
    const key = workspaceKey;
    const made = await done<{ id?: string }>(
      call(gateway, create.route, { key, body: { ...create.body, usage_limits: [budget] } }),
    );
    const one = path + (made.id ?? "");
    const read = async () =>
      (await done<{ usage_limits: { credit_limit: number } | null }>(call(gateway, `GET ${one}`, { key })))
        .usage_limits;
    const put = (usage_limits: unknown) => problem(gateway, `PUT ${one}`, { key, body: { usage_limits } });
    assert.equal((await read())?.credit_limit, 5);
    const wanted = [{ ...budget, credit_limit: 6 }];
    assert.equal(await put(wanted), "200 undefined undefined");
    assert.equal((await read())?.credit_limit, 6);
    for (const [wrong, param] of [
      [-1, "usage_limits"],
      ["5", "usage_limits"],
      [[budget, budget], "usage_limits"],
      [{ ...budget, credit_limit: -1 }, "usage_limits.credit_limit"],
      [[{ ...budget, credit_limit: "5" }], "usage_limits.0.credit_limit"],
      [{ ...budget, creditLimit: 5 }, "usage_limits.creditLimit"],
      [[{ ...budget, limit: 5 }], "usage_limits.0.limit"],
    ] as const) {
      assert.equal(await put(wrong), `400 AB01 ${param}`, JSON.stringify(wrong));
      assert.equal((await read())?.credit_limit, 6);
    }
    // an amount below a dollar, as policies have it
    const small = { ...budget, credit_limit: 0.0003, alert_threshold: 0.0002 };
    assert.equal(await put(small), "200 undefined undefined");
    assert.equal((await read())?.credit_limit, 0.0003);
    assert.equal(await put(wanted), "200 undefined undefined");
    // a record that was read can be sent back
    assert.equal(await put(await read()), "200 undefined undefined");
    assert.equal((await read())?.credit_limit, 6);
    for (const none of [[], null]) {
      assert.equal(await put(budget), "200 undefined undefined");
      assert.equal(await put(none), "200 undefined undefined");
      assert.equal(await read(), null);
    }
  });
}

test("an unknown unit of a provider's rate limits is refused by name", async () => {
  const rate_limits = { type: "requests", unit: "rpx", value: 1 };
  const { status, body } = await call<{ error: { message: string; param: string } }>(gateway, "PUT /virtual-keys/v", {
    key: workspaceKey,
    body: { rate_limits },
  });
  assert.deepEqual([status, body.error.param], [400, "rate_limits.unit"]);
  assert.match(body.error.message, /must be rpm, rph, rpd, rps or rpw/);
});

test("a virtual key preserves its custom_host", async () => {
  const key = workspaceKey;
  const body = {
    name: "h",
    slug: "hosted",
    provider: "openai",
    key: "sk-1",
    custom_host: "https://models.example.com/v1",
  };
  await done(call(gateway, "POST /virtual-keys", { key, body }));
  const shown = await done<Record<string, unknown>>(call(gateway, "GET /virtual-keys/hosted", { key }));
  assert.ok(JSON.stringify(shown).includes("https://models.example.com/v1"));
  const refused = await problem(gateway, "POST /virtual-keys", {
    key,
    body: { ...body, slug: "x", custom_host: "http://10.0.0.1" },
  });
  assert.equal(refused, "400 AB01 custom_host");
});

test("an unknown switch is refused", async () => {
  const { data } = await done<{ data: { id: string }[] }>(call(gateway, "GET /admin/workspaces"));
  const body = { security_settings: { membersViewLog: false } };
  const route = `PUT /admin/workspaces/${data[0]?.id}`;
  assert.equal(await problem(gateway, route, { body }), "400 AB01 security_settings.membersViewLog");
});
