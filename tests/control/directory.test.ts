import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { listChanges } from "../../src/control/commit.ts";
import { createDirectory, type Directory } from "../../src/control/directory.ts";
import type { Database, Statement } from "../../src/db/client.ts";
import { type ControlStores, createControlStores } from "../../src/db/stores/control.ts";
import { call, createOrganisation, done } from "../support/control.ts";
import { openNode as openNodeOn, plainOpener } from "../support/directory.ts";
import { createTestGateway, type TestGateway } from "../support/gateway.ts";

interface Receipt {
  id: string;
  slug: string;
}

let gateway: TestGateway;
let database: Database;
let stores: ControlStores;
let organisationId: string;
let first: { organisationId: string; workspaceId: string };
let second: typeof first;
let own: Receipt;
let person: string;
let toolGuardrail: Receipt;
const opened: { close(): void }[] = [];

const send = <Shape = Receipt>(route: string, body?: object) =>
  done<Shape>(call<Shape>(gateway, route, body === undefined ? {} : { body }));

before(async () => {
  gateway = await createTestGateway({ inFile: true });
  database = await gateway.openFile();
  stores = createControlStores(database);
  const made = await send("POST /admin/workspaces", { name: "Second" });
  const rows = await database.read("SELECT id, organisation_id FROM workspaces WHERE is_default = 1");
  organisationId = String(rows.rows[0]?.organisation_id);
  first = { organisationId, workspaceId: String(rows.rows[0]?.id) };
  second = { organisationId, workspaceId: made.id };
  const integration = { name: "Echo", ai_provider_id: "echo", key: "fake-echo-key-000000" };
  await send("POST /integrations", { ...integration, slug: "lent" });
  own = await send("POST /integrations", { ...integration, slug: "own", workspace_id: first.workspaceId });
  await send("POST /providers", { ...at(), name: "p", slug: "own-provider", integration_id: "own" });
  person = crypto.randomUUID();
  const tools = { name: "Tools", url: "https://tools.example.com/mcp", auth_type: "none", transport: "http" };
  await send("POST /mcp-integrations", { ...tools, slug: "lent-tools" });
  await send("POST /mcp-integrations", { ...tools, slug: "own-tools", workspace_id: first.workspaceId });
  await send("POST /mcp-servers", { ...at(), name: "s", slug: "own-server", mcp_integration_id: "own-tools" });
  toolGuardrail = await send("POST /guardrails", { ...at(), ...guardrail, target: "mcp_tools" });
  const row = { id: person, organisationId, email: "person@example.com", role: "member" as const, createdAt: 0 };
  await database.write([stores.users.insert({ organisationId, workspaceId: null }, row)]);
});
after(async () => {
  for (const node of opened) node.close();
  await gateway.close();
});

async function openNode() {
  const node = await openNodeOn(database);
  opened.push(node);
  return node;
}

const integrationTables = ["integration_models", "integrations", "secrets"];
const mcpTables = ["mcp_capabilities", "mcp_integrations", "secrets"];
const mcpServerTables =
  "mcp_integration_workspaces mcp_server_capabilities mcp_server_guardrails mcp_server_users mcp_servers".split(" ");
const guardrailTables = ["guardrail_versions", "guardrails", "secrets"];
const check = { id: "default.contains", parameters: { operator: "any", words: ["x"] } };
const guardrail = { name: "g", checks: [check], actions: { deny: false } };
const tool = { type: "tool", name: "one", enabled: false };
const model = { models: [{ slug: "echo-2", enabled: true, is_custom: true }] };
const at = () => ({ workspace_id: first.workspaceId });
const prompt = { string: "x", parameters: {}, virtual_key: "", model: "m" };

