import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { findUnknownGuardrails } from "../../src/admin/core/named-records.ts";
import { mintApiKey } from "../../src/auth/api-key.ts";
import { scopesOfKind } from "../../src/auth/scopes.ts";
import { createDirectory } from "../../src/control/directory.ts";
import { createControlStores } from "../../src/db/stores/control.ts";
import { call, createOrganisation, done, refusal } from "../support/control.ts";
import { adminKey, createTestGateway, insertKey, type TestGateway, workspaceKey } from "../support/gateway.ts";
import { problem } from "../support/people.ts";

interface Receipt extends Record<string, unknown> {
  id: string;
  slug: string;
  version_id: string;
  object?: string;
}

interface Detail extends Receipt {
  name: string;
  target: string;
  organisation_id: string;
  workspace_id: string | null;
  status: string;
  owner_id: string;
  updated_by: string | null;
  created_at: string;
  last_updated_at: string;
  checks: { id: string; parameters?: object; is_enabled: boolean }[];
  actions: Record<string, unknown>;
}

interface List {
  data: Detail[];
  total: number;
}

let gateway: TestGateway;
let other: Awaited<ReturnType<typeof createOrganisation>>;
/** A second workspace of the organisation. */
let second: { id: string; slug: string };
let secondKey: string;
let organisationId: string;
let workspaceId: string;
before(async () => {
  gateway = await createTestGateway({ inFile: true });
  const database = await gateway.openFile();
  other = await createOrganisation(database, "other");
  second = await done(call<Receipt>(gateway, "POST /admin/workspaces", { body: { name: "Second" } }));
  const first = await done(call<Detail>(gateway, "GET /admin/workspaces/default"));
  organisationId = first.organisation_id;
  workspaceId = first.id;
  const { key } = mintApiKey("gk");
  const scopes = JSON.stringify(scopesOfKind("workspace-service"));
  await insertKey(database, key, { organisationId, workspaceId: second.id, scopes });
  secondKey = key;
});
after(() => gateway.close());

const words = (...listed: string[]) => ({ id: "default.contains", parameters: { words: listed, operator: "none" } });
/** A check that runs before the call only, and one that runs after it only. */
const beforeOnly = { id: "default.requiredMetadataKeys", parameters: { metadataKeys: ["team"], operator: "all" } };
const afterOnly = { id: "default.notNull", parameters: {} };

const shared = "/admin/v2/guardrails";
const save = (body: object, { key = workspaceKey, path = "/guardrails" } = {}) =>
  done(call<Receipt>(gateway, `POST ${path}`, { key, body: { name: "Words", checks: [words("secret")], ...body } }));
const share = (body: object) => save(body, { key: adminKey, path: shared });
const read = (name: string, key = workspaceKey) => done(call<Detail>(gateway, `GET /guardrails/${name}`, { key }));
const update = (name: string, body: object, key = workspaceKey) =>
  call<Receipt>(gateway, `PUT /guardrails/${name}`, { key, body });
const remove = (name: string, key = workspaceKey) => call(gateway, `DELETE /guardrails/${name}`, { key });
const list = (query = "", key = workspaceKey) => done(call<List>(gateway, `GET /guardrails?${query}`, { key }));

/** Versions of a guardrail's content in the database. */
async function countVersions(guardrailId: string): Promise<number> {
  const stores = createControlStores(await gateway.openFile());
  return stores.guardrailVersions.count({ organisationId, workspaceId: null }, { where: { guardrailId } });
}

