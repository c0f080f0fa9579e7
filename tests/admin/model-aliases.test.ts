import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { mintApiKey } from "../../src/auth/api-key.ts";
import { scopesOfKind } from "../../src/auth/scopes.ts";
import { type Answer, call, done, refusal, untouchedUsage } from "../support/control.ts";
import { adminKey, createTestGateway, insertKey, type TestGateway, workspaceKey } from "../support/gateway.ts";
import { problem } from "../support/people.ts";

interface Alias extends Record<string, unknown> {
  id: string;
  name: string;
  workspace_id: string | null;
  target: { model?: string; config?: string };
  access: { api_keys?: string[]; roles?: string[]; workspaces?: string[] } | null;
  usage_limits: object | null;
  enabled: boolean;
}

let gateway: TestGateway;
let organisationId: string;
let workspaceId: string;
let second: { id: string; slug: string };
let secondKey: string;
let config: { id: string; slug: string };
before(async () => {
  gateway = await createTestGateway({ inFile: true });
  const first = await done(call(gateway, "GET /admin/workspaces/default"));
  organisationId = String(first.organisation_id);
  workspaceId = String(first.id);
  second = await done(
    call<{ id: string; slug: string }>(gateway, "POST /admin/workspaces", { body: { name: "Second" } }),
  );
  secondKey = mintApiKey("gk").key;
  const scopes = JSON.stringify(scopesOfKind("workspace-service"));
  await insertKey(await gateway.openFile(), secondKey, { organisationId, workspaceId: second.id, scopes });
  for (const key of [workspaceKey, secondKey]) {
    const integration = { name: "Echo", ai_provider_id: "echo", key: "fake-echo-key-000000" };
    const slug = key === secondKey ? "other" : "main";
    await done(call(gateway, "POST /integrations", { key, body: { ...integration, slug } }));
  }
  const saved = { name: "Pool", config: { provider: "@main", override_params: { model: "echo-1" } } };
  config = await done(call<{ id: string; slug: string }>(gateway, "POST /configs", { key: workspaceKey, body: saved }));
});
after(() => gateway.close());

const target = { model: "@main/echo-1" };
const create = (body: object, key = workspaceKey): Promise<Answer<Alias>> =>
  call<Alias>(gateway, "POST /model-aliases", { key, body: { target, ...body } });
const save = (body: object, key = workspaceKey) => done(create(body, key));
const read = (id: string, key = workspaceKey, query = "") =>
  call<Alias>(gateway, `GET /model-aliases/${id}${query}`, { key });
const change = (id: string, body: object, key = workspaceKey) =>
  call<Alias>(gateway, `PUT /model-aliases/${id}`, { key, body });
const list = async (query = "", key = workspaceKey) => {
  const { data } = await done(call<{ data: Alias[] }>(gateway, `GET /model-aliases?${query}`, { key }));
  return data.map(({ name }) => name);
};

test("an alias is shown as it was saved, by its id and its name", async () => {
  const limits = { usage_limits: { type: "cost", credit_limit: 5 }, rate_limits: [] };
  const labels = { metadata: { owner: "search" }, tags: ["cheap", "cheap", "eu"] };
  const { id, object } = await save({ name: "fast", ...labels, ...limits, access: { roles: ["manager"] } });
  assert.equal(object, "model_alias");
  const shown = await done(read(id));
  assert.deepEqual(await done(read("fast")), shown);
  const { created_at, last_updated_at, owner_id, usage_limits, ...others } = shown;
  assert.equal(created_at, last_updated_at);
  assert.ok(owner_id);
  assert.deepEqual(usage_limits, {
    ...untouchedUsage(usage_limits),
    type: "cost",
    credit_limit: 5,
    alert_threshold: null,
    periodic_reset: null,
    periodic_reset_days: null,
    next_usage_reset_at: null,
  });
  assert.deepEqual(others, {
    id,
    name: "fast",
    target,
    organisation_id: organisationId,
    workspace_id: workspaceId,
    metadata: { owner: "search" },
    tags: ["cheap", "eu"],
    access: { roles: ["manager"] },
    rate_limits: null,
    last_reset_at: null,
    enabled: true,
    updated_by: null,
    object: "model_alias",
  });
});

test("a config is named by its slug or id, and shown by its slug", async () => {
  for (const named of [config.slug, config.id]) {
    const { id } = await save({ name: `pool-${named.length}`, target: { config: named } });
    assert.deepEqual((await done(read(id))).target, { config: config.slug });
  }
});

test("a change keeps what it does not name, null clears, and a deleted alias is gone", async () => {
  const { id } = await save({ name: "changing", tags: ["a"], access: { roles: ["admin"] } });
  await done(change(id, { enabled: false, name: "changed" }));
  const former = await done(read("changed"));
  assert.deepEqual([former.id, former.enabled, former.tags], [id, false, ["a"]]);
  assert.ok(former.updated_by);
  await done(change(id, { tags: null, access: null, target: { config: config.slug } }));
  const now = await done(read(id));
  assert.deepEqual([now.tags, now.access, now.target], [[], null, { config: config.slug }]);
  await done(change(id, now));
  await done(call(gateway, `DELETE /model-aliases/${id}`, { key: workspaceKey }));
  assert.equal(await refusal(read(id)), "404 AB08");
});

for (const name of [
  "@main/x",
  "pc-a-0123ab",
  crypto.randomUUID(),
  "",
  "a b",
  ".hidden",
  "x".repeat(256),
  "a\0b",
  "é",
]) {
  test(`the name ${JSON.stringify(name).slice(0, 20)} is refused`, async () => {
    const body = { name, target };
    assert.equal(await problem(gateway, "POST /model-aliases", { key: workspaceKey, body }), "400 AB01 name");
  });
}