/** A write of the first workspace or the organisation, what it makes the first read, and what the second reads after that. */
const writes: readonly (readonly [string, () => Promise<unknown>, string[], string[]?])[] = [
  [
    "a config",
    () => send("POST /configs", { ...at(), name: "c", config: { provider: "echo" } }),
    ["config_versions", "configs", "secrets"],
  ],
  [
    "a model alias",
    () => send("POST /model-aliases", { ...at(), name: "a", target: { model: "@own-provider/m" } }),
    ["model_aliases"],
  ],
  [
    "a model alias of the organisation",
    () => send("POST /model-aliases", { name: "b", target: { model: "@own-provider/m" } }),
    ["model_aliases"],
    [],
  ],
  [
    "a policy on labels",
    () =>
      send("POST /policies/labels", {
        ...at(),
        conditions: [{ key: "api_key", value: "*" }],
        require_labels: { region: "eu" },
      }),
    ["label_policies"],
  ],
  [
    "a virtual key",
    () => send("POST /virtual-keys", { ...at(), name: "v", provider: "echo", key: "fake-key-00000000" }),
    [...integrationTables, "integration_workspaces", "providers"],
  ],
  [
    "a provider",
    () => send("POST /providers", { ...at(), name: "p", integration_id: own.slug }),
    ["integration_workspaces", "providers"],
  ],
  ["its own integration", () => send("PUT /integrations/own", { ...at(), description: "new" }), integrationTables],
  [
    "a model of its own integration",
    () => send("PUT /integrations/own/models", { ...at(), ...model }),
    integrationTables,
  ],
  [
    "a model that is taken from its own integration",
    () => send(`DELETE /integrations/own/models?slugs=echo-2&workspace_id=${first.workspaceId}`),
    integrationTables,
  ],
  [
    "an MCP server",
    () => send("POST /mcp-servers", { ...at(), name: "s", mcp_integration_id: "own-tools" }),
    mcpServerTables,
  ],
  [
    "a tool of its own MCP integration",
    () => send("PUT /mcp-integrations/own-tools/capabilities", { ...at(), capabilities: [tool] }),
    mcpTables,
  ],
  [
    "a tool of the organisation's MCP integration",
    () => send("PUT /mcp-integrations/lent-tools/capabilities", { capabilities: [tool] }),
    mcpTables,
  ],
  [
    "access to an MCP integration",
    () =>
      send("PUT /mcp-integrations/lent-tools/workspaces", { workspaces: [{ id: first.workspaceId, enabled: true }] }),
    [...mcpTables, ...mcpServerTables],
  ],
  [
    "a tool of an MCP server",
    () => send("PUT /mcp-servers/own-server/capabilities", { ...at(), capabilities: [tool] }),
    mcpServerTables,
  ],
  [
    "who may use an MCP server",
    () => send("PUT /mcp-servers/own-server/user-access", { ...at(), default_user_access: "deny" }),
    mcpServerTables,
  ],
  [
    "a guardrail that runs on an MCP server",
    () => send(`PUT /guardrails/${toolGuardrail.slug}/mcp-servers/own-server`, { ...at(), run_on: ["input"] }),
    mcpServerTables,
  ],
  ["its own MCP integration", () => send("PUT /mcp-integrations/own-tools", { ...at(), description: "n" }), mcpTables],
  [
    "an MCP integration of the organisation",
    () => send("PUT /mcp-integrations/lent-tools", { description: "new" }),
    mcpTables,
  ],
  ["its own guardrail", () => send("POST /guardrails", { ...at(), ...guardrail }), guardrailTables],
  [
    "a label",
    () => send("POST /labels", { ...at(), name: `l${crypto.randomUUID()}`.slice(0, 20) }),
    ["labels", "prompt_labels", "prompt_versions", "prompts"],
  ],
  [
    "a member",
    () => send(`POST /admin/workspaces/${first.workspaceId}/users`, { users: [{ id: person, role: "member" }] }),
    ["workspace_members"],
  ],
  ["its settings", () => send(`PUT /admin/workspaces/${first.workspaceId}`, { description: "new" }), ["workspaces"]],
  [
    "an exclusion",
    () =>
      send("PUT /workspace-exclusions/input-guardrails", {
        workspaces: [{ workspace_id: first.workspaceId, excluded: true }],
      }),
    ["workspace_exclusions"],
  ],
  [
    "access to an integration",
    () => send("PUT /integrations/lent/workspaces", { workspaces: [{ id: first.workspaceId, enabled: true }] }),
    [...integrationTables, "integration_workspaces", "providers"],
  ],
  [
    "an integration of the organisation",
    () => send("PUT /integrations/lent", { description: "new" }),
    integrationTables,
  ],
  ["a model of the organisation's integration", () => send("PUT /integrations/lent/models", model), integrationTables],
  ["a guardrail of the organisation", () => send("POST /admin/v2/guardrails", guardrail), guardrailTables],
  [
    "defaults of the organisation",
    () => send("PUT /admin/organisation/defaults", { input_guardrails: [] }),
    ["organisations"],
  ],
  ["a key", () => send("POST /api-keys/workspace/service", { ...at(), name: "k", scopes: ["completions.write"] }), []],
  [
    "an invite",
    () =>
      send("POST /admin/users/invites", {
        email: "new@example.com",
        role: "member",
        workspaces: [{ id: first.workspaceId, role: "member" }],
        workspace_api_key_details: { scopes: ["completions.write"] },
      }),
    [],
  ],
];