test("POST /guardrails returns a receipt, GET shows the record by id and slug", async () => {
  const checks = [{ ...words("secret"), name: "No secrets", soft_deny_200: true }];
  const receipt = await save({ name: "My Words!", checks, actions: { deny: true } });
  assert.match(receipt.slug, /^pg-my-wor-[0-9a-f]{6}$/);
  assert.equal(receipt.object, "guardrail");
  const detail = await read(receipt.slug);
  assert.deepEqual(await read(receipt.id), detail);
  const { created_at, last_updated_at, owner_id, ...shown } = detail;
  assert.match(created_at, /^\d{4}-\d{2}-\d{2}T.*Z$/);
  assert.equal(last_updated_at, created_at);
  assert.ok(owner_id);
  assert.deepEqual(shown, {
    id: receipt.id,
    slug: receipt.slug,
    version_id: receipt.version_id,
    name: "My Words!",
    target: "llm",
    organisation_id: organisationId,
    workspace_id: workspaceId,
    status: "active",
    updated_by: null,
    object: "guardrail",
    mcp_server_mappings: [],
    checks: [{ ...checks[0], is_enabled: true }],
    actions: {
      deny: true,
      async: false,
      on_success: { feedback: { value: 5, weight: 1, metadata: "" } },
      on_fail: { feedback: { value: -5, weight: 1, metadata: "" } },
    },
  });
});

const plus = { feedback: { value: 5, weight: 1, metadata: "" } };
const minus = { feedback: { value: -5, weight: 1, metadata: "" } };

for (const [name, actions, wanted] of [
  ["none", undefined, { deny: false, async: false, on_success: plus, on_fail: minus }],
  ...[{ onFail: "block" }, { onFail: { action: "block" } }, { on_fail: "deny" }, { on_fail: { action: "block" } }].map(
    (written) => {
      const wanted = { deny: false, async: false, on_success: plus, on_fail: { deny: true, ...minus } };
      return [`denial as ${JSON.stringify(written)}`, written, wanted] as const;
    },
  ),
  ["a word that denies nothing", { onFail: "log" }, { deny: false, async: false, on_success: plus, on_fail: minus }],
  [
    "other spellings",
    { onSuccess: null, onError: "fail", streamMode: "buffer" },
    {
      deny: false,
      async: false,
      on_success: null,
      on_fail: minus,
      on_error: "fail",
      stream_mode: "buffer",
    },
  ],
  ["numbers for switches", { deny: 1, async: 0 }, { deny: true, async: false, on_success: plus, on_fail: minus }],
  [
    "feedback of its own",
    { on_success: { feedback: { value: 2 } }, on_fail: { feedback: null }, sequential: true, on_error: "pass" },
    {
      deny: false,
      async: false,
      sequential: true,
      on_error: "pass",
      on_fail: { feedback: null },
      on_success: { feedback: { value: 2, weight: 1, metadata: "" } },
    },
  ],
  ["no feedback", { on_success: null, on_fail: null }, { deny: false, async: false, on_success: null, on_fail: null }],
  [
    "deny in its old place",
    { on_fail: { deny: true } },
    { deny: false, async: false, on_success: plus, on_fail: { deny: true, ...minus } },
  ],
] as const) {
  test(`actions: ${name}`, async () => {
    const { id } = await save({ ...(actions && { actions }) });
    assert.deepEqual((await read(id)).actions, wanted);
  });
}

for (const [name, body, param] of [
  ["no name", { checks: [words("a")] }, "name"],
  ["no checks", { name: "n" }, "checks"],
  ["an empty list of checks", { name: "n", checks: [] }, "checks"],
  ["21 checks", { name: "n", checks: Array(21).fill(words("a")) }, "checks"],
  ["a check without id", { name: "n", checks: [{ parameters: {} }] }, "checks.0.id"],
  ["parameters that are a list", { name: "n", checks: [{ ...words("a"), parameters: [] }] }, "checks.0.parameters"],
  ["an unknown check", { name: "n", checks: [{ id: "default.nothing" }] }, "checks[0].parameters"],
  [
    "wrong parameters of a check that is off",
    { name: "n", checks: [words("a"), { id: "default.contains", parameters: { words: 1 }, is_enabled: false }] },
    "checks[1].parameters.words",
  ],
  ["a deny that is a text", { name: "n", checks: [words("a")], actions: { deny: "yes" } }, "actions.deny"],
  [
    "feedback out of bounds",
    { name: "n", checks: [words("a")], actions: { on_fail: { feedback: { value: 11 } } } },
    "actions.on_fail.feedback.value",
  ],
  ["a word nobody knows", { name: "n", checks: [words("a")], actions: { onFail: "explode" } }, "actions.onFail"],
  [
    "an action nobody knows",
    { name: "n", checks: [words("a")], actions: { on_fail: { action: "explode" } } },
    "actions.on_fail.action",
  ],
  ["a number for an action", { name: "n", checks: [words("a")], actions: { onFail: 1 } }, "actions.onFail"],
  ["an unknown target", { name: "n", checks: [words("a")], target: "users" }, "target"],
] as const) {
  test(`POST /guardrails refuses ${name}`, async () => {
    assert.equal(await problem(gateway, "POST /guardrails", { key: workspaceKey, body }), `400 AB01 ${param}`);
  });
}

