import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, done } from "../support/control.ts";
import { chat, createTestGateway, helloBody, type TestGateway, workspaceKey } from "../support/gateway.ts";
import { addPerson, type List, problem } from "../support/people.ts";
import { createScimClient } from "../support/scim.ts";

let gateway: TestGateway;
before(async () => {
  gateway = await createTestGateway();
});
after(() => gateway.close());

interface Key {
  id: string;
  key: string;
}

const userOf = async (id: string) => (await done<{ user_id: string }>(call(gateway, `GET /api-keys/${id}`))).user_id;

test("a user key without user_id belongs to the user who created the calling key", async () => {
  const { data } = await done<List<{ id: string; slug: string }>>(call(gateway, "GET /admin/workspaces"));
  const workspace_id = data[0]?.slug;
  const owners = await done<List<{ id: string }>>(call(gateway, "GET /admin/users?role=owner"));
  const body = { name: "Mine", workspace_id, scopes: ["completions.write"] };
  const first = await done<Key>(call<Key>(gateway, "POST /api-keys/workspace/user", { key: workspaceKey, body }));
  assert.equal(await userOf(first.id), owners.data[0]?.id);
  const scopes = ["workspace_user_api_keys.create", "workspace_service_api_keys.create", "completions.write"];
  const service = { name: "Service", workspace_id, scopes };
  const second = await done<Key>(call<Key>(gateway, "POST /api-keys/workspace/service", { body: service }));
  const third = await done<Key>(
    call<Key>(gateway, "POST /api-keys/workspace/service", { key: second.key, body: service }),
  );
  const last = await done<Key>(call<Key>(gateway, "POST /api-keys/workspace/user", { key: third.key, body }));
  assert.equal(await userOf(last.id), owners.data[0]?.id);
});

test("the type and sub-type of a user key may stand in the body", async () => {
  const { data } = await done<List<{ slug: string }>>(call(gateway, "GET /admin/workspaces"));
  const body = {
    name: "Typed",
    type: "workspace",
    "sub-type": "user",
    workspace_id: data[0]?.slug,
    scopes: ["completions.write"],
  };
  const { id } = await done<Key>(call<Key>(gateway, "POST /api-keys/workspace/user", { body }));
  const { type } = await done<{ type: string }>(call(gateway, `GET /api-keys/${id}`));
  assert.equal(type, "workspace-user");
});

test("the provider of a new integration has its slug if it is free, and the response shows it", async () => {
  const key = workspaceKey;
  const body = { name: "Local", slug: "local", ai_provider_id: "echo" };
  const made = await done<{ provider_slug: string }>(call(gateway, "POST /integrations", { key, body }));
  assert.equal(made.provider_slug, "local");
  const answer = await chat(gateway, { ...helloBody, model: "@local/echo-1" }, { "x-gateway-provider": null });
  assert.equal(answer.status, 200);
  const second = { ...body, slug: "local-2", default_provider_slug: "named" };
  const named = await done<{ provider_slug: string }>(call(gateway, "POST /integrations", { key, body: second }));
  assert.equal(named.provider_slug, "named");
  await done(call(gateway, "POST /providers", { key, body: { name: "P", slug: "taken", integration_id: "local" } }));
  const third = { ...body, slug: "taken" };
  const other = await done<{ provider_slug: string }>(call(gateway, "POST /integrations", { key, body: third }));
  assert.match(other.provider_slug, /^local-[0-9a-f]{6}$/);
  const none = { ...body, slug: "none", create_default_provider: false };
  assert.ok(!("provider_slug" in (await done(call(gateway, "POST /integrations", { key, body: none })))));
});

test("a config with a forbidden custom host is not saved", async () => {
  const key = workspaceKey;
  for (const [config, param] of [
    [{ provider: "openai", api_key: "k", custom_host: "http://10.0.0.1/v1" }, "config.custom_host"],
    [
      {
        strategy: { mode: "fallback" },
        targets: [{ provider: "openai", api_key: "k", custom_host: "http://169.254.169.254" }],
      },
      "config.targets[0].custom_host",
    ],
  ] as const) {
    const body = { name: "Host", config };
    assert.equal(await problem(gateway, "POST /configs", { key, body }), `400 AB01 ${param}`);
  }
});

test("a workspace created after its group has the group's users at once", async () => {
  const scim = await createScimClient(gateway);
  const person = await scim.done("POST /Users", { userName: "early@example.com" });
  const manual = await addPerson(gateway, "manual@example.com");
  const both = await scim.done("POST /Users", { userName: "manual@example.com" });
  assert.equal(both.id, manual.id);
  const members = [{ value: person.id }, { value: manual.id }];
  await scim.done("POST /Groups", { displayName: "ws-Late One-role-manager", members });
  const body = { name: "Late One", users: [{ id: manual.id, role: "admin" }] };
  const { id } = await done<{ id: string }>(call(gateway, "POST /admin/workspaces", { body }));
  const { data } = await done<List<{ id: string; role: string }>>(call(gateway, `GET /admin/workspaces/${id}/users`));
  const roles = Object.fromEntries(data.map((member) => [member.id, member.role]));
  assert.deepEqual(roles, { [person.id]: "manager", [manual.id]: "admin" });
});
