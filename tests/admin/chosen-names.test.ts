import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, done, refusal } from "../support/control.ts";
import { adminKey, createTestGateway, helloBody, type TestGateway, workspaceKey } from "../support/gateway.ts";

let gateway: TestGateway;
before(async () => {
  gateway = await createTestGateway();
});
after(() => gateway.close());

const asWorkspace = { key: workspaceKey };
const check = { id: "default.contains", parameters: { words: ["secret"], operator: "none" } };

/** Kinds of record that take a slug: path, body, and the prefix of the slug. */
const kinds: readonly [path: string, body: object, prefix: string][] = [
  ["/configs", { config: { provider: "echo" } }, "pc"],
  ["/guardrails", { checks: [check] }, "pg"],
  ["/collections", {}, "co"],
  ["/prompts/partials", { string: "Hello" }, "pl"],
  ["/prompts", { collection_id: "co-mine", string: "Hello", parameters: {}, virtual_key: "" }, "pp"],
];

for (const [path, body, prefix] of kinds) {
  test(`POST ${path} takes the slug that a body chooses, once`, async () => {
    const named = { ...body, name: "Mine", slug: `${prefix}-mine` };
    const made = await done(call(gateway, `POST ${path}`, { ...asWorkspace, body: named }));
    assert.equal(made.slug, `${prefix}-mine`);
    assert.equal(await refusal(call(gateway, `POST ${path}`, { ...asWorkspace, body: named })), "409 AB07");
    for (const slug of ["mine", `${prefix}-`, `${prefix}-default-1`, "00000000-0000-4000-8000-000000000000"]) {
      assert.equal(
        await refusal(call(gateway, `POST ${path}`, { ...asWorkspace, body: { ...named, slug } })),
        "400 AB01",
      );
    }
  });
}

test("POST /admin/workspaces takes the slug that a body chooses, and none that looks like an id", async () => {
  const create = (slug: string) => call(gateway, "POST /admin/workspaces", { body: { name: "Research", slug } });
  assert.equal((await done(create("research"))).slug, "research");
  assert.equal(await refusal(create("research")), "409 AB07");
  assert.equal(await refusal(create("00000000-0000-4000-8000-000000000000")), "400 AB01");
});

test("the slug of an archived workspace is free again", async () => {
  const create = () => done(call(gateway, "POST /admin/workspaces", { body: { name: "Again", slug: "again" } }));
  const { id } = await create();
  await done(call(gateway, "DELETE /admin/workspaces/again", { body: { name: "Again" } }));
  assert.notEqual((await create()).id, id);
  const { slug } = await done(call(gateway, `GET /admin/workspaces/${id}?status=archived`));
  assert.match(String(slug), /^ws-again-/);
});

const chosen = "sk-an-obvious-fake-0123456789";
const ofKey = (body: object) => ({ ...asWorkspace, body: { name: "App", scopes: ["completions.write"], ...body } });
const createKey = (body: object) => call(gateway, "POST /api-keys/workspace/service", ofKey(body));

/** The status of a chat with a key. */
async function chat(key: string): Promise<number> {
  const headers = { authorization: `Bearer ${key}`, "x-gateway-provider": "echo", "content-type": "application/json" };
  const response = await gateway.fetch("/v1/chat/completions", {
    method: "POST",
    headers,
    body: JSON.stringify(helloBody),
  });
  await response.text();
  return response.status;
}

test("a key of a service may have the secret that its clients have already", async () => {
  assert.equal(await chat(chosen), 401);
  const { id } = await done(createKey({ key: chosen }));
  assert.equal(await chat(chosen), 200);
  assert.equal(await chat(`${chosen}0`), 401);
  assert.equal((await done(call(gateway, `GET /api-keys/${id}`))).key, "sk*****789");
  // one secret belongs to one key
  assert.equal(await refusal(createKey({ key: chosen, name: "Other" })), "409 AB07");
  const { key } = await done(call(gateway, `POST /api-keys/${id}/rotate`));
  assert.deepEqual([await chat(String(key)), await chat(chosen)], [200, 200]);
  await done(call(gateway, `DELETE /api-keys/${id}`));
  assert.deepEqual([await chat(String(key)), await chat(chosen)], [401, 401]);
});

for (const key of [
  "short",
  "a".repeat(30),
  "gk_0123456789abcdefghij",
  "eyJhbGciOiJub25lIn0.e30.AAAA",
  "has a space 0123456789",
]) {
  test(`a key cannot have the secret ${key}`, async () => {
    assert.equal(await refusal(createKey({ key })), "400 AB01");
  });
}

test("keys of users take no secret from a body", async () => {
  const { data } = await done<{ data: { id: string }[] }>(call(gateway, "GET /admin/users"));
  const { data: workspaces } = await done<{ data: { id: string }[] }>(call(gateway, "GET /admin/workspaces"));
  const owner = { user_id: data[0]?.id, workspace_id: workspaces[0]?.id };
  const body = { name: "Mine", scopes: ["completions.write"], key: `${chosen}-user`, ...owner };
  assert.equal(await refusal(call(gateway, "POST /api-keys/workspace/user", { key: adminKey, body })), "400 AB01");
});

test("with if-none-match of two calls at once only one makes a key or a policy of a name", async () => {
  const headers = { "if-none-match": "*" };
  const policy = { name: "Once", conditions: [{ key: "model", value: "*" }], group_by: [{ key: "api_key" }] };
  const writes: [string, object][] = [
    ["POST /api-keys/workspace/service", { name: "Once", scopes: ["completions.write"] }],
    ["POST /policies/usage-limits", { ...policy, type: "cost", credit_limit: 5 }],
    ["POST /policies/rate-limits", { ...policy, type: "requests", unit: "rpm", value: 5 }],
  ];
  for (const [route, body] of writes) {
    const write = () => call(gateway, route, { ...asWorkspace, body, headers });
    const statuses = await Promise.all([write(), write(), write()]);
    assert.deepEqual(statuses.map(({ status }) => status).toSorted(), [200, 409, 409], route);
    // without the header names may repeat
    assert.equal((await call(gateway, route, { ...asWorkspace, body })).status, 200);
  }
});