test("a refusal names every problem with its path", async () => {
  const checks = [{ id: "default.nothing" }, { id: "default.contains", parameters: {} }];
  const { status, body } = await call<{ error: { message: string } }>(gateway, "POST /guardrails", {
    key: workspaceKey,
    body: { name: "n", checks },
  });
  assert.equal(status, 400);
  assert.match(body.error.message, /path: checks\[0\]\.parameters, .*path: checks\[1\]\.parameters\.words, /);
});

test("PUT /guardrails creates a version for new content only, and preserves absent fields", async () => {
  const { id, slug, version_id } = await save({ actions: { deny: true } });
  const versionOf = async (body: object) => {
    const answer = await done(update(slug, body));
    assert.deepEqual([answer.id, answer.slug], [id, slug]);
    return answer.version_id;
  };
  assert.equal(await versionOf({ name: "Other name" }), version_id);
  assert.equal(await versionOf({ checks: [words("secret")], target: "llm" }), version_id);
  assert.equal(await versionOf({ actions: { deny: true } }), version_id);
  const renamed = await read(id);
  assert.deepEqual([renamed.name, renamed.actions.deny], ["Other name", true]);
  assert.ok(renamed.updated_by);
  const next = await versionOf({ checks: [words("hidden")] });
  assert.notEqual(next, version_id);
  const changed = await read(id);
  assert.deepEqual([changed.version_id, changed.actions.deny], [next, true]);
  assert.deepEqual(changed.checks[0]?.parameters, words("hidden").parameters);
  assert.notEqual(await versionOf({ actions: {} }), next);
  assert.equal(await countVersions(id), 3);
});

for (const [name, body, wanted] of [
  ["another target", { target: "mcp_tools" }, "400 AB01 target"],
  ["an empty list of checks", { checks: [] }, "400 AB01 checks"],
  ["an unknown check", { checks: [{ id: "nothing" }] }, "400 AB01 checks[0].parameters"],
] as const) {
  test(`PUT /guardrails refuses ${name}`, async () => {
    const { slug } = await save({});
    assert.equal(await problem(gateway, `PUT /guardrails/${slug}`, { key: workspaceKey, body }), wanted);
  });
}

test("DELETE /guardrails removes it with its versions", async () => {
  const { id, slug } = await save({});
  assert.deepEqual(await done(remove(slug)), {});
  assert.equal(await refusal(remove(slug)), "404 AB08");
  assert.equal(await refusal(call(gateway, `GET /guardrails/${id}`, { key: workspaceKey })), "404 AB08");
  assert.equal(await countVersions(id), 0);
});

test("GET /guardrails lists summaries in pages, or those with some ids", async () => {
  const made = [await save({}), await save({}), await save({})];
  const ids = made.map(({ id }) => id);
  const all = await list(`ids=${ids.join(",")},${crypto.randomUUID()},nothing`);
  assert.equal(all.total, 3);
  assert.deepEqual(all.data.map(({ id }) => id).sort(), ids.toSorted());
  assert.ok(all.data.every((row) => row.checks === undefined && row.object === "guardrail"));
  const page = await list(`ids=${ids.join(",")}&page_size=2&current_page=1`);
  assert.deepEqual([page.data.length, page.total], [1, 3]);
  assert.deepEqual(await list("ids=nothing"), { data: [], total: 0 });
  assert.ok((await list("ids=")).total >= 3);
  for (const query of ["page_size=1001", "current_page=x", `ids=${Array(1_001).fill("a").join(",")}`]) {
    assert.equal(await refusal(call(gateway, `GET /guardrails?${query}`, { key: workspaceKey })), "400 AB01");
  }
});