for (const [name, write, wanted, wantedOfSecond = []] of writes) {
  test(`a write of ${name} is read again alone, and not by the other workspace`, async () => {
    const node = await openNode();
    await node.directory.workspace(first);
    await node.directory.workspace(second);
    node.taken();
    await write();
    await node.look();
    const view = node.directory.workspace(first);
    assert.equal(view instanceof Promise, wanted.length > 0);
    await view;
    const { calls, tables } = node.taken();
    assert.deepEqual(tables, wanted.toSorted());
    assert.ok(calls <= 2, `${calls} calls`);
    await node.directory.workspace(second);
    assert.deepEqual(node.taken().tables, wantedOfSecond);
    assert.ok(!(node.directory.workspace(first) instanceof Promise));
    assert.ok(!(node.directory.workspace(second) instanceof Promise));
  });
}

test("a prompt and a partial are read again each by itself", async () => {
  const node = await openNode();
  await node.directory.workspace(first);
  const { data } = await send<{ data: Receipt[] }>(`GET /collections?workspace_id=${first.workspaceId}`);
  const collection = data[0]?.id;
  node.taken();
  await send("POST /prompts", { ...at(), ...prompt, name: "p", collection_id: collection });
  await node.look();
  await node.directory.workspace(first);
  assert.deepEqual(node.taken(), { calls: 1, tables: ["labels", "prompt_labels", "prompt_versions", "prompts"] });
  await send("POST /prompts/partials", { ...at(), name: "p", string: "x", collection_id: collection });
  await node.look();
  await node.directory.workspace(first);
  assert.deepEqual(node.taken(), { calls: 1, tables: ["prompt_partial_versions", "prompt_partials"] });
});

test("what a write does not concern is the same object in the next view", async () => {
  const node = await openNode();
  const former = await node.directory.workspace(first);
  await send("POST /configs", { ...at(), name: "c", config: { provider: "echo" } });
  await node.look();
  const next = await node.directory.workspace(first);
  assert.ok(former && next && former !== next && former.configs !== next.configs);
  assert.equal(next.configs.size, former.configs.size + 2);
  assert.deepEqual(
    [next.providers === former.providers, next.guardrails === former.guardrails, next.prompts === former.prompts],
    [true, true, true],
  );
});

/** Announces changes as another node does. */
const announce = (statements: readonly Statement[], id = organisationId) =>
  database.write(listChanges(id, statements).map((change) => stores.audit.announce(change, 0)));

async function tablesAfter(write: () => Promise<unknown>): Promise<[number, number]> {
  const node = await openNode();
  await node.directory.workspace(first);
  await node.directory.workspace(second);
  node.taken();
  await write();
  await node.look();
  await node.directory.workspace(first);
  const ofFirst = node.taken().tables.length;
  await node.directory.workspace(second);
  return [ofFirst, node.taken().tables.length];
}

test("a change of an older version, and a write that does not say what it changes, drop all of the organisation", async () => {
  const whole = await tablesAfter(async () => {});
  assert.deepEqual(whole, [0, 0]);
  const sql = "INSERT INTO changes (organisation_id, resource, record_id, time) VALUES (?, 'configs', 'x', 0)";
  const [ofFirst, ofSecond] = await tablesAfter(() => database.write([{ sql, args: [organisationId] }]));
  assert.ok(ofFirst >= 19 && ofSecond >= 14, `${ofFirst} ${ofSecond}`);
  const unsaid = () => announce([{ sql: "UPDATE configs SET status = 'active'", args: [] }]);
  assert.deepEqual(await tablesAfter(unsaid), [ofFirst, ofSecond]);
  assert.deepEqual(await tablesAfter(() => announce([{ sql: "", args: [] }], "another")), [0, 0]);
});

