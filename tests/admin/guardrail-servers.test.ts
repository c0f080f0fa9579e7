import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, done, refusal } from "../support/control.ts";
import { createTestGateway, type TestGateway, workspaceKey } from "../support/gateway.ts";

let gateway: TestGateway;
let servers: Receipt[];
before(async () => {
  gateway = await createTestGateway();
  const upstream = {
    name: "U",
    slug: "upstream",
    url: "https://u.example.com/mcp",
    auth_type: "none",
    transport: "http",
  };
  await post("/mcp-integrations", upstream);
  const named = ["first", "second"];
  servers = await Promise.all(
    named.map((name) => post("/mcp-servers", { name, slug: name, mcp_integration_id: "upstream" })),
  );
});
after(() => gateway.close());

interface Receipt {
  id: string;
  slug: string;
}
interface Mapping extends Record<string, unknown> {
  id: string;
}

const key = workspaceKey;
const post = (path: string, body: object) => done<Receipt>(call<Receipt>(gateway, `POST ${path}`, { key, body }));
const createGuardrail = (target = "mcp_tools", more: object = {}) =>
  post("/guardrails", {
    name: "no secrets",
    target,
    checks: [{ id: "default.contains", parameters: { words: ["secret"], operator: "none" } }],
    actions: { deny: true },
    ...more,
  });
const put = (path: string, body: object) => call(gateway, `PUT /guardrails/${path}`, { key, body });
const list = (slug: string) =>
  done<Mapping[]>(call<Mapping[]>(gateway, `GET /guardrails/${slug}/mcp-servers`, { key }));

test("PUT /guardrails/{id}/mcp-servers replaces the mappings and counts what changed", async () => {
  const { slug, id } = await createGuardrail();
  const [first, second] = servers;
  assert.ok(first && second);
  const path = `${slug}/mcp-servers`;
  assert.deepEqual(await list(slug), []);
  const both = { mcp_servers: { [first.id]: {}, second: { run_on: ["input"] } } };
  assert.deepEqual(await done(put(path, both)), { changed: true, added: 2, updated: 0, removed: 0 });
  assert.deepEqual(await done(put(path, both)), { changed: false, added: 0, updated: 0, removed: 0 });
  const shown = (await list(slug)).map(({ mcp_server_id, run_on, guardrail_id, capability_ids }) => ({
    mcp_server_id,
    run_on,
    guardrail_id,
    capability_ids,
  }));
  const wanted = [
    { mcp_server_id: first.id, run_on: ["input", "output"], guardrail_id: id, capability_ids: [] },
    { mcp_server_id: second.id, run_on: ["input"], guardrail_id: id, capability_ids: [] },
  ];
  assert.deepEqual(new Set(shown), new Set(wanted));
  const one = { mcp_servers: { second: { run_on: ["output"] } } };
  assert.deepEqual(await done(put(path, one)), { changed: true, added: 0, updated: 1, removed: 1 });
  const detail = await done<{ mcp_server_mappings: Mapping[] }>(call(gateway, `GET /guardrails/${slug}`, { key }));
  assert.deepEqual(detail.mcp_server_mappings, await list(slug));
});

test("PUT /guardrails/{id}/mcp-servers/{serverId} maps one server", async () => {
  const { slug } = await createGuardrail();
  const { map_id } = await done(put(`${slug}/mcp-servers/first`, { run_on: ["input"] }));
  const again = await done(put(`${slug}/mcp-servers/first`, {}));
  assert.equal(again.map_id, map_id);
  const [mapping] = await list(slug);
  assert.deepEqual([mapping?.id, mapping?.run_on], [map_id, ["input", "output"]]);
});

test("a guardrail that runs on a server cannot be deleted, and is free after its server is deleted", async () => {
  const { slug } = await createGuardrail();
  await post("/mcp-servers", { name: "third", slug: "third", mcp_integration_id: "upstream" });
  await done(put(`${slug}/mcp-servers/third`, {}));
  assert.equal(await refusal(call(gateway, `DELETE /guardrails/${slug}`, { key })), "409 AB07");
  await done(call(gateway, "DELETE /mcp-servers/third", { key }));
  assert.deepEqual(await list(slug), []);
  await done(call(gateway, `DELETE /guardrails/${slug}`, { key }));
});

for (const [name, target, body, wanted] of [
  ["a guardrail of models", "llm", { first: {} }, "400 AB01"],
  ["an unknown server", "mcp_tools", { nobody: {} }, "404 AB02"],
  ["no direction", "mcp_tools", { first: { run_on: [] } }, "400 AB01"],
  ["an unknown direction", "mcp_tools", { first: { run_on: ["sideways"] } }, "400 AB01"],
  ["one server twice", "mcp_tools", { first: {}, FIRST_ID: {} }, "400 AB01"],
  [
    "an unknown capability",
    "mcp_tools",
    { first: { mcp_integration_capability_ids: [crypto.randomUUID()] } },
    "404 AB02",
  ],
] as const) {
  test(`a mapping with ${name} is refused`, async () => {
    const { slug } = await createGuardrail(target);
    const mcp_servers = JSON.parse(JSON.stringify(body).replace("FIRST_ID", servers[0]?.id ?? ""));
    assert.equal(await refusal(put(`${slug}/mcp-servers`, { mcp_servers })), wanted);
    assert.deepEqual(await list(slug), []);
  });
}

test("workspaces do not map guardrails of the organisation, and see only their own mappings of them", async () => {
  const body = {
    name: "of all",
    target: "mcp_tools",
    checks: [{ id: "default.contains", parameters: { words: ["x"], operator: "none" } }],
    actions: {},
  };
  const { slug } = await done<Receipt>(call<Receipt>(gateway, "POST /admin/v2/guardrails", { body }));
  assert.equal(await refusal(put(`${slug}/mcp-servers/first`, {})), "403 AB03");
  await done(call(gateway, `PUT /guardrails/${slug}/mcp-servers/first`, { body: {} }));
  assert.equal((await list(slug)).length, 1);
  const other = await done<Receipt>(call<Receipt>(gateway, "POST /admin/workspaces", { body: { name: "Other" } }));
  const elsewhere = await done<Mapping[]>(
    call<Mapping[]>(gateway, `GET /guardrails/${slug}/mcp-servers?workspace_id=${other.id}`, {}),
  );
  assert.deepEqual(elsewhere, []);
});

test("the paths of the organisation's guardrails map them too, and no others", async () => {
  const checks = [{ id: "default.contains", parameters: { words: ["x"], operator: "none" } }];
  const body = { name: "of all", target: "mcp_tools", checks, actions: {} };
  const { slug } = await done<Receipt>(call<Receipt>(gateway, "POST /admin/v2/guardrails", { body }));
  const path = `/admin/v2/guardrails/${slug}/mcp-servers`;
  const all = { mcp_servers: { [servers[0]?.id ?? ""]: {} } };
  assert.equal((await done(call(gateway, `PUT ${path}`, { body: all }))).added, 1);
  assert.ok((await done(call(gateway, `PUT ${path}/second`, { body: { run_on: ["input"] } }))).map_id);
  const shown = await done<Mapping[]>(call<Mapping[]>(gateway, `GET ${path}`));
  assert.deepEqual(new Set(shown.map(({ mcp_server_id }) => mcp_server_id)), new Set(servers.map(({ id }) => id)));
  assert.equal(await refusal(call(gateway, `GET ${path}`, { key })), "403 AB03");
  const own = await createGuardrail();
  assert.equal(await refusal(call(gateway, `GET /admin/v2/guardrails/${own.slug}/mcp-servers`)), "404 AB08");
});