test("guardrails of a workspace are used by it alone, those of the organisation by every workspace", async () => {
  const own = await save({ name: "Own" });
  const everyones = await share({ name: "Everyone's" });
  const detail = await done(call<Detail>(gateway, `GET ${shared}/${everyones.slug}`));
  assert.equal(detail.workspace_id, null);
  assert.deepEqual(detail.checks[0]?.parameters, words("secret").parameters);
  const ids = `ids=${own.id},${everyones.id}`;
  const named = async (key: string, query = ids) => (await list(query, key)).data.map(({ id }) => id).sort();
  const both = [own.id, everyones.id].sort();
  assert.deepEqual(await named(workspaceKey), both);
  assert.deepEqual(await named(secondKey), [everyones.id]);
  assert.deepEqual(await named(adminKey), both);
  assert.deepEqual(await named(adminKey, `${ids}&workspace_id=${second.slug}`), [everyones.id]);
  assert.deepEqual(await named(other.workspaceKey), []);
  assert.deepEqual(await named(other.adminKey), []);
  const { data } = await done(call<List>(gateway, `GET ${shared}?${ids}`));
  assert.deepEqual(
    data.map(({ id }) => id),
    [everyones.id],
  );
  for (const key of [secondKey, other.workspaceKey, other.adminKey]) {
    assert.equal(await refusal(call(gateway, `GET /guardrails/${own.id}`, { key })), "404 AB08");
    assert.equal(await refusal(update(own.slug, { name: "Mine" }, key)), "404 AB08");
    assert.equal(await refusal(remove(own.slug, key)), "404 AB08");
  }
  assert.equal(await refusal(call(gateway, `GET ${shared}/${own.id}`)), "404 AB08");
  assert.equal(await refusal(call(gateway, `DELETE ${shared}/${own.id}`)), "404 AB08");
  assert.equal((await read(own.id)).name, "Own");
});

test("a workspace sees the checks of the organisation's guardrails, not their parameters, and changes nothing", async () => {
  const { id, slug } = await share({});
  const { checks, workspace_id } = await read(slug);
  assert.deepEqual([workspace_id, checks], [null, [{ id: "default.contains", is_enabled: true }]]);
  assert.equal(await refusal(update(slug, { name: "Mine" })), "403 AB03");
  assert.equal(await refusal(remove(id)), "403 AB03");
  assert.equal(await refusal(call(gateway, `GET ${shared}/${slug}`, { key: workspaceKey })), "403 AB03");
});

test("an admin key needs the scopes of the level, and names the workspace", async () => {
  const database = await gateway.openFile();
  const make = async (family: string) => {
    const { key } = mintApiKey("gk");
    const scopes = JSON.stringify(["create", "read", "update", "delete", "list"].map((verb) => `${family}.${verb}`));
    await insertKey(database, key, { kind: "organisation-service", organisationId, workspaceId: null, scopes });
    return key;
  };
  const ofWorkspaces = await make("guardrails");
  const ofOrganisation = await make("organisation_guardrails");
  const body = { name: "n", checks: [words("a")] };
  const own = await save({ workspace_id: second.slug }, { key: ofWorkspaces });
  const everyones = await save({}, { key: ofOrganisation });
  assert.equal((await read(own.id, ofWorkspaces)).workspace_id, second.id);
  assert.equal((await read(everyones.id, ofOrganisation)).workspace_id, null);
  assert.equal(await refusal(call(gateway, "POST /guardrails", { key: ofWorkspaces, body })), "403 AB03");
  const named = { ...body, workspace_id: second.id };
  assert.equal(await refusal(call(gateway, "POST /guardrails", { key: ofOrganisation, body: named })), "403 AB03");
  assert.equal(await problem(gateway, `POST ${shared}`, { body: named }), "400 AB01 workspace_id");
  for (const [key, foreign, seen] of [
    [ofWorkspaces, everyones, own],
    [ofOrganisation, own, everyones],
  ] as const) {
    assert.equal(await refusal(call(gateway, `GET /guardrails/${foreign.id}`, { key })), "403 AB03");
    assert.equal(await refusal(update(foreign.id, { name: "n" }, key)), "403 AB03");
    assert.equal(await refusal(remove(foreign.id, key)), "403 AB03");
    const { data } = await list(`ids=${own.id},${everyones.id}`, key);
    assert.deepEqual(
      data.map(({ id }) => id),
      [seen.id],
    );
  }
});