for (const [what, wanted, status] of [
  ["nothing", {}, "400 AB01"],
  ["both a model and a config", { model: "@main/x", config: "pc-x" }, "400 AB01"],
  ["a model without its provider", { model: "gpt-4o" }, "400 AB01"],
  ["a provider without a model", { model: "@main" }, "400 AB01"],
  ["a provider that does not exist", { model: "@nothing/x" }, "404 AB02"],
  ["a provider of another workspace", { model: "@other/x" }, "404 AB02"],
  ["a config that does not exist", { config: "pc-nothing-0123ab" }, "404 AB02"],
  ["another alias", { config: "first-alias" }, "404 AB02"],
  ["itself", { config: "looped" }, "404 AB02"],
] as const) {
  test(`an alias of ${what} is refused`, async () => {
    if (what === "another alias") await save({ name: "first-alias" });
    assert.equal(await refusal(create({ name: "looped", target: wanted })), status);
  });
}

test("no alias stands in the way of another one", async () => {
  const { id } = await save({ name: "taken" });
  const other = await save({ name: "free" });
  assert.equal(await refusal(create({ name: "taken" })), "409 AB07");
  assert.equal(await refusal(change(other.id, { name: "taken" })), "409 AB07");
  assert.equal(await refusal(create({ name: "taken" }, adminKey)), "409 AB07");
  await done(change(id, { name: "taken" }));
  await save({ name: "taken", target: { model: "@other/x" } }, secondKey);
  await save({ name: "ours" }, adminKey);
  assert.equal(await refusal(create({ name: "ours" })), "409 AB07");
  assert.equal(await refusal(create({ name: "ours" }, adminKey)), "409 AB07");
});

test("workspaces read the organisation's aliases, and neither change them nor see whom they name", async () => {
  const access = { workspaces: ["default", second.slug], roles: ["admin"] };
  const { id } = await save({ name: "shared", access }, adminKey);
  assert.deepEqual((await done(read(id, adminKey))).access, {
    roles: ["admin"],
    workspaces: [workspaceId, second.id],
  });
  const seen = await done(read("shared"));
  assert.deepEqual([seen.workspace_id, seen.access], [null, { roles: ["admin"] }]);
  assert.equal(await refusal(change(id, { enabled: false })), "403 AB03");
  assert.equal(await refusal(call(gateway, `DELETE /model-aliases/${id}`, { key: workspaceKey })), "403 AB03");
  assert.ok((await list()).includes("shared"));
  assert.ok((await list("", secondKey)).includes("shared"));
  await done(call(gateway, `DELETE /model-aliases/shared`));
  assert.deepEqual(await list("name=shared"), []);
});

test("a workspace neither sees nor changes the aliases of another one", async () => {
  const { id } = await save({ name: "private" });
  assert.equal(await refusal(read(id, secondKey)), "404 AB08");
  assert.equal(await refusal(read("private", secondKey)), "404 AB08");
  assert.equal(await refusal(change(id, { enabled: false }, secondKey)), "404 AB08");
  assert.ok(!(await list("", secondKey)).includes("private"));
  assert.deepEqual((await done(read("private", adminKey, "?workspace_id=default"))).id, id);
});

test("access names records that exist", async () => {
  const refuse = (access: object, key = workspaceKey) => refusal(create({ name: "guarded", access }, key));
  assert.equal(await refuse({ api_keys: [crypto.randomUUID()] }), "404 AB02");
  assert.equal(await refuse({ workspaces: ["default"] }), "400 AB01");
  assert.equal(await refuse({ workspaces: ["nothing"] }, adminKey), "404 AB02");
  assert.equal(await refuse({ roles: ["king"] }), "400 AB01");
  assert.equal(await refuse({ roles: [] }), "400 AB01");
  assert.equal(await refuse({ users: ["x"] }), "400 AB01");
});

test("a config that an alias leads to is neither deleted nor archived, and the refusal names the alias", async () => {
  for (const [name, key] of [
    ["to-pool", workspaceKey],
    ["to-pool-of-all", adminKey],
  ] as const) {
    const saved = { name: "Used", config: { provider: "@main", override_params: { model: "echo-1" } } };
    const { slug } = await done(call(gateway, "POST /configs", { key: workspaceKey, body: saved }));
    const { id } = await save({ name, target: { config: slug } }, key);
    const deleted = await call(gateway, `DELETE /configs/${slug}`, { key: workspaceKey });
    assert.equal(deleted.status, 409);
    assert.match(JSON.stringify(deleted.body), new RegExp(`the model alias ${name} leads to it`));
    const body = { status: "archived" };
    assert.equal(await refusal(call(gateway, `PUT /configs/${slug}`, { key: workspaceKey, body })), "409 AB07");
    await done(call(gateway, `DELETE /model-aliases/${id}`, { key }));
    await done(call(gateway, `DELETE /configs/${slug}`, { key: workspaceKey }));
  }
});

test("each change has an audit row with the workspace of the alias", async () => {
  const { id } = await save({ name: "audited", workspace_id: "default" }, adminKey);
  await done(change(id, { enabled: false }, adminKey));
  await done(call(gateway, `DELETE /model-aliases/${id}`));
  const { records } = await done(
    call<{ records: Record<string, unknown>[] }>(
      gateway,
      "GET /audit-logs?start_time=2020-01-01T00:00:00Z&end_time=2100-01-01T00:00:00Z&resource_type=model_aliases&page_size=3",
    ),
  );
  assert.deepEqual(
    records.map(({ action, resource_type, workspace_id }) => [action, resource_type, workspace_id]),
    ["delete", "update", "create"].map((action) => [action, "model_aliases", workspaceId]),
  );
});