test("a node that missed changes reads everything again", async () => {
  const gone = "DELETE FROM changes";
  const [ofFirst] = await tablesAfter(async () => {
    await send("POST /configs", { ...at(), name: "missed", config: { provider: "echo" } });
    await database.write([gone]);
    await send("POST /configs", { ...at(), name: "seen", config: { provider: "echo" } });
  });
  assert.ok(ofFirst >= 19, `${ofFirst}`);
});

test("a resource of the whole organisation is read again whichever workspace a change names", async () => {
  const row = { ...first, resource: "users", recordId: "" };
  assert.deepEqual(await tablesAfter(() => database.write([stores.audit.announce(row, 0)])), [1, 0]);
});

test("a kind of record nobody reads drops nothing", async () => {
  const row = { organisationId, workspaceId: undefined, resource: "of_a_later_version", recordId: "" };
  assert.deepEqual(await tablesAfter(() => database.write([stores.audit.announce(row, 0)])), [0, 0]);
});

test("a workspace is not shown to another organisation", async () => {
  const { directory } = await openNode();
  const stranger = await createOrganisation(database, "stranger");
  assert.ok(await directory.workspace(first));
  assert.equal(await directory.workspace({ ...first, organisationId: stranger.organisationId }), undefined);
  const unheld = (await openNode()).directory;
  assert.equal(await unheld.workspace({ ...first, organisationId: stranger.organisationId }), undefined);
});

test("while the database is away the last view is served, and what changed is read when it is back", async () => {
  const node = await openNode();
  await node.directory.workspace(first);
  await send("POST /configs", { ...at(), name: "away", config: { provider: "echo" } });
  await node.look();
  node.setAway(true);
  const view = await node.directory.workspace(first);
  assert.ok(view && ![...view.configs.values()].some(({ row }) => row.name === "away"));
  node.directory.forgetAll();
  assert.equal(await node.directory.workspace(first), view);
  await assert.rejects(async () => node.directory.workspace(second), /away|Failed query/);
  node.setAway(false);
  const late = await node.directory.workspace(first);
  assert.ok([...(late?.configs.values() ?? [])].some(({ row }) => row.name === "away"));
});

/** A directory whose reads wait until they are let on. */
function openSlowNode() {
  const waiting: (() => void)[] = [];
  const slow: ControlStores = {
    ...stores,
    exclusions: {
      ...stores.exclusions,
      async all(tenant, options) {
        const rows = await stores.exclusions.all(tenant, options);
        await new Promise<void>((resolve) => waiting.push(resolve));
        return rows;
      },
    },
  };
  const directory: Directory = createDirectory(slow, plainOpener);
  const change = { organisationId, workspaceId: first.workspaceId, resource: "workspace_exclusions", recordId: "" };
  return { directory, waiting, forget: (changes = [change]) => directory.forget(changes), change };
}

test("what changes while it is read is read again by the next request", async () => {
  const { directory, waiting, forget, change } = openSlowNode();
  const early = directory.workspace(first);
  while (waiting.length < 1) await new Promise((resolve) => setTimeout(resolve, 1));
  forget();
  const late = directory.workspace(first);
  assert.notEqual(early, late);
  assert.equal(directory.workspace(first), late);
  while (waiting.length < 2) await new Promise((resolve) => setTimeout(resolve, 1));
  // the later reading ends first
  waiting.toReversed().forEach((go) => void go());
  const [, view] = await Promise.all([early, late]);
  assert.equal(directory.workspace(first), view);
  forget([{ ...change, resource: "configs" }]);
  await directory.workspace(first);
  assert.equal(waiting.length, 2);
});

test("a change of another workspace does not end a reading", async () => {
  const { directory, waiting, forget, change } = openSlowNode();
  const reading = directory.workspace(first);
  while (waiting.length < 1) await new Promise((resolve) => setTimeout(resolve, 1));
  forget([{ ...change, workspaceId: second.workspaceId }]);
  assert.equal(directory.workspace(first), reading);
  waiting[0]?.();
  assert.equal(directory.workspace(first) instanceof Promise, true);
  const view = await reading;
  assert.equal(directory.workspace(first), view);
});