const defaultsPath = "/admin/organisation/defaults";
const setOrganisation = (body: object) => call(gateway, `PUT ${defaultsPath}`, { body });
const setWorkspace = (defaults: object | null, name = "default") =>
  call(gateway, `PUT /admin/workspaces/${name}`, { body: { defaults } });

/** The view that requests of a workspace read. */
async function viewOf(id: string) {
  const directory = createDirectory(createControlStores(await gateway.openFile()), {
    open: async (_, versions) => new Map(versions.map(({ id, content }) => [id, content])),
    text: async () => undefined,
  });
  const view = await directory.workspace({ organisationId, workspaceId: id });
  assert.ok(view);
  return view;
}

test("defaults of the organisation are shown with their slugs, and accept its own guardrails only", async () => {
  const own = await save({});
  const everyones = await share({});
  const member = { id: everyones.id, slug: everyones.slug };
  await done(setOrganisation({ input_guardrails: [everyones.slug, everyones.id], output_guardrails: [everyones.id] }));
  assert.deepEqual(await done(call(gateway, `GET ${defaultsPath}`)), {
    input_guardrails: [member],
    output_guardrails: [member],
  });
  await done(setOrganisation({ output_guardrails: null }));
  assert.deepEqual(await done(call(gateway, `GET ${defaultsPath}`)), {
    input_guardrails: [member],
    output_guardrails: [],
  });
  for (const name of [own.id, own.slug]) {
    const body = { input_guardrails: [everyones.id, name] };
    assert.equal(await problem(gateway, `PUT ${defaultsPath}`, { body }), "404 AB02 input_guardrails.1");
  }
  await done(setOrganisation({ input_guardrails: [] }));
});

test("defaults of a workspace accept its own and the organisation's guardrails", async () => {
  const own = await save({});
  const everyones = await share({});
  const tools = await save({ target: "mcp_tools" });
  const foreign = await save({}, { key: other.workspaceKey });
  const named = [own.slug, everyones.slug, own.id, tools.id];
  await done(setWorkspace({ input_guardrails: named, metadata: { a: "1" } }));
  const { defaults } = await done(call<{ defaults: object }>(gateway, "GET /admin/workspaces/default"));
  assert.deepEqual(defaults, { input_guardrails: [own.id, everyones.id, tools.id], metadata: { a: "1" } });
  for (const name of [foreign.id, foreign.slug, "pg-nothing"]) {
    const body = { defaults: { output_guardrails: [own.id, name] } };
    const wanted = "404 AB02 defaults.output_guardrails.1";
    assert.equal(await problem(gateway, "PUT /admin/workspaces/default", { body }), wanted);
  }
  const body = { defaults: { input_guardrails: [own.id] } };
  const wanted = "404 AB02 defaults.input_guardrails.0";
  assert.equal(await problem(gateway, `PUT /admin/workspaces/${second.id}`, { body }), wanted);
  assert.equal(await problem(gateway, "POST /admin/workspaces", { body: { name: "n", ...body } }), wanted);
  await done(setWorkspace(null));
});

test("defaults refuse a guardrail whose checks cannot run in their direction", async () => {
  const inputs = await share({ checks: [words("a"), beforeOnly] });
  const outputs = await share({ checks: [afterOnly] });
  const wrong = { input_guardrails: [inputs.id, outputs.slug], output_guardrails: [outputs.id] };
  assert.equal(await problem(gateway, `PUT ${defaultsPath}`, { body: wrong }), "400 AB01 input_guardrails.1");
  const { body } = await call<{ error: { message: string } }>(gateway, "PUT /admin/workspaces/default", {
    body: { defaults: { output_guardrails: [inputs.id] } },
  });
  assert.match(body.error.message, /defaults\.output_guardrails\.0: .*checks\[1\]\.parameters/);
  await done(setOrganisation({ input_guardrails: [inputs.id], output_guardrails: [outputs.id] }));
  assert.equal(
    await problem(gateway, `PUT ${shared}/${inputs.id}`, { body: { checks: [afterOnly] } }),
    "400 AB01 checks[0].parameters",
  );
  await done(call(gateway, `PUT ${shared}/${inputs.id}`, { body: { checks: [words("b"), beforeOnly] } }));
  await done(setOrganisation({ input_guardrails: null, output_guardrails: null }));
  await done(call(gateway, `PUT ${shared}/${inputs.id}`, { body: { checks: [afterOnly] } }));
});

test("the view of a workspace holds its guardrails and, in order, the defaults that are not excluded", async () => {
  const own = await save({ checks: [words("own")], actions: { deny: true } });
  const tools = await save({ target: "mcp_tools" });
  const [one, two] = [await share({}), await share({})];
  await done(setOrganisation({ input_guardrails: [one.id, two.id], output_guardrails: [two.id] }));
  await done(setWorkspace({ input_guardrails: [own.id, one.id], output_guardrails: [own.id] }));
  const view = await viewOf(workspaceId);
  const stored = view.guardrails.get(own.slug);
  assert.equal(view.guardrails.get(own.id), stored);
  assert.deepEqual(stored?.checks, [{ ...words("own"), is_enabled: true }]);
  assert.equal(stored?.actions.deny, true);
  assert.equal(view.guardrails.get(one.slug)?.row.id, one.id);
  assert.deepEqual([view.guardrails.get(tools.id), view.guardrails.get(tools.slug)], [undefined, undefined]);
  assert.deepEqual(view.defaultGuardrails, { input: [one.id, two.id, own.id], output: [two.id, own.id] });
  const beside = await viewOf(second.id);
  assert.deepEqual([beside.guardrails.has(own.id), beside.guardrails.has(two.id)], [false, true]);
  assert.deepEqual(beside.defaultGuardrails, { input: [one.id, two.id], output: [two.id] });
  const exclude = (workspaces: object[]) =>
    done(
      call(gateway, "PUT /workspace-exclusions/input-guardrails", { body: { workspaces, override_existing: true } }),
    );
  await exclude([{ workspace_id: workspaceId, excluded: true }]);
  assert.deepEqual((await viewOf(workspaceId)).defaultGuardrails, {
    input: [own.id, one.id],
    output: [two.id, own.id],
  });
  assert.deepEqual((await viewOf(second.id)).defaultGuardrails, { input: [one.id, two.id], output: [two.id] });
  await done(update(own.id, { checks: [words("changed")] }));
  assert.deepEqual((await viewOf(workspaceId)).guardrails.get(own.id)?.checks, [
    { ...words("changed"), is_enabled: true },
  ]);
  await exclude([]);
  await done(setOrganisation({ input_guardrails: [], output_guardrails: [] }));
  await done(setWorkspace(null));
});

test("a guardrail that is a default cannot be deleted", async () => {
  const own = await save({});
  const everyones = await share({});
  const refuse = async (name: string, holder: RegExp) => {
    const { status, body } = await call<{ error: { code: string; message: string } }>(
      gateway,
      `DELETE /guardrails/${name}`,
    );
    assert.deepEqual([status, body.error.code], [409, "AB07"]);
    assert.match(body.error.message, holder);
  };
  await done(setOrganisation({ output_guardrails: [everyones.id] }));
  await refuse(everyones.slug, /the defaults of the organisation/);
  await done(setOrganisation({ output_guardrails: null }));
  await done(setWorkspace({ input_guardrails: [own.id] }));
  await done(setWorkspace({ output_guardrails: [everyones.id] }, second.slug));
  await refuse(own.id, /the defaults of the workspace default/);
  await refuse(everyones.id, new RegExp(`the defaults of the workspace ${second.slug}`));
  await done(setWorkspace(null));
  await done(setWorkspace(null, second.slug));
  await done(remove(own.id));
  await done(call(gateway, `DELETE ${shared}/${everyones.id}`));
});

const inside = (entry: unknown) => ({
  strategy: { mode: "fallback" },
  targets: [{ provider: "echo", outputGuardrails: [entry] }],
});

for (const [name, isRefused, build] of [
  ["at the root", true, (one: Receipt) => ({ input_guardrails: [one.slug] })],
  ["in a target", true, (one: Receipt) => inside(one.id)],
  ["with values beside it", true, (one: Receipt) => inside({ id: one.slug, deny: false })],
  ["in another place", false, (one: Receipt) => ({ provider: "echo", override_params: { user: one.slug } })],
] as const) {
  test(`a guardrail that an active config names ${name} is ${isRefused ? "not " : ""}deleted`, async () => {
    const one = await save({});
    const config = await done(
      call<Receipt>(gateway, "POST /configs", { key: workspaceKey, body: { name: "c", config: { provider: "echo" } } }),
    );
    const database = await gateway.openFile();
    // as it is stored: what a config may name is tested elsewhere
    await database.write([
      {
        sql: "UPDATE config_versions SET content = ? WHERE id = ?",
        args: [JSON.stringify(build(one)), config.version_id],
      },
    ]);
    if (isRefused) {
      const { status, body } = await call<{ error: { message: string } }>(gateway, `DELETE /guardrails/${one.slug}`);
      assert.equal(status, 409);
      assert.match(body.error.message, new RegExp(`the config ${config.slug}`));
      await done(call(gateway, `PUT /configs/${config.slug}`, { key: workspaceKey, body: { status: "archived" } }));
    }
    await done(remove(one.slug));
  });
}

test("findUnknownGuardrails() names those a workspace may not use", async () => {
  const own = await save({});
  const everyones = await share({});
  const stores = createControlStores(await gateway.openFile());
  const names = [own.slug, "pg-nothing", everyones.id, own.id];
  const unknownTo = (id: string) => findUnknownGuardrails({ stores }, { organisationId, workspaceId: id }, names);
  assert.deepEqual(await unknownTo(workspaceId), ["pg-nothing"]);
  assert.deepEqual(await unknownTo(second.id), [own.slug, "pg-nothing", own.id]);
  const foreign = { organisationId: other.organisationId, workspaceId: other.workspaceId };
  assert.deepEqual(await findUnknownGuardrails({ stores }, foreign, names), names);
});

test("a workspace with guardrails is deleted by force only", async () => {
  const workspace = await done(call<Receipt>(gateway, "POST /admin/workspaces", { body: { name: "Gone" } }));
  const { id } = await save({ workspace_id: workspace.id }, { key: adminKey });
  const everyones = await share({});
  const route = `DELETE /admin/workspaces/${workspace.id}`;
  const { status, body } = await call<{ error: { message: string } }>(gateway, route, { body: { name: "Gone" } });
  assert.equal(status, 409);
  assert.match(body.error.message, /guardrails \(1\)/);
  await done(call(gateway, route, { body: { name: "Gone", force_delete: true } }));
  assert.equal(await refusal(call(gateway, `GET /guardrails/${id}`)), "404 AB08");
  assert.equal((await read(everyones.id, adminKey)).id, everyones.id);
});

test("changes and refusals of guardrails are audited", async () => {
  const { id } = await save({});
  await done(update(id, { name: "Renamed" }));
  await done(remove(id));
  assert.equal(await refusal(remove(id)), "404 AB08");
  const { records } = await done(
    call<{ records: { action: string; resource_id: string; response_status_code: number }[] }>(
      gateway,
      `GET /audit-logs?start_time=2000-01-01T00:00:00Z&end_time=2100-01-01T00:00:00Z&resource_type=guardrails&page_size=4`,
    ),
  );
  assert.deepEqual(
    records.map(({ action, resource_id, response_status_code: status }) => [action, resource_id, status]),
    [
      ["delete", id, 404],
      ["delete", id, 200],
      ["update", id, 200],
      ["create", id, 200],
    ],
  );
});
